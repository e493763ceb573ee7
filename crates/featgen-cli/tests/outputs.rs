//! Where results are written: never in place of what was read, and as a careful editor would.
#![cfg(unix)]

mod common;

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use common::{featgen, two_classes};

/// A folder with data and a model of them; `link` is another name of the data, `hard` one of the model.
fn workplace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("data"), two_classes(20)).unwrap();
    let names = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"].join("\n");
    for (file, text) in
        [("names", names), ("weights", "1\n".repeat(20)), ("groups", "a: 1 2\nb: 3-6\n".into())]
    {
        fs::write(path.join(file), text).unwrap();
    }
    fs::write(path.join("labels"), "1\n0\n".repeat(10)).unwrap();
    run(path, "train data -o model --features 2", 0);
    symlink("data", path.join("link")).unwrap();
    fs::hard_link(path.join("model"), path.join("hard")).unwrap();
    folder
}

/// Runs a command that must end with this exit code; what it says on standard error.
fn run(folder: &Path, args: &str, code: i32) -> String {
    let output = featgen(folder).args(args.split_whitespace()).assert().get_output().clone();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args}: {said}");
    said
}

#[test]
fn an_output_that_is_an_input_is_refused() {
    let folder = workplace();
    let path = folder.path();
    let cases = [
        ("train data -o data", "data", "the data: the model"),
        ("train data -o ./data", "./data", "the data: the model"),
        ("train data -o link", "link", "the data: the model"),
        ("train link -o data", "data", "the data: the model"),
        ("train data --checkpoint data", "data", "the data: the checkpoint"),
        ("train data -o new --checkpoint new", "new", "the model: the checkpoint"),
        ("train model --test data -o data", "data", "the test data: the model"),
        ("train data --labels labels -o labels", "labels", "labels: the model"),
        ("train data --test data --test-labels labels -o labels", "labels", "test labels: the model"),
        ("train data --names names -o names", "names", "names: the model"),
        ("train data --weights weights -o weights", "weights", "weights: the model"),
        ("train data --groups groups --checkpoint groups", "groups", "groups: the checkpoint"),
        (
            "train data --space poly2 --only groups -o groups",
            "groups",
            "the features that may be multiplied: the model",
        ),
        ("convert data data", "data", "the data: the store"),
        ("convert link data", "data", "the data: the store"),
        ("convert data labels --labels labels", "labels", "labels: the store"),
        ("convert data names --names names", "names", "names: the store"),
        ("convert data weights --weights weights", "weights", "weights: the store"),
        ("predict model data -o model", "model", "the model: predictions"),
        ("predict model data -o hard", "hard", "the model: predictions"),
        ("predict model data -o link", "link", "the data: predictions"),
        ("predict model data --labels labels -o labels", "labels", "labels: predictions"),
    ];
    let before = contents(path);
    for (args, file, files) in cases {
        let said = format!("{file}: this is the file of {files} would take its place\n");
        assert_eq!(run(path, args, 1), said, "{args}");
        assert_eq!(contents(path), before, "{args}");
    }
}

/// All files with what they hold.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let read =
        |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
    let mut all: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| read(entry.unwrap())).collect();
    all.sort();
    all
}

#[test]
fn two_outputs_that_are_one_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    symlink("toy.test.svm", folder.path().join("toy.train.svm")).unwrap();
    let said = run(folder.path(), "synth linear -o toy --rows 9 --features 9 --relevant 2 --density 0.5", 1);
    assert_eq!(
        said,
        "toy.test.svm: this is the file of the training set: the test set would take its place\n"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Predictions that are appended to the data being read would be read again, for ever.
#[test]
fn standard_streams_that_are_files_count() {
    let folder = workplace();
    let path = folder.path();
    let before = contents(path);
    let appended = |args: &str, to: &str| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("featgen"));
        command.args(args.split(' ')).current_dir(path).stdin(File::open(path.join("data")).unwrap());
        command.stdout(File::options().append(true).open(path.join(to)).unwrap()).stderr(Stdio::piped());
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args}");
        String::from_utf8(output.stderr).unwrap()
    };
    let ends = "standard output must go elsewhere\n";
    assert_eq!(appended("predict model data", "data"), format!("data: this is the file of the data: {ends}"));
    assert_eq!(appended("predict model -", "data"), format!("-: this is the file of the data: {ends}"));
    assert_eq!(
        appended("predict hard data", "model"),
        format!("hard: this is the file of the model: {ends}")
    );
    let said = appended("train - -o data", "labels");
    assert_eq!(said, "data: this is the file of the data: the model would take its place\n");
    assert_eq!(contents(path), before);
}

#[test]
fn a_replaced_file_keeps_its_permissions() {
    let folder = workplace();
    let path = folder.path();
    let mode = |file: &str| path.join(file).metadata().unwrap().permissions().mode() & 0o777;
    for (file, args) in [
        ("model", "train data -o model -q"),
        ("run", "train data --checkpoint run -q"),
        ("predicted", "predict model data -o predicted"),
        ("store", "convert data store"),
        ("toy.truth.txt", "synth linear -o toy --rows 9 --features 9 --relevant 2"),
    ] {
        run(path, args, 0);
        for bits in [0o600, 0o660] {
            fs::set_permissions(path.join(file), fs::Permissions::from_mode(bits)).unwrap();
            run(path, args, 0);
            assert_eq!(mode(file), bits, "{args}");
        }
    }
}

#[test]
fn a_folder_as_output_is_refused_before_the_work() {
    let folder = workplace();
    let path = folder.path();
    fs::create_dir(path.join("there")).unwrap();
    // Data that cannot be read: had the work begun, that would have been said.
    for args in [
        "train nowhere -o X",
        "train nowhere --checkpoint X",
        "convert nowhere X",
        "predict nowhere data -o X",
    ] {
        for name in ["new/", "new/."] {
            let said = run(path, &args.replace('X', name), 1);
            assert_eq!(said, format!("{name}: this is the name of a folder, not of a file\n"), "{args}");
        }
        for name in ["there", "there/"] {
            assert_eq!(run(path, &args.replace('X', name), 1), format!("{name}: is a directory\n"), "{args}");
        }
    }
    for name in ["new/", "there/"] {
        let said = run(path, &format!("synth linear -o {name}"), 1);
        assert!(said.starts_with(&format!("{name}: this is the name of a folder")), "{said}");
    }
    assert_eq!(fs::read_dir(path.join("there")).unwrap().count(), 0);
    assert!(!path.join("new").exists());
}

#[test]
fn links_stay_and_the_files_they_name_are_written() {
    let folder = workplace();
    let path = folder.path();
    fs::create_dir(path.join("sub")).unwrap();
    symlink("sub/kept", path.join("out")).unwrap();
    for args in ["train data -q -o out", "predict model data -q -o out", "convert data out -q"] {
        // Twice: the link leads nowhere the first time, and to a file the second.
        for _ in 0..2 {
            run(path, args, 0);
            assert!(path.join("out").is_symlink() && path.join("sub/kept").is_file(), "{args}");
        }
        fs::remove_file(path.join("sub/kept")).unwrap();
    }
    symlink("nowhere/kept", path.join("far")).unwrap();
    assert_eq!(run(path, "train data -o far", 1), "far: there is no folder nowhere\n");
}
