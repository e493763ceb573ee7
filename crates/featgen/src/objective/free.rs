//! What is always in the model and never penalised: the intercept, and the columns that a user keeps (age, sex, batch).
//!
//! They are fitted to the end wherever the objective is evaluated, so that residuals are orthogonal to them and every dual bound
//! is a true one.

use super::{Ldl, Objective};
use crate::data::{Column, Columns, Names};
use crate::digest::digest;
use crate::error::{Error, Result};
use crate::{kernels, ordered, rounding};

/// Columns that a user keeps in the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kept {
    /// The ids of the columns.
    pub(crate) ids: Vec<u64>,
    /// What they are called.
    pub(crate) names: Vec<String>,
    /// All their values.
    pub(crate) columns: Vec<Vec<f64>>,
}

impl Kept {
    /// The columns with these ids, each once. One that does not occur in sparse data is 0 everywhere, which is refused as
    /// constant.
    pub fn new(columns: &dyn Columns, names: &Names, ids: &[u64]) -> Result<Self> {
        let mut kept = Self::default();
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            let name = names.show(id);
            let refuse = |reason: &str| Err(Error::parameter("keep", format!("column {name} {reason}")));
            if id >= columns.dimension() {
                return refuse("is not there");
            }
            let mut values = vec![0.0; columns.rows()];
            if let Some(position) = columns.position(id) {
                columns.gather(&[position])[0].add_to(1.0, &mut values);
            }
            if values.iter().any(|x| !x.is_finite()) {
                return refuse("has a value that is not a finite number");
            }
            if values.iter().all(|x| *x == values[0]) {
                return refuse("has the same value everywhere");
            }
            kept.ids.push(id);
            kept.names.push(name);
            kept.columns.push(values);
        }
        kept.check_independent()?;
        Ok(kept)
    }

    /// An error if a column follows from a constant and those before it: its weight could be anything.
    fn check_independent(&self) -> Result<()> {
        let n = self.columns.first().map_or(0, Vec::len) as f64;
        let mut scaled: Vec<Vec<f64>> = Vec::new();
        for (column, name) in self.columns.iter().zip(&self.names) {
            let mean = column.iter().sum::<f64>() / n;
            let mut rest: Vec<f64> = column.iter().map(|x| x - mean).collect();
            let whole = kernels::dot(&rest, &rest);
            for other in &scaled {
                let along = kernels::dot(&rest, other);
                kernels::add_scaled(-along, other, &mut rest);
            }
            let left = kernels::dot(&rest, &rest);
            if left <= 1e-12 * whole {
                let same =
                    self.columns.iter().zip(&self.names).find(|(x, other)| *x == column && *other != name);
                let reason = match same {
                    Some((_, other)) => format!("columns {name} and {other} are the same"),
                    None => format!("column {name} follows from the other columns kept"),
                };
                return Err(Error::parameter("keep", reason));
            }
            let length = left.sqrt();
            rest.iter_mut().for_each(|x| *x /= length);
            scaled.push(rest);
        }
        Ok(())
    }

    /// The ids of the columns.
    pub fn ids(&self) -> &[u64] {
        &self.ids
    }

    /// A number that stands for all values.
    pub(crate) fn digest(&self) -> u64 {
        digest(self.columns.iter().map(|x| bytemuck::cast_slice::<f64, u64>(x)).collect::<Vec<_>>())
    }

    /// The columns themselves.
    pub(crate) fn to_columns(&self) -> Vec<Column> {
        self.columns.iter().map(|values| Column::Dense(values.clone())).collect()
    }
}

/// What is never penalised in a run.
#[derive(Debug, Clone)]
pub struct Free {
    /// Number of instances.
    rows: usize,
    /// Whether an intercept is learned.
    pub(crate) intercept: bool,
    /// The columns kept.
    pub(crate) columns: Vec<Vec<f64>>,
    /// What is added to every instance's decision value.
    pub(crate) offset: Option<Vec<f64>>,
}

/// Curvature that is added to every free weight, per unit of cost.
const DAMPING: f64 = 1e-10;

/// How much further than all decision values seen the free part may move one, for bounds to hold.
const REACH: f64 = 1e4;

impl Free {
    /// Nothing, or an intercept, for so many instances.
    pub fn new(rows: usize, intercept: bool) -> Self {
        Self { rows, intercept, columns: Vec::new(), offset: None }
    }

    /// Number of free weights of an output: the intercept first, then the columns kept.
    pub fn width(&self) -> usize {
        usize::from(self.intercept) + self.columns.len()
    }

    /// `f`, output after output, with the offset.
    fn offset(&self, f: &[f64]) -> Vec<f64> {
        let mut d = f.to_vec();
        if let Some(offset) = &self.offset {
            d.chunks_exact_mut(offset.len()).for_each(|d| kernels::add_scaled(1.0, offset, d));
        }
        d
    }

    /// Adds what free weights `at` give, output after output, to decision values.
    fn add(&self, at: &[f64], d: &mut [f64]) {
        if self.width() == 0 {
            return;
        }
        for (at, d) in at.chunks_exact(self.width()).zip(d.chunks_exact_mut(self.rows)) {
            if self.intercept {
                d.iter_mut().for_each(|d| *d += at[0]);
            }
            let kept = &at[usize::from(self.intercept)..];
            kept.iter().zip(&self.columns).for_each(|(&w, x)| kernels::add_scaled(w, x, d));
        }
    }

    /// The decision values that `f`, the part of the selected features, makes with free weights `at`.
    pub fn decision(&self, f: &[f64], at: &[f64]) -> Vec<f64> {
        match (&self.offset, at) {
            // Nothing but one intercept: one pass.
            (None, [intercept]) if self.intercept => self.change(f, &[*intercept]),
            _ => {
                let mut d = self.offset(f);
                self.add(at, &mut d);
                d
            }
        }
    }

    /// What a change of `f` and of the free weights makes of decision values.
    pub(crate) fn change(&self, df: &[f64], dat: &[f64]) -> Vec<f64> {
        if let ([intercept], true) = (dat, self.intercept) {
            return ordered::map(df, |f| f + intercept);
        }
        let mut d = df.to_vec();
        self.add(dat, &mut d);
        d
    }

    /// Minimises over the free weights, from where they are.
    pub fn fit(&self, objective: &dyn Objective, f: &[f64], at: &mut [f64]) {
        if self.width() == 0 {
            return;
        }
        if self.columns.is_empty() {
            let fitted = match &self.offset {
                None => objective.fit_intercept(f, at),
                Some(_) => objective.fit_intercept(&self.offset(f), at),
            };
            if fitted {
                return;
            }
        }
        self.newton(objective, f, at);
    }

    /// Newton's method with a line search, until the gradient is nothing but rounding.
    fn newton(&self, objective: &dyn Objective, f: &[f64], at: &mut [f64]) {
        let base = self.offset(f);
        let decision = |at: &[f64]| {
            let mut d = base.clone();
            self.add(at, &mut d);
            d
        };
        let mut d = decision(at);
        let mut value = objective.value(&d);
        let mut last_steps = 0;
        for _ in 0..100 {
            let mut v = vec![0.0; d.len()];
            objective.residual(&d, &mut v);
            let (gradient, sizes) = (self.products(&v), self.sizes(&v));
            if gradient.iter().zip(&sizes).all(|(g, size)| g.abs() <= 1e-14 * size) {
                break;
            }
            let mut step = gradient.clone();
            self.factor(objective, &d).solve(&mut step);
            let slope = kernels::dot(&gradient, &step);
            // Values say nothing any more, but a few steps still make the gradient smaller.
            let settled = slope <= 1e-14 * value.abs();
            last_steps += usize::from(settled);
            if slope <= 0.0 || last_steps > 3 {
                break;
            }
            let mut t = 1.0;
            let moved = loop {
                let next: Vec<f64> = at.iter().zip(&step).map(|(at, step)| at + t * step).collect();
                let there = decision(&next);
                let reached = objective.value(&there);
                if reached <= value - 1e-4 * t * slope || (settled && reached <= value * (1.0 + 1e-12)) {
                    break Some((next, there, reached));
                }
                t *= 0.5;
                if t < 1e-16 {
                    break None;
                }
            };
            let Some((next, there, reached)) = moved else { break };
            at.copy_from_slice(&next);
            (d, value) = (there, reached);
        }
        if objective.is_relative() {
            self.centre(at);
        }
    }

    /// Makes the weights of all outputs sum to 0.
    fn centre(&self, at: &mut [f64]) {
        let width = self.width();
        let outputs = at.len() / width;
        for r in 0..width {
            let mean = (0..outputs).map(|k| at[k * width + r]).sum::<f64>() / outputs as f64;
            (0..outputs).for_each(|k| at[k * width + r] -= mean);
        }
    }

    /// The second derivative of the objective in the free weights, factorised. Where it has none, as beyond the kinks of piecewise
    /// losses, a little is added: steps are long there, and cut by the line search.
    fn factor(&self, objective: &dyn Objective, d: &[f64]) -> Ldl {
        let (n, width, outputs) = (self.rows, self.width(), objective.outputs());
        let mut rows = Vec::with_capacity(width * outputs);
        let (mut u, mut image) = (vec![0.0; d.len()], vec![0.0; d.len()]);
        for k in 0..outputs {
            for r in 0..width {
                u.fill(0.0);
                let part = &mut u[k * n..(k + 1) * n];
                match self.column(r) {
                    Some(x) => part.copy_from_slice(x),
                    None => part.fill(1.0),
                }
                objective.hessian(d, &u, &mut image);
                let mut row = self.products(&image);
                let costs = objective.costs();
                let most = ordered::sum(n, |i| costs[i] * self.column(r).map_or(1.0, |x| x[i] * x[i]));
                row[k * width + r] += DAMPING * most;
                rows.push(row);
            }
        }
        Ldl::new(rows)
    }

    /// The column of free weight `r`; `None` is the constant 1.
    fn column(&self, r: usize) -> Option<&[f64]> {
        match (self.intercept, r) {
            (true, 0) => None,
            _ => Some(&self.columns[r - usize::from(self.intercept)]),
        }
    }

    /// `Z' v`, output after output.
    fn products(&self, v: &[f64]) -> Vec<f64> {
        self.by_column(v, |x, v| match x {
            Some(x) => ordered::sum_over([x, v], |[x, v]| x * v),
            None => ordered::sum_over([v], |[v]| v),
        })
    }

    /// The same of absolute values.
    fn sizes(&self, v: &[f64]) -> Vec<f64> {
        self.by_column(v, |x, v| match x {
            Some(x) => ordered::sum_over([x, v], |[x, v]| (x * v).abs()),
            None => ordered::sum_over([v], |[v]| v.abs()),
        })
    }

    fn by_column(&self, v: &[f64], each: impl Fn(Option<&[f64]>, &[f64]) -> f64) -> Vec<f64> {
        let width = self.width();
        let pairs = v.chunks_exact(self.rows).flat_map(|v| (0..width).map(move |r| (r, v)));
        pairs.map(|(r, v)| each(self.column(r), v)).collect()
    }

    /// The product of the residual `v` at decision values `d` with all that is not penalised, or more: what a dual bound must give up.
    /// That is the product with the offset, and nothing for free columns that `v` is orthogonal to. What rounding leaves of these
    /// counts for all models in which no free column moves a decision value by more than 10,000 times the largest seen.
    /// `balanced` says that the constant is orthogonal without any rounding.
    pub(crate) fn linear_term(&self, d: &[f64], v: &[f64], balanced: bool) -> f64 {
        let relative = rounding::relative(ordered::depth(v.len()) + 8);
        let of_offset = self.offset.as_ref().map_or(0.0, |offset| {
            let [product, size] = ordered::sums_over([offset, v], |[x, v]| [x * v, (x * v).abs()]);
            product + relative * size
        });
        if self.width() == 0 || (balanced && self.columns.is_empty()) {
            return of_offset;
        }
        let most = d.iter().fold(1.0, |most: f64, d| most.max(d.abs()));
        let width = self.width();
        let mut sum = of_offset;
        for (place, (product, size)) in self.products(v).into_iter().zip(self.sizes(v)).enumerate() {
            let column = self.column(place % width);
            if column.is_none() && balanced {
                continue;
            }
            let largest = column.map_or(1.0, |x| x.iter().fold(0.0, |most: f64, x| most.max(x.abs())));
            sum += (product.abs() + relative * size) * REACH * most / largest;
        }
        sum
    }
}
