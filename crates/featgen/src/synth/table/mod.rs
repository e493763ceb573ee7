//! Tables as people have them, row after row, in CSV or Parquet files that may be larger than memory.
//!
//! Rows are made in blocks, each from a stream of random numbers of its own: by all threads, and the same on any number of them.

mod clicks;
#[cfg(feature = "arrow")]
mod parquet;
mod people;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use rand_chacha::ChaCha8Rng;

use super::{Set, on_threads, random};
use crate::error::{Error, Result};
use crate::files::write_whole;
use crate::parallel;

/// Rows that are made from one stream of random numbers, and are together in a Parquet file.
const BLOCK: usize = 1 << 16;

/// What a table is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum About {
    /// 14 columns of all kinds about people, of which seven decide on `income`.
    #[default]
    People,
    /// 13 counts (`n1` ...) and 26 categories (`c1` ...) of up to a million levels, as logs of advertisements have them: nine
    /// columns, and three crosses of two levels, decide on `click`.
    Clicks,
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Text with commas between cells.
    Csv,
    /// Parquet, in groups of 65,536 rows.
    Parquet,
}

/// A table with an outcome of two classes that some of its columns decide on.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// What it is about.
    pub about: About,
    /// Training instances.
    pub rows: usize,
    /// Test instances.
    pub test_rows: usize,
    /// What makes the random numbers differ.
    pub seed: u64,
}

impl Default for Table {
    fn default() -> Self {
        Self { about: About::People, rows: 30_000, test_rows: 5000, seed: 0 }
    }
}

/// What the cells of a column are.
#[derive(Clone, Copy)]
enum Type {
    Number,
    Text,
    Truth,
    Date,
}

/// A column as files describe it.
struct Column {
    name: String,
    of: Type,
    /// What CSV has where there is no value.
    none: &'static str,
}

impl Column {
    fn new(name: impl Into<String>, of: Type) -> Self {
        Self { name: name.into(), of, none: "" }
    }

    fn without(self, none: &'static str) -> Self {
        Self { none, ..self }
    }
}

/// The cells of some rows as text, one after the other; an empty one has no value.
#[derive(Default)]
struct Block {
    text: String,
    ends: Vec<usize>,
}

impl Block {
    fn cell(&mut self, value: impl Display) {
        use std::fmt::Write as _;
        // Text takes whatever is written to it.
        let _ = write!(self.text, "{value}");
        self.ends.push(self.text.len());
    }

    /// A cell, or none.
    fn perhaps(&mut self, there: bool, value: impl Display) {
        if there { self.cell(value) } else { self.ends.push(self.text.len()) }
    }

    /// All cells, row after row.
    fn cells(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }
}

impl Table {
    /// What the outcome's column is called.
    pub fn label(&self) -> &'static str {
        match self.about {
            About::People => people::LABEL,
            About::Clicks => clicks::LABEL,
        }
    }

    /// The columns, and then the crosses of two levels, that decide on the outcome.
    pub fn deciding(&self) -> Vec<String> {
        match self.about {
            About::People => people::DECIDING.map(str::to_owned).to_vec(),
            About::Clicks => clicks::deciding(),
        }
    }

    /// Writes one of the sets, of which only a few blocks are held at a time.
    pub fn write(&self, set: Set, path: impl AsRef<Path>, format: TableFormat) -> Result<()> {
        let rows = match set {
            Set::Train => self.rows,
            Set::Test => self.test_rows,
        };
        if rows == 0 {
            return Err(Error::parameter("rows", "must be at least 1"));
        }
        let columns = self.columns();
        write_whole(path.as_ref(), |out| match format {
            TableFormat::Csv => {
                write_row(out, &columns, columns.iter().map(|column| &*column.name))?;
                let lines = |block: Block| {
                    let (mut text, mut cells) = (Vec::new(), block.cells().peekable());
                    while cells.peek().is_some() {
                        write_row(&mut text, &columns, &mut cells)?;
                    }
                    Ok(text)
                };
                self.for_each_block(set, rows, lines, |text| out.write_all(&text))
            }
            #[cfg(feature = "arrow")]
            TableFormat::Parquet => {
                let mut file = parquet::begin(out, &columns)?;
                let cells = |block: Block| Ok(parquet::cells(&columns, &block));
                self.for_each_block(set, rows, cells, |cells| Ok(parquet::write(&mut file, &cells)?))?;
                Ok(file.close().map(drop)?)
            }
            #[cfg(not(feature = "arrow"))]
            TableFormat::Parquet => Err(io::Error::other("this featgen was built without Parquet and Arrow")),
        })
    }

    fn columns(&self) -> Vec<Column> {
        match self.about {
            About::People => people::columns(),
            About::Clicks => clicks::columns(),
        }
    }

    /// Makes all rows, as many blocks at a time as there are threads, and hands on what is made of each, in order.
    fn for_each_block<T: Send>(
        &self,
        set: Set,
        rows: usize,
        make: impl Fn(Block) -> io::Result<T> + Sync,
        mut each: impl FnMut(T) -> io::Result<()>,
    ) -> io::Result<()> {
        let blocks = rows.div_ceil(BLOCK);
        let at_once = on_threads(|| Ok(rayon::current_num_threads())).map_err(io::Error::other)?;
        for first in (0..blocks).step_by(at_once) {
            let some = first..blocks.min(first + at_once);
            let one = |block: usize| {
                let mut random = random(self.seed, 2 * block as u64 + set as u64);
                make(self.block(BLOCK.min(rows - block * BLOCK), &mut random))
            };
            let made = on_threads(|| Ok(parallel::map(some.len(), |k| one(some.start + k))));
            made.map_err(io::Error::other)?.into_iter().try_for_each(|made| each(made?))?;
        }
        Ok(())
    }

    fn block(&self, rows: usize, random: &mut ChaCha8Rng) -> Block {
        let mut block = Block::default();
        let row = match self.about {
            About::People => people::row,
            About::Clicks => clicks::row,
        };
        (0..rows).for_each(|_| row(random, &mut block));
        block
    }
}

fn write_row<'a>(
    out: &mut impl Write,
    columns: &[Column],
    cells: impl Iterator<Item = &'a str>,
) -> io::Result<()> {
    // Cells may go on with the next row: no more are taken than there are columns.
    for (k, (column, cell)) in columns.iter().zip(cells).enumerate() {
        let comma = if k == 0 { "" } else { "," };
        match cell {
            "" => write!(out, "{comma}{}", column.none)?,
            cell if cell.contains(',') => write!(out, "{comma}\"{cell}\"")?,
            cell => write!(out, "{comma}{cell}")?,
        }
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read::Reader;

    fn written(table: Table, set: Set, format: TableFormat) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        table.write(set, &path, format).unwrap();
        (folder, path)
    }

    /// The first rows of a longer table are the same, and the test set is another.
    #[test]
    fn rows_do_not_depend_on_their_number() {
        for about in [About::People, About::Clicks] {
            let table = |rows| Table { about, rows, test_rows: 100, ..Table::default() };
            let text = |rows, set| {
                let (_folder, path) = written(table(rows), set, TableFormat::Csv);
                std::fs::read_to_string(path).unwrap()
            };
            let (short, long) = (text(100, Set::Train), text(BLOCK + 100, Set::Train));
            assert_eq!((short.lines().count(), long.lines().count()), (101, BLOCK + 101));
            assert!(long.starts_with(&short));
            assert_ne!(short, text(100, Set::Test));
            // The next block is not the first again.
            assert_ne!(long.lines().nth(1), long.lines().nth(BLOCK + 1));
        }
    }

    /// Both formats hold the same table, in which all columns that decide are there.
    #[test]
    fn formats_agree() {
        for about in [About::People, About::Clicks] {
            let table = Table { about, rows: 3000, ..Table::default() };
            let schema = |format| {
                let (_folder, path) = written(table, Set::Train, format);
                Reader::new().label_column(table.label()).schema(path).unwrap()
            };
            let (csv, parquet) = (schema(TableFormat::Csv), schema(TableFormat::Parquet));
            assert_eq!(csv.rows, parquet.rows);
            for (one, other) in csv.columns.iter().zip(&parquet.columns) {
                assert_eq!((&one.name, one.kind, one.missing), (&other.name, other.kind, other.missing));
                if !one.fate.inputs().eq(&0) {
                    assert_eq!((one.range, &one.fate), (other.range, &other.fate), "{}", one.name);
                }
            }
            let has = |name: &str| csv.columns.iter().any(|column| column.name == name);
            for deciding in table.deciding() {
                assert!(
                    deciding.split(" & ").all(|part| has(part.split(" = ").next().unwrap())),
                    "{deciding}"
                );
            }
        }
    }
}
