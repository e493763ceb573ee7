//! Sparse columns that are written down with a value for every row, as they are held in memory where that takes less room.

use super::convert::{ColumnSource, Step};
use super::format::Kind;
use crate::data::is_lighter_full;
use crate::error::Result;

/// The columns of a sparse source as full ones, and between them those that never occur.
struct Filled<'a> {
    source: Box<dyn ColumnSource + 'a>,
    rows: u64,
    dimension: u64,
}

/// A source of columns of the given numbers of rows and features in the form that takes less room.
pub(super) fn lighter<'a>(
    mut source: Box<dyn ColumnSource + 'a>,
    [rows, dimension]: [u64; 2],
) -> Result<Box<dyn ColumnSource + 'a>> {
    if !source.is_sparse() {
        return Ok(source);
    }
    let mut nonzeros = 0;
    source.lengths(&mut |_, length| nonzeros += length)?;
    let full = is_lighter_full(rows, dimension, nonzeros, source.kind()?.size());
    Ok(if full { Box::new(Filled { source, rows, dimension }) } else { source })
}

impl ColumnSource for Filled<'_> {
    fn is_sparse(&self) -> bool {
        false
    }

    fn kind(&mut self) -> Result<Kind> {
        self.source.kind()
    }

    fn lengths(&mut self, each: &mut dyn FnMut(u64, u64)) -> Result<()> {
        (0..self.dimension).for_each(|id| each(id, self.rows));
        Ok(())
    }

    fn columns(&mut self, kind: Kind, each: &mut dyn FnMut(Step<'_>) -> Result<()>) -> Result<()> {
        let (rows, size) = (self.rows, kind.size() as usize);
        let mut column = vec![0; rows as usize * size];
        // The column whose values come, and those that were handed on.
        let (mut begun, mut done) = (None, 0);
        let mut hand_on = |column: &mut [u8], id: u64| -> Result<()> {
            each(Step::Column(id, rows))?;
            each(Step::Entries(&[], column))?;
            column.fill(0);
            Ok(())
        };
        self.source.columns(kind, &mut |step| {
            match step {
                Step::Column(id, _) => {
                    if let Some(before) = begun.replace(id) {
                        hand_on(&mut column, before)?;
                        done = before + 1;
                    }
                    (done..id).try_for_each(|id| hand_on(&mut column, id))?;
                    done = id;
                }
                Step::Entries(rows, values) => {
                    for (row, value) in rows.as_chunks().0.iter().zip(values.chunks_exact(size)) {
                        let row = u32::from_ne_bytes(*row) as usize;
                        column[row * size..][..size].copy_from_slice(value);
                    }
                }
            }
            Ok(())
        })?;
        (done..self.dimension).try_for_each(|id| hand_on(&mut column, id))
    }

    fn runs(&self) -> usize {
        self.source.runs()
    }
}
