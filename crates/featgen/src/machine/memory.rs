//! What a run holds, known before it begins.

use super::params::Machine;
use crate::error::{Error, Result};
use crate::space::FeatureSpace;
use crate::subproblem;

/// Vectors of one number per instance: labels and costs, margins, dual variables, and those of the solver.
const VECTORS: u64 = 16;

impl Machine {
    /// Bytes that a run takes beside the data: at most, if its searches are [limited](FeatureSpace::limit) as far as they can
    /// be, and if nothing limits them. Vectors of one number per instance, copies of the columns selected, were they the
    /// longest of all, and what searches hold.
    pub fn memory(&self, space: &dyn FeatureSpace) -> Result<[u64; 2]> {
        let plan = self.check()?;
        let selected = match (self.features, plan.max_rounds) {
            (Some(features), _) => features,
            (None, rounds) => plan.budget.saturating_mul(rounds),
        };
        let footprint = space.footprint(selected, self.threads_in_use());
        let vectors = VECTORS * 8 * space.inputs().rows() as u64;
        let held = vectors.saturating_add(footprint.columns).saturating_add(hessian(footprint.width));
        Ok([footprint.least, footprint.most].map(|search| held.saturating_add(search)))
    }

    /// Keeps a run within so many bytes beside the data by limiting what its searches hold; an error if that is not enough.
    pub fn keep_within(&self, bytes: u64, space: &mut dyn FeatureSpace) -> Result<()> {
        let [least, most] = self.memory(space)?;
        if least > bytes {
            let rows = space.inputs().rows();
            let reason = format!(
                "a run may need {} beside the data, for {rows} instances, the columns selected and the search; {} is allowed",
                megabytes(least),
                megabytes(bytes)
            );
            return Err(Error::parameter("memory", reason));
        }
        if most > bytes {
            let others = least - space.footprint(0, self.threads_in_use()).least;
            space.limit(bytes - others);
        }
        Ok(())
    }

    fn threads_in_use(&self) -> usize {
        if self.threads > 0 { self.threads } else { rayon::current_num_threads() }
    }
}

/// The matrix that Newton steps are taken with, and its factor.
fn hessian(width: u64) -> u64 {
    let wide = width.min(subproblem::WIDEST as u64);
    2 * 8 * wide * wide
}

/// As a user may give it, rounded up.
fn megabytes(bytes: u64) -> String {
    format!("{}MB", bytes.div_ceil(1_000_000))
}
