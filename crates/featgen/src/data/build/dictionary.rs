//! Numbers for ids, in order of appearance: four bytes or two stand for eight where hashed ids repeat.

use std::hash::{BuildHasher, Hasher, RandomState};

const EMPTY: u32 = u32::MAX;

/// A hash table by open addressing. An id costs its eight bytes and five to eleven for being found: a general map takes
/// twice that.
pub(super) struct Dictionary {
    ids: Vec<u64>,
    /// Numbers of ids; the length is a power of two.
    table: Vec<u32>,
    /// Secret, so that no file can be made to collide. Results do not depend on it: columns are ordered by id.
    seed: u64,
}

impl Default for Dictionary {
    fn default() -> Self {
        Self { ids: Vec::new(), table: vec![EMPTY; 64], seed: RandomState::new().build_hasher().finish() }
    }
}

impl Dictionary {
    /// Number of ids.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The number of an id, new or known.
    #[inline]
    pub(super) fn number(&mut self, id: u64) -> u32 {
        let at = self.find(id);
        if self.table[at] != EMPTY {
            return self.table[at];
        }
        let number = self.ids.len() as u32;
        self.table[at] = number;
        self.ids.push(id);
        if self.ids.len() * 4 > self.table.len() * 3 {
            self.grow();
        }
        number
    }

    /// Numbers and ids, by increasing id.
    pub(super) fn in_order(&self) -> Vec<(usize, u64)> {
        let mut pairs: Vec<(usize, u64)> = self.ids.iter().copied().enumerate().collect();
        pairs.sort_unstable_by_key(|&(_, id)| id);
        pairs
    }

    /// Where the id is in the table, or where it belongs.
    #[inline]
    fn find(&self, id: u64) -> usize {
        let mask = self.table.len() - 1;
        let product = u128::from(id ^ self.seed) * 0x9e37_79b9_7f4a_7c15;
        let mut at = (product ^ (product >> 64)) as usize & mask;
        while self.table[at] != EMPTY && self.ids[self.table[at] as usize] != id {
            at = (at + 1) & mask;
        }
        at
    }

    #[cold]
    fn grow(&mut self) {
        self.table = vec![EMPTY; 2 * self.table.len()];
        for number in 0..self.ids.len() {
            let at = self.find(self.ids[number]);
            self.table[at] = number as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_keep_their_numbers() {
        let mut dictionary = Dictionary::default();
        let id = |k: u64| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (k << 60);
        for k in 0..5000 {
            assert_eq!(dictionary.number(id(k)), k as u32);
            assert_eq!(dictionary.number(id(k / 2)), (k / 2) as u32);
        }
        assert_eq!(dictionary.len(), 5000);
        assert!(dictionary.in_order().is_sorted_by(|a, b| a.1 < b.1));
        assert!(dictionary.in_order().iter().all(|&(number, found)| found == id(number as u64)));
    }
}
