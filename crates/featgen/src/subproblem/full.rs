//! Full columns of the cache: in single precision while that loses no digit, which halves what every product reads. Sums are of the
//! same numbers in the same order, in double precision, so that no bit depends on it.

use rayon::prelude::*;

use crate::kernels::{self, Number};

#[derive(Debug, Clone)]
pub(super) enum Full {
    Single(Vec<Vec<f32>>),
    Double(Vec<Vec<f64>>),
}

/// Rows of the result that one task computes: they stay in the first-level cache while columns stream by.
const PART: usize = 1 << 11;

/// Columns that are looked at together when rows are packed.
const ABREAST: usize = 8;

/// Evaluates an expression about the columns, whatever their precision.
macro_rules! with_columns {
    ($full:expr, $columns:ident => $value:expr) => {
        match $full {
            Full::Single($columns) => $value,
            Full::Double($columns) => $value,
        }
    };
}

impl Full {
    pub(super) fn new() -> Self {
        Self::Single(Vec::new())
    }

    pub(super) fn len(&self) -> usize {
        with_columns!(self, columns => columns.len())
    }

    pub(super) fn push(&mut self, values: Vec<f64>) {
        if let Self::Single(columns) = self {
            if values.iter().all(|&x| f64::from(x as f32) == x) {
                return columns.push(values.into_iter().map(|x| x as f32).collect());
            }
            *self = Self::Double(columns.drain(..).map(widened).collect());
        }
        if let Self::Double(columns) = self {
            columns.push(values);
        }
    }

    pub(super) fn truncate(&mut self, width: usize) {
        with_columns!(self, columns => columns.truncate(width));
    }

    pub(super) fn into_columns(self) -> Vec<Vec<f64>> {
        match self {
            Self::Single(columns) => columns.into_iter().map(widened).collect(),
            Self::Double(columns) => columns,
        }
    }

    /// Writes what some rows hold in the first columns into `out`, row after row.
    pub(super) fn pack(&self, rows: &[(u32, f64)], width: usize, out: &mut [f64]) {
        with_columns!(self, columns => pack(&columns[..width], rows, out));
    }

    /// `f += X w`.
    pub(super) fn apply(&self, w: &[f64], f: &mut [f64]) {
        with_columns!(self, columns => apply(columns, w, f));
    }

    /// `X' v`.
    pub(super) fn transpose(&self, v: &[f64]) -> Vec<f64> {
        with_columns!(self, columns => transpose(columns, v))
    }

    /// `X' v` for a `v` that is zero but for a few rows.
    pub(super) fn transpose_few(&self, v: &[(u32, f64)]) -> Vec<f64> {
        with_columns!(self, columns => transpose_few(columns, v))
    }

    /// `sum_i h_i x_ij^2` of every column.
    pub(super) fn square_sums(&self, h: &[f64]) -> Vec<f64> {
        with_columns!(self, columns => square_sums(columns, h))
    }
}

fn widened(column: Vec<f32>) -> Vec<f64> {
    column.into_iter().map(f64::from).collect()
}

fn pack<T: Number>(columns: &[Vec<T>], rows: &[(u32, f64)], out: &mut [f64]) {
    // A few columns at a time: what is read of each, and what is written of each row, follows on what was before.
    for (k, few) in columns.chunks(ABREAST).enumerate() {
        for (out, &(i, _)) in out.chunks_exact_mut(columns.len()).zip(rows) {
            let out = &mut out[k * ABREAST..];
            few.iter().zip(out).for_each(|(x, out)| *out = x[i as usize].wide());
        }
    }
}

fn apply<T: Number>(columns: &[Vec<T>], w: &[f64], f: &mut [f64]) {
    let used: Vec<usize> = (0..columns.len()).filter(|&j| w[j] != 0.0).collect();
    let (together, rest) = used.as_chunks::<{ kernels::ROWS }>();
    f.par_chunks_mut(PART).enumerate().for_each(|(c, part)| {
        let length = part.len();
        let values = |j: usize| &columns[j][c * PART..][..length];
        for js in together {
            kernels::add_rows(js.map(values), js.map(|j| w[j]), part);
        }
        for &j in rest {
            kernels::add_scaled(w[j], values(j), part);
        }
    });
}

fn transpose<T: Number>(columns: &[Vec<T>], v: &[f64]) -> Vec<f64> {
    let fours = |four: &[Vec<T>]| match four {
        [a, b, c, d] => kernels::dot4([a, b, c, d], v).to_vec(),
        few => few.iter().map(|x| kernels::dot(x, v)).collect(),
    };
    columns.par_chunks(4).flat_map_iter(fours).collect()
}

fn transpose_few<T: Number>(columns: &[Vec<T>], v: &[(u32, f64)]) -> Vec<f64> {
    let one = |x: &Vec<T>| v.iter().map(|&(i, v)| x[i as usize].wide() * v).sum();
    columns.par_iter().with_min_len(16).map(one).collect()
}

fn square_sums<T: Number>(columns: &[Vec<T>], h: &[f64]) -> Vec<f64> {
    let one = |x: &Vec<T>| x.iter().zip(h).fold(0.0, |sum, (x, h)| sum + h * x.wide() * x.wide());
    columns.par_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same products, to the bit, whether all columns are narrow, or a wide one came, and went again.
    #[test]
    fn precision_does_not_show() {
        let n = 5000;
        let column =
            |j: usize| (0..n).map(|i| f64::from(((i * 37 + j * 11) as f32).sin())).collect::<Vec<f64>>();
        let v: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
        let few: Vec<(u32, f64)> = (0..40).map(|i| (i * 101, v[i as usize])).collect();
        let answers = |full: &Full| {
            let (mut f, mut packed) = (v.clone(), vec![0.0; 40 * 11]);
            full.apply(&v[..11], &mut f);
            full.pack(&few, 11, &mut packed);
            [f, packed, full.transpose(&v), full.transpose_few(&few), full.square_sums(&v)]
        };
        let mut full = Full::new();
        (0..11).for_each(|j| full.push(column(j)));
        assert!(matches!(full, Full::Single(_)));
        let narrow = answers(&full);
        full.push(column(3).iter().map(|x| x / 3.0).collect());
        full.truncate(11);
        assert!(matches!(full, Full::Double(_)) && full.len() == 11);
        assert_eq!(answers(&full), narrow);
        assert_eq!(full.into_columns()[10], column(10));
    }
}
