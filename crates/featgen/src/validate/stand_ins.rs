//! Stand-ins: inputs that are highly correlated with a feature, so that other data, or a little noise, might have chosen them instead.

use crate::context::Context;
use crate::data::{Columns, Names};
use crate::error::{Error, Result};
use crate::model::{Model, StandIn, Term};
use crate::ordered;
use crate::space::{Inputs, Scale, Scaling};

/// Stand-ins of a feature that are kept.
const MOST: usize = 8;

/// Features that are looked at with one reading of the data, and bytes that their columns may take.
const TOGETHER: usize = 64;
const BYTES: usize = 1 << 28;

/// Looks for stand-ins of the features of a model, among all inputs.
pub struct StandInSearch {
    /// The least correlation, in size, of what is a stand-in: above 0, up to 1.
    pub least: f64,
    /// Threads, and whether to end.
    pub context: Context,
}

impl StandInSearch {
    /// An error if this cannot be the least correlation.
    pub fn check(least: f64) -> Result<()> {
        match least > 0.0 && least <= 1.0 {
            true => Ok(()),
            false => {
                let reason = format!("must be a correlation above 0 and at most 1, not {least}");
                Err(Error::parameter("stand-ins", reason))
            }
        }
    }

    /// Notes the stand-ins of a model's terms among the columns that it was trained on; instances count as often as `weights` say.
    ///
    /// Reads the data once for their standard deviations, and once for every 64 features.
    pub fn note(
        &self,
        model: &mut Model,
        columns: &dyn Columns,
        names: &Names,
        weights: Option<&[f64]>,
    ) -> Result<()> {
        Self::check(self.least)?;
        let found = self.context.run(|| self.found(model, columns, names, weights))??;
        for (term, stand_ins) in found {
            model.terms[term].stand_ins = stand_ins;
        }
        if let Some(parameters) = &mut model.parameters {
            parameters.stand_ins = Some(self.least);
        }
        Ok(())
    }

    /// The stand-ins of all terms that carry weight.
    fn found(
        &self,
        model: &Model,
        columns: &dyn Columns,
        names: &Names,
        weights: Option<&[f64]>,
    ) -> Result<Vec<(usize, Vec<StandIn>)>> {
        let inputs = Inputs::called(columns, names).context(&self.context);
        let scale = Scale::new(Scaling::Std, &inputs, weights)?;
        let inputs = inputs.scaled(&scale);
        let terms: Vec<usize> =
            (0..model.terms.len()).filter(|&t| !model.terms[t].weight.is_zero()).collect();
        // Storages that have one batch make the sums of all columns at a time.
        let numbers = columns.rows().max(columns.batch().min(columns.len())).max(1);
        let together = (BYTES / (8 * numbers)).clamp(1, TOGETHER);
        let mut found = Vec::with_capacity(terms.len());
        for terms in terms.chunks(together) {
            let (mut v, mut except) = (Vec::new(), Vec::new());
            for &t in terms {
                v.extend(standardised(&model.terms[t], columns, weights));
                except.push(own_inputs(model, t, columns));
            }
            let alike = inputs.most_alike(&v, self.least, MOST, &except)?;
            let stand_in = |(id, sum): (u64, f64)| StandIn {
                input: id,
                name: inputs.input_name(id),
                correlation: sum.clamp(-1.0, 1.0),
            };
            let alike = alike.into_iter().map(|alike| alike.into_iter().map(stand_in).collect());
            found.extend(terms.iter().copied().zip(alike));
        }
        Ok(found)
    }
}

/// The values of a term less their mean, so that the sum with a column over its standard deviation is their correlation. All 0 if it does
/// not vary.
fn standardised(term: &Term, columns: &dyn Columns, weights: Option<&[f64]>) -> Vec<f64> {
    let rows = columns.rows();
    let mut x = vec![0.0; rows];
    if let Some(column) = term.feature.column(columns, |id| columns.position(id)) {
        column.add_to(1.0, &mut x);
    }
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    let total = ordered::sum(rows, weight);
    let mean = ordered::sum(rows, |i| weight(i) * x[i]) / total;
    let variance = ordered::sum(rows, |i| weight(i) * (x[i] - mean) * (x[i] - mean)) / total;
    let unit = if variance > 0.0 { 1.0 / (total * variance.sqrt()) } else { 0.0 };
    x.iter_mut().enumerate().for_each(|(i, x)| *x = weight(i) * (*x - mean) * unit);
    x
}

/// Where the inputs are that a term, and those of its group, are made of: they cannot stand in for it.
fn own_inputs(model: &Model, term: usize, columns: &dyn Columns) -> Vec<usize> {
    let group = model.terms[term].group;
    let own = |&(t, other): &(usize, &Term)| t == term || (group.is_some() && other.group == group);
    let ids = model.terms.iter().enumerate().filter(own).flat_map(|(_, term)| term.feature.inputs());
    let mut positions: Vec<usize> = ids.filter_map(|&id| columns.position(id)).collect();
    positions.sort_unstable();
    positions.dedup();
    positions
}
