//! svmlight/LIBSVM text: a line per instance, `label index:value index:value ... # comment`.
//!
//! Indices count from 1 and increase. `qid:` is skipped, blank lines and comments are too, zeros are not stored. Chunks
//! of whole lines are parsed in parallel.

use std::collections::HashMap;

use super::idset::IdSet;
use super::parallel::for_each_chunk;
use super::source::{Chunk, Chunks, Source};
use super::spellings::Spellings;
use super::{number, quoted};
use crate::data::build::{Block, Builder, few_columns};
use crate::data::{Labels, Sparse};
use crate::error::{Error, Place, Result};

/// How rows begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Whether rows begin with a label.
    pub(super) labelled: bool,
    /// Number of features at least.
    pub(super) dimension: u64,
    /// Bytes of text that one task parses.
    pub(super) chunk: usize,
}

/// Reads a source on the threads of the current pool.
pub(super) fn read(source: Source, options: Options) -> Result<(Sparse, Option<Labels>)> {
    let mut builder = Builder::new();
    let mut reading = parse(source, options, Some, |_, blocks| builder.append(blocks))?;
    Ok((builder.finish(reading.largest), reading.labels()))
}

/// Hands on some rows at a time, in order, with the columns of `wanted` ids only; and whether any of these is mentioned there,
/// be it with a value of 0. Where the source pauses, what is there is handed on at once.
pub(super) fn for_each_batch<E: From<Error>>(
    source: Source,
    options: Options,
    wanted: &IdSet,
    mut each: impl FnMut(Sparse, Option<Labels>, bool) -> Result<(), E>,
) -> Result<(), E> {
    let hand_on = |reading: &mut Reading, blocks: &mut [Block]| {
        let mentioned = std::mem::take(&mut reading.mentioned);
        each(few_columns(blocks, wanted.ids(), reading.largest), reading.labels(), mentioned)
    };
    parse(source, options, |id| wanted.number(id), hand_on).map(drop)
}

/// Hands on some rows at a time, in order: as many as hold at least `entries` values, but for the last.
pub(super) fn for_each_part<E: From<Error>>(
    source: Source,
    options: Options,
    entries: u64,
    mut each: impl FnMut(Sparse, Option<Labels>) -> Result<(), E>,
) -> Result<(), E> {
    let mut builder = Builder::new();
    let gather = |reading: &mut Reading, blocks: &mut [Block]| {
        builder.append(blocks)?;
        if builder.entries() < entries {
            return Ok(());
        }
        let full = std::mem::replace(&mut builder, Builder::new());
        each(full.finish(reading.largest), reading.labels())
    };
    let mut reading = parse(source, options, Some, gather)?;
    each(builder.finish(reading.largest), reading.labels())
}

/// Parses a source. Every id is replaced by what `number` says, and left out where that is nothing. `each` gets the blocks of a
/// few chunks at a time; at a fault first all rows before it.
fn parse<E: From<Error>>(
    source: Source,
    options: Options,
    number: impl Fn(u64) -> Option<u64> + Sync,
    mut each: impl FnMut(&mut Reading, &mut [Block]) -> Result<(), E>,
) -> Result<Reading, E> {
    let mut reading = Reading::new(source.name().to_owned(), options);
    let mut blocks: Vec<Block> = Vec::new();
    let parse = |part: &mut Part, chunk: &Chunk| part.parse(chunk, options.labelled, &number);
    for_each_chunk::<_, E>(Chunks::new(source, options.chunk), &parse, &mut |parts, _| {
        let mut fault = None;
        for part in parts.iter_mut() {
            fault = reading.take(part).err();
            blocks.push(std::mem::take(&mut part.block));
            if fault.is_some() {
                break;
            }
        }
        each(&mut reading, &mut blocks)?;
        if let Some(error) = fault {
            return Err(error.into());
        }
        parts.iter_mut().zip(blocks.drain(..)).for_each(|(part, block)| part.block = block);
        Ok(())
    })?;
    Ok(reading.end()?)
}

/// What was read so far.
struct Reading {
    name: String,
    options: Options,
    rows: u64,
    lines: u64,
    largest: u64,
    /// Whether any id that has a number was mentioned since this was last asked.
    mentioned: bool,
    spellings: Spellings,
}

impl Reading {
    fn new(name: String, options: Options) -> Self {
        let (largest, spellings) = (options.dimension, Spellings::default());
        Self { name, options, rows: 0, lines: 0, largest, mentioned: false, spellings }
    }

    /// Takes over what a part holds beside its block; fails with the part's first fault, which cuts the block.
    fn take(&mut self, part: &mut Part) -> Result<()> {
        let mut known = Vec::with_capacity(part.labels.len());
        let (mut fault, mut rows) = (part.fault.take(), part.block.rows());
        for (label, spot) in &part.labels {
            match self.spellings.resolve(label, self.lines + spot.line) {
                Ok(label) => known.push(label),
                Err(reason) => {
                    // Labels are numbered as they appear: the first row that has this one is the first bad one.
                    rows = part
                        .codes
                        .iter()
                        .take(rows)
                        .take_while(|&&code| (code as usize) < known.len())
                        .count();
                    fault = Some((*spot, reason.into()));
                    break;
                }
            }
        }
        part.block.truncate(rows);
        part.codes.iter().take(rows).for_each(|&code| self.spellings.push(known[code as usize]));
        let place = |spot: Spot| Place::at(&self.name, self.lines + spot.line, spot.column);
        let result = fault.map_or(Ok(()), |(spot, reason)| Err(Error::input(place(spot), reason)));
        self.rows += rows as u64;
        self.lines += part.lines;
        self.largest = self.largest.max(part.largest);
        self.mentioned |= part.mentioned;
        result
    }

    /// All is read.
    fn end(self) -> Result<Self> {
        match self.rows {
            0 => Err(Error::input(self.name.as_str(), "no instances")),
            _ => Ok(self),
        }
    }

    /// The labels of the rows since this was last asked.
    fn labels(&mut self) -> Option<Labels> {
        self.options.labelled.then(|| self.spellings.take(&self.name))
    }
}

/// A place in a chunk: lines and columns count from 1, lines from the beginning of the chunk.
#[derive(Debug, Clone, Copy)]
struct Spot {
    line: u64,
    column: u64,
}

/// A parsed chunk. Reused, so that memory is taken once.
#[derive(Default)]
struct Part {
    block: Block,
    lines: u64,
    /// The largest index, whether its value was stored or not.
    largest: u64,
    /// Whether any id that has a number stands there, whether its value was stored or not.
    mentioned: bool,
    /// Distinct labels in order of appearance, with the place of the first.
    labels: Vec<(String, Spot)>,
    /// For every row the position of its label in `labels`.
    codes: Vec<u32>,
    fault: Option<(Spot, String)>,
}

impl Part {
    /// Parses a chunk up to its end or its first fault.
    fn parse(&mut self, chunk: &Chunk, labelled: bool, number: &impl Fn(u64) -> Option<u64>) {
        self.block.clear();
        self.labels.clear();
        self.codes.clear();
        (self.largest, self.mentioned) = (0, false);
        let (text, length) = chunk.padded();
        let mut parser = Parser::new(text, labelled);
        let mut result = Ok(());
        while parser.at < length && result.is_ok() {
            result = parser.line(self, number);
        }
        self.lines = parser.line;
        self.fault = result.err();
    }
}

/// A fault as it travels up: where and why.
type Parsed<T> = Result<T, (Spot, String)>;

/// A walk over the lines of a chunk.
struct Parser<'t> {
    text: &'t [u8],
    at: usize,
    line: u64,
    line_begin: usize,
    labelled: bool,
    known: HashMap<&'t [u8], u32>,
    /// The last label and its code: the next row's is often the same.
    last: (&'t [u8], u32),
}

impl<'t> Parser<'t> {
    fn new(text: &'t [u8], labelled: bool) -> Self {
        Self { text, at: 0, line: 0, line_begin: 0, labelled, known: HashMap::new(), last: (b"", 0) }
    }

    fn spot(&self, at: usize) -> Spot {
        Spot { line: self.line, column: (at - self.line_begin) as u64 + 1 }
    }

    fn line(&mut self, part: &mut Part, number: &impl Fn(u64) -> Option<u64>) -> Parsed<()> {
        self.line += 1;
        self.line_begin = self.at;
        self.at = after_blanks(self.text, self.at);
        if matches!(self.text[self.at], b'\n' | b'#') {
            self.at = after_line(self.text, self.at);
            return Ok(());
        }
        self.label(part)?;
        self.entries(part, number)?;
        part.block.end_row();
        Ok(())
    }

    fn label(&mut self, part: &mut Part) -> Parsed<()> {
        let token = token(self.text, self.at);
        let has_label = !token.contains(&b':');
        if has_label != self.labelled {
            let reason = match has_label {
                true => format!("a label, {}, where the first line has none", quoted(token)),
                false => format!("no label: the line begins with {}", quoted(token)),
            };
            return Err((self.spot(self.at), reason));
        }
        if !self.labelled {
            return Ok(());
        }
        if token != self.last.0 {
            self.last = (token, self.code(token, part)?);
        }
        part.codes.push(self.last.1);
        self.at += token.len();
        Ok(())
    }

    fn code(&mut self, token: &'t [u8], part: &mut Part) -> Parsed<u32> {
        if let Some(&code) = self.known.get(token) {
            return Ok(code);
        }
        let spot = self.spot(self.at);
        let Some(label) = std::str::from_utf8(token).ok().filter(|text| !text.contains(char::is_control))
        else {
            return Err((spot, format!("the label {} is not text", quoted(token))));
        };
        let code = part.labels.len() as u32;
        part.labels.push((label.to_owned(), spot));
        self.known.insert(token, code);
        Ok(code)
    }

    fn entries(&mut self, part: &mut Part, number: &impl Fn(u64) -> Option<u64>) -> Parsed<()> {
        let text = self.text;
        let mut at = self.at;
        let (mut previous, mut mentioned) = (0, false);
        loop {
            at = after_blanks(text, at);
            let (index, value, end) = match usual_entry(text, at) {
                Some(entry) => entry,
                None if matches!(text[at], b'\n' | b'#') => break,
                None => {
                    let token = token(text, at);
                    match entry(token).map_err(|reason| (self.spot(at), reason))? {
                        Some((index, value)) => (index, value, at + token.len()),
                        None => {
                            at += token.len();
                            continue;
                        }
                    }
                }
            };
            if index <= previous {
                return Err((self.spot(at), disorder(previous, index)));
            }
            previous = index;
            if let Some(id) = number(index - 1) {
                mentioned = true;
                if value != 0.0 {
                    part.block.push(id, value);
                }
            }
            at = end;
        }
        part.largest = part.largest.max(previous);
        part.mentioned |= mentioned;
        self.at = after_line(text, at);
        Ok(())
    }
}

#[inline(always)]
fn after_blanks(text: &[u8], mut at: usize) -> usize {
    while matches!(text[at], b' ' | b'\t' | b'\r' | 0x0b | 0x0c) {
        at += 1;
    }
    at
}

/// The beginning of the next line.
fn after_line(text: &[u8], at: usize) -> usize {
    at + memchr::memchr(b'\n', &text[at..]).map_or(text.len() - at, |newline| newline + 1)
}

/// The token at `at`: up to a blank, a comment or the end of the line.
fn token(text: &[u8], at: usize) -> &[u8] {
    let ends = |c: &u8| matches!(c, b' ' | b'\t'..=b'\r' | b'#');
    let length = text[at..].iter().position(ends).unwrap_or(text.len() - at);
    &text[at..at + length]
}

/// Index, value and end of an entry in its usual spelling; `None` says nothing but that the slow way must be gone.
#[inline(always)]
fn usual_entry(text: &[u8], at: usize) -> Option<(u64, f64, usize)> {
    let (index, colon) = number::integer(text, at)?;
    if text[colon] != b':' {
        return None;
    }
    let begin = colon + 1;
    let (value, end) = match number::decimal(text, begin) {
        // An exponent may follow.
        Some((value, end)) if text[end] <= b' ' => (value, end),
        _ => number::parse_beginning(&text[begin..]).map(|(value, length)| (value, begin + length))?,
    };
    (text[end] <= b' ').then_some((index, value, end))
}

/// Index and value of any entry; `None` for tokens that are to be skipped.
#[cold]
fn entry(token: &[u8]) -> Result<Option<(u64, f64)>, String> {
    if token.starts_with(b"qid:") {
        return Ok(None);
    }
    let Some(colon) = memchr::memchr(b':', token) else {
        return Err(format!("{} where index:value is expected", quoted(token)));
    };
    let (index, value) = (&token[..colon], &token[colon + 1..]);
    if index.is_empty() || !index.iter().all(u8::is_ascii_digit) {
        return Err(format!("{} is not a feature's index: a whole number from 1", quoted(index)));
    }
    let digits = std::str::from_utf8(index).expect("digits");
    let index = digits.parse().map_err(|_| format!("index {} does not fit 64 bits", quoted(index)))?;
    match number::parse(value) {
        Some(value) => Ok(Some((index, value))),
        None if value.is_empty() => Err(format!("feature {index} has no value")),
        None => Err(format!("the value {} of feature {index} {}", quoted(value), number::complaint(value))),
    }
}

#[cold]
fn disorder(previous: u64, index: u64) -> String {
    match index {
        0 => "index 0: indices count from 1".into(),
        _ if index == previous => format!("index {index} stands twice in a line"),
        _ => format!("index {index} after {previous}: indices must increase"),
    }
}
