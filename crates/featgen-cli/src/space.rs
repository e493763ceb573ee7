//! The space that the user's options describe: features one by one, groups of them, products or curves.

use featgen::data::Dataset;
use featgen::error::Place;
use featgen::model::GivenGroups;
use featgen::space::{
    self, AdditiveSpace, FeatureSpace, GroupSpace, Inputs, LinearSpace, MOST_MEMBERS, PolySpace,
    ProductSpace, TreeSpace, Watch,
};
use featgen::{Error, Result};

use crate::args::{GroupingArgs, LearningArgs, SpaceArgs, SpaceKind, TreeKind};
use crate::numbers::{count, plural};
use crate::progress::Progress;

/// A space, how it was described, and what may surprise about it.
pub(crate) struct Chosen<'a> {
    pub(crate) space: Box<dyn FeatureSpace + 'a>,
    pub(crate) groups: Option<GivenGroups>,
    pub(crate) only: Option<Vec<u64>>,
    /// What its candidates are.
    pub(crate) unit: &'static str,
    pub(crate) notes: Vec<String>,
}

/// The space that `args` ask for. `watch` sees its searches.
pub(crate) fn chosen<'a>(
    args: &LearningArgs,
    data: &'a Dataset,
    progress: &Progress,
    watch: &'a Watch,
) -> Result<Chosen<'a>> {
    let SpaceArgs { gamma, coef0, degree, min_support, only, levels, power, sigma, .. } = &args.space;
    let inputs = Inputs::new(data).watched(watch);
    let only = only.as_ref().map(|file| space::read_features(file, &inputs)).transpose()?;
    let levels = levels.unwrap_or(100);
    match args.space.space {
        SpaceKind::Linear => linear(&args.grouping, inputs, data, progress),
        _ if args.grouping.groups.is_some() => {
            Err(Error::parameter("groups", "groups are of the features as they are: --space linear"))
        }
        SpaceKind::Poly2 => {
            let mut space = PolySpace::new(inputs, gamma.unwrap_or(1.0), coef0.unwrap_or(1.0))?;
            if let Some(only) = &only {
                space = space.only(only.iter().copied());
            }
            Ok(Chosen { only, ..Chosen::features(space) })
        }
        SpaceKind::Products => {
            let space = ProductSpace::new(inputs, degree.unwrap_or(2))?;
            let mut space = space.min_support(min_support.unwrap_or(1));
            if let Some(only) = &only {
                space = space.only(only.iter().copied());
            }
            Ok(Chosen { only, ..Chosen::features(space) })
        }
        SpaceKind::Hik => curves(AdditiveSpace::hik(inputs, levels)?, data),
        SpaceKind::Intersection => {
            curves(AdditiveSpace::intersection(inputs, levels, power.unwrap_or(1.0))?, data)
        }
        SpaceKind::Gaussian => curves(AdditiveSpace::gaussian(inputs, *sigma)?, data),
    }
}

/// Curves whose levels and widths are those of the instances as often as they count.
fn curves<'a>(space: AdditiveSpace<'a>, data: &Dataset) -> Result<Chosen<'a>> {
    let space = match data.labels.weights() {
        Some(counts) => space.counting(counts)?,
        None => space,
    };
    Ok(Chosen::features(space))
}

impl<'a> Chosen<'a> {
    /// A space of single features.
    fn features(space: impl FeatureSpace + 'a) -> Self {
        Self { space: Box::new(space), groups: None, only: None, unit: "feature", notes: Vec::new() }
    }
}

/// The input features, or groups of them.
fn linear<'a>(
    args: &GroupingArgs,
    inputs: Inputs<'a>,
    data: &Dataset,
    progress: &Progress,
) -> Result<Chosen<'a>> {
    let weight = args.group_weight.into();
    let Some(file) = &args.groups else {
        return Ok(Chosen::features(LinearSpace::from(inputs)));
    };
    progress.doing(format!("reading {}", file.display()));
    let mut notes = Vec::new();
    let beyond = |place: Option<&Place>| {
        let say = |place| format!("{place}: this and perhaps other features do not occur in {}", data.source);
        place.map(say)
    };
    let (space, left_out): (Box<dyn FeatureSpace>, usize) = match args.tree {
        None => {
            let groups = space::read_groups(file, &inputs, args.singletons)?;
            notes.extend(beyond(groups.beyond()));
            let left_out = groups.left_out();
            (Box::new(GroupSpace::new(inputs, groups, weight)?), left_out)
        }
        Some(kind) => {
            let tree = space::read_tree(file, &inputs, kind.format(), args.singletons)?;
            if tree.too_large() > 0 {
                let (large, most) = (plural(tree.too_large(), "group"), count(MOST_MEMBERS as u64));
                notes.push(format!(
                    "{large} of more than {most} features cannot be selected, only groups inside"
                ));
            }
            notes.extend(beyond(tree.beyond()));
            let left_out = tree.left_out();
            (Box::new(TreeSpace::new(inputs, tree, weight)?), left_out)
        }
    };
    if left_out > 0 {
        let features = plural(left_out, "feature");
        notes.push(format!("{features} in no group left out; --singletons makes each a group of its own"));
    }
    let groups = GivenGroups {
        file: Some(file.display().to_string()),
        format: args.tree.and_then(TreeKind::format).map(|format| format.name().to_owned()),
        lists: Vec::new(),
        singletons: args.singletons,
    };
    Ok(Chosen { space, groups: Some(groups), only: None, unit: "group", notes })
}
