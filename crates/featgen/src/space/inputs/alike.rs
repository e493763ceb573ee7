//! The columns that are most like given ones.

use std::ops::Range;

use super::Inputs;
use crate::error::Result;
use crate::space::TopB;
use crate::space::ask::Residuals;

/// A column by its position, and whether it goes the other way.
type Alike = (usize, bool);

impl Inputs<'_> {
    /// For each vector of `v`, one after the other: the columns whose sums with it are largest in size, at least `least`, at most
    /// `most` of them, and these sums. Columns at the positions `except` names for a vector are left out. One reading of the data.
    pub(crate) fn most_alike(
        &self,
        v: &[f64],
        least: f64,
        most: usize,
        except: &[Vec<usize>],
    ) -> Result<Vec<Vec<(u64, f64)>>> {
        let outputs = except.len();
        let best_of = |range: Range<usize>, sums: &[f64]| {
            let each = sums.chunks_exact(range.len()).zip(except);
            let best = |(sums, except): (&[f64], &Vec<usize>)| {
                let mut top = TopB::new(most);
                let alike =
                    range.clone().zip(sums).filter(|(p, sum)| sum.abs() >= least && !except.contains(p));
                alike.for_each(|(position, sum)| top.offer(sum.abs(), (position, *sum < 0.0)));
                top
            };
            each.map(best).collect::<Vec<TopB<Alike>>>()
        };
        let merge = |a: Vec<TopB<Alike>>, b: Vec<TopB<Alike>>| {
            a.into_iter().zip(b).map(|(a, b)| a.merge(b)).collect::<Vec<_>>()
        };
        let v = Residuals { v, rows: self.rows(), outputs };
        let tops = self.all_sums(v, best_of, merge)?.unwrap_or_default();
        let signed = |top: TopB<Alike>| {
            let found = top.into_sorted().into_iter();
            found.map(|s| (self.columns.id(s.item.0), if s.item.1 { -s.score } else { s.score })).collect()
        };
        Ok(tops.into_iter().map(signed).collect())
    }
}
