//! Values of options as the library describes them.

use clap::builder::{PossibleValue, PossibleValuesParser};

/// A parser of these names, each with its help.
pub(super) fn one_of(
    choices: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> PossibleValuesParser {
    let value = |(name, help)| PossibleValue::new(name).help(help);
    PossibleValuesParser::new(choices.into_iter().map(value))
}
