//! `featgen train --prove`: what is said of K features, to people and to programs.

mod common;

use std::path::Path;

use common::featgen;
use serde_json::Value;

fn stdout(folder: &Path, args: &str) -> String {
    let output = featgen(folder).args(args.split_whitespace()).assert().success().get_output().clone();
    String::from_utf8(output.stdout).unwrap()
}

fn json(folder: &Path, args: &str) -> Value {
    serde_json::from_str(&stdout(folder, &format!("{args} --json"))).unwrap()
}

/// The features that decide the class are proven to be the best; people, programs and the model are told so.
#[test]
fn planted_features_are_proven() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    stdout(here, "synth linear -o d --rows 300 --features 400 --relevant 5 --seed 3");
    let train = "train d.train.npy --labels d.train.labels.txt --select best --features 5 -C 0.003";
    let report = json(here, &format!("{train} --prove 1e-3 -o model.json"));
    let proof = &report["proof"];
    assert!(proof["gap"].as_f64().unwrap() <= 1e-3, "{proof}");
    assert!(proof["nodes"].as_u64().unwrap() > 0 && proof["undecided"].as_u64().unwrap() < 400, "{proof}");
    assert_eq!([&proof["objective"], &proof["lower_bound"]], [&report["objective"], &report["lower_bound"]]);
    assert_eq!(json(here, "inspect model.json")["proof"], *proof);
    for shown in [stdout(here, &format!("{train} --prove")), stdout(here, "inspect model.json")] {
        let line = shown.lines().find(|line| line.starts_with("proof")).unwrap_or_else(|| panic!("{shown}"));
        assert!(line.contains("5 features out of 400"), "{line}");
    }
    // Without being asked for, what comes for free.
    let free = &json(here, train)["proof"];
    assert_eq!(free["nodes"], 0);
    assert!(free["lower_bound"].as_f64() <= proof["objective"].as_f64(), "{free}");
}

#[test]
fn what_cannot_be_proven_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("d.svm"), common::two_classes(30)).unwrap();
    for (options, expected) in [
        ("--prove", "--prove: only a number of features chosen by gain is proven to be the best"),
        ("--select best --features 3 --prove 0", "--prove: must be a finite number above 0, not 0"),
        ("--time-limit -2", "--time-limit: must be a finite number above 0, not -2"),
    ] {
        let args = format!("train d.svm {options}");
        let output = featgen(here).args(args.split_whitespace()).assert().code(2).get_output().clone();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(expected) && error.trim().lines().count() == 1, "{error}");
    }
}

/// A run whose time is over shows what there is, and is no failure.
#[test]
fn a_time_limit_ends_a_proof() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    stdout(here, "synth linear -o d --rows 100 --features 300 --relevant 20");
    let train = "train d.train.npy --labels d.train.labels.txt --select best --features 12 -C 1";
    let report = json(here, &format!("{train} --prove 1e-9 --time-limit 0.5"));
    assert_eq!(report["stopped"], "time");
    assert_eq!(report["selected"].as_array().unwrap().len(), 12);
    assert!(report["proof"]["gap"].as_f64().unwrap() > 1e-9);
}
