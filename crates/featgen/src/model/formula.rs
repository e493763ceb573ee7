//! How to compute decision values from a model file, in words that the file itself carries: whoever finds it needs no
//! other source, and no featgen.

use serde::{Serialize, Serializer};

use super::Model;
use crate::feature::Feature;
use crate::objective::Output;

/// The formulas of a model by name, in order; those of features that it does not have are left out.
#[derive(Debug)]
pub(super) struct Formulas(Vec<(&'static str, &'static str)>);

impl Serialize for Formulas {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().copied())
    }
}

const DECISION: &str = "f(x) = (sum over all terms of weight * feature(x)) - bias. The class is classes[1], the second, if \
f(x) > 0, else classes[0]. Inputs are counted from 1, in the order of the training data; if by_name is true, \"inputs\" has \
their names, and they are found by name. An input that is not there is 0.";

const DECISION_WITH_KEPT: &str = "f(x) = (sum over all terms of weight * feature(x)) - bias, plus weight * x_j for every column in \
\"kept\", plus the offset if there is one. The class is classes[1], the second, if f(x) > 0, else classes[0]. Inputs are counted from \
1, in the order of the training data; if by_name is true, \"inputs\" has their names, and they are found by name. An input that is \
not there is 0.";

const MANY_DECISIONS: &str = "f_k(x) = (sum over all terms of weight[k] * feature(x)) - bias[k], and likewise for columns in \"kept\". The class is \
classes[k] for the largest f_k(x). Inputs are counted from 1, in the order of the training data; if by_name is true, \"inputs\" has \
their names, and they are found by name. An input that is not there is 0.";

const NUMBER: &str = "f(x) = (sum over all terms of weight * feature(x)) - bias, plus weight * x_j for every column in \"kept\", plus the \
offset if there is one. The prediction is f(x) for output \"number\", exp(f(x)) for \"rate\"; for \"risk\" f(x) is the logarithm of the \
risk. Inputs are counted from 1, in the order of the training data; if by_name is true, \"inputs\" has their names, and they are \
found by name. An input that is not there is 0.";

const PROBABILITIES: &str = "The probability of classes[k] is exp(f_k(x)) / (sum over all l of exp(f_l(x))).";

const PROBABILITY: &str = "The probability of classes[1] is 1 / (1 + exp(-f(x))).";

/// How decision values are computed, and what they say.
fn decision(model: &Model) -> &'static str {
    match (model.output, model.outputs()) {
        (Output::Classes, 1) if model.kept.is_empty() => DECISION,
        (Output::Classes, 1) => DECISION_WITH_KEPT,
        (Output::Classes, _) => MANY_DECISIONS,
        (Output::Number | Output::Rate | Output::Risk, _) => NUMBER,
    }
}

/// How probabilities come from decision values, if they do.
fn probability(model: &Model) -> Option<&'static str> {
    model.has_probabilities().then_some(match model.outputs() {
        1 => PROBABILITY,
        _ => PROBABILITIES,
    })
}

impl Formulas {
    pub(super) fn of(model: &Model) -> Self {
        let mut formulas = vec![("decision", decision(model))];
        formulas.extend(probability(model).map(|formula| ("probability", formula)));
        for &kind in Feature::KINDS {
            let one = model.terms.iter().find(|term| term.feature.kind_name() == kind);
            formulas.extend(one.map(|term| (kind, term.feature.formula(model.negative()))));
        }
        Self(formulas)
    }
}
