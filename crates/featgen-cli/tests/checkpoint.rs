//! The command is killed at any moment, and goes on.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{featgen, featgen_on_full_disk, two_classes};
use tempfile::TempDir;

const TRAIN: &str = "train toy.train.svm --loss logistic --gap 3e-5 -C 1 -B 4 --debias 1";

fn toy() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let args = "synth linear -o toy --rows 1500 --features 800 --relevant 80 --density 0.3 --test-rows 0";
    featgen(folder.path()).args(args.split(' ')).assert().success();
    folder
}

fn start(folder: &Path, more: &str) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin!("featgen"))
        .args(TRAIN.split(' ').chain(more.split(' ')))
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Kills runs exactly so often, at moments all over the time that one takes. Whenever one comes to its end between two kills,
/// its model is the one without any, and the next begins anew.
fn survives(kills: u32) {
    let folder = toy();
    let path = |name: &str| folder.path().join(name);
    let clock = Instant::now();
    assert!(start(folder.path(), "-o whole.json").wait().unwrap().success());
    let whole = clock.elapsed();
    let (mut killed, mut resumed, mut ended) = (0, 0, 0);
    for k in 0.. {
        let mut child = start(folder.path(), "-o killed.json --checkpoint run.ckpt");
        if killed < kills {
            // The first is killed before it has a checkpoint, the others when there is one.
            while k > 0 && !path("run.ckpt").exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
            // Golden steps through a third of the time fall everywhere.
            let part = (f64::from(k) * 0.618).fract() / 3.0;
            std::thread::sleep(whole.mul_f64(part) + Duration::from_millis(5));
            // SIGKILL: nothing can be tidied up.
            child.kill().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        resumed += u32::from(said.starts_with("going on from the checkpoint: "));
        if !output.status.success() {
            assert!(output.status.code().is_none(), "{said}");
            killed += 1;
            continue;
        }
        ended += 1;
        let same = fs::read(path("killed.json")).unwrap() == fs::read(path("whole.json")).unwrap();
        assert!(same, "another model after {killed} kills");
        if killed == kills {
            break;
        }
        fs::remove_file(path("run.ckpt")).unwrap();
    }
    assert!(resumed > 0 && ended > 0, "{killed} killed, {resumed} went on, {ended} came to an end");
}

#[test]
fn a_killed_run_goes_on_to_the_same_model() {
    survives(4);
}

#[test]
#[ignore = "takes a minute"]
fn a_run_killed_fifty_times_goes_on_to_the_same_model() {
    survives(50);
}

#[test]
fn the_end_is_kept_and_other_runs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("data.svm"), two_classes(60)).unwrap();
    let run = |args: &str| {
        let all = format!("train data.svm --checkpoint run.ckpt --max-rounds 2 -B 1 --tol 1e-9 {args}");
        let output = featgen(folder.path()).args(all.split_whitespace()).assert().get_output().clone();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(run("-o a.json"), (0, String::new()));
    let (code, said) = run("-o b.json");
    assert_eq!((code, said.as_str()), (0, "going on from the checkpoint: 1 round, 1 feature\n"));
    let model = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(model("a.json"), model("b.json"));
    assert_eq!(run("-q"), (0, String::new()));

    let refused = |args: &str| run(args).1;
    assert_eq!(refused("-C 1"), "run.ckpt: the checkpoint was made with --cost 10, not 1\n");
    let spaces = "run.ckpt: the checkpoint was made with --space linear, not gaussian\n";
    assert_eq!(run("--space gaussian"), (1, spaces.into()));
    let (code, said) = run("-o run.ckpt");
    assert_eq!(
        (code, said.as_str()),
        (1, "run.ckpt: this is the file of the model: the checkpoint would take its place\n")
    );

    fs::write(folder.path().join("data.svm"), two_classes(62)).unwrap();
    assert_eq!(refused(""), "run.ckpt: the checkpoint is for other data: 60 rows, not 62\n");
    fs::write(folder.path().join("data.svm"), two_classes(60).replacen("1:1", "1:2", 1)).unwrap();
    assert!(refused("").starts_with("run.ckpt: the checkpoint is for other values in the data, "));
    fs::write(folder.path().join("run.ckpt"), "mine").unwrap();
    assert_eq!(run(""), (1, "run.ckpt: not a featgen checkpoint\n".into()));
    assert_eq!(model("run.ckpt"), "mine");
}

/// Two runs with one checkpoint and one model write the same, whoever is later.
#[test]
fn two_runs_do_not_disturb_each_other() {
    let folder = toy();
    let mut runs =
        [0, 1].map(|_| start(folder.path(), "-o model.json --checkpoint run.ckpt --max-rounds 12"));
    runs.iter_mut().for_each(|run| assert!(run.wait().unwrap().success()));
    assert!(
        start(folder.path(), "-o again.json --checkpoint run.ckpt --max-rounds 12").wait().unwrap().success()
    );
    let model = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(model("model.json") == model("again.json"));
    let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().starts_with('.')));
}

/// Where the disk is full, a run says so once and goes on; the last checkpoint that could be written stays.
#[cfg(unix)]
#[test]
fn a_full_disk_does_not_end_a_run() {
    let folder = toy();
    let path = |name: &str| folder.path().join(name);
    let args =
        |rounds: u32, model: &str| format!("{TRAIN} --checkpoint run.ckpt --max-rounds {rounds} -o {model}");
    featgen(folder.path()).args(args(2, "two.json").split(' ')).assert().success();
    let kept = fs::read(path("run.ckpt")).unwrap();
    // Room for the model, not for a number per instance.
    let mut command = featgen_on_full_disk(folder.path(), 20);
    let output = command.args(args(3, "three.json").split(' ')).assert().success().get_output().clone();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("its checkpoint cannot be written").count(), 1, "{said}");
    assert!(fs::read(path("run.ckpt")).unwrap() == kept);
    let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().starts_with('.')));
    featgen(folder.path()).args(args(3, "again.json").split(' ')).assert().success();
    assert!(fs::read(path("three.json")).unwrap() == fs::read(path("again.json")).unwrap());
}
