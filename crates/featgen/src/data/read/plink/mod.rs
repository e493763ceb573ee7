//! PLINK's binary genotypes: `.bed`, with the variants in a `.bim` and the people in a `.fam` file beside it.
//!
//! People are matched by family and own id, never by the order of lines. Those of whom something is not known are no instances,
//! and nothing is copied for that: the genotypes stay where they are, two bits each.

mod fields;
mod people;
mod phenotype;
mod regions;
mod variants;

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use self::people::People;
use self::phenotype::{Phenotypes, is_missing};
pub use self::regions::Region;
pub use self::variants::Variants;
use super::source::Source;
use super::{Reader, Table, number, quoted};
use crate::data::genotypes::{Coding, Genotype};
use crate::data::mapped::Mapped;
use crate::data::{Columns, Dense, Genotypes, Joined, Labels, Layout, Names};
use crate::error::{Error, Place, Reason, Result};

/// What a file begins with; the third byte says that variants come one after the other.
pub(super) const MAGIC: &[u8] = &[0x6c, 0x1b];
const BY_VARIANTS: u8 = 1;
const HEAD: usize = 3;

/// Files up to this many bytes are mapped in one go.
const SMALL: u64 = 1 << 30;

/// What is known of genotypes beside their values and names.
#[derive(Debug, Clone, PartialEq)]
pub struct Genotyped {
    /// The variants, whose ids are the first.
    pub variants: Variants,
    /// The ids of the covariates, which follow.
    pub covariates: Vec<u64>,
    /// Who is no instance.
    pub left_out: LeftOut,
    /// The values of missing genotypes, by id; not a number for variants that are no columns.
    means: Vec<f64>,
}

/// How many people are no instances, of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Those whose phenotype is not known.
    pub phenotype: usize,
    /// Those whose phenotype is known, but not all covariates.
    pub covariates: usize,
    /// All people.
    pub of: usize,
}

impl Genotyped {
    /// What the values of a variant mean, if it is a column.
    pub fn genotype(&self, id: u64) -> Option<Genotype> {
        let mean = *self.means.get(usize::try_from(id).ok()?).filter(|mean| !mean.is_nan())?;
        let [counted, other] = self.variants.alleles(id).map(str::to_owned);
        Some(Genotype { counted, other, mean })
    }

    /// The same of all variants, by the names that go with them.
    pub fn genotypes(&self, names: &Names) -> HashMap<String, Genotype> {
        let named = |id: u64| Some((names.show(id), self.genotype(id)?));
        (0..self.variants.len() as u64).filter_map(named).collect()
    }
}

/// The bytes of a file after its head.
struct Body(Mapped);

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        &self.0[HEAD..]
    }
}

impl Reader {
    /// Opens genotypes. Where labels are required, people without one, or without all covariates, are left out; else nobody is, and
    /// there are labels if all have one.
    pub(super) fn open_bed(&self, source: Source) -> Result<(Table, Genotyped)> {
        if self.labels_file.is_some() {
            let reason = "the people of a .bed have their labels in its .fam, or in a table of phenotypes";
            return Err(Error::parameter("labels", reason));
        }
        let Some(path) = source.plain_file().map(Path::to_owned) else {
            return Err(source.error("genotypes are mapped: they must be a file, and not compressed"));
        };
        let beside = |extension: &str| path.with_extension(extension);
        let (variants, names) = Variants::read(Source::open(&beside("bim"))?)?;
        let mut people = People::read(Source::open(&beside("fam"))?)?;
        let body = Self::map_bed(&source, &path, people.len(), variants.len())?;

        let covariates = self.covariates(&people)?;
        let fam = beside("fam").display().to_string();
        let phenotypes = self.phenotypes(&mut people, &fam)?;
        let people = phenotypes.len();
        let kept = self.instances(&phenotypes, covariates.as_ref(), &fam)?;
        let labels = match kept.iter().all(|&person| phenotypes.knows(person)) {
            true => phenotypes.labels(kept.iter().copied())?,
            false => Labels::default(),
        };
        let left_out = {
            let without = |person: &usize| !phenotypes.knows(*person);
            let unknown = if self.require_labels { (0..people).filter(without).count() } else { 0 };
            LeftOut { phenotype: unknown, covariates: people - kept.len() - unknown, of: people }
        };

        let coding = match &self.known_rows {
            Some(known) => Some(self.codings_of(&body, people, variants.len(), &kept, known)?),
            None => self.codings(&variants, &names)?,
        };
        let some = (kept.len() < people).then(|| kept.iter().map(|&person| person as u32).collect());
        let genotypes =
            self.context.run(|| Genotypes::new(body, people, variants.len(), some, coding.as_ref()))??;
        let means = (0..variants.len() as u64).map(|id| genotypes.fill(id).unwrap_or(f64::NAN)).collect();
        let first = variants.len() as u64;
        let (columns, names, count) = with_covariates(Box::new(genotypes), names, covariates, &kept)?;
        let covariates = (first..first + count as u64).collect();
        let labels = Some(labels).filter(|labels| !labels.is_empty());
        let table = Table::of(columns, labels, Some(Names::identifying(names)));
        Ok((table, Genotyped { variants, covariates, left_out, means }))
    }

    /// Maps the file, if it has as many bytes as the others say.
    fn map_bed(source: &Source, path: &Path, people: usize, variants: usize) -> Result<Body> {
        if variants == 0 {
            return Err(Error::input(
                path.with_extension("bim").display().to_string().as_str(),
                "no variants",
            ));
        }
        let file = File::open(path).map_err(|e| source.read_error(e))?;
        let length = file.metadata().map_err(|e| source.read_error(e))?.len();
        let mapped = Mapped::file(&file, path, length <= SMALL).map_err(|e| source.read_error(e))?;
        match mapped.get(HEAD - 1) {
            Some(&BY_VARIANTS) => {}
            Some(0) => {
                return Err(source.error(
                    "genotypes by people (individual-major), as they no longer are: plink --make-bed turns them",
                ));
            }
            other => {
                let found = other.map_or_else(|| "nothing".into(), |byte| format!("{byte:#04x}"));
                return Err(
                    source.error(format!("{found} where a .bed says how genotypes follow each other"))
                );
            }
        }
        let expected = (people as u64).div_ceil(4).checked_mul(variants as u64);
        let expected = expected.and_then(|bytes| bytes.checked_add(HEAD as u64));
        if expected != Some(mapped.len() as u64) {
            let expected = expected.map_or_else(|| "more".into(), |bytes| bytes.to_string());
            return Err(source.error(format!(
                "{} bytes, where {people} people in the .fam and {variants} variants in the .bim take {expected}",
                mapped.len()
            )));
        }
        Ok(Body(mapped))
    }

    /// What is to be predicted of each person.
    fn phenotypes(&self, people: &mut People, fam: &str) -> Result<Phenotypes> {
        let Some(file) = &self.pheno_file else {
            if self.label_column.is_some() {
                let reason = "names a column of a table of phenotypes, and none is given";
                return Err(Error::parameter("label", reason));
            }
            return Ok(Phenotypes::of_people(people, fam));
        };
        let table = people::Table::read(Source::open(file)?, people)?;
        let column = match &self.label_column {
            Some(name) => table.find(name)?,
            None => table.only()?,
        };
        let event = self.event_column.as_deref().map(|name| table.find(name)).transpose()?;
        Phenotypes::of_table(table, column, event)
    }

    /// The table of covariates, if there is one.
    fn covariates(&self, people: &People) -> Result<Option<Covariates>> {
        let Some(file) = &self.covar_file else { return Ok(None) };
        let table = people::Table::read(Source::open(file)?, people)?;
        Covariates::new(table).map(Some)
    }

    /// The people who are instances, in order.
    fn instances(
        &self,
        phenotypes: &Phenotypes,
        covariates: Option<&Covariates>,
        fam: &str,
    ) -> Result<Vec<usize>> {
        let people = phenotypes.len();
        let has_covariates =
            |person: &usize| covariates.is_none_or(|covariates| covariates.rows[*person].is_some());
        if !self.require_labels {
            let without = (0..people).filter(|person| !has_covariates(person)).count();
            return match covariates.filter(|_| without > 0) {
                None => Ok((0..people).collect()),
                Some(covariates) => Err(Error::input(
                    covariates.file.as_str(),
                    format!("not all covariates of {without} of {people} people are known"),
                )),
            };
        }
        if !(0..people).any(|person| phenotypes.knows(person)) {
            let nobody = Reason::from("nobody has a phenotype; they can be given in a table (");
            let file = if self.pheno_file.is_some() { phenotypes.file() } else { fam };
            return Err(Error::input(file, nobody.parameter("pheno").words(")")));
        }
        let kept: Vec<usize> = (0..people).filter(|&p| phenotypes.knows(p)).filter(has_covariates).collect();
        match covariates.filter(|_| kept.is_empty()) {
            None => Ok(kept),
            Some(covariates) => {
                Err(Error::input(covariates.file.as_str(), "nobody with a phenotype has all covariates"))
            }
        }
    }

    /// How variants are read where only some of the people who are kept are known: as they would be if there were no others.
    fn codings_of(
        &self,
        body: &Body,
        people: usize,
        variants: usize,
        kept: &[usize],
        known: &[bool],
    ) -> Result<HashMap<u64, Coding>> {
        let known = kept.iter().zip(known).filter(|(_, known)| **known).map(|(&person, _)| person as u32);
        let known = Some(known.collect());
        let genotypes =
            self.context.run(|| Genotypes::new(body.as_ref(), people, variants, known, None))??;
        let coding = |id| Some((id, Coding { exchanged: false, fill: genotypes.fill(id)? }));
        Ok((0..variants as u64).filter_map(coding).collect())
    }

    /// How the variants that are known elsewhere are to be read here, by id.
    fn codings(&self, variants: &Variants, names: &[String]) -> Result<Option<HashMap<u64, Coding>>> {
        let Some(known) = &self.genotypes else { return Ok(None) };
        let mut codings = HashMap::new();
        for (id, name) in (0..).zip(names) {
            if let Some(genotype) = known.get(name) {
                codings.insert(id, variants.coding(id, genotype)?);
            }
        }
        Ok(Some(codings))
    }
}

/// Numbers that are known of people.
struct Covariates {
    file: String,
    names: Vec<String>,
    /// Those of each person, if all are known.
    rows: Vec<Option<Vec<f64>>>,
}

impl Covariates {
    fn new(table: people::Table) -> Result<Self> {
        let people::Table { file, names, rows } = table;
        let mut known = Vec::with_capacity(rows.len());
        for row in rows {
            let Some(cells) = row.filter(|cells| !cells.iter().any(|cell| is_missing(&cell.text))) else {
                known.push(None);
                continue;
            };
            let number = |(name, cell): (&String, &people::Said)| {
                number::parse(cell.text.as_bytes()).ok_or_else(|| {
                    let (column, found) = (quoted(name.as_bytes()), quoted(cell.text.as_bytes()));
                    let reason = format!("covariate {column}: {found} is not a number; code it in numbers");
                    Error::input(Place::at(&file, cell.line, cell.column), reason)
                })
            };
            known.push(Some(names.iter().zip(&cells).map(number).collect::<Result<_>>()?));
        }
        Ok(Self { file, names, rows: known })
    }
}

/// The columns and names of variants with those of covariates after them; and how many of these there are.
fn with_covariates(
    genotypes: Box<dyn Columns>,
    mut names: Vec<String>,
    covariates: Option<Covariates>,
    kept: &[usize],
) -> Result<(Box<dyn Columns>, Vec<String>, usize)> {
    let Some(Covariates { file, names: own, rows }) = covariates else { return Ok((genotypes, names, 0)) };
    if let Some(name) = own.iter().find(|own| names.contains(own)) {
        let reason = format!("a variant is called {} as well", quoted(name.as_bytes()));
        return Err(Error::input(file.as_str(), reason));
    }
    let count = own.len();
    let known: Vec<&Vec<f64>> = kept.iter().filter_map(|&person| rows[person].as_ref()).collect();
    let values: Vec<f64> = (0..count).flat_map(|k| known.iter().map(move |row| row[k])).collect();
    let dense = Dense::new(values, kept.len(), count, Layout::ColumnMajor)?;
    names.extend(own);
    Ok((Box::new(Joined::new(genotypes, Box::new(dense))?), names, count))
}

/// Bytes as each of the text files beside genotypes, for fuzzing.
pub(crate) fn text_from_bytes(bytes: &[u8]) -> Result<()> {
    let known = People::read(Source::from_bytes("f i 0 0 1 1\nf j 0 0 2 2\n")?)?;
    if let Ok(table) = people::Table::read(Source::from_bytes(bytes)?, &known) {
        let last = table.names.len() - 1;
        if let Ok(phenotypes) = Phenotypes::of_table(table, 0, Some(last).filter(|&last| last > 0)) {
            let people = (0..phenotypes.len()).filter(|&person| phenotypes.knows(person));
            let _ = phenotypes.labels(people);
        }
        let _ = Covariates::new(people::Table::read(Source::from_bytes(bytes)?, &known)?);
    }
    if let Ok(mut people) = People::read(Source::from_bytes(bytes)?) {
        let phenotypes = Phenotypes::of_people(&mut people, "test");
        let _ = phenotypes.labels((0..phenotypes.len()).filter(|&person| phenotypes.knows(person)));
    }
    let (variants, names) = Variants::read(Source::from_bytes(bytes)?)?;
    let mut distinct = names.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), variants.len());
    let windows = variants.windows(1000)?;
    assert!(windows.iter().map(|window| window.variants.len()).sum::<usize>() <= variants.len());
    let _ = variants.genes_of(Source::list_from_bytes(bytes)?);
    Ok(())
}
