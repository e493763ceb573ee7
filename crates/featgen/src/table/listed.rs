//! Lists of columns as users write them: names, numbers from 1, ranges of numbers, and patterns.

use std::ops::Range;

/// The columns that an item of a list stands for, as ranges of places from 0: a column of that name, else a number or a range of
/// numbers up to `count`, else all whose names fit a pattern in which `*` stands for anything. Empty if there is none.
fn listed_item(item: &str, names: &[String], count: u64) -> Vec<Range<u64>> {
    if let Some(place) = names.iter().position(|name| name == item) {
        return vec![Range { start: place as u64, end: place as u64 + 1 }];
    }
    if let Some(range) = numbers(item) {
        return if range.end <= count { vec![range] } else { Vec::new() };
    }
    let fits = |(place, name): (u64, &String)| fits(item, name).then_some(place..place + 1);
    if item.contains('*') { (0..).zip(names).filter_map(fits).collect() } else { Vec::new() }
}

/// The columns of a whole list; or the first item that stands for none.
pub fn listed<'l, S: AsRef<str>>(
    list: &'l [S],
    names: &[String],
    count: u64,
) -> Result<Vec<Range<u64>>, &'l str> {
    let mut all = Vec::new();
    for item in list.iter().map(AsRef::as_ref) {
        let found = listed_item(item, names, count);
        if found.is_empty() {
            return Err(item);
        }
        all.extend(found);
    }
    Ok(all)
}

/// A number or a range of numbers, counted from 1, as places.
fn numbers(item: &str) -> Option<Range<u64>> {
    let (first, last) = item.split_once('-').unwrap_or((item, item));
    let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (1..=last).contains(&first).then(|| first - 1..last)
}

/// Whether a name fits a pattern.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Options;

    #[test]
    fn columns_by_name_number_range_and_pattern() {
        let names: Vec<String> = ["age", "sex", "gene_a", "gene_b", "3"].map(str::to_owned).to_vec();
        let places = |list: &str| -> Result<Vec<u64>, String> {
            let items = Options::items(list);
            Ok(listed(&items, &names, 5).map_err(str::to_owned)?.into_iter().flatten().collect())
        };
        assert_eq!(places("age"), Ok(vec![0]));
        assert_eq!(places("sex, 1"), Ok(vec![1, 0]));
        assert_eq!(places("3"), Ok(vec![4]), "a name comes before a number");
        assert_eq!(places("2-4"), Ok(vec![1, 2, 3]));
        assert_eq!(places("gene_*"), Ok(vec![2, 3]));
        assert_eq!(places("*e*"), Ok(vec![0, 1, 2, 3]));
        assert_eq!(places("*"), Ok(vec![0, 1, 2, 3, 4]));
        assert_eq!(places("g*_b"), Ok(vec![3]));
        for wrong in ["height", "6", "0", "4-6", "5-4", "", "x*", "age,"] {
            assert!(places(wrong).is_err(), "{wrong}");
        }
        assert!(fits("a*b*c", "aXbYc") && !fits("a*b*c", "aXcYb") && fits("a**", "a") && !fits("aa*a", "aa"));
    }
}
