//! Which spaces there are: each is described once, with its name, its parameters and how it is made. The command's options,
//! Python's classes, what models and checkpoints say, and errors are all read from here.
//!
//! A new space is a file with its [`Kind`], and a line in [`ALL`].

mod curves;
mod grouping;
mod linear;
mod parameter;
mod products;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub(super) use curves::{LEVELS, POWER, SIGMA};
pub use grouping::{Choice, GROUP_WEIGHTS, GroupSource, Grouping, Omitted, Shape, TREE_FORMATS, choose};
pub use parameter::{Parameter, Range, Value};

use super::shards::ShardedSpace;
use super::{FeatureSpace, Inputs, Scale, Scaling, Settings};
use crate::error::{Error, Result};
use crate::machine::Select;
use crate::table::Recipe;

/// All kinds of space, in the order in which users see them.
pub static ALL: &[&Kind] = &[
    &linear::LINEAR,
    &products::POLY2,
    &products::PRODUCTS,
    &curves::HIK,
    &curves::INTERSECTION,
    &curves::GAUSSIAN,
];

/// A kind of space: all that anybody has to know of it.
pub struct Kind {
    /// What users, models and checkpoints call it.
    pub name: &'static str,
    /// What it is, on one line.
    pub help: &'static str,
    /// What is selected in it.
    pub makes: Makes,
    /// Whether values below 0 mean something in it. If not, data that have some are refused.
    pub takes_negative: bool,
    /// What it can be told.
    pub parameters: &'static [Parameter],
    pub(super) build: Build,
}

/// Makes a space as described, over these inputs, whose instances count as often as they say.
pub(super) type Build =
    for<'a> fn(&SpaceSpec, Inputs<'a>, Option<&[f64]>) -> Result<Box<dyn FeatureSpace + 'a>>;

/// What is selected in a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Makes {
    /// Inputs, or groups of them.
    Inputs,
    /// Features made of several inputs.
    Products,
    /// Curves, each over one input.
    Curves,
}

impl Kind {
    /// The parameter of that id.
    pub fn parameter(&self, id: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.id == id)
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Names are unique.
impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The kind of that name.
pub fn by_name(name: &str) -> Result<&'static Kind> {
    let unknown = || {
        let known: Vec<_> = ALL.iter().map(|kind| kind.name).collect();
        Error::parameter("space", format!("{name} is not one of {}", known.join(", ")))
    };
    ALL.iter().find(|kind| kind.name == name).copied().ok_or_else(unknown)
}

/// The kind that the settings of a model are of; `None` if it is a stranger's.
pub(crate) fn kind_of(settings: &BTreeMap<String, String>) -> Option<&'static Kind> {
    by_name(settings.get("space")?).ok()
}

/// Every parameter of any space, each after those of all spaces that have it, with the spaces that have it.
pub fn parameters() -> Vec<(&'static Parameter, Vec<&'static Kind>)> {
    let mut all: Vec<(&'static Parameter, Vec<&'static Kind>)> = Vec::new();
    for &kind in ALL {
        for parameter in kind.parameters {
            let known = all.iter().position(|(known, _)| known.id == parameter.id);
            let mut kinds = known.map_or_else(Vec::new, |at| all.remove(at).1);
            kinds.push(kind);
            all.push((parameter, kinds));
        }
    }
    all
}

/// A space as a user describes it, before there are data: a kind, with values for its parameters.
///
/// ```
/// use featgen::space::SpaceSpec;
/// let spec = SpaceSpec::named("poly2")?.with("gamma", "0.5")?;
/// assert_eq!(spec.settings()[1], ("gamma", "0.5".into()));
/// let error = spec.with("coef0", "-1").unwrap_err();
/// assert_eq!(error.to_string(), "coef0: must be a finite number of at least 0, not -1");
/// # Ok::<(), featgen::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct SpaceSpec {
    kind: &'static Kind,
    /// Of every parameter, in order.
    values: Vec<Option<Value>>,
    grouping: Option<Grouping>,
}

/// A space over data, and what of them it leaves out.
pub struct Built<'a> {
    /// The space.
    pub space: Box<dyn FeatureSpace + 'a>,
    /// What cannot be selected in it.
    pub omitted: Omitted,
}

impl SpaceSpec {
    /// The space of that name, with the defaults of all parameters.
    pub fn named(name: &str) -> Result<Self> {
        let kind = by_name(name)?;
        let values = kind.parameters.iter().map(|parameter| parameter.default.clone()).collect();
        Ok(Self { kind, values, grouping: None })
    }

    /// Gives a parameter the value that a text says.
    pub fn with(self, id: &str, text: &str) -> Result<Self> {
        let value = self.parameter(id)?.read(text)?;
        self.with_value(id, value)
    }

    /// Gives a parameter a value.
    pub fn with_value(mut self, id: &str, value: Value) -> Result<Self> {
        let value = self.parameter(id)?.check(value)?;
        let at = self.kind.parameters.iter().position(|parameter| parameter.id == id);
        if let Some(slot) = at.and_then(|at| self.values.get_mut(at)) {
            *slot = Some(value);
        }
        Ok(self)
    }

    /// Makes it one of groups of inputs.
    pub fn with_groups(mut self, grouping: Grouping) -> Result<Self> {
        if self.kind.makes != Makes::Inputs {
            let reason = format!("only the space {} has groups", linear::LINEAR.name);
            return Err(Error::parameter("groups", reason));
        }
        self.grouping = Some(grouping);
        Ok(self)
    }

    /// The same with each column of a table as a group of the inputs that it makes, where it is about inputs and has no other groups.
    pub fn or_columns_of(self, recipe: Option<&Recipe>) -> Result<Self> {
        let takes_groups = self.grouping.is_none() && self.kind.makes == Makes::Inputs;
        match recipe.and_then(Recipe::groups).filter(|_| takes_groups) {
            Some(groups) => self.with_groups(Grouping::of_columns(groups)),
            None => Ok(self),
        }
    }

    /// The parameter of that id, or why this space has none.
    pub fn parameter(&self, id: &str) -> Result<&'static Parameter> {
        let own = self.kind.parameter(id);
        own.ok_or_else(|| match parameters().into_iter().find(|(known, _)| known.id == id) {
            Some((parameter, kinds)) => {
                let names: Vec<_> = kinds.iter().map(|kind| kind.name).collect();
                let reason = match &names[..] {
                    [name] => format!("only the space {name} has this"),
                    names => format!("only the spaces {} have this", names.join(" and ")),
                };
                Error::parameter(parameter.id, reason)
            }
            None => Error::parameter("space", format!("no space has a parameter {id}")),
        })
    }

    /// What it is.
    pub fn kind(&self) -> &'static Kind {
        self.kind
    }

    /// The groups, where there are groups.
    pub fn grouping(&self) -> Option<&Grouping> {
        self.grouping.as_ref()
    }

    /// The inputs that may be multiplied; `None` if all may.
    pub fn only(&self) -> Option<&[u64]> {
        match self.value("only") {
            Some(Value::Features(ids)) => Some(ids),
            _ => None,
        }
    }

    /// What a space with these parameters says of itself in models and checkpoints, as far as that does not depend on data: the
    /// kind and every number.
    pub fn settings(&self) -> Settings {
        let numbers = self.kind.parameters.iter().zip(&self.values).filter_map(|(parameter, value)| {
            let value = value.as_ref().filter(|_| parameter.range != Range::Features)?;
            Some((parameter.id, value.to_string()))
        });
        [("space", self.kind.name.to_owned())].into_iter().chain(numbers).collect()
    }

    /// How the columns of these inputs are weighed, if they are to be: as asked for, or by [`Scaling::Auto`] where columns, or groups
    /// of them, are chosen by gain.
    pub fn scale(
        &self,
        asked: Option<Scaling>,
        select: Select,
        inputs: &Inputs<'_>,
        weights: Option<&[f64]>,
    ) -> Result<Option<Scale>> {
        let by_itself = select == Select::Best && self.kind.makes == Makes::Inputs;
        let scaling = asked.unwrap_or(if by_itself { Scaling::Auto } else { Scaling::None });
        let context = inputs.given_context().cloned().unwrap_or_default();
        let made = || {
            let scale = context.run(|| Scale::new(scaling, inputs, weights))?;
            match inputs.shards() {
                Some(shards) => shards.settle(scale),
                None => scale,
            }
        };
        (scaling != Scaling::None).then(made).transpose()
    }

    /// The space over these inputs, made on the threads of their context. Where instances count several times or not at all,
    /// `counts` says so.
    pub fn build<'a>(&self, inputs: Inputs<'a>, counts: Option<&[f64]>) -> Result<Built<'a>> {
        let context = inputs.given_context().cloned().unwrap_or_default();
        let Some(columns) = inputs.shards() else { return context.run(|| self.build_here(inputs, counts))? };
        let Built { space, omitted } = columns.settle(context.run(|| self.build_here(inputs, counts))?)?;
        Ok(Built { space: Box::new(ShardedSpace { space, columns }), omitted })
    }

    fn build_here<'a>(&self, inputs: Inputs<'a>, counts: Option<&[f64]>) -> Result<Built<'a>> {
        match &self.grouping {
            Some(grouping) => grouping.build(inputs).map(|(space, omitted)| Built { space, omitted }),
            None => {
                if inputs.is_scaled() && self.kind.makes != Makes::Inputs {
                    let reason = format!("the space {} weighs what it makes by itself", self.kind.name);
                    return Err(Error::parameter("scale", reason));
                }
                let space = (self.kind.build)(self, inputs, counts)?;
                Ok(Built { space, omitted: Omitted::default() })
            }
        }
    }

    fn value(&self, id: &str) -> Option<&Value> {
        let at = self.kind.parameters.iter().position(|parameter| parameter.id == id)?;
        self.values[at].as_ref()
    }

    /// A whole number that has a default.
    pub(super) fn whole(&self, id: &str) -> usize {
        match self.value(id) {
            Some(Value::Whole(x)) => *x,
            _ => unreachable!("{id} is a whole number with a default"),
        }
    }

    /// A number that has a default.
    pub(super) fn real(&self, id: &str) -> f64 {
        self.real_if_any(id).unwrap_or_else(|| unreachable!("{id} is a number with a default"))
    }

    /// A number that may be absent.
    pub(super) fn real_if_any(&self, id: &str) -> Option<f64> {
        match self.value(id) {
            Some(Value::Real(x)) => Some(*x),
            _ => None,
        }
    }
}

/// A description in a file.
#[derive(Serialize, Deserialize)]
struct Written {
    space: String,
    #[serde(flatten)]
    values: BTreeMap<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grouping: Option<Grouping>,
}

impl From<SpaceSpec> for Written {
    fn from(spec: SpaceSpec) -> Self {
        let ids = spec.kind.parameters.iter().map(|parameter| parameter.id.to_owned());
        let values = ids.zip(spec.values).filter_map(|(id, value)| Some((id, value?))).collect();
        Self { space: spec.kind.name.to_owned(), values, grouping: spec.grouping }
    }
}

impl TryFrom<Written> for SpaceSpec {
    type Error = Error;

    fn try_from(written: Written) -> Result<Self> {
        let spec = Self::named(&written.space)?;
        let mut values = written.values.into_iter();
        let spec = values.try_fold(spec, |spec, (id, value)| spec.with_value(&id, value))?;
        match written.grouping {
            Some(grouping) => spec.with_groups(grouping),
            None => Ok(spec),
        }
    }
}
