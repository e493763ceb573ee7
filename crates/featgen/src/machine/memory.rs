//! What a run holds, known before it begins.

use super::params::Machine;
use crate::data::Labels;
use crate::error::{Error, Result};
use crate::space::{FeatureSpace, Footprint};
use crate::subproblem;

/// Vectors of one number per instance: labels and costs, margins, dual variables, and those of the solver.
const VECTORS: u64 = 20;

/// The same for every block where the solver is one that goes by gradients: what the block adds, at five points of its way.
const VECTORS_PER_BLOCK: u64 = 5;

impl Machine {
    /// Bytes that a run takes at most beside the data and what searches hold (vectors of one number per instance and output, copies
    /// of the columns selected, were they the longest of all, and the solver's matrices); and what searches do.
    fn needs(&self, space: &dyn FeatureSpace, labels: &Labels) -> Result<(u64, Footprint)> {
        let plan = self.check()?;
        let outputs = self.objective(labels, 1.0)?.outputs();
        let (selected, blocks) = match (self.features, plan.max_rounds) {
            (Some(features), _) => (features, features.div_ceil(plan.budget)),
            // Twice as many from round to round, at most.
            (None, rounds) if plan.on_features => (plan.budget.saturating_mul(power_of_two(rounds)), rounds),
            (None, rounds) => (plan.budget.saturating_mul(rounds), rounds),
        };
        let footprint = space.footprint(selected, outputs, self.context.threads_in_use());
        // Where there is no matrix of all columns, it may come to gradients.
        let has_matrix = (1..=subproblem::WIDEST as u64).contains(&footprint.width);
        let by_gradients = subproblem::is_first_order(&self.solver) || !(has_matrix || plan.on_features);
        let per_block = if by_gradients { VECTORS_PER_BLOCK } else { 0 };
        let vectors = per_block.saturating_mul(blocks as u64).saturating_add(VECTORS);
        let vectors = vectors.saturating_mul(8 * (outputs * space.data().rows()) as u64);
        let matrices = hessian(footprint.width).saturating_mul(outputs as u64);
        let held = vectors.saturating_add(footprint.columns).saturating_add(matrices);
        Ok((held, footprint))
    }

    /// Keeps a run within the memory that its [`context`](Self::context) allows, by limiting what its searches hold; an error if
    /// that is not enough.
    pub fn limit_memory(&self, space: &mut dyn FeatureSpace, labels: &Labels) -> Result<()> {
        let Some(bytes) = self.context.memory_allowed() else { return Ok(()) };
        let (held, footprint) = self.needs(space, labels)?;
        let least = held.saturating_add(footprint.least);
        if least > bytes {
            let rows = space.data().rows();
            let reason = format!(
                "a run may need {} beside the data, for {rows} instances, the columns selected and the search; {} is allowed",
                megabytes(least),
                megabytes(bytes)
            );
            return Err(Error::parameter("memory", reason));
        }
        if footprint.most > bytes - held {
            space.limit(bytes - held);
        }
        Ok(())
    }
}

/// The matrix that Newton steps are taken with, and its factor.
fn hessian(width: u64) -> u64 {
    let wide = width.min(subproblem::WIDEST as u64);
    2 * 8 * wide * wide
}

fn power_of_two(exponent: usize) -> usize {
    u32::try_from(exponent).ok().and_then(|exponent| 1usize.checked_shl(exponent)).unwrap_or(usize::MAX)
}

/// As a user may give it, rounded up.
fn megabytes(bytes: u64) -> String {
    format!("{}MB", bytes.div_ceil(1_000_000))
}
