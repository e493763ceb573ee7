//! From the end of a run to the model: its terms, and where they came from.

use super::Stop;
use super::checkpoint::PROGRAM;
use super::run::Run;
use crate::error::{Error, Result};
use crate::model::{
    Certificate, Discoveries, Group, KeptTerm, MOST_ALIASES, Model, NamedInput, PerOutput, Proof, Round,
    Term, Training,
};
use crate::objective::{Kept, Output};
use crate::space::Feature;

impl Run<'_> {
    /// The columns kept, with these weights.
    fn kept_terms(&self, weights: Vec<PerOutput>) -> Vec<KeptTerm> {
        let Kept { ids, names, .. } = &self.fitting.machine.kept;
        let term =
            |((&id, name), weight): ((&u64, &String), PerOutput)| KeptTerm { id, name: name.clone(), weight };
        ids.iter().zip(names).zip(weights).map(term).collect()
    }

    /// The model of the fit as it is; `certificate` is that of the fit before any refit.
    pub(super) fn assemble(
        mut self,
        stopped: Stop,
        certificate: Certificate,
        proof: Option<Proof>,
        discoveries: Option<Discoveries>,
    ) -> Result<Model> {
        let (bias, kept) = self.fitting.free_weights();
        let (mut terms, groups) = self.number_terms();
        self.name_aliases(&mut terms);
        let data = self.fitting.space.data();
        let kept_ids = self.fitting.machine.kept.ids().iter();
        let mut used: Vec<u64> =
            terms.iter().flat_map(|term| term.feature.inputs()).chain(kept_ids).copied().collect();
        used.sort_unstable();
        used.dedup();
        let named = |id: u64| NamedInput { id, name: data.input_name(id), genotype: None };
        let loss = self.fitting.machine.loss_in_use();
        let has_classes = loss.output() == Output::Classes;
        let classes = if has_classes { self.fitting.labels.classes().to_vec() } else { Vec::new() };
        let training = Training {
            n: data.rows() as u64,
            m: data.dimension(),
            nonzeros: data.nonzeros(),
            candidates: self.fitting.space.size(),
            accuracy: self.fitting.quality().accuracy(),
            explained: self.fitting.quality().explained(),
        };
        let model = Model {
            made_by: Some(PROGRAM.to_owned()),
            loss: loss.name().to_owned(),
            output: loss.output(),
            parameters: Some(self.fitting.machine.parameters(&classes)),
            classes,
            classes_are_text: false,
            label_column: data.label_column(),
            space: self
                .fitting
                .space
                .settings()
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            budget: self.plan.budget,
            cost: self.schedule.cost,
            asked_cost: self.fitting.cost,
            select: self.plan.select,
            debias: self.fitting.machine.debias,
            bias,
            kept: self.kept_terms(kept),
            offset: self.fitting.free.offset.is_some(),
            certificate,
            proof,
            discoveries,
            cv: None,
            stability: None,
            stopped,
            training,
            recipe: None,
            by_name: data.named(),
            inputs: used.into_iter().filter(|_| data.named()).map(named).collect(),
            groups,
            terms,
            rounds: self.path.rounds,
        };
        let advice = "scale the features, or choose a smaller cost";
        model.check_finite().map_err(|reason| Error::Data(format!("{reason}: {advice}")))?;
        Ok(model)
    }

    /// The terms that any round or the final model uses, with their groups; rounds then speak of terms by their new numbers.
    fn number_terms(&mut self) -> (Vec<Term>, Vec<Group>) {
        let weights = self.fitting.set.weights();
        let outputs = self.fitting.objective.outputs();
        let mut used = vec![false; self.fitting.set.terms.len()];
        self.fitting.set.nonzero_terms(&weights).into_iter().for_each(|t| used[t] = true);
        self.path.rounds.iter().flat_map(|round| &round.terms).for_each(|&t| used[t] = true);
        let (mut terms, mut groups) = (Vec::new(), Vec::new());
        let mut place = vec![usize::MAX; used.len()];
        for taken in self.fitting.set.taken.iter().filter(|taken| used[taken.terms.clone()].contains(&true)) {
            // A block may come in vain, and again when errors cost more: what counts is the first round with weight.
            let weighs = |round: &&Round| round.terms.iter().any(|t| taken.terms.contains(t));
            let round =
                self.path.rounds.iter().find(weighs).map_or(self.path.rounds.len(), |round| round.round);
            let group = taken.name.as_ref().map(|name| {
                groups.push(Group {
                    name: name.clone(),
                    size: taken.size,
                    round,
                    range: taken.range,
                    frequency: None,
                });
                groups.len() - 1
            });
            for t in taken.terms.clone().filter(|&t| used[t]) {
                place[t] = terms.len();
                let feature = self.fitting.set.features[self.fitting.set.terms[t] as usize].clone();
                let name = self.fitting.space.name(&feature);
                let weight = PerOutput(weights[t * outputs..][..outputs].to_vec());
                terms.push(Term {
                    name,
                    feature,
                    group,
                    round,
                    aliases: Vec::new(),
                    frequency: None,
                    stand_ins: Vec::new(),
                    weight,
                });
            }
        }
        self.path.rounds.iter_mut().flat_map(|round| &mut round.terms).for_each(|t| *t = place[*t]);
        (terms, groups)
    }

    /// Notes what else has the same columns. That is good to know, but nothing to wait or to lose a model for.
    fn name_aliases(&self, terms: &mut [Term]) {
        if self.fitting.is_interrupted() {
            return;
        }
        let features: Vec<Feature> = terms.iter().map(|term| term.feature.clone()).collect();
        let aliases = self.fitting.space.aliases(&features, MOST_ALIASES).unwrap_or_default();
        for (term, aliases) in terms.iter_mut().zip(aliases) {
            term.aliases = aliases.iter().map(|feature| self.fitting.space.name(feature)).collect();
        }
    }
}
