//! A page about a model: what was selected, how good it is, what is proven, and how it does on test data.
//!
//! [`Report`] is all that the page shows, computed already; [`Report::to_html`] puts it, as JSON, into a page that draws it and that
//! asks nothing of the network. No learning code.
//!
//! | module | what it knows |
//! |---|---|
//! | `selection` | what was selected: features, groups, curves, columns kept |
//! | `effects` | how much features matter on some data |
//! | `counts` | how good any number of features is |
//! | `numbers` | counts and parts as people read them, in the terminal too |
//! | `words` | other numbers and proofs as people read them |
//! | `repeat` | data, parameters, and the command that repeats the run |
//! | `tested` | what is known of test data, one file a picture |
//! | `page` | the page itself |

mod counts;
mod effects;
pub mod numbers;
mod page;
mod repeat;
mod selection;
mod tested;
mod words;

use featgen::Model;
use featgen::model::{Fit, Lacking, Truth};
use featgen::objective::Output;
use serde::Serialize;

use counts::Counts;
use repeat::Fact;
use selection::Selection;
use tested::Tested;
use words::{Figure, count, percent};

pub use effects::Effects;
pub use selection::Naming;

/// All that the page shows.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    title: String,
    /// What the model does, in a sentence.
    about: String,
    figures: Vec<Figure>,
    selection: Selection,
    counts: Counts,
    proof: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tested: Option<Tested>,
    data: Vec<Fact>,
    parameters: Vec<Fact>,
    repeat: String,
    made_by: String,
}

/// What only the caller knows of a model.
#[derive(Debug, Clone, Default)]
pub struct About<'a> {
    /// What the page is to be called: the name of the model's file.
    pub title: Option<&'a str>,
    /// How inputs without names are called.
    pub naming: Naming,
    /// What repeats the run, where it is not the command.
    pub repeat: Option<String>,
}

/// Predictions for test data.
#[derive(Debug)]
pub struct Test<'a> {
    /// What the data are called.
    pub name: &'a str,
    /// Decision values, all outputs of an instance together.
    pub decision: &'a [f64],
    /// What is true.
    pub truth: &'a Truth,
    /// What the data lack of the model's features.
    pub lacking: &'a Lacking,
    /// How much each of its features matters there: [`Effects::finish`].
    pub effects: Vec<f64>,
}

impl Report {
    /// About a model and, if there are some, its predictions for test data.
    pub fn new(model: &Model, about: &About<'_>, test: Option<&Test<'_>>) -> Self {
        let effects = test.map(|test| test.effects.as_slice());
        let selection = Selection::new(model, about.naming, effects);
        let tested = test.map(|test| Tested::new(model, test));
        let counts = Counts::new(model);
        Self {
            title: about.title.map_or_else(|| "Selected features".to_owned(), str::to_owned),
            about: sentence(model, about),
            figures: figures(model, tested.as_ref()),
            selection,
            counts,
            proof: words::proof(model),
            tested,
            data: repeat::data(model),
            parameters: repeat::parameters(model),
            repeat: about.repeat.clone().unwrap_or_else(|| repeat::command(model)),
            made_by: model.made_by.clone().unwrap_or_else(|| "featgen".to_owned()),
        }
    }

    /// The page: one file, with all that it needs in it.
    pub fn to_html(&self) -> String {
        page::html(self)
    }

    /// What the page shows, as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a report can always be written")
    }
}

/// What the model does.
fn sentence(model: &Model, about: &About<'_>) -> String {
    let what = match (model.output, model.classes.as_slice()) {
        (Output::Classes, [a, b]) => format!("tells {} from {}", short_name(a), short_name(b)),
        (Output::Classes, classes) => format!("tells {} classes from each other", classes.len()),
        (Output::Number, _) => "predicts a number".to_owned(),
        (Output::Rate, _) => "predicts a count".to_owned(),
        (Output::Risk, _) => "predicts how soon an event comes".to_owned(),
    };
    let column = model.label_column.as_deref().filter(|_| about.title.is_some());
    let column = column.map_or_else(String::new, |name| format!(" ({})", short_name(name)));
    let training = &model.training;
    format!(
        "A model that {what}{column} by {}, chosen out of {} and learned from {} with {} each.",
        words::plural(model.count() as u128, words::unit(model)),
        count(training.candidates),
        words::plural(u128::from(training.n), "instance"),
        words::plural(u128::from(training.m), "input"),
    )
}

/// Names in sentences must leave room for the sentence, and whatever their direction, the sentence keeps its own: the marks isolate them.
fn short_name(name: &str) -> String {
    let name = selection::cut(name, 60);
    if name.is_ascii() { name } else { format!("\u{2068}{name}\u{2069}") }
}

/// What is to be seen first.
fn figures(model: &Model, tested: Option<&Tested>) -> Vec<Figure> {
    let of = format!("of {} {}s", count(model.training.candidates), words::unit(model));
    let mut figures = vec![Figure::new("selected", &count(model.count() as u128), &of)];
    figures.extend(tested.and_then(|tested| tested.headline()));
    match &model.cv {
        Some(cv) => {
            let text = words::with_error(&cv.metric, cv.mean, cv.se);
            let without = words::measured(&cv.metric, cv.baseline);
            let again = if cv.repeats > 1 { format!(", {} times", cv.repeats) } else { String::new() };
            let told = format!("mean of {} folds{again}; no features at all: {without}", cv.folds);
            figures.push(Figure::new(&format!("{}, held out", words::metric_name(&cv.metric)), &text, &told));
        }
        None if tested.is_none() => {
            let (name, part) = match model.training.fit() {
                Fit::Accuracy(part) => ("accuracy in training", part),
                Fit::Explained(part) => ("explained in training", part),
            };
            let told =
                "on the data it was learned from, which flatters; cross-validation or test data tell more";
            figures.push(Figure::new(name, &percent(part), told));
        }
        None => {}
    }
    figures.extend(words::proven(model));
    figures.extend(words::discoveries(model));
    figures.extend(words::stability(model));
    figures
}
