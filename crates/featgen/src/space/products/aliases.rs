//! The products that have the same columns as given ones.

use super::ProductSpace;
use super::distinct::{Item, Key};
use crate::data::Column;
use crate::error::{Error, Result};
use crate::parallel;
use crate::space::{Feature, Inputs};

/// Values that are read for the aliases of one feature before the search for more of them is given up.
const MOST_READ: usize = 1 << 22;

/// Rows and values of a column where they are not 0.
pub(super) type Entries = Vec<(u32, f64)>;

/// A feature whose aliases are wanted.
pub(super) struct Goal {
    pub(super) item: Item,
    pub(super) key: Key,
    pub(super) entries: Entries,
}

impl ProductSpace<'_> {
    /// See [`FeatureSpace::aliases`](crate::space::FeatureSpace::aliases). One pass over the data finds, for all of them, the
    /// inputs that may be factors: those that are nowhere smaller. Of a great many of them not all products are tried.
    pub(super) fn find_aliases(&self, features: &[Feature], most: usize) -> Result<Vec<Vec<Feature>>> {
        let columns = self.inputs.generate(features)?;
        let goals = features.iter().zip(columns).map(|(feature, column)| self.goal(feature, column));
        let goals = goals.collect::<Result<Vec<_>>>()?;
        let inputs = match self.inputs.shards() {
            Some(shards) => self.ask_inputs_above(shards, &goals)?,
            None => inputs_above(&self.inputs, &goals, |position| self.columns[position].support)?,
        };
        Ok(goals.iter().zip(inputs).map(|(goal, inputs)| self.aliases_among(goal, &inputs, most)).collect())
    }

    fn goal(&self, feature: &Feature, column: Column) -> Result<Goal> {
        let missing = || Error::Data(format!("no feature {}", self.inputs.name(feature)));
        let item = self.item(feature).ok_or_else(missing)?;
        let key = self.keys_of(&[feature])?.into_iter().next().unwrap_or_default();
        Ok(Goal { item, key, entries: entries(&column) })
    }

    /// The first products of these inputs, each nowhere smaller than the goal, that have its values.
    fn aliases_among(&self, goal: &Goal, inputs: &[u32], most: usize) -> Vec<Feature> {
        let own = |positions: &[u32]| goal.item.0[..] == *positions;
        let same = |&&position: &&u32| self.columns[position as usize].key == goal.key && !own(&[position]);
        let mut found: Vec<Vec<u32>> =
            inputs.iter().filter(same).take(most).map(|&position| vec![position]).collect();
        let mut held = 0;
        let fits = |&position: &usize| {
            held += self.columns[position].support as usize;
            held <= MOST_READ
        };
        let allowed = inputs.iter().map(|&position| position as usize).filter(|&p| self.is_allowed(p));
        let allowed: Vec<usize> = allowed.take_while(fits).collect();
        let values = self.inputs.columns().gather(&allowed);
        let factors: Vec<(u32, Entries)> = allowed
            .iter()
            .zip(&values)
            .map(|(&position, column)| (position as u32, entries(column)))
            .collect();
        let mut trial = Trial { goal, most, read: 0, found: &mut found };
        for degree in 2..=self.rules.degree.min(factors.len()) {
            trial.extend(&mut Vec::new(), None, &factors, degree);
        }
        found.into_iter().map(|positions| self.feature(&Item(positions.into()))).collect()
    }
}

/// Columns that one thread compares one after the other.
const TOGETHER: usize = 256;

/// For each goal, the positions of the inputs that are at least as large in all its rows. `support` says at least in how many rows an
/// input is not 0.
pub(super) fn inputs_above(
    inputs: &Inputs<'_>,
    goals: &[Goal],
    support: impl Fn(usize) -> u32 + Sync,
) -> Result<Vec<Vec<u32>>> {
    let columns = inputs.columns();
    let least = goals.iter().map(|goal| goal.entries.len()).min().unwrap_or(usize::MAX);
    let of_which = |position: usize| -> Result<Vec<usize>> {
        inputs.go_on()?;
        if (support(position) as usize) < least {
            return Ok(Vec::new());
        }
        let values = entries(&columns.gather(&[position])[0]);
        Ok((0..goals.len()).filter(|&g| is_above(&values, &goals[g].entries)).collect())
    };
    let some = |first: usize| (first..columns.len().min(first + TOGETHER)).map(of_which).collect();
    let found: Vec<Vec<Vec<usize>>> =
        parallel::try_map(columns.len().div_ceil(TOGETHER), |k| some(k * TOGETHER))?;
    let mut above = vec![Vec::new(); goals.len()];
    for (position, goals) in (0..).zip(found.into_iter().flatten()) {
        goals.into_iter().for_each(|g| above[g].push(position));
    }
    Ok(above)
}

fn entries(column: &Column) -> Entries {
    let mut entries = Vec::new();
    column.each_nonzero(|row, x| entries.push((row, x)));
    entries
}

/// Whether values are at least as large as the goal's in all its rows.
fn is_above(values: &[(u32, f64)], goal: &[(u32, f64)]) -> bool {
    let mut rest = values;
    values.len() >= goal.len()
        && goal.iter().all(|&(row, least)| {
            rest = &rest[rest.partition_point(|value| value.0 < row)..];
            rest.first().is_some_and(|value| value.0 == row && value.1 >= least)
        })
}

/// The search among the inputs that may be factors.
struct Trial<'a> {
    goal: &'a Goal,
    most: usize,
    read: usize,
    found: &'a mut Vec<Vec<u32>>,
}

impl Trial<'_> {
    /// Tries all ways to multiply `product`, that of `path`, with `more` of the factors, in order.
    fn extend(
        &mut self,
        path: &mut Vec<u32>,
        product: Option<&[(u32, f64)]>,
        factors: &[(u32, Entries)],
        more: usize,
    ) {
        if more == 0 {
            if product == Some(&self.goal.entries) && path[..] != self.goal.item.0[..] {
                self.found.push(path.clone());
            }
            return;
        }
        for (k, (position, values)) in factors.iter().enumerate() {
            if self.found.len() >= self.most || self.read >= MOST_READ {
                return;
            }
            self.read += 1 + product.map_or(values.len(), <[_]>::len);
            let next = product.map_or_else(|| values.clone(), |product| times(product, values));
            path.push(*position);
            self.extend(path, Some(&next), &factors[k + 1..], more - 1);
            path.pop();
        }
    }
}

fn times(product: &[(u32, f64)], values: &[(u32, f64)]) -> Entries {
    let mut rest = values;
    let mut next = Vec::new();
    for &(row, x) in product {
        rest = &rest[rest.partition_point(|value| value.0 < row)..];
        next.extend(rest.first().filter(|value| value.0 == row).map(|value| (row, x * value.1)));
    }
    next.retain(|value| value.1 != 0.0);
    next
}
