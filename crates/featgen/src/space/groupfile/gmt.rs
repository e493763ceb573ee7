//! Pathways as gene sets are exchanged (`.gmt`): `name TAB description TAB gene TAB gene ...`, a pathway a line.
//!
//! Such files are made for all genes that there are, and data have some of them. Genes that the data lack are skipped, and
//! pathways that have no other are left out; how many, is said. A gene is what a feature is called: its name, also where that
//! looks like a number, as gene ids do; or its number where features have no names.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::lists::Lists;
use super::{for_each_line, is_number};
use crate::data::read::{Source, quoted};
use crate::error::{Error, Place, Reason, Result};
use crate::space::{Inputs, Lacking};

/// Reads pathways. `most` is how many genes one may have among the features.
pub(super) fn read(source: Source, inputs: &Inputs<'_>, most: Option<usize>) -> Result<Lists> {
    let file = source.name().to_owned();
    let mut lists = Lists::over(inputs, &file)?;
    let mut genes = Genes::of(inputs);
    let mut lacking = Lacking::default();
    let mut ranges = Vec::new();
    for_each_line(source, |line, text| {
        let fault = |reason: String| Error::input(Place::at(&file, line, 1), reason);
        let mut fields = text.split('\t').map(str::trim);
        let name = fields.next().filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| fault("a pathway without a name before the first tab".into()))?;
        if fields.next().is_none() {
            return Err(fault("no tab: expected `name TAB description TAB gene TAB gene ...`".into()));
        }
        ranges.clear();
        fields.filter(|gene| !gene.is_empty()).for_each(|gene| genes.find(gene, &mut ranges));
        lacking.of_groups += 1;
        if ranges.is_empty() {
            lacking.groups += 1;
            return Ok(());
        }
        if let Some(most) = most.filter(|&most| ranges.len() > most) {
            // Repeated genes count once.
            ranges.sort_unstable_by_key(|range: &Range<u64>| range.start);
            ranges.dedup();
            if ranges.len() > most {
                let shown = quoted(name.as_bytes());
                let reason = "too many to be fitted as one";
                return Err(fault(format!("group {shown} has more than {most} members, {reason}: split it")));
            }
        }
        lists.push(inputs, Some(name), &mut ranges, line)
    })?;
    (lacking.members, lacking.of_members) = genes.counts();
    if lacking.of_groups > 0 && lists.groups.is_empty() {
        return Err(Error::input(file.as_str(), none_found(inputs)));
    }
    lists.groups.lacking = Some(lacking);
    lists.checked()
}

/// What to say where no pathway has a gene of the data.
fn none_found(inputs: &Inputs<'_>) -> Reason {
    let reason = Reason::from("no pathway has a gene among the features");
    match inputs.names().first() {
        Some(name) => reason.words(format!(", the first of which is called {}", quoted(name.as_bytes()))),
        None => reason.words(": these have no names; give them (").parameter("names").words(")"),
    }
}

/// Features by what they are called.
struct Genes<'a> {
    /// Number of features, where they have no names.
    unnamed: Option<u64>,
    /// Ids by name.
    ids: Vec<u64>,
    /// Where in `ids` those are that have a name, and whether a pathway has it.
    by_name: HashMap<&'a str, (Range<usize>, bool)>,
    /// Features without names that a pathway has.
    numbered: HashSet<u64>,
    /// Genes that no feature is called.
    unknown: HashSet<Box<str>>,
}

impl<'a> Genes<'a> {
    fn of(inputs: &Inputs<'a>) -> Self {
        let names = inputs.names();
        let mut ids: Vec<u64> = (0..names.len() as u64).collect();
        let name = |id: u64| names[id as usize].as_str();
        ids.sort_by_key(|&id| name(id));
        let mut by_name = HashMap::with_capacity(names.len());
        let mut begin = 0;
        for same in ids.chunk_by(|&a, &b| name(a) == name(b)) {
            by_name.insert(name(same[0]), (begin..begin + same.len(), false));
            begin += same.len();
        }
        let unnamed = names.is_empty().then(|| inputs.dimension());
        Self { unnamed, ids, by_name, numbered: HashSet::new(), unknown: HashSet::new() }
    }

    /// Adds the features that are called so, of which there may be several.
    fn find(&mut self, gene: &str, ranges: &mut Vec<Range<u64>>) {
        if let Some((range, had)) = self.by_name.get_mut(gene) {
            *had = true;
            ranges.extend(self.ids[range.clone()].iter().map(|&id| id..id + 1));
            return;
        }
        let number = Some(gene).filter(|gene| is_number(gene.as_bytes())).and_then(|gene| gene.parse().ok());
        match (number, self.unnamed) {
            (Some(number @ 1..), Some(features)) if number <= features => {
                self.numbered.insert(number);
                ranges.push(number - 1..number);
            }
            _ if self.unknown.contains(gene) => {}
            _ => drop(self.unknown.insert(gene.into())),
        }
    }

    /// How many different genes no feature is called, and how many there are in all.
    fn counts(&self) -> (usize, usize) {
        let known = self.by_name.values().filter(|(_, had)| *had).count() + self.numbered.len();
        (self.unknown.len(), self.unknown.len() + known)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{dense, groups_of, gzip, lists_of, named, quickly, tree_of};
    use super::super::{TreeFormat, groups_from};
    use super::*;
    use crate::data::Dataset;
    use crate::space::{GroupSpace, GroupWeight};

    const SMALL: &str = "REPAIR\thttps://example.org/repair\tBRCA1\tATM\nCYCLE\t\tATM\tCDK1\tWEE1\n";

    fn genes() -> Dataset {
        named(&["ATM", "BRCA1", "CDK1", "7157", "TP53"])
    }

    /// The groups of a file, and what the data lack of it.
    fn read(data: &Dataset, text: impl Into<Vec<u8>>) -> Result<(Vec<String>, Lacking)> {
        let inputs = Inputs::new(data);
        let groups = groups_from(Source::from_bytes(text)?, &inputs, false)?;
        let lacking = groups.lacking().expect("pathways");
        Ok((groups_of(&GroupSpace::new(inputs, groups, GroupWeight::None)?), lacking))
    }

    #[test]
    fn every_way_of_writing_the_same() {
        let ways = [
            SMALL.to_owned(),
            SMALL.replace('\n', "\r\n"),
            SMALL.trim_end().to_owned(),
            format!("\u{feff}{SMALL}"),
            SMALL.replace('\n', "\t\t\n\n"),
            SMALL.replace("ATM", " ATM \tATM\t"),
            format!("# pathways\n{SMALL}\n# more\n"),
            SMALL.replace("https://example.org/repair", "a description: in words, \"so to speak"),
        ];
        let lacking = Lacking { members: 1, of_members: 4, groups: 0, of_groups: 2 };
        for text in ways {
            let expected = ["REPAIR: 1 2", "CYCLE: 1 3"].map(str::to_owned).to_vec();
            assert_eq!(read(&genes(), &*text).unwrap(), (expected, lacking), "{text:?}");
        }
        for bytes in [gzip(SMALL.as_bytes()), zstd::encode_all(SMALL.as_bytes(), 1).unwrap()] {
            assert_eq!(read(&genes(), bytes).unwrap().1, lacking);
        }
    }

    #[test]
    fn genes_are_names_also_where_they_look_like_numbers() {
        // Feature 4 is called 7157, and the fourth of features without names is called 4.
        let text = "A\tna\t7157\t4\nB\tna\tTP53\n";
        assert_eq!(read(&genes(), text).unwrap().0, ["A: 4", "B: 5"]);
        assert_eq!(read(&dense(6), "A\tna\t4\t0\t7\tx\t04\n").unwrap().0, ["A: 4"]);
        // All columns of a gene belong to it.
        let twice = named(&["ATM", "TP53", "ATM"]);
        assert_eq!(read(&twice, "A\tna\tATM\n").unwrap().0, ["A: 1 3"]);
    }

    #[test]
    fn pathways_without_a_gene_are_left_out_and_counted() {
        let text = "A\tna\tX\tY\tX\nB\tna\nC\tna\tY\tTP53\tATM\nD\tna\t\t\n";
        let (groups, lacking) = read(&genes(), text).unwrap();
        assert_eq!(groups, ["C: 1 5"]);
        assert_eq!(lacking, Lacking { members: 2, of_members: 4, groups: 3, of_groups: 4 });
        let none = |data: &Dataset, text: &str| read(data, text).map(drop).unwrap_err().to_string();
        let called = "test: no pathway has a gene among the features, the first of which is called `ATM`";
        assert_eq!(none(&genes(), "A\tna\tX\n"), called);
        let unnamed =
            "test: no pathway has a gene among the features: these have no names; give them (--names)";
        assert_eq!(none(&dense(4), "A\tna\tATM\n"), unnamed);
    }

    #[test]
    #[rustfmt::skip] // one case, one line
    fn faults_have_places() {
        let cases = [
            ("A\tna\tATM\nno tabs here\n", "test:2:1: no tab: expected `name TAB description TAB gene TAB gene ...`"),
            ("A\tna\tATM\n\tna\tATM\n", "test:2:1: a pathway without a name before the first tab"),
            ("A\tna\tATM\nB\tna\tATM\nA\tna\tTP53\n", "test:3:1: a second group called `A`: the first is in line 1"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(&genes(), text).map(drop).unwrap_err().to_string(), expected, "{text:?}");
        }
        let bytes = b"A\tna\tATM\nB\t\xff\tATM\n".as_slice();
        assert_eq!(read(&genes(), bytes).map(drop).unwrap_err().to_string(), "test:2:3: not text in UTF-8");
        let wide = dense(70_000);
        let all: String = (1..=65_537).map(|k| format!("\t{k}")).collect();
        let reason = "has more than 65536 members, too many to be fitted as one: split it";
        assert_eq!(read(&wide, format!("A\tna{all}\n")).map(drop).unwrap_err().to_string(), format!("test:1:1: group `A` {reason}"));
        let twice = all.replace("\t65537", "").repeat(2);
        assert_eq!(read(&wide, format!("A\tna{twice}\n")).unwrap().0.len(), 1);
    }

    /// What could be read as lists before still is.
    #[test]
    fn lists_with_tabs_are_lists() {
        let cases = [
            ("ATM\tBRCA1\tCDK1\n", "1: 1 2 3"),
            ("a:\tATM\tBRCA1\tCDK1\n", "a: 1 2 3"),
            ("a\t:\tATM\t2-3\n", "a: 1 2 3"),
            ("1\t2\t3\n", "1: 1 2 3"),
            ("GO:1\t2\t3\n", "GO: 1 2 3"),
            ("the first\tof all: 1\t2\t3\n", "the first\tof all: 1 2 3"),
            ("\"ATM\"\t\"BRCA1\"\t3\n", "1: 1 2 3"),
        ];
        for (text, expected) in cases {
            assert_eq!(lists_of(&genes(), text).unwrap(), [expected], "{text:?}");
        }
        let pathways = "GO:0000001\tmitochondrion inheritance\tATM\n";
        assert_eq!(read(&genes(), pathways).unwrap().0, ["GO:0000001: 1"]);
        // A feature that is not there is a mistake in a list.
        for text in ["a:\tATM\tBRCA\tCDK1\n", "ATM\tBRCA\tCDK1\n"] {
            let error = lists_of(&genes(), text).unwrap_err().to_string();
            assert!(error.ends_with("no feature is called `BRCA`"), "{error}");
        }
    }

    #[test]
    fn nested_pathways_form_a_tree() {
        let text = "ALL\tna\tATM\tBRCA1\tCDK1\tX\nSOME\tna\tATM\tCDK1\n";
        for format in [None, Some(TreeFormat::Gmt)] {
            assert_eq!(tree_of(&genes(), format, text).unwrap(), ["ALL: 1 2 3", "SOME: 1 3"]);
        }
        let crossing = tree_of(&genes(), None, SMALL).unwrap_err().to_string();
        assert!(
            crossing.starts_with("test:2:1: not a tree: group `CYCLE` crosses group `REPAIR`"),
            "{crossing}"
        );
    }

    #[test]
    fn many_pathways_and_long_ones_take_little_time() {
        let many: String = (0..100_000).map(|k| format!("P{k}\tna\tATM\tG{k}\tG{}\n", k + 1)).collect();
        let (groups, lacking) = quickly(|| read(&genes(), many).unwrap());
        assert_eq!((groups.len(), lacking.members), (100_000, 100_001));
        let long: String = (0..1_200_000).map(|k| format!("\tG{k}")).collect();
        let long = format!("P\tna{long}\tATM\n");
        assert!(long.len() > 9 << 20);
        assert_eq!(quickly(|| read(&genes(), long).unwrap()).0, ["P: 1"]);
    }
}
