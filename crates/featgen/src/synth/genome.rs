//! Genotypes of people, and a trait that a few variants decide: as PLINK's files, written as they are made.
//!
//! Neighbouring variants are linked: each of the two copies of a chromosome has the allele of the variant before, or a new one.
//! With confounding there are two populations, in which a part of the variants differ in frequency, and which differ in the trait
//! for another reason than their genes: all those variants then look as if they mattered.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::{Set, TRUTH, choose, on_threads, random};
use crate::error::{Error, Result};
use crate::files::{WholeFile, write_whole};
use crate::parallel;

/// A genome with a trait.
#[derive(Debug, Clone, PartialEq)]
pub struct Genome {
    /// People to learn from.
    pub people: usize,
    /// More people, unseen; 0 for none.
    pub test_people: usize,
    /// Variants.
    pub variants: usize,
    /// Variants that decide the trait.
    pub relevant: usize,
    /// The part of the trait's variance that they explain, without confounding.
    pub heritability: f64,
    /// How strongly a variant follows the one before, from 0 to below 1.
    pub linkage: f64,
    /// The part of the genotypes that are missing.
    pub missing: f64,
    /// How far the populations are from their middle in the trait, whose standard deviation is 1 otherwise; 0 for one population.
    pub confounding: f64,
    /// Whether the trait is a number, rather than cases and controls.
    pub quantitative: bool,
    /// What makes the random numbers differ.
    pub seed: u64,
}

impl Default for Genome {
    fn default() -> Self {
        Self {
            people: 2000,
            test_people: 1000,
            variants: 20_000,
            relevant: 10,
            heritability: 0.5,
            linkage: 0.5,
            missing: 0.002,
            confounding: 0.0,
            quantitative: false,
            seed: 0,
        }
    }
}

/// Linked variants, and bases from one to the next.
const BLOCK: usize = 20;
const BASES: u64 = 5000;

/// Frequencies are counted in parts of this.
const PARTS: f64 = 256.0;

/// The part of the blocks whose frequencies differ between populations, and by how many parts.
const STRUCTURED: f64 = 0.2;
const APART: u32 = 80;

/// Streams of what all people share, from here on, one a block; and of what each set has of its own.
const SHARED: u64 = 1 << 62;
const TRAITS: u64 = TRUTH - 64;

/// Blocks that are made together before they are written.
const TOGETHER: usize = 64;

/// What the people of a block of variants share.
struct Block {
    /// How frequent the counted alleles are in both populations.
    parts: [u32; 2],
    alleles: Vec<[char; 2]>,
}

/// The relevant variants, by id, with the weight of an allele and its frequency.
type Effects = BTreeMap<u64, (f64, f64)>;

/// What a block of variants has of one set of people.
struct Made {
    bytes: Vec<u8>,
    /// The copies of the counted allele in relevant variants, as bits of both chromosomes.
    relevant: Vec<(f64, f64, [Vec<u64>; 2])>,
}

/// The people of a set.
struct People {
    rows: usize,
    /// Who is of the second population, as bits.
    second: Vec<u64>,
}

impl Genome {
    fn checked(&self) -> Result<()> {
        let wrong = |name, reason: String| Err(Error::parameter(name, reason));
        for (name, rows) in [("rows", self.people), ("test-rows", self.test_people)] {
            if u32::try_from(rows).is_err() {
                return wrong(name, format!("at most {} are supported, not {rows}", u32::MAX));
            }
        }
        if self.people < 2 {
            return wrong("rows", format!("at least 2 people are needed, not {}", self.people));
        }
        if self.variants == 0 || u32::try_from(self.variants).is_err() {
            return wrong("features", format!("must be within 1 and {}, not {}", u32::MAX, self.variants));
        }
        for (name, x, below) in [
            ("heritability", self.heritability, 1.0 + f64::EPSILON),
            ("linkage", self.linkage, 1.0),
            ("missing", self.missing, 1.0),
        ] {
            if !(0.0..below).contains(&x) {
                return wrong(name, format!("must be a part of 1, not {x}"));
            }
        }
        if !(self.confounding.is_finite() && self.confounding >= 0.0) {
            return wrong("confounding", format!("must be at least 0, not {}", self.confounding));
        }
        Ok(())
    }

    /// The files of a set: `.bed`, `.bim` and `.fam`.
    pub fn files(prefix: &Path, set: Set) -> [PathBuf; 3] {
        let set = if set == Set::Train { "train" } else { "test" };
        ["bed", "bim", "fam"].map(|end| named(prefix, &format!("{set}.{end}")))
    }

    /// The table of covariates of all people; written with confounding alone.
    pub fn covariates(prefix: &Path) -> PathBuf {
        named(prefix, "covar.txt")
    }

    /// The list of relevant variants.
    pub fn truth(prefix: &Path) -> PathBuf {
        named(prefix, "truth.txt")
    }

    /// Writes all files, whose names begin with `prefix`.
    pub fn write(&self, prefix: impl AsRef<Path>) -> Result<()> {
        self.checked()?;
        let prefix = prefix.as_ref();
        let effects = self.effects()?;
        let sets = [Set::Train, Set::Test];
        let sets: Vec<(Set, People)> =
            sets.into_iter().filter(|set| self.rows(*set) > 0).map(|set| (set, self.people(set))).collect();
        for (set, people) in &sets {
            on_threads(|| self.write_set(prefix, *set, people, &effects))?;
        }
        write_whole(&Self::truth(prefix), |out| {
            writeln!(out, "# relevant variants and the weights of their counted alleles")?;
            effects.iter().try_for_each(|(id, (weight, _))| writeln!(out, "rs{} {weight}", id + 1))
        })?;
        if self.confounding == 0.0 {
            return Ok(());
        }
        write_whole(&Self::covariates(prefix), |out| {
            writeln!(out, "FID IID population age")?;
            for (set, people) in &sets {
                let mut random = random(self.seed, TRAITS - 2 - *set as u64);
                for row in 0..people.rows {
                    let name = person(*set, row);
                    let age = 50.0 + 10.0 * random.sample::<f64, _>(StandardNormal);
                    writeln!(out, "{name} {name} {} {age:.1}", bit(&people.second, row))?;
                }
            }
            Ok(())
        })
    }

    fn rows(&self, set: Set) -> usize {
        if set == Set::Train { self.people } else { self.test_people }
    }

    fn people(&self, set: Set) -> People {
        let rows = self.rows(set);
        let mut random = random(self.seed, TRAITS - set as u64);
        let second = (0..rows.div_ceil(64)).map(|_| random.random::<u64>());
        let second = if self.confounding > 0.0 { second.collect() } else { vec![0; rows.div_ceil(64)] };
        People { rows, second }
    }

    /// Weights are so large that the relevant variants, were they not linked, explain as much as they are to.
    fn effects(&self) -> Result<Effects> {
        let mut random = random(self.seed, TRUTH);
        let chosen = choose(self.relevant, self.variants, "variants", &mut random)?;
        let sizes: Vec<f64> = chosen
            .iter()
            .map(|_| random.random_range(0.5..1.0) * if random.random::<bool>() { 1.0 } else { -1.0 })
            .collect();
        let scale = (self.heritability / sizes.iter().map(|size| size * size).sum::<f64>()).sqrt();
        let effect = |(id, size): (u64, f64)| {
            let part = f64::from(self.block(id as usize / BLOCK).parts[0]) / PARTS;
            (id, (size * scale / (2.0 * part * (1.0 - part)).sqrt(), part))
        };
        Ok(chosen.into_iter().zip(sizes).map(effect).collect())
    }

    fn block(&self, block: usize) -> Block {
        let mut random = random(self.seed, SHARED + block as u64);
        let part = random.random_range(13..=128u32);
        let structured = self.confounding > 0.0 && random.random::<f64>() < STRUCTURED;
        let parts = [part, if structured { part + APART } else { part }];
        let alleles = (0..BLOCK).map(|_| {
            let first = random.random_range(0..4);
            let second = (first + random.random_range(1..4)) % 4;
            [first, second].map(|k: usize| ['A', 'C', 'G', 'T'][k])
        });
        Block { parts, alleles: alleles.collect() }
    }

    /// The variants of a block.
    fn ids(&self, block: usize) -> Range<usize> {
        block * BLOCK..self.variants.min((block + 1) * BLOCK)
    }

    fn write_set(&self, prefix: &Path, set: Set, people: &People, effects: &Effects) -> Result<()> {
        let [bed, bim, fam] = Self::files(prefix, set);
        let blocks = self.variants.div_ceil(BLOCK);
        let mut traits = vec![0.0; people.rows];
        write_whole(&bed, |out| {
            out.write_all(&[0x6c, 0x1b, 1])?;
            for first in (0..blocks).step_by(TOGETHER) {
                let part = first..blocks.min(first + TOGETHER);
                let made: Vec<Made> =
                    parallel::map(part.len(), |k| self.make(part.start + k, set, people, effects));
                for Made { bytes, relevant } in made {
                    out.write_all(&bytes)?;
                    for (weight, part, [one, other]) in relevant {
                        for (row, value) in traits.iter_mut().enumerate() {
                            *value += weight * (f64::from(bit(&one, row) + bit(&other, row)) - 2.0 * part);
                        }
                    }
                }
            }
            Ok(())
        })?;
        write_whole(&bim, |out| self.write_variants(blocks, out))?;
        let mut random = random(self.seed, TRAITS - 4 - set as u64);
        write_whole(&fam, |out| {
            for (row, genes) in traits.iter().enumerate() {
                let noise: f64 = random.sample(StandardNormal);
                let apart = self.confounding * (2.0 * f64::from(bit(&people.second, row)) - 1.0);
                let value = genes + (1.0 - self.heritability).max(0.0).sqrt() * noise + apart;
                let (name, sex) = (person(set, row), 1 + u8::from(random.random::<bool>()));
                match self.quantitative {
                    true => writeln!(out, "{name} {name} 0 0 {sex} {value:.6}")?,
                    false => writeln!(out, "{name} {name} 0 0 {sex} {}", 1 + u8::from(value > 0.0))?,
                }
            }
            Ok(())
        })
    }

    /// Variants lie at equal distances on 22 chromosomes, each of which has whole blocks.
    fn write_variants(&self, blocks: usize, out: &mut WholeFile) -> io::Result<()> {
        let long = blocks.div_ceil(22);
        for block in 0..blocks {
            let shared = self.block(block);
            for (id, [first, second]) in self.ids(block).zip(shared.alleles) {
                let (chromosome, place) = (1 + block / long, (id - block / long * long * BLOCK) as u64);
                let position = place * BASES + BASES / 2;
                writeln!(out, "{chromosome}\trs{}\t0\t{position}\t{first}\t{second}", id + 1)?;
            }
        }
        Ok(())
    }

    /// The genotypes of a block of variants.
    fn make(&self, block: usize, set: Set, people: &People, effects: &Effects) -> Made {
        let mut random = random(self.seed, 2 * block as u64 + set as u64);
        let (shared, words) = (self.block(block), people.second.len());
        let linkage = (self.linkage * PARTS) as u32;
        let mut made = Made { bytes: Vec::new(), relevant: Vec::new() };
        let mut copies = [vec![0u64; words], vec![0u64; words]];
        for (k, id) in self.ids(block).enumerate() {
            for copy in &mut copies {
                for (bits, second) in copy.iter_mut().zip(&people.second) {
                    let [one, other] = shared.parts.map(|parts| drawn(parts, &mut random));
                    let new = (one & !second) | (other & second);
                    let keeps = if k == 0 { 0 } else { drawn(linkage, &mut random) };
                    *bits = (*bits & keeps) | (new & !keeps);
                }
            }
            if let Some(&(weight, part)) = effects.get(&(id as u64)) {
                made.relevant.push((weight, part, copies.clone()));
            }
            self.put(&copies, people.rows, &mut random, &mut made.bytes);
        }
        made
    }

    /// Writes a variant as codes, some of which say that the genotype is missing.
    fn put(&self, [one, other]: &[Vec<u64>; 2], rows: usize, random: &mut ChaCha8Rng, bytes: &mut Vec<u8>) {
        let begin = bytes.len();
        let mut missing = vec![0u64; one.len()];
        super::each(rows, self.missing, random, |row| missing[row / 64] |= 1 << (row % 64));
        for (k, ((one, other), missing)) in one.iter().zip(other).zip(missing).enumerate() {
            let there = if 64 * (k + 1) <= rows { u64::MAX } else { (1 << (rows % 64)) - 1 };
            // Two copies are 00, one is 10, none 11; missing is 01.
            let low = (!(one | other) | missing) & there;
            let high = !(one & other) & !missing & there;
            for half in [0, 32] {
                let codes = spread(low >> half) | (spread(high >> half) << 1);
                bytes.extend(codes.to_le_bytes());
            }
        }
        bytes.truncate(begin + rows.div_ceil(4));
    }
}

/// The name of a person, and of the family.
fn person(set: Set, row: usize) -> String {
    format!("{}{}", if set == Set::Train { 'P' } else { 'T' }, row + 1)
}

fn named(prefix: &Path, end: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(".");
    name.push(end);
    name.into()
}

fn bit(bits: &[u64], row: usize) -> u8 {
    u8::from(bits[row / 64] >> (row % 64) & 1 == 1)
}

/// Bits each of which is 1 in so many parts of 256: compared, bit by bit from the lowest, with a random number.
fn drawn(parts: u32, random: &mut ChaCha8Rng) -> u64 {
    (parts.trailing_zeros().min(8)..8).fold(0, |bits, place| {
        let chance: u64 = random.random();
        if parts >> place & 1 == 1 { bits | chance } else { bits & chance }
    })
}

/// The lower 32 bits, each with a 0 after it.
fn spread(bits: u64) -> u64 {
    let steps = [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ];
    steps.into_iter().fold(bits & 0xffff_ffff, |bits, (by, mask)| (bits | bits << by) & mask)
}
