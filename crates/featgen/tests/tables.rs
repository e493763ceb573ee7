//! Tables as they come: what their columns are found to be, what inputs they make, and that all ways to the same table lead to the
//! same model.

use std::path::Path;

use featgen::data::read::Reader;
use featgen::data::store::{Conversion, convert};
use featgen::space::spec::Grouping;
use featgen::space::{Inputs, SpaceSpec};
use featgen::synth::{People, Set};
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
    let some = |text: &str| Some(text.to_owned());
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
    People { rows: 1500, ..People::default() }.write(Set::Train, &path).unwrap();
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
        let options = Conversion { memory, shards: None };
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
