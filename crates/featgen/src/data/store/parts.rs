//! A store of parts that a program brings one after the other: for data that are in no file that can be read, and too large
//! to be in memory as a whole.

use std::path::Path;

use super::convert::{Conversion, Converted, Known, write};
use super::runs::Runs;
use crate::data::{Columns, Labels, Names, SparseView};
use crate::error::{Error, Result};
use crate::files::WholeFile;

/// Takes rows, or columns, some at a time, and writes a store, which appears whole or not at all. Each part is put aside on
/// disk at once.
///
/// ```
/// # fn main() -> featgen::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("made.store");
/// use featgen::data::store::{Conversion, Store, StoreBuilder};
/// use featgen::data::{Columns, Labels, Names, SparseView, ValuesView};
/// let mut builder = StoreBuilder::create(&path, Conversion::default())?;
/// // Two rows of three features, twice: the first feature is 1 in both rows, the third in the second.
/// let part = SparseView::new(2, 3, Some(&[0, 2]), &[0, 2, 3], &[0, 1, 1], ValuesView::Ones)?;
/// builder.rows(part)?;
/// builder.rows(part)?;
/// builder.finish(&Labels::from_numbers(vec![1.0, 2.0, 3.0, 4.0]), &Names::default())?;
/// assert_eq!(Store::open(&path)?.rows(), 4);
/// # Ok(())
/// # }
/// ```
pub struct StoreBuilder {
    file: WholeFile,
    runs: Runs,
    options: Conversion,
    rows: u64,
    dimension: u64,
    /// What parts are; the first decides.
    parts: Option<Parts>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parts {
    SparseRows,
    DenseRows,
    /// All rows of some columns, up to this id.
    Columns {
        last: Option<u64>,
    },
}

impl StoreBuilder {
    /// Begins a store in the file `path`.
    pub fn create(path: impl AsRef<Path>, options: Conversion) -> Result<Self> {
        let path = path.as_ref();
        let file = WholeFile::create(path)?;
        Ok(Self { file, runs: Runs::beside(path, None)?, options, rows: 0, dimension: 0, parts: None })
    }

    /// Adds rows after those that are there.
    pub fn rows(&mut self, part: SparseView<'_>) -> Result<()> {
        self.expect(Parts::SparseRows, &part)?;
        self.runs.put_sparse_aside(part, self.rows)?;
        self.rows += part.rows() as u64;
        Ok(())
    }

    /// Adds rows, all of whose values are written down, after those that are there.
    pub fn dense_rows(&mut self, part: &dyn Columns) -> Result<()> {
        self.expect(Parts::DenseRows, part)?;
        self.runs.put_dense_aside(part)?;
        self.rows += part.rows() as u64;
        Ok(())
    }

    /// Adds columns, with all of their rows, after those that are there.
    pub fn columns(&mut self, part: SparseView<'_>) -> Result<()> {
        let before = match self.parts {
            Some(Parts::Columns { last }) => last,
            _ => None,
        };
        self.expect(Parts::Columns { last: before }, &part)?;
        let [first, last] = [0, part.len().saturating_sub(1)].map(|k| (k < part.len()).then(|| part.id(k)));
        if before.is_some() && first.is_some() && first <= before {
            return Err(Error::Data("columns must come in order".into()));
        }
        self.runs.put_sparse_aside(part, 0)?;
        self.rows = part.rows() as u64;
        self.parts = Some(Parts::Columns { last: last.or(before) });
        Ok(())
    }

    /// Whether a part is like those before.
    fn expect(&mut self, kind: Parts, part: &dyn Columns) -> Result<()> {
        let (rows, dimension) = (part.rows() as u64, part.dimension());
        let whole = matches!(kind, Parts::Columns { .. });
        match self.parts {
            None => (self.parts, self.dimension) = (Some(kind), dimension),
            Some(before) if before != kind => {
                return Err(Error::Data("parts of a store must be of one kind".into()));
            }
            Some(_) if dimension != self.dimension || (whole && rows != self.rows) => {
                let (n, m) = (self.rows, self.dimension);
                return Err(Error::Data(format!("a part of {rows} x {dimension} after {n} x {m}")));
            }
            Some(_) => {}
        }
        let all = if whole { rows } else { self.rows + rows };
        if u32::try_from(all).is_err() {
            return Err(Error::Data(format!("{all} rows: at most {} are supported", u32::MAX)));
        }
        Ok(())
    }

    /// Writes the store. There are labels of all rows or none, and names of all features or none.
    pub fn finish(self, labels: &Labels, names: &Names) -> Result<Converted> {
        let Self { file, runs, options, rows, dimension, .. } = self;
        if rows == 0 {
            return Err(Error::Data("no instances".into()));
        }
        if !labels.is_empty() && labels.len() as u64 != rows {
            return Err(Error::Data(format!("{} labels for {rows} instances", labels.len())));
        }
        let named = names.list().len() as u64;
        if named != 0 && named != dimension {
            return Err(Error::Data(format!("{named} names for {dimension} features")));
        }
        let source = Box::new(runs.few_enough(options.memory)?);
        let known = Known { labels, names, recipe: None };
        write(file, source, [rows, dimension], &options, &known, &mut |_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;
    use crate::data::{Dense, Layout, ValuesView};

    /// One row of four features, of which the third is 1.
    fn row() -> SparseView<'static> {
        SparseView::new(1, 4, Some(&[2]), &[0, 1], &[0], ValuesView::Ones).unwrap()
    }

    /// The column of that id in three rows, the first of which has a 2.
    fn column(id: &'static [u64]) -> SparseView<'static> {
        SparseView::new(3, 4, Some(id), &[0, 1], &[0], ValuesView::F32(&[2.0])).unwrap()
    }

    fn builder(folder: &tempfile::TempDir) -> StoreBuilder {
        StoreBuilder::create(folder.path().join("store"), Conversion::default()).unwrap()
    }

    fn said<T>(result: Result<T>) -> String {
        result.map(drop).unwrap_err().to_string()
    }

    #[test]
    fn columns_follow_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let mut builder = builder(&folder);
        builder.columns(column(&[1])).unwrap();
        builder.columns(column(&[3])).unwrap();
        assert_eq!(said(builder.columns(column(&[3]))), "columns must come in order");
        let made = builder.finish(&Labels::default(), &Names::default()).unwrap();
        assert_eq!((made.rows, made.dimension, made.nonzeros), (3, 4, 2));
        let store = Store::open(folder.path().join("store")).unwrap();
        assert_eq!((store.position(1), store.position(2), store.position(3)), (Some(0), None, Some(1)));
    }

    #[test]
    fn parts_must_fit_together() {
        let folder = tempfile::tempdir().unwrap();
        let dense = Dense::<f32, _>::new(vec![1.0; 4], 1, 4, Layout::RowMajor).unwrap();
        let narrow = Dense::<f32, _>::new(vec![1.0; 3], 1, 3, Layout::RowMajor).unwrap();
        let mut rows = builder(&folder);
        rows.dense_rows(&dense).unwrap();
        assert_eq!(said(rows.dense_rows(&narrow)), "a part of 1 x 3 after 1 x 4");
        assert_eq!(said(rows.rows(row())), "parts of a store must be of one kind");
        assert_eq!(said(rows.columns(column(&[1]))), "parts of a store must be of one kind");
        let (two, names) = (Labels::from_numbers(vec![1.0, 2.0]), Names::shown(vec!["a".into()]));
        assert_eq!(said(rows.finish(&two, &Names::default())), "2 labels for 1 instances");
        let mut rows = builder(&folder);
        rows.rows(row()).unwrap();
        assert_eq!(said(rows.finish(&Labels::default(), &names)), "1 names for 4 features");
        let empty = builder(&folder).finish(&Labels::default(), &Names::default());
        assert_eq!(said(empty), "no instances");
        assert!(!folder.path().join("store").exists());
    }
}
