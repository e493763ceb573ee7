//! Text cells of one column: every distinct text once, and a number for each row.

use xxhash_rust::xxh3::xxh3_64;

/// The code of a row that has no value.
pub const MISSING: u32 = u32::MAX;

/// Distinct texts in order of appearance, and how many rows hold each.
#[derive(Debug, Clone, Default)]
pub struct Levels {
    /// One after the other.
    text: String,
    ends: Vec<usize>,
    counts: Vec<u32>,
    /// By hash, codes plus 1 and, above them, other bits of the hash, so that few texts are looked at in vain; with free places (0)
    /// between them: at most half are taken.
    places: Vec<u64>,
}

impl Levels {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text of a code.
    pub fn get(&self, code: u32) -> &str {
        let code = code as usize;
        let start = if code == 0 { 0 } else { self.ends[code - 1] };
        &self.text[start..self.ends[code]]
    }

    /// All of them, with how many rows hold each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> + Clone {
        self.counts.iter().enumerate().map(|(code, &count)| (self.get(code as u32), count))
    }

    /// Rows that hold any.
    pub fn rows(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }

    /// Counts a text for so many more rows; returns its code, and whether it is new.
    pub fn count(&mut self, text: &str, rows: u32) -> (u32, bool) {
        if 2 * (self.len() + 1) > self.places.len() {
            self.grow();
        }
        let hash = xxh3_64(text.as_bytes());
        let (place, found) = self.place(text, hash);
        if let Some(code) = found {
            let count = &mut self.counts[code as usize];
            *count = count.saturating_add(rows);
            return (code, false);
        }
        let code = self.len() as u32;
        self.places[place] = entry(code, hash);
        self.text.push_str(text);
        self.ends.push(self.text.len());
        self.counts.push(rows);
        (code, true)
    }

    /// Where a text of that hash is, and its code, or where it would be put.
    fn place(&self, text: &str, hash: u64) -> (usize, Option<u32>) {
        let mask = self.places.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let there = self.places[place];
            if there == 0 {
                return (place, None);
            }
            let code = there as u32 - 1;
            if there == entry(code, hash) && self.get(code) == text {
                return (place, Some(code));
            }
            place = (place + 1) & mask;
        }
    }

    fn grow(&mut self) {
        self.places = vec![0; (4 * (self.len() + 1)).next_power_of_two()];
        for code in 0..self.len() as u32 {
            let text = self.get(code);
            let hash = xxh3_64(text.as_bytes());
            let (place, _) = self.place(text, hash);
            self.places[place] = entry(code, hash);
        }
    }
}

/// What stands for a code in the places of texts.
fn entry(code: u32, hash: u64) -> u64 {
    (hash >> 32 << 32) | (u64::from(code) + 1)
}

/// The cells of a column, row by row.
#[derive(Debug, Clone, Default)]
pub struct Texts {
    codes: Vec<u32>,
    levels: Levels,
}

impl Texts {
    /// A column that begins with so many rows without a value.
    pub fn after(missing: usize) -> Self {
        Self { codes: vec![MISSING; missing], levels: Levels::default() }
    }

    /// Adds a row; says whether its text is new.
    pub fn push(&mut self, text: &str) -> bool {
        let (code, new) = self.levels.count(text, 1);
        self.codes.push(code);
        new
    }

    /// Adds a row with the code of one before.
    pub fn push_again(&mut self, code: u32) {
        if code != MISSING {
            let count = &mut self.levels.counts[code as usize];
            *count = count.saturating_add(1);
        }
        self.codes.push(code);
    }

    /// Adds a row without a value.
    pub fn push_missing(&mut self) {
        self.codes.push(MISSING);
    }

    /// The code of every row, [`MISSING`] where there is no value.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// What the codes stand for.
    pub fn levels(&self) -> &Levels {
        &self.levels
    }

    /// Adds the rows of another part of the column.
    pub fn append(&mut self, other: &Self) {
        let code = |(text, count)| self.levels.count(text, count).0;
        let known: Vec<u32> = other.levels.iter().map(code).collect();
        let code = |&code: &u32| if code == MISSING { MISSING } else { known[code as usize] };
        self.codes.extend(other.codes.iter().map(code));
    }

    /// The cells of these rows.
    pub fn at(&self, rows: &[usize]) -> Self {
        let mut some = Self::default();
        for &code in rows.iter().map(|&row| &self.codes[row]) {
            match code {
                MISSING => some.push_missing(),
                code => _ = some.push(self.levels.get(code)),
            }
        }
        some
    }

    /// Keeps the first rows. Counts of levels are only right before.
    pub fn truncate(&mut self, rows: usize) {
        for &code in self.codes.iter().skip(rows).filter(|&&code| code != MISSING) {
            self.levels.counts[code as usize] -= 1;
        }
        self.codes.truncate(rows);
    }

    /// Forgets all rows, but not the levels and in how many rows they were.
    pub fn forget_rows(&mut self) {
        self.codes.clear();
    }

    /// Rows without a value.
    pub fn missing(&self) -> usize {
        self.codes.iter().filter(|&&code| code == MISSING).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_again_however_many_there_are() {
        let mut texts = Texts::after(2);
        for k in 0..5000 {
            assert_eq!(texts.push(&format!("level {}", k % 1777)), k < 1777);
        }
        texts.push_again(MISSING);
        assert_eq!((texts.levels().len(), texts.missing(), texts.codes().len()), (1777, 3, 5003));
        assert!(texts.levels().iter().enumerate().all(|(k, (text, _))| text == format!("level {k}")));
        assert_eq!((texts.levels().rows(), texts.levels().iter().next()), (5000, Some(("level 0", 3))));

        let mut again = texts.clone();
        again.push_again(7);
        assert_eq!((again.codes()[5003], again.levels().rows()), (7, 5001));

        let mut whole = Texts::default();
        whole.push("level 5");
        whole.append(&texts);
        assert_eq!(whole.levels().len(), 1777);
        let shown = |texts: &Texts, row: usize| texts.levels().get(texts.codes()[row]).to_owned();
        assert!((2..5002).all(|row| shown(&whole, row + 1) == shown(&texts, row)));
        whole.truncate(3);
        assert_eq!((whole.codes(), whole.levels().rows()), (&[0, MISSING, MISSING][..], 1));
    }
}
