//! Numbers as people read them.

use featgen_report::numbers::group;
pub(crate) use featgen_report::numbers::{count, percent, small_percent};

/// A count that may be very large, with three or more digits: `812`, `12.3 million`.
pub(crate) fn rough(n: u64) -> String {
    let x = n as f64;
    match n {
        0..1_000_000 => count(n),
        1_000_000..1_000_000_000 => format!("{:.1} million", x / 1e6),
        _ => format!("{} billion", short((x / 1e8).round() / 10.0)),
    }
}

/// A number with four significant digits, and separators where it is large.
pub(crate) fn short(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let magnitude = x.abs().log10().floor();
    if !(-4.0..9.0).contains(&magnitude) {
        return format!("{x:.3e}");
    }
    let text = format!("{:.*}", (3.0 - magnitude).max(0.0) as usize, x);
    match text.split_once('.') {
        Some((whole, part)) => format!("{}.{part}", group(whole)),
        None => group(&text),
    }
}

/// A time: `12.3 s`, `45 ms`.
pub(crate) fn seconds(s: f64) -> String {
    match s {
        s if s < 0.1 => format!("{:.0} ms", 1000.0 * s),
        s if s < 10.0 => format!("{s:.2} s"),
        s if s < 100.0 => format!("{s:.1} s"),
        s => format!("{s:.0} s"),
    }
}

/// `1 round`, `2 rounds`.
pub(crate) fn plural(n: usize, what: &str) -> String {
    format!("{} {what}{}", count(n as u64), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_counts_are_rough() {
        let shown = [812, 12_345_678, 274_877_906_944].map(rough);
        assert_eq!(shown, ["812", "12.3 million", "274.9 billion"]);
    }

    #[test]
    fn numbers_have_four_digits() {
        let shown = [0.0, 1.0, -0.012345, 123.456, -12345.6, 1e-7, 1e12].map(short);
        assert_eq!(shown, ["0", "1.000", "-0.01235", "123.5", "-12,346", "1.000e-7", "1.000e12"]);
    }
}
