//! The space that the user's options describe, over data: features one by one, groups of them, products or curves.

use featgen::data::{Columns, Dataset};
use featgen::machine::Select;
use featgen::space::spec::{Built, Omitted, Value};
use featgen::space::{self, FeatureSpace, Inputs, MOST_MEMBERS, Scale, SpaceSpec};
use featgen::{Context, Result};

use crate::args::LearningArgs;
use crate::numbers::{count, plural};
use crate::progress::Progress;

/// A space, how it was described, and what may surprise about it.
pub(crate) struct Chosen<'a> {
    pub(crate) space: Box<dyn FeatureSpace + 'a>,
    pub(crate) spec: SpaceSpec,
    /// The same without groups that nobody asked for.
    described: SpaceSpec,
    pub(crate) notes: Vec<String>,
}

/// The space that `args` ask for, over the columns of the data that are not kept.
pub(crate) fn chosen<'a>(
    args: &LearningArgs,
    columns: &'a dyn Columns,
    data: &'a Dataset,
    progress: &Progress,
    context: &'a Context,
    scale: Option<&'a Scale>,
) -> Result<Chosen<'a>> {
    let inputs = Inputs::called(columns, &data.names).context(context);
    let inputs = scale.map_or(inputs, |scale| inputs.scaled(scale));
    if let Some(file) = args.grouping.file() {
        progress.doing(format!("reading {}", file.display()));
    }
    let (spec, empty) = described(args, &inputs, data)?;
    let Built { space, omitted } = spec.build(inputs, data.labels.weights())?;
    let mut notes = notes(&omitted, data);
    if empty > 0 {
        notes.push(format!("{} left out, without a variant in {}", plural(empty, "gene"), data.source));
    }
    Ok(Chosen { space, spec, described: args.spec()?, notes })
}

/// The space that is asked for, with what must be looked up in the data; and how many groups have nothing there.
pub(crate) fn described(
    args: &LearningArgs,
    inputs: &Inputs<'_>,
    data: &Dataset,
) -> Result<(SpaceSpec, usize)> {
    let mut spec = args.spec()?.or_columns_of(data.recipe.as_ref())?;
    for (parameter, file) in args.space.files() {
        spec = spec.with_value(parameter.id, Value::Features(space::read_features(file, inputs)?))?;
    }
    if let Some((lists, without)) = args.grouping.positions(data.genotypes.as_ref())?
        && let Some(grouping) = args.grouping.grouping(lists)?
    {
        return Ok((spec.with_groups(grouping)?, without));
    }
    Ok((spec, 0))
}

/// How the columns are weighed, if they are to be, where features are chosen in that way.
pub(crate) fn scale(
    args: &LearningArgs,
    select: Select,
    columns: &dyn Columns,
    data: &Dataset,
) -> Result<Option<Scale>> {
    let inputs = Inputs::called(columns, &data.names);
    let spec = args.spec()?.or_columns_of(data.recipe.as_ref())?;
    spec.scale(args.scaling(), select, &inputs, data.labels.weights())
}

impl Chosen<'_> {
    /// What its candidates are.
    pub(crate) fn unit(&self) -> &'static str {
        if self.spec.grouping().is_some() { "group" } else { "feature" }
    }

    /// What of its description the space itself does not know, in a model.
    pub(crate) fn describe(&self, model: featgen::Model) -> featgen::Model {
        let groups = self.described.grouping().map(|grouping| grouping.given());
        model.with_description(groups, self.spec.only().map(<[u64]>::to_vec))
    }
}

fn notes(omitted: &Omitted, data: &Dataset) -> Vec<String> {
    let mut notes = Vec::new();
    if omitted.too_large > 0 {
        let (large, most) = (plural(omitted.too_large, "group"), count(MOST_MEMBERS as u64));
        notes.push(format!("{large} of more than {most} features cannot be selected, only groups inside"));
    }
    if let Some(place) = &omitted.beyond {
        let source = &data.source;
        notes.push(format!("{place}: this and perhaps other features do not occur in {source}"));
    }
    if let Some(lacking) = omitted.lacking.filter(|lacking| lacking.members + lacking.groups > 0) {
        let part = |few: usize, all: usize| format!("{} of {}", count(few as u64), count(all as u64));
        let genes = part(lacking.members, lacking.of_members);
        let mut note = format!("genes of pathways that {} lacks: {genes}", data.source);
        if lacking.groups > 0 {
            note += &format!(
                "; pathways left out, for it has none of theirs: {}",
                part(lacking.groups, lacking.of_groups)
            );
        }
        notes.push(note);
    }
    if omitted.left_out > 0 {
        let features = plural(omitted.left_out, "feature");
        notes.push(format!("{features} in no group left out; --singletons makes each a group of its own"));
    }
    notes
}
