//! Tables as people have them, given to the command: what it makes of them, and what it says of those that nothing can be made of.

mod common;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use common::featgen;
use serde_json::Value;

/// Rows of a table whose first column decides; `cells` makes the others.
fn table(header: &str, rows: usize, cells: impl Fn(usize) -> String) -> String {
    let mut text = format!("x,{header},y\n");
    for k in 0..rows {
        let x = (k * 7 % 11) as f64 / 2.0;
        writeln!(text, "{x},{},{}", cells(k), if x > 2.2 { "yes" } else { "no" }).unwrap();
    }
    text
}

/// Trains on a table and returns the JSON report and what was noted.
fn train(folder: &Path, text: &str, args: &str) -> (Value, String) {
    fs::write(folder.join("in.csv"), text).unwrap();
    let args = args.split(' ').filter(|arg| !arg.is_empty());
    let command = ["train", "in.csv", "--label", "y", "--json", "-o", "model"];
    let output = featgen(folder).args(command).args(args).output().unwrap();
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{notes}");
    (serde_json::from_slice(&output.stdout).unwrap(), notes)
}

fn features(report: &Value) -> Vec<&str> {
    let mut names: Vec<&str> =
        report["selected"].as_array().unwrap().iter().map(|one| one["feature"].as_str().unwrap()).collect();
    names.sort_unstable();
    names
}

/// What a new user stumbles over first: none of it is an error, and nothing is selected that means nothing.
#[test]
fn the_first_tables_of_a_new_user() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    type Cell = fn(usize) -> String;
    let cases: [(&str, Cell, &str, &str); 12] = [
        ("sample_id", |k| format!("S{k}"), "sample_id", "text, different in every row"),
        ("id", |k| (k + 1).to_string(), "id", "the number of a row"),
        ("", |k| k.to_string(), "", "the number of a row"),
        ("Unnamed: 0", |k| k.to_string(), "Unnamed: 0", "the number of a row"),
        ("when", |k| format!("2026-01-{:02}", k % 28 + 1), "when", "dates; --number takes it in"),
        ("when", |k| format!("{:02}/01/2026", k % 28 + 1), "when", "dates; --number takes it in"),
        ("words", |k| format!("\"a, {k}\""), "words", "text, different in every row"),
        ("empty", |_| String::new(), "empty", "no values"),
        ("flag", |k| if k % 3 == 0 { "TRUE" } else { "FALSE" }.to_owned(), "", ""),
        ("gaps", |k| ["1", "NA", "2", "?", "", "3"][k % 6].to_owned(), "", ""),
        ("colour", |k| ["red", "blue", "None"][k % 3].to_owned(), "", ""),
        ("comma", |k| format!("\"{k},5\""), "", ""),
    ];
    for (name, cell, left_out, why) in cases {
        let (report, notes) = train(path, &table(name, 60, cell), "--features 1");
        assert_eq!(features(&report), ["x"], "{name}");
        assert_eq!(notes.contains("left out"), !why.is_empty(), "{name}: {notes}");
        assert!(why.is_empty() || notes.contains(&format!("`{left_out}` ({why}")), "{name}: {notes}");
        featgen(path).args(["predict", "model", "in.csv", "--label", "y"]).assert().success();
    }
}

#[test]
fn a_category_is_selected_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("colour,size,noise,y\n");
    for k in 0..200usize {
        let colour = ["red", "green", "blue", ""][k * 7 % 13 % 4];
        let label = if matches!(colour, "red" | "") { "yes" } else { "no" };
        writeln!(text, "{colour},{},{},{label}", k * 31 % 17, k * 17 % 23).unwrap();
    }
    let (report, _) = train(folder.path(), &text, "--features 1");
    assert_eq!(features(&report), ["colour = blue", "colour = green", "colour = missing", "colour = red"]);
    assert_eq!((&report["groups"][0]["group"], &report["candidates"]), (&"colour".into(), &3.into()));
    let model: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("model")).unwrap()).unwrap();
    let recipe = serde_json::json!({"version": 1, "columns": [
        {"column": "colour", "category": {"levels": ["blue", "green", "red"], "missing": true}}]});
    assert_eq!(model["recipe"], recipe);
    // Kept, or in groups of a file, it stands for all its inputs.
    let (report, _) = train(folder.path(), &text, "--keep colour --features 1");
    assert_eq!(report["kept"].as_array().unwrap().len(), 3, "the first level follows from the others");
    fs::write(folder.path().join("groups"), "both: colour size\nrest: noise\n").unwrap();
    let (report, _) = train(folder.path(), &text, "--groups groups --features 1");
    assert_eq!(report["groups"][0]["members"], 5);
    // Other spaces have no groups, and say what is there together.
    let (report, _) = train(folder.path(), &text, "--space poly2 --features 2");
    assert!(report.get("groups").is_none());
}

#[test]
fn new_levels_are_other_and_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let colour = |k: usize| ["red", "blue"][k * 7 % 11 % 2].to_owned();
    train(path, &table("colour", 60, colour), "--features 2");
    let rows = "2,pink,yes\n".repeat(3000) + "2,mauve,yes\n";
    fs::write(path.join("new.csv"), format!("x,colour,y\n{rows}")).unwrap();
    let said = "note: new.csv: 3001 rows have a value of `colour` that the model does not know, such as `pink`: taken as other\n";
    let output = featgen(path).args(["predict", "model", "new.csv"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), said);
    assert_eq!(output.stdout.iter().filter(|c| **c == b'\n').count(), 3001);
    fs::write(path.join("new.csv"), "colour,z\nred,1\n").unwrap();
    let output = featgen(path).args(["predict", "model", "new.csv"]).output().unwrap();
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && notes.contains("lacks 1 of the 3 features"), "{notes}");
    fs::write(path.join("new.csv"), "x,colour\nten,red\n").unwrap();
    let expected = "new.csv:2:1: column 1 (`x`): `ten` is not a number\n";
    featgen(path).args(["predict", "model", "new.csv"]).assert().code(1).stderr(expected);
}

#[test]
fn a_table_and_its_store_make_the_same_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    featgen(path)
        .args(["synth", "table", "-o", "people", "--rows", "800", "--test-rows", "100"])
        .assert()
        .success();
    let learn = ["--features", "3", "-q", "-o"];
    let csv = ["train", "people.train.csv", "--label", "income"];
    featgen(path).args(csv).args(learn).arg("csv.json").args(["--checkpoint", "run"]).assert().success();
    let goes_on =
        featgen(path).args(csv).args(learn).arg("again.json").args(["--checkpoint", "run"]).assert();
    goes_on.success();
    assert_eq!(fs::read(path.join("again.json")).unwrap(), fs::read(path.join("csv.json")).unwrap());
    let other = ["--impute", "median", "--checkpoint", "run"];
    featgen(path).args(csv).args(learn).arg("no.json").args(other).assert().code(1);
    featgen(path).args(["convert", "people.train.csv", "s", "--label", "income", "-q"]).assert().success();
    featgen(path).args(["train", "s"]).args(learn).arg("store.json").assert().success();
    let model = |name: &str| {
        let mut model: Value = serde_json::from_slice(&fs::read(path.join(name)).unwrap()).unwrap();
        model.as_object_mut().unwrap().remove("label_column");
        model
    };
    assert_eq!(model("csv.json"), model("store.json"));
    // A model of a store predicts tables as they come.
    let predictions = |name: &str| {
        let output = featgen(path).args(["predict", name, "people.test.csv", "-q"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    assert_eq!(predictions("csv.json"), predictions("store.json"));
}

#[test]
fn inspect_shows_what_columns_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    featgen(path)
        .args(["synth", "table", "-o", "people", "--rows", "800", "--test-rows", "0"])
        .assert()
        .success();
    let inspect = ["inspect", "people.train.csv", "--label", "income"];
    let output = featgen(path).args(inspect).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with("people.train.csv: a table of 800 rows and 15 columns, of which 13 make "),
        "{text}"
    );
    assert!(
        text.contains("joined      date") && text.contains("left out: dates; --number takes it in"),
        "{text}"
    );
    let output = featgen(path).args(inspect).args(["--json", "--number", "joined"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["rows"], 800);
    let joined = &report["columns"][13];
    assert_eq!(
        (&joined["kind"], &joined["inputs"], joined.get("left_out")),
        (&"date".into(), &1.into(), None)
    );
}

/// What is left of a file that was compressed and not written to its end.
fn cut_short(text: &str) -> Vec<u8> {
    let mut bytes = zstd::encode_all(text.as_bytes(), 1).unwrap();
    bytes.truncate(bytes.len() - 20);
    bytes
}

/// A Parquet file with any byte changed, cut short anywhere, or with a footer that claims anything: it is read, or one line says that it
/// is damaged, also where its reader panics.
#[test]
fn damaged_parquet_is_told_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let made = ["synth", "table", "-o", "p", "--rows", "60", "--test-rows", "0", "--format", "parquet"];
    featgen(path).args(made).assert().success();
    let whole = fs::read(path.join("p.train.parquet")).unwrap();
    let mut damaged = Vec::new();
    for k in 0..80 {
        let mut bytes = whole.clone();
        let at = 4 + k * (whole.len() - 4) / 80;
        bytes[at] ^= [0x01, 0x40, 0x80, 0xff][k % 4];
        damaged.push(bytes);
    }
    for at in [0, 4, 8, 20, whole.len() / 2, whole.len() - 1, whole.len() - 8] {
        damaged.push(whole[..at].to_vec());
    }
    for length in [u32::MAX, i32::MAX as u32, 1 << 30, 1, 0] {
        let (mut bytes, end) = (whole.clone(), whole.len() - 8);
        bytes[end..end + 4].copy_from_slice(&length.to_le_bytes());
        damaged.push(bytes);
    }
    let mut refused = 0;
    for (k, bytes) in damaged.iter().enumerate() {
        fs::write(path.join("in"), bytes).unwrap();
        let output = featgen(path).args(["inspect", "in", "--label", "income"]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        match output.status.code() {
            Some(0) => assert_eq!(said, "", "{k}"),
            code => {
                assert_eq!((code, said.lines().count()), (Some(1), 1), "{k}: {said}");
                assert!(said.starts_with("in") && !said.contains("panicked"), "{k}: {said}");
                refused += 1;
            }
        }
    }
    assert!(refused > 30, "{refused}");
}

/// One line each, whatever is given.
#[test]
#[rustfmt::skip] // one case, one line
fn hostile_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let many = |last: &str| table("a", 5000, |k| (k % 97).to_string()) + last;
    let wide = |columns: usize, cell: &str| {
        let header: Vec<String> = (0..columns).map(|k| format!("c{k}")).collect();
        let row = vec![cell; columns].join(",");
        format!("{},y\n{row},a\n{row},b\n", header.join(","))
    };
    // As wide again when it is predicted.
    fs::write(path.join("wide"), wide(50_000, "w").replacen("w,a", "v,a", 1)).unwrap();
    featgen(path).args(["train", "wide", "--label", "y", "-q", "-o", "wide.json"]).assert().success();
    featgen(path).args(["predict", "wide.json", "wide", "-q"]).assert().success();
    let level = "l".repeat(1 << 20);
    let cases: Vec<(&str, Vec<u8>, &str, i32, &str)> = vec![
        ("text in the last row of many", many("1,oops,yes\n").into(), "", 1, "in:5002:2: column 2 (`a`): `oops` is not a number, as 5000 others of the column are"),
        ("the same, asked for as numbers", many("1,oops,yes\n").into(), "--number a", 1, "in:5002:2: column 2 (`a`): `oops` is not a number\n"),
        ("the same, as a category", many("1,oops,yes\n").into(), "--category a", 0, ""),
        ("the same, ignored", many("1,oops,yes\n").into(), "--ignore a", 0, ""),
        ("a level of a megabyte", table("a", 20, |k| if k % 2 == 0 { level.clone() } else { "b".into() }).into(), "", 0, ""),
        ("100,000 columns of words", wide(100_000, "w").into(), "", 0, ""),
        ("100,000 columns of numbers", wide(100_000, "1").into(), "", 0, ""),
        ("two columns of a name", "a,a,y\n1,2,u\n".into(), "", 1, "in:1:2: two columns are called `a`"),
        ("two without a name", ",,y\n1,2,u\n".into(), "", 1, "in:1:2: two columns are called ``"),
        ("only a header", "a,b,y\n".into(), "", 1, "in: no instances: only a header"),
        ("only comments and a header", "# c\na,b,y\n".into(), "", 1, "in: no instances: only a header"),
        ("a row too short", "a,b,y\n1,2,u\n1,v\n".into(), "", 1, "in:3:3: 2 cells where the header has 3"),
        ("a row too long", "a,b,y\n1,2,u\n1,2,3,v\n".into(), "", 1, "in:3:4: 4 cells where the header has 3"),
        ("a quote that is never closed", "a,b,y\n1,2,u\n1,\"2,v\n3,4,u\n".into(), "", 1, "in:3:3: 2 cells where the header has 3"),
        ("NUL bytes in a cell", b"a,b,y\nx\0,2,u\nx\0,3,v\n".to_vec(), "", 1, "in:2:1: column 1 (`a`): `x\\0` is not text in UTF-8"),
        ("not UTF-8", b"a,b,y\n\xff\xfe,2,u\nq,3,v\n".to_vec(), "", 1, "in:2:1: column 1 (`a`): "),
        ("not UTF-8 in the header", b"a\xff,b,y\n1,2,u\n".to_vec(), "", 1, "in:1:1: the name of column 1"),
        ("a second header", "a,b,y\na,b,y\n1,2,u\n".into(), "", 1, "in:2:1: the header once more"),
        ("units below the header", "a,b,y\ncm,kg,class\n1,2,u\n3,4,v\n5,6,u\n".into(), "", 1, "in:2:1: column 1 (`a`): `cm` is not a number, as all below it are"),
        ("labels missing", "a,y\n1,u\n2,\n".into(), "", 1, "in:3:2: column 2 (`y`): the label is missing"),
        ("labels that are NA", "a,y\n1,u\n2,NA\n".into(), "", 1, "in:3:2: column 2 (`y`): the label is missing"),
        ("all cells missing", "a,b,y\n,,u\n,,v\n".into(), "", 1, "in: no column is left to learn from: 2 columns are left out: `a` (no values), `b` (no values)"),
        ("nothing but numbers of rows", "id,y\n1,u\n2,v\n".into(), "", 1, "in: no column is left to learn from: 1 column is left out: `id`"),
        ("infinity", many("1,inf,yes\n").into(), "", 1, "in:5002:2: column 2 (`a`): `inf` is too large"),
        ("a number beyond 64 bits", many("1,1e999,yes\n").into(), "", 1, "in:5002:2: column 2 (`a`): `1e999` is too large"),
        ("inputs of one name", "a = b,a,y\n1,b,u\n2,b,v\n3,b,u\n4,c,v\n".into(), "", 1, "in: two inputs would be called `a = b`"),
        ("a column that is not there", "a,y\n1,u\n2,v\n".into(), "--category b", 2, "error: --category: the table has no column `b`"),
        ("a column in two lists", "a,y\n1,u\n2,v\n".into(), "--category a --number a", 2, "error: --category: `a` is in two such lists"),
        ("unclear dates as numbers", "a,y\n01/02/2026,u\n02/03/2026,v\n".into(), "--number a", 2, "error: --number: `a`: day and month cannot be told apart"),
        ("no levels", "a,y\nq,u\nq,v\n".into(), "--most-levels 0", 2, "error: --most-levels: must be at least 1"),
        ("sparse text with columns", "1 1:2\n-1 1:3\n".into(), "--ignore a", 2, "error: --"),
        ("cells of nothing but quotes", "a,b,y\n\"\"\"\",\"\",u\n\"\"\"\",2,v\n".into(), "", 0, ""),
        ("a mark of the order of bytes", "\u{feff}a,b,y\n1,2,u\n3,4,v\n5,1,u\n".into(), "", 0, ""),
        ("lines of Windows", "a,b,y\r\n1,2,u\r\n3,4,v\r\n5,1,u\r\n".into(), "", 0, ""),
        ("lines of both kinds", "a,b,y\r\n1,2,u\n3,4,v\r\n5,1,u\n".into(), "", 0, ""),
        ("lines of old Macintoshes", "a,b,y\r1,2,u\r3,4,v\r".into(), "", 1, "in:1:1: no column `y`; the columns are "),
        ("quotes of two kinds", "\"a\",b,'y'\n1,\"2\",u\n3,4,v\n".into(), "", 1, "in:1:1: no column `y`; the columns are a, b, 'y'"),
        ("quotes that are none", "a,b,y\n'p',2,u\n'q, r',4,v\n".into(), "", 1, "in:3:4: 4 cells where the header has 3"),
        ("text after a quote", "a,b,y\n\"p\"x,2,u\n\"p\"x,4,v\nr,1,u\n".into(), "", 0, ""),
        ("a cell of two lines", "a,b,y\n\"p\nq\",2,u\n\"p\nq\",4,v\nr,1,u\nr,2,v\n".into(), "", 0, ""),
        ("decimal commas and points", "a;b;y\n1,5;2;u\n2.5;4;v\n3,25;1;u\n4.75;2;v\n".into(), "", 0, ""),
        ("the same, asked for as numbers", "a;b;y\n1,5;2;u\n2.5;4;v\n3,25;1;u\n4.75;2;v\n".into(), "--number a", 1, "in:2:1: column 1 (`a`): `1,5` is not a number"),
        ("decimal commas", "a;b;y\n1,5;2;u\n2,5;4;v\n3,25;1;u\n".into(), "", 0, ""),
        ("one row", "a,b,y\n1,2,u\n".into(), "", 1, "in: all instances are of one class, u: two are needed"),
        ("a column without values", "a,b,y\n,2,u\nNA,4,v\n?,1,u\n".into(), "", 0, ""),
        ("nothing", "".into(), "", 1, "in: no instances"),
        ("nothing but lines", "\n\n\n".into(), "", 1, "in: no instances"),
        ("nothing but NUL bytes", vec![0; 100], "", 1, "in:1:1: no column `y`"),
        ("UTF-16", b"\xff\xfea\0,\0y\0\n\0".to_vec(), "", 1, "in: text in UTF-16: convert it to UTF-8"),
        ("text in row 1,000,001", (table("a", 1_000_000, |k| (k % 97).to_string()) + "1,oops,yes\n").into(), "", 1, "in:1000002:2: column 2 (`a`): `oops` is not a number, as 1000000 others of the column are"),
        ("100,000 levels", table("a", 250_000, |k| format!("l{}", k % 100_000)).into(), "", 0, ""),
        ("a name of a megabyte", format!("{level},y\n1,u\n2,v\n").into(), "", 0, ""),
        ("a label of a megabyte", format!("a,y\n1,{level}\n2,v\n3,v\n").into(), "", 0, ""),
        ("a comma at the end of every line", "a,y,\n1,u,\n2,v,\n3,u,\n".into(), "", 0, ""),
        ("a compressed table cut short", cut_short(&many("")), "", 1, "in: the compressed data are damaged or incomplete"),
    ];
    assert!(cases.len() >= 40);
    for (name, content, args, code, says) in cases {
        fs::write(path.join("in"), content).unwrap();
        let args = args.split(' ').filter(|arg| !arg.is_empty());
        let output = featgen(path).args(["train", "in", "--label", "y", "--features", "1"]).args(args).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{name}: {stderr}");
        assert!(stderr.starts_with(says) || code == 0, "{name}: {stderr}");
        assert!(code == 0 || stderr.lines().count() == 1, "{name}: {stderr}");
        assert!(stderr.len() < 2000 && !stderr.contains("panicked"), "{name}: {stderr}");
    }
}

/// What cannot be read twice is not.
#[test]
fn a_column_that_turns_to_text_in_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let text = "a,b,y\n1,1,u\nx,2,v\nz,3,u\nx,4,v\n";
    let run = |args: &[&str]| {
        let mut command = featgen(folder.path());
        command
            .args(["train", "-", "--label", "y", "--features", "1"])
            .args(args)
            .write_stdin(text)
            .output()
            .unwrap()
    };
    let refused = run(&[]);
    let expected = "-: the column a holds numbers and text, and cannot be read twice: --category takes it as text, --ignore leaves it out\n";
    assert_eq!(
        (refused.status.code(), String::from_utf8(refused.stderr).unwrap()),
        (Some(1), expected.to_owned())
    );
    assert!(run(&["--category", "a"]).status.success());
}

/// What docs/tables.md shows is what happens, but for times; what it shows of Python is for the tests of Python.
#[cfg(unix)]
#[test]
fn the_page_about_tables_is_true() {
    let folder = tempfile::tempdir().unwrap();
    let command = assert_cmd::cargo::cargo_bin!("featgen");
    let found =
        std::env::join_paths([command.parent().unwrap(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let run = |line: &str| {
        let mut shell = std::process::Command::new("sh");
        let output =
            shell.args(["-c", line]).current_dir(folder.path()).env("PATH", &found).output().unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    let page = include_str!("../../../docs/tables.md");
    let (mut printed, mut compared, mut of_python) = (String::new(), 0, false);
    for block in page.split("```").skip(1).step_by(2) {
        if std::mem::replace(&mut of_python, block.starts_with("python\n")) {
            continue;
        }
        if let Some(lines) = block.strip_prefix("sh\n") {
            lines.lines().for_each(|line| printed = run(line));
        } else if let Some(text) = block.strip_prefix("text\n") {
            let text = match text.strip_prefix("$ ").and_then(|text| text.split_once('\n')) {
                Some((line, text)) => {
                    printed = run(line);
                    text
                }
                None => text,
            };
            let lines = |text: &str| -> Vec<String> {
                text.lines().filter(|line| !line.starts_with("time")).map(str::to_owned).collect()
            };
            assert_eq!(lines(&printed), lines(text));
            compared += 1;
        }
    }
    assert_eq!(compared, 4);
}
