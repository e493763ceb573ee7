//! Levels of a feature's values: equal steps of `|x|^power` from 0 up to a top.

/// Which level a value has. Only 0 itself has level 0, so that sparse data stay sparse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bins {
    /// Levels per unit of `|x|^power`.
    density: f64,
    power: f64,
    count: usize,
    /// The same as a number.
    most: f64,
}

/// Added to a small number it leaves room for the whole part alone: the sum's last bits are the nearest whole number.
const WHOLE: f64 = (1u64 << 52) as f64;

impl Bins {
    /// `count` levels up to `top`, which is a value of `|x|^power`.
    pub fn new(top: f64, power: f64, count: u32) -> Self {
        let density = if top > 0.0 { f64::from(count) / top } else { 0.0 };
        Self { density, power, count: count as usize, most: count.into() }
    }

    /// Number of levels above 0.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The level of a value: the nearest (the even one of two), but at least 1 and at most the top.
    #[inline]
    pub fn index(&self, x: f64) -> usize {
        let size = if self.power == 1.0 { x.abs() } else { x.abs().powf(self.power) };
        let bits = ((size * self.density).min(self.most) + WHOLE).to_bits();
        // Without a branch, for this is done for every value in every round.
        (bits as u32 as usize).max(usize::from(x != 0.0))
    }
}
