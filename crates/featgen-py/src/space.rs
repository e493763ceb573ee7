//! The space that a Python object describes.

use std::path::PathBuf;

use featgen::model::GivenGroup;
use featgen::space::SpaceSpec;
use featgen::space::spec::{self, GroupSource, Grouping, Shape, Value};
use featgen::{Model, Result};
use pyo3::prelude::*;

/// A space with its parameters, and groups where there are groups.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Space {
    space: String,
    values: Vec<(String, Given)>,
    grouping: Option<Grouped>,
}

/// The value of a parameter.
#[derive(FromPyObject)]
enum Given {
    Number(String),
    Features(Vec<u64>),
}

/// Lists of features, or a file of them; a tree if they nest.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Grouped {
    groups: Source,
    tree: bool,
    format: Option<String>,
    weight: String,
    singletons: bool,
}

#[derive(FromPyObject)]
enum Source {
    File(PathBuf),
    Lists(Vec<(Option<String>, Vec<u64>)>),
}

impl Space {
    /// The space as the engine describes it, checked.
    pub(crate) fn spec(self) -> Result<SpaceSpec> {
        let mut spec = SpaceSpec::named(&self.space)?;
        for (id, value) in self.values {
            spec = match value {
                Given::Number(text) => spec.with(&id, &text)?,
                Given::Features(ids) => spec.with_value(&id, Value::Features(ids))?,
            };
        }
        match self.grouping {
            Some(grouped) => spec.with_groups(grouped.grouping()?),
            None => Ok(spec),
        }
    }
}

impl Grouped {
    fn grouping(self) -> Result<Grouping> {
        let format = self.format.as_deref().unwrap_or("auto");
        let format = spec::choose("format", &spec::TREE_FORMATS, format)?;
        let group = |(name, features)| GivenGroup { name, features };
        Ok(Grouping {
            source: match self.groups {
                Source::File(path) => GroupSource::File(path),
                Source::Lists(lists) => GroupSource::Lists(lists.into_iter().map(group).collect()),
            },
            shape: if self.tree { Shape::Tree(format) } else { Shape::Any },
            weight: spec::choose("group-weight", &spec::GROUP_WEIGHTS, &self.weight)?,
            singletons: self.singletons,
        })
    }
}

/// Notes in a model how its space was described.
pub(crate) fn describe(spec: &SpaceSpec, model: Model) -> Model {
    let groups = spec.grouping().map(Grouping::given);
    model.with_description(groups, spec.only().map(<[u64]>::to_vec))
}
