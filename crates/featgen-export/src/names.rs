//! Names of columns are whatever somebody gave them; targets need identifiers, and names of their own beside them.

use std::collections::HashSet;

use featgen::Result;

use crate::plan::{Kind, Plan, shown};
use crate::refuse;

/// Names that are identifiers in C and most other languages, all different: what is no letter or digit of ASCII becomes `_`.
pub(crate) fn identifiers<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    const LONGEST: usize = 40;
    let mut taken = HashSet::new();
    names
        .map(|name| {
            let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
            let base: String = name.chars().take(LONGEST).map(plain).collect();
            let numbered = (2..).map(|k| format!("{base}_{k}"));
            let free = std::iter::once(base.clone()).chain(numbered).find(|name| !taken.contains(name));
            let free = free.expect("there are more numbers than names");
            taken.insert(free.clone());
            free
        })
        .collect()
}

impl Plan {
    /// Something that no name of a column begins with, to begin names with that are not of columns.
    pub(crate) fn own_prefix(&self) -> String {
        let mut prefix = "featgen_".to_owned();
        while self.columns.iter().any(|column| column.name.starts_with(&prefix)) {
            prefix.push('_');
        }
        prefix
    }

    /// A name for what a target adds to the columns.
    pub(crate) fn own_name(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.columns.iter().any(|column| column.name == name) {
            name.push('_');
        }
        name
    }

    /// Refuses columns that the target cannot find by name.
    pub(crate) fn check_names(&self, target: &str, sound: impl Fn(char) -> bool) -> Result<()> {
        if self.columns.iter().any(|column| column.name.is_empty()) {
            return refuse(format!(
                "{target} has no columns without a name, and the model has one; c and python have"
            ));
        }
        self.check_columns(target, sound)
    }

    /// Refuses columns whose names the target cannot hold.
    pub(crate) fn check_columns(&self, target: &str, sound: impl Fn(char) -> bool) -> Result<()> {
        self.columns.iter().try_for_each(|column| check(target, "the column", &column.name, &sound))
    }

    /// Refuses texts that the target cannot hold.
    pub(crate) fn check_texts(&self, target: &str, sound: impl Fn(char) -> bool) -> Result<()> {
        for column in &self.columns {
            if let Kind::Text(texts) = &column.kind {
                texts.levels.iter().try_for_each(|level| check(target, "the level", level, &sound))?;
            }
        }
        self.classes.iter().try_for_each(|class| check(target, "the class", class, &sound))
    }
}

fn check(target: &str, what: &str, text: &str, sound: impl Fn(char) -> bool) -> Result<()> {
    match text.chars().find(|&c| !sound(c)) {
        Some(c) => refuse(format!(
            "{target} cannot hold the character U+{:04X} of {what} {}; python can",
            c as u32,
            shown(text)
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_become_the_same_are_told_apart() {
        let long = "x".repeat(10_000);
        let names = ["a b", "a-b", "A_B_2", "", "\u{fc}", &long, &long];
        let found = identifiers(names.into_iter());
        assert_eq!(found[..5], ["A_B", "A_B_2", "A_B_2_2", "", "_"]);
        assert_eq!(found[5].len(), 40);
        assert_eq!(found[6], format!("{}_2", found[5]));
    }
}
