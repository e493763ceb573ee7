//! Files that appear whole under their final name or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Writes a file through `fill` so that it appears whole under its name or not at all.
///
/// What is not a regular file (a pipe, a device) is written to directly: it must not be replaced.
pub fn write_whole(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<()>,
) -> Result<()> {
    let attempt = || -> io::Result<()> {
        if path.metadata().is_ok_and(|m| !m.is_file()) {
            let mut file = File::options().write(true).open(path)?;
            return fill_and_flush(&mut file, fill);
        }
        // A link is followed, so that the file it names is replaced and not the link itself.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let mut file = temporary_in(&folder_of(&target))?;
        fill_and_flush(file.as_file_mut(), fill)?;
        file.as_file().sync_all()?;
        file.persist(&target).map_err(|e| e.error)?;
        Ok(())
    };
    attempt().map_err(|e| Error::io(path.display(), e))
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
    temporary_in(&folder).map(drop).map_err(|e| Error::io(path.display(), e.kind().into()))
}

fn fill_and_flush(
    file: &mut File,
    fill: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, file);
    fill(&mut out)?;
    out.flush()
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

fn temporary_in(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        // The mode of an ordinary new file; the user's mask applies.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.prefix(".featgen-").tempfile_in(folder)
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
