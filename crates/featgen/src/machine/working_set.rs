//! The working set: the columns of all candidates that were ever taken, each once, which candidates each block is made of, and
//! the weights that blocks have.

use std::collections::BTreeSet;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::error::Result;
use crate::kernels;
use crate::objective::Kept;
use crate::operator::Operator;
use crate::space::{Candidate, Feature, FeatureSpace};
use crate::subproblem::{Blocks, Cache, State};

/// A candidate that was taken.
pub(super) struct Taken {
    pub(super) candidate: Candidate,
    /// What a user calls it, if it is a group.
    pub(super) name: Option<String>,
    /// Its members, with those that do not occur.
    pub(super) size: usize,
    /// Where it makes a curve over an input: the values of the input that occur.
    pub(super) range: Option<[f64; 2]>,
    /// Its terms, one for each of its columns.
    pub(super) terms: Range<usize>,
}

/// Everything taken so far. Only what came last can be forgotten, so that numbers of candidates, terms and columns stay what they
/// are; blocks come and go.
pub(super) struct WorkingSet {
    pub(super) cache: Cache,
    /// The weights of blocks and of what is never penalised, and the decision values that they make.
    pub(super) state: State,
    /// The feature of every cached column.
    pub(super) features: Vec<Feature>,
    columns: HashMap<Feature, u32>,
    pub(super) taken: Vec<Taken>,
    index: HashMap<Candidate, u32>,
    /// The cached column of every term: a feature in several groups has a term in each.
    pub(super) terms: Vec<u32>,
    /// What the column of every term counts times.
    scales: Vec<f64>,
    /// How many were taken after each time that some were: how columns are held depends on what came together.
    steps: Vec<usize>,
    /// What each block of the state is made of, in order.
    blocks: Vec<Vec<u32>>,
}

/// How much was taken.
pub(super) struct Mark {
    taken: usize,
    terms: usize,
    columns: usize,
    steps: usize,
    /// Values of the columns.
    filled: usize,
}

/// Blocks and weights as they were.
#[derive(Clone)]
pub(super) struct Snapshot {
    state: State,
    blocks: Vec<Vec<u32>>,
}

impl WorkingSet {
    /// Nothing yet but the columns that are kept: they are the first in the cache, so that the solver finds them there. With so
    /// many outputs, and so many weights that are never penalised for each of them.
    pub(super) fn new(rows: usize, kept: &Kept, outputs: usize, free: usize) -> Self {
        let mut cache = Cache::new(rows);
        cache.extend(kept.to_columns().into_iter().map(Operator::Column).collect());
        let features: Vec<Feature> = kept.ids().iter().map(|&id| Feature::input(id)).collect();
        Self {
            cache,
            state: State::new(rows, outputs, free),
            columns: features.iter().cloned().zip(0..).collect(),
            features,
            taken: Vec::new(),
            index: HashMap::new(),
            terms: Vec::new(),
            scales: Vec::new(),
            steps: Vec::new(),
            blocks: Vec::new(),
        }
    }

    /// The candidates in blocks.
    pub(super) fn in_blocks(&self) -> HashSet<Candidate> {
        let numbers = self.blocks.iter().flatten();
        numbers.map(|&t| self.taken[t as usize].candidate.clone()).collect()
    }

    /// Adds a block of weight 0 and returns its coordinates; `None` if the same block is there already.
    pub(super) fn insert(
        &mut self,
        space: &dyn FeatureSpace,
        block: &[Candidate],
    ) -> Result<Option<Range<usize>>> {
        self.take(space, block)?;
        let mut numbers: Vec<u32> = block.iter().map(|candidate| self.index[candidate]).collect();
        numbers.sort_unstable();
        if self.blocks.contains(&numbers) {
            return Ok(None);
        }
        let coordinates = self.coordinates(&numbers);
        self.state.blocks.push(coordinates);
        self.blocks.push(numbers);
        let range = self.state.blocks.range(self.state.blocks.len() - 1);
        self.state.omega.resize(range.end, 0.0);
        Ok(Some(range))
    }

    /// Adds a block of weight 0 for each of these candidates, none of which is in a block.
    pub(super) fn insert_each(&mut self, space: &dyn FeatureSpace, candidates: &[Candidate]) -> Result<()> {
        self.take(space, candidates)?;
        for number in candidates.iter().map(|candidate| self.index[candidate]) {
            let coordinates = self.coordinates(&[number]);
            self.state.blocks.push(coordinates);
            self.blocks.push(vec![number]);
        }
        self.state.omega.resize(self.state.blocks.columns.len(), 0.0);
        Ok(())
    }

    /// Makes one block of these candidates. Columns that stay keep their weights, new ones have none.
    pub(super) fn select(&mut self, space: &dyn FeatureSpace, chosen: &[Candidate]) -> Result<()> {
        self.take(space, chosen)?;
        let mut numbers: Vec<u32> = chosen.iter().map(|candidate| self.index[candidate]).collect();
        numbers.sort_unstable();
        let (width, outputs) = (self.cache.len(), self.state.blocks.outputs());
        let weights = self.state.blocks.gather(&self.state.omega, width);
        let mut blocks = Blocks::new(outputs);
        blocks.push(self.coordinates(&numbers));
        let weight = |k: usize| weights[blocks.place(k, width)] / blocks.scales[k];
        self.state.omega = (0..blocks.columns.len()).map(weight).collect();
        // What leaves takes its part of the decision values with it.
        let mut gone = weights;
        (0..blocks.columns.len()).for_each(|k| gone[blocks.place(k, width)] = 0.0);
        if gone.iter().any(|&w| w != 0.0) {
            kernels::add_scaled(-1.0, &self.product(&gone), &mut self.state.f);
        }
        (self.state.blocks, self.blocks) = (blocks, vec![numbers]);
        Ok(())
    }

    /// How much is taken now, to come back to.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            taken: self.taken.len(),
            terms: self.terms.len(),
            columns: self.features.len(),
            steps: self.steps.len(),
            filled: self.cache.filled(),
        }
    }

    /// Forgets all that was taken since. No block may hold any of it.
    pub(super) fn forget(&mut self, mark: &Mark) {
        for taken in self.taken.drain(mark.taken..) {
            self.index.remove(&taken.candidate);
        }
        for feature in self.features.drain(mark.columns..) {
            self.columns.remove(&feature);
        }
        self.terms.truncate(mark.terms);
        self.scales.truncate(mark.terms);
        self.steps.truncate(mark.steps);
        self.cache.truncate(mark.columns, mark.filled);
    }

    /// The candidates in blocks, in the order in which they were taken.
    pub(super) fn chosen(&self) -> Vec<Candidate> {
        let numbers: BTreeSet<u32> = self.blocks.iter().flatten().copied().collect();
        numbers.into_iter().map(|t| self.taken[t as usize].candidate.clone()).collect()
    }

    /// The coordinates of each of these candidates, where there is one block of all: a column of several has its coordinates in each.
    pub(super) fn units(&self, candidates: &[Candidate]) -> Vec<Vec<usize>> {
        let outputs = self.state.blocks.outputs();
        let columns: Vec<u32> = self.state.blocks.columns.iter().step_by(outputs).copied().collect();
        let unit = |candidate: &Candidate| {
            let number = self.index[candidate] as usize;
            let own = self.terms[self.taken[number].terms.clone()].iter();
            let at = |column: &u32| columns.binary_search(column).expect("a column of the block") * outputs;
            own.flat_map(|column| at(column)..at(column) + outputs).collect()
        };
        candidates.iter().map(unit).collect()
    }

    /// Blocks and weights, to come back to.
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot { state: self.state.clone(), blocks: self.blocks.clone() }
    }

    /// Comes back to a [`snapshot`](Self::snapshot). What was taken since stays known.
    pub(super) fn restore_snapshot(&mut self, snapshot: Snapshot) {
        (self.state, self.blocks) = (snapshot.state, snapshot.blocks);
    }

    /// Makes a block of each of these candidates, which are known by number, with these weights.
    pub(super) fn arrange(&mut self, units: &[u32], omega: Vec<f64>) {
        let mut blocks = Blocks::new(self.state.blocks.outputs());
        units.iter().for_each(|&t| blocks.push(self.coordinates(&[t])));
        self.blocks = units.iter().map(|&t| vec![t]).collect();
        (self.state.blocks, self.state.omega) = (blocks, omega);
        self.state.f = self.apply();
    }

    /// How many coordinates a candidate has, outputs counted.
    pub(super) fn width(&self, taken: u32) -> usize {
        self.coordinates(&[taken]).len() * self.state.blocks.outputs()
    }

    /// Fetches the columns of candidates that were not taken before.
    pub(super) fn take(&mut self, space: &dyn FeatureSpace, block: &[Candidate]) -> Result<()> {
        let mut unknown = Vec::new();
        for candidate in block {
            if self.index.contains_key(candidate) {
                continue;
            }
            let group = space.group(candidate)?;
            self.index.insert(candidate.clone(), self.taken.len() as u32);
            let first = self.terms.len();
            self.scales.extend(group.scales());
            for feature in group.features {
                let next = self.columns.len() as u32;
                let column = *self.columns.entry(feature.clone()).or_insert(next);
                if column == next {
                    unknown.push(feature);
                }
                self.terms.push(column);
            }
            self.taken.push(Taken {
                candidate: candidate.clone(),
                name: group.name,
                size: group.size,
                range: group.range,
                terms: first..self.terms.len(),
            });
        }
        self.cache.extend(space.generate(&unknown)?);
        self.features.extend(unknown);
        if self.steps.last().copied().unwrap_or(0) < self.taken.len() {
            self.steps.push(self.taken.len());
        }
        Ok(())
    }

    /// What was taken, by what was taken together.
    pub(super) fn history(&self) -> Vec<Vec<Candidate>> {
        let starts = std::iter::once(&0).chain(&self.steps);
        let step = |(&start, &end): (&usize, &usize)| {
            self.taken[start..end].iter().map(|taken| taken.candidate.clone()).collect()
        };
        starts.zip(&self.steps).map(step).collect()
    }

    /// What the blocks are made of.
    pub(super) fn blocks(&self) -> &[Vec<u32>] {
        &self.blocks
    }

    /// Takes all that another one took, in the same steps, and makes the same blocks. Says whether that is possible.
    pub(super) fn restore(
        &mut self,
        space: &dyn FeatureSpace,
        history: &[Vec<Candidate>],
        blocks: Vec<Vec<u32>>,
    ) -> Result<bool> {
        for step in history {
            let expected = self.taken.len() + step.len();
            self.take(space, step)?;
            if step.is_empty() || self.taken.len() != expected {
                return Ok(false);
            }
        }
        for block in blocks {
            let known = block.last().is_some_and(|&t| (t as usize) < self.taken.len());
            if !known || !block.is_sorted_by(|a, b| a < b) {
                return Ok(false);
            }
            let coordinates = self.coordinates(&block);
            self.state.blocks.push(coordinates);
            self.blocks.push(block);
        }
        Ok(true)
    }

    /// The columns of a block, in order, with their scales.
    ///
    /// A column that several of its groups hold is one coordinate: the least `a^2 + b^2` with `s a + t b = x` is
    /// `x^2 / (s^2 + t^2)`, so their latent copies act as one copy with the scale `sqrt(s^2 + t^2)`.
    fn coordinates(&self, block: &[u32]) -> Vec<(u32, f64)> {
        let squares = self.squared_scales(block);
        squares.into_iter().map(|(column, square)| (column, square.sqrt())).collect()
    }

    /// The sum of squared scales over the groups of a block, for each of its columns, in order.
    fn squared_scales(&self, block: &[u32]) -> Vec<(u32, f64)> {
        let mut all: Vec<(u32, f64)> = Vec::new();
        for taken in block.iter().map(|&t| &self.taken[t as usize]) {
            let squares = self.scales[taken.terms.clone()].iter().map(|scale| scale * scale);
            all.extend(self.terms[taken.terms.clone()].iter().copied().zip(squares));
        }
        all.sort_by_key(|&(column, _)| column);
        all.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0.0 };
            same
        });
        all
    }

    /// The weights of every term, one for each output: what a block gives to a column is shared by the block's groups that hold
    /// it, as their squared scales are.
    pub(super) fn weights(&self) -> Vec<f64> {
        let state = &self.state;
        let outputs = state.blocks.outputs();
        let mut weights = vec![0.0; self.terms.len() * outputs];
        let scales = &state.blocks.scales;
        for (range, block) in state.blocks.ranges().zip(&self.blocks) {
            let squares = self.squared_scales(block);
            let place = |column: u32| squares.binary_search_by_key(&column, |&(column, _)| column);
            for taken in block.iter().map(|&t| &self.taken[t as usize]) {
                for term in taken.terms.clone() {
                    let at = place(self.terms[term]).expect("a column of the block");
                    let share = self.scales[term] * self.scales[term] / squares[at].1;
                    for output in 0..outputs {
                        let k = range.start + at * outputs + output;
                        weights[term * outputs + output] += scales[k] * state.omega[k] * share;
                    }
                }
            }
        }
        weights
    }

    /// The terms whose weights are not all 0, by number.
    pub(super) fn nonzero_terms(&self, weights: &[f64]) -> Vec<usize> {
        let outputs = self.outputs_of(weights);
        (0..self.terms.len())
            .filter(|t| weights[t * outputs..(t + 1) * outputs].iter().any(|&w| w != 0.0))
            .collect()
    }

    /// The candidates whose weights are not all 0, by number.
    pub(super) fn selected(&self, weights: &[f64]) -> Vec<u32> {
        let outputs = self.outputs_of(weights);
        let own = |terms: &Range<usize>| terms.start * outputs..terms.end * outputs;
        let carries = |taken: &Taken| weights[own(&taken.terms)].iter().any(|&w| w != 0.0);
        (0..).zip(&self.taken).filter(|(_, taken)| carries(taken)).map(|(t, _)| t).collect()
    }

    fn outputs_of(&self, weights: &[f64]) -> usize {
        weights.len().checked_div(self.terms.len()).unwrap_or(1)
    }

    /// How many candidates these terms, which must be known, belong to.
    pub(super) fn candidates_of(&self, terms: impl Iterator<Item = usize>) -> usize {
        let candidate = |term: usize| self.taken.partition_point(|taken| taken.terms.end <= term);
        terms.map(candidate).collect::<BTreeSet<_>>().len()
    }

    /// Blocks without weight leave; what they held may come again.
    pub(super) fn remove_idle_blocks(&mut self) {
        let state = &mut self.state;
        let fresh = Blocks::new(state.blocks.outputs());
        let old = std::mem::replace(&mut state.blocks, fresh);
        let omega = std::mem::take(&mut state.omega);
        let blocks = std::mem::take(&mut self.blocks);
        for (range, block) in old.ranges().zip(blocks) {
            if omega[range.clone()].iter().any(|&w| w != 0.0) {
                let columns = range.clone().step_by(old.outputs());
                state.blocks.push(columns.map(|k| (old.columns[k], old.scales[k])));
                state.omega.extend_from_slice(&omega[range]);
                self.blocks.push(block);
            }
        }
    }

    /// Gives these terms their weights, output after output of each, and all others none: a block for each candidate with weight.
    pub(super) fn set_weights(&mut self, terms: &[usize], weights: &[f64]) {
        let outputs = self.state.blocks.outputs();
        let mut all = vec![0.0; self.terms.len() * outputs];
        for (term, weights) in terms.iter().zip(weights.chunks_exact(outputs)) {
            all[term * outputs..][..outputs].copy_from_slice(weights);
        }
        self.blocks = Vec::new();
        let (mut blocks, mut omega) = (Blocks::new(outputs), Vec::new());
        for t in self.selected(&all) {
            let Taken { terms, .. } = &self.taken[t as usize];
            let mut in_order: Vec<usize> = terms.clone().collect();
            in_order.sort_by_key(|&term| self.terms[term]);
            blocks.push(in_order.iter().map(|&term| (self.terms[term], self.scales[term])));
            for &term in &in_order {
                omega
                    .extend(all[term * outputs..][..outputs].iter().map(|weight| weight / self.scales[term]));
            }
            self.blocks.push(vec![t]);
        }
        (self.state.blocks, self.state.omega) = (blocks, omega);
        self.state.f = self.apply();
    }

    /// The decision values, output after output, that the weights make without the free part.
    pub(super) fn apply(&self) -> Vec<f64> {
        self.product(&self.state.blocks.gather(&self.state.omega, self.cache.len()))
    }

    /// The columns times these weights, output after output.
    fn product(&self, w: &[f64]) -> Vec<f64> {
        match (self.state.blocks.outputs(), self.cache.len()) {
            (1, _) => self.cache.apply(w),
            (_, 0) => vec![0.0; self.state.f.len()],
            (_, width) => w.chunks_exact(width).flat_map(|w| self.cache.apply(w)).collect(),
        }
    }

    /// Puts all columns of the candidates that carry weight into one block, as they are, with the weights they have.
    pub(super) fn merge_blocks(&mut self) {
        let selected = self.selected(&self.weights());
        let columns: Vec<u32> =
            self.squared_scales(&selected).into_iter().map(|(column, _)| column).collect();
        let state = &mut self.state;
        let (width, outputs) = (self.cache.len(), state.blocks.outputs());
        let weights = state.blocks.gather(&state.omega, width);
        state.blocks = Blocks::new(outputs);
        state.blocks.push(columns.into_iter().map(|column| (column, 1.0)));
        let coordinates = 0..state.blocks.columns.len();
        state.omega = coordinates.map(|k| weights[state.blocks.place(k, width)]).collect();
        self.blocks = vec![selected];
    }
}
