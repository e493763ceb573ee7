//! A node of the search: all sets of K that hold some candidates and lack others.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Which sets, what is known of them, and the weights of their relaxation, from which those of its parts are found quickly.
#[derive(Clone, Default)]
pub(super) struct Node {
    /// Candidates that all of the sets hold, in order.
    pub(super) inside: Vec<u32>,
    /// Candidates that none of them holds, in order, beside those that are no members.
    pub(super) outside: Vec<u32>,
    /// All candidates that may be in a best set of these, in order, where that is known: then their columns are at hand.
    pub(super) members: Option<Arc<[u32]>>,
    /// None of them has a lower objective than this.
    pub(super) bound: f64,
    pub(super) weights: Weights,
    /// Where the norm splits the weights: those at least as long count fully.
    pub(super) theta: f64,
}

/// Weights of candidates that have any, and of what is never penalised.
#[derive(Clone, Default)]
pub(super) struct Weights {
    pub(super) of: BTreeMap<u32, Vec<f64>>,
    pub(super) free: Vec<f64>,
}

impl Node {
    pub(super) fn is_inside(&self, number: u32) -> bool {
        self.inside.binary_search(&number).is_ok()
    }

    /// Whether it is settled that none of the sets holds a candidate.
    pub(super) fn is_outside(&self, number: u32) -> bool {
        let is_member = |members: &Arc<[u32]>| members.binary_search(&number).is_ok();
        self.outside.binary_search(&number).is_ok() || !self.members.as_ref().is_none_or(is_member)
    }

    /// From now on all of the sets hold these.
    pub(super) fn force(&mut self, numbers: impl Iterator<Item = u32>) {
        self.inside.extend(numbers);
        self.inside.sort_unstable();
    }

    /// From now on none of them holds this one.
    fn leave_out(&mut self, number: u32) {
        self.outside.push(number);
        self.outside.sort_unstable();
        self.weights.of.remove(&number);
    }

    /// From now on they hold none but these.
    pub(super) fn restrict(&mut self, mut members: Vec<u32>) {
        members.extend(&self.inside);
        members.sort_unstable();
        members.dedup();
        self.weights.of.retain(|number, _| members.binary_search(number).is_ok());
        self.outside.retain(|number| members.binary_search(number).is_ok());
        self.members = Some(members.into());
    }

    /// Candidates that have weights, or must have, in order.
    pub(super) fn needed(&self) -> Vec<u32> {
        let mut needed: Vec<u32> = self.weights.of.keys().chain(&self.inside).copied().collect();
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    /// The lengths of the weights of candidates that are not forced, by number.
    fn open_lengths(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        let open = self.weights.of.iter().filter(|(number, _)| !self.is_inside(**number));
        open.map(|(&number, weights)| (number, weights.iter().map(|w| w * w).sum::<f64>().sqrt()))
    }

    /// The candidate about which the relaxation is least decided: half in and half out, or the nearest to that. `None` if it takes every
    /// candidate wholly or not at all, or `k` are forced.
    pub(super) fn undecided(&self, k: usize) -> Option<u32> {
        let part = |length: f64| length / self.theta;
        let partly = self.open_lengths().filter(|(_, length)| part(*length) < 1.0);
        let off = |length: f64| (part(length) - 0.5).abs();
        let least = partly.min_by(|a, b| off(a.1).total_cmp(&off(b.1))).map(|(number, _)| number);
        least.filter(|_| self.inside.len() < k)
    }

    /// The set of up to `k` that the weights point to: what is forced, and the longest of the others.
    pub(super) fn nearest_set(&self, k: usize) -> Vec<u32> {
        let mut others: Vec<(u32, f64)> = self.open_lengths().collect();
        others.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let others = others.into_iter().take(k.saturating_sub(self.inside.len())).map(|(number, _)| number);
        let mut set: Vec<u32> = self.inside.iter().copied().chain(others).collect();
        set.sort_unstable();
        set
    }

    /// Its two parts: the sets that hold the candidate, and those that do not.
    pub(super) fn split(&self, number: u32) -> [Self; 2] {
        let [mut with, mut without] = [self.clone(), self.clone()];
        with.force(std::iter::once(number));
        without.leave_out(number);
        [with, without]
    }
}
