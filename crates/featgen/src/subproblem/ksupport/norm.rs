//! The k-support norm of the lengths of units, its dual, and its proximal step.
//!
//! ```text
//! ||w||_K^2 = min over d of  sum_u ||w_u||^2 / d_u     with 0 <= d_u <= 1 and sum_u d_u <= K
//! ```
//!
//! It is the best convex stand-in for "at most K units, and a ridge on them": with at most K units it is their length, and with
//! K = 1 the sum of all lengths. In general a threshold theta splits the units: the *top*, at least theta long, count as in a ridge;
//! the *middle*, shorter, as a sum of lengths:
//!
//! ```text
//! ||w||_K^2 = sum over the top of ||w_u||^2 + (sum over the middle of ||w_u||)^2 / (K - number at the top)
//! ```

/// The norm with a number of units.
///
/// Some units may be *forced*: their `d_u` is 1, so that they count as in a ridge whatever the others do. They are the first of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KSupport {
    /// How many units that are not forced may have weights at the price of a ridge: at least 1, if there are such units.
    pub(crate) k: usize,
    /// Units that are forced.
    pub(crate) forced: usize,
}

/// How the norm sees some lengths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Split {
    /// Units at the top: that many of the longest.
    pub(crate) top: usize,
    /// What a unit of the middle pulls with, whatever its length: no unit at the top is shorter, none in the middle longer. 0 if
    /// all that are not zero are at the top.
    pub(crate) theta: f64,
    /// Half the square of the norm.
    pub(crate) value: f64,
}

impl KSupport {
    /// With none forced.
    pub(crate) fn new(k: usize) -> Self {
        Self { k, forced: 0 }
    }

    /// Half the square of the length of those that are forced, and the lengths of the others.
    fn without_forced(self, lengths: &[f64]) -> (f64, &[f64]) {
        let (forced, others) = lengths.split_at(self.forced.min(lengths.len()));
        (0.5 * forced.iter().map(|a| a * a).sum::<f64>(), others)
    }

    /// Splits units of these lengths, none of them forced, the longest first.
    pub(crate) fn split(self, sorted: &[f64]) -> Split {
        let filled = sorted.partition_point(|&length| length > 0.0);
        let squares = |top: usize| sorted[..top].iter().rev().map(|a| a * a).sum::<f64>();
        if filled <= self.k {
            return Split { top: filled, theta: 0.0, value: 0.5 * squares(filled) };
        }
        let tails = tails(&sorted[..filled]);
        // The last of K units is never longer than the sum of it and all after it.
        let theta = |top: usize| tails[top] / (self.k - top) as f64;
        let top = (0..self.k - 1).find(|&top| sorted[top] <= theta(top)).unwrap_or(self.k - 1);
        let value = 0.5 * (squares(top) + theta(top) * tails[top]);
        Split { top, theta: theta(top), value }
    }

    /// Half the square of the norm of units of these lengths: those that are forced first, the others in any order.
    pub(crate) fn value(self, lengths: &[f64]) -> f64 {
        let (forced, others) = self.without_forced(lengths);
        forced + self.split(&sorted(others)).value
    }

    /// The square of the dual norm: the sum of these squares, those of the forced first, over all that are forced and the K largest of
    /// the others.
    pub(crate) fn dual_square(self, squares: &[f64]) -> f64 {
        let (forced, others) = squares.split_at(self.forced.min(squares.len()));
        // The smallest first: large numbers do not swallow them.
        sorted(others).iter().take(self.k).rev().sum::<f64>() + forced.iter().sum::<f64>()
    }

    /// The K-th largest of some numbers that are not negative; 0 if there are fewer. Of scores at the optimum it is the threshold:
    /// no unit whose score is at most that would get a weight.
    pub(crate) fn threshold(self, scores: &[f64]) -> f64 {
        sorted(scores).get(self.k - 1).copied().unwrap_or(0.0)
    }

    /// By how much each unit is shortened in `argmin l/2 ||w - z||^2 + 1/2 ||w||_K^2`, for units z of these lengths, those that are
    /// forced first.
    ///
    /// A unit of length o becomes `min(o l / (l + 1), max(0, o - theta / l))`. With `t = 1 / theta` and `s = 1 / l` the threshold
    /// solves `sum_u min(1, max(0, o_u t - s)) = K`: increasing and piecewise linear in t, so that walking through the places
    /// where a unit enters or is full finds the piece, and the piece the exact solution.
    pub(crate) fn shrink(self, lengths: &[f64], l: f64) -> Vec<f64> {
        let (_, others) = self.without_forced(lengths);
        let theta = self.proximal_threshold(&sorted(others), l);
        let ridge = l / (l + 1.0);
        let factor = |&o: &f64| match o > 0.0 {
            true => ridge.min((1.0 - theta / (l * o)).max(0.0)),
            false => 0.0,
        };
        let forced = std::iter::repeat_n(ridge, lengths.len() - others.len());
        forced.chain(others.iter().map(factor)).collect()
    }

    fn proximal_threshold(self, sorted: &[f64], l: f64) -> f64 {
        let filled = sorted.partition_point(|&length| length > 0.0);
        if filled <= self.k {
            return 0.0;
        }
        let (tails, s) = (tails(&sorted[..filled]), 1.0 / l);
        let (mut full, mut entered) = (0, 0);
        loop {
            // Where the next unit is full, and where the next one enters. All below are only compared.
            let fills = (1.0 + s) / sorted[full];
            let enters = if entered < filled { s / sorted[entered] } else { f64::INFINITY };
            let sum = tails[full] - tails[entered];
            let t = ((self.k - full) as f64 + (entered - full) as f64 * s) / sum;
            if entered > full && t <= fills.min(enters) {
                return 1.0 / t;
            }
            if enters <= fills {
                entered += 1;
            } else if full + 1 == self.k {
                // But for rounding it never gets here: K full units are enough.
                return 1.0 / fills;
            } else {
                full += 1;
            }
        }
    }
}

/// `sum_{i >= k} numbers_i` for every k, and 0 at the end. Differences of these keep their digits, for no number is larger than the
/// ones before it.
fn tails(numbers: &[f64]) -> Vec<f64> {
    let mut tails = vec![0.0; numbers.len() + 1];
    (0..numbers.len()).rev().for_each(|k| tails[k] = tails[k + 1] + numbers[k]);
    tails
}

/// The largest first.
pub(crate) fn sorted(numbers: &[f64]) -> Vec<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    sorted
}
