//! Counts and parts as people read them: the same on the page and in the terminal.

/// A count with thousands separators: `16,777,216`.
pub fn count(n: impl Into<u128>) -> String {
    group(&n.into().to_string())
}

/// Separators in the digits of a whole number, which may have a sign.
pub fn group(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let mut grouped = sign.to_owned();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A part of a whole with two decimals: `91.43 %`.
pub fn percent(part: f64) -> String {
    format!("{:.2} %", 100.0 * part)
}

/// A part of a whole that may be very small: two significant digits, as in `2.7 %` and `0.00041 %`; what is but rounding
/// is not told from 0.
pub fn small_percent(part: f64) -> String {
    let x = if part < 1e-10 { 0.0 } else { 100.0 * part };
    let decimals = if x > 0.0 { (1.0 - x.log10().floor()).max(0.0) as usize } else { 0 };
    format!("{x:.decimals$} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_separators() {
        let shown = [0u64, 999, 1000, 16_777_216].map(count);
        assert_eq!(shown, ["0", "999", "1,000", "16,777,216"]);
    }

    #[test]
    fn small_parts_stay_visible() {
        assert_eq!(
            [0.5, 0.0273, 4.1e-6, 1e-15, 0.0, 1.0].map(small_percent),
            ["50 %", "2.7 %", "0.00041 %", "0 %", "0 %", "100 %"]
        );
    }
}
