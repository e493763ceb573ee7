//! Numbers from text: a fast path for the usual spellings, and a correctly rounded result for all of them.

/// Powers of ten that an `f64` holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

const INTEGER_POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Integers up to here are exact in an `f64`.
const EXACT: u64 = 1 << 53;

/// The digits that `text` begins with at `at`, at most eight: their value and how many they are. Eight bytes must be
/// there to be looked at.
#[inline(always)]
fn up_to_eight_digits(text: &[u8], at: usize) -> (u64, usize) {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let bytes: [u8; 8] = text[at..at + 8].try_into().expect("eight bytes");
    // Digits become 0 to 9; the high bit of a byte of `others` is set from the first byte that is no digit.
    let word = u64::from_le_bytes(bytes) ^ (EACH * u64::from(b'0'));
    let others = (word | word.wrapping_add(EACH * 0x76)) & (EACH * 0x80);
    let count = others.trailing_zeros() as usize / 8;
    if count == 0 {
        return (0, 0);
    }
    // The digits to the end of the word, zeros before them; then pairs, fours and all eight by multiplication.
    let word = word << (64 - 8 * count);
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8);
    const MASK: u64 = 0x0000_00ff_0000_00ff;
    let high = (pairs & MASK).wrapping_mul(100 + (1_000_000 << 32));
    let low = ((pairs >> 16) & MASK).wrapping_mul(1 + (10_000 << 32));
    (high.wrapping_add(low) >> 32, count)
}

/// The digits at `at`, at most nineteen: their value and where they end. `None` if there are more, or none.
#[inline(always)]
pub(super) fn integer(text: &[u8], at: usize) -> Option<(u64, usize)> {
    let (mut value, count) = up_to_eight_digits(text, at);
    if count < 8 {
        return (count > 0).then_some((value, at + count));
    }
    let mut end = at + 8;
    for most in [8, 3] {
        let (low, count) = up_to_eight_digits(text, end);
        if count > most {
            return None;
        }
        value = value * INTEGER_POWERS[count] + low;
        end += count;
        if count < 8 {
            break;
        }
    }
    Some((value, end))
}

/// The plain decimal number at `at` and where it ends. `None` if it is not one of fewer than eight digits before the
/// point and sixteen after it that is exact; an exponent is not looked for.
#[inline(always)]
pub(super) fn decimal(text: &[u8], at: usize) -> Option<(f64, usize)> {
    let negative = text[at] == b'-';
    let begin = at + usize::from(negative);
    let (whole, digits) = up_to_eight_digits(text, begin);
    let mut end = begin + digits;
    let mut mantissa = whole;
    let mut places = 0;
    if text[end] == b'.' {
        let (fraction, count) = up_to_eight_digits(text, end + 1);
        mantissa = mantissa * INTEGER_POWERS[count] + fraction;
        places = count;
        if count == 8 {
            let (fraction, count) = up_to_eight_digits(text, end + 9);
            // At most 24 digits may be here: more than fit.
            mantissa = mantissa.checked_mul(INTEGER_POWERS[count])?.checked_add(fraction)?;
            places += count;
        }
        end += 1 + places;
    }
    let plain = digits + places > 0 && digits < 8 && places < 16 && mantissa <= EXACT;
    let size = mantissa as f64 / POWERS[places.min(22)];
    plain.then_some((if negative { -size } else { size }, end))
}

/// Any finite number that `text` begins with, correctly rounded, and how long it is.
pub(super) fn parse_beginning(text: &[u8]) -> Option<(f64, usize)> {
    fast_float2::parse_partial::<f64, _>(text).ok().filter(|(x, _)| x.is_finite())
}

/// Any finite number, correctly rounded; `None` if `token` is not one.
pub(crate) fn parse(token: &[u8]) -> Option<f64> {
    fast_float2::parse::<f64, _>(token).ok().filter(|x| x.is_finite())
}

/// What to say of a token that [`parse`] refuses.
pub(super) fn complaint(token: &[u8]) -> &'static str {
    match fast_float2::parse::<f64, _>(token) {
        Ok(x) if x.is_nan() => {
            "is not a number that can be used: values must be finite, and none may be missing"
        }
        Ok(_) => "is too large: values must be finite",
        Err(_) => "is not a number",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn padded(text: &str) -> Vec<u8> {
        [text.as_bytes(), &[b'\n'; 40]].concat()
    }

    /// The fast path is right wherever it answers.
    fn check(text: &str) -> Result<(), TestCaseError> {
        if let Some((value, end)) = decimal(&padded(text), 0) {
            let expected: f64 = text[..end].parse().unwrap();
            prop_assert_eq!(value.to_bits(), expected.to_bits(), "{}", text);
        }
        let expected: f64 = text.parse().unwrap();
        prop_assert_eq!(
            parse(text.as_bytes()).map(f64::to_bits),
            Some(expected.to_bits()).filter(|_| expected.is_finite())
        );
        Ok(())
    }

    proptest! {
        #[test]
        fn decimals_are_rounded_correctly(text in "-?[0-9]{1,10}(\\.[0-9]{0,25})?(e-?[0-9]{1,3})?") {
            check(&text)?;
        }

        #[test]
        fn any_float_is_read_back(x in any::<f64>().prop_filter("finite", |x| x.is_finite())) {
            check(&x.to_string())?;
            check(&format!("{x:e}"))?;
            check(&format!("{x:.5}"))?;
        }

        #[test]
        fn integers_are_read_exactly(x in any::<u64>(), digits in 1usize..21) {
            let text = &x.to_string()[..digits.min(x.to_string().len())];
            if let Some(found) = integer(&padded(text), 0) {
                prop_assert_eq!(found, (text.parse().unwrap(), text.len()));
            } else {
                prop_assert!(text.len() == 20);
            }
        }

        #[test]
        fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let text = [bytes.as_slice(), &[b'\n'; 40]].concat();
            let digits = bytes.iter().take_while(|c| c.is_ascii_digit()).count();
            let (_, count) = up_to_eight_digits(&text, 0);
            prop_assert_eq!(count, digits.min(8));
            let _ = (decimal(&text, 0), integer(&text, 0), parse(&bytes));
        }
    }

    #[test]
    fn usual_spellings_take_the_fast_path() {
        for text in ["1", "0.5", "-0.25395", "123.456", ".5", "5.", "0.123456789012", "-0"] {
            assert_eq!(decimal(&padded(text), 0), Some((text.parse().unwrap(), text.len())), "{text}");
        }
        for text in ["", "-", ".", "123456789", "0.12345678901234567", "+1", "x"] {
            assert_eq!(decimal(&padded(text), 0), None, "{text}");
        }
    }
}
