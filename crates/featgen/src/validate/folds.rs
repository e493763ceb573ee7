//! Who is held out, and when. The same seed makes the same folds.

use rand::seq::SliceRandom;

use crate::data::Labels;
use crate::error::{Error, Result};
use crate::objective::Output;
use crate::synth::random;

/// Folds without a number asked for: values of what says who belongs together.
const MOST_VALUES: usize = 100;

/// A run of cross-validation: who is learned from, and who is held out. By their places, which increase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Who is learned from.
    pub train: Vec<usize>,
    /// Who is held out.
    pub test: Vec<usize>,
}

/// All runs of a cross-validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folds {
    splits: Vec<Split>,
    /// How often all instances were held out.
    repeats: usize,
}

impl Folds {
    /// So many folds, as often as `repeats` says, each time others. Every fold holds its share of every class, of large and small
    /// numbers, or of events.
    pub fn stratified(
        labels: &Labels,
        output: Output,
        folds: usize,
        repeats: usize,
        seed: u64,
    ) -> Result<Self> {
        Self::dealt(&Parts::folds(folds), labels, output, repeats, seed)
    }

    /// So many pairs of halves, likewise.
    pub(super) fn halves(labels: &Labels, output: Output, pairs: usize, seed: u64) -> Result<Self> {
        Self::dealt(&Parts { name: "stability", called: "halves", count: 2 }, labels, output, pairs, seed)
    }

    fn dealt(parts: &Parts, labels: &Labels, output: Output, repeats: usize, seed: u64) -> Result<Self> {
        let (rows, folds) = (labels.len(), parts.count);
        if output == Output::Classes {
            labels.weighed_classes(&vec![1.0; rows])?;
        }
        parts.check(repeats, rows, "instances")?;
        if output == Output::Classes {
            parts.check_classes(labels)?;
        }
        let strata = strata(labels, output)?;
        Self::repeated(repeats, rows, folds, |repeat| {
            let mut random = random(seed, repeat as u64);
            let mut fold_of = vec![0; rows];
            // Where one stratum ends the next goes on, so that folds are of the same size.
            let mut next = (0..folds).cycle();
            for stratum in &strata {
                match stratum {
                    Stratum::Alike(places) => {
                        let mut places = places.clone();
                        places.shuffle(&mut random);
                        places.into_iter().zip(&mut next).for_each(|(i, fold)| fold_of[i] = fold);
                    }
                    Stratum::Ordered(places) => {
                        for near in places.chunks(folds) {
                            let mut order: Vec<usize> = (0..folds).collect();
                            order.shuffle(&mut random);
                            near.iter().zip(order).for_each(|(&i, fold)| fold_of[i] = fold);
                        }
                    }
                }
            }
            fold_of
        })
    }

    /// Folds that keep together who has the same value in `together`. Without a number of folds, every value is a fold.
    pub fn grouped(together: &Labels, folds: Option<usize>, repeats: usize, seed: u64) -> Result<Self> {
        let (group_of, groups) = groups(together);
        let rows = group_of.len();
        let Some(folds) = folds else {
            if repeats > 1 {
                return Err(Error::parameter("repeats", "folds that are given are the same each time"));
            }
            if groups > MOST_VALUES {
                let reason = format!(
                    "{groups} different values, and each would be a fold: say into how many to put them"
                );
                return Err(Error::parameter("cv", reason));
            }
            Parts::folds(groups).check(repeats, rows, "instances")?;
            return Self::repeated(1, rows, groups, |_| group_of.clone());
        };
        Parts::folds(folds).check(repeats, groups, "different values of who belongs together")?;
        let mut sizes = vec![0; groups];
        group_of.iter().for_each(|&group| sizes[group] += 1);
        Self::repeated(repeats, rows, folds, |repeat| {
            let mut order: Vec<usize> = (0..groups).collect();
            order.shuffle(&mut random(seed, repeat as u64));
            // The largest first, each to the smallest fold.
            order.sort_by_key(|&group| std::cmp::Reverse(sizes[group]));
            let (mut fold_of_group, mut filled) = (vec![0; groups], vec![0; folds]);
            for group in order {
                let smallest = (0..folds).min_by_key(|&fold| filled[fold]).unwrap_or(0);
                filled[smallest] += sizes[group];
                fold_of_group[group] = smallest;
            }
            group_of.iter().map(|&group| fold_of_group[group]).collect()
        })
    }

    /// Any splits of so many instances.
    pub fn of(splits: Vec<Split>, rows: usize) -> Result<Self> {
        let refuse = |k: usize, what: &str| Err(Error::parameter("cv", format!("split {}: {what}", k + 1)));
        for (k, Split { train, test }) in splits.iter().enumerate() {
            if train.is_empty() || test.is_empty() {
                return refuse(k, "nobody to learn from, or nobody held out");
            }
            let increase = |places: &[usize]| places.is_sorted_by(|a, b| a < b);
            if !(increase(train) && increase(test)) {
                return refuse(k, "an instance is there twice, or out of order");
            }
            if train.last().max(test.last()).is_some_and(|&last| last >= rows) {
                return refuse(k, &format!("an instance beyond the {rows} that there are"));
            }
            if train.iter().any(|i| test.binary_search(i).is_ok()) {
                return refuse(k, "an instance is both learned from and held out");
            }
        }
        match splits.is_empty() {
            true => Err(Error::parameter("cv", "no splits")),
            false => Ok(Self { splits, repeats: 1 }),
        }
    }

    /// From the fold of every instance, each time.
    fn repeated(
        repeats: usize,
        rows: usize,
        folds: usize,
        fold_of: impl Fn(usize) -> Vec<usize>,
    ) -> Result<Self> {
        let mut splits = Vec::with_capacity(repeats * folds);
        for repeat in 0..repeats {
            let fold_of = fold_of(repeat);
            let split = |fold: usize| {
                let (test, train) = (0..rows).partition(|&i| fold_of[i] == fold);
                Split { train, test }
            };
            splits.extend((0..folds).map(split));
        }
        Ok(Self { splits, repeats })
    }

    /// All of them, those of one repeat after those of another.
    pub fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// How many there are in all.
    pub fn len(&self) -> usize {
        self.splits.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.splits.is_empty()
    }

    /// How often all instances were held out.
    pub fn repeats(&self) -> usize {
        self.repeats
    }
}

/// Parts that instances are put into, the parameter that asks for them, and what users call them.
struct Parts {
    name: &'static str,
    called: &'static str,
    count: usize,
}

impl Parts {
    fn folds(count: usize) -> Self {
        Self { name: "cv", called: "folds", count }
    }

    fn check(&self, repeats: usize, of: usize, what: &str) -> Result<()> {
        let &Self { name, called, count } = self;
        if repeats == 0 {
            return Err(Error::parameter("repeats", "must be at least 1"));
        }
        match count {
            0 | 1 => Err(Error::parameter(name, format!("at least 2 {called} are needed, not {count}"))),
            _ if count > of => Err(Error::parameter(name, format!("{count} {called} of {of} {what}"))),
            _ => Ok(()),
        }
    }

    /// Every class must be in every part.
    fn check_classes(&self, labels: &Labels) -> Result<()> {
        let &Self { name, called, count } = self;
        let mut counts = vec![0; labels.classes().len()];
        labels.codes().iter().for_each(|&code| counts[code as usize] += 1);
        match (0..counts.len()).min_by_key(|&class| counts[class]) {
            Some(least) if counts[least] < count => {
                let (class, held) = (&labels.classes()[least], counts[least]);
                let s = if held == 1 { "" } else { "s" };
                let reason = format!("class {class} has {held} instance{s}, fewer than the {count} {called}");
                Err(Error::parameter(name, reason))
            }
            _ => Ok(()),
        }
    }
}

/// Instances of which every fold is to have its share.
enum Stratum {
    /// Whose order means nothing.
    Alike(Vec<usize>),
    /// In order of the outcome: neighbours go to different folds.
    Ordered(Vec<usize>),
}

fn strata(labels: &Labels, output: Output) -> Result<Vec<Stratum>> {
    let rows = 0..labels.len();
    Ok(match output {
        Output::Classes => {
            let of = |class: usize| rows.clone().filter(|&i| labels.codes()[i] as usize == class).collect();
            (0..labels.classes().len()).map(|class| Stratum::Alike(of(class))).collect()
        }
        Output::Number | Output::Rate => {
            let y = labels.numbers()?;
            let mut order: Vec<usize> = rows.collect();
            order.sort_by(|&a, &b| y[a].total_cmp(&y[b]));
            vec![Stratum::Ordered(order)]
        }
        Output::Risk => {
            let y = labels.numbers()?;
            let (events, censored) = rows.partition(|&i| y[i] > 0.0);
            vec![Stratum::Alike(events), Stratum::Alike(censored)]
        }
    })
}

/// The group of every instance, in order of appearance, and how many there are.
fn groups(together: &Labels) -> (Vec<usize>, usize) {
    let mut seen = std::collections::HashMap::new();
    let mut number = |key: u64| {
        let next = seen.len();
        *seen.entry(key).or_insert(next)
    };
    let of: Vec<usize> = match together.only_numbers() {
        Some(numbers) => numbers.iter().map(|x| number((x + 0.0).to_bits())).collect(),
        None => together.codes().iter().map(|&code| number(u64::from(code))).collect(),
    };
    (of, seen.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(count: usize, word: impl Fn(usize) -> String) -> Labels {
        Labels::from_text((0..count).map(word))
    }

    /// Everybody is held out once in every repeat, and learned from in all other runs of it.
    fn check_whole(folds: &Folds, rows: usize, each: usize) {
        for repeat in folds.splits().chunks(each) {
            let mut held: Vec<usize> = repeat.iter().flat_map(|split| split.test.clone()).collect();
            held.sort_unstable();
            assert!(held.into_iter().eq(0..rows));
            assert!(repeat.iter().all(|split| split.train.len() + split.test.len() == rows));
            Folds::of(repeat.to_vec(), rows).unwrap();
        }
    }

    #[test]
    fn every_fold_has_its_share_of_every_class() {
        let labels = words(103, |i| if i % 5 == 0 { "rare".into() } else { "common".into() });
        let folds = Folds::stratified(&labels, Output::Classes, 5, 3, 7).unwrap();
        check_whole(&folds, 103, 5);
        for split in folds.splits() {
            let rare = split.test.iter().filter(|&&i| i % 5 == 0).count();
            assert!((4..=5).contains(&rare) && (20..=21).contains(&split.test.len()));
        }
        assert_eq!(folds, Folds::stratified(&labels, Output::Classes, 5, 3, 7).unwrap());
        assert_ne!(folds, Folds::stratified(&labels, Output::Classes, 5, 3, 8).unwrap());
        assert_ne!(folds.splits()[..5], folds.splits()[5..10]);
    }

    #[test]
    fn numbers_are_dealt_by_their_order_and_times_by_events() {
        let numbers = Labels::from_numbers((0..50).map(|i| f64::from(i * 7 % 50)).collect());
        let folds = Folds::stratified(&numbers, Output::Number, 5, 1, 0).unwrap();
        check_whole(&folds, 50, 5);
        let y = numbers.numbers().unwrap();
        for split in folds.splits() {
            let mut of_five: Vec<usize> = split.test.iter().map(|&i| y[i] as usize / 5).collect();
            of_five.sort_unstable();
            assert!(of_five.into_iter().eq(0..10));
        }
        let times =
            Labels::from_numbers((1..=40).map(|i| f64::from(if i % 4 == 0 { i } else { -i })).collect());
        for split in Folds::stratified(&times, Output::Risk, 5, 1, 0).unwrap().splits() {
            assert_eq!(split.test.iter().filter(|&&i| (i + 1) % 4 == 0).count(), 2);
        }
    }

    #[test]
    fn who_belongs_together_stays_together() {
        let together = words(60, |i| format!("family {}", i * i % 17));
        for folds in [Some(3), None] {
            let folds = Folds::grouped(&together, folds, 1, 1).unwrap();
            let each = folds.len();
            check_whole(&folds, 60, each);
            for split in folds.splits() {
                let of = |places: &[usize]| -> std::collections::HashSet<u32> {
                    places.iter().map(|&i| together.codes()[i]).collect()
                };
                assert!(of(&split.train).is_disjoint(&of(&split.test)));
            }
        }
        let sizes: Vec<usize> = {
            let folds = Folds::grouped(&together, Some(3), 1, 1).unwrap();
            folds.splits().iter().map(|split| split.test.len()).collect()
        };
        assert!(sizes.iter().all(|size| (16..=24).contains(size)), "{sizes:?}");
    }

    #[test]
    fn what_makes_no_folds_is_refused() {
        let two = words(9, |i| if i < 3 { "a".into() } else { "b".into() });
        let said = |folds: Result<Folds>| folds.unwrap_err().to_string();
        let of = |k, repeats| said(Folds::stratified(&two, Output::Classes, k, repeats, 0));
        assert_eq!(of(5, 1), "cv: class a has 3 instances, fewer than the 5 folds");
        assert_eq!(of(10, 1), "cv: 10 folds of 9 instances");
        assert_eq!(of(1, 1), "cv: at least 2 folds are needed, not 1");
        assert_eq!(of(3, 0), "repeats: must be at least 1");
        let many = words(300, |i| i.to_string());
        assert!(said(Folds::grouped(&many, None, 1, 0)).contains("300 different values"));
        assert!(said(Folds::grouped(&two, Some(5), 1, 0)).contains("5 folds of 2"));
        let split = |train: &[usize], test: &[usize]| Split { train: train.to_vec(), test: test.to_vec() };
        for (train, test) in
            [(&[0, 1][..], &[1][..]), (&[], &[1]), (&[0], &[5]), (&[1, 0], &[2]), (&[0, 0], &[2])]
        {
            assert!(Folds::of(vec![split(train, test)], 3).is_err());
        }
        assert!(Folds::of(Vec::new(), 3).is_err());
    }
}
