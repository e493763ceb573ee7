//! Who may be chosen: all candidates of a space or, where it is proven that only a few matter, those few with their columns at hand.

use std::collections::{HashMap, HashSet};

use crate::error::Result;
use crate::kernels;
use crate::operator::Operator;
use crate::parallel;
use crate::space::{Ask, Candidate, FeatureSpace, Fresh, Precision, Scored, SquaresAtMost};

/// Candidates by number, in the order in which they were met.
pub(super) struct Candidates<'a> {
    pub(super) space: &'a dyn FeatureSpace,
    precision: Precision,
    outputs: usize,
    list: Vec<Candidate>,
    numbers: HashMap<Candidate, u32>,
    /// Those whose columns are at hand, by number.
    held: HashMap<u32, Held>,
    /// Bytes that they may take.
    room: u64,
}

/// The columns of a candidate.
struct Held {
    columns: Vec<Operator>,
    /// What each column counts times.
    scales: Vec<f64>,
}

/// The best by score.
pub(super) struct Scores {
    /// By number, the best first.
    pub(super) best: Vec<Scored<u32>>,
    /// How large the square of any score may be without rounding.
    pub(super) most: SquaresAtMost,
    /// What the square of a candidate that is not listed is at most, if it matters.
    pub(super) rest: f64,
}

impl<'a> Candidates<'a> {
    /// All of a space, of whose columns some may be held in so many bytes.
    pub(super) fn new(space: &'a dyn FeatureSpace, outputs: usize, room: u64) -> Result<Self> {
        let (list, numbers, held) = (Vec::new(), HashMap::new(), HashMap::new());
        Ok(Self { space, precision: space.precision()?, outputs, list, numbers, held, room })
    }

    /// The number of a candidate.
    pub(super) fn number(&mut self, candidate: &Candidate) -> u32 {
        if let Some(&number) = self.numbers.get(candidate) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push(candidate.clone());
        self.numbers.insert(candidate.clone(), number);
        number
    }

    /// The candidate of that number.
    pub(super) fn named(&self, number: u32) -> &Candidate {
        &self.list[number as usize]
    }

    /// How many candidates may be at hand with their columns.
    fn most_held(&self) -> usize {
        let data = self.space.data();
        let full = 8 * data.rows() as u64;
        let mean = 12 * data.nonzeros() / data.dimension().max(1) + 64;
        (self.room / mean.min(full).max(1)) as usize
    }

    /// Gets the columns of these. Says whether there is room for them.
    pub(super) fn hold(&mut self, numbers: &[u32]) -> Result<bool> {
        let new: Vec<u32> =
            numbers.iter().copied().filter(|number| !self.held.contains_key(number)).collect();
        if self.held.len() + new.len() > self.most_held() {
            return Ok(false);
        }
        for number in new {
            let group = self.space.group(self.named(number))?;
            let held = Held { scales: group.scales(), columns: self.space.generate(&group.features)? };
            self.held.insert(number, held);
        }
        Ok(true)
    }

    /// All whose square may be above `cut`, with what it is at most, the best first; `None` if they are too many to be held.
    pub(super) fn above(&mut self, v: &[f64], cut: f64) -> Result<Option<Vec<(u32, f64)>>> {
        let (none, room) = (HashSet::new(), self.most_held());
        let ask = Ask::many(v, self.outputs, 1, &none);
        let most = SquaresAtMost::new(&ask, self.precision);
        let above = most.score_within(cut);
        let found =
            self.space.worst_case(&Ask { fresh: Some(Fresh { most: room + 1, above }), ..ask })?.fresh;
        let found: Vec<Scored<Candidate>> = found.into_iter().filter(|scored| scored.score > above).collect();
        if found.len() > room {
            return Ok(None);
        }
        let numbered = |scored: &Scored<Candidate>| (self.number(&scored.item), most.of(scored.score));
        Ok(Some(found.iter().map(numbered).collect()))
    }

    /// The `count` best by score for these residuals; what is not among them has no larger score. Where only some matter, whose columns
    /// are at hand, all of these.
    pub(super) fn best(&mut self, v: &[f64], members: Option<&[u32]>, count: usize) -> Result<Scores> {
        let none = HashSet::new();
        let ask = Ask::many(v, self.outputs, count, &none);
        let most = SquaresAtMost::new(&ask, self.precision);
        if let Some(members) = members {
            let rows = self.space.data().rows();
            let score = |k: usize| Scored { score: self.held[&members[k]].score(v, rows), item: members[k] };
            let mut best: Vec<Scored<u32>> = parallel::map_runs(members.len(), 8, score);
            best.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.item.cmp(&b.item)));
            return Ok(Scores { best, most, rest: 0.0 });
        }
        let found = self.space.worst_case(&ask)?;
        let rest = most.of(found.rest(count));
        let numbered =
            |scored: &Scored<Candidate>| Scored { score: scored.score, item: self.number(&scored.item) };
        Ok(Scores { best: found.best.iter().map(numbered).collect(), most, rest })
    }
}

impl Held {
    /// The length of its vector of sums with the residuals of so many instances, output after output.
    fn score(&self, v: &[f64], rows: usize) -> f64 {
        let one = |v: &[f64]| {
            let sums = self.columns.iter().flat_map(|x| x.transpose(v));
            let scaled: Vec<f64> = sums.zip(&self.scales).map(|(c, scale)| c * scale).collect();
            kernels::dot(&scaled, &scaled)
        };
        v.chunks_exact(rows.max(1)).map(one).sum::<f64>().sqrt()
    }
}
