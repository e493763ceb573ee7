//! Proximal Newton: the default solver. Few steps, each with one model of the loss and one search along a line.

use super::gram::Gram;
use super::model::{Minimiser, Quadratic};
use super::{Goal, Outcome, Point, Problem, State, Subproblem};
use crate::{kernels, ordered};

/// Keeps the Gram matrix from round to round.
#[derive(Default)]
pub(super) struct Newton {
    gram: Gram,
}

/// How much of the gap a step's model leaves: smaller costs more in the model, larger costs more steps.
const MODEL_PART: f64 = 0.05;

/// Rounds that the model's minimiser may take.
const MODEL_ROUNDS: usize = 30;

const MAX_STEPS: usize = 200;

impl Subproblem for Newton {
    fn solve(&mut self, problem: &Problem<'_>, state: &mut State, goal: &Goal<'_>) -> Outcome {
        let mut w = state.blocks.gather(&state.omega, problem.cache.len());
        for iterations in 0.. {
            let point = problem.point(state);
            let size = state.blocks.norm(&state.omega);
            let objective = point.loss + 0.5 * size * size;
            let gap = state.blocks.gap(&state.omega, &point.c);
            let done = gap <= goal.gap * objective || iterations == MAX_STEPS || goal.interrupted();
            if done || !self.step(problem, state, &point, objective, gap, &mut w) {
                return Outcome { objective, gap: gap / objective.max(f64::MIN_POSITIVE), iterations };
            }
        }
        unreachable!("the loop ends by returning")
    }
}

impl Newton {
    /// Moves to a better point; false if no step lowers the objective any more.
    fn step(
        &mut self,
        problem: &Problem<'_>,
        state: &mut State,
        point: &Point,
        objective: f64,
        gap: f64,
        w: &mut Vec<f64>,
    ) -> bool {
        let mut h = vec![0.0; problem.rows()];
        problem.loss.curvatures(&point.z, problem.costs, &mut h);
        self.gram.update(problem.cache, &h);
        let h = self.gram.weights();
        let total = ordered::sum(h.len(), |i| h[i]);
        let p = self.gram.sums();
        let eliminate = problem.shift && total > 0.0;
        let quadratic = Quadratic {
            gram: &self.gram,
            blocks: &state.blocks,
            c: &point.c,
            shift: eliminate.then_some((p, total)),
        };
        let mut minimiser = Minimiser::new(quadratic, &state.omega);
        minimiser.run(MODEL_PART * gap, MODEL_ROUNDS);
        let x = minimiser.x;

        let target = state.blocks.gather(&x, problem.cache.len());
        let dw: Vec<f64> = target.iter().zip(&*w).map(|(x, w)| x - w).collect();
        let df = problem.cache.apply(&dw);
        let db = if eliminate { kernels::dot(p, &dw) / total } else { 0.0 };
        let (from, to) = (state.blocks.norm(&state.omega), state.blocks.norm(&x));
        let slope = -kernels::dot(&point.c, &dw) + 0.5 * (to * to - from * from);
        if slope >= 0.0 {
            return false;
        }
        let between = |t: f64| -> Vec<f64> {
            state.omega.iter().zip(&x).map(|(a, b)| if t == 1.0 { *b } else { a + t * (b - a) }).collect()
        };
        let mut t = 1.0;
        while t > 1e-10 {
            let loss = ordered::sum(problem.rows(), |i| {
                let z = problem.signs[i] * (state.f[i] + t * df[i] - state.bias - t * db);
                problem.costs[i] * problem.loss.value(z)
            });
            let omega = between(t);
            let size = state.blocks.norm(&omega);
            if loss + 0.5 * size * size <= objective + 1e-4 * t * slope {
                state.omega = omega;
                state.bias += t * db;
                kernels::add_scaled(t, &df, &mut state.f);
                *w = state.blocks.gather(&state.omega, problem.cache.len());
                return true;
            }
            t *= 0.5;
        }
        false
    }
}
