//! Pairs of features that are not 0 in most rows: blocks of features are multiplied as matrices are.

use std::ops::Range;

use rayon::prelude::*;

use super::{Pivots, Search};
use crate::error::Result;
use crate::space::poly::Item;
use crate::space::poly::blocks::Blocks;
use crate::space::topb::Tops;
use crate::space::work::DENSE_SPEED;

/// Dense features that are multiplied with others together.
const PIVOTS: usize = 64;

impl Search<'_> {
    /// Multiplies features with all of the part before them that may matter. They are among `others` if not in the part.
    pub(super) fn score_by_blocks(
        &self,
        blocks: &Blocks,
        others: Option<&Blocks>,
        pivots: &Pivots<'_>,
    ) -> Result<(Tops<Item>, u128)> {
        let values = others.unwrap_or(blocks);
        let tile = |k: usize| {
            let some = k * PIVOTS..pivots.len().min((k + 1) * PIVOTS);
            self.score_tile(blocks, values, pivots, some)
        };
        let merge = |(a, p): (Tops<Item>, u128), (b, q)| Ok((a.merge(b), p + q));
        let tiles = pivots.len().div_ceil(PIVOTS);
        (0..tiles).into_par_iter().map(tile).try_reduce(|| (Tops::new(self.wanted), 0), merge)
    }

    /// Some features with those of the part before them, all at once.
    fn score_tile(
        &self,
        blocks: &Blocks,
        values: &Blocks,
        pivots: &Pivots<'_>,
        some: Range<usize>,
    ) -> Result<(Tops<Item>, u128)> {
        let mut tops = Tops::new(self.wanted);
        // The first pivot has the largest bound, and so the most partners; the last has the most before it.
        let partners = self.may_matter(pivots.bounds[some.start]).min(pivots.before[some.end - 1]);
        let (place, mut pairs) = (pivots.place.unwrap_or(0), 0);
        let (coefficient, floor) = (self.space.coefficient(Item::Product(0, 1)), self.floor);
        // By Cauchy and Schwarz the sizes of a pair's terms add up to at most twice its bound: one sign has half of them.
        let error = 2.0 * blocks.error();
        let places = place + some.start..place + some.end;
        blocks.products((values, places), &pivots.before[some], partners, |pivot, partner, about| {
            pairs += 1;
            let (k, rank) = (pivot - place, self.part.start + partner);
            let most = coefficient * (about + error * pivots.bounds[k] * self.bounds[rank]);
            if most >= floor && most >= tops.threshold() {
                let score = coefficient * blocks.sum(values, pivot, partner);
                if score >= floor {
                    tops.offer(score, self.pair(pivots.names[k], rank), self.taken);
                }
            }
        });
        self.work.add(pairs * blocks.rows() as u64 / DENSE_SPEED)?;
        Ok((tops, u128::from(pairs)))
    }
}
