//! What `convert` can be told, and sizes of memory.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use featgen::Context;
use featgen::data::read::Reader;
use featgen::data::store::Conversion;

use super::{InputArgs, TableArgs};

/// Turn data into a store: columns on disk, mapped into memory, for data larger than that.
#[derive(Args)]
#[command(after_help = "\
Examples:
  featgen convert data.svm.zst data.store               text to a store, in at most 1 GiB of memory
  featgen convert huge.svm huge.store --memory 64MB     the same, in passes
  zcat *.gz | featgen convert - all.store               whatever comes on standard input
  featgen convert x.npy x.store --labels y.txt
  featgen convert matrix.mtx.gz cells.store --transpose --labels types.txt --names genes.txt
  featgen inspect data.store                            what is in it
  featgen train data.store --features 50

The store appears whole or not at all. Temporary files are written beside it, as large as the data at most twice.")]
pub(crate) struct ConvertArgs {
    /// The data; `-` for standard input
    pub(crate) data: PathBuf,

    /// The store to write
    pub(crate) store: PathBuf,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    table: TableArgs,

    /// One weight an instance, one a line: how much each counts
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    weights: Option<PathBuf>,

    /// One feature name a line, in order
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    names: Option<PathBuf>,

    /// Memory that data may take meanwhile, such as 64MB or 4GiB
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    memory: Size,

    /// Number of shards [default: as many as make them 64 MiB each]
    #[arg(long, value_name = "N")]
    shards: Option<usize>,

    /// Do not keep large dense columns in one byte a value as well, from which most scores are computed: that takes a quarter more room
    /// on disk (an eighth with 64-bit floats), and makes searches several times faster, above all with less memory than data
    #[arg(long)]
    no_copy: bool,

    /// Keep data that have no labels
    #[arg(long, help_heading = "Input")]
    unlabelled: bool,

    /// No progress, no summary
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl ConvertArgs {
    pub(crate) fn reader(&self, context: &Context) -> featgen::Result<Reader> {
        let mut reader =
            self.input.reader(context).require_labels(!self.unlabelled).table(self.table.options()?);
        if let Some(file) = &self.names {
            reader = reader.names_file(file);
        }
        if let Some(file) = &self.weights {
            reader = reader.weights_file(file);
        }
        Ok(reader)
    }

    pub(crate) fn conversion(&self) -> Conversion {
        Conversion { memory: self.memory.0, shards: self.shards, copy: !self.no_copy }
    }
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

impl FromStr for Size {
    type Err = String;

    /// `512`, `64MB` (millions), `64MiB` or `64M` (of 1024 x 1024).
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no size of memory: write 64MB or 4GiB");
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let unit = unit.trim().to_ascii_lowercase();
        let power = match unit.chars().next() {
            None | Some('b') => 0,
            Some(letter) => 1 + "kmgt".find(letter).ok_or_else(wrong)? as i32,
        };
        let base = match unit.get(1..).unwrap_or("") {
            "b" => 1000.0,
            "" | "ib" => 1024.0,
            _ => return Err(wrong()),
        };
        let bytes = number * f64::powi(base, power);
        if (1.0..=1e18).contains(&bytes) { Ok(Self(bytes as u64)) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use super::Size;

    #[test]
    fn sizes_are_written_as_people_do() {
        let size = |text: &str| text.parse::<Size>().map(|size| size.0);
        assert_eq!(size("512"), Ok(512));
        assert_eq!(size("64MB"), Ok(64_000_000));
        assert_eq!(size("64M"), Ok(64 << 20));
        assert_eq!(size("1.5 GiB"), Ok(3 << 29));
        assert_eq!(size("4gib"), Ok(4 << 30));
        for wrong in ["", "MB", "-1MB", "12XB", "1MBit", "0", "1e30", "12GiBB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
