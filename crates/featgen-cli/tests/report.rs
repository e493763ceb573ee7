//! `featgen report`: a page that holds all it shows, for every outcome, whatever features are called.

mod common;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use common::{featgen, two_classes};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with two classes in two files.
fn workplace() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("train"), two_classes(60)).unwrap();
    fs::write(folder.path().join("test"), two_classes(40)).unwrap();
    folder
}

fn run(folder: &Path, args: &str) {
    featgen(folder).args(args.split(' ')).assert().success();
}

/// What the page of a file shows.
fn shown(folder: &Path, page: &str) -> (String, Value) {
    let html = fs::read_to_string(folder.join(page)).unwrap();
    let (_, after) = html.split_once("<script type=\"application/json\" id=\"report\">").unwrap();
    let (json, _) = after.split_once("</script>").unwrap();
    let report = serde_json::from_str(json).unwrap();
    (html, report)
}

/// What a command fails with.
fn refused(folder: &Path, args: &str, code: i32) -> String {
    let out = featgen(folder).args(args.split(' ')).assert().code(code).get_output().stderr.clone();
    String::from_utf8(out).unwrap()
}

/// What is true of an instance, given its number and its first two values.
type Label<'a> = &'a dyn Fn(usize, f64, f64) -> String;

/// Numbers that look random, a row an instance, and what is true of each as `label` says of the first two.
fn table(rows: usize, head: &str, label: impl Fn(usize, f64, f64) -> String) -> String {
    let value = |i: usize, j: usize| ((i * i * 31 + i * 17 + j * 101 + i * j * 7) % 97) as f64 / 48.0 - 1.0;
    let mut text = format!("a,b,c,d,{head}\n");
    for i in 0..rows {
        let values: String = (0..4).map(|j| format!("{},", value(i, j))).collect();
        writeln!(text, "{values}{}", label(i, value(i, 0), value(i, 1))).unwrap();
    }
    text
}

#[test]
fn a_page_asks_nothing_of_the_network() {
    let folder = workplace();
    run(folder.path(), "train train --features 3 -q -o model.json");
    run(folder.path(), "report model.json --test test -o page.html");
    let (html, report) = shown(folder.path(), "page.html");
    for asks in [" src=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest", "import("] {
        assert!(!html.contains(asks), "{asks}");
    }
    assert!(html.contains("default-src 'none'") && html.len() < 200_000, "{}", html.len());
    assert_eq!(report["title"], "model.json");
    assert_eq!(report["selection"]["rows"].as_array().unwrap().len(), 3);
    // The same run gives the same page.
    run(folder.path(), "report model.json --test test -o again.html");
    assert_eq!(html, fs::read_to_string(folder.path().join("again.html")).unwrap());
}

#[test]
fn cross_validation_is_kept_with_the_model() {
    let folder = workplace();
    let points = |args: &str| {
        run(folder.path(), &format!("{args} -q -o model.json"));
        run(folder.path(), "report model.json -o page.html");
        let counts = shown(folder.path(), "page.html").1["counts"].clone();
        (counts["held_out"].as_bool().unwrap(), counts)
    };
    let (held_out, counts) = points("path train --features 4 -B 1");
    assert!(held_out && counts["points"].as_array().unwrap().len() == 4);
    assert_eq!(counts["chosen"], counts["model"]["features"]);
    let json =
        featgen(folder.path()).args(["path", "train", "--features", "4", "-B", "1", "--json"]).output();
    let found: Value = serde_json::from_slice(&json.unwrap().stdout).unwrap();
    for (point, of) in counts["points"].as_array().unwrap().iter().zip(found["points"].as_array().unwrap()) {
        assert_eq!(point["features"], of["features"]);
        assert!((point["mean"].as_f64().unwrap() - of["mean"].as_f64().unwrap()).abs() < 1e-5);
        assert!((point["se"].as_f64().unwrap() - of["se"].as_f64().unwrap()).abs() < 1e-5);
    }
    let (held_out, counts) = points("train train --features 3 --cv 4");
    assert!(held_out && counts["told"].as_str().unwrap().contains("4 folds"));
    let (held_out, counts) = points("train train --features 3");
    assert!(!held_out && counts["told"].as_str().unwrap().contains("training data, which flatters"));
    assert!(counts["points"].as_array().unwrap().iter().all(|point| point.get("se").is_none()));
}

#[test]
fn two_classes_have_what_predict_says() {
    let folder = workplace();
    for loss in ["logistic", "squared-hinge", "softmax"] {
        run(folder.path(), &format!("train train --features 2 --loss {loss} -q -o model.json"));
        run(folder.path(), "report model.json --test test -o page.html");
        let tested = shown(folder.path(), "page.html").1["tested"].clone();
        let json = featgen(folder.path()).args(["predict", "model.json", "test", "--json"]).output().unwrap();
        let said: Value = serde_json::from_slice(&json.stdout).unwrap();
        let auc = tested["ranking"]["auc"].as_f64().unwrap();
        if let Some(expected) = said["auc"].as_f64() {
            assert!((auc - expected).abs() < 1e-12, "{loss}: {auc} {expected}");
        }
        let counts = &tested["confusion"]["counts"];
        let right = counts[0][0].as_u64().unwrap() + counts[1][1].as_u64().unwrap();
        assert!((right as f64 / 40.0 - said["accuracy"].as_f64().unwrap()).abs() < 1e-12, "{loss}");
        assert_eq!(tested["ranking"]["probabilities"].as_bool().unwrap(), loss != "squared-hinge");
        let bins = tested["ranking"]["calibration"].as_array().unwrap();
        assert_eq!(bins.iter().map(|bin| bin["n"].as_u64().unwrap()).sum::<u64>(), 40, "{loss}");
    }
}

#[test]
fn every_outcome_has_pictures_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    let many = |i: usize, a: f64, b: f64| {
        ["low", "middle", "high"][if a + b < -0.5 { 0 } else { 1 + usize::from(a + b > 0.5 || i < 2) }]
            .to_owned()
    };
    let outcomes: [(&str, &str, &str, Label<'_>); 4] = [
        ("softmax", "y", "confusion", &many),
        ("squared", "y", "numbers", &|_, a, b| (a - b).to_string()),
        ("poisson", "y", "numbers", &|i, a, _| ((1.0 + a).exp() + (i % 2) as f64).round().to_string()),
        ("cox", "time,event", "survival", &|i, a, _| format!("{},{}", (3.0 - a).exp(), i % 3 / 2)),
    ];
    for (loss, head, picture, label) in outcomes {
        write("train.csv", table(120, head, label));
        write("test.csv", table(90, head, label));
        let column = if loss == "cox" { "--time time --event event" } else { "--label y" };
        run(folder.path(), &format!("train train.csv {column} --loss {loss} --features 2 -q -o model.json"));
        // A table has its labels where the training data had them.
        let again = if loss == "cox" { " --time time --event event" } else { "" };
        run(folder.path(), &format!("report model.json --test test.csv{again} -o page.html"));
        let tested = shown(folder.path(), "page.html").1["tested"].clone();
        assert_eq!(tested["n"], 90, "{loss}");
        for other in ["confusion", "ranking", "numbers", "survival"] {
            assert_eq!(tested.get(other).is_some(), other == picture, "{loss}: {other}");
        }
    }
}

#[test]
fn the_command_on_the_page_repeats_the_run() {
    let folder = workplace();
    fs::write(folder.path().join("groups.txt"), "left: 1 2 3\nright: 4-6\n").unwrap();
    for options in [
        "--features 2 --cv 3 --metric auc",
        "--loss logistic --select paper -C 1 --max-rounds 3 --tol 0.01 --no-shift --weight balanced",
        "--features 2 --debias 1 --exchange 2 --scale std --prove 0.2 --time-limit 100",
        "--gap 0.5 --solver apg --inner-decrease 1e-6 --weight 1=2 --weight -1=3",
        "--space intersection --levels 5 --power 0.5 --features 2",
        "--features 2 --keep 3 --inner-tol 1e-5",
        "--groups groups.txt --group-weight sqrt --features 1 --singletons",
    ] {
        run(folder.path(), &format!("train train {options} -q -o model.json"));
        run(folder.path(), "report model.json -o page.html");
        let command = shown(folder.path(), "page.html").1["repeat"].as_str().unwrap().to_owned();
        let arguments = command.strip_prefix("featgen ").unwrap();
        let arguments = arguments.replace("DATA", "train").replace("MODEL", "again.json");
        run(folder.path(), &format!("{arguments} -q"));
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("again.json"), read("model.json"), "{options}: {command}");
    }
}

#[test]
fn names_are_only_ever_text() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = [
        "<script>alert(1)</script>".to_owned(),
        "</script><img src=x onerror=alert(2)>".to_owned(),
        "{{data}} <!-- ' \u{2028} \u{202e}".to_owned(),
        "x".repeat(10_000),
    ];
    let quoted: Vec<String> = hostile.iter().map(|name| format!("\"{name}\"")).collect();
    let body = table(60, "<b>&", |_, a, b| if a + b > 0.0 { "<i>yes" } else { "no\"" }.replace('"', "\"\""))
        .replace("a,b,c,d", &quoted.join(","))
        .replace("no\"\"", "\"no\"\"\"");
    fs::write(folder.path().join("data.csv"), body).unwrap();
    let train = ["train", "data.csv", "--label", "<b>&", "--features", "4", "-q", "-o", "model.json"];
    featgen(folder.path()).args(train).assert().success();
    let report = ["report", "model.json", "--test", "data.csv", "-o", "page.html"];
    featgen(folder.path()).args(report).assert().success();
    let (html, report) = shown(folder.path(), "page.html");
    for wrong in ["<script>alert", "<img", "<i>yes", "<b>&"] {
        assert!(!html.contains(wrong), "{wrong}");
    }
    let rows = report["selection"]["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(hostile.iter().all(|name| names.contains(&name.as_str())), "{names:?}");
}

#[test]
fn how_sure_features_are_is_shown() {
    let folder = workplace();
    run(folder.path(), "train train --features 2 --stability 4 --stand-ins 0.01 -q -o model.json");
    let model: Value = serde_json::from_slice(&fs::read(folder.path().join("model.json")).unwrap()).unwrap();
    run(folder.path(), "report model.json -o page.html");
    let report = shown(folder.path(), "page.html").1;
    let row = &report["selection"]["rows"][0];
    let term = model["terms"].as_array().unwrap().iter().find(|term| term["name"] == row["name"]).unwrap();
    assert_eq!(row["stability"], term["frequency"]);
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|other| other["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(!names(&row["stand_ins"]).is_empty());
    assert_eq!(names(&row["stand_ins"]), names(&term["stand_ins"]));
    assert!(report["figures"].as_array().unwrap().iter().any(|figure| figure["name"] == "stable"));
}

/// What is proven of features that are not there was more than could be counted.
#[test]
fn a_model_without_features_has_a_page() {
    let folder = workplace();
    run(folder.path(), "train train --features 2 -q -o model.json");
    let file = folder.path().join("model.json");
    let mut model: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    (model["terms"], model["rounds"]) = (serde_json::json!([]), serde_json::json!([]));
    model["proof"]["forced"] = 1.into();
    fs::write(&file, model.to_string()).unwrap();
    run(folder.path(), "report model.json -o page.html");
    assert_eq!(shown(folder.path(), "page.html").1["selection"]["rows"], serde_json::json!([]));
}

#[test]
fn thousands_of_long_names_make_no_large_page() {
    let folder = tempfile::tempdir().unwrap();
    let line = |i: usize| {
        let values: String =
            (1..=600).map(|j| format!(" {j}:{}", (i * j * 31 % 101) as f64 - 50.0)).collect();
        format!("{}{values}\n", if i.is_multiple_of(2) { 1 } else { -1 })
    };
    fs::write(folder.path().join("data"), (0..30).map(line).collect::<String>()).unwrap();
    let names: String = (0..600).map(|j| format!("{j} {}\n", "long ".repeat(300))).collect();
    fs::write(folder.path().join("names"), names).unwrap();
    run(folder.path(), "train data --names names --select paper -B 600 --max-rounds 1 -q -o model.json");
    run(folder.path(), "report model.json -o page.html");
    let (html, report) = shown(folder.path(), "page.html");
    assert!(html.len() < 2_000_000, "{}", html.len());
    assert!(report["selection"]["count"].as_u64().unwrap() > 300);
}

#[test]
fn mistakes_are_told_and_nothing_is_written() {
    let folder = workplace();
    run(folder.path(), "train train --features 2 -q -o model.json");
    fs::write(folder.path().join("others"), "7 1:1\n8 1:2\n").unwrap();
    fs::write(folder.path().join("elsewhere"), "1 50:1\n-1 51:2\n").unwrap();
    fs::write(folder.path().join("empty"), "").unwrap();
    let said = refused(folder.path(), "report model.json --test others -o page.html", 1);
    assert_eq!(said, "others: its labels are not the model's classes, -1 and +1\n");
    let said = refused(folder.path(), "report model.json --test elsewhere -o page.html", 1);
    assert!(said.starts_with("elsewhere: lacks all 2 features that the model looks at"), "{said}");
    let said = refused(folder.path(), "report train -o page.html", 1);
    assert!(said.starts_with("train:1:1: not a model"), "{said}");
    let said = refused(folder.path(), "report model.json --test empty -o page.html", 1);
    assert!(said.starts_with("empty: ") || said.starts_with("empty:1"), "{said}");
    let said = refused(folder.path(), "report model.json -o model.json", 1);
    assert!(said.contains("the model"), "{said}");
    let said = refused(folder.path(), "report model.json", 2);
    assert!(said.contains("--output"), "{said}");
    let said = refused(folder.path(), "report model.json --offset others -o page.html", 2);
    assert!(said.contains("--test"), "{said}");
    assert!(!folder.path().join("page.html").exists());
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_page() {
    let folder = workplace();
    run(folder.path(), "train train --features 2 -q -o model.json");
    fs::write(folder.path().join("page.html"), "old").unwrap();
    let report = ["report", "model.json", "-o", "page.html"];
    common::featgen_on_full_disk(folder.path(), 8).args(report).assert().code(1);
    assert_eq!(fs::read_to_string(folder.path().join("page.html")).unwrap(), "old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}
