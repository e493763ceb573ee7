//! Sums over genotypes in whole numbers.
//!
//! A vector is rounded to whole multiples of a unit, and each multiple is written with up to eight digits, from -128 to 127, to the
//! base of 256. One instruction then multiplies 32 genotypes with the digits of 32 people and adds pairs of products: nothing is
//! turned into floating-point numbers, and nothing is rounded any more. The sums are the same in whichever order they are made.
//!
//! There are as many digits as it takes for the unit to cost a sum less than floating-point numbers might: see [`digits_for`].

use multiversion::multiversion;
use multiversion::target::match_target;

/// Digits of a number at most.
const DIGITS: usize = 8;

/// Bits of the largest number with so many digits: with its sign, and with what the digits below carry over, the last digit is one
/// still.
const fn bits(digits: usize) -> i32 {
    8 * digits as i32 - 2
}

/// Bytes of genotypes that are looked at together, and people in a byte.
pub(super) const WIDTH: usize = 32;
pub(super) const PEOPLE: usize = 4;

/// Bytes of genotypes that are searched together for what is missing.
const WORD: usize = 8;

/// Chunks whose digits stay in a near cache while several columns go by. Sums of a digit over so many people fit into 16 bits:
/// each of 4 lanes of 32 people, with genotypes up to 2 and digits down to -128, adds 2 * 2 * -128 to the sum of a pair.
pub(super) const BLOCK: usize = 16;

/// A digit of 32 people: of the first, second, third or fourth of each of 32 bytes.
type Digit = [i8; WIDTH];

/// What each of the four codes of a genotype counts.
pub(super) type Counts = [u8; 4];

/// Sums of digits, the lowest first.
pub(super) type Sums = [i64; DIGITS];

/// A vector of one number for every person of a file, as whole multiples of a unit.
pub(crate) struct Fixed {
    /// Of every 128 people, the digits of the first of every byte, the lowest first, then those of the second, and so on.
    digits: Vec<Digit>,
    /// How many digits a number has.
    each: usize,
    /// The multiples themselves.
    numbers: Vec<i64>,
    /// What a multiple of 1 is worth, in two factors, for it may be less than any number; not a number if one of the vector is
    /// not.
    unit: [f64; 2],
}

impl Fixed {
    /// Of a file of so many people, of whom `place` says which the numbers of `v` belong to; 0 for all others.
    pub(super) fn new(v: &[f64], people: usize, place: impl Fn(usize) -> usize) -> Self {
        let (chunks, each) = (people.div_ceil(PEOPLE * WIDTH), digits_for(v));
        let mut fixed = Self {
            digits: vec![[0; WIDTH]; chunks * PEOPLE * each],
            each,
            numbers: vec![0; chunks * PEOPLE * WIDTH],
            unit: [f64::NAN; 2],
        };
        if !v.iter().all(|x| x.is_finite()) {
            return fixed;
        }
        let up = bits(each) - exponent(v.iter().fold(0.0, |most: f64, x| most.max(x.abs())));
        let factors = [up / 2, up - up / 2].map(power);
        fixed.unit = factors.map(f64::recip);
        for (i, &x) in v.iter().enumerate() {
            fixed.put(place(i), (x * factors[0] * factors[1]).round_ties_even() as i64);
        }
        fixed
    }

    fn put(&mut self, person: usize, number: i64) {
        self.numbers[person] = number;
        let first = (person / (PEOPLE * WIDTH) * PEOPLE + person % PEOPLE) * self.each;
        let (lane, mut left) = (person / PEOPLE % WIDTH, number);
        for digit in &mut self.digits[first..first + self.each] {
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
        let chunk = PEOPLE * self.each;
        let all = &self.digits[begin / WIDTH * chunk..];
        let bytes = &column[begin..column.len().min(begin + BLOCK * WIDTH)];
        let (whole, rest) = bytes.as_chunks::<WIDTH>();
        let (of_whole, of_rest) = all.split_at(whole.len() * chunk);
        let mut digits = block_sums(whole, of_whole, self.each, counts);
        if !rest.is_empty() {
            // People who are not there have numbers of 0: whatever stands in the bytes, it adds nothing.
            let mut last = [0; WIDTH];
            last[..rest.len()].copy_from_slice(rest);
            let more = block_sums(&[last], &of_rest[..chunk], self.each, counts);
            digits.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        sums.iter_mut().zip(digits).for_each(|(sum, digit)| *sum += i64::from(digit));
    }

    /// The sum over the people who have the code of a missing genotype in the bytes of a column, where these are few.
    pub(super) fn sum_missing(&self, column: &[u8]) -> i128 {
        let (whole, rest) = column.as_chunks::<WORD>();
        let (numbers, _) = self.numbers.as_chunks::<{ PEOPLE * WORD }>();
        let mut last = [0; WORD];
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
        (chunks * PEOPLE * (DIGITS * size_of::<Digit>() + WIDTH * size_of::<i64>())) as u64
    }
}

/// How many digits it takes for a vector. Floating-point numbers may cost a sum of n products `n u sum |v|`, with u = 2^-53, times
/// the largest of the others, and whoever uses a sum allows for that. Rounding to units costs `n max |v| 2^-bits` times the same:
/// half as much, or less, where `2^bits >= 2^54 max |v| / sum |v|`.
fn digits_for(v: &[f64]) -> usize {
    let (most, sum) =
        v.iter().fold((0.0, 0.0), |(most, sum): (f64, f64), x| (most.max(x.abs()), sum + x.abs()));
    // Of numbers whose sum overflows, and of the smallest of all, whose units are not in proportion to them, all digits are taken.
    if !sum.is_finite() || most < f64::MIN_POSITIVE {
        return DIGITS;
    }
    // The sum itself may be rounded.
    let needed = most / (sum * 0.999) * 2f64.powi(54);
    let enough = |digits: &usize| 2f64.powi(bits(*digits)) >= needed;
    (3..DIGITS).find(enough).unwrap_or(DIGITS)
}

/// Asks for the bytes of a block of a column, which will be looked at soon.
pub(super) fn fetch_block(column: &[u8], begin: usize) {
    fetch(&column[begin..column.len().min(begin + BLOCK * WIDTH)]);
}

/// Asks for bytes that will be looked at soon.
pub(super) fn fetch(bytes: &[u8]) {
    const LINE: usize = 64;
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: this is advice to the processor, of an address that is there; nothing is read.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, LINE);
}

/// The first bit of every genotype that is missing: its code is 1.
pub(super) fn missing(word: u64) -> u64 {
    word & !(word >> 1) & 0x5555_5555_5555_5555
}

/// The sum of the numbers of those who are missing. Words in which anybody is are listed first, and looked at afterwards: a branch at
/// each of them would mostly be guessed wrong where some are missing.
fn few_missing(words: &[[u8; WORD]], numbers: &[[i64; PEOPLE * WORD]]) -> i128 {
    const AT_ONCE: usize = 256;
    let mut sum = 0;
    for (words, numbers) in words.chunks(AT_ONCE).zip(numbers.chunks(AT_ONCE)) {
        let (mut places, mut count) = ([0u8; AT_ONCE], 0);
        for (place, word) in words.iter().enumerate() {
            places[count] = place as u8;
            count += usize::from(missing(u64::from_le_bytes(*word)) != 0);
        }
        for place in places[..count].iter().map(|&place| usize::from(place)) {
            let mut missing = missing(u64::from_le_bytes(words[place]));
            while missing != 0 {
                sum += i128::from(numbers[place][missing.trailing_zeros() as usize / 2]);
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
fn block_sums(bytes: &[[u8; WIDTH]], digits: &[Digit], each: usize, counts: Counts) -> [i32; DIGITS] {
    match_target! {
        "x86_64+avx2" => match each {
            3 => by_vectors::<3>(bytes, digits, counts),
            4 => by_vectors::<4>(bytes, digits, counts),
            5 => by_vectors::<5>(bytes, digits, counts),
            6 => by_vectors::<6>(bytes, digits, counts),
            7 => by_vectors::<7>(bytes, digits, counts),
            _ => by_vectors::<DIGITS>(bytes, digits, counts),
        },
        _ => one_by_one(bytes, digits, each, counts),
    }
}

/// The same for any machine.
fn one_by_one(bytes: &[[u8; WIDTH]], digits: &[Digit], each: usize, counts: Counts) -> [i32; DIGITS] {
    let mut sums = [0; DIGITS];
    for (bytes, digits) in bytes.iter().zip(digits.chunks_exact(PEOPLE * each)) {
        for (k, digits) in digits.chunks_exact(each).enumerate() {
            let count = bytes.map(|byte| i16::from(counts[usize::from(byte >> (2 * k)) & 3]));
            for (sum, digit) in sums.iter_mut().zip(digits) {
                let products = count.iter().zip(digit).map(|(count, digit)| count * i16::from(*digit));
                *sum += i32::from(products.sum::<i16>());
            }
        }
    }
    sums
}

/// The same with vectors of 32 bytes, for numbers of D digits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn by_vectors<const D: usize>(bytes: &[[u8; WIDTH]], digits: &[Digit], counts: Counts) -> [i32; DIGITS] {
    use std::arch::x86_64::*;
    let [a, b, c, d] = counts;
    let mut table = [0; WIDTH];
    table.chunks_exact_mut(16).for_each(|half| half[..4].copy_from_slice(&[a, b, c, d]));
    let (table, mask): (__m256i, _) = (bytemuck::cast(table), _mm256_set1_epi8(3));
    let mut sums = [_mm256_setzero_si256(); D];
    let (chunks, _) = digits.as_chunks::<D>();
    let (chunks, _) = chunks.as_chunks::<PEOPLE>();
    for (bytes, chunk) in bytes.iter().zip(chunks) {
        let bytes: __m256i = bytemuck::cast(*bytes);
        let codes = [
            bytes,
            _mm256_srli_epi16::<2>(bytes),
            _mm256_srli_epi16::<4>(bytes),
            _mm256_srli_epi16::<6>(bytes),
        ];
        for k in 0..PEOPLE {
            let count = _mm256_shuffle_epi8(table, _mm256_and_si256(codes[k], mask));
            for d in 0..D {
                let products = _mm256_maddubs_epi16(count, bytemuck::cast(chunk[k][d]));
                sums[d] = _mm256_add_epi16(sums[d], products);
            }
        }
    }
    let mut wide = [0; DIGITS];
    for (wide, sum) in wide.iter_mut().zip(sums) {
        let pairs = _mm256_madd_epi16(sum, _mm256_set1_epi16(1));
        *wide = bytemuck::cast::<_, [i32; 8]>(pairs).iter().sum();
    }
    wide
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
            for digit in fixed.digits.iter_mut().flatten() {
                *digit = if sign < 0 { -128 } else { 127 };
            }
            let (column, mut sums) = (vec![0; people / PEOPLE], [0; DIGITS]);
            fixed.add_block(&column, 0, [2, 0, 1, 0], &mut sums);
            let digit = if sign < 0 { -128 } else { 127 };
            assert_eq!(sums[..fixed.each], vec![2 * digit * people as i64; fixed.each]);
        }
    }

    /// Vectors and loops agree, to the last digit, with the numbers themselves.
    #[test]
    fn sums_are_exact() {
        let mut all = std::collections::BTreeSet::new();
        for people in [1, 5, 127, 128, 129, 3000, 300_000] {
            let v: Vec<f64> = numbers(people, 7).map(|x| (x as i64 as f64) * 2f64.powi(-70)).collect();
            let fixed = Fixed::new(&v, people, |i| i);
            all.insert(fixed.each);
            let column: Vec<u8> = numbers(people.div_ceil(PEOPLE), 9).map(|x| x as u8).collect();
            let code = |i: usize| usize::from(column[i / PEOPLE] >> (2 * (i % PEOPLE))) & 3;
            for counts in [[2, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 2]] {
                let mut sums = [0; DIGITS];
                Fixed::blocks(people).for_each(|begin| fixed.add_block(&column, begin, counts, &mut sums));
                let number = |i: usize| i128::from(fixed.numbers[i]) * i128::from(counts[code(i)]);
                assert_eq!(Fixed::total(&sums), (0..people).map(number).sum::<i128>());
                let (first, mut bytes) = (&fixed.digits[..PEOPLE * fixed.each], [0; WIDTH]);
                let some = column.len().min(WIDTH);
                bytes[..some].copy_from_slice(&column[..some]);
                let found = block_sums(&[bytes], first, fixed.each, counts);
                assert_eq!(found, one_by_one(&[bytes], first, fixed.each, counts));
            }
            let missing = (0..people).filter(|&i| code(i) == 1).map(|i| i128::from(fixed.numbers[i]));
            assert_eq!(fixed.sum_missing(&column), missing.sum::<i128>());
        }
        assert!(all.len() > 2, "{all:?}");
    }

    /// What units cost a sum is less than half of what floating-point numbers might, of whatever size numbers are.
    #[test]
    fn units_are_small_enough() {
        for largest in [1.0, 1.9999, 2.0, 1e-320, 5e-324, 1e300, f64::MAX, 0.0] {
            for others in [0, 3, 1000, 100_000] {
                let mut v = vec![largest, -largest, largest / 3.0, -largest * 1e-9, 0.0];
                v.extend(numbers(others, 3).map(|x| largest * (x as f64 * 2f64.powi(-64) - 0.5)));
                let fixed = Fixed::new(&v, v.len(), |i| i);
                let size: f64 = v.iter().map(|x| x.abs() / largest.max(f64::MIN_POSITIVE)).sum();
                for (x, &number) in v.iter().zip(&fixed.numbers) {
                    let error = (fixed.worth(number.into()) - x).abs() / largest.max(f64::MIN_POSITIVE);
                    let exact = x.abs() / largest.max(f64::MIN_POSITIVE) * f64::EPSILON;
                    assert!(error <= size * 2f64.powi(-54) + exact, "{x} of {}: off by {error}", v.len());
                }
            }
        }
        let mut v = [1.0, f64::NAN];
        assert!(Fixed::new(&v, 2, |i| i).worth(0).is_nan());
        v[1] = f64::INFINITY;
        assert!(Fixed::new(&v, 2, |i| i).worth(0).is_nan());
    }
}
