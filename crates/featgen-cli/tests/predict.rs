//! Predictions where data are not as the model knows them, or come line by line.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use common::featgen;
use serde_json::{Value, json};

/// What a command leaves: exit code, standard output, standard error.
fn outcome(folder: &Path, args: &str) -> (i32, String, String) {
    let output = featgen(folder).args(args.split_whitespace()).assert().get_output().clone();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn succeeds(folder: &Path, args: &str) -> (String, String) {
    let (code, out, said) = outcome(folder, args);
    assert_eq!(code, 0, "{args}: {said}");
    (out, said)
}

/// The one line that a command fails with.
fn fails(folder: &Path, args: &str) -> String {
    let (code, _, said) = outcome(folder, args);
    assert_eq!(code, 1, "{args}: {said}");
    assert_eq!(said.lines().count(), 1, "{args}: {said}");
    said
}

/// A folder with files, and a model `svm` of features 1 and 4 of `data.svm`, a model `csv` of columns a and d of `data.csv`.
fn workplace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let sign = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
    // Each of the two tells most of the classes, and only both tell all.
    let values = |i: usize| {
        [
            if i.is_multiple_of(5) { 0.0 } else { sign(i) },
            0.1,
            0.2,
            if i.is_multiple_of(7) { 0.0 } else { sign(i) },
        ]
    };
    let class = |i: usize| if i.is_multiple_of(2) { "yes" } else { "no" };
    let line = |i: usize| {
        let entries: String = (1..).zip(values(i)).map(|(j, x)| format!(" {j}:{x}")).collect();
        format!("{}{entries}\n", class(i))
    };
    let row = |i: usize| {
        let [a, b, c, d] = values(i);
        format!("{a},{b},{},{c},{d}\n", class(i))
    };
    fs::write(path.join("data.svm"), (0..60).map(line).collect::<String>()).unwrap();
    fs::write(path.join("data.csv"), "a,b,ill,c,d\n".to_owned() + &(0..60).map(row).collect::<String>())
        .unwrap();
    succeeds(path, "train data.svm --features 2 -B 1 --loss logistic -o svm");
    succeeds(path, "train data.csv --label ill --features 2 -B 1 --loss logistic -o csv");
    folder
}

fn write(folder: &Path, name: &str, content: &str) {
    fs::write(folder.join(name), content).unwrap();
}

#[test]
fn decision_values_that_are_not_finite_are_an_error() {
    let folder = workplace();
    let path = folder.path();
    // Once without an end, in the area under the curve.
    write(path, "large", "yes 1:1 4:1\n\n# comment\nno 1:1.7e308 4:1.7e308\nyes 1:1.7e308 4:-1.7e308\n");
    let model = fs::read_to_string(path.join("svm")).unwrap();
    let mut steep: Value = serde_json::from_str(&model).unwrap();
    for term in steep["terms"].as_array_mut().unwrap() {
        term["weight"] = json!(10.0);
    }
    write(path, "steep", &steep.to_string());
    for more in ["", " --json", " -q", " --output-kind decision"] {
        let said = fails(path, &format!("predict steep large{more}"));
        assert_eq!(
            said,
            "large: row 2: its values are too large for this model: its decision value is inf\n"
        );
    }
    // What stands before is predicted.
    assert_eq!(outcome(path, "predict steep large").1, "yes\n");
    // The row is counted through all batches.
    let many = "no 1:-1 4:-1\n".repeat(100_000) + "yes 1:1.7e308 4:-1.7e308\n";
    write(path, "many", &many);
    let said = fails(path, "predict steep many -o out");
    assert_eq!(
        said,
        "many: row 100001: its values are too large for this model: its decision value is NaN\n"
    );
    assert!(!path.join("out").exists());
}

#[test]
fn a_test_set_that_cannot_be_predicted_does_not_cost_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // Weights in the thousands.
    write(path, "data", &"yes 1:0.001\nno 1:-0.001\n".repeat(10));
    write(path, "test", "yes 1:1\nno 1:-1.7e308\n");
    let (code, out, said) = outcome(path, "train data -C 1e9 --test test -o model");
    assert_eq!(
        (code, said.as_str()),
        (1, "test: row 2: its values are too large for this model: its decision value is -inf\n")
    );
    assert!(out.contains("saved in model"), "{out}");
    succeeds(path, "inspect model");
}

#[test]
fn data_without_any_feature_of_the_model_are_an_error() {
    let folder = workplace();
    let path = folder.path();
    write(path, "other.csv", "x,y\n1,2\n3,4\n");
    write(path, "other.svm", "yes 2:1 9:1\nno 3:5\n");
    succeeds(path, "convert other.svm other.store");
    let ends = "that the model looks at, ";
    for (model, data, names) in
        [("csv", "other.csv", "a, d"), ("svm", "other.svm", "1, 4"), ("svm", "other.store", "1, 4")]
    {
        for more in ["", " -q", " --json", " -o out"] {
            let said = fails(path, &format!("predict {model} {data}{more}"));
            let expected =
                format!("{data}: lacks all 2 features {ends}{names}; --missing-ok predicts all the same\n");
            assert_eq!(said, expected, "{data}");
        }
        assert!(!path.join("out").exists());
        let (out, said) = succeeds(path, &format!("predict {model} {data} --missing-ok -q"));
        assert_eq!(out.lines().count(), 2, "{data}");
        assert_eq!(said, format!("note: {data} lacks 2 of the 2 features {ends}counted as 0: {names}\n"));
        let quality: Value =
            serde_json::from_str(&succeeds(path, &format!("predict {model} {data} --missing-ok --json")).0)
                .unwrap();
        assert_eq!(quality["missing"], 2);
    }
    // A feature that is 0 is there.
    write(path, "zero.svm", "yes 1:0 3:1\n");
    assert_eq!(succeeds(path, "predict svm zero.svm --json").1, "");
}

#[test]
fn lacking_half_of_the_features_is_noted_even_if_quiet() {
    let folder = workplace();
    let path = folder.path();
    // Three features of which one lacks, then two of which one does.
    let row = |i: i32| {
        let sign = if i % 2 == 0 { 1 } else { -1 };
        let part = |k: i32| if i % k == 0 { 0 } else { sign };
        format!("{},{},{},{sign}\n", part(3), part(5), part(7))
    };
    write(path, "three.csv", &("a,b,d,ill\n".to_owned() + &(0..60).map(row).collect::<String>()));
    succeeds(path, "train three.csv --label ill --features 3 -B 1 -o three");
    write(path, "no-a.csv", "b,c,d\n1,2,3\n");
    let lacks = |n: usize| {
        format!("note: no-a.csv lacks 1 of the {n} features that the model looks at, counted as 0: a\n")
    };
    assert_eq!(succeeds(path, "predict three no-a.csv").1, lacks(3));
    assert_eq!(succeeds(path, "predict three no-a.csv -q").1, "");
    assert_eq!(succeeds(path, "predict csv no-a.csv").1, lacks(2));
    assert_eq!(succeeds(path, "predict csv no-a.csv -q").1, lacks(2));
    let quality: Value = serde_json::from_str(&succeeds(path, "predict csv no-a.csv --json").0).unwrap();
    assert_eq!(quality, json!({"n": 1, "accuracy": null, "auc": null, "missing": 1}));
    // The same of a test set.
    write(path, "test.csv", "b,c,d,ill\n1,2,3,yes\n");
    let said = succeeds(path, "train data.csv --label ill --features 2 -B 1 --test test.csv -q").1;
    assert_eq!(said, lacks(2).replace("no-a", "test"));
}

#[test]
fn columns_that_the_model_does_not_use_may_hold_anything() {
    let folder = workplace();
    let path = folder.path();
    write(path, "new.csv", "who,d,b,ill,a\nBob,1,,yes,1\n\"Eve, the 2nd\",-1,n/a,,-1\n");
    let (out, said) = succeeds(path, "predict csv new.csv");
    assert_eq!((out.as_str(), said.as_str()), ("yes\nno\n", ""));
    assert!(fs::read_to_string(path.join("csv")).unwrap().contains("\"label_column\": \"ill\""));
    // Those in use are looked at, and so is that of the labels if it is named.
    write(path, "bad.csv", "who,a,d\nBob,1,1\nEve,-1,x\n");
    let (code, out, said) = outcome(path, "predict csv bad.csv");
    assert_eq!(
        (code, out.as_str(), said.as_str()),
        (1, "yes\n", "bad.csv:3:3: column 3 (`d`): `x` is not a number\n")
    );
    let said = fails(path, "predict csv new.csv --label ill");
    assert_eq!(said, "new.csv:3:4: column 4 (`ill`): the label is missing\n");
}

#[test]
fn the_nearest_point_of_the_path_is_taken_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    succeeds(path, "synth linear -o toy --rows 300 --test-rows 0 --features 60 --relevant 12 --density 0.5");
    succeeds(path, "train toy.train.svm --features 12 -B 4 --debias 1 -o model");
    let report: Value = serde_json::from_str(&succeeds(path, "inspect model --json").0).unwrap();
    let counts: Vec<u64> = report["rounds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|round| round["selected"].as_u64().unwrap())
        .collect();
    let (first, last) = (*counts.iter().min().unwrap(), *counts.last().unwrap());
    assert!(first > 1 && last == 12 && !counts.contains(&(first + 1)), "{counts:?}");
    let predicted = |features: &str| {
        succeeds(path, &format!("predict model toy.train.svm -q --output-kind decision {features}")).0
    };
    let near = format!("--features {}", first + 1);
    assert_eq!(predicted(&near), predicted(&format!("--features {first}")));
    assert_ne!(predicted(&near), predicted(""));
    // The last point is the model itself, with its refit.
    assert_eq!(predicted("--features 77"), predicted(""));
    let said = |features: u64| {
        succeeds(path, &format!("predict model toy.train.svm --features {features} --json")).1
    };
    let note = |wanted: u64, found: u64| {
        format!("note: model: its path has no point with {wanted}; this is the nearest below, with {found}\n")
    };
    assert_eq!(said(first + 1), note(first + 1, first));
    assert_eq!(said(77), note(77, 12));
    assert_eq!((said(first), said(12)), (String::new(), String::new()));
    let (code, _, said) = outcome(path, "predict model toy.train.svm --features 1");
    let reason = format!("the model's path has no point with at most 1: the fewest are {first}");
    assert_eq!((code, said), (2, format!("error: --features: {reason}\n")));
}

/// A prediction that waits for its input.
struct Waiting {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Waiting {
    fn start(folder: &Path, args: &str) -> Self {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("featgen"))
            .args(args.split(' '))
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn send(&mut self, text: impl AsRef<[u8]>) {
        self.input.write_all(text.as_ref()).unwrap();
        self.input.flush().unwrap();
    }

    /// The next line. Does not come back if there is none, which the test's time limit sees.
    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Ends the input; what else is on standard output, what on standard error, and the exit code.
    fn end(self) -> (String, String, i32) {
        let Self { mut child, input, mut output } = self;
        drop(input);
        let (mut rest, mut said) = (String::new(), String::new());
        output.read_to_string(&mut rest).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (rest, said, child.wait().unwrap().code().unwrap())
    }
}

#[cfg(unix)]
#[test]
fn lines_are_answered_as_they_come() {
    let folder = workplace();
    let path = folder.path();
    let mut text = Waiting::start(path, "predict svm -");
    text.send("yes 1:1 4:1\n");
    assert_eq!(text.answer(), "yes");
    text.send("no 1:-1 ");
    text.send("4:-1\n\n# comment\n");
    assert_eq!(text.answer(), "no");
    text.send("no 1:-1 4:-1\nyes 1:1 4:1\nyes 1:1");
    assert_eq!((text.answer(), text.answer()), ("no".into(), "yes".into()));
    text.send(" 4:x\n");
    let (rest, said, code) = text.end();
    assert_eq!((rest.as_str(), code), ("", 1));
    assert!(said.starts_with("-:7:9: "), "{said}");

    // The shortest lines there are, and comments first.
    let mut short = Waiting::start(path, "predict svm - --missing-ok");
    short.send("#\n");
    short.send("a\n");
    assert!(["yes", "no"].contains(&short.answer().as_str()));
    assert_eq!(short.end().2, 0);

    let mut table = Waiting::start(path, "predict csv -");
    table.send("who,a,d\n");
    table.send("Bob,1,1\n");
    assert_eq!(table.answer(), "yes");
    table.send("\"Eve\r\n2nd\",-1,-1\r\nBob,1,1\r\nBo");
    assert_eq!((table.answer(), table.answer()), ("no".into(), "yes".into()));
    table.send("b,-1,-1");
    assert_eq!(table.end(), ("no\n".into(), String::new(), 0));
}

#[cfg(unix)]
#[test]
fn compressed_lines_are_answered_as_they_come() {
    let folder = workplace();
    let mut waiting = Waiting::start(folder.path(), "predict svm -");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for (line, class) in [("yes 1:1 4:1\n", "yes"), ("no 1:-1 4:-1\n", "no"), ("x 1:1 4:1\n", "yes")] {
        packed.write_all(line.as_bytes()).unwrap();
        packed.flush().unwrap();
        waiting.send(std::mem::take(packed.get_mut()));
        assert_eq!(waiting.answer(), class);
    }
    waiting.send(packed.finish().unwrap());
    let (rest, said, code) = waiting.end();
    assert_eq!((rest.as_str(), code), ("", 0));
    assert!(said.contains("no accuracy"), "{said}");
}

#[test]
fn predictions_before_a_bad_line_are_printed() {
    let folder = workplace();
    let path = folder.path();
    let rows = 50_000;
    write(path, "bad.svm", &("yes 1:1 4:1\n".repeat(rows) + "no 1:x\n" + &"yes 1:1 4:1\n".repeat(rows)));
    write(path, "bad.csv", &("a,d\n".to_owned() + &"1,1\n".repeat(rows) + "1,x\n" + &"1,1\n".repeat(rows)));
    for (args, place) in
        [("predict svm bad.svm", "bad.svm:50001:4: "), ("predict csv bad.csv", "bad.csv:50002:2: ")]
    {
        for threads in ["1", "2"] {
            let (code, out, said) = outcome(path, &format!("{args} --threads {threads}"));
            assert_eq!((code, out.lines().count()), (1, rows), "{args}");
            assert!(said.starts_with(place), "{said}");
        }
    }
}

/// Names come from files: they must not reach the terminal as they are.
#[test]
fn names_of_classes_and_files_do_nothing_to_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let evil = "e\u{1b}]0;title\u{7}\u{9b}31mvil";
    let table: String =
        (0..20).map(|i| format!("{},{}\n", i % 2, if i % 2 == 0 { evil } else { "good" })).collect();
    write(path, evil, &format!("a,y\n{table}"));
    let run = |args: &[&str]| {
        let output = featgen(path).args(args).assert().get_output().clone();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{args:?}: {text:?}");
        text
    };
    let model = "m\u{1b}[2Jodel";
    assert!(
        run(&["train", evil, "--label", "y", "-o", model])
            .contains("class e\u{fffd}]0;title\u{fffd}\u{fffd}31mvil")
    );
    assert!(run(&["inspect", model]).contains("m\u{fffd}[2Jodel: e\u{fffd}]0;"));
    run(&["inspect", model, "--path"]);
    run(&["train", evil, "--label", "y", "-v", "--test", evil]);
    run(&["train", evil, "--label", "a", "--features", "1"]);
    run(&["train", evil, "--label", evil]);
    run(&["train", evil, "-o", evil]);
    run(&["train", evil, "--label", "y", "--weight", "bad=2"]);
    run(&["convert", evil, "s\u{1b}tore", "--label", "y"]);
    run(&["inspect", "s\u{1b}tore"]);
    run(&["synth", "linear", "-o", "t\u{1b}oy", "--rows", "9", "--features", "9", "--relevant", "2"]);
    write(path, "other.csv", "a,y\n1,\u{1b}x\n2,z\n");
    run(&["predict", model, "other.csv", "--label", "y", "--json"]);
    run(&["predict", model, "n\u{1b}owhere"]);
}
