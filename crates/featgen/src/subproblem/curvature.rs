//! `H = X' D X` over the cached columns, in the form that suits them: a matrix; where columns are tables of levels, what their codes
//! say; or, where columns are too many for a matrix, the columns as they are cached.

use std::borrow::Cow;
use std::ops::Range;

use super::cache::Cache;
use super::gram::Gram;
use super::implicit::Implicit;
use super::row_view::RowView;

/// The curvature of the loss.
pub(super) enum Curvature {
    /// Every entry is known.
    Matrix(Gram),
    /// Only products with it are: of tables.
    Implicit(Implicit),
    /// Only products with it are: of the cached columns, whose matrix would be too large.
    Wide(Wide),
}

/// Tables up to this number of columns are written down.
const WIDEST_TABLES: usize = 64;

impl Default for Curvature {
    fn default() -> Self {
        Self::Matrix(Gram::default())
    }
}

impl Curvature {
    /// Brings it up to the columns of `cache` and the weights `h`. Where a rough one will do, `rough` holds the costs of instances. It is
    /// a matrix only where columns are not more than `widest`.
    pub(super) fn update(&mut self, cache: &Cache, h: &[f64], widest: usize, rough: Option<&[f64]>) {
        match cache.operators().filter(|_| cache.has_tables() && cache.len() > WIDEST_TABLES) {
            Some(operators) => self.implicit_mut().update(operators, h),
            None if cache.len() > widest || is_low(cache) => self.wide_mut().update(cache, h),
            None => self.matrix_mut().update(cache, h, rough),
        }
    }

    /// Forgets the columns that the cache has no more.
    pub(super) fn forget(&mut self, cache: &Cache) {
        match self {
            Self::Matrix(gram) if gram.sums().len() > cache.len() => gram.resize(cache),
            Self::Matrix(_) => {}
            // They can be made anew.
            Self::Implicit(_) | Self::Wide(_) => *self = Self::default(),
        }
    }

    /// What cannot be made again from the columns and weights alone.
    pub(super) fn kept(&self) -> Vec<Cow<'_, [f64]>> {
        self.matrix().map_or_else(Vec::new, Gram::kept)
    }

    /// From what was [`kept`](Self::kept); `None` if that cannot be.
    pub(super) fn resume(kept: Vec<Vec<f64>>, cache: &Cache) -> Option<Self> {
        if kept.is_empty() { Some(Self::default()) } else { Gram::resume(kept, cache).map(Self::Matrix) }
    }

    fn matrix_mut(&mut self) -> &mut Gram {
        if self.matrix().is_none() {
            *self = Self::default();
        }
        match self {
            Self::Matrix(gram) => gram,
            Self::Implicit(_) | Self::Wide(_) => unreachable!("it was just replaced"),
        }
    }

    fn implicit_mut(&mut self) -> &mut Implicit {
        if !matches!(self, Self::Implicit(_)) {
            *self = Self::Implicit(Implicit::default());
        }
        match self {
            Self::Implicit(implicit) => implicit,
            Self::Matrix(_) | Self::Wide(_) => unreachable!("it was just replaced"),
        }
    }

    fn wide_mut(&mut self) -> &mut Wide {
        if !matches!(self, Self::Wide(_)) {
            *self = Self::Wide(Wide::default());
        }
        match self {
            Self::Wide(wide) => wide,
            Self::Matrix(_) | Self::Implicit(_) => unreachable!("it was just replaced"),
        }
    }

    /// The matrix, if it is known.
    pub(super) fn matrix(&self) -> Option<&Gram> {
        match self {
            Self::Matrix(gram) => Some(gram),
            Self::Implicit(_) | Self::Wide(_) => None,
        }
    }

    /// The weights of rows where these are far fewer than columns.
    pub(super) fn few_rows(&self, cache: &Cache) -> Option<&[f64]> {
        match self {
            Self::Wide(wide) if is_low(cache) => Some(&wide.weights),
            Self::Matrix(_) | Self::Implicit(_) | Self::Wide(_) => None,
        }
    }

    /// Number of cached columns.
    pub(super) fn width(&self) -> usize {
        self.sums().len()
    }

    /// The weights that it belongs to.
    pub(super) fn weights(&self) -> &[f64] {
        match self {
            Self::Matrix(gram) => gram.weights(),
            Self::Implicit(implicit) => &implicit.weights,
            Self::Wide(wide) => &wide.weights,
        }
    }

    /// `X' h` for those weights.
    pub(super) fn sums(&self) -> &[f64] {
        match self {
            Self::Matrix(gram) => gram.sums(),
            Self::Implicit(implicit) => &implicit.sums,
            Self::Wide(wide) => &wide.sums,
        }
    }

    /// `H w`, for the columns of `cache` that it was last brought up to.
    pub(super) fn apply(&self, cache: &Cache, w: &[f64]) -> Vec<f64> {
        match self {
            Self::Matrix(gram) => gram.apply(w),
            Self::Implicit(implicit) => implicit.apply(w),
            Self::Wide(wide) => wide.apply(cache, w),
        }
    }

    /// Where columns are nested whose products with each other are not known.
    pub(super) fn nested(&self) -> &[Range<usize>] {
        match self {
            Self::Implicit(implicit) => &implicit.nested,
            Self::Matrix(_) | Self::Wide(_) => &[],
        }
    }

    /// The entry of a column with itself.
    pub(super) fn diagonal(&self, j: usize) -> f64 {
        match self {
            Self::Matrix(gram) => gram.column(j)[j],
            Self::Implicit(implicit) => implicit.diagonal[j],
            Self::Wide(wide) => wide.diagonal[j],
        }
    }
}

/// Whether there are far fewer rows than columns: products with the columns then cost far less than with their matrix, and conjugate
/// gradients need few, for no matrix of so many rows has more different curvatures.
fn is_low(cache: &Cache) -> bool {
    let (rows, columns) = (cache.rows(), cache.len());
    rows <= MOST_ROWS && columns > LEAST_COLUMNS.max(EACH_ROW * rows)
}

/// Columns of which a matrix costs next to nothing. With it, an instance that counts twice and one that is there twice make the same steps.
const LEAST_COLUMNS: usize = 256;

/// Columns for each row, from which on rows are few.
const EACH_ROW: usize = 2;

/// But with more rows than that, what is made of them to compare sets of columns would take longer than a matrix of columns.
const MOST_ROWS: usize = 1 << 11;

/// What products with the cached columns do not say of themselves.
#[derive(Default)]
pub(super) struct Wide {
    weights: Vec<f64>,
    sums: Vec<f64>,
    diagonal: Vec<f64>,
    /// The columns by rows, if they are sparse: then a product is one pass over the rows that have weights.
    by_rows: RowView,
}

impl Wide {
    fn update(&mut self, cache: &Cache, h: &[f64]) {
        if self.sums.len() != cache.len() {
            self.by_rows = cache.sparse().map_or_else(RowView::default, |x| RowView::new(x, cache.rows()));
        }
        (self.sums, self.diagonal) = (cache.transpose(h), cache.square_sums(h));
        self.weights = h.to_vec();
    }

    fn apply(&self, cache: &Cache, w: &[f64]) -> Vec<f64> {
        if !self.by_rows.is_empty() {
            return self.by_rows.weigh(&self.weights, w);
        }
        let mut f = cache.apply(w);
        f.iter_mut().zip(&self.weights).for_each(|(f, h)| *f *= h);
        cache.transpose(&f)
    }
}
