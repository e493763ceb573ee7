//! The products that have the same column as a given one.

use rayon::prelude::*;

use super::ProductSpace;
use crate::data::Column;
use crate::error::{Error, Result};
use crate::space::Feature;

/// Products that are tried before the search for more is given up.
const MOST_TRIED: usize = 1 << 16;

impl ProductSpace<'_> {
    /// See [`FeatureSpace::aliases`](crate::space::FeatureSpace::aliases). One pass over the data finds the inputs that may be
    /// factors: those that are nowhere smaller than the product. Of a great many of them not all products are tried.
    pub(super) fn find_aliases(&self, feature: &Feature, most: usize) -> Result<Vec<Feature>> {
        let missing = || Error::Data(format!("no feature {}", self.inputs.name(feature)));
        let own = self.item(feature).ok_or_else(missing)?;
        let column = self.inputs.generate(std::slice::from_ref(feature))?;
        let goal: Vec<(u32, f64)> = column.iter().flat_map(nonzeros).collect();
        let inputs = self.inputs_above(&goal);
        let mut trial = Trial { goal: &goal, most, tried: 0, found: Vec::new() };
        for (position, column) in inputs.iter().filter(|(position, _)| own.0[..] != [*position]) {
            if trial.found.len() < most && *column == goal {
                trial.found.push(vec![*position]);
            }
        }
        let factors: Vec<(u32, Vec<(u32, f64)>)> =
            inputs.into_iter().filter(|(position, _)| self.is_allowed(*position as usize)).collect();
        for degree in 2..=self.degree.min(factors.len()) {
            trial.extend(&mut Vec::new(), None, &factors, degree, &own.0);
        }
        let id = |&position: &u32| self.inputs.columns().id(position as usize);
        let feature = |positions: Vec<u32>| match positions[..] {
            [position] => Feature::Input(id(&position)),
            _ => Feature::Product(positions.iter().map(id).collect()),
        };
        Ok(trial.found.into_iter().map(feature).collect())
    }

    /// The inputs that are at least `goal` in all its rows, with their values.
    fn inputs_above(&self, goal: &[(u32, f64)]) -> Vec<(u32, Vec<(u32, f64)>)> {
        let above = |position: usize| {
            if (self.columns[position].support as usize) < goal.len() {
                return None;
            }
            let values = nonzeros(&self.inputs.columns().gather(&[position])[0]);
            let mut rest = &values[..];
            let holds = goal.iter().all(|&(row, least)| {
                let at = rest.partition_point(|value| value.0 < row);
                rest = &rest[at..];
                rest.first().is_some_and(|value| value.0 == row && value.1 >= least)
            });
            holds.then_some((position as u32, values))
        };
        (0..self.columns.len()).into_par_iter().filter_map(above).collect()
    }
}

fn nonzeros(column: &Column) -> Vec<(u32, f64)> {
    let mut values = Vec::new();
    column.each_nonzero(|row, x| values.push((row, x)));
    values
}

/// The search among the inputs that may be factors.
struct Trial<'a> {
    goal: &'a [(u32, f64)],
    most: usize,
    tried: usize,
    found: Vec<Vec<u32>>,
}

impl Trial<'_> {
    /// Tries all ways to multiply `product`, that of `path`, with `more` of the factors, in order.
    fn extend(
        &mut self,
        path: &mut Vec<u32>,
        product: Option<&[(u32, f64)]>,
        factors: &[(u32, Vec<(u32, f64)>)],
        more: usize,
        own: &[u32],
    ) {
        if more == 0 {
            if product == Some(self.goal) && path[..] != *own {
                self.found.push(path.clone());
            }
            return;
        }
        for (k, (position, values)) in factors.iter().enumerate() {
            if self.found.len() >= self.most || self.tried >= MOST_TRIED {
                return;
            }
            self.tried += 1;
            let next = product.map_or_else(|| values.clone(), |product| times(product, values));
            path.push(*position);
            self.extend(path, Some(&next), &factors[k + 1..], more - 1, own);
            path.pop();
        }
    }
}

fn times(product: &[(u32, f64)], values: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let mut rest = values;
    let mut next = Vec::new();
    for &(row, x) in product {
        rest = &rest[rest.partition_point(|value| value.0 < row)..];
        next.extend(rest.first().filter(|value| value.0 == row).map(|value| (row, x * value.1)));
    }
    next.retain(|value| value.1 != 0.0);
    next
}
