//! A group a line: `name: 3 5 9-12`.

use super::{Members, for_each_line, named};
use crate::data::read::Source;
use crate::error::{Error, Place, Result};
use crate::space::{Groups, Inputs, Tree};

/// Groups, and the lines they stand on.
pub(super) struct Lists {
    pub(super) groups: Groups,
    lines: Vec<u64>,
    file: String,
}

/// Reads lists; `most` is how many members a group may have.
pub(super) fn read(source: Source, inputs: &Inputs<'_>, most: Option<usize>) -> Result<Lists> {
    let file = source.name().to_owned();
    let mut lists = Lists { groups: Groups::over(inputs)?, lines: Vec::new(), file };
    let mut members = Members::new(inputs, &lists.file);
    let mut ids = Vec::new();
    for_each_line(source, |line, text| {
        let (name, start) = named(text.as_bytes());
        let name = name.map(|bytes| std::str::from_utf8(bytes).expect("cut at ASCII characters"));
        let number = lists.groups.len() + 1;
        let shown = || name.map_or_else(|| number.to_string(), str::to_owned);
        ids.clear();
        members.list((line, text, start), most, shown, &mut ids)?;
        if ids.is_empty() {
            return Err(members.error(line, start, format!("group {} is empty", shown())));
        }
        if u32::try_from(number).is_err() {
            return Err(members.error(line, 0, format!("more than {} groups", u32::MAX)));
        }
        lists.groups.push_known(inputs, name, &mut ids);
        lists.lines.push(line);
        Ok(())
    })?;
    lists.groups.beyond = members.beyond;
    if lists.groups.is_empty() {
        return Err(Error::input(lists.file.as_str(), "no groups"));
    }
    lists.check_names()?;
    Ok(lists)
}

impl Lists {
    /// Names must tell groups apart.
    fn check_names(&self) -> Result<()> {
        let names = &self.groups.names;
        let mut named: Vec<u32> = (0..self.groups.len() as u32).collect();
        named.retain(|&g| names.get(g as usize).is_some());
        named.sort_by_key(|&g| (names.get(g as usize), g));
        let same = |pair: &&[u32]| names.get(pair[0] as usize) == names.get(pair[1] as usize);
        match named.windows(2).filter(same).min_by_key(|pair| pair[1]) {
            Some(pair) => {
                let name = names.get(pair[1] as usize).unwrap_or_default();
                let first = self.lines[pair[0] as usize];
                let reason = format!("a second group called {name}; the first is in line {first}");
                Err(self.error(pair[1], reason))
            }
            None => Ok(()),
        }
    }

    /// The tree that the groups form.
    pub(super) fn into_tree(mut self, inputs: &Inputs<'_>, singletons: bool) -> Result<Tree> {
        if singletons {
            self.groups.add_singletons();
        }
        Tree::new(&self.groups).map_err(|crossing| {
            let [a, b] = crossing.groups;
            let (first, second) = (a.min(b), a.max(b));
            let group = |g: u32| self.groups.names.show(g as usize, inputs, None);
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
