//! Columns that need not be written down: what a solver sees of chosen features.
//!
//! An expansion of one input into many columns is kept as one, and applies itself: unary codes of levels are a look-up in
//! running sums and a histogram, waves a few multiplications. Memory is that of the input's column, for any number of levels.

use crate::data::Column;
use crate::kernels;

/// Some columns of a matrix, as many as [`width`](Operator::width) says.
#[derive(Debug, Clone)]
pub enum Operator {
    /// One column as it is.
    Column(Column),
    /// The unary code of a level: column `l` is `height` where the level is above `l`, else 0.
    Steps {
        /// Where levels are above 0; rows increase.
        rows: Vec<u32>,
        /// The levels there, at most `count`.
        levels: Vec<u16>,
        /// Number of levels, and of columns.
        count: usize,
        /// What a column holds where it is not 0.
        height: f64,
    },
    /// Waves of a phase: for each amplitude `a` of the harmonic k, the columns `a (cos k t - 1)` and `a sin k t`.
    Waves {
        /// Where the phase is not 0; rows increase.
        rows: Vec<u32>,
        /// Cosine and sine of the phases there.
        phases: Vec<[f64; 2]>,
        /// Of the harmonics, from the first on.
        amplitudes: Vec<f64>,
    },
}

impl Operator {
    /// Number of columns.
    pub fn width(&self) -> usize {
        match self {
            Self::Column(_) => 1,
            Self::Steps { count, .. } => *count,
            Self::Waves { amplitudes, .. } => 2 * amplitudes.len(),
        }
    }

    /// Writes what some rows, in order, hold into `out`, column after column.
    pub(crate) fn pack(&self, rows: &[(u32, f64)], out: &mut [f64]) {
        let n = rows.len();
        match self {
            Self::Column(Column::Dense(values)) => {
                out.iter_mut().zip(rows).for_each(|(out, &(i, _))| *out = values[i as usize]);
            }
            Self::Column(Column::Sparse { rows: filled, values }) => {
                pick(rows, filled, |at, from| out[at] = from.map_or(0.0, |from| values[from]));
            }
            Self::Steps { rows: filled, levels, count, height } => pick(rows, filled, |at, from| {
                let level = from.map_or(0, |from| levels[from] as usize);
                (0..*count).for_each(|l| out[l * n + at] = if l < level { *height } else { 0.0 });
            }),
            Self::Waves { rows: filled, phases, amplitudes } => pick(rows, filled, |at, from| {
                let phase = from.map_or([1.0, 0.0], |from| phases[from]);
                harmonics(phase, amplitudes, |k, [c, s]| {
                    out[2 * k * n + at] = c;
                    out[(2 * k + 1) * n + at] = s;
                });
            }),
        }
    }

    /// `f += X w`.
    pub fn apply(&self, w: &[f64], f: &mut [f64]) {
        match self {
            Self::Column(column) => column.add_to(w[0], f),
            Self::Steps { rows, levels, height, .. } => {
                let mut table = vec![0.0; w.len() + 1];
                (0..w.len()).for_each(|l| table[l + 1] = table[l] + height * w[l]);
                rows.iter().zip(levels).for_each(|(&i, &level)| f[i as usize] += table[level as usize]);
            }
            Self::Waves { rows, phases, amplitudes } => {
                for (&i, &phase) in rows.iter().zip(phases) {
                    let mut sum = 0.0;
                    harmonics(phase, amplitudes, |k, [c, s]| sum += w[2 * k] * c + w[2 * k + 1] * s);
                    f[i as usize] += sum;
                }
            }
        }
    }

    /// The same columns over some of the rows only: `place` says where each row goes, if it is kept. Order must not change.
    pub(crate) fn restrict(&self, place: &[Option<u32>]) -> Self {
        let kept = |rows: &[u32]| {
            let places = rows.iter().enumerate().map(|(k, &i)| (place[i as usize], k));
            places
                .filter_map(|(place, k)| place.map(|place| (place, k)))
                .unzip::<u32, usize, Vec<_>, Vec<_>>()
        };
        match self {
            Self::Column(Column::Dense(values)) => {
                let values = values.iter().zip(place).filter_map(|(&x, place)| place.map(|_| x));
                Self::Column(Column::Dense(values.collect()))
            }
            Self::Column(Column::Sparse { rows, values }) => {
                let (rows, from) = kept(rows);
                let values = from.into_iter().map(|k| values[k]).collect();
                Self::Column(Column::Sparse { rows, values })
            }
            Self::Steps { rows, levels, count, height } => {
                let (rows, from) = kept(rows);
                let levels = from.into_iter().map(|k| levels[k]).collect();
                Self::Steps { rows, levels, count: *count, height: *height }
            }
            Self::Waves { rows, phases, amplitudes } => {
                let (rows, from) = kept(rows);
                let phases = from.into_iter().map(|k| phases[k]).collect();
                Self::Waves { rows, phases, amplitudes: amplitudes.clone() }
            }
        }
    }

    /// `sum_i v_i x_ij^2` of every column.
    pub(crate) fn square_sums(&self, v: &[f64]) -> Vec<f64> {
        match self {
            Self::Column(column) => vec![column.entries().map(|(i, x)| v[i as usize] * x * x).sum()],
            // Values are 0 or the height.
            Self::Steps { height, .. } => self.transpose(v).into_iter().map(|sum| height * sum).collect(),
            Self::Waves { rows, phases, amplitudes } => {
                let mut sums = vec![0.0; 2 * amplitudes.len()];
                for (&i, &phase) in rows.iter().zip(phases) {
                    harmonics(phase, amplitudes, |k, [c, s]| {
                        sums[2 * k] += v[i as usize] * c * c;
                        sums[2 * k + 1] += v[i as usize] * s * s;
                    });
                }
                sums
            }
        }
    }

    /// `X' v`.
    pub fn transpose(&self, v: &[f64]) -> Vec<f64> {
        match self {
            Self::Column(Column::Dense(values)) => vec![kernels::dot(values, v)],
            Self::Column(Column::Sparse { rows, values }) => vec![kernels::dot_sparse(rows, values, v)],
            Self::Steps { rows, levels, count, height } => {
                let mut sums = vec![0.0; count + 1];
                rows.iter().zip(levels).for_each(|(&i, &level)| sums[level as usize] += v[i as usize]);
                suffix_sums(&mut sums);
                sums.drain(1..).map(|sum| height * sum).collect()
            }
            Self::Waves { rows, phases, amplitudes } => {
                let mut sums = vec![0.0; 2 * amplitudes.len()];
                for (&i, &phase) in rows.iter().zip(phases) {
                    let v = v[i as usize];
                    harmonics(phase, amplitudes, |k, [c, s]| {
                        sums[2 * k] += v * c;
                        sums[2 * k + 1] += v * s;
                    });
                }
                sums
            }
        }
    }
}

/// Finds some rows among those that are filled, both in order: calls `each` with the place of a row, and where it is found.
pub(crate) fn pick(rows: &[(u32, f64)], filled: &[u32], mut each: impl FnMut(usize, Option<usize>)) {
    let mut next = filled.partition_point(|&i| rows.first().is_some_and(|first| i < first.0));
    for (at, &(i, _)) in rows.iter().enumerate() {
        next += filled[next..].iter().take_while(|&&other| other < i).count();
        each(at, filled.get(next).filter(|&&other| other == i).map(|_| next));
    }
}

/// Replaces every number by the sum of it and all that follow.
pub(crate) fn suffix_sums(numbers: &mut [f64]) {
    let mut sum = 0.0;
    for number in numbers.iter_mut().rev() {
        sum += *number;
        *number = sum;
    }
}

/// Calls `each` with the two waves of every harmonic of a phase given by its cosine and sine.
#[inline]
pub(crate) fn harmonics([c1, s1]: [f64; 2], amplitudes: &[f64], mut each: impl FnMut(usize, [f64; 2])) {
    let (mut c, mut s) = (1.0, 0.0);
    for (k, a) in amplitudes.iter().enumerate() {
        (c, s) = (c * c1 - s * s1, s * c1 + c * s1);
        each(k, [a * (c - 1.0), a * s]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both directions are those of the matrix written down.
    #[test]
    fn operators_are_the_matrices_they_stand_for() {
        let rows = vec![0, 2, 3, 5];
        let steps = Operator::Steps { rows: rows.clone(), levels: vec![1, 4, 2, 4], count: 4, height: 0.5 };
        let phases = [0.3f64, -1.0, 2.5, 0.1];
        let waves = Operator::Waves {
            rows: rows.clone(),
            phases: phases.iter().map(|t| [t.cos(), t.sin()]).collect(),
            amplitudes: vec![0.7, 0.2, 0.1],
        };
        let values = vec![1.0, -2.0, 3.0, 0.5];
        let column = Operator::Column(Column::Sparse { rows: rows.clone(), values });
        let v = [1.0, 9.0, -2.0, 0.5, 7.0, 3.0];
        for operator in [steps, waves, column] {
            let width = operator.width();
            let mut matrix = vec![vec![0.0; v.len()]; width];
            for (l, column) in matrix.iter_mut().enumerate() {
                let unit: Vec<f64> = (0..width).map(|k| f64::from(u8::from(k == l))).collect();
                operator.apply(&unit, column);
            }
            if let Operator::Waves { amplitudes, .. } = &operator {
                for (k, (&i, t)) in rows.iter().zip(phases).flat_map(|r| (1..=3).map(move |k| (k, r))) {
                    let (a, t) = (amplitudes[k - 1], k as f64 * t);
                    assert!((matrix[2 * k - 2][i as usize] - a * (t.cos() - 1.0)).abs() < 1e-15);
                    assert!((matrix[2 * k - 1][i as usize] - a * t.sin()).abs() < 1e-15);
                }
            }
            if let Operator::Steps { .. } = &operator {
                assert_eq!(matrix[1], [0.0, 0.0, 0.5, 0.5, 0.0, 0.5]);
            }
            let mut packed = vec![f64::NAN; 4 * width];
            operator.pack(&[(1, 0.0), (2, 0.0), (3, 0.0), (5, 0.0)], &mut packed);
            for (part, column) in packed.chunks(4).zip(&matrix) {
                assert!(
                    [1, 2, 3, 5].iter().zip(part).all(|(&i, x): (&usize, _)| (column[i] - x).abs() < 1e-15)
                );
            }
            for (c, column) in operator.transpose(&v).iter().zip(&matrix) {
                assert!((c - kernels::dot(column, &v)).abs() < 1e-14);
            }
            let w: Vec<f64> = (0..width).map(|l| 1.0 + l as f64).collect();
            let mut f = vec![0.0; v.len()];
            operator.apply(&w, &mut f);
            for (i, f) in f.iter().enumerate() {
                let expected: f64 = matrix.iter().zip(&w).map(|(x, w)| x[i] * w).sum();
                assert!((f - expected).abs() < 1e-14);
            }
        }
    }
}
