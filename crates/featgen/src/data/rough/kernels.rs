//! Sums of products of bytes, in whole numbers: exact, and so the same in whichever order and with whichever instructions.

use multiversion::multiversion;
use multiversion::target::match_target;

/// Bytes that are looked at together.
pub(crate) const LANES: usize = 32;

/// The high and the low digit, from -64 to 63, of numbers for so many bytes. With digits as small as these, the products of two
/// neighbours with bytes of any size add up to no more than 16 bits hold.
pub(crate) type Digits = [[i8; LANES]; 2];

/// The bytes that stand for the four codes of a genotype.
pub(crate) type Table = [u8; 4];

/// Genotypes in a byte: the first has the lowest bits.
pub(crate) const PER_BYTE: usize = 4;

/// Sums with both digits.
pub(crate) type Sums = [i64; 2];

/// Steps after which sums of 32 bits are added to wider ones: in each of them, four products of up to 255 * 64 come to a sum.
const STEPS: usize = 1 << 12;

/// Adds to the sums of a column of bytes its products with both digits. One column after the other is read as fast as memory can give it.
/// Several side by side would have the digits read less often, but these are in a cache, and memory gives several streams more slowly.
pub(crate) fn add_bytes(column: &[[u8; LANES]], digits: &[Digits], sums: &mut Sums) {
    for (column, digits) in column.chunks(STEPS).zip(digits.chunks(STEPS)) {
        sums.iter_mut().zip(bytes(column, digits)).for_each(|(sum, more)| *sum += more);
    }
}

/// The same for two vectors and four columns, which are in a cache: every chunk of the digits is then read once. As many chunks as the
/// columns have, and no more than [`STEPS`].
pub(crate) fn add_bytes_twice(columns: [&[[u8; LANES]]; 4], digits: [&[Digits]; 2], sums: [&mut [Sums]; 2]) {
    debug_assert!(digits.iter().all(|digits| digits.len() <= STEPS));
    for (sums, more) in sums.into_iter().zip(bytes_twice(columns, digits)) {
        for (sums, more) in sums.iter_mut().zip(more) {
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
    }
}

/// Digits for the genotypes of 32 bytes: for the first ones of all bytes, for their second ones, and so on.
pub(crate) type CodeDigits = [Digits; PER_BYTE];

/// Adds to the sums of a column of genotypes the products of what the table says of them with both digits.
pub(crate) fn add_codes(column: &[u8], digits: &[CodeDigits], table: Table, sums: &mut Sums) {
    in_steps(column, |place, bytes| {
        let more = codes(bytes, &digits[place..][..bytes.len()], table);
        sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    });
}

/// The same, with one look at the genotypes, for what gains are made of: by the first table with `v` and with `d`, and by the second
/// with `d`.
pub(crate) fn add_gain_codes(
    column: &[u8],
    [v, d]: [&[CodeDigits]; 2],
    tables: [Table; 2],
    sums: &mut [Sums; 3],
) {
    in_steps(column, |place, bytes| {
        let more = gain_codes(bytes, [v, d].map(|digits| &digits[place..][..bytes.len()]), tables);
        for (sums, more) in sums.iter_mut().zip(more) {
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
    });
}

/// Calls `add` with as many bytes of a column at a time as sums have room for, and how many chunks of them came before.
fn in_steps(column: &[u8], mut add: impl FnMut(usize, &[[u8; LANES]])) {
    let (whole, rest) = column.as_chunks::<LANES>();
    whole.chunks(STEPS).enumerate().for_each(|(k, bytes)| add(k * STEPS, bytes));
    if !rest.is_empty() {
        // People who are not there have digits of 0: whatever stands in the bytes, it adds nothing.
        let mut last = [0; LANES];
        last[..rest.len()].copy_from_slice(rest);
        add(whole.len(), &[last]);
    }
}

#[multiversion(targets("x86_64+avx2+avx512f+avx512bw+avx512vl+avx512vnni", "x86_64+avx2"))]
fn bytes(column: &[[u8; LANES]], digits: &[Digits]) -> Sums {
    match_target! {
        "x86_64+avx2+avx512f+avx512bw+avx512vl+avx512vnni" => fused::bytes(column, digits),
        "x86_64+avx2" => stepwise::bytes(column, digits),
        _ => column.iter().zip(digits).fold([0; 2], |sums, (x, digits)| add(sums, x, digits)),
    }
}

#[multiversion(targets("x86_64+avx2+avx512f+avx512bw+avx512vl+avx512vnni", "x86_64+avx2"))]
fn bytes_twice(columns: [&[[u8; LANES]]; 4], digits: [&[Digits]; 2]) -> [[Sums; 4]; 2] {
    match_target! {
        "x86_64+avx2+avx512f+avx512bw+avx512vl+avx512vnni" => wide::bytes_twice(columns, digits),
        // Other machines have no room for so many sums at once.
        _ => digits.map(|digits| columns.map(|column| bytes(column, digits))),
    }
}

#[multiversion(targets("x86_64+avx2+avx512f+avx512bw+avx512vl+avx512vnni", "x86_64+avx2"))]
fn codes(bytes: &[[u8; LANES]], digits: &[CodeDigits], table: Table) -> Sums {
    match_target! {
        "x86_64+avx2+avx512f+avx512bw+avx512vl+avx512vnni" => fused::codes(bytes, digits, table),
        "x86_64+avx2" => stepwise::codes(bytes, digits, table),
        _ => codes_one_by_one(bytes, digits, table),
    }
}

#[multiversion(targets("x86_64+avx2+avx512f+avx512bw+avx512vl+avx512vnni", "x86_64+avx2"))]
fn gain_codes(bytes: &[[u8; LANES]], [v, d]: [&[CodeDigits]; 2], [one, two]: [Table; 2]) -> [Sums; 3] {
    match_target! {
        "x86_64+avx2+avx512f+avx512bw+avx512vl+avx512vnni" => fused::gain_codes(bytes, [v, d], [one, two]),
        "x86_64+avx2" => stepwise::gain_codes(bytes, [v, d], [one, two]),
        _ => [(v, one), (d, one), (d, two)].map(|(digits, table)| codes_one_by_one(bytes, digits, table)),
    }
}

fn codes_one_by_one(bytes: &[[u8; LANES]], digits: &[CodeDigits], table: Table) -> Sums {
    let mut sums = [0; 2];
    for (bytes, digits) in bytes.iter().zip(digits) {
        for (k, digits) in digits.iter().enumerate() {
            let x = bytes.map(|byte| table[usize::from(byte >> (2 * k)) & 3]);
            sums = add(sums, &x, digits);
        }
    }
    sums
}

/// The products of 32 bytes, for any machine.
fn add(sums: Sums, x: &[u8; LANES], digits: &Digits) -> Sums {
    std::array::from_fn(|d| {
        let products = x.iter().zip(&digits[d]).map(|(x, digit)| i32::from(*x) * i32::from(*digit));
        sums[d] + i64::from(products.sum::<i32>())
    })
}

/// The same with vectors of 32 bytes, with whatever instructions add four products to each of eight sums.
#[cfg(target_arch = "x86_64")]
macro_rules! by_vectors {
    ($name:ident, $features:literal, |$sum:ident, $x:ident, $digit:ident| $add:expr) => {
        mod $name {
            use super::{CodeDigits, Digits, LANES, PER_BYTE, Sums, Table};
            use std::arch::x86_64::*;

            #[target_feature(enable = $features)]
            #[inline]
            fn add($sum: __m256i, $x: __m256i, $digit: [i8; LANES]) -> __m256i {
                let $digit: __m256i = bytemuck::cast($digit);
                $add
            }

            #[target_feature(enable = $features)]
            #[inline]
            pub(super) fn bytes(column: &[[u8; LANES]], digits: &[Digits]) -> Sums {
                // A sum waits for the one before: there are enough of them that this does not matter.
                let mut sums = [[_mm256_setzero_si256(); 4]; 2];
                let (column, few) = column.as_chunks::<4>();
                let (digits, last) = digits.as_chunks::<4>();
                for (x, digits) in column.iter().zip(digits) {
                    for k in 0..4 {
                        let x: __m256i = bytemuck::cast(x[k]);
                        sums[0][k] = add(sums[0][k], x, digits[k][0]);
                        sums[1][k] = add(sums[1][k], x, digits[k][1]);
                    }
                }
                for (x, digits) in few.iter().zip(last) {
                    let x: __m256i = bytemuck::cast(*x);
                    sums[0][0] = add(sums[0][0], x, digits[0]);
                    sums[1][0] = add(sums[1][0], x, digits[1]);
                }
                sums.map(|sums| total(&sums))
            }

            /// The bytes of codes, from the lowest bits on; the two above are still there.
            #[target_feature(enable = $features)]
            #[inline]
            fn shifted(bytes: [u8; LANES]) -> [__m256i; PER_BYTE] {
                let bytes: __m256i = bytemuck::cast(bytes);
                [
                    bytes,
                    _mm256_srli_epi16::<2>(bytes),
                    _mm256_srli_epi16::<4>(bytes),
                    _mm256_srli_epi16::<6>(bytes),
                ]
            }

            /// The table where the instruction that looks it up expects it.
            fn spread(table: Table) -> __m256i {
                let mut both = [0; LANES];
                both.chunks_exact_mut(16).for_each(|half| half[..4].copy_from_slice(&table));
                bytemuck::cast(both)
            }

            #[target_feature(enable = $features)]
            #[inline]
            pub(super) fn codes(bytes: &[[u8; LANES]], digits: &[CodeDigits], table: Table) -> Sums {
                let (table, mask) = (spread(table), _mm256_set1_epi8(3));
                // A sum waits for the one before: there are enough of them that this does not matter.
                let mut sums = [[_mm256_setzero_si256(); PER_BYTE]; 2];
                for (bytes, digits) in bytes.iter().zip(digits) {
                    let codes = shifted(*bytes);
                    for k in 0..PER_BYTE {
                        let x = _mm256_shuffle_epi8(table, _mm256_and_si256(codes[k], mask));
                        sums[0][k] = add(sums[0][k], x, digits[k][0]);
                        sums[1][k] = add(sums[1][k], x, digits[k][1]);
                    }
                }
                sums.map(|sums| total(&sums))
            }

            #[target_feature(enable = $features)]
            #[inline]
            pub(super) fn gain_codes(
                bytes: &[[u8; LANES]],
                [v, d]: [&[CodeDigits]; 2],
                tables: [Table; 2],
            ) -> [Sums; 3] {
                let ([one, two], mask) = (tables.map(spread), _mm256_set1_epi8(3));
                let mut sums = [[[_mm256_setzero_si256(); 2]; 2]; 3];
                for ((bytes, v), d) in bytes.iter().zip(v).zip(d) {
                    let codes = shifted(*bytes);
                    for k in 0..PER_BYTE {
                        let code = _mm256_and_si256(codes[k], mask);
                        let (x, y) = (_mm256_shuffle_epi8(one, code), _mm256_shuffle_epi8(two, code));
                        for digit in 0..2 {
                            let [a, b, c] = &mut sums;
                            a[digit][k % 2] = add(a[digit][k % 2], x, v[k][digit]);
                            b[digit][k % 2] = add(b[digit][k % 2], x, d[k][digit]);
                            c[digit][k % 2] = add(c[digit][k % 2], y, d[k][digit]);
                        }
                    }
                }
                sums.map(|sums| sums.map(|sums| total(&sums)))
            }

            fn total(sums: &[__m256i]) -> i64 {
                let lanes = |sum: &__m256i| bytemuck::cast::<_, [i32; 8]>(*sum).map(i64::from);
                sums.iter().flat_map(lanes).sum()
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
by_vectors!(fused, "avx2,avx512f,avx512bw,avx512vl,avx512vnni", |sum, x, digit| _mm256_dpbusd_epi32(
    sum, x, digit
));

#[cfg(target_arch = "x86_64")]
by_vectors!(stepwise, "avx2", |sum, x, digit| {
    let pairs = _mm256_maddubs_epi16(x, digit);
    _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
});

/// With vectors of 64 bytes: both digits of 32 numbers, and 32 bytes twice.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Digits, LANES, Sums};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512vl,avx512vnni")]
    #[inline]
    pub(super) fn bytes_twice(
        [a, b, c, d]: [&[[u8; LANES]]; 4],
        [first, second]: [&[Digits]; 2],
    ) -> [[Sums; 4]; 2] {
        let mut sums = [[_mm512_setzero_si512(); 4]; 2];
        let columns = a.iter().zip(b).zip(c).zip(d);
        for ((((a, b), c), d), (first, second)) in columns.zip(first.iter().zip(second)) {
            let (first, second) = (bytemuck::cast(*first), bytemuck::cast(*second));
            let columns = [a, b, c, d];
            for k in 0..4 {
                let x = _mm512_broadcast_i64x4(bytemuck::cast(*columns[k]));
                sums[0][k] = _mm512_dpbusd_epi32(sums[0][k], x, first);
                sums[1][k] = _mm512_dpbusd_epi32(sums[1][k], x, second);
            }
        }
        sums.map(|sums| sums.map(totals))
    }

    /// The sums of both halves.
    fn totals(sum: __m512i) -> Sums {
        let [high, low]: [[i32; 8]; 2] = bytemuck::cast(sum);
        [high, low].map(|half| half.iter().map(|&sum| i64::from(sum)).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(seed: u64) -> impl FnMut() -> u8 {
        let mut x = seed;
        move || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x >> 32) as u8
        }
    }

    /// Whichever instructions there are, the sums are those of one number after the other.
    #[test]
    fn sums_are_exact() {
        for extreme in [false, true] {
            let mut next = numbers(7);
            // Enough that sums of 32 bits alone would not do.
            let chunks = 2 * STEPS + 5;
            let digit = |x: u8| if extreme { -64 } else { (x % 128) as i8 - 64 };
            let mut digits = || -> Digits { std::array::from_fn(|_| std::array::from_fn(|_| digit(next()))) };
            let codes: Vec<[CodeDigits; 2]> =
                (0..chunks).map(|_| std::array::from_fn(|_| std::array::from_fn(|_| digits()))).collect();
            let [v, d] = [0, 1].map(|k| codes.iter().map(|both| both[k]).collect::<Vec<_>>());
            let mut next = numbers(9);
            let mut column = || -> Vec<[u8; LANES]> {
                (0..chunks).map(|_| std::array::from_fn(|_| if extreme { 255 } else { next() })).collect()
            };
            let columns = [column(), column(), column(), column()];
            let plain: Vec<Digits> = v.iter().map(|v| v[0]).collect();
            for column in &columns {
                let mut sums = [1; 2];
                add_bytes(column, &plain, &mut sums);
                let expected = column.iter().zip(&plain).fold([1; 2], |sums, (x, d)| add(sums, x, d));
                assert_eq!(sums, expected);
            }
            let (few, second): (_, Vec<Digits>) =
                (&plain[..STEPS], d[..STEPS].iter().map(|d| d[0]).collect());
            let [mut one, mut other] = [[[1; 2]; 4]; 2];
            let four = columns.each_ref().map(|column| &column[..STEPS]);
            add_bytes_twice(four, [few, &second], [&mut one, &mut other[..3]]);
            for (k, column) in four.into_iter().enumerate() {
                let expected =
                    [few, &second].map(|v| column.iter().zip(v).fold([1; 2], |sums, (x, d)| add(sums, x, d)));
                assert_eq!([one[k], other[k]], if k < 3 { expected } else { [expected[0], [1; 2]] });
            }
            // The last chunk is not whole, and nobody is there in the rest of it.
            let bytes = &columns[0].as_flattened()[..LANES * chunks - 3];
            let (mut v, mut d) = (v, d);
            for digits in [&mut v, &mut d].into_iter().flat_map(|digits| digits.last_mut().unwrap()).flatten()
            {
                digits[LANES - 3..].fill(0);
            }
            let tables: [Table; 2] =
                if extreme { [[255; 4]; 2] } else { [[254, 31, 127, 0], [252, 3, 63, 0]] };
            let expected = [(&v, tables[0]), (&d, tables[0]), (&d, tables[1])]
                .map(|(digits, table)| codes_one_by_one(&columns[0], digits, table));
            let mut sums = [[0; 2]; 3];
            add_gain_codes(bytes, [&v, &d], tables, &mut sums);
            assert_eq!(sums, expected);
            let mut alone = [0; 2];
            add_codes(bytes, &d, tables[1], &mut alone);
            assert_eq!(alone, expected[2]);
        }
    }
}
