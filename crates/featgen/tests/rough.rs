//! A rough look at all columns and an exact one at few finds what an exact look at all finds, to the bit: in every storage that has
//! rough sums, whatever the values.

use std::collections::HashSet;
use std::ops::Range;

use featgen::data::store::{Conversion, Store, StoreBuilder};
use featgen::data::{
    Column, ColumnView, Columns, Dense, Except, Genotypes, Joined, Labels, Layout, Names, Outputs, Sparse,
    Values,
};
use featgen::space::{
    Ask, Candidate, Feature, FeatureSpace, Fresh, Gain, GroupSpace, GroupWeight, Groups, Inputs, Scale,
    Scaling, WorstCase,
};
use featgen::{Context, LinearSpace};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// A storage without its rough sums.
struct Exactly<'a>(&'a dyn Columns);

impl Columns for Exactly<'_> {
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

    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        self.0.dots(range, v, out);
    }

    fn dots_with(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        self.0.dots_with(range, v, out);
    }

    fn gain_dots(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        self.0.gain_dots(range, both, out);
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        self.0.gather(positions)
    }

    fn visit(&self, range: Range<usize>, each: &mut dyn FnMut(usize, ColumnView<'_>)) {
        self.0.visit(range, each);
    }
}

/// Rows and columns for which dense storage has a copy made.
const ROWS: usize = 147;
const COLUMNS: usize = 28_600;

/// What columns are like.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Normal,
    /// Small whole numbers: many sums are equal.
    Tied,
    /// Of all sizes, some constant, some with a value far from all others, many equal to another one.
    Odd,
}

fn values(kind: Kind, rng: &mut ChaCha8Rng) -> Vec<f32> {
    let mut values: Vec<f32> = Vec::with_capacity(ROWS * COLUMNS);
    for j in 0..COLUMNS {
        let begin = values.len();
        match kind {
            Kind::Tied => values.extend((0..ROWS).map(|_| (rng.next_u32() % 3) as f32)),
            Kind::Odd if j > 0 && j % 3 == 0 => values.extend_from_within(begin - ROWS..),
            _ => values.extend((0..ROWS).map(|_| rng.sample::<f32, _>(StandardNormal))),
        }
        let column = &mut values[begin..];
        match j % 11 {
            _ if kind != Kind::Odd => {}
            1 => column.fill(7.0),
            2 => column.fill(0.0),
            4 => column.iter_mut().for_each(|x| *x *= 1e30),
            5 => column.iter_mut().for_each(|x| *x *= 1e-42),
            7 => column[j % ROWS] = 1e6,
            8 => column.iter_mut().for_each(|x| *x += 1e4),
            10 => column.iter_mut().for_each(|x| *x = if *x > 1.0 { 1.0 } else { 0.0 }),
            _ => {}
        }
    }
    values
}

fn store_of(columns: &dyn Columns, copy: bool) -> Store {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.store");
    let options = Conversion { memory: 1 << 28, shards: Some(3), copy };
    let mut builder = StoreBuilder::create(&path, options).unwrap();
    builder.dense_rows(columns).unwrap();
    builder.finish(&Labels::default(), &Names::default()).unwrap();
    Store::open(&path).unwrap()
}

fn genotypes(people: usize, variants: usize, rng: &mut ChaCha8Rng) -> Genotypes<Vec<u8>> {
    let stride = people.div_ceil(4);
    let mut bytes = vec![0; stride * variants];
    for (j, column) in bytes.chunks_exact_mut(stride).enumerate() {
        // Codes are drawn from lists: common and rare alleles, with many missing, a few, or none.
        let lists: [&[u8]; 4] =
            [&[0, 2, 3], &[3, 3, 3, 3, 3, 3, 2, 1], &[0, 0, 2, 1, 3, 3], &[2, 2, 2, 2, 2, 2, 2, 2, 3, 0]];
        let list = lists[j % 4];
        column.iter_mut().for_each(|byte| {
            *byte = (0..4).fold(0, |byte, k| byte | list[rng.next_u32() as usize % list.len()] << (2 * k));
        });
    }
    // Some twice.
    bytes.copy_within(0..stride * 5, stride * 40);
    let kept = (0..people as u32).filter(|i| i % 13 != 5).collect();
    Genotypes::new(bytes, people, variants, Some(kept), None).unwrap()
}

/// How columns are weighed.
const ALL: [Option<Scaling>; 3] = [None, Some(Scaling::Auto), Some(Scaling::Max)];

fn bits(found: &WorstCase) -> Vec<(u64, Candidate)> {
    let both = found.best.iter().chain(&found.fresh);
    both.map(|scored| (scored.score.to_bits(), scored.item.clone())).collect()
}

/// Asks the same of a storage with and without its rough sums.
fn same_answers(columns: &dyn Columns, scalings: &[Option<Scaling>], what: &str) {
    let mut rng = ChaCha8Rng::seed_from_u64(99);
    let rows = columns.rows();
    let v: Vec<f64> = (0..2 * rows).map(|_| rng.sample(StandardNormal)).collect();
    // As after a hinge: many are 0, and few say much.
    let uneven: Vec<f64> = v.iter().map(|v| v.powi(3).max(0.0)).collect();
    let curvature: Vec<f64> = (0..2 * rows).map(|_| rng.random_range(0.0..0.3)).collect();
    let taken: HashSet<Candidate> =
        (0..40).map(|k| Candidate::Feature(Feature::input(columns.id(k * 7)))).collect();
    // Often enough that a copy is made where there is none yet.
    assert!(columns.has_rough(u64::MAX), "{what}: there are rough sums");
    for &scaling in scalings {
        let exactly = Exactly(columns);
        let scale = scaling.map(|scaling| Scale::new(scaling, &Inputs::over(&exactly), None).unwrap());
        let space_of = |columns| {
            let inputs = Inputs::over(columns);
            LinearSpace::from(scale.as_ref().map_or(inputs, |scale| inputs.scaled(scale)))
        };
        let exact = space_of(&exactly);
        for (v, outputs) in [(&v[..rows], 1), (&uneven[..rows], 1), (&v[..], 2)] {
            for budget in [1, 20] {
                let ask = Ask::many(v, outputs, budget, &taken);
                let top = exact.worst_case(&ask).unwrap().best.last().unwrap().score;
                let curvature = (&curvature[..outputs * rows]).into();
                let asks = [
                    ask.clone(),
                    ask.clone().with_fresh(Fresh { most: 3, above: top * 0.999 }),
                    ask.clone().with_fresh(Fresh { most: 0, above: 0.0 }),
                    ask.by_gain(Gain { curvature, intercept: true, wanted: budget }),
                ];
                for (k, ask) in asks.iter().enumerate() {
                    let expected = bits(&exact.worst_case(ask).unwrap());
                    for threads in [1, 3] {
                        // A new space each time: it has not found out yet that it sifts in vain.
                        let find = || bits(&space_of(columns).worst_case(ask).unwrap());
                        let found = Context::new().threads(threads).run(find).unwrap();
                        assert_eq!(found, expected, "{what}, {scaling:?}, {outputs}, {budget}, ask {k}");
                    }
                }
            }
        }
    }
}

#[test]
fn of_dense_columns() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for kind in [Kind::Normal, Kind::Tied, Kind::Odd] {
        let narrow = values(kind, &mut rng);
        let by_columns = Dense::new(&narrow[..], ROWS, COLUMNS, Layout::ColumnMajor).unwrap();
        let scalings = if kind == Kind::Odd { &ALL[..] } else { &ALL[..1] };
        same_answers(&by_columns, scalings, &format!("by columns, {kind:?}"));
        if kind == Kind::Tied {
            // As many bytes take four times the rows.
            let bytes: Vec<u8> = (0..4 * ROWS * COLUMNS).map(|_| rng.next_u32() as u8).collect();
            let bytes = Dense::new(bytes, 4 * ROWS, COLUMNS, Layout::ColumnMajor).unwrap();
            same_answers(&bytes, &ALL[..1], "bytes");
            same_answers(&store_of(&bytes, true), &ALL[..1], "a store of bytes");
        }
        if kind == Kind::Odd {
            let wide: Vec<f64> = narrow.iter().map(|&x| f64::from(x).powi(3)).collect();
            same_answers(
                &Dense::new(wide, ROWS, COLUMNS, Layout::ColumnMajor).unwrap(),
                &ALL[..1],
                "64 bits",
            );
            same_answers(&store_of(&by_columns, false), &ALL[1..2], "a store");
            same_answers(&store_of(&by_columns, true), &ALL[1..2], "a store with a copy");
            let some = Except::new(&by_columns, [0, 5, 6, 1000]);
            same_answers(&some, &ALL[1..2], "without some");
        }
    }
}

/// Columns of which most have few values: of all sizes, also equal ones, and none of them other than 0.
#[test]
fn of_sparse_columns() {
    const ROWS: usize = 700;
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for (kind, most) in
        [("ones", 300), ("bytes", 300), ("numbers", 300), ("numbers of all sizes", 40), ("tiny numbers", 300)]
    {
        let (mut pointers, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for j in 0..9000u32 {
            // Few columns have many values.
            let often = most / (1 + rng.next_u32() % 200);
            let mut rows: Vec<u32> = (0..often.min(j)).map(|_| rng.next_u32() % ROWS as u32).collect();
            rows.sort_unstable();
            rows.dedup();
            let size = match kind {
                "numbers of all sizes" => 10f64.powi((j % 9) as i32 - 4),
                // Their squares are less than any number, but for those of some columns of many values.
                "tiny numbers" if j % 2 == 0 => 1e-170,
                "tiny numbers" => 1e-175,
                _ => 1.0,
            };
            values.extend(rows.iter().map(|_| match kind {
                "ones" => 1.0,
                "bytes" => f64::from(rng.next_u32() % 5),
                _ => size * rng.sample::<f64, _>(StandardNormal),
            }));
            indices.extend(rows);
            pointers.push(indices.len() as u64);
        }
        let values = match kind {
            "ones" => Values::Ones,
            "bytes" => Values::U8(values.iter().map(|&x| x as u8).collect()),
            _ => Values::F64(values),
        };
        let columns = Sparse::new(ROWS, 9000, (0..9000).collect(), pointers, indices, values).unwrap();
        let taken = HashSet::from([1000, 5000, 8999].map(|id| Candidate::Feature(Feature::input(id))));
        let v: Vec<f64> = (0..2 * ROWS).map(|_| rng.sample::<f64, _>(StandardNormal)).collect();
        // As of a hinge: where there is no residual there is no curvature, and once where there is one.
        let hinge: Vec<f64> = v.iter().map(|v| v.max(0.0)).collect();
        let curvature = |k: usize| if k == 5 { 0.0 } else { f64::from(u8::from(hinge[k] > 0.0)) };
        let curvature: Vec<f64> = (0..2 * ROWS).map(curvature).collect();
        for scaling in ALL {
            let scale = scaling.map(|scaling| Scale::new(scaling, &Inputs::over(&columns), None).unwrap());
            let inputs = || Inputs::over(&columns);
            let space =
                || LinearSpace::from(scale.as_ref().map_or_else(inputs, |scale| inputs().scaled(scale)));
            let mut exact = space();
            exact.limit(0);
            for (outputs, budget, wanted) in [(1, 1, 1), (1, 20, 3), (2, 5, 30), (1, 9000, 5), (1, 5, 0)] {
                let size = outputs * ROWS;
                let gain = |intercept| Gain { curvature: (&curvature[..size]).into(), intercept, wanted };
                let ask = |v| Ask::many(v, outputs, budget, &taken);
                let asks = [
                    ask(&v[..size]),
                    ask(&hinge[..size]),
                    ask(&hinge[..size]).by_gain(gain(true)),
                    ask(&hinge[..size]).by_gain(gain(false)),
                ];
                for (k, ask) in asks.iter().enumerate() {
                    let expected = bits(&exact.worst_case(ask).unwrap());
                    for threads in [1, 3] {
                        let find = || bits(&space().worst_case(ask).unwrap());
                        let found = Context::new().threads(threads).run(find).unwrap();
                        assert_eq!(found, expected, "{kind}, {scaling:?}, {outputs}, {budget}, ask {k}");
                    }
                }
            }
        }
    }
}

/// Groups that share columns, some of them of one column, at every scale and weight.
#[test]
fn of_groups() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for kind in [Kind::Normal, Kind::Tied, Kind::Odd] {
        let values = values(kind, &mut rng);
        let columns = Dense::new(&values[..], ROWS, COLUMNS, Layout::ColumnMajor).unwrap();
        let exactly = Exactly(&columns);
        let scale = Scale::new(Scaling::Auto, &Inputs::over(&exactly), None).unwrap();
        let space_of = |columns, weight, scaled| {
            let inputs = Inputs::over(columns);
            let mut groups = Groups::over(&inputs).unwrap();
            (0..COLUMNS as u64 / 10 - 1)
                .for_each(|g| groups.push(&inputs, None, 10 * g..10 * g + 1 + g % 14).unwrap());
            GroupSpace::new(if scaled { inputs.scaled(&scale) } else { inputs }, groups, weight).unwrap()
        };
        let v: Vec<f64> = (0..2 * ROWS).map(|_| rng.sample(StandardNormal)).collect();
        for (weight, scaled) in [(GroupWeight::None, false), (GroupWeight::Sqrt, true)] {
            let exact = space_of(&exactly, weight, scaled);
            let taken: HashSet<Candidate> = (0..60).map(|g| Candidate::Group(7 * g)).collect();
            for (outputs, best) in [(1, 1), (1, 20), (2, 20)] {
                let ask = Ask::many(&v[..outputs * ROWS], outputs, best, &taken);
                for ask in [ask.clone(), ask.with_fresh(Fresh { most: 5, above: 0.0 })] {
                    let expected = bits(&exact.worst_case(&ask).unwrap());
                    for threads in [1, 3] {
                        let find = || bits(&space_of(&columns, weight, scaled).worst_case(&ask).unwrap());
                        let found = Context::new().threads(threads).run(find).unwrap();
                        assert_eq!(found, expected, "{kind:?}, {weight:?}, {outputs}, {best}");
                    }
                }
            }
        }
    }
}

#[test]
fn of_genotypes() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for (people, variants) in [(1001, 3000), (17_000, 500)] {
        let alone = genotypes(people, variants, &mut rng);
        same_answers(&alone, &ALL, &format!("{people} people"));
        let rows = alone.rows();
        let covariates: Vec<f64> = (0..2 * rows).map(|_| rng.sample(StandardNormal)).collect();
        let covariates = Dense::new(covariates, rows, 2, Layout::ColumnMajor).unwrap();
        let dimension = alone.dimension();
        let joined = Joined::new(Box::new(alone), Box::new(covariates)).unwrap();
        same_answers(&joined, &ALL[1..2], "with covariates");
        same_answers(&Except::new(&joined, [3, dimension]), &ALL[1..2], "with covariates, without some");
    }
}

/// A copy is made only where there is room, and only of data that are worth it.
#[test]
fn copies_have_limits() {
    let values = vec![1f32; ROWS * COLUMNS];
    let dense = |rows: usize, columns: usize| {
        Dense::new(&values[..rows * columns], rows, columns, Layout::ColumnMajor).unwrap()
    };
    assert!(!dense(ROWS, 1000).has_rough(u64::MAX), "too small");
    assert!(!dense(100, 42_000).has_rough(u64::MAX), "too few rows");
    assert!(!dense(42_000, 100).has_rough(u64::MAX), "too many rows");
    let by_rows = Dense::new(&values[..], ROWS, COLUMNS, Layout::RowMajor).unwrap();
    assert!(!by_rows.has_rough(u64::MAX), "a column costs as much as all");
    let columns = dense(ROWS, COLUMNS);
    assert!(!columns.has_rough(columns.rough_bytes() - 1), "no room");
    assert!(columns.rough_bytes() < (4 * ROWS * COLUMNS) as u64 * 2 / 5);
    assert!(columns.has_rough(columns.rough_bytes()));
}

/// A store that has a copy needs no other, and no memory for it; it knows the largest value without a look at the others.
#[test]
fn copies_of_stores_are_there_from_the_start() {
    let mut values = vec![1f32; ROWS * COLUMNS];
    values[ROWS * 20_000 + 3] = -9.5;
    let made = |values: &[f32], copy| {
        store_of(&Dense::new(values, ROWS, COLUMNS, Layout::ColumnMajor).unwrap(), copy)
    };
    let [with, without] = [true, false].map(|copy| made(&values, copy));
    assert!(with.has_rough(0) && with.rough_bytes() == 0);
    assert!(!without.has_rough(0) && without.rough_bytes() > 0);
    assert_eq!([&with, &without].map(|store| store.largest(&|| Ok(())).unwrap()), [9.5; 2]);
    values[7] = f32::NAN;
    assert_eq!(made(&values, true).largest(&|| Ok(())).unwrap(), f64::INFINITY);
}

/// A copy knows the largest value, too, once it has been made.
#[test]
fn copies_know_the_largest_value() {
    let mut values = vec![1f32; ROWS * COLUMNS];
    values[ROWS * 20_000 + 3] = -9.5;
    for largest in [9.5, f64::INFINITY] {
        let dense = Dense::new(&values[..], ROWS, COLUMNS, Layout::ColumnMajor).unwrap();
        assert!(dense.has_rough(u64::MAX));
        for made in [0..0, 0..COLUMNS / 2, COLUMNS / 2..COLUMNS] {
            dense.rough_dots(made.clone(), &Outputs::new(&[1.0; ROWS], ROWS), &mut vec![0.0; 2 * made.len()]);
            assert_eq!(dense.largest(&|| Ok(())).unwrap(), largest, "after a copy of {made:?}");
        }
        values[ROWS * 10_000 + 7] = f32::NAN;
    }
}

/// What is wrong with values is said in the same words.
#[test]
fn values_that_are_not_numbers_are_refused() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut values = values(Kind::Normal, &mut rng);
    values[ROWS * 17_000 + 5] = f32::NAN;
    let dense = Dense::new(values, ROWS, COLUMNS, Layout::ColumnMajor).unwrap();
    assert!(dense.has_rough(u64::MAX));
    let (v, none) = (vec![1.0; ROWS], HashSet::new());
    let ask = Ask::one(&v, 5, &none);
    let error = |columns: &dyn Columns| LinearSpace::over(columns).worst_case(&ask).unwrap_err().to_string();
    assert_eq!(error(&dense), error(&Exactly(&dense)));
    assert!(error(&dense).contains("row 6, feature 17001: NaN"), "{}", error(&dense));
}
