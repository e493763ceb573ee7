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

use std::time::Instant;

use super::run::Run;
use super::{Observer, Stop};
use crate::error::Result;
use crate::model::{Discoveries, Seconds};
use crate::space::Candidate;
use crate::subproblem::Thinned;

/// Features looked at first where no number is asked for.
pub(super) const FIRST: usize = 20;

/// Enough were looked at once this part of them is expected to be false: discoveries are among those before.
const MOSTLY_FALSE: f64 = 0.5;

/// Instances for each weight of the features that are judged, at least: with fewer, what is left to judge them by is mostly their own
/// doing.
const FOR_EACH: usize = 4;

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
            if self.fitting.is_interrupted() {
                self.fitting.turn_back(back);
                *stopped = self.fitting.interruption();
                return Ok(None);
            }
            if let Some(last) = self.path.rounds.last_mut() {
                last.seconds.solve += clock.elapsed().as_secs_f64();
            }
            let expected: f64 = judged.iter().map(|judged| judged.by_chance).sum();
            let enough = expected >= MOSTLY_FALSE * judged.len() as f64;
            let all = judged.len() < chosen || self.plan.features >= most;
            if enough || all || !self.plan.grows || *stopped != Stop::Features {
                *stopped = Stop::Discoveries;
                return self.keep_discoveries(judged, rate).map(Some);
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
        // Residuals are smaller than the noise by what the features took of it.
        let instances = self.fitting.instances_in_play();
        let free = instances - weights as f64 - 1.0;
        let others = (self.fitting.space.size() as f64 - chosen as f64).max(0.0);
        let chance = self.fitting.gain_by_chance() * instances / free;
        if free <= 0.0 || chance <= 0.0 {
            return others;
        }
        others * chi_squared_above(gain / chance, freedom)
    }

    /// Leaves the first features, as many as are discoveries; the path then adds them one by one.
    fn keep_discoveries(&mut self, judged: Vec<Judged>, rate: f64) -> Result<Discoveries> {
        let considered = judged.len();
        let mut sum = 0.0;
        let mut count = 0;
        for (k, judged) in judged.iter().enumerate() {
            sum += judged.by_chance;
            if sum <= rate * (k + 1) as f64 {
                count = k + 1;
            }
        }
        // The search for all of them counts with the first round.
        let (mut scored, mut seconds) = (0u128, Seconds::default());
        for round in std::mem::take(&mut self.path.rounds) {
            scored = scored.saturating_add(round.scored);
            seconds += round.seconds;
        }
        let kept: Vec<Candidate> = judged.iter().take(count).map(|judged| judged.candidate.clone()).collect();
        for k in 1.min(count)..=count {
            let (outcome, spent) = self.fit_to(&kept[..k], COMPARED, std::mem::take(&mut seconds))?;
            let (scored, cost) = (std::mem::take(&mut scored), self.schedule.cost);
            self.path.record(&self.fitting, cost, &outcome, scored, spent);
        }
        let by_chance = judged.iter().take(count).map(|judged| judged.by_chance).collect();
        Ok(Discoveries { rate, considered, by_chance })
    }
}

/// The probability that a chi-squared variable with so many degrees of freedom is above `x`: a sum of positive terms, so that small
/// probabilities keep their digits.
fn chi_squared_above(x: f64, freedom: usize) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let half = 0.5 * x;
    // Q(a + 1, x) = Q(a, x) + x^a e^-x / gamma(a + 1), from Q(1/2, x) = erfc(sqrt(x)) or Q(1, x) = e^-x on.
    let odd = freedom % 2 == 1;
    let (mut above, mut a) = if odd { (libm::erfc(half.sqrt()), 0.5) } else { ((-half).exp(), 1.0) };
    let mut logarithm = a * half.ln() - half - libm::lgamma(a + 1.0);
    while a < 0.5 * freedom as f64 {
        above += logarithm.exp();
        a += 1.0;
        logarithm += half.ln() - a.ln();
    }
    above.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::chi_squared_above;

    /// Values of the distribution as tables have them.
    #[test]
    fn tails_of_chi_squared() {
        for (x, freedom, above) in [
            (3.841458820694124, 1, 0.05),
            (5.991464547107979, 2, 0.05),
            (7.814727903251179, 3, 0.05),
            (18.307038053275146, 10, 0.05),
            (124.34211340400407, 100, 0.05),
            (23.92812697687947, 1, 1e-6),
            (59.24, 1, 1.3957e-14),
        ] {
            let found = chi_squared_above(x, freedom);
            assert!((found - above).abs() <= 1e-3 * above, "{x} with {freedom}: {found} for {above}");
        }
        assert_eq!(chi_squared_above(0.0, 3), 1.0);
        assert!(chi_squared_above(1e4, 1) < 1e-300);
    }
}
