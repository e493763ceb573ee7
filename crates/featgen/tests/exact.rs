//! No bound is above the true optimum, ever: tiny and extreme problems, where rounding does its worst, against 54 digits.
//!
//! `FEATGEN_EXACT=100000 cargo test --release --test exact` tries more of them.

mod common;

use common::Loss;
use dashu_float::FBig;
use featgen::data::{Dense, Labels, Layout};
use featgen::machine::{Select, Stop};
use featgen::{Context, LinearSpace, Machine, Model};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

type Big = FBig;

/// Binary digits.
const PRECISION: usize = 180;

fn big(x: f64) -> Big {
    digits(Big::try_from(x).expect("a finite number"))
}

/// The same number, computed with from here on with so many digits: 0 and 1 may have forgotten them.
fn digits(x: Big) -> Big {
    x.with_precision(PRECISION).value()
}

fn abs(x: &Big) -> Big {
    if *x < big(0.0) { -x.clone() } else { x.clone() }
}

/// A problem of a few instances and features, at a cost that may be anything.
#[derive(Debug, Clone)]
struct Tiny {
    /// By columns.
    x: Vec<Vec<f64>>,
    signs: Vec<f64>,
    loss: Loss,
    shift: bool,
    budget: usize,
    cost: f64,
}

impl Tiny {
    fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (n, m) = (rng.random_range(2..=6), rng.random_range(1..=3));
        let round = rng.random_bool(0.5);
        let mut column = || {
            let scale = 10f64.powi(if round { 0 } else { rng.random_range(-3..=3) });
            let value = |x: f64| if round { x.round() } else { x * scale };
            (0..n).map(|_| value(rng.random_range(-9.0..9.0))).collect()
        };
        let x = (0..m).map(|_| column()).collect();
        let mut signs: Vec<f64> = (0..n).map(|_| if rng.random_bool(0.5) { 1.0 } else { -1.0 }).collect();
        (signs[0], signs[1]) = (-1.0, 1.0);
        let cost = 10f64.powf(rng.random_range(-3.0..13.0));
        let (loss, shift) = (Loss::ALL[(seed % 2) as usize], !(seed / 2).is_multiple_of(4));
        Self { x, signs, loss, shift, budget: rng.random_range(1..=m), cost }
    }

    fn machine(&self, cost: f64) -> Machine {
        let loss = featgen::objective::by_name(self.loss.name()).unwrap();
        Machine::new()
            .loss(loss)
            .shift(self.shift)
            .budget(self.budget)
            .cost(cost)
            .context(&Context::new().threads(1))
    }

    fn fit(&self, machine: &Machine) -> featgen::Result<Model> {
        let (n, m) = (self.signs.len(), self.x.len());
        let columns = Dense::<f64, _>::new(self.x.concat(), n, m, Layout::ColumnMajor).unwrap();
        let labels = Labels::from_text(self.signs.iter().map(|&y| if y > 0.0 { "+1" } else { "-1" }));
        machine.fit(&LinearSpace::over(&columns), &labels)
    }

    /// The optimum at a cost, or hardly more: from where a run that was to come close ended, by Newton's method with many
    /// digits. Every value on the way is the objective of some weights, so none is below the optimum.
    fn optimum(&self, cost: f64) -> Big {
        let close = self.fit(&self.machine(cost).gap(1e-9).inner_tol(1e-9).max_rounds(200)).unwrap();
        let mut w = vec![0.0; self.x.len()];
        close.terms.iter().for_each(|term| w[term.feature.inputs()[0] as usize] = term.weight.one());
        let exact = Exact::new(self, cost, &w);
        let free: Vec<usize> = (0..w.len()).filter(|&j| w[j] != 0.0).collect();
        let at = free.iter().map(|&j| big(w[j])).chain(self.shift.then(|| big(close.bias.one()))).collect();
        exact.minimise(at)
    }
}

/// The objective over the weights that are not 0, with many digits.
struct Exact {
    loss: Loss,
    cost: Big,
    /// Signed instances by rows, with the shift's column last, if it is learned.
    rows: Vec<Vec<Big>>,
    budget: usize,
    /// Of each weight: whether it counts for itself (the largest of the norm), and its sign.
    top: Vec<bool>,
    signs: Vec<f64>,
}

impl Exact {
    fn new(problem: &Tiny, cost: f64, w: &[f64]) -> Self {
        let free: Vec<usize> = (0..w.len()).filter(|&j| w[j] != 0.0).collect();
        let row = |i: usize| {
            let y = problem.signs[i];
            let x = free.iter().map(|&j| big(y) * big(problem.x[j][i]));
            x.chain(problem.shift.then(|| big(-y))).collect()
        };
        let sizes: Vec<Big> = free.iter().map(|&j| big(w[j].abs())).collect();
        let (_, top) = norm_squared(&sizes, problem.budget);
        Self {
            loss: problem.loss,
            cost: big(cost),
            rows: (0..problem.signs.len()).map(row).collect(),
            budget: problem.budget,
            top,
            signs: free.iter().map(|&j| w[j].signum()).collect(),
        }
    }

    /// The loss at a margin, and its first and second derivative.
    fn loss(&self, z: &Big) -> [Big; 3] {
        let one = big(1.0);
        match self.loss {
            Loss::SquaredHinge if *z >= one => [big(0.0), big(0.0), big(0.0)],
            Loss::SquaredHinge => {
                let slack = &one - z;
                [&slack * &slack / big(2.0), -slack, one]
            }
            Loss::Logistic => {
                let e = digits((-abs(z)).exp());
                let p = if *z > big(0.0) { &e / (&one + &e) } else { &one / (&one + &e) };
                let value = e.ln_1p() + if *z < big(0.0) { -z.clone() } else { big(0.0) };
                let curve = &p * (&one - &p);
                [value, -p, curve]
            }
        }
    }

    fn margin(&self, i: usize, at: &[Big]) -> Big {
        self.rows[i].iter().zip(at).fold(big(0.0), |sum, (x, w)| sum + x * w)
    }

    /// The objective at any weights: an upper bound on the optimum.
    fn value(&self, at: &[Big]) -> Big {
        let sizes: Vec<Big> = at[..self.top.len()].iter().map(abs).collect();
        let (square, _) = norm_squared(&sizes, self.budget);
        let losses = (0..self.rows.len()).map(|i| self.loss(&self.margin(i, at))[0].clone());
        square / big(2.0) + &self.cost * losses.fold(big(0.0), |sum, loss| sum + loss)
    }

    /// Gradient and curvature, with the norm as it is where the same weights are its largest and signs stay.
    fn derivatives(&self, at: &[Big]) -> (Vec<Big>, Vec<Vec<Big>>) {
        let size = at.len();
        let mut gradient = vec![big(0.0); size];
        let mut curvature = vec![vec![big(0.0); size]; size];
        let rest: Vec<usize> = (0..self.top.len()).filter(|&j| !self.top[j]).collect();
        let count = self.budget - (self.top.len() - rest.len());
        let sum = rest.iter().fold(big(0.0), |sum, &j| sum + big(self.signs[j]) * &at[j]);
        for j in (0..self.top.len()).filter(|&j| self.top[j]) {
            gradient[j] = at[j].clone();
            curvature[j][j] = big(1.0);
        }
        for &j in &rest {
            gradient[j] = big(self.signs[j]) * &sum / big(count as f64);
            for &k in &rest {
                curvature[j][k] = big(self.signs[j] * self.signs[k]) / big(count as f64);
            }
        }
        for (i, row) in self.rows.iter().enumerate() {
            let [_, slope, curve] = self.loss(&self.margin(i, at));
            for j in 0..size {
                gradient[j] = &gradient[j] + &self.cost * &slope * &row[j];
                for k in 0..size {
                    curvature[j][k] = &curvature[j][k] + &self.cost * &curve * &row[j] * &row[k];
                }
            }
        }
        (gradient, curvature)
    }

    fn minimise(&self, mut at: Vec<Big>) -> Big {
        let mut best = self.value(&at);
        for _ in 0..60 {
            let (gradient, curvature) = self.derivatives(&at);
            let Some(step) = solve(curvature, gradient) else { return best };
            let mut part = big(1.0);
            let before = best.clone();
            for _ in 0..40 {
                let next: Vec<Big> = at.iter().zip(&step).map(|(a, s)| a - &part * s).collect();
                let value = self.value(&next);
                if value < best {
                    (best, at) = (value, next);
                    break;
                }
                part /= big(2.0);
            }
            if &before - &best <= &before * big(1e-45) {
                break;
            }
        }
        best
    }
}

/// The square of the k-support norm of weights without signs, and which of them count for themselves. Every division that its
/// definition allows gives an upper bound; the least of them is the norm.
fn norm_squared(sizes: &[Big], k: usize) -> (Big, Vec<bool>) {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by(|&a, &b| sizes[b].partial_cmp(&sizes[a]).unwrap());
    let mut best: Option<(Big, usize)> = None;
    for tops in 0..=k.min(sizes.len()) {
        let (head, tail) = order.split_at(tops);
        let sum = tail.iter().fold(big(0.0), |sum, &j| sum + &sizes[j]);
        let left = big((k - tops) as f64);
        let fits = tail.first().is_none_or(|&j| k > tops && &sizes[j] * &left <= sum);
        if fits {
            let squares = head.iter().fold(big(0.0), |sum, &j| sum + &sizes[j] * &sizes[j]);
            let value = if tail.is_empty() { squares } else { squares + &sum * &sum / left };
            if best.as_ref().is_none_or(|(least, _)| value < *least) {
                best = Some((value, tops));
            }
        }
    }
    let (value, tops) = best.expect("one of them is allowed");
    let mut top = vec![false; sizes.len()];
    order[..tops].iter().for_each(|&j| top[j] = true);
    (value, top)
}

/// `a^-1 b` by elimination; `None` if a is singular.
fn solve(mut a: Vec<Vec<Big>>, mut b: Vec<Big>) -> Option<Vec<Big>> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| abs(&a[i][k]).partial_cmp(&abs(&a[j][k])).unwrap())?;
        a.swap(k, pivot);
        b.swap(k, pivot);
        if a[k][k] == big(0.0) {
            return None;
        }
        for i in (0..n).filter(|&i| i != k) {
            let factor = &a[i][k] / &a[k][k];
            for j in k..n {
                a[i][j] = &a[i][j] - &factor * &a[k][j];
            }
            b[i] = &b[i] - &factor * &b[k];
        }
    }
    Some((0..n).map(|k| &b[k] / &a[k][k]).collect())
}

/// How many problems are tried.
fn tries() -> u64 {
    std::env::var("FEATGEN_EXACT").ok().and_then(|tries| tries.parse().ok()).unwrap_or(1500)
}

#[test]
fn no_bound_is_above_the_true_optimum() {
    let (mut tight, mut all) = (0, 0);
    for problem in (0..tries()).map(Tiny::new) {
        let machine = problem.machine(problem.cost);
        let by_count = machine.clone().select(Select::Paper).features(problem.x.len());
        for machine in [by_count, machine.gap(1e-8).max_rounds(100)] {
            let model = problem.fit(&machine).unwrap_or_else(|e| panic!("{problem:?}: {e}"));
            let mut known: Option<(f64, Big)> = None;
            for round in &model.rounds {
                if known.as_ref().is_none_or(|(cost, _)| *cost != round.cost) {
                    known = Some((round.cost, problem.optimum(round.cost)));
                }
                let optimum = &known.as_ref().expect("just computed").1;
                let (t, bound) = (round.round, round.lower_bound);
                assert!(big(bound) <= *optimum, "{problem:?}, round {t}: bound {bound:.17e} above {optimum}");
                assert!(
                    bound <= round.objective,
                    "{problem:?}, round {t}: bound {bound} above the objective"
                );
            }
            let Some((_, optimum)) = known else { continue };
            all += 1;
            // A bound of 0 would hold as well: most must be near.
            tight += usize::from(big(model.certificate.lower_bound) >= optimum * big(1.0 - 1e-6));
            assert!(model.stopped != Stop::Interrupted);
        }
    }
    assert!(tight * 10 >= all * 8, "only {tight} of {all} bounds are within 1e-6");
}

/// What was found first: `1 - a` had lost its digits beside a small a, and the cost multiplied what was lost.
#[test]
fn two_instances_at_a_huge_cost() {
    let problem = Tiny {
        x: vec![vec![2.0, 9.0], vec![6.0, -7.0]],
        signs: vec![-1.0, 1.0],
        loss: Loss::Logistic,
        shift: true,
        budget: 1,
        cost: 10.0 * 2f64.powi(40),
    };
    let model = problem.fit(&problem.machine(problem.cost).select(Select::Paper).features(2)).unwrap();
    let optimum = problem.optimum(model.cost);
    assert!(big(model.certificate.lower_bound) <= optimum);
    assert!(big(model.certificate.lower_bound) >= optimum * big(1.0 - 1e-6));
}
