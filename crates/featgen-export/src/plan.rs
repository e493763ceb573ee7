//! What every target writes: columns, the values made of them, what these add to the decisions, and what decisions say.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use featgen::data::Bins;
use featgen::feature::{Step, Wave};
use featgen::objective::Output;
use featgen::space::spec;
use featgen::table::{Category, How, Recipe, Written};
use featgen::{Error, Model, Result};

/// Harmonics that a smooth curve has.
pub(crate) const HARMONICS: usize = 5;

/// The distance of their frequencies, times sigma: see `formulas` in any model file with waves.
const SPACING: f64 = 0.55;

/// How to compute all that a model predicts from a row of raw data.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The columns that are looked at, in their order in the data.
    pub(crate) columns: Vec<Column>,
    /// Numbers that are made of them.
    pub(crate) values: Vec<Value>,
    /// What is added up.
    pub(crate) parts: Vec<Part>,
    /// What each decision begins with.
    pub(crate) intercepts: Vec<f64>,
    /// What decisions say.
    pub(crate) output: Output,
    /// Of classes: of one decision those below and above 0, else that of each.
    pub(crate) classes: Vec<String>,
    /// Whether classes have probabilities: logistic of one decision, softmax of several.
    pub(crate) probabilities: bool,
    /// Of data whose columns have no names: how many there are. Rows are then whole, and columns are found by number.
    pub(crate) width: Option<u64>,
    /// What the outcome was called.
    pub(crate) label: Option<String>,
}

/// A column of the data.
#[derive(Debug)]
pub(crate) struct Column {
    /// Its name, or its number from 1.
    pub(crate) name: String,
    /// Of data without names and recipe: its place in a row, from 0.
    pub(crate) place: u64,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// A number, and what takes its place where it is missing. If that is not known, there is no decision then.
    Number { written: Written, fill: Option<f64> },
    /// One of some texts.
    Text(Texts),
}

/// The places of texts: each level has its own, that of its index.
#[derive(Debug)]
pub(crate) struct Texts {
    /// In the order of their bytes.
    pub(crate) levels: Vec<String>,
    /// That of all other texts.
    pub(crate) other: Option<usize>,
    /// That of no text.
    pub(crate) missing: Option<usize>,
}

/// A number that is made of a column, which is given by its index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    /// The number, or what takes its place.
    Number(usize),
    /// 1 where the number is missing, else 0.
    Missing(usize),
    /// 1 where the text has that place, else 0.
    Place(usize, usize),
}

/// What is added to the decisions; values are given by their indices.
#[derive(Debug)]
pub(crate) enum Part {
    /// A product of values with a weight for each decision.
    Product { values: Vec<usize>, weights: Vec<f64> },
    /// What is constant between some points.
    Stairs {
        value: usize,
        /// Whether it is the absolute value that counts.
        by_size: bool,
        /// Where it rises, and by how much for each decision: above, not at, that point. Points increase from 0.
        rises: Vec<(f64, Vec<f64>)>,
    },
    /// `sum over h of cosines[h] * (cos((h + 1) t) - 1) + sines[h] * sin((h + 1) t)` with `t = frequency * value`, for each decision.
    Waves { value: usize, frequency: f64, waves: Vec<Waves> },
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Waves {
    pub(crate) cosines: [f64; HARMONICS],
    pub(crate) sines: [f64; HARMONICS],
}

impl Plan {
    pub(crate) fn new(model: &Model) -> Result<Self> {
        let mut sources = Sources::new(model);
        let mut sums = Sums::new(model);
        for term in model.terms.iter().filter(|term| !term.weight.is_zero()) {
            let Some(values) = sources.find(term.feature.inputs()) else { continue };
            let weights = &term.weight.0;
            if let Some(step) = term.feature.as_step() {
                sums.step(values[0], step, weights);
            } else if let Some(wave) = term.feature.as_wave() {
                sums.wave(values[0], wave, weights);
            } else if term.feature.as_input().is_some() || term.feature.as_product().is_some() {
                sums.product(values, weights);
            } else {
                return Err(Error::Data(format!("feature {}: no target knows its kind", shown(&term.name))));
            }
        }
        for kept in &model.kept {
            if let Some(values) = sources.find(&[kept.id]) {
                sums.product(values, &kept.weight.0);
            }
        }
        let (values, columns) = sources.end();
        if columns.is_empty() {
            return Err(Error::Data("the model looks at no feature: it says the same of everything".into()));
        }
        let (parts, intercepts) = sums.end(&values);
        Ok(Self {
            columns,
            values: values.into_iter().map(|(value, _)| value).collect(),
            parts,
            intercepts,
            output: model.output,
            classes: model.classes.clone(),
            probabilities: model.has_probabilities(),
            width: (model.recipe.is_none() && !model.by_name).then(|| {
                let last = model.terms.iter().flat_map(|term| term.feature.inputs()).max();
                model.training.m.max(last.map_or(0, |id| id + 1))
            }),
            label: model.label_column.clone(),
        })
    }

    /// How many decisions there are.
    pub(crate) fn outputs(&self) -> usize {
        self.intercepts.len()
    }

    /// What kinds of parts a target lacks that has only weights of values, in words.
    pub(crate) fn beyond_weights(&self) -> Option<&'static str> {
        self.parts.iter().find_map(|part| match part {
            Part::Product { values, .. } if values.len() > 1 => Some("products"),
            Part::Product { .. } => None,
            Part::Stairs { .. } | Part::Waves { .. } => Some("curves"),
        })
    }
}

/// Where values come from: those that were asked for, by the ids of inputs.
struct Sources<'m> {
    model: &'m Model,
    names: HashMap<u64, &'m str>,
    /// The columns and values of a recipe, by the names of inputs.
    of_recipe: HashMap<String, (usize, Value)>,
    /// Values in the order of ids, with numbers in the order in which they were asked for.
    found: BTreeMap<u64, (usize, Value)>,
}

impl<'m> Sources<'m> {
    fn new(model: &'m Model) -> Self {
        let names = model.inputs.iter().map(|input| (input.id, input.name.as_str())).collect();
        let of_recipe = model.recipe.as_ref().map(values_of).unwrap_or_default();
        Self { model, names, of_recipe, found: BTreeMap::new() }
    }

    /// The numbers of the values that inputs are; `None` if one is nowhere, which counts as 0.
    fn find(&mut self, inputs: &[u64]) -> Option<Vec<usize>> {
        inputs.iter().map(|&id| self.value(id)).collect()
    }

    fn value(&mut self, id: u64) -> Option<usize> {
        let next = self.found.len();
        if let Some((number, _)) = self.found.get(&id) {
            return Some(*number);
        }
        let value = match &self.model.recipe {
            Some(_) => self.of_recipe.get(*self.names.get(&id)?)?.1,
            None => Value::Number(0),
        };
        self.found.insert(id, (next, value));
        Some(next)
    }

    /// All values, each with the number that it was given, and the columns that they are made of.
    fn end(self) -> (Vec<(Value, usize)>, Vec<Column>) {
        let Some(recipe) = &self.model.recipe else {
            let genotypes: HashMap<u64, f64> = self
                .model
                .inputs
                .iter()
                .filter_map(|input| Some((input.id, input.genotype.as_ref()?.mean)))
                .collect();
            let column = |&id: &u64| Column {
                name: self.names.get(&id).map_or_else(|| (id + 1).to_string(), |name| (*name).to_owned()),
                place: id,
                kind: Kind::Number { written: Written::Point, fill: genotypes.get(&id).copied() },
            };
            let columns = self.found.keys().map(column).collect();
            let values = self.found.values().enumerate().map(|(k, &(number, _))| (Value::Number(k), number));
            return (values.collect(), columns);
        };
        let column_of = |value: Value| match value {
            Value::Number(column) | Value::Missing(column) | Value::Place(column, _) => column,
        };
        let used: BTreeSet<usize> = self.found.values().map(|&(_, value)| column_of(value)).collect();
        let places: HashMap<usize, usize> = used.iter().enumerate().map(|(to, &from)| (from, to)).collect();
        let moved = |value: Value| match value {
            Value::Number(column) => Value::Number(places[&column]),
            Value::Missing(column) => Value::Missing(places[&column]),
            Value::Place(column, place) => Value::Place(places[&column], place),
        };
        let values = self.found.values().map(|&(number, value)| (moved(value), number)).collect();
        (values, used.into_iter().map(|k| column(&recipe.columns()[k], k)).collect())
    }
}

/// The values that the inputs of a recipe are, by their names, with the columns that they are made of.
fn values_of(recipe: &Recipe) -> HashMap<String, (usize, Value)> {
    let names = recipe.names();
    let mut all = HashMap::new();
    for (k, (column, range)) in recipe.ranges().enumerate() {
        for (place, id) in range.enumerate() {
            let value = match &column.how {
                How::Number(_) if place == 0 => Value::Number(k),
                How::Number(_) => Value::Missing(k),
                How::Category(_) => Value::Place(k, place),
            };
            all.insert(names[id as usize].clone(), (k, value));
        }
    }
    all
}

fn column(column: &featgen::table::Column, place: usize) -> Column {
    let kind = match &column.how {
        How::Number(number) => Kind::Number { written: number.written, fill: number.missing },
        How::Category(category) => Kind::Text(Texts::new(category)),
    };
    Column { name: column.column.clone(), place: place as u64, kind }
}

impl Texts {
    /// All other texts, and no text, share the place of a level that is called so; else theirs are after the levels.
    fn new(category: &Category) -> Self {
        let levels = category.levels.clone();
        let known = |name: &str| levels.iter().position(|level| level == name);
        let other = category.other.then(|| known("other").unwrap_or(levels.len()));
        let after = levels.len() + usize::from(other == Some(levels.len()));
        let missing = if category.missing { Some(known("missing").unwrap_or(after)) } else { other };
        Self { levels, other, missing }
    }
}

/// Parts in the making: terms of the same feature, or the same curve, are one.
struct Sums {
    products: BTreeMap<Vec<usize>, Vec<f64>>,
    stairs: BTreeMap<usize, (Bins, BTreeMap<u32, Vec<f64>>)>,
    waves: BTreeMap<usize, (f64, Vec<Waves>)>,
    intercepts: Vec<f64>,
    by_size: bool,
}

impl Sums {
    fn new(model: &Model) -> Self {
        let space = model.space.get("space").and_then(|name| spec::by_name(name).ok());
        Self {
            products: BTreeMap::new(),
            stairs: BTreeMap::new(),
            waves: BTreeMap::new(),
            intercepts: model.bias.0.iter().map(|bias| 0.0 - bias).collect(),
            // Where training takes no negative values, they are as good as 0.
            by_size: space.is_none_or(|kind| kind.takes_negative),
        }
    }

    fn product(&mut self, values: Vec<usize>, weights: &[f64]) {
        let sums = match values.is_empty() {
            true => &mut self.intercepts,
            false => self.products.entry(values).or_insert_with(|| vec![0.0; weights.len()]),
        };
        add(sums, weights, 1.0);
    }

    fn step(&mut self, value: usize, step: &Step, weights: &[f64]) {
        let bins = || (Bins::new(step.top.0, step.power.0, step.of), BTreeMap::new());
        let (_, rises) = self.stairs.entry(value).or_insert_with(bins);
        let sums = rises.entry(step.level).or_insert_with(|| vec![0.0; weights.len()]);
        add(sums, weights, (step.top.0 / f64::from(step.of)).sqrt());
    }

    fn wave(&mut self, value: usize, wave: &Wave, weights: &[f64]) {
        let none = || (SPACING / wave.sigma.0, vec![Waves::default(); weights.len()]);
        let (_, sums) = self.waves.entry(value).or_insert_with(none);
        let h = wave.harmonic as usize - 1;
        for (sum, weight) in sums.iter_mut().zip(weights) {
            let one = if wave.sine { &mut sum.sines[h] } else { &mut sum.cosines[h] };
            *one += weight * amplitude(wave.harmonic);
        }
    }

    /// All parts, of values in their final order, and the intercepts.
    fn end(self, values: &[(Value, usize)]) -> (Vec<Part>, Vec<f64>) {
        let mut order = vec![0; values.len()];
        values.iter().enumerate().for_each(|(place, &(_, number))| order[number] = place);
        let mut products: Vec<(Vec<usize>, Vec<f64>)> = self
            .products
            .into_iter()
            .map(|(values, weights)| {
                let mut values: Vec<usize> = values.into_iter().map(|number| order[number]).collect();
                values.sort_unstable();
                (values, weights)
            })
            .collect();
        products.sort_by(|a, b| a.0.len().cmp(&b.0.len()).then_with(|| a.0.cmp(&b.0)));
        let products = products.into_iter().map(|(values, weights)| Part::Product { values, weights });
        let stairs = self.stairs.into_iter().map(|(value, (bins, rises))| {
            let rises = rises.into_iter().filter_map(|(level, by)| Some((below(&bins, level)?, by)));
            Part::Stairs { value: order[value], by_size: self.by_size, rises: rises.collect() }
        });
        let waves = self.waves.into_iter().map(|(value, (frequency, waves))| Part::Waves {
            value: order[value],
            frequency,
            waves,
        });
        (products.chain(stairs).chain(waves).collect(), self.intercepts)
    }
}

fn add(sums: &mut [f64], weights: &[f64], factor: f64) {
    sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += factor * weight);
}

/// The amplitude of a harmonic: see `formulas` in any model file with waves.
fn amplitude(harmonic: u32) -> f64 {
    let density = |k: u32| (-0.5 * (f64::from(k) * SPACING).powi(2)).exp();
    let total: f64 = 1.0 + 2.0 * (1..=HARMONICS as u32).map(density).sum::<f64>();
    (2.0 * density(harmonic) / total).sqrt()
}

/// The largest size that does not reach a level; `None` if none reaches it. Levels are rounded numbers: with this, targets compare
/// and need not round as featgen does, and have the same level to the last bit.
fn below(bins: &Bins, level: u32) -> Option<f64> {
    let reaches = |bits: u64| bins.index(f64::from_bits(bits)) >= level as usize;
    // Sizes are ordered as their bits are.
    let (mut low, mut high) = (0, f64::MAX.to_bits());
    reaches(high).then_some(())?;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if reaches(middle) { high = middle } else { low = middle }
    }
    Some(f64::from_bits(low))
}

/// A name as a message shows it: short, and without characters that a terminal would act on.
pub(crate) fn shown(name: &str) -> String {
    const SHOWN: usize = 40;
    let dots = if name.chars().nth(SHOWN).is_some() { "..." } else { "" };
    format!("`{}{dots}`", name.chars().take(SHOWN).flat_map(char::escape_debug).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On both sides of every threshold, and there, the level is what featgen says.
    #[test]
    fn thresholds_are_exact() {
        for (top, power, of) in [(1.0, 1.0, 100), (0.3, 0.5, 7), (1e300, 2.0, 3), (1e-300, 1.0, 5)] {
            let bins = Bins::new(top, power, of);
            for level in 1..=of {
                let Some(x) = below(&bins, level) else { continue };
                assert!(bins.index(x) < level as usize, "{top} {power} {level}");
                assert!(bins.index(x.next_up()) >= level as usize, "{top} {power} {level}");
            }
            // Squares of the smallest numbers are 0.
            assert_eq!(below(&bins, 1) == Some(0.0), power <= 1.0);
        }
        assert_eq!(below(&Bins::new(0.0, 1.0, 4), 2), None);
    }

    #[test]
    fn levels_may_be_called_other_and_missing() {
        let texts = |levels: &[&str], other, missing| {
            let levels = levels.iter().map(|&level| level.to_owned()).collect();
            let texts = Texts::new(&Category { levels, other, missing });
            (texts.other, texts.missing)
        };
        assert_eq!(texts(&["a", "b"], false, false), (None, None));
        assert_eq!(texts(&["a", "b"], true, false), (Some(2), Some(2)));
        assert_eq!(texts(&["a", "b"], true, true), (Some(2), Some(3)));
        assert_eq!(texts(&["a", "other"], true, true), (Some(1), Some(2)));
        assert_eq!(texts(&["missing", "other"], true, true), (Some(1), Some(0)));
    }
}
