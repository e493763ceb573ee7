//! Proximal Newton: the default solver. Few steps, each with one model of the loss and one search along a line.

use std::borrow::Cow;

use super::curvature::Curvature;
use super::model::{Minimiser, Quadratic};
use super::{Cache, Goal, Outcome, Problem, State, Subproblem, best_shift};
use crate::{kernels, ordered};

/// Keeps the curvature from round to round.
#[derive(Default)]
pub(super) struct Newton {
    curvature: Curvature,
}

/// How much of the gap a step's model leaves: smaller costs more in the model, larger costs more steps.
const MODEL_PART: f64 = 0.05;

/// Rounds that the model's minimiser may take.
const MODEL_ROUNDS: usize = 30;

const MAX_STEPS: usize = 200;

/// Gradients are followed instead of computed afresh only for gaps well above the rounding that this adds.
const FOLLOW_ABOVE: f64 = 1e-7;

/// The loss and its gradient at a state whose shift is the best one.
struct Point {
    /// Margins `y_i (f_i - b)`.
    z: Vec<f64>,
    /// `sum_i C_i loss(z_i)`.
    loss: f64,
    /// `y_i alpha_i`.
    v: Vec<f64>,
    /// `X' v` per cached column.
    c: Vec<f64>,
}

/// A step that was taken, from where it started.
struct Step {
    from: Point,
    bias: f64,
    /// Change of the weights, per cached column, and of the decision values before the shift.
    dw: Vec<f64>,
    df: Vec<f64>,
}

impl Subproblem for Newton {
    fn solve(&mut self, problem: &Problem<'_>, state: &mut State, goal: &Goal<'_>) -> Outcome {
        let mut last = None;
        for iterations in 0.. {
            let point = self.point(problem, state, last.filter(|_| goal.gap >= FOLLOW_ABOVE));
            let size = state.blocks.norm(&state.omega);
            let objective = point.loss + 0.5 * size * size;
            let gap = state.blocks.gap(&state.omega, &point.c);
            let outcome = Outcome { objective, gap: gap / objective.max(f64::MIN_POSITIVE), iterations };
            if outcome.gap <= goal.gap || iterations == MAX_STEPS || goal.interrupted() {
                return outcome;
            }
            last = self.step(problem, state, point, objective, gap);
            if last.is_none() {
                return outcome;
            }
        }
        unreachable!("the loop ends by returning")
    }

    fn kept(&self) -> Vec<Cow<'_, [f64]>> {
        self.curvature.kept()
    }

    fn resume(&mut self, kept: Vec<Vec<f64>>, cache: &Cache) -> bool {
        Curvature::resume(kept, cache).map(|curvature| self.curvature = curvature).is_some()
    }
}

impl Newton {
    /// Minimises over b with the weights as they are, and evaluates there.
    fn point(&self, problem: &Problem<'_>, state: &mut State, last: Option<Step>) -> Point {
        if problem.shift {
            state.bias = best_shift(problem.loss, &state.f, problem.signs, problem.costs, state.bias);
        }
        let z = problem.margins(&state.f, state.bias);
        let v = problem.pulls(&z);
        let followed = last.and_then(|step| self.follow(problem, step, &v, state.bias));
        let c = followed.unwrap_or_else(|| problem.cache.transpose(&v));
        let loss = problem.loss.total(&state.f, state.bias, problem.signs, problem.costs);
        Point { loss, z, v, c }
    }

    /// The gradient after a step, from the one before it. The model says exactly what becomes of `X' v` if every `v_i`
    /// moves by its curvature; what is left are the rows that did not: those that changed sides of the hinge. `None` if
    /// they are many, as with a loss that is nowhere quadratic.
    fn follow(&self, problem: &Problem<'_>, step: Step, v: &[f64], bias: f64) -> Option<Vec<f64>> {
        let (h, db) = (self.curvature.weights(), bias - step.bias);
        let mut rest = Vec::new();
        for i in 0..v.len() {
            let off = v[i] - (step.from.v[i] - h[i] * (step.df[i] - db));
            if off.abs() > 1e-13 * problem.costs[i] * (1.0 + step.df[i].abs()) {
                rest.push((i as u32, off));
            }
        }
        let mut c = problem.cache.transpose_few(&rest)?;
        let image = self.curvature.apply(&step.dw);
        for j in 0..c.len() {
            c[j] += step.from.c[j] - image[j] + db * self.curvature.sums()[j];
        }
        Some(c)
    }

    /// Moves to a better point; `None` if no step lowers the objective any more.
    fn step(
        &mut self,
        problem: &Problem<'_>,
        state: &mut State,
        from: Point,
        objective: f64,
        gap: f64,
    ) -> Option<Step> {
        let mut h = vec![0.0; problem.rows()];
        problem.loss.curvatures(&from.z, problem.costs, &mut h);
        self.curvature.update(problem.cache, &h);
        let h = self.curvature.weights();
        let total = ordered::sum(h.len(), |i| h[i]);
        let p = self.curvature.sums();
        let eliminate = problem.shift && total > 0.0;
        let quadratic = Quadratic {
            curvature: &self.curvature,
            blocks: &state.blocks,
            c: &from.c,
            shift: eliminate.then_some((p, 1.0 / total)),
        };
        let mut minimiser = Minimiser::new(quadratic, &state.omega);
        minimiser.run(MODEL_PART * gap, MODEL_ROUNDS);
        let x = minimiser.x;

        let change: Vec<f64> = x.iter().zip(&state.omega).map(|(x, w)| x - w).collect();
        let mut dw = state.blocks.gather(&change, problem.cache.len());
        let mut df = problem.cache.apply(&dw);
        let db = if eliminate { kernels::dot(p, &dw) / total } else { 0.0 };
        let (before, after) = (state.blocks.norm(&state.omega), state.blocks.norm(&x));
        let slope = -kernels::dot(&from.c, &dw) + 0.5 * (after * after - before * before);
        if slope >= 0.0 {
            return None;
        }
        let mut t = 1.0;
        while t > 1e-10 {
            let f: Vec<f64> = state.f.iter().zip(&df).map(|(f, d)| f + t * d).collect();
            let loss = problem.loss.total(&f, state.bias + t * db, problem.signs, problem.costs);
            // A full step lands on the target exactly, zeros included.
            let part = |((w, d), x): ((&f64, &f64), &f64)| if t == 1.0 { *x } else { w + t * d };
            let omega: Vec<f64> = state.omega.iter().zip(&change).zip(&x).map(part).collect();
            let size = state.blocks.norm(&omega);
            if loss + 0.5 * size * size <= objective + 1e-4 * t * slope {
                dw.iter_mut().chain(&mut df).for_each(|d| *d *= t);
                let bias = state.bias;
                (state.omega, state.bias, state.f) = (omega, bias + t * db, f);
                return Some(Step { from, bias, dw, df });
            }
            t *= 0.5;
        }
        None
    }
}
