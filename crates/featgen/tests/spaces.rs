//! The contract that every feature space keeps, checked by brute force over all its features.

mod common;

use std::collections::{HashMap, HashSet};

use common::{Problem, Storage, nested, overlapping};
use featgen::LinearSpace;
use featgen::data::Columns;
use featgen::operator::Operator;
use featgen::space::{
    AdditiveSpace, Candidate, Feature, FeatureSpace, GroupSpace, GroupWeight, Groups, Inputs, PolySpace,
    ProductSpace, Scored, Tree, TreeSpace, Watch, WorstCase,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

type Big = dashu_float::FBig;

/// The same random cases every time: a run that fails, fails again.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    }
}

/// A candidate of a space, with the columns of its features and its squared weight.
struct Known {
    candidate: Candidate,
    features: Vec<(Feature, Vec<f64>)>,
    eta_squared: f64,
}

impl Known {
    /// The score, and the size of the terms that it is summed from.
    fn score(&self, v: &[f64]) -> [f64; 2] {
        let (mut sum, mut size) = (0.0, 0.0);
        for (_, x) in &self.features {
            sum += x.iter().zip(v).map(|(x, v)| x * v).sum::<f64>().powi(2);
            size += x.iter().zip(v).map(|(x, v)| (x * v).abs()).sum::<f64>().powi(2);
        }
        [sum, size].map(|square| (square / self.eta_squared).sqrt())
    }
}

/// The squared scores with all their digits, the largest first.
fn exact_squares(known: &[Known], v: &[f64]) -> Vec<Big> {
    let big = |x: f64| Big::try_from(x).unwrap().with_precision(600).value();
    let sum = |terms: &mut dyn Iterator<Item = Big>| terms.fold(big(0.0), |sum, term| sum + term);
    let square = |k: &Known| {
        let dot = |x: &[f64]| sum(&mut x.iter().zip(v).map(|(&x, &v)| big(x) * big(v)));
        sum(&mut k.features.iter().map(|(_, x)| dot(x) * dot(x))) / big(k.eta_squared)
    };
    let mut squares: Vec<Big> = known.iter().map(square).collect();
    squares.sort_by(|a, b| b.partial_cmp(a).unwrap());
    squares
}

/// What certificates are made of: no candidate makes a longer vector of an instance than the space says, and no rounding
/// takes the sum of the best scores above what it may be.
fn keeps_its_precision(space: &dyn FeatureSpace, known: &[Known], v: &[f64], what: &str) {
    let precision = space.precision().unwrap();
    for k in known {
        for i in 0..v.len() {
            let square: f64 = k.features.iter().map(|(_, x)| x[i] * x[i]).sum();
            let length = (square / k.eta_squared).sqrt();
            assert!(length <= precision.radius * (1.0 + 1e-12), "{what}: {:?}, row {i}", k.candidate);
        }
    }
    let squares = exact_squares(known, v);
    for budget in [1, 2, 7, known.len()] {
        let worst = space.worst_case(v, budget, &HashSet::new()).unwrap();
        let most = worst.top_at_most(budget, v, precision);
        let exact = squares.iter().take(budget).cloned().reduce(|a, b| a + b);
        let holds = exact.as_ref().is_none_or(|exact| *exact <= Big::try_from(most).unwrap());
        assert!(holds, "{what}, budget {budget}: {exact:?} above {most}");
        // And little is given away.
        let size: f64 = precision.radius * v.iter().map(|v| v.abs()).sum::<f64>();
        let slack = 1e-12 * (worst.top() + size * size) * budget as f64;
        assert!(most <= worst.top() + slack, "{what}, budget {budget}: {most} far above {}", worst.top());
    }
}

/// The best of `known`, from best to worst, with the size of the terms that their scores are summed from.
fn brute_force<'a>(known: impl Iterator<Item = &'a Known>, v: &[f64]) -> Vec<(f64, f64, &'a Candidate)> {
    let mut all: Vec<_> = known.map(|k| (k.score(v), &k.candidate)).map(|([s, z], c)| (s, z, c)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(b.2)));
    all
}

/// Whether `found` is what brute force finds. If `exact`, no sum was rounded, ties are ties in any order of summation,
/// and the lists must be equal; otherwise candidates of nearly the same score may change places.
fn compare(
    found: &[Scored<Candidate>],
    expected: &[(f64, f64, &Candidate)],
    budget: usize,
    exact: bool,
    what: &str,
) {
    let positive: Vec<_> = expected.iter().filter(|e| e.0 > 0.0).take(budget).collect();
    assert!(found.iter().all(|s| s.score > 0.0), "{what}: a candidate of score 0");
    if exact {
        let found: Vec<_> = found.iter().map(|s| (s.score, &s.item)).collect();
        let expected: Vec<_> = positive.iter().map(|e| (e.0, e.2)).collect();
        assert_eq!(found, expected, "{what}");
        return;
    }
    assert_eq!(found.len(), positive.len(), "{what}");
    let distinct: HashSet<_> = found.iter().map(|s| &s.item).collect();
    assert_eq!(distinct.len(), found.len(), "{what}: a candidate twice");
    for (k, (found, best)) in found.iter().zip(positive).enumerate() {
        let own = expected.iter().find(|e| *e.2 == found.item).expect("a candidate of the space, not taken");
        for (score, size) in [(own.0, own.1), (best.0, own.1.max(best.1))] {
            assert!((found.score - score).abs() <= 1e-12 * size, "{what}, place {k}: {found:?}, not {score}");
        }
    }
    assert!(found.is_sorted_by(|a, b| (b.score, &a.item) < (a.score, &b.item)), "{what}: out of order");
}

fn on_threads(threads: usize, run: impl FnOnce() -> WorstCase + Send) -> WorstCase {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
}

/// The contract. `vs` are duals to score with; whoever has integers in both says `exact`.
fn keeps_the_contract(space: &dyn FeatureSpace, known: &[Known], vs: &[Vec<f64>], exact: bool, what: &str) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let rows = space.inputs().rows();
    assert!(space.size() >= known.len() as u128, "{what}");
    for v in vs {
        assert_eq!(v.len(), rows, "{what}");
        keeps_its_precision(space, known, v, what);
        for part in [0.0, 0.3, 1.0] {
            let mut taken: HashSet<Candidate> = known.iter().map(|k| k.candidate.clone()).collect();
            taken.retain(|_| rng.random_bool(part));
            let all = brute_force(known.iter(), v);
            let rest = brute_force(known.iter().filter(|k| !taken.contains(&k.candidate)), v);
            for budget in [0, 1, 2, 7, known.len(), known.len() + 5] {
                let what = format!("{what}, budget {budget}, {} taken", taken.len());
                let found = [1, 2, 3].map(|t| on_threads(t, || space.worst_case(v, budget, &taken).unwrap()));
                assert!(found[0] == found[1] && found[0] == found[2], "{what}: threads change the result");
                assert!(found[0].scored <= space.size(), "{what}: scored more than there are");
                compare(&found[0].best, &all, budget, exact, &format!("{what}, best"));
                compare(&found[0].fresh, &rest, budget, exact, &format!("{what}, fresh"));
            }
        }
    }
    // Groups are what they should be, and columns come in the order asked for.
    for k in known.iter().rev().step_by(2).chain(known.iter().step_by(3)) {
        let group = space.group(&k.candidate).unwrap();
        assert!((group.scale * k.eta_squared.sqrt() - 1.0).abs() < 1e-15, "{what}: {:?}", k.candidate);
        let columns = space.generate(&group.features).unwrap();
        let columns: Vec<Vec<f64>> = columns.iter().flat_map(|operator| written(operator, rows)).collect();
        assert_eq!(columns.len(), k.features.len(), "{what}: {:?}", k.candidate);
        for ((feature, expected), (found, column)) in
            k.features.iter().zip(group.features.iter().zip(columns))
        {
            assert_eq!(feature, found, "{what}: {:?}", k.candidate);
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * (1.0 + a.abs());
            assert!(expected.iter().zip(&column).all(near), "{what}: {feature:?} {expected:?} {column:?}");
        }
    }
    assert!(space.generate(&[Feature::Input(u64::MAX)]).is_err(), "{what}: a feature that does not exist");
    assert!(space.group(&Candidate::Group(u32::MAX)).is_err(), "{what}: a group that does not exist");
    // The constant and the first input are both called 1 where inputs have no names.
    // So are levels of an input that is always 0.
    let told_apart = |f: &&(Feature, Vec<f64>)| !f.0.inputs().is_empty() && f.1.iter().any(|x| *x != 0.0);
    let features: HashSet<&Feature> =
        known.iter().flat_map(|k| &k.features).filter(told_apart).map(|f| &f.0).collect();
    let names: HashSet<String> = features.iter().map(|f| space.name(f)).collect();
    assert_eq!(names.len(), features.len(), "{what}: two features of one name");
}

/// The columns of an operator.
fn written(operator: &Operator, n: usize) -> Vec<Vec<f64>> {
    let column = |l: usize| {
        let unit: Vec<f64> = (0..operator.width()).map(|k| f64::from(u8::from(k == l))).collect();
        let mut values = vec![0.0; n];
        operator.apply(&unit, &mut values);
        values
    };
    (0..operator.width()).map(column).collect()
}

/// The candidates of a linear space: its columns.
fn linear(stored: &dyn Columns, columns: &[Vec<f64>]) -> Vec<Known> {
    let known = |(k, x): (usize, &Vec<f64>)| {
        let feature = Feature::Input(stored.id(k));
        let candidate = Candidate::Feature(feature.clone());
        Known { candidate, features: vec![(feature, x.clone())], eta_squared: 1.0 }
    };
    columns.iter().enumerate().map(known).collect()
}

/// The candidates of a space of groups, given by the columns they hold.
fn grouped(
    stored: &dyn Columns,
    columns: &[Vec<f64>],
    groups: &[Vec<usize>],
    weight: GroupWeight,
) -> Vec<Known> {
    let known = |(g, members): (u32, &Vec<usize>)| Known {
        candidate: Candidate::Group(g),
        features: members.iter().map(|&j| (Feature::Input(stored.id(j)), columns[j].clone())).collect(),
        eta_squared: if weight == GroupWeight::Sqrt { members.len() as f64 } else { 1.0 },
    };
    (0..).zip(groups).map(known).collect()
}

/// The candidates of a space of degree two, with the coefficients of the kernel.
fn quadratic(stored: &dyn Columns, columns: &[Vec<f64>], gamma: f64, coef0: f64) -> Vec<Known> {
    let id = |j: usize| stored.id(j);
    let known = |feature: Feature, column: Vec<f64>, coefficient: f64| Known {
        candidate: Candidate::Feature(feature.clone()),
        features: vec![(feature, column)],
        eta_squared: coefficient.powi(-2),
    };
    let mut all = vec![known(Feature::Product(Vec::new()), vec![1.0; stored.rows()], coef0)];
    for (j, x) in columns.iter().enumerate() {
        all.push(known(Feature::Input(id(j)), x.clone(), (2.0 * gamma * coef0).sqrt()));
        for (k, z) in columns.iter().enumerate().skip(j) {
            let product = x.iter().zip(z).map(|(x, z)| x * z).collect();
            let coefficient = if j == k { gamma } else { 2f64.sqrt() * gamma };
            all.push(known(Feature::Product(vec![id(j), id(k)]), product, coefficient));
        }
    }
    all.retain(|known| known.eta_squared.is_finite());
    all
}

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
        [j] => Feature::Input(stored.id(*j)),
        _ => Feature::Product(factors.iter().map(|&j| stored.id(j)).collect()),
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

/// The candidates of an additive space: for each input a group of features, with the columns that their formulas give.
fn additive(
    space: &AdditiveSpace<'_>,
    columns: &[Vec<f64>],
    value: impl Fn(&Feature, f64) -> f64,
) -> Vec<Known> {
    let known = |(g, x): (u32, &Vec<f64>)| {
        let candidate = Candidate::Group(g);
        let features = space.group(&candidate).unwrap().features;
        let column = |feature: Feature| {
            let values = x.iter().map(|&x| value(&feature, x)).collect();
            (feature, values)
        };
        Known { candidate, features: features.into_iter().map(column).collect(), eta_squared: 1.0 }
    };
    (0..).zip(columns).map(known).collect()
}

/// The value of a part of a curve, by its definition.
fn part_of_curve(feature: &Feature, x: f64) -> f64 {
    match feature {
        Feature::Step(step) => {
            let size = x.abs().powf(step.power.0) / step.top.0 * f64::from(step.of);
            let level = if x == 0.0 { 0.0 } else { size.round_ties_even().clamp(1.0, step.of.into()) };
            if level >= step.level.into() { (step.top.0 / f64::from(step.of)).sqrt() } else { 0.0 }
        }
        Feature::Wave(wave) => {
            let density = |k: i32| (-0.5 * (f64::from(k) * 0.55).powi(2)).exp();
            let total: f64 = (-5..=5).map(density).sum();
            let amplitude = (2.0 * density(wave.harmonic as i32) / total).sqrt();
            let phase = f64::from(wave.harmonic) * 0.55 * x / wave.sigma.0;
            amplitude * if wave.sine { phase.sin() } else { phase.cos() - 1.0 }
        }
        other => panic!("{other:?} is no part of a curve"),
    }
}

/// The same groups as the library holds them.
fn lists(inputs: &Inputs<'_>, groups: &[Vec<usize>]) -> Groups {
    let mut lists = Groups::over(inputs).unwrap();
    for members in groups {
        lists.push(inputs, None, members.iter().map(|&j| inputs.columns().id(j))).unwrap();
    }
    lists
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
        let place = |j: usize| {
            let candidate = Candidate::Feature(Feature::Input(stored.id(j)));
            found.best.iter().position(|s| s.item == candidate).unwrap()
        };
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

const WEIGHTS: [GroupWeight; 2] = [GroupWeight::None, GroupWeight::Sqrt];

/// A group space, and a tree space where the groups form a tree, over all storages and with all weights.
fn check_groups(columns: &[Vec<f64>], groups: &[Vec<usize>], tree: bool, vs: &[Vec<f64>], exact: bool) {
    for (storage, weight) in Storage::ALL.into_iter().flat_map(|s| WEIGHTS.map(|w| (s, w))) {
        let stored =
            storage.store(columns, &(0..columns.len() as u64).map(|j| 7 * j + 2).collect::<Vec<_>>());
        let inputs = Inputs::over(&*stored);
        let known = grouped(&*stored, columns, groups, weight);
        let lists = lists(&inputs, groups);
        let what = format!("{} groups, {weight:?}, over {storage:?}", groups.len());
        if tree {
            let space = TreeSpace::new(inputs, Tree::new(&lists).unwrap(), weight).unwrap();
            keeps_the_contract(&space, &known, vs, exact, &format!("tree of {what}"));
        }
        let space = GroupSpace::new(inputs, lists, weight).unwrap();
        keeps_the_contract(&space, &known, vs, exact, &what);
    }
}

fn integers(rng: &mut ChaCha8Rng, n: usize, most: i32, zeros: f64) -> Vec<f64> {
    (0..n).map(|_| if rng.random_bool(zeros) { 0.0 } else { rng.random_range(-most..=most).into() }).collect()
}

fn reals(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    (0..n).map(|_| rng.sample::<f32, _>(StandardNormal).into()).collect()
}

proptest! {
    #![proptest_config(cases(40))]

    /// Random trees, random overlapping groups; integers, so that ties are frequent and exact, and real numbers.
    #[test]
    fn groups_and_trees(seed in any::<u64>(), n in 2usize..30, m in 1usize..40, exact in any::<bool>()) {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let columns: Vec<_> = (0..m)
            .map(|_| if exact { integers(rng, n, 2, 0.5) } else { reals(rng, n) })
            .collect();
        let vs = [if exact { integers(rng, n, 2, 0.3) } else { reals(rng, n) }];
        check_groups(&columns, &nested(rng, m), true, &vs, exact);
        check_groups(&columns, &overlapping(rng, m), false, &vs, exact);
    }
}

proptest! {
    #![proptest_config(cases(40))]

    /// Products of two: pruned and exhaustive search are what brute force finds, in every storage.
    #[test]
    fn products_of_two(
        seed in any::<u64>(), n in 2usize..30, m in 1usize..14, zeros in 0.0..0.9, coef0 in any::<bool>(),
        one_signed in any::<bool>(),
    ) {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let real = |rng: &mut ChaCha8Rng| rng.sample::<f32, _>(StandardNormal).into();
        let value = |rng: &mut ChaCha8Rng| if rng.random_bool(zeros) { 0.0 } else { real(rng) };
        let mut columns: Vec<Vec<f64>> = (0..m).map(|_| (0..n).map(|_| value(rng)).collect()).collect();
        columns[m / 2] = columns[0].clone();
        if one_signed {
            columns.iter_mut().flatten().for_each(|x| *x = x.abs());
            columns[0].iter_mut().for_each(|x| *x = -*x);
        }
        let v = (0..n).map(|_| value(rng)).collect::<Vec<_>>();
        let (gamma, coef0) = (rng.random_range(0.1..3.0), if coef0 { rng.random_range(0.1..3.0) } else { 0.0 });
        for storage in Storage::ALL {
            let stored = storage.store(&columns, &(0..m as u64).map(|j| 5 * j + 1).collect::<Vec<_>>());
            let known = quadratic(&*stored, &columns, gamma, coef0);
            let space = || PolySpace::new(Inputs::over(&*stored), gamma, coef0).unwrap();
            let what = format!("seed {seed}, {n} x {m} {storage:?}, gamma {gamma}, coef0 {coef0}");
            keeps_the_contract(&space(), &known, std::slice::from_ref(&v), false, &what);
            keeps_the_contract(&space().exhaustive(), &known, std::slice::from_ref(&v), false, &format!("{what}, exhaustive"));
        }
    }
}

proptest! {
    #![proptest_config(cases(40))]

    /// Curves: levels of any number, powers, and waves, in every storage.
    #[test]
    fn curves(
        seed in any::<u64>(), n in 8usize..30, m in 1usize..14, zeros in 0.0..0.9, levels in 2usize..20, power in 0.3f64..3.0,
    ) {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let value = |rng: &mut ChaCha8Rng| if rng.random_bool(zeros) { 0.0 } else { rng.random_range(-2f32..2.0).into() };
        let columns: Vec<Vec<f64>> = (0..m).map(|_| (0..n).map(|_| value(rng)).collect()).collect();
        let sizes: Vec<Vec<f64>> = columns.iter().map(|x| x.iter().map(|x| x.abs()).collect()).collect();
        let v = (0..n).map(|_| value(rng)).collect::<Vec<_>>();
        for storage in Storage::ALL {
            let ids: Vec<u64> = (0..m as u64).map(|j| 5 * j + 1).collect();
            let (stored, positive) = (storage.store(&columns, &ids), storage.store(&sizes, &ids));
            let inputs = Inputs::over(&*stored);
            for (name, space, columns) in [
                ("hik", AdditiveSpace::hik(Inputs::over(&*positive), levels).unwrap(), &sizes),
                ("intersection", AdditiveSpace::intersection(inputs, levels, power).unwrap(), &columns),
                ("gaussian", AdditiveSpace::gaussian(inputs, Some(power)).unwrap(), &columns),
                ("gaussian by column", AdditiveSpace::gaussian(inputs, None).unwrap(), &columns),
            ] {
                let known = additive(&space, columns, part_of_curve);
                let what = format!("{name}, seed {seed}, {n} x {m} {storage:?}, {levels} levels, power {power}");
                keeps_the_contract(&space, &known, std::slice::from_ref(&v), false, &what);
            }
        }
    }
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
        let v = if kind < 2 { integers(rng, n, 2, 0.3) } else { reals(rng, n) };
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
                let found = space.worst_case(&v, 10_000, &taken).unwrap();
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
        let found = space.worst_case(&v, 5, &HashSet::new()).unwrap();
        assert_eq!(found.best[0].item, Candidate::Feature(Feature::Product(planted.to_vec())), "{found:?}");
        assert!(found.scored < space.size() / 1000, "{} of {} scored", found.scored, space.size());
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
        let worst = |space: ProductSpace<'_>| pool.install(|| space.worst_case(&v, 5000, &HashSet::new()));
        let error = worst(space().most_work(1 << 24)).unwrap_err().to_string();
        assert!(error.contains("16777216 values") && error.contains("--degree"), "{error}");
        let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
        let watch = Watch::new(flag);
        let inputs = Inputs::over(&stored).watched(&watch);
        let spaces: [Box<dyn FeatureSpace>; 3] = [
            Box::new(ProductSpace::new(inputs, 8).unwrap()),
            Box::new(PolySpace::new(inputs, 1.0, 1.0).unwrap()),
            Box::new(LinearSpace::from(inputs)),
        ];
        for space in spaces {
            let error = pool.install(|| space.worst_case(&v, 5, &HashSet::new())).unwrap_err().to_string();
            assert!(error.contains("interrupted"), "{error}");
        }
    }
}

#[test]
fn large_groups_are_summed_as_exactly_as_small_ones() {
    let rng = &mut ChaCha8Rng::seed_from_u64(11);
    let m = 2000;
    // Most of the sum stands before the features of the later groups.
    let columns: Vec<_> = (0..m)
        .map(|j| vec![if j < 10 { 1e6 } else { f64::from(rng.random_range(0.0f32..1.0)) }, 1.0])
        .collect();
    let mut groups = vec![(0..m).collect::<Vec<_>>(), (10..m).collect(), (500..m).collect()];
    groups.extend((0..40).map(|k| (500 + 35 * k..500 + 35 * (k + 1)).collect()));
    check_groups(&columns, &groups, true, &[vec![1.0, 0.0]], false);
}

/// A balanced binary tree of 2^20 - 1 groups over 2^19 features, some of which matter: most of it is never looked at.
#[test]
fn most_of_a_large_tree_is_left_alone() {
    const LEAVES: usize = 1 << 19;
    const ROWS: u32 = 64;
    let rng = &mut ChaCha8Rng::seed_from_u64(12);
    let rows: Vec<u32> = (0..LEAVES).map(|_| rng.random_range(0..ROWS)).collect();
    let matters = |j: usize| j % 10_007 == 5;
    let values = (0..LEAVES).map(|j| if matters(j) { 10.0 } else { 0.01 }).collect();
    let columns = featgen::data::Sparse::new(
        ROWS as usize,
        LEAVES as u64,
        (0..LEAVES as u64).collect(),
        (0..=LEAVES as u64).collect(),
        rows,
        featgen::data::Values::F64(values),
    )
    .unwrap();
    let inputs = Inputs::over(&columns);
    let mut lists = Groups::over(&inputs).unwrap();
    let mut width = LEAVES;
    while width > 0 {
        for first in (0..LEAVES).step_by(width) {
            lists.push(&inputs, None, first as u64..(first + width) as u64).unwrap();
        }
        width /= 2;
    }
    assert_eq!(lists.len(), 2 * LEAVES - 1);
    let v: Vec<f64> = (0..ROWS).map(|i| 0.5 + f64::from(i % 7)).collect();
    for weight in WEIGHTS {
        let tree = Tree::new(&lists).unwrap();
        let space = TreeSpace::new(inputs, tree, weight).unwrap();
        let found = space.worst_case(&v, 20, &HashSet::new()).unwrap();
        // Groups too large to be fitted as one are not among a tree's candidates: leave them out of the comparison.
        let all = GroupSpace::new(inputs, lists.clone(), weight).unwrap();
        let expected = all.worst_case(&v, 20 + 15, &HashSet::new()).unwrap();
        let small =
            |s: &&Scored<Candidate>| space.group(&s.item).unwrap().size <= featgen::space::MOST_MEMBERS;
        let expected: Vec<&Scored<Candidate>> = expected.best.iter().filter(small).take(20).collect();
        assert_eq!(found.best.len(), expected.len());
        for (found, expected) in found.best.iter().zip(expected) {
            assert!(
                (found.score / expected.score - 1.0).abs() < 1e-12,
                "{weight:?}: {found:?}, not {expected:?}"
            );
        }
        assert!(found.scored < 5000, "{weight:?}: {} groups scored", found.scored);
    }
}

#[test]
fn crossing_groups_are_named() {
    let columns = vec![vec![1.0, 2.0]; 6];
    let stored = Storage::ALL[0].store(&columns, &[]);
    let inputs = Inputs::over(&*stored);
    let crossing = |groups: &[Vec<usize>]| Tree::new(&lists(&inputs, groups)).unwrap_err();
    let found = crossing(&[vec![0, 1, 2, 3], vec![0, 1], vec![2, 3], vec![1, 2]]);
    let [a, b] = found.groups;
    assert_eq!((a, found.only[0] + found.shared), (3, 3), "{found:?}");
    assert!(b == 1 && found.only[1] == 0 || b == 2 && found.only[1] == 3, "{found:?}");
    let found = crossing(&[vec![0, 1, 2], vec![2, 3]]);
    assert_eq!((found.groups, found.shared, found.only), ([1, 0], 2, [3, 0]));
}
