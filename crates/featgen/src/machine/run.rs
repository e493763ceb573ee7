//! The outer loop (Algorithm 1 of the paper): ask the space, refit, ask again with what the fit leaves unexplained.

use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::checkpoint::{Checkpoint, Progress, Saved};
use super::held::Held;
use super::params::{Machine, Plan};
use super::{Observer, Stop};
use crate::data::{Binary, Labels};
use crate::error::{Error, Result};
use crate::model::{Certificate, Group, MOST_ALIASES, Model, NamedInput, Round, Seconds, Term, Training};
use crate::space::{Candidate, Feature, FeatureSpace, Precision, Scored, WorstCase};
use crate::subproblem::{self, Goal, Outcome, Problem, State, Subproblem, best_shift, feasible_duals, norm};

/// How often the cost may be doubled for the sake of a feature count before giving up.
const MAX_DOUBLINGS: usize = 40;

/// Relative difference below which two objectives count as the same.
const SAME: f64 = 1e-9;

/// The tightest subproblem tolerance that numbers allow.
const TIGHTEST: f64 = 1e-14;

/// How much more exactly than the certified gap each round is solved.
const INNER_PART: f64 = 0.1;

impl Machine {
    /// Selects features and fits them.
    pub fn fit(&self, space: &dyn FeatureSpace, labels: &Labels) -> Result<Model> {
        self.fit_observed(space, labels, &mut ())
    }

    /// The same, reporting every round.
    pub fn fit_observed(
        &self,
        space: &dyn FeatureSpace,
        labels: &Labels,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        let plan = self.check()?;
        let rows = space.inputs().rows();
        if labels.len() != rows {
            return Err(Error::Data(format!("{} labels for {rows} instances", labels.len())));
        }
        let source = labels;
        let labels = labels.binary(self.cost, &self.class_weights)?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads)
            .build()
            .map_err(|e| Error::parameter("threads", e.to_string()))?;
        let run = Run {
            machine: self,
            space,
            solver: subproblem::by_name(&self.solver)?,
            cost: self.cost,
            inner_tol: self.inner_tol,
            doublings: 0,
            held: Held::new(rows),
            state: State { f: vec![0.0; rows], ..State::default() },
            margins: Vec::new(),
            objective: 0.0,
            first: 0.0,
            decrease: f64::INFINITY,
            lower_bound: 0.0,
            precision: pool.install(|| space.precision())?,
            rounds: Vec::new(),
            cut: false,
            plan,
            labels,
            counts: source.weights(),
        };
        pool.install(|| run.run(source, observer))
    }
}

/// Everything that changes during a run.
struct Run<'a> {
    machine: &'a Machine,
    plan: Plan,
    space: &'a dyn FeatureSpace,
    labels: Binary,
    /// How often instances count, if not all count once.
    counts: Option<&'a [f64]>,
    solver: Box<dyn Subproblem>,
    /// The cost in force.
    cost: f64,
    /// How often it was doubled.
    doublings: usize,
    /// The subproblem tolerance in force.
    inner_tol: f64,
    held: Held,
    state: State,
    margins: Vec<f64>,
    objective: f64,
    /// The objective without features, at the cost in force.
    first: f64,
    /// By how much the last round lowered it.
    decrease: f64,
    /// The best lower bound over all candidates at the cost in force.
    lower_bound: f64,
    /// How far rounding may take the scores that it comes from.
    precision: Precision,
    rounds: Vec<Round>,
    /// Whether a block was ever made smaller so as not to have more features than wanted.
    cut: bool,
}

impl Run<'_> {
    fn run(mut self, labels: &Labels, observer: &mut dyn Observer) -> Result<Model> {
        self.start_without_features();
        let checkpoint = self.open_checkpoint(labels, observer)?;
        let stopped = loop {
            if self.interrupted() {
                break Stop::Interrupted;
            }
            if let Some(reason) = self.round(observer)? {
                break reason;
            }
            // What an interrupt left half done is not a point from which to go on.
            if let Some(checkpoint) = checkpoint.as_ref().filter(|_| !self.interrupted()) {
                match self.save(checkpoint) {
                    Ok(()) => observer.saved(checkpoint.path()),
                    Err(error) => observer.not_saved(&error),
                }
            }
        };
        self.report(observer);
        Ok(self.finish(stopped))
    }

    /// The checkpoint, if there is to be one; goes on from it if it is there.
    fn open_checkpoint(
        &mut self,
        labels: &Labels,
        observer: &mut dyn Observer,
    ) -> Result<Option<Checkpoint>> {
        let Some(path) = &self.machine.checkpoint else { return Ok(None) };
        let opened = Checkpoint::open(path, self.machine, &self.plan, self.space, labels);
        // A run that is to end before it began needs none; but one that is there has a model that is not known yet.
        if opened.is_err() && self.interrupted() && !path.exists() {
            return Ok(None);
        }
        let (checkpoint, saved) = opened?;
        if let Some(saved) = saved {
            let name = checkpoint.path().display().to_string();
            let here =
                |reason: String| Error::input(name.as_str(), format!("a strange checkpoint: {reason}"));
            self.restore(saved).map_err(|error| match error {
                Error::Data(reason) => here(reason),
                other => other,
            })?;
            observer.resumed(&self.rounds);
        }
        Ok(Some(checkpoint))
    }

    fn save(&self, checkpoint: &Checkpoint) -> Result<()> {
        let progress = Progress {
            cost: self.cost,
            doublings: self.doublings,
            inner_tol: self.inner_tol,
            cut: self.cut,
            bias: self.state.bias,
            objective: self.objective,
            first: self.first,
            decrease: Some(self.decrease).filter(|decrease| decrease.is_finite()),
            lower_bound: self.lower_bound,
            taken: self.held.history(),
            blocks: self.held.blocks().to_vec(),
            rounds: self.rounds.clone(),
        };
        let mut arrays = vec![Cow::Borrowed(self.state.f.as_slice()), Cow::Borrowed(&self.state.omega)];
        arrays.extend(self.solver.kept());
        checkpoint.save(&progress, &arrays)
    }

    /// Goes back to where a run was when it [`save`](Self::save)d. Its data and parameters are known to be the same; that
    /// numbers fit each other is checked here.
    fn restore(&mut self, Saved { progress, arrays }: Saved) -> Result<()> {
        let strange = |what: &str| Error::Data(format!("{what} do not fit"));
        let sound = |candidate: &Candidate| match candidate {
            Candidate::Feature(feature) => feature.is_sound(),
            Candidate::Group(_) => true,
        };
        let mut arrays = arrays.into_iter();
        let (Some(f), Some(omega)) = (arrays.next(), arrays.next()) else {
            return Err(strange("its arrays"));
        };
        if !progress.taken.iter().flatten().all(sound)
            || !self.held.restore(self.space, &progress.taken, progress.blocks, &mut self.state)?
        {
            return Err(strange("its blocks"));
        }
        let columns = self.state.blocks.columns.len();
        if f.len() != self.labels.signs.len() || omega.len() != columns {
            return Err(strange("its weights"));
        }
        (self.state.f, self.state.omega, self.state.bias) = (f, omega, progress.bias);
        let terms = self.held.terms.len();
        for (k, round) in progress.rounds.iter().enumerate() {
            let paired = round.terms.len() == round.weights.len();
            if round.round != k + 1 || !paired || round.terms.iter().any(|&t| t >= terms) {
                return Err(strange("its rounds"));
            }
        }
        let factor = progress.cost / self.cost;
        let doubled = (0..=MAX_DOUBLINGS + 1).any(|k| factor == 2f64.powi(k as i32));
        let tolerances = TIGHTEST.min(self.inner_tol)..=self.inner_tol;
        if !doubled || progress.doublings > MAX_DOUBLINGS || !tolerances.contains(&progress.inner_tol) {
            return Err(strange("its costs and tolerances"));
        }
        // Doubling is exact, so that once is as good as step by step.
        self.labels.costs.iter_mut().for_each(|cost| *cost *= factor);
        self.cost = progress.cost;
        self.doublings = progress.doublings;
        self.inner_tol = progress.inner_tol;
        self.cut = progress.cut;
        self.objective = progress.objective;
        self.first = progress.first;
        self.decrease = progress.decrease.unwrap_or(f64::INFINITY);
        self.lower_bound = progress.lower_bound;
        self.rounds = progress.rounds;
        self.margins = self.margins_reached();
        match self.solver.resume(arrays.collect(), &self.held.cache) {
            true => Ok(()),
            false => Err(strange("the solver's numbers")),
        }
    }

    fn start_without_features(&mut self) {
        let Binary { signs, costs, .. } = &self.labels;
        if self.machine.shift {
            self.state.bias = best_shift(&*self.machine.loss, &self.state.f, signs, costs, 0.0);
        }
        self.margins = signs.iter().map(|y| -y * self.state.bias).collect();
        self.objective = self.machine.loss.total(&self.state.f, self.state.bias, signs, costs);
        self.first = self.objective;
    }

    /// One turn of the loop: score, choose, refit. Returns why the run ends, if it does.
    fn round(&mut self, observer: &mut dyn Observer) -> Result<Option<Stop>> {
        let clock = Instant::now();
        let worst = match self.score() {
            // A search that was told to end has nothing to say.
            Err(_) if self.interrupted() => return Ok(Some(Stop::Interrupted)),
            // What was found before, and proven of it, stays.
            Err(Error::GivenUp(reason)) if !self.rounds.is_empty() => {
                observer.given_up(&reason);
                return Ok(Some(Stop::Search));
            }
            worst => worst?,
        };
        let mut seconds = Seconds { score: clock.elapsed().as_secs_f64(), ..Seconds::default() };
        if let Some(round) = self.rounds.last_mut() {
            (round.objective, round.lower_bound) = (self.objective, self.lower_bound);
        }
        let scored = worst.scored;
        let (block, cut) = self.choose(worst);
        let reason = self.rule().or(block.is_empty().then_some(Stop::Exhausted));
        if reason.is_some() {
            // The last scores only certify: their time belongs to the round that they certify.
            if let Some(round) = self.rounds.last_mut() {
                round.seconds.score += seconds.score;
            }
            return Ok(reason);
        }
        self.cut |= cut;
        let clock = Instant::now();
        let new = self.held.add_block(self.space, &block, &mut self.state)?;
        seconds.generate = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let before = self.objective;
        let mut outcome = self.refit();
        let mut helps = new.as_ref().is_some_and(|range| self.carries_weight(range));
        if let Some(range) = new.filter(|_| !helps && self.machine.features.is_some()) {
            helps = self.share(range, &mut outcome);
        }
        self.held.drop_idle_blocks(&mut self.state);
        seconds.solve = clock.elapsed().as_secs_f64();
        if !helps {
            self.amend(&outcome, seconds);
            return Ok(self.no_block_helps(&outcome, observer));
        }
        self.decrease = before - self.objective;
        self.report(observer);
        self.record(&outcome, scored, seconds);
        Ok(None)
    }

    /// The best block got no weight: solve more exactly, or let errors cost more, or stop.
    fn no_block_helps(&mut self, last: &Outcome, observer: &mut dyn Observer) -> Option<Stop> {
        if self.interrupted() {
            return Some(Stop::Interrupted);
        }
        if self.machine.gap.is_some() && self.inner_tol > TIGHTEST {
            // The block seemed to help only because the subproblem was not solved well enough.
            self.inner_tol = (0.1 * self.inner_tol).max(TIGHTEST);
            return None;
        }
        if self.machine.features.is_none() || self.doublings >= MAX_DOUBLINGS {
            // With a gap asked for, it is still open. At costs raised beyond all measure, nothing is solved exactly.
            let unsolved = self.doublings == 0 && self.machine.is_unsolved(last.gap);
            let open = self.machine.gap.is_some() || unsolved;
            return Some(if open { Stop::Stalled } else { Stop::Optimal });
        }
        // No new feature helps at this cost, but more are wanted.
        let (before, selected, clock) = (self.objective, self.selected(), Instant::now());
        let outcome = self.double_cost();
        let seconds = Seconds { solve: clock.elapsed().as_secs_f64(), ..Seconds::default() };
        if self.selected() < selected {
            // A point with more features may be the best there is.
            self.report(observer);
            self.record(&outcome, 0, seconds);
        } else {
            self.amend(&outcome, seconds);
        }
        // Where nothing is left to pay for, no cost brings in more.
        let more = self.objective > (1.0 + SAME) * before;
        self.doublings = if more { self.doublings + 1 } else { MAX_DOUBLINGS };
        None
    }

    /// The worst-case analysis, and the bound that its scores prove (math: section 2).
    fn score(&mut self) -> Result<WorstCase> {
        let alpha = self.duals();
        let taken = self.held.in_blocks();
        let v = self.signed(&alpha);
        let worst = self.space.worst_case(&v, self.plan.budget, &taken)?;
        let count = self.plan.budget.min(usize::try_from(self.space.size()).unwrap_or(usize::MAX));
        let top = worst.top_at_most(count, &v, self.precision);
        let bound = self.machine.loss.bound(&alpha, &self.labels.costs, top);
        self.lower_bound = self.lower_bound.max(bound);
        // A bound holds whatever was rounded on the way; so if an objective is below, the objective lost to rounding.
        self.objective = self.objective.max(self.lower_bound);
        Ok(worst)
    }

    /// Feasible dual variables at the margins reached.
    fn duals(&self) -> Vec<f64> {
        let Binary { signs, costs, .. } = &self.labels;
        feasible_duals(&*self.machine.loss, &self.margins, signs, costs, self.machine.shift)
    }

    /// `v = alpha * y`, by which features are scored.
    fn signed(&self, alpha: &[f64]) -> Vec<f64> {
        alpha.iter().zip(&self.labels.signs).map(|(a, y)| a * y).collect()
    }

    /// The next block, and whether there was no room for all of it. Repeated candidates only where a certified gap is asked for;
    /// never more new ones than are wanted.
    fn choose(&self, worst: WorstCase) -> (Vec<Candidate>, bool) {
        let candidates = if self.machine.gap.is_some() { worst.best } else { worst.fresh };
        let mut room = self.machine.features.map_or(usize::MAX, |k| k.saturating_sub(self.selected()));
        let held = self.held.in_blocks();
        let mut fits = |candidate: &Candidate| {
            let repeated = held.contains(candidate);
            let fits = repeated || room > 0;
            room -= usize::from(fits && !repeated);
            fits
        };
        let found = candidates.len();
        let block: Vec<Candidate> =
            candidates.into_iter().map(|Scored { item, .. }| item).filter(|c| fits(c)).collect();
        let cut = block.len() < found;
        (block, cut)
    }

    /// The first stopping rule that holds.
    fn rule(&self) -> Option<Stop> {
        if self.machine.features.is_some_and(|k| self.selected() >= k) {
            Some(Stop::Features)
        } else if self.machine.gap.is_some_and(|gap| self.certificate().gap() <= gap) {
            Some(Stop::Gap)
        } else if self.rounds.len() >= self.plan.max_rounds {
            Some(Stop::Rounds)
        } else if self.decrease / self.first <= self.plan.tol && self.plan.tol > 0.0 {
            Some(Stop::Tolerance)
        } else {
            None
        }
    }

    /// Solves the round's problem from where the last one ended.
    fn refit(&mut self) -> Outcome {
        let reached = INNER_PART * self.certificate().gap().max(self.machine.gap.unwrap_or(0.0));
        let gap = if self.machine.gap.is_some() { self.inner_tol.min(reached) } else { self.inner_tol };
        let goal = Goal { gap, decrease: self.machine.inner_decrease, interrupt: &self.machine.interrupt };
        let problem = Problem {
            cache: &self.held.cache,
            signs: &self.labels.signs,
            costs: &self.labels.costs,
            loss: &*self.machine.loss,
            shift: self.machine.shift,
        };
        let outcome = self.solver.solve(&problem, &mut self.state, &goal);
        self.margins = self.margins_reached();
        self.objective = outcome.objective;
        outcome
    }

    fn margins_reached(&self) -> Vec<f64> {
        let State { f, bias, .. } = &self.state;
        f.iter().zip(&self.labels.signs).map(|(f, y)| y * (f - bias)).collect()
    }

    fn carries_weight(&self, coordinates: &std::ops::Range<usize>) -> bool {
        self.state.omega[coordinates.clone()].iter().any(|&w| w != 0.0)
    }

    /// A new block that got no weight only because it ties with those that have it (copies of the same columns, say) may
    /// take its share: the optimum is not unique, and more features are wanted. Keeps the share if the objective stays.
    fn share(&mut self, new: std::ops::Range<usize>, outcome: &mut Outcome) -> bool {
        let (before, objective, margins) = (self.state.clone(), self.objective, self.margins.clone());
        let c = self.held.cache.transpose(&self.signed(&self.duals()));
        let pull: Vec<f64> = new.clone().map(|k| self.state.blocks.pull(k, &c)).collect();
        let (length, size) = (norm(&pull), self.state.blocks.norm(&self.state.omega));
        if size > 0.0 && length >= (1.0 - self.inner_tol) * size {
            let part = new.len() as f64 / self.state.omega.len() as f64;
            self.state.omega.iter_mut().for_each(|w| *w *= 1.0 - part);
            self.state.omega[new.clone()]
                .iter_mut()
                .zip(pull)
                .for_each(|(w, p)| *w = part * size * p / length);
            let w = self.state.blocks.gather(&self.state.omega, self.held.cache.len());
            self.state.f = self.held.cache.apply(&w);
            let shared = self.refit();
            if self.objective <= (1.0 + SAME) * objective && self.carries_weight(&new) {
                *outcome = shared;
                return true;
            }
        }
        (self.state, self.objective, self.margins) = (before, objective, margins);
        false
    }

    fn double_cost(&mut self) -> Outcome {
        self.cost *= 2.0;
        self.first *= 2.0;
        self.labels.costs.iter_mut().for_each(|cost| *cost *= 2.0);
        // A bound for a smaller cost is one for a larger: the optimum only grows.
        let outcome = self.refit();
        self.held.drop_idle_blocks(&mut self.state);
        outcome
    }

    fn interrupted(&self) -> bool {
        self.machine.interrupt.load(Ordering::Relaxed)
    }

    fn certificate(&self) -> Certificate {
        Certificate { objective: self.objective, lower_bound: self.lower_bound }
    }

    /// How many candidates carry weight.
    fn selected(&self) -> usize {
        self.held.selected(&self.held.weights(&self.state)).len()
    }

    fn accuracy(&self) -> f64 {
        // As in prediction, a decision value of exactly 0 counts as negative.
        let right = |(&z, &y): (&f64, &f64)| z > 0.0 || (z == 0.0 && y < 0.0);
        let pairs = || self.margins.iter().zip(&self.labels.signs);
        match self.counts {
            None => pairs().filter(|&pair| right(pair)).count() as f64 / self.margins.len() as f64,
            Some(counts) => {
                let counted = pairs().zip(counts).filter(|(pair, _)| right(*pair));
                counted.map(|(_, count)| count).sum::<f64>() / counts.iter().sum::<f64>()
            }
        }
    }

    fn record(&mut self, outcome: &Outcome, scored: u128, seconds: Seconds) {
        let weights = self.held.weights(&self.state);
        let terms: Vec<usize> = (0..weights.len()).filter(|&t| weights[t] != 0.0).collect();
        self.rounds.push(Round {
            round: self.rounds.len() + 1,
            selected: self.held.selected(&weights).len(),
            scored,
            cost: self.cost,
            objective: self.objective,
            lower_bound: self.lower_bound,
            inner_iterations: outcome.iterations,
            inner_gap: outcome.gap,
            accuracy: self.accuracy(),
            bias: self.state.bias,
            weights: terms.iter().map(|&t| weights[t]).collect(),
            terms,
            seconds,
        });
    }

    /// Reports the last round, once nothing can change it any more.
    fn report(&self, observer: &mut dyn Observer) {
        if let Some(round) = self.rounds.last() {
            observer.round(round);
        }
    }

    /// A refit that brought no new feature still moved weights, or the cost: the last round becomes what it left.
    fn amend(&mut self, outcome: &Outcome, more: Seconds) {
        if let Some(Round { inner_iterations, scored, mut seconds, .. }) = self.rounds.pop() {
            seconds.score += more.score;
            seconds.generate += more.generate;
            seconds.solve += more.solve;
            self.record(outcome, scored, seconds);
            let last = self.rounds.last_mut().expect("just recorded");
            last.inner_iterations += inner_iterations;
        }
    }

    /// Goes back to the first point of the path with the most features, if that is closer to what is wanted: raising the cost
    /// may have lost some, and brought no others.
    fn go_back(&mut self) {
        let most = self.rounds.iter().map(|round| round.selected).max();
        let best = self.rounds.iter().position(|round| Some(round.selected) == most);
        let better = self.machine.features.is_some() && Some(self.selected()) < most;
        let Some(best) = best.filter(|_| better) else { return };
        self.rounds.truncate(best + 1);
        let Round { cost, objective, lower_bound, bias, .. } = self.rounds[best];
        self.labels.costs.iter_mut().for_each(|c| *c *= cost / self.cost);
        (self.cost, self.objective, self.lower_bound) = (cost, objective, lower_bound);
        let Round { terms, weights, .. } = &self.rounds[best];
        self.held.set_weights(terms.iter().copied().zip(weights.iter().copied()), &mut self.state);
        self.state.bias = bias;
        self.margins = self.margins_reached();
    }

    fn finish(mut self, stopped: Stop) -> Model {
        if stopped != Stop::Interrupted {
            self.go_back();
        }
        let certificate = self.certificate();
        if let Some(cost) = self.machine.debias {
            self.debias(cost);
        }
        let (mut terms, groups) = self.number_terms();
        self.name_aliases(&mut terms);
        let inputs = self.space.inputs();
        let mut used: Vec<u64> = terms.iter().flat_map(|term| term.feature.inputs()).copied().collect();
        used.sort_unstable();
        used.dedup();
        let named = |id: u64| NamedInput { id, name: inputs.input_name(id) };
        let training = Training {
            n: inputs.rows() as u64,
            m: inputs.dimension(),
            nonzeros: inputs.columns().nonzeros(),
            candidates: self.space.size(),
            accuracy: self.accuracy(),
        };
        Model {
            loss: self.machine.loss.name().to_owned(),
            classes: self.labels.classes,
            classes_are_text: false,
            space: self.space.settings().into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            budget: self.plan.budget,
            cost: self.cost,
            asked_cost: self.machine.cost,
            debias: self.machine.debias,
            bias: self.state.bias,
            certificate,
            stopped,
            training,
            by_name: inputs.named(),
            inputs: used.into_iter().filter(|_| inputs.named()).map(named).collect(),
            groups,
            terms,
            rounds: self.rounds,
        }
    }

    /// The terms that any round or the final model uses, with their groups; rounds then speak of terms by their new numbers.
    fn number_terms(&mut self) -> (Vec<Term>, Vec<Group>) {
        let weights = self.held.weights(&self.state);
        let mut used: Vec<bool> = weights.iter().map(|&w| w != 0.0).collect();
        self.rounds.iter().flat_map(|round| &round.terms).for_each(|&t| used[t] = true);
        let (mut terms, mut groups) = (Vec::new(), Vec::new());
        let mut place = vec![usize::MAX; weights.len()];
        for taken in self.held.taken.iter().filter(|taken| used[taken.terms.clone()].contains(&true)) {
            // A block may come in vain, and again when errors cost more: what counts is the first round with weight.
            let weighs = |round: &&Round| round.terms.iter().any(|t| taken.terms.contains(t));
            let round = self.rounds.iter().find(weighs).map_or(self.rounds.len(), |round| round.round);
            let group = taken.name.as_ref().map(|name| {
                groups.push(Group { name: name.clone(), size: taken.size, round, range: taken.range });
                groups.len() - 1
            });
            for t in taken.terms.clone().filter(|&t| used[t]) {
                place[t] = terms.len();
                let feature = self.held.features[self.held.terms[t] as usize].clone();
                let name = self.space.name(&feature);
                terms.push(Term { name, feature, group, round, aliases: Vec::new(), weight: weights[t] });
            }
        }
        self.rounds.iter_mut().flat_map(|round| &mut round.terms).for_each(|t| *t = place[*t]);
        (terms, groups)
    }

    /// Notes what else has the same columns. That is good to know, but nothing to wait or to lose a model for.
    fn name_aliases(&self, terms: &mut [Term]) {
        if self.interrupted() {
            return;
        }
        let features: Vec<Feature> = terms.iter().map(|term| term.feature.clone()).collect();
        let aliases = self.space.aliases(&features, MOST_ALIASES).unwrap_or_default();
        for (term, aliases) in terms.iter_mut().zip(aliases) {
            term.aliases = aliases.iter().map(|feature| self.space.name(feature)).collect();
        }
    }

    /// An l2 model on the selected features: the subproblem with all of them in one block.
    fn debias(&mut self, cost: f64) {
        if self.selected() == 0 {
            return;
        }
        let factor = cost / self.cost;
        self.labels.costs.iter_mut().for_each(|c| *c *= factor);
        self.held.merge_blocks(&mut self.state);
        self.refit();
    }
}
