//! Features: the one vocabulary that spaces and models share.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::{MOST_FACTORS, MOST_LEVELS};
use crate::data::{Bins, Column, Columns};
use crate::operator::harmonics;

/// One feature: enough to compute it from a raw instance.
///
/// Features are ordered from simple to complex: inputs by their ids, products by the number of their factors and then by the
/// factors, parts of curves.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Feature {
    /// An input feature as it is, by its id counted from 0. In files it is counted from 1, as users see it.
    Input(#[serde(with = "from_one::id")] u64),
    /// The product of input features, by their ids in order; one that is there twice is squared. That of none is 1.
    Product(#[serde(with = "from_one::ids")] Vec<u64>),
    /// Whether an input reaches a level: a part of a curve.
    Step(Step),
    /// A wave of an input: a part of a curve.
    Wave(Wave),
}

/// A bit of the unary code of an input's level: products of two codes approximate `min(|x|^a, |z|^a)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Step {
    /// The input's id.
    #[serde(with = "from_one::id")]
    pub input: u64,
    /// The level to be reached, from 1 to `of`.
    pub level: u32,
    /// Number of levels.
    pub of: u32,
    /// `|x|^power` at the top level.
    pub top: Real,
    /// The power a.
    pub power: Real,
}

/// A Fourier feature of an input, relative to its value at 0: products approximate `exp(-(x - z)^2 / (2 sigma^2))`, less
/// what is constant in x or z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Wave {
    /// The input's id.
    #[serde(with = "from_one::id")]
    pub input: u64,
    /// The harmonic, from 1 on.
    pub harmonic: u32,
    /// Whether it is the sine rather than the cosine.
    pub sine: bool,
    /// The kernel's width.
    pub sigma: Real,
}

/// A number that tells features apart: equal if its bits are.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Real(pub f64);

impl PartialEq for Real {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Real {}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Real {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Hash for Real {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// Harmonics of the additive Gaussian kernel: with the constant, eleven dimensions.
pub(crate) const HARMONICS: usize = 5;

/// Distance of their frequencies, times sigma. The kernel is periodic then, with a period of about eleven sigma.
const SPACING: f64 = 0.55;

impl Step {
    /// The levels that this is one of.
    pub(crate) fn bins(&self) -> Bins {
        Bins::new(self.top.0, self.power.0, self.of)
    }

    /// What it is where the level is reached.
    pub(crate) fn height(&self) -> f64 {
        (self.top.0 / f64::from(self.of)).sqrt()
    }

    /// The smallest input that reaches the level.
    pub(crate) fn threshold(&self) -> f64 {
        match self.level {
            // The first level is reached by whatever is not 0.
            1 => 0.0,
            level => ((f64::from(level) - 0.5) * self.top.0 / f64::from(self.of)).powf(1.0 / self.power.0),
        }
    }
}

impl Wave {
    /// The waves' amplitudes by harmonic: the Gaussian's spectrum on a regular grid, with a sum that makes `k(x, x)` 1.
    pub(crate) fn amplitudes() -> Vec<f64> {
        let density = |k: usize| (-0.5 * (k as f64 * SPACING).powi(2)).exp();
        let total: f64 = 1.0 + 2.0 * (1..=HARMONICS).map(density).sum::<f64>();
        (1..=HARMONICS).map(|k| (2.0 * density(k) / total).sqrt()).collect()
    }

    /// Whether there is such a wave.
    pub(crate) fn is_sound(&self) -> bool {
        (1..=HARMONICS).contains(&(self.harmonic as usize)) && self.sigma.0.is_finite() && self.sigma.0 > 0.0
    }

    /// Cosine and sine of the first harmonic at `x`.
    pub(crate) fn phase(sigma: f64, x: f64) -> [f64; 2] {
        let (sine, cosine) = (SPACING / sigma * x).sin_cos();
        [cosine, sine]
    }

    /// Which of the columns of [`Operator::Waves`](crate::operator::Operator::Waves) it is.
    pub(crate) fn column(&self) -> usize {
        2 * (self.harmonic as usize - 1) + usize::from(self.sine)
    }

    fn value(&self, x: f64) -> f64 {
        let mut values = Vec::with_capacity(2 * HARMONICS);
        harmonics(Self::phase(self.sigma.0, x), &Self::amplitudes(), |_, pair| values.extend(pair));
        values[self.column()]
    }
}

/// Ids in files: counted from 1.
mod from_one {
    pub(crate) mod id {
        use serde::de::{Deserialize, Deserializer, Error, Unexpected};
        use serde::ser::{Error as _, Serialize, Serializer};

        pub(crate) fn serialize<S: Serializer>(id: &u64, to: S) -> Result<S::Ok, S::Error> {
            let number = id.checked_add(1).ok_or_else(|| S::Error::custom("the id is too large"))?;
            number.serialize(to)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
            let number = u64::deserialize(from)?;
            let zero = || D::Error::invalid_value(Unexpected::Unsigned(0), &"a number of at least 1");
            number.checked_sub(1).ok_or_else(zero)
        }
    }

    pub(crate) mod ids {
        use serde::{Deserialize, Deserializer, Serialize, Serializer};

        /// One id, so that lists of them are written by the rule for one.
        #[derive(Serialize, Deserialize)]
        struct Id(#[serde(with = "super::id")] u64);

        pub(crate) fn serialize<S: Serializer>(ids: &[u64], to: S) -> Result<S::Ok, S::Error> {
            ids.iter().map(|&id| Id(id)).collect::<Vec<_>>().serialize(to)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
            Ok(Vec::<Id>::deserialize(from)?.into_iter().map(|id| id.0).collect())
        }
    }
}

pub(crate) use from_one::{id as id_from_one, ids as ids_from_one};

impl Ord for Feature {
    fn cmp(&self, other: &Self) -> Ordering {
        let kind = |feature: &Self| match feature {
            Self::Input(_) => 0,
            Self::Product(_) => 1,
            Self::Step(_) => 2,
            Self::Wave(_) => 3,
        };
        match (self, other) {
            (Self::Input(a), Self::Input(b)) => a.cmp(b),
            (Self::Product(a), Self::Product(b)) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
            (Self::Step(a), Self::Step(b)) => a.cmp(b),
            (Self::Wave(a), Self::Wave(b)) => a.cmp(b),
            _ => kind(self).cmp(&kind(other)),
        }
    }
}

impl PartialOrd for Feature {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Feature {
    /// The input features that it is computed from; one may be there more than once.
    pub fn inputs(&self) -> &[u64] {
        match self {
            Self::Input(id) => std::slice::from_ref(id),
            Self::Product(ids) => ids,
            Self::Step(Step { input, .. }) | Self::Wave(Wave { input, .. }) => std::slice::from_ref(input),
        }
    }

    /// Whether there can be such a feature.
    pub(crate) fn is_sound(&self) -> bool {
        match self {
            Self::Input(_) => true,
            Self::Product(ids) => ids.len() <= MOST_FACTORS && ids.is_sorted(),
            Self::Step(Step { level, of, top, power, .. }) => {
                (1..=*of).contains(level)
                    && *of as usize <= MOST_LEVELS
                    && [top.0, power.0].iter().all(|x| x.is_finite() && *x >= 0.0)
            }
            Self::Wave(wave) => wave.is_sound(),
        }
    }

    /// Whether it is part of a curve over its one input.
    pub fn is_part_of_curve(&self) -> bool {
        matches!(self, Self::Step(_) | Self::Wave(_))
    }

    /// What all parts of one curve have in common: how many they are, their scale and power.
    pub(crate) fn shape(&self) -> Option<(u32, [Real; 2])> {
        match self {
            Self::Input(_) | Self::Product(_) => None,
            Self::Step(step) => Some((step.of, [step.top, step.power])),
            Self::Wave(wave) => Some((HARMONICS as u32, [wave.sigma, Real(1.0)])),
        }
    }

    /// What it is called where inputs are called as `name` says: `a`, `a*b`, `a^2`, `1`.
    pub fn show(&self, name: impl Fn(u64) -> String) -> String {
        let inputs = match self {
            Self::Step(step) if step.level == 1 => return format!("{}>0", name(step.input)),
            Self::Step(step) => return format!("{}>={}", name(step.input), step.threshold()),
            Self::Wave(wave) => {
                let kind = if wave.sine { "sin" } else { "cos" };
                return format!("{kind}{}({})", wave.harmonic, name(wave.input));
            }
            Self::Input(_) | Self::Product(_) => self.inputs(),
        };
        if inputs.is_empty() {
            return "1".into();
        }
        let factor = |same: &[u64]| match same.len() {
            1 => name(same[0]),
            power => format!("{}^{power}", name(same[0])),
        };
        inputs.chunk_by(|a, b| a == b).map(factor).collect::<Vec<_>>().join("*")
    }

    /// Its values on data whose inputs are where `position` says; `None` if they are all 0, for an input is missing.
    pub fn column(&self, columns: &dyn Columns, position: impl Fn(u64) -> Option<usize>) -> Option<Column> {
        let positions: Option<Vec<usize>> = self.inputs().iter().map(|&id| position(id)).collect();
        let factors = columns.gather(&positions?).into_iter();
        let product = factors.reduce(|product, factor| product.times(&factor));
        let column = product.unwrap_or_else(|| Column::Dense(vec![1.0; columns.rows()]));
        Some(match self {
            Self::Input(_) | Self::Product(_) => column,
            Self::Step(step) => {
                let (bins, height) = (step.bins(), step.height());
                column.map(|x| if bins.index(x) >= step.level as usize { height } else { 0.0 })
            }
            Self::Wave(wave) => column.map(|x| wave.value(x)),
        })
    }
}
