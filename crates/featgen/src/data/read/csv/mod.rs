//! Tables with a header, cells between delimiters.

mod frames;
mod lines;

use csv::ByteRecord;

pub(super) use self::frames::{Found, Frames, Surveyor};
use self::lines::Records;
use super::header::{Header, Label};
use super::picked::Picked;
use super::source::Source;
use super::spellings::Spellings;
use super::{number, quoted};
use crate::data::{Columns, Dense, Labels, Layout, Names};
use crate::error::{Error, Result, reserve};

/// Some rows, and their labels where there is a column of labels.
pub(super) type Part = (Box<dyn Columns>, Option<Labels>);

/// A table whose header was read, and whose columns, but for labels, are numbers.
pub(super) struct Rows {
    records: Records,
    record: ByteRecord,
    header: Header,
    /// The features that are looked at, by id, where not all are.
    picked: Option<Vec<u64>>,
    labels: Spellings,
    rows: u64,
    /// What is wrong with the row after those that were handed on.
    fault: Option<Error>,
}

impl Rows {
    /// Reads the header.
    pub(super) fn open(source: Source, delimiter: u8, label: Label<'_>) -> Result<Self> {
        let file = source.name().to_owned();
        let mut records = Records::new(source, delimiter)?;
        let mut record = ByteRecord::new();
        let first = records.next(&mut record)?.unwrap_or(1);
        let header = Header::new(file, first, &record, label)?;
        Ok(Self { records, record, header, picked: None, labels: Spellings::default(), rows: 0, fault: None })
    }

    /// The names of the features.
    pub(super) fn names(&self) -> Names {
        let names = self.header.names.iter().enumerate().filter(|(k, _)| !self.header.is_outcome(*k));
        self.header.beside_label(names.map(|(_, name)| name.clone()).collect())
    }

    /// From now on looks at these features only, by id, and at labels: other cells may hold anything.
    pub(super) fn pick(&mut self, wanted: &[u64]) {
        let mut ids = wanted.to_vec();
        ids.sort_unstable();
        ids.dedup();
        ids.retain(|&id| id < self.header.features() as u64);
        self.picked = Some(ids);
    }

    /// The columns whose numbers are looked at.
    fn cells(&self) -> Vec<usize> {
        let header = &self.header;
        match &self.picked {
            None => (0..header.names.len()).filter(|&k| !header.is_outcome(k)).collect(),
            Some(ids) => {
                let column =
                    |id: &u64| header.outcome().fold(*id as usize, |at, own| at + usize::from(own <= at));
                ids.iter().map(column).collect()
            }
        }
    }

    /// The next rows, of about `most` values, and their labels; `None` at the end. Rows before a mistake come first, and the
    /// mistake the next time. If `eager`, rows that are there do not wait for more where the source pauses.
    pub(super) fn read(&mut self, most: usize, eager: bool) -> Result<Option<Part>> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let cells = self.cells();
        let columns = cells.len();
        let (mut values, mut rows) = (Vec::new(), 0);
        while rows == 0 || (rows * columns.max(1) < most && !(eager && self.records.pauses())) {
            match self.row(&cells, &mut values) {
                Ok(true) => rows += 1,
                Ok(false) => break,
                Err(fault) if rows == 0 => return Err(fault),
                Err(fault) => {
                    values.truncate(rows * columns);
                    self.fault = Some(fault);
                    break;
                }
            }
        }
        self.rows += rows as u64;
        if rows == 0 {
            return if self.rows == 0 { Err(self.header.no_rows()) } else { Ok(None) };
        }
        values.shrink_to_fit();
        let matrix = Dense::new(values, rows, columns, Layout::RowMajor)?;
        let labels = self.header.label.map(|_| self.labels.take(&self.header.file));
        let features = self.header.features() as u64;
        Ok(Some(match &self.picked {
            Some(ids) => (Box::new(Picked::new(matrix, ids.clone(), features)), labels),
            None => (Box::new(matrix), labels),
        }))
    }

    /// Reads one row, of which `cells` are looked at; `false` at the end.
    fn row(&mut self, cells: &[usize], values: &mut Vec<f64>) -> Result<bool> {
        let Some(line) = self.records.next(&mut self.record)? else { return Ok(false) };
        let (header, record) = (&self.header, &self.record);
        header.check_length(line, record)?;
        reserve(values, cells.len(), &header.file)?;
        for (k, cell) in cells.iter().map(|&k| (k, record[k].trim_ascii())) {
            match number::parse(cell) {
                Some(value) => values.push(value),
                None if cell.is_empty() => {
                    return Err(header.wrong(line, k, format!("{}: the value is missing", header.column(k))));
                }
                None => {
                    let reason =
                        format!("{}: {} {}", header.column(k), quoted(cell), number::complaint(cell));
                    return Err(header.wrong(line, k, reason));
                }
            }
        }
        header.read_outcome(line, record, &mut self.labels)?;
        Ok(true)
    }
}
