//! Cox's partial likelihood with Breslow's treatment of ties: times to an event, some of them censored.
//!
//! ```text
//! sum over events i of w_i (log sum over {j: t_j >= t_i} of w_j exp f_j  -  f_i  -  min(0, log w_i))
//! ```
//!
//! An instance of weight w counts as if it were there w times; what is taken off for weights below 1 keeps the sum above 0.
//!
//! Everything is a running sum over instances in the order of their times. Sums of exponentials are kept with their largest
//! exponent taken out, so that no decision value makes them overflow or vanish.

use std::sync::Arc;

use super::{Loss, LossSpec, Objective, Output};
use crate::data::Labels;
use crate::error::Result;

pub(super) const SPEC: LossSpec = LossSpec {
    name: "cox",
    help: "times to an event, negative where only known to be longer: Cox's proportional hazards",
    output: Output::Risk,
    many_classes: false,
    parameters: &[],
    probabilities: None,
    make: |_| Arc::new(Cox),
};

/// Cox's partial likelihood. Labels are times; a negative one says that there was no event until then.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cox;

impl Loss for Cox {
    fn name(&self) -> &str {
        SPEC.name
    }

    fn output(&self) -> Output {
        SPEC.output
    }

    fn objective(&self, labels: &Labels, costs: Vec<f64>) -> Result<Box<dyn Objective>> {
        let times = labels.numbers()?;
        if let Some(i) = times.iter().position(|&t| t == 0.0) {
            return Err(labels
                .bad(i, "a time cannot be 0: it must be above, or below if there was no event until then"));
        }
        if !times.iter().zip(&costs).any(|(&t, &cost)| t > 0.0 && cost > 0.0) {
            return Err(labels
                .useless("no event: all times are negative, which says that nothing happened until then"));
        }
        let mut order: Vec<u32> = (0..times.len() as u32).filter(|&i| costs[i as usize] > 0.0).collect();
        order.sort_by(|&a, &b| times[b as usize].abs().total_cmp(&times[a as usize].abs()));
        // Costs are weights times one number, which is not part of the sums over those at risk.
        let total = labels.weights().map_or(costs.len() as f64, |weights| weights.iter().sum());
        let scale = costs.iter().sum::<f64>() / total;
        Ok(Box::new(Partial {
            ends: ends_of_ties(&order, &times),
            event: times.iter().map(|&t| t > 0.0).collect(),
            weights: costs.iter().map(|cost| cost / scale).collect(),
            order,
            scale,
            costs,
        }))
    }
}

/// For each place in an order by times, where those with the same time end.
fn ends_of_ties(order: &[u32], times: &[f64]) -> Vec<usize> {
    let mut ends = Vec::with_capacity(order.len());
    let same = |a: &u32, b: &u32| times[*a as usize].abs() == times[*b as usize].abs();
    for ties in order.chunk_by(same) {
        let end = ends.len() + ties.len();
        ends.extend(std::iter::repeat_n(end, ties.len()));
    }
    ends
}

struct Partial {
    /// Instances that count, the latest first.
    order: Vec<u32>,
    ends: Vec<usize>,
    event: Vec<bool>,
    weights: Vec<f64>,
    /// What weights are multiplied by in costs.
    scale: f64,
    costs: Vec<f64>,
}

/// A sum of `a exp(x)`, kept as `sum exp(most)`.
#[derive(Clone, Copy)]
struct ScaledSum {
    most: f64,
    sum: f64,
}

impl ScaledSum {
    const ZERO: Self = Self { most: f64::NEG_INFINITY, sum: 0.0 };

    fn add(&mut self, a: f64, x: f64) {
        if x > self.most {
            self.sum *= (self.most - x).exp();
            self.most = x;
        }
        self.sum += a * (x - self.most).exp();
    }

    /// The sum times `exp(x)`.
    fn times(&self, x: f64) -> f64 {
        if self.sum == 0.0 { 0.0 } else { self.sum * (self.most + x).exp() }
    }

    fn log(&self) -> f64 {
        self.most + self.sum.ln()
    }
}

impl Partial {
    /// At each place of the order `log sum over those at risk of w_j exp d_j`.
    fn at_risk(&self, d: &[f64]) -> Vec<f64> {
        let mut logs = vec![0.0; self.order.len()];
        let mut sum = ScaledSum::ZERO;
        let mut place = 0;
        while place < self.order.len() {
            let end = self.ends[place];
            for &i in &self.order[place..end] {
                sum.add(self.weights[i as usize], d[i as usize]);
            }
            logs[place..end].fill(sum.log());
            place = end;
        }
        logs
    }

    /// Calls `each` with every instance that counts and the sum over events up to its time of what `term` gives: a number
    /// and the logarithm of what it is multiplied by.
    fn up_to(&self, term: impl Fn(usize, usize) -> (f64, f64), mut each: impl FnMut(usize, ScaledSum)) {
        let mut sum = ScaledSum::ZERO;
        let mut end = self.order.len();
        while end > 0 {
            // Those with the same time, found from their last.
            let start = end - self.ends[..end].iter().rev().take_while(|&&last| last == end).count();
            for place in start..end {
                let i = self.order[place] as usize;
                if self.event[i] {
                    let (a, x) = term(place, i);
                    sum.add(a, x);
                }
            }
            for &i in &self.order[start..end] {
                each(i as usize, sum);
            }
            end = start;
        }
    }
}

impl Objective for Partial {
    fn costs(&self) -> &[f64] {
        &self.costs
    }

    fn rescale(&mut self, factor: f64) {
        self.scale *= factor;
        self.costs.iter_mut().for_each(|cost| *cost *= factor);
    }

    fn value(&self, d: &[f64]) -> f64 {
        let at_risk = self.at_risk(d);
        let mut sum = 0.0;
        for (&i, risk) in self.order.iter().zip(at_risk).filter(|(i, _)| self.event[**i as usize]) {
            let (d, w) = (d[i as usize], self.weights[i as usize]);
            sum += w * (risk - d - w.ln().min(0.0)).max(0.0);
        }
        self.scale * sum
    }

    fn residual(&self, d: &[f64], v: &mut [f64]) {
        let at_risk = self.at_risk(d);
        v.fill(0.0);
        self.up_to(
            |place, i| (self.weights[i], -at_risk[place]),
            |i, sum| {
                let event = f64::from(u8::from(self.event[i]));
                v[i] = self.costs[i] * (event - sum.times(d[i]));
            },
        );
    }

    /// The part of the second derivative that is diagonal: together with what a constant takes from it, never too small.
    fn curvature(&self, d: &[f64], h: &mut [f64]) {
        let at_risk = self.at_risk(d);
        h.fill(0.0);
        self.up_to(
            |place, i| (self.weights[i], -at_risk[place]),
            |i, sum| h[i] = self.costs[i] * sum.times(d[i]),
        );
    }

    fn hessian(&self, d: &[f64], u: &[f64], out: &mut [f64]) {
        let at_risk = self.at_risk(d);
        self.curvature(d, out);
        out.iter_mut().zip(u).for_each(|(h, u)| *h *= u);
        // The mean of u among those at risk, at each place.
        let (mut means, mut place) = (vec![0.0; self.order.len()], 0);
        let mut sum = ScaledSum::ZERO;
        while place < self.order.len() {
            let end = self.ends[place];
            for &i in &self.order[place..end] {
                sum.add(self.weights[i as usize] * u[i as usize], d[i as usize]);
            }
            means[place..end].fill(sum.times(-at_risk[place]));
            place = end;
        }
        self.up_to(
            |place, i| (self.weights[i] * means[place], -at_risk[place]),
            |i, sum| out[i] -= self.costs[i] * sum.times(d[i]),
        );
    }

    fn ignores_constants(&self) -> bool {
        true
    }
}
