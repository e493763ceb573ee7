//! Outcomes other than two classes, as a user meets them.

mod common;

use std::fs;
use std::path::Path;

use common::featgen;
use serde_json::Value;

/// Rows of six features, of which the first two matter; and what they make.
fn rows(count: usize) -> impl Iterator<Item = ([f64; 6], f64)> {
    // Numbers that look like chance.
    let value = |i: usize, j: usize| {
        let mixed = ((i * 64 + j + 1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / (1 << 23) as f64 - 1.0
    };
    (0..count).map(move |i| {
        let x: [f64; 6] = std::array::from_fn(|j| 1.5 * value(i, j));
        (x, x[0] - 0.8 * x[1] + 0.1 * value(i, 7))
    })
}

fn svm(count: usize, label: impl Fn(usize, f64) -> String) -> String {
    let line = |(i, (x, f)): (usize, ([f64; 6], f64))| {
        let cells: String = x.iter().enumerate().map(|(j, x)| format!(" {}:{x}", j + 1)).collect();
        format!("{}{cells}\n", label(i, f))
    };
    rows(count).enumerate().map(line).collect()
}

fn run(folder: &Path, args: &str) -> (String, String) {
    let output = featgen(folder).args(args.split_whitespace()).assert().success().get_output().clone();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn json(folder: &Path, args: &str) -> Value {
    serde_json::from_str(&run(folder, &format!("{args} --json")).0).expect("one JSON value and nothing else")
}

fn refused(folder: &Path, args: &str) -> String {
    let output = featgen(folder).args(args.split_whitespace()).assert().failure().get_output().clone();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    said.trim_end().to_owned()
}

fn first_two(report: &Value) {
    let mut names: Vec<&str> =
        report["selected"].as_array().unwrap().iter().map(|s| s["feature"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["1", "2"]);
}

/// Trains, tests on the training data, saves, predicts again: the same scores, and one line a row.
fn round_trip(name: &str, text: &str, options: &str, score: &str, least: f64) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("d.svm"), text).unwrap();
    let train = format!("train d.svm --features 2 -B 1 -C 1 {options} --test d.svm -o m.json");
    let report = json(folder, &train);
    first_two(&report);
    let reached = report["test"][score].as_f64().unwrap_or_else(|| panic!("{name}: {}", report["test"]));
    assert!(reached >= least, "{name}: {score} {reached}");
    let scored = json(folder, "predict m.json d.svm");
    assert_eq!(scored[score], report["test"][score], "{name}");
    let (predictions, said) = run(folder, "predict m.json d.svm");
    assert!(!said.contains('\u{fffd}'), "{said}");
    assert_eq!(predictions.lines().count(), text.lines().count(), "{name}");
    assert!(!said.is_empty(), "{name}");
    let (shown, _) = run(folder, "inspect m.json --path");
    assert!(shown.contains(" loss, trained on "), "{shown}");
    // A store gives the same model, and so does one thread.
    run(folder, "convert d.svm d.store");
    run(folder, &format!("{train} --threads 1").replace("m.json", "one.json"));
    run(folder, &train.replace("train d.svm", "train d.store").replace("m.json", "stored.json"));
    let model = fs::read(folder.join("m.json")).unwrap();
    assert_eq!(model, fs::read(folder.join("one.json")).unwrap(), "{name}");
    assert_eq!(model, fs::read(folder.join("stored.json")).unwrap(), "{name}");
    report
}

fn counts(f: f64) -> String {
    ((0.8 * f).exp() * 2.0).round().to_string()
}

fn classes(f: f64) -> String {
    (if f < -0.7 {
        "low"
    } else if f > 0.7 {
        "high"
    } else {
        "middle"
    })
    .to_owned()
}

fn times(i: usize, f: f64) -> f64 {
    let time = (-f).exp() * (1.0 + (i % 5) as f64 * 0.1);
    if time > 3.0 || i.is_multiple_of(9) { -time.min(3.0) } else { time }
}

#[test]
fn numbers() {
    for options in ["--loss squared", "--loss huber --delta 0.5"] {
        let report = round_trip("numbers", &svm(300, |_, f| f.to_string()), options, "r2", 0.95);
        assert_eq!(report["output"], "number");
        assert!(report["train_explained"].as_f64().unwrap() > 0.9 && report.get("train_accuracy").is_none());
        assert!(report["test"]["rmse"].as_f64().unwrap() < 0.3);
    }
    // Too many different labels to be classes.
    round_trip(
        "many numbers",
        &svm(1500, |i, f| (f + i as f64 * 1e-7).to_string()),
        "--loss squared",
        "r2",
        0.95,
    );
}

#[test]
fn numbers_of_events() {
    let report =
        round_trip("counts", &svm(300, |_, f| counts(f)), "--loss poisson", "deviance_explained", 0.7);
    assert_eq!(report["output"], "rate");
}

#[test]
fn more_than_two_classes() {
    for (loss, least) in [("squared-hinge", 0.75), ("softmax", 0.9)] {
        let text = svm(300, |_, f| classes(f));
        let report = round_trip(loss, &text, &format!("--loss {loss}"), "accuracy", least);
        assert_eq!(report["classes"].as_array().unwrap().len(), 3);
        assert_eq!(report["bias"].as_array().unwrap().len(), 3);
        assert_eq!(report["selected"][0]["weights"].as_array().unwrap().len(), 3);
        assert_eq!(report["test"]["confusion"].as_array().unwrap().len(), 3);
    }
}

#[test]
fn probabilities_of_all_classes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("d.svm"), svm(200, |_, f| classes(f))).unwrap();
    run(folder, "train d.svm --features 2 --loss softmax -o m.json");
    let (out, _) = run(folder, "predict m.json d.svm --output-kind probability");
    for line in out.lines() {
        let p: Vec<f64> = line.split(' ').map(|p| p.parse().unwrap()).collect();
        assert!(p.len() == 3 && (p.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{line}");
    }
}

#[test]
fn times_to_an_event() {
    let report =
        round_trip("times", &svm(300, |i, f| times(i, f).to_string()), "--loss cox", "concordance", 0.85);
    assert_eq!(report["output"], "risk");
    assert_eq!(report["bias"], 0.0);
}

#[test]
fn times_and_events_in_two_columns_of_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut table = String::from("a,b,died,c,d,e,f,years\n");
    for (i, (x, f)) in rows(200).enumerate() {
        let (time, [a, b, c, d, e, g]) = (times(i, f), x);
        let died = if time > 0.0 { "TRUE" } else { "0" };
        table += &format!("{a},{b},{died},{c},{d},{e},{g},{}\n", time.abs());
    }
    fs::write(folder.join("t.csv"), &table).unwrap();
    fs::write(folder.join("d.svm"), svm(200, |i, f| times(i, f).to_string())).unwrap();
    let columns = "--time years --event died";
    let of_table = json(folder, &format!("train t.csv {columns} --loss cox --features 2 -B 1 -o m.json"));
    let of_text = json(folder, "train d.svm --loss cox --features 2 -B 1");
    assert_eq!(of_table["m"], 6);
    assert_eq!(of_table["objective"], of_text["objective"]);
    let names: Vec<&str> =
        of_table["selected"].as_array().unwrap().iter().map(|s| s["feature"].as_str().unwrap()).collect();
    assert!(names.contains(&"a") && names.contains(&"b"), "{names:?}");
    let scored = json(folder, &format!("predict m.json t.csv {columns}"));
    assert!(scored["concordance"].as_f64().unwrap() > 0.8);
    fs::write(folder.join("t.csv"), table.replacen("TRUE", "maybe", 1)).unwrap();
    let said = refused(folder, &format!("train t.csv {columns} --loss cox"));
    assert!(said.contains("`maybe` does not say whether there was an event"), "{said}");
}

/// A confounder that decides the label and moves other features: with it kept, the true feature is found.
#[test]
fn a_kept_column_explains_others_away() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut table = String::from("y,age,shadow,true,noise\n");
    for (x, _) in rows(400) {
        let (age, real, noise) = (2.0 * x[0], x[2], x[3]);
        let shadow = age + 0.1 * x[4];
        table += &format!("{},{age},{shadow},{real},{noise}\n", 3.0 * age + real + 0.05 * x[5]);
    }
    fs::write(folder.join("t.csv"), table).unwrap();
    let train = "train t.csv --label y --loss squared --features 1 -B 1 -C 1";
    let chosen = |report: &Value| report["selected"][0]["feature"].as_str().unwrap().to_owned();
    let without = json(folder, train);
    assert_ne!(chosen(&without), "true");
    for list in ["age", "1", "@keep.txt"] {
        fs::write(folder.join("keep.txt"), "age\n").unwrap();
        let with = json(folder, &format!("{train} --keep {list} --test t.csv -o m.json"));
        assert_eq!(chosen(&with), "true", "{list}");
        assert_eq!(with["kept"][0]["feature"], "age");
        assert!(run(folder, "inspect m.json").0.contains("kept       age 3.0"));
        assert!((with["kept"][0]["weight"].as_f64().unwrap() - 3.0).abs() < 0.1);
        assert!(with["test"]["r2"].as_f64().unwrap() > 0.98);
    }
    let again = json(folder, "predict m.json t.csv --label y");
    assert!(again["r2"].as_f64().unwrap() > 0.98);
}

#[test]
fn an_offset_is_added_to_decision_values() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let offsets: Vec<f64> = (0..200).map(|i| (i % 7) as f64 - 3.0).collect();
    fs::write(folder.join("d.svm"), svm(200, |i, f| (f + offsets[i]).to_string())).unwrap();
    let lines: String = offsets.iter().map(|x| format!("{x}\n")).collect();
    fs::write(folder.join("o.txt"), &lines).unwrap();
    run(folder, "train d.svm --loss squared --features 2 -B 1 --offset o.txt -o m.json");
    let with = json(folder, "predict m.json d.svm --offset o.txt");
    assert!(with["r2"].as_f64().unwrap() > 0.98);
    let (_, said) = run(folder, "predict m.json d.svm");
    assert!(said.contains("trained with --offset"), "{said}");
    fs::write(folder.join("o.txt"), "1\n2\n").unwrap();
    let said = refused(folder, "train d.svm --loss squared --offset o.txt");
    assert_eq!(said, "o.txt: 2 numbers for 200 instances");
    assert!(
        refused(folder, "predict m.json d.svm --offset o.txt").contains("o.txt: 2 numbers for at least 200")
    );
}

/// One clear line each.
#[test]
fn labels_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let refuse = |text: &str, args: &str| {
        fs::write(folder.join("d.svm"), text).unwrap();
        refused(folder, &format!("train d.svm {args}"))
    };
    let said = refuse("1 1:1\n# c\n2 1:2\n1 1:3\n3 1:4\n", "");
    assert!(said.starts_with("d.svm:5:1: a third label, 3, after 1 and 2 (of 3 in all): "), "{said}");
    assert!(said.contains("softmax") && said.contains("squared") && said.contains("cox"), "{said}");
    let cases = [
        ("1 1:1\n-2 1:2\n", "--loss poisson", "d.svm:2:1: a count cannot be -2: it must be at least 0"),
        ("0 1:1\n0 1:2\n", "--loss poisson", "d.svm: all counts are 0: at least one must be above"),
        ("3 1:1\n0 1:2\n", "--loss cox", "d.svm:2:1: a time cannot be 0"),
        ("-3 1:1\n-1 1:2\n", "--loss cox", "d.svm: no event: all times are negative"),
        ("a 1:1\nb 1:2\n", "--loss squared", "d.svm:1:1: the label a is not a finite number"),
        ("1 1:1\n2 1:2\n3 1:1\n", "--loss logistic", "d.svm:3:1: a third label, 3, after 1 and 2"),
        ("1 1:1\n1 1:2\n", "--loss softmax", "d.svm: all instances are of one class, 1: two are needed"),
        ("1 1:1 2:1\n2 1:2 2:1\n", "--keep 2", "--keep: column 2 has the same value everywhere"),
        ("1 1:1 2:1\n2 1:2 2:2\n", "--keep 1,2", "--keep: columns 2 and 1 are the same"),
        ("1 1:1\n2 1:2\n", "--keep 3", "--keep: the data have no column 3"),
        (
            "1 1:1\n2 1:2\n",
            "--loss squared --weight 1=2",
            "--weight: the loss squared has no classes to weigh",
        ),
        ("1 1:1\n2 1:2\n", "--delta 2", "--delta: goes with --loss huber"),
        ("1 1:1\n2 1:2\n", "--loss squared --delta 2", "--delta: the loss squared has no such parameter"),
        ("1 1:1\n2 1:2\n", "--loss huber --delta 0", "--delta: must be a finite number above 0, not 0"),
    ];
    for (text, args, expected) in cases {
        let said = refuse(text, args);
        assert!(said.contains(expected), "{args}: {said}");
    }
    // One instance of a class among three is enough to learn from.
    fs::write(folder.join("d.svm"), "a 1:1\nb 1:2\nb 1:3\nc 1:5\nc 1:6\n").unwrap();
    run(folder, "train d.svm --loss softmax");
}

/// `synth` makes data of every outcome, and says the command that learns from them.
#[test]
fn made_data_of_every_outcome_can_be_learned() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for outcome in ["signs", "classes --classes 4", "numbers", "counts", "times"] {
        let made = format!(
            "synth linear -o toy --rows 300 --test-rows 100 --features 50 --relevant 3 --outcome {outcome}"
        );
        let (said, _) = run(folder, &made);
        let command = said.lines().find_map(|line| line.trim().strip_prefix("featgen ")).unwrap();
        let report = json(folder, &format!("{command} -C 1 -B 1"));
        assert_eq!(report["selected"].as_array().unwrap().len(), 3, "{outcome}");
        let truth = fs::read_to_string(folder.join("toy.truth.txt")).unwrap();
        let relevant: Vec<&str> = truth.lines().filter_map(|line| line.split(' ').next()).collect();
        for selected in report["selected"].as_array().unwrap() {
            assert!(relevant.contains(&selected["feature"].as_str().unwrap()), "{outcome}: {selected}");
        }
    }
}
