//! What columns would gain: all of them, or a few.

use std::ops::Range;

use super::Inputs;
use crate::data::{LARGE, Outputs};
use crate::error::Result;
use crate::parallel;
use crate::space::ask::{Gain, Residuals, Sums};

/// An exact look at some must spare so many columns for each: of data by rows, a column costs as much to read as its neighbours too.
const SPARED: usize = 16;

impl Inputs<'_> {
    /// Whether the columns of largest gain are among those of largest score, if so many of these have an exact look: full columns
    /// that are scaled alike have much the same curvature. And whether that spares a look at most columns.
    pub(in crate::space) fn gain_follows_score(&self, exactly: usize) -> bool {
        let columns = self.columns;
        let full = columns.nonzeros() == (self.rows() as u64).saturating_mul(columns.len() as u64);
        let spared = exactly.saturating_mul(SPARED) <= columns.len();
        // Shards of large data may be small: what is found must not depend on it.
        let apart = columns.by_blocks().is_none() && columns.bytes_by_rows() <= LARGE;
        full && spared && apart && self.scale.is_some_and(|scale| scale.scaling.is_even())
    }

    /// The lengths of `c_j` as [`pulls`](Self::pulls) gives them, and the gain of every column, with one reading of the data.
    pub(in crate::space) fn gains<T: Send>(
        &self,
        v: Residuals<'_>,
        gain: &Gain<'_>,
        each: impl Fn(Range<usize>, &[f64], &[f64]) -> T + Sync,
        merge: impl Fn(T, T) -> T + Sync + Send,
    ) -> Result<Option<T>> {
        let (rows, outputs, batch) = (self.rows(), v.outputs, self.columns.batch());
        let (both, totals) = (both(v, gain), gain.totals(rows));
        let both = Residuals { v: &both, rows, outputs: 2 * outputs };
        let laid = Outputs::new(both.v, rows);
        let read = self.by_blocks(both, 3 * outputs, &|blocks, rows, columns, out| {
            let (dots, squares) = out.split_at_mut(both.outputs * columns.len());
            blocks.add_dots(rows.clone(), columns.clone(), both.v, dots);
            blocks.add_square_dots(rows, columns, &gain.curvature, squares);
        })?;
        let one = |k: usize| {
            let range = k * batch..self.columns.len().min((k + 1) * batch);
            self.go_on()?;
            let mut sums = match &read {
                Some(read) => read[3 * outputs * range.start..3 * outputs * range.end].to_vec(),
                None => vec![0.0; 3 * outputs * range.len()],
            };
            if read.is_none() {
                self.columns.gain_dots(range.clone(), &laid, &mut sums);
            }
            let gains = self.gains_of(&range, &mut sums, gain, &totals)?;
            let own = &sums[..outputs * range.len()];
            Ok(each(range.clone(), &Sums::new(own, range.len()).lengths(), &gains))
        };
        let batches = self.columns.len().div_ceil(batch);
        parallel::reduce(batches, one, merge)
    }

    /// The gains of the columns at these positions alone.
    pub(in crate::space) fn gains_at(
        &self,
        positions: &[usize],
        v: Residuals<'_>,
        gain: &Gain<'_>,
    ) -> Result<Vec<f64>> {
        if let Some(shards) = self.shards {
            return shards.gains_at(self.scale, positions, v, gain);
        }
        let (both, totals) = (both(v, gain), gain.totals(self.rows()));
        let laid = Outputs::new(&both, self.rows());
        let one = |k: usize| {
            self.go_on()?;
            let position = positions[k];
            let (range, mut sums) = (position..position + 1, vec![0.0; 3 * v.outputs]);
            self.columns.gain_dots(range.clone(), &laid, &mut sums);
            Ok(self.gains_of(&range, &mut sums, gain, &totals)?[0])
        };
        parallel::try_map(positions.len(), one)
    }

    /// The gains of some columns from their sums of `v x`, of `d x` and of `d x^2`, each output after output; weighs these sums.
    pub(super) fn gains_of(
        &self,
        range: &Range<usize>,
        sums: &mut [f64],
        gain: &Gain<'_>,
        totals: &[f64],
    ) -> Result<Vec<f64>> {
        let (width, outputs) = (range.len(), totals.len());
        let (dots, second) = sums.split_at_mut(2 * outputs * width);
        self.weigh(range, dots, 1);
        self.weigh(range, second, 2);
        let (own, first) = dots.split_at(width * outputs);
        self.check(range.start, own, width)?;
        let mut gains = vec![0.0; width];
        for (k, &total) in totals.iter().enumerate() {
            let [c, first, second] = [own, first, &*second].map(|sums| &sums[k * width..(k + 1) * width]);
            for (j, all) in gains.iter_mut().enumerate() {
                *all += gain.in_output([c[j], first[j], second[j]], total);
            }
        }
        Ok(gains)
    }
}

/// Residuals, and after them the curvature: its sums are like those of another residual.
pub(super) fn both(v: Residuals<'_>, gain: &Gain<'_>) -> Vec<f64> {
    [v.v, &gain.curvature].concat()
}
