//! Sparse features of which products are relevant.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_distr::weighted::WeightedAliasIndex;
use rand_distr::{OpenClosed01, Poisson};

use super::{
    LABELS, Made, Outcome, Set, TRUTH, Truth, check_size, choose, dataset, each, fits, on_threads, random,
};
use crate::data::build::{Block, Builder};
use crate::data::{Dataset, Sparse};
use crate::error::{Error, Result};
use crate::parallel;

/// Sparse data without negative values, as counts of words or events are, where what matters is what occurs together:
/// a few products of features have weights, and the label of x is the sign of `sum of weight * product - shift`.
///
/// The factors of each relevant product, which no two share, occur together in the part `support` of the instances, and
/// each of them by itself in as many, so that none stands for its product. All other features occur independently of
/// everything, with probabilities that fall like `1 / rank^skew` but are at most [`MOST`](Self::MOST); ranks are
/// scattered over the ids. Half of the weights are from U(0.5, 1), half from U(-1, -0.5). The shift is the median over a
/// sample, so that the classes are about as large as each other wherever most instances hold a relevant product. At last
/// every label is turned with probability `noise`.
///
/// A set with more rows begins with the same rows. One of the shape of kddb, a public set of events in tutoring software:
///
/// ```
/// # use featgen::synth::Products;
/// let kddb = Products {
///     rows: 1_000_000,
///     test_rows: 100_000,
///     features: 4_590_807,
///     per_row: 29.0,
///     relevant: 100,
///     support: 0.02,
///     ..Default::default()
/// };
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Products {
    /// Training instances.
    pub rows: usize,
    /// Test instances; may be 0.
    pub test_rows: usize,
    /// Features.
    pub features: usize,
    /// Mean number of values of an instance that are not zero.
    pub per_row: f64,
    /// How fast features become rare: 0 makes all equally frequent, 1 is Zipf's law.
    pub skew: f64,
    /// Factors of a relevant product.
    pub degree: usize,
    /// Products with a weight.
    pub relevant: usize,
    /// The part of the instances that the factors of a relevant product are put into together.
    pub support: f64,
    /// The part of the labels that are turned.
    pub noise: f64,
    /// Whether values are from U(0, 1) instead of 1.
    pub real: bool,
    /// What makes the random numbers differ.
    pub seed: u64,
    /// What labels are.
    pub outcome: Outcome,
}

impl Default for Products {
    fn default() -> Self {
        Self {
            rows: 20_000,
            test_rows: 5000,
            features: 100_000,
            per_row: 30.0,
            skew: 1.0,
            degree: 2,
            relevant: 10,
            support: 0.2,
            noise: 0.05,
            real: false,
            seed: 0,
            outcome: Outcome::Signs,
        }
    }
}

/// Rows that one stream of random numbers makes. Fixed, so that threads change nothing.
const BLOCK_ROWS: usize = 1 << 11;

/// Values, about, of the blocks that are made before they are added to the columns.
const BATCH_VALUES: f64 = (1 << 20) as f64;

/// Rows that the shift is the median of, and where their streams begin; those of the sets begin with their numbers.
const SAMPLE_ROWS: usize = 1 << 14;
const SAMPLE: u64 = 2;

/// How far apart the streams of neighbouring blocks are.
const STREAMS: u64 = 3;

/// The largest number of values per row: one block of them has to fit in memory several times.
const LARGEST_ROW: f64 = 10_000.0;

/// The largest skew: beyond, the rarest of many features would have no probability that is a number.
const LARGEST_SKEW: f64 = 10.0;

impl Products {
    /// The largest part of the instances that a feature which is no factor occurs in.
    pub const MOST: f64 = 0.25;

    /// Makes both sets.
    pub fn generate(&self) -> Result<Made> {
        let problem = self.problem()?;
        Ok(Made { train: problem.train()?, test: problem.test()?, truth: problem.truth })
    }

    /// Makes the training set alone: both need not be in memory together.
    pub fn train(&self) -> Result<Dataset> {
        self.problem()?.train()
    }

    /// Makes the test set alone.
    pub fn test(&self) -> Result<Dataset> {
        self.problem()?.test()
    }

    /// What makes the labels.
    pub fn truth(&self) -> Result<Truth> {
        Ok(self.problem()?.truth)
    }

    fn problem(&self) -> Result<Problem<'_>> {
        let source = Source::new(self)?;
        let mut random = random(self.seed, TRUTH);
        // Half of them, each as likely as any other.
        let negative = match self.relevant / 2 {
            0 => Default::default(),
            half => choose(half, self.relevant, "products", &mut random)?,
        };
        let weight = |k: u64| {
            let size = random.random_range(0.5..1.0);
            if negative.contains(&k) { -size } else { size }
        };
        let weights: Vec<f64> = (0..self.relevant as u64).map(weight).collect();
        let products = source.products.iter().cloned().zip(weights).collect();
        let mut truth = Truth { products, ..Truth::default() };
        let sample = on_threads(|| source.columns(SAMPLE_ROWS, SAMPLE))?;
        truth.shift = median(truth.decision(&sample)).ok_or_else(|| {
            let reason = format!(
                "products of {} features that are together in the part {} of the instances make no two classes",
                self.degree, self.support
            );
            Error::parameter("support", reason)
        })?;
        Ok(Problem { source, truth })
    }

    fn check(&self) -> Result<()> {
        let wrong = |name, reason: String| Err(Error::parameter(name, reason));
        let &Self { rows, test_rows, features, per_row, skew, degree, relevant, support, noise, .. } = self;
        check_size(rows, test_rows, features)?;
        if u32::try_from(features).is_err() {
            return wrong("features", format!("at most {} are supported, not {features}", u32::MAX));
        }
        if !(per_row > 0.0 && per_row <= LARGEST_ROW) {
            return wrong("per-row", format!("must be above 0 and at most {LARGEST_ROW}, not {per_row}"));
        }
        if !(0.0..=LARGEST_SKEW).contains(&skew) {
            return wrong("skew", format!("must be within 0 and {LARGEST_SKEW}, not {skew}"));
        }
        if degree < 2 {
            return wrong("degree", format!("a product has at least 2 factors, not {degree}"));
        }
        if relevant == 0 || relevant.checked_mul(degree).is_none_or(|factors| factors >= features) {
            let most = (features - 1) / degree;
            return wrong(
                "relevant",
                format!("{features} features hold 1 to {most} products of {degree}, not {relevant}"),
            );
        }
        if !(support > 0.0 && support <= 1.0) {
            return wrong("support", format!("must be above 0 and at most 1, not {support}"));
        }
        if !(0.0..0.5).contains(&noise) {
            return wrong("noise", format!("must be at least 0 and below 0.5, not {noise}"));
        }
        let rest = (features - relevant * degree) as f64;
        let (least, most) = (self.planted(), self.planted() + Self::MOST * rest);
        if !(per_row > least && per_row < most) {
            let reason = format!(
                "must be above {least:.4}, which the relevant products take, and below {most:.4}, which {features} features \
                 give, not {per_row}"
            );
            return wrong("per-row", reason);
        }
        // What features are drawn with, and what the larger set takes.
        let held = (per_row * rows.max(test_rows) as f64) as usize;
        if !fits::<[u64; 4]>(features) || !fits::<[u32; 2]>(held) {
            return Err(Error::Data(format!("{held} values of {features} features do not fit in memory")));
        }
        Ok(())
    }

    /// Mean number of factors in an instance: there together or alone.
    fn planted(&self) -> f64 {
        (self.relevant * self.degree) as f64 * self.support * (2.0 - self.support)
    }
}

/// What instances are drawn from.
struct Source<'a> {
    told: &'a Products,
    /// The factors of every relevant product, by id.
    products: Vec<Vec<u64>>,
    /// All other ids, the most frequent first.
    others: Vec<u32>,
    draws: Poisson<f64>,
    drawn: WeightedAliasIndex<f64>,
}

impl<'a> Source<'a> {
    fn new(told: &'a Products) -> Result<Self> {
        told.check()?;
        let mut others: Vec<u32> = (0..told.features as u32).collect();
        others.shuffle(&mut random(told.seed, TRUTH - 1));
        let factors = others.split_off(told.features - told.relevant * told.degree);
        let product = |factors: &[u32]| {
            let mut ids: Vec<u64> = factors.iter().map(|&id| id.into()).collect();
            ids.sort_unstable();
            ids
        };
        let mut products: Vec<Vec<u64>> = factors.chunks(told.degree).map(product).collect();
        products.sort_unstable();
        // Drawn as often as a Poisson variable says, and then counted once, each feature is there independently of the
        // others, with just the probability that its rate is made from: one random number for each that is there.
        let mut rates = probabilities(others.len(), told.per_row - told.planted(), told.skew);
        rates.iter_mut().for_each(|p| *p = -(-*p).ln_1p());
        let refused =
            |e: &dyn std::fmt::Display| Error::parameter("per-row", format!("cannot be drawn: {e}"));
        let draws = Poisson::new(rates.iter().sum()).map_err(|e| refused(&e))?;
        let drawn = WeightedAliasIndex::new(rates).map_err(|e| refused(&e))?;
        Ok(Self { told, products, others, draws, drawn })
    }

    /// Instances from the streams that begin with `first`, on the threads of the current pool.
    fn columns(&self, rows: usize, first: u64) -> Result<Sparse> {
        let mut builder = Builder::new();
        let blocks = rows.div_ceil(BLOCK_ROWS);
        let at_once = (BATCH_VALUES / (BLOCK_ROWS as f64 * self.told.per_row)).clamp(1.0, 64.0) as usize;
        let mut made: Vec<Block> = (0..at_once.min(blocks)).map(|_| Block::default()).collect();
        for begin in (0..blocks).step_by(at_once) {
            let batch = &mut made[..at_once.min(blocks - begin)];
            parallel::chunks_mut(batch, 1, &|k, block| {
                let number = begin + k;
                let mut random = random(self.told.seed, STREAMS * number as u64 + first);
                let rows = BLOCK_ROWS.min(rows - number * BLOCK_ROWS);
                self.fill(&mut block[0], rows, &mut random);
            });
            builder.append(batch)?;
        }
        Ok(builder.finish(self.told.features as u64))
    }

    fn fill(&self, block: &mut Block, rows: usize, random: &mut ChaCha8Rng) {
        let &Products { degree, relevant, support, real, .. } = self.told;
        let mut ids: Vec<u64> = Vec::new();
        block.clear();
        for _ in 0..rows {
            ids.clear();
            let draws = random.sample(self.draws) as u64;
            ids.extend((0..draws).map(|_| u64::from(self.others[random.sample(&self.drawn)])));
            each(relevant, support, random, |k| ids.extend_from_slice(&self.products[k]));
            each(relevant * degree, support, random, |k| ids.push(self.products[k / degree][k % degree]));
            ids.sort_unstable();
            ids.dedup();
            for &id in &ids {
                let value = if real { random.sample::<f32, _>(OpenClosed01) } else { 1.0 };
                block.push(id, value.into());
            }
            block.end_row();
        }
    }
}

/// Probabilities in order that add up to `mean`: proportional to `1 / rank^skew`, except that none is above the most.
fn probabilities(features: usize, mean: f64, skew: f64) -> Vec<f64> {
    const MOST: f64 = Products::MOST;
    let mut shares: Vec<f64> = (1..=features).map(|rank| (rank as f64).powf(-skew)).collect();
    // With as many as possible at the most, what is left for the tail is too little. They are given to the tail again, the
    // rarest first, while they need no more than the most there.
    let scale = |capped: usize, tail: f64| (mean - MOST * capped as f64) / tail;
    let mut capped = ((mean / MOST) as usize).min(features - 1);
    let mut tail: f64 = shares[capped..].iter().rev().sum();
    while capped > 0 {
        let longer = tail + shares[capped - 1];
        if scale(capped - 1, longer) * shares[capped - 1] > MOST {
            break;
        }
        (capped, tail) = (capped - 1, longer);
    }
    let scale = scale(capped, tail);
    shares.iter_mut().for_each(|share| *share = (*share * scale).min(MOST));
    shares
}

/// A number between two neighbouring values that has about as many of them below as above; `None` if all are the same.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    let middle = *values.get(half)?;
    // Where few products occur, many instances have none, and the same value.
    let below = values.partition_point(|&x| x < middle);
    let above = values.partition_point(|&x| x <= middle);
    let cuts = [below, above].into_iter().filter(|&cut| cut > 0 && cut < values.len());
    let cut = cuts.min_by_key(|cut| cut.abs_diff(half))?;
    Some(0.5 * (values[cut - 1] + values[cut]))
}

/// All that is needed to make the sets, one at a time.
struct Problem<'a> {
    source: Source<'a>,
    truth: Truth,
}

impl Problem<'_> {
    fn train(&self) -> Result<Dataset> {
        let rows = self.source.told.rows;
        let train = self.set(Set::Train, rows, "synthetic training set")?;
        if let [only] = train.labels.classes() {
            let reason = format!("all {rows} training instances fall into class {only}: more are needed");
            return Err(Error::parameter("rows", reason));
        }
        Ok(train)
    }

    fn test(&self) -> Result<Dataset> {
        self.set(Set::Test, self.source.told.test_rows, "synthetic test set")
    }

    fn set(&self, set: Set, rows: usize, source: &str) -> Result<Dataset> {
        let columns = on_threads(|| self.source.columns(rows, set as u64))?;
        let mut decision = self.truth.decision(&columns);
        let &Products { noise, seed, outcome, .. } = self.source.told;
        each(rows, noise, &mut random(seed, TRUTH - 2 - set as u64), |row| decision[row] = -decision[row]);
        let random = &mut random(seed, LABELS - set as u64);
        Ok(dataset(Box::new(columns), &decision, source, (outcome, random)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_labels, check_refused, values};
    use super::*;
    use crate::data::Columns;

    fn small() -> Products {
        Products {
            rows: 5000,
            test_rows: 3000,
            features: 2000,
            per_row: 12.0,
            noise: 0.0,
            ..Default::default()
        }
    }

    /// How many instances hold all of these features.
    fn together(data: &Dataset, ids: &[u64]) -> usize {
        let columns = ids.iter().map(|&id| values(data, data.columns.position(id).unwrap()));
        let product = columns.reduce(|a, b| a.iter().zip(b).map(|(a, b)| a * b).collect()).unwrap();
        product.iter().filter(|&&x| x > 0.0).count()
    }

    #[test]
    fn labels_follow_from_the_truth() {
        for (degree, real) in [(2, false), (2, true), (3, false)] {
            let made = Products { degree, real, ..small() }.generate().unwrap();
            let products = &made.truth.products;
            assert!(products.len() == 10 && products.is_sorted_by(|a, b| a.0 < b.0));
            assert!(products.iter().all(|(ids, w)| ids.len() == degree && (0.5..1.0).contains(&w.abs())));
            assert_eq!(products.iter().filter(|(_, w)| *w > 0.0).count(), 5);
            check_labels(&made);
            let positive = made.train.labels.codes().iter().filter(|&&code| code == 1).count();
            assert!((2000..=3000).contains(&positive), "{positive}");
        }
    }

    #[test]
    fn factors_occur_together_and_alone_as_often_as_asked() {
        for (degree, support) in [(2, 0.2), (3, 0.1)] {
            let made = Products { rows: 20_000, degree, support, ..small() }.generate().unwrap();
            for (ids, _) in &made.truth.products {
                // Chance adds a little: all alone at once, where they are not planted.
                let expected = support + (1.0 - support) * support.powi(degree as i32);
                let part = together(&made.train, ids) as f64 / 20_000.0;
                assert!((part - expected).abs() < 0.015, "{ids:?}: {part} {expected}");
                for &id in ids {
                    let part = together(&made.train, &[id]) as f64 / 20_000.0;
                    assert!((part - support * (2.0 - support)).abs() < 0.015, "{id}: {part}");
                }
            }
        }
    }

    #[test]
    fn columns_are_heavy_tailed_and_rows_as_long_as_asked() {
        let told = Products { rows: 20_000, test_rows: 0, features: 10_000, per_row: 25.0, ..small() };
        let made = told.generate().unwrap();
        assert!(made.test.labels.is_empty());
        let columns = made.train.columns.as_ref();
        assert!((columns.nonzeros() as f64 / 20_000.0 - 25.0).abs() < 0.1, "{}", columns.nonzeros());
        assert_eq!(columns.dimension(), 10_000);
        let factor = |id| made.truth.products.iter().any(|(ids, _)| ids.contains(&id));
        let ids = (0..columns.len()).map(|k| columns.id(k)).filter(|&id| !factor(id));
        let mut counts: Vec<(usize, u64)> = ids.map(|id| (together(&made.train, &[id]), id)).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let expected = probabilities(9980, 25.0 - told.planted(), 1.0);
        for rank in [0, 5, 20, 100, 400] {
            let (part, expected) = (counts[rank].0 as f64 / 20_000.0, expected[rank]);
            assert!((part - expected).abs() < 0.02 * expected + 0.005, "{rank}: {part} {expected}");
        }
        // The frequent ones are scattered over the ids.
        let early = counts[..100].iter().filter(|&&(_, id)| id < 5000).count();
        assert!((30..70).contains(&early), "{early}");
    }

    #[test]
    fn probabilities_have_their_sum_and_their_most() {
        for (features, mean) in [(1, 0.2), (7, 1.7), (1000, 3.0), (1000, 30.0), (1000, 249.0)] {
            for skew in [0.0, 0.5, 1.0, 2.0, 10.0] {
                let p = probabilities(features, mean, skew);
                let sum: f64 = p.iter().sum();
                assert!((sum - mean).abs() < 1e-9 * mean, "{features} {mean} {skew}: {sum}");
                assert!(p.is_sorted_by(|a, b| a >= b) && p.iter().all(|&p| p > 0.0 && p <= Products::MOST));
                let tail = p.partition_point(|&p| p == Products::MOST);
                let law = |rank: usize| p[rank] * ((rank + 1) as f64).powf(skew);
                assert!((tail..features).all(|rank| (law(rank) / law(features - 1) - 1.0).abs() < 1e-9));
            }
        }
    }

    #[test]
    fn the_median_halves_as_far_as_it_can() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![2.0; 5]), None);
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(vec![0.0, 0.0, 0.0, 1.0, -1.0, 2.0]), Some(0.5));
        assert_eq!(median(vec![0.0, 0.0, 0.0, -2.0, -1.0, 2.0]), Some(-0.5));
        assert_eq!(median(vec![0.0, 0.0, 0.0, 1.0]), Some(0.5));
    }

    #[test]
    fn values_are_ones_or_within_one() {
        let made = |real| {
            let told = Products { real, ..small() };
            told.problem().unwrap().source.columns(3000, 0).unwrap()
        };
        assert!(made(false).all_ones());
        let (real, mut all) = (made(true), Vec::new());
        real.visit(0..real.len(), &mut |_, column| column.each_nonzero(|_, x| all.push(x)));
        assert!(all.iter().all(|&x| x > 0.0 && x <= 1.0 && x == f64::from(x as f32)));
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
    }

    #[test]
    fn noise_turns_labels_and_nothing_else() {
        let (clean, noisy) =
            (small().generate().unwrap(), Products { noise: 0.1, ..small() }.generate().unwrap());
        assert_eq!(clean.truth, noisy.truth);
        for (clean, noisy) in [(&clean.train, &noisy.train), (&clean.test, &noisy.test)] {
            assert_eq!(values(clean, 7), values(noisy, 7));
            let pairs = clean.labels.codes().iter().zip(noisy.labels.codes());
            let turned = pairs.filter(|(a, b)| a != b).count() as f64 / clean.labels.len() as f64;
            assert!((turned - 0.1).abs() < 0.02, "{turned}");
        }
    }

    #[test]
    fn threads_change_nothing() {
        let told = Products { real: true, ..small() };
        let source = Source::new(&told).unwrap();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| source.columns(30_000, 0)).unwrap()
        };
        assert!(on(1) == on(2));
    }

    #[test]
    fn seed_set_and_row_decide_and_nothing_else() {
        let first = small().generate().unwrap();
        let longer = Products { rows: 9000, ..small() }.generate().unwrap();
        let other = Products { seed: 1, ..small() }.generate().unwrap();
        let factor = |made: &Made| made.truth.products[0].0[0];
        let column = |data: &Dataset, id| values(data, data.columns.position(id).unwrap());
        let id = factor(&first);
        assert_eq!(column(&first.train, id), column(&longer.train, id)[..5000]);
        assert_eq!(first.truth, longer.truth);
        assert_ne!(column(&first.train, id)[..3000], column(&first.test, id));
        assert_ne!(first.truth, other.truth);
        let (train, test) = (small().train().unwrap(), small().test().unwrap());
        assert_eq!(small().truth().unwrap(), first.truth);
        assert_eq!((&train.labels, &test.labels), (&first.train.labels, &first.test.labels));
        assert_eq!(column(&test, id), column(&first.test, id));
    }

    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        let told = Products { real: true, ..small() };
        let problem = told.problem().unwrap();
        let rows = problem.source.columns(3, 0).unwrap();
        let mut first = Vec::new();
        rows.visit(0..rows.len(), &mut |position, column| {
            column.each_nonzero(|row, x| first.extend((row == 0).then(|| (rows.id(position), x))));
        });
        first.truncate(3);
        let truth = &problem.truth;
        assert_eq!(truth.products[0], (vec![83, 1893], -0.8233481882816501));
        assert_eq!((truth.shift, rows.nonzeros()), (-2.3951527995141886e-5, 38));
        assert_eq!(first, [(155, 0.8881954550743103), (243, 0.5841938257217407), (746, 0.8350745439529419)]);
    }

    #[test]
    fn the_file_names_products_as_models_do() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let products = vec![(vec![16, 4020], 0.83), (vec![2, 4, 5], -0.5)];
        Truth { products, shift: 0.25, ..Truth::default() }.write(file.path()).unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines, ["17*4021 0.83", "3*5*6 -0.5"]);
        assert!(text.contains("# shift 0.25\n"), "{text}");
    }

    #[test]
    fn parameters_are_checked() {
        let refused = |told: Products, name: &str| check_refused(told.generate(), name);
        refused(Products { rows: 1, ..small() }, "rows");
        refused(Products { rows: 2, support: 0.001, ..small() }, "rows");
        refused(Products { test_rows: 1 << 33, ..small() }, "test-rows");
        refused(Products { features: 0, ..small() }, "features");
        refused(Products { features: 1 << 33, ..small() }, "features");
        refused(Products { features: 20, ..small() }, "relevant");
        refused(Products { relevant: 0, ..small() }, "relevant");
        refused(Products { relevant: usize::MAX, ..small() }, "relevant");
        refused(Products { degree: 1, ..small() }, "degree");
        refused(Products { degree: 2000, ..small() }, "relevant");
        refused(Products { per_row: 0.0, ..small() }, "per-row");
        refused(Products { per_row: f64::NAN, ..small() }, "per-row");
        refused(Products { per_row: 7.2, ..small() }, "per-row");
        refused(Products { per_row: 503.0, ..small() }, "per-row");
        refused(Products { per_row: 1e5, features: 1_000_000, ..small() }, "per-row");
        refused(Products { skew: -1.0, ..small() }, "skew");
        refused(Products { skew: f64::INFINITY, ..small() }, "skew");
        refused(Products { support: 0.0, ..small() }, "support");
        refused(Products { support: 1e-9, ..small() }, "support");
        refused(Products { support: f64::NAN, ..small() }, "support");
        refused(Products { noise: 0.5, ..small() }, "noise");
        refused(Products { noise: -0.1, ..small() }, "noise");
        let least = Products { features: 3, relevant: 1, support: 0.1, per_row: 0.5, ..small() };
        assert!(least.generate().is_ok());
        let most = Products { support: 1.0, relevant: 1, ..small() };
        refused(most, "support");
    }
}
