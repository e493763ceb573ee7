//! A group a line: `name: 3 5 9-12`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use rayon::prelude::*;

use super::{Members, colon, for_each_line, quotes};
use crate::data::read::{Source, quoted};
use crate::error::{Error, Place, Reason, Result};
use crate::parallel;
use crate::space::{Groups, Inputs, Tree};

/// Names that one thread hashes one after the other.
const HASHED: usize = 1 << 10;

/// Groups, and the lines they stand on.
pub(super) struct Lists {
    pub(super) groups: Groups,
    lines: Vec<u64>,
    file: String,
}

/// Reads lists. `most` is how many members a group may have, `hint` what to say where something is no feature.
pub(super) fn read(source: Source, inputs: &Inputs<'_>, most: Option<usize>, hint: Reason) -> Result<Lists> {
    let mut lists = Lists::over(inputs, source.name())?;
    let mut members = Members { hint, ..Members::new(inputs, &lists.file) };
    let mut ranges = Vec::new();
    for_each_line(source, |line, text| {
        let (name, start) = title(text).map_err(|(at, reason)| members.error(line, at, reason))?;
        let name = Some(&*name).filter(|name| !name.is_empty());
        let number = lists.groups.len() + 1;
        let shown = || name.map_or_else(|| number.to_string(), |name| quoted(name.as_bytes()));
        ranges.clear();
        let mut size = 0u64;
        members.list((line, text, start), |ids| {
            size = size.saturating_add(ids.end - ids.start);
            if let Some(most) = most.filter(|&most| size > most as u64) {
                let reason = "too many to be fitted as one";
                return Err(format!("group {} has more than {most} members, {reason}: split it", shown()));
            }
            ranges.push(ids);
            Ok(())
        })?;
        if ranges.is_empty() {
            return Err(members.error(line, start, format!("group {} is empty", shown())));
        }
        lists.push(inputs, name, &mut ranges, line)
    })?;
    lists.groups.beyond = members.beyond;
    lists.checked()
}

/// The name that a line begins with, empty if there is none, and where its members begin.
pub(super) fn title(text: &str) -> Result<(Cow<'_, str>, usize), (usize, &'static str)> {
    let hidden = quotes::hidden(text.as_bytes())?;
    // After a name in quotes any colon will do: what follows may be in quotes too.
    let begin = text.len() - text.trim_start().len();
    let quoted =
        if hidden[begin..].starts_with(b"\"") { quotes::end(text.as_bytes(), begin).ok() } else { None };
    let after = |end: usize| end + (text[end..].len() - text[end..].trim_start().len());
    let at = quoted.map(after).filter(|&at| hidden.get(at) == Some(&b':')).or_else(|| colon(&hidden));
    Ok(at.map_or(("".into(), 0), |at| (quotes::undone(text[..at].trim()), at + 1)))
}

impl Lists {
    /// None yet, of this file.
    pub(super) fn over(inputs: &Inputs<'_>, file: &str) -> Result<Self> {
        Ok(Self { groups: Groups::over(inputs)?, lines: Vec::new(), file: file.to_owned() })
    }

    /// Adds the group of a line.
    pub(super) fn push(
        &mut self,
        inputs: &Inputs<'_>,
        name: Option<&str>,
        ranges: &mut Vec<Range<u64>>,
        line: u64,
    ) -> Result<()> {
        if u32::try_from(self.groups.len() + 1).is_err() {
            let reason = format!("more than {} groups", u32::MAX);
            return Err(Error::input(Place::at(&self.file, line, 1), reason));
        }
        self.groups.push_known(inputs, name, ranges);
        self.lines.push(line);
        Ok(())
    }

    /// The same, if there are any groups, and names tell them apart.
    pub(super) fn checked(self) -> Result<Self> {
        if self.groups.is_empty() {
            return Err(Error::input(self.file.as_str(), "no groups"));
        }
        self.check_names()?;
        Ok(self)
    }

    /// Names must tell groups apart.
    fn check_names(&self) -> Result<()> {
        let groups = 0..self.groups.len() as u32;
        let unnamed = groups.clone().all(|g| self.groups.names.get(g as usize).is_none());
        if unnamed || self.hashes_differ() {
            return Ok(());
        }
        let mut first_of: HashMap<Cow<'_, str>, u32> = HashMap::with_capacity(groups.len());
        for g in groups {
            let name = self.name(g);
            if let Some(first) = first_of.insert(name.clone(), g) {
                let (name, line) = (quoted(name.as_bytes()), self.lines[first as usize]);
                return Err(
                    self.error(g, format!("a second group called {name}: the first is in line {line}"))
                );
            }
        }
        Ok(())
    }

    /// Whether names differ for sure, as their hashes do: to sort these takes a fraction of the time of a map of all names.
    fn hashes_differ(&self) -> bool {
        let state = RandomState::new();
        let hash = |g: usize| state.hash_one(self.name(g as u32));
        let mut hashes = parallel::map_runs(self.groups.len(), HASHED, hash);
        hashes.par_sort_unstable();
        hashes.is_sorted_by(|a, b| a < b)
    }

    /// What a group is called; one without a name, by its number.
    fn name(&self, g: u32) -> Cow<'_, str> {
        self.groups.names.get(g as usize).map_or_else(|| (g + 1).to_string().into(), Cow::from)
    }

    /// The tree that the groups form.
    pub(super) fn into_tree(mut self, inputs: &Inputs<'_>, singletons: bool) -> Result<Tree> {
        if singletons {
            self.groups.add_singletons();
        }
        Tree::new(&self.groups).map_err(|crossing| {
            let [a, b] = crossing.groups;
            let (first, second) = (a.min(b), a.max(b));
            let group = |g: u32| self.groups.names.quoted(g);
            let feature = |position: u32| inputs.name(&inputs.feature(position as usize));
            let reason = format!(
                "not a tree: group {} crosses group {} of line {}: both hold feature {}, but only {} holds {} and only {} holds {}",
                group(second),
                group(first),
                self.lines[first as usize],
                feature(crossing.shared),
                group(a),
                feature(crossing.only[0]),
                group(b),
                feature(crossing.only[1]),
            );
            self.error(second, reason)
        })
    }

    fn error(&self, g: u32, reason: String) -> Error {
        Error::input(Place::at(&self.file, self.lines[g as usize], 1), reason)
    }
}
