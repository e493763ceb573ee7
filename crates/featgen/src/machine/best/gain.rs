//! What candidates would gain, for spaces that find candidates only by score: the columns of a shortlist are made and measured.

use std::borrow::Cow;

use super::super::fitting::Fitting;
use super::super::proof::{Evidence, Squares};
use super::NOTHING;
use crate::error::Result;
use crate::kernels;
use crate::operator::Operator;
use crate::parallel;
use crate::space::{Ask, Candidate, Gain, Scored};

/// Candidates by score among which those of largest gain are looked for, for each one wanted.
pub(in crate::machine) const SHORTLIST: usize = 4;

/// Steps of conjugate gradients that measure what a group of columns gains: one is exact for a single column.
const STEPS: usize = 5;

impl Fitting<'_> {
    /// Up to `wanted` candidates that are not chosen, those of largest gain first, and how many were scored; the bound on what
    /// `features` features can reach is updated on the way. All of it from one pass over the data.
    pub(in crate::machine) fn proposals(
        &mut self,
        features: usize,
        wanted: usize,
    ) -> Result<(Vec<Candidate>, u128)> {
        let dual = self.dual();
        let curvature = self.curvature();
        let taken = self.set.in_blocks();
        // A few more than wanted are needed to tell which of all others are surely in no better set.
        let budget = (features + features / 2 + 16).max(SHORTLIST * wanted);
        let gain = Gain { curvature: Cow::Borrowed(&curvature), intercept: self.free.intercept, wanted };
        let ask = Ask::many(&dual.residual, self.objective.outputs(), budget, &taken).by_gain(gain.clone());
        let mut worst = self.space.worst_case(&ask)?;
        let precision = self.bound(&dual, &ask, &worst, features)?;
        let mut fresh = std::mem::take(&mut worst.fresh);
        if !worst.by_gain {
            fresh.truncate(SHORTLIST * wanted);
            self.measure(&mut fresh, &dual.residual, &gain)?;
        }
        let squares = Squares::of_best(&ask, &worst, precision, features);
        self.evidence = Some(Evidence { dual, squares });
        let least = NOTHING * self.value;
        let some = fresh.into_iter().filter(|scored| scored.score > least).take(wanted);
        Ok((some.map(|scored| scored.item).collect(), worst.scored))
    }

    /// The curvature of the loss at the decision values.
    pub(in crate::machine) fn curvature(&self) -> Vec<f64> {
        let mut d = vec![0.0; self.decision.len()];
        self.objective.curvature(&self.decision, &mut d);
        d
    }

    /// Gives candidates their gains for scores, and their order by them.
    fn measure(&self, fresh: &mut [Scored<Candidate>], v: &[f64], gain: &Gain<'_>) -> Result<()> {
        let rows = self.space.data().rows();
        let totals = gain.totals(rows);
        let made: Vec<(Vec<f64>, Vec<Operator>)> = fresh
            .iter()
            .map(|scored| {
                let group = self.space.group(&scored.item)?;
                Ok((group.scales(), self.space.generate(&group.features)?))
            })
            .collect::<Result<_>>()?;
        let measured = |(scales, columns): &(Vec<f64>, Vec<Operator>)| {
            let outputs = v.chunks_exact(rows).zip(gain.curvature.chunks_exact(rows)).zip(&totals);
            let one = |((v, d), &total): ((&[f64], &[f64]), &f64)| {
                Block { columns, scales, d, total: if gain.intercept { total } else { 0.0 } }.gain(v)
            };
            outputs.map(one).sum::<f64>()
        };
        let gains: Vec<f64> = parallel::map(made.len(), |k| measured(&made[k]));
        fresh.iter_mut().zip(gains).for_each(|(scored, gain)| scored.score = gain);
        fresh.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.item.cmp(&b.item)));
        Ok(())
    }
}

/// The columns of a candidate and the curvature of one output.
struct Block<'a> {
    columns: &'a [Operator],
    /// What each column counts times.
    scales: &'a [f64],
    d: &'a [f64],
    /// The sum of the curvature where an intercept follows the columns, else 0.
    total: f64,
}

impl Block<'_> {
    /// `c' (I + H)^-1 c` with `c = X' v` and `H = X' D X` less what the intercept takes away: twice what the block can lower a
    /// quadratic model by. A few steps of conjugate gradients come from below.
    fn gain(&self, v: &[f64]) -> f64 {
        let mut r = self.transpose(v);
        let mut direction = r.clone();
        let mut rho = kernels::dot(&r, &r);
        let mut gain = 0.0;
        for _ in 0..STEPS.min(r.len()) {
            if rho <= 0.0 {
                break;
            }
            let image = self.hessian(&direction);
            let step = rho / kernels::dot(&direction, &image);
            // Each step lowers the model by half its length times the slope.
            gain += step * rho;
            kernels::add_scaled(-step, &image, &mut r);
            let next = kernels::dot(&r, &r);
            let keep = next / rho;
            direction.iter_mut().zip(&r).for_each(|(d, r)| *d = r + keep * *d);
            rho = next;
        }
        gain
    }

    fn transpose(&self, v: &[f64]) -> Vec<f64> {
        let sums = self.columns.iter().flat_map(|x| x.transpose(v));
        sums.zip(self.scales).map(|(c, scale)| scale * c).collect()
    }

    /// `(I + H) w`.
    fn hessian(&self, w: &[f64]) -> Vec<f64> {
        let mut f = vec![0.0; self.d.len()];
        let scaled: Vec<f64> = w.iter().zip(self.scales).map(|(w, scale)| w * scale).collect();
        let mut rest = scaled.as_slice();
        for operator in self.columns {
            let (own, after) = rest.split_at(operator.width());
            operator.apply(own, &mut f);
            rest = after;
        }
        f.iter_mut().zip(self.d).for_each(|(f, d)| *f *= d);
        if self.total > 0.0 {
            let mean = f.iter().sum::<f64>() / self.total;
            kernels::add_scaled(-mean, self.d, &mut f);
        }
        let mut image = self.transpose(&f);
        kernels::add_scaled(1.0, w, &mut image);
        image
    }
}
