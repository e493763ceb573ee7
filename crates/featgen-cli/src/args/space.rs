//! Which features the user wants to choose from. The spaces and their options are those that the library describes.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use featgen::data::read::{Genotyped, Region};
use featgen::model::GivenGroup;
use featgen::space::SpaceSpec;
use featgen::space::spec::{self, GroupSource, Grouping, Kind, Parameter, Range, Shape};
use featgen::{Error, Result};

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
    #[arg(long, value_name = "FILE", group = "grouped", help_heading = "Groups")]
    pub(crate) groups: Option<PathBuf>,

    /// Select windows of variants: all that lie in the same so many bases of a chromosome, such as 100kb
    ///
    /// For a .bed. A window is called by what it spans: `1:100000-200000`.
    #[arg(long, value_name = "BASES", group = "grouped", help_heading = "Groups")]
    windows: Option<Bases>,

    /// Select genes: one a line, `name chromosome first last`, with the variants that lie in it
    ///
    /// For a .bed. Genes may overlap.
    #[arg(long, value_name = "FILE", group = "grouped", help_heading = "Groups")]
    genes: Option<PathBuf>,

    /// The groups form a tree: any two are disjoint or one holds the other
    ///
    /// Checked, and used to score only few of them. The file of --groups may then also hold lines `parent > child`, a
    /// Newick tree, or a path `a/b/c` for each feature; which of them is recognised, or said with --tree=FORMAT.
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, requires = "groups",
          default_missing_value = "auto", value_parser = one_of(spec::TREE_FORMATS.iter().map(|c| (c.name, c.help))),
          help_heading = "Groups")]
    tree: Option<String>,

    /// How much a group's size counts against it
    #[arg(long, value_name = "WEIGHT", requires = "grouped", default_value = "none",
          value_parser = one_of(spec::GROUP_WEIGHTS.iter().map(|c| (c.name, c.help))), help_heading = "Groups")]
    group_weight: String,

    /// Make every feature that is in no group a group of its own, instead of leaving it out
    #[arg(long, requires = "grouped", help_heading = "Groups")]
    singletons: bool,
}

impl GroupingArgs {
    /// The file that holds groups, or genes.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.groups.as_deref().or(self.genes.as_deref())
    }

    /// The groups that lie in the positions of these variants, if that was asked for, and how many genes have none.
    pub(crate) fn positions(&self, data: Option<&Genotyped>) -> Result<Option<(Vec<GivenGroup>, usize)>> {
        let name = match (&self.windows, &self.genes) {
            (Some(_), _) => "windows",
            (None, Some(_)) => "genes",
            (None, None) => return Ok(None),
        };
        let Some(Genotyped { variants, .. }) = data else {
            return Err(Error::parameter(name, "only the variants of a .bed have positions"));
        };
        let (regions, empty) = match (&self.windows, &self.genes) {
            (_, Some(file)) => variants.genes(file)?,
            (windows, None) => (variants.windows(windows.map_or(0, |bases| bases.0))?, 0),
        };
        let group = |region: Region| GivenGroup { name: Some(region.name), features: region.variants };
        Ok(Some((regions.into_iter().map(group).collect(), empty)))
    }

    /// The groups, if any were asked for; `lists` are those that lie in positions, once the data are known.
    pub(crate) fn grouping(&self, lists: Vec<GivenGroup>) -> Result<Option<Grouping>> {
        let source = match (&self.groups, &self.windows, &self.genes) {
            (Some(file), ..) => GroupSource::File(file.clone()),
            (None, None, None) => return Ok(None),
            (None, windows, genes) => {
                GroupSource::Positions { windows: windows.map(|bases| bases.0), genes: genes.clone(), lists }
            }
        };
        let tree = self.tree.as_deref();
        Ok(Some(Grouping {
            source,
            shape: tree.map_or(Ok(Shape::Any), |name| {
                spec::choose("tree", &spec::TREE_FORMATS, name).map(Shape::Tree)
            })?,
            weight: spec::choose("group-weight", &spec::GROUP_WEIGHTS, &self.group_weight)?,
            singletons: self.singletons,
        }))
    }
}

/// A number of bases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bases(u64);

impl FromStr for Bases {
    type Err = String;

    /// `5000`, `100kb` or `1.5Mb`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no number of bases: write 5000, 100kb or 2Mb");
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" | "bp" => 1.0,
            "k" | "kb" => 1e3,
            "m" | "mb" => 1e6,
            _ => return Err(wrong()),
        };
        let bases = number.parse::<f64>().map_err(|_| wrong())? * unit;
        if (1.0..=1e15).contains(&bases) { Ok(Self(bases as u64)) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use super::Bases;

    #[test]
    fn bases_are_written_as_people_do() {
        let bases = |text: &str| text.parse::<Bases>().map(|bases| bases.0);
        assert_eq!(bases("5000"), Ok(5000));
        assert_eq!(bases("100kb"), Ok(100_000));
        assert_eq!(bases("1.5 Mb"), Ok(1_500_000));
        for wrong in ["", "kb", "0", "-3", "3x", "1e30mb", "0.1"] {
            assert!(bases(wrong).is_err(), "{wrong}");
        }
    }
}
