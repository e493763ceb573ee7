//! Classes and weights of instances, and what they make of the loss: one sign and one cost per instance.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::model::Weighing;

/// The class of every instance, as written in the source.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Labels {
    classes: Vec<String>,
    codes: Vec<u32>,
    weights: Option<Vec<f64>>,
}

impl Labels {
    /// From one label per instance. Labels that are the same number (`1`, `+1`, `1.0`) are one class, shown as first
    /// written; classes are ordered by number if all are numbers, else alphabetically.
    pub fn from_text<S: AsRef<str>>(labels: impl IntoIterator<Item = S>) -> Self {
        let mut spellings: Vec<String> = Vec::new();
        let mut index = std::collections::HashMap::new();
        let mut codes = Vec::new();
        for label in labels {
            let label = label.as_ref();
            let code = match index.get(label) {
                Some(&code) => code,
                None => {
                    let code = spellings.len() as u32;
                    spellings.push(label.to_owned());
                    index.insert(label.to_owned(), code);
                    code
                }
            };
            codes.push(code);
        }
        Self::from_codes(spellings, codes)
    }

    /// From distinct spellings in order of first appearance, and for every instance the index of its spelling.
    pub fn from_codes(spellings: Vec<String>, mut codes: Vec<u32>) -> Self {
        let (classes, class_of) = merge_spellings(&spellings);
        codes.iter_mut().for_each(|code| *code = class_of[*code as usize]);
        Self { classes, codes, weights: None }
    }

    /// From classes in their order and the index of each instance's, which must exist.
    pub(crate) fn from_classes(classes: Vec<String>, codes: Vec<u32>) -> Self {
        Self { classes, codes, weights: None }
    }

    /// From two classes in their order and, for every instance, whether it is of the second. Classes are not looked at:
    /// whoever has them knows that they differ.
    pub fn of_two(classes: [String; 2], second: impl IntoIterator<Item = bool>) -> Self {
        let codes = second.into_iter().map(u32::from).collect();
        Self { classes: classes.into(), codes, weights: None }
    }

    /// Gives every instance a weight that multiplies its cost.
    pub fn with_weights(mut self, weights: Vec<f64>) -> Result<Self> {
        if weights.len() != self.codes.len() {
            let (w, n) = (weights.len(), self.codes.len());
            return Err(Error::parameter("weights", format!("{w} weights for {n} instances")));
        }
        if let Some(i) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
            let reason =
                format!("weight {} of instance {} is not a finite number of at least 0", weights[i], i + 1);
            return Err(Error::parameter("weights", reason));
        }
        self.weights = Some(weights);
        Ok(self)
    }

    /// Those of some instances that follow each other. The classes stay the same, whether they occur there or not.
    pub fn part(&self, instances: Range<usize>) -> Self {
        let weights = self.weights.as_ref().map(|weights| weights[instances.clone()].to_vec());
        Self { classes: self.classes.clone(), codes: self.codes[instances].to_vec(), weights }
    }

    /// Number of labelled instances; 0 if the source has no labels.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// The distinct classes, in order.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// For every instance, the index of its class.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// Instance weights, where given.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The labels as a two-class problem, with one cost per instance.
    pub fn binary(&self, cost: f64, class_weights: &ClassWeights) -> Result<Binary> {
        let [negative, positive] = match self.classes.as_slice() {
            [negative, positive] => [negative, positive],
            others => return Err(Error::Data(not_two(others))),
        };
        let factors = class_weights.factors([negative, positive], self)?;
        let weight = |i: usize| self.weights.as_ref().map_or(1.0, |w| w[i]);
        let signs: Vec<f64> = self.codes.iter().map(|&c| if c == 0 { -1.0 } else { 1.0 }).collect();
        let costs: Vec<f64> =
            self.codes.iter().enumerate().map(|(i, &c)| cost * factors[c as usize] * weight(i)).collect();
        for (class, name) in [negative, positive].into_iter().enumerate() {
            let carries = |(code, cost): (&u32, &f64)| *code as usize == class && *cost > 0.0;
            if !self.codes.iter().zip(&costs).any(carries) {
                return Err(Error::Data(format!("no instance of class {name} has a positive weight")));
            }
        }
        if let Some(i) = costs.iter().position(|c| !c.is_finite()) {
            return Err(Error::Data(format!("the cost of instance {} is too large", i + 1)));
        }
        Ok(Binary { classes: [negative.clone(), positive.clone()], signs, costs })
    }
}

/// Two classes as signs, and one cost per instance: all that learning needs to know of labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Binary {
    /// The class of sign -1 and that of sign +1.
    pub classes: [String; 2],
    /// -1 or +1 per instance.
    pub signs: Vec<f64>,
    /// The weight of the instance's loss: C times class weight times instance weight.
    pub costs: Vec<f64>,
}

/// How much the classes count.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ClassWeights {
    /// All the same.
    #[default]
    Equal,
    /// Inversely to their frequency: both classes together count the same.
    Balanced,
    /// As given; classes not named count 1.
    Given(Vec<(String, f64)>),
    /// As given, the first class and the second.
    Each([f64; 2]),
}

impl ClassWeights {
    fn factors(&self, classes: [&String; 2], labels: &Labels) -> Result<[f64; 2]> {
        let mut factors = [1.0; 2];
        match self {
            Self::Equal => {}
            Self::Each(weights) => factors = *weights,
            Self::Balanced => {
                let mut totals = [0.0; 2];
                for (i, &code) in labels.codes.iter().enumerate() {
                    totals[code as usize] += labels.weights.as_ref().map_or(1.0, |w| w[i]);
                }
                let all = totals[0] + totals[1];
                factors = totals.map(|t| if t > 0.0 { all / (2.0 * t) } else { 1.0 });
            }
            Self::Given(list) => {
                for (label, weight) in list {
                    let Some(k) = class_called(label, classes) else {
                        let [a, b] = classes;
                        let reason = format!("no class is called {label}: the classes are {a} and {b}");
                        return Err(Error::parameter("weight", reason));
                    };
                    if !(weight.is_finite() && *weight > 0.0) {
                        let reason = format!("the weight of class {label} must be above 0, not {weight}");
                        return Err(Error::parameter("weight", reason));
                    }
                    factors[k] = *weight;
                }
            }
        }
        Ok(factors)
    }

    /// The same for a model of these classes; `None` if they count the same.
    pub(crate) fn weighing(&self, classes: &[String; 2]) -> Option<Weighing> {
        match self {
            Self::Equal => None,
            Self::Balanced => Some(Weighing::Balanced),
            Self::Each(weights) => Some(Weighing::Each(*weights)),
            Self::Given(list) => {
                let mut weights = [1.0; 2];
                for (label, weight) in list {
                    class_called(label, classes.each_ref()).into_iter().for_each(|k| weights[k] = *weight);
                }
                Some(Weighing::Each(weights))
            }
        }
    }
}

/// Which of two classes a label means: numbers may be written in several ways.
fn class_called(label: &str, classes: [&String; 2]) -> Option<usize> {
    classes.iter().position(|class| class.as_str() == label || same_number(class, label))
}

fn not_two(classes: &[String]) -> String {
    match classes {
        [] => "the data have no labels".into(),
        [only] => format!("all instances are of one class, {only}: two are needed"),
        many => {
            let first = many[..many.len().min(3)].join(", ");
            let more = if many.len() > 3 { ", ..." } else { "" };
            format!("the labels have {} values ({first}{more}): two are needed", many.len())
        }
    }
}

fn number(text: &str) -> Option<f64> {
    fast_float2::parse::<f64, _>(text).ok().filter(|x| x.is_finite())
}

/// Whether two spellings are the same number.
pub(crate) fn same_number(a: &str, b: &str) -> bool {
    matches!((number(a), number(b)), (Some(x), Some(y)) if x == y)
}

/// Distinct classes in order, and the class of each spelling.
fn merge_spellings(spellings: &[String]) -> (Vec<String>, Vec<u32>) {
    let numbers: Option<Vec<f64>> = spellings.iter().map(|s| number(s)).collect();
    let mut order: Vec<usize> = (0..spellings.len()).collect();
    match &numbers {
        // A stable sort: the spelling that came first stands for its class.
        Some(x) => order.sort_by(|&a, &b| x[a].partial_cmp(&x[b]).expect("finite")),
        None => order.sort_by(|&a, &b| spellings[a].cmp(&spellings[b])),
    }
    let mut classes: Vec<String> = Vec::new();
    let mut class_of = vec![0; spellings.len()];
    for (k, &s) in order.iter().enumerate() {
        let repeats = k > 0 && numbers.as_ref().is_some_and(|x| x[s] == x[order[k - 1]]);
        if !repeats {
            classes.push(spellings[s].clone());
        }
        class_of[s] = classes.len() as u32 - 1;
    }
    (classes, class_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_number_are_one_class() {
        let labels = Labels::from_text(["+1", "-1", "1", "1.0", "-1"]);
        assert_eq!(labels.classes(), ["-1", "+1"]);
        assert_eq!(labels.codes(), [1, 0, 1, 1, 0]);
    }

    #[test]
    fn numbers_are_ordered_as_numbers_and_words_as_words() {
        assert_eq!(Labels::from_text(["10", "9"]).classes(), ["9", "10"]);
        assert_eq!(Labels::from_text(["spam", "ham"]).classes(), ["ham", "spam"]);
        assert_eq!(Labels::from_text(["10", "9", "x"]).classes(), ["10", "9", "x"]);
    }

    #[test]
    fn costs_multiply_class_and_instance_weights() {
        let labels = Labels::from_text(["a", "b", "b", "b"]).with_weights(vec![1.0, 2.0, 0.0, 2.0]).unwrap();
        let given = ClassWeights::Given(vec![("b".into(), 3.0)]);
        assert_eq!(labels.binary(2.0, &given).unwrap().costs, [2.0, 12.0, 0.0, 12.0]);
        // 1 against 4 in weight: halves of the total, 5.
        assert_eq!(labels.binary(1.0, &ClassWeights::Balanced).unwrap().costs, [2.5, 1.25, 0.0, 1.25]);
    }

    #[test]
    fn what_cannot_be_two_classes_is_refused() {
        let binary = |labels: &[&str]| Labels::from_text(labels).binary(1.0, &ClassWeights::Equal);
        assert!(binary(&[]).unwrap_err().to_string().contains("no labels"));
        assert!(binary(&["1", "1"]).unwrap_err().to_string().contains("one class"));
        assert!(binary(&["1", "2", "3"]).unwrap_err().to_string().contains("3 values"));
        let one_sided = Labels::from_text(["1", "2"]).with_weights(vec![1.0, 0.0]).unwrap();
        assert!(one_sided.binary(1.0, &ClassWeights::Equal).is_err());
        assert!(Labels::from_text(["1", "2"]).with_weights(vec![1.0, -1.0]).is_err());
    }
}
