//! One run, every number of features: a model keeps the path that led to it.
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use featgen::{LinearSpace, Machine, Model, Result, synth};

fn main() -> Result<()> {
    let made =
        synth::Linear { rows: 1000, test_rows: 1000, features: 5000, relevant: 20, ..Default::default() };
    let (train, test) = (made.train()?, made.test()?);
    let accuracy = |model: &Model| -> Result<f64> {
        let decision = model.decision(&test)?;
        let scores = model.truth(&test.labels).map(|truth| model.scores(&decision, &truth));
        Ok(scores.and_then(|scores| scores.accuracy).unwrap_or(0.0))
    };

    // One feature a round: the path then has every number of them.
    let model = Machine::new().budget(1).features(20).fit(&LinearSpace::new(&train), &train.labels)?;
    for features in [1, 2, 5, 10, 15, 20] {
        if let Some(smaller) = model.at(features) {
            println!("{features:>2} features: {:.1} % of the test data", 100.0 * accuracy(&smaller)?);
        }
    }
    Ok(())
}
