//! Where instances live: storage that knows bytes and nothing of learning.
//!
//! A storage keeps the small contract [`Columns`]. Everything above it (spaces, models) sees only that, so a new
//! storage is one new file.

mod bins;
pub(crate) mod build;
mod dense;
mod except;
pub mod genotypes;
mod joined;
mod lighter;
mod mapped;
mod moments;
mod outputs;
mod part;
mod pieces;
pub mod read;
mod rough;
mod sparse;
pub mod store;
mod view;
mod width;
mod write;

use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use bins::{Bins, Lanes};
pub(crate) use dense::LARGE;
pub use dense::{Dense, Layout, Value, dense_of, dense_over};
pub use except::Except;
pub use genotypes::Genotypes;
pub use joined::Joined;
pub(crate) use lighter::is_lighter_full;
pub use mapped::{explain_cut_files, remove_if_cut};
pub use moments::Moments;
pub use outputs::Outputs;
pub(crate) use outputs::Tile;
pub use part::Part;
pub(crate) use rough::{ByteColumns, COLUMNS, Rounded};
pub(crate) use sparse::is_bytes;
pub use sparse::{Sparse, SparseView, Values, ValuesView};
pub use view::ColumnView;

use crate::error::{Reason, Result};
use crate::parallel;
use crate::table::Recipe;
pub use crate::target::{ClassWeights, Labels};

/// What [`Columns::visit_ahead`] calls: with a position, the column there, and the next column.
pub type VisitAhead<'a> = dyn FnMut(usize, ColumnView<'_>, Option<ColumnView<'_>>) + 'a;

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

    /// The sums `sum_i v_ik x_ij` of every column j of `range`, for every output k.
    ///
    /// `v` holds a vector of [`rows`](Columns::rows) numbers for each output, one after the other, and `out` the sums of each output
    /// likewise: `out[k * range.len() + j] = sum_i v[k * rows + i] * x[i, range.start + j]`. As many outputs as there is room for in
    /// `out`. The data are read once for all outputs, and each sum has the bits that it has where its output is asked for alone.
    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]);

    /// The same, to the bit, for whoever asks for several ranges: what a storage makes of the vectors is made once.
    fn dots_with(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        self.dots(range, v.by_output(), out);
    }

    /// The same sums with the squares of all values: `sum_i v_ik x_ij^2`. Asked for right after [`dots`](Columns::dots) of the same
    /// range, so that values are still at hand.
    fn square_dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        let (rows, width, first) = (self.rows(), range.len(), range.start);
        out.fill(0.0);
        self.visit(range, &mut |position, column| {
            for (v, out) in v.chunks_exact(rows.max(1)).zip(out.chunks_mut(width)) {
                out[position - first] = column.square_dot(v);
            }
        });
    }

    /// All that gains are made of: of the vectors `both`, which are residuals and as many curvatures `d`, the sums of
    /// [`dots`](Columns::dots), and after them those of [`square_dots`](Columns::square_dots) with `d`.
    fn gain_dots(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        gain_dots_apart(self, range, both, out);
    }

    /// Whether there are [rough sums](Columns::rough_dots) that cost far less than exact ones. Asked before every search that would use
    /// them, so that a storage can have a copy made for them when that pays, of no more than `room` bytes.
    fn has_rough(&self, _room: u64) -> bool {
        false
    }

    /// The same of [those for gains](Columns::rough_gain_dots).
    fn has_rough_gains(&self) -> bool {
        false
    }

    /// Bytes of the copy that may be made for rough sums.
    fn rough_bytes(&self) -> u64 {
        0
    }

    /// Sums of which it is known how far they may be from those that [`dots_with`](Columns::dots_with) gives: for all outputs these
    /// sums, one output after the other, and then for all outputs how far off they are at most. Where that is not a number, nothing is
    /// known. Asked for after [`has_rough`](Columns::has_rough).
    fn rough_dots(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        exact_as_rough(out, |sums| self.dots_with(range, v, sums));
    }

    /// The same of what [`gain_dots`](Columns::gain_dots) gives.
    fn rough_gain_dots(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        exact_as_rough(out, |sums| self.gain_dots(range, both, sums));
    }

    /// What the values of every column of `range` add up to, where every instance counts as often as `weights` say.
    fn moments(&self, range: Range<usize>, weights: &[f64]) -> Vec<Moments> {
        let mut moments = Vec::with_capacity(range.len());
        self.visit(range, &mut |_, column| moments.push(Moments::of(&column, weights)));
        moments
    }

    /// The same data by blocks of rows, where these must be read before any other: of data by rows that may be larger than memory.
    fn by_blocks(&self) -> Option<&dyn RowBlocks> {
        None
    }

    /// Copies of the columns at `positions`, in that order.
    fn gather(&self, positions: &[usize]) -> Vec<Column>;

    /// Calls `each` with every position of `range`, in order, and the column there as it lies.
    fn visit(&self, range: Range<usize>, each: &mut dyn FnMut(usize, ColumnView<'_>)) {
        range.for_each(|position| each(position, self.gather(&[position])[0].view()));
    }

    /// The same, each with the column that comes after it in `range`, if that lies in memory as well: whoever works on one may have the
    /// next fetched meanwhile.
    fn visit_ahead(&self, range: Range<usize>, each: &mut VisitAhead<'_>) {
        self.visit(range, &mut |position, column| each(position, column, None));
    }

    /// Bytes that one visit holds copies in, if columns cannot be shown where they lie.
    fn visit_bytes(&self) -> u64 {
        0
    }

    /// Bytes of what is made, once, of the vectors of so many outputs: see [`dots_with`](Columns::dots_with).
    fn laid_bytes(&self, outputs: usize) -> u64 {
        Outputs::bytes(self.rows(), outputs)
    }

    /// Says that these columns will be read soon, whoever is in between: where they are on disk, it is time to fetch them.
    fn will_read(&self, _range: Range<usize>) {}

    /// Lets the system take back what it mapped of files, until it is read again. Without files there is nothing to give.
    fn let_go(&self) {}

    /// At most so many values of the column at `position` are not 0.
    fn filled(&self, _position: usize) -> usize {
        self.rows()
    }

    /// Bytes of data by rows, of which one column costs as much to read as its neighbours too; 0 where columns lie apart.
    fn bytes_by_rows(&self) -> u64 {
        0
    }

    /// Bytes that hold any stored value exactly: 8, or fewer where it is known that fewer do.
    fn value_bytes(&self) -> u64 {
        8
    }

    /// Whether every stored value is 1.
    fn all_ones(&self) -> bool {
        false
    }

    /// The largest absolute value, infinite if a value is not a number. Reads all of them, and asks `go_on` now and then.
    fn largest(&self, go_on: GoOn<'_>) -> Result<f64> {
        self.largest_in(0..self.len(), go_on)
    }

    /// The same of some columns.
    fn largest_in(&self, range: Range<usize>, go_on: GoOn<'_>) -> Result<f64> {
        largest_of_visited(self, range, go_on)
    }
}

/// [`Columns::gain_dots`], one kind of sums after the other.
fn gain_dots_apart<C: Columns + ?Sized>(
    columns: &C,
    range: Range<usize>,
    both: &Outputs<'_>,
    out: &mut [f64],
) {
    let (dots, squares) = out.split_at_mut(out.len() / 3 * 2);
    columns.dots_with(range.clone(), both, dots);
    let (_, d) = both.by_output().split_at(both.by_output().len() / 2);
    columns.square_dots(range, d, squares);
}

/// Exact sums for rough ones, which are off by nothing.
fn exact_as_rough(out: &mut [f64], fill: impl FnOnce(&mut [f64])) {
    let (sums, errors) = out.split_at_mut(out.len() / 2);
    fill(sums);
    errors.fill(0.0);
}

/// The largest absolute value of some columns, for whoever has no faster way: a visit to every one.
fn largest_of_visited<C: Columns + ?Sized>(columns: &C, range: Range<usize>, go_on: GoOn<'_>) -> Result<f64> {
    let (batch, mut most) = (columns.batch().max(1), 0.0_f64);
    for first in range.clone().step_by(batch) {
        go_on()?;
        columns
            .visit(first..range.end.min(first + batch), &mut |_, column| most = most.max(column.largest()));
    }
    Ok(most)
}

impl dyn Columns + '_ {
    /// What `see` makes of the column at `position`.
    pub fn see<T>(&self, position: usize, see: impl FnOnce(ColumnView<'_>) -> T) -> T {
        let (mut see, mut seen) = (Some(see), None);
        self.visit(position..position + 1, &mut |_, column| seen = see.take().map(|see| see(column)));
        seen.expect("every position is visited")
    }

    /// What `see` makes of every column, by all threads.
    pub fn see_all<T: Send>(&self, see: impl Fn(usize, ColumnView<'_>) -> T + Sync) -> Vec<T> {
        let (len, batch) = (self.len(), self.batch().max(1));
        let part = |first: usize| {
            let mut seen = Vec::with_capacity(batch);
            self.visit(first..len.min(first + batch), &mut |position, column| {
                seen.push(see(position, column))
            });
            seen
        };
        parallel::map(len.div_ceil(batch), |task| part(task * batch)).into_iter().flatten().collect()
    }
}

/// An error if a pass over the data is to end before it is done.
pub type GoOn<'a> = &'a (dyn Fn() -> Result<()> + Sync);

/// Data by rows of which so many at a time are read from disk, for all columns.
pub trait RowBlocks: Send + Sync {
    /// Rows that are read at a time.
    fn block(&self) -> usize;

    /// Has these rows read into memory, from the first to the last.
    fn fetch(&self, rows: Range<usize>);

    /// Adds to `out` what these rows contribute to [`Columns::dots`], for every output. If all rows are added in order, block after
    /// block, the sums are the same to the bit.
    fn add_dots(&self, rows: Range<usize>, range: Range<usize>, v: &[f64], out: &mut [f64]);

    /// Copies what a row holds in some columns.
    fn copy_row(&self, row: usize, range: Range<usize>, out: &mut [f64]);

    /// The same as [`add_dots`](RowBlocks::add_dots) for [`Columns::square_dots`].
    fn add_square_dots(&self, rows: Range<usize>, range: Range<usize>, v: &[f64], out: &mut [f64]);
}

/// One feature's values, taken out of a storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// The same, borrowed.
    pub fn view(&self) -> ColumnView<'_> {
        match self {
            Self::Dense(values) => ColumnView::dense(ValuesView::F64(values)),
            Self::Sparse { rows, values } => ColumnView::sparse(rows, ValuesView::F64(values)),
        }
    }

    /// The rows that may hold something else than 0, with their values.
    pub fn entries(&self) -> Box<dyn Iterator<Item = (u32, f64)> + '_> {
        match self {
            Self::Dense(values) => Box::new((0..).zip(values.iter().copied())),
            Self::Sparse { rows, values } => Box::new(rows.iter().copied().zip(values.iter().copied())),
        }
    }

    /// Calls `each` with every row whose value is not 0, in order.
    pub fn each_nonzero(&self, each: impl FnMut(u32, f64)) {
        self.view().each_nonzero(each);
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
    /// Of genotypes, what is known of variants and people.
    pub genotypes: Option<read::Genotyped>,
    /// How the columns of a table became features, where it was one.
    pub recipe: Option<Recipe>,
    /// What may surprise about them.
    pub notes: Vec<Reason>,
}

/// What features are called.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Names {
    list: Vec<String>,
    identify: bool,
    label: Option<String>,
    /// Columns of a table that make several features, and which.
    columns: Vec<(String, Range<u64>)>,
}

impl Names {
    /// Names that are only shown: features are still told apart by their number.
    pub fn shown(list: Vec<String>) -> Self {
        Self { list, ..Self::default() }
    }

    /// Names that identify features, like the header of a table: other data may hold them in another order.
    pub fn identifying(list: Vec<String>) -> Self {
        Self { list, identify: true, ..Self::default() }
    }

    /// The same of a table that has a column of labels too.
    pub fn beside_label(self, column: impl Into<String>) -> Self {
        Self { label: Some(column.into()), ..self }
    }

    /// The same of features that were made of the columns of a table, which may then be spoken of too.
    pub fn of_columns(self, recipe: &Recipe) -> Self {
        let several = recipe.ranges().filter(|(column, range)| {
            self.list[range.start as usize..range.end as usize] != [column.column.as_str()]
        });
        let columns = several.map(|(column, range)| (column.column.clone(), range)).collect();
        Self { columns, ..self }
    }

    /// The features that were made of a column of that name, if that is not one of the same name.
    pub fn column(&self, name: &str) -> Option<Range<u64>> {
        self.columns.iter().find(|(column, _)| column == name).map(|(_, range)| range.clone())
    }

    /// The column of the same table that holds the labels.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
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
    /// Data that are no table.
    pub fn new(columns: Box<dyn Columns>, labels: Labels, names: Names, source: impl Into<String>) -> Self {
        Self {
            columns,
            labels,
            names,
            source: source.into(),
            recipe: None,
            notes: Vec::new(),
            genotypes: None,
        }
    }

    /// Reads a file, recognised by its content: svmlight text, the same compressed, or CSV. `-` is standard input.
    ///
    /// Formats that need to be told more (NumPy arrays need labels) are read with [`read::Reader`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        read::Reader::new().read(path)
    }
}
