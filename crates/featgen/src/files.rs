//! Files that appear whole under their final name or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

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
            if path.metadata().is_ok_and(|m| !m.is_file()) {
                return Ok(Target::Direct(File::options().write(true).open(path)?));
            }
            // A link is followed, so that the file it names is replaced and not the link itself.
            let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
            let folder = folder_of(&target);
            match nameless_in(&folder) {
                Ok(file) => Ok(Target::Nameless(file, target)),
                // Not every file system has files without names.
                Err(_) => Ok(Target::Temporary(temporary().tempfile_in(folder)?, target)),
            }
        };
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
        Ok(match self.out.get_ref() {
            Target::Direct(file) | Target::Nameless(file, _) => file,
            Target::Temporary(file, _) => file.as_file(),
        })
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

/// Writes a [`WholeFile`] through `fill`.
pub fn write_whole(path: &Path, fill: impl FnOnce(&mut WholeFile) -> io::Result<()>) -> Result<()> {
    let mut file = WholeFile::create(path)?;
    fill(&mut file).map_err(|e| file.error(e))?;
    file.finish()
}

/// Whether [`write_whole`] could write to `path`, as far as can be known without writing: ask before long work.
pub fn check_writable(path: &Path) -> Result<()> {
    let attempt = || -> io::Result<()> {
        match path.metadata() {
            Ok(what) if what.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            // Opening a pipe would wait for its reader.
            Ok(what) if !what.is_file() => Ok(()),
            Ok(_) => File::options().write(true).open(path).map(drop),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(e),
        }
    };
    attempt().map_err(|e| Error::io(path.display(), e))?;
    if path.metadata().is_ok_and(|what| !what.is_file()) {
        return Ok(());
    }
    let folder = folder_of(&path.canonicalize().unwrap_or_else(|_| path.to_path_buf()));
    if !folder.is_dir() {
        let reason = format!("there is no folder {}", folder.display());
        return Err(Error::input(path.display().to_string().as_str(), reason));
    }
    // Without a name: one that has a name would stay there if the program were killed just now.
    tempfile::tempfile_in(&folder).map(drop).map_err(|e| Error::io(path.display(), e.kind().into()))
}

pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        // The mode of an ordinary new file; the user's mask applies.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
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
}
