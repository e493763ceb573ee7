//! What a driver and its shards say to each other, as bytes. Floats keep all their bits.
//!
//! A request holds everything that its answer depends on beside the columns of the shard: it may be asked again, of any process that
//! holds the same columns.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::data::{Column, ColumnView, ValuesView};
use crate::error::{Error, Result};
use crate::space::additive::Curves;
use crate::space::ask::Residuals;
use crate::space::topb::Wanted;
use crate::space::{Gain, Scaling, poly, products};

/// The program that wrote a message: messages of another version may mean something else.
const PROGRAM: &str = concat!("featgen ", env!("CARGO_PKG_VERSION"));

/// A question about the columns of a shard, without those that are hidden as the model has them in any case.
#[derive(Serialize, Deserialize)]
pub(super) struct Request<'a> {
    /// The ids of the columns that are hidden.
    pub(super) hidden: Cow<'a, [u64]>,
    pub(super) question: Question<'a>,
}

/// What may be asked, and what the answer is. Columns are spoken of by their ids; numbers for columns are in order of these.
#[derive(Serialize, Deserialize)]
pub(in crate::space) enum Question<'a> {
    /// [`Facts`].
    Facts,
    /// For every column, at most how many of its values are not 0: `Vec<u32>`.
    Filled,
    /// The largest absolute value: `f64`.
    Largest,
    /// The sums of the columns in a range of ids with every output, output after output; with the squares of values if that is said.
    /// `Vec<f64>`.
    Sums { ids: Range<u64>, v: Vectors<'a>, squared: bool },
    /// The moments of all columns, whose instances count as often as the weights say: `Vec<Moments>`.
    Moments { weights: Cow<'a, [f64]> },
    /// Those of some columns that are there: `Vec<(u64, Column)>`.
    Columns { ids: Cow<'a, [u64]> },
    /// The best columns by score, of all and of those that are not taken: [`Best`].
    ByScore { search: Search<'a> },
    /// The best columns by score and, of those that are not taken, by gain: [`Best`].
    ByGain { search: Search<'a>, gain: Gain<'a> },
    /// The gains of those of some columns that are there: `Vec<(u64, f64)>`.
    Gains { weighing: Option<Weighing<'a>>, v: Vectors<'a>, gain: Gain<'a>, ids: Cow<'a, [u64]> },
    /// The scale of every curve: `Vec<f64>`.
    CurveScales { curves: Cow<'a, Curves> },
    /// The best curves of some inputs: [`Best`].
    SomeCurves { curves: Cow<'a, Curves>, search: Search<'a>, ids: Cow<'a, [u64]> },
    /// The best curves of all inputs but some, as far as they may reach `floor`: [`Best`].
    OtherCurves { curves: Cow<'a, Curves>, search: Search<'a>, done: Cow<'a, [u64]>, floor: f64 },
    /// About products of two.
    Poly(poly::shards::Question<'a>),
    /// About products of any number.
    Products(products::shards::Question<'a>),
}

/// Vectors of one number per instance, one after the other.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::space) struct Vectors<'a> {
    pub(in crate::space) v: Cow<'a, [f64]>,
    pub(in crate::space) outputs: usize,
}

impl<'a> Vectors<'a> {
    pub(in crate::space) fn of(v: Residuals<'a>) -> Self {
        Self { v: Cow::Borrowed(v.v), outputs: v.outputs }
    }

    /// The same, if they are of so many rows.
    pub(in crate::space) fn checked(&self, rows: usize) -> Result<Residuals<'_>> {
        let (held, outputs) = (self.v.len(), self.outputs);
        let fits = outputs > 0 && rows.checked_mul(outputs) == Some(held);
        let other = || Error::Data(format!("{held} numbers for {rows} rows and {outputs} outputs"));
        fits.then_some(Residuals { v: &self.v, rows, outputs }).ok_or_else(other)
    }
}

/// A column that is passed on to shards that do not have it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::space) struct SentColumn {
    rows: Vec<u32>,
    /// Empty where all are 1.
    values: Vec<f64>,
}

impl SentColumn {
    /// What is not 0 in the rows that are of use.
    pub(in crate::space) fn new(column: &Column, of_use: impl Fn(u32) -> bool) -> Self {
        let (mut rows, mut values) = (Vec::new(), Vec::new());
        column.each_nonzero(|row, x| {
            if of_use(row) {
                rows.push(row);
                values.push(x);
            }
        });
        if values.iter().all(|x| *x == 1.0) {
            values.clear();
        }
        Self { rows, values }
    }

    /// An error if it is no column of so many rows.
    pub(in crate::space) fn check(&self, rows: usize) -> Result<()> {
        let ends = self.rows.last().is_none_or(|&last| (last as usize) < rows);
        let fits = self.values.is_empty() || self.values.len() == self.rows.len();
        let sound = ends && fits && self.rows.is_sorted_by(|a, b| a < b);
        sound.then_some(()).ok_or_else(|| Error::Data(format!("a damaged column of {rows} rows")))
    }

    pub(in crate::space) fn view(&self) -> ColumnView<'_> {
        let ones = self.values.is_empty();
        ColumnView::sparse(&self.rows, if ones { ValuesView::Ones } else { ValuesView::F64(&self.values) })
    }

    /// How many values it has.
    pub(in crate::space) fn len(&self) -> usize {
        self.rows.len()
    }
}

/// How columns are weighed.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::space) struct Weighing<'a> {
    pub(super) scaling: Scaling,
    /// How often instances count, if not once each.
    pub(super) weights: Option<Cow<'a, [f64]>>,
}

/// What is looked for.
#[derive(Serialize, Deserialize)]
pub(in crate::space) struct Search<'a> {
    pub(super) weighing: Option<Weighing<'a>>,
    pub(super) v: Vectors<'a>,
    pub(super) wanted: Wanted,
    /// The ids of candidates that are taken.
    pub(super) taken: Cow<'a, [u64]>,
}

/// What was found, by ids, and how many were scored.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Best {
    pub(super) best: Vec<(f64, u64)>,
    pub(super) fresh: Vec<(f64, u64)>,
    pub(super) scored: u128,
}

/// What is to be known of the columns of a shard.
#[derive(Serialize, Deserialize)]
pub(super) struct Facts {
    pub(super) rows: usize,
    pub(super) dimension: u64,
    pub(super) nonzeros: u64,
    /// The ids of its columns, in ranges that follow each other.
    pub(super) ids: Vec<Range<u64>>,
    pub(super) bytes_by_rows: u64,
    pub(super) value_bytes: u64,
    pub(super) ones: bool,
}

/// A request as bytes.
pub(super) fn write_request(request: &Request<'_>) -> Result<Vec<u8>> {
    let unwritable = |error: postcard::Error| Error::Data(format!("a request to shards: {error}"));
    let bytes = postcard::to_extend(PROGRAM, Vec::new()).map_err(unwritable)?;
    postcard::to_extend(request, bytes).map_err(unwritable)
}

/// A request from bytes, or why it is none.
pub(super) fn read_request(bytes: &[u8]) -> Result<Request<'static>> {
    let (program, rest) = postcard::take_from_bytes::<Cow<'_, str>>(bytes)
        .map_err(|_| Error::Data("not a request of featgen".into()))?;
    if program != PROGRAM {
        let program: String = program.chars().take(60).collect();
        return Err(Error::Data(format!(
            "the driver has {program}, the worker {PROGRAM}: both need the same version"
        )));
    }
    postcard::from_bytes(rest).map_err(|error| Error::Data(format!("a damaged request: {error}")))
}

/// Why there is no answer. A shard does not know what features are called: the driver says it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Failure {
    Words(String),
    Value { id: u64, row: Option<u64>, reason: String },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Value { id, row, reason, .. } => Self::Value { id, row, reason },
            error => Self::Words(error.to_string()),
        }
    }
}

impl Failure {
    /// The same in the driver, with the names that it has.
    fn named(self, name: impl Fn(u64) -> String) -> Error {
        match self {
            Self::Words(words) => Error::Data(words),
            Self::Value { id, row, reason } => Error::Value { id, name: name(id), row, reason },
        }
    }
}

/// A reply, or why there is none, as bytes.
pub(super) fn write_reply(reply: &Result<impl Serialize, Failure>) -> Vec<u8> {
    let written = postcard::to_allocvec(reply);
    // There is nothing in a reply that cannot be written; should there be, the driver will not read this either.
    written.unwrap_or_default()
}

/// A reply from bytes; an error says of features what `name` calls them.
pub(super) fn read_reply<T: DeserializeOwned>(bytes: &[u8], name: impl Fn(u64) -> String) -> Result<T> {
    match postcard::from_bytes::<Result<T, Failure>>(bytes) {
        Ok(reply) => reply.map_err(|failure| failure.named(name)),
        Err(error) => Err(Error::Data(format!("a damaged reply of a shard: {error}"))),
    }
}
