//! Unary codes of levels: the score of an input is a histogram of the residuals over its levels, and its suffix sums. A constant
//! time per value, for any number of levels.

use std::cmp::Reverse;

use super::search::ROUNDING;
use crate::data::{Bins, ColumnView, Lanes};
use crate::space::ask::Residuals;

/// The levels of one input.
pub(super) struct Levels {
    pub(super) bins: Bins,
    pub(super) power: f64,
    /// The size of a level: the square of what a bit of the code weighs.
    pub(super) step: f64,
}

impl Levels {
    /// So many levels of `|x|^power` up to `top`.
    pub(super) fn new(top: f64, power: f64, count: u32) -> Self {
        Self { bins: Bins::new(top, power, count), power, step: top / f64::from(count) }
    }

    /// The squared length of the vector of sums of all bits and outputs; `None` if it is known to be below `least` without
    /// being computed.
    pub(super) fn square(
        &self,
        column: ColumnView<'_>,
        v: Residuals<'_>,
        least: f64,
        room: &mut Room,
    ) -> Option<f64> {
        // A histogram is dearer than reading a column that is shorter than it.
        if !column.is_dense() && column.len() <= self.bins.count() {
            // A bound that is no number leaves nothing out: its column is found, and named.
            let too_small = self.most(column, v) * (1.0 + ROUNDING) < least;
            return (!too_small).then(|| self.step * self.squared_sums(column, v, room));
        }
        let levels = self.bins.count() + 1;
        room.sums.clear();
        room.sums.resize(v.outputs * levels, Lanes::default());
        column.histogram(v.v, &self.bins, &mut room.sums);
        Some(self.step * room.sums.chunks(levels).map(squared_suffix_sums).sum::<f64>())
    }

    /// What the square cannot exceed.
    pub(super) fn most(&self, column: ColumnView<'_>, v: Residuals<'_>) -> f64 {
        v.each().map(|v| most_squared_sums(column, v, self.power, self.step)).sum()
    }

    /// The square in steps, from the levels of a few values.
    fn squared_sums(&self, column: ColumnView<'_>, v: Residuals<'_>, room: &mut Room) -> f64 {
        if v.outputs == 1 {
            room.levels.clear();
            column.each_nonzero(|i, x| room.levels.push((self.bins.index(x) as u32, v.v[i as usize])));
            room.levels.sort_unstable_by_key(|&(level, _)| Reverse(level));
            return squared_sums(room.levels.iter().copied());
        }
        // Levels are found and sorted once for all outputs.
        room.rows.clear();
        column.each_nonzero(|i, x| room.rows.push((self.bins.index(x) as u32, i)));
        room.rows.sort_unstable_by_key(|&(level, i)| (Reverse(level), i));
        let output = |v: &[f64]| squared_sums(room.rows.iter().map(|&(level, i)| (level, v[i as usize])));
        v.each().map(output).sum()
    }
}

/// The largest `|x|^power` among instances that count.
pub(super) fn highest(column: ColumnView<'_>, power: f64, count: impl Fn(u32) -> f64) -> f64 {
    let mut top = 0.0;
    column.for_each(|row, x| top = if count(row) > 0.0 { x.abs().max(top) } else { top });
    top.powf(power)
}

/// What scoring a column needs, kept from column to column.
#[derive(Default)]
pub(super) struct Room {
    /// Levels with residuals, or with rows.
    levels: Vec<(u32, f64)>,
    rows: Vec<(u32, u32)>,
    sums: Vec<Lanes>,
}

/// The same as [`squared_suffix_sums`] from the levels themselves, of which the highest come first: between two that occur, the
/// sum does not change.
fn squared_sums(mut levels: impl Iterator<Item = (u32, f64)>) -> f64 {
    let Some((mut level, mut above)) = levels.next() else { return 0.0 };
    let mut total = 0.0;
    for (next, v) in levels {
        total += f64::from(level - next) * above * above;
        (level, above) = (next, above + v);
    }
    total + f64::from(level) * above * above
}

/// What the step times [`squared_sums`] of a column cannot exceed, at the price of about a dot product.
///
/// Let `P_l` be the sum of the positive v at levels from l up, `N_l` that of the negative ones, made positive. Then
/// `(P_l - N_l)^2 <= P_l^2 + N_l^2 <= P_1 P_l + N_1 N_l`, and the sum of all `P_l` is that of every positive v times its level. A
/// level is at most 1 above the size of its value in steps.
fn most_squared_sums(column: ColumnView<'_>, v: &[f64], power: f64, step: f64) -> f64 {
    let size = |x: f64| if power == 1.0 { x.abs() } else { x.abs().powf(power) };
    let (mut sum, mut length, mut dot, mut dot_length) = (0.0, 0.0, 0.0, 0.0);
    column.for_each(|row, x| {
        let (v, size) = (v[row as usize], size(x));
        sum += v;
        length += v.abs();
        dot += v * size;
        dot_length += v.abs() * size;
    });
    // (length + sum) / 2 is P_1, (length - sum) / 2 is N_1, and so on: their products add up to this.
    0.5 * (length * (dot_length + step * length) + sum * (dot + step * sum))
}

/// `sum over levels l >= 1 of (sum over levels k >= l of h_k)^2` for a histogram `h` in lanes.
///
/// Four stretches of levels are summed side by side, for a chain of additions is slow; then each is moved by what is
/// above it: `sum (s + a)^2 = sum s^2 + 2 a sum s + count a^2`.
fn squared_suffix_sums(sums: &[Lanes]) -> f64 {
    const CHAINS: usize = 4;
    let h = |level: usize| {
        let [a, b, c, d] = sums[level];
        (a + c) + (b + d)
    };
    let count = sums.len() - 1;
    let length = count / CHAINS;
    let (mut above, mut total) = (0.0, 0.0);
    for level in (CHAINS * length + 1..=count).rev() {
        above += h(level);
        total += above * above;
    }
    let (mut suffix, mut sums, mut squares) = ([0.0; CHAINS], [0.0; CHAINS], [0.0; CHAINS]);
    for k in 0..length {
        for c in 0..CHAINS {
            suffix[c] += h((c + 1) * length - k);
            sums[c] += suffix[c];
            squares[c] += suffix[c] * suffix[c];
        }
    }
    for c in (0..CHAINS).rev() {
        total += squares[c] + above * (2.0 * sums[c] + length as f64 * above);
        above += suffix[c];
    }
    total.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn suffixes_are_summed_as_they_are_defined(sums in prop::collection::vec([-3.0f64..3.0, -1.0..1.0, -1.0..1.0, -1.0..1.0], 1..60)) {
            let mut h: Vec<f64> = sums.iter().map(|lanes| lanes.iter().sum()).collect();
            (0..h.len() - 1).rev().for_each(|level| h[level] += h[level + 1]);
            let expected: f64 = h[1..].iter().map(|s| s * s).sum();
            prop_assert!((squared_suffix_sums(&sums) - expected).abs() <= 1e-12 * (1.0 + expected));
            let lanes = (0..).zip(&sums).flat_map(|(level, lanes)| lanes.map(|v| (level, v)));
            let mut levels: Vec<(u32, f64)> = lanes.collect();
            levels.reverse();
            prop_assert!((squared_sums(levels.into_iter()) - expected).abs() <= 1e-12 * (1.0 + expected));
        }
    }
}
