//! What every description must keep.

use super::*;
use crate::Dataset;
use crate::data::read::Reader;
use crate::model::GivenGroup;
use crate::space::GroupWeight;

fn data() -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    std::fs::write(&path, "+1 1:1 2:0.5\n-1 2:0.25 3:1\n+1 1:0.75 3:0.5\n").unwrap();
    Reader::new().read(path).unwrap()
}

/// Values that no parameter of this range takes.
fn bad(range: Range) -> Vec<String> {
    let numbers = ["", "x", "nan", "inf", "-inf", "1e999"].map(String::from).into_iter();
    match range {
        Range::Whole(least, most) => {
            let beyond = [least as i128 - 1, most as i128 + 1].map(|x| x.to_string());
            numbers.chain(["2.5".into()]).chain(beyond).collect()
        }
        Range::Above(least) => numbers.chain([least, least - 1.0].map(|x| x.to_string())).collect(),
        Range::AtLeast(least) => numbers.chain([(least - 1.0).to_string()]).collect(),
        Range::Features => numbers.collect(),
    }
}

#[test]
fn every_space_is_made_from_its_defaults_and_says_what_it_was_made_with() {
    let data = data();
    for kind in ALL {
        let spec = SpaceSpec::named(kind.name).unwrap();
        let built = spec.build(Inputs::new(&data), None).unwrap();
        assert_eq!(built.space.settings(), spec.settings(), "{kind:?}");
        assert_eq!(built.omitted, Omitted::default());
    }
}

#[test]
fn values_reach_the_space() {
    let data = data();
    let other = |parameter: &Parameter| match parameter.range {
        Range::Whole(least, _) => Value::Whole(least + 2),
        Range::Above(least) | Range::AtLeast(least) => Value::Real(least + 0.5),
        Range::Features => Value::Features(vec![0, 2]),
    };
    for kind in ALL {
        for parameter in kind.parameters {
            let plain = SpaceSpec::named(kind.name).unwrap();
            let spec = plain.clone().with_value(parameter.id, other(parameter)).unwrap();
            let settings = |spec: &SpaceSpec| spec.build(Inputs::new(&data), None).unwrap().space.settings();
            assert_ne!(settings(&spec), settings(&plain), "{kind:?}, {}", parameter.id);
            let numbers = |settings: Settings| -> Settings {
                settings.into_iter().filter(|(id, _)| *id != "only").collect()
            };
            assert_eq!(numbers(settings(&spec)), spec.settings());
            let written = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<SpaceSpec>(&written).unwrap(), spec, "{written}");
        }
    }
}

#[test]
fn values_out_of_range_are_errors_that_say_the_range() {
    for kind in ALL {
        for parameter in kind.parameters {
            for text in bad(parameter.range) {
                let spec = SpaceSpec::named(kind.name).unwrap();
                let said = spec.with(parameter.id, &text).unwrap_err().to_string();
                let range = parameter.range;
                assert_eq!(said, format!("{}: must be {range}, not {text}", parameter.id));
            }
            let default = parameter.default.clone();
            assert!(default.is_none_or(|value| parameter.check(value).is_ok()), "{}", parameter.id);
        }
    }
}

#[test]
fn a_parameter_shared_by_spaces_is_the_same_in_all() {
    for (parameter, kinds) in parameters() {
        for kind in kinds {
            assert_eq!(kind.parameter(parameter.id), Some(parameter), "{kind:?}");
        }
    }
}

#[test]
fn strange_names_are_errors() {
    let said = |result: Result<SpaceSpec>| result.unwrap_err().to_string();
    assert!(said(SpaceSpec::named("magic")).starts_with("space: magic is not one of linear, poly2"));
    let linear = || SpaceSpec::named("linear").unwrap();
    assert_eq!(said(linear().with("gamma", "1")), "gamma: only the space poly2 has this");
    assert_eq!(said(linear().with("levels", "1")), "levels: only the spaces hik and intersection have this");
    assert_eq!(said(linear().with("width", "1")), "space: no space has a parameter width");
    assert!(serde_json::from_str::<SpaceSpec>(r#"{"space": "poly2", "gamma": -1}"#).is_err());
    let whole = serde_json::from_str::<SpaceSpec>(r#"{"space": "poly2", "gamma": 2}"#).unwrap();
    assert_eq!(whole, SpaceSpec::named("poly2").unwrap().with("gamma", "2").unwrap());
}

#[test]
fn groups_and_trees_are_made_of_lists() {
    let data = data();
    let list =
        |name: &str, features: &[u64]| GivenGroup { name: Some(name.into()), features: features.into() };
    let grouping = |shape, lists: &[GivenGroup]| Grouping {
        source: GroupSource::Lists(lists.to_vec()),
        shape,
        weight: GroupWeight::Sqrt,
        singletons: false,
    };
    let build = |grouping: Grouping| {
        let spec = SpaceSpec::named("linear").unwrap().with_groups(grouping).unwrap();
        let written = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<SpaceSpec>(&written).unwrap(), spec, "{written}");
        spec.build(Inputs::new(&data), None).map(|built| (built.space.size(), built.omitted.left_out))
    };
    let (a, b, c) = (list("a", &[0, 1]), list("b", &[1]), list("c", &[1, 2]));
    assert_eq!(build(grouping(Shape::Any, &[a.clone(), c.clone()])).unwrap(), (2, 0));
    assert_eq!(build(grouping(Shape::Tree(None), &[a.clone(), b.clone()])).unwrap(), (2, 1));
    let crossing = build(grouping(Shape::Tree(None), &[a, c])).unwrap_err().to_string();
    assert!(crossing.starts_with("not a tree: the groups "), "{crossing}");
    let of_products = SpaceSpec::named("poly2").unwrap().with_groups(grouping(Shape::Any, &[b]));
    assert_eq!(of_products.unwrap_err().to_string(), "groups: only the space linear has groups");
}

#[test]
fn choices_are_made_by_name() {
    assert_eq!(choose("group-weight", &GROUP_WEIGHTS, "sqrt").unwrap(), GroupWeight::Sqrt);
    let said = choose("tree", &TREE_FORMATS, "cubes").unwrap_err().to_string();
    assert_eq!(said, "tree: cubes is not one of auto, lists, parents, newick, paths, gmt");
    for choice in &TREE_FORMATS {
        assert!(choice.value.is_none_or(|format| format.name() == choice.name));
    }
    for choice in &GROUP_WEIGHTS {
        assert_eq!(serde_json::to_value(choice.value).unwrap(), choice.name);
    }
}
