//! Where bytes come from: a file or standard input, decompressed on the way, recognised by content.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::limits::{self, Limit, Refused, Stored};
use super::pausing::{Pausing, standard_input};
use super::{mtx, npy, number, plink};
use crate::data::store;
use crate::error::{Error, Reason, Result, reserve};

/// How many bytes at most are looked at to tell what a source holds.
const HEAD_LIMIT: usize = 1 << 20;

/// How many are read in one go.
const HEAD_STEP: usize = 1 << 16;

/// Compression within compression is undone this often.
const LAYERS: usize = 4;

/// The largest window that the outermost of them may need if it is zstd, as a power of two: what `zstd --ultra` and `--long`
/// make. Those within must do with less, or each would take as much.
const WINDOW: u32 = 27;
const INNER_WINDOW: u32 = 23;

/// Line ends that follow the text of a chunk, so that a parser may look ahead without checking for the end.
pub(super) const PADDING: usize = 64;

/// An open input: its bytes after decompression, the first of them already known.
pub(crate) struct Source {
    name: String,
    bytes: Box<dyn Read + Send>,
    head: Vec<u8>,
    taken: usize,
    /// Whether the head is all there is.
    ended: bool,
    /// Whether a pause followed the head.
    paused: bool,
    compressed: bool,
    stored: Stored,
    /// The file itself, where its bytes are the source's.
    plain: Option<PathBuf>,
    origin: Origin,
}

/// Where bytes can be had again.
enum Origin {
    File(PathBuf),
    /// Of tests.
    Bytes(Vec<u8>),
    Stream,
}

/// What the content of a source looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// A store.
    Store,
    /// A NumPy array.
    Npy,
    /// A Matrix Market file.
    Mtx,
    /// Genotypes of PLINK.
    Bed,
    /// A Parquet file.
    Parquet,
    /// An Arrow file.
    Arrow,
    /// Lines of `label index:value ...`; whether the first line has a label.
    Svmlight { labelled: bool },
    /// Cells between delimiters, under a header.
    Csv { delimiter: u8 },
}

impl Format {
    /// What it is, in words.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Store => "a store",
            Self::Npy => "an array",
            Self::Mtx => "a Matrix Market file",
            Self::Bed => "genotypes",
            Self::Svmlight { .. } => "svmlight text",
            Self::Csv { .. } | Self::Parquet | Self::Arrow => "a table",
        }
    }
}

impl Source {
    /// Opens a file with data, or standard input for `-`.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::open_within(path, limits::DATA)
    }

    /// The same of a file with names or groups: less may come out of it.
    pub(crate) fn open_list(path: &Path) -> Result<Self> {
        Self::open_within(path, limits::LISTS)
    }

    fn open_within(path: &Path, limit: Limit) -> Result<Self> {
        let name = path.display().to_string();
        let standard = name == "-";
        let file = if standard { standard_input() } else { File::open(path) };
        let file = file.map_err(|e| Error::io(&name, e))?;
        if !file.metadata().is_ok_and(|data| data.is_file()) {
            return Self::layered(name, Box::new(Pausing::new(file)), None, limit);
        }
        let plain = (!standard).then(|| path.to_owned());
        let origin = plain.clone().map_or(Origin::Stream, Origin::File);
        Ok(Self { origin, ..Self::layered(name, Box::new(file), plain, limit)? })
    }

    /// A source of these bytes, for tests.
    pub(crate) fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        let bytes = bytes.into();
        let source = Self::layered("test".into(), Box::new(Cursor::new(bytes.clone())), None, limits::DATA)?;
        Ok(Self { origin: Origin::Bytes(bytes), ..source })
    }

    /// The same for names or groups.
    pub(crate) fn list_from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::layered("test".into(), Box::new(Cursor::new(bytes.into())), None, limits::LISTS)
    }

    fn layered(
        name: String,
        bytes: Box<dyn Read + Send>,
        plain: Option<PathBuf>,
        limit: Limit,
    ) -> Result<Self> {
        let stored = Stored::default();
        let bytes = Box::new(stored.counted(bytes));
        let (head, taken, ended, paused, compressed) = (Vec::new(), 0, false, false, false);
        let origin = Origin::Stream;
        let mut source = Self { name, bytes, head, taken, ended, paused, compressed, stored, plain, origin };
        source.look(4)?;
        for layer in 0..LAYERS {
            let gzip = source.head.starts_with(&[0x1f, 0x8b]);
            let zstd = source.head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
            if !gzip && !zstd {
                break;
            }
            let compressed = Cursor::new(std::mem::take(&mut source.head)).chain(source.bytes);
            // What is within is limited as well: it may be no text but more layers, without an end.
            source.bytes = if gzip {
                let bytes = MultiGzDecoder::new(BufReader::with_capacity(1 << 17, compressed));
                Box::new(source.stored.limited(bytes, limit))
            } else {
                let bytes = zstd_decoder(compressed, if layer == 0 { WINDOW } else { INNER_WINDOW });
                Box::new(source.stored.limited(bytes.map_err(|e| Error::io(&source.name, e))?, limit))
            };
            source.plain = None;
            source.compressed = true;
            (source.ended, source.paused) = (false, false);
            source.look(4)?;
        }
        if source.head.starts_with(b"\xef\xbb\xbf") {
            source.taken = 3;
        }
        Ok(source)
    }

    /// The input's name, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The path of a file that holds exactly the bytes of this source.
    pub(super) fn plain_file(&self) -> Option<&Path> {
        self.plain.as_deref()
    }

    /// Whether its bytes are there to be read at once, as they are.
    fn is_at_hand(&self) -> bool {
        !self.compressed && !matches!(self.origin, Origin::Stream)
    }

    /// The path of a file that must be mapped.
    pub(super) fn mappable(&self) -> Result<&Path> {
        let reason = "a store is mapped: it must be a file, and not compressed";
        self.plain.as_deref().ok_or_else(|| self.error(reason))
    }

    /// Bad input somewhere in this source.
    pub(crate) fn error(&self, reason: impl Into<Reason>) -> Error {
        Error::input(self.name.as_str(), reason)
    }

    /// The longest line that is read as yet: see [`limits`].
    pub(super) fn longest_line(&self) -> usize {
        self.stored.longest_line()
    }

    /// A line is longer than that.
    pub(super) fn too_long(&self) -> io::Error {
        Refused::error(self.stored.too_long())
    }

    /// What a failure to read means: a refusal of the system or of our own, or damage that a decompressor found.
    pub(crate) fn read_error(&self, error: io::Error) -> Error {
        if let Some(reason) = Refused::reason(&error) {
            self.error(reason)
        } else if error.to_string().contains("too much memory") {
            self.error(format!(
                "zstd with a window of more than {} MiB: compress with less",
                (1 << WINDOW) >> 20
            ))
        } else if self.compressed && error.raw_os_error().is_none() {
            self.error(format!("the compressed data are damaged or incomplete ({error})"))
        } else {
            Error::io(&self.name, error)
        }
    }

    /// What the source holds. `table` says that the caller expects a table where a line could be read either way.
    pub(super) fn format(&mut self, table: bool) -> Result<Format> {
        if self.look(store::MAGIC.len())?.starts_with(store::MAGIC) {
            return Ok(Format::Store);
        }
        if self.is_npy()? {
            return Ok(Format::Npy);
        }
        if self.is_mtx()? {
            return Ok(Format::Mtx);
        }
        if self.head.starts_with(plink::MAGIC) {
            return Ok(Format::Bed);
        }
        if self.plain.as_ref().is_some_and(|path| path.extension().is_some_and(|end| end == "bed")) {
            return Err(self.error("not genotypes of PLINK: such a .bed begins with the bytes 6c 1b 01"));
        }
        if self.head.starts_with(b"PAR1") {
            return Ok(Format::Parquet);
        }
        if self.head.starts_with(b"ARROW1") {
            return Ok(Format::Arrow);
        }
        if self.head.starts_with(b"\xff\xfe") || self.head.starts_with(b"\xfe\xff") {
            return Err(self.error("text in UTF-16: convert it to UTF-8"));
        }
        let line = self.first_line()?;
        if line.is_empty() {
            return Err(self.error("no instances"));
        }
        let mut tokens = line.split(|c| c.is_ascii_whitespace()).filter(|token| !token.is_empty());
        let labelled = !tokens.clone().next().is_some_and(is_entry);
        let delimiter = delimiter(&line);
        Ok(if tokens.any(is_entry) || (delimiter.is_none() && !table) {
            Format::Svmlight { labelled }
        } else {
            Format::Csv { delimiter: delimiter.unwrap_or(b',') }
        })
    }

    /// Whether the source holds a NumPy array.
    pub(super) fn is_npy(&mut self) -> Result<bool> {
        Ok(self.look(npy::MAGIC.len())?.starts_with(npy::MAGIC))
    }

    /// Whether the source holds a Matrix Market file.
    fn is_mtx(&mut self) -> Result<bool> {
        let taken = self.taken;
        let begins = self.look(taken + mtx::MAGIC.len())?.get(taken..taken + mtx::MAGIC.len());
        Ok(begins.is_some_and(|begins| begins.eq_ignore_ascii_case(mtx::MAGIC)))
    }

    /// Reads until `out` is full or the source ends; returns how much was read.
    pub(super) fn read_fully(&mut self, out: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            match self.read(&mut out[filled..]).map_err(|e| self.read_error(e))? {
                0 => break,
                read => filled += read,
            }
        }
        Ok(filled)
    }

    /// Makes sure that `length` bytes of the head are known, if there are so many. Where the source pauses after a line, that
    /// must do: whoever sent it may wait for an answer.
    fn look(&mut self, length: usize) -> Result<&[u8]> {
        while self.head.len() < length && !self.ended && !(self.paused && self.head.contains(&b'\n')) {
            let known = self.head.len();
            // More than is asked for: a decompressor that must keep some of its output back asks for more input before it
            // gives it away, and that may not come.
            self.head.resize(known + HEAD_STEP, 0);
            let read = read_or_pause(&mut self.bytes, &mut self.head[known..]);
            self.head.truncate(known + read.as_ref().map_or(0, |read| read.unwrap_or(0)));
            let read = read.map_err(|e| self.read_error(e))?;
            (self.ended, self.paused) = (read == Some(0), read.is_none());
        }
        Ok(&self.head)
    }

    /// The first line that is neither blank nor a comment, without blanks around it; as much of it as the head holds.
    pub(crate) fn first_line(&mut self) -> Result<Vec<u8>> {
        let mut length = HEAD_STEP;
        loop {
            let known = self.look(length)?.len();
            let complete = self.ended || known >= HEAD_LIMIT;
            let text = &self.head[self.taken..];
            let whole =
                if complete { text.len() } else { memchr::memrchr(b'\n', text).map_or(0, |at| at + 1) };
            let mut lines = text[..whole].split(|&c| c == b'\n').map(<[u8]>::trim_ascii);
            let found = lines.find(|line| !line.is_empty() && line[0] != b'#');
            if found.is_some() || complete {
                return Ok(found.unwrap_or_default().to_vec());
            }
            if known >= length {
                length *= 4;
            }
            // More is needed, however long that takes.
            self.paused = false;
        }
    }

    /// Skips blank lines and comments before the first line of a table; returns how many. The last comment is the header where it
    /// has as many cells as the first line, and that holds a number (`#CHROM` in the variant call format): only its sign is skipped then.
    pub(super) fn skip_comments(&mut self, delimiter: u8) -> Result<u64> {
        let first = self.first_line()?;
        let (mut at, mut skipped, mut last) = (self.taken, 0, None);
        for line in self.head[self.taken..].split_inclusive(|&c| c == b'\n') {
            let text = line.trim_ascii();
            if !(text.is_empty() || text[0] == b'#') {
                break;
            }
            if !text.is_empty() {
                last = Some((at, skipped));
            }
            (at, skipped) = (at + line.len(), skipped + 1);
        }
        let cells = |line: &[u8]| line.split(move |&c| c == delimiter).count();
        let number = |cell: &[u8]| number::parse(cell.trim_ascii()).is_some();
        let numbered = first.split(|&c| c == delimiter).any(number);
        if let Some((start, before)) = last.filter(|_| numbered && cells(&first) > 1) {
            let line = self.head[start..at].split(|&c| c == b'\n').next().unwrap_or_default();
            if cells(line) == cells(&first) {
                let signs = line.iter().take_while(|c| **c == b'#' || c.is_ascii_whitespace()).count();
                (at, skipped) = (start + signs, before);
            }
        }
        self.taken = at;
        Ok(skipped)
    }

    /// The same source from its beginning, where it can be read again.
    pub(super) fn again(&self) -> Option<Result<Self>> {
        match &self.origin {
            Origin::File(path) => Some(Self::open(path)),
            Origin::Bytes(bytes) => Some(Self::from_bytes(bytes.clone())),
            Origin::Stream => None,
        }
    }

    /// Reads what is there; `None` says, once, that the source pauses. Asked again, it waits.
    pub(super) fn read_or_pause(&mut self, out: &mut [u8]) -> io::Result<Option<usize>> {
        if self.taken < self.head.len() {
            let read = (&self.head[self.taken..]).read(out)?;
            self.taken += read;
            return Ok(Some(read));
        }
        if std::mem::take(&mut self.paused) {
            return Ok(None);
        }
        read_or_pause(&mut self.bytes, out)
    }

    /// Calls `each` with every line and its number, from 1, without the line's end.
    pub(crate) fn for_each_line(self, mut each: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        let mut lines = Lines::new(self);
        while let Some((number, line)) = lines.next()? {
            each(number, line)?;
        }
        Ok(())
    }

    /// All of it, as long as a line may be.
    pub(crate) fn read_text(mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            let room = self.longest_line().saturating_sub(bytes.len()) as u64;
            let read = (&mut self).take(room).read_to_end(&mut bytes).map_err(|e| self.read_error(e))?;
            if (read as u64) < room {
                return Ok(bytes);
            }
            if self.longest_line() <= bytes.len() {
                return Err(self.read_error(self.too_long()));
            }
        }
    }
}

/// The lines of a source, one after the other.
pub(super) struct Lines {
    reader: BufReader<Source>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    pub(super) fn new(source: Source) -> Self {
        Self { reader: BufReader::with_capacity(1 << 16, source), line: Vec::new(), number: 0 }
    }

    /// The source's name.
    pub(super) fn name(&self) -> &str {
        self.reader.get_ref().name()
    }

    /// The next line and its number, from 1, without the line's end.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        let Self { reader, line, number } = self;
        line.clear();
        loop {
            let room = reader.get_ref().longest_line().saturating_sub(line.len());
            let read = reader.by_ref().take(room as u64).read_until(b'\n', line);
            let read = read.map_err(|e| reader.get_ref().read_error(e))?;
            if line.ends_with(b"\n") || read < room {
                break;
            }
            let source = reader.get_ref();
            if source.longest_line() <= line.len() {
                return Err(source.read_error(source.too_long()));
            }
        }
        if line.is_empty() {
            return Ok(None);
        }
        *number += 1;
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        Ok(Some((*number, text.strip_suffix(b"\r").unwrap_or(text))))
    }
}

fn zstd_decoder<R: Read>(compressed: R, window: u32) -> io::Result<impl Read + use<R>> {
    let mut decoder = zstd::Decoder::new(compressed)?;
    decoder.window_log_max(window)?;
    Ok(decoder)
}

impl Read for Source {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(read) = self.read_or_pause(out)? {
                return Ok(read);
            }
        }
    }
}

/// Reads what is there; `None` for a pause, of which only [`Pausing`] speaks.
fn read_or_pause(bytes: &mut dyn Read, out: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        return match bytes.read(out) {
            Ok(read) => Ok(Some(read)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => Err(e),
        };
    }
}

/// Whether a token is a feature's index and value.
fn is_entry(token: &[u8]) -> bool {
    let digits = token.iter().take_while(|c| c.is_ascii_digit()).count();
    (digits > 0 && token.get(digits) == Some(&b':')) || token.starts_with(b"qid:")
}

/// The most frequent of the possible delimiters outside quotes.
fn delimiter(line: &[u8]) -> Option<u8> {
    let mut quoted = false;
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0)];
    for &c in line {
        quoted ^= c == b'"';
        for (delimiter, count) in &mut counts {
            *count += usize::from(!quoted && c == *delimiter);
        }
    }
    let (delimiter, count) = counts.into_iter().rev().max_by_key(|&(_, count)| count)?;
    (count > 0).then_some(delimiter)
}

/// Whole lines of text, followed by padding that is not part of it.
pub(super) struct Chunk {
    buffer: Vec<u8>,
    length: usize,
}

impl Chunk {
    /// The text with its padding, and the length of the text; the text ends with a line end.
    pub(super) fn padded(&self) -> (&[u8], usize) {
        (&self.buffer, self.length)
    }

    /// The memory, to be used again.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

/// Cuts a source into chunks of whole lines.
pub(super) struct Chunks {
    source: Source,
    size: usize,
    /// The beginning of a line whose end is still to be read.
    carried: Vec<u8>,
    ended: bool,
    /// Why nothing more can be read: said once the lines before are handed on.
    failure: Option<Error>,
}

/// Why no more was read.
enum Halt {
    Full,
    Pause,
    End,
}

impl Chunks {
    /// Chunks of about `size` bytes.
    pub(super) fn new(source: Source, size: usize) -> Self {
        Self { source, size: size.max(1), carried: Vec::new(), ended: false, failure: None }
    }

    /// The source's name.
    pub(super) fn name(&self) -> &str {
        self.source.name()
    }

    /// Whether a chunk takes no longer than to copy it.
    pub(super) fn is_at_hand(&self) -> bool {
        self.source.is_at_hand()
    }

    /// Gives back whole lines at the end of the last chunk: they come again at the beginning of the next.
    pub(super) fn put_back(&mut self, lines: &[u8]) {
        self.carried.splice(..0, lines.iter().copied());
    }

    /// The next chunk, in the memory of `buffer`. One before a pause may be smaller.
    pub(super) fn next(&mut self, mut buffer: Vec<u8>) -> Result<Option<Chunk>> {
        let mut filled = self.carried.len();
        self.resize(&mut buffer, filled + self.size + PADDING)?;
        buffer[..filled].copy_from_slice(&self.carried);
        let mut target = filled + self.size;
        while !self.ended {
            let halt = self.fill(&mut buffer[..target], &mut filled);
            self.ended = matches!(halt, Halt::End);
            let fresh = &buffer[self.carried.len()..filled];
            if let Some(at) = memchr::memrchr(b'\n', fresh) {
                let length = self.carried.len() + at + 1;
                self.carried.clear();
                self.carried.extend_from_slice(&buffer[length..filled]);
                return Ok(Some(chunk(buffer, length)));
            }
            let longest = self.source.longest_line();
            if filled > longest {
                return Err(self.source.read_error(self.source.too_long()));
            }
            if filled == target {
                target = (2 * filled.max(self.size)).min(longest + 1);
                self.resize(&mut buffer, target + PADDING)?;
            }
        }
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        self.carried.clear();
        if filled == 0 {
            return Ok(None);
        }
        buffer[filled] = b'\n';
        Ok(Some(chunk(buffer, filled + 1)))
    }

    /// Reads on from `filled` until `buffer` is full, the source pauses, or nothing more comes.
    fn fill(&mut self, buffer: &mut [u8], filled: &mut usize) -> Halt {
        while *filled < buffer.len() {
            match self.source.read_or_pause(&mut buffer[*filled..]) {
                Ok(Some(0)) => return Halt::End,
                Ok(Some(read)) => *filled += read,
                Ok(None) => return Halt::Pause,
                Err(error) => {
                    self.failure = Some(self.source.read_error(error));
                    return Halt::End;
                }
            }
        }
        Halt::Full
    }

    /// Makes a buffer at least so long.
    fn resize(&self, buffer: &mut Vec<u8>, length: usize) -> Result<()> {
        let more = length.saturating_sub(buffer.len());
        reserve(buffer, more, self.source.name())?;
        buffer.resize(buffer.len() + more, 0);
        Ok(())
    }
}

/// Text with its padding.
fn chunk(mut buffer: Vec<u8>, length: usize) -> Chunk {
    buffer.resize(buffer.len().max(length + PADDING), 0);
    buffer[length..length + PADDING].fill(b'\n');
    Chunk { buffer, length }
}
