//! `featgen inspect STORE`: what a store holds. Opening it compares everything with its checksums.

use std::io::{self, Write};
use std::path::Path;

use featgen::data::Columns;
use featgen::data::store::Store;
use serde::Serialize;

use crate::json;
use crate::numbers::{count, plural};
use crate::style::Style;
use crate::summary;

#[derive(Serialize)]
struct Report {
    n: u64,
    m: u64,
    columns: u64,
    nonzeros: u64,
    dense: bool,
    values: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    row_bytes: Option<usize>,
    copy: bool,
    shards: usize,
    bytes: u64,
    classes: Vec<Class>,
    names: bool,
    weights: bool,
}

#[derive(Serialize)]
struct Class {
    class: String,
    n: u64,
}

pub(crate) fn show(path: &Path, as_json: bool) -> anyhow::Result<()> {
    let store = Store::open(path)?;
    let (dense, shards) = (store.is_dense(), store.shards());
    let (values, row_bytes, copy) = (store.kept_as(), store.row_bytes(), store.has_copy());
    let data = store.into_dataset(&path.display().to_string())?;
    let mut counts = vec![0u64; data.labels.classes().len()];
    data.labels.codes().iter().for_each(|&code| counts[code as usize] += 1);
    let classes =
        data.labels.classes().iter().zip(counts).map(|(class, n)| Class { class: class.clone(), n });
    let columns: &dyn Columns = &*data.columns;
    let report = Report {
        n: columns.rows() as u64,
        m: columns.dimension(),
        columns: columns.len() as u64,
        nonzeros: columns.nonzeros(),
        dense,
        values,
        row_bytes,
        copy,
        shards,
        bytes: path.metadata().map_or(0, |file| file.len()),
        classes: classes.collect(),
        names: !data.names.list().is_empty(),
        weights: data.labels.weights().is_some(),
    };
    crate::print(|out| if as_json { json::write(&report, out) } else { report.for_people(path, out) })
}

impl Report {
    fn for_people(&self, path: &Path, out: &mut dyn Write) -> io::Result<()> {
        let style = Style::of_stdout();
        writeln!(out, "{}: a store, whole and undamaged\n", crate::plain(&path.display().to_string()))?;
        let cells = self.n as f64 * self.m as f64;
        let filled = match self.dense {
            true => "dense".to_owned(),
            false => format!(
                "{} of them occur, {} values ({:.2e} of all)",
                count(self.columns),
                count(self.nonzeros),
                self.nonzeros as f64 / cells.max(1.0)
            ),
        };
        let size = format!("{} instances x {} features; {filled}", count(self.n), count(self.m));
        summary::line(out, style, "data", &size)?;
        let class = |class: &Class| format!("{} of class {}", count(class.n), class.class);
        let labels = match self.classes.is_empty() {
            true => "none".to_owned(),
            false => self.classes.iter().map(class).collect::<Vec<_>>().join(", "),
        };
        summary::line(out, style, "labels", &labels)?;
        let also = match (self.names, self.weights) {
            (true, true) => "; with names and weights",
            (true, false) => "; with names",
            (false, true) => "; with weights",
            (false, false) => "",
        };
        let kept = format!("{}, {} bytes{also}", plural(self.shards, "shard"), count(self.bytes));
        let rows = self.row_bytes.map_or(String::new(), |bytes| format!(", row numbers take {bytes} bytes"));
        let copy = if self.copy { ", and are there in one byte each as well" } else { "" };
        summary::line(out, style, "file", &format!("{kept}; values are {}{copy}{rows}", self.values))
    }
}
