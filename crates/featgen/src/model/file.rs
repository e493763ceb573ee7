//! The model's file: readable JSON with a version, written whole or not at all, every float read back exactly.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::formula::Formulas;
use super::{Certificate, Fit, Model, Round};
use crate::data::read::quoted;
use crate::error::{Error, Place, Result};
use crate::files::{read_at_most, write_whole};
use crate::objective::Output;
use crate::table::Recipe;
use crate::target::same_number;

const FORMAT: &str = "featgen-model";
const VERSION: u32 = 1;

/// A file larger than this many bytes is no model: a term takes about a hundred.
const LARGEST: u64 = 1 << 30;

#[derive(Serialize)]
struct Written<'a> {
    format: &'a str,
    version: u32,
    formulas: Formulas,
    #[serde(flatten)]
    model: &'a Model,
}

#[derive(Deserialize)]
struct Header {
    format: Option<String>,
    version: Option<u32>,
}

impl Model {
    /// Writes the model to a file, which appears whole or not at all. What could not be read again is refused.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.check().map_err(|reason| {
            Error::input(path.as_ref().display().to_string().as_str(), format!("not saved: {reason}"))
        })?;
        write_whole(path.as_ref(), |out| {
            serde_json::to_writer_pretty(&mut *out, &self.written())?;
            out.write_all(b"\n")
        })
    }

    /// Reads a model that [`save`](Model::save) wrote.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let name = path.as_ref().display().to_string();
        let text = read_at_most(path.as_ref(), LARGEST)?;
        Self::from_json(&text, &name)
    }

    /// What a file holds, on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.written()).expect("a model can always be written")
    }

    /// From what a file holds; `name` is for messages.
    pub fn from_json(text: &[u8], name: &str) -> Result<Self> {
        let wrong = |e: serde_json::Error| {
            // The library's message ends with the position, which stands in front already.
            let message = e.to_string();
            let reason = message.split(" at line ").next().unwrap_or(&message).to_owned();
            let place = Place::at(name, e.line().max(1) as u64, e.column().max(1) as u64);
            Error::input(place, format!("not a model: {reason}"))
        };
        let header: Header = serde_json::from_slice(text).map_err(wrong)?;
        match (header.format.as_deref(), header.version) {
            (Some(FORMAT), Some(VERSION)) => {}
            (Some(FORMAT), Some(version)) => {
                let reason = format!("the model has version {version}; this featgen reads version {VERSION}");
                return Err(Error::input(name, reason));
            }
            _ => return Err(Error::input(name, "not a featgen model")),
        }
        let model: Self = serde_json::from_slice(text).map_err(wrong)?;
        model.check().map_err(|reason| Error::input(name, reason))?;
        Ok(model)
    }

    fn written(&self) -> Written<'_> {
        Written { format: FORMAT, version: VERSION, formulas: Formulas::of(self), model: self }
    }

    /// Files hold numbers, and there is none for what is not finite.
    pub(crate) fn check_finite(&self) -> Result<(), String> {
        let whole = [
            ("cost", self.cost),
            ("asked_cost", self.asked_cost),
            ("debias", self.debias.unwrap_or(0.0)),
            ("objective", self.certificate.objective),
            ("lower_bound", self.certificate.lower_bound),
            ("proof", self.proof.map_or(0.0, |proof| proof.objective + proof.lower_bound)),
        ];
        let refuse = |what: String, x: f64| Err(format!("the model's {what} is {x}, not a finite number"));
        if let Some((what, x)) = whole.into_iter().find(|(_, x)| !x.is_finite()) {
            return refuse(what.to_owned(), x);
        }
        let fit = match self.training.fit() {
            Fit::Accuracy(part) => ("training accuracy".to_owned(), vec![part]),
            Fit::Explained(part) => ("explained part".to_owned(), vec![part]),
        };
        let terms = self.terms.iter().map(|term| (&term.name, &term.weight));
        let kept = self.kept.iter().map(|kept| (&kept.name, &kept.weight));
        let weights = terms.chain(kept).filter(|(_, weight)| !weight.is_finite());
        let weights = weights.map(|(name, weight)| (format!("weight of feature {name}"), weight.0.clone()));
        for (what, numbers) in [("bias".to_owned(), self.bias.0.clone()), fit].into_iter().chain(weights) {
            if let Some(&x) = numbers.iter().find(|x| !x.is_finite()) {
                return refuse(what, x);
            }
        }
        for input in &self.inputs {
            if let Some(mean) =
                input.genotype.as_ref().map(|genotype| genotype.mean).filter(|x| !x.is_finite())
            {
                return refuse(format!("mean of {}", input.name), mean);
            }
        }
        for group in &self.groups {
            if let Some(&x) = group.range.iter().flatten().find(|x| !x.is_finite()) {
                return refuse(format!("range of {}", group.name), x);
            }
        }
        if let Some(x) = self.cv.iter().flat_map(|cv| cv.numbers()).find(|x| !x.is_finite()) {
            return refuse("cross-validation".to_owned(), x);
        }
        if let Some(x) = self.sureness().find(|x| !x.is_finite()) {
            return refuse("stability".to_owned(), x);
        }
        for round in &self.rounds {
            if let Some(x) = round.numbers().find(|x| !x.is_finite()) {
                return refuse(format!("round {}", round.round), x);
            }
        }
        Ok(())
    }

    /// What the types cannot say, so that a damaged file is refused here and not somewhere deep.
    fn check(&self) -> Result<(), String> {
        self.check_finite()?;
        self.check_outputs()?;
        if self.terms.iter().filter_map(|term| term.group).any(|g| g >= self.groups.len()) {
            return Err("damaged model: a term of a group that is not there".into());
        }
        if self.stability.as_ref().is_some_and(|found| !found.is_sound()) {
            return Err("damaged model: frequencies of other numbers of features than there are".into());
        }
        if let Some(term) = self.terms.iter().find(|term| !term.feature.is_sound()) {
            return Err(format!("damaged model: {} is no feature", quoted(term.name.as_bytes())));
        }
        self.check_curves()?;
        self.recipe.as_ref().map_or(Ok(()), Recipe::check)?;
        self.check_bound("the certificate", self.certificate)?;
        self.proof.map_or(Ok(()), |proof| self.check_bound("the proof", proof.certificate()))?;
        self.rounds.iter().try_for_each(|round| self.check_round(round))?;
        Ok(())
    }

    /// Classes and weights must fit the outputs.
    fn check_outputs(&self) -> Result<(), String> {
        let (outputs, classes) = (self.outputs(), &self.classes);
        let expected = match (self.output, outputs) {
            (Output::Classes, 1) => 2,
            (Output::Classes, many) => many,
            (Output::Number | Output::Rate | Output::Risk, _) => 0,
        };
        if outputs == 0 || classes.len() != expected || (self.output != Output::Classes && outputs > 1) {
            return Err(format!("damaged model: {} classes for {outputs} outputs", classes.len()));
        }
        let same = |a: &String, b: &String| a == b || (!self.classes_are_text && same_number(a, b));
        for (k, class) in classes.iter().enumerate() {
            if classes[..k].iter().any(|other| same(class, other)) {
                return Err(format!("damaged model: two classes are {}", quoted(class.as_bytes())));
            }
        }
        let terms = self.terms.iter().map(|term| &term.weight);
        let mut weights = terms.chain(self.kept.iter().map(|kept| &kept.weight));
        match weights.all(|weight| weight.0.len() == outputs) {
            true => Ok(()),
            false => Err(format!("damaged model: a weight is not for {outputs} outputs")),
        }
    }

    /// All parts over one input are of one curve, and so are all parts in one group.
    fn check_curves(&self) -> Result<(), String> {
        let (mut by_input, mut by_group) = (HashMap::new(), HashMap::new());
        for term in &self.terms {
            let Some(first) = term.feature.first_of_curve() else { continue };
            let of_group = term.group.map(|group| by_group.entry(group).or_insert_with(|| first.clone()));
            let fits_group = of_group.is_none_or(|other| *other == first);
            if !fits_group || *by_input.entry(first.inputs()[0]).or_insert_with(|| first.clone()) != first {
                return Err("damaged model: parts of a curve do not fit each other".into());
            }
        }
        Ok(())
    }

    fn check_bound(&self, what: &str, bound: Certificate) -> Result<(), String> {
        let Certificate { objective, lower_bound } = bound;
        match bound.is_sound() {
            true => Ok(()),
            false => Err(format!(
                "damaged model: the lower bound of {what}, {lower_bound}, is above the objective, {objective}"
            )),
        }
    }

    fn check_round(&self, round: &Round) -> Result<(), String> {
        let Round { round: number, terms, selected, objective, lower_bound, .. } = round;
        let mut known = BTreeSet::new();
        let once = |&t: &usize| t < self.terms.len() && known.insert(t);
        let fits = round.has_outputs(self.outputs()) && round.kept.len() == self.kept.len();
        if !fits || !terms.iter().all(once) {
            return Err(format!("damaged model: round {number} does not fit the terms"));
        }
        // Features in groups count by their groups.
        let carrying: BTreeSet<_> =
            round.weighty().map(|t| self.terms[t].group.map_or((0, t), |group| (1, group))).collect();
        if carrying.len() != *selected {
            let counted = carrying.len();
            return Err(format!("damaged model: round {number} has {counted} selected, not {selected}"));
        }
        let bound = Certificate { objective: *objective, lower_bound: *lower_bound };
        self.check_bound(&format!("round {number}"), bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read::Reader;
    use crate::feature::{ExactF64, Step, Wave};
    use crate::model::Proof;
    use crate::{LinearSpace, Machine};

    fn two_terms(folder: &Path) -> Model {
        std::fs::write(folder.join("data"), "1 1:1 2:3\n-1 1:-1 2:2\n").unwrap();
        let data = Reader::new().read(folder.join("data")).unwrap();
        Machine::new().fit(&LinearSpace::new(&data), &data.labels).unwrap()
    }

    /// Both have five parts, the same scale and power 1, and are over one input.
    #[test]
    fn steps_and_waves_make_no_curve_together() {
        let mut model = two_terms(tempfile::tempdir().unwrap().path());
        let (scale, input) = (ExactF64(2.0), 0);
        let step = |level| Step { input, level, of: 5, top: scale, power: ExactF64(1.0) };
        model.terms[0].feature = step(1).into();
        model.terms[1].feature = step(3).into();
        assert_eq!(model.check(), Ok(()));
        model.terms[1].feature = Wave { input, harmonic: 1, sine: false, sigma: scale }.into();
        assert_eq!(model.check(), Err("damaged model: parts of a curve do not fit each other".into()));
    }

    #[test]
    fn nothing_that_is_not_finite_is_saved() {
        let folder = tempfile::tempdir().unwrap();
        let model = two_terms(folder.path());
        let path = folder.path().join("model");
        model.save(&path).unwrap();
        type Spoil = fn(&mut Model, f64);
        let spoilt: [(&str, Spoil); 16] = [
            ("bias", |model, x| model.bias.0[0] = x),
            ("cost", |model, x| model.cost = x),
            ("asked_cost", |model, x| model.asked_cost = x),
            ("debias", |model, x| model.debias = Some(x)),
            ("objective", |model, x| model.certificate.objective = x),
            ("lower_bound", |model, x| model.certificate.lower_bound = x),
            ("proof", |model, x| {
                let (objective, lower_bound) = (x, 0.0);
                model.proof = Some(Proof { objective, lower_bound, forced: 0, undecided: 1, nodes: 0 });
            }),
            ("cross-validation", |model, x| {
                model.cv = Some(crate::model::CrossValidated {
                    metric: "accuracy".into(),
                    mean: x,
                    se: None,
                    folds: 5,
                    repeats: 1,
                    baseline: 0.5,
                    best: 1,
                    chosen: 1,
                    points: Vec::new(),
                });
            }),
            ("stability", |model, x| model.terms[0].frequency = Some(x)),
            ("stability", |model, x| {
                model.terms[0].stand_ins =
                    vec![crate::model::StandIn { input: 3, name: "other".into(), correlation: x }];
            }),
            ("training accuracy", |model, x| model.training.accuracy = Some(x)),
            ("weight of feature 1", |model, x| model.terms[0].weight.0[0] = x),
            ("round 1", |model, x| model.rounds[0].weights[0] = x),
            ("round 1", |model, x| model.rounds[0].inner_gap = x),
            ("round 1", |model, x| model.rounds[0].bias.0[0] = x),
            ("range of g", |model, x| {
                model.groups = vec![crate::model::Group {
                    name: "g".into(),
                    size: 1,
                    round: 1,
                    range: Some([0.0, x]),
                    frequency: None,
                }];
            }),
        ];
        let saved = std::fs::read(&path).unwrap();
        for (what, spoil) in spoilt {
            for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let mut model = model.clone();
                spoil(&mut model, x);
                let said = model.save(&path).unwrap_err().to_string();
                let expected = format!("model: not saved: the model's {what} is {x}, not a finite number");
                assert!(said.ends_with(&expected), "{said}");
                assert_eq!(std::fs::read(&path).unwrap(), saved);
            }
        }
    }
}
