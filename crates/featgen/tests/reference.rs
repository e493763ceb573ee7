//! The reference itself, checked where the optimum can be had in other ways.

mod common;

use common::{Loss, Problem, norm_squared, optimum};
use faer::linalg::solvers::Solve;

fn problems() -> impl Iterator<Item = Problem> {
    (0..40).map(Problem::random)
}

/// The minimum of `1/2 ||w||^2 + loss`, by Newton's method; the shift is one more column, not penalised.
fn ridge(problem: &Problem) -> f64 {
    let (m, costs) = (problem.columns.len(), problem.costs(problem.cost));
    let size = m + usize::from(problem.shift);
    let x = |i: usize, j: usize| if j < m { problem.columns[j][i] } else { -1.0 };
    let penalty = |j: usize| -> f64 { if j < m { 1.0 } else { 0.0 } };
    let objective = |w: &[f64]| {
        let norm = w[..m].iter().map(|w| w * w).sum::<f64>();
        0.5 * norm + problem.total_loss(&w[..m], w.get(m).copied().unwrap_or(0.0), problem.cost)
    };
    let mut w = vec![0.0; size];
    for _ in 0..200 {
        let mut gradient = faer::Mat::from_fn(size, 1, |j, _| penalty(j) * w[j]);
        let mut hessian =
            faer::Mat::from_fn(size, size, |j, k| if j == k { penalty(j).max(1e-9) } else { 0.0 });
        for i in 0..costs.len() {
            let f: f64 = (0..size).map(|j| x(i, j) * w[j]).sum();
            let [_, slope, curvature] = problem.loss.at(problem.signs[i] * f);
            for j in 0..size {
                gradient[(j, 0)] += costs[i] * slope * problem.signs[i] * x(i, j);
                for k in 0..size {
                    hessian[(j, k)] += costs[i] * curvature * x(i, j) * x(i, k);
                }
            }
        }
        let step = hessian.partial_piv_lu().solve(&gradient);
        let moved = |t: f64| (0..size).map(|j| w[j] - t * step[(j, 0)]).collect::<Vec<_>>();
        let lengths = (0..40).map(|k| 0.5f64.powi(k));
        let Some(t) = lengths.into_iter().find(|&t| objective(&moved(t)) < objective(&w)) else { break };
        w = moved(t);
    }
    objective(&w)
}

/// The minimum of `1/2 ||w||_1^2 + loss`: the lasso whose penalty equals the l1 norm of its own solution.
fn squared_lasso(problem: &Problem) -> f64 {
    let (m, costs) = (problem.columns.len(), problem.costs(problem.cost));
    let ones = vec![-1.0; costs.len()];
    let (mut low, mut high) = (0.0, (2.0 * problem.total_loss(&vec![0.0; m], 0.0, problem.cost)).sqrt());
    let mut w = vec![0.0; m + 1];
    let mut best = f64::INFINITY;
    for _ in 0..40 {
        let penalty = 0.5 * (low + high);
        // Coordinate descent: soft thresholding under a bound on the curvature.
        let mut f = vec![0.0; costs.len()];
        for (x, w) in problem.columns.iter().chain([&ones]).zip(&w) {
            f.iter_mut().zip(x).for_each(|(f, x)| *f += w * x);
        }
        for _ in 0..20_000 {
            let mut change = 0f64;
            for j in 0..m + usize::from(problem.shift) {
                let (x, threshold) = if j < m { (&problem.columns[j], penalty) } else { (&ones, 0.0) };
                let most = if problem.loss == Loss::Logistic { 0.25 } else { 1.0 };
                let curvature: f64 = most * (0..f.len()).map(|i| costs[i] * x[i] * x[i]).sum::<f64>();
                if curvature == 0.0 {
                    continue;
                }
                let slope = |i: usize| problem.signs[i] * problem.loss.at(problem.signs[i] * f[i])[1];
                let gradient: f64 = (0..f.len()).map(|i| costs[i] * slope(i) * x[i]).sum();
                let aim = w[j] - gradient / curvature;
                let new = aim.signum() * (aim.abs() - threshold / curvature).max(0.0);
                f.iter_mut().zip(x).for_each(|(f, x)| *f += (new - w[j]) * x);
                change = change.max((new - w[j]).abs() * curvature.sqrt());
                w[j] = new;
            }
            if change < 1e-9 {
                break;
            }
        }
        let length: f64 = w[..m].iter().map(|w| w.abs()).sum();
        best = best.min(0.5 * length * length + problem.total_loss(&w[..m], w[m], problem.cost));
        if length > penalty { low = penalty } else { high = penalty }
    }
    best
}

fn assert_close(a: f64, b: f64, tolerance: f64, problem: &Problem) {
    assert!((a - b).abs() <= tolerance * b.abs(), "{problem}: {a} is not {b}");
}

#[test]
fn a_budget_for_all_features_is_ridge() {
    for mut problem in problems() {
        problem.budget = problem.columns.len() + (problem.seed % 2) as usize;
        assert_close(problem.optimum(problem.cost), ridge(&problem), 1e-8, &problem);
    }
}

#[test]
fn a_budget_of_one_is_the_squared_lasso() {
    for mut problem in problems().step_by(3) {
        problem.budget = 1;
        assert_close(problem.optimum(problem.cost), squared_lasso(&problem), 1e-7, &problem);
    }
}

/// Groups that cannot win anything by being groups: each holds one column and copies of nothing.
#[test]
fn groups_padded_with_zero_columns_change_nothing() {
    for problem in problems().step_by(5) {
        let n = problem.signs.len();
        let padded: Vec<_> = problem.columns.iter().flat_map(|x| [x.clone(), vec![0.0; n]]).collect();
        let (groups, costs) = (vec![2; problem.columns.len()], problem.costs(problem.cost));
        let Problem { signs, loss, budget, shift, .. } = &problem;
        let found = optimum(&padded, &groups, signs, &costs, *loss, *budget, *shift);
        assert_close(found, problem.optimum(problem.cost), 1e-8, &problem);
    }
}

#[test]
fn the_norm_lies_between_its_known_cases() {
    let w = [3.0, -1.0, 0.0, 2.0];
    assert!((norm_squared(&w, 1) - 36.0).abs() < 1e-12);
    assert!((norm_squared(&w, 4) - 14.0).abs() < 1e-12);
    // k = 2: the largest stands alone, the others share what is left: 3^2 + (1 + 2)^2.
    assert!((norm_squared(&w, 2) - 18.0).abs() < 1e-12);
}
