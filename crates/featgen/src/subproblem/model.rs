//! The quadratic model of a Newton step, and its minimiser. With a matrix it touches no data: a product with H costs (t B)^2.
//!
//! ```text
//! min over x of   -c'(x - omega) + 1/2 (x - omega)' H (x - omega) + 1/2 (sum_h ||x_h||)^2
//! ```
//!
//! Minimising over one block after the other decides which blocks are zero and gives the others their size; on those the
//! objective is smooth, and Newton steps do the rest. Either alone is slow: the first where blocks are correlated, the
//! second where they come and go.

use std::ops::Range;

use super::curvature::Curvature;
use super::eliminate::{Eliminated, Taken};
use super::newton::Regulariser;
use super::precondition::Run;
use super::system::{self, System};
use super::{Blocks, Cache, norm};
use crate::kernels;
use crate::linalg::{Matrix, Tridiagonal};

/// The quadratic: gradient and curvature at `omega`, with the free weights eliminated.
pub(super) struct Quadratic<'a> {
    pub(super) cache: &'a Cache,
    /// Of every output: outputs have no curvature in common.
    pub(super) curvature: &'a [Curvature],
    pub(super) blocks: &'a Blocks,
    /// The objective's negative gradient per cached column.
    pub(super) c: &'a [f64],
    /// What the free weights take from the curvature of every output.
    pub(super) eliminated: &'a [Eliminated],
}

/// `1/2 (sum_h ||x_h||)^2`: few blocks share the weights.
#[derive(Default)]
pub(super) struct SumOfNorms;

impl Regulariser for SumOfNorms {
    fn value(&self, blocks: &Blocks, x: &[f64]) -> f64 {
        let size = blocks.norm(x);
        0.5 * size * size
    }

    fn gap(&self, blocks: &Blocks, x: &[f64], c: &[f64]) -> f64 {
        blocks.gap(x, c)
    }

    fn minimise(&self, model: Quadratic<'_>, omega: &[f64], gap: f64) -> Vec<f64> {
        let mut minimiser = Minimiser::new(model, omega);
        minimiser.run(gap);
        minimiser.x
    }
}

/// Where the minimisation stands.
struct Minimiser<'a> {
    quadratic: Quadratic<'a>,
    /// The weights, per coordinate.
    x: Vec<f64>,
    /// `c - H (x - omega)` per cached column: the negative gradient of the quadratic at x.
    residual: Vec<f64>,
    norms: Vec<f64>,
    /// Of each block, once it was needed.
    shapes: Vec<Option<Shape>>,
}

/// The curvature of one block, in the form in which the block alone can be minimised.
enum Shape {
    /// All of it: minimised exactly.
    Exact(Tridiagonal),
    /// For wide blocks an upper bound: minimised with the bound in place of the curvature.
    Bound(f64),
}

/// A block that is not zero, and its coordinates.
type Live = (usize, Range<usize>);

/// Rounds that a minimiser may take.
const ROUNDS: usize = 30;

/// Blocks up to this width are minimised exactly.
const WIDEST_EXACT: usize = 128;

impl Quadratic<'_> {
    /// `H w`.
    pub(super) fn apply(&self, w: &[f64]) -> Vec<f64> {
        let mut all = Vec::with_capacity(w.len());
        for ((curvature, eliminated), w) in
            self.curvature.iter().zip(self.eliminated).zip(w.chunks_exact(self.width().max(1)))
        {
            let mut out = curvature.apply(self.cache, w);
            for (p, part) in &eliminated.rows {
                kernels::add_scaled(-kernels::dot(p, w) * part, p, &mut out);
            }
            all.extend(out);
        }
        all
    }

    /// Number of cached columns.
    pub(super) fn width(&self) -> usize {
        self.curvature[0].width()
    }

    /// Whether every entry of the curvature is known.
    pub(super) fn has_matrix(&self) -> bool {
        self.curvature[0].matrix().is_some()
    }

    /// Where an output has fewer rows than columns: the weights of rows, and what the free weights take away.
    pub(super) fn rows_of(&self, output: usize) -> Option<(&[f64], &[Taken])> {
        let rows = self.curvature[output].few_rows(self.cache)?;
        Some((rows, &self.eliminated[output].rows))
    }

    /// `out -= H w` where w is not 0 at some coordinates only.
    fn subtract(&self, range: Range<usize>, changes: &[f64], out: &mut [f64]) {
        let width = self.width();
        if !self.has_matrix() {
            let mut w = vec![0.0; out.len()];
            range.zip(changes).for_each(|(k, change)| w[self.blocks.place(k, width)] += change);
            return kernels::add_scaled(-1.0, &self.apply(&w), out);
        }
        for (output, (curvature, eliminated)) in self.curvature.iter().zip(self.eliminated).enumerate() {
            let Some(gram) = curvature.matrix() else { continue };
            let out = &mut out[output * width..(output + 1) * width];
            let mut along = vec![0.0; eliminated.rows.len()];
            // The outputs of a column follow each other.
            let own = range.clone().zip(changes).skip(output).step_by(self.curvature.len());
            for (k, change) in own.filter(|(_, change)| **change != 0.0) {
                let j = self.blocks.columns[k] as usize;
                kernels::add_scaled(-change, gram.column(j), out);
                for (along, (p, part)) in along.iter_mut().zip(&eliminated.rows) {
                    *along += change * p[j] * part;
                }
            }
            for (along, (p, _)) in along.into_iter().zip(&eliminated.rows).filter(|(along, _)| *along != 0.0)
            {
                kernels::add_scaled(along, p, out);
            }
        }
    }

    /// H between a coordinate and any other, where its entries are known. What is the same for all others is looked up once.
    pub(super) fn row(&self, k: usize) -> impl Fn(usize) -> f64 {
        let Blocks { columns, scales, output, .. } = self.blocks;
        let (own, i, scale) = (output[k], columns[k] as usize, scales[k]);
        let gram = self.curvature[own as usize].matrix().map(|gram| gram.column(i));
        let rows = &self.eliminated[own as usize].rows;
        move |l| match gram.filter(|_| output[l] == own) {
            Some(gram) => {
                let j = columns[l] as usize;
                scale * scales[l] * (gram[j] - eliminated(rows, i, j))
            }
            None => 0.0,
        }
    }

    pub(super) fn diagonal(&self, k: usize) -> f64 {
        let Blocks { columns, scales, output, .. } = self.blocks;
        let (own, i) = (output[k] as usize, columns[k] as usize);
        let entry = self.curvature[own].diagonal(i) - eliminated(&self.eliminated[own].rows, i, i);
        (scales[k] * scales[k] * entry).max(0.0)
    }

    /// The runs of coordinates in a range that belong to nested columns whose entries are not known.
    pub(super) fn nested(&self, range: Range<usize>) -> impl Iterator<Item = Run> {
        let (runs, stride) = (self.curvature[0].nested(), self.curvature.len());
        let columns = &self.blocks.columns;
        let mut k = range.start;
        std::iter::from_fn(move || {
            while k < range.end {
                let column = columns[k] as usize;
                let run = runs.binary_search_by_key(&column, |run| run.start).ok().map(|at| runs[at].clone());
                // Every output has the same; the coordinates of a column are never apart.
                let whole = run.filter(|run| {
                    let last = k + (run.len() - 1) * stride;
                    last < range.end
                        && (k..=last).step_by(stride).map(|k| columns[k] as usize).eq(run.clone())
                });
                let (first, count) = (k, whole.map_or(0, |run| run.len()));
                // After the last output of a run comes what follows it.
                let last_output = self.blocks.output[k] as usize + 1 == stride;
                k += if count > 0 && last_output { (count - 1) * stride + 1 } else { 1 };
                if count > 0 {
                    return Some(Run { first, stride, count });
                }
            }
            None
        })
    }

    fn shape(&self, h: usize) -> Shape {
        let range = self.blocks.range(h);
        let trace: f64 = range.clone().map(|k| self.diagonal(k)).sum();
        if !self.has_matrix() {
            return Shape::Bound(trace.max(f64::MIN_POSITIVE));
        }
        let width = range.len();
        if width <= WIDEST_EXACT {
            let mut curvature = Matrix::zeros(width, width);
            for (j, k) in range.clone().enumerate() {
                let row = self.row(k);
                curvature.column_mut(j).iter_mut().zip(range.clone()).for_each(|(entry, l)| *entry = row(l));
            }
            return Shape::Exact(Tridiagonal::new(curvature));
        }
        let row = |k: usize| -> f64 { range.clone().map(self.row(k)).map(f64::abs).sum() };
        Shape::Bound(range.clone().map(row).fold(0.0, f64::max).min(trace).max(f64::MIN_POSITIVE))
    }
}

/// What free weights take from the entry of the cached columns `i` and `j`.
#[inline]
fn eliminated(rows: &[Taken], i: usize, j: usize) -> f64 {
    rows.iter().fold(0.0, |sum, (p, part)| sum + p[i] * p[j] * part)
}

impl Shape {
    /// Minimises over one block, the others having norms that sum to `rest`:
    /// `-r'(u - x) + 1/2 (u - x)' A (u - x) + 1/2 (rest + ||u||)^2`.
    fn minimise(&self, x: &[f64], r: &[f64], rest: f64) -> Vec<f64> {
        match self {
            Self::Bound(l) => {
                let u: Vec<f64> = x.iter().zip(r).map(|(x, r)| x + r / l).collect();
                let length = norm(&u);
                let target = ((l * length - rest) / (l + 1.0)).max(0.0);
                let factor = if length > 0.0 { target / length } else { 0.0 };
                u.into_iter().map(|u| factor * u).collect()
            }
            Self::Exact(form) => {
                // With g = r + A x, the minimiser solves (A + 1 + rest / length) u = g for its own length. As A is Q T Q', so does Q' u
                // with T and Q' g.
                let (mut g, mut x) = (r.to_vec(), x.to_vec());
                form.rotate(&mut g);
                form.rotate(&mut x);
                kernels::add_scaled(1.0, &form.apply(&x), &mut g);
                let length = secular_root(form, &g, rest);
                g.iter_mut().for_each(|g| *g *= length);
                let mut u = if length > 0.0 { form.solve(length, length + rest, &g) } else { g };
                form.rotate_back(&mut u);
                u
            }
        }
    }
}

/// The length at which `y = ((T + 1) length + rest)^-1 g` has a norm of 1; 0 if the block stays at zero.
///
/// One over that norm is nearly linear in the length, and concave: Newton's method on it, from the left, rises to the root without
/// overshooting.
fn secular_root(form: &Tridiagonal, g: &[f64], rest: f64) -> f64 {
    let size = norm(g);
    if size <= rest {
        return 0.0;
    }
    // The root is not before what a curvature that is nowhere smaller would give.
    let mut length = (size - rest) / (form.largest() + 1.0);
    for _ in 0..50 {
        let y = form.solve(length, length + rest, g);
        let mut image = form.apply(&y);
        kernels::add_scaled(1.0, &y, &mut image);
        let square = kernels::dot(&y, &y);
        let slope = kernels::dot(&image, &form.solve(length, length + rest, &y));
        let step = (square.sqrt() - 1.0) * square / slope;
        length += step;
        if step <= 1e-13 * length {
            break;
        }
    }
    length
}

impl<'a> Minimiser<'a> {
    fn new(quadratic: Quadratic<'a>, omega: &[f64]) -> Self {
        Self {
            x: omega.to_vec(),
            residual: quadratic.c.to_vec(),
            norms: quadratic.blocks.norms(omega).collect(),
            shapes: (0..quadratic.blocks.len()).map(|_| None).collect(),
            quadratic,
        }
    }

    /// Minimises until the model's own duality gap is at most `gap`, or all rounds have passed.
    fn run(&mut self, gap: f64) {
        // While no block is zero, a Newton step alone may do.
        let mut smooth = self.norms.iter().all(|&norm| norm > 0.0);
        for _ in 0..ROUNDS {
            if !std::mem::take(&mut smooth) {
                self.sweep();
                if self.gap() <= gap {
                    break;
                }
            }
            self.newton();
            if self.gap() <= gap {
                break;
            }
        }
    }

    fn gap(&self) -> f64 {
        self.quadratic.blocks.gap(&self.x, &self.residual)
    }

    /// Minimises over each block in turn, the others fixed.
    fn sweep(&mut self) {
        let (blocks, width) = (self.quadratic.blocks, self.quadratic.width());
        for (h, range) in blocks.ranges().enumerate() {
            let r: Vec<f64> = range.clone().map(|k| blocks.pull(k, &self.residual, width)).collect();
            let rest: f64 = self.norms.iter().enumerate().map(|(k, n)| if k == h { 0.0 } else { *n }).sum();
            let shape = self.shapes[h].get_or_insert_with(|| self.quadratic.shape(h));
            let u = shape.minimise(&self.x[range.clone()], &r, rest);
            self.norms[h] = norm(&u);
            let change: Vec<f64> =
                range.clone().zip(&u).map(|(k, u)| blocks.scales[k] * (u - self.x[k])).collect();
            self.x[range.clone()].copy_from_slice(&u);
            self.quadratic.subtract(range, &change, &mut self.residual);
        }
    }

    /// A Newton step on the blocks that are not zero, with a line search.
    fn newton(&mut self) {
        let (blocks, width) = (self.quadratic.blocks, self.quadratic.width());
        let live: Vec<Live> = blocks.ranges().enumerate().filter(|(h, _)| self.norms[*h] > 0.0).collect();
        if live.is_empty() {
            return;
        }
        let total: f64 = self.norms.iter().sum();
        let mut gradient = vec![0.0; self.x.len()];
        for (h, range) in &live {
            for k in range.clone() {
                let pull = blocks.pull(k, &self.residual, width);
                gradient[k] = pull - total / self.norms[*h] * self.x[k];
            }
        }
        let direction = self.system(&live, total).solve(gradient, true);
        let moved = self.quadratic.apply(&blocks.gather(&direction, width));
        let step = self.line_search(&live, total, &direction, &moved);
        if step == 0.0 {
            return;
        }
        kernels::add_scaled(step, &direction, &mut self.x);
        kernels::add_scaled(-step, &moved, &mut self.residual);
        for (h, range) in live {
            self.norms[h] = norm(&self.x[range]);
        }
    }

    /// The Newton system on the live blocks: turning one costs the sum of all lengths over its own, lengthening them costs what the
    /// sum grows.
    fn system(&self, live: &[Live], total: f64) -> System<'_> {
        let mut units = vec![0.0; self.x.len()];
        for (h, range) in live {
            range.clone().for_each(|k| units[k] = self.x[k] / self.norms[*h]);
        }
        let block = |(h, range): &(usize, Range<usize>)| system::Live {
            range: range.clone(),
            across: total / self.norms[*h],
            along: 0.0,
        };
        let live = live.iter().map(block).collect();
        System { quadratic: &self.quadratic, live, units, share: 1.0 }
    }

    /// The longest of 1, 1/2, 1/4 ... that lowers the model enough; 0 if none does.
    fn line_search(&self, live: &[Live], total: f64, d: &[f64], moved: &[f64]) -> f64 {
        let (blocks, width) = (self.quadratic.blocks, self.quadratic.width());
        let (mut linear, mut square, mut slope) = (0.0, 0.0, 0.0);
        let mut parts = Vec::with_capacity(live.len());
        for (h, range) in live {
            let (mut xd, mut dd) = (0.0, 0.0);
            for k in range.clone() {
                linear -= blocks.pull(k, &self.residual, width) * d[k];
                square += blocks.pull(k, moved, width) * d[k];
                xd += self.x[k] * d[k];
                dd += d[k] * d[k];
            }
            slope += total * xd / self.norms[*h];
            parts.push((self.norms[*h] * self.norms[*h], xd, dd));
        }
        slope += linear;
        if slope >= 0.0 {
            return 0.0;
        }
        let mut step = 1.0;
        for _ in 0..30 {
            let norm: f64 =
                parts.iter().map(|(xx, xd, dd)| (xx + step * (2.0 * xd + step * dd)).max(0.0).sqrt()).sum();
            let change = step * (linear + 0.5 * step * square) + 0.5 * (norm * norm - total * total);
            if change <= 1e-4 * step * slope {
                return step;
            }
            step *= 0.5;
        }
        0.0
    }
}
