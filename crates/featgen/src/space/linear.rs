//! The input features as they are: the score of a column is its correlation with the dual variables.

use std::collections::HashSet;

use rayon::prelude::*;

use super::{Feature, FeatureSpace, TopB, WorstCase};
use crate::data::{Column, Columns, Dataset, Names};
use crate::error::{Error, Result};

/// Every column of a storage is a feature.
pub struct LinearSpace<'a> {
    columns: &'a dyn Columns,
    names: Option<&'a Names>,
}

impl<'a> LinearSpace<'a> {
    /// The features of a data set, with its names.
    pub fn new(data: &'a Dataset) -> Self {
        Self { columns: data.columns.as_ref(), names: Some(&data.names) }
    }

    /// The features of any storage, called by their numbers.
    pub fn over(columns: &'a dyn Columns) -> Self {
        Self { columns, names: None }
    }

    fn position(&self, feature: &Feature) -> Result<usize> {
        let Feature::Input(id) = feature;
        self.columns.position(*id).ok_or_else(|| Error::Data(format!("no feature {}", self.name(feature))))
    }

    /// A score that is not a number means a value that is not one: name the culprit.
    fn explain(&self, position: usize) -> Error {
        let name = self.name(&Feature::Input(self.columns.id(position)));
        let column = match &self.columns.gather(&[position])[0] {
            Column::Dense(values) => values.iter().copied().enumerate().collect(),
            Column::Sparse { rows, values } => {
                rows.iter().map(|&i| i as usize).zip(values.iter().copied()).collect::<Vec<_>>()
            }
        };
        Error::Data(match column.iter().find(|(_, x)| !x.is_finite()) {
            Some((i, x)) => format!("row {}, feature {name}: {x} is not a finite number", i + 1),
            None => format!("feature {name}: its values are too large to compute with; scale it down"),
        })
    }
}

/// Scores whose squares and sums stay finite with room to spare.
const LARGEST_SCORE: f64 = 1e140;

impl FeatureSpace for LinearSpace<'_> {
    fn rows(&self) -> usize {
        self.columns.rows()
    }

    fn size(&self) -> u128 {
        u128::from(self.columns.dimension())
    }

    fn inputs(&self) -> u64 {
        self.columns.dimension()
    }

    fn nonzeros(&self) -> u64 {
        self.columns.nonzeros()
    }

    fn worst_case(&self, v: &[f64], budget: usize, taken: &HashSet<Feature>) -> Result<WorstCase> {
        let Some(budget) = Some(budget.min(self.columns.len())).filter(|&b| b > 0) else {
            return Ok(WorstCase::default());
        };
        let mut taken: Vec<usize> = taken.iter().filter_map(|f| self.position(f).ok()).collect();
        taken.sort_unstable();
        let batch = self.columns.batch();
        let score = |k: usize| -> Result<[TopB<usize>; 2]> {
            let range = k * batch..self.columns.len().min((k + 1) * batch);
            let mut scores = vec![0.0; range.len()];
            self.columns.dots(range.clone(), v, &mut scores);
            let mut tops = [TopB::new(budget), TopB::new(budget)];
            let [best, fresh] = &mut tops;
            let mut taken = taken[taken.partition_point(|&p| p < range.start)..].iter().peekable();
            for (position, score) in range.zip(scores) {
                let score = score.abs();
                if score.is_nan() || score > LARGEST_SCORE {
                    return Err(self.explain(position));
                }
                let is_taken = taken.next_if(|&&p| p == position).is_some();
                if score > 0.0 {
                    best.offer(score, position);
                    if !is_taken {
                        fresh.offer(score, position);
                    }
                }
            }
            Ok(tops)
        };
        let merge = |[a, b]: [TopB<usize>; 2], [c, d]: [TopB<usize>; 2]| Ok([a.merge(c), b.merge(d)]);
        let empty = || Ok([TopB::new(budget), TopB::new(budget)]);
        let batches = self.columns.len().div_ceil(batch);
        let [best, fresh] =
            (0..batches).into_par_iter().map(score).try_reduce_with(merge).unwrap_or_else(empty)?;
        let features = |top: TopB<usize>| {
            let named = |s: super::Scored<usize>| super::Scored {
                score: s.score,
                item: Feature::Input(self.columns.id(s.item)),
            };
            top.into_sorted().into_iter().map(named).collect()
        };
        Ok(WorstCase { best: features(best), fresh: features(fresh) })
    }

    fn generate(&self, features: &[Feature]) -> Result<Vec<Column>> {
        let positions = features.iter().map(|f| self.position(f)).collect::<Result<Vec<_>>>()?;
        Ok(self.columns.gather(&positions))
    }

    fn name(&self, feature: &Feature) -> String {
        let Feature::Input(id) = feature;
        self.names.map_or_else(|| (u128::from(*id) + 1).to_string(), |names| names.show(*id))
    }

    fn named(&self) -> bool {
        self.names.is_some_and(Names::identify)
    }
}
