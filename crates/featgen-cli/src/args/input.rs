//! What every command that reads data can be told about them.

use std::path::{Path, PathBuf};

use clap::Args;
use featgen::Context;
use featgen::data::read::Reader;

/// How data files are to be understood.
#[derive(Args)]
pub(crate) struct InputArgs {
    /// The column of a CSV file that holds the labels
    #[arg(long, value_name = "COLUMN", help_heading = "Input")]
    label: Option<String>,

    /// The column of a CSV file that holds times, for --loss cox
    #[arg(long, value_name = "COLUMN", requires = "event", conflicts_with = "label", help_heading = "Input")]
    time: Option<String>,

    /// The column that says whether there was an event at that time: 1 or 0
    #[arg(long, value_name = "COLUMN", requires = "time", help_heading = "Input")]
    event: Option<String>,

    /// Labels, one a line (for .npy and .mtx)
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    labels: Option<PathBuf>,

    /// The columns of a Matrix Market file (.mtx) are instances and its rows features, as in files of 10x Genomics
    #[arg(long, help_heading = "Input")]
    transpose: bool,

    /// Threads to use, at most 4 for each processor or 64; results do not depend on it [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,
}

impl InputArgs {
    pub(crate) fn reader(&self, context: &Context) -> Reader {
        self.reader_with_labels(self.labels.as_ref(), context)
    }

    /// A reader for further data of the same kind, whose labels are elsewhere.
    pub(crate) fn reader_with_labels(&self, labels: Option<&PathBuf>, context: &Context) -> Reader {
        let mut reader = Reader::new().context(context).transpose(self.transpose);
        if let Some(column) = &self.event {
            reader = reader.event_column(column);
        }
        if let Some(column) = self.label.as_ref().or(self.time.as_ref()) {
            reader = reader.label_column(column);
        }
        if let Some(file) = labels {
            reader = reader.labels_file(file);
        }
        reader
    }

    /// Whether it is said where labels are.
    pub(crate) fn names_labels(&self) -> bool {
        self.label.is_some() || self.time.is_some() || self.labels.is_some()
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    pub(crate) fn labels(&self) -> Option<&Path> {
        self.labels.as_deref()
    }
}
