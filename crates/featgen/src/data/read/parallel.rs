//! Text parsed on all threads, chunk by chunk: each takes the next one as soon as it has parsed one, so that none waits for
//! another. What has to be decompressed, or comes through a pipe, is read meanwhile by a thread of its own.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::Scope;

use super::source::{Chunk, Chunks};
use crate::context::no_threads;
use crate::error::{Error, Result};

/// Parts for each thread: while one is handed on, other threads can go on parsing.
const PARTS: usize = 2;

/// What gets parsed parts with their chunks.
type HandOn<'a, P, E> = dyn FnMut(&mut [P], &[Chunk]) -> Result<(), E> + 'a;

/// Parses chunks on as many threads as the current pool has, each into a part, which is used again. `each` gets parsed parts with
/// their chunks, in order and as soon as they are there; what cannot be read ends it once all before was handed on.
pub(super) fn for_each_chunk<P: Default + Send, E: From<Error>>(
    mut cutter: Chunks,
    parse: &(dyn Fn(&mut P, &Chunk) + Sync),
    each: &mut HandOn<'_, P, E>,
) -> Result<(), E> {
    let threads = rayon::current_num_threads();
    if cutter.is_at_hand() {
        let next: Next<'_> = Box::new(move |buffer| cutter.next(buffer).transpose());
        return Belt::new(next, parse, threads, threads - 1).run(true, each);
    }
    let (full, chunks) = mpsc::sync_channel(threads);
    let (recycle, empty) = mpsc::channel::<Vec<u8>>();
    std::thread::scope(|scope| {
        let read_on = move || {
            while let Some(chunk) = cutter.next(empty.try_recv().unwrap_or_default()).transpose() {
                let failed = chunk.is_err();
                // The receiver leaves at the first error: nothing more is to be read then.
                if full.send(chunk).is_err() || failed {
                    break;
                }
            }
        };
        std::thread::Builder::new().spawn_scoped(scope, read_on).map_err(|e| no_threads(&e))?;
        let next: Next<'_> = Box::new(move |buffer| {
            // Refused once all is read.
            drop(recycle.send(buffer));
            chunks.recv().ok()
        });
        // Whoever hands on must not wait for more to come while others parse: somebody may wait for an answer.
        let alone = threads == 1;
        let helpers = if alone { 0 } else { threads };
        Belt::new(next, parse, threads, helpers).run(alone, each)
    })
}

/// Yields chunks, and is given memory to be used again.
type Next<'b> = Box<dyn FnMut(Vec<u8>) -> Option<Result<Chunk>> + Send + 'b>;

/// What threads share. It is compiled once for a kind of parts, whatever is done with them.
struct Belt<'b, P> {
    input: Mutex<Input<'b>>,
    parse: &'b (dyn Fn(&mut P, &Chunk) + Sync),
    line: Mutex<Line<P>>,
    /// Something was parsed.
    arrived: Condvar,
    /// Parts can be used again, or nothing more is to be parsed.
    freed: Condvar,
}

/// Where chunks come from.
struct Input<'b> {
    next: Next<'b>,
    taken: usize,
    ended: bool,
}

/// What became of a chunk.
enum Parsed<P> {
    Part(P, Chunk),
    Failure(Error),
    End,
}

/// What is parsed waits here until all before it was handed on.
struct Line<P> {
    /// From number `due` on; `None` for what is still being parsed.
    parsed: VecDeque<Option<Parsed<P>>>,
    due: usize,
    /// Parts that are not in use, with memory for a chunk.
    free: Vec<(P, Vec<u8>)>,
    /// How many parts may still be made.
    more: usize,
    /// How many threads may still be called to help the one that hands on.
    helpers: usize,
    /// Whether nothing more is to be parsed.
    closed: bool,
    /// Whether what is due will never come, for a thread panicked.
    broken: bool,
}

/// What the thread that hands on is to do next.
enum Step<P> {
    HandOn(Vec<P>, Vec<Chunk>),
    Parse(P, Vec<u8>),
    Fail(Error),
    End,
}

impl<P: Default> Line<P> {
    /// A part to parse into, if more is to be parsed.
    fn part(&mut self) -> Option<(P, Vec<u8>)> {
        if self.closed {
            return None;
        }
        if self.free.is_empty() && self.more > 0 {
            self.more -= 1;
            return Some(Default::default());
        }
        self.free.pop()
    }

    /// Whether one more thread is to be called; then it counts as called.
    fn needs_helper(&mut self) -> bool {
        let needed = self.helpers > 0 && !self.closed;
        self.helpers -= usize::from(needed);
        needed
    }

    fn put(&mut self, number: usize, parsed: Parsed<P>) {
        self.closed |= !matches!(parsed, Parsed::Part(..));
        let at = number - self.due;
        if self.parsed.len() <= at {
            self.parsed.resize_with(at + 1, || None);
        }
        self.parsed[at] = Some(parsed);
    }

    /// Takes all that is due and there, as far as it could be read; else the reason why there is no more.
    fn due(&mut self) -> Option<Step<P>> {
        let (mut parts, mut chunks) = (Vec::new(), Vec::new());
        while let Some(Some(Parsed::Part(..))) = self.parsed.front() {
            if let Some(Some(Parsed::Part(part, chunk))) = self.parsed.pop_front() {
                parts.push(part);
                chunks.push(chunk);
            }
        }
        self.due += parts.len();
        if !parts.is_empty() {
            return Some(Step::HandOn(parts, chunks));
        }
        if self.broken {
            return Some(Step::End);
        }
        match self.parsed.front_mut()?.take()? {
            Parsed::Failure(error) => Some(Step::Fail(error)),
            _ => Some(Step::End),
        }
    }
}

impl<'b, P: Default + Send> Belt<'b, P> {
    fn new(
        next: Next<'b>,
        parse: &'b (dyn Fn(&mut P, &Chunk) + Sync),
        threads: usize,
        helpers: usize,
    ) -> Self {
        let (parsed, free) = (VecDeque::new(), Vec::new());
        let (more, closed, broken) = (PARTS * threads, false, false);
        let line = Line { parsed, due: 0, free, more, helpers, closed, broken };
        Self {
            input: Mutex::new(Input { next, taken: 0, ended: false }),
            parse,
            line: Mutex::new(line),
            arrived: Condvar::new(),
            freed: Condvar::new(),
        }
    }

    /// Parses all and hands it on. `parses` says whether the current thread parses while nothing is due.
    fn run<E: From<Error>>(&self, parses: bool, each: &mut HandOn<'_, P, E>) -> Result<(), E> {
        std::thread::scope(|scope| {
            let _closing = Closing(self);
            if !parses {
                self.call_helper(scope)?;
            }
            loop {
                match self.step(parses) {
                    Step::HandOn(mut parts, chunks) => {
                        each(&mut parts, &chunks)?;
                        let buffers = chunks.into_iter().map(Chunk::into_buffer);
                        self.line().free.extend(parts.into_iter().zip(buffers));
                        self.freed.notify_all();
                    }
                    Step::Parse(part, buffer) => self.parse_next(scope, part, buffer),
                    Step::Fail(error) => return Err(error.into()),
                    Step::End => return Ok(()),
                }
            }
        })
    }

    fn line(&self) -> MutexGuard<'_, Line<P>> {
        self.line.lock().expect("no thread panicked")
    }

    /// What is to be done next, as soon as there is something.
    fn step(&self, parses: bool) -> Step<P> {
        let mut line = self.line();
        loop {
            if let Some(step) = line.due() {
                return step;
            }
            if let Some((part, buffer)) = parses.then(|| line.part()).flatten() {
                return Step::Parse(part, buffer);
            }
            line = self.arrived.wait(line).expect("no thread panicked");
        }
    }

    /// Parses the next chunk. Each of the first ones calls one more thread: a short text needs no others.
    fn parse_next<'s>(&'s self, scope: &'s Scope<'s, '_>, mut part: P, buffer: Vec<u8>) {
        let (number, chunk) = self.input.lock().expect("no thread panicked").take(buffer);
        let parsed = match chunk {
            None => Parsed::End,
            Some(Err(error)) => Parsed::Failure(error),
            Some(Ok(chunk)) => {
                // One that does not start is not missed.
                let _ = self.call_helper(scope);
                (self.parse)(&mut part, &chunk);
                Parsed::Part(part, chunk)
            }
        };
        self.line().put(number, parsed);
        self.arrived.notify_one();
    }

    fn call_helper<'s>(&'s self, scope: &'s Scope<'s, '_>) -> Result<()> {
        if !self.line().needs_helper() {
            return Ok(());
        }
        let help = || {
            let _closing = Closing(self);
            while let Some((part, buffer)) = self.free_part() {
                self.parse_next(scope, part, buffer);
            }
        };
        std::thread::Builder::new().spawn_scoped(scope, help).map_err(|e| no_threads(&e))?;
        Ok(())
    }

    /// A part to parse into, as soon as there is one; `None` if nothing more is to be parsed.
    fn free_part(&self) -> Option<(P, Vec<u8>)> {
        let mut line = self.line();
        while !line.closed {
            if let Some(part) = line.part() {
                return Some(part);
            }
            line = self.freed.wait(line).expect("no thread panicked");
        }
        None
    }
}

impl Input<'_> {
    /// The next chunk, if there is one, and its number.
    fn take(&mut self, buffer: Vec<u8>) -> (usize, Option<Result<Chunk>>) {
        let chunk = if self.ended { None } else { (self.next)(buffer) };
        self.ended = !matches!(chunk, Some(Ok(_)));
        let number = self.taken;
        self.taken += usize::from(chunk.is_some());
        (number, chunk)
    }
}

/// A thread that leaves, be it by a panic, lets no other wait for it.
struct Closing<'a, 'b, P>(&'a Belt<'b, P>);

impl<P> Drop for Closing<'_, '_, P> {
    fn drop(&mut self) {
        let mut line = self.0.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.closed = true;
        line.broken |= std::thread::panicking();
        drop(line);
        self.0.freed.notify_all();
        self.0.arrived.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::*;
    use crate::context::Context;

    /// The chunks of `lines` lines, as they are handed on; `parse` gets their text.
    fn handed_on(lines: usize, threads: usize, parse: impl Fn(&[u8]) + Sync) -> Vec<u8> {
        let text: String = (0..lines).map(|k| format!("{k}\n")).collect();
        let chunks = Chunks::new(Source::from_bytes(text).unwrap(), 64);
        let copy = |part: &mut Vec<u8>, chunk: &Chunk| {
            let (text, length) = chunk.padded();
            parse(&text[..length]);
            *part = text[..length].to_vec();
        };
        let mut all = Vec::new();
        let mut gather = |parts: &mut [Vec<u8>], _: &[Chunk]| {
            parts.iter().for_each(|part| all.extend_from_slice(part));
            Ok::<_, Error>(())
        };
        Context::new().threads(threads).run(|| for_each_chunk(chunks, &copy, &mut gather)).unwrap().unwrap();
        all
    }

    #[test]
    fn chunks_are_handed_on_in_order() {
        let expected: String = (0..2000).map(|k| format!("{k}\n")).collect();
        for threads in [1, 2, 5] {
            assert_eq!(handed_on(2000, threads, |_| ()), expected.as_bytes());
        }
    }

    #[test]
    fn nobody_waits_for_a_thread_that_panicked() {
        let fails = |text: &[u8]| assert!(!text.starts_with(b"1"), "as expected");
        for threads in [1, 3] {
            assert!(std::panic::catch_unwind(|| handed_on(2000, threads, fails)).is_err());
        }
    }
}
