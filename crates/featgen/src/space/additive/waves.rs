//! How wide the waves of an input are.

use super::steps::highest;
use crate::data::ColumnView;

/// The standard deviation of `n` instances, each of which counts so often; the size of the values if they are all the same.
///
/// About the mean, which takes a pass of its own: values far from 0, such as points in time, may differ little from each
/// other. In units of the largest, so that no square is too large.
pub(super) fn deviation(column: ColumnView<'_>, n: f64, count: impl Fn(u32) -> f64) -> f64 {
    let unit = highest(column, 1.0, &count);
    if unit == 0.0 {
        return f64::MIN_POSITIVE;
    }
    let (mut sum, mut filled) = (0.0, 0.0);
    column.for_each(|row, x| {
        sum += count(row) * (x / unit);
        filled += count(row);
    });
    let mean = sum / n;
    let mut squares = (n - filled).max(0.0) * mean * mean;
    column.for_each(|row, x| squares += count(row) * (x / unit - mean) * (x / unit - mean));
    let deviation = (squares / n).sqrt();
    unit * if deviation > EQUAL { deviation } else { 1.0 }
}

/// Values that differ by less, in parts of the largest, differ by rounding.
const EQUAL: f64 = 1e-12;
