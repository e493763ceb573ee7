//! Texts of a column of a group of rows, page by page.
//!
//! Most texts are numbers of a dictionary. The column reader of Parquet makes each of them a value that shares the dictionary's
//! memory, and counts who shares it: that takes longer than all else. Here they stay numbers where all of a batch are, and are copied
//! from the dictionary, or from the page, where not. Pages of other encodings are rare, and left to that reader.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray, StringArray};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::ArrowError;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::Result as Read;
use parquet::schema::types::ColumnDescPtr;

use super::runs::Runs;
use super::{damaged, uneven, wrong};

/// The texts that are still to be read.
pub(super) struct Texts {
    of: ColumnDescPtr,
    pages: Box<dyn PageReader>,
    dictionary: Option<Dictionary>,
    /// Rows of the page that are still to be read.
    left: usize,
    page: Option<Open>,
}

/// A page whose rows are read.
enum Open {
    /// Whether there is a text in each row, where that differs, and those that are there.
    Known { there: Option<Runs>, texts: Kept },
    /// A page that the column reader of Parquet reads.
    Other(Box<ColumnReaderImpl<ByteArrayType>>),
}

/// How a page keeps its texts.
enum Kept {
    /// As numbers of the dictionary.
    Numbers(Runs),
    /// Each after its length, from this byte on.
    Plain(ByteArray, usize),
}

struct Dictionary {
    page: Page,
    texts: StringArray,
}

impl Texts {
    pub(super) fn new(of: ColumnDescPtr, pages: Box<dyn PageReader>) -> Self {
        Self { of, pages, dictionary: None, left: 0, page: None }
    }

    /// The next rows, after which there are no more if the column `ends`.
    pub(super) fn next(&mut self, rows: usize, ends: bool) -> Result<ArrayRef, ArrowError> {
        let mut column = Column::default();
        let mut still = rows;
        while still > 0 {
            if !self.has_rows()? {
                return Err(uneven());
            }
            let some = still.min(self.left);
            let dictionary = self.dictionary.as_ref().map(|dictionary| &dictionary.texts);
            if let Some(page) = &mut self.page {
                page.read(some, dictionary, &mut column)?;
            }
            self.left -= some;
            still -= some;
        }
        if ends && self.has_rows()? {
            return Err(uneven());
        }
        column.finish(self.dictionary.as_ref().map(|dictionary| &dictionary.texts))
    }

    /// Goes on to the next page if all rows of this one were read.
    fn has_rows(&mut self) -> Result<bool, ArrowError> {
        while self.left == 0 {
            let Some(page) = self.pages.get_next_page().map_err(wrong)? else { return Ok(false) };
            match &page {
                Page::DictionaryPage { .. } if self.dictionary.is_some() => {
                    return Err(damaged("a column has two dictionaries"));
                }
                Page::DictionaryPage { .. } => self.dictionary = Some(Dictionary::of(page)?),
                _ => {
                    self.left = page.num_values() as usize;
                    self.page = Some(self.open(page)?);
                }
            }
        }
        Ok(true)
    }

    fn open(&self, page: Page) -> Result<Open, ArrowError> {
        let is_nullable = self.of.max_def_level() > 0;
        let bytes = ByteArray::from(page.buffer().clone());
        let (levels, start) = match &page {
            Page::DataPage { def_level_encoding: Encoding::RLE, .. } if is_nullable => {
                let length = bytes.data().first_chunk().ok_or_else(cut_off)?;
                let end = (u32::from_le_bytes(*length) as usize).saturating_add(4);
                (Some(4..end), end)
            }
            Page::DataPage { .. } if is_nullable => return Ok(self.other(page)),
            Page::DataPageV2 { rep_levels_byte_len, def_levels_byte_len, .. } => {
                let start = *rep_levels_byte_len as usize;
                let end = start.saturating_add(*def_levels_byte_len as usize);
                (is_nullable.then_some(start..end), end)
            }
            _ => (None, 0),
        };
        let part = |part: Range<usize>| {
            let inside = part.start <= part.end && part.end <= bytes.len();
            inside.then(|| bytes.slice(part.start, part.len())).ok_or_else(cut_off)
        };
        let texts = match page.encoding() {
            Encoding::PLAIN => Kept::Plain(part(start..bytes.len())?, 0),
            Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY => {
                if self.dictionary.is_none() {
                    return Err(damaged("a column has no dictionary, which it needs"));
                }
                // A page that has no texts may have nothing that says how many bits their numbers would have.
                let width = bytes.data().get(start).copied().unwrap_or(0);
                let numbers = part(bytes.len().min(start.saturating_add(1))..bytes.len())?;
                Kept::Numbers(Runs::new(numbers, width).ok_or_else(cut_off)?)
            }
            _ => return Ok(self.other(page)),
        };
        let there = levels.map(|levels| Runs::new(part(levels)?, 1).ok_or_else(cut_off)).transpose()?;
        Ok(Open::Known { there, texts })
    }

    fn other(&self, page: Page) -> Open {
        let dictionary = self.dictionary.as_ref().map(|dictionary| dictionary.page.clone());
        let pages = Few(dictionary.into_iter().chain([page]).collect());
        Open::Other(Box::new(ColumnReaderImpl::new(self.of.clone(), Box::new(pages))))
    }
}

impl Open {
    /// Adds the next rows to a column.
    fn read(
        &mut self,
        rows: usize,
        dictionary: Option<&StringArray>,
        column: &mut Column,
    ) -> Result<(), ArrowError> {
        let before = column.there.len();
        match self {
            Self::Known { there, texts } => {
                match there {
                    Some(there) => there.read(rows, &mut column.there).ok_or_else(cut_off)?,
                    None => column.there.resize(before + rows, 1),
                }
                match texts {
                    Kept::Numbers(numbers) => {
                        let count = column.there[before..].iter().sum::<u32>() as usize;
                        numbers.read(count, &mut column.numbers).ok_or_else(cut_off)
                    }
                    Kept::Plain(bytes, at) => {
                        column.look_up(before, dictionary)?;
                        column.copy(|| plain(bytes.data(), at))
                    }
                }
            }
            Self::Other(reader) => {
                let (mut values, mut levels) = (Vec::new(), Vec::new());
                let (read, ..) =
                    reader.read_records(rows, Some(&mut levels), None, &mut values).map_err(wrong)?;
                if read != rows {
                    return Err(uneven());
                }
                column.look_up(before, dictionary)?;
                column.there.extend(levels.iter().map(|&level| u32::from(level > 0)));
                column.there.resize(before + rows, 1);
                let mut values = values.iter();
                column.copy(|| values.next().map(ByteArray::data))
            }
        }
    }
}

impl Dictionary {
    fn of(page: Page) -> Result<Self, ArrowError> {
        if !matches!(page.encoding(), Encoding::PLAIN | Encoding::PLAIN_DICTIONARY) {
            return Err(damaged("a dictionary has an encoding of its own"));
        }
        let bytes = ByteArray::from(page.buffer().clone());
        let (mut at, mut all) = (0, Joined::default());
        for _ in 0..page.num_values() {
            all.add(plain(bytes.data(), &mut at).ok_or_else(cut_off)?)?;
        }
        Ok(Self { page, texts: all.finish(None)? })
    }
}

/// The text whose length is at a place, which goes on to behind it.
fn plain<'a>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let (length, rest) = bytes.get(*at..)?.split_first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    *at += 4 + length;
    rest.get(..length)
}

/// Texts one after the other.
struct Joined {
    bytes: Vec<u8>,
    ends: Vec<i32>,
}

impl Default for Joined {
    fn default() -> Self {
        Self { bytes: Vec::new(), ends: vec![0] }
    }
}

impl Joined {
    fn len(&self) -> usize {
        self.ends.len() - 1
    }

    fn add(&mut self, text: &[u8]) -> Result<(), ArrowError> {
        self.bytes.extend_from_slice(text);
        // Few bytes may stand for many, where a dictionary has one long text.
        self.ends.push(i32::try_from(self.bytes.len()).map_err(|_| damaged("its texts are too long"))?);
        Ok(())
    }

    /// Text that is not UTF-8 is refused.
    fn finish(self, nulls: Option<NullBuffer>) -> Result<StringArray, ArrowError> {
        StringArray::try_new(OffsetBuffer::new(self.ends.into()), self.bytes.into(), nulls)
    }
}

/// Rows of texts that are put together: numbers of the dictionary as long as all are, and copies of the first ones from the first on
/// that is none.
#[derive(Default)]
struct Column {
    /// For each row, whether a text is there: 1, or else 0.
    there: Vec<u32>,
    /// Those that were not copied.
    numbers: Vec<u32>,
    copied: Joined,
}

impl Column {
    /// Copies the texts of rows up to this one, of which only numbers are known.
    fn look_up(&mut self, end: usize, dictionary: Option<&StringArray>) -> Result<(), ArrowError> {
        let mut numbers = std::mem::take(&mut self.numbers).into_iter();
        for row in self.copied.len()..end {
            let text = match (self.there[row], dictionary) {
                (0, _) => None,
                (_, None) => return Err(cut_off()),
                (_, Some(texts)) => {
                    let number = numbers.next().map(|number| number as usize);
                    Some(number.filter(|&number| number < texts.len()).map(|number| texts.value(number)))
                }
            };
            let text = text.map(|text| text.ok_or_else(cut_off)).transpose()?;
            self.copied.add(text.unwrap_or_default().as_bytes())?;
        }
        Ok(())
    }

    /// Copies what `next` gives for each row where a text is that was not copied.
    fn copy<'a>(&mut self, mut next: impl FnMut() -> Option<&'a [u8]>) -> Result<(), ArrowError> {
        for &there in &self.there[self.copied.len()..] {
            self.copied.add(if there > 0 { next().ok_or_else(cut_off)? } else { &[] })?;
        }
        Ok(())
    }

    fn finish(mut self, dictionary: Option<&StringArray>) -> Result<ArrayRef, ArrowError> {
        let there = |there: &[u32]| BooleanBuffer::collect_bool(there.len(), |row| there[row] > 0).into();
        let nulls = self.there.contains(&0).then(|| there(&self.there));
        match dictionary {
            Some(texts) if self.copied.len() == 0 => {
                let keys = PrimitiveArray::new(self.keys().into(), nulls);
                Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(texts.clone()))?))
            }
            _ => {
                self.look_up(self.there.len(), dictionary)?;
                Ok(Arc::new(self.copied.finish(nulls)?))
            }
        }
    }

    /// For each row the number of its text, or nought.
    fn keys(&mut self) -> Vec<i32> {
        // A row without a text takes nothing of the next one, of which there must be one: that is faster than to ask.
        self.numbers.push(0);
        let mut next = 0;
        let key = |&there: &u32| {
            let number = self.numbers[next] * there;
            next += there as usize;
            number as i32
        };
        self.there.iter().map(key).collect()
    }
}

/// Pages that were read before.
struct Few(VecDeque<Page>);

impl Iterator for Few {
    type Item = Read<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.pop_front().map(Ok)
    }
}

impl PageReader for Few {
    fn get_next_page(&mut self) -> Read<Option<Page>> {
        self.next().transpose()
    }

    fn peek_next_page(&mut self) -> Read<Option<PageMetadata>> {
        Ok(None)
    }

    fn skip_next_page(&mut self) -> Read<()> {
        self.0.pop_front();
        Ok(())
    }
}

fn cut_off() -> ArrowError {
    damaged("a page has less than it claims to have")
}
