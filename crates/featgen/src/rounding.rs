//! How far floating-point results may be from the exact ones (Higham, *Accuracy and Stability of Numerical Algorithms*,
//! chapters 3 and 4). A certificate must hold for the problem as it is, not as it is computed: whatever rounding may have
//! added to a bound is taken off it again.

/// The largest relative error of one operation.
pub(crate) const UNIT: f64 = f64::EPSILON / 2.0;

/// The largest relative error of `operations` one after the other: of a sum of products, relative to the sum of their
/// sizes.
pub(crate) fn relative(operations: usize) -> f64 {
    let k = operations as f64 * UNIT;
    // The last factor covers the rounding of this formula itself.
    k / (1.0 - k) * (1.0 + 8.0 * UNIT)
}
