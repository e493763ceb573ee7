//! What the values of a column add up to: all that is to be known of it before it is weighed against others.

use super::ColumnView;

/// Sums over the instances of a column.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
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
