//! Lower bounds on the objective from a residual, certain in spite of rounding.

use crate::bracket::Bracket;
use crate::ordered;
use crate::rounding;

/// The multiple kappa, up to `limit`, that makes `value(kappa) - kappa^2 top / 2 - kappa linear` largest, about. `expand` gives the
/// value, the slope and the curvature of the first term, which is concave.
///
/// Newton's method from kappa = 1, which is the maximum at the optimum, and exact in one step where the term is quadratic.
pub(super) fn best_multiple(limit: f64, top: f64, linear: f64, expand: impl Fn(f64) -> [f64; 3]) -> f64 {
    let mut bracket = Bracket { low: 0.0, high: limit };
    let mut kappa = 1.0;
    let (mut best, mut most) = (0.0, 0.0);
    for _ in 0..50 {
        let [value, slope, curvature] = expand(kappa);
        let value = value - 0.5 * kappa * kappa * top - kappa * linear;
        let (slope, curvature) = (slope - kappa * top - linear, curvature - top);
        if value > most {
            (best, most) = (kappa, value);
        }
        let newton = kappa - slope / curvature;
        // Hardly anything is left to gain. Each step doubles the digits of kappa, so that this one gains nearly all of it.
        if newton > 0.0 && newton < limit && slope.abs() * (newton - kappa).abs() <= 1e-6 * value.abs() {
            return newton;
        }
        let next = bracket.next(kappa, slope > 0.0, newton, 2.0 * kappa);
        if slope == 0.0 || (next - kappa).abs() <= 1e-9 * kappa {
            break;
        }
        kappa = next;
    }
    best
}

/// Takes off a bound what rounding may have added: `sum` came from terms whose sizes sum to `size`, each through so many
/// operations.
pub(super) fn surely(sum: f64, size: f64, operations: usize, kappa: f64, top: f64, linear: f64) -> f64 {
    let half = 0.5 * kappa * kappa * top;
    let lost = rounding::relative(operations) * (size + half + (kappa * linear).abs());
    // What is too small to be a number of full precision may be lost as well, but never this much.
    sum - half - lost - kappa * linear - f64::MIN_POSITIVE
}

/// What a residual `v` at decision values `d` proves of an objective of which only its `value` there is known. Its conjugate at
/// `v` is `value + v.d`, and at 0 it is at least 0; in between it is at least linear, for it is concave.
pub(super) fn by_fenchel(value: f64, d: &[f64], v: &[f64], top: f64, linear: f64) -> f64 {
    let [product, size] = ordered::sums_over([v, d], |[v, d]| [v * d, (v * d).abs()]);
    // Value and residual are sums over all instances themselves.
    let operations = 2 * ordered::depth(d.len()) + 64;
    let conjugate = surely(value + product, value.abs() + size, operations, 1.0, 0.0, linear);
    let kappa = if conjugate < top { (conjugate / top).max(0.0) } else { 1.0 };
    surely(kappa * conjugate, kappa * conjugate.abs(), 8, kappa, top, 0.0).max(0.0)
}
