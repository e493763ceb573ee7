//! Inputs made from seeds: the same ones for the same number.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Longest input that is made.
const LONGEST: usize = 1 << 14;

/// What parsers look for, and what has been too much for some.
const WORDS: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b"\0",
    b" ",
    b",",
    b";",
    b"\t",
    b":",
    b"#",
    b"\"",
    b"'",
    b"(",
    b")",
    b"[",
    b"]",
    b"{",
    b"}",
    b"/",
    b" > ",
    b"-",
    b"+",
    b".",
    b"e",
    b"0",
    b"1",
    b"-1",
    b"00",
    b"0x",
    b"nan",
    b"inf",
    b"-inf",
    b"1e308",
    b"-1e308",
    b"1e309",
    b"1e-324",
    b"4.9e-324",
    b"0.1",
    b"1:1",
    b"0:1",
    b"qid:1",
    b"4294967295",
    b"4294967296",
    b"9007199254740993",
    b"9223372036854775808",
    b"18446744073709551615",
    b"18446744073709551616",
    b"340282366920938463463374607431768211456",
    b"null",
    b"true",
    b"false",
    b"[]",
    b"{}",
    b"\"\"",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\x80",
    b"\xc3\x28",
    b"\xe2\x80\xae",
    b"\x1b[31m",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\x93NUMPY",
    b"featgenS",
    b"featgenC",
    b"True",
    b"<f4",
    b"<f8",
    b"|b1",
    b"<i8",
    b"\"input\":",
    b"\"product\":",
    b"\"step\":",
    b"\"wave\":",
    b"\"group\":",
    b"\"terms\":",
    b"\"rows\":",
    b"\"shards\":",
    b"\"offset\":",
    b"\"length\":",
];

/// Input number `k` of a run with this seed.
pub(crate) fn input(seeds: &[Vec<u8>], seed: u64, k: u64) -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ k.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut bytes = seeds[random.random_range(0..seeds.len())].clone();
    // Mostly few changes, sometimes many.
    let changes = 1 << random.random_range(0..5u32);
    for _ in 0..random.random_range(1..=changes) {
        change(&mut bytes, seeds, &mut random);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut ChaCha8Rng) {
    let at = random.random_range(0..=bytes.len());
    match random.random_range(0..10u32) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8u32),
        1 if at < bytes.len() => bytes[at] = random.random(),
        2 => bytes.truncate(at),
        3 => {
            let end = bytes.len().min(at + random.random_range(1..32usize));
            bytes.drain(at..end);
        }
        4 => {
            // Some bytes once more, perhaps often.
            let part = bytes[at..bytes.len().min(at + random.random_range(1..64usize))].to_vec();
            let times = 1usize << random.random_range(0..6u32);
            bytes.splice(at..at, part.repeat(times));
        }
        5 => {
            let other = &seeds[random.random_range(0..seeds.len())];
            let from = random.random_range(0..=other.len());
            let to = other.len().min(from + random.random_range(0..256usize));
            bytes.splice(at..at, other[from..to].iter().copied());
        }
        6 | 7 => number(bytes, at, random),
        _ => {
            let word = WORDS[random.random_range(0..WORDS.len())];
            // In place of as many bytes, or between them.
            let end = if random.random() { bytes.len().min(at + word.len()) } else { at };
            bytes.splice(at..end, word.iter().copied());
        }
    }
}

/// Changes the next number of the text, or eight bytes if there is none.
fn number(bytes: &mut Vec<u8>, at: usize, random: &mut ChaCha8Rng) {
    let Some(begin) = bytes[at..].iter().position(u8::is_ascii_digit).map(|skip| at + skip) else {
        let values = [0, 1, 2, 255, 1 << 16, (1 << 31) - 1, 1 << 32, 1 << 62, i64::MAX as u64, u64::MAX];
        let value: u64 = values[random.random_range(0..values.len())];
        let end = bytes.len().min(at + 8);
        let length = end - at;
        bytes[at..end].copy_from_slice(&value.to_le_bytes()[..length]);
        return;
    };
    let length = bytes[begin..].iter().take_while(|c| c.is_ascii_digit()).count();
    let text = std::str::from_utf8(&bytes[begin..begin + length]).unwrap_or_default();
    let old: u128 = text.parse().unwrap_or(0);
    let new = match random.random_range(0..6u32) {
        0 => old.wrapping_add(1),
        1 => old.saturating_sub(1),
        2 => old.saturating_mul(2),
        3 => 1u128 << random.random_range(0..70u32),
        4 => (1u128 << random.random_range(1..70u32)) - 1,
        _ => random.random_range(0..10u32).into(),
    };
    bytes.splice(begin..begin + length, new.to_string().into_bytes());
}
