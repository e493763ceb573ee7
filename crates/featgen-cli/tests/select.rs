//! Features chosen by gain, as a user asks for them.

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

/// A table of which the first two columns decide, in units of their own; the third is large and means nothing.
fn table() -> String {
    let noise = |i: usize, j: usize| ((i * 7919 + j * 104_729) % 1000) as f64 / 500.0 - 1.0;
    let row = |i: usize| {
        let x: Vec<f64> = (0..8).map(|j| noise(i, j) * noise(i + 1, j + 3)).collect();
        let label = if x[0] + x[1] > 0.0 { "yes" } else { "no" };
        let others: String = x[3..].iter().map(|x| format!(",{x}")).collect();
        format!("{label},{},{},{}{others}\n", 1e-3 * x[0] + 5.0, 250.0 * x[1], 1e6 * x[2])
    };
    format!("y,a,b,c,d,e,f,g,h\n{}", (0..300).map(row).collect::<String>())
}

#[test]
fn units_do_not_matter_and_models_take_the_table_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("table.csv"), table()).unwrap();
    let report = json(here, "train table.csv --label y --features 2 --scale std -o model.json");
    let mut names: Vec<&str> =
        report["selected"].as_array().unwrap().iter().map(|s| s["feature"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!((names, report["select"].as_str()), (vec!["a", "b"], Some("best")));
    let quality = json(here, "predict model.json table.csv --label y");
    assert_eq!(quality["accuracy"], report["train_accuracy"]);
    assert!(quality["accuracy"].as_f64().unwrap() > 0.95, "{quality}");
    // By size alone, the large column comes first.
    let by_size = json(here, "train table.csv --label y --features 1 --select paper");
    assert_eq!(by_size["selected"][0]["feature"], "c");
}

#[test]
fn people_read_what_is_proven() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("table.csv"), table()).unwrap();
    let shown = stdout(here, "train table.csv --label y --features 2");
    assert!(shown.contains("2 features in 2 rounds, B = 1, C = 0.1225\n"), "{shown}");
    assert!(shown.contains("no 2 features out of 8 can do better than"), "{shown}");
    let small = stdout(here, "train table.csv --label y --features 2 -C 1e-4");
    assert!(small.contains("C = 0.0001\n") && small.contains("these are within"), "{small}");
}
