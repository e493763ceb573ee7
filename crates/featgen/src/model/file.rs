//! The model's file: readable JSON with a version, written whole or not at all, every float read back exactly.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Model;
use crate::error::{Error, Place, Result};

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
            let written = Written { format: FORMAT, version: VERSION, model: self };
            serde_json::to_writer_pretty(&mut *out, &written)?;
            out.write_all(b"\n")
        })
    }

    /// Reads a model that [`save`](Model::save) wrote.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let name = path.as_ref().display().to_string();
        let text = std::fs::read(&path).map_err(|e| Error::io(&name, e))?;
        let wrong = |e: serde_json::Error| {
            // The library's message ends with the position, which stands in front already.
            let message = e.to_string();
            let reason = message.split(" at line ").next().unwrap_or(&message).to_owned();
            Error::input(Place::at(&*name, e.line() as u64, e.column() as u64), format!("not a model: {reason}"))
        };
        let header: Header = serde_json::from_slice(&text).map_err(wrong)?;
        match (header.format.as_deref(), header.version) {
            (Some(FORMAT), Some(VERSION)) => {}
            (Some(FORMAT), Some(version)) => {
                let reason = format!("the model has version {version}; this featgen reads version {VERSION}");
                return Err(Error::input(name.as_str(), reason));
            }
            _ => return Err(Error::input(name.as_str(), "not a featgen model")),
        }
        let model: Self = serde_json::from_slice(&text).map_err(wrong)?;
        model.check().map_err(|reason| Error::input(name.as_str(), reason))?;
        Ok(model)
    }

    /// What the types cannot say, so that a damaged file is refused here and not somewhere deep.
    fn check(&self) -> Result<(), String> {
        let terms = self.terms.len();
        for round in &self.rounds {
            if round.terms.len() != round.weights.len() || round.terms.iter().any(|&t| t >= terms) {
                return Err(format!("damaged model: round {} does not fit the terms", round.round));
            }
        }
        crate::loss::by_name(&self.loss).map_err(|e| e.to_string())?;
        Ok(())
    }
}

/// Writes a file through `fill` so that it appears whole under its name or not at all.
///
/// What is not a regular file (a pipe, a device) is written to directly: it must not be replaced.
pub fn write_whole(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&mut File>) -> std::io::Result<()>,
) -> Result<()> {
    let attempt = || -> std::io::Result<()> {
        if path.metadata().is_ok_and(|m| !m.is_file()) {
            let mut file = File::options().write(true).open(path)?;
            let mut out = BufWriter::new(&mut file);
            fill(&mut out)?;
            return out.flush();
        }
        // A link is followed, so that the file it names is replaced and not the link itself.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            // The mode of an ordinary new file; the user's mask applies.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let mut file = builder.prefix(".featgen-").tempfile_in(folder)?;
        let mut out = BufWriter::new(file.as_file_mut());
        fill(&mut out)?;
        out.flush()?;
        drop(out);
        file.as_file().sync_all()?;
        file.persist(&target).map_err(|e| e.error)?;
        Ok(())
    };
    attempt().map_err(|e| Error::io(path.display(), e))
}
