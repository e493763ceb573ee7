//! Which people of a file are instances: all of them, or those of whom all is known that is needed.

use super::fixed::{Counts, PEOPLE, missing};

/// The codes of a genotype: two of the allele that is counted, missing, one, none.
pub(super) const TWO: usize = 0;
pub(super) const MISSING: usize = 1;
pub(super) const ONE: usize = 2;
pub(super) const NONE: usize = 3;

/// The people of a file who are instances, in their order there.
#[derive(Debug, Clone)]
pub(super) struct People {
    /// All people of the file.
    all: usize,
    /// Those who are instances, if not all are.
    kept: Option<Vec<u32>>,
    /// The lower of the two bits of each of them, as genotypes lie in a column.
    mask: Vec<u64>,
}

impl People {
    /// So many people of `all`, by their places in the file, which increase.
    pub(super) fn new(all: usize, kept: Option<Vec<u32>>) -> Self {
        let mut mask = vec![0; all.div_ceil(8 * PEOPLE)];
        let mut set = |person: usize| mask[person / 32] |= 1 << (2 * (person % 32));
        match &kept {
            Some(kept) => kept.iter().for_each(|&person| set(person as usize)),
            None => (0..all).for_each(&mut set),
        }
        Self { all, kept: kept.filter(|kept| kept.len() < all), mask }
    }

    /// Number of people in the file.
    pub(super) fn all(&self) -> usize {
        self.all
    }

    /// Number of instances.
    pub(super) fn len(&self) -> usize {
        self.kept.as_ref().map_or(self.all, Vec::len)
    }

    /// Where an instance is in the file.
    pub(super) fn place(&self, row: usize) -> usize {
        self.kept.as_ref().map_or(row, |kept| kept[row] as usize)
    }

    /// Bytes that a column takes in the file.
    pub(super) fn stride(&self) -> usize {
        self.all.div_ceil(PEOPLE)
    }

    /// How many instances have each of the four codes in a column.
    pub(super) fn count(&self, column: &[u8]) -> [u32; 4] {
        let (words, rest) = column.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let mut counts = [0; 4];
        for (word, &mask) in words.iter().chain([&last]).zip(&self.mask) {
            let word = u64::from_le_bytes(*word);
            let (low, high) = (word & mask, (word >> 1) & mask);
            counts[MISSING] += (missing(word) & mask).count_ones();
            counts[ONE] += (high & !low).count_ones();
            counts[NONE] += (high & low).count_ones();
        }
        counts[TWO] = self.len() as u32 - counts[MISSING] - counts[ONE] - counts[NONE];
        counts
    }

    /// Calls `each` with every instance and its code in a column.
    pub(super) fn each_code(&self, column: &[u8], mut each: impl FnMut(u32, usize)) {
        let code = |person: usize| usize::from(column[person / PEOPLE] >> (2 * (person % PEOPLE))) & 3;
        match &self.kept {
            Some(kept) => {
                (0..).zip(kept).for_each(|(row, &person)| each(row, code(person as usize)));
            }
            None => {
                for (first, &byte) in (0u32..).step_by(PEOPLE).zip(column) {
                    for k in 0..PEOPLE.min(self.all - first as usize) {
                        each(first + k as u32, usize::from(byte >> (2 * k)) & 3);
                    }
                }
            }
        }
    }
}

/// What the codes count: the first allele of a variant, or the second where these are exchanged.
pub(super) fn dosage(exchanged: bool) -> Counts {
    if exchanged { [0, 0, 1, 2] } else { [2, 0, 1, 0] }
}

/// Which code has two of it.
pub(super) fn twos(exchanged: bool) -> Counts {
    if exchanged { [0, 0, 0, 1] } else { [1, 0, 0, 0] }
}
