//! What the values of a column add up to: all that is to be known of it before it is weighed against others.

use serde::{Deserialize, Serialize};

use super::ColumnView;
use crate::kernels::{self, Number};

/// Sums over the instances of a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// Of its values, each as often as its instance counts.
    pub sum: f64,
    /// Of their squares.
    pub square: f64,
    /// How many values are not 0, of instances that count at all.
    pub nonzeros: u32,
    /// The largest absolute value of these.
    pub largest: f64,
}

impl Moments {
    /// Of a column, whose instances count as often as `weights` say.
    pub fn of(column: &ColumnView<'_>, weights: &[f64]) -> Self {
        let mut moments = Self::default();
        column.each_nonzero(|row, x| moments.add(weights[row as usize], x));
        moments
    }

    /// The same of four full columns, each with the same bits.
    pub(super) fn of_four<T: Number>(columns: [&[T]; 4], weights: &[f64]) -> [Self; 4] {
        let (sums, squares, nonzeros, largest) = kernels::moments4(columns, weights);
        std::array::from_fn(|k| Self {
            sum: sums[k],
            square: squares[k],
            nonzeros: nonzeros[k],
            largest: largest[k],
        })
    }

    /// Adds a value other than 0 of an instance of this weight.
    pub fn add(&mut self, weight: f64, x: f64) {
        if weight > 0.0 {
            self.sum += weight * x;
            self.square += weight * x * x;
            self.nonzeros += 1;
            self.largest = self.largest.max(x.abs());
        }
    }
}

/// The moments of neighbouring columns, row after row. Each adds up in the order of rows, so that it has the bits of
/// [`Moments::of`].
pub(super) struct Neighbours {
    sums: Vec<f64>,
    squares: Vec<f64>,
    nonzeros: Vec<u32>,
    largest: Vec<f64>,
}

impl Neighbours {
    /// Of so many columns.
    pub(super) fn new(width: usize) -> Self {
        let zeros = || vec![0.0; width];
        Self { sums: zeros(), squares: zeros(), nonzeros: vec![0; width], largest: zeros() }
    }

    /// Adds the values of an instance of this weight.
    pub(super) fn add<T: Number>(&mut self, weight: f64, row: &[T]) {
        if weight > 0.0 {
            let Self { sums, squares, nonzeros, largest } = self;
            kernels::add_moments(weight, row, sums, squares, nonzeros, largest);
        }
    }

    pub(super) fn finish(self) -> Vec<Moments> {
        let sums = self.sums.into_iter().zip(self.squares);
        let rest = self.nonzeros.into_iter().zip(self.largest);
        sums.zip(rest)
            .map(|((sum, square), (nonzeros, largest))| Moments { sum, square, nonzeros, largest })
            .collect()
    }
}
