//! The people of a `.fam` file, and tables about them.

use std::collections::HashMap;

use super::fields::{Line, for_each_line};
use crate::data::read::{Source, quoted};
use crate::error::{Error, Reason, Result, reserve};

/// Something that a file says of a person, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) line: u64,
    /// Counted from 1, of bytes.
    pub(super) column: u64,
}

/// People by family and own id, in the order of the file.
pub(super) struct People {
    places: HashMap<String, usize>,
    /// What the sixth column says of each: the phenotype.
    pub(super) phenotypes: Vec<Said>,
}

/// One key for both ids: there are no blanks in them.
fn key(line: &Line<'_>) -> String {
    format!("{} {}", line.fields()[0], line.fields()[1])
}

fn said(line: &Line<'_>, field: usize) -> Said {
    let column = match line.error(field, "") {
        Error::Input { place, .. } => place.column.unwrap_or(1),
        _ => 1,
    };
    Said { text: line.fields()[field].to_owned(), line: line.number, column }
}

impl People {
    /// Reads a `.fam` file.
    pub(super) fn read(source: Source) -> Result<Self> {
        let name = source.name().to_owned();
        let mut people = Self { places: HashMap::new(), phenotypes: Vec::new() };
        let mut lines = Vec::new();
        for_each_line(source, |line| {
            if line.fields().len() != 6 {
                let (found, wanted) = (line.fields().len(), "family, id, father, mother, sex and phenotype");
                return Err(line.error(6, format!("{found} fields, where {wanted} are expected")));
            }
            if let Some(before) = people.places.insert(key(line), people.phenotypes.len()) {
                let before: u64 = lines[before];
                let reason = format!("{} stands on line {before} already", quoted(key(line).as_bytes()));
                return Err(line.error(0, reason));
            }
            reserve(&mut people.phenotypes, 1, &name)?;
            people.phenotypes.push(said(line, 5));
            lines.push(line.number);
            Ok(())
        })?;
        match people.phenotypes.is_empty() {
            true => Err(Error::input(name.as_str(), "no people")),
            false => Ok(people),
        }
    }

    /// Number of people.
    pub(super) fn len(&self) -> usize {
        self.phenotypes.len()
    }
}

/// A table about people: `FID IID` and more columns, under a header.
pub(super) struct Table {
    pub(super) file: String,
    /// What the further columns are called.
    pub(super) names: Vec<String>,
    /// For each person, what the further columns say; nothing of those who are not in the table.
    pub(super) rows: Vec<Option<Vec<Said>>>,
}

impl Table {
    /// Reads a table about these people, in any order; of others nothing is kept.
    pub(super) fn read(source: Source, people: &People) -> Result<Self> {
        let file = source.name().to_owned();
        let mut table = Self { file, names: Vec::new(), rows: vec![None; people.len()] };
        let mut seen = HashMap::new();
        for_each_line(source, |line| {
            if table.names.is_empty() {
                table.names = header(line)?;
                return Ok(());
            }
            let (found, wanted) = (line.fields().len(), table.names.len() + 2);
            if found != wanted {
                return Err(
                    line.error(found.min(wanted), format!("{found} fields where the header has {wanted}"))
                );
            }
            if let Some(before) = seen.insert(key(line), line.number) {
                let reason = format!("{} stands on line {before} already", quoted(key(line).as_bytes()));
                return Err(line.error(0, reason));
            }
            if let Some(&place) = people.places.get(&key(line)) {
                table.rows[place] = Some((2..wanted).map(|field| said(line, field)).collect());
            }
            Ok(())
        })?;
        match table.names.is_empty() {
            true => Err(Error::input(table.file.as_str(), "no header: a table begins with FID IID")),
            false => Ok(table),
        }
    }

    /// Which of the further columns is called so, or has this number among them.
    pub(super) fn find(&self, wanted: &str) -> Result<usize> {
        let numbered = || wanted.parse().ok().filter(|k| (1..=self.names.len()).contains(k)).map(|k| k - 1);
        let found = self.names.iter().position(|name| name == wanted).or_else(numbered);
        let missing = || {
            let names = self.names.join(", ");
            Error::input(
                self.file.as_str(),
                format!("no column {}; the columns are {names}", quoted(wanted.as_bytes())),
            )
        };
        found.ok_or_else(missing)
    }

    /// The only further column; an error if there are more, which says what chooses one.
    pub(super) fn only(&self) -> Result<usize> {
        match self.names.len() {
            1 => Ok(0),
            _ => {
                let which = Reason::from("say which column holds the phenotype (").parameter("label");
                let reason = which.words(format!("); the columns are {}", self.names.join(", ")));
                Err(Error::input(self.file.as_str(), reason))
            }
        }
    }
}

/// The names of the columns after FID and IID.
fn header(line: &Line<'_>) -> Result<Vec<String>> {
    let fields = line.fields();
    let ids = [fields[0].trim_start_matches('#'), fields.get(1).copied().unwrap_or_default()];
    if ids != ["FID", "IID"] {
        return Err(line.error(0, "the header of such a table begins with FID IID"));
    }
    let names: Vec<String> = fields[2..].iter().map(|name| name.to_string()).collect();
    if names.is_empty() {
        return Err(line.error(2, "no columns after FID and IID"));
    }
    for (k, name) in names.iter().enumerate() {
        if names[..k].contains(name) {
            return Err(line.error(k + 2, format!("a second column {}", quoted(name.as_bytes()))));
        }
    }
    Ok(names)
}
