//! The optimum by a general conic solver: it shares no idea with the machine but the statement of the problem.
//!
//! ```text
//! minimise    1/2 sum_g s_g + sum_i cost_i loss_i
//! subject to  ||w_g||^2 <= d_g s_g,  0 <= d_g <= 1,  sum_g d_g <= budget,  loss_i >= loss(y_i (x_i . w - b))
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
    let mut program = Program::default();
    let w = program.variables(columns.len(), 0.0, 0.0).start;
    let d = program.variables(groups.len(), 0.0, 0.0);
    let s = program.variables(groups.len(), 0.5, 0.0);
    let b = program.variables(usize::from(shift), 0.0, 0.0);

    program.require(NonnegativeConeT(groups.len()), d.clone().map(|d| affine(0.0, [(d, 1.0)])));
    program.require(NonnegativeConeT(groups.len()), d.clone().map(|d| affine(1.0, [(d, -1.0)])));
    program.require(NonnegativeConeT(1), [affine(budget as f64, d.clone().map(|d| (d, -1.0)))]);
    let mut first = w;
    for ((&size, d), s) in groups.iter().zip(d).zip(s) {
        // ||w_g||^2 <= d s is ||(2 w_g, d - s)|| <= d + s.
        let sides = [affine(0.0, [(d, 1.0), (s, 1.0)]), affine(0.0, [(d, 1.0), (s, -1.0)])];
        let weights = (first..first + size).map(|w| affine(0.0, [(w, 2.0)]));
        program.require(SecondOrderConeT(size + 2), sides.into_iter().chain(weights));
        first += size;
    }

    for (i, (&sign, &cost)) in signs.iter().zip(costs).enumerate().filter(|(_, (_, cost))| **cost > 0.0) {
        let entries = columns.iter().enumerate().map(|(j, x)| (w + j, sign * x[i]));
        let margin: Vec<_> = entries.chain(b.clone().map(|b| (b, -sign))).collect();
        match loss {
            Loss::SquaredHinge => {
                let slack = program.variables(1, 0.0, cost).start;
                program
                    .require(NonnegativeConeT(1), [affine(-1.0, margin.into_iter().chain([(slack, 1.0)]))]);
            }
            Loss::Logistic => {
                // t >= log(1 + exp(-z)) is exp(-z - t) + exp(-t) <= 1; the cone is y exp(x / y) <= z.
                let t = program.variables(1, cost, 0.0).start;
                let parts = program.variables(2, 0.0, 0.0);
                let minus = margin.into_iter().map(|(variable, x)| (variable, -x)).chain([(t, -1.0)]);
                for (exponent, part) in
                    [affine(0.0, minus), affine(0.0, [(t, -1.0)])].into_iter().zip(parts.clone())
                {
                    let members = [exponent, affine(1.0, []), affine(0.0, [(part, 1.0)])];
                    program.require(ExponentialConeT(), members);
                }
                program.require(NonnegativeConeT(1), [affine(1.0, parts.map(|part| (part, -1.0)))]);
            }
        }
    }
    program.minimum()
}
