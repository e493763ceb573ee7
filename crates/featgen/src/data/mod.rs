//! Where instances live: storage that knows bytes and nothing of learning.
//!
//! A storage keeps the small contract [`Columns`]. Everything above it (spaces, models) sees only that, so a new
//! storage is one new file.

mod bins;
pub(crate) mod build;
mod dense;
mod labels;
pub mod read;
mod sparse;
pub mod store;
mod width;
mod write;

use std::ops::Range;
use std::path::Path;

pub use bins::{Bins, Lanes};
pub use dense::{Dense, Layout, Real};
pub(crate) use labels::same_number;
pub use labels::{Binary, ClassWeights, Labels};
pub use sparse::{Sparse, SparseRows, SparseView, Values, ValuesView};

use crate::error::Result;

/// Instances stored so that one feature's values can be read together.
///
/// Columns are addressed by *position*, `0..len()`, in increasing order of their *id*. A storage holds only columns that
/// occur, so ids may be any `u64` (hashed features are normal) and `len()` may be far below [`dimension`](Columns::dimension).
///
/// Sums over one column run in an order fixed by the storage alone: never by threads or by which columns are asked for
/// together. That is what makes results the same, bit for bit, on any number of threads.
pub trait Columns: Send + Sync {
    /// Number of instances.
    fn rows(&self) -> usize;

    /// Number of columns held.
    fn len(&self) -> usize;

    /// Whether no column is held.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the largest id: how many features the data have, counting those that never occur.
    fn dimension(&self) -> u64;

    /// Number of stored values: all of them in dense storage.
    fn nonzeros(&self) -> u64;

    /// The id of the column at `position`.
    fn id(&self, position: usize) -> u64;

    /// Where the column `id` is, if it occurs.
    fn position(&self, id: u64) -> Option<usize>;

    /// How many neighbouring columns are best read in one go by one thread.
    fn batch(&self) -> usize;

    /// `out[k] = sum_i v[i] * x[i, range.start + k]`.
    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]);

    /// The same data by blocks of rows, where these must be read before any other: of data by rows that may be larger than memory.
    fn by_blocks(&self) -> Option<&dyn RowBlocks> {
        None
    }

    /// Copies of the columns at `positions`, in that order.
    fn gather(&self, positions: &[usize]) -> Vec<Column>;

    /// `sum_i v[i] * x[i]^2` of the columns of `range`, over the instances with `v[i] > 0` and, made positive, over those
    /// with `v[i] < 0`.
    fn square_dots(&self, range: Range<usize>, v: &[f64]) -> Vec<[f64; 2]> {
        range.map(|position| self.gather(&[position])[0].square_dot(v)).collect()
    }

    /// Adds `v[i]` to one of the lanes of `sums[level]` for every instance, by the level of its value in the column at
    /// `position`. Level 0 need not be counted.
    fn histogram(&self, position: usize, v: &[f64], bins: &Bins, sums: &mut [Lanes]) {
        match &self.gather(&[position])[0] {
            Column::Dense(values) => bins.add_dense(values, v, sums),
            Column::Sparse { rows, values } => bins.add(rows, values, v, sums),
        }
    }

    /// At most so many values of the column at `position` are not 0.
    fn filled(&self, _position: usize) -> usize {
        self.rows()
    }

    /// Adds 1 to `counts[i]` for every instance `i` whose value in the column at `position` is not 0.
    fn tally(&self, position: usize, counts: &mut [u32]) {
        self.gather(&[position])[0].each_nonzero(|row, _| counts[row as usize] += 1);
    }

    /// Puts the rows and values of the column at `position` into `out` if it has at most `most`; says whether it has.
    fn short_column(&self, _position: usize, _most: usize, _out: &mut Vec<(u32, f64)>) -> bool {
        false
    }

    /// Whether every stored value is a 32-bit float.
    fn is_narrow(&self) -> bool {
        false
    }

    /// Whether every stored value is 1.
    fn all_ones(&self) -> bool {
        false
    }
}

/// Data by rows of which so many at a time are read from disk, for all columns.
pub trait RowBlocks: Send + Sync {
    /// Rows that are read at a time.
    fn block(&self) -> usize;

    /// Has these rows read into memory, from the first to the last.
    fn fetch(&self, rows: Range<usize>);

    /// Adds to `out[k]` what these rows contribute to [`Columns::dots`]. If all rows are added in order, block after block, the
    /// sums are the same to the bit.
    fn add_dots(&self, rows: Range<usize>, range: Range<usize>, v: &[f64], out: &mut [f64]);
}

/// One feature's values, taken out of a storage.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// A value for every row.
    Dense(Vec<f64>),
    /// Values where they are not zero; rows increase.
    Sparse {
        /// Rows with a value.
        rows: Vec<u32>,
        /// Their values.
        values: Vec<f64>,
    },
}

impl Column {
    /// `sum_i v[i] * x[i]^2` over positive and, made positive, over negative `v[i]`.
    fn square_dot(&self, v: &[f64]) -> [f64; 2] {
        let mut sums = [0.0; 2];
        let mut add = |v: f64, x: f64| sums[usize::from(v < 0.0)] += v.abs() * x * x;
        match self {
            Self::Dense(values) => v.iter().zip(values).for_each(|(&v, &x)| add(v, x)),
            Self::Sparse { rows, values } => {
                rows.iter().zip(values).for_each(|(&i, &x)| add(v[i as usize], x));
            }
        }
        sums
    }

    /// The rows that may hold something else than 0, with their values.
    pub fn entries(&self) -> Box<dyn Iterator<Item = (u32, f64)> + '_> {
        match self {
            Self::Dense(values) => Box::new((0..).zip(values.iter().copied())),
            Self::Sparse { rows, values } => Box::new(rows.iter().copied().zip(values.iter().copied())),
        }
    }

    /// Calls `each` with every row whose value is not 0, in order.
    pub fn each_nonzero(&self, mut each: impl FnMut(u32, f64)) {
        match self {
            Self::Dense(values) => {
                (0..).zip(values).filter(|(_, x)| **x != 0.0).for_each(|(row, &x)| each(row, x));
            }
            Self::Sparse { rows, values } => {
                rows.iter().zip(values).filter(|(_, x)| **x != 0.0).for_each(|(&row, &x)| each(row, x));
            }
        }
    }

    /// The column with every value replaced; `f(0)` must be 0.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        let map = |values: &[f64]| values.iter().map(|&x| f(x)).collect();
        match self {
            Self::Dense(values) => Self::Dense(map(values)),
            Self::Sparse { rows, values } => Self::Sparse { rows: rows.clone(), values: map(values) },
        }
    }

    /// The product with another column, instance by instance.
    pub fn times(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Dense(a), Self::Dense(b)) => Self::Dense(a.iter().zip(b).map(|(a, b)| a * b).collect()),
            (Self::Dense(a), Self::Sparse { rows, values })
            | (Self::Sparse { rows, values }, Self::Dense(a)) => {
                let product = rows.iter().zip(values).map(|(&i, x)| a[i as usize] * x);
                Self::Sparse { rows: rows.clone(), values: product.collect() }
            }
            (Self::Sparse { rows, values }, Self::Sparse { rows: others, values: factors }) => {
                let (mut k, mut kept, mut product) = (0, Vec::new(), Vec::new());
                for (&i, x) in rows.iter().zip(values) {
                    k += others[k..].iter().take_while(|&&other| other < i).count();
                    if others.get(k) == Some(&i) {
                        kept.push(i);
                        product.push(x * factors[k]);
                    }
                }
                Self::Sparse { rows: kept, values: product }
            }
        }
    }

    /// `out[i] += weight * x[i]`.
    pub fn add_to(&self, weight: f64, out: &mut [f64]) {
        match self {
            Self::Dense(values) => out.iter_mut().zip(values).for_each(|(o, x)| *o += weight * x),
            Self::Sparse { rows, values } => {
                rows.iter().zip(values).for_each(|(&i, x)| out[i as usize] += weight * x);
            }
        }
    }
}

/// Data as a reader delivers them: columns, labels, and names where the source has them.
pub struct Dataset {
    /// The features' values.
    pub columns: Box<dyn Columns>,
    /// The instances' classes; empty if the source has none.
    pub labels: Labels,
    /// What the features are called.
    pub names: Names,
    /// Where the data came from, for messages.
    pub source: String,
}

/// What features are called.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Names {
    list: Vec<String>,
    identify: bool,
}

impl Names {
    /// Names that are only shown: features are still told apart by their number.
    pub fn shown(list: Vec<String>) -> Self {
        Self { list, identify: false }
    }

    /// Names that identify features, like the header of a table: other data may hold them in another order.
    pub fn identifying(list: Vec<String>) -> Self {
        Self { list, identify: true }
    }

    /// The name of feature `id`, if it has one.
    pub fn get(&self, id: u64) -> Option<&str> {
        self.list.get(usize::try_from(id).ok()?).map(String::as_str)
    }

    /// The name of feature `id`, or its number counted from 1.
    pub fn show(&self, id: u64) -> String {
        self.get(id).map_or_else(|| (u128::from(id) + 1).to_string(), str::to_owned)
    }

    /// Whether features are told apart by name rather than by number.
    pub fn identify(&self) -> bool {
        self.identify
    }

    /// All names, in order of feature number; may be empty.
    pub fn list(&self) -> &[String] {
        &self.list
    }
}

impl Dataset {
    /// Reads a file, recognised by its content: svmlight text, the same compressed, or CSV. `-` is standard input.
    ///
    /// Formats that need to be told more (NumPy arrays need labels) are read with [`read::Reader`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        read::Reader::new().read(path)
    }
}
