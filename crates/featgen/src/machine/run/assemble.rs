//! From the end of a run to the model: the point of the path that is kept, refitted if that is wanted, and its terms.

use super::Run;
use crate::error::{Error, Result};
use crate::machine::Stop;
use crate::machine::checkpoint::PROGRAM;
use crate::model::{Group, KeptTerm, MOST_ALIASES, Model, NamedInput, PerOutput, Round, Term, Training};
use crate::objective::{Kept, Output};
use crate::space::Feature;

impl Run<'_> {
    /// A cost that was raised and brought no more features was raised in vain: the round has its own again.
    pub(super) fn unraise(&mut self) {
        if let Some(round) = self.unraised.take() {
            let place = round.round - 1;
            self.rounds[place] = round;
        }
    }

    /// Goes back to the first point of the path with the most features, if the run is elsewhere: raising the cost may have lost
    /// some, or brought no others.
    fn go_back(&mut self) {
        let most = self.rounds.iter().map(|round| round.selected).max();
        let best = self.rounds.iter().position(|round| Some(round.selected) == most);
        let elsewhere = |round: &Round| self.selected() < round.selected || self.cost != round.cost;
        let better = |&best: &usize| self.machine.features.is_some() && elsewhere(&self.rounds[best]);
        let Some(best) = best.filter(better) else { return };
        self.rounds.truncate(best + 1);
        let Round { cost, objective, lower_bound, .. } = self.rounds[best];
        self.rescale(cost / self.cost);
        (self.cost, self.value, self.lower_bound) = (cost, objective, lower_bound);
        let Round { terms, weights, bias, kept, .. } = &self.rounds[best];
        self.held.set_weights(terms, weights, &mut self.state);
        let (width, first) = (self.free.width(), usize::from(self.free.intercept));
        for (k, free) in self.state.free.chunks_exact_mut(width.max(1)).enumerate() {
            free[..first].fill(0.0 - bias.0[k]);
            free[first..].iter_mut().zip(kept).for_each(|(free, weight)| *free = weight.0[k]);
        }
        self.d = self.decisions();
    }

    /// The columns kept, with these weights.
    fn kept_terms(&self, weights: Vec<PerOutput>) -> Vec<KeptTerm> {
        let Kept { ids, names, .. } = &self.machine.kept;
        let term =
            |((&id, name), weight): ((&u64, &String), PerOutput)| KeptTerm { id, name: name.clone(), weight };
        ids.iter().zip(names).zip(weights).map(term).collect()
    }

    pub(super) fn finish(mut self, stopped: Stop) -> Result<Model> {
        if stopped != Stop::Interrupted {
            self.go_back();
        }
        let certificate = self.certificate();
        if let Some(cost) = self.machine.debias {
            self.debias(cost);
        }
        let (bias, kept) = self.free_weights();
        let (mut terms, groups) = self.number_terms();
        self.name_aliases(&mut terms);
        let data = self.space.data();
        let kept_ids = self.machine.kept.ids().iter();
        let mut used: Vec<u64> =
            terms.iter().flat_map(|term| term.feature.inputs()).chain(kept_ids).copied().collect();
        used.sort_unstable();
        used.dedup();
        let named = |id: u64| NamedInput { id, name: data.input_name(id) };
        let loss = self.machine.loss_in_use();
        let has_classes = loss.output() == Output::Classes;
        let classes = if has_classes { self.labels.classes().to_vec() } else { Vec::new() };
        let training = Training {
            n: data.rows() as u64,
            m: data.dimension(),
            nonzeros: data.nonzeros(),
            candidates: self.space.size(),
            accuracy: self.fit().accuracy(),
            explained: self.fit().explained(),
        };
        let model = Model {
            made_by: Some(PROGRAM.to_owned()),
            loss: loss.name().to_owned(),
            output: loss.output(),
            parameters: Some(self.machine.parameters(&classes)),
            classes,
            classes_are_text: false,
            label_column: data.label_column(),
            space: self.space.settings().into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            budget: self.plan.budget,
            cost: self.cost,
            asked_cost: self.machine.cost,
            debias: self.machine.debias,
            bias,
            kept: self.kept_terms(kept),
            offset: self.free.offset.is_some(),
            certificate,
            stopped,
            training,
            by_name: data.named(),
            inputs: used.into_iter().filter(|_| data.named()).map(named).collect(),
            groups,
            terms,
            rounds: self.rounds,
        };
        let advice = "scale the features, or choose a smaller cost";
        model.check_finite().map_err(|reason| Error::Data(format!("{reason}: {advice}")))?;
        Ok(model)
    }

    /// The terms that any round or the final model uses, with their groups; rounds then speak of terms by their new numbers.
    fn number_terms(&mut self) -> (Vec<Term>, Vec<Group>) {
        let weights = self.held.weights(&self.state);
        let outputs = self.objective.outputs();
        let mut used = vec![false; self.held.terms.len()];
        self.held.weighty(&weights).into_iter().for_each(|t| used[t] = true);
        self.rounds.iter().flat_map(|round| &round.terms).for_each(|&t| used[t] = true);
        let (mut terms, mut groups) = (Vec::new(), Vec::new());
        let mut place = vec![usize::MAX; used.len()];
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
                let weight = PerOutput(weights[t * outputs..][..outputs].to_vec());
                terms.push(Term { name, feature, group, round, aliases: Vec::new(), weight });
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
        self.rescale(cost / self.cost);
        self.held.merge_blocks(&mut self.state);
        self.refit();
    }
}
