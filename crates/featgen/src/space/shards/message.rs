//! What a driver and its shards say to each other, as bytes. Floats keep all their bits.
//!
//! A request holds everything that its answer depends on beside the columns of the shard: it may be asked again, of any process that
//! holds the same columns.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::space::additive::Curves;
use crate::space::topb::Wanted;
use crate::space::{Gain, Scaling};

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
pub(super) enum Question<'a> {
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
}

/// Vectors of one number per instance, one after the other.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Vectors<'a> {
    pub(super) v: Cow<'a, [f64]>,
    pub(super) outputs: usize,
}

/// How columns are weighed.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Weighing<'a> {
    pub(super) scaling: Scaling,
    /// How often instances count, if not once each.
    pub(super) weights: Option<Cow<'a, [f64]>>,
}

/// What is looked for.
#[derive(Serialize, Deserialize)]
pub(super) struct Search<'a> {
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
    pub(super) narrow: bool,
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

/// A reply, or an error in words, as bytes.
pub(super) fn write_reply(reply: &Result<impl Serialize, String>) -> Vec<u8> {
    let written = postcard::to_allocvec(reply);
    // There is nothing in a reply that cannot be written; should there be, the driver will not read this either.
    written.unwrap_or_default()
}

/// A reply from bytes.
pub(super) fn read_reply<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    match postcard::from_bytes::<Result<T, String>>(bytes) {
        Ok(Ok(reply)) => Ok(reply),
        Ok(Err(message)) => Err(Error::Data(message)),
        Err(error) => Err(Error::Data(format!("a damaged reply of a shard: {error}"))),
    }
}
