//! Proximal Newton: the default solver. Few steps, each with one model of the objective and one search along a line.

use std::borrow::Cow;

use super::curvature::Curvature;
use super::eliminate::Eliminated;
use super::model::Quadratic;
use super::{Blocks, Cache, Goal, Outcome, Problem, State, Subproblem, Thinning};
use crate::kernels;

/// What keeps weights small: half the square of a norm of the blocks' lengths.
pub(super) trait Regulariser {
    /// Half the square, at weights `x`.
    fn value(&self, blocks: &Blocks, x: &[f64]) -> f64;

    /// How far weights `x` are from the optimum, at most, where the objective's negative gradient per cached column is `c`. By
    /// Fenchel's inequality that is half the square of the norm of x and of the dual norm of c, less their product.
    fn gap(&self, blocks: &Blocks, x: &[f64], c: &[f64]) -> f64;

    /// Minimises a quadratic model and this together, from `omega`, until their own duality gap is at most `gap` or that takes
    /// too long.
    fn minimise(&self, model: Quadratic<'_>, omega: &[f64], gap: f64) -> Vec<f64>;
}

/// Keeps the curvature of every output from round to round.
pub(crate) struct Newton<R> {
    /// What it minimises beside the objective.
    pub(super) regulariser: R,
    curvature: Vec<Curvature>,
    /// Cached columns, those of every output counted, up to which the curvature is a matrix.
    widest: usize,
    most_steps: usize,
}

impl<R: Default> Default for Newton<R> {
    fn default() -> Self {
        Self { regulariser: R::default(), curvature: Vec::new(), widest: usize::MAX, most_steps: MAX_STEPS }
    }
}

/// How much of the gap a step's model leaves: smaller costs more in the model, larger costs more steps.
const MODEL_PART: f64 = 0.05;

/// Steps that a solver may take, if nothing else is said.
pub(super) const MAX_STEPS: usize = 200;

/// Gradients are followed instead of computed afresh only for gaps well above the rounding that this adds.
const FOLLOW_ABOVE: f64 = 1e-7;

/// Curvature may be rough where the gap may be this large.
const ROUGH: f64 = 1e-5;

/// What rounding may do to an objective, relative to itself.
const ROUNDED: f64 = 1e-14;

/// Steps that gain no more than that, and do not halve the gap, before it is taken for as small as it gets.
const PATIENCE: usize = 10;

/// The objective and its gradient at a state whose free weights are the best ones.
struct Point {
    /// Decision values.
    d: Vec<f64>,
    /// The objective there.
    value: f64,
    /// Its negative gradient, per instance.
    v: Vec<f64>,
    /// `X' v` per cached column.
    c: Vec<f64>,
}

/// A step that was taken, from where it started.
struct Step {
    from: Point,
    free: Vec<f64>,
    eliminated: Vec<Eliminated>,
    /// Change of the weights, per cached column, and of the decision values without the free part.
    dw: Vec<f64>,
    df: Vec<f64>,
    /// Whether the model promised less than rounding hides.
    unseen: bool,
}

impl<R: Regulariser + Send> Subproblem for Newton<R> {
    fn solve(&mut self, problem: &Problem<'_>, state: &mut State, goal: &Goal<'_>) -> Outcome {
        self.curvature.resize_with(problem.objective.outputs(), Curvature::default);
        let mut last = None;
        // The gap when it last was half of what it had been, and the steps since then that gained no more than rounding.
        let (mut halved, mut unseen) = (f64::INFINITY, 0);
        for iterations in 0.. {
            let point = self.point(problem, state, last.filter(|_| goal.gap >= FOLLOW_ABOVE));
            let objective = point.value + self.regulariser.value(&state.blocks, &state.omega);
            let gap = self.regulariser.gap(&state.blocks, &state.omega, &point.c);
            let outcome = Outcome { objective, gap: gap / objective.max(f64::MIN_POSITIVE), iterations };
            if outcome.gap <= 0.5 * halved {
                (halved, unseen) = (outcome.gap, 0);
            }
            // Once values tell nothing, the gap alone tells whether steps still help.
            let stuck = unseen > PATIENCE;
            if outcome.gap <= goal.gap || iterations == self.most_steps || stuck || goal.interrupted() {
                return outcome;
            }
            last = self.step(problem, state, point, objective, gap, goal.gap >= ROUGH);
            match &last {
                None => return outcome,
                Some(step) => unseen += usize::from(step.unseen),
            }
        }
        unreachable!("the loop ends by returning")
    }

    fn penalty(&self, blocks: &Blocks, omega: &[f64]) -> f64 {
        self.regulariser.value(blocks, omega)
    }

    fn thinning(&mut self, problem: &Problem<'_>, state: &State) -> Thinning {
        let d = problem.free.decision(&state.f, &state.free);
        let eliminated = self.model(problem, &d, false);
        let c = problem.transpose(&problem.residual(&d));
        let (cache, curvature, blocks) = (problem.cache, &self.curvature, &state.blocks);
        Thinning::new(&Quadratic { cache, curvature, blocks, c: &c, eliminated: &eliminated }, &state.omega)
    }

    fn forget(&mut self, cache: &Cache) {
        self.curvature.iter_mut().for_each(|curvature| curvature.forget(cache));
    }

    fn kept(&self) -> Vec<Cow<'_, [f64]>> {
        // How many arrays an output has is told by the width of its matrix.
        self.curvature.iter().flat_map(Curvature::kept).collect()
    }

    fn resume(&mut self, kept: Vec<Vec<f64>>, outputs: usize, cache: &Cache) -> bool {
        let mut kept = kept.into_iter();
        let each = kept.len() / outputs;
        let even = each * outputs == kept.len();
        let one = |_| Curvature::resume(kept.by_ref().take(each).collect(), cache);
        let resumed: Option<Vec<Curvature>> = (0..outputs).map(one).collect();
        even && resumed.map(|curvature| self.curvature = curvature).is_some()
    }
}

#[expect(private_bounds, reason = "norms are made here; whoever is elsewhere names one of them")]
impl<R: Regulariser> Newton<R> {
    /// With curvature as a matrix while it is not wider than that, and at most so many steps.
    pub(super) fn new(regulariser: R, widest: usize, most_steps: usize) -> Self {
        Self { regulariser, curvature: Vec::new(), widest, most_steps }
    }

    /// From now on.
    pub(super) fn limit(&mut self, widest: usize, most_steps: usize) {
        (self.widest, self.most_steps) = (widest, most_steps);
    }

    /// Minimises over the free weights with the others as they are, and evaluates there.
    fn point(&self, problem: &Problem<'_>, state: &mut State, last: Option<Step>) -> Point {
        problem.free.fit(problem.objective, &state.f, &mut state.free);
        let d = problem.free.decision(&state.f, &state.free);
        let v = problem.residual(&d);
        let followed = last.and_then(|step| self.follow(problem, step, &v, &state.free));
        let c = followed.unwrap_or_else(|| problem.transpose(&v));
        Point { value: problem.objective.value(&d), d, v, c }
    }

    /// The gradient after a step, from the one before it. The model says exactly what becomes of `X' v` if every `v_i`
    /// moves by its curvature; what is left are the rows that did not: those that changed sides of the hinge. `None` if
    /// they are many, as with a loss that is nowhere quadratic.
    fn follow(&self, problem: &Problem<'_>, step: Step, v: &[f64], free: &[f64]) -> Option<Vec<f64>> {
        let Step { from, eliminated, dw, df, .. } = step;
        let (n, width) = (problem.cache.rows(), problem.cache.len());
        let dfree: Vec<f64> = free.iter().zip(&step.free).map(|(new, old)| new - old).collect();
        let dd = problem.free.change(&df, &dfree);
        let (costs, few) = (problem.objective.costs(), problem.cache.few());
        let mut all = Vec::with_capacity(self.curvature.len() * width);
        for (k, curvature) in self.curvature.iter().enumerate() {
            let h = curvature.weights();
            let mut rest = Vec::new();
            for i in 0..n {
                let at = k * n + i;
                let off = v[at] - (from.v[at] - h[i] * dd[at]);
                if off.abs() > 1e-13 * costs[i] * (1.0 + df[at].abs()) {
                    rest.push((i as u32, off));
                    if rest.len() > few {
                        return None;
                    }
                }
            }
            let mut moved = problem.cache.transpose_few(&rest)?;
            let image = curvature.apply(problem.cache, &dw[k * width..(k + 1) * width]);
            let mut c: Vec<f64> = (0..width).map(|j| from.c[k * width + j] - image[j]).collect();
            let each = problem.free.width();
            eliminated[k].subtract_image(&dfree[k * each..(k + 1) * each], &mut c);
            moved.iter_mut().zip(c).for_each(|(moved, c)| *moved += c);
            all.extend(moved);
        }
        Some(all)
    }

    /// Brings the curvature to that at decision values `d`, if `rough` not quite, and takes out of it what is never penalised.
    fn model(&mut self, problem: &Problem<'_>, d: &[f64], rough: bool) -> Vec<Eliminated> {
        let mut h = vec![0.0; d.len()];
        problem.objective.curvature(d, &mut h);
        self.curvature.resize_with(problem.objective.outputs(), Curvature::default);
        let (widest, rough) = (self.widest, rough.then(|| problem.objective.costs()));
        for (curvature, h) in self.curvature.iter_mut().zip(h.chunks_exact(problem.cache.rows())) {
            curvature.update(problem.cache, h, widest, rough);
        }
        self.curvature.iter().map(|curvature| Eliminated::new(problem, curvature)).collect()
    }

    /// Moves to a better point; `None` if no step lowers the objective any more.
    fn step(
        &mut self,
        problem: &Problem<'_>,
        state: &mut State,
        from: Point,
        objective: f64,
        gap: f64,
        rough: bool,
    ) -> Option<Step> {
        let width = problem.cache.len();
        let eliminated = self.model(problem, &from.d, rough);
        let quadratic = Quadratic {
            cache: problem.cache,
            curvature: &self.curvature,
            blocks: &state.blocks,
            c: &from.c,
            eliminated: &eliminated,
        };
        let x = self.regulariser.minimise(quadratic, &state.omega, MODEL_PART * gap);

        let change: Vec<f64> = x.iter().zip(&state.omega).map(|(x, w)| x - w).collect();
        let mut dw = state.blocks.gather(&change, width);
        let mut df = problem.apply(&dw);
        let follow = |(dw, eliminated): (&[f64], &Eliminated)| eliminated.follow(dw);
        let dfree: Vec<f64> = dw.chunks_exact(width.max(1)).zip(&eliminated).flat_map(follow).collect();
        let value = |x: &[f64]| self.regulariser.value(&state.blocks, x);
        let slope = -kernels::dot(&from.c, &dw) + (value(&x) - value(&state.omega));
        // What is left to gain may be less than the rounding of the slope itself.
        let hidden = ROUNDED * objective.abs();
        if slope >= hidden || change.iter().all(|&change| change == 0.0) {
            return None;
        }
        let unseen = slope >= -hidden;
        let most = if unseen { objective + hidden } else { objective };
        let mut t = 1.0;
        while t > 1e-10 {
            let f: Vec<f64> = state.f.iter().zip(&df).map(|(f, d)| f + t * d).collect();
            let free: Vec<f64> = state.free.iter().zip(&dfree).map(|(at, d)| at + t * d).collect();
            let loss = problem.objective.value(&problem.free.decision(&f, &free));
            // A full step lands on the target exactly, zeros included.
            let part = |((w, d), x): ((&f64, &f64), &f64)| if t == 1.0 { *x } else { w + t * d };
            let omega: Vec<f64> = state.omega.iter().zip(&change).zip(&x).map(part).collect();
            if loss + value(&omega) <= most + 1e-4 * t * slope {
                if t < 1.0 {
                    dw.iter_mut().for_each(|d| *d *= t);
                    df.iter_mut().for_each(|d| *d *= t);
                }
                (state.omega, state.f) = (omega, f);
                let free = std::mem::replace(&mut state.free, free);
                return Some(Step { from, free, eliminated, dw, df, unseen });
            }
            t *= 0.5;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    use super::super::model::SumOfNorms;
    use super::*;
    use crate::context::Context;
    use crate::data::{Column, Labels};
    use crate::objective::{Free, by_name};
    use crate::operator::Operator;

    /// Where columns are large, so is the gap, and long before it is small, rounding hides what steps gain. They go on while the gap
    /// shrinks, and end when it does not.
    #[test]
    fn steps_end_where_rounding_hides_what_they_gain() {
        const ROWS: usize = 5000;
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut normal = || rng.sample::<f64, _>(StandardNormal);
        let columns: Vec<Vec<f64>> =
            (0..3).map(|_| (0..ROWS).map(|_| 1e4 * (3.0 * normal()).exp()).collect()).collect();
        let labels = Labels::from_text(
            (0..ROWS).map(|i| u8::from(normal() + (columns[0][i] / 1e4).ln() > 0.0).to_string()),
        );
        let mut cache = Cache::new(ROWS);
        cache.extend(columns.into_iter().map(|x| Operator::Column(Column::Dense(x))).collect());
        let objective = by_name("logistic").unwrap().objective(&labels, vec![1.0; ROWS]).unwrap();
        let free = Free::new(ROWS, true);
        let problem = Problem { cache: &cache, objective: &*objective, free: &free };
        let mut state = State::new(ROWS, 1, 1);
        (0..3).for_each(|column| state.blocks.push([(column, 1.0)]));
        state.omega = vec![0.0; 3];
        let goal = Goal { gap: 0.0, decrease: None, context: &Context::new() };
        let found = Newton::<SumOfNorms>::default().solve(&problem, &mut state, &goal);
        assert!(found.iterations <= 40 && found.gap < 1e-3, "{found:?}");
    }
}
