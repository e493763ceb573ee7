//! Matrix Market files and pathways, as a user gives them to the command.

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;

use common::featgen;
use tempfile::TempDir;

fn run(folder: &Path, args: &str) -> (String, String) {
    let output = featgen(folder).args(args.split_whitespace()).assert().success().get_output().clone();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// What the command says of bad input.
fn refusal(folder: &Path, args: &str, code: i32) -> String {
    let output = featgen(folder).args(args.split_whitespace()).assert().code(code).get_output().clone();
    String::from_utf8(output.stderr).unwrap()
}

/// An instance, a feature, both from 1, and the value as it is written.
type Entry = (usize, usize, String);

/// A folder with sparse data as svmlight text, their labels, and their entries.
fn toy() -> (TempDir, Vec<Entry>) {
    let folder = tempfile::tempdir().unwrap();
    let make =
        "synth linear -o toy --rows 300 --test-rows 10 --features 400 --relevant 8 --seed 5 --density 0.2";
    run(folder.path(), make);
    let text = fs::read_to_string(folder.path().join("toy.train.svm")).unwrap();
    let (mut labels, mut entries) = (String::new(), Vec::new());
    for (i, line) in text.lines().filter(|line| !line.starts_with('#')).enumerate() {
        let mut words = line.split(' ');
        labels += &format!("{}\n", words.next().unwrap());
        for (id, value) in words.filter_map(|word| word.split_once(':')) {
            entries.push((i + 1, id.parse().unwrap(), value.to_owned()));
        }
    }
    fs::write(folder.path().join("y.txt"), labels).unwrap();
    assert_eq!(entries.iter().map(|entry| entry.1).max(), Some(400));
    (folder, entries)
}

fn mtx(entries: &[Entry], transposed: bool) -> String {
    let size = if transposed { "400 300" } else { "300 400" };
    let line = |(i, j, value): &Entry| match transposed {
        true => format!("{j} {i} {value}\n"),
        false => format!("{i} {j} {value}\n"),
    };
    let body: String = entries.iter().map(line).collect();
    format!("%%MatrixMarket matrix coordinate real general\n% made\n{size} {}\n{body}", entries.len())
}

/// From svmlight text, matrices in any order, either way up, compressed or not, and their stores: one model, bit for bit.
#[test]
fn the_model_does_not_depend_on_the_format() {
    let (toy, mut entries) = toy();
    let folder = toy.path();
    run(folder, "train toy.train.svm --features 12 -o text.json");
    let (decisions, _) = run(folder, "predict text.json toy.train.svm --output-kind decision");
    let expected = fs::read(folder.join("text.json")).unwrap();
    fs::write(folder.join("rows.mtx"), mtx(&entries, false)).unwrap();
    entries.sort_by_key(|entry| entry.1);
    fs::write(folder.join("columns.mtx"), mtx(&entries, false)).unwrap();
    fs::write(folder.join("transposed.mtx"), mtx(&entries, true)).unwrap();
    entries.sort_by_key(|entry| (entry.0 * 7919 + entry.1 * 104_729) % 65_537);
    fs::write(folder.join("mixed.mtx.zst"), zstd::encode_all(mtx(&entries, false).as_bytes(), 1).unwrap())
        .unwrap();
    for (file, more) in
        [("rows.mtx", ""), ("columns.mtx", ""), ("transposed.mtx", "--transpose"), ("mixed.mtx.zst", "")]
    {
        for threads in [1, 2] {
            run(
                folder,
                &format!("train {file} {more} --labels y.txt --features 12 -o m.json --threads {threads}"),
            );
            assert!(fs::read(folder.join("m.json")).unwrap() == expected, "{file}, {threads} threads");
        }
        for memory in ["1", "1GB"] {
            run(folder, &format!("convert {file} {more} --labels y.txt data.store --memory {memory}"));
            run(folder, "train data.store --features 12 -o m.json");
            assert!(fs::read(folder.join("m.json")).unwrap() == expected, "the store of {file}");
        }
        let (predicted, said) =
            run(folder, &format!("predict text.json {file} {more} --labels y.txt --output-kind decision"));
        assert_eq!(predicted, decisions, "{file}");
        assert!(said.contains("accuracy"), "{said}");
    }
}

#[test]
fn what_a_matrix_cannot_be_asked_for() {
    let (toy, entries) = toy();
    let folder = toy.path();
    fs::write(folder.join("x.mtx"), mtx(&entries, false)).unwrap();
    let said = refusal(folder, "train x.mtx", 1);
    assert_eq!(said, "x.mtx: a matrix has no labels: they must be given in a file of their own (--labels)\n");
    let said = refusal(folder, "train x.mtx --labels y.txt --transpose", 1);
    assert_eq!(said, "y.txt: 300 labels for 400 instances\n");
    let said = refusal(folder, "train toy.train.svm --transpose", 2);
    let reason = "toy.train.svm: only a Matrix Market file (.mtx) can be read so";
    assert_eq!(said, format!("error: --transpose: {reason}\n"));
    let said = refusal(folder, "train x.mtx --labels y.txt --memory 1GB", 2);
    assert!(said.starts_with("error: --memory: these data would be read into memory"), "{said}");
}

#[test]
fn names_of_a_matrix_and_pathways_of_them() {
    let (toy, entries) = toy();
    let folder = toy.path();
    let mut file = fs::File::create(folder.join("x.mtx")).unwrap();
    file.write_all(mtx(&entries, true).as_bytes()).unwrap();
    fs::write(folder.join("genes.txt"), (1..=400).map(|k| format!("G{k}\n")).collect::<String>()).unwrap();
    let groups: Vec<Vec<usize>> =
        (0..40).map(|g| (0..10).map(|k| (g * 9 + k * 3) % 400 + 1).collect()).collect();
    let join = |members: &[usize], by: &str, prefix: &str| {
        members.iter().map(|k| format!("{prefix}{k}")).collect::<Vec<_>>().join(by)
    };
    let lists = groups.iter().enumerate().map(|(g, of)| format!("p{g}: {}\n", join(of, " ", "")));
    fs::write(folder.join("groups.txt"), lists.collect::<String>()).unwrap();
    let lines = groups.iter().enumerate().map(|(g, of)| format!("p{g}\tna\tX{g}\t{}\n", join(of, "\t", "G")));
    let nowhere = "nowhere\tna\tX1\tX2\n".to_owned();
    let gmt: String = lines.chain([nowhere]).collect();
    fs::write(folder.join("pathways.gmt"), &gmt).unwrap();
    fs::write(folder.join("renamed.gz"), zstd::encode_all(gmt.as_bytes(), 1).unwrap()).unwrap();
    let train = "train x.mtx --transpose --labels y.txt --names genes.txt --features 3 --json --groups";
    let result = |text: &str| {
        let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
        value.as_object_mut().unwrap().remove("seconds");
        value["rounds"].as_array_mut().unwrap().iter_mut().for_each(|round| {
            round.as_object_mut().unwrap().remove("seconds");
        });
        value
    };
    let (expected, _) = run(folder, &format!("{train} groups.txt"));
    for file in ["pathways.gmt", "renamed.gz"] {
        let (found, said) = run(folder, &format!("{train} {file}"));
        assert_eq!(result(&found), result(&expected), "{file}");
        let note = "note: genes of pathways that x.mtx lacks: 40 of 167; pathways left out, for it has none of theirs: 1 of 41";
        assert!(said.lines().any(|line| line == note), "{said}");
    }
}
