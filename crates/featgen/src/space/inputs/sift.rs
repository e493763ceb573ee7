//! The best of all columns, most of which are looked at only roughly, or not at all (see [`rare`](super::rare)).
//!
//! A storage may have sums that cost little, and know how far off they are: [`Columns::rough_dots`](crate::data::Columns::rough_dots).
//! Then so are the scores that are made of them. No column can be among the B best whose score is surely below what B others surely
//! reach. The few that may be have their exact scores computed, and compete by those: what is found is what exact scores of all columns
//! would find, to the bit.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::rare::Rare;
use super::{Inputs, both};
use crate::data::Outputs;
use crate::error::Result;
use crate::parallel;
use crate::space::ask::{Gain, Residuals, Sums};
use crate::space::topb::{Tops, Wanted};

/// It is not worth it where more than one of so many columns is wanted.
const FEW: usize = 8;

/// Where more than one of so many columns is left for an exact look, the rough one was in vain; after so many of these there are no
/// more.
const MANY_LEFT: usize = 3;
const PATIENCE: usize = 2;

/// How many columns are fetched together before an exact look.
const AHEAD: usize = 64;

/// How the columns of a space are sifted, from search to search.
pub(in crate::space) struct Sieve {
    /// Bytes that rough scores, or what is known of columns of few values, may take.
    pub(in crate::space) room: u64,
    /// How often it was in vain.
    in_vain: AtomicUsize,
    /// What is known of columns of few values, if that is worth it, once somebody asked.
    rare: OnceLock<Option<Rare>>,
}

impl Default for Sieve {
    fn default() -> Self {
        Self { room: u64::MAX, in_vain: AtomicUsize::new(0), rare: OnceLock::new() }
    }
}

/// How the best columns are found.
enum Way<'s> {
    /// By an exact look at all.
    All,
    /// By one at those of many values, and at those of few that may be as good.
    Frequent(&'s Rare),
    /// By a rough look at all, and an exact one at those that may be among the best.
    Rough,
}

impl Sieve {
    /// For one search: it takes several to make up for the reading that finds out what columns of few values can be.
    pub(in crate::space) fn for_one_search(room: u64) -> Self {
        Self { room, rare: OnceLock::from(None), ..Self::default() }
    }

    /// Remembers that a look at some columns before the others was in vain.
    pub(super) fn was_in_vain(&self) {
        self.in_vain.fetch_add(1, Ordering::Relaxed);
    }

    fn is_hopeless(&self) -> bool {
        self.in_vain.load(Ordering::Relaxed) >= PATIENCE
    }
}

/// What covers the rounding of scores, gains and bounds once sums are known.
const SLACK: f64 = 1e-12;

/// What a score or a gain is at least and at most.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in crate::space) struct Between {
    pub(in crate::space) least: f64,
    /// Not a number where nothing is known.
    pub(in crate::space) most: f64,
}

/// What the score and the gain of a column are at most. Not a number where nothing is known.
#[derive(Debug, Clone, Copy, Default)]
struct Most {
    score: f64,
    gain: f64,
}

impl Inputs<'_> {
    /// The best columns by score, of all and of those that are not taken.
    pub(in crate::space) fn best_by_score(
        &self,
        v: Residuals<'_>,
        wanted: Wanted,
        taken: &[usize],
        sieve: &Sieve,
    ) -> Result<Tops<usize>> {
        let way = self.way(wanted, v.outputs, sieve, || self.columns.has_rough(sieve.room))?;
        let offer_all = |range: Range<usize>, lengths: &[f64], tops: &mut Tops<usize>| {
            let mut known = tops.threshold();
            for (position, score) in range.zip(lengths).map(|(position, length)| (position, length.abs())) {
                if !is_below(score, known) {
                    tops.offer(score, position, taken);
                    known = tops.threshold();
                }
            }
        };
        if matches!(way, Way::All) {
            let best_of = |range: Range<usize>, lengths: &[f64]| {
                let mut tops = Tops::new(wanted);
                offer_all(range, lengths, &mut tops);
                tops
            };
            return Ok(self.pulls(v, best_of, Tops::merge)?.unwrap_or_else(|| Tops::new(0)));
        }
        let laid = Outputs::new(v.v, v.rows);
        let exact = |range: Range<usize>, tops: &mut Tops<usize>| {
            self.with_sums(range.clone(), v.outputs, &laid, None, |sums| {
                self.check(range.start, sums, range.len())?;
                offer_all(range.clone(), &Sums::new(sums, range.len()).lengths(), tops);
                Ok(())
            })?
        };
        if let Way::Frequent(rare) = way {
            let reach = rare.reach(v, None);
            let least = |tops: &Tops<usize>| reach.least_by_score(tops.threshold());
            return self.best_of_frequent(rare, wanted, exact, least, sieve);
        }
        let rough = |range: Range<usize>, tops: &mut Tops<usize>| {
            let offer = |(position, score): (usize, Between)| {
                tops.offer(score.least, position, taken);
                Most { score: score.most, gain: 0.0 }
            };
            range.clone().zip(self.rough_lengths(range, v.outputs, &laid)).map(offer).collect()
        };
        let may_win = |most: &Most, tops: &Tops<usize>| !is_below(most.score, tops.threshold());
        self.sift(sieve, wanted, rough, may_win, exact)
    }

    /// Between which the length of the `c_j` of every column is, by its position, for a search for the best of so many candidates made
    /// of columns. None if such a look does not pay.
    pub(in crate::space) fn lengths_roughly(
        &self,
        v: Residuals<'_>,
        wanted: Wanted,
        candidates: usize,
        sieve: &Sieve,
    ) -> Result<Option<Vec<Between>>> {
        if !(self.is_worth_sifting(wanted, candidates, sieve) && self.columns.has_rough(sieve.room)) {
            return Ok(None);
        }
        let (laid, batch) = (Outputs::new(v.v, v.rows), self.columns.batch());
        let mut lengths = vec![Between::default(); self.columns.len()];
        parallel::try_chunks_mut(&mut lengths, batch, &|k, lengths| {
            self.go_on()?;
            let range = k * batch..k * batch + lengths.len();
            lengths.copy_from_slice(&self.rough_lengths(range, v.outputs, &laid));
            Ok(())
        })?;
        Ok(Some(lengths))
    }

    /// The squares of the lengths of the `c_j` of columns at these positions, which increase; 0 for all others.
    pub(in crate::space) fn squares_at(
        &self,
        positions: impl Iterator<Item = usize>,
        v: Residuals<'_>,
        sieve: &Sieve,
    ) -> Result<Vec<f64>> {
        let runs = runs(positions, self.columns.batch());
        self.count_in_vain(&runs, sieve);
        let laid = Outputs::new(v.v, v.rows);
        let look = |k: usize| {
            self.fetch_ahead(&runs, k);
            self.with_sums(runs[k].clone(), v.outputs, &laid, None, |sums| {
                self.check(runs[k].start, sums, runs[k].len())?;
                let sums = Sums::new(sums, runs[k].len());
                Ok((0..runs[k].len()).map(|j| sums.square(j)).collect::<Vec<f64>>())
            })?
        };
        let found = parallel::try_map(runs.len(), look)?;
        let mut squares = vec![0.0; self.columns.len()];
        runs.into_iter().zip(found).for_each(|(run, found)| squares[run].copy_from_slice(&found));
        Ok(squares)
    }

    /// Between which the length of the `c_j` of each column of a range is.
    fn rough_lengths(&self, range: Range<usize>, outputs: usize, laid: &Outputs<'_>) -> Vec<Between> {
        let mut out = vec![0.0; 2 * outputs * range.len()];
        self.columns.rough_dots(range.clone(), laid, &mut out);
        self.weigh(&range, &mut out, 1);
        let rough = Rough::new(&out, range.len());
        (0..range.len()).map(|j| Between::length((0..outputs).map(|k| rough.at(k, j)))).collect()
    }

    /// The best of all columns by score, and of those that are not taken by gain.
    pub(in crate::space) fn best_by_gain(
        &self,
        v: Residuals<'_>,
        gain: &Gain<'_>,
        wanted: Wanted,
        taken: &[usize],
        sieve: &Sieve,
    ) -> Result<Tops<usize>> {
        let offer_all = |range: Range<usize>, lengths: &[f64], gains: &[f64], tops: &mut Tops<usize>| {
            let thresholds = |tops: &Tops<usize>| [tops.best.threshold(), tops.fresh.threshold()];
            let mut known = thresholds(tops);
            for ((position, length), &gain) in range.zip(lengths).zip(gains) {
                let score = length.abs();
                // Most are told apart here already.
                if !(is_below(score, known[0]) && is_below(gain, known[1])) {
                    tops.offer_both(score, gain, position, taken);
                    known = thresholds(tops);
                }
            }
        };
        let has_rough = || self.columns.has_rough_gains() && self.columns.has_rough(sieve.room);
        let way = self.way(wanted, v.outputs, sieve, has_rough)?;
        if matches!(way, Way::All) {
            let best_of = |range: Range<usize>, lengths: &[f64], gains: &[f64]| {
                let mut tops = Tops::new(wanted);
                offer_all(range, lengths, gains, &mut tops);
                tops
            };
            return Ok(self.gains(v, gain, best_of, Tops::merge)?.unwrap_or_else(|| Tops::new(0)));
        }
        let (outputs, both, totals) = (v.outputs, both(v, gain), gain.totals(v.rows));
        let laid = Outputs::new(&both, v.rows);
        let exact = |range: Range<usize>, tops: &mut Tops<usize>| {
            self.go_on()?;
            let mut sums = vec![0.0; 3 * outputs * range.len()];
            self.columns.gain_dots(range.clone(), &laid, &mut sums);
            let gains = self.gains_of(&range, &mut sums, gain, &totals)?;
            let lengths = Sums::new(&sums[..outputs * range.len()], range.len()).lengths();
            offer_all(range, &lengths, &gains, tops);
            Ok(())
        };
        if let Way::Frequent(rare) = way {
            let reach = rare.reach(v, Some(gain));
            let least = |tops: &Tops<usize>| {
                let by_gain = reach.least_by_gain(tops.fresh.threshold());
                by_gain.min(reach.least_by_score(tops.best.threshold()))
            };
            return self.best_of_frequent(rare, wanted, exact, least, sieve);
        }
        let rough = |range: Range<usize>, tops: &mut Tops<usize>| {
            let mut out = vec![0.0; 6 * outputs * range.len()];
            self.columns.rough_gain_dots(range.clone(), &laid, &mut out);
            // Of sums and of errors alike, those with squares come last.
            for half in out.chunks_mut(3 * outputs * range.len()) {
                let (dots, squares) = half.split_at_mut(2 * outputs * range.len());
                self.weigh(&range, dots, 1);
                self.weigh(&range, squares, 2);
            }
            let rough = Rough::new(&out, range.len());
            let offer = |(j, position)| {
                let score = Between::length((0..outputs).map(|k| rough.at(k, j)));
                let sums =
                    |k: usize| [rough.at(k, j), rough.at(outputs + k, j), rough.at(2 * outputs + k, j)];
                let gain = Between::gain(gain, (0..outputs).map(|k| (sums(k), totals[k])));
                tops.offer_both(score.least, gain.least, position, taken);
                Most { score: score.most, gain: gain.most }
            };
            range.enumerate().map(offer).collect()
        };
        let may_win = |most: &Most, tops: &Tops<usize>| {
            let no_best = is_below(most.score, tops.best.threshold());
            !(no_best && is_below(most.gain, tops.fresh.threshold()))
        };
        self.sift(sieve, wanted, rough, may_win, exact)
    }

    /// How to find the best, so many of them.
    fn way<'s>(
        &self,
        wanted: Wanted,
        outputs: usize,
        sieve: &'s Sieve,
        has_rough: impl Fn() -> bool,
    ) -> Result<Way<'s>> {
        if self.is_worth_sifting(wanted, self.columns.len(), sieve) && has_rough() {
            return Ok(Way::Rough);
        }
        Ok(self.rare(outputs, sieve)?.map_or(Way::All, Way::Frequent))
    }

    /// What is known of columns of few values, if it pays and there is room for it.
    fn rare<'s>(&self, outputs: usize, sieve: &'s Sieve) -> Result<Option<&'s Rare>> {
        if sieve.is_hopeless() || !self.is_very_sparse() || self.rare_bytes(outputs) > sieve.room {
            return Ok(None);
        }
        if let Some(rare) = sieve.rare.get() {
            return Ok(rare.as_ref());
        }
        let rare = Rare::new(self)?;
        Ok(sieve.rare.get_or_init(|| rare).as_ref())
    }

    /// Bytes of that, if it may pay.
    pub(in crate::space) fn rare_bytes(&self, outputs: usize) -> u64 {
        if self.is_very_sparse() { Rare::bytes(self.columns.len(), self.rows(), outputs) } else { 0 }
    }

    /// Bytes of what is known of all columns after a rough look.
    pub(in crate::space) fn sift_bytes(&self) -> u64 {
        let rough = self.columns.rough_bytes() > 0 || self.columns.has_rough(0);
        if rough { (self.columns.len() * size_of::<Most>()) as u64 } else { 0 }
    }

    /// Whether a rough look pays where the best of so many candidates are wanted.
    fn is_worth_sifting(&self, wanted: Wanted, candidates: usize, sieve: &Sieve) -> bool {
        let many = wanted.best.saturating_add(wanted.fresh).saturating_mul(FEW);
        !sieve.is_hopeless() && many <= candidates && self.columns.by_blocks().is_none()
    }

    /// Remembers a look that was in vain, by the columns that it left.
    fn count_in_vain(&self, left: &[Range<usize>], sieve: &Sieve) {
        if left.iter().map(Range::len).sum::<usize>() > self.columns.len() / MANY_LEFT {
            sieve.was_in_vain();
        }
    }

    /// What is looked at after the k-th of these runs is on its way meanwhile, where it is on disk.
    fn fetch_ahead(&self, runs: &[Range<usize>], k: usize) {
        if k.is_multiple_of(AHEAD) {
            let next = k..runs.len().min(k + 2 * AHEAD);
            runs[next].iter().for_each(|run| self.columns.will_read(run.clone()));
        }
    }

    /// The best of all columns. `rough` offers what the columns of a range are worth at least, and tells what at most; those that
    /// `may_win` against what is known then are offered once more by `exact`.
    fn sift(
        &self,
        sieve: &Sieve,
        wanted: Wanted,
        rough: impl Fn(Range<usize>, &mut Tops<usize>) -> Vec<Most> + Sync,
        may_win: impl Fn(&Most, &Tops<usize>) -> bool + Sync,
        exact: impl Fn(Range<usize>, &mut Tops<usize>) -> Result<()> + Sync,
    ) -> Result<Tops<usize>> {
        let (len, batch) = (self.columns.len(), self.columns.batch());
        let mut most = vec![Most::default(); len];
        let one = |k: usize, most: &mut [Most]| {
            self.go_on()?;
            let mut tops = Tops::new(wanted);
            most.copy_from_slice(&rough(k * batch..k * batch + most.len(), &mut tops));
            Ok(tops)
        };
        let known = parallel::reduce_chunks_mut(&mut most, batch, one, Tops::merge)?;
        let known = known.unwrap_or_else(|| Tops::new(wanted));
        let left = runs((0..len).filter(|&position| may_win(&most[position], &known)), batch);
        self.count_in_vain(&left, sieve);
        let look = |k: usize| {
            self.fetch_ahead(&left, k);
            let mut tops = Tops::new(wanted);
            exact(left[k].clone(), &mut tops)?;
            Ok(tops)
        };
        let best = parallel::reduce(left.len(), look, Tops::merge)?;
        Ok(best.unwrap_or_else(|| Tops::new(wanted)))
    }
}

/// Whether a number that may not be one is surely below another.
pub(super) fn is_below(most: f64, other: f64) -> bool {
    most < other
}

/// Positions, which increase, as ranges of at most so many neighbours.
pub(super) fn runs(positions: impl Iterator<Item = usize>, most: usize) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for position in positions {
        match runs.last_mut().filter(|run| run.end == position && run.len() < most) {
            Some(run) => run.end += 1,
            None => runs.push(position..position + 1),
        }
    }
    runs
}

/// Rough sums over some columns: for one vector after the other, and then how far they are off.
struct Rough<'o> {
    sums: &'o [f64],
    errors: &'o [f64],
    columns: usize,
}

impl<'o> Rough<'o> {
    fn new(out: &'o [f64], columns: usize) -> Self {
        let (sums, errors) = out.split_at(out.len() / 2);
        Self { sums, errors, columns }
    }

    /// Between which sizes the sum of a column with a vector is.
    fn at(&self, vector: usize, column: usize) -> Between {
        let (sum, error) =
            (self.sums[vector * self.columns + column], self.errors[vector * self.columns + column]);
        // Not a number if one of them is not: `max` would hide that.
        let least = if sum.abs() > error { sum.abs() - error } else { 0.0 };
        Between { least, most: sum.abs() + error }
    }
}

impl Between {
    /// Whether it is so whatever is not known.
    pub(in crate::space) fn is_surely_below(self, other: f64) -> bool {
        is_below(self.most, other)
    }

    /// The length of a vector of numbers whose sizes are between these.
    fn length(sizes: impl Iterator<Item = Self> + Clone) -> Self {
        let length = |size: fn(Self) -> f64| crate::space::ask::length(sizes.clone().map(size));
        Self {
            least: length(|size| size.least) * (1.0 - SLACK),
            most: length(|size| size.most) * (1.0 + SLACK),
        }
    }

    /// The gain of a feature whose sums, as [`Gain::in_output`] takes them, have sizes between these.
    fn gain(gain: &Gain<'_>, sums: impl Iterator<Item = ([Self; 3], f64)>) -> Self {
        let mut between = Self { least: 0.0, most: 0.0 };
        for ([c, first, second], total) in sums {
            let lost = |first: f64| if gain.intercept && total > 0.0 { first * first / total } else { 0.0 };
            // What is left of a difference may be little beside what its rounding is in proportion to.
            let rounding = SLACK * (second.most + lost(first.most));
            let low = (second.least - lost(first.most) - rounding).max(0.0);
            let high = second.most - lost(first.least) + rounding;
            let high = if high.is_nan() { f64::INFINITY } else { high.max(0.0) };
            between.least += c.least * c.least / (1.0 + high);
            between.most += c.most * c.most / (1.0 + low);
        }
        Self { least: between.least * (1.0 - SLACK), most: between.most * (1.0 + SLACK) }
    }
}
