//! Which features the user wants to choose from: the options of spaces and of groups.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use featgen::Error;
use featgen::space::{GroupWeight, TreeFormat};

/// Where features come from.
#[derive(Args)]
pub(crate) struct SpaceArgs {
    /// Where features come from
    #[arg(long, value_enum, default_value_t = SpaceKind::Linear, help_heading = "Features")]
    pub(crate) space: SpaceKind,

    /// For poly2: the kernel's factor [default: 1]
    #[arg(long, value_name = "G", allow_negative_numbers = true, help_heading = "Features")]
    pub(crate) gamma: Option<f64>,

    /// For poly2: the kernel's constant; 0 leaves out single features [default: 1]
    #[arg(long, value_name = "R", allow_negative_numbers = true, help_heading = "Features")]
    pub(crate) coef0: Option<f64>,

    /// For products: how many features are multiplied at most [default: 2]
    #[arg(long, value_name = "D", allow_negative_numbers = true, help_heading = "Features")]
    pub(crate) degree: Option<usize>,

    /// For products: leave out products that are not 0 in fewer instances than this [default: 1]
    #[arg(long, value_name = "K", allow_negative_numbers = true, help_heading = "Features")]
    pub(crate) min_support: Option<usize>,

    /// For poly2 and products: the features that may be multiplied, written as in a file of --groups
    #[arg(long, value_name = "FILE", help_heading = "Features")]
    pub(crate) only: Option<PathBuf>,

    /// For hik and intersection: how many levels a feature has [default: 100]
    #[arg(long, value_name = "L", allow_negative_numbers = true, help_heading = "Features")]
    pub(crate) levels: Option<usize>,

    /// For intersection: the power of the features' size [default: 1]
    #[arg(long, value_name = "A", allow_negative_numbers = true, help_heading = "Features")]
    pub(crate) power: Option<f64>,

    /// For gaussian: the kernel's width [default: the standard deviation of each feature]
    #[arg(long, value_name = "S", allow_negative_numbers = true, help_heading = "Features")]
    pub(crate) sigma: Option<f64>,
}

impl SpaceArgs {
    /// An option of another space would do nothing: it is a mistake.
    pub(crate) fn check(&self) -> Result<(), Error> {
        use SpaceKind::{Gaussian, Hik, Intersection, Poly2, Products};
        let options: [(&'static str, bool, &[SpaceKind]); 8] = [
            ("gamma", self.gamma.is_some(), &[Poly2]),
            ("coef0", self.coef0.is_some(), &[Poly2]),
            ("degree", self.degree.is_some(), &[Products]),
            ("min-support", self.min_support.is_some(), &[Products]),
            ("only", self.only.is_some(), &[Poly2, Products]),
            ("levels", self.levels.is_some(), &[Hik, Intersection]),
            ("power", self.power.is_some(), &[Intersection]),
            ("sigma", self.sigma.is_some(), &[Gaussian]),
        ];
        let name =
            |kind: &SpaceKind| kind.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned());
        for (option, given, spaces) in options {
            if given && !spaces.contains(&self.space) {
                let spaces: Vec<String> = spaces.iter().map(name).collect();
                let reason = format!("this is for --space {}", spaces.join(" or "));
                return Err(Error::parameter(option, reason));
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum SpaceKind {
    /// The input features as they are
    Linear,
    /// The inputs, their squares and all products of two, as the kernel (gamma x.z + coef0)^2 weighs them
    Poly2,
    /// The inputs and all products of up to D different ones, for values from 0 to 1
    Products,
    /// A curve of each feature in many steps, as the kernel min(x, z) makes it
    Hik,
    /// The same for min(|x|^A, |z|^A)
    Intersection,
    /// A smooth curve of each feature, as the kernel exp(-(x - z)^2 / (2 S^2)) makes it
    Gaussian,
}

/// Which features are selected together.
#[derive(Args)]
pub(crate) struct GroupingArgs {
    /// Select groups of features: one a line, `name: 3 5 9-12`
    ///
    /// Features are counted from 1 or called by their names; the group's name may be left out. Groups may overlap: a
    /// feature's weight is then the sum over its groups. --features and --budget count groups.
    #[arg(long, value_name = "FILE", help_heading = "Groups")]
    pub(crate) groups: Option<PathBuf>,

    /// The groups form a tree: any two are disjoint or one holds the other
    ///
    /// Checked, and used to score only few of them. The file of --groups may then also hold lines `parent > child`, a
    /// Newick tree, or a path `a/b/c` for each feature; which of them is recognised, or said with --tree=FORMAT.
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, requires = "groups",
          default_missing_value = "auto", help_heading = "Groups")]
    pub(crate) tree: Option<TreeKind>,

    /// How much a group's size counts against it
    #[arg(long, value_enum, value_name = "WEIGHT", requires = "groups", default_value_t = GroupWeighting::None,
          help_heading = "Groups")]
    pub(crate) group_weight: GroupWeighting,

    /// Make every feature that is in no group a group of its own, instead of leaving it out
    #[arg(long, requires = "groups", help_heading = "Groups")]
    pub(crate) singletons: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum TreeKind {
    /// Whatever the first line looks like
    Auto,
    /// `name: 3 5 9-12`, a group a line
    Lists,
    /// `parent > child`, where the child is a group or a list of features
    Parents,
    /// `((1,2)a,(3,4)b);`, where every node is a group
    Newick,
    /// `a/b/c`, the path of a feature a line
    Paths,
}

impl TreeKind {
    pub(crate) fn format(self) -> Option<TreeFormat> {
        match self {
            Self::Auto => None,
            Self::Lists => Some(TreeFormat::Lists),
            Self::Parents => Some(TreeFormat::Parents),
            Self::Newick => Some(TreeFormat::Newick),
            Self::Paths => Some(TreeFormat::Paths),
        }
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum GroupWeighting {
    /// Not at all: larger groups tend to win
    None,
    /// By its square root, as in the group lasso: scores are divided by it, norms multiplied
    Sqrt,
}

impl From<GroupWeighting> for GroupWeight {
    fn from(weighting: GroupWeighting) -> Self {
        match weighting {
            GroupWeighting::None => Self::None,
            GroupWeighting::Sqrt => Self::Sqrt,
        }
    }
}
