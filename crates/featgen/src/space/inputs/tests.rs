use super::*;
use crate::data::{Dense, Layout, RowBlocks};
use crate::space::ask::Gain;
use crate::space::{Demand, FeatureSpace, LinearSpace, Scaling};

const ROWS: usize = 50;
const COLUMNS: usize = 130;

/// A matrix by rows that is read by blocks although it is small.
struct Large(Dense<f32, Vec<f32>>);

impl Columns for Large {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn dimension(&self) -> u64 {
        self.0.dimension()
    }

    fn nonzeros(&self) -> u64 {
        self.0.nonzeros()
    }

    fn id(&self, position: usize) -> u64 {
        self.0.id(position)
    }

    fn position(&self, id: u64) -> Option<usize> {
        self.0.position(id)
    }

    fn batch(&self) -> usize {
        self.0.batch()
    }

    fn dots(&self, _range: Range<usize>, _v: &[f64], _out: &mut [f64]) {
        unreachable!("read by blocks");
    }

    fn by_blocks(&self) -> Option<&dyn RowBlocks> {
        Some(self)
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        self.0.gather(positions)
    }
}

impl RowBlocks for Large {
    fn block(&self) -> usize {
        7
    }

    fn fetch(&self, rows: Range<usize>) {
        self.0.fetch(rows);
    }

    fn add_dots(&self, rows: Range<usize>, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        self.0.add_dots(rows, range, v, out);
    }

    fn copy_row(&self, row: usize, range: Range<usize>, out: &mut [f64]) {
        self.0.copy_row(row, range, out);
    }

    fn add_square_dots(&self, rows: Range<usize>, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        self.0.add_square_dots(rows, range, v, out);
    }
}

#[test]
fn sums_of_gains_and_scales_are_counted() {
    let values: Vec<f32> = (0..ROWS * COLUMNS).map(|k| ((k * k) as f32).sin()).collect();
    let large = Large(Dense::new(values, ROWS, COLUMNS, Layout::RowMajor).unwrap());
    let scale = Scale::new(Scaling::Std, &Inputs::over(&large), None).unwrap();
    let search = |inputs: Inputs<'_>, measured: usize| {
        let demand = Demand { held: 4, measured, outputs: 3, threads: 1 };
        LinearSpace::from(inputs).footprint(&demand).least
    };
    let (plain, columns) = (Inputs::over(&large), 8 * COLUMNS as u64);
    assert!(search(plain, 1) >= search(plain, 0) + 2 * 3 * columns);
    assert_eq!(search(plain.scaled(&scale), 1), search(plain, 1) + columns);
}

#[test]
fn blocks_of_rows_do_not_change_a_bit() {
    let values: Vec<f32> = (0..ROWS * COLUMNS).map(|k| ((k * k) as f32).sin()).collect();
    let matrix = || Dense::new(values.clone(), ROWS, COLUMNS, Layout::RowMajor).unwrap();
    let (whole, large) = (matrix(), Large(matrix()));
    let (whole, blocks) = (Inputs::over(&whole), Inputs::over(&large));
    // Some rows do not count for some outputs; a whole block of them among these for none.
    let v: Vec<f64> = (0..3 * ROWS)
        .map(|i| if i % 7 == 0 || (14..21).contains(&(i % ROWS)) { 0.0 } else { (i as f64).cos() })
        .collect();
    let bits = |sums: Vec<f64>| sums.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(blocks.fingerprint().unwrap(), whole.fingerprint().unwrap());
    for scaling in [Scaling::Auto, Scaling::Max] {
        let factors = |inputs| bits(Scale::new(scaling, inputs, None).unwrap().factors);
        assert_eq!(factors(&blocks), factors(&whole));
    }
    for outputs in [1, 3] {
        let v = Residuals { v: &v[..outputs * ROWS], rows: ROWS, outputs };
        assert_eq!(bits(blocks.squares(v).unwrap()), bits(whole.squares(v).unwrap()));
        let pulls = |inputs: &Inputs<'_>| {
            let each = |range: Range<usize>, lengths: &[f64]| vec![(range.start, bits(lengths.to_vec()))];
            let merge = |mut a: Vec<_>, b| {
                a.extend(b);
                a.sort();
                a
            };
            inputs.pulls(v, each, merge).unwrap().unwrap()
        };
        assert_eq!(pulls(&blocks), pulls(&whole));
        let curvature: Vec<f64> = v.v.iter().map(|v| v.abs()).collect();
        let gain = Gain { curvature: Cow::Borrowed(&curvature), intercept: true, wanted: 1 };
        let gains = |inputs: &Inputs<'_>| {
            let each = |range: Range<usize>, lengths: &[f64], gains: &[f64]| {
                vec![(range.start, bits(lengths.to_vec()), bits(gains.to_vec()))]
            };
            let merge = |mut a: Vec<_>, b| {
                a.extend(b);
                a.sort();
                a
            };
            inputs.gains(v, &gain, each, merge).unwrap().unwrap()
        };
        assert_eq!(gains(&blocks), gains(&whole));
    }
}
