//! `featgen path` and `train --cv`: what they print, what they save, and what they refuse.

mod common;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use common::{featgen, two_classes};
use serde_json::Value;

fn run(folder: &Path, args: &str) -> (bool, String, String) {
    let output = featgen(folder).args(args.split(' ')).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

fn json(folder: &Path, args: &str) -> Value {
    let (well, out, err) = run(folder, args);
    assert!(well, "{args}: {err}");
    serde_json::from_str(&out).unwrap()
}

/// Numbers that look like chance.
fn noise(i: usize, j: usize) -> f64 {
    let mut x = (i as u64 * 1_000_003 + j as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) % 2001) as f64 / 1000.0 - 1.0
}

/// Of `relevant` features, the sum decides.
fn svm(rows: usize, columns: usize, relevant: usize) -> String {
    let mut text = String::new();
    for i in 0..rows {
        let sum: f64 = (0..relevant).map(|j| noise(i, j)).sum();
        let sign = if relevant == 0 { noise(i, 999_983) > 0.0 } else { sum + 0.3 * noise(i, 99_991) > 0.0 };
        write!(text, "{}", if sign { "+1" } else { "-1" }).unwrap();
        (0..columns).for_each(|j| write!(text, " {}:{}", j + 1, noise(i, j)).unwrap());
        text.push('\n');
    }
    text
}

/// What a model's file holds, and apart from it what cross-validation said.
fn model_file(folder: &Path, name: &str) -> (Value, Option<Value>) {
    let mut model: Value = serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap();
    let cv = model.as_object_mut().unwrap().remove("cv");
    (model, cv)
}

#[test]
fn the_json_of_a_path_and_the_model_it_saves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("in.svm"), svm(120, 40, 3)).unwrap();
    let found = json(path, "path in.svm --features 10 -B 1 --json -o model");
    assert_eq!((&found["metric"], &found["folds"]), (&"accuracy".into(), &5.into()));
    let points = found["points"].as_array().unwrap();
    assert_eq!(points.len(), 10);
    for (k, point) in points.iter().enumerate() {
        assert_eq!(point["features"], k + 1);
        let scores: Vec<f64> =
            point["scores"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
        let mean = scores.iter().sum::<f64>() / 5.0;
        assert!(
            (point["mean"].as_f64().unwrap() - mean).abs() < 1e-12 && point["se"].as_f64().unwrap() >= 0.0
        );
    }
    let (best, chosen) = (found["best"].as_u64().unwrap(), found["chosen"].as_u64().unwrap());
    assert!(chosen <= best && (2..=6).contains(&chosen), "{found}");
    let mean = |features: u64| points[features as usize - 1]["mean"].as_f64().unwrap();
    let least = mean(best) - points[best as usize - 1]["se"].as_f64().unwrap();
    assert!(mean(chosen) >= least && (1..chosen).all(|fewer| mean(fewer) < least));
    // The model is what `train` makes of that number and cost.
    let cost = found["cost"].as_f64().unwrap();
    json(path, &format!("train in.svm --features {chosen} -B 1 -C {cost} --json -o same"));
    let (model, same) = (model_file(path, "model"), model_file(path, "same"));
    assert_eq!(model.0, same.0);
    // But for what was measured, which it keeps.
    let kept = model.1.unwrap();
    assert_eq!((&kept["chosen"], &kept["best"], same.1), (&found["chosen"], &found["best"], None));
    for (point, of) in kept["points"].as_array().unwrap().iter().zip(points) {
        assert!(["features", "mean", "se"].iter().all(|&key| point[key] == of[key]), "{point} {of}");
    }
    for threads in [1, 2] {
        let mut again = json(path, &format!("path in.svm --features 10 -B 1 --json --threads {threads}"));
        again["seconds"] = found["seconds"].clone();
        assert_eq!(again, found);
    }
}

/// A combination is found as good as it is alone, the best one is chosen, and its model is the one that is saved.
#[test]
fn lists_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("in.svm"), svm(120, 30, 3)).unwrap();
    let (losses, steps) = (["logistic", "squared-hinge"], ["1", "3"]);
    let found = json(path, "path in.svm --features 6 --loss logistic,squared-hinge -B 1,3 --json -o model");
    let all = found["combinations"].as_array().unwrap();
    let (mut best, mut values) = (f64::NEG_INFINITY, Vec::new());
    for (k, one) in all.iter().enumerate() {
        let (loss, step) = (losses[k / 2], steps[k % 2]);
        let own = [("loss", loss), ("budget", step)]
            .map(|(name, value)| serde_json::json!({"name": name, "value": value}));
        assert_eq!(one["options"], Value::from(own.to_vec()));
        let mut alone =
            json(path, &format!("path in.svm --features 6 --loss {loss} -B {step} --json -o alone"));
        let features = alone["best"].as_u64().unwrap();
        let point = alone["points"].as_array().unwrap().iter().find(|p| p["features"] == features).unwrap();
        assert_eq!((&one["best"], &one["mean"], &one["se"]), (&alone["best"], &point["mean"], &point["se"]));
        let mean = point["mean"].as_f64().unwrap();
        if mean > best {
            best = mean;
            fs::copy(path.join("alone"), path.join("best")).unwrap();
            alone["seconds"] = Value::Null;
            values = vec![alone, one["options"].clone()];
        }
    }
    assert_eq!((all.len(), &found["options"]), (4, &values[1]));
    assert!(["points", "best", "chosen", "cost", "metric"].iter().all(|&key| found[key] == values[0][key]));
    assert_eq!(model_file(path, "model"), model_file(path, "best"));
    let (well, shown, _) = run(path, "path in.svm --features 4 --loss logistic,squared-hinge");
    assert!(
        well && shown.contains("best with") && shown.contains("squared-hinge") && shown.contains(", --loss "),
        "{shown}"
    );
    for (arguments, said) in [
        ("path in.svm --loss logistic,nothing", "nothing"),
        (
            "path in.svm --loss logistic,squared",
            "losses that are compared must be of the same kind of outcome",
        ),
        ("path in.svm -B 1,,3", "--budget"),
        ("train in.svm -B 1,3", "--budget"),
    ] {
        let (well, _, error) = run(path, arguments);
        assert!(!well && error.contains(said), "{arguments}: {error}");
    }
}

#[test]
fn costs_and_metrics_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("in.svm"), svm(100, 30, 3)).unwrap();
    let found = json(path, "path in.svm --features 6 -C auto --metric auc --repeats 2 --cv 3 --json");
    assert_eq!((found["costs"].as_array().unwrap().len(), &found["repeats"]), (4, &2.into()));
    assert_eq!(found["points"][0]["scores"].as_array().unwrap().len(), 6);
    let list = json(path, "path in.svm --features 6 -C 0.01,1 --json");
    let costs: Vec<f64> =
        list["costs"].as_array().unwrap().iter().map(|c| c["cost"].as_f64().unwrap()).collect();
    assert_eq!(costs, [0.01, 1.0]);
    let one = json(path, "path in.svm --features 6 -C 1 --json");
    assert_eq!((&one["cost"], one.get("costs")), (&1.0.into(), None));
    assert_eq!(one["points"], list["costs"][1]["points"]);
    let (well, shown, _) = run(path, "path in.svm --features 6 -C auto");
    assert!(well && shown.contains("chosen") && shown.contains("held out") && shown.contains("best with"));
    let paper = json(path, "path in.svm --select paper --json -o paper");
    assert!(!paper["points"].as_array().unwrap().is_empty() && path.join("paper").exists());
}

#[test]
fn training_is_never_shown_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("in.svm"), svm(100, 30, 3)).unwrap();
    fs::write(path.join("noise.svm"), svm(60, 400, 0)).unwrap();
    let asked = json(path, "train in.svm --features 4 --cv 4 --repeats 2 --json -o model");
    let cv = &asked["cv"];
    assert_eq!((&cv["metric"], &cv["folds"], &cv["repeats"]), (&"accuracy".into(), &4.into(), &2.into()));
    assert!(cv["mean"].as_f64().unwrap() > 0.7 && cv["se"].as_f64().unwrap() > 0.0);
    // Neither the JSON nor the model says anything that depends on the clock: what was measured is there if it was asked for.
    let quiet = json(path, "train in.svm --features 4 --json -o other");
    assert!(quiet.get("cv").is_none());
    let (model, other) = (model_file(path, "model"), model_file(path, "other"));
    assert_eq!((model.0, other.1), (other.0, None));
    assert!(["mean", "se", "baseline"].iter().all(|&key| model.1.as_ref().unwrap()[key] == cv[key]));
    json(path, "train in.svm --features 4 --cv 4 --repeats 2 --json -o again");
    assert_eq!(fs::read(path.join("model")).unwrap(), fs::read(path.join("again")).unwrap());
    let (_, shown, _) = run(path, "train in.svm --features 4");
    assert!(shown.contains("would reach") && shown.contains("on instances held out (5 folds)"), "{shown}");
    let (_, shown, _) = run(path, "train noise.svm --features 30");
    assert!(
        shown.contains("96.67 % on the training data") && shown.contains("this looks like noise"),
        "{shown}"
    );
    // Too few for folds: then it is said what is missing.
    fs::write(path.join("few.svm"), two_classes(6)).unwrap();
    let (_, shown, _) = run(path, "train few.svm --features 1");
    assert!(shown.contains("training data flatter; --cv 5 measures it"), "{shown}");
}

#[test]
fn who_belongs_together_is_held_out_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // Every patient has a colour of their own, which says all about the outcome of that patient, and nothing about others.
    let mut text = String::from("patient,colour,a,b,sick\n");
    for k in 0..120 {
        let patient = k / 6;
        let sick = noise(patient, 7) > 0.0;
        writeln!(
            text,
            "p{patient},c{patient},{},{},{}",
            noise(k, 1),
            noise(k, 2),
            if sick { "yes" } else { "no" }
        )
        .unwrap();
    }
    fs::write(path.join("in.csv"), &text).unwrap();
    let groups: String = (0..120).map(|k| format!("{}\n", k / 6)).collect();
    fs::write(path.join("groups.txt"), groups).unwrap();
    let accuracy = |args: &str| {
        let found = json(path, &format!("train in.csv --label sick --features 1 --json {args}"));
        assert!(!found["selected"].to_string().contains("patient"), "{found}");
        found["cv"]["mean"].as_f64().unwrap()
    };
    let apart = accuracy("--ignore patient --cv 5");
    let together = accuracy("--fold-column patient --cv 5");
    assert!(apart > 0.95 && together < 0.75, "{apart} {together}");
    assert_eq!(together, accuracy("--ignore patient --folds groups.txt --cv 5"));
    let each = json(path, "path in.csv --label sick --features 2 --json --fold-column patient");
    assert_eq!(each["folds"], 20);
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("in.svm"), svm(40, 10, 2)).unwrap();
    fs::write(path.join("rare.svm"), svm(40, 10, 2).replace("-1 1:", "+1 1:").replacen("+1 1:", "-1 1:", 3))
        .unwrap();
    fs::write(path.join("in.csv"), "a,b,y\n1,x,1\n2,,0\n3,x,1\n4,z,0\n").unwrap();
    fs::write(path.join("few.txt"), "1\n2\n").unwrap();
    for (args, said) in [
        ("path rare.svm", "error: --cv: class -1 has 3 instances, fewer than the 5 folds"),
        ("path in.svm --cv 1", "error: --cv: at least 2 folds are needed, not 1"),
        ("path in.svm --cv 50", "error: --cv: 50 folds of 40 instances"),
        ("path in.svm --repeats 0", "error: --repeats: must be at least 1"),
        ("path in.svm --features 11", "error: --features: 11 are asked for, and there are 10"),
        ("path in.svm --metric r2", "error: --metric: r2 does not fit the loss squared-hinge"),
        (
            "path in.svm --fold-column a",
            "error: --fold-column: only a table has such columns, and this is svmlight text",
        ),
        ("path in.svm --folds few.txt", "few.txt: 2 folds for 40 instances"),
        ("path in.svm --checkpoint x", "error: --checkpoint: goes with `train`"),
        ("path in.svm -C 1,-2", "error: --cost: must be a finite number above 0, not -2"),
        ("train in.svm -C auto", "error: --cost: must be one; `featgen path` compares several"),
        ("path in.csv --label y --fold-column z", "error: --fold-column: the table has no column `z`"),
        ("path absent.svm", "absent.svm"),
    ] {
        let (well, out, err) = run(path, &format!("{args} -o model"));
        assert!(!well && out.is_empty() && err.lines().count() == 1 && err.contains(said), "{args}: {err}");
        assert!(!path.join("model").exists(), "{args}");
    }
    let table = fs::read(path.join("in.csv")).unwrap();
    let output = featgen(path).args(["path", "-", "--label", "y"]).write_stdin(table).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("it must be a file, not standard input"), "{said}");
}

/// Held-out rows of a table hold levels that no other row has, and numbers where the others have none missing.
#[test]
fn tables_are_learned_anew_in_every_fold() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut text = String::from("colour,size,sick\n");
    for k in 0..60 {
        let sick = k % 2 == 0;
        let size =
            if k == 17 { String::new() } else { format!("{}", noise(k, 3) + f64::from(u8::from(sick))) };
        writeln!(text, "c{},{size},{}", k / 2, if sick { "yes" } else { "no" }).unwrap();
    }
    fs::write(path.join("in.csv"), text).unwrap();
    let found = json(path, "path in.csv --label sick --category colour --json --features 2 --keep size");
    assert_eq!(found["folds"], 5);
    let found = json(path, "train in.csv --label sick --category colour --json --features 2 --cv 6");
    assert_eq!(found["cv"]["folds"], 6);
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_nothing_behind() {
    use std::process::{Command, Stdio};
    use std::time::Duration;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("in.svm"), svm(400, 300, 20)).unwrap();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("featgen"))
        .args("path in.svm --features 200 -B 1 --cv 20 --repeats 50 -o model --threads 1".split(' '))
        .current_dir(path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "it must still be at work");
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(!child.wait().unwrap().success());
    let left: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["in.svm"]);
}
