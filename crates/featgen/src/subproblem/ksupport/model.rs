//! The minimiser of a quadratic model together with the k-support norm:
//!
//! ```text
//! min over x of   -c'(x - omega) + 1/2 (x - omega)' H (x - omega) + 1/2 ||x||_K^2
//! ```
//!
//! Two steps take turns. A proximal step decides which units have weights: all that should enter do so at once, be it by a hair.
//! Among those the norm is smooth but for changes of its curvature, and a Newton step, which does not depend on how columns are
//! scaled, gives them their size; those that it turns around become zero. Both only ever lower the model.

use super::norm::{KSupport, sorted};
use crate::kernels;
use crate::subproblem::Blocks;
use crate::subproblem::model::Quadratic;
use crate::subproblem::newton::Regulariser;
use crate::subproblem::system::{Live, System};

impl Regulariser for KSupport {
    fn value(&self, units: &Blocks, x: &[f64]) -> f64 {
        KSupport::value(*self, &lengths(units, x))
    }

    fn gap(&self, units: &Blocks, x: &[f64], c: &[f64]) -> f64 {
        gap(*self, units, x, &pulls(units, c)).max(0.0)
    }

    fn minimise(&self, model: Quadratic<'_>, omega: &[f64], gap: f64) -> Vec<f64> {
        let mut minimiser = Minimiser::new(*self, &model, omega);
        minimiser.run(gap);
        minimiser.x
    }
}

/// The length of every unit.
pub(super) fn lengths(units: &Blocks, x: &[f64]) -> Vec<f64> {
    units.norms(x).collect()
}

/// What a vector over cached columns is for every coordinate.
pub(super) fn pulls(units: &Blocks, c: &[f64]) -> Vec<f64> {
    let width = c.len() / units.outputs();
    (0..units.columns.len()).map(|k| units.pull(k, c, width)).collect()
}

fn square(x: &[f64]) -> f64 {
    kernels::dot(x, x)
}

/// What Fenchel's inequality leaves between weights and a negative gradient, per coordinate: nothing at the optimum.
fn gap(norm: KSupport, units: &Blocks, x: &[f64], gradient: &[f64]) -> f64 {
    let squares: Vec<f64> = units.ranges().map(|unit| square(&gradient[unit])).collect();
    norm.value(&lengths(units, x)) + 0.5 * norm.dual_square(&squares) - kernels::dot(gradient, x)
}

/// Where the minimisation stands.
struct Minimiser<'a> {
    norm: KSupport,
    model: &'a Quadratic<'a>,
    /// The weights, per coordinate.
    x: Vec<f64>,
    /// `c - H (x - omega)` per coordinate: the negative gradient of the quadratic at x.
    residual: Vec<f64>,
    /// A curvature that the quadratic did not exceed in any direction taken so far.
    bound: f64,
    /// Of Newton steps.
    damping: f64,
}

/// The least curvature that a proximal step assumes: little beside that of the norm, which is about 1.
const LEAST_BOUND: f64 = 1e-3;

/// How much of the decrease that the slope promises a Newton step must bring.
const ENOUGH: f64 = 1e-4;

/// Halvings of a Newton step that is fully damped.
const HALVINGS: i32 = 20;

/// Turns of both kinds of steps.
const ROUNDS: usize = 100;

/// How often a Newton step is solved for again without the units that it turned around.
const SOLVED_AGAIN: usize = 6;

/// Where damping starts, and how it changes from step to step.
const LEAST_DAMPING: f64 = 1e-6;
const DAMPED_BY: f64 = 100.0;

impl<'a> Minimiser<'a> {
    fn new(norm: KSupport, model: &'a Quadratic<'a>, omega: &[f64]) -> Self {
        let bound = (0..omega.len()).map(|k| model.diagonal(k)).fold(LEAST_BOUND, f64::max);
        Self {
            norm,
            model,
            x: omega.to_vec(),
            residual: pulls(model.blocks, model.c),
            bound,
            damping: LEAST_DAMPING,
        }
    }

    fn run(&mut self, gap: f64) {
        for _ in 0..ROUNDS {
            let entered = self.proximal();
            if self.gap() <= gap {
                break;
            }
            if !self.newton() && !entered {
                break;
            }
            if self.gap() <= gap {
                break;
            }
        }
    }

    /// The duality gap of the model.
    fn gap(&self) -> f64 {
        gap(self.norm, self.model.blocks, &self.x, &self.residual)
    }

    /// `H` times a change of the weights, per coordinate.
    fn image(&self, change: &[f64]) -> Vec<f64> {
        let units = self.model.blocks;
        pulls(units, &self.model.apply(&units.gather(change, self.model.width())))
    }

    fn go(&mut self, x: Vec<f64>, image: &[f64]) {
        self.x = x;
        kernels::add_scaled(-1.0, image, &mut self.residual);
    }

    /// A proximal step, as long as the curvature allows; says whether it moved anything.
    fn proximal(&mut self) -> bool {
        let units = self.model.blocks;
        loop {
            let mut x = self.x.clone();
            kernels::add_scaled(1.0 / self.bound, &self.residual, &mut x);
            let factors = self.norm.shrink(&lengths(units, &x), self.bound);
            for (unit, factor) in units.ranges().zip(factors) {
                x[unit].iter_mut().for_each(|x| *x *= factor);
            }
            let change = difference(&x, &self.x);
            let size = square(&change);
            if size == 0.0 {
                return false;
            }
            let image = self.image(&change);
            let curvature = kernels::dot(&change, &image) / size;
            if curvature <= self.bound * (1.0 + 1e-9) || !curvature.is_finite() {
                self.go(x, &image);
                return true;
            }
            self.bound = curvature.max(1.5 * self.bound);
        }
    }

    /// A Newton step on the units that are not zero; says whether it lowered the model.
    ///
    /// Where units outnumber what the data can tell apart, the system says nothing about how weights in the middle are shared, and
    /// its solution is far away or nowhere. Then it is damped, in parts of the curvature that fixed shares would have: with all of
    /// it, the step is the one to the optimum for these shares, which is always a better point.
    fn newton(&mut self) -> bool {
        let Some(smooth) = Smooth::new(self.norm, self.model.blocks, &self.x, &self.residual) else {
            return false;
        };
        loop {
            let target = self.target(&smooth);
            if self.accept(&smooth, target) {
                self.damping = (self.damping / DAMPED_BY).max(LEAST_DAMPING);
                return true;
            }
            if self.damping == 1.0 {
                return self.search(&smooth);
            }
            self.damping = (self.damping * DAMPED_BY).min(1.0);
        }
    }

    /// Where the Newton step leads. Units that turn around on the way become zero, and the others are solved for again; but not those
    /// that are forced, for which nothing changes at zero.
    fn target(&self, smooth: &Smooth) -> Vec<f64> {
        let whole = smooth.system(self.model, self.damping);
        let mut live = whole.live.clone();
        let mut x = self.x.clone();
        let forced = self.norm.forced.min(self.model.blocks.len());
        let forced = forced.checked_sub(1).map_or(0, |last| self.model.blocks.range(last).end);
        for _ in 0..SOLVED_AGAIN {
            let gone: Vec<f64> =
                x.iter().zip(&self.x).map(|(x, old)| if *x == 0.0 { -old } else { 0.0 }).collect();
            let mut right = smooth.gradient.clone();
            if live.len() < whole.live.len() {
                kernels::add_scaled(-1.0, &whole.apply(&gone), &mut right);
            }
            let units = whole.units.clone();
            let system = System { quadratic: self.model, live, units, share: whole.share };
            let direction = system.solve(right, false);
            live = system.live;
            let all = live.len();
            live.retain(|unit| {
                let range = unit.range.clone();
                range.clone().for_each(|k| x[k] = self.x[k] + direction[k]);
                let stays =
                    range.end <= forced || kernels::dot(&x[range.clone()], &self.x[range.clone()]) > 0.0;
                if !stays {
                    x[range].fill(0.0);
                }
                stays
            });
            if live.len() == all || live.is_empty() {
                break;
            }
        }
        x
    }

    /// Goes to a point if the model is lower there, by a part of what the slope promises.
    fn accept(&mut self, smooth: &Smooth, x: Vec<f64>) -> bool {
        let change = difference(&x, &self.x);
        let promised = kernels::dot(&smooth.gradient, &change);
        if promised.is_nan() || promised <= 0.0 {
            return false;
        }
        let image = self.image(&change);
        let quadratic = 0.5 * kernels::dot(&change, &image) - kernels::dot(&self.residual, &change);
        let decrease = smooth.value - self.norm.value(&lengths(self.model.blocks, &x)) - quadratic;
        let enough = decrease >= ENOUGH * promised;
        if enough {
            self.go(x, &image);
        }
        enough
    }

    /// Goes along the damped direction, all the way or half, or a quarter, ..., until the model is low enough.
    fn search(&mut self, smooth: &Smooth) -> bool {
        let direction = smooth.system(self.model, 1.0).solve(smooth.gradient.clone(), false);
        (0..HALVINGS).any(|halvings| {
            let mut x = self.x.clone();
            kernels::add_scaled(0.5f64.powi(halvings), &direction, &mut x);
            self.accept(smooth, x)
        })
    }
}

/// The norm among units that are not zero: there it is smooth.
struct Smooth {
    /// Half its square.
    value: f64,
    /// The negative gradient of the model with it, per coordinate; 0 for units that are zero.
    gradient: Vec<f64>,
    /// The direction of every unit in the middle.
    directions: Vec<f64>,
    /// Units that are not zero, with what their own curvature is if shares are fixed.
    live: Vec<Live>,
    /// The curvature along all directions at once.
    share: f64,
}

impl Smooth {
    /// At weights `x` where the quadratic's negative gradient is `residual`; `None` if all are zero.
    fn new(norm: KSupport, units: &Blocks, x: &[f64], residual: &[f64]) -> Option<Self> {
        let lengths = lengths(units, x);
        let sorted = sorted(&lengths[norm.forced.min(lengths.len())..]);
        let split = norm.split(&sorted);
        // The shortest at the top: all that are as long count as it does.
        let lowest = split.top.checked_sub(1).map_or(f64::INFINITY, |last| sorted[last]);
        let (mut gradient, mut directions) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        let mut live = Vec::new();
        let units = units.ranges().zip(&lengths).enumerate().filter(|(_, (_, length))| **length > 0.0);
        for (unit, (range, &length)) in units {
            let middle = unit >= norm.forced && length < lowest && split.theta > 0.0;
            let across = if middle { split.theta / length } else { 1.0 };
            for k in range.clone() {
                gradient[k] = residual[k] - across * x[k];
                directions[k] = if middle { x[k] / length } else { 0.0 };
            }
            live.push(Live { range, across, along: across });
        }
        let share = 1.0 / (norm.k - split.top).max(1) as f64;
        (!live.is_empty()).then_some(Self { value: norm.value(&lengths), gradient, directions, live, share })
    }

    fn system<'a>(&self, quadratic: &'a Quadratic<'a>, damping: f64) -> System<'a> {
        let damped = |unit: &Live| Live { along: damping * unit.along, ..unit.clone() };
        let live = self.live.iter().map(damped).collect();
        System { quadratic, live, units: self.directions.clone(), share: self.share }
    }
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}
