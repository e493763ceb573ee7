//! Steps: whether an input reaches a level. All the steps of an input together are the unary code of its level, and make a
//! curve that is constant between levels.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Curve, ExactF64, Feature, FeatureKind, Negative, from_one};
use crate::data::{Bins, Column, ColumnView};
use crate::operator::{self, Coded, Codes, LinearOperator, Operator};

/// The most levels.
pub const MOST_LEVELS: usize = u16::MAX as usize;

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
    pub top: ExactF64,
    /// The power a.
    pub power: ExactF64,
}

const FORMULA: &str = "{\"step\": {input, level, of, top, power}}: sqrt(top / of) if L(x) >= level, else 0, where x is the value \
of the input. L(0) = 0; else L(x) = |x|^power * of / top (0 if top is 0), rounded to the nearest integer (halves to even), then \
raised to 1 if below and lowered to \"of\" if above.";

const FORMULA_ABOVE_ZERO: &str = "{\"step\": {input, level, of, top, power}}: sqrt(top / of) if L(x) >= level, else 0, where x is the \
value of the input. L(x) = 0 if x <= 0; else L(x) = x^power * of / top (0 if top is 0), rounded to the nearest integer (halves \
to even), then raised to 1 if below and lowered to \"of\" if above.";

impl Step {
    /// All steps of an input with so many levels, the lowest first.
    pub(crate) fn all(input: u64, of: u32, top: f64, power: f64) -> impl Iterator<Item = Self> {
        let (top, power) = (ExactF64(top), ExactF64(power));
        (1..=of).map(move |level| Self { input, level, of, top, power })
    }

    /// The levels that this is one of.
    fn bins(&self) -> Bins {
        Bins::new(self.top.0, self.power.0, self.of)
    }

    /// What it is where the level is reached.
    fn height(&self) -> f64 {
        height(self.top.0, self.of)
    }

    /// The smallest input that reaches the level.
    fn threshold(&self) -> f64 {
        match self.level {
            // The first level is reached by whatever is not 0.
            1 => 0.0,
            level => ((f64::from(level) - 0.5) * self.top.0 / f64::from(self.of)).powf(1.0 / self.power.0),
        }
    }
}

/// What a step is where its level is reached.
fn height(top: f64, levels: u32) -> f64 {
    (top / f64::from(levels)).sqrt()
}

impl Feature {
    /// The step, if this is one.
    pub fn as_step(&self) -> Option<&Step> {
        if let Self::Step(step) = self { Some(step) } else { None }
    }
}

impl FeatureKind for Step {
    fn formula(&self, negative: Negative) -> &'static str {
        match negative {
            Negative::BySize => FORMULA,
            Negative::AsZero => FORMULA_ABOVE_ZERO,
        }
    }

    fn inputs(&self) -> &[u64] {
        std::slice::from_ref(&self.input)
    }

    fn is_sound(&self) -> bool {
        (1..=self.of).contains(&self.level)
            && self.of as usize <= MOST_LEVELS
            && [self.top.0, self.power.0].iter().all(|x| x.is_finite() && *x >= 0.0)
    }

    fn show(&self, name: &dyn Fn(u64) -> String) -> String {
        match self.level {
            1 => format!("{}>0", name(self.input)),
            _ => format!("{}>={}", name(self.input), self.threshold()),
        }
    }

    fn column(&self, mut inputs: Vec<Column>, _rows: usize) -> Column {
        let (bins, height, level) = (self.bins(), self.height(), self.level as usize);
        inputs.swap_remove(0).map(|x| if bins.index(x) >= level { height } else { 0.0 })
    }

    fn first_of_curve(&self) -> Option<Feature> {
        Some(Feature::Step(Self { level: 1, ..*self }))
    }

    fn curve(&self, parts: &[(&Feature, f64)], negative: Negative) -> Option<Box<dyn Curve>> {
        Some(Box::new(Stairs::new(self.bins(), parts, negative)))
    }
}

/// The sum of steps: constant between levels.
struct Stairs {
    bins: Bins,
    /// The levels where the value changes, each with its value from there on. Levels may be many more than that.
    changes: Vec<(u32, f64)>,
    negative: Negative,
}

impl Stairs {
    fn new(bins: Bins, parts: &[(&Feature, f64)], negative: Negative) -> Self {
        let mut rises = BTreeMap::new();
        for (step, weight) in parts.iter().filter_map(|&(part, weight)| Some((part.as_step()?, weight))) {
            *rises.entry(step.level).or_insert(0.0) += weight * step.height();
        }
        let mut sum = 0.0;
        let mut reached = |(level, rise): (u32, f64)| {
            sum += rise;
            (level, sum)
        };
        Self { bins, changes: rises.into_iter().map(&mut reached).collect(), negative }
    }
}

impl Curve for Stairs {
    fn at(&self, x: f64) -> f64 {
        // Not `x < 0.0`: a value that is not a number has no level either.
        if self.negative == Negative::BySize || x >= 0.0 {
            let level = self.bins.index(x) as u32;
            let passed = self.changes.partition_point(|&(from, _)| from <= level);
            passed.checked_sub(1).map_or(0.0, |last| self.changes[last].1)
        } else {
            0.0
        }
    }
}

/// All the steps of an input by its level: column `l` is `height` where the level is above `l`, else 0. Running sums apply them, and
/// their transpose, at the price of one column, for any number of levels.
#[derive(Debug)]
pub(crate) struct Steps {
    /// Number of levels, and of columns.
    count: usize,
    /// What a column holds where it is not 0.
    height: f64,
}

impl Steps {
    /// The steps of a column of values, with `count` levels of `|x|^power` up to `top`.
    pub(crate) fn of(column: ColumnView<'_>, count: u32, top: f64, power: f64) -> Coded {
        let bins = Bins::new(top, power, count);
        let (rows, levels) = operator::map_nonzeros(column, |x| bins.index(x) as u16);
        let steps = Self { count: bins.count(), height: height(top, count) };
        Coded::new(Codes::new(rows, levels), bins.count() + 1, Arc::new(steps))
    }
}

/// Over levels, from 0 on.
impl LinearOperator for Steps {
    fn width(&self) -> usize {
        self.count
    }

    fn costs_as_one_column(&self) -> bool {
        true
    }

    fn is_nested(&self) -> bool {
        true
    }

    fn apply(&self, w: &[f64], f: &mut [f64]) {
        let mut sum = 0.0;
        for (f, w) in f[1..].iter_mut().zip(w) {
            sum += self.height * w;
            *f += sum;
        }
    }

    fn transpose(&self, v: &[f64]) -> Vec<f64> {
        let mut sums = v[1..].to_vec();
        suffix_sums(&mut sums);
        sums.iter_mut().for_each(|sum| *sum *= self.height);
        sums
    }

    fn squares(&self, v: &[f64]) -> Vec<f64> {
        // Values are 0 or the height.
        self.transpose(v).into_iter().map(|sum| self.height * sum).collect()
    }

    fn pack(&self, levels: &[(u32, f64)], stride: usize, out: &mut [f64]) {
        for (&(level, _), out) in levels.iter().zip(out.chunks_mut(stride)) {
            let (reached, others) = out[..self.count].split_at_mut(level as usize);
            reached.fill(self.height);
            others.fill(0.0);
        }
    }

    fn restrict(&self, place: &[Option<u32>]) -> Operator {
        let kept = (0..=self.count as u16).zip(place).filter(|(_, place)| place.is_some());
        let codes = Codes::First(kept.map(|(level, _)| level).collect());
        let steps = Self { count: self.count, height: self.height };
        Operator::Implicit(Arc::new(Coded::new(codes, self.count + 1, Arc::new(steps))))
    }
}

/// Replaces every number by the sum of it and all that follow.
fn suffix_sums(numbers: &mut [f64]) {
    let mut sum = 0.0;
    for number in numbers.iter_mut().rev() {
        sum += *number;
        *number = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::tests::is_the_matrix;

    /// The operator is the matrix whose columns the features are, one by one.
    #[test]
    fn steps_together_are_the_steps_one_by_one() {
        let values = [0.3, 0.0, -1.0, 0.52, 0.0, 1.1, 9.0];
        let column = Column::Dense(values.to_vec());
        let steps = Steps::of(column.view(), 4, 1.0, 0.5);
        let matrix: Vec<Vec<f64>> = Step::all(0, 4, 1.0, 0.5)
            .map(|step| {
                let mut written = vec![0.0; values.len()];
                step.column(vec![column.clone()], values.len()).add_to(1.0, &mut written);
                written
            })
            .collect();
        assert_eq!(matrix[3], [0.0, 0.0, 0.5, 0.0, 0.0, 0.5, 0.5]);
        is_the_matrix(&steps, &matrix);
        // Over levels, of which every one but the lowest reaches one column more.
        let reached = |l: usize| (0..=4).map(|level| if level > l { 0.5 } else { 0.0 }).collect();
        is_the_matrix(&Steps { count: 4, height: 0.5 }, &(0..4).map(reached).collect::<Vec<_>>());
    }

    #[test]
    fn a_curve_is_the_sum_of_its_parts() {
        let steps: Vec<Feature> = Step::all(0, 6, 3.0, 1.0).map(Feature::Step).collect();
        let weights = [0.5, -1.0, 0.0, 2.0, 4.0, -0.25];
        let parts: Vec<(&Feature, f64)> = steps.iter().zip(weights).collect();
        let curve = |negative| steps[0].curve(&parts, negative).unwrap();
        for x in [0.0, 0.1, -0.1, 0.74, 0.76, 1.3, -1.3, 3.0, 100.0] {
            let value = |step: &Feature| {
                let mut value = [0.0];
                step.kind().column(vec![Column::Dense(vec![x])], 1).add_to(1.0, &mut value);
                value[0]
            };
            let sum: f64 = parts.iter().map(|(step, weight)| weight * value(step)).sum();
            assert!((curve(Negative::BySize).at(x) - sum).abs() < 1e-14, "{x}");
            let above_zero = if x < 0.0 { 0.0 } else { sum };
            assert!((curve(Negative::AsZero).at(x) - above_zero).abs() < 1e-14, "{x}");
        }
    }
}
