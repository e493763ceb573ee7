//! The input features, as every space sees them: their columns, their names, and how each pulls at given duals.

use std::borrow::Cow;
use std::ops::Range;

use xxhash_rust::xxh3::Xxh3;

use super::ask::{Residuals, Sums};
use super::work::go_on;
use super::{Feature, Scale, ShardColumns};
use crate::context::Context;
use crate::data::{Column, Columns, Dataset, Names, Outputs, RowBlocks};
use crate::error::{Error, Result};
use crate::operator::Operator;
use crate::parallel;

/// The columns of a storage, with names where there are any.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    columns: &'a dyn Columns,
    names: Option<&'a Names>,
    context: Option<&'a Context>,
    scale: Option<&'a Scale>,
    shards: Option<&'a ShardColumns<'a>>,
}

/// Sums whose squares stay finite with room to spare.
pub(super) const LARGEST_SUM: f64 = 1e140;

/// The cost suggested for as many features as instances, where columns are scaled.
const SCALED_COST: f64 = 0.01;

/// The cost suggested for instances of length 1, where columns are as they are.
const UNSCALED_COST: f64 = 100.0;

/// Adds what some rows contribute to the sums of some columns.
type AddBlock<'a> = dyn Fn(&dyn RowBlocks, Range<usize>, Range<usize>, &mut [f64]) + Sync + 'a;

/// Columns whose sums are held together for a fingerprint.
const TOGETHER: usize = 1 << 16;

impl<'a> Inputs<'a> {
    /// The features of a data set, with its names.
    pub fn new(data: &'a Dataset) -> Self {
        Self { names: Some(&data.names), ..Self::over(data.columns.as_ref()) }
    }

    /// The features of any storage, called by their numbers.
    pub fn over(columns: &'a dyn Columns) -> Self {
        Self { columns, names: None, context: None, scale: None, shards: None }
    }

    /// The features of any storage, called by `names`.
    pub fn called(columns: &'a dyn Columns, names: &'a Names) -> Self {
        Self { names: Some(names), ..Self::over(columns) }
    }

    /// The features of columns that are in shards, with their names.
    pub fn in_shards(columns: &'a ShardColumns<'a>) -> Self {
        Self { shards: Some(columns), ..Self::called(columns, columns.names()) }
    }

    /// What searches over these features are done with: they can be ended from outside, and say how far they are.
    pub fn context(self, context: &'a Context) -> Self {
        Self { context: Some(context), ..self }
    }

    /// Weighs columns by these scales, which were made over the same storage.
    pub fn scaled(self, scale: &'a Scale) -> Self {
        Self { scale: Some(scale), ..self }
    }

    /// The shards that the columns are in, if they are not here.
    pub(super) fn shards(&self) -> Option<&'a ShardColumns<'a>> {
        self.shards
    }

    /// How columns are weighed, if they are.
    pub(super) fn scale(&self) -> Option<&'a Scale> {
        self.scale
    }

    /// The factors of the columns at these positions; none where all are 1.
    pub(super) fn scales_at(&self, positions: impl Iterator<Item = usize>) -> Vec<f64> {
        self.scale.map_or_else(Vec::new, |scale| positions.map(|p| scale.factors[p]).collect())
    }

    /// The features at these positions, without those that nothing can be gained from as their factor is 0, and the factors of the
    /// others.
    pub(super) fn members(&self, positions: &[u32]) -> (Vec<Feature>, Vec<f64>) {
        let gains = |p: &usize| self.scale.is_none_or(|scale| scale.factors[*p] != 0.0);
        let positions: Vec<usize> = positions.iter().map(|&p| p as usize).filter(gains).collect();
        let features = positions.iter().map(|&p| self.feature(p)).collect();
        (features, self.scales_at(positions.into_iter()))
    }

    /// The factors of the columns of these features.
    pub(super) fn scales_of(&self, features: &[Feature]) -> Vec<f64> {
        self.scales_at(features.iter().filter_map(|feature| self.position(feature)))
    }

    /// What a space over these inputs says of how they are weighed.
    pub(super) fn scale_setting(&self) -> Option<(&'static str, String)> {
        self.scale.map(Scale::setting)
    }

    /// A cost for a ridge fit of so many of these features (math: section 6). Where columns are scaled, `0.01 sqrt(n / K)`: what
    /// was near the best on sets of all kinds. Else one that is as free of units: 100 over the mean squared length of an instance.
    pub(super) fn suggested_cost(&self, features: usize, weights: Option<&[f64]>) -> Result<Option<f64>> {
        if self.scale.is_some() {
            let rows = weights.map_or(self.rows() as f64, |weights| weights.iter().sum());
            return Ok(Some(SCALED_COST * (rows / features.max(1) as f64).sqrt()));
        }
        let size = self.mean_square(weights)?;
        Ok(Some(UNSCALED_COST / size).filter(|_| size > 0.0))
    }

    /// Multiplies the sums of a batch of columns by their factors, each as often as `times` says.
    fn weigh(&self, range: &Range<usize>, sums: &mut [f64], times: i32) {
        let Some(scale) = self.scale else { return };
        for sums in sums.chunks_mut(range.len().max(1)) {
            sums.iter_mut().zip(&scale.factors[range.clone()]).for_each(|(sum, x)| *sum *= x.powi(times));
        }
    }

    pub(super) fn given_context(&self) -> Option<&'a Context> {
        self.context
    }

    /// An error if someone wants the search to end.
    pub(super) fn go_on(&self) -> Result<()> {
        self.context.map_or(Ok(()), go_on)
    }

    /// Where the values are.
    pub fn columns(&self) -> &'a dyn Columns {
        self.columns
    }

    /// Number of instances.
    pub fn rows(&self) -> usize {
        self.columns.rows()
    }

    /// Number of input features, with those that never occur.
    pub fn dimension(&self) -> u64 {
        self.columns.dimension()
    }

    /// The largest number, counted from 1, by which a feature may be spoken of without a mistake. Sparse text does not say
    /// how many features there are, so that a few after the last that occurs may just not occur; arrays, tables and lists
    /// of names do.
    pub(super) fn last(&self) -> u64 {
        let (n, m) = (self.rows() as u64, self.dimension());
        let said = !self.names().is_empty() || n.checked_mul(m) == Some(self.columns.nonzeros());
        if said { m } else { m.saturating_add(m / 100) }
    }

    /// How many columns there are: positions in groups are kept in 32 bits.
    pub(super) fn held(&self) -> Result<u32> {
        let held = self.columns.len();
        let fits = u32::try_from(held).ok().filter(|&held| held < u32::MAX);
        fits.ok_or_else(|| Error::Data(format!("groups over {held} columns: too many")))
    }

    /// The positions of those features of a range that occur. The range may be far larger than what occurs of it.
    pub(super) fn positions(&self, ids: &Range<u64>) -> Range<usize> {
        // Most lists name features one by one.
        if ids.end - ids.start == 1 {
            return self.columns.position(ids.start).map_or(0..0, |position| position..position + 1);
        }
        self.before(ids.start)..self.before(ids.end)
    }

    /// How many columns have a smaller id.
    fn before(&self, id: u64) -> usize {
        let held = self.columns.len() as u64;
        // Ids increase: where every feature occurs, both ends are the same at once.
        let mut low = held.saturating_sub(self.dimension().saturating_sub(id));
        let mut high = held.min(id);
        while low < high {
            let middle = low.midpoint(high);
            if self.columns.id(middle as usize) < id {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low as usize
    }

    /// What a user calls `feature`.
    pub fn name(&self, feature: &Feature) -> String {
        feature.show(|id| self.input_name(id))
    }

    /// What a user calls the input feature `id`.
    pub fn input_name(&self, id: u64) -> String {
        self.names.map_or_else(|| (u128::from(id) + 1).to_string(), |names| names.show(id))
    }

    /// All names, in order of feature number; may be empty.
    pub fn names(&self) -> &'a [String] {
        self.names.map_or(&[], Names::list)
    }

    /// The features that were made of the column of a table.
    pub(super) fn of_column(&self, name: &str) -> Option<Range<u64>> {
        self.names?.column(name)
    }

    /// Whether names, rather than numbers, tell features apart.
    pub fn named(&self) -> bool {
        self.names.is_some_and(Names::identify)
    }

    /// The feature whose column is at `position`.
    pub(super) fn feature(&self, position: usize) -> Feature {
        Feature::input(self.columns.id(position))
    }

    /// Where the column of an input feature is.
    pub(super) fn position(&self, feature: &Feature) -> Option<usize> {
        feature.as_input().and_then(|id| self.columns.position(id))
    }

    /// Which columns belong to the features `ids`.
    pub(super) fn marked(&self, ids: impl IntoIterator<Item = u64>) -> Vec<bool> {
        let mut marked = vec![false; self.columns.len()];
        let positions = ids.into_iter().filter_map(|id| self.columns.position(id));
        positions.for_each(|position| marked[position] = true);
        marked
    }

    /// The columns of `features`, one by one.
    pub(super) fn operators(&self, features: &[Feature]) -> Result<Vec<Operator>> {
        Ok(self.generate(features)?.into_iter().map(Operator::Column).collect())
    }

    /// The columns of `features`.
    pub fn generate(&self, features: &[Feature]) -> Result<Vec<Column>> {
        let missing = |f: &Feature| Error::Data(format!("no feature {}", self.name(f)));
        // Inputs are best fetched together.
        if let Some(positions) = features.iter().map(|f| self.position(f)).collect::<Option<Vec<_>>>() {
            return Ok(self.columns.gather(&positions));
        }
        if self.shards.is_some() {
            return self.generate_together(features);
        }
        let column =
            |f: &Feature| f.column(self.columns, |id| self.columns.position(id)).ok_or_else(|| missing(f));
        features.iter().map(column).collect()
    }

    /// The same from columns that are fetched all at once, where they are far away.
    fn generate_together(&self, features: &[Feature]) -> Result<Vec<Column>> {
        let missing = |f: &Feature| Error::Data(format!("no feature {}", self.name(f)));
        let position = |&id: &u64| self.columns.position(id);
        let factors = |f: &Feature| f.inputs().iter().map(position).collect::<Option<Vec<usize>>>();
        let factors = features.iter().map(|f| factors(f).ok_or_else(|| missing(f)));
        let factors = factors.collect::<Result<Vec<_>>>()?;
        let mut fetched = self.columns.gather(&factors.concat()).into_iter();
        let made = |(f, factors): (&Feature, &Vec<usize>)| {
            f.made_of(fetched.by_ref().take(factors.len()).collect(), self.rows())
        };
        Ok(features.iter().zip(&factors).map(made).collect())
    }

    /// The largest absolute value of all; an error that names the culprit if one is not a finite number. Reads all of them.
    pub fn largest(&self) -> Result<f64> {
        let largest = self.columns.largest(&|| self.go_on())?;
        if largest.is_finite() {
            return Ok(largest);
        }
        let bad = |position: usize| self.columns.see(position, |column| !column.largest().is_finite());
        let check = |position: usize| if bad(position) { Err(self.explain(position)) } else { Ok(()) };
        Err(parallel::reduce(self.columns.len(), check, |(), ()| ()).expect_err("a column holds it"))
    }

    /// The largest absolute value as columns are weighed.
    pub(super) fn radius(&self) -> Result<f64> {
        let largest = self.largest()?;
        Ok(self.scale.map_or(largest, |scale| scale.largest))
    }

    /// Whether columns are weighed by scales.
    pub(super) fn is_scaled(&self) -> bool {
        self.scale.is_some()
    }

    /// The number of these columns, and of their values.
    pub(super) fn extent(&self, positions: &[u32]) -> [u64; 2] {
        let values = positions.iter().map(|&p| self.columns.filled(p as usize) as u64).sum();
        [positions.len() as u64, values]
    }

    /// The lengths of `c_j = sum_i v_i x_ij` of every column, over all outputs: `each` gets those of a range of positions, in any
    /// order and in parallel, and what it makes of them is merged. They may have a sign: with one output they are the sums.
    pub(super) fn pulls<T: Send>(
        &self,
        v: Residuals<'_>,
        each: impl Fn(Range<usize>, &[f64]) -> T + Sync,
        merge: impl Fn(T, T) -> T + Sync + Send,
    ) -> Result<Option<T>> {
        let lengths = |range: Range<usize>, sums: &[f64]| {
            let lengths = Sums::new(sums, range.len()).lengths();
            each(range, &lengths)
        };
        self.all_sums(v, lengths, merge)
    }

    /// The sums `c_j` themselves, likewise: those of all columns of a range for the first output, then for the next.
    fn all_sums<T: Send>(
        &self,
        v: Residuals<'_>,
        each: impl Fn(Range<usize>, &[f64]) -> T + Sync,
        merge: impl Fn(T, T) -> T + Sync + Send,
    ) -> Result<Option<T>> {
        let batch = self.columns.batch();
        let (read, laid) = (self.sums_by_blocks(v)?, Outputs::new(v.v, v.rows));
        let one = |k: usize| {
            let range = k * batch..self.columns.len().min((k + 1) * batch);
            self.with_sums(range.clone(), v.outputs, &laid, read.as_deref(), |sums| {
                self.check(range.start, sums, range.len())?;
                Ok(each(range.clone(), sums))
            })?
        };
        let batches = self.columns.len().div_ceil(batch);
        parallel::reduce(batches, one, merge)
    }

    /// The mean, over instances that count as often as `weights` say, of the squared length of their vectors of inputs.
    pub(super) fn mean_square(&self, weights: Option<&[f64]>) -> Result<f64> {
        let rows = self.rows();
        let weights = weights.map_or_else(|| Cow::Owned(vec![1.0; rows]), Cow::Borrowed);
        let total = crate::ordered::sum(rows, |i| weights[i]);
        let v = Residuals { v: &weights, rows, outputs: 1 };
        let squares: &AddBlock<'_> =
            &|blocks, rows, columns, out| blocks.add_square_dots(rows, columns, v.v, out);
        let sums = match self.by_blocks(v, 1, squares)? {
            Some(sums) => sums,
            None => {
                let mut sums = vec![0.0; self.columns.len()];
                let batch = self.columns.batch();
                parallel::try_chunks_mut(&mut sums, batch, &|k, out| {
                    self.go_on()?;
                    self.columns.square_dots(k * batch..k * batch + out.len(), &weights, out);
                    Ok(())
                })?;
                sums
            }
        };
        Ok(crate::ordered::sum(sums.len(), |j| sums[j]) / total)
    }

    /// Calls `see` with the sums of a batch of columns, from what was `read` of all if they were read by blocks.
    fn with_sums<T>(
        &self,
        range: Range<usize>,
        outputs: usize,
        v: &Outputs<'_>,
        read: Option<&[f64]>,
        see: impl FnOnce(&[f64]) -> T,
    ) -> Result<T> {
        self.go_on()?;
        let mut sums = match read {
            Some(read) => Cow::Borrowed(&read[range.start * outputs..range.end * outputs]),
            None => {
                let mut sums = vec![0.0; range.len() * outputs];
                self.columns.dots_with(range.clone(), v, &mut sums);
                Cow::Owned(sums)
            }
        };
        if self.is_scaled() {
            self.weigh(&range, sums.to_mut(), 1);
        }
        Ok(see(&sums))
    }

    /// `c_j` of every column, where rows are best read block after block: batch after batch, and in each output after output.
    fn sums_by_blocks(&self, v: Residuals<'_>) -> Result<Option<Vec<f64>>> {
        let dots: &AddBlock<'_> = &|blocks, rows, columns, out| blocks.add_dots(rows, columns, v.v, out);
        self.by_blocks(v, v.outputs, dots)
    }

    /// What `add` adds up over blocks of rows, so many numbers for each column. Blocks in which `v` is 0 are not read.
    fn by_blocks(&self, v: Residuals<'_>, each: usize, add: &AddBlock<'_>) -> Result<Option<Vec<f64>>> {
        let Some(blocks) = self.columns.by_blocks() else { return Ok(None) };
        let (rows, batch) = (self.rows(), self.columns.batch());
        let starts = (0..rows).step_by(blocks.block());
        let read: Vec<Range<usize>> = starts
            .map(|first| first..rows.min(first + blocks.block()))
            .filter(|block| v.each().any(|v| v[block.clone()].iter().any(|&v| v != 0.0)))
            .collect();
        let mut sums = vec![0.0; self.columns.len() * each];
        // While a block is added, the next is on its way.
        for (k, block) in read.iter().enumerate() {
            self.go_on()?;
            let fetch = || read.get(k + 1).into_iter().for_each(|next| blocks.fetch(next.clone()));
            let add = |k: usize, out: &mut [f64]| {
                let columns = k * batch..k * batch + out.len() / each;
                add(blocks, block.clone(), columns, out);
            };
            parallel::beside(&fetch, &mut || parallel::chunks_mut(&mut sums, batch * each, &add));
        }
        Ok(Some(sums))
    }

    /// Bytes of the sums of all columns, where those are made block after block, of the vectors as they are laid out, and of scales.
    pub(super) fn sums_bytes(&self, outputs: usize) -> u64 {
        let columns = if self.columns.by_blocks().is_some() { self.columns.len() } else { 0 };
        let sums = 8 * (columns as u64).saturating_mul(outputs as u64);
        sums.saturating_add(self.columns.laid_bytes(outputs)).saturating_add(self.scale_bytes())
    }

    /// Bytes of the factors of all columns.
    pub(super) fn scale_bytes(&self) -> u64 {
        self.scale.map_or(0, |scale| size_of_val(&scale.factors[..]) as u64)
    }

    /// The length of `c_j` of one column.
    pub(super) fn pull(&self, position: usize, v: Residuals<'_>) -> Result<f64> {
        let range = position..position + 1;
        let see = |sums: &[f64]| self.check(position, sums, 1).map(|()| Sums::new(sums, 1).length(0));
        if v.outputs > 1 {
            self.go_on()?;
            // The column stays in the cache; laying out all vectors anew would not be worth it for one.
            let mut sums = vec![0.0; v.outputs];
            let each = sums.chunks_exact_mut(1).zip(v.each());
            each.for_each(|(sum, v)| self.columns.dots(range.clone(), v, sum));
            return see(&sums);
        }
        let mut sum = [0.0];
        self.columns.dots(range, v.v, &mut sum);
        see(&sum)
    }

    /// The square of the length of `c_j` of every column by its position.
    pub(super) fn squares(&self, v: Residuals<'_>) -> Result<Vec<f64>> {
        let batch = self.columns.batch();
        let (read, laid) = (self.sums_by_blocks(v)?, Outputs::new(v.v, v.rows));
        let mut squares = vec![0.0; self.columns.len()];
        parallel::try_chunks_mut(&mut squares, batch, &|k, squares| {
            let range = k * batch..k * batch + squares.len();
            self.with_sums(range, v.outputs, &laid, read.as_deref(), |sums| {
                let sums = Sums::new(sums, squares.len());
                squares.iter_mut().enumerate().for_each(|(j, square)| *square = sums.square(j));
            })
        })?;
        let largest = v.outputs as f64 * LARGEST_SUM * LARGEST_SUM;
        match squares.iter().position(|square| square.is_nan() || *square > largest) {
            Some(position) => Err(self.explain(position)),
            None => Ok(squares),
        }
    }

    /// A number that stands for all values: the digest of `sum_i u_i x_ij` for fixed, irregular `u` over all columns, with their
    /// ids. One pass over the data. The same for all storages that sum in the same order, on any number of threads; what is
    /// lost in the rounding of a column's sum is not seen.
    pub fn fingerprint(&self) -> Result<u64> {
        let u: Vec<f64> = (0..self.rows() as u64).map(irregular).collect();
        let mut hasher = Xxh3::new();
        let mut add = |first: usize, sums: &[f64]| {
            for (position, sum) in (first..).zip(sums) {
                hasher.update(&self.columns.id(position).to_le_bytes());
                // Zero has a sign that means nothing.
                hasher.update(&(*sum + 0.0).to_le_bytes());
            }
        };
        if let Some(sums) = self.sums_by_blocks(Residuals { v: &u, rows: self.rows(), outputs: 1 })? {
            add(0, &sums);
            return Ok(hasher.digest());
        }
        let len = self.columns.len();
        let together = TOGETHER.max(self.columns.batch());
        let mut sums = vec![0.0; len.min(together)];
        for first in (0..len).step_by(together) {
            let sums = &mut sums[..together.min(len - first)];
            self.sums(first, &u, sums)?;
            add(first, sums);
        }
        Ok(hasher.digest())
    }

    /// The sums with one vector of the columns from `first` on, as many as `out` has room for.
    fn sums(&self, first: usize, v: &[f64], out: &mut [f64]) -> Result<()> {
        let batch = self.columns.batch();
        parallel::try_chunks_mut(out, batch, &|k, out| {
            let start = first + k * batch;
            self.go_on()?;
            self.columns.dots(start..start + out.len(), v, out);
            Ok(())
        })
    }

    /// The column of the same table that holds the classes.
    pub(super) fn label_column(&self) -> Option<String> {
        self.names.and_then(Names::label).map(str::to_owned)
    }

    /// An error that names the culprit if a sum over one of so many columns, counted from position `first`, cannot be computed with.
    /// `sums` are those of all columns, for one output after the other.
    pub(super) fn check(&self, first: usize, sums: &[f64], columns: usize) -> Result<()> {
        let bad = sums.iter().position(|c| c.is_nan() || c.abs() > LARGEST_SUM);
        bad.map_or(Ok(()), |k| Err(self.explain(first + k % columns)))
    }

    /// A sum that is not a number means a value that is not one: name the culprit.
    pub(super) fn explain(&self, position: usize) -> Error {
        let culprit = self.columns.see(position, |column| column.find(|x| !x.is_finite()));
        match culprit {
            Some((row, x)) => self.refuse(position, Some(row), format!("{x} is not a finite number")),
            None => self.refuse(position, None, "its values are too large to compute with; scale it down"),
        }
    }

    /// Says that the column at a position, or its value in a row, cannot be used.
    pub(super) fn refuse(&self, position: usize, row: Option<u32>, reason: impl Into<String>) -> Error {
        let (id, row) = (self.columns.id(position), row.map(|row| u64::from(row) + 1));
        Error::Value { id, name: self.input_name(id), row, reason: reason.into() }
    }
}

/// A number from 1 up to 2 that looks like chance, different for every `i`: the finalizer of splitmix64.
fn irregular(i: u64) -> f64 {
    let mut x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    // The bits of the fraction, and the exponent of 1.
    f64::from_bits((x >> 12) | 1f64.to_bits())
}

use gains::both;
pub(super) use sift::{Between, Sieve};

mod alike;
mod gains;
mod rare;
mod sift;
#[cfg(test)]
mod tests;
