//! A run between two rounds, in a file: enough to go on as if it had never ended, and no more. Columns are not kept, for the
//! space makes them again; what the solver keeps is, for its roundings come from all that it went through.
//!
//! ```text
//! prologue   24 bytes: magic, version, zeros, length of the header
//! header     JSON: what the run was made with, where it is, lengths of the arrays
//! arrays     64-bit floats: decision values, weights, what the solver keeps
//! checksum   8 bytes: of all bytes before
//! ```
//!
//! All numbers are little-endian.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::best::{Caution, Exchange};
use super::params::{Machine, Plan, Select};
use super::schedule::Schedule;
use crate::data::{ClassWeights, Labels};
use crate::digest::digest;
use crate::error::{Error, Reason, Result};
use crate::files;
use crate::model::Round;
use crate::space::{Candidate, FeatureSpace};

/// Who makes checkpoints and models.
pub(super) const PROGRAM: &str = concat!("featgen ", env!("CARGO_PKG_VERSION"));

const MAGIC: &[u8; 8] = b"featgenC";
const VERSION: u32 = 8;
const PROLOGUE: usize = 24;
const CHECKSUM: usize = 8;

/// Floats that are turned into bytes together.
const CHUNK: usize = 1 << 13;

/// Where a run's checkpoint is, and what the run is made with.
pub(super) struct Checkpoint {
    path: PathBuf,
    made: Made,
}

/// All that the result depends on.
#[derive(Debug, Serialize, Deserialize)]
struct Made {
    /// Other versions may round differently.
    program: String,
    data: Data,
    /// Options by name with their values: the machine's and the space's.
    settings: Vec<(String, String)>,
    rules: Rules,
}

#[derive(Debug, Serialize, Deserialize)]
struct Data {
    rows: u64,
    features: u64,
    nonzeros: u64,
    candidates: u128,
    classes: Vec<String>,
    /// Digests.
    labels: u64,
    weights: u64,
    kept: u64,
    offset: u64,
    names: u64,
    values: u64,
}

/// When to stop. These may change from run to run, as long as the rounds made would have been the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Rules {
    max_rounds: usize,
    tol: f64,
    gap: Option<f64>,
    features: Option<usize>,
    select: Select,
}

/// Where a run is, but for its arrays.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Progress {
    pub(super) schedule: Schedule,
    /// Whether a block was ever made smaller so as not to have more features than wanted.
    pub(super) cut: bool,
    /// How far the exchange of features has come.
    pub(super) exchange: Exchange,
    /// How far the cost was lowered at which candidates are looked at.
    pub(super) caution: Caution,
    /// The weights of what is never penalised.
    pub(super) free: Vec<f64>,
    pub(super) objective: f64,
    /// That of no features.
    pub(super) null: f64,
    /// None before the first round.
    pub(super) decrease: Option<f64>,
    pub(super) lower_bound: f64,
    /// What was taken, by what was taken together.
    pub(super) taken: Vec<Vec<Candidate>>,
    /// What blocks are made of, by number.
    pub(super) blocks: Vec<Vec<u32>>,
    /// As the model keeps them; their terms are all that were taken.
    pub(super) rounds: Vec<Round>,
}

/// What the file says before its arrays.
#[derive(Deserialize)]
struct Header {
    made: Made,
    progress: Progress,
    lengths: Vec<usize>,
}

#[derive(Serialize)]
struct HeaderOf<'a> {
    made: &'a Made,
    progress: &'a Progress,
    lengths: Vec<usize>,
}

/// What was read from a file.
pub(super) struct Saved {
    pub(super) progress: Progress,
    pub(super) arrays: Vec<Vec<f64>>,
}

impl Checkpoint {
    /// The checkpoint `path` of a run with these parameters, and where it left the run if it is there already.
    pub(super) fn open(
        path: &Path,
        machine: &Machine,
        plan: &Plan,
        space: &dyn FeatureSpace,
        labels: &Labels,
        cost: f64,
    ) -> Result<(Self, Option<Saved>)> {
        let here = |reason: Reason| Error::input(path.display().to_string().as_str(), reason);
        files::check_writable(path)?;
        if path.metadata().is_ok_and(|what| !what.is_file()) {
            return Err(here("a checkpoint must be an ordinary file".into()));
        }
        let mut made = Made {
            program: PROGRAM.to_owned(),
            data: Data::of(space, machine, labels),
            settings: settings(machine, plan, space, cost),
            rules: Rules {
                max_rounds: plan.max_rounds,
                tol: plan.tol,
                gap: machine.gap,
                features: machine.features,
                select: plan.select,
            },
        };
        let file = match std::fs::read(path) {
            Ok(file) => Some(file),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(Error::io(path.display(), e)),
        };
        let found = file.map(|file| parse(&file)).transpose().map_err(|reason| here(reason.into()))?;
        if let Some((header, _)) = &found {
            let differs = made.differs(&header.made, &header.progress);
            differs.map_or(Ok(()), |reason| Err(here(reason)))?;
        }
        // Last, for it takes a look at all values.
        let interrupted = |_| here("interrupted while the data were compared with it".into());
        made.data.values = space.data().fingerprint().map_err(interrupted)?;
        if found.as_ref().is_some_and(|(header, _)| header.made.data.values != made.data.values) {
            return Err(here(OTHER_VALUES.into()));
        }
        let saved = found.map(|(header, arrays)| Saved { progress: header.progress, arrays });
        Ok((Self { path: path.to_path_buf(), made }, saved))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file; if that fails, the last one stays.
    pub(super) fn save(&self, progress: &Progress, arrays: &[Cow<'_, [f64]>]) -> Result<()> {
        let lengths = arrays.iter().map(|array| array.len()).collect();
        let header = serde_json::to_vec(&HeaderOf { made: &self.made, progress, lengths })
            .map_err(|e| Error::io(self.path.display(), e.into()))?;
        files::write_whole(&self.path, |out| {
            let mut hasher = Xxh3::new();
            let mut put = |bytes: &[u8]| {
                hasher.update(bytes);
                out.write_all(bytes)
            };
            put(MAGIC)?;
            put(&VERSION.to_le_bytes())?;
            put(&[0; 4])?;
            put(&(header.len() as u64).to_le_bytes())?;
            put(&header)?;
            let mut bytes = Vec::with_capacity(8 * CHUNK);
            for part in arrays.iter().flat_map(|array| array.chunks(CHUNK)) {
                bytes.clear();
                bytes.extend(part.iter().flat_map(|x| x.to_le_bytes()));
                put(&bytes)?;
            }
            out.write_all(&hasher.digest().to_le_bytes())
        })
    }
}

/// Header and arrays of a file, or what is wrong with it. Whether they fit each other and the data is still to be seen.
fn parse(file: &[u8]) -> Result<(Header, Vec<Vec<f64>>), String> {
    let damaged = || "the checkpoint is incomplete or damaged".to_owned();
    if !file.starts_with(&MAGIC[..file.len().min(MAGIC.len())]) {
        return Err("not a featgen checkpoint".into());
    }
    if file.len() < PROLOGUE + CHECKSUM {
        return Err(damaged());
    }
    let (content, checksum) = file.split_at(file.len() - CHECKSUM);
    let sound = xxh3_64(content).to_le_bytes() == checksum;
    let version = u32::from_le_bytes(file[8..12].try_into().expect("four bytes"));
    if version != VERSION && sound {
        return Err(format!("the checkpoint has version {version}; this featgen reads version {VERSION}"));
    }
    if !sound {
        return Err(damaged());
    }
    let length = u64::from_le_bytes(file[16..24].try_into().expect("eight bytes"));
    let length = usize::try_from(length).ok().filter(|&length| length <= content.len() - PROLOGUE);
    let (header, mut rest) = content[PROLOGUE..].split_at(length.ok_or_else(damaged)?);
    let header: Header = serde_json::from_slice(header).map_err(|e| format!("a strange checkpoint: {e}"))?;
    let mut arrays = Vec::with_capacity(header.lengths.len());
    for &length in &header.lengths {
        let bytes = length.checked_mul(8).filter(|&bytes| bytes <= rest.len()).ok_or_else(damaged)?;
        let (array, after) = rest.split_at(bytes);
        let (numbers, _) = array.as_chunks::<8>();
        arrays.push(numbers.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect::<Vec<f64>>());
        rest = after;
    }
    if !rest.is_empty() || arrays.iter().flatten().any(|x| !x.is_finite()) {
        return Err(damaged());
    }
    Ok((header, arrays))
}

/// The setting that says how columns are weighed: the kind of scale, and a checksum.
const SCALE: &str = "scale";

const OTHER_VALUES: &str = "the checkpoint is for other values in the data, or for the same in a storage that rounds sums \
                            differently (dense and not sparse, or by rows and not by columns)";

impl Data {
    /// All but the digest of the values.
    fn of(space: &dyn FeatureSpace, machine: &Machine, labels: &Labels) -> Self {
        let data = space.data();
        let bits = |x: Option<&[f64]>| x.map(|x| bytemuck::cast_slice::<f64, u64>(x).to_vec());
        Self {
            rows: data.rows() as u64,
            features: data.dimension(),
            nonzeros: data.nonzeros(),
            candidates: space.size(),
            classes: labels.classes().to_vec(),
            labels: digest((labels.codes(), bits(labels.only_numbers()))),
            weights: digest(bits(labels.weights())),
            kept: digest((machine.kept.ids(), machine.kept.digest())),
            offset: digest(bits(machine.offset.as_deref())),
            names: data.names_digest(),
            values: 0,
        }
    }

    /// In what these are not the data that `other` says.
    fn differs(&self, other: &Self) -> Option<String> {
        let counts = [
            (other.rows, self.rows, "rows"),
            (other.features, self.features, "features"),
            (other.nonzeros, self.nonzeros, "values"),
        ];
        let count = counts.into_iter().find(|(a, b, _)| a != b);
        if let Some((a, b, what)) = count {
            return Some(format!("{a} {what}, not {b}"));
        }
        if self.classes != other.classes {
            let (a, b) = (other.classes.join(" and "), self.classes.join(" and "));
            return Some(format!("classes {a}, not {b}"));
        }
        let digests = [
            (self.labels, other.labels, "other labels"),
            (self.weights, other.weights, "other weights of the instances"),
            (self.kept, other.kept, "other columns that are kept"),
            (self.offset, other.offset, "another offset"),
            (self.names, other.names, "other names of the features"),
        ];
        digests.into_iter().find(|(a, b, _)| a != b).map(|(.., what)| what.to_owned())
    }
}

/// What the machine and the space were told, other than when to stop. A final refit changes no round.
fn settings(machine: &Machine, plan: &Plan, space: &dyn FeatureSpace, cost: f64) -> Vec<(String, String)> {
    let mut all = vec![
        ("loss", machine.loss_in_use().name().to_owned()),
        ("cost", cost.to_string()),
        ("budget", plan.budget.to_string()),
        ("solver", machine.solver.clone()),
        ("inner-tol", machine.inner_tol.to_string()),
    ];
    all.extend(machine.exchange.map(|steps| ("exchange", steps.to_string())));
    all.extend(machine.loss_in_use().settings());
    all.extend(machine.inner_decrease.map(|decrease| ("inner-decrease", decrease.to_string())));
    all.extend((!machine.shift).then(|| ("no-shift", String::new())));
    match &machine.class_weights {
        ClassWeights::Equal => {}
        ClassWeights::Balanced => all.push(("weight", "balanced".into())),
        ClassWeights::Each(weights) => {
            let list: Vec<String> = weights.iter().map(f64::to_string).collect();
            all.push(("weight", list.join(" ")));
        }
        ClassWeights::Given(list) => {
            let one = |(class, weight): &(String, f64)| format!("{class}={weight}");
            all.push(("weight", list.iter().map(one).collect::<Vec<_>>().join(" ")));
        }
    }
    all.extend(space.settings());
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl Made {
    /// Why a run made with this cannot go on from a checkpoint made with `other`; values are not compared.
    fn differs(&self, other: &Self, progress: &Progress) -> Option<Reason> {
        if self.program != other.program {
            return Some(
                format!("the checkpoint was made by {}, not {}", other.program, self.program).into(),
            );
        }
        if let Some(what) = self.data.differs(&other.data) {
            return Some(format!("the checkpoint is for other data: {what}").into());
        }
        let names = other.settings.iter().chain(&self.settings).map(|(name, _)| name.as_str());
        let value = |settings: &[(String, String)], name: &str| {
            settings.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone())
        };
        let setting = |name: &str| option(name, value(&other.settings, name), value(&self.settings, name));
        if let Some(reason) = names.filter(|&name| name != SCALE).find_map(setting) {
            return Some(reason);
        }
        // What candidates there are follows from data and settings, so that this should never be.
        let (theirs, ours) = (other.data.candidates, self.data.candidates);
        if theirs != ours {
            return Some(format!("the checkpoint is for {theirs} candidates, not {ours}").into());
        }
        // Scales follow from how features are chosen and from the values, which are compared later: only their kind counts.
        let kind =
            |settings: &[(String, String)]| Some(value(settings, SCALE)?.split(' ').next()?.to_owned());
        let scale = || option(SCALE, kind(&other.settings), kind(&self.settings));
        self.rules.differs(&other.rules, progress).or_else(scale)
    }
}

/// How an option differs from what it was.
fn option(name: &str, made: Option<String>, now: Option<String>) -> Option<Reason> {
    let (with, values) = match (&made, &now) {
        (made, now) if made == now => return None,
        (Some(made), Some(now)) => ("with ", format!(" {made}, not {now}")),
        (Some(made), None) if made.is_empty() => ("with ", ", not without it".into()),
        (Some(made), None) => ("with ", format!(" {made}, not without it")),
        (None, _) => ("without ", ", not with it".into()),
    };
    Some(Reason::from("the checkpoint was made ").words(with).parameter(name.to_owned()).words(values))
}

impl Rules {
    /// Why the rounds made under `other` rules would not all have been the same under these.
    fn differs(&self, other: &Self, progress: &Progress) -> Option<Reason> {
        let made = progress.rounds.len();
        let shown = |value: Option<f64>| value.map(|value| value.to_string());
        let later = |name: &'static str, reason: Reason| {
            let only_with = reason.words(": a run goes on only with a ").parameter(name);
            only_with.words(" that would not have ended it before")
        };
        // Where a number of features is wanted, the gap also decides how exactly some problems are solved.
        let narrower = self.gap.zip(other.gap).is_some_and(|(new, old)| new < old) && self.features.is_none();
        if self.features != other.features {
            // Where features are chosen by gain, bounds are about that number of them, and some may have been exchanged.
            let paper = self.select == Select::Paper;
            let more = paper && self.features.zip(other.features).is_some_and(|(new, old)| new > old);
            if !more || progress.cut {
                let text = |k: Option<usize>| k.map(|k| k.to_string());
                let reason = option("features", text(other.features), text(self.features))?;
                return Some(match more {
                    true => reason.words(": its last block was made smaller for that number"),
                    false => reason,
                });
            }
        }
        if self.select != other.select {
            let name = |select: Select| Some(select.name().to_owned());
            return option("select", name(other.select), name(self.select));
        }
        if self.gap != other.gap && !narrower {
            let reason = option("gap", shown(other.gap), shown(self.gap))?;
            let wider = self.gap.is_some() && other.gap.is_some() && self.features.is_none();
            return Some(if wider { later("gap", reason) } else { reason });
        }
        // 0 switches the rule off.
        if self.tol > other.tol {
            return Some(later("tol", option("tol", shown(Some(other.tol)), shown(Some(self.tol)))?));
        }
        if self.max_rounds != other.max_rounds && self.max_rounds <= made {
            let now = self.max_rounds;
            let already = Reason::from(format!("the checkpoint has {made} rounds already: "));
            return Some(already.parameter("max-rounds").words(format!(" {now} is too few")));
        }
        None
    }
}
