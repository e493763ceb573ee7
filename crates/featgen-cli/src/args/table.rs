//! What can be said about the columns of a table.

use clap::Args;
use featgen::Error;
use featgen::table::{Impute, Options};

use super::described::one_of;

/// How the columns of a table are to be taken. What they are is found out; this is for when that is wrong.
#[derive(Args)]
#[command(next_help_heading = "Tables")]
pub(crate) struct TableArgs {
    /// Columns of a table that are not looked at: names, numbers, ranges, patterns such as `note_*`
    #[arg(long, value_name = "LIST")]
    ignore: Option<String>,

    /// Columns that are categories, such as codes that look like numbers
    ///
    /// Each level that at least 2 rows have becomes an input that is 1 where the column has it: `colour = red`. The inputs of a column
    /// are selected together.
    #[arg(long, value_name = "LIST")]
    category: Option<String>,

    /// Columns that are numbers, such as those that look like numbers of rows; dates become days since 1970
    #[arg(long, value_name = "LIST")]
    number: Option<String>,

    /// Columns that only tell rows apart
    #[arg(long, value_name = "LIST")]
    id: Option<String>,

    /// What is put where a number is missing [default: mean]
    ///
    /// Where at least 1 % of the rows, and 5, lack it, another input says so: `age = missing`.
    #[arg(long, value_parser = one_of(Impute::ALL.iter().map(|(name, help, _)| (*name, *help))))]
    impute: Option<String>,

    /// Levels of a category that have inputs of their own, at most: the most frequent; all others are `other` [default: 1000]
    #[arg(long, value_name = "N")]
    most_levels: Option<usize>,
}

impl TableArgs {
    /// Whether there are columns that are not to be looked at.
    pub(crate) fn ignores(&self) -> bool {
        self.ignore.is_some()
    }

    /// Columns as they are asked for; `other` is no input either.
    pub(crate) fn options_without(&self, other: Option<&str>) -> Result<Options, Error> {
        let mut options = self.options()?;
        options.ignore.extend(other.map(str::to_owned));
        Ok(options)
    }

    pub(crate) fn options(&self) -> Result<Options, Error> {
        let Self { ignore, category, number, id, .. } = self;
        let items = |list: &Option<String>| list.as_deref().map(Options::items).unwrap_or_default();
        let [ignore, category, number, id] = [ignore, category, number, id].map(items);
        let default = Options::default();
        let options = Options {
            ignore,
            category,
            number,
            id,
            impute: self.impute.as_deref().and_then(Impute::find).unwrap_or(default.impute),
            most_levels: self.most_levels.unwrap_or(default.most_levels),
        };
        options.check()?;
        Ok(options)
    }
}
