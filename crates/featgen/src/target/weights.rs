//! How much classes count.

use super::Labels;
use super::labels::class_called;
use crate::error::{Error, Result};
use crate::model::Weighing;

/// How much the classes count.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ClassWeights {
    /// All the same.
    #[default]
    Equal,
    /// Inversely to their frequency: all classes together count the same.
    Balanced,
    /// As given; classes not named count 1.
    Given(Vec<(String, f64)>),
    /// As given, in the order of the classes.
    Each(Vec<f64>),
}

impl ClassWeights {
    /// What the cost of an instance is multiplied by, for every class.
    fn factors(&self, labels: &Labels) -> Result<Vec<f64>> {
        let classes = labels.classes();
        let mut factors = vec![1.0; classes.len()];
        match self {
            Self::Equal => {}
            Self::Each(weights) if weights.len() == classes.len() => factors.copy_from_slice(weights),
            Self::Each(weights) => {
                let reason = format!("{} weights for {} classes", weights.len(), classes.len());
                return Err(Error::parameter("weight", reason));
            }
            Self::Balanced => {
                let mut totals = vec![0.0; classes.len()];
                for (i, &code) in labels.codes().iter().enumerate() {
                    totals[code as usize] += labels.weights().map_or(1.0, |w| w[i]);
                }
                let (all, count) = (totals.iter().sum::<f64>(), classes.len() as f64);
                factors = totals.into_iter().map(|t| if t > 0.0 { all / (count * t) } else { 1.0 }).collect();
            }
            Self::Given(list) => {
                for (label, weight) in list {
                    let Some(k) = class_called(label, classes) else {
                        let reason = format!("no class is called {label}: the classes are {}", and(classes));
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

    /// The cost of every instance: `cost` times the weights of its class and of itself.
    pub(crate) fn costs(&self, labels: &Labels, cost: f64) -> Result<Vec<f64>> {
        let weight = |i: usize| labels.weights().map_or(1.0, |w| w[i]);
        let costs: Vec<f64> = if labels.has_classes() {
            let factors = self.factors(labels)?;
            labels.codes().iter().enumerate().map(|(i, &c)| cost * factors[c as usize] * weight(i)).collect()
        } else if *self == Self::Equal {
            (0..labels.len()).map(|i| cost * weight(i)).collect()
        } else {
            return Err(Error::parameter(
                "weight",
                "only classes can have weights, and these labels are numbers",
            ));
        };
        match costs.iter().position(|c| !c.is_finite()) {
            Some(i) => Err(Error::Data(format!("the cost of instance {} is too large", i + 1))),
            None => Ok(costs),
        }
    }

    /// The same for a model of these classes; `None` if they count the same.
    pub(crate) fn weighing(&self, classes: &[String]) -> Option<Weighing> {
        match self {
            Self::Equal => None,
            Self::Balanced => Some(Weighing::Balanced),
            Self::Each(weights) => Some(Weighing::Each(weights.clone())),
            Self::Given(list) => {
                let mut weights = vec![1.0; classes.len()];
                for (label, weight) in list {
                    class_called(label, classes).into_iter().for_each(|k| weights[k] = *weight);
                }
                Some(Weighing::Each(weights))
            }
        }
    }
}

/// Names as a sentence lists them.
fn and(names: &[String]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        few => few.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_multiply_class_and_instance_weights() {
        let labels = Labels::from_text(["a", "b", "b", "b"]).with_weights(vec![1.0, 2.0, 0.0, 2.0]).unwrap();
        let given = ClassWeights::Given(vec![("b".into(), 3.0)]);
        assert_eq!(given.costs(&labels, 2.0).unwrap(), [2.0, 12.0, 0.0, 12.0]);
        // 1 against 4 in weight: halves of the total, 5.
        assert_eq!(ClassWeights::Balanced.costs(&labels, 1.0).unwrap(), [2.5, 1.25, 0.0, 1.25]);
        let three = Labels::from_text(["a", "b", "b", "c"]);
        assert_eq!(ClassWeights::Balanced.costs(&three, 3.0).unwrap(), [4.0, 2.0, 2.0, 4.0]);
    }

    #[test]
    fn only_classes_have_weights() {
        let numbers = Labels::from_numbers(vec![1.5, 2.5]);
        assert_eq!(ClassWeights::Equal.costs(&numbers, 2.0).unwrap(), [2.0, 2.0]);
        assert!(ClassWeights::Balanced.costs(&numbers, 2.0).is_err());
        assert!(ClassWeights::Each(vec![1.0; 3]).costs(&Labels::from_text(["a", "b"]), 1.0).is_err());
    }
}
