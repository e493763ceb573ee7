//! Whole numbers of few bits, as Parquet packs them: runs of a number that is repeated, and of eight or more that are not.

use parquet::data_type::ByteArray;

/// Numbers that are read one after the other.
pub(super) struct Runs {
    bytes: ByteArray,
    /// Bits of a number.
    width: u8,
    /// The byte after the run.
    next: usize,
    /// Numbers of the run that are still to be read.
    left: usize,
    run: Run,
}

#[derive(Clone, Copy)]
enum Run {
    /// All are this one.
    Same(u32),
    /// The next one begins at this bit.
    Packed(usize),
}

impl Runs {
    /// The numbers that are in such bytes; `None` if they have too many bits.
    pub(super) fn new(bytes: ByteArray, width: u8) -> Option<Self> {
        (width <= 32).then_some(Self { bytes, width, next: 0, left: 0, run: Run::Same(0) })
    }

    /// Adds the next `count` numbers; `None` if there are not as many.
    pub(super) fn read(&mut self, mut count: usize, to: &mut Vec<u32>) -> Option<()> {
        while count > 0 {
            if self.left == 0 {
                self.begin_run()?;
            }
            let some = count.min(self.left);
            match &mut self.run {
                Run::Same(number) => to.resize(to.len() + some, *number),
                Run::Packed(at) => {
                    unpack(self.bytes.data(), usize::from(self.width), *at, some, to)?;
                    *at += some * usize::from(self.width);
                }
            }
            self.left -= some;
            count -= some;
        }
        Some(())
    }

    fn begin_run(&mut self) -> Option<()> {
        let bytes = self.bytes.data();
        let mut head = 0;
        for at in 0.. {
            // Five bytes of seven bits each hold 32.
            let byte = bytes.get(self.next).filter(|_| at < 5)?;
            self.next += 1;
            head |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                break;
            }
        }
        let count = usize::try_from(head >> 1).ok()?;
        let width = usize::from(self.width);
        if head & 1 == 1 {
            (self.left, self.run) = (count.saturating_mul(8), Run::Packed(8 * self.next));
            // What the last run lacks at its end may never be asked for.
            self.next = self.next.saturating_add(count.saturating_mul(width)).min(bytes.len());
        } else {
            let number = bytes.get(self.next..self.next + width.div_ceil(8))?;
            let number = number.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte));
            // Bits beyond those of a number say nothing.
            let number = number & ((1_u64 << width) - 1) as u32;
            (self.left, self.run) = (count, Run::Same(number));
            self.next += width.div_ceil(8);
        }
        Some(())
    }
}

/// Adds `count` numbers of `width` bits from bit `at` on.
fn unpack(bytes: &[u8], width: usize, at: usize, count: usize, to: &mut Vec<u32>) -> Option<()> {
    if at + count * width > 8 * bytes.len() {
        return None;
    }
    let mask = (1 << width) - 1;
    to.extend((0..count).map(|k| {
        let bit = at + k * width;
        let eight = match bytes.get(bit / 8..).and_then(|bytes| bytes.first_chunk()) {
            Some(eight) => u64::from_le_bytes(*eight),
            // Near the end there are fewer.
            None => bytes[(bit / 8).min(bytes.len())..]
                .iter()
                .rev()
                .fold(0, |all, &byte| all << 8 | u64::from(byte)),
        };
        (eight >> (bit % 8) & mask) as u32
    }));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve fives of three bits, the numbers from 0 to 7 (the first in the lowest bits), and again.
    #[test]
    fn both_kinds_of_runs_are_read() {
        let run = [12 << 1, 5, 0x03, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        let bytes = ByteArray::from(run.repeat(2));
        let expected = [vec![5; 12], (0..8).collect()].concat().repeat(2);
        for step in [1, 3, 7, 8, 40] {
            let mut runs = Runs::new(bytes.clone(), 3).unwrap();
            let mut numbers = Vec::new();
            while numbers.len() < expected.len() {
                runs.read(step.min(expected.len() - numbers.len()), &mut numbers).unwrap();
            }
            assert_eq!(numbers, expected);
            assert_eq!(runs.read(1, &mut numbers), None);
        }
    }

    #[test]
    fn bits_beyond_a_number_say_nothing() {
        let mut numbers = Vec::new();
        Runs::new(ByteArray::from(vec![2 << 1, 0xff]), 1).unwrap().read(2, &mut numbers).unwrap();
        assert_eq!(numbers, [1, 1]);
    }

    #[test]
    fn numbers_may_have_no_bits_or_many() {
        let mut numbers = Vec::new();
        Runs::new(ByteArray::from(vec![0x03]), 0).unwrap().read(8, &mut numbers).unwrap();
        let wide = [vec![0x03], (0..32).collect()].concat();
        Runs::new(ByteArray::from(wide), 32).unwrap().read(8, &mut numbers).unwrap();
        assert_eq!((&numbers[..8], numbers[8], numbers[15]), (&[0; 8][..], 0x0302_0100, 0x1f1e_1d1c));
        assert!(Runs::new(ByteArray::from(vec![0x03]), 33).is_none());
    }

    /// Runs that claim more than there is, that have no end, and that are cut off.
    #[test]
    fn damaged_runs_are_refused() {
        for bytes in [&[][..], &[0xff; 9], &[0xff, 0xff, 0xff, 0xff, 0x0f], &[0x02], &[0x00, 0x00, 0x00]] {
            let mut runs = Runs::new(ByteArray::from(bytes.to_vec()), 9).unwrap();
            assert_eq!(runs.read(3, &mut Vec::new()), None, "{bytes:?}");
        }
    }
}
