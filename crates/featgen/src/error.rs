//! Everything that can go wrong, as values with context. The library never prints and never panics on bad input.

use std::fmt;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, in one line that a user can act on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or stream holds something that cannot be used.
    #[error("{place}: {reason}")]
    Input {
        /// Where it stands.
        place: Place,
        /// What is wrong with it.
        reason: String,
    },
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file concerned.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A parameter is outside its range.
    #[error("{name}: {reason}")]
    Parameter {
        /// The parameter's name, as in the builder's method and the command's option.
        name: &'static str,
        /// Why its value cannot be used.
        reason: String,
    },
    /// A search for features would take too long.
    #[error("{0}")]
    GivenUp(String),
    /// The data are well-formed, but nothing can be learned from them as they are.
    #[error("{0}")]
    Data(String),
}

impl Error {
    /// Bad input at a known place.
    pub fn input(place: impl Into<Place>, reason: impl Into<String>) -> Self {
        Self::Input { place: place.into(), reason: reason.into() }
    }

    /// A refusal of the operating system, about `path`.
    pub fn io(path: impl fmt::Display, source: std::io::Error) -> Self {
        Self::Io { path: path.to_string(), source }
    }

    /// A parameter outside its range.
    pub fn parameter(name: &'static str, reason: impl Into<String>) -> Self {
        Self::Parameter { name, reason: reason.into() }
    }
}

/// Makes room for `more` elements, or says that there is no memory for what is read from `name`.
pub(crate) fn reserve<T>(list: &mut Vec<T>, more: usize, name: &str) -> Result<()> {
    list.try_reserve(more).map_err(|_| Error::io(name, std::io::ErrorKind::OutOfMemory.into()))
}

/// A position in an input: shown as `FILE:LINE:COLUMN`, as editors and compilers do. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file's name as the user gave it; `-` for standard input.
    pub file: String,
    /// The line, where there is one.
    pub line: Option<u64>,
    /// The column (of bytes), where there is one.
    pub column: Option<u64>,
}

impl Place {
    /// A position inside a text file.
    pub fn at(file: impl Into<String>, line: u64, column: u64) -> Self {
        Self { file: file.into(), line: Some(line), column: Some(column) }
    }
}

impl From<&str> for Place {
    fn from(file: &str) -> Self {
        Self { file: file.to_owned(), line: None, column: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{number}")?;
        }
        Ok(())
    }
}
