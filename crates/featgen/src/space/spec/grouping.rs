//! Groups of input features, and how users say what they are.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Place, Result};
use crate::model::{GivenGroup, GivenGroups};
use crate::space::{
    self, FeatureSpace, GroupSpace, GroupWeight, Groups, Inputs, Lacking, Tree, TreeFormat, TreeSpace,
};

/// One of a few things that a parameter may be.
#[derive(Debug)]
pub struct Choice<T: 'static> {
    /// What users call it.
    pub name: &'static str,
    /// What it means, in a few words.
    pub help: &'static str,
    /// What it is.
    pub value: T,
}

/// How the sizes of groups may count.
pub static GROUP_WEIGHTS: [Choice<GroupWeight>; 2] = [
    Choice { name: "none", help: "Not at all: larger groups tend to win", value: GroupWeight::None },
    Choice {
        name: "sqrt",
        help: "By its square root, as in the group lasso: scores are divided by it, norms multiplied",
        value: GroupWeight::Sqrt,
    },
];

/// How files may describe trees; without a format, it is recognised.
pub static TREE_FORMATS: [Choice<Option<TreeFormat>>; 6] = [
    Choice { name: "auto", help: "Whatever the first line looks like", value: None },
    Choice { name: "lists", help: "`name: 3 5 9-12`, a group a line", value: Some(TreeFormat::Lists) },
    Choice {
        name: "parents",
        help: "`parent > child`, where the child is a group or a list of features",
        value: Some(TreeFormat::Parents),
    },
    Choice {
        name: "newick",
        help: "`((1,2)a,(3,4)b);`, where every node is a group",
        value: Some(TreeFormat::Newick),
    },
    Choice { name: "paths", help: "`a/b/c`, the path of a feature a line", value: Some(TreeFormat::Paths) },
    Choice {
        name: "gmt",
        help: "`name TAB description TAB gene TAB gene ...`, a pathway a line",
        value: Some(TreeFormat::Gmt),
    },
];

/// The one of `choices` that is called `name`, for a parameter.
pub fn choose<T: Copy>(parameter: &'static str, choices: &[Choice<T>], name: &str) -> Result<T> {
    let unknown = || {
        let known: Vec<_> = choices.iter().map(|choice| choice.name).collect();
        Error::parameter(parameter, format!("{name} is not one of {}", known.join(", ")))
    };
    choices.iter().find(|choice| choice.name == name).map(|choice| choice.value).ok_or_else(unknown)
}

/// Groups of input features to choose from, instead of single ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grouping {
    /// What belongs together.
    pub source: GroupSource,
    /// How they lie in each other.
    pub shape: Shape,
    /// How much the size of a group counts against it.
    pub weight: GroupWeight,
    /// Whether every feature in no group is a group of its own.
    pub singletons: bool,
}

/// How groups lie in each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// In any way.
    Any,
    /// Any two are disjoint, or one holds the other. A file may say so in several formats; without one, it is recognised.
    Tree(Option<TreeFormat>),
}

/// Where groups are written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupSource {
    /// In a file.
    File(PathBuf),
    /// Here.
    Lists(Vec<GivenGroup>),
    /// In the positions of variants: those of windows of so many bases, or of the genes of a file.
    Positions {
        /// Bases of a window.
        windows: Option<u64>,
        /// The file of genes.
        genes: Option<PathBuf>,
        /// The groups that this makes.
        lists: Vec<GivenGroup>,
    },
}

/// What of the groups, or of the features, cannot be selected, for the user to know.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Omitted {
    /// Features in no group.
    pub left_out: usize,
    /// Groups of a tree that are too large to be selected as a whole.
    pub too_large: usize,
    /// Where a file first names a feature that is not in the data.
    pub beyond: Option<Place>,
    /// What the data lack of groups that may name features that are not there, as pathways do.
    pub lacking: Option<Lacking>,
}

impl Grouping {
    /// The inputs of each column of a table.
    pub fn of_columns(columns: Vec<GivenGroup>) -> Self {
        let (source, shape) = (GroupSource::Lists(columns), Shape::Any);
        Self { source, shape, weight: GroupWeight::None, singletons: false }
    }

    /// The space of these groups.
    pub(super) fn build<'a>(&self, inputs: Inputs<'a>) -> Result<(Box<dyn FeatureSpace + 'a>, Omitted)> {
        match self.shape {
            Shape::Any => {
                let groups = self.groups(&inputs)?;
                let (beyond, lacking) = (groups.beyond().cloned(), groups.lacking());
                let omitted = Omitted { left_out: groups.left_out(), too_large: 0, beyond, lacking };
                Ok((Box::new(GroupSpace::new(inputs, groups, self.weight)?), omitted))
            }
            Shape::Tree(format) => {
                let tree = self.tree(&inputs, format)?;
                let (left_out, too_large) = (tree.left_out(), tree.too_large());
                let (beyond, lacking) = (tree.beyond().cloned(), tree.lacking());
                let omitted = Omitted { left_out, too_large, beyond, lacking };
                Ok((Box::new(TreeSpace::new(inputs, tree, self.weight)?), omitted))
            }
        }
    }

    fn groups(&self, inputs: &Inputs<'_>) -> Result<Groups> {
        match &self.source {
            GroupSource::File(path) => space::read_groups(path, inputs, self.singletons),
            GroupSource::Lists(lists) | GroupSource::Positions { lists, .. } => self.listed(lists, inputs),
        }
    }

    fn listed(&self, lists: &[GivenGroup], inputs: &Inputs<'_>) -> Result<Groups> {
        let mut groups = Groups::over(inputs)?;
        for group in lists {
            groups.push(inputs, group.name.as_deref(), group.features.iter().copied())?;
        }
        if self.singletons {
            groups.add_singletons();
        }
        Ok(groups)
    }

    fn tree(&self, inputs: &Inputs<'_>, format: Option<TreeFormat>) -> Result<Tree> {
        let lists = match &self.source {
            GroupSource::File(path) => return space::read_tree(path, inputs, format, self.singletons),
            GroupSource::Lists(lists) | GroupSource::Positions { lists, .. } => lists,
        };
        let shown = |g: u32| {
            let name = lists.get(g as usize).and_then(|group| group.name.clone());
            name.unwrap_or_else(|| format!("number {}", g + 1))
        };
        Tree::new(&self.listed(lists, inputs)?).map_err(|crossing| {
            let [a, b] = crossing.groups.map(shown);
            Error::Data(format!("not a tree: the groups {a} and {b} overlap, but none holds the other"))
        })
    }

    /// What a model keeps of it.
    pub fn given(&self) -> GivenGroups {
        let shown = |path: &PathBuf| path.display().to_string();
        let mut given = GivenGroups { singletons: self.singletons, ..GivenGroups::default() };
        match &self.source {
            GroupSource::File(path) => given.file = Some(shown(path)),
            GroupSource::Lists(lists) => given.lists = lists.clone(),
            // What they consist of follows from the data.
            GroupSource::Positions { windows, genes, .. } => {
                (given.windows, given.genes) = (*windows, genes.as_ref().map(shown));
            }
        }
        given.format = match self.shape {
            Shape::Tree(format) => format.map(|format| format.name().to_owned()),
            Shape::Any => None,
        };
        given
    }
}
