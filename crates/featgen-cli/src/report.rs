//! `featgen report`: a page about a model.

use std::io::Write;
use std::path::Path;

use featgen::data::read::{Batch, Reader};
use featgen::files::write_whole;
use featgen::model::{Decisions, Lacking, Predictor, Truth};
use featgen::objective::Output;
use featgen::{Context, Error, Model};
use featgen_report::{About, Effects, Report, Test};

use crate::args::ReportArgs;
use crate::predict::{self, Offset};

pub(crate) fn run(args: &ReportArgs, context: &Context) -> anyhow::Result<u8> {
    crate::check_outputs(&inputs(args), &[("the page", &args.output)])?;
    let model = Model::load(&args.model)?;
    // Newer models say more than this version keeps of them. What was a pipe cannot be read again: less is shown then.
    let tested = args.test.as_deref().map(|data| Tested::read(&model, args, data, context)).transpose()?;
    let name = args.model.file_name().map(|name| name.to_string_lossy().into_owned());
    let about = About { title: name.as_deref(), ..About::default() };
    let test = tested.as_ref().map(|tested| Test {
        name: &tested.source,
        decision: &tested.decision,
        truth: &tested.truth,
        lacking: &tested.lacking,
        effects: tested.effects.clone(),
    });
    let page = Report::new(&model, &about, test.as_ref()).to_html();
    write_whole(&args.output, |out| out.write_all(page.as_bytes()))?;
    Ok(crate::SUCCESS)
}

/// What is read.
fn inputs(args: &ReportArgs) -> Vec<(&'static str, &Path)> {
    let files = [
        ("the model", Some(args.model.as_path())),
        ("the test data", args.test.as_deref()),
        ("labels", args.input.labels()),
        ("the offset", args.offset.as_deref()),
    ];
    files.into_iter().filter_map(|(what, file)| Some((what, file?))).chain(args.people.files()).collect()
}

/// Predictions for test data, and what is true of them.
struct Tested {
    source: String,
    decision: Vec<f64>,
    truth: Truth,
    lacking: Lacking,
    effects: Vec<f64>,
}

impl Tested {
    fn read(model: &Model, args: &ReportArgs, data: &Path, context: &Context) -> anyhow::Result<Self> {
        let mut reader = args.people.tell(args.input.reader(context));
        // A table has its labels where the training data had them, unless it is said otherwise.
        let unsaid = !args.input.names_labels() && model.output != Output::Risk;
        let column = model.label_column.as_ref().filter(|_| unsaid);
        if let Some(column) = column.filter(|_| data != Path::new("-") && Reader::is_table(data)) {
            reader = reader.label_column(column);
        }
        if let Some(genotypes) = model.genotypes() {
            reader = reader.genotypes(genotypes);
        }
        let batches = reader.require_labels(true).recipe(model.recipe.as_ref()).batches(data)?;
        let strangers = batches.strangers();
        let (source, names) = (batches.source().to_owned(), batches.names().clone());
        let mut lacking = model.lacking(&names, batches.dimension());
        predict::refuse_if_all(&lacking, &source, args.missing_ok)?;
        let predictor = model.predictor(&names, &source);
        let offset = Offset::read(model, args.offset.as_deref(), args.quiet)?;
        let mut seen = Seen::new(model, &source, Effects::new(model, &names));
        batches.for_each(predictor.inputs(), |batch| seen.take(&predictor, &offset, &batch))?;
        let Seen { decision, truth, has_features, effects, .. } = seen;
        let effects = effects.finish();
        offset.end(decision.len() / model.outputs())?;
        if decision.is_empty() {
            return Err(Error::input(source.as_str(), "no instances to test the model on").into());
        }
        if !has_features {
            lacking = model.lacking_all();
            predict::refuse_if_all(&lacking, &source, args.missing_ok)?;
        }
        predict::notes(model, &source, true, &lacking, args.quiet);
        if !args.quiet {
            strangers.notes().iter().for_each(|note| crate::note(format_args!("note: {source}: {note}")));
        }
        Ok(Self { source, decision, truth, lacking, effects })
    }
}

/// What has been seen of test data.
struct Seen<'a> {
    model: &'a Model,
    source: &'a str,
    decision: Vec<f64>,
    truth: Truth,
    /// Whether any instance so far has any of the features that the model looks at.
    has_features: bool,
    effects: Effects<'a>,
}

impl<'a> Seen<'a> {
    fn new(model: &'a Model, source: &'a str, effects: Effects<'a>) -> Self {
        let truth = match model.output {
            Output::Classes => Truth::Classes(Vec::new()),
            Output::Number | Output::Rate | Output::Risk => Truth::Numbers(Vec::new()),
        };
        Self { model, source, decision: Vec::new(), truth, has_features: false, effects }
    }

    fn take(&mut self, predictor: &Predictor<'_>, offset: &Offset, batch: &Batch) -> anyhow::Result<()> {
        let Decisions { values: mut decision, fault } = predictor.decision_of(batch);
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        offset.add(self.decision.len() / self.model.outputs(), &mut decision)?;
        self.has_features |= batch.has_wanted;
        self.effects.add(&*batch.columns);
        self.decision.append(&mut decision);
        match (&mut self.truth, self.model.truth(&batch.labels)) {
            (Truth::Classes(all), Some(Truth::Classes(mut some))) => all.append(&mut some),
            (Truth::Numbers(all), Some(Truth::Numbers(mut some))) => all.append(&mut some),
            _ => return Err(self.incomparable(batch.labels.is_empty()).into()),
        }
        Ok(())
    }

    /// Why predictions cannot be compared with what is true.
    fn incomparable(&self, unlabelled: bool) -> Error {
        let reason = match (unlabelled, self.model.classes.as_slice()) {
            (true, _) => "has no labels to compare predictions with".to_owned(),
            (false, [a, b]) => format!("its labels are not the model's classes, {a} and {b}"),
            (false, []) => {
                format!("its labels are nothing that a model with --loss {} predicts", self.model.loss)
            }
            (false, _) => "some labels are none of the model's classes".to_owned(),
        };
        Error::input(self.source, reason)
    }
}
