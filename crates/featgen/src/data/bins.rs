//! Levels of a feature's values: equal steps of `|x|^power` from 0 up to a top.

/// Which level a value has. Only 0 itself has level 0, so that sparse data stay sparse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bins {
    /// Levels per unit of `|x|^power`.
    density: f64,
    power: f64,
    count: usize,
}

impl Bins {
    /// `count` levels up to `top`, which is a value of `|x|^power`.
    pub fn new(top: f64, power: f64, count: u32) -> Self {
        let density = if top > 0.0 { f64::from(count) / top } else { 0.0 };
        Self { density, power, count: count as usize }
    }

    /// Number of levels above 0.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The level of a value: the nearest, but at least 1 and at most the top.
    #[inline]
    pub fn index(&self, x: f64) -> usize {
        let size = if self.power == 1.0 { x.abs() } else { x.abs().powf(self.power) };
        // A cast saturates: what is too large, or not a number, ends at a border.
        let level = (size * self.density + 0.5) as usize;
        if x == 0.0 { 0 } else { level.clamp(1, self.count) }
    }
}
