//! The best of a stream of products in which a column may turn up many times, each time as the product of other factors.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::space::topb::Wanted;

/// A product by the positions of its factors, which increase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item(pub(super) Arc<[u32]>);

/// As features are ordered: by the number of factors, then by the factors. Inputs come first.
impl Ord for Item {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Item {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What tells columns apart: the sum of a hash of `(row, value)` over the values that are not 0.
///
/// Two columns of one key are taken to be the same. Hashes have 128 bits, so that one pair of different columns among 10^12
/// shares its key with a probability of about 10^-15.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub(in crate::space) struct Key(u128);

impl Key {
    /// Adds a value that is not 0. The order does not matter.
    pub(super) fn add(&mut self, row: u32, value: f64) {
        let (row, bits) = (u64::from(row), value.to_bits());
        let high = scramble(bits ^ scramble(row.wrapping_add(0x9e37_79b9_7f4a_7c15)));
        let low = scramble(scramble(bits.wrapping_add(0xd1b5_4a32_d192_ed03)).wrapping_add(row << 1 | 1));
        self.0 = self.0.wrapping_add(u128::from(high) << 64 | u128::from(low));
    }
}

/// The finalizer of splitmix64: every bit of the result depends on every bit of `x`.
fn scramble(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A product with its score and what its column is known by. Equal keys mean equal scores.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) score: f64,
    pub(super) item: Item,
    pub(super) key: Key,
}

/// From best to worst: by score, then by item.
impl Ord for Found {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then_with(|| self.item.cmp(&other.item))
    }
}

impl PartialOrd for Found {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Found {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Found {}

/// Keeps the `capacity` best columns offered to it, each under the first of its products.
///
/// What is kept does not depend on the order of offers, if all products of a column that is good enough are offered: its
/// first product is turned away, or pushed out, only by others that stand before it, and these are still there, or
/// something better is, at the end.
#[derive(Debug, Clone)]
struct Distinct {
    capacity: usize,
    ranked: BTreeSet<Found>,
    held: HashMap<Key, Found>,
}

impl Distinct {
    fn new(capacity: usize) -> Self {
        Self { capacity, ranked: BTreeSet::new(), held: HashMap::new() }
    }

    fn offer(&mut self, found: &Found) {
        if let Some(held) = self.held.get(&found.key) {
            if held.item <= found.item {
                return;
            }
            self.ranked.remove(held);
        } else if self.ranked.len() >= self.capacity {
            if self.ranked.last().is_none_or(|worst| worst < found) {
                return;
            }
            self.ranked.pop_last().map(|worst| self.held.remove(&worst.key));
        }
        self.held.insert(found.key, found.clone());
        self.ranked.insert(found.clone());
    }

    fn threshold(&self) -> f64 {
        match self.ranked.last() {
            _ if self.ranked.len() < self.capacity => f64::NEG_INFINITY,
            Some(worst) => worst.score,
            None => f64::INFINITY,
        }
    }
}

/// The best of all columns, and of those that are not taken yet.
#[derive(Debug, Clone)]
pub(super) struct Tops {
    best: Distinct,
    fresh: Distinct,
    /// What the fresh must be above.
    above: f64,
}

impl Tops {
    pub(super) fn new(wanted: impl Into<Wanted>) -> Self {
        let Wanted { best, fresh, above } = wanted.into();
        Self { best: Distinct::new(best), fresh: Distinct::new(fresh), above }
    }

    /// What it was made for.
    pub(super) fn wanted(&self) -> Wanted {
        Wanted { best: self.best.capacity, fresh: self.fresh.capacity, above: self.above }
    }

    /// Offers a product. Those of score 0 are never kept; a column is taken if any of its products is.
    pub(super) fn offer(&mut self, found: &Found, taken: &HashSet<Key>) {
        if found.score > 0.0 && found.score >= self.threshold() {
            self.best.offer(found);
            if found.score > self.above && !taken.contains(&found.key) {
                self.fresh.offer(found);
            }
        }
    }

    /// The score that a product must reach to have a chance of a place among either.
    pub(super) fn threshold(&self) -> f64 {
        self.best.threshold().min(self.fresh.threshold().max(self.above))
    }

    pub(super) fn merge(mut self, other: &Self) -> Self {
        other.best.ranked.iter().for_each(|found| self.best.offer(found));
        other.fresh.ranked.iter().for_each(|found| self.fresh.offer(found));
        self
    }

    /// From both lists, as [`into_sorted`](Self::into_sorted) gives them.
    pub(super) fn of_lists(wanted: Wanted, [best, fresh]: [Vec<Found>; 2]) -> Self {
        let mut tops = Self::new(wanted);
        best.iter().for_each(|found| tops.best.offer(found));
        fresh.iter().for_each(|found| tops.fresh.offer(found));
        tops
    }

    /// Both lists, best first.
    pub(super) fn into_sorted(self) -> [Vec<Found>; 2] {
        [self.best, self.fresh].map(|top| top.ranked.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Few columns, many products of each: whatever the order of offers and however they are split.
        #[test]
        fn equals_sorting_by_the_first_of_each_column(
            offers in prop::collection::vec((0u8..12, prop::collection::btree_set(0u32..9, 1..4)), 0..80),
            budget in 0usize..8, cut in 0usize..80, taken in prop::collection::hash_set(0u8..12, 0..5),
        ) {
            let key = |column: u8| { let mut key = Key::default(); key.add(u32::from(column), 1.0); key };
            let taken: HashSet<Key> = taken.into_iter().map(key).collect();
            // Products of one column have one score; columns tie.
            let found = |(column, factors): &(u8, BTreeSet<u32>)| {
                let item = Item(factors.iter().copied().collect());
                Found { score: f64::from(column / 3), item, key: key(*column) }
            };
            let mut seen = HashSet::new();
            let mut offers: Vec<Found> = offers.iter().map(found).collect();
            offers.retain(|f| seen.insert(f.item.0.clone()));
            let cut = cut.min(offers.len());
            let (mut left, mut right) = (Tops::new(budget), Tops::new(budget));
            offers[..cut].iter().for_each(|f| left.offer(f, &taken));
            offers[cut..].iter().for_each(|f| right.offer(f, &taken));
            let kept = right.merge(&left).into_sorted();
            offers.sort();
            let mut first: HashMap<Key, Item> = HashMap::new();
            for f in &offers {
                let item = first.entry(f.key).or_insert_with(|| f.item.clone());
                *item = item.clone().min(f.item.clone());
            }
            let expected = offers.into_iter().filter(|f| f.score > 0.0 && first[&f.key] == f.item);
            let all: Vec<Found> = expected.collect();
            let fresh: Vec<Found> = all.iter().filter(|f| !taken.contains(&f.key)).cloned().collect();
            for (kept, expected) in kept.iter().zip([all, fresh]) {
                let expected: Vec<Found> = expected.into_iter().take(budget).collect();
                prop_assert_eq!(kept, &expected);
            }
        }
    }
}
