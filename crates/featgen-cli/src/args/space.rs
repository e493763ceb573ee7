//! Which features the user wants to choose from. The spaces and their options are those that the library describes.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use featgen::Result;
use featgen::space::SpaceSpec;
use featgen::space::spec::{self, GroupSource, Grouping, Kind, Parameter, Range, Shape};

use super::described::one_of;

/// The space, and what was said of its parameters.
pub(crate) struct SpaceArgs {
    space: String,
    numbers: Vec<(&'static str, String)>,
    /// Parameters that are lists of features: the files that hold these.
    files: Vec<(&'static Parameter, PathBuf)>,
}

impl SpaceArgs {
    /// The space with its numbers; lists of features must wait for the data. An option of another space would do nothing: it
    /// is a mistake.
    pub(crate) fn spec(&self) -> Result<SpaceSpec> {
        let plain = SpaceSpec::named(&self.space)?;
        for (parameter, _) in &self.files {
            plain.parameter(parameter.id)?;
        }
        self.numbers.iter().try_fold(plain, |spec, (id, text)| spec.with(id, text))
    }

    /// The parameters that are lists of features, with the files that hold these.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'static Parameter, &Path)> {
        self.files.iter().map(|(parameter, file)| (*parameter, file.as_path()))
    }
}

impl Args for SpaceArgs {
    fn augment_args(command: Command) -> Command {
        let space = Arg::new("space")
            .long("space")
            .value_name("SPACE")
            .default_value(spec::ALL[0].name)
            .value_parser(one_of(spec::ALL.iter().map(|kind| (kind.name, kind.help))))
            .help("Where features come from")
            .help_heading("Features");
        let parameters = spec::parameters().into_iter().map(|(parameter, kinds)| option(parameter, &kinds));
        command.arg(space).args(parameters)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The option of a parameter. Its value is looked at by the library, whose errors say its range.
fn option(parameter: &Parameter, kinds: &[&Kind]) -> Arg {
    let names: Vec<_> = kinds.iter().map(|kind| kind.name).collect();
    let mut help = format!("For {}: {}", names.join(" and "), parameter.help);
    let arg = Arg::new(parameter.id)
        .long(parameter.id)
        .value_name(parameter.symbol)
        .allow_negative_numbers(true)
        .help_heading("Features");
    let arg = match parameter.range {
        Range::Features => {
            help += ", written as in a file of --groups";
            arg.value_parser(value_parser!(PathBuf))
        }
        _ => arg,
    };
    match &parameter.default {
        Some(value) => help += &format!(" [default: {value}]"),
        None if !parameter.otherwise.is_empty() => help += &format!(" [default: {}]", parameter.otherwise),
        None => {}
    }
    arg.help(help)
}

impl FromArgMatches for SpaceArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let text = |id: &str| matches.get_one::<String>(id).cloned();
        let (mut numbers, mut files) = (Vec::new(), Vec::new());
        for (parameter, _) in spec::parameters() {
            match parameter.range {
                Range::Features => {
                    let file = matches.get_one::<PathBuf>(parameter.id).cloned();
                    files.extend(file.map(|file| (parameter, file)));
                }
                _ => numbers.extend(text(parameter.id).map(|text| (parameter.id, text))),
            }
        }
        Ok(Self { space: text("space").unwrap_or_default(), numbers, files })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Which features are selected together.
#[derive(Args)]
pub(crate) struct GroupingArgs {
    /// Select groups of features: one a line, `name: 3 5 9-12`, or the pathways of a .gmt file
    ///
    /// Features are counted from 1 or called by their names; the group's name may be left out. Names with blanks, commas or
    /// colons take quotes: `"DNA repair": "gene 1" 5-9`. In a .gmt file, `name TAB description TAB gene TAB gene ...`, genes
    /// that the data lack are skipped. Groups may overlap: a feature's weight is then the sum over its groups. --features and
    /// --budget count groups.
    #[arg(long, value_name = "FILE", help_heading = "Groups")]
    pub(crate) groups: Option<PathBuf>,

    /// The groups form a tree: any two are disjoint or one holds the other
    ///
    /// Checked, and used to score only few of them. The file of --groups may then also hold lines `parent > child`, a
    /// Newick tree, or a path `a/b/c` for each feature; which of them is recognised, or said with --tree=FORMAT.
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, requires = "groups",
          default_missing_value = "auto", value_parser = one_of(spec::TREE_FORMATS.iter().map(|c| (c.name, c.help))),
          help_heading = "Groups")]
    tree: Option<String>,

    /// How much a group's size counts against it
    #[arg(long, value_name = "WEIGHT", requires = "groups", default_value = "none",
          value_parser = one_of(spec::GROUP_WEIGHTS.iter().map(|c| (c.name, c.help))), help_heading = "Groups")]
    group_weight: String,

    /// Make every feature that is in no group a group of its own, instead of leaving it out
    #[arg(long, requires = "groups", help_heading = "Groups")]
    singletons: bool,
}

impl GroupingArgs {
    /// The groups, if any were asked for.
    pub(crate) fn grouping(&self) -> Result<Option<Grouping>> {
        let Some(file) = &self.groups else { return Ok(None) };
        let tree = self.tree.as_deref();
        Ok(Some(Grouping {
            source: GroupSource::File(file.clone()),
            shape: tree.map_or(Ok(Shape::Any), |name| {
                spec::choose("tree", &spec::TREE_FORMATS, name).map(Shape::Tree)
            })?,
            weight: spec::choose("group-weight", &spec::GROUP_WEIGHTS, &self.group_weight)?,
            singletons: self.singletons,
        }))
    }
}
