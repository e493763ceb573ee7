//! Random small problems, reproducible from a seed, with an independent reference for their optimum.

#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod conic;

use std::fmt;
use std::ops::RangeInclusive;

use featgen::Machine;
use featgen::data::{Columns, Dense, Labels, Layout, Sparse, Values};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

pub(crate) use conic::optimum;

/// The losses, defined a second time, by their formulas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Loss {
    SquaredHinge,
    Logistic,
}

impl Loss {
    pub(crate) const ALL: [Self; 2] = [Self::SquaredHinge, Self::Logistic];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SquaredHinge => "squared-hinge",
            Self::Logistic => "logistic",
        }
    }

    /// The loss at margin `z`, its first and its second derivative.
    pub(crate) fn at(self, z: f64) -> [f64; 3] {
        match self {
            Self::SquaredHinge if z < 1.0 => [0.5 * (1.0 - z).powi(2), z - 1.0, 1.0],
            Self::SquaredHinge => [0.0; 3],
            Self::Logistic => {
                let p = 1.0 / (1.0 + z.exp());
                [(-z).exp().ln_1p(), -p, p * (1.0 - p)]
            }
        }
    }
}

/// How the values are kept. All forms must give the same results.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Storage {
    F32(Layout),
    F64(Layout),
    Sparse,
}

impl Storage {
    pub(crate) const ALL: [Self; 5] = [
        Self::F32(Layout::ColumnMajor),
        Self::F32(Layout::RowMajor),
        Self::F64(Layout::ColumnMajor),
        Self::F64(Layout::RowMajor),
        Self::Sparse,
    ];

    /// Stores a matrix given by columns; the id of column `j` is `ids[j]`, but `j` in dense storage.
    pub(crate) fn store(self, columns: &[Vec<f64>], ids: &[u64]) -> Box<dyn Columns> {
        let (n, m) = (columns[0].len(), columns.len());
        let ordered = |layout| -> Vec<f64> {
            match layout {
                Layout::ColumnMajor => columns.concat(),
                Layout::RowMajor => (0..n).flat_map(|i| columns.iter().map(move |x| x[i])).collect(),
            }
        };
        match self {
            Self::F32(layout) => {
                let narrow: Vec<f32> = ordered(layout).iter().map(|&x| x as f32).collect();
                Box::new(Dense::<f32, _>::new(narrow, n, m, layout).unwrap())
            }
            Self::F64(layout) => Box::new(Dense::<f64, _>::new(ordered(layout), n, m, layout).unwrap()),
            Self::Sparse => {
                let (mut pointers, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
                for column in columns {
                    for (i, &x) in column.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                        rows.push(i as u32);
                        values.push(x);
                    }
                    pointers.push(rows.len() as u64);
                }
                let dimension = ids.last().unwrap() + 1;
                let values = Values::F64(values);
                Box::new(Sparse::new(n, dimension, ids.to_vec(), pointers, rows, values).unwrap())
            }
        }
    }
}

/// A small problem and everything it was made with.
pub(crate) struct Problem {
    pub(crate) seed: u64,
    pub(crate) columns: Vec<Vec<f64>>,
    /// What the storage calls the columns.
    pub(crate) ids: Vec<u64>,
    pub(crate) storage: Storage,
    pub(crate) signs: Vec<f64>,
    pub(crate) weights: Option<Vec<f64>>,
    pub(crate) loss: Loss,
    pub(crate) shift: bool,
    pub(crate) budget: usize,
    pub(crate) cost: f64,
}

/// Enough to find the problem again, for messages.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, columns, signs, storage, weights, loss, shift, budget, cost, .. } = self;
        let (n, m, weighted) = (signs.len(), columns.len(), weights.is_some());
        write!(f, "seed {seed} ({n} x {m} {storage:?}, weighted {weighted}, {loss:?}, shift {shift}, ")?;
        write!(f, "B {budget}, C {cost:.3})")
    }
}

impl Problem {
    /// Consecutive seeds go through all combinations of storage, loss, shift and weights.
    pub(crate) fn random(seed: u64) -> Self {
        Self::with(seed, 8..=40, 3..=30)
    }

    fn with(seed: u64, rows: RangeInclusive<usize>, features: RangeInclusive<usize>) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let pick = |k: u64, of: u64| (seed / k % of) as usize;
        let storage = Storage::ALL[pick(1, 5)];
        let (loss, shift, weighted) = (Loss::ALL[pick(5, 2)], pick(10, 2) == 1, pick(20, 2) == 1);
        let (n, m) = (rng.random_range(rows), rng.random_range(features));
        let mut columns = vec![vec![0.0; n]; m];
        for j in 0..m {
            let density = if storage == Storage::Sparse { 0.3 } else { 1.0 };
            let scale = 10f64.powf(rng.random_range(-1.0..1.0));
            columns[j] = match rng.random_range(0..12) {
                0 => vec![scale as f32 as f64; n],
                1 => columns[rng.random_range(0..=j)].clone(),
                _ => {
                    let mut normal = || scale * rng.sample::<f64, _>(StandardNormal);
                    let values: Vec<f64> = (0..n).map(|_| normal() as f32 as f64).collect();
                    values.into_iter().map(|x| if rng.random_bool(density) { x } else { 0.0 }).collect()
                }
            };
        }
        let mut ids: Vec<u64> = (0..m as u64).collect();
        if storage == Storage::Sparse {
            ids.iter_mut()
                .scan(0, |last, id| {
                    *last += rng.random_range(1..1 << 40);
                    *id = *last;
                    Some(())
                })
                .for_each(drop);
        }
        // The first features matter, and a good part of the labels is noise.
        let noise = 10f64.powf(rng.random_range(-1.0..0.5));
        let relevant = &columns[..m.min(3)];
        let mut signs: Vec<f64> = (0..n)
            .map(|i| {
                relevant.iter().map(|x| x[i]).sum::<f64>() + noise * rng.sample::<f64, _>(StandardNormal)
            })
            .map(|f| if f > 0.2 { 1.0 } else { -1.0 })
            .collect();
        (signs[0], signs[1]) = (1.0, -1.0);
        let weights = weighted.then(|| {
            let mut weights: Vec<f64> = (0..n).map(|_| rng.random_range(0.0..3.0)).collect();
            weights[n - 1] = 0.0;
            weights
        });
        let budget = rng.random_range(1..=10);
        let cost = 10f64.powf(rng.random_range(-1.0..2.0));
        Self { seed, columns, ids, storage, signs, weights, loss, shift, budget, cost }
    }

    /// The same with all features of about one scale: without momentum, first-order steps take for ever otherwise.
    pub(crate) fn mild(seed: u64) -> Self {
        Self::random(seed).of_one_scale()
    }

    /// The same with far fewer instances than features.
    pub(crate) fn low(seed: u64) -> Self {
        Self::with(seed, 6..=20, 400..=500).of_one_scale()
    }

    fn of_one_scale(mut self) -> Self {
        for column in &mut self.columns {
            let largest = column.iter().fold(0f64, |most, x| most.max(x.abs()));
            if largest > 0.0 {
                let power = largest.log2().ceil() as i32;
                column.iter_mut().for_each(|x| *x *= 2f64.powi(-power));
            }
        }
        self
    }

    /// The same, but half of the instances contradict the others: no weights fit all, however large the cost.
    pub(crate) fn contradictory(seed: u64) -> Self {
        let mut problem = Self::random(seed);
        let half = problem.signs.len() / 2;
        let mut weights = vec![1.0; problem.signs.len()];
        for i in half..problem.signs.len() {
            problem.columns.iter_mut().for_each(|x| x[i] = x[i - half]);
            problem.signs[i] = -problem.signs[i - half];
            weights[i] = 0.5;
        }
        problem.weights = Some(weights);
        problem
    }

    pub(crate) fn store(&self) -> Box<dyn Columns> {
        self.storage.store(&self.columns, &self.ids)
    }

    pub(crate) fn labels(&self) -> Labels {
        let labels = Labels::from_text(self.signs.iter().map(|&y| if y > 0.0 { "+1" } else { "-1" }));
        match &self.weights {
            Some(weights) => labels.with_weights(weights.clone()).unwrap(),
            None => labels,
        }
    }

    /// A machine for this problem, with no stopping rule set.
    pub(crate) fn machine(&self) -> Machine {
        let loss = featgen::objective::by_name(self.loss.name()).unwrap();
        Machine::new().budget(self.budget).cost(self.cost).loss(loss).shift(self.shift)
    }

    pub(crate) fn costs(&self, cost: f64) -> Vec<f64> {
        let weight = |i: usize| self.weights.as_ref().map_or(1.0, |w| w[i]);
        (0..self.signs.len()).map(|i| cost * weight(i)).collect()
    }

    /// The reference: the optimum over all features, with the cost given.
    pub(crate) fn optimum(&self, cost: f64) -> f64 {
        let groups = vec![1; self.columns.len()];
        optimum(&self.columns, &groups, &self.signs, &self.costs(cost), self.loss, self.budget, self.shift)
    }

    /// The sum of losses.
    pub(crate) fn total_loss(&self, w: &[f64], b: f64, cost: f64) -> f64 {
        let f = |i: usize| self.columns.iter().zip(w).map(|(x, w)| w * x[i]).sum::<f64>() - b;
        let costs = self.costs(cost);
        (0..costs.len()).map(|i| costs[i] * self.loss.at(self.signs[i] * f(i))[0]).sum()
    }

    /// The objective at given weights.
    pub(crate) fn objective(&self, w: &[f64], b: f64, cost: f64) -> f64 {
        0.5 * norm_squared(w, self.budget) + self.total_loss(w, b, cost)
    }
}

/// The square of the k-support norm, by its definition: the least `sum w_j^2 / d_j`, where `0 <= d <= 1, sum d <= k`.
pub(crate) fn norm_squared(w: &[f64], k: usize) -> f64 {
    // The best d_j is |w_j| / t, but at most 1; the smaller t, the better, as long as the sum allows it.
    let sum = |t: f64| w.iter().map(|w| (w.abs() / t).min(1.0)).sum::<f64>();
    let (mut low, mut high) = (0.0, w.iter().map(|w| w.abs()).sum::<f64>() / k as f64);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if sum(middle) > k as f64 { low = middle } else { high = middle }
    }
    w.iter().filter(|w| **w != 0.0).map(|w| w.abs() * w.abs().max(high)).sum()
}

/// Random groups of `m` features that form a tree, in random order.
pub(crate) fn nested(rng: &mut ChaCha8Rng, m: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..m).collect();
    for k in (1..m).rev() {
        order.swap(k, rng.random_range(0..=k));
    }
    let mut groups = Vec::new();
    let mut open: Vec<_> = std::iter::once(0..m).collect();
    while let Some(range) = open.pop() {
        if rng.random_bool(0.8) {
            groups.push(order[range.clone()].to_vec());
        }
        if range.len() > 1 {
            let middle = rng.random_range(range.start + 1..range.end);
            let parts = [range.start..middle, middle..range.end];
            open.extend(parts.into_iter().filter(|_| rng.random_bool(0.9)));
        }
    }
    if groups.is_empty() {
        groups.push(order);
    }
    groups.iter_mut().for_each(|group| group.sort_unstable());
    for k in (1..groups.len()).rev() {
        groups.swap(k, rng.random_range(0..=k));
    }
    groups
}

/// Random groups of `m` features that may overlap.
pub(crate) fn overlapping(rng: &mut ChaCha8Rng, m: usize) -> Vec<Vec<usize>> {
    let count = rng.random_range(1..=m + 2);
    let one = |_| {
        let part = rng.random_range(0.05..0.5);
        let mut group: Vec<usize> = (0..m).filter(|_| rng.random_bool(part)).collect();
        if group.is_empty() {
            group.push(rng.random_range(0..m));
        }
        group
    };
    (0..count).map(one).collect()
}
