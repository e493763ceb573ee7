//! A tree in Newick's format: `((1,2)mammals:0.3,(3,4)birds);`. Leaves are features, and every node but a root without
//! a name is a group. Branch lengths, comments in brackets, and numbers in place of inner names (they tell how sure
//! somebody is of a branch) are skipped.

use std::collections::HashSet;
use std::io::Read;

use super::Members;
use crate::data::read::{Source, quoted};
use crate::error::{Error, Place, Result};
use crate::space::Inputs;
use crate::space::tree::TreeBuilder;

/// A node of the file, before groups are numbered: parents come after their children there.
struct Node {
    parent: Option<u32>,
    label: Option<String>,
    /// Where the label, or the node, begins.
    at: usize,
    leaf: bool,
}

pub(super) fn read(mut source: Source, inputs: &Inputs<'_>) -> Result<TreeBuilder> {
    let file = source.name().to_owned();
    let mut bytes = Vec::new();
    source.read_to_end(&mut bytes).map_err(|e| source.read_error(e))?;
    let error = |at: usize, reason: String| Error::input(locate(&file, &bytes, at), reason);
    let text = std::str::from_utf8(&bytes).map_err(|e| error(e.valid_up_to(), "not text in UTF-8".into()))?;
    let nodes = Parser { text, at: 0 }.parse().map_err(|(at, reason)| error(at, reason))?;
    let mut members = Members::new(inputs, &file);
    let mut builder = TreeBuilder::new(inputs.columns().len());
    let mut groups: Vec<Option<u32>> = Vec::with_capacity(nodes.len());
    let mut names: HashSet<&str> = HashSet::new();
    for node in &nodes {
        let fail = |reason: String| error(node.at, reason);
        if node.parent.is_none() && node.label.is_none() {
            groups.push(None);
            continue;
        }
        if let Some(label) = &node.label
            && !names.insert(label)
        {
            return Err(fail(format!("a second node called {label}")));
        }
        let parent = node.parent.and_then(|parent| groups[parent as usize]);
        let group = builder.group(node.label.as_deref(), parent);
        groups.push(Some(group));
        if node.leaf {
            let label = node.label.as_deref().unwrap_or_default();
            let ids = members
                .token(label.as_bytes())
                .map_err(|reason| fail(format!("a leaf is a feature: {reason}")))?;
            if ids.end - ids.start > 1 {
                return Err(fail(format!("a leaf is one feature, not {}", quoted(label.as_bytes()))));
            }
            if ids.end > inputs.dimension() && builder.beyond.is_none() {
                builder.beyond = Some(locate(&file, &bytes, node.at));
            }
            members.put(&mut builder, ids.start, group).map_err(fail)?;
        }
    }
    Ok(builder)
}

/// The place of an offset of the text.
fn locate(file: &str, bytes: &[u8], at: usize) -> Place {
    let before = &bytes[..at.min(bytes.len())];
    let line = 1 + memchr::memchr_iter(b'\n', before).count();
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    Place::at(file, line as u64, (before.len() - start) as u64 + 1)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

/// Where in the text, and what is wrong.
type Fault = (usize, String);

impl Parser<'_> {
    /// The nodes, each after its parent. A tree may be as deep as it is large, so nothing here recurs.
    fn parse(mut self) -> Result<Vec<Node>, Fault> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut open: Vec<u32> = Vec::new();
        loop {
            // A subtree begins: a leaf or an opening bracket.
            let at = self.skip_blanks()?;
            let parent = open.last().copied();
            if self.eat(b'(') {
                open.push(nodes.len() as u32);
                nodes.push(Node { parent, label: None, at, leaf: false });
                continue;
            }
            let Some(label) = self.label()? else {
                return Err((at, format!("expected a feature or `(`, not {}", self.shown())));
            };
            self.skip_length()?;
            nodes.push(Node { parent, label: Some(label), at, leaf: true });
            // It has ended: go on with its sibling, or end its parents.
            loop {
                let at = self.skip_blanks()?;
                if self.eat(b',') && !open.is_empty() {
                    break;
                }
                if !self.eat(b')') {
                    return self.finish(nodes, &open, at);
                }
                let Some(closed) = open.pop() else { return Err((at, "`)` without `(`".into())) };
                let at = self.skip_blanks()?;
                if let Some(label) = self.label()?.filter(|label| label.parse::<f64>().is_err()) {
                    let node = &mut nodes[closed as usize];
                    (node.label, node.at) = (Some(label), at);
                }
                self.skip_length()?;
            }
        }
    }

    fn finish(mut self, nodes: Vec<Node>, open: &[u32], at: usize) -> Result<Vec<Node>, Fault> {
        if let Some(&first) = open.last() {
            let reason = format!("expected `,` or `)`, not {}: this bracket is not closed", self.shown());
            return Err(if self.at >= self.text.len() {
                (nodes[first as usize].at, reason)
            } else {
                (at, reason)
            });
        }
        if !self.eat(b';') {
            return Err((at, format!("expected `;` at the end, not {}", self.shown())));
        }
        let at = self.skip_blanks()?;
        if self.at < self.text.len() {
            return Err((at, "something follows the tree: only one is read".into()));
        }
        Ok(nodes)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, c: u8) -> bool {
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    /// What stands here, for messages.
    fn shown(&self) -> String {
        match self.text[self.at..].chars().next() {
            Some(c) => format!("`{c}`"),
            None => "the end of the file".into(),
        }
    }

    /// Skips blanks and comments; returns where it stands then.
    fn skip_blanks(&mut self) -> Result<usize, Fault> {
        while let Some(c) = self.peek() {
            if c == b'[' {
                let Some(length) = self.text[self.at..].find(']') else {
                    return Err((self.at, "a comment that does not end".into()));
                };
                self.at += length + 1;
            } else if c.is_ascii_whitespace() {
                self.at += 1;
            } else {
                break;
            }
        }
        Ok(self.at)
    }

    /// A label, perhaps in single quotes, which are doubled inside.
    fn label(&mut self) -> Result<Option<String>, Fault> {
        let start = self.at;
        if self.eat(b'\'') {
            let mut label = String::new();
            loop {
                let Some(length) = self.text[self.at..].find('\'') else {
                    return Err((start, "a quote that does not end".into()));
                };
                label.push_str(&self.text[self.at..self.at + length]);
                self.at += length + 1;
                if !self.eat(b'\'') {
                    return Ok(Some(label));
                }
                label.push('\'');
            }
        }
        let ends = |c: char| "()[],:;'".contains(c) || c.is_ascii_whitespace();
        self.at += self.text[start..].find(ends).unwrap_or(self.text.len() - start);
        Ok(Some(&self.text[start..self.at]).filter(|label| !label.is_empty()).map(str::to_owned))
    }

    /// Skips `:length`.
    fn skip_length(&mut self) -> Result<(), Fault> {
        self.skip_blanks()?;
        if !self.eat(b':') {
            return Ok(());
        }
        let at = self.skip_blanks()?;
        let label = self.label()?.unwrap_or_default();
        if label.parse::<f64>().is_err() {
            return Err((at, format!("{} is not a branch length", quoted(label.as_bytes()))));
        }
        Ok(())
    }
}
