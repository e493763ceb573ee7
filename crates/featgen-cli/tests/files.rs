//! docs/files.md is true: every key that is written is described there with its type, and every key described is written.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use common::featgen;
use featgen::Model;
use featgen::model::{GivenGroup, GivenGroups};
use serde_json::Value;

/// What the page says of a key.
struct Described {
    types: Vec<String>,
    optional: bool,
}

/// The keys that a section of the page describes.
fn described(heading: &str) -> BTreeMap<String, Described> {
    let page = include_str!("../../../docs/files.md");
    let section = page.split("\n## ").find(|section| section.starts_with(heading)).expect("a section");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let described: BTreeMap<_, _> = rows
        .map(|row| {
            let (key, rest) = row.split_once("` | ").expect("a key");
            let (kind, meaning) = rest.split_once(" | ").expect("a type and a meaning");
            assert!(meaning.trim_end_matches('|').trim().len() > 2, "{key}: no meaning");
            let (types, optional) = match kind.strip_suffix(", optional") {
                Some(types) => (types, true),
                None => (kind, false),
            };
            (key.to_owned(), Described { types: types.split(" or ").map(str::to_owned).collect(), optional })
        })
        .collect();
    assert!(!described.is_empty(), "{heading}: no table");
    described
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// Compares an object, at `path`, with what is described, and notes the keys seen.
fn compare(
    value: &Value,
    path: &str,
    described: &BTreeMap<String, Described>,
    seen: &mut BTreeSet<String>,
    sample: &str,
) {
    let Value::Object(object) = value else { return };
    for (key, value) in object {
        let key = format!("{path}{key}");
        let Described { types, .. } = described
            .get(&key)
            .unwrap_or_else(|| panic!("{sample}: {key} is not described in docs/files.md"));
        // A number may happen to have no fraction.
        let right = |t: &String| t == kind(value) || (t == "number" && kind(value) == "integer");
        assert!(types.iter().any(right), "{sample}: {key} is described as {types:?}, but is {value}");
        match value {
            Value::Array(items) => {
                items.iter().for_each(|item| compare(item, &format!("{key}[]."), described, seen, sample));
            }
            other => compare(other, &format!("{key}."), described, seen, sample),
        }
        seen.insert(key);
    }
    let here = |key: &&String| key.strip_prefix(path).is_some_and(|rest| !rest.contains('.'));
    for key in described.keys().filter(here).filter(|key| !described[*key].optional) {
        assert!(object.contains_key(&key[path.len()..]), "{sample}: {key} is missing");
    }
}

/// All samples together have all keys of a section, and no others.
fn check(heading: &str, samples: &[(String, Value)]) {
    let (described, mut seen) = (described(heading), BTreeSet::new());
    for (name, value) in samples {
        compare(value, "", &described, &mut seen, name);
    }
    for key in described.keys() {
        assert!(seen.contains(key), "{heading}: {key} is described in docs/files.md, but never written");
    }
}

fn run(folder: &Path, arguments: &str) -> Vec<u8> {
    let output = featgen(folder).args(arguments.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Two classes, told apart by the first two of eight features with values from 0 to 1; the last two are equal.
fn table(folder: &Path) {
    let (mut svm, mut csv, mut weights) = (String::new(), "y,a,b,c,d,e,f,g,h\n".to_owned(), String::new());
    let (mut numbers, mut three) = (String::new(), String::new());
    for i in 0..60usize {
        let mut x: Vec<f64> = (0..8).map(|j| ((i * (2 * j + 3) + 5 * j) % 11) as f64 / 11.0).collect();
        x[7] = x[6];
        let class = if x[0] * x[1] + 0.3 * x[6] > 0.4 { "yes" } else { "no" };
        let pairs: String = x.iter().zip(1..).map(|(x, j)| format!(" {j}:{x}")).collect();
        svm += &format!("{}{pairs}\n", if class == "yes" { 1 } else { -1 });
        csv += &format!("{class}{}\n", x.iter().map(|x| format!(",{x}")).collect::<String>());
        weights += &format!("{}\n", 1 + i % 2);
        numbers += &format!("{}{pairs}\n", x[0] + x[1] + 0.5);
        three += &format!("{}{pairs}\n", ["low", "middle", "high"][((x[0] + x[1]) * 1.5) as usize % 3]);
    }
    let cell = |i: usize| [",red", "5,blue", "1,?", "2,red", "3,once"][if i == 7 { 4 } else { i % 4 }];
    let row =
        |i: usize| format!("\"{i},5\",{},2026-01-{:02},{}\n", cell(i), 1 + i % 28, ["no", "yes"][i % 2]);
    let mixed = "comma,gaps,colour,when,y\n".to_owned() + &(0..60).map(row).collect::<String>();
    let files = [
        ("mixed.csv", mixed.as_str()),
        ("data.svm", svm.as_str()),
        ("data.csv", &csv),
        ("weights.txt", &weights),
        ("unlabelled.csv", "a,b,c,d,e,f,g,h\n1,2,3,4,5,6,7,8\n"),
        ("others.csv", "y,a,b,c,d,e,f,g,h\nperhaps,1,2,3,4,5,6,7,8\n"),
        ("groups.txt", "left: 1 2 3\nright: 4-8\n"),
        ("tree.nwk", "((1,2)left,(3,4)right);\n"),
        ("only.txt", "1 2 7 8\n"),
        ("numbers.svm", &numbers),
        ("three.svm", &three),
    ];
    files.into_iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).unwrap());
}

/// Runs that between them use every space and every option that leaves a trace.
const RUNS: [&str; 27] = [
    "data.svm --test data.svm",
    "data.svm --features 2 --prove 0.1 --time-limit 100",
    "data.svm --features 3 --budget 1 --debias 1 --loss logistic --select best --exchange 2 --scale std -C 1",
    "data.svm --max-rounds 3 --tol 0.01 --no-shift --weight balanced",
    "data.svm --gap 0.5 --solver apg --inner-decrease 1e-6 --weight 1=2 --weight -1=3",
    "data.csv --label y --features 2 --test others.csv",
    "data.svm --space poly2 --features 3 --only only.txt --gamma 0.5 --coef0 2",
    "data.svm --space products --degree 3 --min-support 2 --features 5 --only only.txt",
    "data.svm --space hik --levels 5 --features 2",
    "data.svm --space intersection --power 0.5 --features 2 --weights weights.txt",
    "data.svm --space gaussian --features 2 --sigma 0.3",
    "data.csv --label y --space gaussian --features 2",
    "data.svm --groups groups.txt --features 1 --singletons",
    "data.svm --groups tree.nwk --tree=newick --group-weight sqrt --features 1",
    "numbers.svm --loss squared --features 2 --keep 3 --offset weights.txt --test numbers.svm",
    "numbers.svm --loss huber --delta 0.5 --features 2",
    "numbers.svm --loss poisson --features 2 --test numbers.svm",
    "numbers.svm --loss cox --features 2 --test numbers.svm",
    "three.svm --loss softmax --features 2 --keep 3 --test three.svm",
    "three.svm --loss squared-hinge --features 2 --space gaussian",
    "data.svm --loss logistic --features 2 --test data.svm",
    "data.svm --features 2 --cv 3",
    "data.svm --fdr 0.2",
    "data.svm --features 2 --stability 4 --seed 3 --stand-ins 0.1",
    "data.svm --groups groups.txt --features 1 --stability 2",
    "mixed.csv --label y --features 3",
    "mixed.csv --label y --number when --features 4",
];

#[test]
fn the_page_describes_every_key_of_models_and_reports() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    let (mut models, mut reports, mut qualities) = (Vec::new(), Vec::new(), Vec::new());
    for arguments in RUNS {
        let report = run(folder, &format!("train {arguments} -q --json -o model.json"));
        let inspected = run(folder, "inspect model.json --json");
        let file = std::fs::read(folder.join("model.json")).unwrap();
        let parse = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).expect(arguments);
        reports.push((arguments.to_owned(), parse(&report)));
        reports.push((format!("inspect, {arguments}"), parse(&inspected)));
        models.push((arguments.to_owned(), parse(&file)));
        // A recipe has columns of its own.
        let others = ["data.svm", "data.csv --label y", "unlabelled.csv", "numbers.svm", "three.svm"];
        let own: &[&str] = if arguments.starts_with("mixed") { &["mixed.csv --label y"] } else { &others };
        for data in own {
            let quality = run(folder, &format!("predict model.json {data} --json -q"));
            qualities.push((format!("predict {data}"), parse(&quality)));
        }
    }
    // Names of variants are not those of the data above.
    run(folder, "synth bed -o toy --rows 60 --test-rows 0 --features 60 --relevant 2");
    std::fs::write(folder.join("genes.txt"), "abc 1 1 90000\n").unwrap();
    for arguments in ["--windows 50kb", "--genes genes.txt", ""] {
        let arguments = format!("toy.train.bed --features 1 {arguments}");
        let report = run(folder, &format!("train {arguments} -q --json -o model.json"));
        reports.push((arguments.clone(), serde_json::from_slice(&report).unwrap()));
        let file = std::fs::read(folder.join("model.json")).unwrap();
        models.push((arguments, serde_json::from_slice(&file).unwrap()));
    }
    // What only the library and Python say.
    let lists = vec![GivenGroup { name: Some("a".into()), features: vec![0, 3] }];
    let groups = GivenGroups { lists, ..GivenGroups::default() };
    let model = Model::load(folder.join("model.json")).unwrap().with_description(Some(groups), None);
    let model = Model { classes_are_text: true, ..model };
    let text = model.to_json();
    assert_eq!(Model::from_json(text.as_bytes(), "model").unwrap(), model);
    models.push(("lists".into(), serde_json::from_str(&text).unwrap()));
    check("The model file", &models);
    check("`train --json` and `inspect MODEL --json`", &reports);
    check("`predict --json`", &qualities);
}

#[test]
fn the_page_describes_every_key_of_stores() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    let mut stores = Vec::new();
    std::fs::write(folder.join("sparse.svm"), "1 1:0.5 7:2\n-1 2:1.5\n1 3:1\n-1 4:1\n").unwrap();
    for arguments in ["data.svm", "data.csv --label y", "sparse.svm"] {
        let (data, options) = arguments.split_once(' ').unwrap_or((arguments, ""));
        run(folder, &format!("convert {data} data.store {options} -q"));
        let report = run(folder, "inspect data.store --json");
        stores.push((arguments.to_owned(), serde_json::from_slice(&report).unwrap()));
    }
    check("`inspect STORE --json`", &stores);
}

#[test]
fn the_page_describes_every_key_of_tables() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let report = run(folder.path(), "inspect mixed.csv --label y --json");
    check("`inspect TABLE --json`", &[("mixed.csv".into(), serde_json::from_slice(&report).unwrap())]);
}

#[test]
fn the_page_describes_every_key_of_paths() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let mut paths = Vec::new();
    for arguments in
        ["data.svm --features 3", "data.svm --features 3 -C auto --repeats 2", "data.svm --features 3 -B 1,2"]
    {
        let report = run(folder.path(), &format!("path {arguments} --json"));
        paths.push((arguments.to_owned(), serde_json::from_slice(&report).unwrap()));
    }
    check("`path --json`", &paths);
}

/// Files of before they had formulas, parameters and a maker.
#[test]
fn older_models_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    run(folder, "train data.svm --features 3 -q -o model.json");
    let text = std::fs::read(folder.join("model.json")).unwrap();
    let mut old: Value = serde_json::from_slice(&text).unwrap();
    let object = old.as_object_mut().unwrap();
    for key in ["formulas", "made_by", "parameters"] {
        assert!(object.remove(key).is_some(), "{key}");
    }
    object.insert("of the future".into(), Value::Null);
    std::fs::write(folder.join("old.json"), serde_json::to_vec(&old).unwrap()).unwrap();
    let predict = |model: &str| run(folder, &format!("predict {model} data.svm --output-kind decision -q"));
    assert_eq!(predict("old.json"), predict("model.json"));
    assert_eq!(run(folder, "inspect old.json --json"), run(folder, "inspect model.json --json"));
}

/// The sign of the bias, as the page has it.
#[test]
fn the_bias_is_subtracted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    run(folder, "train data.csv --label y --features 2 -q -o model.json");
    let model: Value = serde_json::from_slice(&std::fs::read(folder.join("model.json")).unwrap()).unwrap();
    // Without any feature, what is left is the bias.
    std::fs::write(folder.join("zeros.csv"), "a,b,c,d,e,f,g,h\n0,0,0,0,0,0,0,0\n").unwrap();
    let decision = run(folder, "predict model.json zeros.csv --output-kind decision -q");
    let decision: f64 = String::from_utf8(decision).unwrap().trim().parse().unwrap();
    let bias = model["bias"].as_f64().unwrap();
    assert!(bias != 0.0 && decision == -bias, "{decision} {bias}");
}
