//! One-dimensional Newton steps that cannot get lost.

/// Where the root of a monotone function must lie.
pub(crate) struct Bracket {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Bracket {
    /// The next place to look after `at`, which is below the root or not: where Newton's method says, if that is inside
    /// the bracket; else its middle; or, while it is open on one side, `beyond`.
    pub(crate) fn next(&mut self, at: f64, below: bool, newton: f64, beyond: f64) -> f64 {
        *(if below { &mut self.low } else { &mut self.high }) = at;
        if newton > self.low && newton < self.high {
            newton
        } else if self.low.is_finite() && self.high.is_finite() {
            0.5 * (self.low + self.high)
        } else {
            beyond
        }
    }
}
