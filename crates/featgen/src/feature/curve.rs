//! Curves: what parts of one curve, each with its weight, add up to as a function of their one input.

/// A function of an input that is 0 at 0.
pub(crate) trait Curve: Send + Sync {
    /// Its value at `x`.
    fn at(&self, x: f64) -> f64;
}

/// What a value below 0 is to a feature that has levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Negative {
    /// As much as its absolute value.
    BySize,
    /// As much as 0: training took none.
    AsZero,
}
