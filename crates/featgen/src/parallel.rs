//! Loops that threads share. How parts of the work find threads is compiled once, and not again for everything that is done in them.
//!
//! What a loop gives depends neither on the number of threads nor on which of them does what: results are in the order of their numbers, and
//! of several errors the first one is returned.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is done with a chunk, given its number.
type TryChunk<'a, T, E> = dyn Fn(usize, &mut [T]) -> Result<(), E> + Sync + 'a;

/// Calls `each` with every number below `count`, in any order.
pub(crate) fn for_each(count: usize, each: &(dyn Fn(usize) + Sync)) {
    halves(0..count, each);
}

fn halves(numbers: Range<usize>, each: &(dyn Fn(usize) + Sync)) {
    match numbers.len() {
        0 => {}
        1 => each(numbers.start),
        many => {
            let middle = numbers.start + many / 2;
            rayon::join(|| halves(numbers.start..middle, each), || halves(middle..numbers.end, each));
        }
    }
}

/// Does both, at the same time where there are threads for it.
pub(crate) fn beside(one: &(dyn Fn() + Sync), other: &mut (dyn FnMut() + Send)) {
    rayon::join(one, other);
}

/// Calls `each` with the number of every chunk of so many values, and with the chunk.
pub(crate) fn chunks_mut<T: Send>(values: &mut [T], size: usize, each: &(dyn Fn(usize, &mut [T]) + Sync)) {
    if values.len() <= size {
        if !values.is_empty() {
            each(0, values);
        }
        return;
    }
    let chunks: Vec<Mutex<&mut [T]>> = values.chunks_mut(size).map(Mutex::new).collect();
    for_each(chunks.len(), &|k| each(k, &mut lock(&chunks[k])));
}

/// The same where `each` may fail.
pub(crate) fn try_chunks_mut<T: Send, E: Send>(
    values: &mut [T],
    size: usize,
    each: &TryChunk<'_, T, E>,
) -> Result<(), E> {
    let failed = Failed::default();
    chunks_mut(values, size, &|k, chunk| failed.note(k, || each(k, chunk)));
    failed.first()
}

/// What `each` makes of every number below `count`.
pub(crate) fn map<T: Send>(count: usize, each: impl Fn(usize) -> T + Sync) -> Vec<T> {
    map_runs(count, 1, each)
}

/// The same where each takes so little time that one thread had better do `run` neighbours.
pub(crate) fn map_runs<T: Send>(count: usize, run: usize, each: impl Fn(usize) -> T + Sync) -> Vec<T> {
    in_runs(count, run, &|numbers| numbers.map(&each).collect())
}

/// What `each` makes of every one of these, which it is given to keep.
pub(crate) fn map_into<S: Send, T: Send>(given: Vec<S>, each: impl Fn(S) -> T + Sync) -> Vec<T> {
    let given: Vec<Mutex<Option<S>>> = given.into_iter().map(|one| Mutex::new(Some(one))).collect();
    map(given.len(), |k| each(lock(&given[k]).take().expect("every number comes once")))
}

/// What `each` makes of every number below `count`, unless it fails.
pub(crate) fn try_map<T: Send, E: Send>(
    count: usize,
    each: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let failed = Failed::default();
    let made = in_runs(count, 1, &|numbers| {
        let mut made = Vec::with_capacity(1);
        numbers.for_each(|k| failed.note(k, || each(k).map(|one| made.push(one))));
        made
    });
    failed.first().map(|()| made)
}

/// What `make` makes of runs of so many numbers below `count`, one after the other.
fn in_runs<T: Send>(count: usize, run: usize, make: &(dyn Fn(Range<usize>) -> Vec<T> + Sync)) -> Vec<T> {
    if count <= run {
        return make(0..count);
    }
    let made: Vec<Mutex<Vec<T>>> = (0..count.div_ceil(run)).map(|_| Mutex::default()).collect();
    for_each(made.len(), &|k| *lock(&made[k]) = make(k * run..count.min((k + 1) * run)));
    let mut all = Vec::with_capacity(count);
    made.into_iter()
        .for_each(|part| all.append(&mut part.into_inner().unwrap_or_else(PoisonError::into_inner)));
    all
}

/// All that `each` makes of the numbers below `count`, merged; nothing if there are none. What is merged are neighbours, in their order,
/// so that it must not matter which neighbours are merged first.
pub(crate) fn reduce<T: Send, E: Send>(
    count: usize,
    each: impl Fn(usize) -> Result<T, E> + Sync,
    merge: impl Fn(T, T) -> T + Sync,
) -> Result<Option<T>, E> {
    let (failed, merged) = (Failed::default(), Merged::default());
    for_each(count, &|k| failed.note(k, || each(k).map(|one| merged.add(k, one, &merge))));
    failed.first().map(|()| merged.into_whole())
}

/// The same of all chunks of so many values.
pub(crate) fn reduce_chunks_mut<T: Send, R: Send, E: Send>(
    values: &mut [T],
    size: usize,
    each: impl Fn(usize, &mut [T]) -> Result<R, E> + Sync,
    merge: impl Fn(R, R) -> R + Sync,
) -> Result<Option<R>, E> {
    let chunks: Vec<Mutex<&mut [T]>> = values.chunks_mut(size).map(Mutex::new).collect();
    reduce(chunks.len(), |k| each(k, &mut lock(&chunks[k])), merge)
}

/// The first of the numbers at which something failed, and why.
struct Failed<E> {
    first: AtomicUsize,
    error: Mutex<Option<E>>,
}

impl<E> Default for Failed<E> {
    fn default() -> Self {
        Self { first: AtomicUsize::new(usize::MAX), error: Mutex::default() }
    }
}

impl<E> Failed<E> {
    /// Does the work of a number, unless it comes after one that failed.
    fn note(&self, number: usize, work: impl FnOnce() -> Result<(), E>) {
        if self.first.load(Ordering::Relaxed) < number {
            return;
        }
        if let Err(error) = work() {
            let mut held = lock(&self.error);
            if self.first.fetch_min(number, Ordering::Relaxed) > number {
                *held = Some(error);
            }
        }
    }

    fn first(self) -> Result<(), E> {
        self.error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// What was made of runs of numbers that are not neighbours yet: by where they begin, where they end, and what was made.
struct Merged<T>(Mutex<BTreeMap<usize, (usize, T)>>);

impl<T> Default for Merged<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Merged<T> {
    /// Adds what was made of one number, and merges it with its neighbours that are there.
    fn add(&self, number: usize, one: T, merge: &dyn Fn(T, T) -> T) {
        let (mut begin, mut end, mut own) = (number, number + 1, one);
        loop {
            let mut runs = lock(&self.0);
            let before =
                runs.range(..begin).next_back().filter(|(_, run)| run.0 == begin).map(|(&first, _)| first);
            // Others go on while these two are merged.
            if let Some((first, (_, other))) = before.and_then(|first| runs.remove_entry(&first)) {
                drop(runs);
                (begin, own) = (first, merge(other, own));
            } else if let Some((last, other)) = runs.remove(&end) {
                drop(runs);
                (end, own) = (last, merge(own, other));
            } else {
                runs.insert(begin, (end, own));
                return;
            }
        }
    }

    fn into_whole(self) -> Option<T> {
        let mut runs = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        runs.pop_first().map(|(_, (_, whole))| whole)
    }
}

/// A panic elsewhere ends the loop anyhow.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Context;
    use crate::error::Error;

    fn on_threads<T: Send>(work: impl Fn() -> T + Send + Sync) -> [T; 2] {
        [1, 3].map(|threads| Context::new().threads(threads).run(&work).unwrap())
    }

    #[test]
    fn results_are_in_order() {
        for count in [0, 1, 2, 7, 1000] {
            let squares: Vec<usize> = (0..count).map(|k| k * k).collect();
            for made in on_threads(|| (map(count, |k| k * k), map_runs(count, 16, |k| k * k))) {
                assert_eq!((&made.0, &made.1), (&squares, &squares));
            }
            let text =
                on_threads(|| reduce(count, |k| Ok::<_, Error>(format!("{k} ")), |a, b| a + &b).unwrap());
            let expected: String = (0..count).map(|k| format!("{k} ")).collect();
            assert_eq!(text, [(); 2].map(|()| (count > 0).then(|| expected.clone())));
            for values in on_threads(|| {
                let mut values = vec![0; count];
                chunks_mut(&mut values, 7, &|k, chunk| chunk.iter_mut().for_each(|x| *x += k + 1));
                values
            }) {
                assert_eq!(values, (0..count).map(|i| i / 7 + 1).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_first_error_is_returned() {
        let bad = |k: usize| if k % 100 == 57 { Err(Error::Data(k.to_string())) } else { Ok(k) };
        for error in on_threads(|| try_map(1000, bad).unwrap_err().to_string()) {
            assert_eq!(error, Error::Data("57".into()).to_string());
        }
        for error in on_threads(|| reduce(1000, bad, |a, _| a).unwrap_err().to_string()) {
            assert_eq!(error, Error::Data("57".into()).to_string());
        }
        for error in on_threads(|| {
            try_chunks_mut(&mut [0; 1000], 1, &|k, _| bad(k).map(|_| ())).unwrap_err().to_string()
        }) {
            assert_eq!(error, Error::Data("57".into()).to_string());
        }
    }
}
