use std::collections::HashSet;

use super::*;
use crate::data::{Columns, Sparse, Values};
use crate::space::poly::room::room;
use crate::space::{Ask, Candidate, Demand, FeatureSpace, Inputs};

/// Columns of 600 rows, frequent and rare ones: one of them begins with every row.
fn frequent_and_rare() -> Sparse {
    let (mut pointers, mut indices, mut reals) = (vec![0], Vec::new(), Vec::new());
    for step in (1..40).chain([97, 150, 299, 431]) {
        indices.extend((step % 7..600).step_by(step as usize));
        reals.extend((reals.len()..indices.len()).map(|k| ((k * k) % 17) as f64 * 0.37 - 1.3));
        pointers.push(indices.len() as u64);
    }
    let ids = (0..pointers.len() as u64 - 1).collect();
    Sparse::new(600, 50, ids, pointers, indices, Values::F64(reals)).unwrap()
}

#[test]
fn by_rows_and_by_columns_are_the_same_to_the_last_digit() {
    let columns = frequent_and_rare();
    let v = |n: usize| (0..n).map(|i| if i % 5 == 0 { 0.0 } else { f64::sin(i as f64) }).collect();
    for (v, exhaustive) in [(v(600), false), (v(600), true), (v(1800), false), (v(1800), true)] {
        let v: Vec<f64> = v;
        let space = PolySpace::new(Inputs::over(&columns), 0.7, 1.0).unwrap();
        let space = if exhaustive { space.exhaustive() } else { space };
        let (outputs, residuals) = (v.len() / 600, Residuals { v: &v, rows: 600, outputs: v.len() / 600 });
        let (tops, bounds) = space.score_squares(residuals, 2.0, Tops::new(30), &[]).unwrap();
        let mut search = Search::new(&space, residuals, bounds, (tops.wanted(), tops.threshold()), &[]);
        let order = search.order.clone();
        search.part = 0..order.len();
        let kept = |row: u32| residuals.weighs(row as usize);
        let mut rows = RankedRows::new(&columns, &order, false, kept, &search.work).unwrap();
        let columns_of = search.columns(0..order.len()).unwrap();
        rows.append(0, &columns_of);
        for ranks in [0..order.len(), 3..11, 20..order.len() - 1] {
            let (mut by_rows, mut by_columns) = (Tops::new(30), Tops::new(30));
            let mut sums = vec![0.0; outputs * order.len() * order.len()];
            let (one, some) = (outputs == 1, 0..ranks.len());
            let pivots = search.pivots(ranks.start, &columns_of[ranks]);
            let pairs = match one {
                true => {
                    search.score_row_after_row::<true>(&rows, &pivots, some.clone(), &mut sums, &mut by_rows)
                }
                false => {
                    search.score_row_after_row::<false>(&rows, &pivots, some.clone(), &mut sums, &mut by_rows)
                }
            };
            let pairs = pairs.unwrap();
            let mut expected = 0;
            for k in some {
                let tops = &mut by_columns;
                let found = match one {
                    true => search.score_column::<true>(&rows, &pivots, k, &mut sums, tops),
                    false => search.score_column::<false>(&rows, &pivots, k, &mut sums, tops),
                };
                expected += found.unwrap();
            }
            assert!(pairs == expected && pairs > 0);
            assert!(sums.iter().all(|&sum| sum == 0.0));
            let kept = |tops: Tops<Item>| [tops.best.into_sorted(), tops.fresh.into_sorted()];
            assert_eq!(kept(by_rows), kept(by_columns));
        }
    }
}

/// Every `every`-th column is filled, the others are empty; some are equal, so that there are ties.
fn columns(n: usize, filled: usize, every: usize) -> Sparse {
    let value = |i: usize, j: usize| ((i * i + 31 * (j % 50) * (i + 3)) as f64).sin();
    let values = (0..filled).flat_map(|j| (0..n).map(move |i| value(i, j))).collect();
    let indices = (0..filled).flat_map(|_| 0..n as u32).collect();
    let ids = (0..(filled * every) as u64).collect();
    let pointers = (0..=filled * every).map(|k| (k.div_ceil(every) * n) as u64).collect();
    Sparse::new(n, (filled * every) as u64, ids, pointers, indices, Values::F64(values)).unwrap()
}

/// Blocks find what rows find, to the bit and in the same order.
#[test]
fn blocks_and_rows_agree() {
    let (n, filled) = (40, 700);
    let (dense, sparse) = (columns(n, filled, 1), columns(n, filled, 3));
    let v: Vec<f64> = (0..3 * n).map(|i| if i % 7 == 0 { 0.0 } else { (i as f64 * 1.7).cos() }).collect();
    let found = |columns: &Sparse, every: u64, outputs: usize| {
        let space = PolySpace::new(Inputs::over(columns), 1.0, 0.5).unwrap();
        let best =
            space.worst_case(&Ask::many(&v[..outputs * n], outputs, 30, &HashSet::new())).unwrap().best;
        let inputs = |candidate: &Candidate| match candidate {
            Candidate::Feature(feature) => feature.inputs().iter().map(|id| id / every).collect(),
            Candidate::Group(_) => Vec::new(),
        };
        best.iter().map(|s| (s.score.to_bits(), inputs(&s.item))).collect::<Vec<_>>()
    };
    assert_eq!(found(&dense, 1, 1), found(&sparse, 3, 1));
    assert_eq!(found(&dense, 1, 3), found(&sparse, 3, 3));
}

/// More columns than are scored before others are left out: of falling length, and all of the same.
#[test]
fn what_is_not_read_cannot_win() {
    let v: Vec<f64> = (0..1200).map(|i| if i % 7 == 0 { 0.0 } else { f64::sin(i as f64) }).collect();
    for (steps, ones) in [(10, true), (10, false), (usize::MAX, true), (usize::MAX, false)] {
        let (mut pointers, mut indices) = (vec![0], Vec::new());
        for column in 0..2500 {
            let step = column / steps + 5;
            indices.extend((column % step..400).step_by(step).map(|row| row as u32));
            pointers.push(indices.len() as u64);
        }
        let reals = (0..indices.len()).map(|k| ((k * k) % 19) as f64 * 0.21 - 1.0).collect();
        let values = if ones { Values::Ones } else { Values::F64(reals) };
        let columns = Sparse::new(400, 2500, (0..2500).collect(), pointers, indices, values).unwrap();
        for (coef0, outputs) in [(0.0, 1), (0.001, 1), (1.0, 1), (0.001, 3), (1.0, 2)] {
            let space = || PolySpace::new(Inputs::over(&columns), 0.7, coef0).unwrap();
            let mut taken = HashSet::new();
            for _ in 0..3 {
                let ask = Ask::many(&v[..400 * outputs], outputs, 8, &taken);
                let found = space().worst_case(&ask).unwrap();
                let expected = space().exhaustive().worst_case(&ask).unwrap();
                assert_eq!((&found.best, &found.fresh), (&expected.best, &expected.fresh));
                assert!(found.scored <= expected.scored && found.fresh.len() == 8);
                taken.extend(found.fresh.into_iter().map(|scored| scored.item));
            }
        }
    }
}

/// However little is held at a time, what is found is the same to the bit: one feature, a few, all; by rows and by blocks.
#[test]
fn parts_find_what_the_whole_finds() {
    let v = |n: usize| -> Vec<f64> {
        (0..n).map(|i| if i % 7 == 0 { 0.0 } else { (i as f64 * 1.7).cos() }).collect()
    };
    let ones = {
        let all = frequent_and_rare();
        let view = all.view();
        let indices: Vec<u32> = (0..view.len())
            .flat_map(|k| view.gather(&[k])[0].entries().map(|(row, _)| row).collect::<Vec<_>>())
            .collect();
        let lengths = (0..view.len()).scan(0, |sum, k| {
            *sum += view.filled(k) as u64;
            Some(*sum)
        });
        let pointers = [0].into_iter().chain(lengths).collect();
        Sparse::new(600, 50, (0..view.len() as u64).collect(), pointers, indices, Values::Ones).unwrap()
    };
    for columns in [frequent_and_rare(), ones, columns(40, 300, 1), columns(40, 300, 3)] {
        let (v, none) = (v(2 * columns.rows()), HashSet::new());
        let ask = Ask::many(&v, 2, 25, &none);
        let mut space = PolySpace::new(Inputs::over(&columns), 0.7, 0.01).unwrap();
        let all = space.worst_case(&ask).unwrap();
        assert_eq!(all.best.len(), 25);
        let [least, most] = room(&columns, 2, space.most_values());
        assert!(least < most);
        for memory in [0, least, most / 5, most] {
            space.limit(space.vectors() + memory);
            let parts = space.worst_case(&ask).unwrap();
            assert_eq!((&parts.best, &parts.fresh), (&all.best, &all.fresh), "{memory} bytes");
        }
    }
}

/// What every thread keeps beside the values at hand is part of what a search is said to take.
#[test]
fn sums_of_every_thread_are_counted() {
    let columns = frequent_and_rare();
    let space = PolySpace::new(Inputs::over(&columns), 0.7, 0.01).unwrap();
    for outputs in [1, 3] {
        let [few, many] =
            [2, 7].map(|threads| space.footprint(&Demand { held: 10, measured: 0, outputs, threads }));
        let sums = 8 * (outputs * columns.len() * columns.len()).next_power_of_two() as u64;
        assert_eq!([many.least - few.least, many.most - few.most], [5 * sums; 2]);
    }
}
