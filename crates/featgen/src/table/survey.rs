//! What is known of the columns of a table once all rows were seen, some at a time: enough to say what they are and how they
//! become inputs. It does not depend on how many rows came at a time.

use super::frame::{Frame, Series, Unit};
use super::schema::is_called_id;
use super::texts::Levels;

/// What the numbers of a column add up to.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Rows with a number.
    pub count: u64,
    /// Their sum, from the first row to the last.
    pub sum: f64,
    /// The least and the largest.
    pub range: Option<[f64; 2]>,
    /// All of them, where they were asked for.
    values: Option<Vec<f64>>,
}

impl Tally {
    /// Of nothing yet; `keep` if the median will be asked for.
    pub(super) fn keeping(keep: bool) -> Self {
        Self { values: keep.then(Vec::new), ..Self::default() }
    }

    fn add(&mut self, x: f64) {
        self.add_times(x, 1);
    }

    /// Adds a number that so many rows have.
    pub(super) fn add_times(&mut self, x: f64, rows: u32) {
        if x.is_nan() || rows == 0 {
            return;
        }
        self.count += u64::from(rows);
        self.sum += f64::from(rows) * x;
        self.range = Some(self.range.map_or([x, x], |[low, high]| [low.min(x), high.max(x)]));
        if let Some(values) = &mut self.values {
            values.extend(std::iter::repeat_n(x, rows as usize));
        }
    }

    /// The mean; 0 of nothing. Where the sum is too large to compute with, the middle between the least and the largest.
    pub fn mean(&self) -> f64 {
        match self.range {
            None => 0.0,
            Some([low, high]) if !self.sum.is_finite() => low / 2.0 + high / 2.0,
            Some(_) => self.sum / self.count as f64,
        }
    }

    /// The median, where values were kept: of an even number, the mean of the two in the middle.
    pub fn median(&self) -> Option<f64> {
        let mut sorted = self.values.clone()?;
        sorted.sort_unstable_by(f64::total_cmp);
        let (low, high) = (*sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted[sorted.len() / 2]);
        Some(if low == high { low } else { low / 2.0 + high / 2.0 })
    }

    /// Whether all are whole numbers, no two of them the same; known only where values were kept.
    pub fn all_different_integers(&self) -> bool {
        let Some(values) = &self.values else { return false };
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.iter().all(|x| x.fract() == 0.0) && sorted.windows(2).all(|pair| pair[0] != pair[1])
    }
}

/// What is known of a column.
#[derive(Debug, Clone)]
pub enum Surveyed {
    /// Numbers.
    Numbers(Unit, Tally),
    /// Text.
    Texts(Levels),
    /// Nothing: it was not looked at.
    Unread,
}

/// What is known of a table.
#[derive(Debug, Clone)]
pub struct Survey {
    /// What the columns are called.
    pub names: Vec<String>,
    /// What is known of each.
    pub columns: Vec<Surveyed>,
    /// Rows that were seen.
    pub rows: u64,
    keep_values: bool,
}

impl Survey {
    /// Of a table of which nothing was seen yet; `keep_values` if medians will be asked for.
    pub fn new(keep_values: bool) -> Self {
        Self { names: Vec::new(), columns: Vec::new(), rows: 0, keep_values }
    }

    /// Looks at further rows. All parts of a table have the same columns, of the same kinds.
    pub fn add(&mut self, frame: &Frame) {
        if self.rows == 0 {
            self.begin(frame);
        }
        self.rows += frame.rows as u64;
        // Numbers lie by rows, so that all columns are gone through together.
        let mut tallies: Vec<(usize, &mut Tally)> = Vec::new();
        for (surveyed, series) in self.columns.iter_mut().zip(&frame.columns) {
            match (surveyed, series) {
                (Surveyed::Numbers(_, tally), Series::Numbers(place, _)) => tallies.push((*place, tally)),
                (Surveyed::Texts(levels), Series::Texts(texts)) => {
                    texts.levels().iter().filter(|level| level.1 > 0).for_each(|(text, count)| {
                        levels.count(text, count);
                    });
                }
                _ => {}
            }
        }
        for row in frame.numbers.chunks_exact(frame.width.max(1)) {
            tallies.iter_mut().for_each(|(place, tally)| tally.add(row[*place]));
        }
    }

    fn begin(&mut self, frame: &Frame) {
        self.names = frame.names.clone();
        let of = |(series, name): (&Series, &String)| match series {
            Series::Numbers(_, unit) => {
                let kept = self.keep_values || is_called_id(name);
                Surveyed::Numbers(*unit, Tally::keeping(kept))
            }
            Series::Texts(_) => Surveyed::Texts(Levels::default()),
            Series::Unread => Surveyed::Unread,
        };
        self.columns = frame.columns.iter().zip(&frame.names).map(of).collect();
    }
}
