//! What a user may set, with the defaults of the interface; checked once, before anything runs.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::discoveries::{FIRST, TRIED};
use crate::context::Context;
use crate::data::ClassWeights;
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::objective::{Kept, Loss, SquaredHinge};
use crate::subproblem;

/// The feature generating machine: set what matters, then [`fit`](Machine::fit).
///
/// ```
/// use featgen::Machine;
/// let machine = Machine::new().budget(5).cost(1.0).features(20);
/// ```
#[derive(Clone)]
pub struct Machine {
    pub(super) budget: Option<usize>,
    pub(super) cost: Option<f64>,
    pub(super) select: Option<Select>,
    pub(super) exchange: Option<usize>,
    pub(super) loss: Option<Arc<dyn Loss>>,
    pub(super) kept: Kept,
    pub(super) offset: Option<Vec<f64>>,
    pub(super) shift: bool,
    pub(super) features: Option<usize>,
    pub(super) prove: Option<f64>,
    pub(super) fdr: Option<f64>,
    pub(super) time_limit: Option<f64>,
    pub(super) max_rounds: Option<usize>,
    pub(super) tol: Option<f64>,
    pub(super) inner_tol: f64,
    pub(super) inner_decrease: Option<f64>,
    pub(super) gap: Option<f64>,
    pub(super) solver: String,
    pub(super) debias: Option<f64>,
    pub(super) class_weights: ClassWeights,
    pub(super) context: Context,
    pub(super) checkpoint: Option<PathBuf>,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            budget: None,
            cost: None,
            select: None,
            exchange: None,
            loss: None,
            kept: Kept::default(),
            offset: None,
            shift: true,
            features: None,
            prove: None,
            fdr: None,
            time_limit: None,
            max_rounds: None,
            tol: None,
            inner_tol: 1e-4,
            inner_decrease: None,
            gap: None,
            solver: "auto".into(),
            debias: None,
            class_weights: ClassWeights::Equal,
            context: Context::new(),
            checkpoint: None,
        }
    }
}

/// How features are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Select {
    /// By gain, with exchange and a ridge fit on the chosen: the best for a given number of features.
    Best,
    /// By the paper's rounds: candidates of largest score, weighed by the norm that they compete under.
    Paper,
}

impl Select {
    /// All of them, in the order in which users see them.
    pub const ALL: &[Self] = &[Self::Best, Self::Paper];

    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Paper => "paper",
        }
    }

    /// What it does, on one line.
    pub fn help(self) -> &'static str {
        match self {
            Self::Best => {
                "By what they gain, with exchange and a ridge fit: the best for a given number of features"
            }
            Self::Paper => "By the rounds of the paper, for a certified gap to the optimum at a given cost",
        }
    }

    /// The one of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|select| select.name() == name)
    }
}

/// Exchanges that are tried, unless another number is asked for.
const EXCHANGES: usize = 15;

/// Features up to which a path is looked at, the steps that it is made in, and the features that a step adds at most.
const PATH_FEATURES: usize = 50;
const PATH_POINTS: usize = 25;
const LARGEST_STEP: usize = 50;

/// How many times its tolerance a round may miss before that is worth a word.
const UNSOLVED: f64 = 10.0;

impl Machine {
    /// A machine with all defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Features added per round (B). Default 10; with [`features`](Self::features) K, K/10 within 1 and 50.
    pub fn budget(mut self, budget: usize) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Weight of the loss against the norm (C). By default 10 with the paper's [rounds](Select::Paper), and what the space
    /// [suggests](crate::space::FeatureSpace::suggested_cost) where features are chosen [by gain](Select::Best).
    pub fn cost(mut self, cost: f64) -> Self {
        self.cost = Some(cost);
        self
    }

    /// How features are chosen. Default [`Select::Best`] with [`features`](Self::features) and no [`gap`](Self::gap), else
    /// [`Select::Paper`].
    pub fn select(mut self, select: Select) -> Self {
        self.select = Some(select);
        self
    }

    /// With [`Select::Best`]: at most this many times are chosen features exchanged for others. Default 15.
    pub fn exchange(mut self, steps: usize) -> Self {
        self.exchange = Some(steps);
        self
    }

    /// How errors count. Default [`SquaredHinge`], for two classes only: more must be asked for, since a third label is often a
    /// typing mistake.
    pub fn loss(mut self, loss: Arc<dyn Loss>) -> Self {
        self.loss = Some(loss);
        self
    }

    /// Columns that are always in the model, never penalised, and not counted among its features. The space must leave them
    /// alone: give it the data without them ([`Except`](crate::data::Except)).
    pub fn keep(mut self, kept: Kept) -> Self {
        self.kept = kept;
        self
    }

    /// A number that is added to the decision value of each instance, for losses with one output.
    pub fn offset(mut self, offset: Vec<f64>) -> Self {
        self.offset = Some(offset);
        self
    }

    /// Whether the intercept is learned. Default yes.
    pub fn shift(mut self, shift: bool) -> Self {
        self.shift = shift;
        self
    }

    /// Stop with exactly this many features that carry weight. With the paper's [rounds](Select::Paper), the cost is doubled until
    /// that many do.
    pub fn features(mut self, features: usize) -> Self {
        self.features = Some(features);
        self
    }

    /// Works on the proof that no other features are better than the [number](Self::features) chosen [by gain](Select::Best), until the
    /// objective of the chosen is within this part of what no others can be below. If better ones are found on the way, they are taken.
    /// By default only what comes for free with the choice is proven.
    pub fn prove(mut self, gap: f64) -> Self {
        self.prove = Some(gap);
        self
    }

    /// Keeps only discoveries: as many features as possible of which no more than this part is expected to be false, that is to gain
    /// no more than features without effect do by chance. Chosen [by gain](Select::Best) from up to as many as are
    /// [asked for](Self::features), or else from as many as it takes.
    pub fn fdr(mut self, rate: f64) -> Self {
        self.fdr = Some(rate);
        self
    }

    /// The search, or the proof, ends after so many seconds with what is there.
    pub fn time_limit(mut self, seconds: f64) -> Self {
        self.time_limit = Some(seconds);
        self
    }

    /// At most this many rounds. Default 20, but no limit with [`features`](Self::features) or [`gap`](Self::gap).
    pub fn max_rounds(mut self, rounds: usize) -> Self {
        self.max_rounds = Some(rounds);
        self
    }

    /// Stop when a round lowers the objective by less than this part of its first value (the paper's eq. 35).
    /// Default 1e-3, but off with [`features`](Self::features) or [`gap`](Self::gap).
    pub fn tol(mut self, tol: f64) -> Self {
        self.tol = Some(tol);
        self
    }

    /// How exactly each round is solved: the subproblem's relative duality gap. Default 1e-4.
    pub fn inner_tol(mut self, tol: f64) -> Self {
        self.inner_tol = tol;
        self
    }

    /// Whether a round that was left with this relative gap was not solved, by far: features of very different sizes may be
    /// more than numbers allow.
    pub fn is_unsolved(&self, inner_gap: f64) -> bool {
        self.inner_decrease.is_none() && inner_gap > UNSOLVED * self.inner_tol
    }

    /// Stop first-order solvers by the paper's rule (eq. 37, relative decrease of one iteration) instead.
    pub fn inner_decrease(mut self, decrease: f64) -> Self {
        self.inner_decrease = Some(decrease);
        self
    }

    /// Run until the certified gap to the optimum over all features is below this.
    ///
    /// Unless a number of [`features`](Self::features) or a [`solver`](Self::solver) that knows blocks only is asked for, rounds then work on
    /// features instead of blocks of the [`budget`](Self::budget): each adds all that would get a weight, up to as many as there are.
    pub fn gap(mut self, gap: f64) -> Self {
        self.gap = Some(gap);
        self
    }

    /// The subproblem's solver, by its name in [`subproblem::ALL`].
    pub fn solver(mut self, name: impl Into<String>) -> Self {
        self.solver = name.into();
        self
    }

    /// Afterwards, refit an l2 model with this cost on the selected features only.
    pub fn debias(mut self, cost: f64) -> Self {
        self.debias = Some(cost);
        self
    }

    /// How much the classes count.
    pub fn class_weights(mut self, weights: ClassWeights) -> Self {
        self.class_weights = weights;
        self
    }

    /// What the run is done with: threads, memory, and whether it is to end early with the model so far.
    pub fn context(mut self, context: &Context) -> Self {
        self.context = context.clone();
        self
    }

    /// Keeps where the run is in this file, written after every round, and goes on from it if it is there: to the same model,
    /// bit for bit, as if nothing had ended the run. The file stays; a run that had come to its end comes to it again.
    ///
    /// It is an error if the file is of other data, or made with other parameters. Only these may be others:
    /// [`debias`](Self::debias), the [`context`](Self::context), and stopping rules that would not have ended the run before: more
    /// [`max_rounds`](Self::max_rounds) than were made, a smaller [`tol`](Self::tol), a smaller [`gap`](Self::gap) (without
    /// [`features`](Self::features)), and with the paper's [rounds](Select::Paper) more [`features`](Self::features) with the same
    /// budget (unless a block was made smaller for the old number).
    ///
    /// A checkpoint that cannot be written ends no run: the [`Observer`](super::Observer) is told, and the last one stays.
    pub fn checkpoint(mut self, path: impl Into<PathBuf>) -> Self {
        self.checkpoint = Some(path.into());
        self
    }

    /// Says what is wrong with the parameters, if anything. [`fit`](Self::fit) asks the same; ask before reading large data.
    pub fn validate(&self) -> Result<()> {
        self.check().map(drop)
    }

    /// The parameters as they were given, for a model of these classes.
    pub(super) fn parameters(&self, classes: &[String]) -> Parameters {
        Parameters {
            features: self.features,
            select: self.select,
            exchange: self.exchange,
            cost: self.cost,
            // Only the caller knows how a space was described.
            scale: None,
            prove: self.prove,
            fdr: self.fdr,
            stability: None,
            seed: None,
            stand_ins: None,
            time_limit: self.time_limit,
            budget: self.budget,
            max_rounds: self.max_rounds,
            tol: self.tol,
            gap: self.gap,
            inner_tol: self.inner_tol,
            inner_decrease: self.inner_decrease,
            solver: self.solver.clone(),
            shift: self.shift,
            debias: self.debias,
            loss: self
                .loss_in_use()
                .settings()
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            class_weights: self.class_weights.weighing(classes),
            groups: None,
            only: None,
        }
    }

    /// How features are chosen, with what was asked for so far; or what does not fit it.
    pub fn select_in_use(&self) -> Result<Select> {
        let refuse = |name, reason: &str| Err(Error::parameter(name, reason.to_owned()));
        let by_default =
            if self.most_features().is_some() && self.gap.is_none() { Select::Best } else { Select::Paper };
        let select = self.select.unwrap_or(by_default);
        if select == Select::Paper {
            return match (self.exchange, self.prove, self.fdr) {
                (Some(_), _, _) => refuse("exchange", "only features chosen by gain are exchanged"),
                (_, Some(_), _) => {
                    refuse("prove", "only a number of features chosen by gain is proven to be the best")
                }
                (_, _, Some(_)) => refuse("fdr", "only features chosen by gain are told from chance"),
                (None, None, None) => Ok(select),
            };
        }
        if self.most_features().is_none() {
            return refuse("select", "best needs the number of features");
        }
        match self.gap {
            Some(_) => refuse("gap", "only the paper's rounds come to a certified gap"),
            None => Ok(select),
        }
    }

    /// The number of features that are chosen by gain, at first where it grows.
    pub(super) fn most_features(&self) -> Option<usize> {
        self.features.or(self.fdr.map(|_| FIRST))
    }

    /// Features added per round, with what was asked for so far.
    pub fn budget_in_use(&self) -> Result<usize> {
        Ok(self.check()?.budget)
    }

    /// Whether rounds are to work on features instead of blocks: the way to a certified gap. Some solvers know blocks only.
    fn works_on_features(&self) -> bool {
        self.gap.is_some()
            && self.features.is_none()
            && !subproblem::is(&self.solver, |solver| solver.blocks_only)
    }

    /// The machine whose path is looked at point by point, over so many candidates. Where features are chosen by gain: up to as many as
    /// are asked for, else 50; a step adds a 25th of them, unless a budget is set; and there is no exchange unless it is asked for, for
    /// only the last point would have it, and could not be compared with the others.
    pub fn along_path(mut self, candidates: u128) -> Result<Self> {
        if self.fdr.is_some() {
            let reason =
                "says by itself how many features to keep; cross-validation would choose another number";
            return Err(Error::parameter("fdr", reason));
        }
        let there = usize::try_from(candidates).unwrap_or(usize::MAX);
        if let Some(asked) = self.features.filter(|&asked| asked > there) {
            let reason = format!("{asked} are asked for, and there are {there}");
            return Err(Error::parameter("features", reason));
        }
        if self.select != Some(Select::Paper) && self.gap.is_none() {
            let features = self.features.unwrap_or(PATH_FEATURES.min(there).max(1));
            self.features = Some(features);
            self.budget = self.budget.or(Some((features / PATH_POINTS).clamp(1, LARGEST_STEP)));
            self.exchange = self.exchange.or(Some(0));
        }
        self.validate()?;
        Ok(self)
    }

    /// The machine that makes the model of a point of that path: this many features at this cost. With the paper's rounds it is the path
    /// itself, of which [`Model::at_most`](crate::Model::at_most) has the point.
    pub fn at_point(self, path: &Self, features: usize, cost: f64) -> Result<Self> {
        let by_gain = path.select_in_use()? == Select::Best;
        let features = if by_gain { Some(features) } else { self.features };
        Ok(Self { features, budget: path.budget, cost: Some(cost), ..self })
    }

    /// With a number of features, if none is asked for: what does not depend on it can then be asked for.
    pub(crate) fn of_any_number(self) -> Self {
        let paper = self.select == Some(Select::Paper) || self.gap.is_some();
        let features = if paper { self.features } else { self.features.or(Some(1)) };
        Self { features, ..self }
    }

    /// Whether a run ends by the clock.
    pub(crate) fn has_time_limit(&self) -> bool {
        self.time_limit.is_some()
    }

    /// The same for a run that nothing is kept of.
    pub(crate) fn without_checkpoint(self) -> Self {
        Self { checkpoint: None, ..self }
    }

    /// The loss in use.
    pub fn loss_in_use(&self) -> &dyn Loss {
        self.loss.as_deref().unwrap_or(&SquaredHinge)
    }

    /// The parameters with defaults filled in, or what is wrong with them.
    pub(super) fn check(&self) -> Result<Plan> {
        let positive = |name, value: f64| {
            let reason = || Error::parameter(name, format!("must be a finite number above 0, not {value}"));
            (value.is_finite() && value > 0.0).then_some(()).ok_or_else(reason)
        };
        let at_least_one = |name, value: Option<usize>| {
            let reason = || Error::parameter(name, "must be at least 1");
            (value != Some(0)).then_some(()).ok_or_else(reason)
        };
        positive("inner-tol", self.inner_tol)?;
        for (name, value) in [
            ("cost", self.cost),
            ("tol", self.tol.filter(|&tol| tol != 0.0)),
            ("inner-decrease", self.inner_decrease),
            ("gap", self.gap),
            ("prove", self.prove),
            ("time-limit", self.time_limit),
            ("debias", self.debias),
        ] {
            value.map_or(Ok(()), |value| positive(name, value))?;
        }
        for (name, value) in
            [("budget", self.budget), ("features", self.features), ("max-rounds", self.max_rounds)]
        {
            at_least_one(name, value)?;
        }
        if self.inner_decrease.is_some() && !subproblem::is_first_order(&self.solver) {
            let first_order = subproblem::names(|solver| solver.first_order, " and ");
            let reason = format!("only the solvers {first_order} have this rule");
            return Err(Error::parameter("inner-decrease", reason));
        }
        if let Some(rate) = self.fdr {
            let refuse = |reason: String| Err(Error::parameter("fdr", reason));
            if !(rate > 0.0 && rate < 1.0) {
                return refuse(format!("must be between 0 and 1, not {rate}"));
            }
            if self.prove.is_some() {
                return refuse("leaves another number of features than a proof would be about".into());
            }
            if self.checkpoint.is_some() {
                return refuse("cannot go on from a checkpoint".into());
            }
        }
        let select = self.select_in_use()?;
        let open_ended = self.most_features().is_some() || self.gap.is_some();
        let by_count = self.most_features().map_or(10, |k| (k / 10).clamp(1, 50));
        Ok(Plan {
            select,
            features: self.most_features().unwrap_or(usize::MAX),
            grows: self.fdr.is_some() && self.features.is_none(),
            tried: self.fdr.map_or(0, |_| TRIED),
            exchange: self.exchange.unwrap_or(EXCHANGES),
            on_features: self.works_on_features(),
            budget: self.budget.unwrap_or(by_count),
            max_rounds: self.max_rounds.unwrap_or(if open_ended { usize::MAX } else { 20 }),
            tol: self.tol.unwrap_or(if open_ended { 0.0 } else { 1e-3 }),
        })
    }
}

/// Parameters whose defaults depend on others.
pub(super) struct Plan {
    pub(super) select: Select,
    pub(super) features: usize,
    /// Whether that number may grow.
    pub(super) grows: bool,
    /// Candidates that features are compared with in the end.
    pub(super) tried: usize,
    pub(super) exchange: usize,
    pub(super) budget: usize,
    /// Whether rounds work on features instead of blocks.
    pub(super) on_features: bool,
    pub(super) max_rounds: usize,
    /// 0 switches the rule off.
    pub(super) tol: f64,
}
