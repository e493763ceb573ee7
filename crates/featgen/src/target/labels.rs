//! What every instance is labelled with: classes by name, or numbers; and how often each instance counts.

use std::borrow::Cow;
use std::ops::Range;

use crate::error::{Error, Place, Result};
use crate::objective::for_more_than_two_classes;

/// The label of every instance, as written in the source: one of some classes, or a number.
///
/// Labels with few different values are classes, which may be numbers too: [`numbers`](Self::numbers) says which. Losses for
/// numbers, counts and times take either.
#[derive(Debug, Clone, Default)]
pub struct Labels {
    classes: Vec<String>,
    codes: Vec<u32>,
    /// Where labels have too many values to be classes.
    numbers: Option<Vec<f64>>,
    weights: Option<Vec<f64>>,
    origin: Option<Origin>,
}

/// Where labels were read.
#[derive(Debug, Clone)]
struct Origin {
    file: String,
    /// The line on which each class first appears.
    lines: Vec<u64>,
}

/// Where labels were read does not matter.
impl PartialEq for Labels {
    fn eq(&self, other: &Self) -> bool {
        let classes = self.classes == other.classes && self.codes == other.codes;
        classes && self.numbers == other.numbers && self.weights == other.weights
    }
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

    /// From a number per instance.
    pub fn from_numbers(numbers: Vec<f64>) -> Self {
        Self { numbers: Some(numbers), ..Self::default() }
    }

    /// From distinct spellings in order of first appearance, and for every instance the index of its spelling.
    pub fn from_codes(spellings: Vec<String>, mut codes: Vec<u32>) -> Self {
        let (classes, class_of) = merge_spellings(&spellings);
        codes.iter_mut().for_each(|code| *code = class_of[*code as usize]);
        Self { classes, codes, ..Self::default() }
    }

    /// The same, read from a file, where each spelling first appears on a line.
    pub(crate) fn read_from(file: &str, spellings: &[String], lines: &[u64], mut codes: Vec<u32>) -> Self {
        let (classes, class_of) = merge_spellings(spellings);
        codes.iter_mut().for_each(|code| *code = class_of[*code as usize]);
        let mut first = vec![u64::MAX; classes.len()];
        for (&class, &line) in class_of.iter().zip(lines) {
            first[class as usize] = first[class as usize].min(line);
        }
        let origin = Some(Origin { file: file.to_owned(), lines: first });
        Self { classes, codes, origin, ..Self::default() }
    }

    /// From classes in their order and the index of each instance's, which must exist. Classes are not looked at: whoever has
    /// them knows that they differ.
    pub fn from_classes(classes: Vec<String>, codes: Vec<u32>) -> Self {
        Self { classes, codes, ..Self::default() }
    }

    /// Gives every instance a weight that multiplies its cost.
    pub fn with_weights(mut self, weights: Vec<f64>) -> Result<Self> {
        if weights.len() != self.len() {
            let (w, n) = (weights.len(), self.len());
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

    /// The same where only some instances count, each as often as before.
    pub fn counting(&self, counts: impl Fn(usize) -> bool) -> Self {
        let weight = |i: usize| self.weights.as_ref().map_or(1.0, |weights| weights[i]);
        let weights = (0..self.len()).map(|i| if counts(i) { weight(i) } else { 0.0 });
        Self { weights: Some(weights.collect()), ..self.clone() }
    }

    /// Those of some instances that follow each other. The classes stay the same, whether they occur there or not.
    pub fn part(&self, instances: Range<usize>) -> Self {
        Self {
            classes: self.classes.clone(),
            codes: self.codes.get(instances.clone()).unwrap_or_default().to_vec(),
            numbers: self.numbers.as_ref().map(|numbers| numbers[instances.clone()].to_vec()),
            weights: self.weights.as_ref().map(|weights| weights[instances].to_vec()),
            origin: self.origin.clone(),
        }
    }

    /// Number of labelled instances; 0 if the source has no labels.
    pub fn len(&self) -> usize {
        self.numbers.as_ref().map_or(self.codes.len(), Vec::len)
    }

    /// Whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether labels are classes, which may be numbers at the same time.
    pub fn has_classes(&self) -> bool {
        self.numbers.is_none()
    }

    /// The distinct classes, in order; empty if labels are numbers.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// For every instance, the index of its class; empty if labels are numbers.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// Instance weights, where given.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The numbers, where labels are no classes.
    pub(crate) fn only_numbers(&self) -> Option<&[f64]> {
        self.numbers.as_deref()
    }

    /// Every label as a number; an error if one is not.
    pub fn numbers(&self) -> Result<Cow<'_, [f64]>> {
        if self.is_empty() {
            return Err(Error::Data("the data have no labels".into()));
        }
        let bad = |i: usize, label: &str| self.bad(i, &format!("the label {label} is not a finite number"));
        if let Some(numbers) = &self.numbers {
            return match numbers.iter().position(|x| !x.is_finite()) {
                Some(i) => Err(bad(i, &numbers[i].to_string())),
                None => Ok(Cow::Borrowed(numbers)),
            };
        }
        let values: Vec<Option<f64>> = self.classes.iter().map(|class| number(class)).collect();
        let value = |(i, &code): (usize, &u32)| {
            values[code as usize].ok_or_else(|| bad(i, &self.classes[code as usize]))
        };
        self.codes.iter().enumerate().map(value).collect::<Result<Vec<f64>>>().map(Cow::Owned)
    }

    /// +1 for the instances of a class, -1 for all others.
    pub(crate) fn signs(&self, class: u32) -> Vec<f64> {
        self.codes.iter().map(|&code| if code == class { 1.0 } else { -1.0 }).collect()
    }

    /// The classes, at least two, each with an instance that counts.
    pub(crate) fn weighed_classes(&self, costs: &[f64]) -> Result<&[String]> {
        if !self.has_classes() {
            let reason = "the labels have too many values to be classes; numbers take a loss such as squared";
            return Err(self.useless(reason));
        }
        match self.classes.as_slice() {
            [] => return Err(Error::Data("the data have no labels".into())),
            [only] => {
                return Err(self.useless(&format!("all instances are of one class, {only}: two are needed")));
            }
            _ => {}
        }
        let mut counts = vec![false; self.classes.len()];
        self.codes.iter().zip(costs).for_each(|(&code, &cost)| counts[code as usize] |= cost > 0.0);
        match counts.iter().position(|counts| !counts) {
            Some(class) => {
                let reason = format!("no instance of class {} has a positive weight", self.classes[class]);
                Err(self.useless(&reason))
            }
            None => Ok(&self.classes),
        }
    }

    /// An error if there are more than two classes: often a third is a typing mistake.
    pub(crate) fn two_classes(&self) -> Result<()> {
        let advice = for_more_than_two_classes();
        if !self.has_classes() {
            let reason = format!("the labels have too many values to be two classes; {advice}");
            return Err(self.useless(&reason));
        }
        if self.classes.len() <= 2 {
            return Ok(());
        }
        let mut seen: Vec<u32> = Vec::new();
        for (i, &code) in self.codes.iter().enumerate() {
            if !seen.contains(&code) {
                seen.push(code);
            }
            if let [first, second, third] = seen[..] {
                let [a, b, c] = [first, second, third].map(|class| &self.classes[class as usize]);
                let count = self.classes.len();
                let reason = format!("a third label, {c}, after {a} and {b} (of {count} in all): {advice}");
                return Err(self.bad(i, &reason));
            }
        }
        Ok(())
    }

    /// An error about the label of instance `i`, the first that has it.
    pub(crate) fn bad(&self, i: usize, reason: &str) -> Error {
        let line = self.origin.as_ref().zip(self.codes.get(i));
        match line.map(|(origin, &code)| (origin, origin.lines[code as usize])) {
            Some((origin, line)) if line < u64::MAX => Error::input(Place::at(&origin.file, line, 1), reason),
            _ => Error::Data(format!("instance {}: {reason}", i + 1)),
        }
    }

    /// An error about all labels.
    pub(crate) fn useless(&self, reason: &str) -> Error {
        match &self.origin {
            Some(origin) => Error::input(origin.file.as_str(), reason),
            None => Error::Data(reason.to_owned()),
        }
    }
}

/// Which of the classes a label means: numbers may be written in several ways.
pub(super) fn class_called(label: &str, classes: &[String]) -> Option<usize> {
    classes.iter().position(|class| class.as_str() == label || same_number(class, label))
}

/// The number that a label is.
pub(crate) fn number(text: &str) -> Option<f64> {
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
        assert_eq!(*labels.numbers().unwrap(), [1.0, -1.0, 1.0, 1.0, -1.0]);
    }

    #[test]
    fn numbers_are_ordered_as_numbers_and_words_as_words() {
        assert_eq!(Labels::from_text(["10", "9"]).classes(), ["9", "10"]);
        assert_eq!(Labels::from_text(["spam", "ham"]).classes(), ["ham", "spam"]);
        assert_eq!(Labels::from_text(["10", "9", "x"]).classes(), ["10", "9", "x"]);
    }

    #[test]
    fn what_cannot_be_classes_is_refused() {
        let refused =
            |labels: Labels| labels.weighed_classes(&vec![1.0; labels.len()]).unwrap_err().to_string();
        assert!(refused(Labels::default()).contains("no labels"));
        assert!(refused(Labels::from_text(["1", "1"])).contains("one class"));
        assert!(refused(Labels::from_numbers(vec![0.5])).contains("squared"));
        let one_sided = Labels::from_text(["1", "2"]);
        assert!(one_sided.weighed_classes(&[1.0, 0.0]).is_err());
        assert!(one_sided.with_weights(vec![1.0, -1.0]).is_err());
    }

    #[test]
    fn a_third_label_is_told_with_its_line() {
        let spellings = ["b", "a", "c"].map(str::to_owned);
        let labels = Labels::read_from("x.svm", &spellings, &[2, 3, 7], vec![0, 1, 0, 2, 2]);
        let said = labels.two_classes().unwrap_err().to_string();
        assert!(said.starts_with("x.svm:7:1: a third label, c, after b and a (of 3 in all): "), "{said}");
        assert!(labels.numbers().unwrap_err().to_string().starts_with("x.svm:2:1: the label b is not"));
        assert!(Labels::from_text(["1", "2", "1"]).two_classes().is_ok());
    }
}
