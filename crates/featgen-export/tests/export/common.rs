//! What the tests of exports share: models, and what they say themselves.

use std::path::Path;
use std::process::Command;

use featgen::data::read::Reader;
use featgen::space::{AdditiveSpace, Inputs, PolySpace};
use featgen::{Dataset, LinearSpace, Machine, Model, objective};
use featgen_export::{Options, Target};

/// A model, and the data that it was fitted to.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) model: Model,
    pub(crate) data: Dataset,
}

const ROWS: usize = 60;

/// Values that are positive, 0 and negative.
pub(crate) fn value(i: usize, j: usize) -> f64 {
    ((i * 37 + j * 101) % 53) as f64 / 10.0 - 2.0
}

/// svmlight text of six columns.
fn text(label: impl Fn(usize) -> String) -> String {
    let line = |i: usize| {
        let values: String = (0..6).map(|j| format!(" {}:{}", j + 1, value(i, j))).collect();
        format!("{}{values}\n", label(i))
    };
    (0..ROWS).map(line).collect()
}

pub(crate) fn read(folder: &Path, text: &str) -> Dataset {
    let file = folder.join("data");
    std::fs::write(&file, text).unwrap();
    Reader::new().read(&file).unwrap()
}

/// A model for every outcome and every kind of feature.
pub(crate) fn cases(folder: &Path) -> Vec<Case> {
    let two = |i: usize| if value(i, 1) * value(i, 2) > 0.3 { "2".into() } else { "-1".into() };
    let three = |i: usize| ((value(i, 1) + value(i, 2)).abs() as usize % 3).to_string();
    let count = |i: usize| ((value(i, 1) / 2.0).exp() as usize).to_string();
    let time = |i: usize| ((value(i, 3) + 3.0) * if i.is_multiple_of(4) { -1.0 } else { 1.0 }).to_string();
    let machine = |loss: &str| Machine::new().loss(objective::by_name(loss).unwrap()).cost(1.0).features(3);
    let fit = |name, loss: &str, data: Dataset| {
        let model = machine(loss).fit(&LinearSpace::new(&data), &data.labels).unwrap();
        Case { name, model, data }
    };
    let mut cases = vec![
        fit("hinge", "squared-hinge", read(folder, &text(two))),
        fit("logistic", "logistic", read(folder, &text(two))),
        fit("softmax", "softmax", read(folder, &text(three))),
        fit("number", "squared", read(folder, &text(time))),
        fit("count", "poisson", read(folder, &text(count))),
        fit("risk", "cox", read(folder, &text(time))),
    ];
    let data = read(folder, &text(two));
    let inputs = || Inputs::over(&*data.columns);
    let poly = PolySpace::new(inputs(), 1.0, 1.0).unwrap();
    let poly = machine("logistic").fit(&poly, &data.labels).unwrap();
    let steps = AdditiveSpace::intersection(inputs(), 20, 0.5).unwrap();
    let steps = machine("logistic").fit(&steps, &data.labels).unwrap();
    let waves = AdditiveSpace::gaussian(inputs(), None).unwrap();
    let waves = machine("softmax").fit(&waves, &data.labels).unwrap();
    for (name, model) in [("products", poly), ("steps", steps), ("waves", waves)] {
        cases.push(Case { name, model, data: read(folder, &text(two)) });
    }
    cases
}

/// The export as text.
pub(crate) fn exported(model: &Model, to: &str) -> String {
    let written = featgen_export::export(model, Target::find(to).unwrap(), &Options::default());
    String::from_utf8(written.unwrap()).unwrap()
}

/// What a target says against a model.
pub(crate) fn refused(model: &Model, to: &str) -> String {
    let written = featgen_export::export(model, Target::find(to).unwrap(), &Options::default());
    written.unwrap_err().to_string()
}

/// Whether a program is there; if not, that is said, and the test has nothing to do.
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: there is no {program}");
    }
    found
}

/// What a program prints.
pub(crate) fn printed(program: &str, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// All rows of the data, in a language that has lists in `open` and `close`.
pub(crate) fn rows(open: char, close: char) -> String {
    let row = |i: usize| {
        let values: Vec<String> = (0..6).map(|j| format!("{:?}", value(i, j))).collect();
        format!("{open}{}{close}", values.join(", "))
    };
    format!("{open}{}{close}", (0..ROWS).map(row).collect::<Vec<_>>().join(", "))
}

/// Numbers that were printed, compared with those expected.
pub(crate) fn assert_close(printed: &str, expected: &[f64], what: &str) {
    let found: Vec<f64> = printed.split_whitespace().map(|x| x.parse().unwrap()).collect();
    assert_eq!(found.len(), expected.len(), "{what}");
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
    assert!(found.iter().zip(expected).all(close), "{what}: {found:?} {expected:?}");
}
