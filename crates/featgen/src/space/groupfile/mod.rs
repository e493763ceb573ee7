//! Files that say which features belong together. Features are counted from 1, or called by their names.
//!
//! | format | what it looks like |
//! |---|---|
//! | lists | `name: 3 5 9-12`, a group a line; the name may be left out |
//! | parents | `parent > child`, where the child is a group or, as in lists, features |
//! | Newick | `((1,2)mammals,(3,4)birds);` where every node is a group |
//! | paths | `life/animals/birds`, the place of a feature a line, in order of the features |
//!
//! Only lists can describe groups that overlap; all of them can describe a tree. Blank lines and lines that begin with `#`
//! are skipped (in paths, a blank line is a feature in no group).

mod lists;
mod newick;
mod parents;
mod paths;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use super::tree::TreeBuilder;
use super::{Groups, Inputs, Tree};
use crate::data::read::{Source, quoted};
use crate::error::{Error, Place, Result};

/// How a file describes a tree of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeFormat {
    /// Lists of features that are disjoint or nested.
    Lists,
    /// Lines `parent > child`.
    Parents,
    /// A Newick tree.
    Newick,
    /// A path for each feature.
    Paths,
}

/// Reads groups from a file of lists. With `singletons`, features in no group become groups of one.
pub fn read_groups(path: impl AsRef<Path>, inputs: &Inputs<'_>, singletons: bool) -> Result<Groups> {
    let mut source = Source::open(path.as_ref())?;
    let found = recognise(&source.first_line()?);
    if found == TreeFormat::Newick || found == TreeFormat::Parents {
        return Err(source.error("this describes a tree of groups: add --tree"));
    }
    let mut groups = lists::read(source, inputs, Some(super::MOST_MEMBERS))?.groups;
    if singletons {
        groups.add_singletons();
    }
    Ok(groups)
}

/// Reads groups that form a tree; the format is recognised if it is not given. With `singletons`, features in no group
/// become groups of one.
pub fn read_tree(
    path: impl AsRef<Path>,
    inputs: &Inputs<'_>,
    format: Option<TreeFormat>,
    singletons: bool,
) -> Result<Tree> {
    let mut source = Source::open(path.as_ref())?;
    let format = match format {
        Some(format) => format,
        None => recognise(&source.first_line()?),
    };
    let read = match format {
        TreeFormat::Lists => return lists::read(source, inputs, None)?.into_tree(inputs, singletons),
        TreeFormat::Parents => parents::read,
        TreeFormat::Newick => newick::read,
        TreeFormat::Paths => paths::read,
    };
    let mut builder = read(source, inputs)?;
    if singletons {
        builder.add_singletons();
    }
    Ok(builder.build())
}

/// The format that a file's first line speaks for.
fn recognise(line: &[u8]) -> TreeFormat {
    if line.starts_with(b"(") {
        TreeFormat::Newick
    } else if line.contains(&b'>') {
        TreeFormat::Parents
    } else if line.contains(&b'/') && named(line).0.is_none() {
        TreeFormat::Paths
    } else {
        TreeFormat::Lists
    }
}

/// A line's name, if it has one, and where its members begin. The name ends with a colon before a blank, the line's end or
/// a number; a colon elsewhere belongs to a name (`GO:0008150: 3 5`).
fn named(line: &[u8]) -> (Option<&[u8]>, usize) {
    let colons = || memchr::memchr_iter(b':', line);
    let before_blank = |&at: &usize| line.get(at + 1).is_none_or(u8::is_ascii_whitespace);
    let before_number = |&at: &usize| {
        let token = line[at + 1..].split(|c| is_blank(*c)).next().unwrap_or_default();
        token.first().is_some_and(u8::is_ascii_digit)
            && token.iter().all(|c| c.is_ascii_digit() || *c == b'-')
    };
    match colons().find(before_blank).or_else(|| colons().find(before_number)) {
        Some(at) => (Some(line[..at].trim_ascii()).filter(|name| !name.is_empty()), at + 1),
        None => (None, 0),
    }
}

fn is_blank(c: u8) -> bool {
    c.is_ascii_whitespace() || c == b','
}

/// Calls `each` with every line that says something.
fn for_each_line(source: Source, mut each: impl FnMut(u64, &str) -> Result<()>) -> Result<()> {
    let file = source.name().to_owned();
    source.for_each_line(|line, bytes| {
        let wrong = |_| Error::input(Place::at(&file, line, 1), "not text in UTF-8");
        let text = std::str::from_utf8(bytes).map_err(wrong)?;
        let significant = !text.trim().is_empty() && !text.trim_start().starts_with('#');
        if significant { each(line, text) } else { Ok(()) }
    })
}

/// Finds the features that a file speaks of.
struct Members<'a> {
    inputs: Inputs<'a>,
    file: String,
    /// By name; `None` for a name that several have. Made when the first name is met.
    by_name: Option<HashMap<&'a str, Option<u64>>>,
    /// Where a feature beyond the last that occurs was first spoken of.
    beyond: Option<Place>,
}

impl<'a> Members<'a> {
    fn new(inputs: &Inputs<'a>, file: &str) -> Self {
        Self { inputs: *inputs, file: file.to_owned(), by_name: None, beyond: None }
    }

    fn place(&self, line: u64, at: usize) -> Place {
        Place::at(&self.file, line, at as u64 + 1)
    }

    /// An error at a place of the file.
    fn error(&self, line: u64, at: usize, reason: impl Into<String>) -> Error {
        Error::input(self.place(line, at), reason)
    }

    /// Adds the features listed in `text` from `start` on. `most` is how many the group called `group` may have.
    fn list(
        &mut self,
        (line, text, start): (u64, &str, usize),
        most: Option<usize>,
        group: impl Fn() -> String,
        ids: &mut Vec<u64>,
    ) -> Result<()> {
        let mut at = start;
        for token in text.as_bytes()[start..].split(|&c| is_blank(c)) {
            if !token.is_empty() {
                let range = self.token(token).map_err(|reason| self.error(line, at, reason))?;
                if range.end > self.inputs.dimension() && self.beyond.is_none() {
                    self.beyond = Some(self.place(line, at));
                }
                let more = range.end - range.start;
                if most.is_some_and(|most| more > (most - ids.len()) as u64) {
                    let most = super::MOST_MEMBERS;
                    let reason = format!(
                        "group {} has more than {most} members, too many to be fitted as one",
                        group()
                    );
                    return Err(self.error(line, at, reason));
                }
                ids.extend(range);
            }
            at += token.len() + 1;
        }
        Ok(())
    }

    /// The features that a token stands for: a number, a range of them, or a name.
    fn token(&mut self, token: &[u8]) -> Result<Range<u64>, String> {
        let number = |digits: &[u8]| {
            let all = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
            // A number too long for 64 bits is beyond any feature.
            all.then(|| {
                digits.iter().try_fold(0u64, |n, d| n.checked_mul(10)?.checked_add((d - b'0').into()))
            })
        };
        if let Some(n) = number(token) {
            let id = self.id(n, token)?;
            return Ok(id..id + 1);
        }
        if let Some(at) = token.iter().position(|&c| c == b'-')
            && let (Some(first), Some(last)) = (number(&token[..at]), number(&token[at + 1..]))
        {
            let (first, last) = (self.id(first, &token[..at])?, self.id(last, &token[at + 1..])?);
            if first > last {
                return Err(format!("{}: a range goes from the smaller number to the larger", quoted(token)));
            }
            return Ok(first..last + 1);
        }
        self.name(token).map(|id| id..id + 1)
    }

    /// The id of the feature with a number, counted from 1.
    fn id(&self, number: Option<u64>, token: &[u8]) -> Result<u64, String> {
        let dimension = self.inputs.dimension();
        match number {
            Some(0) => {
                Err("feature 0: features are counted from 1; if this file counts from 0, add 1".into())
            }
            Some(n) if n <= dimension + self.inputs.beyond() => Ok(n - 1),
            _ => Err(format!("no feature {}: the data have {dimension}", String::from_utf8_lossy(token))),
        }
    }

    fn name(&mut self, token: &[u8]) -> Result<u64, String> {
        let names = self.inputs.names();
        if names.is_empty() {
            return Err(format!("{} is not a number, and the features have no names", quoted(token)));
        }
        let by_name = self.by_name.get_or_insert_with(|| {
            let mut map = HashMap::with_capacity(names.len());
            for (id, name) in (0..).zip(names) {
                map.entry(name.as_str()).and_modify(|id| *id = None).or_insert(Some(id));
            }
            map
        });
        match std::str::from_utf8(token).ok().and_then(|name| by_name.get(name)) {
            Some(Some(id)) => Ok(*id),
            Some(None) => Err(format!("several features are called {}: use a number", quoted(token))),
            None => Err(format!("no feature is called {}", quoted(token))),
        }
    }

    /// Puts the feature `id` into a group of a tree in the making.
    fn put(&self, builder: &mut TreeBuilder, id: u64, group: u32) -> Result<(), String> {
        builder.feature(self.inputs.columns().position(id), group).map_err(|before| {
            let feature = self.inputs.name(&super::Feature::Input(id));
            let shown = builder.names.show(before as usize, &self.inputs, None);
            format!("not a tree: feature {feature} is in group {shown} already")
        })
    }
}
