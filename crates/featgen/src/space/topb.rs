//! The B best of a stream of scored items, exactly, in memory for B.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

/// An item with the score it competes by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scored<T> {
    /// Larger is better. Never NaN.
    pub score: f64,
    /// Who has the score; of equals, the smaller wins.
    pub item: T,
}

impl<T: Ord> Scored<T> {
    /// Total order from best to worst: by score, then by item. Two different items never compare equal, so the best B
    /// do not depend on the order in which they arrive.
    pub(super) fn rank(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then_with(|| self.item.cmp(&other.item))
    }
}

/// Heap entry: the greatest is the worst kept.
#[derive(Debug, Clone)]
struct Entry<T>(Scored<T>);

impl<T: Ord> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T: Ord> Eq for Entry<T> {}

impl<T: Ord> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.rank(&other.0)
    }
}

/// Keeps the `capacity` best items offered to it. Ties are broken by the item itself, the smaller first.
#[derive(Debug, Clone)]
pub struct TopB<T> {
    capacity: usize,
    heap: BinaryHeap<Entry<T>>,
}

impl<T: Ord> TopB<T> {
    /// Room for the `capacity` best.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, heap: BinaryHeap::new() }
    }

    /// How many it has room for.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Offers one item.
    pub fn offer(&mut self, score: f64, item: T) {
        if self.heap.len() < self.capacity {
            self.heap.push(Entry(Scored { score, item }));
        } else if let Some(mut worst) = self.heap.peek_mut() {
            let new = Scored { score, item };
            if new.rank(&worst.0).is_lt() {
                worst.0 = new;
            }
        }
    }

    /// The score that an item must reach to have a chance; -infinity while there is room.
    pub fn threshold(&self) -> f64 {
        match self.heap.peek() {
            _ if self.heap.len() < self.capacity => f64::NEG_INFINITY,
            Some(worst) => worst.0.score,
            None => f64::INFINITY,
        }
    }

    /// Takes in what another one kept: the result is as if all had been offered to one.
    pub fn merge(mut self, other: Self) -> Self {
        for Entry(Scored { score, item }) in other.heap {
            self.offer(score, item);
        }
        self
    }

    /// The same with items by other names, which are in the same order.
    pub(super) fn map<U: Ord>(self, name: impl Fn(T) -> U) -> TopB<U> {
        let entry = |Entry(Scored { score, item })| Entry(Scored { score, item: name(item) });
        TopB { capacity: self.capacity, heap: self.heap.into_iter().map(entry).collect() }
    }

    /// The kept items, best first.
    pub fn into_sorted(self) -> Vec<Scored<T>> {
        self.heap.into_sorted_vec().into_iter().map(|entry| entry.0).collect()
    }
}

/// How many items a worst-case analysis keeps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Wanted {
    /// The best of all.
    pub(super) best: usize,
    /// The best of those that are not taken yet.
    pub(super) fresh: usize,
    /// What these must be above.
    pub(super) above: f64,
}

impl From<usize> for Wanted {
    /// So many of both.
    fn from(budget: usize) -> Self {
        Self { best: budget, fresh: budget, above: 0.0 }
    }
}

/// What a worst-case analysis keeps: the best of all items, and of those that are not taken yet.
#[derive(Debug, Clone)]
pub(super) struct Tops<T> {
    pub(super) best: TopB<T>,
    pub(super) fresh: TopB<T>,
    above: f64,
}

impl<T: Ord + Copy> Tops<T> {
    pub(super) fn new(wanted: impl Into<Wanted>) -> Self {
        let Wanted { best, fresh, above } = wanted.into();
        Self { best: TopB::new(best), fresh: TopB::new(fresh), above }
    }

    /// What it was made for.
    pub(super) fn wanted(&self) -> Wanted {
        Wanted { best: self.best.capacity(), fresh: self.fresh.capacity(), above: self.above }
    }

    /// Offers an item; `taken` are sorted. Items of score 0 are never kept.
    pub(super) fn offer(&mut self, score: f64, item: T, taken: &[T]) {
        if score > 0.0 && score >= self.threshold() {
            self.best.offer(score, item);
            if score > self.above && taken.binary_search(&item).is_err() {
                self.fresh.offer(score, item);
            }
        }
    }

    /// Offers an item that competes by its score for a place among the best of all, and by its gain for one among the fresh.
    pub(super) fn offer_both(&mut self, score: f64, gain: f64, item: T, taken: &[T]) {
        if score > 0.0 && score >= self.best.threshold() {
            self.best.offer(score, item);
        }
        if gain > 0.0 && gain >= self.fresh.threshold() && taken.binary_search(&item).is_err() {
            self.fresh.offer(gain, item);
        }
    }

    /// The score that an item must reach to have a chance of a place among either.
    pub(super) fn threshold(&self) -> f64 {
        self.best.threshold().min(self.fresh.threshold().max(self.above))
    }

    /// The same with items by other names, which are in the same order.
    pub(super) fn map<U: Ord>(self, name: impl Fn(T) -> U) -> Tops<U> {
        Tops { best: self.best.map(&name), fresh: self.fresh.map(&name), above: self.above }
    }

    pub(super) fn merge(self, other: Self) -> Self {
        Self { best: self.best.merge(other.best), fresh: self.fresh.merge(other.fresh), above: self.above }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn brute_force(scores: &[u8], b: usize) -> Vec<(f64, usize)> {
        let mut all: Vec<_> = scores.iter().enumerate().map(|(i, &s)| (f64::from(s), i)).collect();
        all.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        all.truncate(b);
        all
    }

    proptest! {
        #[test]
        fn equals_sorting_however_it_is_split(
            scores in prop::collection::vec(0u8..6, 0..60), b in 0usize..12, cut in 0usize..60,
        ) {
            let cut = cut.min(scores.len());
            let (mut left, mut right) = (TopB::new(b), TopB::new(b));
            for (i, &s) in scores.iter().enumerate() {
                if i < cut { left.offer(f64::from(s), i) } else { right.offer(f64::from(s), i) }
            }
            let kept = right.merge(left).into_sorted();
            let kept: Vec<_> = kept.into_iter().map(|s| (s.score, s.item)).collect();
            prop_assert_eq!(kept, brute_force(&scores, b));
        }
    }

    #[test]
    fn threshold_is_the_worst_kept() {
        let mut top = TopB::new(2);
        assert_eq!(top.threshold(), f64::NEG_INFINITY);
        top.offer(3.0, 1);
        top.offer(5.0, 2);
        assert_eq!(top.threshold(), 3.0);
        assert_eq!(TopB::<u8>::new(0).threshold(), f64::INFINITY);
    }
}
