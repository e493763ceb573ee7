//! Bad and odd inputs, one a line: what the command is given, how it ends, and what it says.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use common::{featgen, two_classes};

/// `content` is the file `in` and `args` are given to the command. `says` is what standard error begins with if the exit
/// code is 1 (`…` stands for anything), and holds otherwise. The file `out` may only appear where the command succeeds.
struct Case {
    name: &'static str,
    content: Vec<u8>,
    args: &'static str,
    code: i32,
    says: &'static str,
}

fn case(
    name: &'static str,
    content: impl Into<Vec<u8>>,
    args: &'static str,
    code: i32,
    says: &'static str,
) -> Case {
    Case { name, content: content.into(), args, code, says }
}

const TRAIN: &str = "train in -o out";
const CSV: &str = "train in --label y -o out";
const NPY: &str = "train in --labels labels -o out";
const PREDICT: &str = "predict in good -o out";
const GROUPS: &str = "train good --groups in -o out";
const TREE: &str = "train good --groups in --tree -o out";

#[test]
#[rustfmt::skip] // one case, one line
fn text() {
    check(&[
        case("empty", "", TRAIN, 1, "in: no instances"),
        case("only comments", "# one\n# two\n", TRAIN, 1, "in: no instances"),
        case("blank lines", "\n\n  \n", TRAIN, 1, "in: no instances"),
        case("no label", "1:2 2:3\n", TRAIN, 1, "in:1:1: no label: the line begins with `1:2`"),
        case("one class", "1 1:2\n1 1:3\n", TRAIN, 1, "in: all instances are of one class, 1"),
        case("three classes", "1 1:2\n2 1:3\n3 1:4\n", TRAIN, 1, "in:3:1: a third label, 3, after 1 and 2"),
        case("nan", "1 1:2\n-1 1:nan\n", TRAIN, 1, "in:2:4: the value `nan` of feature 1"),
        case("infinity", "1 1:2\n-1 1:-inf\n", TRAIN, 1, "in:2:4: the value `-inf` of feature 1 is too large"),
        case("overflow", "1 1:2\n-1 1:1e999\n", TRAIN, 1, "in:2:4: the value `1e999` of feature 1 is too large"),
        case("index 0", "1 0:2\n-1 1:3\n", TRAIN, 1, "in:1:3: index 0: indices count from 1"),
        case("negative index", "1 -4:2\n-1 1:3\n", TRAIN, 1, "in:1:3: `-4` is not a feature's index"),
        case("decreasing index", "1 2:2 1:3\n-1 1:3\n", TRAIN, 1, "in:1:7: index 1 after 2"),
        case("duplicate index", "1 2:2 2:3\n-1 1:3\n", TRAIN, 1, "in:1:7: index 2 stands twice"),
        case("index beyond 64 bits", "1 18446744073709551617:2\n-1 1:3\n", TRAIN, 1, "in:1:3: index `18446744073709551617` does not fit"),
        case("missing colon", "1 2\n-1 1:3\n", TRAIN, 1, "in:1:3: `2` where index:value is expected"),
        case("missing value", "1 2:\n-1 1:3\n", TRAIN, 1, "in:1:3: feature 2 has no value"),
        case("junk value", "1 2:abc\n-1 1:3\n", TRAIN, 1, "in:1:3: the value `abc` of feature 2 is not a number"),
        case("junk after value", "1 2:3x\n-1 1:3\n", TRAIN, 1, "in:1:3: the value `3x` of feature 2"),
        case("binary junk", junk(4096), TRAIN, 1, "in:1:1: "),
        case("zero bytes", vec![0u8; 100], TRAIN, 1, "in:1:1: "),
        case("long line of words", "x ".repeat(5 << 20), TRAIN, 1, "in:1:3: `x` where index:value"),
        case("long word", "x".repeat(10 << 20), TRAIN, 1, "in: all instances are of one class, xxx"),
        case("truncated gzip", truncated(gzip(&two_classes(500))), TRAIN, 1, "in: the compressed data are damaged"),
        case("truncated zstd", truncated(zstd::encode_all(two_classes(500).as_bytes(), 3).unwrap()), TRAIN, 1, "in: the compressed data are damaged"),
        case("one instance", "1 1:2\n", TRAIN, 1, "in: all instances are of one class"),
        case("values of 1e300", "1 1:1e300 2:1\n-1 1:-1e300 2:-1\n", TRAIN, 1, "in: feature 1: its values are too large"),
    ]);
}

#[test]
#[rustfmt::skip] // one case, one line
fn tables_and_arrays() {
    let header = "a,b,y\n";
    let rows = "1,2,yes\n3,4,no\n";
    check(&[
        case("ragged", format!("{header}1,2,yes\n1,no\n"), CSV, 1, "in:3:"),
        case("unknown label column", format!("a,b,z\n{rows}"), CSV, 1, "in:1:1: no column `y`; the columns are a, b, z"),
        case("no label column named", format!("{header}{rows}"), TRAIN, 1, "in:1:1: a table: say which column"),
        case("text cell", format!("{header}{rows}1,x,no\n"), CSV, 1, "in:4:2: column 2 (`b`): `x` is not a number"),
        case("empty cell", format!("{header}{rows}1,,no\n"), CSV, 0, ""),
        case("nan cell", format!("{header}{rows}1,nan,no\n"), CSV, 0, ""),
        case("empty cell for a model that knows no gaps", format!("{header}{rows}"), "train in --label y --test gap -o out", 1, "gap:3:2: column 2 (`b`): the value is missing, and no other is known"),
        case("duplicate header", format!("a,a,y\n{rows}"), CSV, 1, "in:1:2: two columns are called `a`"),
        case("only a header", header, CSV, 1, "in: no instances"),
        case("open quote", format!("{header}{rows}1,\"2,no\n"), CSV, 1, "in:4:3: 2 cells"),
        case("truncated array", truncated(npy("<f8", "(20, 20)", &[0; 3200])), NPY, 1, "in: "),
        case("truncated header", npy("<f8", "(2, 2)", &[])[..20].to_vec(), NPY, 1, "in: the header of the array is cut short"),
        case("wrong type", npy("|O", "(2, 2)", &[0; 32]), NPY, 1, "in: values of type `|O`"),
        case("complex type", npy("<c16", "(2, 2)", &[0; 64]), NPY, 1, "in: values of type `<c16`"),
        case("one dimension", npy("<f8", "(4,)", &[0; 32]), NPY, 1, "in: an array of shape (4)"),
        case("three dimensions", npy("<f8", "(1, 2, 2)", &[0; 32]), NPY, 1, "in: an array of shape (1, 2, 2)"),
        case("gigantic shape", npy("<f8", "(4294967296, 4294967296)", &[0; 32]), NPY, 1, "in: a shape of (4294967296, 4294967296) is too large"),
        case("too many labels", npy("<f8", "(1, 2)", &[0; 16]), NPY, 1, "labels: more than 1 labels for 1 instances"),
        case("array without labels", npy("<f8", "(2, 2)", &[0; 32]), TRAIN, 1, "in: an array has no labels"),
        case("nan in an array", npy("<f8", "(2, 2)", &[0xff; 32]), NPY, 1, "in: row 1, feature 1: NaN is not a finite number"),
    ]);
}

#[test]
#[rustfmt::skip] // one case, one line
fn models() {
    let folder = workplace();
    let whole = fs::read(folder.path().join("model")).unwrap();
    let text = String::from_utf8(whole.clone()).unwrap();
    let other_version = text.replace("\"version\": 1", "\"version\": 99");
    let term_missing = text.replace("\"terms\": [\n", "\"terms\": [\n 7,\n");
    check(&[
        case("other version", other_version, PREDICT, 1, "in: the model has version 99"),
        case("damaged rounds", term_missing, PREDICT, 1, "in:…: not a model: "),
        case("empty model", "", PREDICT, 1, "in:1:1: not a model: "),
        case("one byte", &whole[..1], PREDICT, 1, "in:1:1: "),
        case("half a model", &whole[..whole.len() / 2], PREDICT, 1, "in:…: not a model: "),
        case("all but the end", &whole[..whole.len() - 3], PREDICT, 1, "in:…: not a model: "),
        case("other JSON", "{\"a\": [1, 2]}", PREDICT, 1, "in: not a featgen model"),
        case("JSON that is no object", "[1, 2]", PREDICT, 1, "in:1:2: not a model: "),
        case("data as a model", two_classes(4), PREDICT, 1, "in:1:1: not a model: "),
        case("junk as a model", junk(999), "inspect in", 1, "in:1:1: not a model: "),
        case("no model", "", "predict nowhere good", 1, "nowhere: No such file"),
        case("model as data", whole, "predict model in -o out", 1, "in:2:3: no label: "),
        case("not on the path", "", "predict model good --features 0", 2, "--features: the model's path has no point with at most 0: the fewest are 6"),
        case("no probabilities", "", "predict model good --output-kind probability", 2, "--output-kind: probabilities take a model trained with --loss logistic"),
    ]);
}

#[test]
#[rustfmt::skip] // one case, one line
fn usage_and_files() {
    check(&[
        case("missing file", "", "train nowhere -o out", 1, "nowhere: No such file"),
        case("folder as data", "", "train . -o out", 1, ".: Is a directory"),
        case("full device", two_classes(20), "train in -o /dev/full", 1, "/dev/full: No space left"),
        case("full device for predictions", two_classes(20), "predict model in -o /dev/full", 1, "/dev/full: No space left"),
        case("missing folder", two_classes(20), "train in -o no/out", 1, "no/out: there is no folder no"),
        case("output is a folder", two_classes(20), "train in -o .", 1, ".: is a directory"),
        case("output below a file", two_classes(20), "train in -o good/out", 1, "good/out: Not a directory"),
        case("too few labels", two_classes(20), "train in --labels labels -o out", 1, "labels: 2 labels for 20 instances"),
        case("missing labels", two_classes(20), "train in --labels nowhere -o out", 1, "nowhere: No such file"),
        case("too few names", two_classes(20), "train in --names two -o out", 1, "two: 2 names for 6 features"),
        case("too few weights", two_classes(20), "train in --weights two -o out", 1, "two: 2 weights for 20 instances"),
        case("negative weights", "a 1:1\nb 1:2\n", "train in --weights negative -o out", 1, "negative:1:1: `-1` is not a weight"),
        case("bad test data", "1 x\n", "train good --test in -o out", 1, "in:1:3: `x` where index:value"),
        case("budget 0", two_classes(20), "train in -B 0 -o out", 2, "--budget: must be at least 1"),
        case("cost 0", two_classes(20), "train in -C 0 -o out", 2, "--cost: must be a finite number above 0, not 0"),
        case("cost below 0", two_classes(20), "train in -C -1 -o out", 2, "--cost: "),
        case("cost nan", two_classes(20), "train in -C nan -o out", 2, "--cost: must be a finite number above 0, not NaN"),
        case("cost beyond numbers", two_classes(20), "train in -C 1e308 -o out", 2, "--cost: errors would cost more than can be computed with"),
        case("cost beyond squares", two_classes(20), "train in -C 1e200 --features 3 -o out", 2, "--cost: errors would cost more than can be computed with"),
        case("debias beyond numbers", two_classes(20), "train in --debias 1e308 -o out", 2, "--debias: errors would cost more"),
        case("cost is a word", two_classes(20), "train in -C ten -o out", 2, "--cost"),
        case("gap below 0", two_classes(20), "train in --gap -1 -o out", 2, "--gap: "),
        case("weight of an unknown class", two_classes(20), "train in --weight 5=2 -o out", 2, "--weight: no class is called 5: the classes are -1 and +1"),
        case("weight below 0", two_classes(20), "train in --weight 1=-2 -o out", 2, "--weight: "),
        case("weight without a number", two_classes(20), "train in --weight 1 -o out", 2, "LABEL=X"),
        case("balanced and more", two_classes(20), "train in --weight balanced --weight 1=2", 2, "--weight: "),
        case("inner rule of another solver", two_classes(20), "train in --inner-decrease 0.1", 2, "--inner-decrease: "),
        case("unknown solver", two_classes(20), "train in --solver magic", 2, "--solver"),
        case("degree 0", two_classes(20), "train in --space products --degree 0", 2, "--degree: must be a whole number within 1 and 16, not 0"),
        case("products of large values", "a 1:1\nb 1:2\n", "train in --space products", 1, "in: row 2, feature 1: 2 is not within 0 and 1"),
        case("products of negative values", "a 1:1\nb 1:1 2:-0.5\n", "train in --space products", 1, "in: row 2, feature 2: -0.5 is not within 0 and 1, as products of several features need; scale the values, or leave the feature out"),
        case("products of an array with nan", npy("<f8", "(2, 2)", &[0xff; 32]), "train in --labels labels --space products", 1, "in: row 1, feature 1: NaN is not within 0 and 1"),
        case("pairs of an array with nan", npy("<f8", "(2, 2)", &[0xff; 32]), "train in --labels labels --space poly2", 1, "in: row 1, feature 1: NaN is not a finite number"),
        case("curves of an array with nan", npy("<f8", "(2, 2)", &[0xff; 32]), "train in --labels labels --space gaussian", 1, "in: row 1, feature 1: NaN is not a finite number"),
        case("predicting from nan", npy("<f8", "(2, 6)", &[0xff; 96]), "predict model in -o out", 1, "in: row 1, feature 1: NaN is not a finite number"),
        case("degree too large", two_classes(20), "train in --space products --degree 17", 2, "--degree: must be a whole number within 1 and 16, not 17"),
        case("negative degree", two_classes(20), "train in --space products --degree -1", 2, "--degree: must be a whole number within 1 and 16, not -1"),
        case("gamma nan", two_classes(20), "train in --space poly2 --gamma nan", 2, "--gamma: must be a finite number above 0, not nan"),
        case("constant infinite", two_classes(20), "train in --space poly2 --coef0 inf", 2, "--coef0: must be a finite number of at least 0, not inf"),
        case("too many levels", two_classes(20), "train in --space hik --levels 65536", 2, "--levels: must be a whole number within 2 and 65535, not 65536"),
        case("negative width", two_classes(20), "train in --space gaussian --sigma -1", 2, "--sigma: must be a finite number above 0, not -1"),
        case("width nan", two_classes(20), "train in --space gaussian --sigma nan", 2, "--sigma: must be a finite number above 0, not nan"),
        case("infinite power", two_classes(20), "train in --space intersection --power inf", 2, "--power: must be a finite number above 0, not inf"),
        case("pairs of large values", "1 1:1e100 2:1\n-1 1:-1e100 2:-1\n", "train in --space poly2", 1, "in: feature 1: its values are too large to compute with; scale it down"),
        case("negative gamma", two_classes(20), "train in --space poly2 --gamma -1", 2, "--gamma: must be a finite number above 0, not -1"),
        case("negative constant", two_classes(20), "train in --space poly2 --coef0 -1", 2, "--coef0: "),
        case("one level", two_classes(20), "train in --space hik --levels 1", 2, "--levels: must be a whole number within 2 and 65535, not 1"),
        case("no width", two_classes(20), "train in --space gaussian --sigma 0", 2, "--sigma: must be a finite number above 0, not 0"),
        case("no power", two_classes(20), "train in --space intersection --power 0", 2, "--power: "),
        case("negative values for hik", "a 1:1\nb 1:-2\n", "train in --space hik", 1, "in: row 2, feature 1: -2: hik takes no negative values"),
        case("an option of another space", two_classes(20), "train in --gamma 2", 2, "--gamma: only the space poly2 has this"),
        case("levels of products", two_classes(20), "train in --space products --levels 9", 2, "--levels: only the spaces hik and intersection have this"),
        case("groups of products", two_classes(20), "train in --space poly2 --groups in", 2, "--groups: "),
        case("only a feature that is not there", two_classes(20), "train in --space poly2 --only in", 1, "in:1:1: "),
        case("unknown space", two_classes(20), "train in --space magic", 2, "possible values: linear"),
        case("unknown option", two_classes(20), "train in --frobnicate", 2, "--frobnicate"),
        case("unknown command", "", "frobnicate", 2, "frobnicate"),
        case("missing argument", "", "train", 2, "<DATA>"),
        case("missing value of an option", "", "train in -C", 2, "--cost"),
        case("two times standard input", "", "train - --test -", 2, "--test: "),
        case("quiet and verbose", "", "train in -q -v", 2, "--verbose"),
        case("synthetic rows", "", "synth linear -o out --rows 0", 2, "--rows: "),
        case("synthetic density", "", "synth linear -o out --density 1.5", 2, "--density: "),
        case("synthetic relevant", "", "synth linear -o out --features 5 --relevant 6", 2, "--relevant: "),
        case("synthetic one class", "", "synth linear -o out --rows 9 --shift 1e9", 2, "--shift: "),
        case("synthetic size", "", "synth linear -o out --features 1000000000000000000 --density 0.5", 1, "4096 x 1000000000000000000 values do not fit in memory"),
        case("synthetic group size", "", "synth group -o out --features 50 --group-size 0", 2, "--group-size: must be within 1 and the number of features, 50, not 0"),
        case("synthetic group too large", "", "synth group -o out --features 9", 2, "--group-size: must be within 1 and the number of features, 9, not 10"),
        case("synthetic relevant groups", "", "synth group -o out --features 50 --relevant 6", 2, "--relevant: must be within 1 and the number of groups, 5, not 6"),
        case("synthetic groups of one class", "", "synth group -o out --rows 9 --features 50 --relevant 2 --shift -1e9", 2, "--shift: "),
        case("synthetic folder for groups", "", "synth group -o no/out", 1, "no/out.truth.txt: there is no folder no"),
        case("synthetic folder", "", "synth linear -o no/out", 1, "no/out.truth.txt: there is no folder no"),
        case("synthetic products without features", "", "synth products -o out --features 20", 2, "--relevant: 20 features hold 1 to 9 products of 2, not 10"),
        case("synthetic products of one", "", "synth products -o out --degree 1", 2, "--degree: a product has at least 2 factors, not 1"),
        case("synthetic products alone", "", "synth products -o out --per-row 7", 2, "--per-row: must be above 7.2000"),
        case("synthetic rows too full", "", "synth products -o out --features 99", 2, "--per-row: must be above 7.2000, which the relevant products take, and below 26.9500"),
        case("synthetic support", "", "synth products -o out --support -0.1", 2, "--support: "),
        case("synthetic products too rare", "", "synth products -o out --support 1e-9", 2, "--support: "),
        case("synthetic skew", "", "synth products -o out --skew 11", 2, "--skew: must be within 0 and 10, not 11"),
        case("synthetic noise", "", "synth products -o out --noise 0.5", 2, "--noise: "),
        case("synthetic values", "", "synth products -o out --values twos", 2, "[possible values: ones, real]"),
        case("synthetic folder for products", "", "synth products -o no/out", 1, "no/out.truth.txt: there is no folder no"),
        case("demo selects too many", "", "demo --features 9 --relevant 2 --select 10", 2, "--select: "),
    ]);
}

#[test]
#[rustfmt::skip] // one case, one line
fn groups() {
    check(&[
        case("no groups", "", GROUPS, 1, "in: no groups"),
        case("only comments", "# one\n\n# two\n", GROUPS, 1, "in: no groups"),
        case("no such feature", "a: 1 7\n", GROUPS, 1, "in:1:6: no feature `7`: the data have 6"),
        case("counted from 0", "a: 1 2\nb: 0\n", GROUPS, 1, "in:2:4: feature 0: features are counted from 1"),
        case("negative", "a: -4\n", GROUPS, 1, "in:1:4: `-4` is neither a number from 1 nor a range like 3-9"),
        case("beyond 64 bits", "a: 99999999999999999999\n", GROUPS, 1, "in:1:4: no feature `99999999999999999999`"),
        case("backwards", "a: 5-3\n", GROUPS, 1, "in:1:4: `5-3`: a range goes from the smaller number to the larger"),
        case("open range", "a: 1 3-\n", GROUPS, 1, "in:1:6: `3-` is neither a number from 1 nor a range like 3-9"),
        case("empty group", "a: 1\nb:\n", GROUPS, 1, "in:2:3: group `b` is empty"),
        case("same name", "a: 1\nb: 2\na: 3\n", GROUPS, 1, "in:3:1: a second group called `a`: the first is in line 1"),
        case("no names in the data", "a: 1 x\n", GROUPS, 1, "in:1:6: `x` is neither a number from 1 nor a range like 3-9, and the features have no names"),
        case("no such name", "g: a c\n", "train table --label y --groups in -o out", 1, "in:1:6: no feature is called `c`"),
        case("not UTF-8", b"a: 1\nb: \xff\n", GROUPS, 1, "in:2:4: not text in UTF-8"),
        case("binary groups", junk(4096), GROUPS, 1, "in:1:"),
        case("truncated groups", truncated(gzip("a: 1 2 3\nb: 4 5 6\n")), GROUPS, 1, "in: the compressed data are damaged"),
        case("a million members", "1 1:1 1000000:1\n-1 2:1\n", "train in --groups large -o out", 1, "large:1:6: group `big` has more than 65536 members, too many to be fitted as one"),
        case("beyond the last feature", "1 1:1 1000:1\n-1 2:1\n", "train in --groups far -o out", 1, "far:1:6: no feature `1011`: the data have 1000"),
        case("missing groups", "", "train good --groups nowhere -o out", 1, "nowhere: No such file"),
        case("folder as groups", "", "train good --groups . -o out", 1, ".: Is a directory"),
        case("folder as a tree", "", "train good --groups . --tree -o out", 1, ".: Is a directory"),
        case("parents without --tree", "a > 1 2\n", GROUPS, 1, "in:1:1: …add --tree"),
        case("Newick without --tree", "((1,2)a,3);\n", GROUPS, 1, "in:1:1: …add --tree"),
        case("paths without --tree", "a/b\na/c\n", GROUPS, 1, "in:1:1: …add --tree"),
        case("crossing", "a: 1-3\nb: 3 4\n", TREE, 1, "in:2:1: not a tree: group `b` crosses group `a` of line 1: both hold feature 3, but only `b` holds 4 and only `a` holds 1"),
        case("feature in two groups", "a > 1 2\nb > 2\n", TREE, 1, "in:2:5: not a tree: feature 2 is in group `a` already"),
        case("two parents", "a > c\nb > c\nc > 1\n", TREE, 1, "in:2:5: not a tree: group `c` has a parent already, `a` in line 1"),
        case("cycle", "a > b\nb > a\n", TREE, 1, "in:2:1: not a tree: a cycle of parents, `a` > `b` > `a`"),
        case("no arrow", "a > 1\nb 2\n", TREE, 1, "in:2:1: expected `parent > child`"),
        case("no parent", "a > 1\n> 2\n", TREE, 1, "in:2:1: no parent before `>`"),
        case("no child", "a > 1\nb >\n", TREE, 1, "in:2:4: group `b` is empty: no child after `>`"),
        case("open bracket", "(1,\n(2,3\n", TREE, 1, "in:2:1: this bracket is not closed"),
        case("bracket too many", "(1,2));", TREE, 1, "in:1:6: `)` without `(`"),
        case("no semicolon", "(1,2)", TREE, 1, "in:1:6: expected `;` at the end"),
        case("two trees", "(1,2);\n(3,4);\n", TREE, 1, "in:2:1: something follows the tree"),
        case("branch length", "(1:x,2);", TREE, 1, "in:1:4: `x` is not a branch length"),
        case("leaf twice", "(1,(2,1));", TREE, 1, "in:1:7: a second node called `1`: the first is at 1:2"),
        case("too many paths", "a/b\n\na\na\na\na\na\n", TREE, 1, "in:7:1: a path for feature 7: the data have 6"),
        case("lists as Newick", "a: 1 2\nb: 3\n", "train good --groups in --tree=newick -o out", 1, "in:1:6: expected `;` at the end, not `2`"),
        case("tree without groups", "", "train good --tree -o out", 2, "--groups <FILE>"),
        case("singletons without groups", "", "train good --singletons -o out", 2, "--groups <FILE>"),
        case("group weight without groups", "", "train good --group-weight sqrt -o out", 2, "--groups <FILE>"),
        case("unknown kind of tree", "a: 1\n", "train good --groups in --tree=nonsense -o out", 2, "[possible values: auto, lists, parents, newick, paths, gmt]"),
        case("unknown group weight", "a: 1\n", "train good --groups in --group-weight 2 -o out", 2, "[possible values: none, sqrt]"),
        case("data and groups from one input", "", "train - --groups - -o out", 2, "--groups: standard input can only be read once"),
    ]);
}

#[test]
#[rustfmt::skip] // one case, one line
fn odd_but_fine() {
    let identical = |i: usize| (1..=100).map(|j| format!(" {j}:{}", i % 2)).collect::<String>();
    let perfect: String = (0..10).map(|i| format!("{}{}\n", i % 2, identical(i))).collect();
    let long_line = format!("1 {}\n-1 1:1\n", (1..=1_200_000).map(|j| format!("{j}:1 ")).collect::<String>());
    check(&[
        case("budget above the number of features", two_classes(20), "train in -B 1000 -o out", 0, ""),
        case("more features than there are", two_classes(20), "train in --features 7 -o out", 0, "note: only "),
        case("all-zero columns", "1 1:1 2:0\n-1 1:-1 2:0\n", TRAIN, 0, ""),
        case("constant columns", "1 1:1 2:5\n-1 1:-1 2:5\n", TRAIN, 0, ""),
        case("duplicated columns", "1 1:1 2:1\n-1 1:-1 2:-1\n", TRAIN, 0, ""),
        case("100 identical perfect columns", perfect, "train in --features 100 -o out", 0, ""),
        case("a line of 10 MB", long_line, TRAIN, 0, ""),
        case("no features", "1\n-1\n", TRAIN, 0, ""),
        case("words as labels", "ham 1:1\nspam 1:-1\n", TRAIN, 0, ""),
        case("carriage returns", "1 1:1\r\n-1 1:-1\r\n", TRAIN, 0, ""),
        case("no newline at the end", "1 1:1\n-1 1:-1", TRAIN, 0, ""),
        case("comments and qid", "# c\n1 qid:3 1:1 # c\n-1 1:-1\n", TRAIN, 0, ""),
        case("largest index", "1 18446744073709551615:1\n-1 18446744073709551615:-1\n", TRAIN, 0, ""),
        case("gzip", gzip(&two_classes(50)), TRAIN, 0, ""),
        case("zstd", zstd::encode_all(two_classes(50).as_bytes(), 3).unwrap(), TRAIN, 0, ""),
        case("other labels", "cat 1:1\ndog 1:2\n", "predict model in -o out", 0, "note: in: "),
        case("a group that does not occur", "1 1:1 1000:1\n-1 2:1\n", "train in --groups two -o out", 0, "note: 1 feature in no group"),
        case("the same group twice", "a: 1 2\nb: 1 2\n", GROUPS, 0, "note: 4 features in no group left out"),
        case("the same group twice in a tree", "a: 1 2\nb: 1 2\n", TREE, 0, "note: 4 features in no group left out"),
        case("more groups than there are", "a: 1 2\nb: 3-6\n", "train good --groups in --features 5 -o out", 0, "note: only "),
        case("compressed groups", gzip("\u{feff}a: 1 2\r\n"), GROUPS, 0, ""),
        case("groups by names", "g: b\nh: a, b\n", "train table --label y --groups in -o out", 0, ""),
        case("products of a row of 100,000 equal values", format!("1 {}\n-1 1:1\n", (1..=100_000).map(|j| format!("{j}:1 ")).collect::<String>()), "train in --space products --degree 3 -o out", 0, ""),
        case("more support than there are instances", "1 1:1\n-1 2:1\n", "train in --space products --min-support 9 -o out", 0, ""),
        case("no labels", "1:1\n1:2\n", "predict model in -o out", 0, ""),
    ]);
}

#[cfg(unix)]
#[test]
fn what_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = workplace();
    let file = folder.path().join("good");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&file).is_ok() {
        // Nothing is forbidden to the superuser.
        return;
    }
    featgen(folder.path())
        .args(["train", "good"])
        .assert()
        .code(1)
        .stderr("good: Permission denied (os error 13)\n");
}

fn check(cases: &[Case]) {
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| check_one(case).err().map(|why| format!("{}: {why}", case.name)))
        .collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

fn check_one(case: &Case) -> Result<(), String> {
    let folder = workplace();
    fs::write(folder.path().join("in"), &case.content).unwrap();
    let before = files(folder.path());
    let output = featgen(folder.path()).args(case.args.split(' ')).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let says = match case.code {
        1 => says_in_order(&stderr, case.says) && stderr.lines().count() == 1,
        _ => stderr.contains(case.says) && !stderr.contains("panicked"),
    };
    if output.status.code() != Some(case.code) || !says {
        return Err(format!("exit code {:?}, {stderr}", output.status.code()));
    }
    let mut expected = before;
    if case.code == 0 {
        expected.insert("out".into());
    }
    let after = files(folder.path());
    if after == expected { Ok(()) } else { Err(format!("files {after:?}")) }
}

/// Whether `text` begins with `says`, in which `…` stands for anything.
fn says_in_order(text: &str, says: &str) -> bool {
    let (start, rest) = says.split_once('…').unwrap_or((says, ""));
    text.strip_prefix(start).is_some_and(|after| after.contains(rest))
}

/// A folder with good files of every kind that cases may name.
fn workplace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("good"), two_classes(20)).unwrap();
    fs::write(path.join("labels"), "1\n2\n").unwrap();
    fs::write(path.join("two"), "1\n2\n").unwrap();
    fs::write(path.join("negative"), "-1\n2\n").unwrap();
    fs::write(path.join("table"), "a,b,y\n1,2,yes\n3,4,no\n").unwrap();
    fs::write(path.join("gap"), "a,b,y\n1,2,yes\n3,,no\n").unwrap();
    fs::write(path.join("large"), "big: 1-1000000\n").unwrap();
    fs::write(path.join("far"), "a: 1 1011\n").unwrap();
    featgen(path).args(["train", "good", "-o", "model"]).assert().success();
    folder
}

fn files(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn junk(bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn truncated(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() * 3 / 4);
    bytes
}

fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), values].concat()
}
