//! What `synth` can be told: a kind of data set, and its sizes.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use featgen::synth::{About, Outcome};

/// Make a data set from a seed, with a known solution.
#[derive(Args)]
#[command(after_help = "\
Examples:
  featgen synth linear -o toy --rows 1000 --features 5000 --relevant 20
  featgen synth linear -o big --features 1000000 --density 0.001
  featgen synth linear -o times --outcome times
  featgen synth group -o toy --rows 1000 --features 5000 --relevant 20
  featgen synth products -o toy --rows 5000 --features 20000 --relevant 5
  featgen synth bed -o toy --rows 2000 --features 50000 --confounding 1
  featgen synth table -o people --rows 1000")]
pub(crate) struct SynthArgs {
    #[command(subcommand)]
    pub(crate) kind: SynthKind,
}

#[derive(Subcommand)]
pub(crate) enum SynthKind {
    Linear(LinearArgs),
    Group(GroupArgs),
    Products(ProductsArgs),
    Bed(BedArgs),
    Table(SynthTableArgs),
}

/// A table as people have them: columns of all kinds, and cells without a value.
///
/// `people` has 15 columns about people that nobody is; seven of them decide on the last, `income`. `clicks` has 40 columns, as logs
/// of advertisements have them: 13 counts, 26 categories of 3 to a million levels, few of them frequent, and `click`, which nine of the
/// columns and three crosses of two levels decide on. Outcomes have two classes. The same seed makes the same table on every machine.
#[derive(Args)]
#[command(after_help = "\
Files:
  PREFIX.train.csv  the table (.parquet with --format parquet)
  PREFIX.test.csv   more of the same
  PREFIX.truth.txt  the columns that decide, one a line, then the crosses

Files are written as they are made: they may be larger than memory.

Examples:
  featgen synth table -o people --rows 1000
  featgen synth table --about clicks -o clicks --rows 1000000 --format parquet")]
pub(crate) struct SynthTableArgs {
    /// What the rows are about
    #[arg(long, value_enum, default_value_t = AboutChoice::People)]
    pub(crate) about: AboutChoice,

    /// What the names of the files begin with
    #[arg(short, long, value_name = "PREFIX")]
    pub(crate) output: PathBuf,

    /// Training instances
    #[arg(long, value_name = "N", default_value_t = 30_000)]
    pub(crate) rows: usize,

    /// Test instances; 0 for no test set
    #[arg(long, value_name = "N", default_value_t = 5000)]
    pub(crate) test_rows: usize,

    /// What makes the random numbers differ
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Kind of files
    #[arg(long, value_enum, default_value_t = TableChoice::Csv)]
    pub(crate) format: TableChoice,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum AboutChoice {
    /// People and their income
    People,
    /// Advertisements and who clicks on them
    Clicks,
}

impl From<AboutChoice> for About {
    fn from(choice: AboutChoice) -> Self {
        match choice {
            AboutChoice::People => Self::People,
            AboutChoice::Clicks => Self::Clicks,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum TableChoice {
    /// Text with commas
    Csv,
    /// Parquet
    Parquet,
}

/// Two classes apart by a linear rule on a few of many normal features.
///
/// Values are drawn from N(0, 1), the weights of the relevant features from U(0, 1), and the label of x is the sign of
/// x . w - shift. The same seed makes the same data on every machine.
#[derive(Args)]
#[command(after_help = "\
Files (and the same with `test` for `train`):
  PREFIX.train.svm         svmlight text, or
  PREFIX.train.npy         NumPy float32, with
  PREFIX.train.labels.txt  a label a line
  PREFIX.truth.txt         `FEATURE WEIGHT` a line for the relevant features, counted
                           from 1; the shift stands in a comment, `# shift X`

Example:
  featgen synth linear -o toy --rows 1000 --features 5000 --relevant 20")]
pub(crate) struct LinearArgs {
    #[command(flatten)]
    pub(crate) set: SetArgs,

    /// Features with a weight
    #[arg(long, value_name = "K", default_value_t = 300)]
    pub(crate) relevant: usize,
}

/// Two classes apart by a linear rule on a few groups of many normal features.
///
/// Values are drawn from N(0, 1), the weights of all features in the relevant groups from N(0, 1), and the label of x is
/// the sign of x . w - shift. Groups are neighbouring features. The same seed makes the same data on every machine.
#[derive(Args)]
#[command(
    // The paper's sizes, other than those of its problem without groups.
    mut_arg("test_rows", |arg| arg.default_value("2000")),
    mut_arg("features", |arg| arg.default_value("400000")),
    after_help = "\
Files (and the same with `test` for `train`):
  PREFIX.train.svm         svmlight text, or
  PREFIX.train.npy         NumPy float32, with
  PREFIX.train.labels.txt  a label a line
  PREFIX.groups.txt        `gN: FIRST-LAST` a line for every group, counted from 1
  PREFIX.truth.txt         `FEATURE WEIGHT GROUP` a line for the relevant features,
                           counted from 1; the shift stands in a comment, `# shift X`

The defaults are the paper's: 6.6 GB of training data, held in memory while they are made.

Example:
  featgen synth group -o toy --rows 1000 --features 5000 --relevant 20"
)]
pub(crate) struct GroupArgs {
    #[command(flatten)]
    pub(crate) set: SetArgs,

    /// Features in a group; the last may hold fewer
    #[arg(long, value_name = "S", default_value_t = 10)]
    pub(crate) group_size: usize,

    /// Groups whose features have weights
    #[arg(long, value_name = "K", default_value_t = 100)]
    pub(crate) relevant: usize,
}

/// Two classes apart by a few products of many sparse features: by what occurs together.
///
/// Features are rare, some less than others: the one of rank j occurs in a part of the instances that falls like
/// 1/j^skew and is at most a quarter; ranks are scattered over the features. The factors of each relevant product occur
/// together in the part `support` of the instances, and each alone in as many. Weights are from U(0.5, 1), half of them
/// negative, and the label of x is the sign of the weighted sum of the products less a shift, the median. Classes are
/// about equally large where K times `support` is 2 or more. The same seed makes the same data on every machine.
#[derive(Args)]
#[command(after_help = "\
Files (and the same with `test` for `train`):
  PREFIX.train.svm  svmlight text
  PREFIX.truth.txt  `PRODUCT WEIGHT` a line for the relevant products, with factors
                    counted from 1, as in `17*4021 0.83`; the shift stands in a
                    comment, `# shift X`

Examples:
  featgen synth products -o toy --rows 5000 --features 20000 --relevant 5
  featgen synth products -o toy --degree 3 --values real

One of the shape of kddb, of 29 million values:
  featgen synth products -o kddb --rows 1000000 --test-rows 100000 \\
      --features 4590807 --per-row 29 --relevant 100 --support 0.02")]
pub(crate) struct ProductsArgs {
    /// What the names of the files begin with
    #[arg(short, long, value_name = "PREFIX")]
    pub(crate) output: PathBuf,

    /// Training instances
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(crate) rows: usize,

    /// Test instances; 0 for no test set
    #[arg(long, value_name = "N", default_value_t = 5000)]
    pub(crate) test_rows: usize,

    /// Features
    #[arg(long, value_name = "M", default_value_t = 100_000)]
    pub(crate) features: usize,

    /// Mean number of values of an instance that are not zero
    #[arg(long, value_name = "X", default_value_t = 30.0, allow_negative_numbers = true)]
    pub(crate) per_row: f64,

    /// How fast features become rare; 0 makes all equally frequent, 1 is Zipf's law
    #[arg(long, value_name = "A", default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) skew: f64,

    /// Factors of a relevant product
    #[arg(long, value_name = "D", default_value_t = 2)]
    pub(crate) degree: usize,

    /// Products with a weight
    #[arg(long, value_name = "K", default_value_t = 10)]
    pub(crate) relevant: usize,

    /// The part of the instances that the factors of a relevant product are put into together
    #[arg(long, value_name = "P", default_value_t = 0.2, allow_negative_numbers = true)]
    pub(crate) support: f64,

    /// The part of the labels that are turned
    #[arg(long, value_name = "P", default_value_t = 0.05, allow_negative_numbers = true)]
    pub(crate) noise: f64,

    /// What values that are not zero are
    #[arg(long, value_enum, default_value_t = ValueChoice::Ones)]
    pub(crate) values: ValueChoice,

    /// What makes the random numbers differ
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) outcome: OutcomeArgs,
}

/// Genotypes of people, and a trait that a few variants decide: PLINK files.
///
/// Counted alleles have frequencies from 0.05 to 0.5, the same in blocks of 20 variants, which are linked. The trait is the sum
/// of the relevant genotypes, weighed so that together they explain --heritability of its variance, and noise; cases are the
/// people in whom it is above 0. With --confounding there are two populations that differ in the trait, and in the frequencies
/// of a fifth of the blocks: all these look relevant unless the population is kept as a covariate. The same seed makes the same
/// data on every machine.
#[derive(Args)]
#[command(after_help = "\
Files (and the same with `test` for `train`):
  PREFIX.train.bed, .bim, .fam  genotypes, variants, people with their trait
  PREFIX.covar.txt              `FID IID population age` of all people, with --confounding
  PREFIX.truth.txt              `VARIANT WEIGHT` a line for the relevant variants

Files are written as they are made: they may be larger than memory.

Examples:
  featgen synth bed -o toy --rows 2000 --features 50000 --confounding 1
  featgen synth bed -o wide --rows 10000 --test-rows 0 --features 500000 --quantitative")]
pub(crate) struct BedArgs {
    /// What the names of the files begin with
    #[arg(short, long, value_name = "PREFIX")]
    pub(crate) output: PathBuf,

    /// People to learn from
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub(crate) rows: usize,

    /// More people to test on; 0 for none
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) test_rows: usize,

    /// Variants
    #[arg(long, value_name = "M", default_value_t = 20_000)]
    pub(crate) features: usize,

    /// Variants that decide the trait
    #[arg(long, value_name = "K", default_value_t = 10)]
    pub(crate) relevant: usize,

    /// The part of the trait's variance that they explain
    #[arg(long, value_name = "P", default_value_t = 0.5, allow_negative_numbers = true)]
    pub(crate) heritability: f64,

    /// How strongly a variant follows the one before
    #[arg(long, value_name = "P", default_value_t = 0.5, allow_negative_numbers = true)]
    pub(crate) linkage: f64,

    /// The part of the genotypes that are missing
    #[arg(long, value_name = "P", default_value_t = 0.002, allow_negative_numbers = true)]
    pub(crate) missing: f64,

    /// How far two populations are from their middle in the trait, in its standard deviations; 0 for one population
    #[arg(long, value_name = "X", default_value_t = 0.0, allow_negative_numbers = true)]
    pub(crate) confounding: f64,

    /// A trait that is a number, rather than cases (2) and controls (1)
    #[arg(long)]
    pub(crate) quantitative: bool,

    /// What makes the random numbers differ
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum ValueChoice {
    /// All 1
    Ones,
    /// From U(0, 1)
    Real,
}

/// What kinds of set with normal features are told.
#[derive(Args)]
pub(crate) struct SetArgs {
    /// What the names of the files begin with
    #[arg(short, long, value_name = "PREFIX")]
    pub(crate) output: PathBuf,

    /// Training instances
    #[arg(long, value_name = "N", default_value_t = 4096)]
    pub(crate) rows: usize,

    /// Test instances; 0 for no test set
    #[arg(long, value_name = "N", default_value_t = 4096)]
    pub(crate) test_rows: usize,

    /// Features
    #[arg(long, value_name = "M", default_value_t = 4096)]
    pub(crate) features: usize,

    /// The part of the values that are not zero, above 0 and at most 1
    #[arg(long, value_name = "D", default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) density: f64,

    /// The threshold between the classes
    #[arg(long, value_name = "B", default_value_t = 0.0, allow_negative_numbers = true)]
    pub(crate) shift: f64,

    /// What makes the random numbers differ
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) outcome: OutcomeArgs,

    /// Kind of files
    #[arg(long, value_enum, default_value_t = SynthFormat::Auto)]
    pub(crate) format: SynthFormat,
}

/// What labels are made of decision values.
#[derive(Args)]
pub(crate) struct OutcomeArgs {
    /// What the labels are
    #[arg(long, value_enum, default_value_t = OutcomeChoice::Signs)]
    outcome: OutcomeChoice,

    /// With `--outcome classes`: how many there are
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = clap::value_parser!(u16).range(2..=1000))]
    classes: u16,
}

impl OutcomeArgs {
    pub(crate) fn outcome(&self) -> Outcome {
        match self.outcome {
            OutcomeChoice::Signs => Outcome::Signs,
            OutcomeChoice::Classes => Outcome::Classes(usize::from(self.classes)),
            OutcomeChoice::Numbers => Outcome::Numbers,
            OutcomeChoice::Counts => Outcome::Counts,
            OutcomeChoice::Times => Outcome::Times,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum OutcomeChoice {
    /// Two classes, -1 and +1
    Signs,
    /// Several classes of about the same size, from 1 on
    Classes,
    /// Numbers with noise
    Numbers,
    /// Counts, from Poisson distributions
    Counts,
    /// Times to an event, negative where nothing happened until then
    Times,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum SynthFormat {
    /// npy if every value is stored, svm otherwise
    Auto,
    /// svmlight text
    Svm,
    /// NumPy float32, columns together
    Npy,
    /// A store, written as it is made: it may be larger than memory
    Store,
}
