//! The refit after a run: an l2 model on the selected features, without what the norm takes from their weights.

use super::fitting::Fitting;

/// Solves, to this relative gap, the problem with all selected columns in one block, with errors that cost `factor` times what
/// they did.
pub(super) fn run(fitting: &mut Fitting<'_>, factor: f64, tol: f64) {
    if fitting.selected() == 0 {
        return;
    }
    fitting.rescale(factor);
    fitting.set.merge_blocks();
    fitting.solve(tol);
}
