//! Data sets as files that other programs read. Any storage can be written: values come through [`Columns`] alone.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use super::{Column, Columns, Dataset};
use crate::error::Result;
use crate::files::write_whole;

/// Values that are held at once, turned into rows, while text is written: so many, and at least this part of all, for
/// every time all columns are walked over.
const TILE_VALUES: u64 = 1 << 23;
const TILES: u64 = 16;

/// One instance: the ids and values of its features that are not zero.
type Row = Vec<(u64, f64)>;

impl Dataset {
    /// Writes svmlight text: a line per instance, features counted from 1, every value exactly.
    pub fn write_svmlight(&self, path: impl AsRef<Path>) -> Result<()> {
        let rows = self.columns.rows();
        let per_row = (self.columns.nonzeros() / rows.max(1) as u64).max(1);
        let tile = (TILE_VALUES / per_row).max(rows as u64 / TILES).max(1) as usize;
        write_whole(path.as_ref(), |out| {
            for start in (0..rows).step_by(tile) {
                let range = start..rows.min(start + tile);
                for (instance, row) in range.clone().zip(rows_of(self.columns.as_ref(), &range)) {
                    self.write_line(instance, &row, out)?;
                }
            }
            Ok(())
        })
    }

    /// Writes a NumPy array of 32-bit floats in Fortran order, so that it is read column by column.
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<()> {
        let (rows, dimension) = (self.columns.rows(), self.columns.dimension());
        write_whole(path.as_ref(), |out| {
            out.write_all(&npy_header(rows, dimension))?;
            let mut next = 0;
            for batch in batches(self.columns.as_ref()) {
                let columns = self.columns.gather(&batch.clone().collect::<Vec<_>>());
                for (position, column) in batch.zip(columns) {
                    let id = self.columns.id(position);
                    // Columns that do not occur are zero.
                    (next..id).try_for_each(|_| write_values(out, std::iter::repeat_n(0.0, rows)))?;
                    write_values(out, values_of(column, rows).into_iter())?;
                    next = id + 1;
                }
            }
            (next..dimension).try_for_each(|_| write_values(out, std::iter::repeat_n(0.0, rows)))
        })
    }

    /// Writes the labels as text, one a line.
    pub fn write_labels(&self, path: impl AsRef<Path>) -> Result<()> {
        write_whole(path.as_ref(), |out| {
            (0..self.labels.len()).try_for_each(|i| writeln!(out, "{}", self.label(i)))
        })
    }

    fn label(&self, instance: usize) -> Cow<'_, str> {
        match self.labels.only_numbers() {
            Some(numbers) => Cow::Owned(numbers[instance].to_string()),
            None => Cow::Borrowed(&self.labels.classes()[self.labels.codes()[instance] as usize]),
        }
    }

    fn write_line(&self, instance: usize, row: &Row, out: &mut impl Write) -> io::Result<()> {
        let label = if self.labels.is_empty() { Cow::Borrowed("0") } else { self.label(instance) };
        out.write_all(label.as_bytes())?;
        for (id, value) in row {
            write!(out, " {}:{value}", u128::from(*id) + 1)?;
        }
        out.write_all(b"\n")
    }
}

fn batches(columns: &dyn Columns) -> impl Iterator<Item = Range<usize>> + use<> {
    let (len, batch) = (columns.len(), columns.batch());
    (0..len).step_by(batch).map(move |start| start..len.min(start + batch))
}

/// The instances of `range`, collected by walking all columns once.
fn rows_of(columns: &dyn Columns, range: &Range<usize>) -> Vec<Row> {
    let mut instances = vec![Row::new(); range.len()];
    for batch in batches(columns) {
        let gathered = columns.gather(&batch.clone().collect::<Vec<_>>());
        for (position, column) in batch.zip(gathered) {
            let id = columns.id(position);
            let mut put = |row: usize, value: f64| {
                if value != 0.0 {
                    instances[row - range.start].push((id, value));
                }
            };
            match column {
                Column::Dense(values) => range.clone().for_each(|i| put(i, values[i])),
                Column::Sparse { rows, values } => {
                    let from = rows.partition_point(|&i| (i as usize) < range.start);
                    let to = rows.partition_point(|&i| (i as usize) < range.end);
                    (from..to).for_each(|k| put(rows[k] as usize, values[k]));
                }
            }
        }
    }
    instances
}

fn values_of(column: Column, rows: usize) -> Vec<f64> {
    match column {
        Column::Dense(values) => values,
        sparse @ Column::Sparse { .. } => {
            let mut values = vec![0.0; rows];
            sparse.add_to(1.0, &mut values);
            values
        }
    }
}

fn write_values(out: &mut impl Write, mut values: impl Iterator<Item = f64>) -> io::Result<()> {
    values.try_for_each(|x| out.write_all(&(x as f32).to_le_bytes()))
}

/// Version 1.0 of the format: magic, version, length, a Python literal padded so that the values start at a multiple of 64.
fn npy_header(rows: usize, columns: u64) -> Vec<u8> {
    let mut text = format!("{{'descr': '<f4', 'fortran_order': True, 'shape': ({rows}, {columns}), }}");
    let before = 10;
    let padding = 63 - (before + text.len()) % 64;
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((text.len() as u16).to_le_bytes());
    header.extend(text.as_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Labels, Names, Sparse, Values};

    /// Three instances of five features, of which the first and the fourth occur.
    fn small() -> Dataset {
        let values = Values::F32(vec![0.5, -2.0, 0.1]);
        let columns = Sparse::new(3, 5, vec![0, 3], vec![0, 2, 3], vec![0, 2, 2], values).unwrap();
        Dataset::new(Box::new(columns), Labels::from_text(["-1", "+1", "-1"]), Names::default(), "small")
    }

    fn written(write: impl Fn(&Dataset, &Path) -> Result<()>) -> Vec<u8> {
        let file = tempfile::NamedTempFile::new().unwrap();
        write(&small(), file.path()).unwrap();
        std::fs::read(file.path()).unwrap()
    }

    #[test]
    fn svmlight_text_is_exact() {
        let text = written(|data, path| data.write_svmlight(path));
        assert_eq!(String::from_utf8(text).unwrap(), "-1 1:0.5\n+1\n-1 1:-2 4:0.10000000149011612\n");
    }

    #[test]
    fn npy_holds_every_column() {
        let bytes = written(|data, path| data.write_npy(path));
        let (header, values) = bytes.split_at(bytes.len() - 3 * 5 * 4);
        assert_eq!(header.len() % 64, 0);
        assert!(String::from_utf8_lossy(header).contains("'shape': (3, 5)"));
        let values: Vec<f32> = values.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
        assert_eq!(values, [0.5, 0., -2., 0., 0., 0., 0., 0., 0., 0., 0., 0.1, 0., 0., 0.]);
    }

    #[test]
    fn labels_are_written_as_they_were_read() {
        assert_eq!(written(|data, path| data.write_labels(path)), b"-1\n+1\n-1\n");
    }
}
