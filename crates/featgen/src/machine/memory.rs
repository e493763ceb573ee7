//! What a run holds, known before it begins.

use super::best::{Exchange, SHORTLIST};
use super::params::{Machine, Plan, Select};
use crate::data::Labels;
use crate::error::{Error, Result};
use crate::space::{Demand, FeatureSpace, Footprint};
use crate::subproblem;

/// Vectors of one number per instance: labels and costs, margins, dual variables, and those of the solver.
const VECTORS: u64 = 20;

/// The same for every block where the solver is one that goes by gradients: what the block adds, at five points of its way.
const VECTORS_PER_BLOCK: u64 = 5;

/// Bytes in which a thread multiplies matrices: as many as suit the caches of its processor.
const SCRATCH: u64 = 8 << 20;

impl Machine {
    /// Bytes that a run takes at most beside the data and what searches hold (vectors of one number per instance and output, copies
    /// of the columns chosen or tried, were they the longest of all, and the solver's matrices); and what searches do.
    fn needs(&self, space: &dyn FeatureSpace, labels: &Labels) -> Result<(u64, Footprint)> {
        let plan = self.check()?;
        let outputs = self.objective(labels, 1.0)?.outputs();
        let (demand, blocks) = plan.demand(outputs, self.context.threads_in_use());
        let footprint = space.footprint(&demand);
        // Where there is no matrix of all columns, it may come to gradients.
        let has_matrix = (1..=subproblem::WIDEST as u64).contains(&footprint.width);
        let by_gradients = subproblem::is_first_order(&self.solver) || !(has_matrix || plan.on_features);
        let per_block = if by_gradients { VECTORS_PER_BLOCK } else { 0 };
        let vectors = per_block.saturating_mul(blocks as u64).saturating_add(VECTORS);
        let vectors = vectors.saturating_mul(8 * (outputs * space.data().rows()) as u64);
        let matrices = hessian(footprint.width).saturating_mul(outputs as u64);
        let copied = match subproblem::is(&self.solver, |solver| solver.copies_columns) {
            true => footprint.width.saturating_mul(16 * space.data().rows() as u64),
            false => 0,
        };
        let scratch = SCRATCH.saturating_mul(self.context.threads_in_use() as u64);
        let held = vectors.saturating_add(footprint.columns).saturating_add(matrices);
        let held = held.saturating_add(copied).saturating_add(scratch);
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

impl Plan {
    /// What the run asks of its space, and the most blocks that it may have.
    fn demand(&self, outputs: usize, threads: usize) -> (Demand, usize) {
        let wanted = self.features;
        let (held, measured, blocks) = match self.select {
            Select::Best => {
                let exchange = Exchange::new(self);
                let measured = SHORTLIST.saturating_mul(self.budget.min(wanted).max(exchange.swap));
                (exchange.most_held(wanted).max(wanted.saturating_add(self.tried)), measured, 1)
            }
            Select::Paper if wanted < usize::MAX => (wanted, 0, wanted.div_ceil(self.budget)),
            // Twice as many from round to round, at most.
            Select::Paper if self.on_features => {
                (self.budget.saturating_mul(power_of_two(self.max_rounds)), 0, self.max_rounds)
            }
            Select::Paper => (self.budget.saturating_mul(self.max_rounds), 0, self.max_rounds),
        };
        (Demand { held, measured, outputs, threads }, blocks)
    }
}

/// The matrix that Newton steps are taken with, and its factor. Exchange holds a copy, its factor and its inverse in place of the latter,
/// but only over the features that it compares, of which there are half as many.
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
