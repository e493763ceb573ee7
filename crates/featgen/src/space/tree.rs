//! Groups that form a tree: any two are disjoint, or one holds the other (Definition 1 of the paper).
//!
//! In the order of a depth-first walk every group is an interval of features: its score is a difference of prefix sums.
//! A group's features are among its parent's, so no score below a node exceeds the node's own over the smallest weight
//! there: the search goes from the best node to the next and leaves most of a large tree alone.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::group::{GroupNames, group_number, grouped, taken_groups, uncovered};
use super::topb::Tops;
use super::{
    Ask, Candidate, DataFacts, Demand, Feature, FeatureSpace, Footprint, GroupWeight, Groups, Inputs,
    Lacking, MOST_MEMBERS, Members, Precision, Settings, WorstCase,
};
use crate::digest::digest;
use crate::error::{Error, Place, Result};
use crate::operator::Operator;

/// A tree, or several, of groups of features. Memory grows with features and groups, however deep they nest.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Positions of the features, in the order of the walk.
    order: Vec<u32>,
    /// Groups in the order of the walk: a group's descendants follow it.
    nodes: Vec<Node>,
    /// Where each group is in the walk.
    places: Vec<u32>,
    names: GroupNames,
    /// Number of columns that the features are among.
    columns: usize,
    /// Where a file first speaks of a feature beyond the last that occurs, if it does.
    beyond: Option<Place>,
    /// What the data lack, of groups that may name features that are not there.
    lacking: Option<Lacking>,
}

#[derive(Debug, Clone, Copy, Hash)]
struct Node {
    /// The group's number.
    group: u32,
    /// Its features: from the first up to `end` in the order of the walk.
    first: u32,
    end: u32,
    /// The node after its last descendant.
    next: u32,
    /// Members, with those that do not occur.
    size: u32,
    /// The smallest size of itself and its descendants.
    smallest: u32,
}

impl Node {
    /// A group too large to be fitted as a whole only holds its descendants together.
    fn is_candidate(&self) -> bool {
        self.size as usize <= MOST_MEMBERS
    }
}

/// Two groups that are neither disjoint nor nested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crossing {
    /// The two groups, by their numbers from 0.
    pub groups: [u32; 2],
    /// The position of a column that both hold.
    pub shared: u32,
    /// Those of columns that only the one, and only the other holds.
    pub only: [u32; 2],
}

/// No group.
const NONE: u32 = u32::MAX;

/// A tree in the making: groups with their parents, features with their innermost groups.
pub(super) struct TreeBuilder {
    pub(super) names: GroupNames,
    parents: Vec<u32>,
    /// Members of each group itself that do not occur, as far as 32 bits count.
    absent: Vec<u32>,
    /// The innermost group of every column.
    owners: Vec<u32>,
    /// Where a file first speaks of a feature beyond the last that occurs, if it does.
    pub(super) beyond: Option<Place>,
}

impl TreeBuilder {
    pub(super) fn over(inputs: &Inputs<'_>) -> Result<Self> {
        Ok(Self::new(inputs.held()? as usize))
    }

    fn new(columns: usize) -> Self {
        Self {
            names: GroupNames::default(),
            parents: Vec::new(),
            absent: Vec::new(),
            owners: vec![NONE; columns],
            beyond: None,
        }
    }

    /// Adds a group and returns its number.
    pub(super) fn group(&mut self, name: Option<&str>, parent: Option<u32>) -> u32 {
        let number = self.parents.len() as u32;
        self.names.push(number as usize, name);
        self.parents.push(parent.unwrap_or(NONE));
        self.absent.push(0);
        number
    }

    /// Puts `group` under `parent`; `Err` with the parent it has already.
    pub(super) fn set_parent(&mut self, group: u32, parent: u32) -> Result<(), u32> {
        match std::mem::replace(&mut self.parents[group as usize], parent) {
            NONE => Ok(()),
            before => Err(before),
        }
    }

    /// Puts features into `group`; `Err` with the position of one that is in a group already, and that group.
    pub(super) fn put(
        &mut self,
        inputs: &Inputs<'_>,
        ids: &Range<u64>,
        group: u32,
    ) -> Result<(), (usize, u32)> {
        let positions = inputs.positions(ids);
        let absent = ids.end - ids.start - positions.len() as u64;
        for position in positions {
            match std::mem::replace(&mut self.owners[position], group) {
                NONE => {}
                before => return Err((position, before)),
            }
        }
        let count = &mut self.absent[group as usize];
        *count = count.saturating_add(u32::try_from(absent).unwrap_or(u32::MAX));
        Ok(())
    }

    /// Makes every column that is in no group a group of its own.
    pub(super) fn add_singletons(&mut self) {
        self.names.rest_by_feature(self.parents.len());
        for position in 0..self.owners.len() {
            if self.owners[position] == NONE {
                self.owners[position] = self.group(None, None);
            }
        }
    }

    /// A group that is its own ancestor, if there is one, and the groups from it up to itself again.
    pub(super) fn cycle(&self) -> Option<Vec<u32>> {
        const UNSEEN: u32 = NONE;
        let mut seen_from = vec![UNSEEN; self.parents.len()];
        for start in 0..self.parents.len() as u32 {
            let mut at = start;
            while at != NONE && seen_from[at as usize] == UNSEEN {
                seen_from[at as usize] = start;
                at = self.parents[at as usize];
            }
            if at != NONE && seen_from[at as usize] == start {
                let up = |&g: &u32| Some(self.parents[g as usize]).filter(|&g| g != at);
                let mut cycle: Vec<u32> = std::iter::successors(Some(at), up).collect();
                cycle.push(at);
                return Some(cycle);
            }
        }
        None
    }

    /// The finished tree. There must be no cycle.
    pub(super) fn build(self) -> Tree {
        let count = self.parents.len();
        let children = by_owner(&self.parents, count);
        let features = by_owner(&self.owners, count);
        let mut tree = Tree {
            order: Vec::with_capacity(self.owners.len()),
            nodes: Vec::with_capacity(count),
            places: vec![0; count],
            names: self.names,
            columns: self.owners.len(),
            beyond: self.beyond,
            lacking: None,
        };
        // Depth first without recursion: a tree may be as deep as it is large. `Err` ends a node.
        let mut stack: Vec<std::result::Result<u32, usize>> = Vec::new();
        let roots = (0..count as u32).rev().filter(|&g| self.parents[g as usize] == NONE);
        stack.extend(roots.map(Ok));
        while let Some(step) = stack.pop() {
            match step {
                Ok(group) => {
                    let (place, first) = (tree.nodes.len(), tree.order.len() as u32);
                    tree.places[group as usize] = place as u32;
                    tree.order.extend(&features[group as usize]);
                    let size = self.absent[group as usize];
                    tree.nodes.push(Node { group, first, end: first, next: 0, size, smallest: 0 });
                    stack.push(Err(place));
                    stack.extend(children[group as usize].iter().rev().map(|&child| Ok(child)));
                }
                Err(place) => tree.end_node(place),
            }
        }
        tree
    }
}

/// Items by their owner, in order.
fn by_owner(owners: &[u32], count: usize) -> Lists {
    let mut ends = vec![0u32; count + 1];
    owners.iter().filter(|&&owner| owner != NONE).for_each(|&owner| ends[owner as usize + 1] += 1);
    for k in 0..count {
        ends[k + 1] += ends[k];
    }
    let mut next = ends.clone();
    let mut items = vec![0; ends[count] as usize];
    for (item, &owner) in (0..).zip(owners).filter(|(_, owner)| **owner != NONE) {
        items[next[owner as usize] as usize] = item;
        next[owner as usize] += 1;
    }
    Lists { items, ends }
}

/// Lists one after the other.
struct Lists {
    items: Vec<u32>,
    ends: Vec<u32>,
}

impl std::ops::Index<usize> for Lists {
    type Output = [u32];

    fn index(&self, k: usize) -> &[u32] {
        &self.items[self.ends[k] as usize..self.ends[k + 1] as usize]
    }
}

impl Tree {
    /// The tree that groups form, or two of them that cross.
    ///
    /// From the largest group to the smallest: all members of a group must have the same innermost group so far, which
    /// is its parent. One pass over the lists.
    pub fn new(groups: &Groups) -> Result<Self, Crossing> {
        let mut builder = TreeBuilder::new(groups.columns());
        builder.names = groups.names.clone();
        builder.beyond = groups.beyond.clone();
        builder.parents = vec![NONE; groups.len()];
        builder.absent = vec![0; groups.len()];
        let mut by_size: Vec<u32> = (0..groups.len() as u32).collect();
        by_size.sort_by_key(|&g| std::cmp::Reverse(groups.present(g as usize).len()));
        for g in by_size {
            let present = groups.present(g as usize);
            let owner = |p: u32| builder.owners[p as usize];
            let Some(&first) = present.first() else { continue };
            if let Some(&other) = present.iter().find(|&&p| owner(p) != owner(first)) {
                return Err(crossing(groups, g, [(first, owner(first)), (other, owner(other))]));
            }
            builder.parents[g as usize] = owner(first);
            present.iter().for_each(|&p| builder.owners[p as usize] = g);
        }
        let mut tree = builder.build();
        // Members that do not occur were in no column: the lists know them.
        for node in (0..tree.nodes.len()).rev() {
            tree.nodes[node].size = groups.size(tree.nodes[node].group as usize);
            tree.set_smallest(node);
        }
        tree.lacking = groups.lacking;
        Ok(tree)
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Features that occur but are in no group: they cannot be selected.
    pub fn left_out(&self) -> usize {
        let mut covered = vec![false; self.columns];
        self.order.iter().for_each(|&p| covered[p as usize] = true);
        uncovered(&covered).count()
    }

    /// Where the file first speaks of a feature beyond the last that occurs, if it does: it may be a mistake.
    pub fn beyond(&self) -> Option<&Place> {
        self.beyond.as_ref()
    }

    /// What the data lack, of groups that may name features that are not there.
    pub fn lacking(&self) -> Option<Lacking> {
        self.lacking
    }

    /// Groups with more than [`MOST_MEMBERS`] members, which are never proposed.
    pub fn too_large(&self) -> usize {
        self.nodes.iter().filter(|node| !node.is_candidate()).count()
    }

    /// All descendants of the node at `place` are there: closes its interval and sums it up.
    fn end_node(&mut self, place: usize) {
        let (end, next) = (self.order.len() as u32, self.nodes.len() as u32);
        // Sizes that 32 bits cannot count are too large for a candidate anyway.
        let below = self.children(place, next).map(|child| self.absent(child)).fold(0, u32::saturating_add);
        let node = &mut self.nodes[place];
        (node.end, node.next) = (end, next);
        node.size = node.size.saturating_add(below).saturating_add(end - node.first);
        self.set_smallest(place);
    }

    /// Members of a finished node that do not occur.
    fn absent(&self, place: usize) -> u32 {
        let node = &self.nodes[place];
        node.size - (node.end - node.first)
    }

    fn set_smallest(&mut self, place: usize) {
        let Node { next, size, .. } = self.nodes[place];
        let below = self.children(place, next).map(|child| self.nodes[child].smallest).min();
        self.nodes[place].smallest = below.map_or(size, |below| below.min(size));
    }

    /// The children of a node whose last descendant is before `next`.
    fn children(&self, place: usize, next: u32) -> impl Iterator<Item = usize> + '_ {
        self.siblings(place + 1..next as usize)
    }

    fn roots(&self) -> impl Iterator<Item = usize> + '_ {
        self.siblings(0..self.nodes.len())
    }

    /// The nodes of a range that are not below others of it.
    fn siblings(&self, mut range: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        std::iter::from_fn(move || {
            let place = (range.start < range.end).then_some(range.start)?;
            range.start = self.nodes[place].next as usize;
            Some(place)
        })
    }
}

/// The two groups that cross, given two members of `g` with different innermost groups.
fn crossing(groups: &Groups, g: u32, members: [(u32, u32); 2]) -> Crossing {
    let holds = |group: u32, position: u32| groups.present(group as usize).binary_search(&position).is_ok();
    let [(a, of_a), (b, of_b)] = members;
    // One of the two inner groups does not hold the other member. It is no smaller than g, so it holds another one.
    let (inner, shared, only) = if of_a != NONE && !holds(of_a, b) { (of_a, a, b) } else { (of_b, b, a) };
    let other = groups.present(inner as usize).iter().find(|&&p| !holds(g, p));
    Crossing { groups: [g, inner], shared, only: [only, *other.expect("it is no smaller")] }
}

/// Sums over intervals of nonnegative numbers, in time that does not depend on their length.
struct Intervals {
    values: Vec<f64>,
    /// The sum of everything before each [`STRIDE`]th value, in twice the precision: differences of plain sums would lose
    /// the digits of a small group behind many others.
    before: Vec<(f64, f64)>,
}

/// Values between two sums that are kept.
const STRIDE: usize = 32;

impl Intervals {
    fn new(values: Vec<f64>) -> Self {
        let mut before = Vec::with_capacity(values.len() / STRIDE + 2);
        let (mut high, mut low) = (0.0, 0.0);
        before.push((high, low));
        for chunk in values.chunks_exact(STRIDE) {
            let part: f64 = chunk.iter().sum();
            let sum: f64 = high + part;
            // What rounding took from the sum (Knuth's two-sum).
            let back = sum - high;
            low += (high - (sum - back)) + (part - back);
            high = sum;
            before.push((high, low));
        }
        Self { values, before }
    }

    fn sum(&self, range: Range<usize>) -> f64 {
        let (first, last) = (range.start.div_ceil(STRIDE), range.end / STRIDE);
        if range.len() <= STRIDE || first >= last {
            return self.values[range].iter().sum();
        }
        let head: f64 = self.values[range.start..first * STRIDE].iter().sum();
        let tail: f64 = self.values[last * STRIDE..range.end].iter().sum();
        let ((high, low), (high_before, low_before)) = (self.before[last], self.before[first]);
        head + ((high - high_before) + (low - low_before)) + tail
    }
}

/// Room for rounding when a whole subtree is judged by its root.
const ROUNDING: f64 = 1e-12;

/// A node to be looked into: the more its best descendant may score, the sooner.
struct Open {
    /// No candidate at or below the node scores more.
    bound: f64,
    score: f64,
    place: usize,
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound).then_with(|| other.place.cmp(&self.place))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

/// The groups of a tree to choose from.
pub struct TreeSpace<'a> {
    inputs: Inputs<'a>,
    tree: Tree,
    weight: GroupWeight,
}

impl<'a> TreeSpace<'a> {
    /// The groups of a tree over the features of `inputs`, for which it was made.
    pub fn new(inputs: Inputs<'a>, tree: Tree, weight: GroupWeight) -> Result<Self> {
        if tree.columns != inputs.columns().len() {
            return Err(Error::Data("the tree belongs to other data".into()));
        }
        Ok(Self { inputs, tree, weight })
    }

    fn open(&self, place: usize, sums: &Intervals) -> Open {
        let node = &self.tree.nodes[place];
        let sum = sums.sum(node.first as usize..node.end as usize);
        let score = |size: u32| (sum / self.weight.squared(size)).sqrt();
        Open { bound: score(node.smallest) * (1.0 + ROUNDING), score: score(node.size), place }
    }
}

impl FeatureSpace for TreeSpace<'_> {
    fn data(&self) -> &dyn DataFacts {
        &self.inputs
    }

    fn size(&self) -> u128 {
        self.tree.len() as u128
    }

    fn worst_case(&self, ask: &Ask<'_>) -> Result<WorstCase> {
        let squares = self.inputs.squares(ask.residuals(self.inputs.rows())?)?;
        let sums = Intervals::new(self.tree.order.iter().map(|&p| squares[p as usize]).collect());
        let taken = taken_groups(&ask.taken);
        let mut tops = Tops::new(ask.wanted(self.tree.len()));
        let mut open: BinaryHeap<Open> = self.tree.roots().map(|root| self.open(root, &sums)).collect();
        let mut scored = open.len();
        while let Some(Open { bound, score, place }) = open.pop() {
            if bound <= 0.0 || bound < tops.threshold() {
                break;
            }
            let node = &self.tree.nodes[place];
            if node.is_candidate() {
                tops.offer(score, node.group, &taken);
            }
            for child in self.tree.children(place, node.next) {
                scored += 1;
                let child = self.open(child, &sums);
                if child.bound >= tops.threshold() {
                    open.push(child);
                }
            }
        }
        Ok(WorstCase::new(tops, scored as u128, Candidate::Group))
    }

    fn precision(&self) -> Result<Precision> {
        let candidates = || self.tree.nodes.iter().filter(|node| node.is_candidate());
        let members = |node: &Node| (node.end - node.first) as usize;
        let square = |node: &Node| members(node) as f64 / self.weight.squared(node.size);
        let most = candidates().map(square).fold(0.0, f64::max);
        let largest_group = candidates().map(members).max().unwrap_or(0);
        Ok(Precision::of_groups(self.inputs.radius()? * most.sqrt(), largest_group))
    }

    fn group(&self, candidate: &Candidate) -> Result<Members> {
        let g = group_number(candidate, self.tree.len())?;
        let node = &self.tree.nodes[self.tree.places[g] as usize];
        let mut positions = self.tree.order[node.first as usize..node.end as usize].to_vec();
        positions.sort_unstable();
        let (features, column_scales) = self.inputs.members(&positions);
        Ok(Members {
            name: Some(self.tree.names.show(g, &self.inputs, positions.first().copied())),
            size: node.size as usize,
            features,
            scale: self.weight.scale(node.size),
            column_scales,
            range: None,
        })
    }

    fn generate(&self, features: &[Feature]) -> Result<Vec<Operator>> {
        self.inputs.operators(features)
    }

    fn settings(&self) -> Settings {
        let Tree { order, nodes, names, .. } = &self.tree;
        let mut settings = grouped(self.tree.len(), digest((order, nodes, names)), self.weight);
        settings.push(("tree", String::new()));
        settings.extend(self.inputs.scale_setting());
        settings
    }

    fn suggested_cost(&self, features: usize, weights: Option<&[f64]>) -> Result<Option<f64>> {
        self.inputs.suggested_cost(features, weights)
    }

    fn footprint(&self, demand: &Demand) -> Footprint {
        let Tree { order, nodes, places, names, .. } = &self.tree;
        let held = 4 * (order.len() + places.len()) + size_of_val(&nodes[..]) + names.held();
        // Squared sums by position, and twice in the order of the walk; and what is open.
        let search = held + 8 * self.tree.columns + 16 * order.len() + size_of::<Open>() * nodes.len();
        let candidates = nodes.iter().filter(|node| node.is_candidate());
        let group = |node: &Node| self.inputs.extent(&order[node.first as usize..node.end as usize]);
        let search = search as u64 + self.inputs.sums_bytes(demand.outputs);
        Footprint::of_groups(search, self.inputs.rows(), candidates.map(group), demand)
    }
}
