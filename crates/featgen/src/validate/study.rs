//! A run in which some instances do not count: what cross-validation repeats.

use super::Costs;
use crate::context::Context;
use crate::data::{Columns, Except, Labels, Names};
use crate::error::Result;
use crate::machine::Machine;
use crate::model::Model;
use crate::objective::Kept;
use crate::space::{FeatureSpace, Inputs, Scaling, ShardColumns, SpaceSpec};

/// Data, and what is to be learned from them.
pub struct Study<'a> {
    /// The features' values.
    pub columns: &'a dyn Columns,
    /// What the features are called.
    pub names: &'a Names,
    /// Where features are searched.
    pub spec: SpaceSpec,
    /// How columns are weighed, if that was asked for.
    pub scaling: Option<Scaling>,
    /// Columns that are kept, by id.
    pub keep: Vec<u64>,
    /// A number for each instance that is added to its decision value.
    pub offset: Option<&'a [f64]>,
    /// The same columns, where they are in shards.
    pub shards: Option<&'a ShardColumns<'a>>,
}

/// Where a [`Study`] comes from: itself, or data that are read anew, so that nothing is known of instances held out.
pub trait Subject: Sync {
    /// Calls `see` with the study of all instances, in which what is learned of values is learned from these alone.
    fn known_from(&self, known: &[bool], see: &mut dyn FnMut(&Study<'_>) -> Result<()>) -> Result<()>;

    /// The study where it is the same whoever is known: runs may then read its columns together.
    fn same_for_all(&self) -> Option<&Study<'_>> {
        None
    }
}

/// Of plain numbers nothing is learned.
impl Subject for Study<'_> {
    fn known_from(&self, _known: &[bool], see: &mut dyn FnMut(&Study<'_>) -> Result<()>) -> Result<()> {
        see(self)
    }

    fn same_for_all(&self) -> Option<&Study<'_>> {
        Some(self)
    }
}

impl Study<'_> {
    /// The same of columns that hold the same.
    pub(super) fn with_columns<'c>(&'c self, columns: &'c dyn Columns) -> Study<'c> {
        Study {
            columns,
            names: self.names,
            spec: self.spec.clone(),
            scaling: self.scaling,
            keep: self.keep.clone(),
            offset: self.offset,
            shards: None,
        }
    }

    /// Calls `see` with the models that the machine makes of instances that count as labels say, one for each cost.
    pub(super) fn fits(
        &self,
        machine: &Machine,
        costs: &Costs,
        context: &Context,
        labels: &Labels,
        see: &mut dyn FnMut(Model) -> Result<()>,
    ) -> Result<()> {
        self.with_space(machine, context, labels, &mut |machine, space| {
            machine.limit_memory(space, labels)?;
            for machine in costs.machines(machine, space, labels)? {
                see(machine.fit(space, labels)?)?;
            }
            Ok(())
        })
    }

    /// The costs as they come to where instances count as labels say.
    pub(super) fn costs(
        &self,
        machine: &Machine,
        costs: &Costs,
        context: &Context,
        labels: &Labels,
    ) -> Result<Vec<f64>> {
        let mut found = Vec::new();
        self.with_space(machine, context, labels, &mut |machine, space| {
            found = costs.of(machine, space, labels)?;
            Ok(())
        })?;
        Ok(found)
    }

    /// The machine whose path is looked at: see [`Machine::along_path`].
    pub fn along_path(&self, machine: &Machine, context: &Context, labels: &Labels) -> Result<Machine> {
        let mut candidates = 0;
        self.with_space(&machine.clone().of_any_number(), context, labels, &mut |_, space| {
            candidates = space.size();
            Ok(())
        })?;
        machine.clone().along_path(candidates)
    }

    /// Calls `see` with the space as it is where instances count as labels say, and the machine with what is kept.
    fn with_space(
        &self,
        machine: &Machine,
        context: &Context,
        labels: &Labels,
        see: &mut dyn FnMut(&Machine, &mut dyn FeatureSpace) -> Result<()>,
    ) -> Result<()> {
        let kept = self.settle(self.kept(labels))?;
        let others = Except::new(self.columns, kept.ids().iter().copied());
        let columns: &dyn Columns = if kept.ids().is_empty() { self.columns } else { &others };
        let sharded = self.shards.map(|shards| shards.without(kept.ids())).transpose()?;
        let mut machine = machine.clone().without_checkpoint().context(context).keep(kept);
        if let Some(offset) = self.offset {
            machine = machine.offset(offset.to_vec());
        }
        let inputs = sharded.as_ref().map_or_else(|| Inputs::called(columns, self.names), Inputs::in_shards);
        let inputs = inputs.context(context);
        let scale = self.spec.scale(self.scaling, machine.select_in_use()?, &inputs, labels.weights())?;
        let inputs = scale.as_ref().map_or(inputs, |scale| inputs.scaled(scale));
        let mut built = self.spec.build(inputs, labels.weights())?;
        see(&machine, &mut *built.space)
    }

    /// A result, unless it came about as shards could not be asked: then, why.
    fn settle<T>(&self, result: Result<T>) -> Result<T> {
        match self.shards {
            Some(shards) => shards.settle(result),
            None => result,
        }
    }

    /// The columns kept. One that has the same value wherever instances count would be nothing but the intercept.
    fn kept(&self, labels: &Labels) -> Result<Kept> {
        let counts = |i: usize| labels.weights().is_none_or(|weights| weights[i] > 0.0);
        let varies = |id: &u64| {
            let mut values = vec![0.0; self.columns.rows()];
            if let Some(position) = self.columns.position(*id) {
                self.columns.gather(&[position])[0].add_to(1.0, &mut values);
            }
            let mut counted = (0..values.len()).filter(|&i| counts(i)).map(|i| values[i]);
            let first = counted.next();
            counted.any(|value| Some(value) != first)
        };
        let ids: Vec<u64> = match labels.weights() {
            Some(_) => self.keep.iter().copied().filter(varies).collect(),
            None => self.keep.clone(),
        };
        Kept::new(self.columns, self.names, &ids)
    }

    /// The decision values of a model for all instances, those of one before those of the next.
    pub(super) fn decision(&self, model: &Model) -> Result<Vec<f64>> {
        let predictor = model.predictor(self.names, "the data");
        if let Some(shards) = self.shards {
            // All at once: what follows finds them here.
            let used = model.used_inputs();
            shards.gather(&used.iter().filter_map(|&id| shards.position(id)).collect::<Vec<_>>());
        }
        let mut decision = self.settle(predictor.decision(self.columns))?;
        if let Some(offset) = self.offset {
            decision.iter_mut().zip(offset).for_each(|(f, offset)| *f += offset);
        }
        Ok(decision)
    }
}
