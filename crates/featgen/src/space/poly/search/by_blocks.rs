//! Pairs of features that are not 0 in most rows: blocks of features are multiplied as matrices are.

use std::ops::Range;

use super::{Pivots, Search};
use crate::data::COLUMNS;
use crate::error::Result;
use crate::parallel;
use crate::space::ask::length;
use crate::space::poly::Item;
use crate::space::poly::blocks::{Blocks, Pivot};
use crate::space::topb::Tops;
use crate::space::work::DENSE_SPEED;

/// Vectors that partners are multiplied with together: the pivots' values times the residuals of each output.
const VECTORS: usize = 32;

impl Search<'_> {
    /// Multiplies features with all of the part before them that may matter.
    pub(super) fn score_by_blocks(&self, blocks: &Blocks, pivots: &Pivots<'_>) -> Result<(Tops<Item>, u128)> {
        let width = (VECTORS / self.v.outputs.max(1)).max(1);
        let tile = |k: usize| self.score_tile(blocks, pivots, k * width..pivots.len().min((k + 1) * width));
        let merge = |(a, p): (Tops<Item>, u128), (b, q)| (a.merge(b), p + q);
        let tiles = pivots.len().div_ceil(width);
        let best = parallel::reduce(tiles, tile, merge)?;
        Ok(best.unwrap_or_else(|| (Tops::new(self.wanted), 0)))
    }

    /// Some features with those of the part before them, all at once.
    fn score_tile(
        &self,
        blocks: &Blocks,
        pivots: &Pivots<'_>,
        some: Range<usize>,
    ) -> Result<(Tops<Item>, u128)> {
        let (mut tops, mut pairs) = (Tops::new(self.wanted), 0);
        // The first pivot has the largest bound, and so the most partners; the last has the most before it.
        let partners = self.may_matter(pivots.bounds[some.start]).min(pivots.before[some.end - 1]);
        let features: Vec<Pivot> =
            pivots.columns[some.clone()].iter().map(|entries| Pivot::new(self.v, entries)).collect();
        let vectors = blocks.rounded(&features);
        for first in (0..partners).step_by(COLUMNS) {
            let last = partners.min(first + COLUMNS);
            let dots = blocks.dots(first..last, &vectors);
            let outputs = dots.chunks((last - first) * self.v.outputs);
            for ((pivot, feature), dots) in some.clone().zip(&features).zip(outputs) {
                let before = pivots.before[pivot].clamp(first, last) - first;
                pairs += before as u64;
                for column in 0..before {
                    let dots = dots[column..].iter().step_by(last - first);
                    self.look_again(pivots.names[pivot], feature, first + column, dots, &mut tops);
                }
            }
        }
        self.work.add(pairs * blocks.rows() as u64 / DENSE_SPEED)?;
        Ok((tops, u128::from(pairs)))
    }

    /// Offers a pair, of a feature and the one at that place of the part, if it may be among the best. What is known of its sums is how
    /// large they are, and how far off that may be.
    fn look_again<'d>(
        &self,
        name: u32,
        feature: &Pivot,
        place: usize,
        dots: impl Iterator<Item = &'d (f64, f64)> + Clone,
        tops: &mut Tops<Item>,
    ) {
        let coefficient = self.space.coefficient(Item::Product(0, 1));
        let most =
            coefficient * (1.0 + f64::EPSILON * 16.0) * length(dots.map(|(sum, error)| sum.abs() + error));
        // Where nothing is known, this is not a number.
        if most < self.floor || most < tops.threshold() {
            return;
        }
        let rank = self.part.start + place;
        let position = self.order[rank] as usize;
        let score = coefficient * self.space.inputs.columns().see(position, |partner| feature.sum(partner));
        if score >= self.floor {
            tops.offer(score, self.pair(name, rank), self.taken);
        }
    }
}
