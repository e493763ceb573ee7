//! How columns are weighed against each other: as if each was divided by its own scale. Nothing is copied, and weights are given,
//! and models applied, in the units of the data.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Inputs;
use crate::data::{Moments, RowBlocks};
use crate::error::Result;
use crate::parallel;
use crate::{digest, ordered};

/// What a column is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scaling {
    /// By 1.
    None,
    /// By its standard deviation.
    Std,
    /// By its largest absolute value.
    Max,
    /// By its standard deviation, but more if few of its values are not 0: `s^2 = variance (1 + 0.1 n / nonzeros)`.
    ///
    /// Divided by their standard deviations alone, columns that hold next to nothing would weigh as much as any other, and a
    /// handful of instances would decide.
    Auto,
}

/// How much less columns of few values weigh: as much as their variance counts, if one value in ten is not 0.
const RARE: f64 = 0.1;

/// A variance below this part of the mean square is rounding: the column is constant.
const CONSTANT: f64 = 1e-13;

impl Scaling {
    /// All of them, in the order in which users see them.
    pub const ALL: &[Self] = &[Self::Auto, Self::Std, Self::Max, Self::None];

    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Std => "std",
            Self::Max => "max",
            Self::Auto => "auto",
        }
    }

    /// What it does, on one line.
    pub fn help(self) -> &'static str {
        match self {
            Self::None => "Columns are weighed as they are",
            Self::Std => "As if divided by their standard deviations",
            Self::Max => "As if divided by their largest absolute values",
            Self::Auto => "As if divided by their standard deviations, and columns of few values by more",
        }
    }

    /// The one of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|scaling| scaling.name() == name)
    }

    /// Whether columns of equally many values that are not 0 have the same variance as they are weighed.
    pub(super) fn is_even(self) -> bool {
        matches!(self, Self::Std | Self::Auto)
    }

    fn divisor(self, column: &Column, rows: f64) -> f64 {
        let deviation = column.variance.sqrt();
        match self {
            Self::None => 1.0,
            Self::Std => deviation,
            Self::Max => column.largest,
            Self::Auto => deviation * (1.0 + RARE * rows / column.nonzeros.max(1.0)).sqrt(),
        }
    }
}

/// A factor for each column held, by position; 0 for constant columns, which nothing can be gained from.
#[derive(Debug, Clone)]
pub struct Scale {
    pub(super) scaling: Scaling,
    pub(super) factors: Vec<f64>,
    /// The largest absolute value times its factor.
    pub(super) largest: f64,
    /// Where columns are in shards, which weigh them by themselves: how often instances count, if not once each.
    pub(super) weights: Option<Vec<f64>>,
}

/// What is to be known of a column.
struct Column {
    variance: f64,
    nonzeros: f64,
    largest: f64,
}

impl Scale {
    /// Of the columns of these inputs, on instances that count as often as `weights` say. One pass over the data.
    pub fn new(scaling: Scaling, inputs: &Inputs<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let rows = inputs.rows();
        let sent = weights.filter(|_| inputs.shards().is_some()).map(<[f64]>::to_vec);
        let weights = weights.map_or_else(|| Cow::Owned(vec![1.0; rows]), Cow::Borrowed);
        let total = ordered::sum(rows, |i| weights[i]);
        let counted = weights.iter().filter(|weight| **weight > 0.0).count() as f64;
        let moments = match inputs.columns().by_blocks() {
            Some(blocks) => moments_by_blocks(inputs, blocks, &weights)?,
            None => moments(inputs, &weights)?,
        };
        let columns: Vec<Column> = moments.iter().map(|moments| Column::new(moments, total)).collect();
        let factor = |column: &Column| {
            let divisor = scaling.divisor(column, counted);
            if column.variance > 0.0 && divisor > 0.0 { 1.0 / divisor } else { 0.0 }
        };
        let factors: Vec<f64> = columns.iter().map(factor).collect();
        let largest = columns.iter().zip(&factors).map(|(column, factor)| column.largest * factor);
        Ok(Self { scaling, largest: largest.fold(0.0, f64::max), factors, weights: sent })
    }

    /// What a space says of it in models and checkpoints.
    pub(super) fn setting(&self) -> (&'static str, String) {
        let bits: Vec<u64> = self.factors.iter().map(|x| x.to_bits()).collect();
        ("scale", format!("{} with checksum {:016x}", self.scaling.name(), digest::digest(bits)))
    }
}

/// The moments of every column.
fn moments(inputs: &Inputs<'_>, weights: &[f64]) -> Result<Vec<Moments>> {
    let (len, batch) = (inputs.columns().len(), inputs.columns().batch());
    let part = |k: usize| {
        inputs.go_on()?;
        Ok(inputs.columns().moments(k * batch..len.min((k + 1) * batch), weights))
    };
    let parts = parallel::try_map(len.div_ceil(batch), part)?;
    Ok(parts.into_iter().flatten().collect())
}

/// The same where rows are best read block after block: with one reading, as all else.
fn moments_by_blocks(inputs: &Inputs<'_>, blocks: &dyn RowBlocks, weights: &[f64]) -> Result<Vec<Moments>> {
    let (rows, batch) = (inputs.rows(), inputs.columns().batch());
    let mut moments = vec![Moments::default(); inputs.columns().len()];
    for first in (0..rows).step_by(blocks.block()) {
        inputs.go_on()?;
        let block = first..rows.min(first + blocks.block());
        blocks.fetch(block.clone());
        parallel::chunks_mut(&mut moments, batch, &|k, moments| {
            let range = k * batch..k * batch + moments.len();
            let mut values = vec![0.0; range.len()];
            for row in block.clone() {
                blocks.copy_row(row, range.clone(), &mut values);
                let nonzeros = moments.iter_mut().zip(&values).filter(|(_, x)| **x != 0.0);
                nonzeros.for_each(|(moments, &x)| moments.add(weights[row], x));
            }
        });
    }
    Ok(moments)
}

impl Column {
    /// Of what the values add up to, on instances that count as often as `total` says.
    fn new(moments: &Moments, total: f64) -> Self {
        let (mean, square) = (moments.sum / total, moments.square / total);
        let variance = square - mean * mean;
        let variance = if variance > CONSTANT * square { variance } else { 0.0 };
        Self { variance, nonzeros: f64::from(moments.nonzeros), largest: moments.largest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dense, Layout};

    #[test]
    fn columns_are_divided_by_what_is_asked_for() {
        // A column that varies, a constant, one with a single value, and the first in other units.
        let values = [1.0, 2.0, 3.0, 6.0, 7.0, 7.0, 7.0, 7.0, 0.0, 0.0, 4.0, 0.0, 1e6, 2e6, 3e6, 6e6];
        let data = Dense::new(values.to_vec(), 4, 4, Layout::ColumnMajor).unwrap();
        let inputs = Inputs::over(&data);
        let factors =
            |scaling, weights: Option<&[f64]>| Scale::new(scaling, &inputs, weights).unwrap().factors;
        let close = |found: &[f64], expected: [f64; 4]| {
            found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs())
        };
        let variance: f64 = 50.0 / 4.0 - 9.0;
        assert!(close(&factors(Scaling::Max, None), [1.0 / 6.0, 0.0, 0.25, 1.0 / 6e6]));
        let std = 1.0 / variance.sqrt();
        assert!(close(&factors(Scaling::Std, None), [std, 0.0, 1.0 / 3f64.sqrt(), std * 1e-6]));
        let (full, rare) = (std / 1.1f64.sqrt(), 1.0 / (3.0f64 * 1.4).sqrt());
        assert!(close(&factors(Scaling::Auto, None), [full, 0.0, rare, full * 1e-6]));
        // An instance that counts twice is as good as two, one that does not count as none.
        let counted = [1.0, 1.0, 2.0, 0.0];
        let variance: f64 = 23.0 / 4.0 - (9.0f64 / 4.0).powi(2);
        assert!((factors(Scaling::Std, Some(&counted))[0] - 1.0 / variance.sqrt()).abs() < 1e-12);
        let none = [1.0, 1.0, 1.0, 0.0];
        let first_three: f64 = 14.0 / 3.0 - 4.0;
        assert!((factors(Scaling::Auto, Some(&none))[0] - 1.0 / (1.1 * first_three).sqrt()).abs() < 1e-12);
        assert_eq!(factors(Scaling::Max, Some(&none))[0], 1.0 / 3.0);
    }
}
