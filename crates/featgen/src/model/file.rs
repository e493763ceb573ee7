//! The model's file: readable JSON with a version, written whole or not at all, every float read back exactly.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Model;
use crate::error::{Error, Place, Result};
use crate::files::write_whole;

const FORMAT: &str = "featgen-model";
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Written<'a> {
    format: &'a str,
    version: u32,
    #[serde(flatten)]
    model: &'a Model,
}

#[derive(Deserialize)]
struct Header {
    format: Option<String>,
    version: Option<u32>,
}

impl Model {
    /// Writes the model to a file, which appears whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        write_whole(path.as_ref(), |out| {
            serde_json::to_writer_pretty(&mut *out, &self.written())?;
            out.write_all(b"\n")
        })
    }

    /// Reads a model that [`save`](Model::save) wrote.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let name = path.as_ref().display().to_string();
        let text = std::fs::read(&path).map_err(|e| Error::io(&name, e))?;
        Self::from_json(&text, &name)
    }

    /// What a file holds, on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.written()).expect("a model can always be written")
    }

    /// From what a file holds; `name` is for messages.
    pub fn from_json(text: &[u8], name: &str) -> Result<Self> {
        let wrong = |e: serde_json::Error| {
            // The library's message ends with the position, which stands in front already.
            let message = e.to_string();
            let reason = message.split(" at line ").next().unwrap_or(&message).to_owned();
            let place = Place::at(name, e.line().max(1) as u64, e.column().max(1) as u64);
            Error::input(place, format!("not a model: {reason}"))
        };
        let header: Header = serde_json::from_slice(text).map_err(wrong)?;
        match (header.format.as_deref(), header.version) {
            (Some(FORMAT), Some(VERSION)) => {}
            (Some(FORMAT), Some(version)) => {
                let reason = format!("the model has version {version}; this featgen reads version {VERSION}");
                return Err(Error::input(name, reason));
            }
            _ => return Err(Error::input(name, "not a featgen model")),
        }
        let model: Self = serde_json::from_slice(text).map_err(wrong)?;
        model.check().map_err(|reason| Error::input(name, reason))?;
        Ok(model)
    }

    fn written(&self) -> Written<'_> {
        Written { format: FORMAT, version: VERSION, model: self }
    }

    /// What the types cannot say, so that a damaged file is refused here and not somewhere deep.
    fn check(&self) -> Result<(), String> {
        let terms = self.terms.len();
        for round in &self.rounds {
            if round.terms.len() != round.weights.len() || round.terms.iter().any(|&t| t >= terms) {
                return Err(format!("damaged model: round {} does not fit the terms", round.round));
            }
        }
        if self.terms.iter().filter_map(|term| term.group).any(|g| g >= self.groups.len()) {
            return Err("damaged model: a term of a group that is not there".into());
        }
        if let Some(term) = self.terms.iter().find(|term| !term.feature.is_sound()) {
            return Err(format!("damaged model: {:?} is no feature", term.feature));
        }
        let mut shapes = HashMap::new();
        for feature in self.terms.iter().map(|term| &term.feature).filter(|f| f.is_part_of_curve()) {
            let shape = feature.shape();
            if *shapes.entry(feature.inputs()[0]).or_insert(shape) != shape {
                return Err("damaged model: parts of a curve do not fit each other".into());
            }
        }
        crate::loss::by_name(&self.loss).map_err(|e| e.to_string())?;
        Ok(())
    }
}
