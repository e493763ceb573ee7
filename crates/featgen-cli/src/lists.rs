//! Lists in the options of `path`: every combination of what they hold is a command line of its own.

use std::ffi::OsString;

use featgen::space::spec::{self, Range};

/// Options of which `path` compares several values, besides numbers that spaces can be told. Costs are compared within a run.
const LISTED: [&str; 5] = ["loss", "budget", "scale", "delta", "space"];

/// Combinations at most: each is a cross-validation.
const MOST: usize = 100;

/// One of the command lines, and what it has of each list: the option's name and value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Combination {
    pub(crate) arguments: Vec<OsString>,
    pub(crate) values: Vec<(&'static str, String)>,
}

/// All combinations, in which the last list changes fastest. Of other commands, and where there are no lists, the arguments as they
/// are; an error if there are too many.
pub(crate) fn combinations(arguments: Vec<OsString>) -> featgen::Result<Vec<Combination>> {
    let mut found = vec![Combination { arguments: arguments.clone(), values: Vec::new() }];
    if arguments.get(1).is_none_or(|command| command != "path") {
        return Ok(found);
    }
    let places = 2..arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    for place in places {
        let Some((name, prefix, list)) = list_at(&arguments, place) else { continue };
        let items: Vec<&str> = list.split(',').map(str::trim).collect();
        if found.len() * items.len() > MOST {
            let reason = format!("more than {MOST} combinations of what is listed");
            return Err(featgen::Error::parameter(name, reason));
        }
        let with = |combination: &Combination, item: &str| {
            let Combination { mut arguments, mut values } = combination.clone();
            arguments[place] = format!("{prefix}{item}").into();
            values.push((name, item.to_owned()));
            Combination { arguments, values }
        };
        found = found.iter().flat_map(|known| items.iter().map(|item| with(known, item))).collect();
    }
    Ok(found)
}

/// The list that the argument at `place` is or ends with, with the option that it is for and what stands before it.
fn list_at(arguments: &[OsString], place: usize) -> Option<(&'static str, String, &str)> {
    let text = arguments[place].to_str().filter(|text| text.contains(','))?;
    let names = LISTED.iter().copied().chain(numbers());
    // `-B 5,20`, `-B5,20`, `--budget 5,20` or `--budget=5,20`.
    let short = |name: &str| (name == "budget").then_some("-B");
    for name in names {
        let long = format!("--{name}");
        let before = arguments[place - 1].to_str();
        if before == Some(long.as_str()) || short(name).is_some_and(|short| before == Some(short)) {
            return Some((name, String::new(), text));
        }
        let joined = [Some(format!("{long}=")), short(name).map(str::to_owned)].into_iter().flatten();
        for prefix in joined {
            if let Some(list) = text.strip_prefix(prefix.as_str()) {
                return Some((name, prefix, list));
            }
        }
    }
    None
}

/// The names of all numbers that spaces can be told.
fn numbers() -> impl Iterator<Item = &'static str> {
    let number = |(parameter, _): (&'static spec::Parameter, Vec<&'static spec::Kind>)| {
        (parameter.range != Range::Features).then_some(parameter.id)
    };
    spec::parameters().into_iter().filter_map(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(line: &str) -> Vec<(String, Vec<String>)> {
        let arguments = line.split_whitespace().map(OsString::from).collect();
        let joined = |combination: Combination| {
            let words: Vec<_> = combination.arguments.iter().map(|word| word.to_string_lossy()).collect();
            let values = combination.values.iter().map(|(name, value)| format!("{name} {value}")).collect();
            (words.join(" "), values)
        };
        combinations(arguments).unwrap().into_iter().map(joined).collect()
    }

    fn lines(line: &str) -> Vec<String> {
        values(line).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn every_combination_is_a_line() {
        assert_eq!(
            lines("featgen path a.svm --loss logistic,squared-hinge -B 5,20 -C 0.1,1"),
            [
                "featgen path a.svm --loss logistic -B 5 -C 0.1,1",
                "featgen path a.svm --loss logistic -B 20 -C 0.1,1",
                "featgen path a.svm --loss squared-hinge -B 5 -C 0.1,1",
                "featgen path a.svm --loss squared-hinge -B 20 -C 0.1,1",
            ]
        );
        let found = values("featgen path a.svm --space hik --levels=20,100 -B3,4");
        assert_eq!(
            found[1],
            (
                "featgen path a.svm --space hik --levels=20 -B4".into(),
                vec!["levels 20".into(), "budget 4".into()]
            )
        );
        assert_eq!(found.len(), 4);
    }

    #[test]
    fn other_commas_stay() {
        for line in [
            "featgen train a.svm -B 5,20",
            "featgen path a,b.svm --keep 1,2",
            "featgen path -- --loss a,b",
            "featgen",
        ] {
            assert_eq!(lines(line), [line]);
        }
    }

    #[test]
    fn too_many_are_refused() {
        let numbers = (1..=11).map(|k| k.to_string()).collect::<Vec<_>>().join(",");
        let line = format!("featgen path a.svm -B {numbers} --levels {numbers}");
        let error = combinations(line.split(' ').map(OsString::from).collect()).unwrap_err().to_string();
        assert!(error.contains("more than 100 combinations"), "{error}");
    }
}
