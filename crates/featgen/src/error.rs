//! Everything that can go wrong, as values with context. The library never prints and never panics on bad input.

use std::borrow::Cow;
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
        reason: Reason,
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
        /// The parameter's id: the command's option without its dashes, the builder's method with `_` for `-`.
        name: &'static str,
        /// Why its value cannot be used.
        reason: String,
    },
    /// A feature has a value that cannot be used.
    #[error("{}feature {name}: {reason}", row.map_or_else(String::new, |row| format!("row {row}, ")))]
    Value {
        /// The feature's number, counted from 0.
        id: u64,
        /// What a user calls it.
        name: String,
        /// The row with the value, counted from 1, where it is one value.
        row: Option<u64>,
        /// Why it cannot be used.
        reason: String,
    },
    /// A search for features would take too long.
    #[error("{0}")]
    GivenUp(Reason),
    /// The data are well-formed, but nothing can be learned from them as they are.
    #[error("{0}")]
    Data(String),
}

impl Error {
    /// Bad input at a known place.
    pub fn input(place: impl Into<Place>, reason: impl Into<Reason>) -> Self {
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

    /// The error in one line, where `spell` says what users call the parameter of an id.
    pub fn spelled(&self, spell: impl Fn(&str) -> String) -> String {
        match self {
            Self::Input { place, reason } => format!("{place}: {}", reason.spelled(spell)),
            Self::Parameter { name, reason } => format!("{}: {reason}", spell(name)),
            Self::GivenUp(reason) => reason.spelled(spell),
            Self::Io { .. } | Self::Value { .. } | Self::Data(_) => self.to_string(),
        }
    }
}

/// What is wrong, in words among which parameters may stand by their ids: whoever shows it spells them as its users do. It is
/// displayed with the command's options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Words(Cow<'static, str>),
    Parameter(Cow<'static, str>),
}

impl Reason {
    /// Goes on in words.
    pub fn words(mut self, words: impl Into<Cow<'static, str>>) -> Self {
        self.0.push(Part::Words(words.into()));
        self
    }

    /// Goes on with the name of a parameter, given by its id.
    pub fn parameter(mut self, id: impl Into<Cow<'static, str>>) -> Self {
        self.0.push(Part::Parameter(id.into()));
        self
    }

    /// Goes on with another reason.
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The whole, where `spell` says what users call the parameter of an id.
    pub fn spelled(&self, spell: impl Fn(&str) -> String) -> String {
        let part = |part: &Part| match part {
            Part::Words(words) => words.clone(),
            Part::Parameter(id) => Cow::Owned(spell(id)),
        };
        self.0.iter().map(part).collect()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelled(|id| match id {
            // The command has one option for both.
            "tree-format" => "--tree=FORMAT".into(),
            id => format!("--{id}"),
        }))
    }
}

impl From<&str> for Reason {
    fn from(words: &str) -> Self {
        Self::from(words.to_owned())
    }
}

impl From<String> for Reason {
    fn from(words: String) -> Self {
        Self(vec![Part::Words(words.into())])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_spelled_by_whoever_shows_them() {
        let reason =
            Reason::from("a larger ").parameter("min-support").words(" or --dashes").parameter("tree-format");
        assert_eq!(reason.to_string(), "a larger --min-support or --dashes--tree=FORMAT");
        let error = Error::input("file", reason);
        let spelled = error.spelled(|id| id.replace('-', "_"));
        assert_eq!(spelled, "file: a larger min_support or --dashestree_format");
        let error = Error::parameter("cost", "must be above 0");
        assert_eq!(error.spelled(|_| "C".into()), "C: must be above 0");
    }
}
