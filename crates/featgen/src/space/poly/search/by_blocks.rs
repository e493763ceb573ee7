//! Pairs of features that are not 0 in most rows: blocks of features are multiplied as matrices are.

use std::ops::Range;

use rayon::prelude::*;

use super::Search;
use crate::error::Result;
use crate::space::poly::Item;
use crate::space::poly::blocks::Blocks;
use crate::space::topb::Tops;
use crate::space::work::DENSE_SPEED;

/// Dense features that are multiplied with others together.
const PIVOTS: usize = 64;

impl Search<'_> {
    /// Multiplies the features of some ranks with all of the part before them that may matter.
    pub(super) fn score_by_blocks(&self, blocks: &Blocks, ranks: Range<usize>) -> Result<(Tops<Item>, u128)> {
        let wanted = self.tops.wanted();
        let tiles = ranks.len().div_ceil(PIVOTS);
        // Features that do not belong to the part stand after it.
        let place = (ranks.start - self.part.start).min(self.part.len());
        let tile = |k: usize| {
            let pivots = k * PIVOTS..ranks.len().min((k + 1) * PIVOTS);
            self.score_tile(blocks, ranks.start + pivots.start, place + pivots.start..place + pivots.end)
        };
        let merge = |(a, p): (Tops<Item>, u128), (b, q)| Ok((a.merge(b), p + q));
        (0..tiles).into_par_iter().map(tile).try_reduce(|| (Tops::new(wanted), 0), merge)
    }

    /// Some features with those of smaller rank, all at once: their ranks begin with `first`, `pivots` are their places.
    fn score_tile(&self, blocks: &Blocks, first: usize, pivots: Range<usize>) -> Result<(Tops<Item>, u128)> {
        let mut tops = Tops::new(self.tops.wanted());
        // The first pivot has the largest bound, and so the most partners.
        let partners = self.partners_of(self.bounds[first], first + pivots.len());
        let start = pivots.start;
        let mut pairs = 0;
        let (coefficient, floor) = (self.space.coefficient(Item::Product(0, 1)), self.tops.threshold());
        // By Cauchy and Schwarz the sizes of a pair's terms add up to at most twice its bound: one sign has half of them.
        let error = 2.0 * blocks.error();
        blocks.products(pivots, partners, |pivot, partner, about| {
            pairs += 1;
            let (a, b) = (first + pivot - start, self.part.start + partner);
            let most = coefficient * (about + error * self.bounds[a] * self.bounds[b]);
            if most >= floor && most >= tops.threshold() {
                let score = coefficient * blocks.sum(pivot, partner);
                if score >= floor {
                    tops.offer(score, self.pair(a, b), self.taken);
                }
            }
        });
        self.work.add(pairs * blocks.rows() as u64 / DENSE_SPEED)?;
        Ok((tops, u128::from(pairs)))
    }
}
