//! Variants that lie together: in windows of a chromosome, or in genes.

use std::collections::{BTreeMap, HashMap};

use super::Variants;
use super::fields::for_each_line;
use crate::data::read::{Source, quoted};
use crate::error::{Error, Result};

/// Neighbouring variants.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    /// What it is called.
    pub name: String,
    /// The ids of its variants, in order.
    pub variants: Vec<u64>,
}

/// Variants by chromosome, in the order in which these come, without those whose place is not known.
fn by_chromosome(variants: &Variants) -> Vec<(&str, Vec<(u64, u64)>)> {
    let (mut list, mut known): (Vec<(&str, Vec<_>)>, HashMap<&str, usize>) = Default::default();
    for id in 0..variants.len() as u64 {
        let (chromosome, position) = (variants.chromosome(id), variants.position(id));
        if chromosome == "0" || position == 0 {
            continue;
        }
        let place = *known.entry(chromosome).or_insert_with(|| {
            list.push((chromosome, Vec::new()));
            list.len() - 1
        });
        list[place].1.push((position, id));
    }
    list.iter_mut().for_each(|(_, places)| places.sort_unstable());
    list
}

impl Variants {
    /// All windows of so many bases that have a variant, called by what they span: `1:100000-200000` has the positions from the
    /// first number on, up to but not including the last. Variants whose place is not known are in none.
    pub fn windows(&self, bases: u64) -> Result<Vec<Region>> {
        if bases == 0 {
            return Err(Error::parameter("windows", "must be at least 1 base"));
        }
        let mut windows = Vec::new();
        for (chromosome, places) in by_chromosome(self) {
            let mut own: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
            places.iter().for_each(|&(position, id)| own.entry(position / bases).or_default().push(id));
            windows.extend(own.into_iter().map(|(number, mut variants)| {
                let begin = number * bases;
                variants.sort_unstable();
                let name = format!("{chromosome}:{begin}-{}", begin.saturating_add(bases));
                Region { name, variants }
            }));
        }
        Ok(windows)
    }

    /// The genes of a file, `name chromosome first last` a line, which may overlap; also how many of them have no variant and are
    /// left out. `chr7` is the chromosome 7.
    pub fn genes(&self, file: impl AsRef<std::path::Path>) -> Result<(Vec<Region>, usize)> {
        self.genes_of(Source::open_list(file.as_ref())?)
    }

    pub(super) fn genes_of(&self, source: Source) -> Result<(Vec<Region>, usize)> {
        let plain = |chromosome: &str| {
            let prefix = chromosome.get(..3).filter(|prefix| prefix.eq_ignore_ascii_case("chr"));
            chromosome[prefix.map_or(0, str::len)..].to_owned()
        };
        let places: HashMap<String, Vec<(u64, u64)>> =
            by_chromosome(self).into_iter().map(|(name, places)| (plain(name), places)).collect();
        let (mut genes, mut empty) = (Vec::new(), 0);
        for_each_line(source, |line| {
            if line.fields()[0].starts_with('#') {
                return Ok(());
            }
            let &[name, chromosome, first, last] = line.fields() else {
                let reason = "name, chromosome, first and last position are expected";
                return Err(line.error(4, format!("{} fields, where {reason}", line.fields().len())));
            };
            let number = |field: usize, text: &str| {
                let reason = || format!("the position {} is not a whole number", quoted(text.as_bytes()));
                text.parse::<u64>().map_err(|_| line.error(field, reason()))
            };
            let (first, last) = (number(2, first)?, number(3, last)?);
            if last < first {
                return Err(line.error(3, "a gene cannot end before it begins"));
            }
            let there = places.get(&plain(chromosome)).map_or(&[][..], Vec::as_slice);
            let [begin, end] = [first, last.saturating_add(1)]
                .map(|position| there.partition_point(|&(other, _)| other < position));
            let mut variants: Vec<u64> = there[begin..end].iter().map(|&(_, id)| id).collect();
            variants.sort_unstable();
            match variants.is_empty() {
                true => empty += 1,
                false => genes.push(Region { name: name.to_owned(), variants }),
            }
            Ok(())
        })?;
        Ok((genes, empty))
    }
}
