//! `featgen export`: where it goes, what it says, and that what it writes is the model.

#![allow(clippy::print_stderr)] // a skipped test says so

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{featgen, two_classes};

/// A model with a path, in a folder of its own.
fn model() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("data.svm"), two_classes(60)).unwrap();
    let train = "train data.svm -o model.json -q --features 3 --budget 1".split(' ');
    assert!(featgen(folder.path()).args(train).output().unwrap().status.success());
    folder
}

/// What is printed, what is noted, and the exit code.
fn run(folder: &Path, arguments: &str) -> (Vec<u8>, String, i32) {
    let output = featgen(folder).args(arguments.split(' ')).output().unwrap();
    (output.stdout, String::from_utf8(output.stderr).unwrap(), output.status.code().unwrap())
}

#[test]
fn every_target_goes_to_a_file_or_to_the_screen() {
    let folder = model();
    for target in ["onnx", "pmml", "sql", "c", "python", "liblinear"] {
        let (printed, notes, code) = run(folder.path(), &format!("export model.json --to {target}"));
        assert_eq!((notes.as_str(), code), ("", 0), "{target}");
        assert!(!printed.is_empty());
        assert_eq!(run(folder.path(), &format!("export model.json --to {target} -o -")).0, printed);
        let (nothing, notes, code) = run(folder.path(), &format!("export model.json --to {target} -o out"));
        assert_eq!((nothing.as_slice(), notes.as_str(), code), (&b""[..], "", 0));
        assert_eq!(fs::read(folder.path().join("out")).unwrap(), printed);
    }
}

#[test]
fn a_point_of_the_path_is_exported() {
    let folder = model();
    let features = |k: usize| {
        let (printed, notes, _) = run(folder.path(), &format!("export model.json --to sql --features {k}"));
        (String::from_utf8(printed).unwrap().matches("DOUBLE PRECISION").count(), notes)
    };
    assert_eq!(features(2), (2, String::new()));
    let (found, note) = features(9);
    assert_eq!(found, 3);
    assert_eq!(note, "note: model.json: its path has no point with 9; this is the nearest below, with 3\n");
    let (_, said, code) = run(folder.path(), "export model.json --to sql --features 0");
    assert!(
        code == 2 && said.starts_with("error: --features: the model's path has no point with at most 0"),
        "{said}"
    );
}

#[test]
fn mistakes_are_told() {
    let folder = model();
    for (arguments, code, expected) in [
        ("export model.json --to tex", 2, "possible values: onnx, pmml, sql, c, python, liblinear"),
        ("export model.json", 2, "--to <TARGET>"),
        ("export nothing.json --to c", 1, "nothing.json: "),
        ("export data.svm --to c", 1, "data.svm:1:1: not a model"),
        ("export model.json --to c -o model.json", 1, "model.json"),
        ("export model.json --to sql --table=", 2, "error: --table: must be the name of a table"),
    ] {
        let (printed, said, found) = run(folder.path(), arguments);
        assert!(
            found == code && said.contains(expected) && printed.is_empty(),
            "{arguments}: {found} {said}"
        );
    }
    assert!(featgen::Model::load(folder.path().join("model.json")).is_ok());
}

/// Products cannot be had of LIBLINEAR: nothing is written, and the old file stays.
#[test]
fn what_cannot_be_exported_leaves_nothing() {
    let folder = model();
    let train = "train data.svm -o products.json -q --space poly2 --features 9".split(' ');
    assert!(featgen(folder.path()).args(train).output().unwrap().status.success());
    fs::write(folder.path().join("out"), "as it was").unwrap();
    let (_, said, code) = run(folder.path(), "export products.json --to liblinear -o out");
    let expected = "error: --to: liblinear has weights only, and the model has products; python, c, sql, pmml and onnx have them\n";
    assert_eq!((said.as_str(), code), (expected, 2));
    assert_eq!(fs::read_to_string(folder.path().join("out")).unwrap(), "as it was");
}

#[test]
fn the_offset_is_mentioned() {
    let folder = model();
    fs::write(folder.path().join("offset"), "0.1\n".repeat(60)).unwrap();
    let train = "train data.svm -o shifted.json -q --features 2 --loss logistic --offset offset".split(' ');
    assert!(featgen(folder.path()).args(train).output().unwrap().status.success());
    let (_, said, code) = run(folder.path(), "export shifted.json --to python -o out");
    assert!(code == 0 && said.starts_with("note: the model was trained with --offset"), "{said}");
    assert_eq!(run(folder.path(), "export shifted.json --to python -o out -q").1, "");
}

/// A missing genotype has the mean of those who were trained on.
#[test]
fn genotypes_know_what_takes_their_place() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        "synth bed -o x --rows 200 --test-rows 0 --features 60 --relevant 5",
        "train x.train.bed -o model.json -q --features 3",
    ] {
        let (_, said, code) = run(folder.path(), arguments);
        assert_eq!(code, 0, "{arguments}: {said}");
    }
    let model = featgen::Model::load(folder.path().join("model.json")).unwrap();
    let python = String::from_utf8(run(folder.path(), "export model.json --to python").0).unwrap();
    let genotypes = model.genotypes().unwrap();
    for input in
        model.inputs.iter().filter(|input| model.selected().iter().any(|term| term.name == input.name))
    {
        assert!(
            python.contains(&format!("(\"{}\", \"point\", {:?})", input.name, genotypes[&input.name].mean)),
            "{python}"
        );
    }
}

/// A table with categories and gaps, read again by what was exported.
#[test]
fn tables_are_predicted_as_they_come() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: there is no python3");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        "synth table -o people --rows 800 --test-rows 300",
        "train people.train.csv --label income --number joined --features 8 -q -o model.json",
        "predict model.json people.test.csv --label income -q -o expected",
        "export model.json --to python -o model.py",
    ] {
        let (_, said, code) = run(folder.path(), arguments);
        assert_eq!(code, 0, "{arguments}: {said}");
    }
    let table = fs::File::open(folder.path().join("people.test.csv")).unwrap();
    let output = Command::new("python3")
        .args(["-B", "model.py"])
        .current_dir(folder.path())
        .stdin(table)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = fs::read(folder.path().join("expected")).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&expected));
}
