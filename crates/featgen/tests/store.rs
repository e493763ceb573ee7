//! Stores give the bits that their source gives, however they were made, and damage is always noticed.

use std::path::{Path, PathBuf};

use featgen::data::read::Reader;
use featgen::data::store::{Conversion, Converted, Store, convert};
use featgen::data::{Bins, Column, Columns, Part};
use featgen::space::{AdditiveSpace, FeatureSpace, Inputs, PolySpace, ProductSpace};
use featgen::{Context, Dataset, LinearSpace, Machine, Model, synth};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

/// Text with every kind of value, columns that are rare, common, and far away.
fn svmlight(rows: usize, seed: u64, value: impl Fn(&mut ChaCha8Rng) -> String) -> String {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut text = String::new();
    for i in 0..rows {
        text += ["-1", "+1", "1"][i % 3];
        let mut id = 0u64;
        for _ in 0..random.random_range(0..12) {
            id += 1 + random.random_range(0..9u64).pow(2);
            text += &format!(" {id}:{}", value(&mut random));
        }
        if i % 17 == 3 {
            text += " 9000000000:1";
        }
        text.push('\n');
    }
    text
}

fn converted(text: &Path, store: &Path, memory: u64, shards: Option<usize>) -> Converted {
    convert(&Reader::new(), text, store, &Conversion { memory, shards, ..Conversion::default() }, &mut |_| ())
        .unwrap()
}

fn columns_of(data: &Dataset) -> Vec<(u64, Column)> {
    let columns = &data.columns;
    (0..columns.len()).map(|k| (columns.id(k), columns.gather(&[k]).remove(0))).collect()
}

fn fitted_in(space: &dyn FeatureSpace, data: &Dataset) -> Model {
    let machine = Machine::new().budget(3).max_rounds(4).tol(0.0).context(&Context::new().threads(2));
    machine.fit(space, &data.labels).unwrap()
}

fn fitted(data: &Dataset) -> Model {
    fitted_in(&LinearSpace::new(data), data)
}

/// The model of each space that reads columns in its own way.
fn models_of(data: &Dataset) -> [String; 4] {
    let inputs = Inputs::new(data);
    let some = || (0..20).map(|k| data.columns.id(k));
    let spaces: [Box<dyn FeatureSpace + '_>; 4] = [
        Box::new(LinearSpace::new(data)),
        Box::new(ProductSpace::new(inputs, 2).unwrap().only(some())),
        Box::new(PolySpace::new(inputs, 0.5, 1.0).unwrap().only(some())),
        Box::new(AdditiveSpace::hik(inputs, 9).unwrap()),
    ];
    spaces.map(|space| fitted_in(&*space, data).to_json())
}

/// All that a storage adds up or counts over each of its columns, to the bit.
fn sums_of(data: &Dataset) -> Vec<u64> {
    let columns = &data.columns;
    let v: Vec<f64> = (0..3 * columns.rows()).map(|i| (i as f64).sin()).collect();
    let mut sums = vec![0.0; 3 * columns.len()];
    columns.dots(0..columns.len(), &v, &mut sums);
    let v = &v[..columns.rows()];
    let bins = Bins::new(1.0, 1.0, 9);
    columns.visit(0..columns.len(), &mut |k, column| {
        assert_eq!(column.len(), columns.filled(k));
        let mut levels = [[0.0; 4]; 10];
        column.histogram(v, &bins, &mut levels);
        sums.extend(levels.as_flattened());
        sums.extend(column.signed_sums(v, |v, x| v * x * x));
        column.for_each(|row, x| sums.extend([k as f64, f64::from(row), x]));
    });
    sums.into_iter().map(f64::to_bits).collect()
}

/// The model of a store is that of its source, for any number of shards and however little memory there was.
#[test]
fn a_store_gives_the_bits_of_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("data.svm");
    let store = folder.path().join("data.store");
    let ones = |_: &mut ChaCha8Rng| "1".to_owned();
    let narrow = |random: &mut ChaCha8Rng| (f32::from(random.random::<u8>()) / 4.0 + 0.25).to_string();
    let wide = |random: &mut ChaCha8Rng| random.random_range(0.1..1.0f64).to_string();
    let whole = |random: &mut ChaCha8Rng| random.random::<u8>().max(1).to_string();
    let mostly_whole = |random: &mut ChaCha8Rng| match random.random_range(0..300) {
        0 => "0.5".to_owned(),
        x => (x % 256 + 1).min(255).to_string(),
    };
    let mixed = |random: &mut ChaCha8Rng| match random.random_range(0..200) {
        0 => random.random_range(0.1..1.0f64).to_string(),
        1..100 => "1".to_owned(),
        _ => "0.5".to_owned(),
    };
    let texts = [
        svmlight(700, 1, ones),
        svmlight(700, 2, narrow),
        svmlight(700, 3, wide),
        svmlight(700, 4, mixed),
        svmlight(700, 5, whole),
        svmlight(700, 6, mostly_whole),
    ];
    for lines in texts {
        std::fs::write(&text, lines).unwrap();
        let source = Dataset::read(&text).unwrap();
        let model = fitted(&source);
        for (memory, shards) in
            [(1 << 30, Some(1)), (1 << 30, Some(3)), (1 << 30, Some(64)), (1 << 30, None), (1, Some(5))]
        {
            let made = converted(&text, &store, memory, shards);
            assert_eq!(made.runs > 1, memory == 1 && made.nonzeros > 4096 * 2, "{made:?}");
            let read = Dataset::read(&store).unwrap();
            assert_eq!(read.columns.dimension(), source.columns.dimension());
            assert_eq!(read.columns.nonzeros(), source.columns.nonzeros());
            assert_eq!(read.labels, source.labels);
            assert_eq!(columns_of(&read), columns_of(&source));
            assert_eq!(fitted(&read).to_json(), model.to_json(), "{memory} {shards:?}");
            if shards == Some(64) {
                assert!(Store::open(&store).unwrap().shards() > 30);
            }
        }
    }
}

/// A store holds columns. From a source that holds rows (a table, an array in C order) it adds scores up in another order:
/// weights are those of the source, bounds may differ in their last digits. From an array in Fortran order all bits are the same.
#[test]
fn a_store_of_rows_differs_from_its_source_in_last_digits_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (n, m) = (300, 40);
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let x: Vec<Vec<f64>> =
        (0..n).map(|_| (0..m).map(|_| random.random_range(-1.0..1.0f64)).collect()).collect();
    let labels: Vec<u8> = x.iter().map(|row| u8::from(row[0] - row[3] + 0.5 * row[7] > 0.1)).collect();
    let by_rows: Vec<f64> = x.concat();
    let by_columns: Vec<f64> = (0..m).flat_map(|j| x.iter().map(move |row| row[j])).collect();
    let array = |order: &str, values: &[f64]| {
        let header = format!("{{'descr': '<f8', 'fortran_order': {order}, 'shape': ({n}, {m}), }}");
        let header = format!("{header:<117}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(values.iter().flat_map(|x| x.to_le_bytes()));
        bytes
    };
    let mut table = (0..m).map(|j| format!("c{j},")).collect::<String>() + "label\n";
    for (row, label) in x.iter().zip(&labels) {
        table += &(row.iter().map(|x| format!("{x},")).collect::<String>() + &format!("{label}\n"));
    }
    std::fs::write(file("c.npy"), array("False", &by_rows)).unwrap();
    std::fs::write(file("f.npy"), array("True", &by_columns)).unwrap();
    std::fs::write(file("data.csv"), table).unwrap();
    std::fs::write(file("labels.txt"), labels.iter().map(|l| format!("{l}\n")).collect::<String>()).unwrap();
    let arrays = || Reader::new().labels_file(file("labels.txt"));
    let sources = [
        ("f.npy", arrays(), true),
        ("c.npy", arrays(), false),
        ("data.csv", Reader::new().label_column("label"), false),
    ];
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * a.abs().max(b.abs());
    for (name, reader, same_bits) in sources {
        let source = reader.read(file(name)).unwrap();
        let conversion = Conversion { memory: 1 << 30, ..Conversion::default() };
        convert(&reader, &file(name), &file("data.store"), &conversion, &mut |_| ()).unwrap();
        let store = Dataset::read(file("data.store")).unwrap();
        let (of_source, of_store) = (fitted(&source), fitted(&store));
        assert!(!same_bits || of_source.to_json() == of_store.to_json(), "{name}");
        assert_eq!(of_source.terms, of_store.terms, "{name}");
        assert_eq!(of_source.bias.one().to_bits(), of_store.bias.one().to_bits(), "{name}");
        for (a, b) in of_source.rounds.iter().zip(&of_store.rounds) {
            assert_eq!((&a.terms, &a.weights), (&b.terms, &b.weights), "{name}");
            assert!(near(a.lower_bound, b.lower_bound), "{name}: {} {}", a.lower_bound, b.lower_bound);
        }
    }
}

/// Row numbers take two bytes if that is enough for the last one, and four if not. All sums and models are those of data in
/// memory, which always take four.
#[test]
fn row_numbers_take_as_many_bytes_as_they_need() {
    let folder = tempfile::tempdir().unwrap();
    let [text, store] = ["data.svm", "data.store"].map(|name| folder.path().join(name));
    let ones: fn(&mut ChaCha8Rng) -> String = |_| "1".to_owned();
    let wide: fn(&mut ChaCha8Rng) -> String = |random| random.random_range(0.1..1.0f64).to_string();
    for (rows, row_bytes) in [(1 << 16, 2), ((1 << 16) + 1, 4)] {
        for value in [ones, wide] {
            std::fs::write(&text, svmlight(rows - 1, 6, value) + "+1 1:1 2:1 9000000000:1\n").unwrap();
            let source = Dataset::read(&text).unwrap();
            let (columns, sums, models) = (columns_of(&source), sums_of(&source), models_of(&source));
            // Once as it is, once from runs that were put aside.
            for memory in [1 << 30, 1] {
                let made = converted(&text, &store, memory, Some(3));
                assert_eq!(made.runs > 1, memory == 1, "{made:?}");
                let opened = Store::open(&store).unwrap();
                assert_eq!(opened.row_bytes(), Some(row_bytes), "{rows} rows");
                let read = opened.into_dataset("store").unwrap();
                assert!(columns_of(&read) == columns, "{rows} rows, memory {memory}");
                assert!(sums_of(&read) == sums, "{rows} rows, memory {memory}");
                assert!(models_of(&read) == models, "{rows} rows, memory {memory}");
            }
        }
    }
}

/// Text most of whose values are not 0 has a value for every row, in memory and in a store, however that is made.
#[test]
fn text_that_is_mostly_full_is_dense() {
    let folder = tempfile::tempdir().unwrap();
    let [text, store] = ["data.svm", "data.store"].map(|name| folder.path().join(name));
    let mut random = ChaCha8Rng::seed_from_u64(8);
    for (part, full) in [(1.0, true), (0.7, true), (0.3, false)] {
        let mut written = String::new();
        for i in 0..900 {
            written += ["-1", "+1"][i % 2];
            // The third never occurs, and neither does what names would say of others.
            for id in (1..=40).filter(|&id| id != 3) {
                if random.random::<f64>() < part {
                    written += &format!(" {id}:{}", f64::from(random.random_range(1..2048)) / 2048.0);
                }
            }
            written.push('\n');
        }
        std::fs::write(&text, written).unwrap();
        let source = Dataset::read(&text).unwrap();
        let is_dense = matches!(source.columns.gather(&[0])[..], [Column::Dense(_)]);
        assert_eq!(is_dense, full, "{part}");
        for memory in [1 << 30, 1] {
            // Chunks of a few kilobytes make many parts.
            let options = Conversion { memory, ..Conversion::default() };
            let made = convert(&Reader::new().chunk(4096), &text, &store, &options, &mut |_| ()).unwrap();
            assert_eq!(made.runs > 1, memory == 1, "{made:?}");
            assert_eq!(Store::open(&store).unwrap().is_dense(), full);
            let read = Dataset::read(&store).unwrap();
            assert_eq!(columns_of(&read), columns_of(&source));
            assert!(sums_of(&read) == sums_of(&source));
            assert!(models_of(&read) == models_of(&source));
        }
    }
}

/// Runs beyond what can be read at once are merged in several passes.
#[test]
fn many_runs_are_merged_in_passes() {
    let folder = tempfile::tempdir().unwrap();
    let [text, store] = ["data.svm", "data.store"].map(|name| folder.path().join(name));
    let wide = |random: &mut ChaCha8Rng| random.random_range(0.1..1.0f64).to_string();
    std::fs::write(&text, svmlight(9000, 5, wide)).unwrap();
    // Chunks of a few kilobytes make many parts.
    let reader = Reader::new().chunk(4096);
    let made =
        convert(&reader, &text, &store, &Conversion { memory: 1, ..Conversion::default() }, &mut |_| ())
            .unwrap();
    assert!(made.runs > 8, "{made:?}");
    let (source, read) = (Dataset::read(&text).unwrap(), Dataset::read(&store).unwrap());
    assert_eq!(columns_of(&read), columns_of(&source));
    assert_eq!(read.labels, source.labels);
}

fn dense_files(folder: &Path) -> Vec<PathBuf> {
    let made =
        synth::Linear { rows: 60, features: 90, relevant: 5, ..Default::default() }.generate().unwrap();
    let names = ["c.npy", "f.npy", "data.csv"].map(|name| folder.join(name));
    let value = |i: usize, j: usize| match &made.train.columns.gather(&[j])[0] {
        Column::Dense(values) => values[i] as f32,
        Column::Sparse { .. } => unreachable!("made dense"),
    };
    for (path, fortran) in names[..2].iter().zip([false, true]) {
        let order = if fortran { "True" } else { "False" };
        let mut header = format!("{{'descr': '<f4', 'fortran_order': {order}, 'shape': (60, 90), }}");
        header += &" ".repeat(127 - 10 - header.len());
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        for k in 0..60 * 90 {
            let (i, j) = if fortran { (k % 60, k / 60) } else { (k / 90, k % 90) };
            bytes.extend(value(i, j).to_le_bytes());
        }
        std::fs::write(path, bytes).unwrap();
    }
    let mut csv = (0..90).map(|j| format!("f{j},")).collect::<String>() + "label\n";
    for i in 0..60 {
        csv += &(0..90).map(|j| format!("{},", value(i, j))).collect::<String>();
        csv += &format!("{}\n", made.train.labels.classes()[made.train.labels.codes()[i] as usize]);
    }
    std::fs::write(&names[2], csv).unwrap();
    let labels = made.train.labels.codes().iter().map(|code| format!("{code}\n")).collect::<String>();
    std::fs::write(folder.join("labels.txt"), labels).unwrap();
    names.to_vec()
}

#[test]
fn dense_data_convert_too() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    for path in dense_files(folder.path()) {
        let csv = path.extension().is_some_and(|extension| extension == "csv");
        let reader = if csv {
            Reader::new().label_column("label")
        } else {
            Reader::new().labels_file(folder.path().join("labels.txt"))
        };
        let source = reader.read(&path).unwrap();
        for (memory, shards) in [(1 << 30, None), (1 << 30, Some(7)), (1, Some(3))] {
            convert(
                &reader,
                &path,
                &store,
                &Conversion { memory, shards, ..Conversion::default() },
                &mut |_| (),
            )
            .unwrap();
            let read = Dataset::read(&store).unwrap();
            assert_eq!(columns_of(&read), columns_of(&source));
            assert_eq!(read.labels, source.labels);
            assert_eq!(read.names.list(), source.names.list());
            assert_eq!(read.names.identify(), source.names.identify());
            // A store is by columns: the bits are those of any data by columns.
            let selected =
                |data| fitted(data).selected().iter().map(|term| term.name.clone()).collect::<Vec<_>>();
            assert_eq!(selected(&read), selected(&source));
        }
    }
}

#[test]
fn names_and_weights_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("data.svm"), "1 1:1 3:2\n0 2:1\n1 1:3\n").unwrap();
    std::fs::write(path("names"), "a\nb\nc\nd\n").unwrap();
    std::fs::write(path("weights"), "1\n2\n0.5\n").unwrap();
    let reader = Reader::new().names_file(path("names")).weights_file(path("weights"));
    convert(&reader, &path("data.svm"), &path("store"), &Conversion::default(), &mut |_| ()).unwrap();
    let read = Dataset::read(path("store")).unwrap();
    assert_eq!(read.labels.weights(), Some(&[1.0, 2.0, 0.5][..]));
    assert_eq!(read.names.list(), ["a", "b", "c", "d"]);
    assert_eq!(read.columns.dimension(), 4);
    assert!(convert(&reader, &path("store"), &path("again"), &Conversion::default(), &mut |_| ()).is_err());
}

/// However a store is cut into parts, they have its columns. What is damaged is noticed by the part that holds it, and by no other.
#[test]
fn parts_of_a_store_have_its_columns_and_read_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let [text, sparse, dense] =
        ["data.svm", "sparse.store", "dense.store"].map(|name| folder.path().join(name));
    std::fs::write(&text, svmlight(40, 3, |random| random.random_range(1..9).to_string())).unwrap();
    converted(&text, &sparse, 1 << 20, Some(5));
    let array = &dense_files(folder.path())[1];
    let reader = Reader::new().labels_file(folder.path().join("labels.txt"));
    let conversion = Conversion { memory: 1 << 20, shards: Some(7), ..Conversion::default() };
    convert(&reader, array, &dense, &conversion, &mut |_| ()).unwrap();
    for path in [sparse, dense] {
        let whole = Dataset::read(&path).unwrap();
        let all = columns_of(&whole);
        for cuts in
            [vec![0, u64::MAX], vec![0, 0, 7, 8, 60, 61, u64::MAX], vec![0, 45, 9_000_000_000, u64::MAX]]
        {
            let mut found = Vec::new();
            for ids in cuts.windows(2).map(|cut| cut[0]..cut[1]) {
                let store = Store::open_for(&path, ids.clone()).unwrap();
                let positions = store.positions(ids.clone());
                let part = Part::of(Box::new(store), positions).unwrap();
                let columns = (0..part.len()).map(|k| (part.id(k), part.gather(&[k]).remove(0)));
                found.extend(columns.inspect(|(id, _)| assert!(ids.contains(id))));
            }
            assert_eq!(found, all, "{cuts:?}");
        }
        let Column::Dense(values) = &all[0].1 else { continue };
        let mut bytes = std::fs::read(&path).unwrap();
        let first = (values[0] as f32).to_le_bytes();
        let at = bytes.windows(4).position(|four| four == first).unwrap();
        bytes[at] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert!(Store::open_for(&path, 0..1).is_err());
        assert!(Store::open_for(&path, 80..90).is_ok());
    }
}

/// Whatever byte is changed, and wherever the file ends: an error, and never other data.
#[test]
fn damage_is_always_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let [text, store] = ["data.svm", "data.store"].map(|name| folder.path().join(name));
    let wide = |random: &mut ChaCha8Rng| random.random_range(0.1..1.0f64).to_string();
    std::fs::write(&text, svmlight(12, 7, wide)).unwrap();
    converted(&text, &store, 1 << 20, Some(2));
    let whole = std::fs::read(&store).unwrap();
    let refused = |bytes: &[u8], what: &str| {
        std::fs::write(&store, bytes).unwrap();
        let error = Store::open(&store).map(drop).expect_err(what).to_string();
        assert!(error.contains("store"), "{what}: {error}");
        // Parts that make the whole notice it together.
        let parts = [0..9, 9..40, 40..u64::MAX];
        assert!(parts.into_iter().any(|ids| Store::open_for(&store, ids).is_err()), "{what}");
    };
    for at in 0..whole.len() {
        for bit in [0x01, 0x80] {
            let mut damaged = whole.clone();
            damaged[at] ^= bit;
            refused(&damaged, &format!("byte {at} ^ {bit}"));
        }
        refused(&whole[..at], &format!("cut at {at}"));
    }
    let longer: Vec<u8> = whole.iter().copied().chain([0]).collect();
    refused(&longer, "a byte too many");
}

/// A store with another index under the right checksum: the work of a writer that is mistaken.
fn with_index(store: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let (before, trailer) = store.split_at(store.len() - 32);
    let offset = u64::from_le_bytes(trailer[..8].try_into().unwrap());
    let (arrays, index) = before.split_at(offset as usize);
    let mut index = serde_json::from_slice(index).unwrap();
    change(&mut index);
    let index = serde_json::to_vec(&index).unwrap();
    let numbers = [offset, index.len() as u64, xxh3_64(&index)].map(u64::to_le_bytes);
    [arrays, &index, numbers.as_flattened(), &trailer[24..]].concat()
}

#[test]
fn a_store_that_is_wrong_about_its_row_numbers_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [text, store] = ["data.svm", "data.store"].map(|name| folder.path().join(name));
    let opened = |whole: &[u8], field: &str, value: Value| {
        std::fs::write(&store, with_index(whole, |index| index[field] = value)).unwrap();
        Store::open(&store).map(drop).map_err(|error| error.to_string())
    };
    for (rows, right, wrong, reason) in [
        (100, 2, 4, "its parts do not fit together"),
        (65_537, 4, 2, "2 bytes are too few for the numbers of 65537 rows"),
    ] {
        std::fs::write(&text, svmlight(rows, 8, |_| "1".to_owned())).unwrap();
        converted(&text, &store, 1 << 30, Some(2));
        let whole = std::fs::read(&store).unwrap();
        assert_eq!(opened(&whole, "row_bytes", json!(right)), Ok(()));
        let refused = |field: &str, value: Value, reason: &str| {
            let error = opened(&whole, field, value).unwrap_err();
            assert!(error.contains("a strange store") && error.contains(reason), "{error}");
        };
        refused("row_bytes", json!(wrong), reason);
        refused("row_bytes", json!(3), "numbers of 3 bytes, neither 2 nor 4");
        refused("row_bytes", json!(258), "258");
        refused("row_bytes", Value::Null, "null");
        if right == 2 {
            refused("rows", json!(65_537), "too few");
            // No row is the last one any more.
            refused("rows", json!(rows - 1), "do not fit together");
        }
    }
}

/// What is under the right checksums is still looked at: an empty array far outside, two classes of one name.
#[test]
fn forged_indices_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [text, store] = ["data.svm", "data.store"].map(|name| folder.path().join(name));
    std::fs::write(&text, svmlight(30, 9, |_| "1".to_owned())).unwrap();
    converted(&text, &store, 1 << 30, None);
    let whole = std::fs::read(&store).unwrap();
    let refused = |change: &dyn Fn(&mut Value), reason: &str| {
        std::fs::write(&store, with_index(&whole, change)).unwrap();
        let error = Dataset::read(&store).map(drop).expect_err(reason).to_string();
        assert!(error.contains(reason), "{error}");
    };
    let far = json!({ "offset": 1u64 << 62, "length": 0, "checksum": xxh3_64(&[]) });
    refused(&|index| index["shards"][0]["values"] = far.clone(), "incomplete or damaged");
    refused(&|index| index["names"] = far.clone(), "incomplete or damaged");
    refused(&|index| index["classes"] = json!(["1", "1"]), "labels or names do not fit the data");
    for rows in [1u64 << 60, 1 << 33] {
        refused(&|index| index["rows"] = json!(rows), "a strange store");
    }
}
