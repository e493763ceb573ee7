//! Full columns of the cache: in single precision while that loses no digit, which halves what every product reads. Sums are of the
//! same numbers in the same order, in double precision, so that no bit depends on it.

use super::panels::Panels;

#[derive(Debug, Clone)]
pub(super) enum Full {
    Single(Panels<f32>),
    Double(Panels<f64>),
}

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
        Self::Single(Panels::new())
    }

    pub(super) fn len(&self) -> usize {
        with_columns!(self, columns => columns.len())
    }

    pub(super) fn push(&mut self, values: Vec<f64>) {
        if let Self::Single(columns) = self {
            if values.iter().all(|&x| f64::from(x as f32) == x) {
                return columns.push(values.into_iter().map(|x| x as f32));
            }
            let mut wide = Panels::new();
            columns.columns().for_each(|column| wide.push(column.map(f64::from)));
            *self = Self::Double(wide);
        }
        if let Self::Double(columns) = self {
            columns.push(values.into_iter());
        }
    }

    pub(super) fn truncate(&mut self, width: usize) {
        with_columns!(self, columns => columns.truncate(width));
    }

    pub(super) fn into_columns(self) -> Vec<Vec<f64>> {
        match self {
            Self::Single(columns) => {
                columns.columns().map(|column| column.map(f64::from).collect()).collect()
            }
            Self::Double(columns) => columns.columns().map(Iterator::collect).collect(),
        }
    }

    /// Writes what some rows hold in the first columns into `out`, row after row.
    pub(super) fn pack(&self, rows: &[(u32, f64)], width: usize, out: &mut [f64]) {
        with_columns!(self, columns => columns.pack(rows, width, out));
    }

    /// `f += X w`.
    pub(super) fn apply(&self, w: &[f64], f: &mut [f64]) {
        with_columns!(self, columns => columns.apply(w, f));
    }

    /// `X' v`.
    pub(super) fn transpose(&self, v: &[f64]) -> Vec<f64> {
        with_columns!(self, columns => columns.transpose(v))
    }

    /// `X' v` for a `v` that is zero but for a few rows.
    pub(super) fn transpose_few(&self, v: &[(u32, f64)]) -> Vec<f64> {
        with_columns!(self, columns => columns.transpose_few(v))
    }

    /// `sum_i h_i x_ij^2` of every column.
    pub(super) fn square_sums(&self, h: &[f64]) -> Vec<f64> {
        with_columns!(self, columns => columns.square_sums(h))
    }
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
