//! Branch and bound: sets are split by a candidate that is in or out, those that cannot be better than the best one known are left alone,
//! and those with the lowest bound come first.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};

use super::node::{Node, Weights};
use super::relaxation::Relaxation;
use crate::error::Result;
use crate::model::Proof;
use crate::space::Candidate;

/// What is known of the best set.
pub(super) struct Search<'a> {
    relaxation: Relaxation<'a>,
    k: usize,
    /// The best set known, and its objective.
    best: Vec<u32>,
    upper: f64,
    open: BinaryHeap<Entry>,
    /// Nodes that there is nothing more to learn about.
    settled: Vec<Node>,
    /// Sets whose objective is known.
    tried: HashSet<Vec<u32>>,
    /// Relaxations solved.
    nodes: u64,
    /// Candidates that the first of them proved to be in every best set, and those that may be in one, where that is known.
    forced: usize,
    members: Option<usize>,
    /// Bytes that open nodes take, and may take.
    bytes: u64,
    room: u64,
}

/// A node that waits: the one with the lowest bound comes first, and of equals the one that waits longest.
struct Entry {
    node: Node,
    order: u64,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.node.bound.total_cmp(&self.node.bound).then(other.order.cmp(&self.order))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

/// Where the relaxation takes every candidate wholly or not at all, its bound is as good as numbers allow after this.
const EXACT: f64 = 1e-12;

impl<'a> Search<'a> {
    /// From a set to begin with, and a bound that holds for all sets. Nodes that wait may take so many bytes.
    pub(super) fn new(
        mut relaxation: Relaxation<'a>,
        k: usize,
        best: Vec<u32>,
        bound: f64,
        room: u64,
    ) -> Result<Self> {
        let upper = relaxation.ridge(&best, &Weights::default())?;
        let root = Node { bound, ..Node::default() };
        let mut search = Self {
            relaxation,
            k,
            tried: HashSet::from([best.clone()]),
            best,
            upper,
            forced: 0,
            members: None,
            open: BinaryHeap::new(),
            settled: Vec::new(),
            nodes: 0,
            bytes: 0,
            room,
        };
        search.push(root);
        Ok(search)
    }

    /// Whether open nodes take so much memory that there is no room for more.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= self.room
    }

    /// The best set known.
    pub(super) fn set(&self) -> Vec<Candidate> {
        self.best.iter().map(|&number| self.relaxation.candidates.named(number).clone()).collect()
    }

    /// Searches until the gap is at most `goal`, or `go_on` says no; it is asked before every node, with what is proven so far. Where an
    /// error ends it, what was proven before stays.
    pub(super) fn run(&mut self, goal: f64, mut go_on: impl FnMut(&Proof) -> bool) -> Result<()> {
        while (self.nodes == 0 || self.gap() > goal) && !self.is_full() && go_on(&self.progress()) {
            let Some(Entry { node, .. }) = self.open.pop() else { break };
            self.bytes -= size(&node);
            match node.undecided(self.k).filter(|_| self.nodes > 0) {
                Some(number) => {
                    let [with, without] = node.split(number);
                    let learned = self.learn(with, goal);
                    match learned {
                        Ok(()) => self.learn(without, goal)?,
                        Err(_) => self.push(without),
                    }
                    learned?;
                }
                None if self.nodes > 0 => self.finish(node)?,
                None => self.learn(node, goal)?,
            }
        }
        Ok(())
    }

    /// Solves the relaxation of a node, tries the set that it points to, and lets the node wait if it may hold a better one.
    fn learn(&mut self, mut node: Node, goal: f64) -> Result<()> {
        let learned = self.relaxation.solve(&mut node, self.upper, goal).and_then(|()| self.try_set(&node));
        self.nodes += 1;
        if self.nodes == 1 {
            self.forced = node.inside.len();
            self.members = node.members.as_ref().map(|members| members.len());
        }
        if node.bound <= self.upper {
            self.push(node);
        }
        learned
    }

    /// There is nothing to split about a node that is down to one set: its bound becomes as good as numbers allow.
    fn finish(&mut self, mut node: Node) -> Result<()> {
        let solved = self.relaxation.solve(&mut node, self.upper, EXACT);
        self.settled.push(node);
        solved
    }

    /// The ridge fit on the set that a node points to may be the best so far.
    fn try_set(&mut self, node: &Node) -> Result<()> {
        let set = self.filled_up(node.nearest_set(self.k));
        if node.bound > self.upper || self.tried.contains(&set) {
            return Ok(());
        }
        let value = self.relaxation.ridge(&set, &node.weights)?;
        self.tried.insert(set.clone());
        if value < self.upper {
            (self.best, self.upper) = (set, value);
        }
        Ok(())
    }

    /// A set of as many as are wanted, where weights point to fewer: those of the best set known do no harm.
    fn filled_up(&self, mut set: Vec<u32>) -> Vec<u32> {
        let others: Vec<u32> = self.best.iter().copied().filter(|number| !set.contains(number)).collect();
        let room = self.k.saturating_sub(set.len());
        set.extend(others.into_iter().take(room));
        set.sort_unstable();
        set
    }

    fn push(&mut self, node: Node) {
        self.bytes += size(&node);
        self.open.push(Entry { node, order: self.nodes });
    }

    /// Nodes that may hold a set as good as the best.
    fn alive(&self) -> impl Iterator<Item = &Node> {
        let nodes = self.open.iter().map(|entry| &entry.node).chain(&self.settled);
        nodes.filter(|node| node.bound <= self.upper)
    }

    /// No set has a lower objective than this.
    fn bound(&self) -> f64 {
        let first = self.open.peek().map(|entry| entry.node.bound);
        let settled = self.settled.iter().map(|node| node.bound);
        settled.chain(first).fold(self.upper, f64::min)
    }

    fn gap(&self) -> f64 {
        ((self.upper - self.bound()) / self.upper.max(f64::MIN_POSITIVE)).max(0.0)
    }

    /// What is known without looking at every node.
    fn progress(&self) -> Proof {
        self.proof_of(self.forced, self.members)
    }

    /// With so many that are in every best set, and so many that may be in one, where that is known.
    fn proof_of(&self, forced: usize, possible: Option<usize>) -> Proof {
        let possible = possible.map_or(self.relaxation.candidates.space.size(), |count| count as u128);
        Proof {
            objective: self.upper,
            lower_bound: self.bound(),
            forced,
            undecided: possible.saturating_sub(forced as u128),
            nodes: self.nodes,
        }
    }

    /// What is proven.
    pub(super) fn proof(&self) -> Proof {
        let inside = |number: &u32| self.alive().all(|node| node.is_inside(*number));
        let forced = self.best.iter().filter(|number| inside(number)).count();
        // The best set may be one of those that are alive, or it is the only one.
        let mut possible: HashSet<u32> = self.best.iter().copied().collect();
        let known = self.alive().all(|node| match &node.members {
            Some(members) => {
                possible.extend(members.iter().filter(|number| !node.is_outside(**number)));
                true
            }
            None => false,
        });
        // Where all places are taken by those that are in every best set, there is one best set.
        let only = (forced == self.k).then_some(forced);
        self.proof_of(forced, only.or(known.then_some(possible.len())))
    }
}

/// About the bytes that a node takes.
fn size(node: &Node) -> u64 {
    let weights: usize = node.weights.of.values().map(|own| 8 * own.len() + 64).sum();
    (weights + 4 * (node.inside.len() + node.outside.len()) + 8 * node.weights.free.len() + 128) as u64
}
