//! Pages of a column as they are in a file, but those whose dictionary claims to hold more than it does: its reader would ask for
//! that much memory, and a demand that fails ends the process.

use parquet::basic::Type;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;

/// Pages that are checked as they are read.
pub(super) struct Checked {
    pages: Box<dyn PageReader>,
    /// Bytes that a value of a dictionary takes, at least.
    least: usize,
}

impl Checked {
    pub(super) fn new(pages: Box<dyn PageReader>, of: &ColumnDescriptor) -> Self {
        let least = match of.physical_type() {
            Type::BOOLEAN => 0,
            // Of a text, its length.
            Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::FIXED_LEN_BYTE_ARRAY => usize::try_from(of.type_length()).unwrap_or(0),
        };
        Self { pages, least: least.max(1) }
    }
}

impl Iterator for Checked {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Checked {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(Page::DictionaryPage { buf, num_values, .. }) = &page
            && *num_values as usize > buf.len() / self.least
        {
            return Err(ParquetError::General("a dictionary claims to hold more than it does".to_owned()));
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}
