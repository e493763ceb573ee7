//! One routine for all spaces: what they find is what brute force finds.

use std::collections::HashSet;
use std::sync::LazyLock;

use featgen::operator::Operator;
use featgen::space::{Ask, Candidate, Feature, FeatureSpace, Fresh, Scored};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::{ThreadPool, ThreadPoolBuilder};

type Big = dashu_float::FBig;

/// A candidate of a space, with the columns of its features and its squared weight.
pub(crate) struct Known {
    pub(crate) candidate: Candidate,
    pub(crate) features: Vec<(Feature, Vec<f64>)>,
    pub(crate) eta_squared: f64,
}

impl Known {
    /// The score, and the size of the terms that it is summed from.
    fn score(&self, v: &[f64]) -> [f64; 2] {
        let (mut sum, mut size) = (0.0, 0.0);
        for (_, x) in &self.features {
            for v in v.chunks(x.len()) {
                sum += x.iter().zip(v).map(|(x, v)| x * v).sum::<f64>().powi(2);
                size += x.iter().zip(v).map(|(x, v)| (x * v).abs()).sum::<f64>().powi(2);
            }
        }
        [sum, size].map(|square| (square / self.eta_squared).sqrt())
    }

    /// The part that residuals of one output have in the squared score, with all its digits.
    fn exact_square(&self, v: &[f64]) -> Big {
        let big = |x: f64| Big::try_from(x).unwrap().with_precision(600).value();
        let sum = |terms: &mut dyn Iterator<Item = Big>| terms.fold(big(0.0), |sum, term| sum + term);
        let dot = |x: &[f64]| sum(&mut x.iter().zip(v).map(|(&x, &v)| big(x) * big(v)));
        sum(&mut self.features.iter().map(|(_, x)| dot(x)).map(|dot| dot.clone() * dot))
            / big(self.eta_squared)
    }
}

/// Numbers of outputs that everything is checked with.
pub(crate) const OUTPUTS: [usize; 3] = [1, 2, 5];

/// The most outputs.
pub(crate) const MOST_OUTPUTS: usize = 5;

/// What certificates are made of: no candidate makes a longer vector of an instance than the space says, and no rounding
/// takes the sum of the best scores above what it may be.
fn keeps_its_precision(space: &dyn FeatureSpace, known: &[Known], v: &[f64], rows: usize, what: &str) {
    let precision = space.precision().unwrap();
    for k in known {
        for i in 0..rows {
            let square: f64 = k.features.iter().map(|(_, x)| x[i] * x[i]).sum();
            let length = (square / k.eta_squared).sqrt();
            assert!(length <= precision.radius * (1.0 + 1e-12), "{what}: {:?}, row {i}", k.candidate);
        }
    }
    let parts: Vec<Vec<Big>> =
        v.chunks(rows).map(|v| known.iter().map(|k| k.exact_square(v)).collect()).collect();
    for outputs in OUTPUTS {
        let v = &v[..outputs * rows];
        let all =
            |c: usize| parts[..outputs].iter().map(|part| part[c].clone()).reduce(|a, b| a + b).unwrap();
        let mut squares: Vec<Big> = (0..known.len()).map(all).collect();
        squares.sort_by(|a, b| b.partial_cmp(a).unwrap());
        for budget in [1, 2, 7, known.len()] {
            let none = HashSet::new();
            let ask = Ask::many(v, outputs, budget, &none);
            let worst = space.worst_case(&ask).unwrap();
            let most = worst.top_at_most(budget, &ask, precision);
            let exact = squares.iter().take(budget).cloned().reduce(|a, b| a + b);
            let holds = exact.as_ref().is_none_or(|exact| *exact <= Big::try_from(most).unwrap());
            assert!(holds, "{what}, {outputs} outputs, budget {budget}: {exact:?} above {most}");
            // And little is given away.
            let size: f64 = precision.radius * v.iter().map(|v| v.abs()).sum::<f64>();
            let slack = 1e-12 * (worst.top() + size * size) * budget as f64;
            assert!(most <= worst.top() + slack, "{what}, budget {budget}: {most} far above {}", worst.top());
        }
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

/// Pools of 1, 2 and 3 threads.
static POOLS: LazyLock<[ThreadPool; 3]> =
    LazyLock::new(|| [1, 2, 3].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap()));

/// The contract. `vs` are residuals to score with, of [`MOST_OUTPUTS`] outputs each, of which the first few are used alone too;
/// whoever has integers in both says `exact`.
pub(crate) fn keeps_the_contract(
    space: &dyn FeatureSpace,
    known: &[Known],
    vs: &[Vec<f64>],
    exact: bool,
    what: &str,
) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let rows = space.data().rows();
    assert!(space.size() >= known.len() as u128, "{what}");
    for v in vs {
        assert_eq!(v.len(), MOST_OUTPUTS * rows, "{what}");
        keeps_its_precision(space, known, v, rows, what);
        for (outputs, part) in OUTPUTS.into_iter().flat_map(|q| [0.0, 0.3, 1.0].map(|part| (q, part))) {
            let v = &v[..outputs * rows];
            let mut taken: HashSet<Candidate> = known.iter().map(|k| k.candidate.clone()).collect();
            taken.retain(|_| rng.random_bool(part));
            let all = brute_force(known.iter(), v);
            let rest = brute_force(known.iter().filter(|k| !taken.contains(&k.candidate)), v);
            for budget in [0, 1, 2, 7, known.len(), known.len() + 5] {
                let what = format!("{what}, {outputs} outputs, budget {budget}, {} taken", taken.len());
                let ask = Ask::many(v, outputs, budget, &taken);
                let found = POOLS.each_ref().map(|pool| pool.install(|| space.worst_case(&ask).unwrap()));
                assert!(found[0] == found[1] && found[0] == found[2], "{what}: threads change the result");
                assert!(found[0].scored <= space.size(), "{what}: scored more than there are");
                compare(&found[0].best, &all, budget, exact, &format!("{what}, best"));
                compare(&found[0].fresh, &rest, budget, exact, &format!("{what}, fresh"));
                // Of those not taken others than as many may be of use. What is rounded may be on either side of a limit.
                let (most, limit) = (13usize.saturating_sub(budget), rest.get(known.len() / 3));
                let above = limit.map_or(0.0, |limit| if exact { limit.0 } else { 0.0 });
                let useful: Vec<_> = rest.iter().filter(|e| e.0 > above).copied().collect();
                let ask = ask.with_fresh(Fresh { most, above });
                let found = POOLS.each_ref().map(|pool| pool.install(|| space.worst_case(&ask).unwrap()));
                assert!(
                    found[0] == found[1] && found[0] == found[2],
                    "{what}: threads change what is of use"
                );
                compare(&found[0].best, &all, budget, exact, &format!("{what}, best beside {most}"));
                compare(&found[0].fresh, &useful, most, exact, &format!("{what}, {most} above {above}"));
            }
        }
        let none = HashSet::new();
        let short = space.worst_case(&Ask::many(&v[1..], MOST_OUTPUTS, 1, &none));
        assert!(
            short.unwrap_err().to_string().contains("residuals"),
            "{what}: an instance without a residual"
        );
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
    assert!(space.generate(&[Feature::input(u64::MAX)]).is_err(), "{what}: a feature that does not exist");
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
