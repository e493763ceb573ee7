//! The variants of a `.bim` file: where they are, and what their alleles are.

use std::collections::{HashMap, HashSet};

use super::fields::for_each_line;
use crate::data::genotypes::{Coding, Genotype};
use crate::data::read::{Source, quoted};
use crate::error::{Error, Place, Result, reserve};

/// What stands for an allele that nobody has.
const ABSENT: &str = "0";

/// What stands for the name of a variant that has none.
const UNNAMED: &str = ".";

/// Variants in the order of the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Variants {
    file: String,
    /// Chromosomes and alleles, each spelling once.
    words: Vec<String>,
    list: Vec<Variant>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Variant {
    chromosome: u32,
    alleles: [u32; 2],
    position: u64,
    line: u64,
}

impl Variants {
    /// Reads a `.bim` file; also what the variants are called. Those whose name others have too, or that have none, are called
    /// by place and alleles, as in `7:117559590:A:G`, and if that is not enough, by a number after it.
    pub(super) fn read(source: Source) -> Result<(Self, Vec<String>)> {
        let mut variants = Self { file: source.name().to_owned(), ..Self::default() };
        let (mut names, mut words) = (Vec::new(), HashMap::new());
        let file = variants.file.clone();
        for_each_line(source, |line| {
            let &[chromosome, name, _, position, first, second] = line.fields() else {
                let found = line.fields().len();
                let reason = "chromosome, name, distance, position and two alleles are expected";
                return Err(line.error(6, format!("{found} fields, where {reason}")));
            };
            let Ok(position) = position.parse::<i64>() else {
                let reason = format!("the position {} is not a whole number", quoted(position.as_bytes()));
                return Err(line.error(3, reason));
            };
            let [chromosome, first, second] =
                [chromosome, first, second].map(|word| variants.word(word, &mut words));
            reserve(&mut variants.list, 1, &file)?;
            reserve(&mut names, 1, &file)?;
            variants.list.push(Variant {
                chromosome,
                alleles: [first, second],
                // Below 0 means that it is not known.
                position: position.max(0) as u64,
                line: line.number,
            });
            names.push(name.to_owned());
            Ok(())
        })?;
        variants.tell_apart(&mut names);
        Ok((variants, names))
    }

    fn word(&mut self, word: &str, known: &mut HashMap<String, u32>) -> u32 {
        if let Some(&place) = known.get(word) {
            return place;
        }
        let place = self.words.len() as u32;
        self.words.push(word.to_owned());
        known.insert(word.to_owned(), place);
        place
    }

    /// Gives a name of its own to every variant.
    fn tell_apart(&self, names: &mut [String]) {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        names.iter().for_each(|name| *seen.entry(name).or_default() += 1);
        let again: Vec<usize> =
            (0..names.len()).filter(|&id| names[id] == UNNAMED || seen[names[id].as_str()] > 1).collect();
        let mut taken: HashSet<String> = match again.is_empty() {
            true => return,
            false => names.iter().filter(|name| seen[name.as_str()] == 1).cloned().collect(),
        };
        for id in again {
            let [first, second] = self.alleles(id as u64);
            let place =
                format!("{}:{}:{first}:{second}", self.chromosome(id as u64), self.position(id as u64));
            let numbered = (2..).map(|number| format!("{place}#{number}"));
            let name = std::iter::once(place.clone()).chain(numbered).find(|name| !taken.contains(name));
            names[id] = name.expect("numbers do not end");
            taken.insert(names[id].clone());
        }
    }

    /// Number of variants.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The chromosome of a variant.
    pub fn chromosome(&self, id: u64) -> &str {
        &self.words[self.list[id as usize].chromosome as usize]
    }

    /// Its position there; 0 if it is not known.
    pub fn position(&self, id: u64) -> u64 {
        self.list[id as usize].position
    }

    /// Its alleles: the one that is counted first.
    pub fn alleles(&self, id: u64) -> [&str; 2] {
        self.list[id as usize].alleles.map(|word| self.words[word as usize].as_str())
    }

    /// How a variant is to be read so that it means what it meant elsewhere; an error if its alleles are others.
    pub(super) fn coding(&self, id: u64, elsewhere: &Genotype) -> Result<Coding> {
        let [first, second] = self.alleles(id);
        let same = |own: &str, other: &str| own == other || own == ABSENT || other == ABSENT;
        let Genotype { counted, other, mean } = elsewhere;
        let exchanged = match (first, second) {
            (a, b) if same(a, counted) && same(b, other) => false,
            (a, b) if same(a, other) && same(b, counted) => true,
            _ => {
                let reason = format!(
                    "the alleles are {} and {}; the model was trained on {} and {}",
                    quoted(first.as_bytes()),
                    quoted(second.as_bytes()),
                    quoted(counted.as_bytes()),
                    quoted(other.as_bytes())
                );
                let line = self.list[id as usize].line;
                return Err(Error::input(Place::at(&self.file, line, 1), reason));
            }
        };
        Ok(Coding { exchanged, fill: *mean })
    }
}
