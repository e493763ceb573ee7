//! Features: the one vocabulary that spaces and models share.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::data::{Column, Columns};

/// One feature: enough to compute it from a raw instance.
///
/// Features are ordered from simple to complex: inputs by their ids, then products by the number of their factors, then by
/// the factors.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Feature {
    /// An input feature as it is, by its id counted from 0. In files it is counted from 1, as users see it.
    Input(#[serde(with = "from_one::id")] u64),
    /// The product of input features, by their ids in order; one that is there twice is squared. That of none is 1.
    Product(#[serde(with = "from_one::ids")] Vec<u64>),
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

    pub(super) mod ids {
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

pub(crate) use from_one::id as id_from_one;

impl Ord for Feature {
    fn cmp(&self, other: &Self) -> Ordering {
        let kind = |feature: &Self| matches!(feature, Self::Product(_));
        let (own, others) = (self.inputs(), other.inputs());
        kind(self).cmp(&kind(other)).then_with(|| own.len().cmp(&others.len())).then_with(|| own.cmp(others))
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
        }
    }

    /// What it is called where inputs are called as `name` says: `a`, `a*b`, `a^2`, `1`.
    pub fn show(&self, name: impl Fn(u64) -> String) -> String {
        let inputs = self.inputs();
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
        Some(product.unwrap_or_else(|| Column::Dense(vec![1.0; columns.rows()])))
    }
}
