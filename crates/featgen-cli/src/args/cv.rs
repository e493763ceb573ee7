//! How instances are held out.

use std::path::{Path, PathBuf};

use clap::Args;
use featgen::validate::Metric;

use super::described::one_of;

/// Folds unless another number is asked for.
const FOLDS: usize = 5;

/// Who is held out, and what is measured of them.
#[derive(Args)]
#[command(next_help_heading = "Cross-validation")]
pub(crate) struct CvArgs {
    /// Hold out each of K parts of the instances in turn, learn from the others, and measure [default: 5]
    ///
    /// Every part has its share of every class, of large and small numbers, or of events. Nothing of the instances held out is known
    /// where the others are learned from: not the default cost, not the scales of columns, not the levels of categories.
    #[arg(long, value_name = "K")]
    cv: Option<usize>,

    /// Do so R times, with other parts each time [default: 1]
    #[arg(long, value_name = "R")]
    repeats: Option<usize>,

    /// What parts, and the halves of --stability, are drawn from [default: 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// The column of a table that says who belongs together, such as a patient or a batch: no feature, and never in two parts
    ///
    /// Without --cv, each of its values is a part.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) fold_column: Option<String>,

    /// The same from a file, one line an instance
    #[arg(long, value_name = "FILE", conflicts_with = "fold_column")]
    folds: Option<PathBuf>,

    /// What is measured [default: accuracy of classes, r2 of numbers, deviance of counts, concordance of times]
    #[arg(long, value_parser = one_of(Metric::ALL.iter().map(|metric| (metric.name(), metric.help()))))]
    metric: Option<String>,
}

impl CvArgs {
    /// Whether anything is said of it; a seed alone may be meant for something else.
    pub(crate) fn is_wanted(&self, seed_is_for_it: bool) -> bool {
        let Self { cv, repeats, seed, fold_column, folds, metric } = self;
        let numbers = cv.is_some() || repeats.is_some() || (seed.is_some() && seed_is_for_it);
        numbers || fold_column.is_some() || folds.is_some() || metric.is_some()
    }

    /// How many parts there are to be; of those that are given by a column or a file, only if that was asked for.
    pub(crate) fn count(&self) -> Option<usize> {
        self.cv
    }

    /// How many there are of those that are drawn.
    pub(crate) fn drawn(&self) -> usize {
        self.cv.unwrap_or(FOLDS)
    }

    pub(crate) fn repeats(&self) -> usize {
        self.repeats.unwrap_or(1)
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        self.folds.as_deref()
    }

    pub(crate) fn metric(&self) -> Option<Metric> {
        self.metric.as_deref().and_then(Metric::find)
    }
}
