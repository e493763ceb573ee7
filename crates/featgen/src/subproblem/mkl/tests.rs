//! The dual solver and Newton's method, which have no line in common, find the same optimum.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::*;
use crate::context::Context;
use crate::data::{Column, Labels};
use crate::objective::by_name;
use crate::operator::Operator;
use crate::subproblem::by_name as solver;

/// A problem with blocks of several columns, some of them in two blocks and some scaled.
struct Case {
    name: String,
    cache: Cache,
    state: State,
    objective: Box<dyn Objective>,
    free: Free,
}

/// Consecutive seeds go through losses, intercepts, storages, offsets and weights.
fn case(seed: u64, loss: &str) -> Case {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let bit = |k: u64| seed / k % 2 == 1;
    let (n, m) = (random.random_range(15..=60), random.random_range(6..=25));
    let density = if bit(2) { 0.15 } else { 1.0 };
    let mut normal = |n: usize| -> Vec<f64> { (0..n).map(|_| random.sample(StandardNormal)).collect() };
    let mut columns: Vec<Vec<f64>> = (0..m).map(|_| normal(n)).collect();
    let (noise, offset) = (normal(n), normal(n));
    let sum = |i: usize| columns.iter().take(4).map(|x| x[i]).sum::<f64>() + noise[i];
    let signal: Vec<f64> = (0..n).map(sum).collect();
    columns.iter_mut().flatten().for_each(|x| *x *= f64::from(u8::from(random.random_bool(density))));
    let labels = match loss {
        "squared" | "huber" => Labels::from_numbers(signal),
        _ => Labels::from_text((0..n).map(|i| if i == 0 || (i > 1 && signal[i] > 0.3) { "1" } else { "-1" })),
    };
    let cost = 10f64.powf(random.random_range(-2.0..1.0));
    let costs = (0..n).map(|i| if bit(4) { cost * (i % 4) as f64 } else { cost }).collect();
    let mut cache = Cache::new(n);
    cache.extend(columns.iter().map(|x| Operator::Column(Column::Dense(x.clone()))).collect());
    let mut free = Free::new(n, bit(1));
    free.offset = bit(8).then_some(offset);
    let mut state = State::new(n, 1, free.width());
    let size = random.random_range(2..=4);
    for (h, start) in (0..m).step_by(size).enumerate() {
        // Overlaps the next block by one column.
        let scale = if h % 2 == 0 { 1.0 } else { 0.6 };
        state.blocks.push((start..(start + size + 1).min(m)).map(|j| (j as u32, scale)));
    }
    state.omega = vec![0.0; state.blocks.columns.len()];
    free.fit(&*by_name(loss).unwrap().objective(&labels, vec![cost; n]).unwrap(), &state.f, &mut state.free);
    let name = format!("seed {seed}: {loss}, {n} x {m}, {} blocks, C {cost:.3}", state.blocks.len());
    let objective = by_name(loss).unwrap().objective(&labels, costs).unwrap();
    Case { name, cache, state, objective, free }
}

impl Case {
    fn solve(&self, name: &str, gap: f64) -> (Outcome, State) {
        let mut state = self.state.clone();
        let problem = Problem { cache: &self.cache, objective: &*self.objective, free: &self.free };
        let goal = Goal { gap, decrease: None, context: &Context::new() };
        let outcome = solver(name).unwrap().solve(&problem, &mut state, &goal);
        (outcome, state)
    }
}

fn agrees(loss: &str, seeds: std::ops::Range<u64>) {
    for case in seeds.map(|seed| case(seed, loss)) {
        let (newton, _) = case.solve("newton", 1e-9);
        let (mkl, state) = case.solve("mkl", 1e-6);
        let away = (mkl.objective - newton.objective) / newton.objective;
        assert!(away.abs() <= 1e-5, "{}: {away:e} away, {mkl:?}", case.name);
        assert!(mkl.gap <= 1e-5, "{}: {mkl:?}", case.name);
        // What it leaves is consistent.
        let width = case.cache.len();
        assert_eq!(state.f, case.cache.apply(&state.blocks.gather(&state.omega, width)), "{}", case.name);
    }
}

#[test]
fn the_squared_hinge_has_the_same_optimum() {
    agrees("squared-hinge", 0..20);
}

#[test]
fn logistic_regression_has_the_same_optimum() {
    agrees("logistic", 100..120);
}

#[test]
fn numbers_have_the_same_optimum() {
    agrees("squared", 200..216);
    agrees("huber", 300..316);
}

/// From the optimum, nothing gets worse but by rounding; without blocks there is nothing to do.
#[test]
fn what_is_solved_stays() {
    let case = case(3, "squared-hinge");
    let (_, state) = case.solve("newton", 1e-10);
    let problem = Problem { cache: &case.cache, objective: &*case.objective, free: &case.free };
    let goal = Goal { gap: 1e-12, decrease: None, context: &Context::new() };
    let mut again = state.clone();
    let before = evaluate(&problem, &state.blocks, state.omega.clone(), &state.free).0.objective;
    let outcome = Mkl.solve(&problem, &mut again, &goal);
    assert!(
        outcome.objective <= before * (1.0 + 1e-12) && outcome.objective >= before * (1.0 - 1e-9),
        "{outcome:?} {before}"
    );
    let mut none = State::new(case.cache.rows(), 1, case.free.width());
    assert_eq!(Mkl.solve(&problem, &mut none, &goal).iterations, 0);
}
