//! What a feature is: how it is called, computed from inputs, written to files and checked when it is read again.
//!
//! Each kind of feature is a file of its own that implements `FeatureKind`, and a line of `kinds!`: nothing else tells kinds apart.
//! Spaces make the kinds that they propose, and know them by accessors such as [`Feature::as_input`].

mod curve;
mod exact;
pub(crate) mod from_one;

use serde::{Deserialize, Serialize};

pub(crate) use curve::{Curve, Negative};
pub use exact::ExactF64;
pub use product::MOST_FACTORS;
pub use step::MOST_LEVELS;
pub(crate) use step::Steps;
pub(crate) use wave::{WAVES, Waves};

use crate::data::{Column, Columns};

/// What a kind of feature must say of itself.
pub(crate) trait FeatureKind {
    /// How to compute it, for whoever reads a model file. `negative` says what the model does with negative values.
    fn formula(&self, negative: Negative) -> &'static str;

    /// The ids of the inputs that it is computed from; one may be there more than once.
    fn inputs(&self) -> &[u64];

    /// Whether there can be such a feature: files may hold anything that has the right types.
    fn is_sound(&self) -> bool;

    /// What it is called where inputs are called as `name` says.
    fn show(&self, name: &dyn Fn(u64) -> String) -> String;

    /// Its values on so many rows, from the columns of its [`inputs`](Self::inputs): as many of them, in that order. An input that
    /// data lack is 0, and so is a feature of it, unasked: values must be 0 wherever one of the inputs is.
    fn column(&self, inputs: Vec<Column>, rows: usize) -> Column;

    /// What it is of the columns that its inputs were made of, as `made` says of each: itself, of those columns, times a number, plus a
    /// number. Or why it is no such thing.
    fn unscaled(&self, _made: &dyn Fn(u64) -> Scaled) -> Result<Scaled, &'static str> {
        Err("a curve over a scaled column is none over the column as it is")
    }

    /// The first part of the curve that this is a part of: the same for all parts of one curve. `None` if this is no part of a
    /// curve over one input.
    fn first_of_curve(&self) -> Option<Feature> {
        None
    }

    /// The curve that parts with these weights add up to, where this is one of them. `None` if this is no part of a curve.
    fn curve(&self, _parts: &[(&Feature, f64)], _negative: Negative) -> Option<Box<dyn Curve>> {
        None
    }
}

/// A number times something, plus a number: how an input was made from a column of the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaled {
    /// What the values of the column were multiplied with.
    pub factor: f64,
    /// What was then added.
    pub offset: f64,
}

/// Declares the kinds of features, from simple to complex: a name in files, and a type in a file beside this one. Nothing else
/// lists them.
macro_rules! kinds {
    ($($(#[$about:meta])* $name:literal = $module:ident::$kind:ident),* $(,)?) => {
        $(mod $module;)*

        $(pub use $module::$kind;)*

        /// One feature: enough to compute it from a raw instance.
        ///
        /// Features are ordered from simple to complex: by kind, and each kind in its own order.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Feature {
            $($(#[$about])* #[serde(rename = $name)] $kind($kind),)*
        }

        $(impl From<$kind> for Feature {
            fn from(feature: $kind) -> Self {
                Self::$kind(feature)
            }
        })*

        impl Feature {
            /// What kinds are called in files, in order.
            pub(crate) const KINDS: &[&str] = &[$($name),*];

            /// Which of [`KINDS`](Self::KINDS) it is.
            pub(crate) fn kind_name(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $name,)*
                }
            }

            fn kind(&self) -> &dyn FeatureKind {
                match self {
                    $(Self::$kind(feature) => feature,)*
                }
            }
        }
    };
}

kinds! {
    /// An input feature as it is.
    "input" = input::Input,
    /// The product of input features.
    "product" = product::Product,
    /// Whether an input reaches a level: a part of a curve.
    "step" = step::Step,
    /// A wave of an input: a part of a curve.
    "wave" = wave::Wave,
}

impl Feature {
    /// The ids of the inputs that it is computed from; one may be there more than once.
    pub fn inputs(&self) -> &[u64] {
        self.kind().inputs()
    }

    /// Whether there can be such a feature.
    pub(crate) fn is_sound(&self) -> bool {
        self.kind().is_sound()
    }

    /// What it is called where inputs are called as `name` says: `a`, `a*b`, `a^2`, `1`.
    pub fn show(&self, name: impl Fn(u64) -> String) -> String {
        self.kind().show(&name)
    }

    /// Its values on data whose inputs are where `position` says; `None` if they are all 0, for an input is missing.
    pub fn column(&self, columns: &dyn Columns, position: impl Fn(u64) -> Option<usize>) -> Option<Column> {
        let positions: Option<Vec<usize>> = self.inputs().iter().map(|&id| position(id)).collect();
        Some(self.made_of(columns.gather(&positions?), columns.rows()))
    }

    /// Its column on so many instances, given the columns of its inputs.
    pub(crate) fn made_of(&self, inputs: Vec<Column>, rows: usize) -> Column {
        self.kind().column(inputs, rows)
    }

    /// What it is of the columns that its inputs were made of: itself, of those columns, times a number, plus a number. Or why it is
    /// no such thing.
    pub(crate) fn unscaled(&self, made: &dyn Fn(u64) -> Scaled) -> Result<Scaled, &'static str> {
        self.kind().unscaled(made)
    }

    /// Whether it is part of a curve over its one input.
    pub fn is_part_of_curve(&self) -> bool {
        self.first_of_curve().is_some()
    }

    /// The first part of the curve that it is a part of: what all parts of one curve have in common.
    pub(crate) fn first_of_curve(&self) -> Option<Self> {
        self.kind().first_of_curve()
    }

    /// The curve that parts with these weights add up to, where this is one of them. `None` if this is no part of a curve.
    pub(crate) fn curve(&self, parts: &[(&Self, f64)], negative: Negative) -> Option<Box<dyn Curve>> {
        self.kind().curve(parts, negative)
    }

    /// How to compute features of its kind.
    pub(crate) fn formula(&self, negative: Negative) -> &'static str {
        self.kind().formula(negative)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some features of every kind, in order, and how each is written.
    fn written() -> Vec<(Feature, &'static str)> {
        let (third, half) = (1.0 / 3.0, ExactF64(0.5));
        let step = Step { input: 6, level: 2, of: 9, top: ExactF64(third), power: half };
        let wave = Wave { input: 0, harmonic: 3, sine: true, sigma: half };
        vec![
            (Feature::input(0), r#"{"input":1}"#),
            (Feature::input(9), r#"{"input":10}"#),
            (Feature::product([]), r#"{"product":[]}"#),
            (Feature::product([8, 9]), r#"{"product":[9,10]}"#),
            (Feature::product([1, 1, 4]), r#"{"product":[2,2,5]}"#),
            (step.into(), r#"{"step":{"input":7,"level":2,"of":9,"top":0.3333333333333333,"power":0.5}}"#),
            (wave.into(), r#"{"wave":{"input":1,"harmonic":3,"sine":true,"sigma":0.5}}"#),
        ]
    }

    /// Models and checkpoints that were written long ago must be read for ever.
    #[test]
    fn every_kind_is_written_as_it_always_was() {
        for (feature, text) in written() {
            assert_eq!(serde_json::to_string(&feature).unwrap(), text);
            assert_eq!(serde_json::from_str::<Feature>(text).unwrap(), feature);
            assert!(text.starts_with(&format!("{{\"{}\":", feature.kind_name())), "{text}");
            assert!(feature.is_sound(), "{text}");
        }
        assert!(Feature::KINDS.iter().all(|kind| written().iter().any(|(f, _)| f.kind_name() == *kind)));
    }

    #[test]
    fn simple_features_come_first() {
        let features: Vec<Feature> = written().into_iter().map(|(feature, _)| feature).collect();
        assert!(features.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn inputs_are_counted_from_one_in_files() {
        for text in [r#"{"input":0}"#, r#"{"product":[0]}"#, r#"{"input":-1}"#, r#"{"input":1.5}"#] {
            assert!(serde_json::from_str::<Feature>(text).is_err(), "{text}");
        }
        assert!(serde_json::to_string(&Feature::input(u64::MAX)).is_err());
    }

    #[test]
    fn what_no_space_makes_is_not_sound() {
        let step = |level, of, top, power| {
            Feature::from(Step { input: 0, level, of, top: ExactF64(top), power: ExactF64(power) })
        };
        let wave =
            |harmonic, sigma| Feature::from(Wave { input: 0, harmonic, sine: true, sigma: ExactF64(sigma) });
        for feature in [
            Feature::product([2, 1]),
            Feature::product([1; MOST_FACTORS + 1]),
            step(0, 5, 1.0, 1.0),
            step(6, 5, 1.0, 1.0),
            step(1, MOST_LEVELS as u32 + 1, 1.0, 1.0),
            step(1, 5, f64::NAN, 1.0),
            step(1, 5, 1.0, -1.0),
            wave(0, 1.0),
            wave(6, 1.0),
            wave(1, 0.0),
            wave(1, f64::INFINITY),
        ] {
            assert!(!feature.is_sound(), "{feature:?}");
        }
    }

    /// Scores are ranked by the million with features in them.
    #[test]
    fn features_are_small() {
        assert!(size_of::<Feature>() <= 40, "{}", size_of::<Feature>());
    }
}
