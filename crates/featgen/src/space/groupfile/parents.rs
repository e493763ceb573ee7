//! A tree by its edges: lines `parent > child`, where the child is another line's parent or a list of features.

use std::collections::HashMap;

use super::{Members, arrow, for_each_line, put, quotes};
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
    let members = Members::new(inputs, &file);
    let mut builder = TreeBuilder::over(inputs)?;
    let mut groups: HashMap<String, u32> = HashMap::new();
    let mut edges = Vec::new();
    for_each_line(source, |line, text| {
        let hidden = quotes::hidden(text.as_bytes()).map_err(|(at, why)| members.error(line, at, why))?;
        let Some(at) = arrow(&hidden) else {
            return Err(members.error(line, 0, "expected `parent > child`"));
        };
        let name = &*quotes::undone(text[..at].trim());
        if name.is_empty() {
            return Err(members.error(line, 0, "no parent before `>`"));
        }
        let child = text[at + 1..].trim_start();
        if child.is_empty() {
            let reason = format!("group {} is empty: no child after `>`", quoted(name.as_bytes()));
            return Err(members.error(line, at + 1, reason));
        }
        let parent = match groups.get(name) {
            Some(&group) => group,
            None => *groups.entry(name.to_owned()).or_insert_with(|| builder.group(Some(name), None)),
        };
        edges.push(Edge { line, parent, text: text.to_owned(), start: text.len() - child.len() });
        Ok(())
    })?;
    if edges.is_empty() {
        return Err(Error::input(file.as_str(), "no groups"));
    }
    let mut tree = Edges { members, lines: vec![0; groups.len()], builder, groups };
    edges.iter().try_for_each(|edge| tree.add(edge))?;
    tree.check_cycles()?;
    tree.builder.beyond = tree.members.beyond;
    Ok(tree.builder)
}

/// The tree that edges are added to.
struct Edges<'a> {
    members: Members<'a>,
    builder: TreeBuilder,
    groups: HashMap<String, u32>,
    /// Where each group got its parent.
    lines: Vec<u64>,
}

impl Edges<'_> {
    fn add(&mut self, edge: &Edge) -> Result<()> {
        let child = edge.text[edge.start..].trim_end();
        match self.groups.get(&*quotes::undone(child)) {
            Some(&group) => self.add_group(edge, group),
            None => self.add_features(edge, child),
        }
    }

    fn add_group(&mut self, edge: &Edge, group: u32) -> Result<()> {
        let line = std::mem::replace(&mut self.lines[group as usize], edge.line);
        self.builder.set_parent(group, edge.parent).map_err(|before| {
            let [child, before] = [group, before].map(|g| self.builder.names.quoted(g));
            let reason = format!("not a tree: group {child} has a parent already, {before} in line {line}");
            self.members.error(edge.line, edge.start, reason)
        })
    }

    fn add_features(&mut self, edge: &Edge, child: &str) -> Result<()> {
        let (builder, inputs) = (&mut self.builder, self.members.inputs);
        let mut empty = true;
        let each = |ids| {
            empty = false;
            put(builder, &inputs, &ids, edge.parent)
        };
        let listed = self.members.list((edge.line, &edge.text, edge.start), each);
        listed.map_err(|error| match error {
            // What looks like a list from its beginning was hardly meant to be a group.
            Error::Input { place, reason } if empty => {
                let child = quoted(child.as_bytes());
                let reason = reason.words(format!("; nor is {child} a group, for no line begins with it"));
                Error::Input { place, reason }
            }
            other => other,
        })?;
        if empty {
            let reason = format!("group {} is empty", self.builder.names.quoted(edge.parent));
            return Err(self.members.error(edge.line, edge.start, reason));
        }
        Ok(())
    }

    fn check_cycles(&self) -> Result<()> {
        const SHOWN: usize = 10;
        let Some(mut cycle) = self.builder.cycle() else { return Ok(()) };
        let closed_in = cycle.iter().map(|&g| self.lines[g as usize]).max().unwrap_or_default();
        // Downwards, as the file has it.
        cycle.reverse();
        let mut path: Vec<String> = cycle.iter().take(SHOWN).map(|&g| self.builder.names.quoted(g)).collect();
        if cycle.len() > SHOWN {
            path.push(format!("... ({} more)", cycle.len() - SHOWN));
        }
        let reason = format!("not a tree: a cycle of parents, {}", path.join(" > "));
        Err(self.members.error(closed_in, 0, reason))
    }
}
