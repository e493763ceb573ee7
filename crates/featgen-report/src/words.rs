//! Numbers and proofs as people read them.

use featgen::Model;
use featgen::machine::Select;
use featgen::model::Proof;
use serde::Serialize;

pub(crate) use crate::numbers::{count, percent, small_percent};

/// A number that is to be seen at once, with what it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) told: String,
}

impl Figure {
    pub(crate) fn new(name: &str, text: &str, told: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned(), told: told.to_owned() }
    }
}

/// `1 round`, `2 rounds`.
pub(crate) fn plural(n: u128, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A number with four digits.
pub(crate) fn short(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let magnitude = x.abs().log10().floor();
    if !(-4.0..6.0).contains(&magnitude) {
        return format!("{x:.3e}");
    }
    let text = format!("{:.*}", (3.0 - magnitude).max(0.0) as usize, x);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A number with so many digits: pages need no more, and are shorter for it.
pub(crate) fn rounded(x: f64, digits: usize) -> f64 {
    format!("{x:.*e}", digits.saturating_sub(1)).parse().unwrap_or(x)
}

/// A number of a page, with as many digits as a picture can show.
pub(crate) fn drawn(x: f64) -> f64 {
    rounded(x, 6)
}

/// What a metric is called in a sentence.
pub(crate) fn metric_name(metric: &str) -> &str {
    match metric {
        "balanced-accuracy" => "balanced accuracy",
        "auc" => "area under the ROC curve",
        "log-loss" => "log loss (less is better)",
        "r2" => "R²",
        "deviance" => "deviance explained",
        other => other,
    }
}

/// Whether a metric is shown in percent.
pub(crate) fn is_part(metric: &str) -> bool {
    matches!(metric, "accuracy" | "balanced-accuracy" | "deviance" | "explained")
}

/// A value of a metric.
pub(crate) fn measured(metric: &str, value: f64) -> String {
    if is_part(metric) { percent(value) } else { format!("{value:.4}") }
}

/// A value of a metric with its standard error.
pub(crate) fn with_error(metric: &str, mean: f64, se: Option<f64>) -> String {
    let error = match se {
        None => String::new(),
        Some(se) if is_part(metric) => format!(" ± {:.2}", 100.0 * se),
        Some(se) => format!(" ± {se:.4}"),
    };
    measured(metric, mean) + &error
}

/// What a model's counts count.
pub(crate) fn unit(model: &Model) -> &'static str {
    if model.groups.is_empty() || model.has_curves() { "feature" } else { "group" }
}

/// Gaps up to this are rounding.
const NOTHING: f64 = 1e-9;

/// A bound further than this from the objective says next to nothing.
const TELLING: f64 = 0.5;

/// How good the choice is known to be, as a figure.
pub(crate) fn proven(model: &Model) -> Option<Figure> {
    let gap = match (&model.proof, model.select) {
        (Some(proof), _) => proof.gap(),
        (None, Select::Paper) => model.certificate.gap(),
        (None, Select::Best) => return None,
    };
    Some(match gap {
        gap if gap <= NOTHING => Figure::new("proven", "the best", "no other choice fits better"),
        gap if gap <= TELLING => {
            let told = "how much better any other choice could fit, at most";
            Figure::new("proven", &format!("within {}", small_percent(gap)), told)
        }
        _ => Figure::new("proven", "open", "good, but whether other choices are better is not settled"),
    })
}

/// How many of the features are expected to be there by chance, as a figure.
pub(crate) fn discoveries(model: &Model) -> Option<Figure> {
    let found = model.discoveries.as_ref()?;
    let told = format!("of those selected, at most {} were allowed", small_percent(found.rate));
    Some(Figure::new("expected to be there by chance", &small_percent(found.expected_rate()), &told))
}

/// How many features are selected again and again from parts of the data, as a figure.
pub(crate) fn stability(model: &Model) -> Option<Figure> {
    let found = model.stability.as_ref()?;
    let (often, runs) = (small_percent(found.threshold), found.runs);
    let told = format!(
        "selected from at least {often} of {runs} random halves of the data; chance explains at most {}",
        short(found.expected_false)
    );
    Some(Figure::new("stable", &plural(found.stable().count() as u128, unit(model)), &told))
}

/// What is proven, for readers who know nothing of proofs.
pub(crate) fn proof(model: &Model) -> Vec<String> {
    let mut said = match (&model.proof, model.select) {
        (Some(proof), _) => of_choice(model, proof),
        (None, Select::Paper) => of_weights(model),
        (None, Select::Best) => vec!["Nothing was proven of this choice.".to_owned()],
    };
    said.push(format!("Training ended because {}.", model.stopped.explain()));
    said.push(
        "What is proven is about the data that the model was learned from. How it does on other data, cross-validation and test data say."
            .to_owned(),
    );
    said
}

/// Of a number of features that were chosen.
fn of_choice(model: &Model, proof: &Proof) -> Vec<String> {
    let (k, all, unit) = (model.count() as u128, count(model.training.candidates), unit(model));
    let chosen = plural(k, unit);
    let mut said = vec![match proof.gap() {
        gap if gap <= NOTHING => format!(
            "Proven: there is no better choice. Of all ways to take {chosen} out of {all}, none fits the training data better than these."
        ),
        gap if gap <= TELLING => format!(
            "Proven: whichever {chosen} out of {all} one takes, the misfit on the training data (what training makes small, size of weights \
             included) is at most {} lower than with these.",
            small_percent(gap)
        ),
        _ => format!(
            "Open: these are the best {chosen} that were found, but whether others out of {all} do much better is not settled. A smaller cost \
             (-C) lets more be proven, and --prove works on the proof."
        ),
    }];
    if proof.forced as u128 >= k && k > 0 {
        said.push("No other set is as good.".to_owned());
    } else if proof.forced > 0 {
        let (forced, rest) = (count(proof.forced as u128), k.saturating_sub(proof.forced as u128));
        let others = proof.undecided.saturating_sub(rest);
        let others = match others {
            0 => String::new(),
            others if others < model.training.candidates / 10 => {
                format!(", and only {} others could be in one", count(others))
            }
            _ => String::new(),
        };
        said.push(format!("{forced} of them are in every best set{others}."));
    }
    said.push(format!(
        "In numbers: the misfit is {}, and no choice can be below {}.",
        short(proof.objective),
        short(proof.lower_bound)
    ));
    said
}

/// Of the optimum over all features.
fn of_weights(model: &Model) -> Vec<String> {
    let (all, unit, certificate) = (count(model.training.candidates), unit(model), &model.certificate);
    let gap = certificate.gap();
    let first = match gap {
        gap if gap <= NOTHING => {
            format!(
                "Proven: no weights on any of the {all} {unit}s, chosen or not, fit the training data better."
            )
        }
        gap => format!(
            "Proven: no weights on any of the {all} {unit}s, chosen or not, can make the misfit on the training data (what training makes \
             small, size of weights included) more than {} lower.",
            small_percent(gap)
        ),
    };
    vec![
        first,
        format!(
            "In numbers: the misfit is {}, and nothing can be below {}.",
            short(certificate.objective),
            short(certificate.lower_bound)
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.0, 1.0, -0.012345, 1234.6, 1e-7].map(short),
            ["0", "1", "-0.01235", "1235", "1.000e-7"]
        );
        assert_eq!(rounded(-1.234_567_89, 4), -1.235);
        assert_eq!(with_error("accuracy", 0.9, Some(0.012)), "90.00 % ± 1.20");
        assert_eq!(with_error("r2", 0.9, None), "0.9000");
    }
}
