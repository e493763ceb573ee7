//! A set of a few ids that very many are looked up in, most of them in vain.

/// Bits that tell most strangers at once; as many as stay in the nearest cache.
const BITS: usize = 1 << 16;

/// Ids in order, behind a table that has a bit set for each of them.
pub(super) struct IdSet {
    ids: Vec<u64>,
    bits: Vec<u64>,
}

impl IdSet {
    pub(super) fn new(mut ids: Vec<u64>) -> Self {
        ids.sort_unstable();
        ids.dedup();
        let mut bits = vec![0; BITS / 64];
        for bit in ids.iter().copied().map(bit) {
            bits[bit / 64] |= 1 << (bit % 64);
        }
        Self { ids, bits }
    }

    /// The ids, in order.
    pub(super) fn ids(&self) -> &[u64] {
        &self.ids
    }

    /// Where an id is among them.
    #[inline(always)]
    pub(super) fn number(&self, id: u64) -> Option<u64> {
        let bit = bit(id);
        if self.bits[bit / 64] >> (bit % 64) & 1 == 0 {
            return None;
        }
        self.ids.binary_search(&id).ok().map(|number| number as u64)
    }
}

/// The bit of an id: another one for each of as many neighbours as there are bits.
#[inline(always)]
fn bit(id: u64) -> usize {
    (id ^ (id >> 16) ^ (id >> 32) ^ (id >> 48)) as usize % BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_was_put_in_and_nothing_else() {
        let ids: Vec<u64> =
            (0..100).map(|k: u64| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (k % 50)).collect();
        let set = IdSet::new(ids.clone());
        assert!(ids.iter().all(|&id| set.number(id).is_some_and(|number| set.ids()[number as usize] == id)));
        let others = ids.iter().flat_map(|&id| [id ^ 1, id ^ (1 << 16), id ^ 0x1_0001, id ^ (1 << 63)]);
        assert!(others.filter(|id| !ids.contains(id)).all(|id| set.number(id).is_none()));
        assert_eq!(IdSet::new(Vec::new()).number(0), None);
    }
}
