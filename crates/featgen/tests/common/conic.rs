//! The optimum by a general conic solver: it shares no idea with the machine but the statement of the problem.
//!
//! ```text
//! minimise    1/2 sum_g s_g + sum_i cost_i loss_i
//! subject to  ||w_g||^2 <= d_g s_g,  0 <= d_g <= 1,  sum_g d_g <= budget,  loss_i >= loss(decision values of i)
//! ```

use std::ops::Range;

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT, SupportedConeT::*,
};

use super::Loss;

/// A number that depends linearly on the variables.
struct Affine {
    terms: Vec<(usize, f64)>,
    constant: f64,
}

fn affine(constant: f64, terms: impl IntoIterator<Item = (usize, f64)>) -> Affine {
    Affine { terms: terms.into_iter().collect(), constant }
}

/// A conic program in the making.
#[derive(Default)]
struct Program {
    linear: Vec<f64>,
    quadratic: Vec<f64>,
    constants: Vec<f64>,
    rows: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

impl Program {
    /// New variables that cost `linear * x + quadratic / 2 * x^2` each.
    fn variables(&mut self, count: usize, linear: f64, quadratic: f64) -> Range<usize> {
        let first = self.linear.len();
        self.linear.resize(first + count, linear);
        self.quadratic.resize(first + count, quadratic);
        first..first + count
    }

    /// Requires that `members` lie in `cone`.
    fn require(&mut self, cone: SupportedConeT<f64>, members: impl IntoIterator<Item = Affine>) {
        for member in members {
            for (variable, coefficient) in member.terms {
                self.rows.push(self.constants.len());
                self.columns.push(variable);
                self.values.push(-coefficient);
            }
            self.constants.push(member.constant);
        }
        self.cones.push(cone);
    }

    fn minimum(self) -> f64 {
        let n = self.linear.len();
        let p = CscMatrix::new_from_triplets(n, n, (0..n).collect(), (0..n).collect(), self.quadratic);
        let a = CscMatrix::new_from_triplets(self.constants.len(), n, self.rows, self.columns, self.values);
        // Near the limits of arithmetic the solver may stall short of a tolerance, and do better with a looser one.
        let mut seen = Vec::new();
        for tolerance in TOLERANCES {
            let settings = DefaultSettings {
                verbose: false,
                tol_gap_abs: tolerance,
                tol_gap_rel: tolerance,
                tol_feas: tolerance,
                ..Default::default()
            };
            let mut solver = DefaultSolver::new(&p, &self.linear, &a, &self.constants, &self.cones, settings)
                .expect("a well-formed program");
            solver.solve();
            let found = &solver.solution;
            let width = (found.obj_val - found.obj_val_dual).abs() / found.obj_val.abs();
            if found.status == SolverStatus::Solved || width < 10.0 * tolerance {
                return found.obj_val;
            }
            seen.push(format!("{:?}: {width:e} apart", found.status));
        }
        panic!("the reference is not solved: {seen:?}");
    }
}

/// How exactly the reference is solved: the first of these that it can be.
const TOLERANCES: [f64; 3] = [1e-10, 1e-9, 1e-8];

/// What is to be predicted, for every instance.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// Signs, and a loss of the margin.
    Margin(Loss, Vec<f64>),
    Squared(Vec<f64>),
    Huber(Vec<f64>, f64),
    Poisson(Vec<f64>),
    /// The class of each of so many, and the loss.
    Softmax(Vec<usize>, usize),
    Hinges(Vec<usize>, usize),
    /// Times, negative where there was no event, and how often each instance counts.
    Cox(Vec<f64>, Vec<f64>),
}

impl Outcome {
    /// Decision values of an instance.
    pub(crate) fn outputs(&self) -> usize {
        match self {
            Self::Softmax(_, classes) | Self::Hinges(_, classes) => *classes,
            _ => 1,
        }
    }
}

/// All that the optimum depends on beside the outcome.
pub(crate) struct Design<'a> {
    pub(crate) columns: &'a [Vec<f64>],
    /// The columns come in groups of these sizes.
    pub(crate) groups: &'a [usize],
    pub(crate) kept: &'a [Vec<f64>],
    pub(crate) offset: Option<&'a [f64]>,
    pub(crate) costs: &'a [f64],
    pub(crate) budget: usize,
    pub(crate) intercept: bool,
}

/// The least objective over all weights and, with `shift`, all b. The columns come in groups of the given sizes.
pub(crate) fn optimum(
    columns: &[Vec<f64>],
    groups: &[usize],
    signs: &[f64],
    costs: &[f64],
    loss: Loss,
    budget: usize,
    shift: bool,
) -> f64 {
    let design = Design { columns, groups, kept: &[], offset: None, costs, budget, intercept: shift };
    design.optimum(&Outcome::Margin(loss, signs.to_vec()))
}

impl Design<'_> {
    /// The least objective over all weights and everything that is not penalised.
    pub(crate) fn optimum(&self, outcome: &Outcome) -> f64 {
        let (mut program, outputs) = (Program::default(), outcome.outputs());
        let w = program.variables(self.columns.len() * outputs, 0.0, 0.0).start;
        let groups = self.groups.len();
        let d = program.variables(groups, 0.0, 0.0);
        let s = program.variables(groups, 0.5, 0.0);
        let free = usize::from(self.intercept) + self.kept.len();
        let b = program.variables(free * outputs, 0.0, 0.0).start;

        program.require(NonnegativeConeT(groups), d.clone().map(|d| affine(0.0, [(d, 1.0)])));
        program.require(NonnegativeConeT(groups), d.clone().map(|d| affine(1.0, [(d, -1.0)])));
        program.require(NonnegativeConeT(1), [affine(self.budget as f64, d.clone().map(|d| (d, -1.0)))]);
        let mut first = w;
        for ((&size, d), s) in self.groups.iter().zip(d).zip(s) {
            // ||w_g||^2 <= d s is ||(2 w_g, d - s)|| <= d + s.
            let sides = [affine(0.0, [(d, 1.0), (s, 1.0)]), affine(0.0, [(d, 1.0), (s, -1.0)])];
            let weights = (first..first + size * outputs).map(|w| affine(0.0, [(w, 2.0)]));
            program.require(SecondOrderConeT(size * outputs + 2), sides.into_iter().chain(weights));
            first += size * outputs;
        }
        // The decision value of an instance for an output, times a factor.
        let decision = |i: usize, k: usize, times: f64| {
            let columns = self.columns.iter().enumerate().map(|(j, x)| (w + j * outputs + k, times * x[i]));
            let intercept = self.intercept.then_some((b + k * free, times));
            let kept = self
                .kept
                .iter()
                .enumerate()
                .map(|(r, x)| (b + k * free + usize::from(self.intercept) + r, times * x[i]));
            let terms: Vec<_> = columns.chain(intercept).chain(kept).collect();
            affine(times * self.offset.map_or(0.0, |o| o[i]), terms)
        };
        self.add_losses(&mut program, outcome, &decision) + program.minimum()
    }

    /// Adds the loss of every instance; returns what is constant in it.
    fn add_losses(
        &self,
        program: &mut Program,
        outcome: &Outcome,
        decision: &dyn Fn(usize, usize, f64) -> Affine,
    ) -> f64 {
        let mut constant = 0.0;
        for (i, &cost) in self.costs.iter().enumerate().filter(|(_, cost)| **cost > 0.0) {
            match outcome {
                Outcome::Margin(Loss::SquaredHinge, signs) => program.hinge(cost, decision(i, 0, signs[i])),
                Outcome::Margin(Loss::Logistic, signs) => {
                    program.exponentials(cost, vec![affine(0.0, []), decision(i, 0, -signs[i])]);
                }
                Outcome::Squared(y) => program.square(cost, decision(i, 0, 1.0).plus(-y[i], []), None),
                Outcome::Huber(y, delta) => {
                    program.square(cost, decision(i, 0, 1.0).plus(-y[i], []), Some(*delta))
                }
                Outcome::Poisson(y) => {
                    // exp f - y f: t >= exp f, and f itself as a variable.
                    let t = program.variables(1, cost, 0.0).start;
                    let f = program.variables(1, -cost * y[i], 0.0).start;
                    program.require(ZeroConeT(1), [decision(i, 0, 1.0).plus(0.0, [(f, -1.0)])]);
                    let members = [affine(0.0, [(f, 1.0)]), affine(1.0, []), affine(0.0, [(t, 1.0)])];
                    program.require(ExponentialConeT(), members);
                    constant -= cost * if y[i] > 0.0 { y[i] - y[i] * y[i].ln() } else { 0.0 };
                }
                Outcome::Softmax(classes, count) => {
                    let own = classes[i];
                    let beside = |k: usize| decision(i, k, 1.0).minus(&decision(i, own, 1.0));
                    program.exponentials(cost, (0..*count).map(beside).collect());
                }
                Outcome::Hinges(classes, count) => {
                    let sign = |k: usize| if classes[i] == k { 1.0 } else { -1.0 };
                    (0..*count).for_each(|k| program.hinge(cost, decision(i, k, sign(k))));
                }
                Outcome::Cox(times, weights) if times[i] > 0.0 => {
                    constant += cost * weights[i].ln().max(0.0);
                    let at_risk =
                        (0..times.len()).filter(|&j| times[j].abs() >= times[i] && self.costs[j] > 0.0);
                    let beside = |j: usize| {
                        decision(j, 0, 1.0).minus(&decision(i, 0, 1.0)).plus((self.costs[j] / cost).ln(), [])
                    };
                    program.exponentials(cost, at_risk.map(beside).collect());
                }
                Outcome::Cox(..) => {}
            }
        }
        constant
    }
}

impl Affine {
    fn plus(mut self, constant: f64, terms: impl IntoIterator<Item = (usize, f64)>) -> Self {
        self.constant += constant;
        self.terms.extend(terms);
        self
    }

    fn minus(mut self, other: &Self) -> Self {
        self.constant -= other.constant;
        self.terms.extend(other.terms.iter().map(|&(variable, x)| (variable, -x)));
        // A variable that is there twice has the sum of its coefficients.
        self.terms.sort_by_key(|&(variable, _)| variable);
        self.terms.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0.0 };
            same
        });
        self
    }
}

impl Program {
    /// `cost / 2 max(0, 1 - margin)^2`.
    fn hinge(&mut self, cost: f64, margin: Affine) {
        let slack = self.variables(1, 0.0, cost).start;
        self.require(NonnegativeConeT(1), [margin.plus(-1.0, [(slack, 1.0)])]);
    }

    /// `cost / 2 error^2`; beyond `delta` its size: the least `s^2 / 2 + delta |t|` with `s + t` the error.
    fn square(&mut self, cost: f64, error: Affine, delta: Option<f64>) {
        let s = self.variables(1, 0.0, cost).start;
        let rest = delta.map_or(0..0, |delta| self.variables(2, cost * delta, 0.0));
        let parts: Vec<(usize, f64)> = [(s, -1.0)].into_iter().chain(rest.clone().zip([-1.0, 1.0])).collect();
        self.require(ZeroConeT(1), [error.plus(0.0, parts)]);
        self.require(NonnegativeConeT(rest.len()), rest.map(|t| affine(0.0, [(t, 1.0)])));
    }

    /// `cost log(sum exp x)`: t is at least that if `sum exp(x - t) <= 1`; the cone is `y exp(x / y) <= z`.
    fn exponentials(&mut self, cost: f64, exponents: Vec<Affine>) {
        let t = self.variables(1, cost, 0.0).start;
        let parts = self.variables(exponents.len(), 0.0, 0.0);
        for (exponent, part) in exponents.into_iter().zip(parts.clone()) {
            let members = [exponent.plus(0.0, [(t, -1.0)]), affine(1.0, []), affine(0.0, [(part, 1.0)])];
            self.require(ExponentialConeT(), members);
        }
        self.require(NonnegativeConeT(1), [affine(1.0, parts.map(|part| (part, -1.0)))]);
    }
}
