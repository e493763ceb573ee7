//! Names in quotes: `"DNA repair: late": "gene 1" 5-9`. A `"` where a word begins opens a quote, which ends with the next `"`
//! and is followed by a blank, a comma, a colon or the end of the line; a quote within is written twice. Any other `"` is a
//! letter like all others.

use std::borrow::Cow;

use super::is_blank;

/// Where in a line, and what is wrong there.
type Fault = (usize, &'static str);

/// Where the quote ends that begins at `at`.
pub(super) fn end(line: &[u8], at: usize) -> Result<usize, Fault> {
    let mut next = at + 1;
    loop {
        let Some(length) = memchr::memchr(b'"', &line[next..]) else {
            return Err((at, "a quote that does not end: no second `\"`"));
        };
        next += length + 1;
        match line.get(next) {
            // Two of them stand for one.
            Some(b'"') => next += 1,
            Some(b':' | b'>') | None => return Ok(next),
            Some(&c) if is_blank(c) => return Ok(next),
            Some(_) => {
                return Err((next, "something follows a name in quotes; a `\"` within is written twice"));
            }
        }
    }
}

/// A line in which what stands in quotes is hidden: it has as many bytes, but no blanks, colons or arrows within quotes.
pub(super) fn hidden(line: &[u8]) -> Result<Cow<'_, [u8]>, Fault> {
    if memchr::memchr(b'"', line).is_none() {
        return Ok(Cow::Borrowed(line));
    }
    let mut shown = line.to_vec();
    let mut at = 0;
    while at < line.len() {
        if line[at] == b'"' {
            let ends = end(line, at)?;
            shown[at..ends].fill(b'"');
            at = ends;
        }
        // To the beginning of the next word.
        at += line[at..].iter().position(|&c| is_blank(c)).unwrap_or(line.len() - at);
        at += line[at..].iter().take_while(|&&c| is_blank(c)).count();
    }
    Ok(Cow::Owned(shown))
}

/// What a name stands for: what is in its quotes, if it is in quotes as a whole, or else itself.
pub(super) fn undone(name: &str) -> Cow<'_, str> {
    let whole = name.starts_with('"') && end(name.as_bytes(), 0) == Ok(name.len());
    match name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).filter(|_| whole) {
        Some(inside) if inside.contains('"') => Cow::Owned(inside.replace("\"\"", "\"")),
        Some(inside) => Cow::Borrowed(inside),
        None => Cow::Borrowed(name),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{dense, lists_of, named, tree_of};

    #[test]
    fn names_in_quotes_may_hold_anything() {
        let data = named(&["gene 1", "b,c", "x", "7", "say \"so\"", "g: h"]);
        let cases = [
            (r#""DNA repair: late": "gene 1" x"#, "DNA repair: late: 1 3"),
            (r#""DNA repair: late":"gene 1""#, "DNA repair: late: 1"),
            (r#""a > b" : "b,c",x"#, "a > b: 2 3"),
            (r#"g: "7" 1"#, "g: 1 4"),
            (r#"g: "say ""so""""#, "g: 5"),
            (r#""the ""best""": 3"#, "the \"best\": 3"),
            (r#""gene 1" "b,c""#, "1: 1 2"),
            (r#"x "g: h" 2"#, "1: 2 3 6"),
            (r#""x":3-4"#, "x: 3 4"),
        ];
        for (text, expected) in cases {
            assert_eq!(lists_of(&data, text).unwrap(), [expected], "{text}");
        }
    }

    #[test]
    fn quotes_within_words_are_letters() {
        let data = named(&["5\"", "a\"b", "x"]);
        assert_eq!(lists_of(&data, "6\" pipes: 5\" a\"b").unwrap(), ["6\" pipes: 1 2"]);
        assert_eq!(lists_of(&data, "the \"big\" ones: x").unwrap(), ["the \"big\" ones: 3"]);
    }

    #[test]
    fn trees_have_names_in_quotes_too() {
        let text = "\"all: of > them\" > \"a b\"\n\"a b\" > 1 2\n\"all: of > them\" > 3\n";
        assert_eq!(tree_of(&dense(3), None, text).unwrap(), ["all: of > them: 1 2 3", "a b: 1 2"]);
        assert_eq!(tree_of(&dense(3), None, "\"a\"/b\n\"a\"\n").unwrap(), ["\"a\": 1 2", "\"a\"/b: 1"]);
    }

    #[test]
    fn open_quotes_are_found_where_they_begin() {
        let cases = [
            ("\"a: 1 2", "1:1: a quote that does not end: no second `\"`"),
            ("a: 1\nb: 1 \"c 2", "2:6: a quote that does not end: no second `\"`"),
            ("a: 1 \"b\"c 2", "1:9: something follows a name in quotes; a `\"` within is written twice"),
            ("1 \"a: b", "1:3: a quote that does not end: no second `\"`"),
            ("a: \"no such\"", "1:4: no feature is called `no such`"),
            ("a: \"1\"", "1:4: no feature is called `1`"),
        ];
        let data = named(&["x", "y"]);
        for (text, expected) in cases {
            assert_eq!(lists_of(&data, text).unwrap_err().to_string(), format!("test:{expected}"), "{text}");
        }
        let parent = tree_of(&data, None, "a > x\n\"b > y\n").unwrap_err().to_string();
        assert_eq!(parent, "test:2:1: a quote that does not end: no second `\"`");
    }
}
