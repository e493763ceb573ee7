//! Real data sets, where they are at hand beside the repository: each round is solved, in few steps, and selections are as
//! good as they were measured to be. Without the data there is nothing to see, and a line says so.

#![allow(clippy::print_stderr)] // a skipped test says so

use std::path::PathBuf;

use featgen::machine::Select;
use featgen::model::Model;
use featgen::{Dataset, LinearSpace, Machine};

/// The training and the test part of a data set, if it is there.
fn data(name: &str) -> Option<[Dataset; 2]> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if !folder.is_dir() {
        eprintln!("skipped: no data set {name} beside the repository");
        return None;
    }
    Some(["train", "test"].map(|part| Dataset::read(folder.join(format!("{part}.svm.zst"))).unwrap()))
}

fn fit(machine: &Machine, train: &Dataset) -> Model {
    machine.fit(&LinearSpace::new(train), &train.labels).unwrap()
}

fn accuracy(model: &Model, test: &Dataset) -> f64 {
    model.scores(&model.decision(test).unwrap(), &model.truth(&test.labels).unwrap()).accuracy.unwrap()
}

#[test]
fn small_and_separable_rounds_are_solved() {
    for name in ["golub", "colon", "dorothea"] {
        let Some([train, _]) = data(name) else { continue };
        for cost in [1.0, 10.0, 100.0] {
            for budget in [1, 5, 20] {
                for loss in ["squared-hinge", "logistic"] {
                    let machine = Machine::new().cost(cost).budget(budget).tol(0.0).max_rounds(20);
                    let model = fit(&machine.loss(featgen::objective::by_name(loss).unwrap()), &train);
                    for round in &model.rounds {
                        let what = format!("{name}, C {cost}, B {budget}, {loss}, round {}", round.round);
                        assert!(round.inner_gap <= 1e-4, "{what}: gap {:e}", round.inner_gap);
                    }
                }
            }
        }
    }
}

#[test]
fn text_is_solved_in_few_steps_and_well_classified() {
    let Some([train, test]) = data("news20_libsvm") else { return };
    let model = fit(&Machine::new().select(Select::Paper).cost(100.0).budget(20).features(400), &train);
    let steps: usize = model.rounds.iter().map(|round| round.inner_iterations).sum();
    assert!(steps <= 8 * model.rounds.len(), "{steps} steps in {} rounds", model.rounds.len());
    assert!(model.rounds.iter().all(|round| round.inner_gap <= 1e-4));
    // One run holds the whole path: the points at 100 and 200 features are what runs of their own would give.
    for (features, least) in [(100, 0.875), (200, 0.905), (400, 0.925)] {
        let accuracy = accuracy(&model.at(features).unwrap(), &test);
        assert!(accuracy >= least, "{features} features: {accuracy}");
    }
}

#[test]
fn digits_are_told_apart_by_a_hundred_pixels() {
    let Some([train, test]) = data("mnist38") else { return };
    let model = fit(&Machine::new().features(100), &train);
    assert_eq!(model.selected().len(), 100);
    assert!(accuracy(&model, &test) >= 0.96);
}
