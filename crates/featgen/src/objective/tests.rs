//! What every objective must keep: one routine for all.

use super::*;
use proptest::prelude::*;

type Big = dashu_float::FBig;

fn big(x: f64) -> Big {
    Big::try_from(x).unwrap().with_precision(300).value()
}

/// Labels that a loss takes, from numbers between 0 and 1.
fn labels(output: Output, name: &str, u: &[f64]) -> Labels {
    match (output, name) {
        (Output::Classes, "logistic") => Labels::from_text(
            u.iter().enumerate().map(|(i, u)| ((i == 0) | ((i > 1) & (*u > 0.5))).to_string()),
        ),
        (Output::Classes, _) => Labels::from_text(
            u.iter()
                .enumerate()
                .map(|(i, u)| if i < 3 { i.to_string() } else { ((u * 3.0) as usize).to_string() }),
        ),
        (Output::Number, _) => Labels::from_numbers(u.iter().map(|u| 10.0 * u - 5.0).collect()),
        (Output::Rate, _) => Labels::from_numbers(
            u.iter()
                .enumerate()
                .map(|(i, u)| if i == 0 { 1.0 } else { (8.0 * u - 2.0).max(0.0).floor() })
                .collect(),
        ),
        (Output::Risk, _) => Labels::from_numbers(
            u.iter()
                .enumerate()
                .map(|(i, u)| (if i == 0 || *u > 0.3 { 1.0 } else { -1.0 }) * (1.0 + (5.0 * u).floor()))
                .collect(),
        ),
    }
}

/// Every loss on random labels and costs.
fn objectives(rows: &[(f64, f64)]) -> Vec<(&'static str, Box<dyn Objective>)> {
    let u: Vec<f64> = rows.iter().map(|row| row.0).collect();
    let costs: Vec<f64> = rows.iter().map(|row| row.1).collect();
    let make = |spec: &LossSpec| {
        let loss = spec.make(&[]).unwrap();
        (spec.name, loss.objective(&labels(spec.output, spec.name, &u), costs.clone()).unwrap())
    };
    ALL.iter().map(make).collect()
}

fn residual(objective: &dyn Objective, d: &[f64]) -> Vec<f64> {
    let mut v = vec![0.0; d.len()];
    objective.residual(d, &mut v);
    v
}

fn rows() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((0.0f64..1.0, 0.1f64..5.0), 4..16)
}

/// Decision values that are not at the kink of a hinge.
fn decisions(objective: &dyn Objective, rows: &[(f64, f64)], size: f64) -> Vec<f64> {
    let count = rows.len() * objective.outputs();
    (0..count).map(|k| size * ((k as f64 + 1.0) * (2.0 + rows[k % rows.len()].0)).sin() + 1e-3).collect()
}

#[test]
fn safe_at_any_decision_value() {
    let rows: Vec<(f64, f64)> = (0..7).map(|i| (i as f64 / 7.0, 1.0)).collect();
    for (name, objective) in objectives(&rows) {
        for f in [0.0, 1.0, -1.0, 40.0, -40.0, 800.0, -800.0, 1e9, -1e9, 1e150, -1e150] {
            let mut d = vec![0.0; rows.len() * objective.outputs()];
            d.iter_mut().step_by(2).for_each(|d| *d = f);
            let mut h = vec![0.0; d.len()];
            objective.curvature(&d, &mut h);
            let value = objective.value(&d);
            assert!(!value.is_nan() && value >= 0.0, "{name} at {f}: {value}");
            assert!(residual(&*objective, &d).iter().all(|v| v.is_finite()), "{name} at {f}");
            assert!(h.iter().all(|h| h.is_finite() && *h >= 0.0), "{name} at {f}: {h:?}");
        }
    }
}

proptest! {
    #[test]
    fn derivatives_agree_with_differences(rows in rows(), size in 0.1f64..3.0) {
        for (name, objective) in objectives(&rows) {
            let d = decisions(&*objective, &rows, size);
            let (v, e) = (residual(&*objective, &d), 1e-5);
            for k in 0..d.len() {
                let at = |x: f64| {
                    let mut d = d.clone();
                    d[k] += x;
                    d
                };
                let slope = (objective.value(&at(e)) - objective.value(&at(-e))) / (2.0 * e);
                prop_assert!((slope + v[k]).abs() < 1e-4 * (1.0 + slope.abs()), "{} of {}: {} {}", k, name, slope, v[k]);
                let unit: Vec<f64> = (0..d.len()).map(|l| f64::from(u8::from(l == k))).collect();
                let mut column = vec![0.0; d.len()];
                objective.hessian(&d, &unit, &mut column);
                let (up, down) = (residual(&*objective, &at(e)), residual(&*objective, &at(-e)));
                for l in 0..d.len() {
                    let curve = (down[l] - up[l]) / (2.0 * e);
                    // Differences are wrong across the kinks of piecewise losses.
                    let kink = matches!(name, "squared-hinge" | "huber");
                    prop_assert!(kink || (curve - column[l]).abs() < 1e-4 * (1.0 + curve.abs()), "{}: {} {}", name, curve, column[l]);
                }
            }
        }
    }

    /// The dual bound is below the objective wherever it is evaluated, and equal to it where the residual comes from if no features
    /// pull at it: then `min over d of value(d) + v.d` is reached there.
    #[test]
    fn fenchel(rows in rows(), size in 0.1f64..3.0, other in 0.1f64..3.0) {
        for (name, objective) in objectives(&rows) {
            let (d, e) = (decisions(&*objective, &rows, size), decisions(&*objective, &rows, other));
            let mut v = residual(&*objective, &d);
            objective.make_feasible(&mut v, false);
            let dot = |d: &[f64]| v.iter().zip(d).map(|(v, d)| v * d).sum::<f64>();
            let tight = objective.value(&d) + dot(&d);
            // A bound for features of no score at all.
            let bound = objective.lower_bound(&d, &v, 0.0, 0.0);
            // Where an objective is 0, as that of the only one at risk is, nothing is left but the rounding of decision values.
            let size = objective.value(&d) + objective.value(&e) + dot(&d).abs() + dot(&e).abs();
            let rounding = 1e-9 * size + 1e-13;
            prop_assert!(tight <= objective.value(&e) + dot(&e) + rounding, "{} is not convex", name);
            prop_assert!(bound >= tight - rounding, "{}: {} for {}", name, bound, tight);
            // With a score, no more than the objective with its norm anywhere on the ray of `d`.
            let top = dot(&d).powi(2) / d.iter().map(|d| d * d).sum::<f64>();
            let bound = objective.lower_bound(&d, &v, top, 0.0);
            for t in [-2.0, -1.0, -0.3, 0.0, 0.2, 0.5, 1.0, 1.5] {
                let there: Vec<f64> = d.iter().map(|d| t * d).collect();
                let norm = t * t * d.iter().map(|d| d * d).sum::<f64>();
                prop_assert!(bound <= objective.value(&there) + 0.5 * norm + rounding, "{}: {} at {}", name, bound, t);
            }
        }
    }

    /// The free part is fitted to the end: intercepts, and columns that are kept.
    #[test]
    fn free_columns_are_orthogonal_to_residuals(rows in prop::collection::vec((0.0f64..1.0, 0.1f64..5.0), 12..40), size in 0.1f64..2.0) {
        for (name, objective) in objectives(&rows) {
            let n = rows.len();
            let f = decisions(&*objective, &rows, size);
            for kept in 0..3 {
                let columns = (0..kept).map(|r| (0..n).map(|i| ((i * (r + 2)) as f64).cos()).collect()).collect();
                let mut free = Free::new(n, !objective.ignores_constants());
                free.columns = columns;
                free.offset = (kept == 1 && objective.outputs() == 1).then(|| (0..n).map(|i| 0.1 * i as f64).collect());
                let mut at = vec![0.0; free.width() * objective.outputs()];
                free.fit(&*objective, &f, &mut at);
                let v = residual(&*objective, &free.decision(&f, &at));
                for column in free.columns.iter().map(Some).chain(free.intercept.then_some(None)) {
                    let sums = (0..objective.outputs()).map(|k| {
                        let terms: Vec<f64> = (0..n).map(|i| v[k * n + i] * column.map_or(1.0, |x| x[i])).collect();
                        (terms.iter().sum::<f64>(), terms.iter().map(|t| t.abs()).sum::<f64>())
                    });
                    let sums: Vec<(f64, f64)> = sums.collect();
                    // Kept columns may separate a class from all others: then there is no end to go to, and what is left of that
                    // class's gradient is in those of the others too.
                    let separable = sums.iter().any(|(_, all)| *all < 1e-3);
                    for (sum, all) in sums {
                        // Near that, decision values are large, and residuals differences of numbers close to each other.
                        let rounding = 1e-9 * all + 1e-11 * objective.costs().iter().sum::<f64>();
                        prop_assert!(separable || sum.abs() <= rounding, "{} with {} kept: {:e} of {:e}", name, kept, sum, all);
                    }
                }
            }
        }
    }
}

/// The conjugates of point losses a second time, with many digits.
fn exact_conjugate(name: &str, v: &Big, y: f64) -> Big {
    let entropy =
        |p: Big| if p > big(0.0) { &p * p.clone().with_precision(300).value().ln() } else { big(0.0) };
    let a = v.clone() * big(y);
    match name {
        "squared-hinge" => &a - &a * &a / big(2.0),
        "logistic" => -(entropy(a.clone()) + entropy(big(1.0) - a)),
        "poisson" => {
            let mean = big(y) - v;
            &mean - big(y) - entropy(mean.clone()) + entropy(big(y))
        }
        _ => &a - v * v / big(2.0),
    }
}

/// At any cost and any residual: no more than the exact value, and hardly less.
fn check_bound<L: PointLoss>(
    name: &str,
    loss: L,
    y: &[f64],
    rows: &[(f64, f64)],
    kappa: f64,
    top: f64,
) -> Result<(), TestCaseError> {
    let costs: Vec<f64> = rows.iter().map(|row| 10f64.powf(row.1)).collect();
    let v: Vec<f64> = (0..y.len()).map(|i| costs[i] * loss.residual(rows[i].0, y[i])).collect();
    let term = |i: usize| {
        let a = big(kappa) * big(v[i]) / big(costs[i]);
        big(costs[i]) * exact_conjugate(name, &a, y[i])
    };
    let sum = (0..y.len()).map(term).fold(big(0.0), |sum, term| sum + term);
    let half = big(kappa) * big(kappa) * big(top) / big(2.0);
    let size = (0..y.len())
        .map(|i| {
            v[i].abs() * (1.0 + y[i].abs() + (v[i] / costs[i]).abs()) * 40.0 + costs[i] * y[i].abs() * 40.0
        })
        .sum::<f64>();
    let bound = Separable::new(loss, y.to_vec(), costs).bound_at(kappa, &v, top, 0.0);
    prop_assert!(big(bound) <= &sum - &half, "{}: {:e} above the exact value", name, bound);
    prop_assert!(
        big(bound + 1e-14 * (size + top) + 1e-300) >= sum - half,
        "{}: {:e} is far below",
        name,
        bound
    );
    Ok(())
}

proptest! {
    #[test]
    fn bounds_hold_in_spite_of_rounding(
        rows in prop::collection::vec((-60.0f64..60.0, -20.0f64..13.0), 1..12), kappa in 0.01f64..1.0, top in 0.0f64..1e3,
    ) {
        let signs: Vec<f64> = (0..rows.len()).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let counts: Vec<f64> = (0..rows.len()).map(|i| ((i * 5) % 7) as f64).collect();
        check_bound("squared-hinge", SquaredHinge, &signs, &rows, kappa, top)?;
        check_bound("logistic", Logistic, &signs, &rows, kappa, top)?;
        check_bound("squared", Squared, &counts, &rows, kappa, top)?;
        check_bound("huber", Huber { delta: 1.35 }, &counts, &rows, kappa, top)?;
        let mild: Vec<(f64, f64)> = rows.iter().map(|&(f, c)| (f / 10.0, c)).collect();
        check_bound("poisson", Poisson, &counts, &mild, kappa, top)?;
    }

    #[test]
    fn bound_is_the_best_multiple(rows in rows(), top in 0.0f64..100.0) {
        for (name, objective) in objectives(&rows) {
            let d = decisions(&*objective, &rows, 1.0);
            let mut v = residual(&*objective, &d);
            objective.make_feasible(&mut v, false);
            let best = objective.lower_bound(&d, &v, top, 0.0);
            // A multiple of what is feasible, towards 0, is feasible.
            for kappa in [0.1, 0.5, 0.9] {
                let less: Vec<f64> = v.iter().map(|v| kappa * v).collect();
                let mut feasible = less.clone();
                objective.make_feasible(&mut feasible, false);
                let bound = objective.lower_bound(&d, &feasible, kappa * kappa * top, 0.0);
                let known = name != "cox";
                prop_assert!(!known || (bound - best).abs() <= 1e-6 * best.abs() + 1e-9, "{}: {} and {}", name, bound, best);
            }
        }
    }
}
