//! The space that a Python object describes.

use std::path::PathBuf;

use featgen::model::{GivenGroup, GivenGroups};
use featgen::space::{
    self, AdditiveSpace, FeatureSpace, GroupSpace, GroupWeight, Groups, Inputs, PolySpace, ProductSpace,
    Tree, TreeFormat, TreeSpace,
};
use featgen::{Error, Result};
use pyo3::prelude::*;

/// A space other than the features as they are: a dictionary, told from others by what it says.
#[derive(FromPyObject)]
pub(crate) enum Space {
    Grouped(Grouped),
    Poly2(Poly2),
    Products(Products),
    Steps(Steps),
    Gaussian(Gaussian),
}

/// Lists of features, or a file of them; a tree if they nest.
#[derive(FromPyObject)]
pub(crate) struct Grouped {
    #[pyo3(item)]
    groups: Source,
    #[pyo3(item)]
    tree: bool,
    #[pyo3(item)]
    format: Option<String>,
    #[pyo3(item)]
    weight: String,
    #[pyo3(item)]
    singletons: bool,
}

#[derive(FromPyObject)]
enum Source {
    File(PathBuf),
    Lists(Vec<(Option<String>, Vec<u64>)>),
}

#[derive(FromPyObject)]
pub(crate) struct Poly2 {
    #[pyo3(item)]
    gamma: f64,
    #[pyo3(item)]
    coef0: f64,
    #[pyo3(item)]
    only: Option<Vec<u64>>,
}

#[derive(FromPyObject)]
pub(crate) struct Products {
    #[pyo3(item)]
    degree: usize,
    #[pyo3(item)]
    min_support: usize,
    #[pyo3(item)]
    only: Option<Vec<u64>>,
}

#[derive(FromPyObject)]
pub(crate) struct Steps {
    #[pyo3(item)]
    levels: usize,
    #[pyo3(item)]
    power: Option<f64>,
}

#[derive(FromPyObject)]
pub(crate) struct Gaussian {
    #[pyo3(item)]
    sigma: Option<f64>,
}

impl Space {
    /// The space over `inputs`, whose instances count as often as `counts` says.
    pub(crate) fn over<'a>(
        &self,
        inputs: Inputs<'a>,
        counts: Option<&[f64]>,
    ) -> Result<Box<dyn FeatureSpace + 'a>> {
        let additive = |space: AdditiveSpace<'a>| match counts {
            Some(counts) => space.counting(counts),
            None => Ok(space),
        };
        Ok(match self {
            Self::Grouped(grouped) => return grouped.over(inputs),
            Self::Poly2(Poly2 { gamma, coef0, only }) => {
                let mut space = PolySpace::new(inputs, *gamma, *coef0)?;
                if let Some(only) = only {
                    space = space.only(only.iter().copied());
                }
                Box::new(space)
            }
            Self::Products(Products { degree, min_support, only }) => {
                let mut space = ProductSpace::new(inputs, *degree)?.min_support(*min_support);
                if let Some(only) = only {
                    space = space.only(only.iter().copied());
                }
                Box::new(space)
            }
            Self::Steps(Steps { levels, power: None }) => {
                Box::new(additive(AdditiveSpace::hik(inputs, *levels)?)?)
            }
            Self::Steps(Steps { levels, power: Some(power) }) => {
                Box::new(additive(AdditiveSpace::intersection(inputs, *levels, *power)?)?)
            }
            Self::Gaussian(Gaussian { sigma }) => {
                Box::new(additive(AdditiveSpace::gaussian(inputs, *sigma)?)?)
            }
        })
    }
}

impl Space {
    /// Notes in a model how the space was described.
    pub(crate) fn describe(&self, model: featgen::Model) -> featgen::Model {
        match self {
            Self::Grouped(grouped) => model.with_description(Some(grouped.given()), None),
            Self::Poly2(Poly2 { only, .. }) | Self::Products(Products { only, .. }) => {
                model.with_description(None, only.clone())
            }
            Self::Steps(_) | Self::Gaussian(_) => model,
        }
    }
}

impl Grouped {
    fn over<'a>(&self, inputs: Inputs<'a>) -> Result<Box<dyn FeatureSpace + 'a>> {
        let weight = match self.weight.as_str() {
            "none" => GroupWeight::None,
            "sqrt" => GroupWeight::Sqrt,
            other => return Err(Error::parameter("weight", format!("none or sqrt, not {other}"))),
        };
        Ok(if self.tree {
            Box::new(TreeSpace::new(inputs, self.read_tree(&inputs)?, weight)?)
        } else {
            Box::new(GroupSpace::new(inputs, self.lists(&inputs)?, weight)?)
        })
    }

    fn lists(&self, inputs: &Inputs<'_>) -> Result<Groups> {
        let lists = match &self.groups {
            Source::File(path) => return space::read_groups(path, inputs, self.singletons),
            Source::Lists(lists) => lists,
        };
        let mut groups = Groups::over(inputs)?;
        for (name, features) in lists {
            groups.push(inputs, name.as_deref(), features.iter().copied())?;
        }
        if self.singletons {
            groups.add_singletons();
        }
        Ok(groups)
    }

    fn read_tree(&self, inputs: &Inputs<'_>) -> Result<Tree> {
        match &self.groups {
            Source::File(path) => space::read_tree(path, inputs, self.format()?, self.singletons),
            Source::Lists(lists) => {
                let shown = |g: u32| {
                    let name = lists.get(g as usize).and_then(|list| list.0.clone());
                    name.unwrap_or_else(|| format!("number {}", g + 1))
                };
                Tree::new(&self.lists(inputs)?).map_err(|crossing| {
                    let [a, b] = crossing.groups.map(shown);
                    Error::Data(format!(
                        "not a tree: the groups {a} and {b} overlap, but none holds the other"
                    ))
                })
            }
        }
    }

    fn format(&self) -> Result<Option<TreeFormat>> {
        self.format.as_deref().map(TreeFormat::by_name).transpose()
    }

    /// What a model keeps of it.
    fn given(&self) -> GivenGroups {
        let (file, lists) = match &self.groups {
            Source::File(path) => (Some(path.display().to_string()), Vec::new()),
            Source::Lists(lists) => {
                let group = |(name, features): &(Option<String>, Vec<u64>)| GivenGroup {
                    name: name.clone(),
                    features: features.clone(),
                };
                (None, lists.iter().map(group).collect())
            }
        };
        GivenGroups { file, format: self.format.clone(), lists, singletons: self.singletons }
    }
}
