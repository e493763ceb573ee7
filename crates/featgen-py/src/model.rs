//! A fitted model, as arrays and lists.

use std::collections::HashMap;
use std::io::Write as _;
use std::ops::Range;
use std::path::PathBuf;

use featgen::data::{Column, Names};
use featgen::feature::{Feature, Scaled};
use featgen::files::write_whole;
use featgen::machine::Select;
use featgen::model::{
    Certificate, Fit, NamedInput, Proof, Round, StableFeature, StandIn, Term, Truth, Weighing,
};
use featgen::table::Recipe;
use featgen_export::{Options, Target};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::raise;
use crate::matrix::Matrix;
use crate::validate::Found;

/// What a run leaves: terms, weights, path and certificate.
#[pyclass(frozen, module = "featgen._featgen")]
pub(crate) struct Model {
    model: featgen::Model,
}

impl Model {
    pub(crate) fn new(model: featgen::Model) -> Self {
        Self { model }
    }

    /// The engine's model.
    pub(crate) fn get(&self) -> &featgen::Model {
        &self.model
    }

    /// What a feature is called. The engine calls inputs without names by their numbers from 1; scikit-learn calls them
    /// `x0`, `x1` and so on.
    fn shown(&self, name: &str, feature: &Feature) -> String {
        let by_number = || feature.show(|id| (u128::from(id) + 1).to_string()) == name;
        if self.model.by_name || !by_number() { name.to_owned() } else { feature.show(|id| format!("x{id}")) }
    }
}

impl Model {
    /// How often features are selected from halves of the samples, where that was asked for.
    fn stability<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(found) = &self.model.stability else { return Ok(None) };
        let shown = |f: &StableFeature| match &f.feature {
            Some(feature) => self.shown(&f.name, feature),
            None => f.name.clone(),
        };
        let features = &found.features;
        let shape = (features.len(), found.counts.len());
        let dict = PyDict::new(py);
        dict.set_item("runs", found.runs)?;
        dict.set_item("selected", found.selected)?;
        dict.set_item("threshold", found.threshold)?;
        dict.set_item("expected_false", found.expected_false)?;
        dict.set_item("features", features.iter().map(shown).collect::<Vec<_>>())?;
        dict.set_item("frequency", PyArray1::from_iter(py, features.iter().map(|f| f.frequency)))?;
        dict.set_item("counts", PyArray1::from_iter(py, found.counts.iter().map(|&count| count as i64)))?;
        dict.set_item("path", Array2::from_shape_fn(shape, |(i, k)| features[i].path[k]).into_pyarray(py))?;
        Ok(Some(dict))
    }

    /// How the columns of a frame become inputs. A model that does not say so takes them as they are.
    pub(crate) fn recipe(&self) -> Recipe {
        let plain = || Recipe::plain(self.model.inputs.iter().map(|input| input.name.clone()));
        self.model.recipe.clone().unwrap_or_else(plain)
    }

    /// Where inputs are among those of these names; `None` if they are not found by name.
    fn places(&self, names: &Names) -> Option<HashMap<u64, u64>> {
        names.identify().then_some(())?;
        let index: HashMap<&str, u64> = names.list().iter().map(String::as_str).zip(0..).collect();
        let place = |input: &NamedInput| Some((input.id, *index.get(input.name.as_str())?));
        Some(self.model.inputs.iter().filter_map(place).collect())
    }
}

impl Model {
    /// The values of features on `x`: an array by columns, or compressed columns where `x` is sparse.
    fn computed(&self, py: Python<'_>, x: &Matrix<'_>, features: &[&Feature]) -> PyResult<Py<PyAny>> {
        let columns = x.columns()?;
        let columns = &*columns;
        let rows = columns.rows();
        let places = self.places(&x.names());
        let values: Vec<Option<Column>> = py.detach(|| {
            let at = |id: u64| columns.position(places.as_ref().map_or(Some(id), |of| of.get(&id).copied())?);
            features.iter().map(|feature| feature.column(columns, at)).collect()
        });
        if x.is_sparse() {
            return compressed(py, &values);
        }
        let mut all = vec![0.0; rows * values.len()];
        for (part, column) in all.chunks_mut(rows.max(1)).zip(&values) {
            column.iter().for_each(|column| column.add_to(1.0, part));
        }
        let array = Array2::from_shape_vec((values.len(), rows), all)
            .map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok(array.reversed_axes().into_pyarray(py).into_any().unbind())
    }
}

#[pymethods]
impl Model {
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        featgen::Model::load(path).map(Self::new).map_err(raise)
    }

    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.model.save(path).map_err(raise)
    }

    /// Writes the model as a file of another kind, by default that of the file's ending.
    fn export(&self, path: PathBuf, to: Option<&str>, table: String) -> PyResult<()> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let target = match to {
            Some(name) => Target::find(name),
            None => Target::of_ending(ending),
        };
        let written = target.and_then(|to| featgen_export::export(&self.model, to, &Options { table }));
        written.and_then(|written| write_whole(&path, |out| out.write_all(&written))).map_err(raise)
    }

    /// From what a file holds. Pickles are made of that.
    #[new]
    fn from_json(text: &[u8]) -> PyResult<Self> {
        featgen::Model::from_json(text, "model").map(Self::new).map_err(raise)
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>,) {
        (self.to_json(py),)
    }

    /// What a file holds.
    fn to_json<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.model.to_json().as_bytes())
    }

    /// The model with `n_features` features or the nearest number below; `None` if no round had so few.
    fn at(&self, n_features: usize) -> Option<Self> {
        self.model.at_most(n_features).map(Self::new)
    }

    /// The model with what cross-validation says of it.
    fn with_cv(&self, found: Found) -> Self {
        Self::new(featgen::Model { cv: Some(found.into()), ..self.model.clone() })
    }

    /// The model of columns that its inputs were made of, each times a factor plus an offset; with names for them, if there are any.
    fn unscaled(
        &self,
        factors: numpy::PyReadonlyArray1<'_, f64>,
        offsets: numpy::PyReadonlyArray1<'_, f64>,
        names: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let (factors, offsets) = (factors.as_slice()?, offsets.as_slice()?);
        let made = |id: u64| Scaled { factor: factors[id as usize], offset: offsets[id as usize] };
        let model = self.model.clone().unscaled(made).map_err(raise)?;
        Ok(Self::new(match names {
            Some(names) => model.with_names(&names),
            None => model,
        }))
    }

    /// Facts by name.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let model = &self.model;
        let facts = PyDict::new(py);
        facts.set_item("loss", &model.loss)?;
        facts.set_item("classes", &model.classes)?;
        facts.set_item("classes_are_text", model.classes_are_text)?;
        facts.set_item("budget", model.budget)?;
        facts.set_item("cost", model.cost)?;
        facts.set_item("asked_cost", model.asked_cost)?;
        facts.set_item("select", model.select.name())?;
        facts.set_item("output", format!("{:?}", model.output).to_lowercase())?;
        facts.set_item("intercept", model.bias.0.iter().map(|b| 0.0 - b).collect::<Vec<f64>>())?;
        facts.set_item("kept", kept(model))?;
        facts.set_item("offset", model.offset)?;
        facts.set_item("objective", model.certificate.objective)?;
        facts.set_item("lower_bound", model.certificate.lower_bound)?;
        facts.set_item("gap", model.certificate.gap())?;
        facts.set_item("proof", model.proof.as_ref().map(|proof| proof_dict(py, proof)).transpose()?)?;
        facts.set_item("discoveries", discoveries_dict(py, model)?)?;
        facts.set_item("stability", self.stability(py)?)?;
        facts.set_item("stopped", format!("{:?}", model.stopped).to_lowercase())?;
        facts.set_item("explained", model.stopped.explain())?;
        facts.set_item("n", model.training.n)?;
        facts.set_item("m", model.training.m)?;
        facts.set_item("candidates", model.training.candidates)?;
        facts.set_item("accuracy", model.training.accuracy)?;
        facts.set_item("explained_part", model.training.explained)?;
        facts.set_item("count", model.count())?;
        facts.set_item("by_name", model.by_name)?;
        facts.set_item("of_table", model.recipe.is_some())?;
        facts.set_item("space", &model.space)?;
        facts.set_item("parameters", parameters(py, model)?)?;
        Ok(facts)
    }

    /// All terms of the path, column by column: what each is called, the inputs it is made of, its final weight, the
    /// round that brought it, its group.
    fn terms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let terms = &self.model.terms;
        let group = |term: &Term| term.group.map_or(-1, |g| g as i64);
        let columns = PyDict::new(py);
        let shown: Vec<String> = terms.iter().map(|t| self.shown(&t.name, &t.feature)).collect();
        columns.set_item("feature", shown)?;
        columns.set_item("inputs", terms.iter().map(|term| term.feature.inputs()).collect::<Vec<_>>())?;
        columns.set_item("plain", terms.iter().map(is_input).collect::<Vec<_>>())?;
        let outputs = self.model.outputs();
        let weights = Array2::from_shape_fn((terms.len(), outputs), |(t, k)| terms[t].weight.0[k]);
        columns.set_item("weight", PyArray1::from_iter(py, terms.iter().map(|term| term.weight.one())))?;
        columns.set_item("weights", weights.into_pyarray(py))?;
        columns.set_item("round", PyArray1::from_iter(py, terms.iter().map(|term| term.round as i64)))?;
        columns.set_item("group", PyArray1::from_iter(py, terms.iter().map(group)))?;
        let frequency = |term: &Term| {
            let of_group = || self.model.groups.get(term.group?)?.frequency;
            term.frequency.or_else(of_group).unwrap_or(f64::NAN)
        };
        columns.set_item("frequency", PyArray1::from_iter(py, terms.iter().map(frequency)))?;
        let stand_ins = |term: &Term| -> Vec<(String, f64)> {
            let shown = |other: &StandIn| self.shown(&other.name, &Feature::input(other.input));
            term.stand_ins.iter().map(|other| (shown(other), other.correlation)).collect()
        };
        columns.set_item("stand_ins", terms.iter().map(stand_ins).collect::<Vec<_>>())?;
        columns.set_item("groups", self.model.groups.iter().map(|g| g.name.as_str()).collect::<Vec<_>>())?;
        Ok(columns)
    }

    /// The inputs that terms are made of, by name: where they stood. Empty if they are not found by name.
    fn inputs(&self) -> HashMap<&str, u64> {
        self.model.inputs.iter().map(|input| (input.name.as_str(), input.id)).collect()
    }

    /// The columns of a table that inputs are made of, and the inputs of each that terms are made of; `None` if it was no table.
    fn columns(&self) -> Option<Vec<(String, Vec<u64>)>> {
        let recipe = self.model.recipe.as_ref()?;
        let ids = self.inputs();
        let names = recipe.names();
        let of = |(column, range): (&featgen::table::Column, Range<u64>)| {
            let inputs = range.filter_map(|at| ids.get(names[at as usize].as_str()).copied());
            (column.column.clone(), inputs.collect())
        };
        Some(recipe.ranges().map(of).collect())
    }

    /// For each selected feature that has a curve instead of a weight: its name, the length of its weights, the round
    /// that brought it, and points of the curve. Empty if features have weights.
    fn curves<'py>(&self, py: Python<'py>) -> Vec<(String, f64, usize, Bound<'py, PyArray2<f64>>)> {
        if !self.model.has_curves() {
            return Vec::new();
        }
        let curve = |selected: &featgen::model::Selected<'_>| {
            let input = Feature::input(selected.terms.first()?.feature.inputs()[0]);
            let shown = self.shown(&selected.group.name, &input);
            let points: Vec<_> = (0..self.model.outputs()).map(|k| self.model.curve(selected, k)).collect();
            let columns = 1 + points.len();
            let value = |i: usize, k: usize| if k == 0 { points[0][i][0] } else { points[k - 1][i][1] };
            let array = Array2::from_shape_fn((points[0].len(), columns), |(i, k)| value(i, k));
            Some((shown, selected.norm, selected.group.round, array.into_pyarray(py)))
        };
        self.model.selected_groups().iter().filter_map(curve).collect()
    }

    /// One dictionary per round.
    fn rounds<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.model.rounds.iter().map(|round| round_dict(py, round)).collect()
    }

    /// The weights of the path by rounds, in compressed rows over the terms, and the intercepts.
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rounds = &self.model.rounds;
        let mut pointers = vec![0i64];
        pointers.extend(rounds.iter().scan(0, |sum, round| {
            *sum += round.terms.len() as i64;
            Some(*sum)
        }));
        let terms = rounds.iter().flat_map(|round| round.terms.iter().map(|&term| term as i64));
        let weights = rounds.iter().flat_map(|round| round.weights.iter().copied());
        let path = PyDict::new(py);
        path.set_item("pointers", pointers.into_pyarray(py))?;
        path.set_item("terms", PyArray1::from_iter(py, terms))?;
        let outputs = self.model.outputs();
        path.set_item("weights", PyArray1::from_iter(py, weights))?;
        let intercepts = Array2::from_shape_fn((rounds.len(), outputs), |(r, k)| 0.0 - rounds[r].bias.0[k]);
        path.set_item("intercepts", intercepts.into_pyarray(py))?;
        Ok(path)
    }

    /// The decision values of every row of `x`, a column for each output.
    fn decision<'py>(&self, py: Python<'py>, x: Matrix<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let columns = x.columns()?;
        let columns = &*columns;
        let names = x.names();
        let decision = py.detach(|| self.model.predictor(&names, "X").decision(columns));
        array(py, decision.map_err(raise)?, self.model.outputs())
    }

    /// The probabilities of all classes for every row of decision values; `None` if the loss is no likelihood.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        decision: numpy::PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let rows = decision.as_slice()?.chunks_exact(self.model.outputs());
        let all: Option<Vec<Vec<f64>>> = rows.map(|row| self.model.probabilities(row)).collect();
        all.map(|rows| array(py, rows.concat(), self.model.classes.len())).transpose()
    }

    /// How often the larger risk has the earlier event; `None` if no two can be compared. Times are negative without an event.
    fn concordance(
        &self,
        risk: numpy::PyReadonlyArray1<'_, f64>,
        times: numpy::PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Option<f64>> {
        let truth = Truth::Numbers(times.as_slice()?.to_vec());
        Ok(self.model.scores(risk.as_slice()?, &truth).concordance)
    }

    /// The values of some inputs on `x`: an array by columns, or compressed columns where `x` is sparse.
    fn take<'py>(&self, py: Python<'py>, x: Matrix<'py>, inputs: Vec<u64>) -> PyResult<Py<PyAny>> {
        let inputs: Vec<Feature> = inputs.into_iter().map(Feature::input).collect();
        self.computed(py, &x, &inputs.iter().collect::<Vec<_>>())
    }

    /// The same of some terms.
    fn values<'py>(&self, py: Python<'py>, x: Matrix<'py>, terms: Vec<usize>) -> PyResult<Py<PyAny>> {
        let known =
            |&t: &usize| self.model.terms.get(t).ok_or_else(|| PyValueError::new_err(format!("no term {t}")));
        let features = terms.iter().map(|t| Ok(&known(t)?.feature)).collect::<PyResult<Vec<_>>>()?;
        self.computed(py, &x, &features)
    }
}

/// Rows of so many numbers.
fn array(py: Python<'_>, numbers: Vec<f64>, width: usize) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let rows = numbers.len() / width;
    let array = Array2::from_shape_vec((rows, width), numbers);
    Ok(array.map_err(|e| PyValueError::new_err(e.to_string()))?.into_pyarray(py))
}

/// The columns that were kept: their inputs, names and weights.
fn kept(model: &featgen::Model) -> Vec<(u64, &str, &[f64])> {
    model.kept.iter().map(|kept| (kept.id, kept.name.as_str(), kept.weight.0.as_slice())).collect()
}

fn compressed(py: Python<'_>, columns: &[Option<Column>]) -> PyResult<Py<PyAny>> {
    let (mut pointers, mut rows, mut values) = (vec![0i64], Vec::new(), Vec::new());
    for column in columns {
        column.iter().for_each(|column| {
            column.each_nonzero(|row, x| {
                rows.push(i64::from(row));
                values.push(x);
            });
        });
        pointers.push(rows.len() as i64);
    }
    let parts = (values.into_pyarray(py), rows.into_pyarray(py), pointers.into_pyarray(py));
    Ok(parts.into_pyobject(py)?.into_any().unbind())
}

/// What the run was asked for, as the estimators call it; empty in older files.
fn parameters<'py>(py: Python<'py>, model: &featgen::Model) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let Some(given) = &model.parameters else { return Ok(dict) };
    dict.set_item("n_features", given.features)?;
    dict.set_item("select", given.select.map(Select::name))?;
    dict.set_item("exchange", given.exchange)?;
    dict.set_item("cost", given.cost)?;
    dict.set_item("scale", &given.scale)?;
    dict.set_item("budget", given.budget)?;
    dict.set_item("max_rounds", given.max_rounds)?;
    dict.set_item("tol", given.tol)?;
    dict.set_item("gap", given.gap)?;
    dict.set_item("prove", given.prove)?;
    dict.set_item("fdr", given.fdr)?;
    dict.set_item("stability", given.stability)?;
    dict.set_item("random_state", given.seed.unwrap_or(0))?;
    dict.set_item("stand_ins", given.stand_ins)?;
    dict.set_item("time_limit", given.time_limit)?;
    dict.set_item("inner_tol", given.inner_tol)?;
    dict.set_item("solver", &given.solver)?;
    dict.set_item("fit_intercept", given.shift)?;
    dict.set_item("debias", given.debias)?;
    dict.set_item("loss", &given.loss)?;
    match &given.class_weights {
        None => dict.set_item("class_weight", py.None())?,
        Some(Weighing::Balanced) => dict.set_item("class_weight", "balanced")?,
        Some(Weighing::Each(weights)) => dict.set_item("class_weight", weights)?,
    }
    dict.set_item("only", &given.only)?;
    if let Some(groups) = &given.groups {
        let lists: Vec<_> = groups.lists.iter().map(|group| (&group.name, &group.features)).collect();
        dict.set_item("file", &groups.file)?;
        dict.set_item("format", &groups.format)?;
        dict.set_item("lists", lists)?;
        dict.set_item("singletons", groups.singletons)?;
    }
    Ok(dict)
}

fn is_input(term: &Term) -> bool {
    term.feature.as_input().is_some()
}

/// A round as `callback` and `rounds_` have it.
pub(crate) fn round_dict<'py>(py: Python<'py>, round: &Round) -> PyResult<Bound<'py, PyDict>> {
    let Round { objective, lower_bound, .. } = *round;
    let dict = PyDict::new(py);
    dict.set_item("round", round.round)?;
    dict.set_item("selected", round.selected)?;
    dict.set_item("scored", round.scored)?;
    dict.set_item("cost", round.cost)?;
    dict.set_item("objective", objective)?;
    dict.set_item("lower_bound", lower_bound)?;
    dict.set_item("gap", Certificate { objective, lower_bound }.gap())?;
    dict.set_item("inner_iterations", round.inner_iterations)?;
    dict.set_item("inner_gap", round.inner_gap)?;
    match round.fit() {
        Fit::Accuracy(part) => dict.set_item("accuracy", part)?,
        Fit::Explained(part) => dict.set_item("explained", part)?,
    }
    let seconds = PyDict::new(py);
    seconds.set_item("score", round.seconds.score)?;
    seconds.set_item("generate", round.seconds.generate)?;
    seconds.set_item("solve", round.seconds.solve)?;
    dict.set_item("seconds", seconds)?;
    Ok(dict)
}

/// How far the features are discoveries, where that was asked for.
fn discoveries_dict<'py>(py: Python<'py>, model: &featgen::Model) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(found) = &model.discoveries else { return Ok(None) };
    let dict = PyDict::new(py);
    dict.set_item("rate", found.rate)?;
    dict.set_item("expected_rate", found.expected_rate())?;
    dict.set_item("considered", found.considered)?;
    dict.set_item("by_chance", &found.by_chance)?;
    Ok(Some(dict))
}

/// What is proven of the features chosen.
pub(crate) fn proof_dict<'py>(py: Python<'py>, proof: &Proof) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("objective", proof.objective)?;
    dict.set_item("lower_bound", proof.lower_bound)?;
    dict.set_item("gap", proof.gap())?;
    dict.set_item("forced", proof.forced)?;
    dict.set_item("undecided", proof.undecided)?;
    dict.set_item("nodes", proof.nodes)?;
    Ok(dict)
}
