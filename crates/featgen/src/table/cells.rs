//! What a text cell says: nothing, a number, yes or no, a date.

use crate::data::read::number;

/// Whether a cell says that there is no value.
pub fn is_missing(cell: &[u8]) -> bool {
    const SIGNS: [&[u8]; 4] = [b"", b"?", b".", b"-"];
    const WORDS: [&[u8]; 5] = [b"na", b"n/a", b"nan", b"null", b"none"];
    SIGNS.contains(&cell) || (cell.len() <= 4 && WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word)))
}

/// The same of a label: classes may be called `-` or `none`.
pub fn is_missing_label(label: &[u8]) -> bool {
    label != b"-" && !label.eq_ignore_ascii_case(b"none") && is_missing(label)
}

/// How numbers of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separators {
    /// `1234.5`.
    Point,
    /// `1,234.5`, `1 234.5` or `1'234.5`, perhaps among others.
    Grouped,
    /// `1234,5`, `1.234,5` or `1 234,5`.
    Comma,
}

impl Separators {
    /// The number that a cell is.
    pub fn number(self, cell: &str) -> Option<f64> {
        match self {
            Self::Point => number::parse(cell.as_bytes()),
            Self::Grouped => number::parse(cell.as_bytes()).or_else(|| grouped(cell, ',', '.')),
            Self::Comma if cell.contains('.') => grouped(cell, '.', ','),
            Self::Comma => {
                number::parse(cell.replacen(',', ".", 1).as_bytes()).or_else(|| grouped(cell, '.', ','))
            }
        }
    }
}

/// A number with its thousands apart, by one separator throughout.
fn grouped(cell: &str, separator: char, point: char) -> Option<f64> {
    const OTHERS: [char; 6] = [' ', '\u{a0}', '\u{202f}', '\'', '\u{2019}', '_'];
    let (whole, fraction) = cell.split_once(point).map_or((cell, None), |(whole, rest)| (whole, Some(rest)));
    let digits = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    let used = digits.chars().find(|c| !c.is_ascii_digit())?;
    (used == separator || OTHERS.contains(&used)).then_some(())?;
    let mut groups = digits.split(used);
    let all_digits = |group: &str| group.bytes().all(|c| c.is_ascii_digit());
    let first = groups.next().is_some_and(|group| (1..=3).contains(&group.len()) && all_digits(group));
    (first && groups.all(|group| group.len() == 3 && all_digits(group))).then_some(())?;
    (fraction.is_none_or(all_digits) && fraction != Some("")).then_some(())?;
    let plain: String = whole.chars().filter(|&c| c != used).collect();
    number::parse(format!("{plain}.{}", fraction.unwrap_or("0")).as_bytes())
}

/// Words for yes and no, in pairs that belong together.
const TRUTHS: [[&str; 2]; 4] = [["true", "false"], ["yes", "no"], ["t", "f"], ["y", "n"]];

/// The pair of words that a cell is of, and whether it says yes.
fn word_of_truth(cell: &str) -> Option<(usize, bool)> {
    let one = |k: usize| {
        let [yes, no] = TRUTHS[k].map(|word| cell.eq_ignore_ascii_case(word));
        (yes || no).then_some((k, yes))
    };
    (0..TRUTHS.len()).find_map(one)
}

/// Whether a cell says yes or no: in words, or as 1 and 0.
pub fn truth(cell: &str) -> Option<bool> {
    word_of_truth(cell).map(|(_, yes)| yes).or_else(|| match number::parse(cell.as_bytes()) {
        Some(1.0) => Some(true),
        Some(0.0) => Some(false),
        _ => None,
    })
}

/// In which order the parts of dates stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dates {
    /// `2026-11-17`, perhaps with a time: `2026-11-17T12:50:00Z`.
    Iso,
    /// `17/11/2026` or `17.11.2026`.
    DayFirst,
    /// `11/17/2026`.
    MonthFirst,
}

impl Dates {
    /// Days since 1970 that a cell says, with the time as a part of a day.
    pub fn days(self, cell: &str) -> Option<f64> {
        let end = cell.find(['T', ' ']).unwrap_or(cell.len());
        let (date, time) = cell.split_at(end);
        let separator = date.chars().find(|c| !c.is_ascii_digit())?;
        let mut parts = date.split(separator);
        let [a, b, c] = [parts.next()?, parts.next()?, parts.next()?];
        let short = |part: &str| (1..=2).contains(&part.len()).then(|| digits(part)).flatten();
        let long = |part: &str| (part.len() == 4).then(|| digits(part)).flatten();
        parts.next().is_none().then_some(())?;
        let (year, month, day) = match (self, separator) {
            (Self::Iso, '-' | '/') => (long(a)?, short(b)?, short(c)?),
            (Self::DayFirst, '/' | '.' | '-') => (long(c)?, short(b)?, short(a)?),
            (Self::MonthFirst, '/' | '-') => (long(c)?, short(a)?, short(b)?),
            _ => return None,
        };
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let last = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let sound = (1..=12).contains(&month) && (1..=last[(month as usize).clamp(1, 12) - 1]).contains(&day);
        sound.then_some(())?;
        Some(days_of(year, month, day) as f64 + time_of_day(time)? / 86400.0)
    }
}

fn digits(text: &str) -> Option<i64> {
    (!text.is_empty() && text.bytes().all(|c| c.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Days since 1970 of a date of the Gregorian calendar.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    // Years from March to March, so that the day that some lack is the last.
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year - 719_468
}

/// Seconds since midnight, in UTC where an offset is given: `T12:50`, ` 12:50:30.5`, `T12:50:30+01:00`.
fn time_of_day(text: &str) -> Option<f64> {
    let Some(text) = text.strip_prefix(['T', ' ']) else { return text.is_empty().then_some(0.0) };
    let text = text.trim_end();
    let zone = text.find(['Z', '+', '-']).unwrap_or(text.len());
    let (time, zone) = text.split_at(zone);
    let two = |part: Option<&str>| part.filter(|part| part.len() == 2).and_then(digits);
    let mut parts = time.trim_end().splitn(3, ':');
    let (hours, minutes) = (two(parts.next())?, two(parts.next())?);
    let seconds = match parts.next() {
        None => 0.0,
        Some(text) => number::parse(text.as_bytes()).filter(|x| (0.0..61.0).contains(x))?,
    };
    let offset = match zone.strip_prefix(['+', '-']) {
        None => (zone.is_empty() || zone == "Z").then_some(0)?,
        Some(offset) => {
            let at = offset.find(':').map_or(offset.len() - offset.len().min(2), |at| at + 1);
            let hours = if at == 0 { offset } else { offset.get(..at)?.trim_end_matches(':') };
            let minutes = if at == 0 { "00" } else { offset.get(at..)? };
            let sign = if zone.starts_with('-') { -60 } else { 60 };
            sign * (60 * two(Some(hours))? + two(Some(minutes))?)
        }
    };
    (hours < 24 && minutes < 60).then_some(())?;
    Some((3600 * hours + 60 * minutes - offset) as f64 + seconds)
}

/// What all texts of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// Numbers, written so.
    Numbers(Separators),
    /// Numbers whose comma or point may be before thousands or before decimals.
    UnclearNumbers,
    /// Yes and no.
    Truths,
    /// Dates, written so.
    Dates(Dates),
    /// Dates of which day and month cannot be told apart.
    UnclearDates,
    /// Anything else.
    Words,
}

impl Guess {
    /// What these distinct texts are, all of them.
    pub fn of<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Self {
        let all = |is: &dyn Fn(&str) -> bool| texts.clone().all(is);
        let numbers = |how: Separators| all(&|text| how.number(text).is_some());
        let dates = |how: Dates| all(&|text| how.days(text).is_some());
        if texts.clone().next().is_none() {
            return Self::Words;
        }
        if numbers(Separators::Point) {
            return Self::Numbers(Separators::Point);
        }
        match (numbers(Separators::Grouped), numbers(Separators::Comma)) {
            (true, false) => return Self::Numbers(Separators::Grouped),
            (false, true) => return Self::Numbers(Separators::Comma),
            (true, true) => {
                let same = |text: &str| Separators::Grouped.number(text) == Separators::Comma.number(text);
                return if all(&same) { Self::Numbers(Separators::Grouped) } else { Self::UnclearNumbers };
            }
            (false, false) => {}
        }
        // One pair of words, both of which occur.
        let pair = texts.clone().next().and_then(word_of_truth).map(|(pair, _)| pair);
        let says =
            |yes: bool| texts.clone().any(|text| word_of_truth(text).is_some_and(|(_, says)| says == yes));
        if pair.is_some()
            && all(&|text| word_of_truth(text).map(|(k, _)| k) == pair)
            && says(true)
            && says(false)
        {
            return Self::Truths;
        }
        if dates(Dates::Iso) {
            return Self::Dates(Dates::Iso);
        }
        match (dates(Dates::DayFirst), dates(Dates::MonthFirst)) {
            (true, false) => Self::Dates(Dates::DayFirst),
            (false, true) => Self::Dates(Dates::MonthFirst),
            (true, true) => Self::UnclearDates,
            (false, false) => Self::Words,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_without_a_value() {
        for cell in ["", "NA", "na", "N/A", "n/a", "NaN", "null", "NULL", "None", "?", ".", "-"] {
            assert!(is_missing(cell.as_bytes()), "{cell}");
        }
        for cell in ["0", "x", "nano", "--", "..", "-1", "nada"] {
            assert!(!is_missing(cell.as_bytes()), "{cell}");
        }
        assert!(!is_missing_label(b"-") && !is_missing_label(b"None") && is_missing_label(b"NA"));
    }

    #[test]
    fn numbers_as_people_write_them() {
        let grouped = |cell: &str| Separators::Grouped.number(cell);
        let comma = |cell: &str| Separators::Comma.number(cell);
        for (cell, value) in [
            ("1,234", 1234.0),
            ("-1,234,567.25", -1_234_567.25),
            ("1 234.5", 1234.5),
            ("1'234'567", 1_234_567.0),
            ("0.5", 0.5),
            ("12\u{a0}345", 12345.0),
        ] {
            assert_eq!(grouped(cell), Some(value), "{cell}");
        }
        for (cell, value) in [
            ("1,5", 1.5),
            ("1.234,5", 1234.5),
            ("1.234", 1234.0),
            ("-0,25", -0.25),
            ("7", 7.0),
            ("1,5e3", 1500.0),
            ("1 234,5", 1234.5),
        ] {
            assert_eq!(comma(cell), Some(value), "{cell}");
        }
        for cell in
            ["1,23", "1,2345", "12,34,567", "1,234.", ",123", "1,234 567", "", "a", "1,234.5.6", "1 234,5 6"]
        {
            assert_eq!(grouped(cell), None, "{cell}");
        }
        for cell in ["1.5", "1.2345", "1,2,3", "1,234.5", "", ","] {
            assert_eq!(comma(cell), None, "{cell}");
        }
    }

    #[test]
    fn dates_become_days() {
        let iso = |cell: &str| Dates::Iso.days(cell);
        assert_eq!(iso("1970-01-01"), Some(0.0));
        assert_eq!(iso("2000-02-29"), Some(11016.0));
        assert_eq!(iso("1969-12-31"), Some(-1.0));
        assert_eq!(iso("2026/11/17"), Some(20774.0));
        assert_eq!(iso("1970-01-02T12:00"), Some(1.5));
        assert_eq!(iso("1970-01-02 06:00:00.0Z"), Some(1.25));
        assert_eq!(iso("1970-01-01T01:00:00+01:00"), Some(0.0));
        assert_eq!(iso("1970-01-01T00:00:00-0600"), Some(0.25));
        for cell in [
            "1900-02-29",
            "2026-13-01",
            "2026-00-10",
            "26-11-17",
            "2026-11",
            "2026-11-17x",
            "2026-11-17T25:00",
            "x",
        ] {
            assert_eq!(iso(cell), None, "{cell}");
        }
        assert_eq!(Dates::DayFirst.days("31/01/1970"), Some(30.0));
        assert_eq!(Dates::DayFirst.days("31.1.1970"), Some(30.0));
        assert_eq!(Dates::MonthFirst.days("01/31/1970"), Some(30.0));
        assert_eq!(Dates::MonthFirst.days("01.12.1970"), None);
    }

    #[test]
    fn a_column_is_what_all_its_cells_are() {
        let guess = |cells: &[&str]| Guess::of(cells.iter().copied());
        use Guess::{Numbers, Truths, UnclearDates, UnclearNumbers, Words};
        assert_eq!(guess(&["1,5", "2"]), Numbers(Separators::Comma));
        assert_eq!(guess(&["1,234", "2,345"]), UnclearNumbers);
        assert_eq!(guess(&["1,234", "2,345", "1,5"]), Numbers(Separators::Comma));
        assert_eq!(guess(&["1,234", "1.5"]), Numbers(Separators::Grouped));
        assert_eq!(guess(&["1 234"]), Numbers(Separators::Grouped));
        assert_eq!(guess(&["TRUE", "False"]), Truths);
        assert_eq!(guess(&["T", "F"]), Truths);
        assert_eq!(guess(&["F", "M"]), Words);
        assert_eq!(guess(&["F"]), Words);
        assert_eq!(guess(&["yes", "false"]), Words);
        assert_eq!(guess(&["2026-11-17", "2026-11-17 12:50"]), Guess::Dates(Dates::Iso));
        assert_eq!(guess(&["01/02/2026", "13/02/2026"]), Guess::Dates(Dates::DayFirst));
        assert_eq!(guess(&["01/02/2026", "02/13/2026"]), Guess::Dates(Dates::MonthFirst));
        assert_eq!(guess(&["01/02/2026"]), UnclearDates);
        assert_eq!(guess(&["red", "1"]), Words);
        assert_eq!(guess(&[]), Words);
    }
}
