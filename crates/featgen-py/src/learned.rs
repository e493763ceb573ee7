//! What a fit learned from, as validations repeat it with some of the samples.

use featgen::Result;
use featgen::data::{Columns, Dataset, Names};
use featgen::space::{Scaling, ShardColumns, SpaceSpec};
use featgen::table::Recipe;
use featgen::validate::{Study, Subject};

use crate::matrix::Matrix;
use crate::table::Table;

/// All samples, and the frame that they came from if what was learned of its values must be learned anew.
pub(crate) struct Learned<'a> {
    whole: Study<'a>,
    asked: &'a SpaceSpec,
    table: Option<&'a Table>,
}

impl<'a> Learned<'a> {
    /// `asked` is the space as the user describes it. Features that it names by their places are those of all samples: levels that
    /// only some samples have cannot be forgotten then.
    pub(crate) fn new(
        x: &'a Matrix<'_>,
        columns: &'a dyn Columns,
        names: &'a Names,
        asked: &'a SpaceSpec,
        keep: &[u64],
        scaling: Option<Scaling>,
        offset: Option<&'a [f64]>,
    ) -> Result<Self> {
        let spec = asked.clone().or_columns_of(x.recipe().as_ref())?;
        let by_place = asked.grouping().is_some() || asked.only().is_some();
        let table = x.table().filter(|_| !by_place);
        let keep = keep.to_vec();
        let whole = Study { columns, names, spec, scaling, keep, offset, shards: None };
        Ok(Self { whole, asked, table })
    }

    /// The same of columns in shards, of which nothing is learned but the numbers.
    pub(crate) fn in_shards(
        shards: &'a ShardColumns<'a>,
        names: &'a Names,
        (asked, spec): (&'a SpaceSpec, SpaceSpec),
        keep: &[u64],
        scaling: Option<Scaling>,
        offset: Option<&'a [f64]>,
    ) -> Self {
        let (columns, shards, keep): (&dyn Columns, _, _) = (shards, Some(shards), keep.to_vec());
        Self { whole: Study { columns, names, spec, scaling, keep, offset, shards }, asked, table: None }
    }

    /// All samples.
    pub(crate) fn study(&self) -> &Study<'a> {
        &self.whole
    }

    /// The same of samples of which other things are known.
    fn study_of<'d>(&'d self, table: &Table, data: &'d Dataset) -> Result<Study<'d>> {
        let recipe = data.recipe.as_ref();
        Ok(Study {
            columns: &*data.columns,
            names: &data.names,
            spec: self.asked.clone().or_columns_of(recipe)?,
            scaling: self.whole.scaling,
            keep: kept(&self.whole.keep, table, data),
            offset: self.whole.offset,
            shards: None,
        })
    }
}

/// Columns that are kept have other places where other levels are known.
fn kept(keep: &[u64], table: &Table, data: &Dataset) -> Vec<u64> {
    let whole = table.data();
    let mut found = Vec::new();
    for (column, range) in whole.recipe.iter().flat_map(Recipe::ranges) {
        let own: Vec<u64> = keep.iter().copied().filter(|id| range.contains(id)).collect();
        let all = whole.recipe.as_ref().and_then(|recipe| recipe.independent(&column.column));
        if !own.is_empty() && all.is_some_and(|all| all.eq(own.iter().copied())) {
            let independent = data.recipe.as_ref().and_then(|recipe| recipe.independent(&column.column));
            found.extend(independent.into_iter().flatten());
        } else {
            let place = |id: u64| {
                data.names.list().iter().position(|name| Some(name.as_str()) == whole.names.get(id))
            };
            found.extend(own.into_iter().filter_map(place).map(|place| place as u64));
        }
    }
    found
}

impl Subject for Learned<'_> {
    fn known_from(&self, known: &[bool], see: &mut dyn FnMut(&Study<'_>) -> Result<()>) -> Result<()> {
        let learned = self.table.and_then(|table| Some((table, table.learned_from(known)?)));
        match learned {
            None => see(&self.whole),
            Some((table, data)) => {
                let data = data?;
                see(&self.study_of(table, &data)?)
            }
        }
    }

    fn same_for_all(&self) -> Option<&Study<'_>> {
        Some(&self.whole).filter(|_| self.table.is_none())
    }
}
