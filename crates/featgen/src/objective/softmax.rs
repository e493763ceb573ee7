//! `log(sum_k exp f_k) - f_y`: multinomial logistic regression, one output a class.

use std::sync::Arc;

use super::{Loss, LossSpec, Objective, Output, bound};
use crate::data::Labels;
use crate::error::Result;
use crate::ordered;
use crate::rounding::UNIT;

pub(super) const SPEC: LossSpec = LossSpec {
    name: "softmax",
    help: "any number of classes, with probabilities: multinomial logistic regression, one set of features for all",
    output: Output::Classes,
    many_classes: true,
    parameters: &[],
    probabilities: Some(probabilities),
    make: |_| Arc::new(Softmax),
};

/// The multinomial logistic loss.
#[derive(Debug, Clone, Copy, Default)]
pub struct Softmax;

impl Loss for Softmax {
    fn name(&self) -> &str {
        SPEC.name
    }

    fn output(&self) -> Output {
        SPEC.output
    }

    fn objective(&self, labels: &Labels, costs: Vec<f64>) -> Result<Box<dyn Objective>> {
        let classes = labels.weighed_classes(&costs)?.len();
        Ok(Box::new(Multinomial { classes, codes: labels.codes().to_vec(), costs }))
    }
}

fn probabilities(d: &[f64]) -> Vec<f64> {
    let largest = d.iter().fold(f64::NEG_INFINITY, |most, &d| most.max(d));
    let parts: Vec<f64> = d.iter().map(|d| (d - largest).exp()).collect();
    let sum: f64 = parts.iter().sum();
    parts.into_iter().map(|part| part / sum).collect()
}

struct Multinomial {
    classes: usize,
    codes: Vec<u32>,
    costs: Vec<f64>,
}

impl Multinomial {
    fn rows(&self) -> usize {
        self.costs.len()
    }

    /// The decision values of instance `i`.
    fn row<'a>(&self, d: &'a [f64], i: usize) -> impl Iterator<Item = f64> + Clone + 'a {
        d.iter().skip(i).step_by(self.rows()).copied()
    }

    /// `log(sum_k exp d_k)` of every instance.
    fn normalisers(&self, d: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rows()];
        ordered::fill(&mut out, |i| {
            let largest = self.row(d, i).fold(f64::NEG_INFINITY, f64::max);
            largest + self.row(d, i).map(|d| (d - largest).exp()).sum::<f64>().ln()
        });
        out
    }

    /// Fills an array by output and instance.
    fn fill(&self, out: &mut [f64], each: impl Fn(usize, usize) -> f64 + Sync) {
        for (k, out) in out.chunks_exact_mut(self.rows().max(1)).enumerate() {
            ordered::fill(out, |i| each(k, i));
        }
    }

    /// The probabilities of all classes, by output and instance.
    fn probabilities(&self, d: &[f64]) -> Vec<f64> {
        let (n, normalisers) = (self.rows(), self.normalisers(d));
        let mut p = vec![0.0; d.len()];
        self.fill(&mut p, |k, i| (d[k * n + i] - normalisers[i]).exp());
        p
    }

    fn is_own(&self, k: usize, i: usize) -> bool {
        self.codes[i] as usize == k
    }

    /// Sums over instances of what `terms` makes of the cost, what the multiple `kappa` of `v` takes from the own class, and the
    /// probabilities that it gives to the others.
    fn sums<const K: usize>(
        &self,
        v: &[f64],
        terms: impl Fn(f64, f64, &mut dyn Iterator<Item = f64>) -> [f64; K] + Sync,
    ) -> [f64; K] {
        let n = self.rows();
        ordered::sums(n, |i| {
            let (own, cost) = (self.codes[i] as usize, self.costs[i]);
            if cost <= 0.0 {
                return [0.0; K];
            }
            let mut others = (0..self.classes).filter(|&k| k != own).map(|k| -v[k * n + i] / cost);
            terms(cost, v[own * n + i] / cost, &mut others)
        })
    }
}

/// `-p log p`.
fn surprise(p: f64) -> f64 {
    if p > 0.0 { -p * p.ln() } else { 0.0 }
}

/// The same for `p = 1 - s`, where p may be next to 1.
fn surprise_of_rest(s: f64) -> f64 {
    let p = 1.0 - s;
    if p > 0.0 { -p * if s < 0.5 { (-s).ln_1p() } else { p.ln() } } else { 0.0 }
}

impl Objective for Multinomial {
    fn outputs(&self) -> usize {
        self.classes
    }

    fn costs(&self) -> &[f64] {
        &self.costs
    }

    fn rescale(&mut self, factor: f64) {
        self.costs.iter_mut().for_each(|cost| *cost *= factor);
    }

    fn value(&self, d: &[f64]) -> f64 {
        let n = self.rows();
        ordered::sum(n, |i| {
            // Beside the own class, so that nothing is lost where it is all but certain.
            let own = self.codes[i] as usize;
            let others =
                || (0..self.classes).filter(move |&k| k != own).map(|k| d[k * n + i] - d[own * n + i]);
            let largest = others().fold(0.0, f64::max);
            let sum: f64 = others().map(|other| (other - largest).exp()).sum();
            let loss = if largest == 0.0 { sum.ln_1p() } else { largest + (sum + (-largest).exp()).ln() };
            self.costs[i] * loss
        })
    }

    fn residual(&self, d: &[f64], v: &mut [f64]) {
        let (n, normalisers) = (self.rows(), self.normalisers(d));
        self.fill(v, |k, i| {
            let p = (d[k * n + i] - normalisers[i]).exp();
            self.costs[i] * (f64::from(u8::from(self.is_own(k, i))) - p)
        });
    }

    /// The diagonal of `diag p - p p'`, made larger for what the rest of it adds in directions that sum to 0: exactly that where
    /// all classes are equally likely.
    fn curvature(&self, d: &[f64], h: &mut [f64]) {
        let p = self.probabilities(d);
        let (n, more) = (self.rows(), self.classes as f64 / (self.classes as f64 - 1.0));
        self.fill(h, |k, i| {
            let p = p[k * n + i];
            self.costs[i] * more * p * (1.0 - p).max(0.0)
        });
    }

    fn hessian(&self, d: &[f64], u: &[f64], out: &mut [f64]) {
        let (n, p) = (self.rows(), self.probabilities(d));
        let mut mean = vec![0.0; n];
        ordered::fill(&mut mean, |i| (0..self.classes).map(|k| p[k * n + i] * u[k * n + i]).sum());
        self.fill(out, |k, i| self.costs[i] * p[k * n + i] * (u[k * n + i] - mean[i]));
    }

    fn is_relative(&self) -> bool {
        true
    }

    /// Probabilities of an instance must sum to 1 exactly: those of the other classes become multiples of a power of two, and
    /// the own class gets the rest. Sums over instances stay what they are.
    fn make_feasible(&self, v: &mut [f64], intercept: bool) -> bool {
        let n = self.rows();
        for i in 0..n {
            let (own, cost) = (self.codes[i] as usize, self.costs[i]);
            let grain = if cost > 1e-280 { 2f64.powi(cost.log2().ceil() as i32 - 51) } else { f64::INFINITY };
            let mut taken = 0.0;
            for k in (0..self.classes).filter(|&k| k != own) {
                let at = &mut v[k * n + i];
                let given = if grain.is_finite() { (at.min(0.0).abs() / grain).floor() * grain } else { 0.0 };
                // Rounding must not give away more than there is.
                let given = if taken + given <= cost { given } else { 0.0 };
                *at = -given;
                taken += given;
            }
            v[own * n + i] = taken;
        }
        !intercept
    }

    fn lower_bound(&self, _d: &[f64], v: &[f64], top: f64, linear: f64) -> f64 {
        let n = self.rows();
        let most = (0..n).filter(|&i| self.costs[i] > 0.0);
        let most = most.map(|i| v[self.codes[i] as usize * n + i] / self.costs[i]).fold(0.0, f64::max);
        if most == 0.0 {
            return 0.0;
        }
        let limit = (1.0 / most * (1.0 - 8.0 * UNIT)).max(1.0);
        let kappa = bound::best_multiple(limit, top, linear, |kappa| {
            self.sums(v, |cost, s, others| {
                let (left, mut value, mut slope) = ((1.0 - kappa * s).max(f64::EPSILON), 0.0, 0.0);
                for a in others.filter(|&a| a > 0.0) {
                    value += surprise(kappa * a);
                    slope -= a * (kappa * a).max(f64::MIN_POSITIVE).ln();
                }
                value += surprise_of_rest(kappa * s);
                slope += s * left.ln();
                [cost * value, cost * slope, -cost * (s / kappa + s * s / left)]
            })
        });
        // An error of a few roundings of a probability p changes -p log p by at most 40 times that, or else p by no more than
        // itself; what an instance has of this is counted with its largest possible value.
        let each = (16.0 * self.classes as f64 + 64.0) * UNIT * (1.0 + (self.classes as f64).ln());
        let [sum, size] = self.sums(v, |cost, s, others| {
            let value: f64 = others.map(|a| surprise(kappa * a)).sum::<f64>() + surprise_of_rest(kappa * s);
            [cost * (value - each), cost * (value + each)]
        });
        let operations = ordered::depth(n) + 8 + self.classes;
        bound::surely(sum, size, operations, kappa, top, linear).max(0.0)
    }
}
