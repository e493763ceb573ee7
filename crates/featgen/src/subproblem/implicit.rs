//! `H = X' D X` of columns that are not written down, over the rows that have curvature: with a hinge these are few, the badly served.

use std::ops::Range;
use std::sync::Arc;

use crate::operator::{LinearOperator, Operator};
use crate::parallel;

/// Products with H, and what they do not say of themselves.
#[derive(Default)]
pub(super) struct Implicit {
    /// Of all rows.
    pub(super) weights: Vec<f64>,
    /// Where columns are nested.
    pub(super) nested: Vec<Range<usize>>,
    /// `X' h`.
    pub(super) sums: Vec<f64>,
    pub(super) diagonal: Vec<f64>,
    /// How many operators it knows.
    known: usize,
    form: Form,
}

enum Form {
    Tables(Tables),
    Apart(Apart),
}

impl Default for Form {
    fn default() -> Self {
        Self::Apart(Apart::default())
    }
}

impl Implicit {
    /// Brings it up to these operators, which begin with those that it knows, and weights.
    pub(super) fn update(&mut self, operators: &[Operator], h: &[f64]) {
        if self.known != operators.len() {
            self.known = operators.len();
            self.nested = nested(operators);
            self.form = Tables::new(operators, h.len()).map_or_else(Form::default, Form::Tables);
        }
        self.weights = h.to_vec();
        match &mut self.form {
            Form::Tables(tables) => {
                tables.weigh(h);
                [self.sums, self.diagonal] = tables.sums_and_squares();
            }
            Form::Apart(apart) => {
                *apart = Apart::new(operators, h);
                self.sums = apart.operators.iter().flat_map(|x| x.transpose(&apart.active)).collect();
                self.diagonal = apart.operators.iter().flat_map(|x| x.squares(&apart.active)).collect();
            }
        }
    }

    /// `H w`.
    pub(super) fn apply(&self, w: &[f64]) -> Vec<f64> {
        match &self.form {
            Form::Tables(tables) => tables.apply(w),
            Form::Apart(apart) => apart.apply(w),
        }
    }
}

/// Which columns of these operators are nested.
fn nested(operators: &[Operator]) -> Vec<Range<usize>> {
    let mut width = 0;
    let ranges = operators.iter().map(|operator| {
        width += operator.width();
        (operator, width - operator.width()..width)
    });
    ranges.filter(|(operator, _)| operator.is_nested()).map(|(_, range)| range).collect()
}

/// Operators over the rows that have weights, one after the other.
#[derive(Default)]
struct Apart {
    /// The weights that are not 0.
    active: Vec<f64>,
    operators: Vec<Operator>,
}

impl Apart {
    fn new(operators: &[Operator], h: &[f64]) -> Self {
        let mut places = 0..;
        let place: Vec<Option<u32>> =
            h.iter().map(|&h| if h == 0.0 { None } else { places.next() }).collect();
        let active = h.iter().copied().filter(|&h| h != 0.0).collect();
        Self { active, operators: parallel::map(operators.len(), |k| operators[k].restrict(&place)) }
    }

    fn apply(&self, w: &[f64]) -> Vec<f64> {
        let (mut f, mut rest) = (vec![0.0; self.active.len()], w);
        for operator in &self.operators {
            let (own, after) = rest.split_at(operator.width());
            rest = after;
            if own.iter().any(|&w| w != 0.0) {
                operator.apply(own, &mut f);
            }
        }
        f.iter_mut().zip(&self.active).for_each(|(f, h)| *f *= h);
        self.operators.iter().flat_map(|operator| operator.transpose(&f)).collect()
    }
}

/// Where every operator is known by codes: one pass over the rows, in which tables that stay in a near cache are looked up and added to.
struct Tables {
    /// For every operator, its columns over codes, and its part of the tables.
    over_codes: Vec<(Arc<dyn LinearOperator>, Range<usize>)>,
    /// Row after row, the places in the tables of its codes above 0.
    places: Vec<u32>,
    /// Rows, and where their places end. Those with as many places come one after the other: who knows how many to expect does not
    /// stumble at the end of each.
    rows: Vec<(u32, usize)>,
    /// The places of rows whose weight is not 0, and this weight.
    active: Vec<(Range<usize>, f64)>,
}

impl Tables {
    /// Over so many rows; `None` unless all operators are known by codes.
    fn new(operators: &[Operator], rows: usize) -> Option<Self> {
        let (mut over_codes, mut end) = (Vec::with_capacity(operators.len()), 0);
        let mut counts = vec![0; rows];
        for operator in operators {
            let (coded, start) = (operator.coded()?, end);
            coded.codes().for_each(|row, _| counts[row] += 1);
            end += coded.count();
            u32::try_from(end).ok()?;
            over_codes.push((Arc::clone(coded.over_codes()), start..end));
        }
        let mut order: Vec<u32> = (0..rows as u32).filter(|&row| counts[row as usize] > 0).collect();
        order.sort_by_key(|&row| counts[row as usize]);
        // Where the next place of a row is to be written.
        let mut nexts = vec![0; rows];
        let mut end = 0;
        let rows = order.into_iter().map(|row| {
            nexts[row as usize] = end;
            end += counts[row as usize];
            (row, end)
        });
        let rows: Vec<(u32, usize)> = rows.collect();
        let mut places = vec![0; end];
        for (operator, (_, part)) in operators.iter().zip(&over_codes) {
            operator.coded()?.codes().for_each(|row, code| {
                places[nexts[row]] = (part.start + code) as u32;
                nexts[row] += 1;
            });
        }
        Some(Self { over_codes, places, rows, active: Vec::new() })
    }

    /// Weighs rows by these weights from now on.
    fn weigh(&mut self, h: &[f64]) {
        let mut start = 0;
        let parts = self.rows.iter().map(|&(row, end)| {
            let part = std::mem::replace(&mut start, end)..end;
            (part, h[row as usize])
        });
        self.active = parts.filter(|(_, h)| *h != 0.0).collect();
    }

    /// Tables of 0 for all operators.
    fn empty(&self) -> Vec<f64> {
        vec![0.0; self.over_codes.last().map_or(0, |(_, part)| part.end)]
    }

    /// Calls `each` with the places and the weight of every row.
    #[inline(always)]
    fn each_row(&self, mut each: impl FnMut(&[u32], f64)) {
        self.active.iter().for_each(|(part, h)| each(&self.places[part.clone()], *h));
    }

    /// `X' h` and the diagonal of H.
    fn sums_and_squares(&self) -> [Vec<f64>; 2] {
        let mut sums = self.empty();
        self.each_row(|places, h| places.iter().for_each(|&place| sums[place as usize] += h));
        let parts = || self.over_codes.iter().map(|(x, part)| (x, &sums[part.clone()]));
        let totals = parts().flat_map(|(x, sums)| x.transpose(sums)).collect();
        [totals, parts().flat_map(|(x, sums)| x.squares(sums)).collect()]
    }

    fn apply(&self, w: &[f64]) -> Vec<f64> {
        let (mut table, mut rest) = (self.empty(), w);
        for (x, part) in &self.over_codes {
            let (own, after) = rest.split_at(x.width());
            rest = after;
            x.apply(own, &mut table[part.clone()]);
        }
        let mut sums = self.empty();
        self.each_row(|places, h| {
            let f = h * places.iter().map(|&place| table[place as usize]).sum::<f64>();
            places.iter().for_each(|&place| sums[place as usize] += f);
        });
        self.over_codes.iter().flat_map(|(x, part)| x.transpose(&sums[part.clone()])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Column;
    use crate::feature::Steps;

    /// An operator that does not tell that it has codes.
    #[derive(Debug)]
    struct Uncoded(Operator);

    impl LinearOperator for Uncoded {
        fn width(&self) -> usize {
            self.0.width()
        }

        fn is_nested(&self) -> bool {
            true
        }

        fn apply(&self, w: &[f64], f: &mut [f64]) {
            self.0.apply(w, f);
        }

        fn transpose(&self, v: &[f64]) -> Vec<f64> {
            self.0.transpose(v)
        }

        fn squares(&self, v: &[f64]) -> Vec<f64> {
            self.0.squares(v)
        }

        fn pack(&self, rows: &[(u32, f64)], stride: usize, out: &mut [f64]) {
            self.0.pack(rows, stride, out);
        }

        fn restrict(&self, place: &[Option<u32>]) -> Operator {
            self.0.restrict(place)
        }
    }

    /// In one pass over the rows and operator by operator, products are those of the columns as they are.
    #[test]
    fn products_are_those_of_columns() {
        let n = 90;
        let value = |i: usize, j: usize| ((i * (7 + j)) % 11) as f64;
        for (often, tables) in [(1, true), (9, true), (1, false)] {
            let mut operators: Vec<Operator> = (0..3)
                .map(|j| {
                    let column =
                        (0..n).map(|i| if (i + j) % often == 0 { value(i, j) } else { 0.0 }).collect();
                    let column = Column::Dense(column);
                    Operator::Implicit(Arc::new(Steps::of(column.view(), 5, 10.0, 1.0)))
                })
                .collect();
            if !tables {
                // One that has no codes.
                operators[1] = Operator::Implicit(Arc::new(Uncoded(operators[1].clone())));
            }
            let h: Vec<f64> = (0..n).map(|i| [0.0, 2.0, 0.5][i % 3]).collect();
            let mut implicit = Implicit::default();
            // As if some had come later, with other weights.
            implicit.update(&operators[..2], &vec![1.0; n]);
            implicit.update(&operators, &vec![3.0; n]);
            implicit.update(&operators, &h);
            assert_eq!(matches!(implicit.form, Form::Tables(_)), tables);
            assert_eq!(implicit.nested, [0..5, 5..10, 10..15]);

            let product = |w: &[f64]| {
                let mut f = vec![0.0; n];
                operators.iter().zip(w.chunks(5)).for_each(|(x, w)| x.apply(w, &mut f));
                f.iter_mut().zip(&h).for_each(|(f, h)| *f *= h);
                operators.iter().flat_map(|x| x.transpose(&f)).collect::<Vec<f64>>()
            };
            let near = |a: &[f64], b: &[f64]| {
                assert_eq!(a.len(), b.len());
                assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9), "{a:?} {b:?}");
            };
            let w: Vec<f64> = (0..15).map(|l| f64::from(l % 4) - 1.5).collect();
            near(&implicit.apply(&w), &product(&w));
            let sums: Vec<f64> = operators.iter().flat_map(|x| x.transpose(&h)).collect();
            near(&implicit.sums, &sums);
            let unit = |l: usize| (0..15).map(|k| f64::from(u8::from(k == l))).collect::<Vec<_>>();
            let diagonal: Vec<f64> = (0..15).map(|l| product(&unit(l))[l]).collect();
            near(&implicit.diagonal, &diagonal);
        }
    }
}
