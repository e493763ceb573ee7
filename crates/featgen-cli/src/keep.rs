//! Columns that are kept: the list that a user gives, looked up in the data.

use featgen::data::Dataset;
use featgen::objective::Kept;
use featgen::space::{self, Inputs};
use featgen::{Error, Result};

/// The covariates of genotypes, and the columns of `list`: names, numbers from 1 or ranges of them, with commas between; or all that a file names after `@`.
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
        let named = data.names.list().iter().position(|name| name == item);
        match named.map(|place| (place as u64, place as u64 + 1)).or_else(|| numbers(item)) {
            Some((first, end)) if end <= data.columns.dimension() => ids.extend(first..end),
            _ => return Err(Error::parameter("keep", format!("the data have no column {item}"))),
        }
    }
    Ok(ids)
}

/// A number or a range of numbers, counted from 1, as ids: the first, and the one after the last.
fn numbers(item: &str) -> Option<(u64, u64)> {
    let (first, last) = item.split_once('-').unwrap_or((item, item));
    let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (1..=last).contains(&first).then(|| (first - 1, last))
}
