//! Ids of inputs in files: counted from 1, as users count. Everywhere else they are counted from 0.

/// One id.
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

/// A list of ids.
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
