//! `featgen predict`: decision values, labels or probabilities for data, and how good they are.

use std::collections::{BTreeSet, HashSet};
use std::io::{self, Write};
use std::process::ExitCode;

use featgen::data::Dataset;
use featgen::files::{check_writable, write_whole};
use featgen::{Error, Model};

use crate::args::{OutputKind, PredictArgs};
use crate::json::{self, Quality};
use crate::numbers::{percent, plural};

pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    args.output.as_deref().map_or(Ok(()), check_writable)?;
    let model = at_features(Model::load(&args.model)?, args.features)?;
    if args.output_kind == OutputKind::Probability && model.probability(0.0).is_none() {
        let reason = format!("probabilities take a model trained with --loss logistic, not {}", model.loss);
        return Err(Error::parameter("output-kind", reason).into());
    }
    let data = args.input.reader().require_labels(false).read(&args.data)?;
    let decision = model.decision(&data)?;
    let quality = Quality::of(&model, &data, &decision);

    let predictions = Predictions { model: &model, decision: &decision, kind: args.output_kind };
    if let Some(path) = &args.output {
        write_whole(path, |out| predictions.write(out))?;
    } else if !args.json {
        crate::print(|out| predictions.write(out))?;
    }
    if args.json {
        crate::print(|out| json::write(&quality, out))?;
    }
    if !args.quiet {
        notes(&model, &data);
        if !args.json {
            summary(&quality);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The model at the point of its path with `features` features, if that is wanted.
fn at_features(model: Model, features: Option<usize>) -> Result<Model, Error> {
    // The last point is the model itself, refitted or not.
    let Some(features) = features.filter(|&k| k != model.count()) else { return Ok(model) };
    model.at(features).ok_or_else(|| {
        let counts: BTreeSet<usize> = model.rounds.iter().map(|round| round.selected).collect();
        let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
        let reason = format!("the model's path has no point with {features}; it has {}", counts.join(", "));
        Error::parameter("features", reason)
    })
}

struct Predictions<'a> {
    model: &'a Model,
    decision: &'a [f64],
    kind: OutputKind,
}

impl Predictions<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.decision.iter().try_for_each(|&f| match self.kind {
            OutputKind::Label => writeln!(out, "{}", self.model.classes[self.model.class(f)]),
            OutputKind::Decision => writeln!(out, "{f}"),
            OutputKind::Probability => {
                writeln!(out, "{}", self.model.probability(f).expect("checked before anything was read"))
            }
        })
    }
}

/// What may surprise: labels or features that are not the model's.
pub(crate) fn notes(model: &Model, data: &Dataset) {
    let source = &data.source;
    if !data.labels.is_empty() && model.truth(data).is_none() {
        let [a, b] = &model.classes;
        crate::note(format_args!(
            "note: {source}: its labels are not the model's classes, {a} and {b}: no accuracy"
        ));
    }
    let missing = missing_features(model, data);
    if let Some(first) = missing.first() {
        let all: HashSet<&str> = model.selected().into_iter().map(|term| term.name.as_str()).collect();
        let (k, n) = (missing.len(), plural(all.len(), "feature"));
        crate::note(format_args!(
            "note: {source}: {k} of the model's {n} are missing and count as 0: {first}, ..."
        ));
    }
}

/// Selected features that the data lack. Only names tell: a number may just not occur.
fn missing_features(model: &Model, data: &Dataset) -> Vec<String> {
    if !(model.by_name && data.names.identify()) {
        return Vec::new();
    }
    let known: HashSet<&str> = data.names.list().iter().map(String::as_str).collect();
    let used: HashSet<u64> =
        model.selected().iter().flat_map(|term| term.feature.inputs()).copied().collect();
    let names = model.inputs.iter().filter(|input| used.contains(&input.id)).map(|input| input.name.as_str());
    names.filter(|name| !known.contains(name)).map(str::to_owned).collect()
}

fn summary(quality: &Quality) {
    let Some(accuracy) = quality.accuracy else { return };
    let auc = quality.auc.map_or_else(String::new, |auc| format!(", AUC {auc:.4}"));
    crate::note(format_args!("accuracy {} of {}{auc}", percent(accuracy), plural(quality.n, "instance")));
}
