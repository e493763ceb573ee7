//! A tree by the places of the features in it: a path `a/b/c` a line, in order of the features.

use std::collections::HashMap;

use super::{Members, put, text_of};
use crate::data::read::Source;
use crate::error::{Error, Result};
use crate::space::Inputs;
use crate::space::tree::TreeBuilder;

/// Groups are called by their whole paths, whose lengths add up to the square of the depth: deeper paths are refused.
const DEEPEST: usize = 256;

pub(super) fn read(source: Source, inputs: &Inputs<'_>) -> Result<TreeBuilder> {
    let file = source.name().to_owned();
    let members = Members::new(inputs, &file);
    let mut builder = TreeBuilder::over(inputs)?;
    let mut groups: HashMap<String, u32> = HashMap::new();
    let mut feature = 0;
    source.for_each_line(|line, bytes| {
        let text = text_of(bytes, &file, line)?;
        if text.trim_start().starts_with('#') {
            return Ok(());
        }
        // A blank line is a feature too.
        feature += 1;
        let fault = |at: usize, reason: String| members.error(line, at, reason);
        let placed = place(text, &mut builder, &mut groups).map_err(|(at, reason)| fault(at, reason))?;
        let Some(group) = placed else { return Ok(()) };
        if feature > inputs.last() {
            let reason = format!("a path for feature {feature}: the data have {}", inputs.dimension());
            return Err(fault(0, reason));
        }
        if feature > inputs.dimension() && builder.beyond.is_none() {
            builder.beyond = Some(members.place(line, 0));
        }
        put(&mut builder, inputs, &(feature - 1..feature), group).map_err(|reason| fault(0, reason))
    })?;
    if groups.is_empty() {
        return Err(Error::input(file.as_str(), "no groups"));
    }
    Ok(builder)
}

/// The group at the end of a path; groups on the way that are not there yet are made. `None` for an empty path. `Err` with
/// where in the path something is wrong, and what.
fn place(
    path: &str,
    builder: &mut TreeBuilder,
    groups: &mut HashMap<String, u32>,
) -> Result<Option<u32>, (usize, String)> {
    let mut name = String::with_capacity(path.len());
    let (mut parent, mut depth, mut next) = (None, 0, 0);
    for part in path.split('/') {
        let at = next;
        next += part.len() + 1;
        if part.trim().is_empty() {
            continue;
        }
        if depth == DEEPEST {
            return Err((
                at,
                format!("a path of more than {DEEPEST} levels: the format `parents` takes any depth"),
            ));
        }
        depth += 1;
        if !name.is_empty() {
            name.push('/');
        }
        name.push_str(part.trim());
        parent = Some(match groups.get(&name) {
            Some(&group) => group,
            None => *groups.entry(name.clone()).or_insert_with(|| builder.group(Some(&name), parent)),
        });
    }
    Ok(parent)
}
