//! Sums over genotypes in whole numbers.
//!
//! A vector is rounded to whole multiples of 2^-62 of a power of two above its largest number, and each multiple is written
//! with eight digits, from -128 to 127, to the base of 256. One instruction then multiplies 32 genotypes with the digits of
//! 32 people and adds pairs of products: nothing is turned into floating-point numbers, and nothing is rounded. The sums are
//! the same in whichever order they are made, and nearer to the truth than those of floating-point numbers.

use multiversion::multiversion;
use multiversion::target::match_target;

/// Digits of a number.
const DIGITS: usize = 8;

/// Bits of the largest number: with its sign, and with what the digits below carry over, the last digit is one still.
const BITS: i32 = 62;

/// Bytes of genotypes that are looked at together, and people in a byte.
pub(super) const WIDTH: usize = 32;
pub(super) const PEOPLE: usize = 4;

/// Chunks whose digits stay in a near cache while several columns go by. Sums of a digit over so many people fit into 16 bits:
/// each of 4 lanes of 32 people, with genotypes up to 2 and digits down to -128, adds 2 * 2 * -128 to the sum of a pair.
pub(super) const BLOCK: usize = 16;

/// The digits of 128 people: of the first, second, third and fourth of every byte, digit after digit.
type Chunk = [[[i8; WIDTH]; DIGITS]; PEOPLE];

/// What each of the four codes of a genotype counts.
pub(super) type Counts = [u8; 4];

/// Sums of digits.
pub(super) type Sums = [i64; DIGITS];

/// A vector of one number for every person of a file, as whole multiples of a unit.
pub(crate) struct Fixed {
    chunks: Vec<Chunk>,
    /// The multiples themselves.
    numbers: Vec<i64>,
    /// What a multiple of 1 is worth, in two factors, for it may be less than any number; not a number if one of the vector is
    /// not.
    unit: [f64; 2],
}

impl Fixed {
    /// Of a file of so many people, of whom `place` says which the numbers of `v` belong to; 0 for all others.
    pub(super) fn new(v: &[f64], people: usize, place: impl Fn(usize) -> usize) -> Self {
        let chunks = people.div_ceil(PEOPLE * WIDTH);
        let mut fixed = Self {
            chunks: vec![[[[0; WIDTH]; DIGITS]; PEOPLE]; chunks],
            numbers: vec![0; chunks * PEOPLE * WIDTH],
            unit: [f64::NAN; 2],
        };
        if !v.iter().all(|x| x.is_finite()) {
            return fixed;
        }
        let up = BITS - exponent(v.iter().fold(0.0, |most: f64, x| most.max(x.abs())));
        let factors = [up / 2, up - up / 2].map(power);
        fixed.unit = factors.map(f64::recip);
        for (i, &x) in v.iter().enumerate() {
            fixed.put(place(i), (x * factors[0] * factors[1]).round_ties_even() as i64);
        }
        fixed
    }

    fn put(&mut self, person: usize, number: i64) {
        self.numbers[person] = number;
        let digits = &mut self.chunks[person / (PEOPLE * WIDTH)][person % PEOPLE];
        let (lane, mut left) = (person / PEOPLE % WIDTH, number);
        for digit in digits {
            digit[lane] = left as i8;
            left = (left - i64::from(left as i8)) >> 8;
        }
    }

    /// Blocks of people, and how many bytes of genotypes come before each.
    pub(super) fn blocks(people: usize) -> impl Iterator<Item = usize> {
        (0..people.div_ceil(PEOPLE)).step_by(BLOCK * WIDTH)
    }

    /// Adds the sums over the people of a block, which begins after so many bytes of a column, of what their genotypes count.
    pub(super) fn add_block(&self, column: &[u8], begin: usize, counts: Counts, sums: &mut Sums) {
        let first = begin / WIDTH;
        let chunks = &self.chunks[first..self.chunks.len().min(first + BLOCK)];
        let bytes = &column[begin..column.len().min(begin + BLOCK * WIDTH)];
        let (whole, rest) = bytes.as_chunks::<WIDTH>();
        let mut digits = block_sums(whole, &chunks[..whole.len()], counts);
        if !rest.is_empty() {
            // People who are not there have numbers of 0: whatever stands in the bytes, it adds nothing.
            let mut last = [0; WIDTH];
            last[..rest.len()].copy_from_slice(rest);
            let more = block_sums(&[last], &chunks[whole.len()..], counts);
            digits.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        sums.iter_mut().zip(digits).for_each(|(sum, digit)| *sum += i64::from(digit));
    }

    /// The sum over the people who have the code of a missing genotype in the bytes of a column, where these are few.
    pub(super) fn sum_missing(&self, column: &[u8]) -> i128 {
        let (whole, rest) = column.as_chunks::<WIDTH>();
        let (numbers, _) = self.numbers.as_chunks::<{ PEOPLE * WIDTH }>();
        let mut last = [0; WIDTH];
        last[..rest.len()].copy_from_slice(rest);
        let after = numbers.get(whole.len()..).unwrap_or_default();
        few_missing(whole, numbers) + few_missing(&[last], after)
    }

    /// What sums of digits stand for.
    pub(super) fn total(sums: &Sums) -> i128 {
        sums.iter().rev().fold(0, |total, &digit| (total << 8) + i128::from(digit))
    }

    /// What a sum of multiples is worth.
    pub(super) fn worth(&self, total: i128) -> f64 {
        total as f64 * self.unit[0] * self.unit[1]
    }

    /// Bytes that a vector of so many people takes.
    pub(super) fn bytes(people: usize) -> u64 {
        let chunks = people.div_ceil(PEOPLE * WIDTH);
        (chunks * (size_of::<Chunk>() + PEOPLE * WIDTH * size_of::<i64>())) as u64
    }
}

/// The first bit of every genotype that is missing: its code is 1.
pub(super) fn missing(word: u64) -> u64 {
    word & !(word >> 1) & 0x5555_5555_5555_5555
}

/// The sum of the numbers of those who are missing: where none of many people is, they are passed over together.
#[multiversion(targets("x86_64+avx2"))]
fn few_missing(bytes: &[[u8; WIDTH]], numbers: &[[i64; PEOPLE * WIDTH]]) -> i128 {
    let mut sum = 0;
    for (bytes, numbers) in bytes.iter().zip(numbers) {
        let words: [[u8; 8]; WIDTH / 8] = bytemuck::cast(*bytes);
        let words = words.map(|word| missing(u64::from_le_bytes(word)));
        if words.iter().fold(0, |any, word| any | word) == 0 {
            continue;
        }
        for (mut missing, numbers) in words.into_iter().zip(numbers.chunks_exact(8 * PEOPLE)) {
            while missing != 0 {
                sum += i128::from(numbers[missing.trailing_zeros() as usize / 2]);
                missing &= missing - 1;
            }
        }
    }
    sum
}

/// The smallest power of two that is above a number, of at least the smallest that such numbers can be.
fn exponent(largest: f64) -> i32 {
    const BIAS: i32 = 1022;
    ((largest.to_bits() >> 52) as i32 - BIAS).max(1 - BIAS)
}

/// Two to a power that a number can be.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + i64::from(exponent)) as u64) << 52)
}

/// The sum over all people of what their genotypes count times each of their digits.
#[multiversion(targets("x86_64+avx2"))]
fn block_sums(bytes: &[[u8; WIDTH]], chunks: &[Chunk], counts: Counts) -> [i32; DIGITS] {
    match_target! {
        "x86_64+avx2" => by_vectors(bytes, chunks, counts),
        _ => one_by_one(bytes, chunks, counts),
    }
}

/// The same for any machine.
fn one_by_one(bytes: &[[u8; WIDTH]], chunks: &[Chunk], counts: Counts) -> [i32; DIGITS] {
    let mut sums = [0; DIGITS];
    for (bytes, chunk) in bytes.iter().zip(chunks) {
        for (k, digits) in chunk.iter().enumerate() {
            let count = bytes.map(|byte| i16::from(counts[usize::from(byte >> (2 * k)) & 3]));
            for (sum, digit) in sums.iter_mut().zip(digits) {
                let products = count.iter().zip(digit).map(|(count, digit)| count * i16::from(*digit));
                *sum += i32::from(products.sum::<i16>());
            }
        }
    }
    sums
}

/// The same with vectors of 32 bytes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn by_vectors(bytes: &[[u8; WIDTH]], chunks: &[Chunk], counts: Counts) -> [i32; DIGITS] {
    use std::arch::x86_64::*;
    let [a, b, c, d] = counts;
    let mut table = [0; WIDTH];
    table.chunks_exact_mut(16).for_each(|half| half[..4].copy_from_slice(&[a, b, c, d]));
    let (table, mask): (__m256i, _) = (bytemuck::cast(table), _mm256_set1_epi8(3));
    let mut sums = [_mm256_setzero_si256(); DIGITS];
    for (bytes, chunk) in bytes.iter().zip(chunks) {
        let bytes: __m256i = bytemuck::cast(*bytes);
        let codes = [
            bytes,
            _mm256_srli_epi16::<2>(bytes),
            _mm256_srli_epi16::<4>(bytes),
            _mm256_srli_epi16::<6>(bytes),
        ];
        for (codes, digits) in codes.into_iter().zip(chunk) {
            let count = _mm256_shuffle_epi8(table, _mm256_and_si256(codes, mask));
            for (sum, digit) in sums.iter_mut().zip(digits) {
                let products = _mm256_maddubs_epi16(count, bytemuck::cast(*digit));
                *sum = _mm256_add_epi16(*sum, products);
            }
        }
    }
    let wide = sums.map(|sum| _mm256_madd_epi16(sum, _mm256_set1_epi16(1)));
    wide.map(|sum| bytemuck::cast::<_, [i32; 8]>(sum).iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: u64) -> impl Iterator<Item = u64> {
        let mut x = seed;
        (0..count).map(move |_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x
        })
    }

    /// The extremes fit: all genotypes count 2, all digits are the smallest, or the largest.
    #[test]
    fn nothing_overflows() {
        let people = BLOCK * WIDTH * PEOPLE;
        for (x, sign) in [(-0.5, -1), (0.5, 1)] {
            let mut fixed = Fixed::new(&vec![x; people], people, |i| i);
            for digit in fixed.chunks.iter_mut().flatten().flatten().flatten() {
                *digit = if sign < 0 { -128 } else { 127 };
            }
            let (column, mut sums) = (vec![0; people / PEOPLE], [0; DIGITS]);
            fixed.add_block(&column, 0, [2, 0, 1, 0], &mut sums);
            let digit = if sign < 0 { -128 } else { 127 };
            assert_eq!(sums, [2 * digit * people as i64; DIGITS]);
        }
    }

    /// Vectors and loops agree, to the last digit, with the numbers themselves.
    #[test]
    fn sums_are_exact() {
        for people in [1, 5, 127, 128, 129, 3000] {
            let v: Vec<f64> = numbers(people, 7).map(|x| (x as i64 as f64) * 2f64.powi(-70)).collect();
            let fixed = Fixed::new(&v, people, |i| i);
            let column: Vec<u8> = numbers(people.div_ceil(PEOPLE), 9).map(|x| x as u8).collect();
            let code = |i: usize| usize::from(column[i / PEOPLE] >> (2 * (i % PEOPLE))) & 3;
            for counts in [[2, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 2]] {
                let mut sums = [0; DIGITS];
                Fixed::blocks(people).for_each(|begin| fixed.add_block(&column, begin, counts, &mut sums));
                let number = |i: usize| i128::from(fixed.numbers[i]) * i128::from(counts[code(i)]);
                assert_eq!(Fixed::total(&sums), (0..people).map(number).sum::<i128>());
                let (chunks, mut bytes) = (&fixed.chunks[..1], [0; WIDTH]);
                let some = column.len().min(WIDTH);
                bytes[..some].copy_from_slice(&column[..some]);
                let found = block_sums(&[bytes], chunks, counts);
                assert_eq!(found, one_by_one(&[bytes], chunks, counts));
            }
            let missing = (0..people).filter(|&i| code(i) == 1).map(|i| i128::from(fixed.numbers[i]));
            assert_eq!(fixed.sum_missing(&column), missing.sum::<i128>());
        }
    }

    /// Numbers are told apart down to a part of 2^-62 of the largest, of whatever size that is.
    #[test]
    fn numbers_keep_their_bits() {
        for largest in [1.0, 1.9999, 2.0, 1e-320, 5e-324, 1e300, f64::MAX, 0.0] {
            let v = [largest, -largest, largest / 3.0, -largest * 1e-9, 0.0];
            let fixed = Fixed::new(&v, v.len(), |i| i);
            for (x, &number) in v.iter().zip(&fixed.numbers) {
                let error = (fixed.worth(number.into()) - x).abs();
                assert!(error <= largest * 2f64.powi(-62) + x.abs() * f64::EPSILON, "{x}: off by {error}");
            }
        }
        let mut v = [1.0, f64::NAN];
        assert!(Fixed::new(&v, 2, |i| i).worth(0).is_nan());
        v[1] = f64::INFINITY;
        assert!(Fixed::new(&v, 2, |i| i).worth(0).is_nan());
    }
}
