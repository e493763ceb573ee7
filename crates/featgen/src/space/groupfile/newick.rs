//! A tree in Newick's format: `((1,2)mammals:0.3,(3,4)birds);`. Leaves are features, and every node is a group, but for a
//! root without a name and nodes without a name that hold no more than one other. Branch lengths, comments in brackets,
//! and numbers in place of inner names (they tell how sure somebody is of a branch) are skipped.

use std::collections::HashMap;

use super::{Members, put};
use crate::data::read::{Source, quoted};
use crate::error::{Error, Place, Result};
use crate::space::Inputs;
use crate::space::tree::TreeBuilder;

/// A node of the file, before groups are numbered: parents are called by their names after their children there.
struct Node {
    parent: Option<u32>,
    label: Option<String>,
    /// Where the label, or the node, begins.
    at: usize,
    leaf: bool,
}

impl Node {
    /// The label, cut: in a deep tree one leaf may be in the names of all others.
    fn short(&self) -> &str {
        const LONGEST: usize = 60;
        let label = self.label.as_deref().unwrap_or_default();
        label.char_indices().nth(LONGEST).map_or(label, |(cut, _)| &label[..cut])
    }
}

/// Nodes that a tree may have beside a few for each feature: brackets within brackets cost a byte each in the file, and much
/// more in memory.
const MOST_NODES: u64 = 1 << 20;
const NODES_PER_FEATURE: u64 = 4;

pub(super) fn read(source: Source, inputs: &Inputs<'_>) -> Result<TreeBuilder> {
    let file = source.name().to_owned();
    let bytes = source.read_text()?;
    let place = |at: usize| {
        let (line, column) = locate(&bytes, at);
        Place::at(&file, line, column)
    };
    let error = |at: usize, reason: String| Error::input(place(at), reason);
    let text = std::str::from_utf8(&bytes).map_err(|e| error(e.valid_up_to(), "not text in UTF-8".into()))?;
    let most = inputs.dimension().saturating_mul(NODES_PER_FEATURE).saturating_add(MOST_NODES);
    let most = usize::try_from(most).unwrap_or(usize::MAX).min(u32::MAX as usize);
    let nodes = Parser { text, at: 0, most }.parse().map_err(|(at, reason)| error(at, reason))?;
    let leaves = leaves(&nodes);
    let mut members = Members::new(inputs, &file);
    let mut builder = TreeBuilder::over(inputs)?;
    let mut groups: Vec<Option<u32>> = Vec::with_capacity(nodes.len());
    let mut first_of: HashMap<&str, usize> = HashMap::new();
    for (k, node) in nodes.iter().enumerate() {
        let fail = |reason: String| error(node.at, reason);
        let parent = node.parent.and_then(|parent| groups[parent as usize]);
        let Some(label) = &node.label else {
            let [first, last] = leaves[k];
            // A root, or no more than the node above it or a single leaf.
            let same = first == last || node.parent.is_none_or(|parent| leaves[parent as usize] == leaves[k]);
            let name = || format!("({}..{})", nodes[first as usize].short(), nodes[last as usize].short());
            groups.push(if same { parent } else { Some(builder.group(Some(&name()), parent)) });
            continue;
        };
        if let Some(first) = first_of.insert(label, node.at) {
            let (name, (line, column)) = (quoted(label.as_bytes()), locate(&bytes, first));
            return Err(fail(format!("a second node called {name}: the first is at {line}:{column}")));
        }
        let group = builder.group(Some(label), parent);
        groups.push(Some(group));
        if node.leaf {
            let found = members.token(label.as_bytes());
            let ids = found.map_err(|reason| fail(format!("a leaf is a feature: {reason}")))?;
            if ids.end - ids.start > 1 {
                return Err(fail(format!("a leaf is one feature, not {}", quoted(label.as_bytes()))));
            }
            if ids.end > inputs.dimension() && builder.beyond.is_none() {
                builder.beyond = Some(place(node.at));
            }
            put(&mut builder, inputs, &ids, group).map_err(fail)?;
        }
    }
    Ok(builder)
}

/// The first and the last leaf of every node, in the order of the file.
fn leaves(nodes: &[Node]) -> Vec<[u32; 2]> {
    let own = |(k, node): (u32, &Node)| if node.leaf { [k, k] } else { [u32::MAX, 0] };
    let mut leaves: Vec<[u32; 2]> = (0..).zip(nodes).map(own).collect();
    for k in (0..nodes.len()).rev() {
        if let Some(parent) = nodes[k].parent {
            let ([first, last], of) = (leaves[k], &mut leaves[parent as usize]);
            *of = [of[0].min(first), of[1].max(last)];
        }
    }
    leaves
}

/// The line and the column of an offset of the text.
fn locate(bytes: &[u8], at: usize) -> (u64, u64) {
    let before = &bytes[..at.min(bytes.len())];
    let line = 1 + memchr::memchr_iter(b'\n', before).count();
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    (line as u64, (before.len() - start) as u64 + 1)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// How many nodes there may be.
    most: usize,
}

/// Whether an inner label only says how sure somebody is of a branch, perhaps by several measures: `95`, `0.9/100`.
fn is_support(label: &str) -> bool {
    label.split('/').all(|part| part.parse().is_ok_and(f64::is_finite))
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
            if nodes.len() == self.most {
                return Err((at, format!("more than {} nodes: too many for the features", self.most)));
            }
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
                if !open.is_empty() && self.eat(b',') {
                    break;
                }
                if !self.eat(b')') {
                    return self.finish(nodes, &open, at);
                }
                let Some(closed) = open.pop() else { return Err((at, "`)` without `(`".into())) };
                let at = self.skip_blanks()?;
                if let Some(label) = self.label()?.filter(|label| !label.is_empty() && !is_support(label)) {
                    let node = &mut nodes[closed as usize];
                    (node.label, node.at) = (Some(label), at);
                }
                self.skip_length()?;
            }
        }
    }

    fn finish(mut self, nodes: Vec<Node>, open: &[u32], at: usize) -> Result<Vec<Node>, Fault> {
        if let Some(&last) = open.last() {
            if self.peek().is_none() {
                return Err((nodes[last as usize].at, "this bracket is not closed".into()));
            }
            let shown = self.shown();
            let hint = if self.label()?.is_some() { "; names with blanks take quotes" } else { "" };
            return Err((at, format!("expected `,` or `)`, not {shown}{hint}")));
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

    /// Skips blanks, comments in brackets, and lines that begin with `#`; returns where it stands then.
    fn skip_blanks(&mut self) -> Result<usize, Fault> {
        let mut line_begins = self.at == 0;
        while let Some(c) = self.peek() {
            let rest = &self.text[self.at..];
            if c == b'[' {
                let ends = rest.find(']').ok_or((self.at, "a comment that does not end: no `]`".into()))?;
                self.at += ends + 1;
            } else if c == b'#' && line_begins {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if c.is_ascii_whitespace() {
                line_begins |= c == b'\n';
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
                    return Err((start, "a quote that does not end: no second `'`".into()));
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
