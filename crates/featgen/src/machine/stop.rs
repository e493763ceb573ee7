//! Why a run ended.

use serde::{Deserialize, Serialize};

/// Every stop has a reason that the user can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Stop {
    /// A round lowered the objective by less than `tol` of its first value.
    Tolerance,
    /// The certified gap was reached.
    Gap,
    /// No further feature helps at this cost.
    Optimal,
    /// The most rounds allowed were made.
    Rounds,
    /// The wanted number of features was reached.
    Features,
    /// Of those chosen, as many were kept as are discoveries at the rate asked for.
    Discoveries,
    /// Solving more exactly, as would be needed, is beyond what numbers allow.
    Stalled,
    /// The search for further features was given up: it would take too long.
    Search,
    /// No feature is left that has anything to do with the labels.
    Exhausted,
    /// The time limit was reached.
    Time,
    /// The user stopped it.
    Interrupted,
}

impl Stop {
    /// Whether the run was ended from outside, at a point of no meaning.
    pub fn is_early(self) -> bool {
        matches!(self, Self::Time | Self::Interrupted)
    }

    /// The reason as a sentence.
    pub fn explain(self) -> &'static str {
        match self {
            Self::Tolerance => "another round would hardly lower the objective",
            Self::Gap => "the certified gap was reached",
            Self::Optimal => "nothing further helps at this cost",
            Self::Rounds => "the most rounds allowed were made",
            Self::Features => "the wanted number was reached",
            Self::Discoveries => "as many were kept as the rate of false discoveries allows",
            Self::Stalled => {
                "rounding leaves no further progress: features of very different sizes should be scaled"
            }
            Self::Search => "the search for more was given up: it would take too long",
            Self::Exhausted => "nothing with a positive score is left",
            Self::Time => "the time limit was reached: this is the model so far",
            Self::Interrupted => "interrupted: this is the model so far",
        }
    }
}
