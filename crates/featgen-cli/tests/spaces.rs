//! Every space that the library describes, as the command has it.

mod common;

use std::fs;

use common::{featgen, two_classes};
use featgen::space::spec::{self, Kind, Parameter, Range};
use tempfile::TempDir;

/// A folder with data that every space takes: the file `data`.
fn workplace() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let unit = two_classes(30).replace(":-", ":").replace(":1.", ":0.");
    fs::write(folder.path().join("data"), unit).unwrap();
    folder
}

fn each_parameter() -> impl Iterator<Item = (&'static Kind, &'static Parameter)> {
    spec::ALL.iter().copied().flat_map(|kind| kind.parameters.iter().map(move |parameter| (kind, parameter)))
}

#[test]
fn every_space_is_searched_with_its_defaults() {
    let folder = workplace();
    for kind in spec::ALL {
        let space = ["--space", kind.name];
        featgen(folder.path()).args(["train", "data", "-o", "model"]).args(space).assert().success();
        let plain = fs::read_to_string(folder.path().join("model")).unwrap();
        assert!(plain.contains(&format!("\"space\": \"{}\"", kind.name)), "{kind:?}");
        // Defaults that are given are what they are if they are not.
        for parameter in kind.parameters {
            let Some(default) = &parameter.default else { continue };
            let option = format!("--{}={default}", parameter.id);
            let mut train = featgen(folder.path());
            train.args(["train", "data", "-o", "model", &option]).args(space).assert().success();
            assert_eq!(fs::read_to_string(folder.path().join("model")).unwrap(), plain, "{option}");
        }
    }
}

#[test]
fn a_bad_value_of_any_parameter_is_one_line_that_says_the_range() {
    let folder = workplace();
    for (kind, parameter) in each_parameter() {
        let id = parameter.id;
        if parameter.range == Range::Features {
            let said = refused(&folder, &["--space", kind.name, &format!("--{id}"), "nowhere"], 1);
            assert_eq!(said, "nowhere: No such file or directory (os error 2)\n", "{kind:?}");
            continue;
        }
        for value in ["-1", "nan", "x"] {
            let said = refused(&folder, &["--space", kind.name, &format!("--{id}"), value], 2);
            assert_eq!(said, format!("error: --{id}: must be {}, not {value}\n", parameter.range));
        }
    }
}

#[test]
fn a_parameter_of_another_space_is_one_line_that_names_its_spaces() {
    let folder = workplace();
    for (parameter, kinds) in spec::parameters() {
        let other = spec::ALL.iter().find(|kind| !kinds.contains(kind)).unwrap();
        let said = refused(&folder, &["--space", other.name, &format!("--{}", parameter.id), "2"], 2);
        assert!(said.starts_with(&format!("error: --{}: only the space", parameter.id)), "{said}");
        assert!(said.lines().count() == 1 && kinds.iter().all(|kind| said.contains(kind.name)), "{said}");
    }
}

#[test]
fn help_describes_every_space_and_every_parameter_once() {
    let folder = workplace();
    let output = featgen(folder.path()).args(["train", "--help"]).output().unwrap();
    // However lines were wrapped.
    let help = String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    for kind in spec::ALL {
        assert!(help.contains(&format!("- {}: {}", kind.name, kind.help)), "{kind:?}");
    }
    for (parameter, _) in spec::parameters() {
        let option = format!("--{} <{}>", parameter.id, parameter.symbol);
        assert_eq!(help.matches(&option).count(), 1, "{option}");
    }
}

/// What the command says when it refuses to train with these options.
fn refused(folder: &TempDir, options: &[&str], code: i32) -> String {
    let mut train = featgen(folder.path());
    let output = train.args(["train", "data", "-o", "out"]).args(options).assert().code(code);
    assert!(!folder.path().join("out").exists());
    String::from_utf8(output.get_output().stderr.clone()).unwrap()
}
