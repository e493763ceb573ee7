//! Curves: what a group of steps or waves adds to the decision value, as a function of its one input.

use std::collections::BTreeMap;

use super::{Model, Selected, Term};
use crate::data::Bins;
use crate::operator::harmonics;
use crate::space::{Feature, Wave, spec};

/// The sum of the parts of a curve.
pub(super) enum Curve {
    /// The levels where the value changes, each with its value from there on; and whether negative values have any. Levels may
    /// be many more than terms.
    Steps(Bins, Vec<(u32, f64)>, bool),
    /// Sigma, and the weights of the waves.
    Waves(f64, Vec<f64>),
}

impl Curve {
    /// From the terms of one input, in a model, for one of its outputs.
    pub(super) fn new(model: &Model, terms: &[&Term], output: usize) -> Option<Self> {
        match &terms.first()?.feature {
            Feature::Step(first) => {
                let mut heights = BTreeMap::new();
                for term in terms {
                    if let Feature::Step(step) = &term.feature {
                        *heights.entry(step.level).or_insert(0.0) += term.weight.0[output] * step.height();
                    }
                }
                let mut sum = 0.0;
                let mut above = |(level, height): (u32, f64)| {
                    sum += height;
                    (level, sum)
                };
                let table = heights.into_iter().map(&mut above).collect();
                Some(Self::Steps(first.bins(), table, model.takes_negative_values()))
            }
            Feature::Wave(first) => {
                let mut weights = vec![0.0; 2 * Wave::amplitudes().len()];
                for term in terms {
                    if let Feature::Wave(wave) = &term.feature {
                        weights[wave.column()] += term.weight.0[output];
                    }
                }
                Some(Self::Waves(first.sigma.0, weights))
            }
            Feature::Input(_) | Feature::Product(_) => None,
        }
    }

    /// Its value at `x`; 0 at 0.
    pub(super) fn at(&self, x: f64) -> f64 {
        match self {
            Self::Steps(bins, table, mirrored) if x >= 0.0 || *mirrored => {
                let level = bins.index(x) as u32;
                let changes = table.partition_point(|&(from, _)| from <= level);
                changes.checked_sub(1).map_or(0.0, |last| table[last].1)
            }
            Self::Steps(..) => 0.0,
            Self::Waves(sigma, weights) => {
                let mut sum = 0.0;
                harmonics(Wave::phase(*sigma, x), &Wave::amplitudes(), |k, [c, s]| {
                    sum += weights[2 * k] * c + weights[2 * k + 1] * s;
                });
                sum
            }
        }
    }
}

/// Points of a curve that are kept for drawing.
const POINTS: usize = 101;

impl Model {
    /// Whether negative values have levels, as positive ones do. Where training takes none, they are as good as 0.
    pub(super) fn takes_negative_values(&self) -> bool {
        spec::kind_of(&self.space).is_none_or(|kind| kind.takes_negative)
    }

    /// Whether what was selected are curves over features, rather than features or groups of them.
    pub fn has_curves(&self) -> bool {
        self.terms.first().is_some_and(|term| term.feature.is_part_of_curve())
    }

    /// Points `(x, value)` of the curve of a selected group, for one output, over the values of its input that occurred; empty if
    /// the group is not a curve.
    pub fn curve(&self, selected: &Selected<'_>, output: usize) -> Vec<[f64; 2]> {
        let (Some([low, high]), Some(curve)) =
            (selected.group.range, Curve::new(self, &selected.terms, output))
        else {
            return Vec::new();
        };
        let x = |k: usize| low + (high - low) * k as f64 / (POINTS - 1) as f64;
        (0..POINTS).map(x).map(|x| [x, curve.at(x)]).collect()
    }
}
