//! Which of the features chosen are discoveries: as many as can be kept while only a given part of them is expected to be false.
//!
//! Far more features are chosen than are wanted in the end. They are then done without one after the other, always the one that costs
//! least, so that what only stands in for others goes first. That orders them, and gives each its gain over those before it.
//!
//! By chance alone a feature gains `c^2 / h`, of mean `sum v^2 / sum d`, distributed as chi-squared (a group: with as many degrees of
//! freedom as it has columns). So among all candidates that have nothing to do with the outcome, `N_k` are expected to gain as much as
//! the k-th feature did: their number times the probability of that. It is the number that would be counted among dummy features
//! (T-Rex: Machkour, Muma, Palomar 2021) if there were infinitely many. The first K features are kept with the largest K for which
//! `N_1 + ... + N_K <= rate * K`: ForwardStop (G'Sell, Wager, Chouldechova, Tibshirani 2016), whose `-log(1 - p_k)` is `N_k` for the
//! largest of many gains.
//!
//! That chance alone does not explain a feature's gain does not say that it is the one. Where all columns have something in common, any
//! of them gains much as long as what they have in common is not explained. So each of the features is then compared with the candidates
//! that are not among them: how many would gain as much in its place, beside all the other features, is told from the best (`rivals`).
//! Features stay if few would, by the rule of Benjamini and Hochberg.

use std::collections::HashSet;
use std::time::Instant;

use super::chance::ln_chi_squared_above;
use super::rivals::{BEST, that_gain_as_much};
use super::run::Run;
use super::{Observer, Stop};
use crate::error::Result;
use crate::model::{Discoveries, Seconds};
use crate::space::{Ask, Candidate, Gain};
use crate::subproblem::Thinned;

/// Features looked at first where no number is asked for.
pub(super) const FIRST: usize = 20;

/// Enough were looked at once this part of them is expected to be false: discoveries are among those before.
const MOSTLY_FALSE: f64 = 0.5;

/// Instances for each weight of the features that are judged, at least: with fewer, what is left to judge them by is mostly their own
/// doing.
const FOR_EACH: usize = 4;

/// Candidates by score or gain among which the best beside other features are looked for: two for each one wanted.
pub(super) const TRIED: usize = 2 * (BEST + 1);

/// Fits are compared with each other, so they are solved to this relative gap.
const COMPARED: f64 = 1e-6;

/// How many times its cost errors count while features are judged. The ridge penalty, which predicts better, takes much of a weak
/// feature's gain; this leaves next to nothing of that. A power of two, so that costs come back to what they were.
const JUDGED: f64 = 16.0;

/// A feature, and how many of those without effect are expected to gain as much.
struct Judged {
    candidate: Candidate,
    by_chance: f64,
}

impl Run<'_> {
    /// Keeps the discoveries among the features chosen. Where no number was asked for, more are chosen before that until enough are.
    /// `None` if the run was ended from outside: then all chosen so far stay.
    pub(super) fn discover(
        &mut self,
        rate: f64,
        stopped: &mut Stop,
        observer: &mut dyn Observer,
    ) -> Result<Option<Discoveries>> {
        let most = self.most_considered();
        loop {
            if stopped.is_early() {
                return Ok(None);
            }
            let back = self.fitting.turning_point();
            let chosen = self.fitting.set.chosen().len();
            let clock = Instant::now();
            let judged = self.judge()?;
            if let Some(last) = self.path.rounds.last_mut() {
                last.seconds.solve += clock.elapsed().as_secs_f64();
            }
            let expected: f64 = judged.iter().map(|judged| judged.by_chance).sum();
            let enough = expected >= MOSTLY_FALSE * judged.len() as f64;
            let all = judged.len() < chosen || self.plan.features >= most;
            let done = enough || all || !self.plan.grows || *stopped != Stop::Features;
            let found = if done { Some(self.told_apart(&judged, rate)) } else { None };
            if self.fitting.is_interrupted() {
                self.fitting.turn_back(back);
                *stopped = self.fitting.interruption();
                return Ok(None);
            }
            if let Some(found) = found {
                *stopped = Stop::Discoveries;
                return self.keep_discoveries(found?, judged.len(), rate).map(Some);
            }
            self.fitting.turn_back(back);
            self.plan.features = (2 * self.plan.features).min(most);
            self.exchange = super::best::Exchange::new(&self.plan);
            *stopped = self.steps(None, observer)?;
        }
    }

    /// Features that may be looked at: no more than memory has room for, nor than there are instances to judge them by.
    fn most_considered(&self) -> usize {
        let rows = self.fitting.space.data().rows();
        let bytes = self.fitting.machine.context.memory_allowed().unwrap_or(u64::MAX);
        let fit = bytes / (32 * rows.max(1) as u64);
        self.most_weights().min(usize::try_from(fit).unwrap_or(usize::MAX)).max(1)
    }

    /// Weights that the instances that count are enough to judge.
    fn most_weights(&self) -> usize {
        self.fitting.objective.costs().iter().filter(|cost| **cost > 0.0).count() / FOR_EACH
    }

    /// The features chosen without the cheapest, so that their weights are few enough to be judged.
    fn thin_out(&mut self) -> Result<Vec<Candidate>> {
        let chosen = self.fitting.set.chosen();
        let (thinning, units) = self.fitting.thinning(&[])?;
        let mut stay: Vec<usize> = (0..chosen.len()).collect();
        while stay.len() > 1 && stay.iter().map(|&k| units[k].len()).sum::<usize>() > self.most_weights() {
            stay = thinning.keep(&units, 9 * stay.len() / 10).stay;
        }
        Ok(stay.into_iter().map(|k| chosen[k].clone()).collect())
    }

    /// The features chosen, in the reverse of the order in which they can be done without.
    fn judge(&mut self) -> Result<Vec<Judged>> {
        let mut chosen = self.thin_out()?;
        self.fitting.rescale(JUDGED);
        self.fit_to(&chosen, COMPARED, Seconds::default())?;
        let mut judged = Vec::with_capacity(chosen.len());
        while !chosen.is_empty() && !self.fitting.is_interrupted() {
            let with = self.fitting.value;
            let (thinning, units) = self.fitting.thinning(&[])?;
            let Thinned { stay, .. } = thinning.keep(&units, chosen.len() - 1);
            let gone = (0..chosen.len()).find(|place| stay.get(*place) != Some(place)).unwrap_or(0);
            let candidate = chosen.remove(gone);
            self.fit_to(&chosen, COMPARED, Seconds::default())?;
            let gain = (self.fitting.value - with).max(0.0);
            let weights: usize = stay.iter().map(|&k| units[k].len()).sum();
            let by_chance = self.by_chance(gain, units[gone].len(), chosen.len(), weights);
            judged.push(Judged { candidate, by_chance });
        }
        self.fitting.rescale(1.0 / JUDGED);
        judged.reverse();
        Ok(judged)
    }

    /// How many candidates beside the `chosen` with their `weights` would gain as much over the fit, if none had anything to do with the
    /// outcome, each with so much freedom.
    fn by_chance(&self, gain: f64, freedom: usize, chosen: usize, weights: usize) -> f64 {
        let others = (self.fitting.space.size() as f64 - chosen as f64).max(0.0);
        others * self.ln_chance(weights)(gain, freedom).exp()
    }

    /// The logarithm of the probability that one without effect gains as much over the fit, which has so many weights.
    fn ln_chance(&self, weights: usize) -> impl Fn(f64, usize) -> f64 + use<> {
        // Residuals are smaller than the noise by what the features took of it.
        let instances = self.fitting.instances_in_play();
        let free = instances - weights as f64 - 1.0;
        let chance = self.fitting.gain_by_chance() * instances / free;
        let known = free > 0.0 && chance > 0.0;
        move |gain, freedom| if known { ln_chi_squared_above(gain / chance, freedom) } else { 0.0 }
    }

    /// The features that chance does not explain and that no others could stand in for, those with the fewest such others first.
    fn told_apart(&mut self, judged: &[Judged], rate: f64) -> Result<Vec<Judged>> {
        let (mut sum, mut count) = (0.0, 0);
        for (k, judged) in judged.iter().enumerate() {
            sum += judged.by_chance;
            if sum <= rate * (k + 1) as f64 {
                count = k + 1;
            }
        }
        let first: Vec<Candidate> = judged[..count].iter().map(|judged| judged.candidate.clone()).collect();
        let (clock, taken) = (Instant::now(), first.iter().cloned().collect());
        self.fitting.rescale(JUDGED);
        let compared: Result<Vec<Judged>> =
            (0..first.len()).map(|k| self.beside_rivals(&first, k, &taken)).collect();
        self.fitting.rescale(1.0 / JUDGED);
        if let Some(last) = self.path.rounds.last_mut() {
            last.seconds.score += clock.elapsed().as_secs_f64();
        }
        let mut found = compared?;
        found.sort_by(|a, b| a.by_chance.total_cmp(&b.by_chance));
        // Benjamini and Hochberg: as many without effect as do as well as the last are expected among them.
        let within = |k: &usize| found[*k - 1].by_chance <= rate * *k as f64;
        let count = (1..=found.len()).rev().find(within).unwrap_or(0);
        found.truncate(count);
        Ok(found)
    }

    /// The k-th of the features with the number of candidates that are not taken and would gain as much in its place.
    fn beside_rivals(
        &mut self,
        features: &[Candidate],
        k: usize,
        taken: &HashSet<Candidate>,
    ) -> Result<Judged> {
        let mut rest = features.to_vec();
        let candidate = rest.remove(k);
        self.fit_to(&rest, COMPARED, Seconds::default())?;
        let mut tried = vec![candidate.clone()];
        tried.extend(self.rivals(taken)?);
        let (thinning, units) = self.fitting.thinning(&tried)?;
        let chance = self.ln_chance(units[..rest.len()].iter().map(Vec::len).sum());
        let gains = thinning.gains_beside(&units, rest.len());
        let freedoms = units[rest.len()..].iter().map(Vec::len);
        let logarithms: Vec<f64> =
            gains.iter().zip(freedoms).map(|(&gain, freedom)| chance(gain, freedom)).collect();
        let all = (self.fitting.space.size() as f64 - rest.len() as f64).max(0.0);
        let by_chance = (all * logarithms[0].exp()).max(that_gain_as_much(logarithms[0], &logarithms[1..]));
        Ok(Judged { candidate, by_chance })
    }

    /// Candidates that are not taken and gain most over the fit: by one look at all of them.
    fn rivals(&self, taken: &HashSet<Candidate>) -> Result<Vec<Candidate>> {
        let wanted = TRIED;
        let (dual, curvature) = (self.fitting.dual(), self.fitting.curvature());
        let gain = Gain { curvature: curvature.into(), intercept: self.fitting.free.intercept, wanted };
        let ask = Ask::many(&dual.residual, self.fitting.objective.outputs(), wanted, taken).by_gain(gain);
        let mut fresh = self.fitting.space.worst_case(&ask)?.fresh;
        fresh.truncate(wanted);
        Ok(fresh.into_iter().map(|scored| scored.item).collect())
    }

    /// Leaves these features; the path then adds them one by one.
    fn keep_discoveries(&mut self, found: Vec<Judged>, considered: usize, rate: f64) -> Result<Discoveries> {
        // The search for all of them counts with the first round.
        let (mut scored, mut seconds) = (0u128, Seconds::default());
        for round in std::mem::take(&mut self.path.rounds) {
            scored = scored.saturating_add(round.scored);
            seconds += round.seconds;
        }
        let kept: Vec<Candidate> = found.iter().map(|judged| judged.candidate.clone()).collect();
        for k in 1.min(kept.len())..=kept.len() {
            let (outcome, spent) = self.fit_to(&kept[..k], COMPARED, std::mem::take(&mut seconds))?;
            let (scored, cost) = (std::mem::take(&mut scored), self.schedule.cost);
            self.path.record(&self.fitting, cost, &outcome, scored, spent);
        }
        let by_chance = found.iter().map(|judged| judged.by_chance).collect();
        Ok(Discoveries { rate, considered, by_chance })
    }
}
