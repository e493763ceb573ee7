//! The command as a user runs it.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use common::{featgen, two_classes};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a small synthetic problem, `toy`, of which 5 of 60 features are relevant.
fn toy(more: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let args = "synth linear -o toy --rows 200 --test-rows 100 --features 60 --relevant 5 --seed 3 "
        .to_owned()
        + more;
    let made = stdout(folder.path(), args.trim());
    assert!(made.contains("featgen train toy.train."), "{made}");
    folder
}

fn stdout(folder: &Path, args: &str) -> String {
    let output = featgen(folder).args(args.split_whitespace()).assert().success().get_output().clone();
    String::from_utf8(output.stdout).unwrap()
}

fn stderr(folder: &Path, args: &str) -> String {
    let output = featgen(folder).args(args.split_whitespace()).assert().success().get_output().clone();
    String::from_utf8(output.stderr).unwrap()
}

/// The exit code of a command that fails, and what it says.
fn outcome(folder: &Path, args: &str) -> (i32, String) {
    let output = featgen(folder).args(args.split_whitespace()).assert().failure().get_output().clone();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn json(folder: &Path, args: &str) -> Value {
    serde_json::from_str(&stdout(folder, &format!("{args} --json"))).expect("one JSON value and nothing else")
}

/// The same JSON without times.
fn timeless(mut report: Value) -> Value {
    let rounds = report["rounds"].as_array_mut().unwrap();
    rounds.iter_mut().for_each(|round| drop(round.as_object_mut().unwrap().remove("seconds")));
    report.as_object_mut().unwrap().remove("seconds");
    report
}

fn selected(report: &Value) -> Vec<String> {
    let list = report["selected"].as_array().unwrap();
    list.iter().map(|s| s["feature"].as_str().unwrap().to_owned()).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn made_data_are_learned_saved_and_predicted() {
    let toy = toy("--density 0.5");
    let folder = toy.path();
    let report = json(folder, "train toy.train.svm --test toy.test.svm --features 10 -o model");
    assert_eq!(report["selected"].as_array().unwrap().len(), 10);
    assert!(number(&report["test"]["accuracy"]) > 0.8);

    let quality = json(folder, "predict model toy.test.svm -o predicted");
    assert_eq!(quality, report["test"]);
    let predicted = fs::read_to_string(folder.join("predicted")).unwrap();
    assert_eq!(predicted, stdout(folder, "predict model toy.test.svm"));
    let test = fs::read_to_string(folder.join("toy.test.svm")).unwrap();
    let label = |line: &str| line.split(' ').next().unwrap().to_owned();
    let right = predicted.lines().zip(test.lines()).filter(|(p, line)| **p == label(line)).count();
    assert_eq!(number(&quality["accuracy"]), right as f64 / 100.0);

    let shown = stdout(folder, "inspect model");
    assert!(selected(&report).iter().all(|feature| shown.contains(feature)));
    assert_eq!(timeless(json(folder, "inspect model")), {
        let mut report = timeless(report);
        report.as_object_mut().unwrap().remove("test");
        report
    });
}

#[test]
fn json_has_the_promised_keys() {
    let toy = toy("");
    let report = json(toy.path(), "train toy.train.npy --labels toy.train.labels.txt -B 4 --max-rounds 3");
    for key in ["objective", "cost", "lower_bound", "gap", "bias", "n", "m", "nonzeros", "train_accuracy"] {
        number(&report[key]);
    }
    for key in ["read", "score", "solve", "total"] {
        number(&report["seconds"][key]);
    }
    assert_eq!(report["classes"], serde_json::json!(["-1", "+1"]));
    assert!(report["stopped"].is_string());
    let feature = &report["selected"][0];
    assert!(
        feature["feature"].is_string()
            && number(&feature["weight"]) != 0.0
            && number(&feature["round"]) >= 1.0
    );
    for key in "round selected cost objective lower_bound gap inner_iterations inner_gap accuracy".split(' ')
    {
        number(&report["rounds"][0][key]);
    }
    for key in ["score", "generate", "solve"] {
        number(&report["rounds"][0]["seconds"][key]);
    }
    assert!(number(&report["lower_bound"]) <= number(&report["objective"]));
}

#[test]
fn threads_change_nothing() {
    let toy = toy("");
    let train = "train toy.train.npy --labels toy.train.labels.txt --features 12";
    let [one, two, three] = [1, 2, 3].map(|t| timeless(json(toy.path(), &format!("{train} --threads {t}"))));
    assert_eq!(one, two);
    assert_eq!(one, three);
}

#[test]
fn formats_hold_the_same_data() {
    let text = toy("--format svm");
    let array = toy("--format npy");
    let from_text = timeless(json(text.path(), "train toy.train.svm -B 3"));
    let from_array = timeless(json(array.path(), "train toy.train.npy --labels toy.train.labels.txt -B 3"));
    assert_eq!(selected(&from_text), selected(&from_array));
    let (a, b) = (number(&from_text["objective"]), number(&from_array["objective"]));
    assert!((a - b).abs() <= 1e-6 * a, "{a} {b}");
    let truth = fs::read_to_string(text.path().join("toy.truth.txt")).unwrap();
    assert_eq!(truth, fs::read_to_string(array.path().join("toy.truth.txt")).unwrap());
    let relevant: Vec<&str> = truth
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(relevant.len(), 5);
    assert!(selected(&from_text)[..3].iter().all(|feature| relevant.contains(&feature.as_str())));
}

#[test]
fn groups_are_made_with_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let size = "--rows 200 --test-rows 100 --features 61 --group-size 4 --relevant 5 --seed 3";
    let made = stdout(folder.path(), &format!("synth group -o toy {size}"));
    assert!(made.contains("--groups toy.groups.txt --features 5 -o toy.model.json"), "{made}");

    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let groups = read("toy.groups.txt");
    let groups: Vec<&str> = groups.lines().collect();
    assert_eq!(groups.len(), 16);
    assert_eq!((groups[0], groups[1], groups[15]), ("g1: 1-4", "g2: 5-8", "g16: 61"));
    for line in read("toy.truth.txt").lines().filter(|line| !line.starts_with('#')) {
        let [feature, weight, group] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (feature, group): (usize, usize) = (feature.parse().unwrap(), group.parse().unwrap());
        assert_eq!(feature.div_ceil(4), group);
        assert_ne!(weight.parse::<f64>().unwrap(), 0.0);
    }
    let report = json(folder.path(), "train toy.train.npy --labels toy.train.labels.txt --max-rounds 1");
    assert_eq!((&report["n"], &report["m"]), (&200.into(), &61.into()));
    assert_eq!(read("toy.test.labels.txt").lines().count(), 100);
}

/// Values of six features; the first three decide the class.
fn six_features(row: u32) -> [f64; 6] {
    let mixed = |k: u32| (k.wrapping_mul(2_654_435_761) ^ 0x9e37_79b9).wrapping_mul(0x85eb_ca6b) >> 22;
    [1, 2, 3, 4, 5, 6].map(|j| f64::from(mixed(6 * row + j)) / 512.0 - 1.0)
}

fn is_positive(x: &[f64; 6]) -> bool {
    x[0] + 2.0 * x[1] + x[2] > 0.0
}

/// A folder with the same 60 instances as `in.svm` and as `in.csv`.
fn with_groups() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (mut text, mut table) = (String::new(), String::from("a,b,c,d,e,f,class\n"));
    for x in (0..60).map(six_features) {
        let class = if is_positive(&x) { "+1" } else { "-1" };
        let entries: Vec<String> = (1..).zip(x).map(|(j, x)| format!("{j}:{x}")).collect();
        text += &format!("{class} {}\n", entries.join(" "));
        table += &format!("{},{class}\n", x.map(|x| x.to_string()).join(","));
    }
    fs::write(folder.path().join("in.svm"), text).unwrap();
    fs::write(folder.path().join("in.csv"), table).unwrap();
    folder
}

/// The names of the selected groups, in order.
fn groups(report: &Value) -> Vec<&str> {
    let mut names: Vec<&str> =
        report["groups"].as_array().unwrap().iter().map(|g| g["group"].as_str().unwrap()).collect();
    names.sort_unstable();
    names
}

/// The sum of a feature's weights over its groups.
fn weight_of(report: &Value, feature: &str) -> f64 {
    let entries = report["selected"].as_array().unwrap().iter().filter(|s| s["feature"] == feature);
    entries.map(|s| number(&s["weight"])).sum()
}

#[test]
fn groups_are_selected_saved_and_predicted() {
    let folder = with_groups();
    let folder = folder.path();
    // The first two groups overlap.
    fs::write(folder.join("by_number"), "left: 1 2\nright: 2 3\nnoise: 4-5\n").unwrap();
    fs::write(folder.join("by_name"), "left: a b\nright: b,c\nnoise: d e\n").unwrap();
    let inputs = [
        ("in.svm --groups by_number", "in.svm", ["1", "2", "3", "4", "5", "6"]),
        ("in.csv --label class --groups by_name", "in.csv --label class", ["a", "b", "c", "d", "e", "f"]),
    ];
    for (train, data, names) in inputs {
        let report = json(folder, &format!("train {train} --features 2 -B 1 -o model"));
        assert_eq!(groups(&report), ["left", "right"]);
        assert_eq!((&report["candidates"], &report["stopped"]), (&3.into(), &"features".into()));
        let entries = report["selected"].as_array().unwrap();
        for group in report["groups"].as_array().unwrap() {
            let entries = entries.iter().filter(|s| s["group"] == group["group"]);
            let weights: Vec<f64> = entries.map(|s| number(&s["weight"])).collect();
            let norm = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
            assert!((number(&group["norm"]) - norm).abs() < 1e-12 * norm, "{group}");
            assert_eq!((weights.len(), &group["members"]), (2, &2.into()));
            assert!(number(&group["round"]) >= 1.0, "{group}");
        }
        assert_eq!(selected(&report).iter().filter(|feature| **feature == names[1]).count(), 2);
        let counts: Vec<&Value> =
            report["rounds"].as_array().unwrap().iter().map(|r| &r["selected"]).collect();
        assert_eq!((counts[0], counts[counts.len() - 1]), (&1.into(), &2.into()));

        let decisions = stdout(folder, &format!("predict model {data} --output-kind decision"));
        for (x, decision) in (0..60).map(six_features).zip(decisions.lines()) {
            let terms = names.iter().zip(x).map(|(name, x)| weight_of(&report, name) * x);
            let expected = terms.sum::<f64>() - number(&report["bias"]);
            assert!((decision.parse::<f64>().unwrap() - expected).abs() < 1e-9, "{decision}, not {expected}");
        }
        let at_one = json(folder, &format!("predict model {data} --features 1"));
        assert_eq!(at_one["accuracy"], report["rounds"][0]["accuracy"]);

        let shown = stdout(folder, "inspect model");
        assert!(shown.contains("group") && shown.contains("left") && shown.contains("right"), "{shown}");
        assert!(shown.contains("2 groups (3 features)"), "{shown}");
        let members = stdout(folder, "inspect model --members");
        let row = |line: &&str| line.contains("left") || line.contains("right");
        assert_eq!(members.lines().filter(row).count(), 4, "{members}");
        assert!(stdout(folder, "inspect model --path").contains("groups"));
        assert_eq!(timeless(json(folder, "inspect model")), timeless(report));
    }
}

#[test]
fn trees_of_all_formats_select_the_same() {
    let folder = with_groups();
    let folder = folder.path();
    let inner = "all: 1-6\nfirst: 1-3\npair: 1 2\nrest: 5 6\n";
    let leaves: String = (1..=6).map(|j| format!("f{j}: {j}\n")).collect();
    fs::write(folder.join("lists"), inner).unwrap();
    fs::write(folder.join("lists_of_leaves"), inner.to_owned() + &leaves).unwrap();
    fs::write(
        folder.join("parents"),
        "all > first\nall > 4\nfirst > 3\nfirst > pair\npair > 1,2\nrest > 5 6\nall > rest\n",
    )
    .unwrap();
    fs::write(folder.join("paths"), "all/first/pair\nall/first/pair\nall/first\nall\nall/rest\nall/rest\n")
        .unwrap();
    fs::write(folder.join("newick"), "(((1,2)pair:0.5,3)first,4,(5,6)rest)all;\n").unwrap();
    let select = |groups: &str| {
        let report =
            json(folder, &format!("train in.svm --features 2 --group-weight sqrt --groups {groups}"));
        let mut features = selected(&report);
        features.sort();
        (features, report["candidates"].clone(), number(&report["objective"]))
    };
    let same = [
        ["lists", "lists --tree", "lists --tree=lists"].as_slice(),
        &["lists --tree", "parents --tree", "parents --tree=parents", "paths --tree", "paths --tree=paths"],
        &["lists_of_leaves --tree", "newick --tree", "newick --tree=newick"],
    ];
    for ways in same {
        let expected = select(ways[0]);
        for way in &ways[1..] {
            let found = select(way);
            assert_eq!((&found.0, &found.1), (&expected.0, &expected.1), "{way}");
            assert!((found.2 / expected.2 - 1.0).abs() < 1e-3, "{way}: {} and {}", found.2, expected.2);
        }
    }
}

#[test]
fn what_groups_leave_out_is_noted() {
    let folder = with_groups();
    let folder = folder.path();
    fs::write(folder.join("some"), "1-3\n5\n").unwrap();
    for tree in ["", " --tree"] {
        let train = format!("train in.svm --groups some{tree}");
        let note = "note: 2 features in no group left out; --singletons makes each a group of its own\n";
        assert_eq!(stderr(folder, &train), note);
        assert_eq!(stderr(folder, &format!("{train} --quiet")), "");
        assert_eq!(stderr(folder, &format!("{train} --singletons")), "");
        let report = json(folder, &format!("{train} --singletons --features 4 -C 1000"));
        assert_eq!(report["candidates"], 4);
        assert_eq!(groups(&report), ["1", "2", "feature 4", "feature 6"]);
    }
    fs::write(folder.join("wide.svm"), "+1 1:1 70000:1\n-1 2:1\n").unwrap();
    fs::write(folder.join("wide"), "all: 1-70001\nfew: 1 2\n").unwrap();
    let notes = stderr(folder, "train wide.svm --groups wide --tree");
    let expected = "note: 1 group of more than 65,536 features cannot be selected, only groups inside\n\
                    note: wide:1:6: this and perhaps other features do not occur in wide.svm\n";
    assert_eq!(notes, expected);
}

#[test]
fn products_are_made_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let size =
        "--rows 3000 --test-rows 1000 --features 2000 --per-row 12 --relevant 5 --support 0.3 --noise 0";
    let made = stdout(folder.path(), &format!("synth products -o toy {size}"));
    let train = "train toy.train.svm --test toy.test.svm --space poly2 --features 5 -o toy.model.json";
    assert!(
        made.contains(&format!("The 5 relevant products are in toy.truth.txt. Next:\n\n  featgen {train}\n")),
        "{made}"
    );

    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("toy.test.svm").lines().count(), 1000);
    let entries = |line: &str| line.split(' ').skip(1).all(|entry| entry.ends_with(":1"));
    assert!(read("toy.train.svm").lines().all(entries));
    let truth = read("toy.truth.txt");
    let lines = truth.lines().filter(|line| !line.starts_with('#'));
    let mut products: Vec<String> = lines.map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    let report = json(folder.path(), train);
    let mut found = selected(&report);
    products.sort();
    found.sort();
    assert_eq!(found, products);

    let three = stdout(folder.path(), &format!("synth products -o three {size} --degree 3 --values real"));
    assert!(three.contains("--space products --degree 3 --features 5"), "{three}");
    assert!(read("three.train.svm").lines().any(|line| !entries(line)));
}

#[test]
fn exactly_as_many_features_as_wanted() {
    let toy = toy("--density 0.5");
    for k in [1, 7, 23] {
        let report = json(toy.path(), &format!("train toy.train.svm --features {k}"));
        assert_eq!(selected(&report).len(), k);
        assert_eq!(report["stopped"], "features");
    }
}

#[test]
fn identical_perfect_features_are_all_selected() {
    let folder = tempfile::tempdir().unwrap();
    let line =
        |i: usize| format!("{}{}\n", i % 2, (1..=100).map(|j| format!(" {j}:{}", i % 2)).collect::<String>());
    fs::write(folder.path().join("in"), (0..10).map(line).collect::<String>()).unwrap();
    assert_eq!(selected(&json(folder.path(), "train in --features 100")).len(), 100);
}

#[test]
fn long_data_are_predicted_in_batches() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = two_classes(100);
    fs::write(folder.join("once"), &text).unwrap();
    // Several batches on any number of threads.
    let times = (20 << 20) / text.len();
    fs::write(folder.join("long"), text.repeat(times)).unwrap();
    stdout(folder, "train once --features 2 -C 0.01 -o model");
    let once = stdout(folder, "predict model once --output-kind decision");
    let quality = json(folder, "predict model long --threads 2 --output-kind decision -o out");
    assert_eq!(fs::read_to_string(folder.join("out")).unwrap(), once.repeat(times));
    let expected = json(folder, "predict model once");
    assert_eq!(quality["n"], 100 * times);
    assert!((number(&quality["auc"]) - number(&expected["auc"])).abs() < 1e-12);
    assert_eq!(quality["accuracy"], expected["accuracy"]);

    fs::write(folder.join("bad"), text.repeat(times) + "+1 1:x\n").unwrap();
    fs::remove_file(folder.join("out")).unwrap();
    let failed = featgen(folder).args("predict model bad -o out".split(' ')).assert().code(1);
    let said = String::from_utf8(failed.get_output().stderr.clone()).unwrap();
    assert!(said.starts_with(&format!("bad:{}:4: ", 100 * times + 1)), "{said}");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 4);
}

#[test]
fn points_of_the_path_predict() {
    let toy = toy("--density 0.5");
    let folder = toy.path();
    let report = json(folder, "train toy.train.svm -B 4 --features 12 -o model");
    for round in report["rounds"].as_array().unwrap() {
        let k = &round["selected"];
        let quality = json(folder, &format!("predict model toy.train.svm --features {k}"));
        assert_eq!(quality["accuracy"], round["accuracy"], "{k} features");
    }
    let path = stdout(folder, "inspect model --path");
    assert!(path.contains("lower bound") && path.contains("accuracy"), "{path}");
    assert_eq!(
        stdout(folder, "inspect model --top 2").lines().filter(|line| line.starts_with("   ")).count(),
        2
    );
}

#[test]
fn refitting_keeps_features_and_certificate() {
    let toy = toy("--density 0.5");
    let plain = json(toy.path(), "train toy.train.svm --features 8 -C 0.1");
    let refitted = json(toy.path(), "train toy.train.svm --features 8 -C 0.1 --debias 100 -o model");
    let sorted = |report: &Value| {
        let mut features = selected(report);
        features.sort();
        features
    };
    assert_eq!(sorted(&plain), sorted(&refitted));
    assert_eq!(plain["objective"], refitted["objective"]);
    assert_ne!(plain["selected"][0]["weight"], refitted["selected"][0]["weight"]);
    assert!(stdout(toy.path(), "inspect model").contains("refitted with cost 100"));
}

#[test]
fn class_and_instance_weights_count() {
    let toy = toy("--density 0.5 --shift 1");
    let folder = toy.path();
    let plain = timeless(json(folder, "train toy.train.svm -B 3"));
    let balanced = timeless(json(folder, "train toy.train.svm -B 3 --weight balanced"));
    let doubled = timeless(json(folder, "train toy.train.svm -B 3 --weight +1=2 --weight -1=2 -C 5"));
    assert_ne!(plain["bias"], balanced["bias"]);
    assert_eq!(plain["selected"], doubled["selected"]);
    fs::write(folder.join("weights"), "2\n".repeat(200)).unwrap();
    let weighted = timeless(json(folder, "train toy.train.svm -B 3 --weights weights -C 5"));
    assert_eq!(plain["selected"], weighted["selected"]);
}

/// An instance that counts 0 times is as good as absent, for the levels and widths of curves too.
#[test]
fn curves_are_of_instances_that_count() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rows: String = (0..40).map(|i| format!("{} 1:{}\n", (i / 8) % 2, 1 + i % 17)).collect();
    fs::write(folder.join("plain"), &rows).unwrap();
    fs::write(folder.join("more"), rows + "1 1:1000\n").unwrap();
    fs::write(folder.join("weights"), "1\n".repeat(40) + "0\n").unwrap();
    for space in ["hik", "intersection --power 2", "gaussian"] {
        let plain = json(folder, &format!("train plain --space {space}"));
        let weighed = json(folder, &format!("train more --weights weights --space {space}"));
        let [a, b] = [&plain, &weighed].map(|report| number(&report["objective"]));
        assert!((a - b).abs() <= 1e-3 * a, "{space}: {a} {b}");
    }
}

#[test]
fn names_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in"), two_classes(30)).unwrap();
    fs::write(folder.path().join("names"), "alpha\nbeta\ngamma\ndelta\nepsilon\nzeta\n").unwrap();
    assert_eq!(selected(&json(folder.path(), "train in --names names --features 1")), ["alpha"]);
    assert!(stdout(folder.path(), "train in --names names --features 1").contains("alpha"));
}

#[test]
fn columns_of_tables_are_found_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sign = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
    let rows = |order: fn(f64, f64, &str) -> String| {
        (0..20)
            .map(|i| order(sign(i), (i % 5) as f64, if i % 2 == 0 { "yes" } else { "no" }))
            .collect::<String>()
    };
    let train = "signal,noise,ill\n".to_owned() + &rows(|s, n, y| format!("{s},{n},{y}\n"));
    let moved = "ill,noise,signal\n".to_owned() + &rows(|s, n, y| format!("{y},{n},{s}\n"));
    fs::write(folder.join("train.csv"), train).unwrap();
    fs::write(folder.join("moved.csv"), moved).unwrap();
    fs::write(folder.join("without.csv"), "noise,other\n1,2\n2,3\n").unwrap();
    let report = json(folder, "train train.csv --label ill --features 1 -o model");
    assert_eq!(selected(&report), ["signal"]);
    assert_eq!(report["classes"], serde_json::json!(["no", "yes"]));
    assert_eq!(json(folder, "predict model moved.csv --label ill")["accuracy"], 1.0);
    let note = stderr(folder, "predict model without.csv --missing-ok");
    assert!(note.contains("without.csv lacks 1 of the 1 feature that the model looks at"), "{note}");
}

#[test]
fn decision_values_and_probabilities_agree_with_labels() {
    let toy = toy("--density 0.5");
    let folder = toy.path();
    stdout(folder, "train toy.train.svm --loss logistic --features 5 -o model");
    let [labels, decisions, probabilities] = ["label", "decision", "probability"]
        .map(|kind| stdout(folder, &format!("predict model toy.test.svm --output-kind {kind}")));
    assert_eq!(labels.lines().count(), 100);
    for ((label, decision), probability) in labels.lines().zip(decisions.lines()).zip(probabilities.lines()) {
        let decision: f64 = decision.parse().unwrap();
        let probability: f64 = probability.parse().unwrap();
        assert_eq!(label == "+1", decision > 0.0);
        assert!((probability - 1.0 / (1.0 + (-decision).exp())).abs() < 1e-12);
    }
}

#[test]
fn standard_input_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let output =
        featgen(folder.path()).args(["train", "-", "--json"]).write_stdin(two_classes(30)).assert().success();
    let report: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(report["n"], 30);
}

#[test]
fn people_get_a_summary_without_colours_in_files() {
    let toy = toy("--density 0.5");
    let shown = stdout(toy.path(), "train toy.train.svm --test toy.test.svm --features 30");
    for part in [
        "200 x 60",
        "feature  ",
        "and 10 more",
        "no 30 features out of 60 can do better than",
        "on 100 test instances",
        "-o FILE",
    ] {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
    assert!(!shown.contains('\x1b') && !shown.contains('█'));
    assert_eq!(stderr(toy.path(), "train toy.train.svm"), "");
    let lines = stderr(toy.path(), "train toy.train.svm -v --max-rounds 2 --tol 0");
    assert!(lines.lines().count() == 2 && lines.starts_with("round 1: "), "{lines}");
}

#[test]
fn the_demo_finds_what_is_relevant() {
    let folder = tempfile::tempdir().unwrap();
    let shown = stdout(folder.path(), "demo --rows 400 --features 300 --relevant 5 --select 5");
    assert!(shown.contains("of the 5 selected are truly relevant"), "{shown}");
}

/// A table whose classes depend on a product, and on the size of a feature.
fn with_product() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut table = String::from("a,b,c,d,class\n");
    for row in 0..200 {
        let [a, b, c, d, ..] = six_features(row).map(|x| (50.0 * (x + 1.0)).round() / 100.0);
        let class = if a * b > 0.25 || (c - 0.5).abs() < 0.1 { "yes" } else { "no" };
        table += &format!("{a},{b},{c},{d},{class}\n");
    }
    fs::write(folder.path().join("in.csv"), table).unwrap();
    folder
}

#[test]
fn products_are_named_saved_and_predicted() {
    let folder = with_product();
    let folder = folder.path();
    for space in ["poly2", "poly2 --coef0 0", "products --degree 3"] {
        let report =
            json(folder, &format!("train in.csv --label class --space {space} --features 3 -B 1 -o model"));
        let names = selected(&report);
        assert!(names.iter().any(|name| name == "a*b"), "{space}: {names:?}");
        for feature in report["selected"].as_array().unwrap() {
            let product = feature["feature"].as_str().unwrap().contains(['*', '^']);
            assert_eq!(feature["factors"].is_array(), product, "{space}: {feature}");
            assert!(
                feature["feature"] != "a*b" || feature["factors"] == serde_json::json!([1, 2]),
                "{feature}"
            );
        }
        let again = json(folder, "predict model in.csv --label class");
        assert_eq!(again["accuracy"], report["train_accuracy"], "{space}");
        assert!(report["candidates"].as_u64().unwrap() >= 10, "{space}");
        for round in report["rounds"].as_array().unwrap() {
            let [scored, pruned] = ["scored", "pruned"].map(|key| round[key].as_u64().unwrap());
            assert!(scored >= 4 && report["candidates"] == scored + pruned, "{space}: {round}");
        }
        assert_eq!(timeless(json(folder, "inspect model")), timeless(report));
    }
    fs::write(folder.join("some"), "c d\n").unwrap();
    let report = json(folder, "train in.csv --label class --space poly2 --only some --features 8 -B 4");
    let products: Vec<String> =
        selected(&report).into_iter().filter(|name| name.contains(['*', '^'])).collect();
    assert!(!products.is_empty() && products.iter().all(|name| !name.contains(['a', 'b'])), "{products:?}");
}

#[test]
fn products_that_nothing_tells_apart_are_shown_together() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // `c` is the product of `a` and `b`, and `d` is `a` again.
    let row = |i: usize| {
        let (a, b) = (i % 2, i / 2 % 2);
        format!("{a},{b},{},{a},{}\n", a * b, if a * b == 1 { "yes" } else { "no" })
    };
    fs::write(folder.join("in.csv"), format!("a,b,c,d,class\n{}", (0..40).map(row).collect::<String>()))
        .unwrap();
    let train = "train in.csv --label class --space products --features 1 -o model";
    let report = json(folder, train);
    let aliases = ["a*b", "a*c", "b*c", "b*d", "c*d"];
    assert_eq!(selected(&report), ["c"]);
    assert_eq!(report["selected"][0]["aliases"], serde_json::json!(aliases));
    assert_eq!(timeless(json(folder, "inspect model")), timeless(report));
    for shown in [stdout(folder, train), stdout(folder, "inspect model")] {
        assert!(shown.contains("= a*b, a*c and 3 more"), "{shown}");
    }
    // Models of earlier versions know of no aliases.
    let text = fs::read_to_string(folder.join("model")).unwrap();
    let (begin, rest) = text.split_once("\"aliases\": [").unwrap();
    let (_, end) = rest.split_once("],").unwrap();
    fs::write(folder.join("old"), format!("{begin}{end}")).unwrap();
    let old = json(folder, "inspect old");
    assert!(old["selected"][0].get("aliases").is_none(), "{old}");
    let linear = json(folder, "train in.csv --label class --features 1");
    assert!(linear["selected"][0].get("aliases").is_none() && linear["rounds"][0]["pruned"] == 0, "{linear}");
}

#[test]
fn curves_are_drawn_saved_and_predicted() {
    let folder = with_product();
    let folder = folder.path();
    for space in ["hik --levels 20", "intersection --power 0.5", "gaussian", "gaussian --sigma 0.3"] {
        let train = format!("train in.csv --label class --space {space} --features 2 -B 1 -o model");
        let report = json(folder, &train);
        assert_eq!(selected(&report).len(), 2, "{space}");
        for feature in report["selected"].as_array().unwrap() {
            let points = feature["curve"].as_array().unwrap();
            assert!(points.len() > 10 && (0.0..1.0).contains(&number(&points[0][0])), "{space}");
        }
        let again = json(folder, "predict model in.csv --label class");
        assert_eq!(again["accuracy"], report["train_accuracy"], "{space}");
        let at_one = json(folder, "predict model in.csv --label class --features 1");
        assert_eq!(at_one["accuracy"], report["rounds"][0]["accuracy"], "{space}");
        assert!(stdout(folder, "inspect model").contains('█'), "{space}");
        assert_eq!(timeless(json(folder, "inspect model")), timeless(report));
    }
}

#[test]
fn a_damaged_curve_is_refused() {
    let folder = with_product();
    let folder = folder.path();
    stdout(folder, "train in.csv --label class --space hik --levels 3 --features 1 -o model");
    let mut model: Value = serde_json::from_slice(&fs::read(folder.join("model")).unwrap()).unwrap();
    model["terms"][0]["feature"]["step"]["of"] = 2.into();
    fs::write(folder.join("model"), model.to_string()).unwrap();
    for command in ["inspect model", "predict model in.csv --label class"] {
        let (code, said) = outcome(folder, command);
        assert_eq!(
            (code, said.as_str()),
            (1, "model: damaged model: parts of a curve do not fit each other\n")
        );
    }
}

/// Training for `hik` refuses them: in prediction they are as good as none. And what is missing counts as 0, which is said.
#[test]
fn negative_and_missing_values_of_curves_are_none() {
    let folder = with_product();
    let folder = folder.path();
    stdout(folder, "train in.csv --label class --space hik --features 3 -B 1 -o model");
    fs::write(folder.join("negative.csv"), "a,b,c,d\n-1,-0.5,-9,-3\n").unwrap();
    fs::write(folder.join("zero.csv"), "a,b,c,d\n0,0,0,0\n").unwrap();
    fs::write(folder.join("few.csv"), "a,z\n0,0\n").unwrap();
    let predict = |file: &str| stdout(folder, &format!("predict model {file} --output decision"));
    assert_eq!(predict("negative.csv"), predict("zero.csv"));
    assert_eq!(predict("few.csv"), predict("zero.csv"));
    let said = stderr(folder, "predict model few.csv");
    assert!(
        said.contains("few.csv lacks 2 of the 3 features that the model looks at, counted as 0: "),
        "{said}"
    );
}

/// With `--coef0 0` there are products alone.
#[test]
fn products_are_counted_and_their_sizes_bounded() {
    let folder = with_product();
    let folder = folder.path();
    let candidates = |options: &str| {
        let report = json(folder, &format!("train in.csv --label class --space poly2 {options}"));
        report["candidates"].as_u64().unwrap()
    };
    let all = candidates("");
    let m = json(folder, "train in.csv --label class")["m"].as_u64().unwrap();
    assert_eq!((all, candidates("--coef0 0")), (1 + m + m * (m + 1) / 2, m * (m + 1) / 2));
    let (code, said) = outcome(folder, "train in.csv --label class --space poly2 --gamma 1e200");
    assert!(code == 1 && said.contains("in.csv: products are too large to compute with"), "{said}");
}

#[test]
fn every_command_has_help_with_examples() {
    let folder = tempfile::tempdir().unwrap();
    assert!(stdout(folder.path(), "--help").contains("Quick start"));
    let train = stdout(folder.path(), "train --help");
    let at = |part: &str| train.find(part).unwrap_or_else(|| panic!("{part} is not in\n{train}"));
    assert!(at("Learning:") < at("--debias <X>") && at("--debias <X>") < at("Groups:"), "{train}");
    assert!(at("Groups:") < at("--singletons"), "{train}");
    for command in [
        "train",
        "predict",
        "inspect",
        "convert",
        "synth",
        "synth linear",
        "synth group",
        "synth products",
        "demo",
    ] {
        let help = stdout(folder.path(), &format!("{command} --help"));
        assert!(help.contains("Example") && help.contains(&format!("featgen {command} ")), "{help}");
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let toy = toy("--density 0.5");
    stdout(toy.path(), "train toy.train.svm -o model");
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("featgen"))
        .args("predict model toy.train.svm -q --output-kind decision".split(' '))
        .current_dir(toy.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_saves_the_model_so_far() {
    let folder = tempfile::tempdir().unwrap();
    stdout(folder.path(), "synth linear -o toy --rows 2000 --features 2000 --test-rows 0");
    // Would take minutes.
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("featgen"))
        .args(
            "train toy.train.npy --labels toy.train.labels.txt --gap 1e-15 -C 100 -B 1 -v --json -o model"
                .split(' '),
        )
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("round 1: "));
    // Twice at once is once: some programs ask both the process and its group.
    let id = child.id().to_string();
    assert!(Command::new("sh").args(["-c", "kill -TERM $0; kill -TERM $0", &id]).status().unwrap().success());
    // The pipe must be emptied, or the command would wait for its reader.
    lines.for_each(drop);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["stopped"], "interrupted");
    assert!(!selected(&json(folder.path(), "inspect model")).is_empty());
}

#[cfg(unix)]
#[test]
fn an_interrupted_prediction_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("in"), two_classes(30)).unwrap();
    stdout(folder, "train in -o model");
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("featgen"))
        .args("predict model - -o out".split(' '))
        .current_dir(folder)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let files = || fs::read_dir(folder).unwrap().count();
    // It opens its output once it knows what it reads, and then waits for more that never comes. Where files can be without
    // a name, nothing is seen of it.
    let mut input = child.stdin.take().unwrap();
    input.write_all(two_classes(3000).as_bytes()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert!(!child.wait().unwrap().success());
    assert_eq!(files(), 2);
}

#[cfg(unix)]
#[test]
fn an_interrupted_search_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    // All pairs of 100,000 features are equally good: that would take minutes.
    let row: String = (1..=100_000).map(|j| format!(" {j}:1")).collect();
    fs::write(folder.path().join("in"), format!("1{row}\n-1 1:1\n")).unwrap();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("featgen"))
        .args("train in --space poly2 -q --json".split(' '))
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let sent = std::time::Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(sent.elapsed().as_secs() < 5, "{:?}", sent.elapsed());
}
