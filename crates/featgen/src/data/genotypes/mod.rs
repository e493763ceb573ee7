//! Genotypes as PLINK keeps them: two bits for each person and variant, one variant after the other, and never anything more.
//!
//! The value of a genotype is the number of copies of one of the variant's two alleles: 0, 1 or 2. A missing one has the
//! variant's *fill*: the mean of the instances, or, where a model is applied, that of those it was trained on.

mod fixed;
mod people;
mod rough;

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

pub(crate) use self::fixed::Fixed;
use self::fixed::{Sums, fetch_block};
use self::people::{MISSING, NONE, ONE, People, TWO, dosage, twos};
use super::rough::Rounded;
use super::{Column, ColumnView, Columns, GoOn, Moments, Outputs, ValuesView};
use crate::error::{Error, Result};
use crate::parallel;

/// Variants by people, over the bytes of a file without its head.
pub struct Genotypes<S> {
    bytes: S,
    people: People,
    /// Number of variants in the file.
    all: usize,
    /// Those that are columns, in order.
    variants: Vec<Variant>,
    /// How many values are stored, as columns show them.
    nonzeros: u64,
}

/// What the values of a variant mean, wherever it is met again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Genotype {
    /// The allele whose copies are counted.
    pub counted: String,
    /// The other allele.
    pub other: String,
    /// The value of a missing genotype: the mean of the people who were trained on.
    pub mean: f64,
}

/// How a variant is read where it is not as the file and its own people say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coding {
    /// Whether the other allele is counted.
    pub exchanged: bool,
    /// The value of a missing genotype.
    pub fill: f64,
}

/// What is known of a variant that is a column.
#[derive(Debug, Clone, Copy)]
struct Variant {
    /// Its place in the file.
    id: u32,
    /// How many instances are missing, and how many have a value other than 0.
    missing: u32,
    filled: u32,
    exchanged: bool,
    fill: f64,
    largest: f64,
    /// The length of the vector of values less `fill`, or more.
    spread: f64,
}

/// What a column sums up to with a vector: dosages, those who have two, and those who are missing.
#[derive(Clone, Copy, Default)]
struct Total {
    dosage: i128,
    twos: i128,
    missing: i128,
}

/// Variants that one thread counts one after the other.
const COUNTED: usize = 16;

/// What one thread reads in one go, in bytes.
const BATCH_BYTES: usize = 1 << 19;

/// Columns that go by the same digits of people before the next digits are fetched.
const GROUP: usize = 32;

/// Where more of so many genotypes are missing, they are summed like all others; where fewer are, one by one.
const RARE: usize = 200;

impl<S: AsRef<[u8]> + Send + Sync> Genotypes<S> {
    /// Of a file of so many people and variants, whose bytes these are without its head. `kept` are the places of the people who
    /// are instances, in order, if not all of them are. With a `coding`, only those variants are columns of which it says how they
    /// are read; without, all that have more than one value. Reads them once.
    pub fn new(
        bytes: S,
        people: usize,
        variants: usize,
        kept: Option<Vec<u32>>,
        coding: Option<&HashMap<u64, Coding>>,
    ) -> Result<Self> {
        if u32::try_from(people).is_err() || u32::try_from(variants).is_err() {
            return Err(Error::Data(format!("{people} people with {variants} variants: too many")));
        }
        let increase = |kept: &Vec<u32>| {
            kept.is_sorted_by(|a, b| a < b) && kept.last().is_none_or(|&last| (last as usize) < people)
        };
        if !kept.as_ref().is_none_or(increase) {
            return Err(Error::Data(format!("no places of some of {people} people, in order")));
        }
        let people = People::new(people, kept);
        let held = bytes.as_ref().len();
        if people.stride().checked_mul(variants) != Some(held) {
            let all = people.all();
            return Err(Error::Data(format!("{held} bytes cannot be {variants} variants of {all} people")));
        }
        let column = |id: usize| &bytes.as_ref()[id * people.stride()..(id + 1) * people.stride()];
        let variant = |id: usize| match coding {
            None => Variant::new(id, people.count(column(id)), None),
            Some(coding) => {
                let coding = coding.get(&(id as u64))?;
                Variant::new(id, people.count(column(id)), Some(*coding))
            }
        };
        let held: Vec<Variant> =
            parallel::map_runs(variants, COUNTED, variant).into_iter().flatten().collect();
        let nonzeros = held.iter().map(|variant| variant.shown(people.len()) as u64).sum();
        Ok(Self { bytes, people, all: variants, variants: held, nonzeros })
    }

    /// The value of a missing genotype of the variant with this id, if it is a column.
    pub fn fill(&self, id: u64) -> Option<f64> {
        self.position(id).map(|position| self.variants[position].fill)
    }

    fn column(&self, position: usize) -> &[u8] {
        let (id, stride) = (self.variants[position].id as usize, self.people.stride());
        &self.bytes.as_ref()[id * stride..(id + 1) * stride]
    }

    /// Vectors of instances, one after the other, as whole numbers.
    fn fixed(&self, v: &[f64]) -> Vec<Fixed> {
        let lay = |v: &[f64]| Fixed::new(v, self.people.all(), |row| self.people.place(row));
        v.chunks_exact(self.people.len().max(1)).map(lay).collect()
    }

    /// Calls `each` with what every column of a range sums up to with every vector; those who have two are only counted for
    /// vectors from `squared` on.
    fn totals(
        &self,
        range: Range<usize>,
        v: &[Fixed],
        squared: usize,
        mut each: impl FnMut(usize, usize, Total),
    ) {
        let mut sums = vec![[Sums::default(); 2]; GROUP * v.len()];
        for first in range.clone().step_by(GROUP) {
            let group = first..range.end.min(first + GROUP);
            sums.fill(Default::default());
            for begin in Fixed::blocks(self.people.all()) {
                for (k, (v, sums)) in v.iter().zip(sums.chunks_exact_mut(GROUP)).enumerate() {
                    for (position, [one, two]) in group.clone().zip(sums) {
                        // Columns are far apart, and no processor guesses which one is next.
                        if k == 0 && position + GROUP < self.variants.len() {
                            fetch_block(self.column(position + GROUP), begin);
                        }
                        let (column, exchanged) = (self.column(position), self.variants[position].exchanged);
                        v.add_block(column, begin, dosage(exchanged), one);
                        if k >= squared {
                            v.add_block(column, begin, twos(exchanged), two);
                        }
                    }
                }
            }
            for (k, (v, sums)) in v.iter().zip(sums.chunks_exact(GROUP)).enumerate() {
                for (position, sums) in group.clone().zip(sums) {
                    let [dosage, twos] = sums.each_ref().map(Fixed::total);
                    each(position, k, Total { dosage, twos, missing: self.sum_missing(position, v) });
                }
            }
        }
    }

    /// The sum of a vector over those whose genotype is missing.
    fn sum_missing(&self, position: usize, v: &Fixed) -> i128 {
        let (column, missing) = (self.column(position), self.variants[position].missing as usize);
        if missing == 0 {
            return 0;
        }
        if missing * RARE < self.people.all() {
            return v.sum_missing(column);
        }
        let mut sums = Sums::default();
        for begin in Fixed::blocks(self.people.all()) {
            v.add_block(column, begin, [0, 1, 0, 0], &mut sums);
        }
        Fixed::total(&sums)
    }

    /// The sum of the values of a column times a vector.
    fn dot(&self, position: usize, v: &Fixed, total: Total) -> f64 {
        v.worth(total.dosage) + self.variants[position].fill * v.worth(total.missing)
    }

    /// The same with the squares of the values.
    fn square_dot(&self, position: usize, v: &Fixed, total: Total) -> f64 {
        let fill = self.variants[position].fill;
        v.worth(total.dosage + 2 * total.twos) + fill * fill * v.worth(total.missing)
    }

    /// The values of a column that are not 0, or all of them, whichever is shown.
    fn values(&self, position: usize) -> Column {
        let (variant, rows) = (self.variants[position], self.people.len());
        let value = variant.values();
        if variant.shown(rows) == rows {
            let mut values = Vec::with_capacity(rows);
            self.people.each_code(self.column(position), |_, code| values.push(value[code]));
            return Column::Dense(values);
        }
        let (mut filled, mut values) = (Vec::with_capacity(rows / 2), Vec::with_capacity(rows / 2));
        self.people.each_code(self.column(position), |row, code| {
            if value[code] != 0.0 {
                filled.push(row);
                values.push(value[code]);
            }
        });
        Column::Sparse { rows: filled, values }
    }
}

impl Variant {
    /// From how many instances have each code. Without a coding, the mean of the others stands for those that are missing, and
    /// there is no column if all have the same value.
    fn new(id: usize, counts: [u32; 4], coding: Option<Coding>) -> Option<Self> {
        let known = [TWO, ONE, NONE].map(|code| counts[code]);
        if coding.is_none() && known.iter().filter(|count| **count > 0).count() < 2 {
            return None;
        }
        let mean = f64::from(2 * counts[TWO] + counts[ONE]) / f64::from(known.iter().sum::<u32>());
        let Coding { exchanged, fill } = coding.unwrap_or(Coding { exchanged: false, fill: mean });
        let mut variant = Self {
            id: id as u32,
            missing: counts[MISSING],
            filled: 0,
            exchanged,
            fill,
            largest: 0.0,
            spread: 0.0,
        };
        let values = variant.values();
        let square = |code: usize| f64::from(counts[code]) * (values[code] - fill) * (values[code] - fill);
        variant.spread = (0..4).map(square).sum::<f64>().sqrt() * (1.0 + 1e-12);
        let there = |code: &usize| counts[*code] > 0 && values[*code] != 0.0;
        variant.filled = (0..4).filter(there).map(|code| counts[code]).sum();
        variant.largest = (0..4).filter(there).map(|code| values[code].abs()).fold(0.0, f64::max);
        Some(variant)
    }

    /// What the codes are worth.
    fn values(&self) -> [f64; 4] {
        let [two, none] = if self.exchanged { [0.0, 2.0] } else { [2.0, 0.0] };
        let mut values = [0.0; 4];
        (values[TWO], values[MISSING], values[ONE], values[NONE]) = (two, self.fill, 1.0, none);
        values
    }

    /// How many of so many values are shown: all of them, unless most are 0.
    fn shown(&self, rows: usize) -> usize {
        if 2 * self.filled as usize <= rows { self.filled as usize } else { rows }
    }
}

impl<S: AsRef<[u8]> + Send + Sync> Columns for Genotypes<S> {
    fn rows(&self) -> usize {
        self.people.len()
    }

    fn len(&self) -> usize {
        self.variants.len()
    }

    fn dimension(&self) -> u64 {
        self.all as u64
    }

    fn nonzeros(&self) -> u64 {
        self.nonzeros
    }

    fn id(&self, position: usize) -> u64 {
        self.variants[position].id.into()
    }

    fn position(&self, id: u64) -> Option<usize> {
        self.variants.binary_search_by_key(&id, |variant| variant.id.into()).ok()
    }

    fn batch(&self) -> usize {
        (BATCH_BYTES / self.people.stride().max(1)).max(GROUP)
    }

    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        self.dots_with(range, &Outputs::new(v, self.people.len()), out);
    }

    fn dots_with(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        out.fill(0.0);
        let (v, first, width) = (v.fixed(|v| self.fixed(v)), range.start, range.len());
        self.totals(range, v, v.len(), |position, k, total| {
            out[k * width + position - first] = self.dot(position, &v[k], total);
        });
    }

    fn square_dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        let (v, first, width) = (self.fixed(v), range.start, range.len());
        self.totals(range, &v, 0, |position, k, total| {
            out[k * width + position - first] = self.square_dot(position, &v[k], total);
        });
    }

    fn gain_dots(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        out.fill(0.0);
        let (v, first, width) = (both.fixed(|v| self.fixed(v)), range.start, range.len());
        let half = v.len() / 2;
        self.totals(range, v, half, |position, k, total| {
            let mut put = |k: usize, sum| out[k * width + position - first] = sum;
            put(k, self.dot(position, &v[k], total));
            if k >= half {
                put(k + half, self.square_dot(position, &v[k], total));
            }
        });
    }

    fn has_rough(&self, _room: u64) -> bool {
        true
    }

    fn has_rough_gains(&self) -> bool {
        true
    }

    fn rough_dots(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        self.rough(range, v, out);
    }

    fn rough_gain_dots(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        self.rough_gains(range, both, out);
    }

    fn moments(&self, range: Range<usize>, weights: &[f64]) -> Vec<Moments> {
        if weights.contains(&0.0) {
            // What is known of variants is known of all people, and some do not count.
            let mut moments = Vec::with_capacity(range.len());
            self.visit(range, &mut |_, column| moments.push(Moments::of(&column, weights)));
            return moments;
        }
        let mut sums = vec![0.0; 3 * range.len()];
        // As gains have them: the sums with one vector, and with another also those of squares.
        let both = [weights, weights].concat();
        self.gain_dots(range.clone(), &Outputs::new(&both, self.people.len()), &mut sums);
        let (sum, square) = (&sums[..range.len()], &sums[2 * range.len()..]);
        let moments = |((position, &sum), &square): ((usize, &f64), &f64)| {
            let Variant { filled, largest, .. } = self.variants[position];
            Moments { sum, square, nonzeros: filled, largest }
        };
        range.zip(sum).zip(square).map(moments).collect()
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        positions.iter().map(|&position| self.values(position)).collect()
    }

    fn visit(&self, range: Range<usize>, each: &mut dyn FnMut(usize, ColumnView<'_>)) {
        for position in range {
            match &self.values(position) {
                Column::Dense(values) => each(position, ColumnView::dense(ValuesView::F64(values))),
                Column::Sparse { rows, values } => {
                    each(position, ColumnView::sparse(rows, ValuesView::F64(values)));
                }
            }
        }
    }

    fn visit_bytes(&self) -> u64 {
        8 * self.people.len() as u64
    }

    fn laid_bytes(&self, outputs: usize) -> u64 {
        let each = Fixed::bytes(self.people.all()) + Rounded::bytes(self.people.all());
        each.saturating_mul(outputs as u64)
    }

    fn filled(&self, position: usize) -> usize {
        self.variants[position].shown(self.people.len())
    }

    fn largest_in(&self, range: Range<usize>, _go_on: GoOn<'_>) -> Result<f64> {
        Ok(self.variants[range].iter().fold(0.0, |most, variant| most.max(variant.largest)))
    }
}
