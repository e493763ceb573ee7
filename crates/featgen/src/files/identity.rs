//! Which file it is, by whatever name: so that no output takes the place of an input.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::{check_writable, destination, folder_of};
use crate::error::{Error, Result};

/// A regular file as the system knows it: two names of one file have one identity. Pipes and devices have none, for what is
/// written there takes nothing's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity(Known);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Known {
    /// A file that is there: device and number.
    #[cfg(unix)]
    Number(u64, u64),
    /// A file that is not there yet, or where files have no numbers: its folder and its name in it.
    Name(PathBuf, OsString),
}

impl Identity {
    /// That of the file at `path`, or of the one that would be made there. Links are followed.
    pub fn of(path: &Path) -> Option<Self> {
        match path.metadata() {
            Ok(file) => Self::existing(path, &file),
            Err(_) => Self::named(&destination(path).ok()?),
        }
    }

    /// That of an input, where `-` is standard input.
    pub fn of_input(path: &Path) -> Option<Self> {
        if path == Path::new("-") { of_stream(&io::stdin()) } else { Self::of(path) }
    }

    /// That of standard output, if it goes to a file.
    pub fn of_stdout() -> Option<Self> {
        of_stream(&io::stdout())
    }

    #[cfg(unix)]
    fn existing(_path: &Path, file: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        file.is_file().then(|| Self(Known::Number(file.dev(), file.ino())))
    }

    #[cfg(not(unix))]
    fn existing(path: &Path, file: &Metadata) -> Option<Self> {
        file.is_file().then(|| Self::named(&fs::canonicalize(path).ok()?)).flatten()
    }

    fn named(path: &Path) -> Option<Self> {
        let folder = fs::canonicalize(folder_of(path)).ok()?;
        Some(Self(Known::Name(folder, path.file_name()?.to_owned())))
    }
}

#[cfg(unix)]
fn of_stream(stream: &impl std::os::fd::AsFd) -> Option<Identity> {
    let file = fs::File::from(stream.as_fd().try_clone_to_owned().ok()?);
    Identity::existing(Path::new(""), &file.metadata().ok()?)
}

#[cfg(not(unix))]
fn of_stream<S>(_stream: &S) -> Option<Identity> {
    None
}

/// Whether all outputs can be written without harm, as far as can be known before the work: each as [`check_writable`] says, and
/// none is an input or another output. Every file comes with what it is, such as `the data`, for the message.
pub fn check_outputs(inputs: &[(&str, &Path)], outputs: &[(&str, &Path)]) -> Result<()> {
    let mut taken: Vec<(&str, Option<Identity>)> =
        inputs.iter().map(|&(what, path)| (what, Identity::of_input(path))).collect();
    for &(what, path) in outputs {
        let identity = Identity::of(path);
        let same = taken.iter().find(|(_, other)| identity.is_some() && *other == identity);
        if let Some((other, _)) = same {
            let reason = format!("this is the file of {other}: {what} would take its place");
            return Err(Error::input(path.display().to_string().as_str(), reason));
        }
        check_writable(path)?;
        taken.push((what, identity));
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_the_same_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("sub")).unwrap();
        fs::write(path("file"), "x").unwrap();
        fs::write(path("other"), "x").unwrap();
        fs::hard_link(path("file"), path("hard")).unwrap();
        symlink("file", path("soft")).unwrap();
        symlink(path("soft"), path("sub/far")).unwrap();
        for name in ["file", "hard", "soft", "sub/far", "sub/../file"] {
            assert_eq!(Identity::of(&path(name)), Identity::of(&path("file")), "{name}");
        }
        assert_ne!(Identity::of(&path("other")), Identity::of(&path("file")));
        // Files that are not there yet.
        symlink("../new", path("sub/to-new")).unwrap();
        assert!(Identity::of(&path("new")).is_some());
        assert_eq!(Identity::of(&path("sub/to-new")), Identity::of(&path("new")));
        assert_ne!(Identity::of(&path("newer")), Identity::of(&path("new")));
        assert_eq!(Identity::of(Path::new("/dev/null")), None);
    }

    #[test]
    fn an_output_that_is_an_input_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("data"), "x").unwrap();
        symlink("data", path("link")).unwrap();
        let (data, link, new) = (path("data"), path("link"), path("new"));
        let refused = |inputs: &[(&str, &Path)], outputs: &[(&str, &Path)]| {
            check_outputs(inputs, outputs).unwrap_err().to_string()
        };
        let said = refused(&[("the data", &data)], &[("the model", &link)]);
        assert!(
            said.ends_with("link: this is the file of the data: the model would take its place"),
            "{said}"
        );
        let said = refused(&[], &[("the model", &new), ("the checkpoint", &new)]);
        assert!(said.ends_with("new: this is the file of the model: the checkpoint would take its place"));
        check_outputs(&[("the data", &data)], &[("the model", &new)]).unwrap();
        let null = Path::new("/dev/null");
        check_outputs(&[("the data", null)], &[("the model", null), ("the checkpoint", null)]).unwrap();
    }
}
