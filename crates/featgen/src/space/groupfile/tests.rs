//! What the readers of groups promise, on bytes in memory: what files mean, what is wrong with them, and where.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;
use crate::data::{Columns, Dataset, Dense, Labels, Layout, Names, Sparse, Values};
use crate::space::{Candidate, Feature, FeatureSpace, GroupSpace, GroupWeight, MOST_MEMBERS, TreeSpace};

fn data(columns: impl Columns + 'static, names: &[&str]) -> Dataset {
    let names = Names::identifying(names.iter().map(|&name| name.to_owned()).collect());
    Dataset::new(Box::new(columns), Labels::default(), names, "data")
}

/// A row of `m` features without names, all of which occur.
pub(super) fn dense(m: usize) -> Dataset {
    data(Dense::<f32, _>::new(vec![1.0; m], 1, m, Layout::RowMajor).unwrap(), &[])
}

/// Features with names.
pub(super) fn named(names: &[&str]) -> Dataset {
    data(Dense::<f32, _>::new(vec![1.0; names.len()], 1, names.len(), Layout::RowMajor).unwrap(), names)
}

/// Two rows, in the first of which the features with these numbers occur.
fn sparse(numbers: &[u64]) -> Dataset {
    let ids: Vec<u64> = numbers.iter().map(|n| n - 1).collect();
    let (held, dimension) = (ids.len(), *numbers.last().unwrap());
    let pointers = (0..=held as u64).collect();
    data(Sparse::new(2, dimension, ids, pointers, vec![0; held], Values::Ones).unwrap(), &[])
}

/// Every group as `name: members`, with its size where not all members occur.
pub(super) fn groups_of(space: &dyn FeatureSpace) -> Vec<String> {
    let show = |g: u32| {
        let group = space.group(&Candidate::Group(g)).unwrap();
        let mut shown = group.name.unwrap() + ":";
        for id in group.features.iter().flat_map(Feature::inputs) {
            write!(shown, " {}", id + 1).unwrap();
        }
        if group.size != group.features.len() {
            write!(shown, " of {}", group.size).unwrap();
        }
        shown
    };
    (0..space.size() as u32).map(show).collect()
}

pub(super) fn lists_of(data: &Dataset, text: impl Into<Vec<u8>>) -> Result<Vec<String>> {
    let inputs = Inputs::new(data);
    let groups = groups_from(Source::from_bytes(text)?, &inputs, false)?;
    Ok(groups_of(&GroupSpace::new(inputs, groups, GroupWeight::None)?))
}

pub(super) fn tree_of(
    data: &Dataset,
    format: Option<TreeFormat>,
    text: impl Into<Vec<u8>>,
) -> Result<Vec<String>> {
    let inputs = Inputs::new(data);
    let tree = tree_from(Source::from_bytes(text)?, &inputs, format, false)?;
    Ok(groups_of(&TreeSpace::new(inputs, tree, GroupWeight::None)?))
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Nothing here takes long unless it grows with the square of something large.
pub(super) fn quickly<T>(work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    result
}

mod lists {
    use super::*;

    #[test]
    fn every_way_of_writing_the_same() {
        let ways = [
            "a: 1 3\nb: 2-4\n",
            "a: 1 3\r\nb: 2-4\r\n",
            "a: 1 3\nb: 2-4",
            "\u{feff}a: 1 3\nb: 2-4",
            "# groups\n\na: 1 3\n  \n  # more\nb: 2-4\n\n",
            "a:1 3\nb:2-4\n",
            "a: 1,3\nb: 2, 3 ,4,\n",
            "a:\t1\t3\nb\t:\t2-4\t\n",
            "  a : 3 01\n  b : 2-3 4-4\n",
            "a: 3 1 1 3 1-1\nb: 2-3 3-4 2-4 3\n",
        ];
        for text in ways {
            assert_eq!(lists_of(&dense(6), text).unwrap(), ["a: 1 3", "b: 2 3 4"], "{text:?}");
        }
        for bytes in [gzip(ways[0].as_bytes()), zstd::encode_all(ways[0].as_bytes(), 1).unwrap()] {
            assert_eq!(lists_of(&dense(6), bytes).unwrap(), ["a: 1 3", "b: 2 3 4"]);
        }
    }

    #[test]
    fn names_are_what_stands_before_the_last_colon_of_a_name() {
        let cases = [
            ("1 3\n2\n", vec!["1: 1 3", "2: 2"]),
            ("a: 1\n2 3\nb: 4\n", vec!["a: 1", "2: 2 3", "b: 4"]),
            (": 1 3\n", vec!["1: 1 3"]),
            ("GO:0008150: 3 5\nGO:0009987:4\n", vec!["GO:0008150: 3 5", "GO:0009987: 4"]),
            ("immune system: 1\n", vec!["immune system: 1"]),
            ("a/b > c: 1 2\n", vec!["a/b > c: 1 2"]),
            ("9: 1 2\n8: 1\n", vec!["9: 1 2", "8: 1"]),
            ("größe: 1-2\n", vec!["größe: 1 2"]),
        ];
        for (text, expected) in cases {
            assert_eq!(lists_of(&dense(6), text).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn features_are_found_by_number_before_name() {
        let data = named(&["x", "y-1", "z:2", "c.5A>G", "7", "1"]);
        let cases = [
            ("g: x y-1 z:2 c.5A>G", "g: 1 2 3 4"),
            ("g: x,2,4", "g: 1 2 4"),
            ("g: 5", "g: 5"),
            ("g: 1", "g: 1"),
            ("g: 2-5", "g: 2 3 4 5"),
            ("x y-1", "1: 1 2"),
            ("x c.5A>G", "1: 1 4"),
        ];
        for (text, expected) in cases {
            assert_eq!(lists_of(&data, text).unwrap(), [expected], "{text:?}");
        }
    }

    #[test]
    fn members_that_do_not_occur_only_count() {
        let data = sparse(&[1, 6, 10, 1000]);
        let text = "a: 1-10\nb: 7\nc: 999-1010 6\nall: 1-1010\n";
        let expected = ["a: 1 6 10 of 10", "b: of 1", "c: 6 1000 of 13", "all: 1 6 10 1000 of 1010"];
        assert_eq!(lists_of(&data, text).unwrap(), expected);
        let trees = "all: 1-1010\na: 1-10\nb: 7\nc: 999-1010\n";
        let expected = ["all: 1 6 10 1000 of 1010", "a: 1 6 10 of 10", "b: of 1", "c: 1000 of 12"];
        assert_eq!(tree_of(&data, None, trees).unwrap(), expected);
        let edges = "all > a\na > 1-10\nall > c\nc > 999-1010\nall > 11-998\n";
        let expected = ["all: 1 6 10 1000 of 1010", "a: 1 6 10 of 10", "c: 1000 of 12"];
        assert_eq!(tree_of(&data, None, edges).unwrap(), expected);
    }

    #[test]
    fn what_is_beyond_the_last_feature_is_known() {
        let (data, named) = (sparse(&[1, 6, 10, 1000]), dense(6));
        let beyond = |data: &Dataset, text: &str| {
            let groups = groups_from(Source::from_bytes(text).unwrap(), &Inputs::new(data), false).unwrap();
            groups.beyond().map(ToString::to_string)
        };
        assert_eq!(beyond(&data, "a: 1 1000\nb: 2 1001 1002\n").as_deref(), Some("test:2:6"));
        assert_eq!(beyond(&data, "a: 1 1000\n"), None);
        assert_eq!(beyond(&named, "a: 1-6\n"), None);
        for (text, place) in [("a > 1 1001", "test:1:7"), ("(1,\n(2,1001)a);", "test:2:4")] {
            let tree =
                tree_from(Source::from_bytes(text).unwrap(), &Inputs::new(&data), None, false).unwrap();
            assert_eq!(tree.beyond().map(ToString::to_string).as_deref(), Some(place));
        }
        let paths = "\n".repeat(1000) + "a\n";
        let source = Source::from_bytes(paths).unwrap();
        let tree = tree_from(source, &Inputs::new(&data), Some(TreeFormat::Paths), false).unwrap();
        assert_eq!(tree.beyond().map(ToString::to_string).as_deref(), Some("test:1001:1"));
    }

    #[test]
    fn features_in_no_group_are_left_out_or_alone() {
        let (numbers, names) = (dense(5), named(&["u", "v", "w", "x", "y"]));
        for (data, alone) in [(&numbers, ["feature 2: 2", "feature 5: 5"]), (&names, ["v: 2", "y: 5"])] {
            let inputs = Inputs::new(data);
            let read = |singletons| {
                groups_from(Source::from_bytes("a: 1 3\n4\n").unwrap(), &inputs, singletons).unwrap()
            };
            assert_eq!(read(false).left_out(), 2);
            let groups = read(true);
            assert_eq!(groups.left_out(), 0);
            let expected = [["a: 1 3", "2: 4"], alone].concat();
            assert_eq!(groups_of(&GroupSpace::new(inputs, groups, GroupWeight::None).unwrap()), expected);

            let texts = ["a: 1 3\n4\n", "a > 1 3\nb > 4\n", "((1,3)a,4);", "# c\na\n\na\nb\n"].into_iter();
            let formats = [TreeFormat::Lists, TreeFormat::Parents, TreeFormat::Newick, TreeFormat::Paths];
            for (text, format) in texts.zip(formats) {
                let read = |singletons| {
                    tree_from(Source::from_bytes(text).unwrap(), &inputs, Some(format), singletons).unwrap()
                };
                assert_eq!((read(false).left_out(), read(true).left_out()), (2, 0), "{text:?}");
                let groups = groups_of(&TreeSpace::new(inputs, read(true), GroupWeight::None).unwrap());
                assert_eq!(groups[0], "a: 1 3", "{text:?}");
                assert_eq!(groups[groups.len() - 2..], alone, "{text:?}");
            }
        }
    }
}

mod trees {
    use super::*;

    #[test]
    fn all_formats_describe_the_same() {
        let ways = [
            (TreeFormat::Lists, "life: 1-6\nbirds: 2 3\nowls: 3\n", vec!["life", "birds", "owls"]),
            (
                TreeFormat::Parents,
                "birds > owls\nlife > birds\nlife > 1,4-6\nbirds > 2\nowls > 3\n",
                vec!["life", "birds", "owls"],
            ),
            (TreeFormat::Newick, "(1,(2,(3)owls)birds,4,5,6)life;", vec!["life", "birds", "owls"]),
            (
                TreeFormat::Paths,
                "life\nlife/birds\nlife/birds/owls\nlife\nlife\nlife\n",
                vec!["life", "life/birds", "life/birds/owls"],
            ),
        ];
        for (format, text, names) in ways {
            let groups = tree_of(&dense(6), Some(format), text).unwrap();
            for (name, members) in names.iter().zip(["1 2 3 4 5 6", "2 3", "3"]) {
                assert!(groups.contains(&format!("{name}: {members}")), "{format:?}: {groups:?}");
            }
            let leaves = if format == TreeFormat::Newick { 6 } else { 0 };
            assert_eq!(groups.len(), 3 + leaves, "{format:?}");
        }
    }

    #[test]
    fn parents_come_in_any_order() {
        let ways = [
            "all > small\nsmall > 1 2\nall > 3\n",
            "small > 1 2\nall > 3\nall > small\n",
            "all>3\nsmall>2\nsmall>1\nall>small",
            "\u{feff}# tree\r\n\r\n  all  >  small  \r\nsmall\t>\t1-2\r\nall > 3\r\n",
        ];
        for text in ways {
            let mut groups = tree_of(&dense(4), None, text).unwrap();
            groups.sort();
            assert_eq!(groups, ["all: 1 2 3", "small: 1 2"], "{text:?}");
        }
        let blanks = "all things > very small things\nvery small things > 1 2\n";
        assert_eq!(tree_of(&dense(4), None, blanks).unwrap(), ["all things: 1 2", "very small things: 1 2"]);
        let arrows = named(&["c.1A>G", "c.2T>C"]);
        let text = "gene > c.1A>G\nA>B > c.2T>C\ngene > A>B\n";
        assert_eq!(tree_of(&arrows, None, text).unwrap(), ["gene: 1 2", "A>B: 2"]);
        let terms = "GO:0008150 > GO:0009987\nGO:0009987 > 3\n";
        assert_eq!(tree_of(&dense(4), None, terms).unwrap(), ["GO:0008150: 3", "GO:0009987: 3"]);
    }

    #[test]
    fn newick_in_every_dialect() {
        let ways = [
            "((1,2)a,3)b;",
            "\u{feff}( (1 , 2) a,\r\n 3\t) b ;\r\n",
            "((1:0.1,2:1e-3)a:2,3:-0.5)b:0;",
            "[&R] ((1[one],2)[in[side]a,3)b[;];[end]\n",
            "# tree\n((1,\n  # two\n2)a,3)b;\n# end\n",
            "(('1','2')'a',3)'b';",
        ];
        for text in ways {
            let groups = tree_of(&dense(4), None, text).unwrap();
            assert_eq!(groups, ["b: 1 2 3", "a: 1 2", "1: 1", "2: 2", "3: 3"], "{text:?}");
        }
        let blanks = named(&["one two", "it's"]);
        let groups = tree_of(&blanks, None, "('one two','it''s')'a, b';").unwrap();
        assert_eq!(groups, ["a, b: 1 2", "one two: 1", "it's: 2"]);
        assert_eq!(tree_of(&dense(4), None, "3;").unwrap(), ["3: 3"]);
        assert_eq!(tree_of(&dense(4), None, "(3);").unwrap(), ["3: 3"]);
    }

    #[test]
    fn nodes_without_names_are_called_by_their_leaves() {
        let supported = tree_of(&dense(5), None, "((1,2)95,(3,(4,5)0.9/100)1.0);").unwrap();
        let inner = ["(1..2): 1 2", "(3..5): 3 4 5", "(4..5): 4 5"];
        assert!(inner.iter().all(|group| supported.contains(&(*group).to_owned())), "{supported:?}");
        assert_eq!(supported.len(), 3 + 5);
        // What holds just one other node is no group of its own.
        let chain = tree_of(&dense(5), None, "((((1,2))),((3)),(((4,5))x)'');").unwrap();
        let expected = ["(1..2): 1 2", "1: 1", "2: 2", "3: 3", "(4..5): 4 5", "x: 4 5", "4: 4", "5: 5"];
        assert_eq!(chain, expected);
        let words = tree_of(&dense(2), None, "((1,2)nan)inf;").unwrap();
        assert_eq!(words, ["inf: 1 2", "nan: 1 2", "1: 1", "2: 2"]);
    }

    #[test]
    fn paths_are_a_line_for_every_feature() {
        let ways = [
            "a/b\n\na/b\nc\n",
            "/a/b/\r\n\r\na//b\r\nc\r\n\r\n\r\n",
            "# features\n a / b \n\n# more\na/b\n/c",
        ];
        for text in ways {
            assert_eq!(tree_of(&dense(6), None, text).unwrap(), ["a: 1 3", "a/b: 1 3", "c: 4"], "{text:?}");
        }
        let deep = |levels: usize| vec!["x"; levels].join("/");
        let paths = Some(TreeFormat::Paths);
        assert_eq!(tree_of(&dense(1), paths, deep(256)).unwrap().len(), 256);
        let refused = quickly(|| tree_of(&dense(1), paths, deep(100_000)).unwrap_err().to_string());
        let expected = "test:1:513: a path of more than 256 levels: the format `parents` takes any depth";
        assert_eq!(refused, expected);
    }

    #[test]
    fn formats_are_recognised() {
        let cases = [
            ("a: 1 2", TreeFormat::Lists),
            ("1 2 3", TreeFormat::Lists),
            ("a/b: x/y", TreeFormat::Lists),
            ("gene: c.1A>G c.2T>C", TreeFormat::Lists),
            ("GO:0008150: 3", TreeFormat::Lists),
            ("", TreeFormat::Lists),
            ("a > b", TreeFormat::Parents),
            ("GO:0008150 > GO:0009987", TreeFormat::Parents),
            ("a/b > a/b/c", TreeFormat::Parents),
            ("a > b: c", TreeFormat::Parents),
            ("(1,2);", TreeFormat::Newick),
            ("((1,", TreeFormat::Newick),
            ("[&R] (1,2)a;", TreeFormat::Newick),
            ("'a';", TreeFormat::Newick),
            ("life/birds", TreeFormat::Paths),
            ("/life", TreeFormat::Paths),
        ];
        for (line, format) in cases {
            let data = dense(6);
            assert_eq!(recognise(line.as_bytes(), "test", &Inputs::new(&data)), format, "{line:?}");
        }
    }

    #[test]
    fn large_groups_only_hold_others_together() {
        let data = dense(MOST_MEMBERS + 1);
        let all = format!("1-{}", MOST_MEMBERS + 1);
        for text in
            [format!("all: {all}\nfew: 1 2\n"), format!("all > few\nfew > 1,2\nall > 3-{}", MOST_MEMBERS + 1)]
        {
            let source = Source::from_bytes(text).unwrap();
            let tree = tree_from(source, &Inputs::new(&data), None, false).unwrap();
            assert_eq!((tree.len(), tree.too_large(), tree.left_out()), (2, 1, 0));
        }
    }

    /// Hashed features: a range may hold more than memory could.
    #[test]
    fn ranges_take_no_room_for_what_does_not_occur() {
        let (middle, last) = (1u64 << 40, u64::MAX);
        let data = sparse(&[5, middle, last]);
        let lists = format!("all: 1-{last}\nfew: 1-10\n");
        // What does not occur may stand twice.
        let absent = format!("all > 11-{}\n", middle - 1).repeat(2);
        let edges = format!("all > few\nfew > 1-10\n{absent}all > {middle}-{last}\n");
        for text in [&lists, &edges] {
            let groups = quickly(|| tree_of(&data, None, text.as_str()).unwrap());
            assert_eq!(groups, [&format!("all: 5 {middle} {last} of {}", u32::MAX), "few: 5 of 10"]);
        }
        let refused = lists_of(&data, lists).unwrap_err().to_string();
        assert!(refused.starts_with("test:1:6: group `all` has more than 65536 members"), "{refused}");
    }
}

mod faults {
    use super::*;

    /// Every fault must be the expected one; all that are not are shown.
    fn check(cases: &[(&str, &str)], read: impl Fn(&str) -> Result<Vec<String>>) {
        let wrong = |&(text, expected): &(&str, &str)| {
            let found = read(text).map_or_else(|e| e.to_string(), |groups| format!("no error: {groups:?}"));
            (found != format!("test:{expected}"))
                .then(|| format!("{text:?}\n  gives {found}\n    not test:{expected}"))
        };
        let wrong: Vec<String> = cases.iter().filter_map(wrong).collect();
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    #[test]
    #[rustfmt::skip] // one case, one line
    fn features_that_do_not_exist() {
        let cases = [
            ("7", "no feature `7`: the data have 6"),
            ("4-7", "no feature `7`: the data have 6"),
            ("18446744073709551615", "no feature `18446744073709551615`: the data have 6"),
            ("18446744073709551616", "no feature `18446744073709551616`: the data have 6"),
            ("1-99999999999999999999999", "no feature `99999999999999999999999`: the data have 6"),
            ("0", "feature 0: features are counted from 1; if this file counts from 0, add 1"),
            ("0-3", "feature 0: features are counted from 1; if this file counts from 0, add 1"),
            ("-4", "`-4` is neither a number from 1 nor a range like 3-9, and the features have no names"),
            ("3-", "`3-` is neither a number from 1 nor a range like 3-9, and the features have no names"),
            ("-", "`-` is neither a number from 1 nor a range like 3-9, and the features have no names"),
            ("1.5", "`1.5` is neither a number from 1 nor a range like 3-9, and the features have no names"),
            ("1-2-3", "`1-2-3` is neither a number from 1 nor a range like 3-9, and the features have no names"),
            ("x", "`x` is neither a number from 1 nor a range like 3-9, and the features have no names"),
            ("\u{1b}[31m", "`\\u{1b}[31m` is neither a number from 1 nor a range like 3-9, and the features have no names"),
            ("5-3", "`5-3`: a range goes from the smaller number to the larger"),
        ];
        for (token, reason) in cases {
            let text = format!("a: 1 2\n# c\n\nb: 3,{token} 4\n");
            let expected = format!("4:6: {reason}");
            check(&[(&text, &expected)], |text| lists_of(&dense(6), text));
            check(&[(&text, &expected)], |text| tree_of(&dense(6), None, text));
            check(&[(&text.replace(':', " >"), &expected.replace("4:6", "4:7"))], |text| tree_of(&dense(6), None, text));
        }
        let long = "9".repeat(1000);
        check(&[(&long, &format!("1:1: no feature `{}...`: the data have 6", "9".repeat(40)))], |text| lists_of(&dense(6), text));
    }

    #[test]
    fn sparse_text_may_lack_the_last_features() {
        let data = sparse(&[1, 1000]);
        assert!(lists_of(&data, "a: 1 1010\n").is_ok());
        check(&[("a: 1 1011\n", "1:6: no feature `1011`: the data have 1000")], |text| lists_of(&data, text));
        let few = sparse(&[1, 99]);
        check(&[("a: 100\n", "1:4: no feature `100`: the data have 99")], |text| lists_of(&few, text));
    }

    #[test]
    #[rustfmt::skip] // one case, one line
    fn names_that_are_not_known() {
        let data = named(&["x", "y", "y", "7"]);
        check(&[
            ("g: x z", "1:6: no feature is called `z`"),
            ("g: x y", "1:6: several features are called `y`: use a number"),
            ("g: x 5", "1:6: no feature `5`: the data have 4"),
            ("g: -1", "1:4: no feature is called `-1`"),
            ("g: X", "1:4: no feature is called `X`"),
        ], |text| lists_of(&data, text));
        let blank = named(&["long name", "x"]);
        check(&[("g: long name", "1:4: no feature is called `long`; names with blanks or commas take quotes")], |text| lists_of(&blank, text));
        assert_eq!(lists_of(&data, "g: x 2 3").unwrap(), ["g: 1 2 3"]);
    }

    #[test]
    #[rustfmt::skip] // one case, one line
    fn lists() {
        for text in ["", "\n \n", "# only\n#this"] {
            assert_eq!(lists_of(&dense(6), text).unwrap_err().to_string(), "test: no groups", "{text:?}");
            assert_eq!(tree_of(&dense(6), None, text).unwrap_err().to_string(), "test: no groups", "{text:?}");
        }
        check(&[
            ("a: 1\nb:\n", "2:3: group `b` is empty"),
            ("a: 1\nb: , ,\n", "2:3: group `b` is empty"),
            ("a: 1\n:\n", "2:2: group 2 is empty"),
            ("a: 1\n,\n", "2:1: group 2 is empty"),
            ("a: 1\nb: 2\na: 3\n", "3:1: a second group called `a`: the first is in line 1"),
            ("# c\n2: 1\n1 2\n", "3:1: a second group called `2`: the first is in line 2"),
            ("a: 1\nb: 2\nb: 3\na: 4\n", "3:1: a second group called `b`: the first is in line 2"),
        ], |text| lists_of(&dense(6), text));
        for bytes in [b"a: 1\nb: 2 \xff 3\n".as_slice(), b"a: 1\nb: 2 \xe4 3\n"] {
            assert_eq!(lists_of(&dense(6), bytes).unwrap_err().to_string(), "test:2:6: not text in UTF-8");
        }
        let damaged = &gzip(b"a: 1 2\n")[..20];
        assert!(lists_of(&dense(6), damaged).unwrap_err().to_string().contains("damaged"));
    }

    #[test]
    fn groups_too_large_to_be_fitted() {
        let data = dense(1_000_000);
        let refused = |text: &str| quickly(|| lists_of(&data, text).unwrap_err().to_string());
        let reason = "has more than 65536 members, too many to be fitted as one: split it";
        assert_eq!(refused("a: 1\nbig: 1-1000000\n"), format!("test:2:6: group `big` {reason}"));
        assert_eq!(refused("1-60000 5 100000-106000\n"), format!("test:1:11: group 1 {reason}"));
        assert_eq!(lists_of(&data, "big: 1-65536\n").unwrap().len(), 1);
    }

    #[test]
    #[rustfmt::skip] // one case, one line
    fn trees_without_a_word_of_trees() {
        let cases = [
            ("((1,2)a,3)b;", "1:1: `((1` is neither a number from 1 nor a range like 3-9, and the features have no names"),
            ("\n# c\na > 1 2\n", "3:1: `a` is neither a number from 1 nor a range like 3-9, and the features have no names"),
            ("1 > 2 3\n", "1:3: `>` is neither a number from 1 nor a range like 3-9, and the features have no names"),
            ("GO:0008150 > 2\n", "1:4: no feature `0008150`: the data have 6"),
            ("life/birds\nlife\n", "1:1: `life/birds` is neither a number from 1 nor a range like 3-9, and the features have no names"),
        ];
        for (text, expected) in cases {
            let expected = format!("{expected}; if the file describes a tree of groups, add --tree");
            check(&[(text, &expected)], |text| lists_of(&dense(6), text));
            assert!(tree_of(&dense(6), None, text).is_ok(), "{text:?}");
        }
        let unsure = "; if these are no lists of features, say what they are: --tree=FORMAT";
        let expected = format!("1:1: `life` is neither a number from 1 nor a range like 3-9, and the features have no names{unsure}");
        check(&[("life\nlife/birds\n", &expected)], |text| tree_of(&dense(6), None, text));
        assert!(tree_of(&dense(6), Some(TreeFormat::Paths), "life\nlife/birds\n").is_ok());
        check(&[("1 7\n", "1:3: no feature `7`: the data have 6")], |text| tree_of(&dense(6), None, text));
    }

    #[test]
    #[rustfmt::skip] // one case, one line
    fn crossing_lists() {
        check(&[
            ("a: 1-3\nb: 3 4\n", "2:1: not a tree: group `b` crosses group `a` of line 1: both hold feature 3, but only `b` holds 4 and only `a` holds 1"),
            ("all: 1-6\n# c\n1 2\n2 3\n", "4:1: not a tree: group 3 crosses group 2 of line 3: both hold feature 2, but only 3 holds 3 and only 2 holds 1"),
            ("a: 3 4\nall: 1-6\nb: 1-3\n", "3:1: not a tree: group `b` crosses group `a` of line 1: both hold feature 3, but only `a` holds 4 and only `b` holds 1"),
        ], |text| tree_of(&dense(6), None, text));
        check(&[
            ("a: x y\nb: y z\n", "2:1: not a tree: group `b` crosses group `a` of line 1: both hold feature y, but only `b` holds z and only `a` holds x"),
        ], |text| tree_of(&named(&["x", "y", "z"]), None, text));
    }

    #[test]
    #[rustfmt::skip] // one case, one line
    fn parents() {
        let unknown = "is neither a number from 1 nor a range like 3-9, and the features have no names";
        let no_group = format!("2:5: `x` {unknown}; nor is `x` a group, for no line begins with it");
        let no_phrase = format!("1:5: `birds` {unknown}; nor is `birds of prey` a group, for no line begins with it");
        let no_feature = format!("1:7: `x` {unknown}");
        let cycle: String = ('a'..='z').map(|c| format!("{c} > {}\n", if c == 'z' { 'a' } else { (c as u8 + 1) as char })).collect();
        check(&[
            ("a > 1\nb 2\n", "2:1: expected `parent > child`"),
            ("a > 1\n > 2\n", "2:1: no parent before `>`"),
            (">\n", "1:1: no parent before `>`"),
            ("a > 1\nb >\n", "2:4: group `b` is empty: no child after `>`"),
            ("a > 1\nb >  \t\n", "2:4: group `b` is empty: no child after `>`"),
            ("a > ,\n", "1:5: group `a` is empty"),
            ("a > 1\nb > x\n", &no_group),
            ("a > birds of prey\n", &no_phrase),
            ("a > 1 x\n", &no_feature),
            ("a > 7\n", "1:5: no feature `7`: the data have 6; nor is `7` a group, for no line begins with it"),
            ("a > 1\nb > 2 1\n", "2:7: not a tree: feature 1 is in group `a` already"),
            ("a > 1 2\na > b\nb > 2\n", "3:5: not a tree: feature 2 is in group `a` already"),
            ("a > 1 2 1\n", "1:9: not a tree: feature 1 is in group `a` already"),
            ("a > b\nb > 1\nc > b\n", "3:5: not a tree: group `b` has a parent already, `a` in line 1"),
            ("a > b\nb > 1\na > b\n", "3:5: not a tree: group `b` has a parent already, `a` in line 1"),
            ("x > 1\na > b\nb > c\nc > a\n", "4:1: not a tree: a cycle of parents, `a` > `b` > `c` > `a`"),
            ("b > c\nc > a\na > b\n", "3:1: not a tree: a cycle of parents, `b` > `c` > `a` > `b`"),
            ("a > a\n", "1:1: not a tree: a cycle of parents, `a` > `a`"),
            (&cycle, "26:1: not a tree: a cycle of parents, `a` > `b` > `c` > `d` > `e` > `f` > `g` > `h` > `i` > `j` > ... (17 more)"),
        ], |text| tree_of(&dense(6), Some(TreeFormat::Parents), text));
    }

    #[test]
    #[rustfmt::skip] // one case, one line
    fn newick() {
        let unknown = "is neither a number from 1 nor a range like 3-9, and the features have no names";
        let no_feature = format!("1:5: a leaf is a feature: `x` {unknown}");
        check(&[
            ("", "1:1: expected a feature or `(`, not the end of the file"),
            ("# c\n", "2:1: expected a feature or `(`, not the end of the file"),
            (";", "1:1: expected a feature or `(`, not `;`"),
            ("(1,(2,3);", "1:9: expected `,` or `)`, not `;`"),
            ("(1,\n(2,3", "2:1: this bracket is not closed"),
            ("(1,2)),3;", "1:6: `)` without `(`"),
            ("(1,2)", "1:6: expected `;` at the end, not the end of the file"),
            ("(1,2)a b;", "1:8: expected `;` at the end, not `b`"),
            ("1,2;", "1:2: expected `;` at the end, not `,`"),
            ("(1,2);\n(3,4);", "2:1: something follows the tree: only one is read"),
            ("(1,2:x);", "1:6: `x` is not a branch length"),
            ("(1,2:);", "1:6: `` is not a branch length"),
            ("(1,2):0.1:3;", "1:10: expected `;` at the end, not `:`"),
            ("(1,'2);", "1:4: a quote that does not end: no second `'`"),
            ("(1,2)[x;", "1:6: a comment that does not end: no `]`"),
            ("(,1);", "1:2: expected a feature or `(`, not `,`"),
            ("(1,);", "1:4: expected a feature or `(`, not `)`"),
            ("();", "1:2: expected a feature or `(`, not `)`"),
            ("(1 2,3);", "1:4: expected `,` or `)`, not `2`; names with blanks take quotes"),
            ("(1(2),3);", "1:3: expected `,` or `)`, not `(`"),
            ("(1,\n2-4)a;", "2:1: a leaf is one feature, not `2-4`"),
            ("(1, x);", &no_feature),
            ("(1,7);", "1:4: a leaf is a feature: no feature `7`: the data have 6"),
            ("((1,2)a,\n(3,4)a);", "2:6: a second node called `a`: the first is at 1:7"),
            ("(1,(2,1));", "1:7: a second node called `1`: the first is at 1:2"),
            ("(1,01);", "1:4: not a tree: feature 1 is in group `1` already"),
        ], |text| tree_of(&dense(6), Some(TreeFormat::Newick), text));
        let bytes = b"(1,\n2\xff);".as_slice();
        assert_eq!(tree_of(&dense(6), None, bytes).unwrap_err().to_string(), "test:2:2: not text in UTF-8");
    }

    #[test]
    #[rustfmt::skip] // one case, one line
    fn paths() {
        check(&[
            ("a/b\na\n\na\n", "4:1: a path for feature 4: the data have 3"),
            ("# c\na/b\na\n\n\n\na/c\n", "7:1: a path for feature 6: the data have 3"),
        ], |text| tree_of(&dense(3), None, text));
        assert!(tree_of(&dense(3), None, "a/b\na\n\n\n\n").is_ok());
        for text in ["", "\n\n", "# c\n", "/\n//\n"] {
            let error = tree_of(&dense(3), Some(TreeFormat::Paths), text).unwrap_err();
            assert_eq!(error.to_string(), "test: no groups", "{text:?}");
        }
        let bytes = b"a/b\na\xff\n".as_slice();
        assert_eq!(tree_of(&dense(6), None, bytes).unwrap_err().to_string(), "test:2:2: not text in UTF-8");
    }

    #[test]
    fn files_that_cannot_be_read() {
        let (data, folder) = (dense(3), tempfile::tempdir().unwrap());
        let inputs = Inputs::new(&data);
        let nowhere = folder.path().join("nowhere");
        for path in [folder.path(), &nowhere] {
            let errors = [
                read_groups(path, &inputs, false).map(drop).unwrap_err(),
                read_tree(path, &inputs, None, false).map(drop).unwrap_err(),
            ];
            for error in errors {
                assert!(matches!(error, Error::Io { .. }), "{error}");
                assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
            }
        }
        let binary: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for bytes in [binary, vec![0; 100], b"\xff\xfea\0:\0".to_vec(), b"\x93NUMPY\x01\0".to_vec()] {
            let error = lists_of(&data, bytes).unwrap_err().to_string();
            assert!(error.starts_with("test:1:"), "{error}");
        }
    }
}

mod robustness {
    use super::*;

    /// Good files, one or two of every format.
    const GOOD: [(Option<TreeFormat>, &str); 8] = [
        (None, "a: 1 3 5-7\nGO:0008150: 2,3\n# c\r\n\n4 8\nb:9-12\n"),
        (Some(TreeFormat::Lists), "all: 1-12\nöl: 2-6\n3 4\nx: 8\n"),
        (Some(TreeFormat::Parents), "a > b\nb > 1 2\n# c\na > c d\nc d > 3-5,6\n"),
        (Some(TreeFormat::Parents), "x > y\ny > z\nz > 1\nx > 12\n"),
        (Some(TreeFormat::Newick), "((1:0.1,2)a:2e-3,\n('3',(4,5)95)'b''c')[&R]d;\n"),
        (Some(TreeFormat::Newick), "# c\n(((((1))),2,(3,4,(5,6,7))),8)[x]ö:1;"),
        (Some(TreeFormat::Paths), "a/b\n\na/b/c\n/a\n# c\nd / e\na//b\n"),
        (Some(TreeFormat::Paths), "ä/b\nä\n\n\nb"),
    ];

    /// Reads bytes as everything they might be. Whatever they are, that must end well or with an error of the input.
    fn read_all_ways(data: &Dataset, format: Option<TreeFormat>, bytes: &[u8]) {
        let answers = [lists_of(data, bytes), tree_of(data, None, bytes), tree_of(data, format, bytes)];
        for answer in answers {
            match answer {
                Ok(groups) => assert!(!groups.is_empty(), "{bytes:?}"),
                Err(Error::Input { place, reason }) => {
                    assert!(place.file == "test" && !reason.to_string().is_empty(), "{bytes:?}");
                    assert!(place.line.is_some() == place.column.is_some(), "{bytes:?}");
                }
                Err(other) => panic!("{bytes:?}: {other}"),
            }
        }
    }

    #[test]
    fn good_files_are_good() {
        for (format, text) in GOOD {
            match format {
                None => lists_of(&dense(12), text).map(drop).unwrap(),
                Some(_) => tree_of(&dense(12), format, text).map(drop).unwrap(),
            }
        }
    }

    #[test]
    fn every_prefix_ends_well() {
        let datasets = [dense(12), named(&["a", "b", "1", "b", "c d"]), sparse(&[1, 3, 500])];
        for (format, text) in GOOD {
            for length in 0..=text.len() {
                datasets.iter().for_each(|data| read_all_ways(data, format, &text.as_bytes()[..length]));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_damage_ends_well(
            which in 0..GOOD.len(),
            damage in proptest::collection::vec((any::<prop::sample::Index>(), prop_oneof![
                proptest::sample::select(b" \n\r\t:,-/>()[];'#0123456789ab".as_slice()), any::<u8>()
            ]), 1..6),
        ) {
            let (format, text) = GOOD[which];
            let mut bytes = text.as_bytes().to_vec();
            for (at, byte) in damage {
                let at = at.index(bytes.len());
                // Bytes change, come, and go.
                match byte % 3 {
                    0 => bytes.insert(at, byte),
                    1 if bytes.len() > 1 => drop(bytes.remove(at)),
                    _ => bytes[at] = byte,
                }
            }
            read_all_ways(&dense(12), format, &bytes);
            read_all_ways(&sparse(&[1, 3, 500]), format, &bytes);
        }

        #[test]
        fn any_text_ends_well(
            bytes in proptest::collection::vec(
                proptest::sample::select(b" \n:,->/()[];'#0129ab\xff".as_slice()), 0..60),
            format in proptest::sample::select(vec![
                TreeFormat::Lists, TreeFormat::Parents, TreeFormat::Newick, TreeFormat::Paths]),
        ) {
            read_all_ways(&dense(12), Some(format), &bytes);
            read_all_ways(&named(&["a", "b", "1", "b", "c d"]), Some(format), &bytes);
        }
    }

    const MANY: usize = 200_000;

    fn counts(data: &Dataset, text: &str) -> (usize, usize) {
        quickly(|| {
            let source = Source::from_bytes(text).unwrap();
            let tree = tree_from(source, &Inputs::new(data), None, false).unwrap();
            (tree.len(), tree.left_out())
        })
    }

    #[test]
    fn newick_may_be_deep_and_wide() {
        let data = dense(MANY);
        let brackets = "(".repeat(MANY);
        let chain: String = (0..MANY).map(|k| format!(")n{k}")).collect();
        assert_eq!(counts(&data, &format!("{brackets}1{chain};")), (MANY + 1, MANY - 1));
        assert_eq!(counts(&data, &format!("{brackets}1{};", ")".repeat(MANY))), (1, MANY - 1));
        // A caterpillar, as bad clusterings are.
        let comb: String = (2..=MANY).map(|k| format!(",{k})")).collect();
        assert_eq!(counts(&data, &format!("{}1{comb};", "(".repeat(MANY - 1))), (2 * MANY - 2, 0));
        // Its first leaf is in the names of all inner nodes.
        let long = "0".repeat(MANY);
        assert_eq!(counts(&data, &format!("{}{long}1{comb};", "(".repeat(MANY - 1))), (2 * MANY - 2, 0));
        let leaves: Vec<String> = (1..=MANY).map(|k| k.to_string()).collect();
        assert_eq!(counts(&data, &format!("({})all;", leaves.join(",\n"))), (MANY + 1, 0));
        for open in [brackets.clone(), format!("{brackets}1{}", ")".repeat(MANY / 2))] {
            quickly(|| tree_of(&data, None, open).unwrap_err());
        }
    }

    #[test]
    fn parents_may_be_a_long_chain_but_not_a_cycle() {
        let data = dense(2);
        let edges: Vec<String> = (0..MANY).map(|k| format!("g{k} > g{}\n", k + 1)).collect();
        let last = format!("g{MANY} > 1\n");
        assert_eq!(counts(&data, &(edges.concat() + &last)), (MANY + 1, 1));
        let upwards: String = edges.iter().rev().map(String::as_str).collect();
        assert_eq!(counts(&data, &(last + &upwards)), (MANY + 1, 1));
        let cycle = edges.concat() + &format!("g{MANY} > g0\n");
        let refused = quickly(|| tree_of(&data, None, cycle).unwrap_err().to_string());
        let expected = format!("test:{}:1: not a tree: a cycle of parents, `g0` > `g1` > ", MANY + 1);
        assert!(refused.starts_with(&expected), "{refused}");
    }

    #[test]
    fn lists_may_be_many_and_nested() {
        let data = dense(MANY);
        let many: String = (1..=MANY).map(|k| format!("g{k}: {k}\n")).collect();
        assert_eq!(counts(&data, &many), (MANY, 0));
        let nested: String = (1..=1000).map(|k| format!("g{k}: 1-{k}\n")).collect();
        assert_eq!(counts(&data, &nested), (1000, MANY - 1000));
        let long = format!("all: {}", (1..=MANY).map(|k| format!("{k} ")).collect::<String>());
        assert_eq!(counts(&data, &long), (1, 0));
    }

    #[test]
    fn long_lines_of_signs_take_no_longer() {
        let data = named(&["a", "b c"]);
        for sign in [
            ":", ">", "/", "-", ",", "'", "''", "(", ")", "[", "[]", ";", "#", "1", "1:", "a:", "a>", "1-",
            "é", " : ",
        ] {
            let line = sign.repeat(200_000);
            for format in [TreeFormat::Parents, TreeFormat::Newick].map(Some) {
                for before in ["", "x: ", "x > ", "(1,"] {
                    quickly(|| read_all_ways(&data, format, format!("{before}{line}\n").as_bytes()));
                }
            }
        }
    }
}
