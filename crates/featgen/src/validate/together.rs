//! Runs that read the same data: what each asks of all columns is answered with one reading.
//!
//! Every run has a seat, which is a storage like any other. Sums over many columns are not computed there but asked for; once all runs that
//! have not ended are waiting, one of them reads the data for all. A storage's sums with one vector have the same bits whichever other
//! vectors they are made with, so that a run finds what it would find alone.

use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::context::Context;
use crate::data::{Column, ColumnView, Columns, GoOn, Moments, Outputs};
use crate::error::Result;
use crate::parallel;

/// Columns that are asked about at a time, at most: their sums are kept for every run.
const ASKED: usize = 1 << 16;

/// What is asked about some columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Dots,
    Squares,
    Gains,
    Moments,
}

/// What one run asks: of a vector for each output, one after the other.
struct Question {
    kind: Kind,
    range: Range<usize>,
    v: Vec<f64>,
}

enum Answer {
    Sums(Vec<f64>),
    Moments(Vec<Moments>),
}

/// Where all runs are.
struct State {
    /// Runs that have not ended.
    live: usize,
    /// How many of them compute.
    at_work: usize,
    /// Whether somebody reads for the others.
    reading: bool,
    /// Whether a reading ended in a panic: then nobody will be answered.
    failed: bool,
    questions: Vec<Option<Question>>,
    answers: Vec<Option<Answer>>,
}

/// Data that several runs read together.
pub(super) struct Together<'a> {
    columns: &'a dyn Columns,
    /// The threads that read, and whether to end.
    context: &'a Context,
    /// Runs that may compute at a time.
    most: usize,
    state: Mutex<State>,
    changed: Condvar,
    largest: Mutex<Option<f64>>,
}

impl<'a> Together<'a> {
    /// For so many runs, which must all [begin](Self::begin): others wait for them.
    pub(super) fn new(columns: &'a dyn Columns, context: &'a Context, runs: usize) -> Self {
        let state = State {
            live: runs,
            at_work: 0,
            reading: false,
            failed: false,
            questions: (0..runs).map(|_| None).collect(),
            answers: (0..runs).map(|_| None).collect(),
        };
        let (state, most) = (Mutex::new(state), context.threads_in_use().max(1));
        Self { columns, context, most, state, changed: Condvar::new(), largest: Mutex::new(None) }
    }

    /// Threads for each of the runs.
    pub(super) fn threads_each(&self) -> usize {
        let runs = self.lock().questions.len().max(1);
        // The parts of long data are asked about in the same order by all, which only one thread does.
        if self.asked() < self.columns.len() { 1 } else { (self.most / runs).max(1) }
    }

    /// A place at the table, once there is a thread for it; what is left of it frees both.
    pub(super) fn begin(&self, place: usize) -> Seat<'_> {
        let mut state = self.lock();
        while state.at_work >= self.most {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.at_work += 1;
        Seat { together: self, place, asking: Mutex::new(()) }
    }

    /// A run that does not begin after all.
    pub(super) fn leave_out(&self) {
        self.lock().live -= 1;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Columns that a run asks about at a time: whole batches of the storage.
    fn asked(&self) -> usize {
        let batch = self.columns.batch().max(1);
        (ASKED / batch).max(1) * batch
    }

    /// Asks for one of the runs, and waits.
    fn answer(&self, place: usize, question: Question) -> Answer {
        let mut state = self.lock();
        state.questions[place] = Some(question);
        state.at_work -= 1;
        self.changed.notify_all();
        loop {
            assert!(!state.failed, "the data could not be read");
            if state.answers[place].is_some() && state.at_work < self.most {
                state.at_work += 1;
                return state.answers[place].take().expect("seen");
            }
            if !state.reading && state.all_wait() {
                state = self.read_for_all(state);
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn read_for_all<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let next = state.next();
        state.reading = true;
        drop(state);
        // Should reading panic, those who wait must not do so for ever.
        let guard = Reading(self);
        let (places, questions): (Vec<usize>, Vec<Question>) = next.into_iter().unzip();
        let answers = self.read(&questions);
        let mut state = self.lock();
        places.into_iter().zip(answers).for_each(|(place, answer)| state.answers[place] = Some(answer));
        std::mem::forget(guard);
        state.reading = false;
        self.changed.notify_all();
        state
    }

    /// What questions of the same kind about the same columns come to.
    fn read(&self, questions: &[Question]) -> Vec<Answer> {
        let Question { kind, range, .. } = &questions[0];
        let batch = self.columns.batch().max(1);
        let parts: Vec<Range<usize>> =
            range.clone().step_by(batch).map(|first| first..range.end.min(first + batch)).collect();
        // Whatever comes of a reading that was told to end, nobody uses it.
        let go_on = || !self.context.is_interrupted();
        let read = || match kind {
            Kind::Moments => {
                let of = |k: usize| {
                    let part = &parts[k];
                    let one = |question: &Question| self.columns.moments(part.clone(), &question.v);
                    go_on().then(|| questions.iter().map(one).collect::<Vec<_>>())
                };
                let mut answers: Vec<Vec<Moments>> = questions.iter().map(|_| Vec::new()).collect();
                for read in parallel::map(parts.len(), of).into_iter().flatten() {
                    answers.iter_mut().zip(read).for_each(|(answer, read)| answer.extend(read));
                }
                answers.into_iter().map(Answer::Moments).collect()
            }
            Kind::Dots | Kind::Squares | Kind::Gains => {
                let joint = Joint::new(*kind, questions, self.columns.rows());
                let laid = Outputs::new(&joint.v, self.columns.rows());
                let of = |k: usize| {
                    let part = go_on().then(|| parts[k].clone())?;
                    let mut sums = vec![0.0; joint.lines * part.len()];
                    match kind {
                        Kind::Dots => self.columns.dots_with(part.clone(), &laid, &mut sums),
                        Kind::Squares => self.columns.square_dots(part.clone(), &joint.v, &mut sums),
                        _ => self.columns.gain_dots(part.clone(), &laid, &mut sums),
                    }
                    Some((part.start - range.start, sums))
                };
                let read = parallel::map(parts.len(), of).into_iter().flatten();
                joint.answers(range.len(), &read.collect::<Vec<_>>())
            }
        };
        self.context.run(read).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl State {
    fn all_wait(&self) -> bool {
        self.live > 0 && self.questions.iter().flatten().count() == self.live
    }

    /// The questions to be answered next: those about the first columns, for who is further waits for the others; of one kind.
    fn next(&mut self) -> Vec<(usize, Question)> {
        let key = |question: &Question| (question.range.start, question.range.end, question.kind as u8);
        let Some(first) = self.questions.iter().flatten().map(key).min() else { return Vec::new() };
        let own =
            |question: &Option<Question>| question.as_ref().is_some_and(|question| key(question) == first);
        let places = 0..self.questions.len();
        let chosen: Vec<usize> = places.filter(|&place| own(&self.questions[place])).collect();
        chosen.into_iter().filter_map(|place| Some((place, self.questions[place].take()?))).collect()
    }
}

/// Says that reading failed, unless it is forgotten.
struct Reading<'a>(&'a Together<'a>);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.lock().failed = true;
        self.0.changed.notify_all();
    }
}

/// The vectors of several questions as those of one.
struct Joint {
    v: Vec<f64>,
    /// Sums for each column.
    lines: usize,
    /// Which of them answer each question.
    of: Vec<Vec<usize>>,
}

impl Joint {
    fn new(kind: Kind, questions: &[Question], rows: usize) -> Self {
        // Gains have residuals and as many curvatures, of which there are further sums.
        let (halves, kinds) = if kind == Kind::Gains { (2, 3) } else { (1, 1) };
        let outputs: Vec<usize> = questions.iter().map(|q| q.v.len() / (halves * rows.max(1))).collect();
        let all: usize = outputs.iter().sum();
        let half = |k: usize| {
            questions.iter().map(move |q| &q.v[k * q.v.len() / halves..(k + 1) * q.v.len() / halves])
        };
        let v = (0..halves).flat_map(half).flatten().copied().collect();
        let mut first = 0;
        let lines = |outputs: &usize| {
            let own = (0..kinds).flat_map(|k| k * all + first..k * all + first + outputs).collect();
            first += outputs;
            own
        };
        let of = outputs.iter().map(lines).collect();
        Self { v, lines: kinds * all, of }
    }

    /// The sums of every question, given those of parts of the columns by where they begin.
    fn answers(&self, columns: usize, parts: &[(usize, Vec<f64>)]) -> Vec<Answer> {
        let answer = |lines: &Vec<usize>| {
            let mut sums = vec![0.0; lines.len() * columns];
            for (first, part) in parts {
                let width = part.len() / self.lines;
                for (line, own) in lines.iter().zip(sums.chunks_exact_mut(columns)) {
                    own[*first..first + width].copy_from_slice(&part[line * width..(line + 1) * width]);
                }
            }
            Answer::Sums(sums)
        };
        self.of.iter().map(answer).collect()
    }
}

/// The data as one of the runs sees them.
pub(super) struct Seat<'a> {
    together: &'a Together<'a>,
    place: usize,
    /// A run asks one question at a time.
    asking: Mutex<()>,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut state = self.together.lock();
        state.live -= 1;
        state.at_work = state.at_work.saturating_sub(1);
        self.together.changed.notify_all();
    }
}

impl Seat<'_> {
    /// Whether so few columns are better looked at at once.
    fn is_little(&self, range: &Range<usize>) -> bool {
        range.len() <= self.together.columns.batch()
    }

    fn ask(&self, kind: Kind, range: Range<usize>, v: &[f64]) -> Answer {
        let _one = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        self.together.answer(self.place, Question { kind, range, v: v.to_vec() })
    }

    fn sums(&self, kind: Kind, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        if let Answer::Sums(sums) = self.ask(kind, range, v) {
            out.copy_from_slice(&sums);
        }
    }
}

impl Columns for Seat<'_> {
    fn rows(&self) -> usize {
        self.together.columns.rows()
    }

    fn len(&self) -> usize {
        self.together.columns.len()
    }

    fn dimension(&self) -> u64 {
        self.together.columns.dimension()
    }

    fn nonzeros(&self) -> u64 {
        self.together.columns.nonzeros()
    }

    fn id(&self, position: usize) -> u64 {
        self.together.columns.id(position)
    }

    fn position(&self, id: u64) -> Option<usize> {
        self.together.columns.position(id)
    }

    fn batch(&self) -> usize {
        self.together.asked()
    }

    fn dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        match self.is_little(&range) {
            true => self.together.columns.dots(range, v, out),
            false => self.sums(Kind::Dots, range, v, out),
        }
    }

    fn dots_with(&self, range: Range<usize>, v: &Outputs<'_>, out: &mut [f64]) {
        match self.is_little(&range) {
            true => self.together.columns.dots_with(range, v, out),
            false => self.sums(Kind::Dots, range, v.by_output(), out),
        }
    }

    fn square_dots(&self, range: Range<usize>, v: &[f64], out: &mut [f64]) {
        match self.is_little(&range) {
            true => self.together.columns.square_dots(range, v, out),
            false => self.sums(Kind::Squares, range, v, out),
        }
    }

    fn gain_dots(&self, range: Range<usize>, both: &Outputs<'_>, out: &mut [f64]) {
        match self.is_little(&range) {
            true => self.together.columns.gain_dots(range, both, out),
            false => self.sums(Kind::Gains, range, both.by_output(), out),
        }
    }

    fn moments(&self, range: Range<usize>, weights: &[f64]) -> Vec<Moments> {
        if self.is_little(&range) {
            return self.together.columns.moments(range, weights);
        }
        match self.ask(Kind::Moments, range, weights) {
            Answer::Moments(moments) => moments,
            Answer::Sums(_) => Vec::new(),
        }
    }

    fn gather(&self, positions: &[usize]) -> Vec<Column> {
        self.together.columns.gather(positions)
    }

    fn visit(&self, range: Range<usize>, each: &mut dyn FnMut(usize, ColumnView<'_>)) {
        self.together.columns.visit(range, each);
    }

    fn visit_bytes(&self) -> u64 {
        self.together.columns.visit_bytes()
    }

    fn laid_bytes(&self, outputs: usize) -> u64 {
        self.together.columns.laid_bytes(outputs)
    }

    fn filled(&self, position: usize) -> usize {
        self.together.columns.filled(position)
    }

    fn bytes_by_rows(&self) -> u64 {
        self.together.columns.bytes_by_rows()
    }

    fn value_bytes(&self) -> u64 {
        self.together.columns.value_bytes()
    }

    fn all_ones(&self) -> bool {
        self.together.columns.all_ones()
    }

    /// The same for all runs: the first that asks reads it.
    fn largest(&self, go_on: GoOn<'_>) -> Result<f64> {
        let mut known = self.together.largest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(largest) = *known {
            return Ok(largest);
        }
        let largest = self.together.context.run(|| self.together.columns.largest(go_on))??;
        Ok(*known.insert(largest))
    }
}
