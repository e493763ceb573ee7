//! What data lack of the features that a model looks at.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Model;
use crate::data::Names;

/// The inputs of a model that data do not have. Predictions count them as 0, which may not be what anybody wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Lacking {
    /// What they are called: by name, or by number from 1.
    pub missing: Vec<String>,
    /// How many inputs the model looks at.
    pub of: usize,
}

impl Lacking {
    /// Whether the model has nothing to look at: all predictions are the same then.
    pub fn all(&self) -> bool {
        self.of > 0 && self.missing.len() == self.of
    }

    /// Whether at least half of the inputs are missing. What is left says more about the data than about the instances: such
    /// predictions are rarely meant. Inputs are counted, and not weighed, for weights depend on the units of the data.
    pub fn most(&self) -> bool {
        !self.missing.is_empty() && 2 * self.missing.len() >= self.of
    }
}

impl Model {
    /// The inputs that carry weight, by id.
    pub(crate) fn used_inputs(&self) -> Vec<u64> {
        let weighty = self.terms.iter().filter(|term| !term.weight.is_zero());
        let kept = self.kept.iter().map(|kept| kept.id);
        let used: BTreeSet<u64> =
            weighty.flat_map(|term| term.feature.inputs()).copied().chain(kept).collect();
        used.into_iter().collect()
    }

    /// What data lack that have these names, and features up to this number (`None` where that cannot be known before all is
    /// read, and nothing is then said to be missing).
    pub fn lacking(&self, names: &Names, dimension: Option<u64>) -> Lacking {
        let used = self.used_inputs();
        let missing = if self.by_name && names.identify() {
            let known: HashSet<&str> = names.list().iter().map(String::as_str).collect();
            let called: HashMap<u64, &str> =
                self.inputs.iter().map(|input| (input.id, input.name.as_str())).collect();
            let called = used.iter().filter_map(|id| called.get(id).copied());
            called.filter(|name| !known.contains(name)).map(str::to_owned).collect()
        } else {
            let beyond = |id: &&u64| dimension.is_some_and(|dimension| **id >= dimension);
            used.iter().filter(beyond).map(|&id| self.called(id)).collect()
        };
        Lacking { missing, of: used.len() }
    }

    /// What data lack in which no instance has any of the inputs.
    pub fn lacking_all(&self) -> Lacking {
        let used = self.used_inputs();
        Lacking { of: used.len(), missing: used.into_iter().map(|id| self.called(id)).collect() }
    }

    /// The name of an input, or its number from 1.
    fn called(&self, id: u64) -> String {
        let named = self.inputs.iter().find(|input| input.id == id);
        named.map_or_else(|| (u128::from(id) + 1).to_string(), |input| input.name.clone())
    }
}
