//! Files mapped into memory, and which addresses they have.
//!
//! The system stops a process (SIGBUS) that reads a page of a mapped file which is no longer there, for somebody cut the file
//! short. That cannot be prevented, but the last words can be better than none: maps are registered here, and
//! [`explain_cut_files`] makes the process say which file it was.

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use memmap2::{Mmap, MmapMut, MmapOptions};

/// Bytes of a file, or of memory, that are only read.
pub(crate) struct Mapped {
    map: Mmap,
    of_file: bool,
    slot: Option<&'static Slot>,
}

/// Where a map is, and the name of its file. Read by a signal handler, so that nothing here locks or allocates.
struct Slot {
    /// 0 if the slot is free, [`CLAIMED`] while it is being filled or emptied.
    begin: AtomicUsize,
    end: AtomicUsize,
    name: AtomicPtr<Vec<u8>>,
}

const CLAIMED: usize = 1;

/// Files beyond this number are mapped but not registered.
const MOST: usize = 256;

static SLOTS: [Slot; MOST] = [const {
    Slot { begin: AtomicUsize::new(0), end: AtomicUsize::new(0), name: AtomicPtr::new(ptr::null_mut()) }
}; MOST];

impl Mapped {
    /// Maps a file. `at_once` says whether its pages are to be brought in together rather than as they are needed.
    #[allow(unsafe_code)]
    pub(crate) fn file(file: &File, path: &Path, at_once: bool) -> io::Result<Self> {
        let mut options = MmapOptions::new();
        if at_once {
            options.populate();
        }
        // SAFETY: the map is only read, and any bytes are valid numbers. As with every mapped file, it is assumed that nobody
        // changes the file while it is in use; featgen itself replaces files and never changes them.
        let map = unsafe { options.map(file)? };
        let slot = register(&map, path);
        Ok(Self { map, of_file: true, slot })
    }

    /// Bytes of memory, aligned as those of a file are.
    pub(crate) fn memory(bytes: &[u8]) -> io::Result<Self> {
        let mut map = MmapMut::map_anon(bytes.len().max(1))?;
        map[..bytes.len()].copy_from_slice(bytes);
        Ok(Self { map: map.make_read_only()?, of_file: false, slot: None })
    }

    /// Has the system fetch a part that will be read soon, without waiting for it. Without this, it reads as much around each page as it
    /// thinks right, one place at a time.
    #[cfg(unix)]
    pub(crate) fn will_read(&self, bytes: Range<u64>) {
        if self.of_file {
            let length = (bytes.end - bytes.start) as usize;
            // No more than advice.
            let _ = self.map.advise_range(memmap2::Advice::WillNeed, bytes.start as usize, length);
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn will_read(&self, _bytes: Range<u64>) {}

    /// Gives the pages of a file back to the system, which keeps them as long as it has room. Until they are read again they do not count as
    /// memory of this process.
    #[cfg(unix)]
    #[allow(unsafe_code)]
    pub(crate) fn let_go(&self) {
        if self.of_file {
            // SAFETY: pages of a file that are only read come back with the same bytes. It is no more than advice: if it is not taken,
            // nothing changes.
            let _ = unsafe { self.map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn let_go(&self) {}
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl Drop for Mapped {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        let Some(slot) = self.slot else { return };
        slot.begin.store(CLAIMED, Ordering::SeqCst);
        let name = slot.name.swap(ptr::null_mut(), Ordering::SeqCst);
        // SAFETY: it came from a box, and the slot was ours alone. The handler reads names only of maps that somebody is reading
        // at that moment, and this one is being dropped.
        drop(unsafe { Box::from_raw(name) });
        slot.begin.store(0, Ordering::SeqCst);
    }
}

fn register(map: &Mmap, path: &Path) -> Option<&'static Slot> {
    let free =
        |slot: &&Slot| slot.begin.compare_exchange(0, CLAIMED, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    let slot = SLOTS.iter().find(free)?;
    let name = Box::new(shown(path));
    slot.name.store(Box::into_raw(name), Ordering::SeqCst);
    let begin = map.as_ptr() as usize;
    slot.end.store(begin + map.len(), Ordering::SeqCst);
    slot.begin.store(begin, Ordering::SeqCst);
    Some(slot)
}

/// A name as a terminal may show it.
fn shown(path: &Path) -> Vec<u8> {
    let plain = |c: char| if c.is_control() { '?' } else { c };
    path.display().to_string().chars().map(plain).collect::<String>().into_bytes()
}

/// The name of the file that is mapped at an address.
#[cfg(unix)]
#[allow(unsafe_code)]
fn file_at(address: usize) -> Option<&'static [u8]> {
    let slot = SLOTS.iter().find(|slot| {
        let begin = slot.begin.load(Ordering::SeqCst);
        begin > CLAIMED && (begin..slot.end.load(Ordering::SeqCst)).contains(&address)
    })?;
    // SAFETY: whoever reads at the address keeps the map, and with it the name.
    unsafe { slot.name.load(Ordering::SeqCst).as_ref() }.map(Vec::as_slice)
}

#[cfg(unix)]
pub use self::signal::{explain_cut_files, remove_if_cut};

#[cfg(unix)]
#[allow(unsafe_code)]
mod signal {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::ptr;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

    use super::file_at;

    /// What was to be done before we came.
    static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

    /// The code to exit with; none if negative.
    static EXIT_CODE: AtomicI32 = AtomicI32::new(-1);

    /// A file to remove before the end.
    static UNFINISHED: AtomicPtr<libc::c_char> = AtomicPtr::new(ptr::null_mut());

    /// From now on, should a mapped file be cut short while it is read, one line on standard error says which; then the process
    /// exits with this code. Without a code, or if the signal is about something else, what was to happen before this call
    /// happens: other handlers still get the signal, and without any the process is killed.
    ///
    /// This is for programs: it changes what SIGBUS does in the whole process. The library never calls it.
    pub fn explain_cut_files(exit_code: Option<u8>) {
        EXIT_CODE.store(exit_code.map_or(-1, i32::from), Ordering::SeqCst);
        PREVIOUS.get_or_init(|| {
            // SAFETY: zeros are a valid `sigaction`, and both structures outlive the calls. The old action is known before ours is
            // in force, for the handler waits for nobody.
            unsafe {
                let mut previous: libc::sigaction = std::mem::zeroed();
                libc::sigaction(libc::SIGBUS, ptr::null(), &mut previous);
                previous
            }
        });
        // SAFETY: as above; the handler has the signature that SA_SIGINFO asks for and is safe at any time.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &action, ptr::null_mut());
        }
    }

    /// Names an unfinished file that is to be removed where the process ends so.
    pub fn remove_if_cut(unfinished: &Path) {
        if let Ok(path) = CString::new(unfinished.as_os_str().as_bytes()) {
            // The one before, if any, is left in memory: the handler may be reading it.
            UNFINISHED.store(path.into_raw(), Ordering::SeqCst);
        }
    }

    /// Only calls what may be called at any time: write, unlink, sigaction, _exit.
    extern "C" fn handle(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
        // SAFETY: the system hands over a valid structure; pointers come from this module and stay valid.
        unsafe {
            if let Some(name) = file_at((*info).si_addr() as usize) {
                let said = b": the file was changed or cut short while it was in use\n";
                libc::write(2, name.as_ptr().cast(), name.len());
                libc::write(2, said.as_ptr().cast(), said.len());
                let code = EXIT_CODE.load(Ordering::SeqCst);
                if code >= 0 {
                    let unfinished = UNFINISHED.load(Ordering::SeqCst);
                    if !unfinished.is_null() {
                        libc::unlink(unfinished);
                    }
                    libc::_exit(code);
                }
            }
            // The instruction runs again once this returns, and the signal comes again, to whoever had it before.
            match PREVIOUS.get() {
                Some(previous) => libc::sigaction(libc::SIGBUS, previous, ptr::null_mut()),
                None => libc::_exit(128 + libc::SIGBUS),
            };
        }
    }
}

/// Elsewhere the system has its own way to say so.
#[cfg(not(unix))]
pub fn explain_cut_files(_exit_code: Option<u8>) {}

/// Likewise.
#[cfg(not(unix))]
pub fn remove_if_cut(_unfinished: &Path) {}
