//! How the machine is to learn: its options, and the machine that they describe.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use featgen::data::ClassWeights;
use featgen::machine::Select;
use featgen::objective::{self, Loss, LossSpec};
use featgen::space::{Scaling, SpaceSpec};
use featgen::validate::Costs;
use featgen::{Error, Machine, subproblem};

use super::described::one_of;
use super::{GroupingArgs, SpaceArgs};

/// How features are selected and weights are found.
#[derive(Args)]
#[command(next_help_heading = "Learning")]
pub(crate) struct LearningArgs {
    /// Stop with exactly K features (groups, with --groups) that carry weight
    ///
    /// With --select paper, if the optimum for the cost holds fewer, the cost is doubled until K do; the cost used is reported. --tol
    /// and --max-rounds then apply only if given.
    #[arg(long, value_name = "K")]
    pub(crate) features: Option<usize>,

    /// How features are chosen [default: best with --features and without --gap, else paper]
    #[arg(long, value_parser = one_of(Select::ALL.iter().map(|select| (select.name(), select.help()))))]
    select: Option<String>,

    /// With --select best: at most this many times are chosen features exchanged for others [default: 15]
    #[arg(long, value_name = "R")]
    exchange: Option<usize>,

    /// With --features K: work on the proof that no other K are better, until they are within this part of the best [default: 0.01]
    ///
    /// If better ones are found on the way, they are taken. Without it, only what comes for free with the selection is proven. The smaller
    /// the cost, the more can be proven.
    #[arg(long, value_name = "G", num_args = 0..=1, default_missing_value = "0.01", allow_negative_numbers = true)]
    prove: Option<f64>,

    /// Keep only discoveries: as many features as possible of which no more than this part is expected to be false [default: 0.1]
    ///
    /// With --features K they are chosen from up to K, else from as many as it takes. A feature is false if it gains no more than
    /// features without any effect do by chance, or than others would in its place.
    #[arg(long, value_name = "Q", num_args = 0..=1, default_missing_value = "0.1", allow_negative_numbers = true)]
    fdr: Option<f64>,

    /// End the search, or the proof, after so many seconds, with what is there
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    time_limit: Option<f64>,

    /// How columns are weighed; weights are given, and models applied, in the units of the data [default: auto with --select best
    /// over columns or groups of them, else none]
    #[arg(long, value_parser = one_of(Scaling::ALL.iter().map(|scaling| (scaling.name(), scaling.help()))))]
    scale: Option<String>,

    /// Features (groups) added per round [default: 10; with --features K: K/10, within 1 and 50]
    ///
    /// Small numbers select more carefully, large ones need fewer rounds. Worth trying: 1 to 100.
    #[arg(short = 'B', long, value_name = "N")]
    budget: Option<usize>,

    /// Weight of the errors against the size of the weights [default: with --select best one that suits the data; else 10]
    ///
    /// With --select paper, 1 to 100 are worth trying, the upper end for sparse rows of unit length. With --select best, the default
    /// for n instances and K features is 0.01 sqrt(n / K) where columns are scaled, and 100 divided by the mean squared length of an
    /// instance where they are not; worth trying: a tenth of it to ten times it. `featgen path` compares several: 0.1,1,10 or auto.
    #[arg(short = 'C', long, value_name = "X", allow_negative_numbers = true)]
    cost: Option<Cost>,

    /// How errors count, and with that what labels are [default: squared-hinge, for two classes]
    #[arg(long, value_parser = one_of(objective::ALL.iter().map(|loss| (loss.name, loss.help))))]
    loss: Option<String>,

    /// With --loss huber: the error, in the units of the label, from which it counts by its size [default: 1.35]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    delta: Option<f64>,

    /// Learn no shift: decision values are 0 where all features are
    #[arg(long)]
    no_shift: bool,

    /// Columns that are always in the model, not penalised and not counted: numbers, names, ranges, or @FILE
    ///
    /// Such as `--keep age,sex,7-9`. Features, groups and products are selected among the other columns, for what these leave
    /// unexplained.
    #[arg(long, value_name = "LIST")]
    pub(crate) keep: Option<String>,

    /// A number an instance, one a line, that is added to its decision value
    #[arg(long, value_name = "FILE")]
    pub(crate) offset: Option<PathBuf>,

    /// How much a class counts, as LABEL=X (may be repeated), or `balanced`
    ///
    /// `balanced` weighs classes inversely to their frequency, so that both together count the same.
    #[arg(long, value_name = "LABEL=X|balanced", allow_hyphen_values = true)]
    weight: Vec<ClassWeight>,

    #[command(flatten)]
    pub(crate) space: SpaceArgs,

    /// Run until the selection is proven to be within this part of the optimum
    ///
    /// 0.01 means 1 %. Features are chosen as by --select paper, but rounds add all features that would get a weight, not just B; --tol,
    /// --max-rounds and --features then apply only if given.
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    gap: Option<f64>,

    /// At most this many rounds [default: 20]
    ///
    /// Without --features or --gap, 5 to 20 are usual.
    #[arg(long, value_name = "T")]
    max_rounds: Option<usize>,

    /// Stop when a round lowers the objective by less than this part of its first value [default: 1e-3]
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    tol: Option<f64>,

    /// How exactly each round is solved: its relative duality gap
    #[arg(long, value_name = "E", default_value = "1e-4", allow_negative_numbers = true)]
    inner_tol: f64,

    /// With the solvers apg and pg: end a round by its relative decrease instead
    ///
    /// The rule of the paper (eq. 37); it used 1e-3 ("inexact") and 1e-6 ("exact").
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    inner_decrease: Option<f64>,

    /// What finds the weights in each round
    #[arg(long, default_value = "auto", value_parser = one_of(subproblem::ALL.iter().map(|solver| (solver.name, solver.help))))]
    solver: String,

    /// Afterwards, refit with this cost on the selected features only
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    debias: Option<f64>,

    // Last, for its heading is that of all options after it.
    #[command(flatten)]
    pub(crate) grouping: GroupingArgs,
}

impl LearningArgs {
    /// How exactly each round is to be solved.
    pub(crate) fn inner_tol(&self) -> f64 {
        self.inner_tol
    }

    /// The space that is to be searched, without what must be looked up in the data.
    pub(crate) fn spec(&self) -> Result<SpaceSpec, Error> {
        let spec = self.space.spec()?;
        match self.grouping.grouping(Vec::new())? {
            Some(grouping) => spec.with_groups(grouping),
            None => Ok(spec),
        }
    }

    /// How columns are to be weighed, if that was asked for.
    pub(crate) fn scaling(&self) -> Option<Scaling> {
        self.scale.as_deref().and_then(Scaling::find)
    }

    /// The loss that is asked for; without one, labels must be two classes.
    fn loss(&self) -> Result<Option<Arc<dyn Loss>>, Error> {
        let parameters: Vec<(&str, f64)> = self.delta.map(|delta| ("delta", delta)).into_iter().collect();
        let Some(name) = self.loss.as_deref() else {
            let reason = "goes with --loss huber";
            return if parameters.is_empty() { Ok(None) } else { Err(Error::parameter("delta", reason)) };
        };
        LossSpec::find(name).map(|spec| spec.make(&parameters)).transpose()
    }

    /// The cost, where there is to be one.
    fn one_cost(&self) -> Result<Option<f64>, Error> {
        match &self.cost {
            None => Ok(None),
            Some(Cost::Several(costs)) if costs.len() == 1 => Ok(Some(costs[0])),
            Some(_) => Err(Error::parameter("cost", "must be one; `featgen path` compares several")),
        }
    }

    /// The costs that are to be compared; a single one is the machine's own.
    pub(crate) fn costs(&self) -> Costs {
        match &self.cost {
            Some(Cost::Auto) => Costs::auto(),
            Some(Cost::Several(costs)) => Costs::Given(costs.clone()),
            None => Costs::One,
        }
    }

    /// The machine with these settings, checked.
    pub(crate) fn machine(&self) -> Result<Machine, Error> {
        let machine = self.unchecked(self.one_cost()?)?;
        machine.validate()?;
        Ok(machine)
    }

    /// The same at a cost that may be another, before all is known that is to be checked.
    pub(crate) fn unchecked(&self, cost: Option<f64>) -> Result<Machine, Error> {
        let mut machine = Machine::new()
            .shift(!self.no_shift)
            .inner_tol(self.inner_tol)
            .solver(&self.solver)
            .class_weights(class_weights(&self.weight)?);
        machine = given(machine, self.loss()?, Machine::loss);
        machine = given(machine, cost, Machine::cost);
        machine = given(machine, self.select.as_deref().and_then(Select::find), Machine::select);
        machine = given(machine, self.exchange, Machine::exchange);
        machine = given(machine, self.prove, Machine::prove);
        machine = given(machine, self.fdr, Machine::fdr);
        machine = given(machine, self.time_limit, Machine::time_limit);
        machine = given(machine, self.budget, Machine::budget);
        machine = given(machine, self.features, Machine::features);
        machine = given(machine, self.max_rounds, Machine::max_rounds);
        machine = given(machine, self.tol, Machine::tol);
        machine = given(machine, self.inner_decrease, Machine::inner_decrease);
        machine = given(machine, self.gap, Machine::gap);
        machine = given(machine, self.debias, Machine::debias);
        self.spec()?;
        Ok(machine)
    }
}

fn given<T>(machine: Machine, value: Option<T>, set: impl FnOnce(Machine, T) -> Machine) -> Machine {
    match value {
        Some(value) => set(machine, value),
        None => machine,
    }
}

/// What `-C` says.
#[derive(Clone)]
pub(crate) enum Cost {
    Auto,
    Several(Vec<f64>),
}

impl FromStr for Cost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let number = |item: &str| item.trim().parse().map_err(|_| format!("{item} is not a number"));
        text.split(',').map(number).collect::<Result<_, _>>().map(Self::Several)
    }
}

/// One `--weight`.
#[derive(Clone)]
enum ClassWeight {
    Balanced,
    Given(String, f64),
}

impl FromStr for ClassWeight {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "balanced" {
            return Ok(Self::Balanced);
        }
        // The label may hold a `=` itself; the number cannot.
        let (label, number) = text.rsplit_once('=').ok_or("expected LABEL=X or balanced")?;
        let weight = number.parse().map_err(|_| format!("{number} is not a number"))?;
        Ok(Self::Given(label.to_owned(), weight))
    }
}

fn class_weights(options: &[ClassWeight]) -> Result<ClassWeights, Error> {
    match options {
        [] => Ok(ClassWeights::Equal),
        [ClassWeight::Balanced] => Ok(ClassWeights::Balanced),
        several => {
            let pair = |option: &ClassWeight| match option {
                ClassWeight::Given(label, weight) => Ok((label.clone(), *weight)),
                ClassWeight::Balanced => Err(Error::parameter("weight", "balanced stands alone")),
            };
            several.iter().map(pair).collect::<Result<_, _>>().map(ClassWeights::Given)
        }
    }
}
