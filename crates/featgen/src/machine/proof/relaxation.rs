//! The relaxation of "the best K" with some candidates forced in and some left out (math: section 9): the k-support norm takes the place
//! of the count. It is solved on a working set that grows by what it lacks, and bounds every set that the node stands for.

use std::collections::HashMap;

use super::candidates::Candidates;
use super::dual::{Dual, Squares};
use super::node::{Node, Weights};
use crate::context::Context;
use crate::error::Result;
use crate::machine::working_set::WorkingSet;
use crate::objective::{Free, Kept, Objective};
use crate::space::Candidate;
use crate::subproblem::ksupport::{KSupport, Solver};
use crate::subproblem::{Goal, Problem, Subproblem};

/// All that nodes share: candidates, the columns of the working set, and what the solver knows of them.
pub(super) struct Relaxation<'a> {
    pub(super) objective: &'a dyn Objective,
    free: &'a Free,
    kept: &'a Kept,
    context: &'a Context,
    /// How many candidates a set may hold.
    k: usize,
    pub(super) candidates: Candidates<'a>,
    set: WorkingSet,
    /// The number of every candidate that the set has taken, and its place there.
    taken: Vec<u32>,
    places: HashMap<u32, u32>,
    solver: Solver,
}

/// Of what a bound may still gain, the part that is not worth solving for.
const NOT_WORTH: f64 = 0.1;

/// Of the gap asked for, what the bound of a node may leave.
const LEFT: f64 = 0.25;

/// Of what the bound may leave, the solver's part.
const SOLVERS_PART: f64 = 0.3;

/// How exactly the ridge fit on a set is solved, relative to its objective.
const RIDGE: f64 = 1e-9;

/// How many times as many columns as a node needs may be held for it.
const WASTED: usize = 3;

/// Rounds of growing the working set of one node.
const MAX_ROUNDS: usize = 200;

impl<'a> Relaxation<'a> {
    pub(super) fn new(
        objective: &'a dyn Objective,
        free: &'a Free,
        kept: &'a Kept,
        context: &'a Context,
        k: usize,
        candidates: Candidates<'a>,
    ) -> Self {
        let outputs = objective.outputs();
        let set = WorkingSet::new(candidates.space.data().rows(), kept, outputs, free.width());
        let solver = Solver::with_units(k, outputs);
        let (taken, places) = (Vec::new(), HashMap::new());
        Self { objective, free, kept, context, k, candidates, set, taken, places, solver }
    }

    /// Raises the bound of a node, and settles what it settles of its candidates, as far as that is worth it where the best set known
    /// has the objective `upper` and the gap asked for is `goal`.
    pub(super) fn solve(&mut self, node: &mut Node, upper: f64, goal: f64) -> Result<()> {
        self.forget(node)?;
        for _ in 0..MAX_ROUNDS {
            let left = |value: f64| (NOT_WORTH * (upper - value)).max(LEFT * goal * upper);
            let (value, iterations) = self.improve(node, SOLVERS_PART * left(node.bound) / upper)?;
            let (dual, squares) = self.look(node)?;
            node.bound = node.bound.max(dual.bound(self.objective, squares.top()));
            if node.bound > upper {
                return Ok(());
            }
            let lacking = self.lacking(node, &squares);
            let solved = value - node.bound <= left(value);
            if solved || (lacking.is_empty() && iterations == 0) || self.context.is_interrupted() {
                self.settle(node, &dual, squares, upper)?;
                return Ok(());
            }
            self.take(&lacking)?;
        }
        Ok(())
    }

    /// The objective of the ridge fit on a set, from weights that are near.
    pub(super) fn ridge(&mut self, set: &[u32], near: &Weights) -> Result<f64> {
        let mut node = Node { inside: set.to_vec(), weights: near.clone(), ..Node::default() };
        Ok(self.improve(&mut node, RIDGE)?.0)
    }

    /// Forgets columns, if most of those that were fetched mean nothing to a node: every one of them costs time in every step.
    fn forget(&mut self, node: &Node) -> Result<()> {
        let needed = node.needed();
        if self.taken.len() <= WASTED * (needed.len() + 2 * self.k) {
            return Ok(());
        }
        let (rows, outputs) = (self.candidates.space.data().rows(), self.objective.outputs());
        self.set = WorkingSet::new(rows, self.kept, outputs, self.free.width());
        self.solver = Solver::with_units(self.k, outputs);
        self.taken.clear();
        self.places.clear();
        self.take(&needed)
    }

    /// How many candidates may join the working set of a node at once.
    fn most_new(&self, node: &Node) -> usize {
        (2 * self.k).max(node.weights.of.len() / 2)
    }

    /// Fetches the columns of candidates, each of which is there once.
    pub(super) fn take(&mut self, numbers: &[u32]) -> Result<()> {
        let new: Vec<u32> =
            numbers.iter().copied().filter(|number| !self.places.contains_key(number)).collect();
        let candidates: Vec<Candidate> =
            new.iter().map(|&number| self.candidates.named(number).clone()).collect();
        self.set.take(self.candidates.space, &candidates)?;
        for number in new {
            self.places.insert(number, self.taken.len() as u32);
            self.taken.push(number);
        }
        Ok(())
    }

    /// Solves the relaxation of a node on the working set, from the node's weights to this relative gap. Returns the objective and the
    /// steps made.
    fn improve(&mut self, node: &mut Node, gap: f64) -> Result<(f64, usize)> {
        self.take(&node.needed())?;
        let units = self.units(node);
        let places: Vec<u32> = units.iter().map(|number| self.places[number]).collect();
        let omega = self.omega(&places, &units, &node.weights);
        self.set.arrange(&places, omega);
        if node.weights.free.len() == self.set.state.free.len() {
            self.set.state.free.clone_from(&node.weights.free);
        }
        self.solver
            .set_norm(KSupport { k: self.k.saturating_sub(node.inside.len()), forced: node.inside.len() });
        let problem = Problem { cache: &self.set.cache, objective: self.objective, free: self.free };
        let goal = Goal { gap, decrease: None, context: self.context };
        let outcome = self.solver.solve(&problem, &mut self.set.state, &goal);
        let state = &self.set.state;
        let held = units.iter().zip(state.blocks.ranges());
        let weighty = held.filter(|(_, range)| state.omega[range.clone()].iter().any(|&w| w != 0.0));
        node.weights = Weights {
            of: weighty.map(|(&number, range)| (number, state.omega[range].to_vec())).collect(),
            free: state.free.clone(),
        };
        node.theta = self.solver.theta(state);
        Ok((outcome.objective, outcome.iterations))
    }

    /// What may have weights in a node, of the working set: what is forced first.
    fn units(&self, node: &Node) -> Vec<u32> {
        let open = |number: &u32| !node.is_inside(*number) && !node.is_outside(*number);
        let others = self.taken.iter().copied().filter(|number| node.inside.len() < self.k && open(number));
        node.inside.iter().copied().chain(others).collect()
    }

    /// The weights of these candidates, one after the other; 0 for those that have none.
    fn omega(&self, places: &[u32], units: &[u32], weights: &Weights) -> Vec<f64> {
        let mut omega = Vec::new();
        for (&place, number) in places.iter().zip(units) {
            match weights.of.get(number) {
                Some(own) => omega.extend_from_slice(own),
                None => omega.resize(omega.len() + self.set.width(place), 0.0),
            }
        }
        omega
    }

    /// The dual point of the weights just found, and the squared scores of all that the node leaves open.
    fn look(&mut self, node: &Node) -> Result<(Dual, Squares)> {
        let state = &self.set.state;
        let dual = Dual::at(self.objective, self.free, self.free.decision(&state.f, &state.free));
        // Of the best, those that are known do not join; of the others, enough.
        let count = self.k + node.outside.len() + self.taken.len() + self.most_new(node);
        let squares = self.squares(node, &dual, count)?;
        Ok((dual, squares))
    }

    /// The squared scores, at a point, of all that a node leaves open: at least those among the `count` best.
    fn squares(&mut self, node: &Node, dual: &Dual, count: usize) -> Result<Squares> {
        let scores = self.candidates.best(&dual.residual, node.members.as_deref(), count)?;
        let inside = self.inside_scores(node, &dual.residual).into_iter().map(|score| scores.most.of(score));
        let open = scores.best.iter().filter(|s| !node.is_inside(s.item) && !node.is_outside(s.item));
        Ok(Squares {
            inside: inside.sum(),
            places: self.k.saturating_sub(node.inside.len()),
            open: open.map(|scored| (scored.item, scores.most.of(scored.score))).collect(),
            rest: scores.rest,
        })
    }

    /// The scores of those that are forced, which are the first of the blocks.
    fn inside_scores(&self, node: &Node, v: &[f64]) -> Vec<f64> {
        let (blocks, cache) = (&self.set.state.blocks, &self.set.cache);
        let c: Vec<f64> = v.chunks_exact(cache.rows().max(1)).flat_map(|v| cache.transpose(v)).collect();
        let score = |range: std::ops::Range<usize>| {
            range.map(|k| blocks.pull(k, &c, cache.len()).powi(2)).sum::<f64>().sqrt()
        };
        blocks.ranges().take(node.inside.len()).map(score).collect()
    }

    /// What should join the working set: all that would get weights, the best first.
    fn lacking(&self, node: &Node, squares: &Squares) -> Vec<u32> {
        let known = |(number, _): &&(u32, f64)| self.places.contains_key(number);
        let beyond = squares.open.iter().filter(known).nth(squares.places.saturating_sub(1));
        let beyond = beyond.map_or(0.0, |(_, square)| *square);
        let better = squares.open.iter().filter(|unit| unit.1 > beyond && !known(unit));
        let better = better.take(self.most_new(node));
        if node.inside.len() < self.k { better.map(|(number, _)| *number).collect() } else { Vec::new() }
    }

    /// Forces in, and leaves out, what is certain of all sets of the node that are as good as the best one known.
    fn settle(&mut self, node: &mut Node, dual: &Dual, mut squares: Squares, upper: f64) -> Result<()> {
        let decided = dual.decide(self.objective, &squares, upper);
        // Where some are left out, but the list ends before the first of them: who is left?
        if squares.rest > decided.cut
            && decided.cut > 0.0
            && let Some(above) = self.candidates.above(&dual.residual, decided.cut)?
        {
            let open =
                above.into_iter().filter(|(item, _)| !node.is_inside(*item) && !node.is_outside(*item));
            (squares.open, squares.rest) = (open.collect(), decided.cut);
        }
        if squares.rest <= decided.cut {
            let left = squares.open.len() - decided.outside(&squares).len();
            let members: Vec<u32> = squares.open[..left].iter().map(|(number, _)| *number).collect();
            if self.candidates.hold(&members)? && self.candidates.hold(&node.inside)? {
                node.restrict(members);
            }
        }
        node.force(squares.open[..decided.inside].iter().map(|(number, _)| *number));
        Ok(())
    }
}
