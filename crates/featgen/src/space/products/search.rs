//! The depth-first search for the best products at given duals.
//!
//! Features are ranked by falling `u`. A product is reached from its last feature on, by adding features of ever smaller
//! rank: so the rarest comes first, and all that may follow it in a row stand before it in that row. One pass over the
//! instances of a product adds up the sums of all its children; a second one hands the instances on to those children that
//! may matter. They are visited by falling `u`, so that the threshold rises early.
//!
//! Instances without dual weight add nothing to sums. They are only handed on, since whether two columns are the same, and in
//! how many instances they are not 0, is not a matter of duals.
//!
//! **Nothing is lost.** What is left out cannot be the first of the products of a column among the best: either its `u`, and
//! so that of all that contain it, is below a threshold that so many *different* columns reach; or it has a factor that is 1
//! wherever the others are not 0, and so have all that contain it: without that factor, the column is the same.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::distinct::{Found, Item, Key, Tops};
use super::{ROUNDING, Rules, bound, score};
use crate::data::Columns;
use crate::error::Result;
use crate::parallel;
use crate::space::ask::Residuals;
use crate::space::ranked::RankedRows;
use crate::space::work::{WORTH_REPORTING, Work};

/// Features that are taken together: first few, for the first products decide how much can be skipped; later many.
const FIRST_BATCH: usize = 16;
const LARGEST_BATCH: usize = 1 << 12;

/// Instances that are handed on to children in one pass, about.
const ROOM: u64 = 1 << 20;
/// Children in a pass, at least.
const FEWEST_CHILDREN: u64 = 16;

/// Bytes of an instance of a feature that is at hand, and of what a walk hands on from one factor to the next, about.
pub(super) const MEMBER: u64 = size_of::<Member>() as u64;
pub(super) const HANDED_ON: u64 = ROOM * MEMBER;

/// The search at given duals.
pub(super) struct Search<'a> {
    pub(super) rules: Rules,
    pub(super) v: Residuals<'a>,
    /// Positions of the features that may be in a product worth looking at, by falling bound.
    pub(super) order: Vec<u32>,
    /// Their bounds.
    pub(super) bounds: Vec<f64>,
    pub(super) rows: RankedRows,
    pub(super) tops: Tops,
    pub(super) taken: &'a HashSet<Key>,
    pub(super) work: &'a Work<'a>,
}

/// An instance of a product.
#[derive(Clone, Copy)]
struct Member {
    row: u32,
    /// How many values stand before its last factor in the row: those that may be multiplied with it.
    before: u32,
    /// The product of the factors in the order in which they came; it may differ in the last digits from that in order of ids.
    value: f64,
}

impl Member {
    /// Hands an instance on to the children whose last factor is not 0 there.
    fn hand_on(&self, rows: &RankedRows, slots: &[u32], nodes: &mut [Node]) {
        for (before, &rank) in (0..self.before).zip(rows.ranks(self.row)) {
            let slot = slots[rank as usize] as usize;
            if slot > 0 {
                let x = rows.value(self.row, before as usize);
                let node = &mut nodes[slot - 1];
                node.members.push(Self { row: self.row, before, value: self.value * x });
                node.ones &= x == 1.0;
            }
        }
    }
}

/// Where a product is not 0: first the instances with dual weight, then the others; each in order.
pub(super) struct Node {
    members: Vec<Member>,
    active: usize,
    /// Whether the last factor is 1 wherever the product is not 0.
    ones: bool,
}

impl Default for Node {
    fn default() -> Self {
        Self { members: Vec::new(), active: 0, ones: true }
    }
}

/// A product with one more factor.
struct Child {
    rank: u32,
    /// Its score, up to the order of additions, and the same rounded up.
    score: f64,
    most: f64,
    /// What it, or what follows it, can reach at most.
    reach: f64,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        rules: Rules,
        v: Residuals<'a>,
        bounds: &[f64],
        tops: Tops,
        taken: &'a HashSet<Key>,
        work: &'a Work<'a>,
    ) -> Self {
        let least = tops.threshold();
        let mut order: Vec<u32> =
            (0..bounds.len() as u32).filter(|&p| reaches(bounds[p as usize], least)).collect();
        let by_bound = |&a: &u32, &b: &u32| bounds[b as usize].total_cmp(&bounds[a as usize]).then(a.cmp(&b));
        order.par_sort_unstable_by(by_bound);
        let bounds = order.iter().map(|&p| bounds[p as usize]).collect();
        Self { rules, v, order, bounds, rows: RankedRows::default(), tops, taken, work }
    }

    pub(super) fn into_tops(self) -> Tops {
        self.tops
    }

    /// Looks at all products of two and more that may be among the best; returns how many were scored.
    pub(super) fn run(&mut self, columns: &dyn Columns) -> Result<u128> {
        self.rows = RankedRows::new(columns, &self.order, self.rules.binary, |_| true, self.work)?;
        self.each_batch(|search, ranks| {
            let order = &search.order[ranks.clone()];
            let gather = |k: usize| {
                search.work.go_on()?;
                let mut values = Vec::new();
                columns.see(order[k] as usize, |column| column.each_nonzero(|row, x| values.push((row, x))));
                Ok(values)
            };
            let values: Vec<Vec<(u32, f64)>> = parallel::try_map(order.len(), gather)?;
            let ranked = (ranks.start as u32..).zip(&values);
            let pivots: Vec<_> = ranked.map(|(rank, values)| (rank, search.pivot(rank, values))).collect();
            search.score(ranks.end, &pivots)
        })
    }

    /// Has batches of features looked at, by their ranks, for as long as one of them may matter: `score` says what is the best
    /// then, and how many products were scored. Returns how many these are in all.
    pub(super) fn each_batch(
        &mut self,
        mut score: impl FnMut(&mut Self, Range<usize>) -> Result<(Tops, u128)>,
    ) -> Result<u128> {
        let (mut scored, mut first, mut batch) = (0, 0, FIRST_BATCH);
        // Later features have smaller bounds.
        while first < self.order.len() && reaches(self.bounds[first], self.tops.threshold()) {
            let last = self.order.len().min(first + batch);
            let (tops, products) = score(self, first..last)?;
            self.tops = tops;
            scored += products;
            first = last;
            batch = (2 * batch).min(LARGEST_BATCH);
        }
        Ok(scored)
    }

    /// A feature as a product of one factor, given where it is not 0; its values are added to the rows.
    pub(super) fn pivot(&mut self, rank: u32, values: &[(u32, f64)]) -> Node {
        let members = values.iter().map(|&(row, value)| {
            let before = self.rows.push(row, rank, value);
            Member { row, before, value }
        });
        let (mut members, idle): (Vec<_>, Vec<_>) =
            members.partition(|member| self.v.weighs(member.row as usize));
        let active = members.len();
        members.extend(idle);
        Node { members, active, ones: false }
    }

    /// Looks at everything that can follow some features, given with their ranks, which are below `width`. Each starts from what is
    /// the best before them, so that what it finds, and what it leaves out, does not depend on threads.
    pub(super) fn score(&self, width: usize, pivots: &[(u32, Node)]) -> Result<(Tops, u128)> {
        let start = || (self.tops.clone(), 0, Scratch::new(width, self.v.outputs));
        let step = |(mut tops, scored, mut scratch): (Tops, u128, Scratch), (rank, pivot): &(u32, Node)| {
            let mut walk = Walk::new(self, &mut scratch);
            walk.path.push(*rank);
            walk.descend(pivot)?;
            walk.report(0)?;
            let products = walk.scored;
            if let Cow::Owned(found) = walk.tops {
                tops = tops.merge(&found);
            }
            Ok((tops, scored + products, scratch))
        };
        let done = pivots.par_iter().with_min_len(1).try_fold(start, step);
        let done = done.map(|part| part.map(|(tops, scored, _)| (tops, scored)));
        done.try_reduce(|| (self.tops.clone(), 0), |(a, p), (b, q)| Ok((a.merge(&b), p + q)))
    }
}

/// Whether a bound is not below a threshold, with room for rounding. Nothing is gained by a score of 0.
fn reaches(bound: f64, threshold: f64) -> bool {
    bound > 0.0 && bound >= threshold * (1.0 - ROUNDING)
}

/// What a thread needs for adding up, by rank. All 0 between uses.
struct Scratch {
    /// Of every output: over positive and, made positive, over negative residuals.
    sums: Vec<[f64; 2]>,
    /// The residuals of one instance, likewise, times the product.
    pulls: Vec<[f64; 2]>,
    /// One more than the number of the child that gets the instances.
    slots: Vec<u32>,
}

impl Scratch {
    fn new(width: usize, outputs: usize) -> Self {
        Self { sums: vec![[0.0; 2]; width * outputs], pulls: vec![[0.0; 2]; outputs], slots: vec![0; width] }
    }
}

impl Scratch {
    /// Adds an instance of a product to the sums of all products with one more factor that is before its last in the row.
    #[inline]
    fn add(&mut self, rows: &RankedRows, member: &Member, v: Residuals<'_>) {
        let Self { sums, pulls, .. } = self;
        if v.outputs == 1 {
            let v = v.v[member.row as usize];
            let (side, pull) = (usize::from(v < 0.0), v.abs() * member.value);
            return rows.each(member.row, member.before as usize, |rank, x| sums[rank][side] += pull * x);
        }
        for (pull, v) in pulls.iter_mut().zip(v.of(member.row as usize)) {
            *pull = [v.max(0.0) * member.value, (-v).max(0.0) * member.value];
        }
        let pulls = pulls.as_flattened();
        rows.each(member.row, member.before as usize, |rank, x| {
            let sums = sums[rank * v.outputs..][..v.outputs].as_flattened_mut();
            sums.iter_mut().zip(pulls).for_each(|(sum, pull)| *sum += pull * x);
        });
    }
}

/// The way through everything that follows one feature.
struct Walk<'s, 't> {
    search: &'s Search<'s>,
    scratch: &'t mut Scratch,
    /// Ranks of the factors, which fall.
    path: Vec<u32>,
    /// The best before this feature, until it finds something better.
    tops: Cow<'s, Tops>,
    scored: u128,
    unreported: u64,
}

impl<'s, 't> Walk<'s, 't> {
    fn new(search: &'s Search<'s>, scratch: &'t mut Scratch) -> Self {
        let tops = Cow::Borrowed(&search.tops);
        Self { search, scratch, path: Vec::new(), tops, scored: 0, unreported: 0 }
    }

    /// Looks at all products that follow the one at the end of the path, whose instances are given.
    fn descend(&mut self, node: &Node) -> Result<()> {
        let children = self.children(node)?;
        let deeper = self.path.len() + 1 < self.search.rules.degree;
        let values: u64 = node.members.iter().map(|member| u64::from(member.before)).sum();
        let together = if values <= ROOM { children.len() as u64 } else { ROOM / node.members.len() as u64 };
        for group in children.chunks(together.max(FEWEST_CHILDREN) as usize) {
            let group = &group[..group.partition_point(|child| self.can_matter(child.reach))];
            if group.is_empty() {
                break;
            }
            self.report(values)?;
            for (child, next) in group.iter().zip(self.hand_on(node, group)) {
                let same = next.ones && next.members.len() == node.members.len();
                if same || !self.search.rules.has_support(next.members.len()) {
                    continue;
                }
                if !self.can_matter(child.reach) {
                    break;
                }
                self.path.push(child.rank);
                self.offer(child, &next);
                if deeper {
                    self.descend(&next)?;
                }
                self.path.pop();
            }
        }
        Ok(())
    }

    fn can_matter(&self, reach: f64) -> bool {
        reaches(reach, self.tops.threshold())
    }

    /// Notes that so many more values were read.
    fn report(&mut self, values: u64) -> Result<()> {
        self.unreported += values;
        if self.unreported >= WORTH_REPORTING || values == 0 {
            self.search.work.add(std::mem::take(&mut self.unreported))?;
        }
        Ok(())
    }

    /// The products with one more factor that may matter, best first.
    fn children(&mut self, node: &Node) -> Result<Vec<Child>> {
        let mut values = 0;
        for member in &node.members[..node.active] {
            values += u64::from(member.before);
            self.scratch.add(&self.search.rows, member, self.search.v);
        }
        self.report(values)?;
        let last = self.path.last().map_or(0, |&rank| rank as usize);
        let mut children = Vec::new();
        // Sums are looked at where they were added to, or all in a row if that is less.
        if values >= last as u64 {
            (0..last as u32).for_each(|rank| self.collect(rank, &mut children));
        } else {
            let rows = &self.search.rows;
            for member in &node.members[..node.active] {
                let before = &rows.ranks(member.row)[..member.before as usize];
                before.iter().for_each(|&rank| self.collect(rank, &mut children));
            }
        }
        let by_reach = |a: &Child, b: &Child| b.reach.total_cmp(&a.reach).then(a.rank.cmp(&b.rank));
        children.sort_unstable_by(by_reach);
        Ok(children)
    }

    /// Takes the sums of a rank, if there are any; keeps the child if it may matter.
    fn collect(&mut self, rank: u32, children: &mut Vec<Child>) {
        let outputs = self.search.v.outputs;
        let sums = &mut self.scratch.sums[rank as usize * outputs..][..outputs];
        let bound = bound(sums);
        if bound > 0.0 {
            let score = score(sums);
            sums.fill([0.0; 2]);
            self.scored += 1;
            let deeper = self.path.len() + 1 < self.search.rules.degree;
            let most = score + ROUNDING * bound;
            let reach = if deeper { bound } else { most };
            if self.can_matter(reach) {
                children.push(Child { rank, score, most, reach });
            }
        }
    }

    /// The instances of some children.
    fn hand_on(&mut self, node: &Node, children: &[Child]) -> Vec<Node> {
        let slots = &mut self.scratch.slots;
        for (slot, child) in (1..).zip(children) {
            slots[child.rank as usize] = slot;
        }
        let mut nodes: Vec<Node> = children.iter().map(|_| Node::default()).collect();
        let (active, idle) = node.members.split_at(node.active);
        active.iter().for_each(|member| member.hand_on(&self.search.rows, slots, &mut nodes));
        nodes.iter_mut().for_each(|next| next.active = next.members.len());
        idle.iter().for_each(|member| member.hand_on(&self.search.rows, slots, &mut nodes));
        children.iter().for_each(|child| slots[child.rank as usize] = 0);
        nodes
    }

    /// Offers the product at the end of the path, if it is good enough.
    fn offer(&mut self, child: &Child, node: &Node) {
        if !self.can_matter(child.most) {
            return;
        }
        let order = &self.search.order;
        let mut factors: Vec<(u32, u32)> = self.path.iter().map(|&r| (order[r as usize], r)).collect();
        factors.sort_unstable();
        let (score, key, support) = self.evaluate(child, node, &factors);
        let item = Item(factors.iter().map(|factor| factor.0).collect::<Arc<[u32]>>());
        let found = Found { score, item, key };
        if self.search.rules.has_support(support) && found.score >= self.tops.threshold() {
            self.tops.to_mut().offer(&found, self.search.taken);
        }
    }

    /// The value of a feature in a row.
    fn value(&self, row: u32, rank: u32) -> f64 {
        let rows = &self.search.rows;
        rows.ranks(row).binary_search(&rank).map_or(0.0, |at| rows.value(row, at))
    }

    /// The score, the key and the support of a product, from its values as they are generated: multiplied in order of ids,
    /// added in order of instances. So equal columns have equal scores, whatever they are products of.
    fn evaluate(&self, child: &Child, node: &Node, factors: &[(u32, u32)]) -> (f64, Key, usize) {
        let mut key = Key::default();
        if self.search.rules.binary {
            node.members.iter().for_each(|member| key.add(member.row, 1.0));
            return (child.score, key, node.members.len());
        }
        let (mut sums, mut support) = (vec![[0.0; 2]; self.search.v.outputs], 0);
        for member in &node.members {
            let value = factors.iter().map(|factor| self.value(member.row, factor.1)).product();
            if value != 0.0 {
                for (sums, v) in sums.iter_mut().zip(self.search.v.of(member.row as usize)) {
                    sums[usize::from(v < 0.0)] += v.abs() * value;
                }
                key.add(member.row, value);
                support += 1;
            }
        }
        (score(&sums), key, support)
    }
}
