//! What the reader of Matrix Market files promises, on bytes in memory and on files.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::context::Context;
use crate::data::Dataset;
use crate::data::read::tests::{columns, file, gzip, labels, readers, zstd};
use crate::data::read::{Reader, Source};
use crate::data::store::{Conversion, Store, convert};
use crate::error::Result;

fn unlabelled() -> Reader {
    Reader::new().require_labels(false).context(&Context::new().threads(1))
}

fn read_with(reader: &Reader, bytes: impl Into<Vec<u8>>) -> Result<Dataset> {
    reader.clone().require_labels(false).read_source(Source::from_bytes(bytes)?)
}

fn read(bytes: impl Into<Vec<u8>>) -> Result<Dataset> {
    read_with(&unlabelled(), bytes)
}

/// The fault of an input, which must not depend on chunks and threads.
fn fault(bytes: impl Into<Vec<u8>>) -> String {
    let bytes = bytes.into();
    let mut found: Vec<String> = readers()
        .iter()
        .map(|reader| read_with(reader, &*bytes).map(|_| "no error").unwrap_err().to_string())
        .collect();
    found.dedup();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

const SMALL: &str =
    "%%MatrixMarket matrix coordinate real general\n% by hand\n2 4 3\n1 1 0.5\n2 2 1e-3\n1 3 2\n";

fn check_small(data: &Dataset) {
    let expected = [(0, vec![(0, 0.5)]), (1, vec![(1, 1e-3)]), (2, vec![(0, 2.0)])];
    assert_eq!(columns(data), BTreeMap::from(expected));
    assert_eq!((data.columns.rows(), data.columns.dimension()), (2, 4));
}

#[test]
fn every_way_of_writing_the_same() {
    let ways = [
        SMALL.to_owned(),
        SMALL.replace('\n', "\r\n"),
        SMALL.trim_end().to_owned(),
        format!("\u{feff}{SMALL}"),
        SMALL.to_lowercase().replace("coordinate real general", "COORDINATE Real GENERAL"),
        SMALL.replace("real", "integer").replace("% by hand\n", "\n%\n% x\n\n"),
        "%%MatrixMarket matrix coordinate double general\n 2\t4  4 \n\n2 2 .001\n%\n  1 3 +2.0  \n1 1 5e-1\n2 4 0\n\n".into(),
    ];
    for text in &ways {
        for reader in readers() {
            check_small(&read_with(&reader, text.as_bytes()).unwrap_or_else(|e| panic!("{e}: {text:?}")));
        }
    }
    for bytes in [gzip(SMALL.as_bytes()), zstd(SMALL.as_bytes()), zstd(&gzip(SMALL.as_bytes()))] {
        check_small(&read(bytes).unwrap());
    }
}

#[test]
fn columns_may_be_instances() {
    let text = "%%MatrixMarket matrix coordinate real general\n4 2 3\n1 1 0.5\n2 2 1e-3\n3 1 2\n";
    for reader in readers() {
        check_small(&read_with(&reader.transpose(true), text).unwrap());
    }
    let other = read_with(&unlabelled().transpose(true), "1 1:1\n");
    let reason = "transpose: test: only a Matrix Market file (.mtx) can be read so";
    assert_eq!(other.map(drop).unwrap_err().to_string(), reason);
}

#[test]
fn patterns_are_ones() {
    let data = read("%%MatrixMarket matrix coordinate pattern general\n3 2 3\n3 1\n1 2 \n1 1\n").unwrap();
    let expected = [(0, vec![(0, 1.0), (2, 1.0)]), (1, vec![(0, 1.0)])];
    assert_eq!(columns(&data), BTreeMap::from(expected));
    assert!(data.columns.all_ones());
}

#[test]
fn arrays_are_dense_and_by_columns() {
    let text = "%%MatrixMarket matrix array real general\n% c\n2 3\n1\n2\n0\n-4 5e0\n\n% c\n6\n";
    let expected =
        [(0, vec![(0, 1.0), (1, 2.0)]), (1, vec![(0, 0.0), (1, -4.0)]), (2, vec![(0, 5.0), (1, 6.0)])];
    let transposed = [(0, vec![(0, 1.0), (1, 0.0), (2, 5.0)]), (1, vec![(0, 2.0), (1, -4.0), (2, 6.0)])];
    for reader in readers() {
        assert_eq!(columns(&read_with(&reader, text).unwrap()), BTreeMap::from(expected.clone()));
        let data = read_with(&reader.transpose(true), text).unwrap();
        assert_eq!(columns(&data), BTreeMap::from(transposed.clone()));
    }
}

#[test]
fn labels_and_names_are_in_files_of_their_own() {
    let (matrix, y, names) = (file(SMALL), file("yes\nno\n"), file("a\nb\nc\nd\n"));
    let reader = Reader::new().labels_file(y.path()).names_file(names.path());
    let data = reader.read(matrix.path()).unwrap();
    check_small(&data);
    assert_eq!((labels(&data), data.names.list().len()), (vec!["yes", "no"], 4));
    let path = matrix.path().display();
    let missing =
        format!("{path}: a matrix has no labels: they must be given in a file of their own (--labels)");
    assert_eq!(Reader::new().read(matrix.path()).map(drop).unwrap_err().to_string(), missing);
    let few = file("yes\n");
    let error = Reader::new().labels_file(few.path()).read(matrix.path()).map(drop).unwrap_err().to_string();
    assert!(error.ends_with("1 labels for 2 instances"), "{error}");
    let column = Reader::new().label_column("y").read(matrix.path()).map(drop).unwrap_err().to_string();
    assert!(column.starts_with("label: only a table has label columns"), "{column}");
}

#[test]
#[rustfmt::skip] // one case, one line
fn headers_that_cannot_be_used() {
    let banner = "%%MatrixMarket matrix coordinate real general\n";
    let cases = [
        ("%%MatrixMarket", "test:1:15: ``: only a `matrix` can be read"),
        ("%%MatrixMarket vector coordinate real general\n2 2 1\n", "test:1:16: `vector`: only a `matrix` can be read"),
        ("%%MatrixMarket matrix sparse real general\n2 2 1\n", "test:1:23: `sparse`: a matrix is `coordinate` or `array`"),
        ("%%MatrixMarket matrix array pattern general\n2 2\n", "test:1:1: an array of pattern: it has no values"),
        ("%%MatrixMarket matrix coordinate complex general\n2 2 1\n", "test:1:34: `complex`: values are `real`, `integer` or `pattern`"),
        ("%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 1 1\n", "test:1:39: `symmetric`: only a `general` matrix can be read: write all of its entries"),
        ("%%MatrixMarket matrix coordinate real skew-symmetric\n", "test:1:39: `skew-symmetric`: only a `general` matrix can be read: write all of its entries"),
        ("%%MatrixMarket matrix coordinate real", "test:1:38: ``: only a `general` matrix can be read: write all of its entries"),
    ];
    for (text, expected) in cases {
        assert_eq!(fault(text), expected, "{text:?}");
    }
    let sizes = [
        ("", "test: the file is cut short: no line says how many rows and columns there are"),
        ("% 2 2 1\n", "test: the file is cut short: no line says how many rows and columns there are"),
        ("2 2\n1 1 1\n", "test:2:4: the number of entries is expected"),
        ("2 2 1 7\n", "test:2:7: `7` after the size of the matrix"),
        ("2 -2 1\n", "test:2:3: `-2` is not a number of columns"),
        ("2 2 1e3\n", "test:2:5: `1e3` is not a number of entries"),
        ("2 99999999999999999999 1\n", "test:2:3: `99999999999999999999` columns are too many"),
        ("0 2 0\n", "test:2: no instances"),
        ("2 0 0\n", "test:2: a matrix of 2 x 0: no features"),
        ("2 2 5\n", "test:2:1: 5 entries in a matrix of 2 x 2"),
        ("4294967296 9 4294967296\n", "test:2: 4294967296 instances: at most 4294967295 are supported"),
        ("4294967295 9 3\n1 1 1\n", "test:2: 4294967295 instances with 3 values in all: nearly all are empty"),
    ];
    for (text, expected) in sizes {
        assert_eq!(fault(format!("{banner}{text}")), expected, "{text:?}");
    }
    let array = "%%MatrixMarket matrix array real general\n4000000000 9000000000\n1\n";
    assert_eq!(fault(array), "test:2:1: a matrix of 4000000000 x 9000000000 is too large");
}

#[test]
#[rustfmt::skip] // one case, one line
fn faults_have_exact_places() {
    let cases = [
        ("1 1 1\n", "test: the file is cut short: 1 entries where the header says 2"),
        ("1 1 1\n2 2 1\n2 1 1\n", "test:5:1: more than 2 entries, though the header says so many"),
        ("1 1 1\n% x\n\n2 2 1\n  2 1 1\nx\n", "test:7:3: more than 2 entries, though the header says so many"),
        ("1 1 1\n0 2 1\n", "test:4:1: row 0: rows are counted from 1"),
        ("1 1 1\n2 0 1\n", "test:4:3: column 0: columns are counted from 1"),
        ("1 1 1\n4 1 1\n", "test:4:1: row `4`: the header says that there are 3"),
        ("1 1 1\n1 99999999999999999999 1\n", "test:4:3: column `99999999999999999999`: the header says that there are 3"),
        ("1 1 1\n-1 1 1\n", "test:4:1: `-1` is not a row: a whole number from 1"),
        ("1 1 1\n 1.0 1 1\n", "test:4:2: `1.0` is not a row: a whole number from 1"),
        ("1 1 1\n1 x 1\n", "test:4:3: `x` is not a column: a whole number from 1"),
        ("1 1 1\n2\n", "test:4:2: a column is expected"),
        ("1 1 1\n1 2\n", "test:4:4: no value (row 1, column 2)"),
        ("1 1 1\n1 2 y\n", "test:4:5: the value `y` is not a number (row 1, column 2)"),
        ("1 1 1\n1 2 NaN\n", "test:4:5: the value `NaN` is not a number that can be used: values must be finite, and none may be missing (row 1, column 2)"),
        ("1 1 1\n1 2 1e999\n", "test:4:5: the value `1e999` is too large: values must be finite (row 1, column 2)"),
        ("1 1 1\n1 2 1 2\n", "test:4:7: `2` after the entry"),
        ("1 1 1\n1 1 2\n", "test:4:1: row 1, column 1 stands twice"),
        ("1 1 0\n%\n1 1 2\n", "test:5:1: row 1, column 1 stands twice"),
        ("1 1 1\n\x00\x01\x02\n", "test:4:1: `\\0\\u{1}\\u{2}` is not a row: a whole number from 1"),
    ];
    for (text, expected) in cases {
        let text = format!("%%MatrixMarket matrix coordinate real general\n3 3 2\n{text}");
        // Nothing is missing where a line is wrong.
        assert_eq!(fault(text.clone()), expected, "{text:?}");
    }
    let array = "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n";
    assert_eq!(fault(array), "test: the file is cut short: 3 values where the header says 4");
    assert_eq!(fault(format!("{array}4\n7 5\n")), "test:7:1: more than 4 values, though the header says so many");
    assert_eq!(fault(format!("{array}4 5\n")), "test:6:3: more than 4 values, though the header says so many");
    assert_eq!(fault(format!("{array}inf\n")), "test:6:1: the value `inf` is too large: values must be finite");
    assert_eq!(fault("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n"), "test:3:5: `1` after the entry");
}

/// Where entries that are the same do not follow each other, the file is read again to find the line.
#[test]
fn repeated_entries_are_found_wherever_they_are() {
    let entries = |k: u64| format!("{} {} 1\n", k % 70 + 1, k / 70 + 1);
    let many: String = (0..700).map(entries).collect();
    let text =
        format!("%%MatrixMarket matrix coordinate real general\n70 20 702\n{many}% c\n  5 3 2\n5 3 3\n");
    assert_eq!(fault(text.replace("5 3 3\n", "1 1 0\n")), "test: row 5, column 3 stands twice");
    let damaged = file(gzip(text.replace("5 3 3\n", "1 1 0\n").as_bytes()));
    let expected = format!("{}:704:3: row 5, column 3 stands twice", damaged.path().display());
    for reader in readers() {
        let reader = reader.require_labels(false);
        let fault = reader.read(damaged.path()).map(drop).unwrap_err().to_string();
        assert_eq!(fault, expected);
    }
    let folder = tempfile::tempdir().unwrap();
    for memory in [1, 1 << 30] {
        let options = Conversion { memory, ..Conversion::default() };
        let to = folder.path().join("store");
        let made = convert(&unlabelled().chunk(1), damaged.path(), &to, &options, &mut |_| ());
        assert_eq!(made.unwrap_err().to_string(), expected);
        assert!(!to.exists());
    }
}

/// The parts of a conversion are sorted and put together by columns, whatever order entries have.
#[test]
fn stores_of_entries_in_any_order() {
    let (rows, features) = (300u64, 400u64);
    // All entries of a matrix that is full, in an order that jumps, so that there are many parts.
    let all: Vec<u64> = (0..rows * features).map(|k| k * 70_001 % (rows * features)).collect();
    let line = |&k: &u64| format!("{} {} {}\n", k / features + 1, k % features + 1, k % 97 + 1);
    let body: String = all.iter().map(line).collect();
    let size = format!("{rows} {features} {}", all.len());
    let matrix = file(format!("%%MatrixMarket matrix coordinate integer general\n{size}\n{body}"));
    let whole = unlabelled().read(matrix.path()).unwrap();
    let y = file((0..rows).map(|i| format!("{}\n", i % 3)).collect::<String>());
    let folder = tempfile::tempdir().unwrap();
    for (memory, runs) in [(1, 2..100), (1 << 30, 0..1)] {
        let options = Conversion { memory, ..Conversion::default() };
        let to = folder.path().join("store");
        let reader = Reader::new().labels_file(y.path()).chunk(1000).context(&Context::new().threads(2));
        let made = convert(&reader, matrix.path(), &to, &options, &mut |_| ()).unwrap();
        assert!(runs.contains(&made.runs), "{} runs", made.runs);
        assert_eq!((made.rows, made.dimension, made.nonzeros), (rows, features, all.len() as u64));
        let stored = Store::open(&to).unwrap().into_dataset("store").unwrap();
        assert_eq!(columns(&stored), columns(&whole));
        assert_eq!(labels(&stored)[..5], ["0", "1", "2", "0", "1"]);
    }
}

/// The same matrix as svmlight text and as entries in the order of `keys`.
fn two_ways(cells: &BTreeMap<(u32, u64), f64>, rows: u32, features: u64, keys: &[u64]) -> [String; 2] {
    let mut lines: Vec<String> = (0..rows).map(|_| "0".to_owned()).collect();
    for (&(row, id), value) in cells {
        lines[row as usize] += &format!(" {}:{value}", id + 1);
    }
    let mut entries: Vec<_> = cells.iter().zip(keys.iter().cycle()).collect();
    entries.sort_by_key(|&(_, key)| key);
    let line = |entry: &((&(u32, u64), &f64), &u64)| {
        let ((&(row, id), value), _) = *entry;
        format!("{} {} {value}\n", row + 1, id + 1)
    };
    let size = format!("{rows} {features} {}\n", cells.len());
    let mtx = "%%MatrixMarket matrix coordinate real general\n".to_owned() + &size;
    [lines.join("\n"), mtx + &entries.iter().map(line).collect::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn is_what_svmlight_text_is(
        cells in proptest::collection::btree_map((0u32..90_000, 0u64..1 << 34), -9.0..9.0f64, 1..200),
        keys in proptest::collection::vec(any::<u64>(), 200),
        by in 0..3u8,
    ) {
        let features = cells.keys().map(|key| key.1).max().unwrap() + 1;
        // By rows, by columns, or mixed.
        let order = |((row, id), key): ((u32, u64), u64)| match by {
            0 => u64::from(row),
            1 => id,
            _ => key,
        };
        let keys: Vec<u64> = cells.keys().copied().zip(keys).map(order).collect();
        let [svmlight, mtx] = two_ways(&cells, 90_000, features, &keys);
        let expected = read_with(&unlabelled(), svmlight).unwrap();
        for reader in readers().into_iter().step_by(4) {
            let data = read_with(&reader, mtx.as_bytes()).unwrap();
            prop_assert_eq!(data.columns.rows(), 90_000);
            prop_assert_eq!(data.columns.dimension(), features);
            prop_assert_eq!(columns(&data), columns(&expected));
        }
    }

    #[test]
    fn no_part_of_a_file_is_too_strange(cut in 0..SMALL.len(), at in 0..SMALL.len(), byte in any::<u8>()) {
        let _ = read(&SMALL.as_bytes()[..cut]);
        let mut changed = SMALL.as_bytes().to_vec();
        changed[at] = byte;
        let _ = read(changed);
    }
}

#[test]
fn predictions_look_only_at_what_they_need() {
    let batches = unlabelled().batches_of(Source::from_bytes(SMALL).unwrap()).unwrap();
    assert_eq!(batches.dimension(), Some(4));
    let mut seen = 0;
    let each = |batch: crate::data::read::Batch| {
        seen += batch.columns.rows();
        assert_eq!((batch.columns.len(), batch.columns.id(0), batch.has_wanted), (1, 2, true));
        Ok::<_, crate::Error>(())
    };
    batches.for_each(&[2, 3], each).unwrap();
    assert_eq!(seen, 2);
}
