//! What stands in exports, whatever models and names are.

use crate::common::{cases, exported, refused};
use featgen::Model;
use featgen_export::{ALL, Options, Target};

/// A name that ends whatever it could stand in, in any target.
const HOSTILE: &str = "\"'`*/ ]]> -- <script>\n\\ ?? \u{2028} \u{1f600}";

/// A table's model with a column and levels of that name.
fn hostile() -> Model {
    let folder = tempfile::tempdir().unwrap();
    let mut model = cases(folder.path()).swap_remove(0).model;
    model.classes = vec![HOSTILE.into(), "b".into()];
    model.terms.truncate(1);
    model.with_names(&(0..6).map(|k| format!("{HOSTILE}{k}")).collect::<Vec<_>>())
}

#[test]
fn names_stay_inside_strings() {
    let model = hostile();
    let c = exported(&model, "c");
    assert!(
        !c.contains("<script>\n")
            && c.contains(r#""\"'`*/ ]]> -- <script>\012\\ \?\? \342\200\250 \360\237\230\200"#),
        "{c}"
    );
    let python = exported(&model, "python");
    assert!(python.contains(r#""\"'`*/ ]]> -- <script>\U0000000a\\ ?? \U00002028 \U0001f600"#), "{python}");
    let sql = exported(&model, "sql");
    assert!(sql.contains("\"\"\"'`*/ ]]> -- <script>\n") && sql.contains("THEN '\"''`*/"), "{sql}");
    let pmml = exported(&model, "pmml");
    assert!(pmml.contains("&#34;&#39;`*/ ]]&#62; -- &#60;script&#62;&#10;\\ ??"), "{pmml}");
    assert!(!pmml.contains("<script"));
}

#[test]
fn what_a_target_cannot_hold_is_refused() {
    let mut model = hostile().with_names(&["a\0b", "c\u{1}d", "", "", "", ""].map(str::to_owned));
    let first = model.terms[0].feature.inputs()[0];
    for (name, target, expected) in [
        ("a\0b", "c", "to: c cannot hold the character U+0000 of the column `a\\0b`; python can"),
        ("a\0b", "sql", "to: sql cannot hold the character U+0000 of the column `a\\0b`; python can"),
        ("c\u{1}d", "pmml", "to: pmml cannot hold the character U+0001 of the column `c\\u{1}d`; python can"),
        ("", "onnx", "to: onnx has no columns without a name, and the model has one; c and python have"),
    ] {
        let mut names = vec![String::from("x"); 6];
        names[first as usize] = name.into();
        model = model.with_names(&names);
        assert_eq!(refused(&model, target), expected);
        assert!(!exported(&model, "python").is_empty());
    }
}

#[test]
fn liblinear_says_what_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    for case in cases(folder.path()) {
        let lacks = match case.name {
            "products" => "to: liblinear has weights only, and the model has products",
            "steps" | "waves" => "to: liblinear has weights only, and the model has curves",
            "count" => "to: liblinear has no counts",
            _ => {
                assert!(exported(&case.model, "liblinear").starts_with("solver_type "));
                continue;
            }
        };
        let said = refused(&case.model, "liblinear");
        assert!(
            said.starts_with(lacks) && said.ends_with("; python, c, sql, pmml and onnx have them"),
            "{said}"
        );
    }
    let said = refused(&hostile(), "liblinear");
    assert!(
        said.contains("classes of liblinear are whole numbers, and `b` is none; python, c, sql"),
        "{said}"
    );
}

#[test]
fn a_model_of_liblinear_is_as_its_readme_says() {
    let folder = tempfile::tempdir().unwrap();
    let case = cases(folder.path()).swap_remove(1);
    let text = exported(&case.model, "liblinear");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..6], ["solver_type L2R_LR", "nr_class 2", "label 2 -1", "nr_feature 6", "bias 1", "w"]);
    let weights: Vec<f64> = lines[6..].iter().map(|line| line.trim_end().parse().unwrap()).collect();
    assert_eq!(weights.len(), 7);
    assert_eq!(weights[6], 0.0 - case.model.bias.0[0]);
    for term in &case.model.terms {
        assert_eq!(weights[term.feature.inputs()[0] as usize], term.weight.0[0]);
    }
}

/// Every number can be read back as it was, whatever its size.
#[test]
fn numbers_keep_all_their_digits() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = cases(folder.path()).swap_remove(0).model;
    for x in [1.0 / 3.0, -2.5e-300, 1.797e308, 5e-324, 123_456_789.123_456_79] {
        model.bias.0[0] = -x;
        for target in ["c", "python", "pmml"] {
            assert!(exported(&model, target).contains(&format!("{x:?}")), "{target} {x}");
        }
        assert!(exported(&model, "sql").contains(&format!("{x:e}")));
    }
}

#[test]
fn a_model_without_features_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = cases(folder.path()).swap_remove(0).model;
    model.terms.clear();
    for target in ALL {
        let written = featgen_export::export(&model, target, &Options::default());
        assert!(written.unwrap_err().to_string().contains("looks at no feature"));
    }
}

#[test]
fn targets_are_found_by_name_and_by_ending() {
    for target in ALL {
        assert_eq!(Target::find(target.name).unwrap().ending, target.ending);
        assert_eq!(Target::of_ending(target.ending).unwrap().name, target.name);
    }
    assert!(
        Target::find("tex")
            .unwrap_err()
            .to_string()
            .contains("must be one of onnx, pmml, sql, c, python, liblinear")
    );
    assert!(Target::of_ending("").is_err());
}
