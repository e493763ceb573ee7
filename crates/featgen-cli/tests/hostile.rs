//! Files that demand more than they should, forged files, and limits of the system: one line that says what is wrong.
#![cfg(unix)]

mod common;

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;
use common::{featgen, two_classes};
use tempfile::TempDir;

/// `head`, then so many bytes of `repeated`, compressed twice: a few hundred bytes.
fn bomb(head: &str, repeated: &[u8]) -> Vec<u8> {
    const SIZE: u64 = 1 << 30;
    let mut once = zstd::Encoder::new(Vec::new(), 1).unwrap();
    once.write_all(head.as_bytes()).unwrap();
    let block = repeated.repeat((1 << 20) / repeated.len());
    (0..SIZE >> 20).for_each(|_| once.write_all(&block).unwrap());
    let bytes = zstd::encode_all(once.finish().unwrap().as_slice(), 19).unwrap();
    assert!(bytes.len() < 10_000, "{}", bytes.len());
    bytes
}

/// The command with so many KiB of address space; what it says on standard error, and its exit code.
fn limited(folder: &Path, kilobytes: u32, args: &str) -> (String, Option<i32>) {
    let shell = format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"");
    let out = Command::new("sh")
        .args(["-c", &shell])
        .arg(cargo_bin!("featgen"))
        .args(args.split(' '))
        // Where there are many processors, addresses set aside for each thread would count as memory.
        .env("MALLOC_ARENA_MAX", "2")
        .current_dir(folder)
        .output()
        .unwrap();
    (String::from_utf8_lossy(&out.stderr).into_owned(), out.status.code())
}

/// A folder with data and a model.
fn workplace() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("good"), two_classes(20)).unwrap();
    featgen(folder.path()).args(["train", "good", "-o", "model", "-q"]).assert().success();
    folder
}

#[test]
fn few_bytes_cannot_demand_much_memory() {
    const MEMORY: u32 = 1_000_000;
    let folder = workplace();
    let cases: [(&str, &str, &[u8], &str); 11] = [
        ("header", "a,", b"b", "convert in out --label y --memory 64MB"),
        ("cells", "a,", b",", "train in --label y"),
        ("record", "a,y\n", b"1", "convert in out --label y --memory 64MB"),
        ("quoted", "a,y\n\"", b"1\n", "train in --label y"),
        ("line", "1 1:", b"1", "convert in out --memory 64MB"),
        ("rows", "1 1:1\n", b"-1\n", "train in"),
        ("comments", "", b"# x\n", "train in"),
        ("names", "", b"x\n", "train good --names in"),
        ("newick", "", b"(", "train good --tree --groups in"),
        ("lists", "", b"1\n", "train good --groups in"),
        ("one list", "", b"1 ", "train good --groups in"),
    ];
    for (what, head, repeated, args) in cases {
        fs::write(folder.path().join("in"), bomb(head, repeated)).unwrap();
        let (said, code) = limited(folder.path(), MEMORY, &format!("{args} --threads 1"));
        assert_eq!((said.lines().count(), code), (1, Some(1)), "{what}: {said}");
        assert!(said.starts_with("in") && !said.contains("memory"), "{what}: {said}");
    }
}

#[test]
fn no_more_labels_and_weights_are_read_than_there_are_rows() {
    let folder = workplace();
    fs::write(folder.path().join("in"), bomb("-1\n", b"1\n")).unwrap();
    for (option, what) in [("--labels", "labels"), ("--weights", "weights")] {
        let clock = Instant::now();
        let (said, code) = limited(folder.path(), 600_000, &format!("train good {option} in --threads 1"));
        let expected = match what {
            "labels" => "in: more than 20 labels for 20 instances\n",
            _ => "in:1:1: `-1` is not a weight: a finite number of at least 0\n",
        };
        assert_eq!((said.as_str(), code), (expected, Some(1)));
        assert!(clock.elapsed() < Duration::from_secs(5));
    }
    fs::write(folder.path().join("in"), bomb("1\n", b"1\n")).unwrap();
    let (said, _) = limited(folder.path(), 600_000, "train good --weights in --threads 1");
    assert_eq!(said, "in: more than 20 weights for 20 instances\n");
    // Streaming, where the number of rows is not known before.
    let (said, _) = limited(folder.path(), 600_000, "predict model good --labels in -o out --threads 1");
    assert_eq!(said, "in: more than 20 labels for 20 instances\n");
}

#[test]
fn a_wide_compressed_table_is_read() {
    let folder = workplace();
    let columns = 300_000;
    let header: Vec<String> = (0..columns).map(|k| format!("gene_number_{k:08}")).collect();
    let row = |k: usize| vec![format!("{k}.0000000000000000"); columns].join(",");
    let table = format!("{},y\n{},u\n{},v\n", header.join(","), row(1), row(2));
    fs::write(folder.path().join("in"), zstd::encode_all(table.as_bytes(), 3).unwrap()).unwrap();
    featgen(folder.path()).args(["convert", "in", "out", "--label", "y", "-q"]).assert().success();
}

fn npy(shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), values].concat()
}

#[test]
fn an_array_without_columns_is_refused_at_once() {
    let folder = workplace();
    fs::write(folder.path().join("in"), npy("(4611686018427387904, 0)", &[])).unwrap();
    let run =
        featgen(folder.path()).args(["predict", "model", "in"]).timeout(Duration::from_secs(20)).assert();
    run.code(1).stderr("in: an array of shape (4611686018427387904, 0): no features\n");
}

#[test]
fn a_failure_to_allocate_is_said() {
    let folder = workplace();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&npy("(80000, 1000)", &[])).unwrap();
    io::copy(&mut io::repeat(0).take(640_000_000), &mut packed).unwrap();
    fs::write(folder.path().join("in"), packed.finish().unwrap()).unwrap();
    fs::write(folder.path().join("labels"), "1\n2\n".repeat(40_000)).unwrap();
    let (said, code) = limited(folder.path(), 500_000, "train in --labels labels --threads 1");
    assert_eq!((said.as_str(), code), ("in: out of memory\n", Some(1)));
}

/// A store of these bytes' arrays, with an index of its own.
fn forged_store(store: &[u8], index: &str) -> Vec<u8> {
    use xxhash_rust::xxh3::xxh3_64;
    let offset = u64::from_le_bytes(store[store.len() - 32..][..8].try_into().unwrap());
    let numbers = [offset, index.len() as u64, xxh3_64(index.as_bytes())].map(u64::to_le_bytes);
    [&store[..offset as usize], index.as_bytes(), numbers.as_flattened(), b"Sfeatgen"].concat()
}

#[test]
fn a_store_of_nothing_with_many_rows_is_refused() {
    let folder = workplace();
    let mut nothing = [0; 64 + 32];
    nothing[..8].copy_from_slice(b"featgenS");
    nothing[8] = 1;
    nothing[64..72].copy_from_slice(&64u64.to_le_bytes());
    for rows in [1u64 << 60, 1 << 32, u64::from(u32::MAX), 1 << 30] {
        let index = format!(
            r#"{{"rows":{rows},"dimension":5,"nonzeros":0,"values":"ones","row_bytes":4,"shards":[],"classes":[],"labels":null,"weights":null,"names":null,"by_name":false}}"#
        );
        fs::write(folder.path().join("in"), forged_store(&nothing, &index)).unwrap();
        for args in ["predict model in", "train in", "inspect in"] {
            let (said, code) = limited(folder.path(), 1_000_000, args);
            let expected = format!("in: a strange store: {rows} rows in ");
            assert!(said.starts_with(&expected) && said.lines().count() == 1, "{said}");
            assert_eq!(code, Some(1));
        }
    }
}

#[test]
fn models_that_contradict_themselves_are_refused() {
    let folder = workplace();
    let text = fs::read_to_string(folder.path().join("model")).unwrap();
    let model: serde_json::Value = serde_json::from_str(&text).unwrap();
    let refused = |change: &dyn Fn(&mut serde_json::Value), reason: &str| {
        let mut forged = model.clone();
        change(&mut forged);
        fs::write(folder.path().join("in"), forged.to_string()).unwrap();
        let (said, code) = limited(folder.path(), 1_000_000, "predict in good");
        assert!(said.starts_with(&format!("in: damaged model: {reason}")), "{said}");
        assert_eq!((said.lines().count(), code), (1, Some(1)));
    };
    refused(&|m| m["classes"] = serde_json::json!(["+1", "1.0"]), "two classes are `1.0`");
    let objective = model["certificate"]["objective"].as_f64().unwrap();
    refused(
        &|m| m["certificate"]["lower_bound"] = (objective * 1.001).into(),
        "the lower bound of the certificate",
    );
    let first = model["rounds"][0]["objective"].as_f64().unwrap();
    refused(&|m| m["rounds"][0]["lower_bound"] = (first * 1.001).into(), "the lower bound of round 1");
    let selected = model["rounds"][0]["selected"].as_u64().unwrap();
    let counted = format!("round 1 has {selected} selected, not {}", selected + 1);
    refused(&|m| m["rounds"][0]["selected"] = (selected + 1).into(), &counted);
    let factors = vec![1; 1_000_000];
    refused(&|m| m["terms"][0]["feature"] = serde_json::json!({ "product": factors }), "`1` is no feature");
    refused(&|m| m["terms"][0]["feature"] = serde_json::json!({ "product": [2, 1] }), "`1` is no feature");
    let twice = model["rounds"][0]["terms"][0].clone();
    let doubled = |m: &mut serde_json::Value| {
        m["rounds"][0]["terms"].as_array_mut().unwrap().push(twice.clone());
        m["rounds"][0]["weights"].as_array_mut().unwrap().push(1.0.into());
    };
    refused(&doubled, "round 1 does not fit the terms");
}

/// Steps of an input with many levels in the curve of one with few would be looked up outside its table.
#[test]
fn a_group_of_curves_over_several_inputs_is_refused() {
    let folder = workplace();
    let train = ["train", "good", "--space", "intersection", "--levels", "4", "-o", "in", "-q"];
    featgen(folder.path()).args(train).assert().success();
    let text = fs::read_to_string(folder.path().join("in")).unwrap();
    let mut model: serde_json::Value = serde_json::from_str(&text).unwrap();
    let step = &mut model["terms"][1]["feature"]["step"];
    step["input"] = 99.into();
    step["of"] = 1000.into();
    step["level"] = 900.into();
    fs::write(folder.path().join("in"), model.to_string()).unwrap();
    for args in ["inspect in", "predict in good"] {
        let (said, code) = limited(folder.path(), 1_000_000, args);
        let expected = "in: damaged model: parts of a curve do not fit each other\n";
        assert_eq!((said.as_str(), code), (expected, Some(1)));
    }
}

#[test]
fn a_model_that_never_ends_is_refused() {
    let folder = workplace();
    let (said, code) = limited(folder.path(), 4_000_000, "predict /dev/zero good");
    assert_eq!(
        (said.as_str(), code),
        ("/dev/zero: more than 1024 MiB: too much for what it should be\n", Some(1))
    );
}

/// Cuts a store short while `train` holds it, waiting for another input that comes through a pipe.
#[test]
fn a_store_cut_short_while_in_use_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let text: String = (0..4000).map(|_| two_classes(20)).collect();
    fs::write(path.join("data"), text).unwrap();
    featgen(path).args(["convert", "data", "store", "-q"]).assert().success();
    assert!(fs::metadata(path.join("store")).unwrap().len() > 1 << 20);
    assert!(Command::new("mkfifo").arg(path.join("pipe")).status().unwrap().success());
    let mut child = Command::new(cargo_bin!("featgen"))
        .args(["train", "store", "--test", "pipe", "-o", "model", "--threads", "2"])
        .current_dir(path)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Opens once the command reads its test data: the store is open and checked by then.
    let mut pipe = fs::File::options().write(true).open(path.join("pipe")).unwrap();
    fs::File::options().write(true).open(path.join("store")).unwrap().set_len(4096).unwrap();
    pipe.write_all(two_classes(20).as_bytes()).unwrap();
    drop(pipe);
    let status = child.wait().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.ends_with("store: the file was changed or cut short while it was in use\n"), "{said}");
    assert_eq!(status.code(), Some(1));
    assert!(!path.join("model").exists());
    let left: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn thousands_of_threads_are_not_started() {
    let folder = workplace();
    let clock = Instant::now();
    let run = featgen(folder.path())
        .args(["train", "good", "--threads", "5000", "-o", "other"])
        .timeout(Duration::from_secs(120))
        .assert()
        .success();
    let said = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(said.contains("threads, not 5000: more would only wait for each other"), "{said}");
    assert!(clock.elapsed() < Duration::from_secs(100));
    assert_eq!(
        fs::read(folder.path().join("other")).unwrap(),
        fs::read(folder.path().join("model")).unwrap()
    );
}

/// Where the system starts no thread. The limit does not bind root, which becomes somebody else for that.
#[cfg(target_os = "linux")]
#[test]
fn a_failure_to_start_a_thread_is_said() {
    use std::os::unix::fs::PermissionsExt;
    let folder = workplace();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // Copied to where anybody may run it.
    let program = folder.path().join("featgen");
    fs::copy(cargo_bin!("featgen"), &program).unwrap();
    let root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let script = "ulimit -u 1 && exec ./featgen train good --threads 3";
    let mut command = if root { Command::new("setpriv") } else { Command::new("bash") };
    if root {
        command.args(["--reuid=54321", "--regid=54321", "--clear-groups", "bash"]);
    }
    let out = command.args(["-c", script]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    let expected = "error: --threads: the system starts no more threads: ask for fewer (";
    assert!(said.starts_with(expected) && said.lines().count() == 1, "{said}");
    assert_eq!(out.status.code(), Some(2));
}

/// Matrices and pathways: every one is refused with one line, in little memory and time, whatever it claims.
#[test]
#[rustfmt::skip] // one case, one line
fn strange_matrices_and_pathways_are_refused_in_one_line() {
    const MEMORY: u32 = 600_000;
    let folder = workplace();
    let mtx = |body: &str| format!("%%MatrixMarket matrix coordinate real general\n{body}").into_bytes();
    let array = |body: &str| format!("%%MatrixMarket matrix array real general\n{body}").into_bytes();
    fs::write(folder.path().join("names"), "a\nb\nc\nd\ne\nf\n").unwrap();
    let predict = "predict model in.mtx";
    let groups = "train good --names names --groups in.gmt";
    let cases: Vec<(&str, Vec<u8>, &str, &str)> = vec![
        ("instances", mtx("4000000000 2 1\n1 1 1\n"), predict, "in.mtx:2: 4000000000 instances with 1 values in all: nearly all are empty"),
        ("too many instances", mtx("9999999999999 2 9999999999\n"), predict, "in.mtx:2: 9999999999999 instances: at most 4294967295 are supported"),
        ("entries", mtx("4000000000 4000000000 1000000000000\n1 1 1\n"), predict, "in.mtx: the file is cut short: 1 entries where the header says 1000000000000"),
        ("more entries than cells", mtx("2 2 1000000000000\n"), predict, "in.mtx:2:1: 1000000000000 entries in a matrix of 2 x 2"),
        ("a size beyond 64 bits", mtx("2 99999999999999999999999 1\n"), predict, "in.mtx:2:3: `99999999999999999999999` columns are too many"),
        ("a huge array", array("4000000000 1000000\n1\n2\n"), predict, "in.mtx: the file is cut short: 2 values where the header says 4000000000000000"),
        ("an array beyond 64 bits", array("4000000000 9000000000\n1\n"), predict, "in.mtx:2:1: a matrix of 4000000000 x 9000000000 is too large"),
        ("a row beyond the header", mtx("2 2 1\n3 1 1\n"), predict, "in.mtx:3:1: row `3`: the header says that there are 2"),
        ("a column beyond the header", mtx("2 2 1\n1 7 1\n"), predict, "in.mtx:3:3: column `7`: the header says that there are 2"),
        ("row 0", mtx("2 2 1\n0 1 1\n"), predict, "in.mtx:3:1: row 0: rows are counted from 1"),
        ("a negative row", mtx("2 2 1\n-1 1 1\n"), predict, "in.mtx:3:1: `-1` is not a row: a whole number from 1"),
        ("not a number", mtx("2 2 1\n1 1 nan\n"), predict, "in.mtx:3:5: the value `nan` is not a number that can be used: values must be finite, and none may be missing (row 1, column 1)"),
        ("infinity", mtx("2 2 1\n1 1 -inf\n"), predict, "in.mtx:3:5: the value `-inf` is too large: values must be finite (row 1, column 1)"),
        ("cut within a line", mtx("2 2 2\n1 1 1\n2 "), predict, "in.mtx:4:3: a column is expected"),
        ("cut between lines", mtx("2 2 2\n1 1 1\n"), predict, "in.mtx: the file is cut short: 1 entries where the header says 2"),
        ("one entry too many", mtx("2 2 1\n1 1 1\n2 2 1\n"), predict, "in.mtx:4:1: more than 1 entries, though the header says so many"),
        ("garbage", mtx("2 2 2\n1 1 1\n\x07\x1b[2J\x00\x01\n"), predict, "in.mtx:4:1: `\\u{7}\\u{1b}[2J\\0\\u{1}` is not a row: a whole number from 1"),
        ("garbage for a header", b"%%MatrixMarket \xff\xfe\x00\n".to_vec(), predict, "in.mtx:1:16: `\u{fffd}\u{fffd}\\0`: only a `matrix` can be read"),
        ("twice, apart", mtx("3 3 3\n1 1 1\n2 2 1\n1 1 1\n"), predict, "in.mtx:5:1: row 1, column 1 stands twice"),
        ("half a matrix", b"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 1 1\n".to_vec(), predict, "in.mtx:1:39: `symmetric`: only a `general` matrix can be read: write all of its entries"),
        ("no end of comments", bomb("%%MatrixMarket matrix coordinate real general\n", b"% x\n"), predict, "in.mtx: "),
        ("no end of entries", bomb("%%MatrixMarket matrix coordinate real general\n9 9 3\n", b"1 1 1\n"), predict, "in.mtx:4:1: row 1, column 1 stands twice"),
        ("no end of a value", bomb("%%MatrixMarket matrix array real general\n9 9\n", b"1"), predict, "in.mtx: "),
        ("pathways without a gene", (0..100_000).map(|k| format!("p{k}\tna\tx{k}\n")).collect::<String>().into_bytes(), groups, "in.gmt: no pathway has a gene among the features, the first of which is called `a`"),
        ("a pathway of 10 MB", format!("p\tna{}\n", (0..1_500_000).map(|k| format!("\tx{k}")).collect::<String>()).into_bytes(), groups, "in.gmt: no pathway has a gene among the features, the first of which is called `a`"),
        ("the same pathway again", (0..100_000).map(|k| format!("p{}\tna\ta\n", k % 99_999)).collect::<String>().into_bytes(), groups, "in.gmt:100000:1: a second group called `p0`: the first is in line 1"),
        ("no tabs", b"p\tna\ta\nq r s\n".to_vec(), groups, "in.gmt:2:1: no tab: expected `name TAB description TAB gene TAB gene ...`"),
        ("pathways in no text", b"p\tna\ta\nq\tna\t\xff\xfe\n".to_vec(), groups, "in.gmt:2:6: not text in UTF-8"),
        ("no end of pathways", bomb("", b"p\tn\tx\n"), groups, "in.gmt: "),
        ("no end of a pathway", bomb("p\tn", b"\tx"), groups, "in.gmt: "),
        ("an open quote", b"a: 1\n\"b: 2\n".to_vec(), "train good --groups in.txt", "in.txt:2:1: a quote that does not end: no second `\"`"),
    ];
    for (what, bytes, args, expected) in cases {
        let file = args.split(' ').find(|word| word.starts_with("in.")).unwrap();
        fs::write(folder.path().join(file), bytes).unwrap();
        let clock = Instant::now();
        let (said, code) = limited(folder.path(), MEMORY, &format!("{args} --threads 1"));
        assert_eq!((said.lines().count(), code), (1, Some(1)), "{what}: {said}");
        match expected.ends_with(": ") {
            true => assert!(said.starts_with(expected) && !said.contains("memory"), "{what}: {said}"),
            false => assert_eq!(said.trim_end(), expected, "{what}"),
        }
        assert!(clock.elapsed() < Duration::from_secs(20), "{what}: {:?}", clock.elapsed());
    }
}
