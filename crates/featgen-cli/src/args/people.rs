//! What is known of the people whose genotypes are read.

use std::path::{Path, PathBuf};

use clap::Args;
use featgen::data::read::Reader;

/// Tables about people: `FID IID` and more columns, under a header. People are found by these ids, in any order.
#[derive(Args)]
pub(crate) struct PeopleArgs {
    /// Of a .bed: a table of phenotypes, `FID IID NAME ...`; --label names the column [default: the sixth column of the .fam]
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pheno: Option<PathBuf>,

    /// Of a .bed: a table of covariates, `FID IID NAME ...`, all of them numbers and always in the model, as with --keep
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    covar: Option<PathBuf>,
}

impl PeopleArgs {
    /// A reader that knows of them.
    pub(crate) fn tell(&self, mut reader: Reader) -> Reader {
        if let Some(file) = &self.pheno {
            reader = reader.pheno_file(file);
        }
        if let Some(file) = &self.covar {
            reader = reader.covar_file(file);
        }
        reader
    }

    /// The files, and what they hold.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let files = [("phenotypes", &self.pheno), ("covariates", &self.covar)];
        files.into_iter().filter_map(|(what, file)| Some((what, file.as_deref()?)))
    }
}
