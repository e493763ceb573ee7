//! Vectors of several outputs, laid out so that one look at a row serves several of them.

use std::sync::OnceLock;

use super::genotypes::Fixed;
use super::rough::Rounded;

/// Outputs whose numbers lie side by side: what a vector instruction takes, and half of what a cache brings at once.
pub(crate) const TOGETHER: usize = 4;

/// What the vectors of some outputs hold in one row.
pub(crate) type Tile = [f64; TOGETHER];

/// A vector for each output, one after the other, with which columns are multiplied.
///
/// The rows of a sparse column are all over a vector, and looking them up is what takes time. Storages of such columns have
/// tiles made of the vectors, once for all columns.
pub struct Outputs<'a> {
    v: &'a [f64],
    rows: usize,
    tiles: OnceLock<Vec<Tile>>,
    fixed: OnceLock<Vec<Fixed>>,
    rounded: OnceLock<Vec<Rounded>>,
    rounded_codes: OnceLock<Vec<Rounded>>,
}

impl<'a> Outputs<'a> {
    /// Of vectors of so many rows.
    pub fn new(v: &'a [f64], rows: usize) -> Self {
        let (tiles, fixed) = (OnceLock::new(), OnceLock::new());
        Self { v, rows, tiles, fixed, rounded: OnceLock::new(), rounded_codes: OnceLock::new() }
    }

    /// The vectors, one after the other.
    pub fn by_output(&self) -> &'a [f64] {
        self.v
    }

    /// The same row by row for [`TOGETHER`] outputs after the other; where there are fewer in the end, they are followed by 0.
    pub(super) fn tiles(&self) -> impl Iterator<Item = &[Tile]> {
        let rows = self.rows.max(1);
        let lay = || {
            let mut tiles = vec![Tile::default(); self.v.len().div_ceil(TOGETHER * rows) * rows];
            for (part, tiles) in self.v.chunks(TOGETHER * rows).zip(tiles.chunks_exact_mut(rows)) {
                for (k, v) in part.chunks_exact(rows).enumerate() {
                    tiles.iter_mut().zip(v).for_each(|(tile, v)| tile[k] = *v);
                }
            }
            tiles
        };
        self.tiles.get_or_init(lay).chunks_exact(rows)
    }

    /// The vectors as whole numbers, as the storage that sums up with those makes them.
    pub(super) fn fixed(&self, lay: impl FnOnce(&[f64]) -> Vec<Fixed>) -> &[Fixed] {
        self.fixed.get_or_init(|| lay(self.v))
    }

    /// The vectors rounded, each as `lay` makes it, for values in bytes.
    pub(super) fn rounded(&self, lay: impl Fn(&[f64]) -> Rounded) -> &[Rounded] {
        self.rounded.get_or_init(|| self.v.chunks_exact(self.rows.max(1)).map(lay).collect())
    }

    /// The same for values in codes of fewer bits, which lie in another order.
    pub(super) fn rounded_codes(&self, lay: impl Fn(&[f64]) -> Rounded) -> &[Rounded] {
        self.rounded_codes.get_or_init(|| self.v.chunks_exact(self.rows.max(1)).map(lay).collect())
    }

    /// Bytes of all tiles.
    pub(crate) fn bytes(rows: usize, outputs: usize) -> u64 {
        let tiles = if outputs > 1 { outputs.div_ceil(TOGETHER) } else { 0 };
        (rows as u64).saturating_mul((tiles * size_of::<Tile>()) as u64)
    }
}
