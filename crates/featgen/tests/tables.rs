//! Tables as they come: what their columns are found to be, what inputs they make, and that all ways to the same table lead to the
//! same model.

use std::path::Path;

use featgen::data::read::Reader;
use featgen::data::store::{Conversion, convert};
use featgen::space::spec::Grouping;
use featgen::space::{Inputs, SpaceSpec};
use featgen::synth::{Set, Table, TableFormat};
use featgen::table::{Impute, Kind, Options, Recipe};
use featgen::{Dataset, Machine};

/// A file of that content, read.
fn read_with(reader: &Reader, text: &str) -> featgen::Result<Dataset> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    reader.read(file.path())
}

fn labelled() -> Reader {
    Reader::new().label_column("y")
}

fn read(text: &str) -> Dataset {
    read_with(&labelled(), text).unwrap()
}

/// What an error says, without the file.
fn said(reader: &Reader, text: &str) -> String {
    let error = read_with(reader, text).map(|_| ()).unwrap_err().to_string();
    error[error.find(':').unwrap() + 1..].to_owned()
}

/// The inputs with their values in every row.
fn inputs(data: &Dataset) -> Vec<(String, Vec<f64>)> {
    let columns = &*data.columns;
    let values = |id: u64| {
        let mut values = vec![0.0; columns.rows()];
        if let Some(position) = columns.position(id) {
            columns.gather(&[position])[0].add_to(1.0, &mut values);
        }
        values
    };
    data.names.list().iter().zip(0..).map(|(name, id)| (name.clone(), values(id))).collect()
}

fn expect(data: &Dataset, expected: &[(&str, &[f64])]) {
    let expected: Vec<_> =
        expected.iter().map(|(name, values)| ((*name).to_owned(), values.to_vec())).collect();
    assert_eq!(inputs(data), expected);
}

#[test]
fn columns_of_every_kind_become_inputs() {
    let text = "\
# made by hand
id,size,colour,ok,when,who,y
1,1.5,red,TRUE,2026-01-01,ann,a
2,,blue,FALSE,2026-01-02,bob,b
3,2.5,red,true,2026-01-03,cy,a
4,NA,?,false,,dan,b
5,2,blue,F,2026-01-05,eve,a
";
    let data = read(&text.replace(",F,", ",FALSE,"));
    expect(
        &data,
        &[
            ("size", &[1.5, 2.0, 2.5, 2.0, 2.0]),
            ("colour = blue", &[0.0, 1.0, 0.0, 0.0, 1.0]),
            ("colour = red", &[1.0, 0.0, 1.0, 0.0, 0.0]),
            ("colour = missing", &[0.0, 0.0, 0.0, 1.0, 0.0]),
            ("ok", &[1.0, 0.0, 1.0, 0.0, 0.0]),
        ],
    );
    let note: Vec<String> = data.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        note,
        [
            "3 columns are left out: `id` (the number of a row, as it seems; --number takes it in), `when` (dates; --number takes it in), \
          `who` (text, different in every row; --category takes it in)"
        ]
    );
    // Words of two pairs are no yes and no, and here they are different in every row.
    assert!(!read(text).names.list().contains(&"ok".to_owned()));
}

#[test]
fn users_have_the_last_word() {
    let text =
        "id,code,when,who,x,y\n1,1,2026-01-02,ann,5,a\n2,2,1970-01-02,ann,6,b\n3,1,1970-01-03,bob,7,a\n";
    let some = Options::items;
    let options = Options {
        number: some("1, when"),
        category: some("co*,who"),
        ignore: some("5"),
        ..Options::default()
    };
    let data = read_with(&labelled().table(options), text).unwrap();
    expect(
        &data,
        &[
            ("id", &[1.0, 2.0, 3.0]),
            ("code = 1", &[1.0, 0.0, 1.0]),
            ("code = other", &[0.0, 1.0, 0.0]),
            ("when", &[20455.0, 1.0, 2.0]),
            ("who = ann", &[1.0, 1.0, 0.0]),
            ("who = other", &[0.0, 0.0, 1.0]),
        ],
    );
    let wrong =
        |options: Options| read_with(&labelled().table(options), text).map(|_| ()).unwrap_err().to_string();
    let unknown = wrong(Options { category: some("height"), ..Options::default() });
    assert_eq!(unknown, "category: the table has no column `height`");
    let both = wrong(Options { category: some("x"), number: some("x"), ..Options::default() });
    assert_eq!(both, "category: `x` is in two such lists");
    let words = said(&labelled().table(Options { number: some("who"), ..Options::default() }), text);
    assert_eq!(words, "2:4: column 4 (`who`): `ann` is not a number");
}

#[test]
fn numbers_as_people_write_them() {
    let data = read("a;b;c;y\n1,5;1.234,5;3;u\n2;7;4;v\n");
    expect(&data, &[("a", &[1.5, 2.0]), ("b", &[1234.5, 7.0]), ("c", &[3.0, 4.0])]);
    let data = read("a,b,y\n\"1,234\",7,u\n\"12.5\",8,v\n");
    expect(&data, &[("a", &[1234.0, 12.5]), ("b", &[7.0, 8.0])]);
    let data = read("a,b,y\n\"1,234\",7,u\n\"5,678\",8,v\n");
    expect(&data, &[("b", &[7.0, 8.0])]);
    assert!(data.notes[0].to_string().contains("whose comma may be before thousands or decimals"));
}

#[test]
fn columns_that_turn_out_to_be_text_are_read_again() {
    let words = "x\nz\n1\n007\n".repeat(2);
    let rows: String = format!("007\n1.0\n{words}").lines().map(|code| format!("{code},3,u\n")).collect();
    let data = read(&format!("code,b,y\n{rows}"));
    let names: Vec<&str> = data.names.list().iter().map(String::as_str).collect();
    assert_eq!(names, ["code = 007", "code = 1", "code = x", "code = z", "code = other", "b"]);
    assert_eq!(inputs(&data)[0].1, [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    // Nothing was there before.
    let data = read("a,b,y\n,1,u\nNA,2,v\nred,3,u\nred,4,v\n");
    assert_eq!(inputs(&data)[0], ("a = red".to_owned(), vec![0.0, 0.0, 1.0, 1.0]));
}

#[test]
fn mistakes_are_told_with_their_line() {
    let header = "a,b,y\n1,2,u\n3,4,v\n5,6,u\n";
    let stray = said(&labelled(), &format!("{header}\n7,eight,v\n"));
    assert!(
        stray.starts_with(
            "6:2: column 2 (`b`): `eight` is not a number, as 3 others of the column are; --category"
        ),
        "{stray}"
    );
    assert!(
        said(&labelled(), &format!("{header}7,inf,v\n"))
            .starts_with("5:2: column 2 (`b`): `inf` is too large")
    );
    assert_eq!(said(&labelled(), &format!("{header}7,8\n")), "5:3: 2 cells where the header has 3");
    assert_eq!(said(&labelled(), &format!("{header}7,8,NA\n")), "5:3: column 3 (`y`): the label is missing");
    let units = said(&labelled(), "a,b,y\ncm,kg,\n1,2,u\n3,4,v\n");
    assert_eq!(units, "2:3: column 3 (`y`): the label is missing");
    let units = said(&labelled(), "a,b,y\ncm,kg,class\n1,2,u\n3,4,v\n");
    assert!(
        units.ends_with("as all below it are: if this line belongs to the header, take it out"),
        "{units}"
    );
    assert_eq!(said(&labelled(), "a,b,y\na,b,y\n1,2,u\n"), "2:1: the header once more: a table has one");
    assert!(
        said(&labelled(), "id,y\n1,u\n2,v\n")
            .contains("no column is left to learn from: 1 column is left out: `id`")
    );
    assert!(
        said(&labelled(), "a = missing,a,y\n1,1,u\n2,2,u\n3,,u\n4,,v\n5,,u\n6,,v\n7,,u\n")
            .contains("two inputs would be called `a = missing`")
    );
}

#[test]
fn headers_may_come_after_comments() {
    for comments in ["# one, two\n# three\n", "\n#\n", "##x\n#a\tb\n"] {
        expect(&read(&format!("{comments}a,y\n1,u\n2,v\n")), &[("a", &[1.0, 2.0])]);
    }
    // The header of some formats is one.
    expect(&read("## format 4\n#a\ty\n1\tu\n2\tv\n"), &[("a", &[1.0, 2.0])]);
    let stray = said(&labelled(), "# one\n\na,y\n1,u\n2,v\n3,w\nx,u\n");
    assert!(stray.starts_with("7:1: "), "{stray}");
}

#[test]
fn what_is_missing_has_a_value_and_perhaps_an_input() {
    let rows = |missing: usize| -> String {
        let cell = |k: usize| if k < missing { String::new() } else { (k * k).to_string() };
        (0..200).map(|k| format!("{},u\n", cell(k))).collect()
    };
    let text = |missing| format!("a,y\n{}", rows(missing));
    let mean = |from: usize| (from..200).map(|k| (k * k) as f64).sum::<f64>() / (200 - from) as f64;
    let data = read(&text(4));
    assert_eq!((data.names.list(), inputs(&data)[0].1[0]), (&["a".to_owned()][..], mean(4)));
    let data = read(&text(5));
    assert_eq!(data.names.list(), ["a", "a = missing"]);
    assert_eq!((inputs(&data)[0].1[4], inputs(&data)[1].1.iter().sum::<f64>()), (mean(5), 5.0));
    let median = labelled().table(Options { impute: Impute::Median, ..Options::default() });
    let data = read_with(&median, &text(4)).unwrap();
    assert_eq!(inputs(&data)[0].1[3], (101.0 * 101.0 + 102.0 * 102.0) / 2.0);
}

#[test]
fn rare_levels_go_to_other() {
    let cells = ["a", "a", "b", "b", "c", "other", "a", "c"];
    let text: String = cells.iter().map(|cell| format!("{cell},u\n")).collect();
    let data = read(&format!("x,y\n{text}"));
    assert_eq!(data.names.list(), ["x = a", "x = b", "x = c", "x = other"]);
    assert_eq!(inputs(&data)[3].1, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    let few = labelled().table(Options { most_levels: 1, ..Options::default() });
    let data = read_with(&few, &format!("x,y\n{text}")).unwrap();
    assert_eq!(data.names.list(), ["x = a", "x = other"]);
    // A level of that name has the same input.
    let data = read(&format!("x,y\n{text}other,u\n"));
    assert_eq!((data.names.list().len(), inputs(&data)[3].1[8]), (4, 1.0));
}

#[test]
fn plain_numbers_need_no_recipe() {
    let data = read("a,b,y\n1,2,u\n3,4,v\n5,7,u\n");
    assert!(data.recipe.as_ref().is_some_and(Recipe::is_plain));
    assert_eq!((data.columns.nonzeros(), data.notes.len()), (6, 0));
    assert!(!model(&data).to_json().contains("recipe"));
}

fn model(data: &Dataset) -> featgen::Model {
    let inputs = Inputs::new(data);
    let spec = SpaceSpec::named("linear").unwrap();
    let groups = data.recipe.as_ref().and_then(Recipe::groups);
    let spec = groups.map_or_else(
        || spec.clone(),
        |groups| spec.clone().with_groups(Grouping::of_columns(groups)).unwrap(),
    );
    let machine = Machine::new().budget(1).features(4);
    let scale = spec.scale(None, machine.select_in_use().unwrap(), &inputs, None).unwrap();
    let inputs = scale.as_ref().map_or(inputs, |scale| inputs.scaled(scale));
    let space = spec.build(inputs, None).unwrap().space;
    let model = machine.fit(&*space, &data.labels).unwrap();
    // The store does not keep what the column of labels was called.
    featgen::Model { label_column: None, ..model.with_recipe(data.recipe.as_ref()) }
}

fn people(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("people.csv");
    Table { rows: 1500, ..Table::default() }.write(Set::Train, &path, TableFormat::Csv).unwrap();
    path
}

#[test]
fn every_way_to_a_table_leads_to_the_same_model() {
    let folder = tempfile::tempdir().unwrap();
    let csv = people(folder.path());
    let text = std::fs::read_to_string(&csv).unwrap();
    let reader = Reader::new().label_column("income");
    let data = reader.read(&csv).unwrap();
    let first = model(&data);
    assert_eq!((first.count(), first.groups.len() >= 4), (4, true));
    let same = |data: &Dataset, how: &str| assert_eq!(model(data).to_json(), first.to_json(), "{how}");
    // Tabs, for no cell has one.
    let tabs: String = text
        .lines()
        .map(|line| {
            line.replace("\"tech, support\"", "tech; support")
                .replace(',', "\t")
                .replace("tech; support", "\"tech, support\"")
                + "\n"
        })
        .collect();
    same(&read_with(&reader, &tabs).unwrap(), "tabs");
    same(&read_with(&reader, &text.replace('\n', "\r\n")).unwrap(), "other line ends");
    for (memory, name) in [(1 << 30, "one part"), (1 << 18, "many parts")] {
        let store = folder.path().join(format!("{name}.store"));
        let options = Conversion { memory, ..Conversion::default() };
        let made = convert(&reader, &csv, &store, &options, &mut |_| ()).unwrap();
        assert_eq!((made.runs > 0, made.notes.len()), (memory < 1 << 20, 1), "{name}");
        same(&Reader::new().read(&store).unwrap(), name);
    }
}

#[test]
fn a_recipe_reads_tables_in_any_order_of_columns() {
    let folder = tempfile::tempdir().unwrap();
    let data = Reader::new().label_column("income").read(people(folder.path())).unwrap();
    let first = model(&data);
    let recipe = first.recipe.clone().unwrap();
    assert!(
        recipe.columns().len() < data.recipe.as_ref().unwrap().columns().len(),
        "only what is used is kept"
    );
    let again = featgen::Model::from_json(first.to_json().as_bytes(), "test").unwrap();
    assert_eq!(again.recipe.as_ref(), Some(&recipe));
    // Columns from the last to the first, and one more.
    let text =
        std::fs::read_to_string(people(folder.path())).unwrap().replace("\"tech, support\"", "tech; support");
    let turned = |line: &str| {
        let cells: Vec<String> = line
            .split(',')
            .rev()
            .map(|cell| cell.replace(';', ","))
            .map(|cell| format!("\"{cell}\""))
            .collect();
        format!("{},\"extra\"\n", cells.join(","))
    };
    let turned: String = text.lines().map(turned).collect();
    let other = read_with(&Reader::new().require_labels(false).recipe(Some(&recipe)), &turned).unwrap();
    assert_eq!(again.decision(&other).unwrap(), first.decision(&data).unwrap());
    assert!(
        other.notes.is_empty() || other.notes.iter().all(|note| note.to_string().contains("taken as other"))
    );
}

#[test]
fn a_schema_says_what_columns_are() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Reader::new().label_column("income").schema(people(folder.path())).unwrap();
    let kinds: Vec<Kind> = schema.columns.iter().map(|column| column.kind).collect();
    use Kind::{Boolean, Category, Date, Number, Outcome};
    let expected = [
        Number, Category, Number, Category, Number, Category, Category, Category, Boolean, Number, Number,
        Number, Category, Date, Outcome,
    ];
    assert_eq!(kinds, expected);
    assert_eq!(schema.columns[9].range.map(|range| range[0]), Some(0.0));
}

#[test]
fn damaged_recipes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = Reader::new().label_column("income").read(people(folder.path())).unwrap();
    let json = model(&data).to_json();
    let wrong = |from: &str, to: &str| {
        assert!(json.contains(from), "{from}");
        featgen::Model::from_json(json.replacen(from, to, 1).as_bytes(), "m")
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(
        wrong("\"recipe\":{\"version\":1", "\"recipe\":{\"version\":9").contains("the recipe has version 9")
    );
    assert!(
        wrong("[\"divorced\",\"married\"", "[\"married\",\"divorced\"")
            .contains("its levels are not in order")
    );
    assert!(
        wrong("{\"column\":\"marital\",\"category\"", "{\"column\":\"marital\",\"what\"")
            .contains("not a model")
    );
}

/// The same table in formats whose columns have types.
#[cfg(feature = "arrow")]
mod typed {
    use std::fs::File;
    use std::path::PathBuf;
    use std::sync::Arc;

    use arrow_array::builder::StringDictionaryBuilder;
    use arrow_array::types::Int32Type;
    use arrow_array::{
        ArrayRef, BooleanArray, Date32Array, DictionaryArray, Float64Array, Int64Array, RecordBatch,
        RecordBatchIterator, StringArray,
    };
    use arrow_ipc::writer::FileWriter;
    use featgen::table::cells::Dates;
    use parquet::arrow::ArrowWriter;

    use super::*;

    /// The table of people, each column as a program would keep it.
    fn batch(csv: &Path) -> RecordBatch {
        let text = std::fs::read_to_string(csv).unwrap().replace("\"tech, support\"", "tech; support");
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let names = lines.next().unwrap();
        let rows: Vec<Vec<&str>> = lines.collect();
        let column = |(k, name): (usize, &&str)| -> (String, ArrayRef) {
            let cells =
                || rows.iter().map(move |row| Some(row[k]).filter(|cell| !["", "NA", "?"].contains(cell)));
            let array: ArrayRef = match *name {
                "age" | "hours" => {
                    Arc::new(cells().map(|cell| cell.map(|x| x.parse().unwrap())).collect::<Float64Array>())
                }
                "weight" | "years" | "gain" | "loss" => {
                    Arc::new(cells().map(|cell| cell.map(|x| x.parse().unwrap())).collect::<Int64Array>())
                }
                "member" => Arc::new(cells().map(|cell| cell.map(|x| x == "TRUE")).collect::<BooleanArray>()),
                "joined" => Arc::new(
                    cells()
                        .map(|cell| cell.map(|x| Dates::Iso.days(x).unwrap() as i32))
                        .collect::<Date32Array>(),
                ),
                "country" | "occupation" => {
                    let mut builder = StringDictionaryBuilder::<Int32Type>::new();
                    cells().for_each(|cell| builder.append_option(cell.map(|cell| cell.replace(';', ","))));
                    Arc::new(builder.finish())
                }
                _ => Arc::new(cells().collect::<StringArray>()),
            };
            ((*name).to_owned(), array)
        };
        RecordBatch::try_from_iter(names.iter().enumerate().map(column).collect::<Vec<_>>()).unwrap()
    }

    fn parquet(batch: &RecordBatch, path: PathBuf) -> PathBuf {
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch.slice(0, 700)).unwrap();
        writer.flush().unwrap();
        writer.write(&batch.slice(700, batch.num_rows() - 700)).unwrap();
        writer.close().unwrap();
        path
    }

    #[test]
    fn parquet_and_arrow_make_the_model_that_csv_makes() {
        let folder = tempfile::tempdir().unwrap();
        let csv = people(folder.path());
        let batch = batch(&csv);
        let reader = Reader::new().label_column("income");
        for number in [Vec::new(), Options::items("joined")] {
            let reader = reader.clone().table(Options { number, ..Options::default() });
            let first = model(&reader.read(&csv).unwrap()).to_json();
            let path = parquet(&batch, folder.path().join("people.parquet"));
            assert_eq!(model(&reader.read(&path).unwrap()).to_json(), first);
            assert!(Reader::is_table(&path));

            let arrow = folder.path().join("people.arrow");
            let mut writer = FileWriter::try_new(File::create(&arrow).unwrap(), &batch.schema()).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
            assert_eq!(model(&reader.read(&arrow).unwrap()).to_json(), first);

            let parts = [batch.slice(0, 700), batch.slice(700, batch.num_rows() - 700)].map(Ok);
            let parts = RecordBatchIterator::new(parts, batch.schema());
            let given = reader.read_batches(Box::new(parts), "batches").unwrap();
            assert_eq!(model(&given).to_json(), first);

            let store = folder.path().join("parquet.store");
            convert(
                &reader,
                &path,
                &store,
                &Conversion { memory: 1 << 18, ..Conversion::default() },
                &mut |_| (),
            )
            .unwrap();
            assert_eq!(model(&Reader::new().read(&store).unwrap()).to_json(), first);
        }
    }

    #[test]
    fn numbers_that_are_said_to_be_categories_are_categories() {
        let keys = Int64Array::from(vec![Some(0), Some(1), None, Some(1), Some(0), Some(2)]);
        let codes: ArrayRef = Arc::new(Int64Array::from(vec![101, 7, 20]));
        let column: ArrayRef = Arc::new(DictionaryArray::new(
            keys.iter().map(|key| key.map(|key| key as i32)).collect::<arrow_array::Int32Array>(),
            codes,
        ));
        let batch = RecordBatch::try_from_iter([("a,b", column)]).unwrap();
        let read = |options: Options| {
            let batches = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
            let reader = Reader::new().require_labels(false).table(options);
            reader.read_batches(Box::new(batches), "batches").unwrap()
        };
        let names = read(Options::default()).names.list().to_vec();
        assert_eq!(names, ["a,b = 101", "a,b = 7", "a,b = other", "a,b = missing"]);
        let numbers = read(Options { number: vec!["a,b".to_owned()], ..Options::default() });
        assert_eq!(numbers.names.list(), ["a,b"]);
        // A Parquet file has the numbers themselves, and says beside them what they were.
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let written = Reader::new().require_labels(false).read(&path).unwrap();
        assert_eq!(written.names.list(), names);
        assert_eq!(inputs(&written), inputs(&read(Options::default())));
    }

    #[test]
    fn recipes_go_from_one_format_to_another() {
        let folder = tempfile::tempdir().unwrap();
        let csv = people(folder.path());
        let path = parquet(&batch(&csv), folder.path().join("people.parquet"));
        let data = Reader::new().label_column("income").read(&csv).unwrap();
        let fitted = model(&data);
        let reader = Reader::new().require_labels(false).recipe(fitted.recipe.as_ref());
        let expected = fitted.decision(&data).unwrap();
        assert_eq!(fitted.decision(&reader.read(&path).unwrap()).unwrap(), expected);
        let batches = reader.chunk(5000).batches(&path).unwrap();
        let predictor = fitted.predictor(batches.names(), batches.source());
        let mut decisions = Vec::new();
        batches
            .for_each(predictor.inputs(), |batch| {
                decisions.extend(predictor.decision_of(&batch).values);
                Ok::<_, featgen::Error>(())
            })
            .unwrap();
        assert_eq!(decisions, expected);
    }

    #[test]
    fn plain_numbers_are_as_in_csv() {
        let folder = tempfile::tempdir().unwrap();
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("a", Arc::new(Float64Array::from(vec![1.5, 2.0, -3.0, 4.25]))),
            ("b", Arc::new(Int64Array::from(vec![7, 0, 2, 1]))),
            ("y", Arc::new(StringArray::from(vec!["u", "v", "u", "v"]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let path = folder.path().join("plain.parquet");
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let data = labelled().read(&path).unwrap();
        assert!(data.recipe.as_ref().is_some_and(Recipe::is_plain));
        let csv = read("a,b,y\n1.5,7,u\n2.0,0,v\n-3,2,u\n4.25,1,v\n");
        assert_eq!(inputs(&data), inputs(&csv));
        assert_eq!(data.names, csv.names);
    }

    /// Whatever byte is damaged, and wherever a file ends: an error, or data, and nothing else.
    #[test]
    fn damaged_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = parquet(&batch(&people(folder.path())), folder.path().join("people.parquet"));
        let whole = std::fs::read(&path).unwrap();
        let reader = Reader::new().label_column("income");
        let (mut refused, step) = (0, whole.len() / 60);
        for k in 0..60 {
            let mut damaged = whole.clone();
            damaged[k * step + 5] ^= 0xff;
            if k % 3 == 0 {
                damaged.truncate(k * step + 8);
            }
            std::fs::write(&path, &damaged).unwrap();
            if let Err(error) = reader.read(&path) {
                assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
                refused += 1;
            }
        }
        assert!(refused >= 20, "{refused}");
        // Metadata that claim more than there is.
        let end = whole.len() - 8;
        for length in [u32::MAX, 1 << 30, 0, 7] {
            let mut absurd = whole.clone();
            absurd[end..end + 4].copy_from_slice(&length.to_le_bytes());
            std::fs::write(&path, &absurd).unwrap();
            assert!(reader.read(&path).is_err(), "{length}");
        }
    }
}
