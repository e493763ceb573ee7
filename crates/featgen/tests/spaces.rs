//! The contract that every feature space keeps, checked by brute force over all its features.

mod common;

use std::collections::HashSet;

use common::{Problem, Storage};
use featgen::LinearSpace;
use featgen::data::{Column, Columns};
use featgen::space::{Feature, FeatureSpace, Scored, WorstCase};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// Every feature of a space, with its column.
type Features = Vec<(Feature, Vec<f64>)>;

/// The best of `features`, from best to worst, with the size of the terms that their scores are summed from.
fn brute_force<'a>(
    features: impl Iterator<Item = &'a (Feature, Vec<f64>)>,
    v: &[f64],
) -> Vec<(f64, f64, &'a Feature)> {
    let score = |x: &[f64]| x.iter().zip(v).map(|(x, v)| x * v).sum::<f64>().abs();
    let size = |x: &[f64]| x.iter().zip(v).map(|(x, v)| (x * v).abs()).sum::<f64>();
    let mut all: Vec<_> = features.map(|(feature, x)| (score(x), size(x), feature)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(b.2)));
    all
}

/// Whether `found` is what brute force finds. If `exact`, no sum was rounded, ties are ties in any order of summation,
/// and the lists must be equal; otherwise features of nearly the same score may change places.
fn compare(
    found: &[Scored<Feature>],
    expected: &[(f64, f64, &Feature)],
    budget: usize,
    exact: bool,
    what: &str,
) {
    let positive: Vec<_> = expected.iter().filter(|e| e.0 > 0.0).take(budget).collect();
    assert!(found.iter().all(|s| s.score > 0.0), "{what}: a feature of score 0");
    if exact {
        let found: Vec<_> = found.iter().map(|s| (s.score, &s.item)).collect();
        let expected: Vec<_> = positive.iter().map(|e| (e.0, e.2)).collect();
        assert_eq!(found, expected, "{what}");
        return;
    }
    assert_eq!(found.len(), positive.len(), "{what}");
    let distinct: HashSet<_> = found.iter().map(|s| &s.item).collect();
    assert_eq!(distinct.len(), found.len(), "{what}: a feature twice");
    for (k, (found, best)) in found.iter().zip(positive).enumerate() {
        let own = expected.iter().find(|e| *e.2 == found.item).expect("a feature of the space, not taken");
        for (score, size) in [(own.0, own.1), (best.0, own.1.max(best.1))] {
            assert!((found.score - score).abs() <= 1e-12 * size, "{what}, place {k}: {found:?}, not {score}");
        }
    }
    assert!(found.is_sorted_by(|a, b| (b.score, &a.item) < (a.score, &b.item)), "{what}: out of order");
}

fn on_threads(threads: usize, run: impl FnOnce() -> WorstCase + Send) -> WorstCase {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
}

/// The contract. `v` are duals to score with; whoever has integers in both says `exact`.
fn keeps_the_contract(
    space: &dyn FeatureSpace,
    features: &Features,
    vs: &[Vec<f64>],
    exact: bool,
    what: &str,
) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    assert!(space.size() >= features.len() as u128, "{what}");
    for v in vs {
        assert_eq!(v.len(), space.rows(), "{what}");
        for part in [0.0, 0.3, 1.0] {
            let mut taken: HashSet<Feature> = features.iter().map(|f| f.0.clone()).collect();
            taken.retain(|_| rng.random_bool(part));
            let all = brute_force(features.iter(), v);
            let rest = brute_force(features.iter().filter(|f| !taken.contains(&f.0)), v);
            for budget in [0, 1, 2, 7, features.len(), features.len() + 5] {
                let what = format!("{what}, budget {budget}, {} taken", taken.len());
                let found = [1, 2, 3].map(|t| on_threads(t, || space.worst_case(v, budget, &taken).unwrap()));
                assert!(found[0] == found[1] && found[0] == found[2], "{what}: threads change the result");
                compare(&found[0].best, &all, budget, exact, &format!("{what}, best"));
                compare(&found[0].fresh, &rest, budget, exact, &format!("{what}, fresh"));
            }
        }
    }
    // Columns come in the order asked for.
    let asked: Vec<_> = features.iter().rev().step_by(2).chain(features.iter().step_by(3)).collect();
    let names: Vec<Feature> = asked.iter().map(|f| f.0.clone()).collect();
    for (column, (feature, expected)) in space.generate(&names).unwrap().iter().zip(asked) {
        assert_eq!(dense(column, space.rows()), *expected, "{what}: the column of {feature:?}");
    }
    assert!(space.generate(&[Feature::Input(u64::MAX)]).is_err(), "{what}: a feature that does not exist");
    let names: HashSet<String> = features.iter().map(|f| space.name(&f.0)).collect();
    assert_eq!(names.len(), features.len(), "{what}: two features of one name");
}

fn dense(column: &Column, n: usize) -> Vec<f64> {
    let mut values = vec![0.0; n];
    column.add_to(1.0, &mut values);
    values
}

/// The features of a linear space: its columns.
fn linear(stored: &dyn Columns, columns: &[Vec<f64>]) -> Features {
    columns.iter().enumerate().map(|(k, x)| (Feature::Input(stored.id(k)), x.clone())).collect()
}

/// A matrix large enough that every storage splits it into several batches.
const ROWS: usize = 3000;
const COLUMNS: usize = 150;

fn ids() -> Vec<u64> {
    (0..COLUMNS as u64).map(|j| 3 * j * j + 5).collect()
}

fn check_linear(columns: &[Vec<f64>], vs: &[Vec<f64>], exact: bool) {
    for storage in Storage::ALL {
        let stored = storage.store(columns, &ids());
        assert!(stored.batch() < COLUMNS, "{storage:?}: only one batch");
        let space = LinearSpace::over(&*stored);
        keeps_the_contract(
            &space,
            &linear(&*stored, columns),
            vs,
            exact,
            &format!("linear over {storage:?}"),
        );
    }
}

#[test]
fn linear_with_real_values() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut normal =
        |n: usize| (0..n).map(|_| rng.sample::<f32, _>(StandardNormal).into()).collect::<Vec<f64>>();
    let mut columns: Vec<_> = (0..COLUMNS).map(|_| normal(ROWS)).collect();
    // Equal columns have equal scores, to the bit, wherever they stand.
    for (copy, of) in [(3, 2), (COLUMNS - 1, 1), (70, 2), (71, 70)] {
        columns[copy] = columns[of].clone();
    }
    columns[90].fill(0.0);
    let vs: Vec<_> = (0..3).map(|_| normal(ROWS)).collect();
    check_linear(&columns, &vs, false);
    for storage in Storage::ALL {
        let stored = storage.store(&columns, &ids());
        let found = LinearSpace::over(&*stored).worst_case(&vs[0], COLUMNS, &HashSet::new()).unwrap();
        let place =
            |j: usize| found.best.iter().position(|s| s.item == Feature::Input(stored.id(j))).unwrap();
        for [first, second] in [[2, 3], [1, COLUMNS - 1], [3, 70], [70, 71]] {
            assert_eq!(
                place(second),
                place(first) + 1,
                "{storage:?}: columns {first} and {second} are equal"
            );
        }
    }
}

#[test]
fn linear_with_ties() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut small = |n: usize, most: i32, zeros: f64| -> Vec<f64> {
        (0..n)
            .map(|_| if rng.random_bool(zeros) { 0.0 } else { rng.random_range(-most..=most).into() })
            .collect()
    };
    // Few distinct sums, so that many features tie and many have score 0.
    let columns: Vec<_> = (0..COLUMNS).map(|_| small(ROWS, 2, 0.6)).collect();
    let vs = vec![small(ROWS, 1, 0.99), small(ROWS, 1, 0.997), small(ROWS, 3, 0.5), vec![0.0; ROWS]];
    check_linear(&columns, &vs, true);
}

#[test]
fn linear_on_small_problems() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for problem in (0..20).map(Problem::random) {
        let stored = problem.store();
        let v: Vec<f64> = problem.signs.iter().map(|y| y * rng.random_range(0.0..2.0)).collect();
        let features = linear(&*stored, &problem.columns);
        keeps_the_contract(&LinearSpace::over(&*stored), &features, &[v], false, &problem.to_string());
    }
}

#[test]
fn a_value_that_is_not_a_number_is_named() {
    for storage in Storage::ALL {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut columns = vec![vec![1.0; 6]; 4];
            columns[2][4] = bad;
            let stored = storage.store(&columns, &[0, 1, 2, 3]);
            let error = LinearSpace::over(&*stored)
                .worst_case(&[1.0; 6], 2, &HashSet::new())
                .unwrap_err()
                .to_string();
            assert!(error.contains("row 5, feature 3"), "{storage:?}: {error}");
        }
    }
}
