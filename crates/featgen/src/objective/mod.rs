//! How errors count. An [`Objective`] is the weighted sum of a loss over all instances, as a function of their decision
//! values; a [`Loss`] makes one from the labels.
//!
//! Decision values are kept by outputs: the value of instance `i` for output `k` is `d[k * n + i]`. Two classes, a number, a
//! count and a time have one output; several classes have one each.

mod balance;
mod bound;
pub(crate) mod free;
mod ldl;
mod separable;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use free::{Free, Kept};
pub(crate) use ldl::Ldl;
pub use separable::{PointLoss, Separable};

use crate::data::Labels;
use crate::error::{Error, Result};

/// Declares the losses. Each is a file beside this one, with a `SPEC`; nothing else lists them.
macro_rules! losses {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*

        /// Every loss, in the order in which they are shown.
        pub const ALL: &[LossSpec] = &[$($module::SPEC),*];
    };
}

losses! {
    squared_hinge,
    logistic,
    softmax,
    squared,
    huber,
    poisson,
    cox,
}

pub use cox::Cox;
pub use huber::Huber;
pub use logistic::Logistic;
pub use poisson::Poisson;
pub use softmax::Softmax;
pub use squared::Squared;
pub use squared_hinge::SquaredHinge;

/// A loss, weighted and summed over all instances: a convex function of their decision values that is never negative.
///
/// Only the first six functions must be written. Every function must be safe at any finite decision values.
pub trait Objective: Send + Sync {
    /// Decision values of an instance.
    fn outputs(&self) -> usize {
        1
    }

    /// The weight of each instance's loss: C times the weights of its class and of itself.
    fn costs(&self) -> &[f64];

    /// Multiplies all costs.
    fn rescale(&mut self, factor: f64);

    /// The sum at decision values `d`.
    fn value(&self, d: &[f64]) -> f64;

    /// `v`, the negative gradient there: what is left to be explained.
    fn residual(&self, d: &[f64], v: &mut [f64]);

    /// `h`, the diagonal of the second derivative there, or something near it that is at least 0: a model of the objective for
    /// the next step, which is searched along a line and need not be exact.
    fn curvature(&self, d: &[f64], h: &mut [f64]);

    /// The second derivative there times `u`. Where it is not diagonal, this makes the fit of the intercept and of kept columns
    /// converge fast.
    fn hessian(&self, d: &[f64], u: &[f64], out: &mut [f64]) {
        self.curvature(d, out);
        out.iter_mut().zip(u).for_each(|(h, u)| *h *= u);
    }

    /// The negative derivative of instance `i`'s loss at decision value `d`, and its second derivative; `None` unless the objective is
    /// a sum over instances of functions of one decision value whose second derivatives are bounded.
    fn of_instance(&self, _i: usize, _d: f64) -> Option<(f64, f64)> {
        None
    }

    /// Whether adding a number to all decision values changes nothing: then there is no intercept to learn.
    fn ignores_constants(&self) -> bool {
        false
    }

    /// Whether adding a number to all outputs of an instance changes nothing: then free weights are made to sum to 0.
    fn is_relative(&self) -> bool {
        false
    }

    /// Finds the intercept of every output that minimises the value at `f` plus the intercept, from where `at` is; `false` if
    /// there is no faster way than the general one.
    fn fit_intercept(&self, _f: &[f64], _at: &mut [f64]) -> bool {
        false
    }

    /// Moves a residual as little as rounding into what the dual problem allows; with an intercept, every output must sum to 0.
    /// Says whether that holds exactly, for the very numbers that `v` then consists of.
    fn make_feasible(&self, _v: &mut [f64], _intercept: bool) -> bool {
        false
    }

    /// A number below which no weights, on any features, can take the objective with its norm: the best that multiples of the
    /// feasible residual `v` at decision values `d` prove, where `top` is at least the sum of the largest squared scores of `v`,
    /// and `linear` at least the product of `v` with all that is added to decision values without being penalised: the offset, and
    /// what is left of free columns. At least 0.
    ///
    /// By Fenchel's equality the conjugate of a convex function is known where the gradient is; towards 0 it is at least linear.
    fn lower_bound(&self, d: &[f64], v: &[f64], top: f64, linear: f64) -> f64 {
        bound::by_fenchel(self.value(d), d, v, top, linear)
    }
}

/// Makes an objective of labels.
pub trait Loss: Send + Sync {
    /// The name in the command line and in models.
    fn name(&self) -> &str;

    /// What its decision values say.
    fn output(&self) -> Output;

    /// What it was made with: names and values of its parameters.
    fn settings(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The objective for these labels, with a cost for every instance; an error if it is not a loss for such labels.
    fn objective(&self, labels: &Labels, costs: Vec<f64>) -> Result<Box<dyn Objective>>;
}

/// What decision values say of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Output {
    /// Which class it is of: with one output the second of two if it is above 0, with several that of the largest.
    #[default]
    Classes,
    /// The number itself.
    Number,
    /// The logarithm of an expected count.
    Rate,
    /// The logarithm of a risk: the larger, the sooner the event.
    Risk,
}

impl Output {
    /// Whether it is the default, which files do not mention.
    pub fn is_classes(&self) -> bool {
        *self == Self::Classes
    }
}

/// Makes the probabilities of all classes of the decision values of an instance.
pub type Probabilities = fn(&[f64]) -> Vec<f64>;

/// One description of a loss: what the command, Python, models and messages know of it.
pub struct LossSpec {
    /// The name in the command line and in models.
    pub name: &'static str,
    /// What it is, in a few words.
    pub help: &'static str,
    /// What its decision values say.
    pub output: Output,
    /// Whether it takes more than two classes.
    pub many_classes: bool,
    /// Numbers that it may be given.
    pub parameters: &'static [LossParameter],
    /// The probabilities of all classes from the decision values of an instance, if the loss is a likelihood of classes.
    pub probabilities: Option<Probabilities>,
    make: fn(&[f64]) -> Arc<dyn Loss>,
}

/// A number that a loss may be given; it must be finite and above 0.
pub struct LossParameter {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a few words.
    pub help: &'static str,
    /// What it is if it is not given.
    pub default: f64,
}

impl fmt::Debug for LossSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LossSpec").field("name", &self.name).finish_non_exhaustive()
    }
}

impl LossSpec {
    /// The description of the loss called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|spec| spec.name == name)
    }

    /// The loss, with these parameters and the defaults of all others.
    pub fn make(&self, given: &[(&'static str, f64)]) -> Result<Arc<dyn Loss>> {
        for &(name, value) in given {
            if !self.parameters.iter().any(|parameter| parameter.name == name) {
                return Err(Error::parameter(name, format!("the loss {} has no such parameter", self.name)));
            }
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::parameter(name, format!("must be a finite number above 0, not {value}")));
            }
        }
        let value = |parameter: &LossParameter| {
            given
                .iter()
                .find(|(name, _)| *name == parameter.name)
                .map_or(parameter.default, |(_, value)| *value)
        };
        Ok((self.make)(&self.parameters.iter().map(value).collect::<Vec<f64>>()))
    }
}

/// What to choose where labels are not two classes, for messages.
pub(crate) fn for_more_than_two_classes() -> String {
    let named = |wanted: fn(&LossSpec) -> bool| {
        let names: Vec<&str> = ALL.iter().filter(|spec| wanted(spec)).map(|spec| spec.name).collect();
        match names.as_slice() {
            [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            few => few.concat(),
        }
    };
    format!(
        "for more than two classes choose the loss {}, for numbers {}, for times {}",
        named(|spec| spec.many_classes),
        named(|spec| matches!(spec.output, Output::Number | Output::Rate)),
        named(|spec| spec.output == Output::Risk)
    )
}

/// The names of all losses, for messages.
pub fn names() -> String {
    ALL.iter().map(|spec| spec.name).collect::<Vec<_>>().join(", ")
}

/// The loss called `name`, with the defaults of its parameters.
pub fn by_name(name: &str) -> Result<Arc<dyn Loss>> {
    let unknown = || Error::parameter("loss", format!("{name} is not one of {}", names()));
    LossSpec::find(name).ok_or_else(unknown)?.make(&[])
}

#[cfg(test)]
mod tests;
