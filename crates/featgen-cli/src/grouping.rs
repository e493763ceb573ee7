//! The space that the user's options describe: features one by one, or groups of them.

use featgen::Result;
use featgen::data::Dataset;
use featgen::error::Place;
use featgen::space::{self, FeatureSpace, GroupSpace, Inputs, LinearSpace, MOST_MEMBERS, TreeSpace};

use crate::args::GroupingArgs;
use crate::numbers::{count, plural};
use crate::progress::Progress;

/// A space, and what may surprise about it.
pub(crate) struct Chosen<'a> {
    pub(crate) space: Box<dyn FeatureSpace + 'a>,
    /// What its candidates are.
    pub(crate) unit: &'static str,
    pub(crate) notes: Vec<String>,
}

pub(crate) fn space<'a>(args: &GroupingArgs, data: &'a Dataset, progress: &Progress) -> Result<Chosen<'a>> {
    let weight = args.group_weight.into();
    let Some(file) = &args.groups else {
        return Ok(Chosen { space: Box::new(LinearSpace::new(data)), unit: "feature", notes: Vec::new() });
    };
    progress.doing(format!("reading {}", file.display()));
    let inputs = Inputs::new(data);
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
    Ok(Chosen { space, unit: "group", notes })
}
