//! Stores as a user makes and uses them.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use common::{featgen, featgen_on_full_disk};
use serde_json::Value;
use tempfile::TempDir;

const MAKE: &str = "synth linear -o toy --rows 300 --test-rows 100 --features 400 --relevant 8 --seed 5";

fn run(folder: &Path, args: &str) -> (String, String) {
    let output = featgen(folder).args(args.split_whitespace()).assert().success().get_output().clone();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn toy(more: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &format!("{MAKE} {more}"));
    folder
}

fn same_file(folder: &Path, a: &str, b: &str) -> bool {
    fs::read(folder.join(a)).unwrap() == fs::read(folder.join(b)).unwrap()
}

/// Text, plain or compressed, from a file or standard input, in one pass or many: one store, one model.
#[test]
fn however_a_store_is_made_the_model_is_the_same() {
    let toy = toy("--density 0.2");
    let folder = toy.path();
    run(folder, "train toy.train.svm --features 12 -o text.json");
    let (_, said) = run(folder, "convert toy.train.svm a.store");
    assert!(said.contains("300 x 400") && said.contains("1 shard"), "{said}");
    for options in ["--memory 1", "--memory 64KB --threads 1", "--shards 7"] {
        run(folder, &format!("convert toy.train.svm b.store {options}"));
        run(folder, "train b.store --features 12 -o stored.json");
        assert!(same_file(folder, "text.json", "stored.json"), "{options}");
    }
    let text = fs::read(folder.join("toy.train.svm")).unwrap();
    fs::write(folder.join("toy.zst"), zstd::encode_all(&text[..], 1).unwrap()).unwrap();
    run(folder, "convert toy.zst b.store");
    assert!(same_file(folder, "a.store", "b.store"));
    featgen(folder).args(["convert", "-", "c.store"]).write_stdin(text).assert().success();
    assert!(same_file(folder, "a.store", "c.store"));
    let (from_text, _) = run(folder, "predict text.json toy.train.svm --output-kind decision");
    let (from_store, _) = run(folder, "predict text.json a.store --output-kind decision");
    assert_eq!(from_text, from_store);
}

#[test]
fn data_are_made_straight_into_a_store() {
    for density in ["", "--density 0.3"] {
        let [toy, other] =
            ["--format store", "--format auto"].map(|format| toy(&format!("{density} {format}")));
        let data =
            if density.is_empty() { "toy.train.npy --labels toy.train.labels.txt" } else { "toy.train.svm" };
        run(toy.path(), "train toy.train.store --test toy.test.store --features 12 -o model.json");
        run(other.path(), &format!("train {data} --features 12 -o model.json"));
        let model = |folder: &TempDir| fs::read_to_string(folder.path().join("model.json")).unwrap();
        assert_eq!(model(&toy), model(&other), "{density}");
    }
}

#[test]
fn a_store_is_described() {
    let toy = toy("--density 0.2 --format store");
    let folder = toy.path();
    let (shown, _) = run(folder, "inspect toy.train.store");
    assert!(shown.contains("300 instances x 400 features"), "{shown}");
    assert!(shown.contains("of class -1") && shown.contains("1 shard"), "{shown}");
    assert!(shown.contains("row numbers take 2 bytes"), "{shown}");
    let (json, _) = run(folder, "inspect toy.train.store --json");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["row_bytes"], 2);
    assert_eq!((&json["n"], &json["m"], &json["dense"]), (&300.into(), &400.into(), &false.into()));
}

#[test]
fn what_is_wrong_is_said() {
    let toy = toy("--density 0.2");
    let folder = toy.path();
    let fails = |args: &str, code: i32, message: &str| {
        let output = featgen(folder).args(args.split_whitespace()).assert().code(code).get_output().clone();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(message), "{args}: {said}");
        assert!(said.lines().count() <= 6, "{said}");
    };
    run(folder, "convert toy.train.svm a.store");
    fails("convert a.store b.store", 1, "this is a store already");
    fails("convert toy.train.svm b.store --memory lots", 2, "no size of memory");
    fails("convert toy.train.svm b.store --shards 0", 2, "at least 1");
    fails("convert toy.train.svm no/b.store", 1, "no folder");
    fails("convert missing b.store", 1, "missing");
    fs::write(folder.join("bad.svm"), "1 1:1\n0 2:x\n").unwrap();
    fails("convert bad.svm b.store", 1, "bad.svm:2:");
    let whole = fs::read(folder.join("a.store")).unwrap();
    fs::write(folder.join("cut.store"), &whole[..whole.len() / 2]).unwrap();
    fails("train cut.store", 1, "cut.store: the store is incomplete or damaged");
    fails("inspect cut.store", 1, "incomplete or damaged");
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    fs::write(folder.join("bad.store"), damaged).unwrap();
    run(folder, "train a.store --memory 1GB -o model.json");
    fails("predict model.json bad.store", 1, "bad.store: the store is damaged");
    fails("train bad.store", 1, "bad.store: the store is damaged");
    fails("train a.store --memory 1KB", 2, "a run may need");
    fails("train missing.store --memory 1GB", 1, "missing.store: No such file");
    fails("train toy.train.svm --memory 1GB", 2, "`featgen convert` makes a store of them first");
    fs::write(folder.join("bare.svm"), "1:1 2:1\n2:3\n").unwrap();
    fails("convert bare.svm b.store", 1, "no label");
    run(folder, "convert bare.svm bare.store --unlabelled");
    fails("train bare.store", 1, "the store has no labels");
    assert!(!folder.join("b.store").exists());
    // What could not be made leaves nothing behind.
    let hidden = fs::read_dir(folder)
        .unwrap()
        .filter(|f| f.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
    assert_eq!(hidden.count(), 0);
}

/// A bound on memory is kept, with the same model, or refused with the number that would do; whatever the space.
#[test]
fn a_bound_on_memory_is_kept_or_refused() {
    let toy = toy("--density 0.05 --format svm");
    let folder = toy.path();
    run(folder, "convert toy.train.svm a.store");
    fs::write(folder.join("groups.txt"), "1-100\n101-250\n250-400\n").unwrap();
    let make = "synth products -o sets --rows 300 --test-rows 0 --features 200 --per-row 20 --relevant 4";
    run(folder, make);
    run(folder, "convert sets.train.svm b.store");
    let spaces = [
        "a.store --space linear",
        "a.store --groups groups.txt",
        "a.store --space poly2 --coef0 0.01",
        "b.store --space poly2",
        "b.store --space products --degree 3",
        "b.store --space hik",
        "a.store --space intersection",
        "a.store --space gaussian",
    ];
    for space in spaces {
        let train = format!("train {space} -B 3 --max-rounds 4");
        let least = format!("{train} --memory 1KB");
        let output = featgen(folder).args(least.split(' ')).assert().code(2).get_output().clone();
        let said = String::from_utf8(output.stderr).unwrap();
        let needed = said.split_once("a run may need ").unwrap().1.split_once(" beside the data").unwrap().0;
        run(folder, &format!("{train} --memory {needed} -o bound.json"));
        run(folder, &format!("{train} --memory {needed} --threads 1 -o alone.json"));
        assert!(same_file(folder, "bound.json", "alone.json"), "{space}");
        run(folder, &format!("{train} -o free.json"));
        let model = |name: &str| {
            let mut model: Value = serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap();
            // How much was looked at may differ.
            let rounds = model["rounds"].as_array_mut().unwrap();
            rounds.iter_mut().for_each(|round| round["scored"] = Value::Null);
            model
        };
        assert_eq!(model("bound.json"), model("free.json"), "{space}");
    }
}

/// Killed at any moment, a conversion leaves nothing, or what was there before, or the whole store.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_conversion_leaves_nothing_behind() {
    const KILLS: u32 = 50;
    let toy = toy("--density 0.9 --format svm");
    let folder = toy.path();
    let probe = featgen::files::WholeFile::create(&folder.join("probe")).unwrap();
    if probe.unfinished().is_some() {
        let _ = writeln!(std::io::stderr(), "skipped: this file system has no files without names");
        return;
    }
    let files = || {
        let names = fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
        names.collect::<BTreeSet<_>>()
    };
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_featgen"));
        command.args(["convert", "toy.train.svm", "killed.store", "--memory", "64KB", "-q"]);
        command.current_dir(folder).stderr(Stdio::null()).spawn().unwrap()
    };
    let before = files();
    let begun = Instant::now();
    assert!(start().wait().unwrap().success());
    let whole = begun.elapsed();
    for k in 0..KILLS {
        // Every other one is to replace a store.
        let replaces = k % 2 == 1;
        if !replaces {
            let _ = fs::remove_file(folder.join("killed.store"));
        }
        let mut child = start();
        std::thread::sleep(whole * k / KILLS);
        child.kill().unwrap();
        child.wait().unwrap();
        let left: Vec<String> = files().difference(&before).cloned().collect();
        assert!(!replaces || left.contains(&"killed.store".to_owned()));
        // Only what replaces another file has for a moment a second name, when it is whole already.
        assert!(left.len() <= 1 + usize::from(replaces), "{left:?}");
        for name in left {
            run(folder, &format!("inspect {name}"));
            if name != "killed.store" {
                fs::remove_file(folder.join(name)).unwrap();
            }
        }
        if !folder.join("killed.store").exists() {
            run(folder, "convert toy.train.svm killed.store -q");
        }
    }
}

/// A full disk is an error that names the file; nothing is left, and what was there stays. Both where the store does not fit
/// and where what is put aside for it does not.
#[cfg(unix)]
#[test]
fn a_full_disk_is_survived() {
    let toy = toy("--density 0.9 --format svm");
    let folder = toy.path();
    run(folder, "convert toy.train.svm old.store --shards 2");
    let before = fs::read(folder.join("old.store")).unwrap();
    for (to, memory) in [("new.store", "1GB"), ("old.store", "1GB"), ("new.store", "64KB")] {
        let args = ["convert", "toy.train.svm", to, "--memory", memory];
        let output = featgen_on_full_disk(folder, 100).args(args).assert().code(1).get_output().clone();
        let said = String::from_utf8(output.stderr).unwrap().to_lowercase();
        assert!(said.contains("file too large"), "{said}");
        assert!(said.contains(if memory == "1GB" { to } else { "a temporary file in ." }), "{said}");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 4);
        assert!(fs::read(folder.join("old.store")).unwrap() == before);
    }
}

/// Two that write the same store at once do not mix it up.
#[test]
fn two_conversions_to_one_name_give_one_whole_store() {
    let toy = toy("--density 0.9 --format svm");
    let folder = toy.path();
    let start = || {
        let mut child = Command::new(env!("CARGO_BIN_EXE_featgen"))
            .args(["convert", "-", "one.store", "--memory", "64KB", "-q"])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let text = fs::read(folder.join("toy.train.svm")).unwrap();
        child.stdin.take().unwrap().write_all(&text).unwrap();
        child
    };
    let children = [start(), start()];
    children.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    run(folder, "inspect one.store");
}
