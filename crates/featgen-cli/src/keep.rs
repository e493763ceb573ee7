//! Columns that are kept: the list that a user gives, looked up in the data.

use featgen::data::Dataset;
use featgen::objective::Kept;
use featgen::space::{self, Inputs};
use featgen::{Error, Result, table};

/// The covariates of genotypes, and the columns of `list`: names, numbers from 1, ranges of them or patterns, with commas between;
/// or all that a file names after `@`.
pub(crate) fn kept(list: Option<&str>, data: &Dataset) -> Result<Kept> {
    let mut ids = match list {
        None => Vec::new(),
        Some(list) => match list.strip_prefix('@') {
            Some(file) => space::read_features(file, &Inputs::new(data))?,
            None => listed(list, data)?,
        },
    };
    ids.extend(data.genotypes.iter().flat_map(|facts| &facts.covariates));
    Kept::new(&*data.columns, &data.names, &ids).map_err(|error| match error {
        // Whoever kept nothing by name is told of the table.
        Error::Parameter { name: "keep", reason } if list.is_none() => Error::parameter("covar", reason),
        other => other,
    })
}

fn listed(list: &str, data: &Dataset) -> Result<Vec<u64>> {
    let mut ids = Vec::new();
    for item in list.split(',').map(str::trim) {
        // A column of a table stands for its inputs.
        match data.recipe.as_ref().and_then(|recipe| recipe.independent(item)) {
            Some(inputs) => ids.extend(inputs),
            None => {
                let item = [item];
                let found = table::listed(&item, data.names.list(), data.columns.dimension());
                let missing = |item| Error::parameter("keep", format!("the data have no column {item}"));
                ids.extend(found.map_err(missing)?.into_iter().flatten());
            }
        }
    }
    Ok(ids)
}
