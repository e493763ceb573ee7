//! Products of several columns.

use std::collections::{HashMap, HashSet};

use featgen::Context;
use featgen::LinearSpace;
use featgen::data::Columns;
use featgen::space::{Ask, Candidate, Feature, FeatureSpace, Inputs, PolySpace, ProductSpace};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::common::Storage;
use crate::contract::{Known, MOST_OUTPUTS, keeps_the_contract};
use crate::{cases, integers, reals};

/// All products of up to `degree` columns, with the positions of their factors, of which all but single ones are `allowed`.
fn all_products(
    columns: &[Vec<f64>],
    degree: usize,
    allowed: impl Fn(usize) -> bool,
) -> Vec<(Vec<usize>, Vec<f64>)> {
    let mut all: Vec<_> = columns.iter().enumerate().map(|(j, x)| (vec![j], x.clone())).collect();
    let mut first = 0;
    for _ in 1..degree {
        let end = all.len();
        for k in first..end {
            let (factors, x): (Vec<usize>, Vec<f64>) = all[k].clone();
            let next = factors[factors.len() - 1] + 1;
            for j in (next..columns.len()).filter(|&j| allowed(j) && allowed(factors[0])) {
                let product = x.iter().zip(&columns[j]).map(|(x, z)| x * z).collect();
                all.push((factors.iter().copied().chain([j]).collect(), product));
            }
        }
        first = end;
    }
    all
}

fn product(stored: &dyn Columns, factors: &[usize]) -> Feature {
    match factors {
        [j] => Feature::input(stored.id(*j)),
        _ => Feature::product(factors.iter().map(|&j| stored.id(j)).collect::<Vec<_>>()),
    }
}

/// The candidates among `products`, which are in the order of features: the first of each column that is not 0 in enough rows.
fn distinct(stored: &dyn Columns, products: &[(Vec<usize>, Vec<f64>)], min_support: usize) -> Vec<Known> {
    let mut seen = HashSet::new();
    let support = |x: &[f64]| x.iter().filter(|x| **x != 0.0).count();
    let mut known = Vec::new();
    for (factors, x) in products.iter().filter(|(_, x)| support(x) >= min_support) {
        if seen.insert(x.iter().map(|x| x.to_bits()).collect::<Vec<_>>()) {
            let feature = product(stored, factors);
            let candidate = Candidate::Feature(feature.clone());
            known.push(Known { candidate, features: vec![(feature, x.clone())], eta_squared: 1.0 });
        }
    }
    known
}

/// Values of the kinds that products are made of: presence, few levels, any.
fn within_one(rng: &mut ChaCha8Rng, n: usize, kind: usize, zeros: f64) -> Vec<f64> {
    let value = |rng: &mut ChaCha8Rng| match kind {
        0 => 1.0,
        1 => [0.25, 0.5, 1.0, 1.0][rng.random_range(0..4)],
        _ => [1.0, rng.random_range(0.0f32..1.0).into()][rng.random_range(0..2)],
    };
    (0..n).map(|_| if rng.random_bool(zeros) { 0.0 } else { value(rng) }).collect()
}

/// Some columns, with equal ones and ones that others imply.
fn related(rng: &mut ChaCha8Rng, n: usize, m: usize, kind: usize, zeros: f64) -> Vec<Vec<f64>> {
    let mut columns: Vec<Vec<f64>> = (0..m).map(|_| within_one(rng, n, kind, zeros)).collect();
    for j in 1..m {
        let other = rng.random_range(0..j);
        match rng.random_range(0..6) {
            0 => columns[j] = columns[other].clone(),
            1 => {
                columns[j] =
                    columns[other].iter().map(|&x| f64::from(x > 0.0 || rng.random_bool(0.2))).collect()
            }
            _ => {}
        }
    }
    columns
}

proptest! {
    #![proptest_config(cases(40))]

    /// Products of several: the search finds what brute force over all distinct columns finds, in every storage.
    #[test]
    fn products_of_several(
        seed in any::<u64>(), n in 2usize..30, m in 1usize..13, kind in 0usize..3, zeros in 0.0..0.8,
        degree in 1usize..6, min_support in 1usize..4, restricted in prop::bool::weighted(0.3),
    ) {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let m = if degree > 3 { m.min(9) } else { m };
        let columns = related(rng, n, m, kind, zeros);
        let allowed: Vec<bool> = (0..m).map(|_| !restricted || rng.random_bool(0.6)).collect();
        let products = all_products(&columns, degree, |j| allowed[j]);
        // Sums of integers are exact, and so are ties; with real duals only those of equal columns.
        let all = MOST_OUTPUTS * n;
        let v = if kind < 2 { integers(rng, all, 2, 0.3) } else { reals(rng, all) };
        for storage in Storage::ALL {
            let stored = storage.store(&columns, &(0..m as u64).map(|j| 5 * j + 1).collect::<Vec<_>>());
            let known = distinct(&*stored, &products, min_support);
            let mut space = ProductSpace::new(Inputs::over(&*stored), degree).unwrap().min_support(min_support);
            if restricted {
                space = space.only((0..m).filter(|&j| allowed[j]).map(|j| stored.id(j)));
            }
            let what = format!("seed {seed}, {n} x {m} {storage:?}, kind {kind}, degree {degree}, at least {min_support}");
            keeps_the_contract(&space, &known, std::slice::from_ref(&v), kind < 2, &what);
        }
    }

    /// What has the same column as a candidate is known, and is taken with it.
    #[test]
    fn equal_products_are_aliases(
        seed in any::<u64>(), n in 2usize..12, m in 2usize..8, kind in 0usize..3, degree in 2usize..4,
    ) {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let columns = related(rng, n, m, kind, 0.4);
        let stored = Storage::Sparse.store(&columns, &(0..m as u64).map(|j| 3 * j).collect::<Vec<_>>());
        let space = ProductSpace::new(Inputs::over(&*stored), degree).unwrap();
        let v = reals(rng, n);
        let mut equal: HashMap<Vec<u64>, Vec<Feature>> = HashMap::new();
        for (factors, x) in all_products(&columns, degree, |_| true) {
            let bits = x.iter().map(|x| x.to_bits()).collect();
            equal.entry(bits).or_default().push(product(&*stored, &factors));
        }
        for features in equal.values().filter(|features| features.len() < 100) {
            for (k, feature) in features.iter().enumerate() {
                let mut others = features.clone();
                others.remove(k);
                let found = space.aliases(&[feature.clone(), features[0].clone()], 100).unwrap();
                prop_assert_eq!(&found[0], &others);
                prop_assert_eq!(&found[1], &features[1..]);
                others.truncate(2);
                let found = space.aliases(std::slice::from_ref(feature), 2).unwrap();
                prop_assert_eq!(&found, std::slice::from_ref(&others));
                let taken = HashSet::from([Candidate::Feature(feature.clone())]);
                let found = space.worst_case(&Ask::one(&v, 10_000, &taken)).unwrap();
                let first = Candidate::Feature(features[0].clone());
                prop_assert!(found.fresh.iter().all(|s| s.item != first), "{:?} of {:?}", first, feature);
            }
        }
    }
}

/// Rows with some of `features` present, and the set of `planted` in every `every`-th row.
fn presence(
    rng: &mut ChaCha8Rng,
    rows: usize,
    features: u64,
    ones: usize,
    planted: &[(usize, &[u64])],
) -> Vec<Vec<u64>> {
    let row = |i: usize| {
        let mut row: HashSet<u64> = (0..ones).map(|_| rng.random_range(0..features)).collect();
        planted.iter().filter(|(every, _)| i.is_multiple_of(*every)).for_each(|(_, set)| row.extend(*set));
        let mut row: Vec<u64> = row.into_iter().collect();
        row.sort_unstable();
        row
    };
    (0..rows).map(row).collect()
}

/// The same rows by columns.
fn by_columns(rows: &[Vec<u64>], features: u64) -> featgen::data::Sparse {
    let mut columns = vec![Vec::new(); features as usize];
    for (i, row) in (0..).zip(rows) {
        row.iter().for_each(|&j| columns[j as usize].push(i));
    }
    let mut pointers = vec![0];
    pointers.extend(columns.iter().scan(0, |end, column: &Vec<u32>| {
        *end += column.len() as u64;
        Some(*end)
    }));
    let (ids, rows_of) = ((0..features).collect(), columns.concat());
    featgen::data::Sparse::new(rows.len(), features, ids, pointers, rows_of, featgen::data::Values::Ones)
        .unwrap()
}

/// Rows are of the second class if they hold a planted set: it is the best of 10^11 and more, and few are looked at.
#[test]
fn planted_products_are_found() {
    for planted in [&[17u64, 803, 1900][..], &[5, 400, 1203, 1999]] {
        let rng = &mut ChaCha8Rng::seed_from_u64(planted.len() as u64);
        // Parts of the set are as frequent among the others, so that only the whole of it tells.
        let parts: Vec<Vec<u64>> = planted
            .iter()
            .map(|left_out| planted.iter().copied().filter(|j| j != left_out).collect())
            .collect();
        let mut sets: Vec<(usize, &[u64])> =
            parts.iter().zip([7, 9, 11, 13]).map(|(p, every)| (every, &p[..])).collect();
        sets.push((10, planted));
        let rows = presence(rng, 5000, 2000, 20, &sets);
        // One label in ten is wrong.
        let labels: Vec<bool> =
            rows.iter().map(|row| planted.iter().all(|j| row.contains(j)) != rng.random_bool(0.1)).collect();
        let positive = labels.iter().filter(|label| **label).count() as f64;
        let negative = rows.len() as f64 - positive;
        let v: Vec<f64> =
            labels.iter().map(|label| if *label { 1.0 / positive } else { -1.0 / negative }).collect();
        let stored = by_columns(&rows, 2000);
        let space = ProductSpace::new(Inputs::over(&stored), planted.len()).unwrap();
        // With several outputs, of which two say the same and one says nothing, as much is left out.
        let several = [v.clone(), vec![0.0; v.len()], v.iter().map(|v| -0.5 * v).collect()].concat();
        for (v, outputs) in [(&v, 1), (&several, 3)] {
            let found = space.worst_case(&Ask::many(v, outputs, 5, &HashSet::new())).unwrap();
            assert_eq!(
                found.best[0].item,
                Candidate::Feature(Feature::product(planted.to_vec())),
                "{found:?}"
            );
            assert!(found.scored < space.size() / 1000, "{} of {} scored", found.scored, space.size());
        }
    }
}

#[test]
fn products_are_of_values_within_one_and_of_few_factors() {
    for storage in Storage::ALL {
        for bad in [f64::NAN, f64::INFINITY, -0.25, 1.5] {
            let mut columns = vec![vec![1.0; 6]; 4];
            columns[2][4] = bad;
            let stored = storage.store(&columns, &[0, 1, 2, 3]);
            let error = ProductSpace::new(Inputs::over(&*stored), 2).err().unwrap().to_string();
            assert!(
                error.contains("row 5, feature 3") && error.contains("within 0 and 1"),
                "{storage:?}: {error}"
            );
        }
    }
    let stored = Storage::Sparse.store(&[vec![1.0]], &[0]);
    for degree in [0, 17, usize::MAX] {
        let error = ProductSpace::new(Inputs::over(&*stored), degree).err().unwrap().to_string();
        assert!(error.contains("degree"), "{error}");
    }
}

/// A search that takes too long ends with an explanation, and one that is interrupted ends.
#[test]
fn a_search_ends_in_time() {
    let rng = &mut ChaCha8Rng::seed_from_u64(8);
    let rows = presence(rng, 40, 3000, 2000, &[]);
    let v: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let stored = by_columns(&rows, 3000);
    let space = || ProductSpace::new(Inputs::over(&stored), 8).unwrap();
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let worst =
            |space: ProductSpace<'_>| pool.install(|| space.worst_case(&Ask::one(&v, 5000, &HashSet::new())));
        let error = worst(space().most_work(1 << 24)).unwrap_err().to_string();
        assert!(error.contains("16777216 values") && error.contains("--degree"), "{error}");
        let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
        let context = Context::new().interrupt(flag);
        let inputs = Inputs::over(&stored).context(&context);
        let spaces: [Box<dyn FeatureSpace>; 3] = [
            Box::new(ProductSpace::new(inputs, 8).unwrap()),
            Box::new(PolySpace::new(inputs, 1.0, 1.0).unwrap()),
            Box::new(LinearSpace::from(inputs)),
        ];
        for space in spaces {
            let error =
                pool.install(|| space.worst_case(&Ask::one(&v, 5, &HashSet::new()))).unwrap_err().to_string();
            assert!(error.contains("interrupted"), "{error}");
        }
    }
}
