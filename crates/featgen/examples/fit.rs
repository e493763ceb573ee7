//! Select features, look at the certificate, save the model, and predict with it.
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use featgen::{LinearSpace, Machine, Model, synth};

fn main() -> featgen::Result<()> {
    // For data of your own: `Dataset::read("train.svm")`.
    let made =
        synth::Linear { rows: 1000, test_rows: 500, features: 5000, relevant: 10, ..Default::default() };
    let (train, test) = (made.train()?, made.test()?);

    // A small cost of errors makes for a telling certificate; the refit gives back what it takes from the weights.
    let machine = Machine::new().features(10).cost(0.02).debias(1.0);
    let model = machine.fit(&LinearSpace::new(&train), &train.labels)?;
    let (of, gap) = (model.training.candidates, 100.0 * model.certificate.gap());
    println!("10 of {of} features; the objective is proven to be within {gap:.1} % of that of the best 10");
    for term in model.selected() {
        println!("  feature {:>4}  weight {:+.3}", term.name, term.weight.one());
    }

    let path = std::env::temp_dir().join(format!("featgen-example-{}.json", std::process::id()));
    model.save(&path)?;
    let again = Model::load(&path)?;
    std::fs::remove_file(&path).map_err(|e| featgen::Error::io(path.display(), e))?;
    assert_eq!(again.selected(), model.selected());

    let decision = again.decision(&test)?;
    let right = again.truth(&test.labels).and_then(|truth| again.scores(&decision, &truth).accuracy);
    println!("{:.1} % of the test data are classified rightly", 100.0 * right.unwrap_or_default());
    Ok(())
}
