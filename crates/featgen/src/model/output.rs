//! Numbers of which there is one for each output of a model, and how well a model fits.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number for each output: in files a plain number if there is one, else a list.
#[derive(Debug, Clone, PartialEq)]
pub struct PerOutput(pub Vec<f64>);

impl PerOutput {
    /// The number of a model with one output; of others the length of the vector.
    pub fn one(&self) -> f64 {
        match self.0[..] {
            [one] => one,
            _ => self.length(),
        }
    }

    /// The length of the vector.
    pub fn length(&self) -> f64 {
        match self.0[..] {
            [one] => one.abs(),
            _ => self.0.iter().map(|x| x * x).sum::<f64>().sqrt(),
        }
    }

    /// Whether all numbers are 0.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|&x| x == 0.0)
    }

    /// Whether all numbers are finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.0.iter().all(|x| x.is_finite())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    One(f64),
    Many(Vec<f64>),
}

impl Serialize for PerOutput {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0[..] {
            [one] => one.serialize(to),
            _ => self.0.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for PerOutput {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self(match Written::deserialize(from)? {
            Written::One(one) => vec![one],
            Written::Many(many) => many,
        }))
    }
}

/// How well a model fits the training data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fit {
    /// The part of the instances whose class is predicted rightly.
    Accuracy(f64),
    /// The part of the loss without features that the features explain: of squared errors, R².
    Explained(f64),
}

impl Fit {
    /// From what files have, of which there must be one.
    pub(super) fn new(accuracy: Option<f64>, explained: Option<f64>) -> Self {
        accuracy.map_or_else(|| Self::Explained(explained.unwrap_or(0.0)), Self::Accuracy)
    }

    /// The accuracy, of classes.
    pub fn accuracy(self) -> Option<f64> {
        if let Self::Accuracy(part) = self { Some(part) } else { None }
    }

    /// The part explained, of all else.
    pub fn explained(self) -> Option<f64> {
        if let Self::Explained(part) = self { Some(part) } else { None }
    }

    /// The number itself.
    pub fn part(self) -> f64 {
        match self {
            Self::Accuracy(part) | Self::Explained(part) => part,
        }
    }
}

/// The class that the decision values of an instance say: with one the second of two if it is above 0, with several that of the
/// largest, and of equal ones the first.
pub fn predicted_class(mut d: impl Iterator<Item = f64>) -> usize {
    let (Some(first), second) = (d.next(), d.next()) else { return 0 };
    let Some(second) = second else { return usize::from(first > 0.0) };
    let mut best = (0, first);
    for (k, d) in std::iter::once(second).chain(d).enumerate() {
        if d > best.1 {
            best = (k + 1, d);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_is_written_as_such() {
        for (numbers, text) in [(vec![0.5], "0.5"), (vec![1.0, -2.0], "[1.0,-2.0]")] {
            let numbers = PerOutput(numbers);
            assert_eq!(serde_json::to_string(&numbers).unwrap(), text);
            assert_eq!(serde_json::from_str::<PerOutput>(text).unwrap(), numbers);
        }
        assert_eq!(serde_json::from_str::<PerOutput>("3").unwrap().0, [3.0]);
    }

    #[test]
    fn classes_follow_from_decision_values() {
        let class = |d: &[f64]| predicted_class(d.iter().copied());
        assert_eq!([class(&[-1.0]), class(&[0.0]), class(&[0.1])], [0, 0, 1]);
        assert_eq!([class(&[1.0, 1.0]), class(&[0.0, 1.0, 3.0]), class(&[-1.0, -3.0, -1.0])], [0, 2, 0]);
    }
}
