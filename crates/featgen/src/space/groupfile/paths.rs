//! A tree by the places of the features in it: a path `a/b/c` a line, in order of the features.

use std::collections::HashMap;

use super::Members;
use crate::data::read::Source;
use crate::error::{Error, Result};
use crate::space::Inputs;
use crate::space::tree::TreeBuilder;

pub(super) fn read(source: Source, inputs: &Inputs<'_>) -> Result<TreeBuilder> {
    let file = source.name().to_owned();
    let members = Members::new(inputs, &file);
    let mut builder = TreeBuilder::new(inputs.columns().len());
    let mut groups: HashMap<String, u32> = HashMap::new();
    // Every line is a feature, also a blank one: comments would be miscounted.
    source.for_each_line(|line, bytes| {
        let wrong = |_| members.error(line, 0, "not text in UTF-8");
        let text = std::str::from_utf8(bytes).map_err(wrong)?;
        let Some(group) = place(text.trim(), &mut builder, &mut groups) else { return Ok(()) };
        if line > inputs.dimension() && builder.beyond.is_none() {
            builder.beyond = Some(members.place(line, 0));
        }
        if line > inputs.dimension() + inputs.beyond() {
            let reason = format!("a path for feature {line}: the data have {}", inputs.dimension());
            return Err(members.error(line, 0, reason));
        }
        members.put(&mut builder, line - 1, group).map_err(|reason| members.error(line, 0, reason))
    })?;
    if groups.is_empty() {
        return Err(Error::input(file.as_str(), "no groups"));
    }
    Ok(builder)
}

/// The group at the end of a path; groups on the way that are not there yet are made. `None` for an empty path.
fn place(path: &str, builder: &mut TreeBuilder, groups: &mut HashMap<String, u32>) -> Option<u32> {
    let mut name = String::with_capacity(path.len());
    let mut parent = None;
    for part in path.split('/').map(str::trim).filter(|part| !part.is_empty()) {
        if !name.is_empty() {
            name.push('/');
        }
        name.push_str(part);
        parent = Some(match groups.get(&name) {
            Some(&group) => group,
            None => *groups.entry(name.clone()).or_insert_with(|| builder.group(Some(&name), parent)),
        });
    }
    parent
}
