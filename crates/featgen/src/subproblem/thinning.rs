//! Which features to do without, where there are more than are wanted: backward elimination on a quadratic model of the objective.
//!
//! The model is that of a Newton step from where the weights are, with the Hessian `A = I + H` over one block of all features. At
//! its minimum `u`, doing without a feature costs `1/2 u' ((A^-1)_gg)^-1 u` of the feature's weights once all others have adapted.
//! Not `1/2 u' A_gg u`, which takes no account of features that can stand in for it. The feature that costs least goes, minimum and
//! inverse follow, and so on: no step but the first touches the data. [`hessian`] knows A, in one of two forms.

mod hessian;

use super::model::Quadratic;
use crate::kernels;
use crate::linalg::Cholesky;
use hessian::{Hessian, Inverse};

/// The model, for any of the units of coordinates that it was made for.
pub struct Thinning {
    outputs: usize,
    /// `I + H` of every output over its coordinates, for outputs have no curvature in common; none if H is too large.
    hessians: Option<Vec<Hessian>>,
    /// The diagonals of all of these.
    diagonal: Vec<f64>,
    /// Weights.
    omega: Vec<f64>,
    /// The objective's negative gradient there.
    slope: Vec<f64>,
}

/// What is left after an elimination.
pub(crate) struct Thinned {
    /// The units that stay, by number, in order.
    pub(crate) stay: Vec<usize>,
    /// By how much the objective then falls, by the model; below 0 if it rises.
    pub(crate) decrease: f64,
}

/// Where the elimination stands in one output: the model's minimum over the coordinates that are left.
struct Left {
    inverse: Inverse,
    minimum: Vec<f64>,
    /// Twice what there was to gain with all coordinates.
    gain: f64,
}

impl Thinning {
    /// From the model of a Newton step, of one block, at these weights.
    pub(super) fn new(model: &Quadratic<'_>, omega: &[f64]) -> Self {
        let (blocks, width) = (model.blocks, model.cache.len());
        let slope = |(k, omega): (usize, &f64)| blocks.pull(k, model.c, width) - omega;
        Self {
            outputs: blocks.outputs(),
            hessians: hessian::of_outputs(model),
            diagonal: (0..omega.len()).map(|k| 1.0 + model.diagonal(k)).collect(),
            slope: omega.iter().enumerate().map(slope).collect(),
            omega: omega.to_vec(),
        }
    }

    /// The minimum of the model where the loss counts only so much: that of `1/2 |u|^2` plus the part of what else the model consists
    /// of, `(I + part H) u = part (H w + c)`.
    pub(crate) fn minimum_at(&self, part: f64) -> Vec<f64> {
        let width = self.omega.len() / self.outputs;
        let mut minimum = vec![0.0; self.omega.len()];
        for output in 0..self.outputs {
            let at = |j: usize| j * self.outputs + output;
            let solved = self.hessians.as_ref().and_then(|hessians| {
                let omega: Vec<f64> = (0..width).map(|j| self.omega[at(j)]).collect();
                let mut target = hessians[output].apply(&omega);
                (0..width).for_each(|j| target[j] = part * (target[j] + self.slope[at(j)]));
                hessians[output].solve(part, target)
            });
            for j in 0..width {
                minimum[at(j)] = match &solved {
                    Some(solved) => solved[j],
                    None => self.minimum_apart(at(j), part),
                };
            }
        }
        minimum
    }

    /// The same for one coordinate, as if it had nothing to do with others.
    fn minimum_apart(&self, k: usize, part: f64) -> f64 {
        part * (self.diagonal[k] * self.omega[k] + self.slope[k]) / (1.0 - part + part * self.diagonal[k])
    }

    /// Does without all but so many of these units, one after the other.
    pub(crate) fn keep(&self, units: &[Vec<usize>], count: usize) -> Thinned {
        let Some(mut left) = self.left(units) else { return self.keep_apart(units, count) };
        let mut places = vec![usize::MAX; self.omega.len() / self.outputs];
        self.columns(units).into_iter().enumerate().for_each(|(at, column)| places[column] = at);
        let unit = |unit: &Vec<usize>| {
            let own = unit.iter().filter(|k| *k % self.outputs == 0);
            own.map(|k| places[k / self.outputs]).collect::<Vec<usize>>()
        };
        let units: Vec<Vec<usize>> = units.iter().map(unit).collect();
        let mut stay: Vec<usize> = (0..units.len()).collect();
        // Of a column that several units have, the last one takes it away.
        let mut holders = vec![0usize; places.len()];
        units.iter().flatten().for_each(|&k| holders[k] += 1);
        let mut decrease = left.iter().map(|left| left.gain).sum::<f64>();
        while stay.len() > count {
            let alone =
                |g: usize| units[g].iter().copied().filter(|&k| holders[k] == 1).collect::<Vec<usize>>();
            let cost = |&g: &usize| {
                let own = alone(g);
                left.iter().map(|left| left.cost(&own)).sum::<f64>()
            };
            let costs: Vec<f64> = stay.iter().map(cost).collect();
            // Of equals the last one goes: those that came first are chosen already.
            let cheapest = (0..stay.len()).rev().min_by(|&a, &b| costs[a].total_cmp(&costs[b]));
            let Some(cheapest) = cheapest else { break };
            let gone = stay.remove(cheapest);
            decrease -= costs[cheapest];
            let own = alone(gone);
            left.iter_mut().for_each(|left| left.inverse.remove(&own, &mut left.minimum));
            units[gone].iter().for_each(|&k| holders[k] -= 1);
        }
        Thinned { stay, decrease: 0.5 * decrease }
    }

    /// By how much each unit after the first `chosen` would lower the objective beside these, by the model. Columns that these have
    /// already are no gain.
    pub(crate) fn gains_beside(&self, units: &[Vec<usize>], chosen: usize) -> Vec<f64> {
        let (chosen, others) = units.split_at(chosen);
        let apart = |unit: &Vec<usize>| unit.iter().map(|&k| self.slope[k].powi(2) / self.diagonal[k]).sum();
        let mut gains = vec![0.0; others.len()];
        let outputs = self.hessians.iter().flatten().enumerate();
        let known: Option<Vec<()>> = outputs
            .map(|(output, hessian)| {
                let own = self.gains_in(output, hessian, chosen, others)?;
                gains.iter_mut().zip(own).for_each(|(gain, own)| *gain += own);
                Some(())
            })
            .collect();
        if self.hessians.is_none() || known.is_none() {
            gains = others.iter().map(apart).collect();
        }
        gains.iter().map(|gain| 0.5 * gain).collect()
    }

    /// Twice what units gain beside those that are chosen, in one output; `None` if numbers do not allow it.
    fn gains_in(
        &self,
        output: usize,
        hessian: &Hessian,
        chosen: &[Vec<usize>],
        others: &[Vec<usize>],
    ) -> Option<Vec<f64>> {
        let (held, new) = (self.columns(chosen), self.columns(others));
        let slope = |columns: &[usize]| -> Vec<f64> {
            columns.iter().map(|column| self.slope[column * self.outputs + output]).collect()
        };
        let beside = hessian.beside(&held, &slope(&held), &new)?;
        let gain = |unit: &Vec<usize>| {
            let mut own = self.columns(std::slice::from_ref(unit));
            own.retain(|column| held.binary_search(column).is_err());
            beside.gain(&own, &slope(&own))
        };
        // One that the chosen make up is nothing new.
        Some(others.iter().map(|unit| gain(unit).unwrap_or(0.0)).collect())
    }

    /// The same without a matrix: as if units had nothing to do with each other.
    fn keep_apart(&self, units: &[Vec<usize>], count: usize) -> Thinned {
        let cost = |&k: &usize| self.minimum_apart(k, 1.0).powi(2) * self.diagonal[k];
        let costs: Vec<f64> = units.iter().map(|unit| unit.iter().map(cost).sum()).collect();
        let mut stay: Vec<usize> = (0..units.len()).collect();
        stay.sort_by(|&a, &b| costs[b].total_cmp(&costs[a]).then(a.cmp(&b)));
        let lost: f64 = stay.iter().skip(count).map(|&g| costs[g]).sum();
        let gain = |&k: &usize| self.slope[k] * self.slope[k] / self.diagonal[k];
        let gained: f64 = units.iter().flatten().map(gain).sum();
        stay.truncate(count);
        stay.sort_unstable();
        Thinned { stay, decrease: 0.5 * (gained - lost) }
    }

    /// The columns of units, in order, as the coordinates of every output number them.
    fn columns(&self, units: &[Vec<usize>]) -> Vec<usize> {
        let mut columns: Vec<usize> = units.iter().flatten().map(|k| k / self.outputs).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// The minimum over the coordinates of these units; `None` if H is not known, or numbers do not allow it.
    fn left(&self, units: &[Vec<usize>]) -> Option<Vec<Left>> {
        let one_by_one = units.iter().all(|unit| unit.len() == self.outputs);
        let columns = self.columns(units);
        let one = |(output, hessian): (usize, &Hessian)| {
            let inverse = hessian.inverse(&columns, one_by_one)?;
            let at = |j: usize| columns[j] * self.outputs + output;
            let slope: Vec<f64> = (0..columns.len()).map(|j| self.slope[at(j)]).collect();
            let step = inverse.apply(&slope);
            let minimum = (0..columns.len()).map(|j| self.omega[at(j)] + step[j]).collect();
            Some(Left { inverse, minimum, gain: kernels::dot(&slope, &step) })
        };
        self.hessians.as_ref()?.iter().enumerate().map(one).collect()
    }
}

impl Left {
    /// Twice what it costs to do without these coordinates.
    fn cost(&self, own: &[usize]) -> f64 {
        let (inverse, u) = (&self.inverse, &self.minimum);
        if let [k] = *own {
            let pivot = inverse.diagonal(k);
            return if pivot > 0.0 { u[k] * u[k] / pivot } else { 0.0 };
        }
        let Some(factor) = Cholesky::new(inverse.block(own)) else { return f64::INFINITY };
        let mut solved: Vec<f64> = own.iter().map(|&k| u[k]).collect();
        factor.solve(&mut solved);
        own.iter().zip(solved).map(|(&k, solved)| u[k] * solved).sum()
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    use super::super::model::SumOfNorms;
    use super::super::newton::Newton;
    use super::super::{Cache, Goal, Problem, State, Subproblem};
    use super::*;
    use crate::context::Context;
    use crate::data::{Column, Labels};
    use crate::objective::{Free, Objective, by_name};
    use crate::operator::Operator;

    const ROWS: usize = 60;

    /// Some columns, some of which can stand in for others, and numbers to be explained.
    fn made() -> (Cache, Box<dyn Objective>) {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut normal = || (0..ROWS).map(|_| rng.sample::<f64, _>(StandardNormal)).collect::<Vec<f64>>();
        let (mut columns, noise): (Vec<Vec<f64>>, _) = ((0..8).map(|_| normal()).collect(), normal());
        columns[5] = columns[0].iter().zip(&columns[5]).map(|(a, b)| a + 0.2 * b).collect();
        let numbers = (0..ROWS).map(|i| columns[0][i] - columns[1][i] + columns[6][i] + 0.5 * noise[i]);
        let labels = Labels::from_numbers(numbers.collect());
        let mut cache = Cache::new(ROWS);
        cache.extend(columns.into_iter().map(|x| Operator::Column(Column::Dense(x))).collect());
        (cache, by_name("squared").unwrap().objective(&labels, vec![0.3; ROWS]).unwrap())
    }

    /// One block of these columns, in which only some have weights: those that a fit of them gives.
    fn fitted(problem: &Problem<'_>, columns: &[u32], with: usize) -> (State, f64) {
        let fit = |columns: &[u32]| {
            let mut state = State::new(ROWS, 1, 1);
            state.blocks.push(columns.iter().map(|&column| (column, 1.0)));
            state.omega = vec![0.0; columns.len()];
            let goal = Goal { gap: 1e-13, decrease: None, context: &Context::new() };
            let value = Newton::<SumOfNorms>::default().solve(problem, &mut state, &goal).objective;
            (state, value)
        };
        let (mut state, value) = fit(&columns[..with]);
        let (all, _) = fit(columns);
        state.omega.resize(columns.len(), 0.0);
        state.blocks = all.blocks;
        (state, value)
    }

    /// Of a squared error the model is exact: what it says of sets is what fits of them say, and it removes the cheapest.
    #[test]
    fn tells_what_fits_would_tell() {
        let (cache, objective) = made();
        let free = Free::new(ROWS, true);
        let problem = Problem { cache: &cache, objective: &*objective, free: &free };
        let columns: Vec<u32> = (0..8).collect();
        let (state, before) = fitted(&problem, &columns, 4);
        let thinning = Newton::<SumOfNorms>::default().thinning(&problem, &state);
        let units: Vec<Vec<usize>> = (0..8).map(|k| vec![k]).collect();
        let value = |stay: &[usize]| {
            let columns: Vec<u32> = stay.iter().map(|&k| k as u32).collect();
            fitted(&problem, &columns, columns.len()).1
        };
        let mut left: Vec<usize> = (0..8).collect();
        for count in (2..8).rev() {
            let Thinned { stay, decrease } = thinning.keep(&units, count);
            assert!((before - decrease - value(&stay)).abs() <= 1e-8 * before, "{count}: {decrease}");
            let without = |k: usize| left.iter().copied().filter(|&other| other != k).collect::<Vec<_>>();
            let cheapest = left.iter().map(|&k| without(k)).min_by(|a, b| value(a).total_cmp(&value(b)));
            left = cheapest.unwrap();
            assert_eq!(stay, left);
        }
        assert!(left.contains(&1) && left.contains(&6) || left.contains(&0), "{left:?}");
        // Two that go together cost what they cost together.
        let pairs: Vec<Vec<usize>> = (0..4).map(|k| vec![2 * k, 2 * k + 1]).collect();
        let Thinned { stay, decrease } = thinning.keep(&pairs, 3);
        let columns: Vec<usize> = stay.iter().flat_map(|&g| pairs[g].clone()).collect();
        assert!((before - decrease - value(&columns)).abs() <= 1e-8 * before);
    }

    /// Of a squared error the minimum at a lower cost is that of a fit at that cost.
    #[test]
    fn minimum_at_a_lower_cost_is_that_of_a_fit() {
        let (cache, mut objective) = made();
        let free = Free::new(ROWS, true);
        let columns: Vec<u32> = (0..6).collect();
        let problem = Problem { cache: &cache, objective: &*objective, free: &free };
        let (state, _) = fitted(&problem, &columns, 6);
        let thinning = Newton::<SumOfNorms>::default().thinning(&problem, &state);
        for part in [1.0, 0.25, 0.0625] {
            objective.rescale(part);
            let problem = Problem { cache: &cache, objective: &*objective, free: &free };
            let (expected, _) = fitted(&problem, &columns, 6);
            objective.rescale(1.0 / part);
            for (found, expected) in thinning.minimum_at(part).iter().zip(&expected.omega) {
                assert!((found - expected).abs() <= 1e-6, "{part}: {found} for {expected}");
            }
        }
    }

    /// Of a squared error, gains beside others are what fits say, too.
    #[test]
    fn tells_what_others_would_gain() {
        let (cache, objective) = made();
        let free = Free::new(ROWS, true);
        let problem = Problem { cache: &cache, objective: &*objective, free: &free };
        let (state, before) = fitted(&problem, &(0..8).collect::<Vec<u32>>(), 3);
        let thinning = Newton::<SumOfNorms>::default().thinning(&problem, &state);
        let units: Vec<Vec<usize>> = [vec![0], vec![1], vec![2], vec![5], vec![6, 7], vec![2, 3]].into();
        let gains = thinning.gains_beside(&units, 3);
        for (gain, columns) in gains.iter().zip([vec![0, 1, 2, 5], vec![0, 1, 2, 6, 7], vec![0, 1, 2, 3]]) {
            let (_, after) = fitted(&problem, &columns, columns.len());
            assert!(*gain > 0.0 && (before - gain - after).abs() <= 1e-8 * before, "{columns:?}: {gain}");
        }
        assert_eq!(gains.len(), 3);
    }

    /// Groups of far more columns than there are rows: the model is exact of these, too.
    #[test]
    fn tells_what_fits_would_tell_where_rows_are_few() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut normal =
            |n: usize| (0..n).map(|_| rng.sample::<f64, _>(StandardNormal)).collect::<Vec<f64>>();
        let (rows, groups, size) = (7, 5, 60);
        let mut cache = Cache::new(rows);
        let columns = (0..groups * size).map(|_| Operator::Column(Column::Dense(normal(rows)))).collect();
        cache.extend(columns);
        let labels = Labels::from_numbers(normal(rows));
        let objective = by_name("squared").unwrap().objective(&labels, vec![0.3; rows]).unwrap();
        let free = Free::new(rows, true);
        let problem = Problem { cache: &cache, objective: &*objective, free: &free };
        let fit = |groups: &[usize], model: bool| {
            let mut state = State::new(rows, 1, 1);
            let columns = groups.iter().flat_map(|g| (g * size) as u32..((g + 1) * size) as u32);
            state.blocks.push(columns.map(|column| (column, 1.0)));
            state.omega = vec![0.0; groups.len() * size];
            let mut solver = Newton::<SumOfNorms>::default();
            let goal = Goal { gap: 1e-13, decrease: None, context: &Context::new() };
            let value = solver.solve(&problem, &mut state, &goal).objective;
            (value, model.then(|| solver.thinning(&problem, &state)))
        };
        let (before, thinning) = fit(&[0, 1, 2, 3, 4], true);
        let units: Vec<Vec<usize>> = (0..groups).map(|g| (g * size..(g + 1) * size).collect()).collect();
        for count in (1..groups).rev() {
            let Thinned { stay, decrease } = thinning.as_ref().unwrap().keep(&units, count);
            let after = fit(&stay, false).0;
            assert!(
                (before - decrease - after).abs() <= 1e-8 * before,
                "{count}: {decrease} {after} {before}"
            );
        }
    }

    /// A unit that goes leaves behind what it shares with one that stays.
    #[test]
    fn what_is_shared_stays() {
        let (cache, objective) = made();
        let free = Free::new(ROWS, true);
        let problem = Problem { cache: &cache, objective: &*objective, free: &free };
        let (state, before) = fitted(&problem, &[0, 1, 2, 6], 4);
        let units = [vec![0, 1], vec![1, 2], vec![3]];
        let Thinned { stay, decrease } =
            Newton::<SumOfNorms>::default().thinning(&problem, &state).keep(&units, 2);
        assert_eq!(stay, [0, 2]);
        let (_, after) = fitted(&problem, &[0, 1, 6], 3);
        assert!(
            after > before && (before - decrease - after).abs() <= 0.05 * before,
            "{before} {after} {decrease}"
        );
    }
}
