//! Columns that are made when they are asked for, and held nowhere: data larger than memory, on their way into a store.

use std::ops::Range;

use super::{Set, Setting};
use crate::data::{Column, Columns};
use crate::kernels;
use crate::parallel;

/// The columns of a set.
pub(super) struct Drawn {
    pub(super) setting: Setting,
    pub(super) set: Set,
}

impl Drawn {
    fn column(&self, position: usize) -> Column {
        let rows = self.rows();
        if self.setting.density < 1.0 {
            let (rows, values) = self.setting.sparse_column(self.set, rows, position);
            return Column::Sparse { rows, values: values.into_iter().map(f64::from).collect() };
        }
        let mut values = vec![0.0; rows];
        self.setting.dense_column(self.set, position, |normal| values.fill_with(|| normal().into()));
        Column::Dense(values)
    }
}

impl Columns for Drawn {
    fn rows(&self) -> usize {
        self.setting.rows(self.set)
    }

    fn len(&self) -> usize {
        self.setting.features
    }

    fn dimension(&self) -> u64 {
        self.setting.features as u64
    }

    /// About as many, where only a part of the values is there.
    fn nonzeros(&self) -> u64 {
        (self.rows() as f64 * self.setting.features as f64 * self.setting.density) as u64
    }

    fn id(&self, position: usize) -> u64 {
        position as u64
    }

    fn position(&self, id: u64) -> Option<usize> {
        usize::try_from(id).ok().filter(|&position| position < self.setting.features)
    }

    fn batch(&self) -> usize {
        1
    }

    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        for (out, position) in out.iter_mut().zip(range) {
            *out = match self.column(position) {
                Column::Dense(values) => kernels::dot(&values, v),
                Column::Sparse { rows, values } => kernels::dot_sparse(&rows, &values, v),
            };
        }
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        parallel::map(positions.len(), |k| self.column(positions[k]))
    }

    fn value_bytes(&self) -> u64 {
        4
    }
}
