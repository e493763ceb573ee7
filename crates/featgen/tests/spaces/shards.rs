//! Parts of a space that are asked one by one, or elsewhere, and what they answer together.

use std::collections::HashSet;

use featgen::LinearSpace;
use featgen::data::{Sparse, Values};
use featgen::space::{
    AdditiveSpace, Ask, Candidate, Feature, FeatureSpace, Fresh, Inputs, PolySpace, ProductSpace, Scored,
    WorstCase,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::integers;

const ROWS: usize = 30;
const COLUMNS: usize = 40;

/// Those of the columns whose ids are told.
fn some(columns: &[Vec<f64>], ids: impl Iterator<Item = usize>) -> Sparse {
    let (mut kept, mut pointers, mut rows, mut values) = (Vec::new(), vec![0], Vec::new(), Vec::new());
    for j in ids {
        for (i, &x) in columns[j].iter().enumerate().filter(|(_, x)| **x != 0.0) {
            rows.push(i as u32);
            values.push(x);
        }
        kept.push(j as u64);
        pointers.push(rows.len() as u64);
    }
    Sparse::new(ROWS, COLUMNS as u64, kept, pointers, rows, Values::F64(values)).unwrap()
}

/// The same after it was written and read again.
fn sent<T: serde::Serialize, S: serde::de::DeserializeOwned>(told: &T) -> S {
    serde_json::from_str(&serde_json::to_string(told).unwrap()).unwrap()
}

/// Columns in shards that are asked in writing, and whose answers come in writing: together they say what the whole says. Integers,
/// so that many columns tie, within shards and between them.
#[test]
fn shards_together_are_the_whole() {
    let rng = &mut ChaCha8Rng::seed_from_u64(21);
    let columns: Vec<Vec<f64>> = (0..COLUMNS).map(|_| integers(rng, ROWS, 1, 0.7)).collect();
    for (shards, outputs, share) in [(1, 1, 0.0), (2, 1, 0.3), (3, 2, 0.0), (3, 5, 0.5), (COLUMNS, 2, 0.5)] {
        let v = integers(rng, outputs * ROWS, 2, 0.5);
        let mut taken: HashSet<Candidate> =
            (0..COLUMNS as u64).map(|id| Candidate::Feature(Feature::input(id))).collect();
        taken.retain(|_| rng.random_bool(share));
        let (all, parts) = (some(&columns, 0..COLUMNS), 0..shards);
        let parts: Vec<Sparse> =
            parts.map(|s| some(&columns, (0..COLUMNS).filter(move |j| j % shards == s))).collect();
        for budget in [0, 1, 2, 7, COLUMNS + 5] {
            let ask = Ask::many(&v, outputs, budget, &taken);
            let whole = LinearSpace::over(&all).worst_case(&ask).unwrap();
            let asked: Ask<'static> = sent(&ask);
            assert_eq!(asked, ask);
            let answer = |part| -> WorstCase { sent(&LinearSpace::over(part).worst_case(&asked).unwrap()) };
            let together = parts.iter().map(|part| answer(part)).reduce(|a, b| b.merge(a, &asked)).unwrap();
            assert_eq!(together, whole, "{shards} shards, {outputs} outputs, budget {budget}");
        }
    }
}

/// The answers of all spaces can be sent, to the bit.
#[test]
fn answers_of_all_spaces_can_be_sent() {
    let rng = &mut ChaCha8Rng::seed_from_u64(22);
    let value = |rng: &mut ChaCha8Rng| if rng.random_bool(0.5) { 0.0 } else { rng.random_range(0.1..1.0) };
    let columns: Vec<Vec<f64>> = (0..COLUMNS).map(|_| (0..ROWS).map(|_| value(rng)).collect()).collect();
    let (stored, none) = (some(&columns, 0..COLUMNS), HashSet::new());
    let v: Vec<f64> = (0..2 * ROWS).map(|_| rng.random_range(-1.0..1.0)).collect();
    let inputs = Inputs::over(&stored);
    let spaces: [Box<dyn FeatureSpace + '_>; 4] = [
        Box::new(LinearSpace::over(&stored)),
        Box::new(PolySpace::new(inputs, 0.3, 1.0).unwrap()),
        Box::new(ProductSpace::new(inputs, 3).unwrap()),
        Box::new(AdditiveSpace::gaussian(inputs, None).unwrap()),
    ];
    for space in spaces {
        let answer = space.worst_case(&Ask::many(&v, 2, 9, &none)).unwrap();
        assert_eq!((sent::<_, WorstCase>(&answer), answer.best.len()), (answer.clone(), 9));
    }
}

/// What is equal goes by the smaller candidate, wherever it comes from.
#[test]
fn ties_between_answers_go_to_the_smaller_candidate() {
    let scored = |id: u64, score: f64| Scored { score, item: Candidate::Feature(Feature::input(id)) };
    let answer = |list: &[Scored<Candidate>]| WorstCase {
        best: list.to_vec(),
        fresh: list[1..].to_vec(),
        scored: 3,
        ..WorstCase::default()
    };
    let (a, b) = (answer(&[scored(5, 2.0), scored(1, 1.0)]), answer(&[scored(3, 2.0), scored(0, 1.0)]));
    let none = HashSet::new();
    let ask = Ask::one(&[], 3, &none);
    for together in [a.clone().merge(b.clone(), &ask), b.clone().merge(a.clone(), &ask)] {
        assert_eq!(together.best, [scored(3, 2.0), scored(5, 2.0), scored(0, 1.0)]);
        assert_eq!((together.fresh, together.scored), (vec![scored(0, 1.0), scored(1, 1.0)], 6));
    }
    let few = a.merge(b, &ask.with_fresh(Fresh { most: 1, above: 0.0 }));
    assert_eq!((few.best.len(), few.fresh), (3, vec![scored(0, 1.0)]));
}
