//! Text parsed on all threads, chunk by chunk, while the next chunks are read (and decompressed) by a thread of their own.

use std::sync::mpsc;

use rayon::prelude::*;

use super::source::{Chunk, Chunks};
use crate::context::no_threads;
use crate::error::{Error, Result};

/// Parses as many chunks at a time as the current pool has threads, each into a part, which is used again. `each` gets these
/// parts with their chunks, in order; what cannot be read ends it once all before was handed on.
pub(super) fn for_each_chunk<P: Default + Send, E: From<Error>>(
    mut cutter: Chunks,
    parse: impl Fn(&mut P, &Chunk) + Sync,
    each: impl FnMut(&mut [P], &[Chunk]) -> Result<(), E>,
) -> Result<(), E> {
    let tasks = rayon::current_num_threads();
    let (full, chunks) = mpsc::sync_channel(tasks);
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
        parse_all(chunks, recycle, tasks, parse, each)
    })
}

/// Parses `tasks` chunks at a time. Owns its ends of the channels: that they close ends the other side.
fn parse_all<P: Default + Send, E: From<Error>>(
    chunks: mpsc::Receiver<Result<Chunk>>,
    recycle: mpsc::Sender<Vec<u8>>,
    tasks: usize,
    parse: impl Fn(&mut P, &Chunk) + Sync,
    mut each: impl FnMut(&mut [P], &[Chunk]) -> Result<(), E>,
) -> Result<(), E> {
    let mut parts: Vec<P> = (0..tasks).map(|_| P::default()).collect();
    loop {
        let (batch, failure) = next_chunks(&chunks, tasks);
        parts.par_iter_mut().zip(&batch).with_max_len(1).for_each(|(part, chunk)| parse(part, chunk));
        if !batch.is_empty() {
            each(&mut parts[..batch.len()], &batch)?;
        }
        if let Some(error) = failure {
            return Err(error.into());
        }
        if batch.is_empty() {
            return Ok(());
        }
        // Refused once all is read.
        batch.into_iter().for_each(|chunk| drop(recycle.send(chunk.into_buffer())));
    }
}

/// The next `most` chunks, or fewer before a pause and at the end; and why no more can be read, if so.
fn next_chunks(chunks: &mpsc::Receiver<Result<Chunk>>, most: usize) -> (Vec<Chunk>, Option<Error>) {
    let mut batch: Vec<Chunk> = Vec::with_capacity(most);
    while batch.len() < most && !batch.last().is_some_and(Chunk::is_before_pause) {
        match chunks.recv() {
            Ok(Ok(chunk)) => batch.push(chunk),
            Ok(Err(error)) => return (batch, Some(error)),
            Err(_) => break,
        }
    }
    (batch, None)
}
