//! A tree by its edges: lines `parent > child`, where the child is another line's parent or a list of features.

use std::collections::HashMap;

use super::{Members, for_each_line};
use crate::data::read::{Source, quoted};
use crate::error::{Error, Result};
use crate::space::Inputs;
use crate::space::tree::TreeBuilder;

/// A line that has yet to be understood: what is right of `>` may be a group that only a later line makes known.
struct Edge {
    line: u64,
    parent: u32,
    text: String,
    /// Where the child begins.
    start: usize,
}

pub(super) fn read(source: Source, inputs: &Inputs<'_>) -> Result<TreeBuilder> {
    let file = source.name().to_owned();
    let mut members = Members::new(inputs, &file);
    let mut builder = TreeBuilder::new(inputs.columns().len());
    let mut groups: HashMap<String, u32> = HashMap::new();
    let mut edges = Vec::new();
    for_each_line(source, |line, text| {
        let Some((parent, _)) = text.split_once('>') else {
            return Err(members.error(line, 0, "expected `parent > child`"));
        };
        let (name, start) = (parent.trim(), parent.len() + 1);
        if name.is_empty() {
            return Err(members.error(line, 0, "no parent before `>`"));
        }
        if text[start..].trim().is_empty() {
            return Err(members.error(line, start, format!("group {name} is empty: no child after `>`")));
        }
        let parent = match groups.get(name) {
            Some(&group) => group,
            None => *groups.entry(name.to_owned()).or_insert_with(|| builder.group(Some(name), None)),
        };
        edges.push(Edge { line, parent, text: text.to_owned(), start });
        Ok(())
    })?;
    if edges.is_empty() {
        return Err(Error::input(file.as_str(), "no groups"));
    }
    for edge in &edges {
        edge.add(&mut builder, &groups, &mut members)?;
    }
    check_cycles(&builder, &edges, &members)?;
    builder.beyond = members.beyond;
    Ok(builder)
}

impl Edge {
    fn add(
        &self,
        builder: &mut TreeBuilder,
        groups: &HashMap<String, u32>,
        members: &mut Members<'_>,
    ) -> Result<()> {
        let child = &self.text[self.start..];
        // The column of the child itself, behind the blanks after `>`.
        let at = self.start + child.len() - child.trim_start().len();
        if let Some(&group) = groups.get(child.trim()) {
            return builder.set_parent(group, self.parent).map_err(|before| {
                let shown = |g: u32| builder.names.get(g as usize).unwrap_or_default().to_owned();
                let reason = format!(
                    "not a tree: group {} has two parents, {} and {}",
                    child.trim(),
                    shown(before),
                    shown(self.parent)
                );
                members.error(self.line, at, reason)
            });
        }
        let mut ids = Vec::new();
        let list = (self.line, self.text.as_str(), self.start);
        members.list(list, None, String::new, &mut ids).map_err(|error| match error {
            Error::Input { place, reason } if !child.trim().bytes().any(super::is_blank) => {
                let child = quoted(child.trim().as_bytes());
                Error::Input {
                    place,
                    reason: format!("{child} is no group, for it is no parent, and {reason}"),
                }
            }
            other => other,
        })?;
        let put = |id| members.put(builder, id, self.parent);
        ids.into_iter().try_for_each(put).map_err(|reason| members.error(self.line, at, reason))
    }
}

fn check_cycles(builder: &TreeBuilder, edges: &[Edge], members: &Members<'_>) -> Result<()> {
    let Some(cycle) = builder.cycle() else { return Ok(()) };
    let name = |&g: &u32| builder.names.get(g as usize).unwrap_or_default().to_owned();
    // Downwards, as the file has it.
    let path: Vec<String> = cycle.iter().rev().map(name).collect();
    let closes = |edge: &&Edge| {
        let child = edge.text[edge.start..].trim();
        cycle.windows(2).any(|pair| edge.parent == pair[1] && child == name(&pair[0]))
    };
    let edge = edges.iter().rfind(closes).expect("a cycle is made of edges");
    Err(members.error(edge.line, 0, format!("not a tree: a cycle of parents, {}", path.join(" > "))))
}
