//! Products of input features.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::{Feature, FeatureKind, Negative, Scaled, from_one};
use crate::data::Column;

/// The most factors that a product may have.
pub const MOST_FACTORS: usize = 16;

/// The product of input features, by their ids in order; one that is there twice is squared. That of none is 1.
///
/// Those of fewer factors come first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Product(#[serde(with = "from_one::ids")] pub Vec<u64>);

const FORMULA: &str = "{\"product\": [j, k, ...]}: the product x_j * x_k * ...; an input listed twice is squared, and the empty \
list is 1.";

impl Ord for Product {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Product {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Feature {
    /// The product of the input features with these ids, which must be in order.
    pub fn product(ids: impl Into<Vec<u64>>) -> Self {
        Self::Product(Product(ids.into()))
    }

    /// The ids of the factors, if this is a product.
    pub fn as_product(&self) -> Option<&[u64]> {
        if let Self::Product(Product(ids)) = self { Some(ids) } else { None }
    }
}

impl FeatureKind for Product {
    fn formula(&self, _negative: Negative) -> &'static str {
        FORMULA
    }

    fn inputs(&self) -> &[u64] {
        &self.0
    }

    fn is_sound(&self) -> bool {
        self.0.len() <= MOST_FACTORS && self.0.is_sorted()
    }

    fn show(&self, name: &dyn Fn(u64) -> String) -> String {
        if self.0.is_empty() {
            return "1".into();
        }
        let factor = |same: &[u64]| match same.len() {
            1 => name(same[0]),
            power => format!("{}^{power}", name(same[0])),
        };
        let factors: Vec<String> = self.0.chunk_by(|a, b| a == b).map(factor).collect();
        // Where each is a level of a category, the product says that all of them are there.
        let levels = factors.len() > 1 && factors.iter().all(|factor| factor.contains(" = "));
        factors.join(if levels { " & " } else { "*" })
    }

    fn unscaled(&self, made: &dyn Fn(u64) -> Scaled) -> Result<Scaled, &'static str> {
        if let [one] = self.0[..] {
            return Ok(made(one));
        }
        let factors: Vec<Scaled> = self.0.iter().map(|&id| made(id)).collect();
        match factors.iter().all(|input| input.offset == 0.0) {
            true => Ok(Scaled { factor: factors.iter().map(|input| input.factor).product(), offset: 0.0 }),
            false => Err("a product of shifted columns is no product of the columns as they are"),
        }
    }

    fn column(&self, inputs: Vec<Column>, rows: usize) -> Column {
        let product = inputs.into_iter().reduce(|product, factor| product.times(&factor));
        product.unwrap_or_else(|| Column::Dense(vec![1.0; rows]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_factors_come_first() {
        let mut products = [&[0, 1, 2][..], &[5, 9], &[], &[5, 8], &[7]].map(|ids| Product(ids.to_vec()));
        products.sort();
        assert_eq!(products.map(|product| product.0), [&[][..], &[7], &[5, 8], &[5, 9], &[0, 1, 2]]);
    }

    #[test]
    fn factors_that_are_there_twice_are_shown_as_powers() {
        let shown = |ids: &[u64]| Feature::product(ids).show(|id| format!("x{id}"));
        assert_eq!(shown(&[]), "1");
        assert_eq!(shown(&[3]), "x3");
        assert_eq!(shown(&[1, 1, 1, 4, 6, 6]), "x1^3*x4*x6^2");
    }
}
