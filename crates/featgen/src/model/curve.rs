//! Curves of a model: what a group of parts of a curve adds to the decision value, as a function of its one input.

use super::{Model, Selected, Term};
use crate::feature::{Curve, Feature, Negative};
use crate::space::spec;

/// Points of a curve that are kept for drawing.
const POINTS: usize = 101;

impl Model {
    /// What negative values are. Where training takes none, they are as good as 0.
    pub(super) fn negative(&self) -> Negative {
        let taken = spec::kind_of(&self.space).is_none_or(|kind| kind.takes_negative);
        if taken { Negative::BySize } else { Negative::AsZero }
    }

    /// What terms of one input add to an output; `None` if they are no parts of a curve.
    pub(super) fn sum_of_parts(&self, terms: &[&Term], output: usize) -> Option<Box<dyn Curve>> {
        let parts: Vec<(&Feature, f64)> =
            terms.iter().map(|term| (&term.feature, term.weight.0[output])).collect();
        terms.first()?.feature.curve(&parts, self.negative())
    }

    /// Whether what was selected are curves over features, rather than features or groups of them.
    pub fn has_curves(&self) -> bool {
        self.terms.first().is_some_and(|term| term.feature.is_part_of_curve())
    }

    /// Points `(x, value)` of the curve of a selected group, for one output, over the values of its input that occurred; empty if
    /// the group is not a curve.
    pub fn curve(&self, selected: &Selected<'_>, output: usize) -> Vec<[f64; 2]> {
        let (Some([low, high]), Some(curve)) =
            (selected.group.range, self.sum_of_parts(&selected.terms, output))
        else {
            return Vec::new();
        };
        let x = |k: usize| low + (high - low) * k as f64 / (POINTS - 1) as f64;
        (0..POINTS).map(x).map(|x| [x, curve.at(x)]).collect()
    }
}
