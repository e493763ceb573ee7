//! Files that appear whole under their final name or not at all, and never in place of what is still needed.
//!
//! A link is followed: the file that it names is replaced, or made where there is none yet, and the link stays. A file that is
//! replaced keeps its permissions.

mod identity;

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

pub use self::identity::{Identity, check_outputs};
use crate::error::{Error, Result};

/// A file that appears under its name once it is [`finish`](Self::finish)ed, whole, and never if it is dropped before.
///
/// What is not a regular file (a pipe, a device) is written to directly: it must not be replaced.
pub struct WholeFile {
    path: PathBuf,
    out: BufWriter<Target>,
}

enum Target {
    Direct(File),
    /// A file without a name, of which nothing is left whatever happens, that is to be called by the name given.
    Nameless(File, PathBuf),
    /// A file in the same folder that is to be called by the name given.
    Temporary(tempfile::NamedTempFile, PathBuf),
}

impl Target {
    fn file(&self) -> &File {
        match self {
            Self::Direct(file) | Self::Nameless(file, _) => file,
            Self::Temporary(file, _) => file.as_file(),
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(file) | Self::Nameless(file, _) => file.write(bytes),
            Self::Temporary(file, _) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WholeFile {
    /// Begins to write what will be the file `path`.
    pub fn create(path: &Path) -> Result<Self> {
        let target = || -> io::Result<Target> {
            let old = path.metadata().ok();
            if old.as_ref().is_some_and(|old| !old.is_file()) {
                return Ok(Target::Direct(File::options().write(true).open(path)?));
            }
            let target = destination(path)?;
            let folder = folder_of(&target);
            let target = match nameless_in(&folder) {
                Ok(file) => Target::Nameless(file, target),
                // Not every file system has files without names.
                Err(_) => Target::Temporary(temporary().tempfile_in(folder)?, target),
            };
            // Before anything is written: what was for some eyes only is never seen by others.
            old.map_or(Ok(()), |old| target.file().set_permissions(ordinary(old.permissions())))?;
            Ok(target)
        };
        names_a_file(path)?;
        let target = target().map_err(|e| Error::io(path.display(), e))?;
        Ok(Self { path: path.to_path_buf(), out: BufWriter::with_capacity(1 << 16, target) })
    }

    /// What must be removed if the program is ended from outside before the file is whole.
    pub fn unfinished(&self) -> Option<&Path> {
        match self.out.get_ref() {
            Target::Direct(_) | Target::Nameless(..) => None,
            Target::Temporary(file, _) => Some(file.path()),
        }
    }

    /// The file itself, for whoever writes at places of his own choice. What was written in order is there.
    pub(crate) fn file(&mut self) -> io::Result<&File> {
        self.out.flush()?;
        Ok(self.out.get_ref().file())
    }

    /// A failure to write, with the file's name.
    pub fn error(&self, error: io::Error) -> Error {
        Error::io(self.path.display(), error)
    }

    /// Gives the file its name.
    pub fn finish(mut self) -> Result<()> {
        let path = self.path;
        let end = || -> io::Result<()> {
            self.out.flush()?;
            match self.out.into_inner()? {
                Target::Direct(_) => {}
                Target::Nameless(file, target) => {
                    file.sync_all()?;
                    name(&file, &target)?;
                }
                Target::Temporary(file, target) => {
                    file.as_file().sync_all()?;
                    file.persist(&target).map_err(|e| e.error)?;
                }
            }
            Ok(())
        };
        end().map_err(|e| Error::io(path.display(), e))
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reads a file that must not have more than so many bytes. Some that are not regular files never end.
pub(crate) fn read_at_most(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    match read.map_err(|e| Error::io(path.display(), e))? as u64 > most {
        true => {
            let reason = format!("more than {} MiB: too much for what it should be", most >> 20);
            Err(Error::input(path.display().to_string().as_str(), reason))
        }
        false => Ok(bytes),
    }
}

/// Writes a [`WholeFile`] through `fill`.
pub fn write_whole(path: &Path, fill: impl FnOnce(&mut WholeFile) -> io::Result<()>) -> Result<()> {
    let mut file = WholeFile::create(path)?;
    fill(&mut file).map_err(|e| file.error(e))?;
    file.finish()
}

/// Whether [`write_whole`] could write to `path`, as far as can be known without writing: ask before long work.
pub fn check_writable(path: &Path) -> Result<()> {
    names_a_file(path)?;
    let attempt = || -> io::Result<Option<PathBuf>> {
        match path.metadata() {
            Ok(what) if what.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            // Opening a pipe would wait for its reader.
            Ok(what) if !what.is_file() => Ok(None),
            Ok(_) => {
                File::options().write(true).open(path)?;
                destination(path).map(Some)
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => destination(path).map(Some),
            Err(e) => Err(e),
        }
    };
    let Some(target) = attempt().map_err(|e| Error::io(path.display(), e))? else { return Ok(()) };
    let folder = folder_of(&target);
    if !folder.is_dir() {
        let reason = format!("there is no folder {}", folder.display());
        return Err(Error::input(path.display().to_string().as_str(), reason));
    }
    // Without a name: one that has a name would stay there if the program were killed just now.
    tempfile::tempfile_in(&folder).map(drop).map_err(|e| Error::io(path.display(), e.kind().into()))
}

/// What ends like `folder/` can only be a folder, whether it is there or not.
fn names_a_file(path: &Path) -> Result<()> {
    let text = path.as_os_str().to_string_lossy();
    if text.is_empty() {
        return Err(Error::Data("a file to write has an empty name".into()));
    }
    let folder =
        text.ends_with(std::path::is_separator) || text.ends_with("/.") || path.file_name().is_none();
    match folder && !path.is_dir() {
        true => Err(Error::input(text.as_ref(), "this is the name of a folder, not of a file")),
        false => Ok(()),
    }
}

/// Links that lead to each other, at most: as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Where a file of this name is, or would be: links are followed, also those that lead to nothing yet.
fn destination(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match path.read_link() {
            // What is relative is so to the folder of the link.
            Ok(next) => path.set_file_name(next),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links that lead to each other"))
}

pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// What a new file may take over from an old one: who may read and write it, but not, say, that it runs as its owner.
#[cfg(unix)]
fn ordinary(permissions: Permissions) -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    Permissions::from_mode(permissions.mode() & 0o777)
}

#[cfg(not(unix))]
fn ordinary(permissions: Permissions) -> Permissions {
    permissions
}

fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        // The mode of an ordinary new file; the user's mask applies.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(Permissions::from_mode(0o666));
    }
    builder.prefix(".featgen-");
    builder
}

/// A new file in a folder that has no name there: should the program be killed, the system forgets it.
#[cfg(target_os = "linux")]
fn nameless_in(folder: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666))?))
}

/// Gives a file without a name its name, in place of the file that may have it.
#[cfg(target_os = "linux")]
fn name(file: &File, target: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{AtFlags, CWD};
    let itself = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = |path: &Path| -> io::Result<()> {
        Ok(rustix::fs::linkat(CWD, &itself, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    };
    match link(target) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        done => return done,
    }
    // A name can only be given that is free; renaming then replaces in one step. Killed just between the two, the program
    // leaves the whole file under a second, hidden name.
    let named = temporary().make_in(folder_of(target), link)?;
    named.persist(target).map(drop).map_err(|e| e.error)
}

#[cfg(not(target_os = "linux"))]
fn nameless_in(_folder: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn name(_file: &File, _target: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_whole(&path, |out| out.write_all(b"old")).unwrap();
        let failed = write_whole(&path, |out| {
            out.write_all(b"new")?;
            Err(io::Error::other("full"))
        });
        assert!(failed.unwrap_err().to_string().ends_with("file: full"));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn several_may_write_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::thread::scope(|scope| {
            for k in 0..4u8 {
                let path = &path;
                scope.spawn(move || {
                    (0..20).for_each(|_| write_whole(path, |out| out.write_all(&[k; 1000])).unwrap());
                });
            }
        });
        let written = std::fs::read(&path).unwrap();
        assert!(written.len() == 1000 && written.iter().all(|&byte| byte == written[0]));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        assert!(check_writable(&path.join("new")).is_ok());
        assert!(check_writable(path).unwrap_err().to_string().contains("is a directory"));
        let missing = check_writable(&path.join("no/model")).unwrap_err().to_string();
        assert!(missing.contains("there is no folder"), "{missing}");
        std::fs::write(path.join("file"), "x").unwrap();
        assert!(check_writable(&path.join("file/model")).is_err());
        assert_eq!(std::fs::read_dir(path).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mode = || path.metadata().unwrap().permissions().mode() & 0o7777;
        write_whole(&path, |out| out.write_all(b"old")).unwrap();
        let usual = mode();
        assert_ne!(usual & 0o600, 0);
        for (kept, set) in [(0o600, 0o600), (0o640, 0o640), (0o666, 0o666), (0o755, 0o4755)] {
            std::fs::set_permissions(&path, Permissions::from_mode(set)).unwrap();
            write_whole(&path, |out| out.write_all(b"new")).unwrap();
            assert_eq!(mode(), kept);
        }
        std::fs::remove_file(&path).unwrap();
        write_whole(&path, |out| out.write_all(b"new")).unwrap();
        assert_eq!(mode(), usual);
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_and_the_files_they_name_are_written() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("sub")).unwrap();
        // One link after the other, the last of them dangling.
        symlink("sub/second", path("first")).unwrap();
        symlink("../file", path("sub/second")).unwrap();
        for content in ["made", "replaced"] {
            check_writable(&path("first")).unwrap();
            write_whole(&path("first"), |out| out.write_all(content.as_bytes())).unwrap();
            assert!(path("first").is_symlink() && path("sub/second").is_symlink());
            assert_eq!(std::fs::read_to_string(path("file")).unwrap(), content);
        }
        symlink("nowhere/file", path("far")).unwrap();
        let said = check_writable(&path("far")).unwrap_err().to_string();
        assert!(said.contains("far: there is no folder ") && said.ends_with("nowhere"), "{said}");
        symlink("round", path("round")).unwrap();
        assert!(check_writable(&path("round")).is_err());
        assert!(write_whole(&path("round"), |_| Ok(())).is_err());
    }

    #[test]
    fn the_name_of_a_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["new/", "new/.", "new//", "no/.."] {
            let path = folder.path().join(name);
            for result in [check_writable(&path), write_whole(&path, |_| Ok(()))] {
                let said = result.unwrap_err().to_string();
                assert!(said.ends_with("this is the name of a folder, not of a file"), "{name}: {said}");
            }
        }
        assert!(check_writable(Path::new("")).is_err() && write_whole(Path::new(""), |_| Ok(())).is_err());
        assert!(check_writable(&folder.path().join(".")).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
