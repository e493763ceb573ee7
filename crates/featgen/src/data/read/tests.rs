//! What every reader promises, checked through [`Reader`] on bytes in memory and on files.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;
use crate::data::Column;

fn read_with(reader: &Reader, bytes: impl Into<Vec<u8>>) -> Result<Dataset> {
    reader.read_source(Source::from_bytes(bytes)?)
}

fn read(bytes: impl Into<Vec<u8>>) -> Result<Dataset> {
    read_with(&Reader::new().context(&Context::new().threads(1)), bytes)
}

fn fault(bytes: impl Into<Vec<u8>>) -> String {
    read(bytes).map(|_| "no error").unwrap_err().to_string()
}

/// Chunks of a line each, of a few lines, and one chunk for all; on one thread and on several.
pub(super) fn readers() -> Vec<Reader> {
    let mut readers = Vec::new();
    for chunk in [1, 30, 200, CHUNK] {
        for threads in [1, 2, 3] {
            readers.push(Reader { chunk, ..Reader::new().context(&Context::new().threads(threads)) });
        }
    }
    readers
}

/// Columns by id: rows and values.
pub(super) fn columns(data: &Dataset) -> BTreeMap<u64, Vec<(u32, f64)>> {
    let positions: Vec<usize> = (0..data.columns.len()).collect();
    let entries = |column: Column| match column {
        Column::Dense(values) => (0..).zip(values).collect(),
        Column::Sparse { rows, values } => rows.into_iter().zip(values).collect(),
    };
    let gathered = data.columns.gather(&positions).into_iter().map(entries);
    positions.iter().map(|&p| data.columns.id(p)).zip(gathered).collect()
}

pub(super) fn labels(data: &Dataset) -> Vec<&str> {
    data.labels.codes().iter().map(|&code| data.labels.classes()[code as usize].as_str()).collect()
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

pub(super) fn file(bytes: impl AsRef<[u8]>) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes.as_ref()).unwrap();
    file
}

mod svmlight {
    use super::*;

    const SMALL: &str = "+1 1:0.5 3:2\n-1 2:1e-3\n";

    fn check_small(data: &Dataset) {
        let expected = [(0, vec![(0, 0.5)]), (1, vec![(1, 1e-3)]), (2, vec![(0, 2.0)])];
        assert_eq!(columns(data), BTreeMap::from(expected));
        assert_eq!(labels(data), ["+1", "-1"]);
        assert_eq!((data.columns.rows(), data.columns.dimension()), (2, 3));
    }

    #[test]
    fn every_way_of_writing_the_same() {
        let ways = [
            SMALL,
            "+1 1:0.5 3:2\r\n-1 2:1e-3\r\n",
            "+1 1:0.5 3:2\n-1 2:1e-3",
            "\u{feff}+1 1:0.5 3:2\n-1 2:1e-3",
            "# a comment\n\n  +1\t1:.5  3:2.0 # and 7:7\n   \n-1 qid:4 2:0.001#\n\n",
            "+1 1:5e-1 2:0 3:+2\n-1 01:0.0 2:0.1e-2 3:-0\n",
        ];
        for text in ways {
            for reader in readers() {
                check_small(&read_with(&reader, text).unwrap());
            }
        }
    }

    #[test]
    fn compressed_in_every_way() {
        let (first, second) = SMALL.as_bytes().split_at(15);
        let members = [gzip(first), gzip(second)].concat();
        let frames = [zstd(first), zstd(second)].concat();
        for bytes in
            [gzip(SMALL.as_bytes()), zstd(SMALL.as_bytes()), members, frames, zstd(&gzip(SMALL.as_bytes()))]
        {
            check_small(&read(bytes.as_slice()).unwrap());
            let data = file(&bytes);
            check_small(&Dataset::read(data.path()).unwrap());
        }
    }

    #[test]
    fn damaged_compression_is_an_error() {
        let text: String = (0..2000).map(|i| format!("{} {}:{}\n", i % 2, i * 7 % 97 + 1, i * i)).collect();
        for whole in [gzip(text.as_bytes()), zstd(text.as_bytes())] {
            for length in [5, 20, whole.len() / 2, whole.len() - 1] {
                let reason = fault(&whole[..length]);
                assert!(
                    reason.starts_with("test: the compressed data are damaged or incomplete"),
                    "{reason}"
                );
            }
        }
        assert!(fault([gzip(b"1 1:1\n").as_slice(), b"garbage"].concat()).contains("damaged"));
    }

    #[test]
    fn faults_have_exact_places() {
        let cases = [
            ("1 1:1\n1 0:1\n", "2:3: index 0: indices count from 1"),
            ("1 1:1\n1   5:1 5:2\n", "2:9: index 5 stands twice in a line"),
            ("1 1:1\n\n# x\n1 7:1 5:2", "4:7: index 5 after 7: indices must increase"),
            ("1 1:1\n1 18446744073709551616:2\n", "2:3: index `18446744073709551616` does not fit 64 bits"),
            ("1 1:1\n1 2\n", "2:3: `2` where index:value is expected"),
            ("1 1:1\n1 2: 3\n", "2:3: feature 2 has no value"),
            ("1 1:1\n1 :2\n", "2:3: `` is not a feature's index: a whole number from 1"),
            ("1 1:1\n1 a:2\n", "2:3: `a` is not a feature's index: a whole number from 1"),
            ("1 1:1\n1 -1:2\n", "2:3: `-1` is not a feature's index: a whole number from 1"),
            ("1 1:1\n1 1:x\n", "2:3: the value `x` of feature 1 is not a number"),
            ("1 1:1\n1 1:1,5\n", "2:3: the value `1,5` of feature 1 is not a number"),
            ("1 1:1\n1 1:1e999\n", "2:3: the value `1e999` of feature 1 is too large: values must be finite"),
            ("1 1:1\r\n1\t1:1\t2:1:1\r\n", "2:7: the value `1:1` of feature 2 is not a number"),
            ("1 1:1\n 2:1\n", "2:2: no label: the line begins with `2:1`"),
            ("1 1:1\n\u{1b}[31m 2:1\n", "2:1: the label `\\u{1b}[31m` is not text"),
        ];
        for (text, expected) in cases {
            for reader in readers() {
                let found = read_with(&reader, text).map(|_| "none").unwrap_err().to_string();
                assert_eq!(found, format!("test:{expected}"), "chunk {}, {:?}", reader.chunk, reader.context);
            }
        }
        let nan = "test:1:3: the value `nan` of feature 1 is not a number that can be used";
        assert!(fault("1 1:nan\n").starts_with(nan));
        assert!(fault("1 1:inf\n").contains("finite"));
    }

    #[test]
    fn the_first_fault_is_reported() {
        let good = "1 1:1 2:0.5\n".repeat(300);
        let text = format!("{good}1 x\n{good}1 0:0\n");
        for reader in readers() {
            let found = read_with(&reader, text.as_str()).map(|_| "none").unwrap_err().to_string();
            assert_eq!(found, "test:301:3: `x` where index:value is expected");
        }
    }

    #[test]
    fn long_tokens_are_shortened() {
        let reason = fault(format!("1 {}\n", "x".repeat(1000)));
        assert_eq!(reason, format!("test:1:3: `{}...` where index:value is expected", "x".repeat(40)));
    }

    #[test]
    fn nothing_to_read_is_an_error() {
        for text in ["", "\n\n", "# only this\n", " \t\r\n"] {
            assert_eq!(fault(text), "test: no instances", "{text:?}");
            assert_eq!(fault(gzip(text.as_bytes())), "test: no instances", "{text:?}");
        }
        assert!(fault(b"\xff\xfe1\0".as_slice()).contains("UTF-16"));
        assert!(
            Dataset::read("no/such/file")
                .map(|_| "none")
                .unwrap_err()
                .to_string()
                .starts_with("no/such/file: ")
        );
    }

    #[test]
    fn rows_without_features_are_rows() {
        let data = read("a\nb\na\n").unwrap();
        assert_eq!((data.columns.rows(), data.columns.len(), data.columns.dimension()), (3, 0, 0));
        assert_eq!(labels(&data), ["a", "b", "a"]);
    }

    #[test]
    fn predictions_need_no_labels() {
        let text = "1:0.5 3:2\n2:1e-3\n";
        for reader in readers() {
            let data = read_with(&reader.clone().require_labels(false), text).unwrap();
            assert_eq!(columns(&data), columns(&read(SMALL).unwrap()));
            assert!(data.labels.is_empty());
            assert_eq!(
                labels(&read_with(&reader.clone().require_labels(false), SMALL).unwrap()),
                ["+1", "-1"]
            );
            let mixed = |text: &str| {
                read_with(&reader.clone().require_labels(false), text)
                    .map(|_| "none")
                    .unwrap_err()
                    .to_string()
            };
            assert_eq!(mixed("1:1\n+1 2:1\n"), "test:2:1: a label, `+1`, where the first line has none");
            assert_eq!(mixed("1 1:1\n2:1\n"), "test:2:1: no label: the line begins with `2:1`");
        }
        assert_eq!(fault(text), "test:1:1: no label: the line begins with `1:0.5`");
    }

    #[test]
    fn many_different_labels_are_numbers() {
        // The same label twice, before and after it is known that these are no classes.
        let values: Vec<f64> = (0..1500).map(|i| f64::from(i * 11 % 1400) / 8.0).collect();
        let text: String = values.iter().map(|y| format!("{y} 1:1\n")).collect();
        for reader in readers() {
            let labels = read_with(&reader, text.as_str()).unwrap().labels;
            assert!(!labels.has_classes());
            assert_eq!(*labels.numbers().unwrap(), values);
        }
        let words: String = (0..1500).map(|i| format!("w{i} 1:1\n")).collect();
        for reader in readers() {
            let found = read_with(&reader, words.as_str()).map(|_| "none").unwrap_err().to_string();
            let expected = "test:1001:1: more than 1000 different labels, of which some are not numbers";
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn a_third_label_has_a_line() {
        let text = "# comment\n+1 1:1\n\n-1 1:2\n1 1:3\n2 1:1\n";
        for reader in readers() {
            let said = read_with(&reader, text).unwrap().labels.two_classes().unwrap_err().to_string();
            assert!(said.starts_with("test:6:1: a third label, 2, after +1 and -1 "), "{said}");
        }
    }

    #[test]
    fn values_take_no_more_than_they_need() {
        let stored = |text: &str| {
            let mut source = Source::from_bytes(text).unwrap();
            source.format(false).unwrap();
            let options = super::super::svmlight::Options { labelled: true, dimension: 0, chunk: 8 };
            super::super::svmlight::read(source, options).unwrap().0
        };
        use crate::data::{Sparse, Values};
        let sparse = |values| Sparse::new(2, 2, vec![0, 1], vec![0, 1, 3], vec![0, 0, 1], values).unwrap();
        assert_eq!(stored("1 1:1 2:1\n2 2:1.0"), sparse(Values::Ones));
        assert_eq!(stored("1 1:255 2:1\n2 2:3"), sparse(Values::U8(vec![255, 1, 3])));
        assert_eq!(stored("1 1:256 2:1\n2 2:-3"), sparse(Values::F32(vec![256.0, 1.0, -3.0])));
        assert_eq!(stored("1 1:1 2:1\n2 2:0.5"), sparse(Values::F32(vec![1.0, 1.0, 0.5])));
        assert_eq!(stored("1 1:1 2:0.5\n2 2:0.1"), sparse(Values::F64(vec![1.0, 0.5, 0.1])));
    }

    #[test]
    fn more_rows_than_a_run_can_number() {
        let text: String =
            (0..200_000).map(|i| if i % 70_000 == 1 { "1 1:1 9:2\n" } else { "2\n" }).collect();
        let expected = [
            (0, vec![(1, 1.0), (70_001, 1.0), (140_001, 1.0)]),
            (8, vec![(1, 2.0), (70_001, 2.0), (140_001, 2.0)]),
        ];
        for chunk in [1 << 16, 1 << 22] {
            let reader = Reader { chunk, ..Reader::new() };
            assert_eq!(
                columns(&read_with(&reader, text.as_str()).unwrap()),
                BTreeMap::from(expected.clone())
            );
        }
    }

    #[test]
    fn ids_that_appear_later_and_later() {
        let rows = 3000u64;
        let text: String =
            (0..rows).map(|i| format!("1 1:1 {}:1 {}:1\n", 2 + i * 70_000, 3 + i * 70_000)).collect();
        for reader in readers() {
            let data = read_with(&reader, text.as_str()).unwrap();
            assert_eq!(data.columns.len() as u64, 1 + 2 * rows);
            let found = columns(&data);
            assert!((0..rows).all(|i| found[&(1 + i * 70_000)] == [(i as u32, 1.0)]));
        }
    }

    fn values() -> impl Strategy<Value = f64> {
        prop_oneof![Just(1.0), (-8i32..8).prop_map(|x| f64::from(x) / 4.0), -1e6..1e6, any::<f64>()]
            .prop_filter("finite, stored", |x| x.is_finite() && *x != 0.0)
    }

    fn indices() -> impl Strategy<Value = u64> {
        prop_oneof![1u64..20, 1u64..100_000, 1u64..1 << 40, 1u64..=u64::MAX]
    }

    fn data() -> impl Strategy<Value = Vec<(&'static str, BTreeMap<u64, f64>)>> {
        let label = prop_oneof![Just("+1"), Just("-1"), Just("1"), Just("cat")];
        let row = proptest::collection::btree_map(indices(), values(), 0..12);
        proptest::collection::vec((label, row), 1..40)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_written_is_read(rows in data(), chunk in 1usize..400, threads in 1usize..4) {
            let mut text = String::new();
            let mut expected: BTreeMap<u64, Vec<(u32, f64)>> = BTreeMap::new();
            for (i, (label, row)) in rows.iter().enumerate() {
                text.push_str(label);
                for (index, value) in row {
                    text.push_str(&if i % 2 == 0 { format!(" {index}:{value}") } else { format!("\t{index}:{value:e} ") });
                    expected.entry(index - 1).or_default().push((i as u32, *value));
                }
                text.push_str(if i % 3 == 0 { "\r\n" } else { "\n" });
            }
            let data = read_with(&Reader { chunk, ..Reader::new().context(&Context::new().threads(threads)) }, text).unwrap();
            prop_assert_eq!(data.columns.dimension(), expected.keys().last().map_or(0, |id| id + 1));
            prop_assert_eq!(columns(&data), expected);
            prop_assert_eq!(data.labels, Labels::from_text(rows.iter().map(|(label, _)| *label)));
        }

        #[test]
        fn any_bytes_give_the_same_answer_in_any_chunks(
            bytes in proptest::collection::vec(prop_oneof![
                Just(b' '), Just(b'\n'), Just(b':'), Just(b'1'), Just(b'2'), Just(b'.'), Just(b'#'), Just(b'-'), any::<u8>()
            ], 0..200),
            chunk in 1usize..100,
        ) {
            let answer = |reader: &Reader| {
                let text = [b"1 1:1\n", bytes.as_slice()].concat();
                read_with(reader, text).map(|data| (columns(&data), data.labels)).map_err(|e| e.to_string())
            };
            let whole = answer(&Reader::new().context(&Context::new().threads(1)));
            prop_assert_eq!(&whole, &answer(&Reader { chunk, ..Reader::new().context(&Context::new().threads(2)) }));
        }
    }
}

mod csv {
    use super::*;

    fn check(reader: Reader, text: &str) -> Dataset {
        read_with(&reader, text).unwrap()
    }

    fn csv_fault(label: &str, text: &str) -> String {
        read_with(&Reader::new().label_column(label), text).map(|_| "none").unwrap_err().to_string()
    }

    #[test]
    fn tables_in_every_dialect() {
        let ways = [
            "a,y,b\n1,yes,2\n3,no,-4.5e0\n",
            "a;y;b\r\n1;yes;2\r\n3;no;-4.5",
            "a\ty\tb\n1\tyes\t2\n\n3\tno\t-4.5\n",
            "\u{feff}\"a\",\"y\", b\n \n\"1\",yes ,2\n3,\"no\n\",-4.5\n",
        ];
        for text in ways {
            for label in ["y", "2"] {
                let data = check(Reader::new().label_column(label), text);
                assert_eq!(
                    columns(&data),
                    BTreeMap::from([(0, vec![(0, 1.0), (1, 3.0)]), (1, vec![(0, 2.0), (1, -4.5)])])
                );
                assert_eq!(labels(&data), ["yes", "no"]);
                assert_eq!(data.names, Names::identifying(vec!["a".into(), "b".into()]).beside_label("y"));
            }
        }
    }

    #[test]
    fn a_name_comes_before_a_number() {
        let data = check(Reader::new().label_column("1"), "2,1\n7,x\n8,y\n");
        assert_eq!((labels(&data), data.names.list()), (vec!["x", "y"], &["2".to_string()][..]));
    }

    #[test]
    fn faults_name_the_column() {
        let header = "a,y,b\n1,yes,2\n";
        let cases = [
            (
                "4,no,5\n4,no,x\n",
                "4:3: column 3 (`b`): `x` is not a number, as 2 others of the column are; --category takes the column as it is, --ignore leaves it out",
            ),
            ("3,,4\n", "3:2: column 2 (`y`): the label is missing"),
            ("3,no\n", "3:3: 2 cells where the header has 3"),
            ("\n3,no,4,5\n", "4:4: 4 cells where the header has 3"),
        ];
        for (row, expected) in cases {
            let text = format!("{header}{row}");
            for text in [text.replace('\n', "\r\n"), text.trim_end().to_owned(), text] {
                assert_eq!(csv_fault("y", &text), format!("test:{expected}"));
            }
        }
        let quoted = "a,\"y\nz\",b\n1,\"u\nv\",2\n3,w,2\n4,w,x\n";
        assert!(csv_fault("2", quoted).starts_with("test:6:3: column 3 (`b`): `x` is not a number"));
        assert_eq!(csv_fault("y", "a,y,a\n1,2,3\n"), "test:1:3: two columns are called `a`");
        assert_eq!(csv_fault("z", header), "test:1:1: no column `z`; the columns are a, y, b");
        assert_eq!(csv_fault("y", "a,y,b\n"), "test: no instances: only a header");
        assert!(
            fault(header).ends_with("say which column holds the labels (--label); the columns are a, y, b")
        );
    }

    #[test]
    fn labels_may_be_absent_or_elsewhere() {
        let absent = check(Reader::new().label_column("y").require_labels(false), "a,b\n1,2\n");
        assert_eq!((absent.columns.len(), absent.labels.len()), (2, 0));
        let names = file("p\nq\n");
        let elsewhere = Reader::new().labels_file(names.path());
        assert_eq!(labels(&check(elsewhere.clone(), "a,b\n1,2\n3,4\n")), ["p", "q"]);
        assert!(read_with(&elsewhere.label_column("a"), "a,b\n1,2\n3,4\n").is_err());
        let header = read_with(&Reader::new().names_file(names.path()).label_column("a"), "a,b\n1,2\n");
        assert_eq!(
            header.map(|_| "none").unwrap_err().to_string(),
            "names: a table has its names in its header"
        );
    }

    #[test]
    fn compressed_tables_and_tables_of_one_column() {
        let data = read_with(&Reader::new().label_column("y"), zstd(b"a,y\n1,2\n")).unwrap();
        assert_eq!(columns(&data), BTreeMap::from([(0, vec![(0, 1.0)])]));
        assert_eq!(check(Reader::new().label_column("y"), "y\n1\n2\n").columns.len(), 0);
    }
}

mod npy {
    use super::*;

    fn array(version: u8, descr: &str, fortran: bool, shape: &str, values: &[u8]) -> Vec<u8> {
        let order = if fortran { "True" } else { "False" };
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
        while !(header.len() + 11).is_multiple_of(16) {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = [b"\x93NUMPY".as_slice(), &[version, 0]].concat();
        let size = (header.len() as u32).to_le_bytes();
        bytes.extend_from_slice(&size[..if version == 1 { 2 } else { 4 }]);
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(values);
        bytes
    }

    fn bytes<T: bytemuck::NoUninit>(values: &[T]) -> &[u8] {
        bytemuck::cast_slice(values)
    }

    fn unlabelled() -> Reader {
        Reader::new().require_labels(false)
    }

    #[test]
    fn both_orders_both_precisions_mapped_or_not() {
        let by_rows = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let by_columns = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
        let expected =
            [(0, vec![(0, 1.0), (1, 4.0)]), (1, vec![(0, 2.0), (1, 5.0)]), (2, vec![(0, 3.0), (1, 6.0)])];
        for (fortran, values) in [(false, by_rows), (true, by_columns)] {
            for version in 1..=3 {
                let narrow = values.map(|x| x as f32);
                for (descr, values) in [("<f8", bytes(&values)), ("<f4", bytes(&narrow))] {
                    let array = array(version, descr, fortran, "(2, 3)", values);
                    let mapped = file(&array);
                    for data in [
                        unlabelled().read(mapped.path()).unwrap(),
                        read_with(&unlabelled(), array.clone()).unwrap(),
                        read_with(&unlabelled(), gzip(&array)).unwrap(),
                    ] {
                        assert_eq!(columns(&data), BTreeMap::from(expected.clone()));
                        assert_eq!(data.columns.rows(), 2);
                    }
                }
            }
        }
    }

    #[test]
    fn every_prefix_is_refused() {
        let whole = array(1, "<f8", false, "(2, 2)", bytes(&[1.0, 2.0, 3.0, 4.0]));
        for length in 0..whole.len() {
            assert!(read_with(&unlabelled(), &whole[..length]).is_err(), "{length} bytes");
            assert!(unlabelled().read(file(&whole[..length]).path()).is_err(), "{length} bytes");
        }
        let short = file(&whole[..whole.len() - 1]);
        let reason = unlabelled().read(short.path()).map(|_| "none").unwrap_err().to_string();
        assert!(reason.ends_with("the file is cut short: 3 values where the header says 4"), "{reason}");
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        let values = bytes(&[1.0f64, 2.0]);
        let refused =
            |array: Vec<u8>| read_with(&unlabelled(), array).map(|_| "none").unwrap_err().to_string();
        let cases = [
            (array(1, ">f8", false, "(1, 2)", values), "big-endian values (>f8)"),
            (array(1, "<i8", false, "(1, 2)", values), "values of type `<i8`: f4 or f8 are needed"),
            (array(1, "<f8", false, "(2,)", values), "shape (2): two dimensions"),
            (array(1, "<f8", false, "(1, 2, 1)", values), "shape (1, 2, 1): two dimensions"),
            (array(1, "<f8", false, "(0, 2)", values), "no instances"),
            (array(1, "<f8", false, "(4294967296, 4294967296)", values), "too large"),
            (array(1, "<f8", false, "(100000000000, 20)", values), "cut short: 2 values"),
            (array(1, "<f8", false, "(-1, 2)", values), "cannot be understood"),
            (array(9, "<f8", false, "(1, 2)", values), "version 9"),
            (array(1, "<f8'}", false, "(1, 2)", values), "cannot be understood"),
            (array(2, &"x".repeat(1 << 17), false, "(1, 2)", values), "too long"),
        ];
        for (array, expected) in cases {
            let reason = refused(array);
            assert!(reason.contains(expected), "{reason}, not {expected}");
        }
        assert!(fault(array(1, "<f8", false, "(1, 2)", values)).contains("--labels"));
    }

    #[test]
    fn labels_of_every_kind() {
        let matrix = array(1, "<f8", false, "(3, 1)", bytes(&[1.0, 2.0, 3.0]));
        let labelled =
            |labels: &[u8]| read_with(&Reader::new().labels_file(file(labels).path()), matrix.clone());
        let texts: [&[u8]; 4] =
            [b"a\nb\na\n", b"a\r\nb\r\na", &gzip(b"a\nb\na\n"), &zstd(b" a \nb\na\n\n\n")];
        for text in texts {
            assert_eq!(super::labels(&labelled(text).unwrap()), ["a", "b", "a"]);
        }
        let arrays = [
            array(1, "<i8", false, "(3,)", bytes(&[1i64, 0, 1])),
            array(1, "<i4", false, "(3,)", bytes(&[1i32, 0, 1])),
            array(1, "|i1", false, "(3,)", &[1, 0, 1]),
            array(1, "|u1", false, "(3,)", &[1, 0, 1]),
            array(1, "|b1", false, "(3,)", &[1, 0, 1]),
            array(1, "<f4", false, "(3,)", bytes(&[1.0f32, 0.0, 1.0])),
            array(1, "<f8", false, "(3,)", bytes(&[1.0, 0.0, 1.0])),
        ];
        for array in arrays {
            assert_eq!(super::labels(&labelled(&array).unwrap()), ["1", "0", "1"]);
        }
        let refused = |labels: &[u8]| labelled(labels).map(|_| "none").unwrap_err().to_string();
        assert!(refused(b"a\nb\n").ends_with(": 2 labels for 3 instances"));
        assert!(refused(b"a\n\nb\n").ends_with(":2:1: an empty line where a label is expected"));
        assert!(refused(b"a\n\xff\nb\n").ends_with(":2:1: not text in UTF-8"));
        assert!(
            refused(&array(1, "<f8", false, "(3,)", bytes(&[1.0, f64::NAN, 0.0])))
                .ends_with("label 2 is not a number")
        );
        assert!(
            refused(&array(1, "<f8", false, "(3, 1)", bytes(&[1.0, 2.0, 0.0]))).contains("one dimension")
        );
    }
}

#[test]
fn weights_and_names_come_from_files() {
    let text = "1 1:1\n2 3:1\n";
    let (weights, names) = (file("0.5\n2\n"), file(gzip(b"one\ntwo\nthree\nfour\n")));
    let data = read_with(&Reader::new().weights_file(weights.path()).names_file(names.path()), text).unwrap();
    assert_eq!(data.labels.weights(), Some([0.5, 2.0].as_slice()));
    assert_eq!((data.columns.dimension(), data.names.show(2)), (4, "three".to_owned()));

    let weighted = |weights: &str, text: &str| {
        let file = file(weights);
        let reader = Reader::new().require_labels(false).weights_file(file.path());
        read_with(&reader, text).map(|_| "none").unwrap_err().to_string()
    };
    assert!(weighted("1\n", text).ends_with(": 1 weights for 2 instances"));
    assert!(weighted("1\n-2\n", text).ends_with(":2:1: `-2` is not a weight: a finite number of at least 0"));
    assert!(
        weighted("1\ninf\n", text).ends_with(":2:1: `inf` is not a weight: a finite number of at least 0")
    );
    assert_eq!(weighted("1\n", "1:1\n"), "weights: instances without labels cannot be weighted");

    let few = file("one\ntwo\n");
    let reason =
        read_with(&Reader::new().names_file(few.path()), text).map(|_| "none").unwrap_err().to_string();
    assert!(reason.ends_with(": 2 names for 3 features"), "{reason}");
}

#[test]
fn labels_in_a_file_replace_those_of_the_data() {
    let given = file("x\ny\n");
    let reader = Reader::new().labels_file(given.path());
    for text in ["1 1:1\n2 3:1\n", "1:1\n3:1\n"] {
        assert_eq!(labels(&read_with(&reader, text).unwrap()), ["x", "y"]);
    }
}

mod batches {
    use super::*;

    /// What the batches of a source say together: the wanted columns by id, labels, and how many batches there were.
    type Together = (BTreeMap<u64, Vec<(u32, f64)>>, Vec<String>, usize);

    fn together(reader: &Reader, source: Source, wanted: &[u64]) -> Result<Together> {
        let (mut all, mut spelled, mut rows, mut count) = (BTreeMap::new(), Vec::new(), 0, 0);
        reader.batches_of(source)?.for_each(wanted, |batch| {
            for &id in wanted {
                let column: &mut Vec<_> = all.entry(id).or_default();
                let Some(position) = batch.columns.position(id) else { continue };
                batch.columns.gather(&[position])[0].each_nonzero(|row, x| column.push((rows + row, x)));
            }
            rows += batch.columns.rows() as u32;
            let Batch { labels, .. } = batch;
            spelled.extend(labels.codes().iter().map(|&code| labels.classes()[code as usize].clone()));
            count += 1;
            Ok::<_, Error>(())
        })?;
        Ok((all, spelled, count))
    }

    fn check(reader: &Reader, open: impl Fn() -> Source, wanted: &[u64], several: bool) {
        let whole = reader.read_source(open()).unwrap();
        let held = columns(&whole);
        let nonzero = |id: &u64| {
            let column = held.get(id).cloned().unwrap_or_default();
            (*id, column.into_iter().filter(|(_, x)| *x != 0.0).collect())
        };
        let (all, spelled, count) = together(reader, open(), wanted).unwrap();
        assert_eq!(all, wanted.iter().map(nonzero).collect());
        assert_eq!(spelled, labels(&whole));
        assert_eq!(count > 1, several);
    }

    #[test]
    fn together_are_the_whole() {
        let value = |i: usize, j: usize| (i * 31 + j * 17) % 7;
        let line = |i: usize| {
            let entries = (1..9).map(|j| format!(" {}:{}", j * j, value(i, j))).collect::<String>();
            format!("{}{entries}{}", i % 2, if i.is_multiple_of(5) { "\n\n# comment\n" } else { "\n" })
        };
        let text: String = (0..500).map(line).collect();
        let row = |i: usize| (1..9).map(|j| format!("{},", value(i, j))).collect::<String>();
        let table: String = (0..500).map(|i| format!("{}{}\n", row(i), i % 2)).collect();
        let table = format!("a,b,c,d,e,f,g,h,y\n{table}");
        for reader in readers() {
            let several = reader.chunk < CHUNK;
            for bytes in [text.clone().into_bytes(), gzip(text.as_bytes()), zstd(text.as_bytes())] {
                let source = || Source::from_bytes(bytes.as_slice()).unwrap();
                check(&reader, source, &[0, 3, 35, 1000], several);
                check(&reader, source, &[], several);
            }
            let source = || Source::from_bytes(table.as_str()).unwrap();
            check(&reader.clone().label_column("y"), source, &[1, 7], several);
        }
    }

    #[test]
    fn arrays_in_every_layout() {
        let bytes: Vec<u8> = (0..600u32).flat_map(|k| (k as f32 / 7.0).to_le_bytes()).collect();
        let given = file((0..100).map(|i| format!("{}\n", i % 3)).collect::<String>());
        for order in ["False", "True"] {
            let header = format!("{{'descr': '<f4', 'fortran_order': {order}, 'shape': (100, 6), }}");
            let header = format!("{header:<117}\n").into_bytes();
            let array = [b"\x93NUMPY\x01\x00\x76\x00".to_vec(), header, bytes.clone()].concat();
            let reader = Reader { chunk: 50, labels_file: Some(given.path().to_owned()), ..Reader::new() };
            let plain = file(&array);
            check(&reader, || Source::open(plain.path()).unwrap(), &[0, 5, 9], true);
            let packed = file(gzip(&array));
            check(&reader, || Source::open(packed.path()).unwrap(), &[0, 5], order == "False");
        }
    }

    #[test]
    fn faults_are_where_they_are_in_the_whole() {
        let good = "1 1:1 2:1\n\n-1 2:1\n".repeat(50);
        let table = format!("a,y\n{}", "1,x\n\n2,z\n".repeat(50));
        for reader in readers() {
            let said = |reader: &Reader, text: &str| {
                let source = || Source::from_bytes(text).unwrap();
                let whole = reader.read_source(source()).map(|_| ()).unwrap_err().to_string();
                // Where what columns are is found out, more is said of a cell that does not fit.
                let parts = together(reader, source(), &[0, 1]).unwrap_err().to_string();
                assert!(whole.starts_with(&parts), "{whole}, {parts}");
                whole
            };
            assert!(said(&reader, &format!("{good}1 2:x\n{good}")).starts_with("test:151:3: "));
            assert!(said(&reader, &format!("{good}1 3:1 1:1\n")).starts_with("test:151:7: "));
            assert_eq!(said(&reader, "# nothing\n"), "test: no instances");
            let reader = reader.label_column("y");
            assert!(said(&reader, &format!("{table}x,z\n")).starts_with("test:152:1: "));
            assert_eq!(said(&reader, "a,y\n"), "test: no instances: only a header");
        }
    }

    #[test]
    fn rows_before_a_mistake_are_handed_on() {
        let good = "1 1:1 2:1\n\n-1 2:1\n".repeat(50);
        let table = format!("a,y\n{}", "1,x\n\n2,z\n".repeat(50));
        let many: String = (0..1000).map(|k| format!("{k} 1:1\n")).collect();
        let broken = truncated_gzip(&good.repeat(200));
        for reader in readers() {
            let before = |reader: &Reader, bytes: &[u8]| {
                let mut rows = 0;
                let batches = reader.batches_of(Source::from_bytes(bytes).unwrap()).unwrap();
                let end = batches.for_each(&[0], |batch| {
                    assert_eq!(batch.first, rows);
                    assert!(batch.labels.len() == batch.columns.rows());
                    rows += batch.columns.rows();
                    Ok::<_, Error>(())
                });
                assert!(end.is_err());
                rows
            };
            assert_eq!(before(&reader, format!("{good}1 2:x\n{good}").as_bytes()), 100);
            assert_eq!(before(&reader, format!("{good}1 2:1 3:1 1:1\n").as_bytes()), 100);
            // One label too many, and other mistakes behind it.
            assert_eq!(before(&reader, format!("{many}0 1:1\nnew 1:1\nnewer x\n").as_bytes()), 1001);
            assert!((1..=20_000).contains(&before(&reader, &broken)));
            let reader = reader.label_column("y");
            assert_eq!(before(&reader, format!("{table}x,z\n{table}").as_bytes()), 100);
            assert_eq!(before(&reader, format!("{table}1,z\n1\n").as_bytes()), 101);
        }
    }

    /// Compressed text that ends too early.
    fn truncated_gzip(text: &str) -> Vec<u8> {
        let mut bytes = gzip(text.as_bytes());
        bytes.truncate(bytes.len() - 12);
        bytes
    }

    #[test]
    fn cells_that_are_not_wanted_are_not_looked_at() {
        let table = "a,y,b,c\n1,no,junk,2\n3,yes,,4\n";
        for reader in readers() {
            for (label, wanted, first) in [(Some("y"), [0, 2], [1.0, 2.0]), (None, [0, 3], [1.0, 2.0])] {
                let reader =
                    label.map_or(reader.clone().require_labels(false), |y| reader.clone().label_column(y));
                let batches = reader.batches_of(Source::from_bytes(table).unwrap()).unwrap();
                let (mut rows, mut values) = (0, Vec::new());
                let ids = wanted;
                batches
                    .for_each(&[wanted[1], wanted[0], 99], |batch| {
                        let columns = &*batch.columns;
                        assert_eq!(
                            (columns.len(), columns.dimension()),
                            (2, if label.is_some() { 3 } else { 4 })
                        );
                        assert!(batch.has_wanted && columns.position(1).is_none());
                        let column =
                            |id| columns.gather(&[columns.position(id).unwrap()])[0].entries().next();
                        values.extend(ids.map(column).map(|entry| entry.unwrap().1));
                        rows += columns.rows();
                        Ok::<_, Error>(())
                    })
                    .unwrap();
                assert_eq!(rows, 2);
                assert_eq!(values[..2], first);
            }
        }
    }

    #[test]
    fn labels_of_a_file_must_be_as_many() {
        let text = "1:1\n".repeat(20);
        for (count, said) in [(7, "7 labels for at least "), (30, "more than 20 labels for 20 instances")] {
            let given = file("1\n".repeat(count));
            let reader = Reader { chunk: 8, ..Reader::new().require_labels(false).labels_file(given.path()) };
            let error = together(&reader, Source::from_bytes(text.as_str()).unwrap(), &[0]).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}

mod limits {
    use super::*;

    /// So many MiB of a text over and over, compressed twice.
    fn bomb(head: &[u8], repeated: &[u8], size: usize) -> Vec<u8> {
        let text = [head, &repeated.repeat((size << 20) / repeated.len())].concat();
        zstd(&zstd(&text))
    }

    #[test]
    fn what_comes_out_is_bounded_by_what_went_in() {
        let said = fault(bomb(b"1 1:1\n", b"-1\n", 70));
        assert!(said.contains("compressed bytes make more than 64 MiB"), "{said}");
        let said = fault(bomb(b"1 1:", b"1", 40));
        assert!(said.contains("compressed bytes make a line of more than 32 MiB"), "{said}");
        let table = bomb(b"a,y\n", b"1", 40);
        let said = read_with(&Reader::new().label_column("y"), table).map(drop).unwrap_err().to_string();
        assert!(said.contains("compressed bytes make a line of more than 32 MiB"), "{said}");
        let names = file(bomb(b"", b"x\n", 10));
        let said = read_with(&Reader::new().names_file(names.path()), "1 1:1\n2 1:2\n");
        let said = said.map(drop).unwrap_err().to_string();
        assert!(said.contains("compressed bytes make more than 8 MiB"), "{said}");
    }

    /// Frames that hold nothing take time without end, though nothing comes out.
    #[test]
    fn layers_within_are_bounded_too() {
        let empty = zstd(b"");
        let said = fault(zstd(&empty.repeat((70 << 20) / empty.len())));
        assert!(said.contains("compressed bytes make more than 64 MiB"), "{said}");
    }

    #[test]
    fn large_files_may_have_long_lines() {
        // Hardly compressible: 40 MiB of a line that is not much shorter in the file.
        let mut state = 1u64;
        let mut line = b"1".to_vec();
        for index in 1u64.. {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            line.extend(format!(" {index}:0.{}", state >> 11).bytes());
            if line.len() > 40 << 20 {
                break;
            }
        }
        line.extend(b"\n-1 1:1\n");
        assert_eq!(read(zstd(&line)).unwrap().columns.rows(), 2);
    }

    #[test]
    fn only_as_many_names_are_read_as_needed() {
        let header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1), }";
        let header = [header.as_slice(), &[b' '; 58], b"\n"].concat();
        let array = [b"\x93NUMPY\x01\x00".as_slice(), &[header.len() as u8, 0], &header, &[0; 16]].concat();
        let names = file(bomb(b"", b"x\n", 7));
        let reader = Reader::new().require_labels(false).names_file(names.path());
        let said = read_with(&reader, array).map(drop).unwrap_err().to_string();
        assert!(said.ends_with(": more than 1 names for 1 features"), "{said}");
    }

    #[test]
    fn windows_of_zstd_are_bounded() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(28).unwrap();
        encoder.write_all(SMALL_TEXT).unwrap();
        let said = fault(encoder.finish().unwrap());
        assert!(said.contains("zstd with a window of more than 128 MiB"), "{said}");
    }

    const SMALL_TEXT: &[u8] = b"1 1:1\n-1 2:1\n";
}
