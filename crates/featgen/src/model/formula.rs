//! How to compute decision values from a model file, in words that the file itself carries: whoever finds it needs no
//! other source, and no featgen.

use serde::Serialize;

use super::Model;
use crate::objective::Output;
use crate::space::Feature;

/// The formulas of a model; those of features that it does not have are left out.
#[derive(Debug, Serialize)]
pub(super) struct Formulas {
    decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    product: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wave: Option<&'static str>,
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

const INPUT: &str = "{\"input\": j}: the value x_j.";

const PRODUCT: &str = "{\"product\": [j, k, ...]}: the product x_j * x_k * ...; an input listed twice is squared, and the empty \
list is 1.";

const STEP: &str = "{\"step\": {input, level, of, top, power}}: sqrt(top / of) if L(x) >= level, else 0, where x is the value \
of the input. L(0) = 0; else L(x) = |x|^power * of / top (0 if top is 0), rounded to the nearest integer (halves to even), then \
raised to 1 if below and lowered to \"of\" if above.";

const STEP_OF_HIK: &str = "{\"step\": {input, level, of, top, power}}: sqrt(top / of) if L(x) >= level, else 0, where x is the \
value of the input. L(x) = 0 if x <= 0; else L(x) = x^power * of / top (0 if top is 0), rounded to the nearest integer (halves \
to even), then raised to 1 if below and lowered to \"of\" if above.";

const WAVE: &str = "{\"wave\": {input, harmonic, sine, sigma}}: a(h) * sin(h * t) if sine is true, else a(h) * (cos(h * t) - 1), \
where h is the harmonic, t = 0.55 * x / sigma and x is the value of the input; a(h) = sqrt(2 * d(h) / (1 + 2 * (d(1) + d(2) + \
d(3) + d(4) + d(5)))) with d(k) = exp(-(0.55 * k)^2 / 2).";

/// How decision values are computed, and what they say.
fn decision(model: &Model) -> &'static str {
    match (model.output, model.outputs()) {
        (Output::Classes, 1) if model.kept.is_empty() => DECISION,
        (Output::Classes, 1) => DECISION_WITH_KEPT,
        (Output::Classes, _) => MANY_DECISIONS,
        (Output::Number | Output::Rate | Output::Risk, _) => NUMBER,
    }
}

impl Formulas {
    pub(super) fn of(model: &Model) -> Self {
        let has = |kind: fn(&Feature) -> bool| model.terms.iter().any(|term| kind(&term.feature));
        let step = if model.takes_negative_values() { STEP } else { STEP_OF_HIK };
        Self {
            decision: decision(model),
            probability: model.has_probabilities().then_some(match model.outputs() {
                1 => PROBABILITY,
                _ => PROBABILITIES,
            }),
            input: has(|f| matches!(f, Feature::Input(_))).then_some(INPUT),
            product: has(|f| matches!(f, Feature::Product(_))).then_some(PRODUCT),
            step: has(|f| matches!(f, Feature::Step(_))).then_some(step),
            wave: has(|f| matches!(f, Feature::Wave(_))).then_some(WAVE),
        }
    }
}
