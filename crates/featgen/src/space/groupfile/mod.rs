//! Files that say which features belong together. Features are counted from 1, or called by their names; what looks like a
//! number is one, also where a feature is called so.
//!
//! | format | what it looks like |
//! |---|---|
//! | lists | `name: 3 5 9-12`, a group a line; the name may be left out |
//! | parents | `parent > child`, where the child is a group or, as in lists, features |
//! | Newick | `((1,2)mammals,(3,4)birds);` where every node is a group |
//! | paths | `life/animals/birds`, the place of a feature a line, in order of the features; at most 256 levels |
//! | gmt | `name TAB description TAB gene TAB gene ...`, a group a line; features that the data lack are skipped |
//!
//! Only lists and gmt can describe groups that overlap; all of them can describe a tree. Names may stand in quotes in lists and
//! parents, `"DNA repair": "gene 1" 5-9`: what stands in quotes is a name, also if it looks like a number. Blank lines and lines that begin with `#`
//! are skipped (in paths, a blank line is a feature in no group).

mod gmt;
mod lists;
mod newick;
mod parents;
mod paths;
mod quotes;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use super::tree::TreeBuilder;
use super::{Groups, Inputs, Tree};
use crate::data::read::{Source, quoted};
use crate::error::{Error, Place, Reason, Result};

/// How a file describes a tree of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TreeFormat {
    /// Lists of features that are disjoint or nested.
    Lists,
    /// Lines `parent > child`.
    Parents,
    /// A Newick tree.
    Newick,
    /// A path for each feature.
    Paths,
    /// Pathways with the names of their genes, which are disjoint or nested.
    Gmt,
}

impl TreeFormat {
    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lists => "lists",
            Self::Parents => "parents",
            Self::Newick => "newick",
            Self::Paths => "paths",
            Self::Gmt => "gmt",
        }
    }
}

/// Reads groups from a file of lists, or of pathways (`.gmt`). With `singletons`, features in no group become groups of one.
pub fn read_groups(path: impl AsRef<Path>, inputs: &Inputs<'_>, singletons: bool) -> Result<Groups> {
    groups_from(Source::open_list(path.as_ref())?, inputs, singletons)
}

fn groups_from(mut source: Source, inputs: &Inputs<'_>, singletons: bool) -> Result<Groups> {
    let (line, most) = (source.first_line()?, Some(super::MOST_MEMBERS));
    let format = recognise(&line, source.name(), inputs);
    let hint = match format {
        TreeFormat::Lists | TreeFormat::Gmt => "".into(),
        _ => Reason::from("; if the file describes a tree of groups, add ").parameter("tree"),
    };
    let lists = match format {
        TreeFormat::Gmt => gmt::read(source, inputs, most)?,
        _ => lists::read(source, inputs, most, hint)?,
    };
    let mut groups = lists.groups;
    if singletons {
        groups.add_singletons();
    }
    Ok(groups)
}

/// Groups of lists in memory, for fuzzing.
pub(crate) fn groups_from_bytes(bytes: &[u8], inputs: &Inputs<'_>) -> Result<Groups> {
    groups_from(Source::list_from_bytes(bytes)?, inputs, false)
}

/// Likewise of a tree.
pub(crate) fn tree_from_bytes(bytes: &[u8], inputs: &Inputs<'_>, format: Option<TreeFormat>) -> Result<Tree> {
    tree_from(Source::list_from_bytes(bytes)?, inputs, format, true)
}

/// Reads a list of features, written as in groups, on any number of lines; returns the ids of those that occur.
pub fn read_features(path: impl AsRef<Path>, inputs: &Inputs<'_>) -> Result<Vec<u64>> {
    let source = Source::open_list(path.as_ref())?;
    let mut members = Members::new(inputs, source.name());
    let mut ids = Vec::new();
    for_each_line(source, |line, text| {
        members.list((line, text, 0), |range| {
            ids.extend(inputs.positions(&range).map(|position| inputs.columns().id(position)));
            Ok(())
        })
    })?;
    if ids.is_empty() {
        return Err(Error::input(members.file.as_str(), "no features that occur"));
    }
    Ok(ids)
}

/// Reads groups that form a tree; the format is recognised if it is not given. With `singletons`, features in no group
/// become groups of one.
pub fn read_tree(
    path: impl AsRef<Path>,
    inputs: &Inputs<'_>,
    format: Option<TreeFormat>,
    singletons: bool,
) -> Result<Tree> {
    tree_from(Source::open_list(path.as_ref())?, inputs, format, singletons)
}

fn tree_from(
    mut source: Source,
    inputs: &Inputs<'_>,
    format: Option<TreeFormat>,
    singletons: bool,
) -> Result<Tree> {
    let line = source.first_line()?;
    // A list for sure begins with its name or with a number.
    let unsure = format.is_none() && !is_titled(&line) && !line.first().is_some_and(u8::is_ascii_digit);
    let hint = match unsure {
        true => {
            Reason::from("; if these are no lists of features, say what they are: ").parameter("tree-format")
        }
        false => "".into(),
    };
    let format = format.unwrap_or_else(|| recognise(&line, source.name(), inputs));
    let read = match format {
        TreeFormat::Lists => return lists::read(source, inputs, None, hint)?.into_tree(inputs, singletons),
        TreeFormat::Gmt => return gmt::read(source, inputs, None)?.into_tree(inputs, singletons),
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

/// The format that a file's name or its first line speaks for. Names may hold `>` and `/`, but not before a list's own name.
fn recognise(line: &[u8], file: &str, inputs: &Inputs<'_>) -> TreeFormat {
    if is_gmt(line, file, inputs) {
        return TreeFormat::Gmt;
    }
    let hidden = quotes::hidden(line).unwrap_or(line.into());
    let line = &*hidden;
    if line.starts_with(b"(") || line.starts_with(b"[") {
        TreeFormat::Newick
    } else if arrow(line).is_some_and(|at| !is_titled(&line[..at])) {
        TreeFormat::Parents
    } else if is_titled(line) {
        TreeFormat::Lists
    } else if line.ends_with(b";") {
        TreeFormat::Newick
    } else if line.contains(&b'/') && colon(line).is_none() {
        TreeFormat::Paths
    } else {
        TreeFormat::Lists
    }
}

/// Whether these are pathways: the file is called so, or its first line cannot be a list. It has two tabs, begins with what is
/// neither a list's name nor a feature, and does not read as a list.
fn is_gmt(line: &[u8], file: &str, inputs: &Inputs<'_>) -> bool {
    let stem = [".gz", ".zst"].iter().find_map(|end| file.strip_suffix(end)).unwrap_or(file);
    if stem.to_ascii_lowercase().ends_with(".gmt") {
        return true;
    }
    let mut fields = line.split(|&c| c == b'\t').map(<[u8]>::trim_ascii);
    let (Some(name), Some(_), Some(_), Ok(text)) =
        (fields.next(), fields.next(), fields.next(), std::str::from_utf8(line))
    else {
        return false;
    };
    let mut members = Members::new(inputs, file);
    let titled = is_titled(&[name, b" "].concat()) || name.starts_with(b"\"");
    let mut is_list = || {
        let listed = lists::title(text).map(|(_, start)| members.list((1, text, start), |_| Ok(())));
        listed.is_ok_and(|listed| listed.is_ok())
    };
    !titled && !is_list() && members.token(name).is_err()
}

/// Whether a line begins with a name, a colon and a blank: that is a list for sure.
fn is_titled(line: &[u8]) -> bool {
    line.windows(2).any(|pair| pair[0] == b':' && pair[1].is_ascii_whitespace())
}

/// Where the colon after a line's name is, if it has a name. It stands before a blank, the line's end or a number; a colon
/// elsewhere belongs to a name (`GO:0008150: 3 5`).
fn colon(line: &[u8]) -> Option<usize> {
    let colons = || memchr::memchr_iter(b':', line);
    let before_blank = |&at: &usize| line.get(at + 1).is_none_or(u8::is_ascii_whitespace);
    // Looks no further than to the next colon, or a line of colons would take long.
    let before_number = |&at: &usize| {
        let rest = &line[at + 1..];
        let length = rest.iter().take_while(|c| c.is_ascii_digit() || **c == b'-').count();
        rest.get(length).is_none_or(|&c| is_blank(c)) && rest[..length].split(|&c| c == b'-').all(is_number)
    };
    colons().find(before_blank).or_else(|| colons().find(before_number))
}

/// Where a line's `>` is: the first between blanks, or else the first.
fn arrow(line: &[u8]) -> Option<usize> {
    let arrows = || memchr::memchr_iter(b'>', line);
    let blank = |at: usize| line.get(at).is_none_or(u8::is_ascii_whitespace);
    let between_blanks = |&at: &usize| blank(at.wrapping_sub(1)) && blank(at + 1);
    arrows().find(between_blanks).or_else(|| arrows().next())
}

fn is_blank(c: u8) -> bool {
    c.is_ascii_whitespace() || c == b','
}

fn is_number(token: &[u8]) -> bool {
    !token.is_empty() && token.iter().all(u8::is_ascii_digit)
}

/// A line as text.
fn text_of<'a>(bytes: &'a [u8], file: &str, line: u64) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|e| {
        let place = Place::at(file, line, e.valid_up_to() as u64 + 1);
        Error::input(place, "not text in UTF-8")
    })
}

/// Calls `each` with every line that says something.
fn for_each_line(source: Source, mut each: impl FnMut(u64, &str) -> Result<()>) -> Result<()> {
    let file = source.name().to_owned();
    source.for_each_line(|line, bytes| {
        let text = text_of(bytes, &file, line)?;
        let significant = !text.trim().is_empty() && !text.trim_start().starts_with('#');
        if significant { each(line, text) } else { Ok(()) }
    })
}

/// Finds the features that a file speaks of.
struct Members<'a> {
    inputs: Inputs<'a>,
    file: String,
    /// What may help where something is no feature.
    hint: Reason,
    /// By name; `None` for a name that several have. Made when the first name is met.
    by_name: Option<HashMap<&'a str, Option<u64>>>,
    /// Where a feature beyond the last that occurs was first spoken of.
    beyond: Option<Place>,
}

impl<'a> Members<'a> {
    fn new(inputs: &Inputs<'a>, file: &str) -> Self {
        Self { inputs: *inputs, file: file.to_owned(), hint: "".into(), by_name: None, beyond: None }
    }

    fn place(&self, line: u64, at: usize) -> Place {
        Place::at(&self.file, line, at as u64 + 1)
    }

    /// An error at a place of the file.
    fn error(&self, line: u64, at: usize, reason: impl Into<Reason>) -> Error {
        Error::input(self.place(line, at), reason)
    }

    /// Calls `each` with the features listed in `text` from `start` on, as ranges of ids.
    fn list(
        &mut self,
        (line, text, start): (u64, &str, usize),
        mut each: impl FnMut(Range<u64>) -> Result<(), String>,
    ) -> Result<()> {
        let bytes = text.as_bytes();
        let mut at = start;
        while at < bytes.len() {
            if is_blank(bytes[at]) {
                at += 1;
                continue;
            }
            let end = match bytes[at] {
                b'"' => quotes::end(bytes, at).map_err(|(at, reason)| self.error(line, at, reason))?,
                _ => at + bytes[at..].iter().position(|&c| is_blank(c)).unwrap_or(bytes.len() - at),
            };
            let token = &text[at..end];
            let found = match bytes[at] {
                b'"' => self.named(quotes::undone(token).as_bytes()).map(|id| id..id + 1),
                _ => self.token(token.as_bytes()),
            };
            let found = found.map_err(|reason| Reason::from(reason).and(self.hint.clone()));
            let ids = found.map_err(|reason| self.error(line, at, reason))?;
            if ids.end > self.inputs.dimension() && self.beyond.is_none() {
                self.beyond = Some(self.place(line, at));
            }
            each(ids).map_err(|reason| self.error(line, at, reason))?;
            at = end;
        }
        Ok(())
    }

    /// The features that a token stands for: one by its number or name, or a range of numbers.
    fn token(&mut self, token: &[u8]) -> Result<Range<u64>, String> {
        let between = |&at: &usize| is_number(&token[..at]) && is_number(&token[at + 1..]);
        let (first, last) = match memchr::memchr(b'-', token).filter(between) {
            Some(dash) => (self.numbered(&token[..dash])?, self.numbered(&token[dash + 1..])?),
            None if is_number(token) => {
                let id = self.numbered(token)?;
                (id, id)
            }
            // A column of a table stands for all that was made of it.
            None => match std::str::from_utf8(token).ok().and_then(|name| self.inputs.of_column(name)) {
                Some(made) => return Ok(made),
                None => {
                    let id = self.named(token)?;
                    (id, id)
                }
            },
        };
        if first > last {
            return Err(format!("{}: a range goes from the smaller number to the larger", quoted(token)));
        }
        Ok(first..last + 1)
    }

    /// The feature with a number, counted from 1.
    fn numbered(&self, token: &[u8]) -> Result<u64, String> {
        // A number too long for 64 bits is beyond any feature.
        match token.iter().try_fold(0u64, |n, d| n.checked_mul(10)?.checked_add((d - b'0').into())) {
            Some(0) => {
                Err("feature 0: features are counted from 1; if this file counts from 0, add 1".into())
            }
            Some(n) if n <= self.inputs.last() => Ok(n - 1),
            _ => Err(format!("no feature {}: the data have {}", quoted(token), self.inputs.dimension())),
        }
    }

    /// The feature with a name.
    fn named(&mut self, name: &[u8]) -> Result<u64, String> {
        let names = self.inputs.names();
        let by_name = self.by_name.get_or_insert_with(|| {
            let mut map = HashMap::with_capacity(names.len());
            for (id, name) in (0..).zip(names) {
                map.entry(name.as_str()).and_modify(|id| *id = None).or_insert(Some(id));
            }
            map
        });
        match std::str::from_utf8(name).ok().and_then(|name| by_name.get(name)) {
            Some(Some(id)) => Ok(*id),
            Some(None) => Err(format!("several features are called {}: use a number", quoted(name))),
            None => Err(self.unknown(name)),
        }
    }

    /// Why a token is no feature.
    fn unknown(&self, token: &[u8]) -> String {
        let token = quoted(token);
        let names = self.inputs.names();
        if names.is_empty() {
            return format!(
                "{token} is neither a number from 1 nor a range like 3-9, and the features have no names"
            );
        }
        let cut = names.iter().any(|name| name.bytes().any(is_blank));
        let use_number = if cut { "; names with blanks or commas take quotes" } else { "" };
        format!("no feature is called {token}{use_number}")
    }
}

/// Puts features into a group of a tree in the making.
fn put(builder: &mut TreeBuilder, inputs: &Inputs<'_>, ids: &Range<u64>, group: u32) -> Result<(), String> {
    builder.put(inputs, ids, group).map_err(|(position, before)| {
        let feature = inputs.name(&inputs.feature(position));
        format!("not a tree: feature {feature} is in group {} already", builder.names.quoted(before))
    })
}

#[cfg(test)]
mod tests;
