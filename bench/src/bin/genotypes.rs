//! One pass of scores over genotypes of two bits, beside loops over the same genotypes as bytes, a plain one and one in lanes:
//!
//!     cargo run --release -p featgen-bench --bin genotypes -- DATA.bed [REPEATS] [THREADS]
//!
//! REPEATS (5) times in turns; the shortest times count. On one thread (the default) these are times on a processor where the system
//! tells them, else those of the clock. The bytes have the mean, rounded, for what is missing: the loop need not look for it. They take
//! four times the memory of the file.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use featgen::Context;
use featgen::data::read::Reader;
use featgen::data::{Columns, Outputs};
use multiversion::multiversion;
use rayon::prelude::*;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().context("which .bed?")?;
    let repeats: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let threads: usize = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let data = Reader::new().read(&file)?;
    let columns = &*data.columns;
    let (rows, held) = (columns.rows(), columns.len());
    let v: Vec<f64> = (0..rows).map(|i| (i as f64 * 0.7).sin()).collect();
    let mut bytes = vec![0i8; rows * held];
    bytes.par_chunks_mut(rows).enumerate().for_each(|(position, out)| {
        columns.see(position, |column| column.for_each(|row, x| out[row as usize] = x.round() as i8));
    });

    let [mut packed, mut lanes, mut plain, mut both] = [f64::INFINITY; 4];
    Context::new().threads(threads).run(|| -> Result<()> {
        for _ in 0..repeats {
            let (time, sums) = timed(|| scores(columns, &v));
            packed = packed.min(time);
            let (time, others) =
                timed(|| bytes.par_chunks_exact(rows).map(|x| dot(x, &v)).collect::<Vec<_>>());
            lanes = lanes.min(time);
            plain = plain
                .min(timed(|| bytes.par_chunks_exact(rows).map(|x| plain_dot(x, &v)).collect::<Vec<_>>()).0);
            both = both.min(timed(|| gains(columns, &v)).0);
            // Rounded means differ, by less than one for each that is missing.
            let apart = sums.iter().zip(&others).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            ensure!(apart < 0.2 * rows as f64, "sums differ by {apart}");
        }
        Ok(())
    })??;
    let rate = |seconds: f64| (rows * held) as f64 / seconds / 1e9;
    println!("{rows} people x {held} variants, best of {repeats}; threads: {threads}");
    println!("two bits    {packed:.3} s  {:.1} billion genotypes a second", rate(packed));
    println!("bytes       {plain:.3} s  {:.1} billion genotypes a second, a plain loop", rate(plain));
    println!("in lanes    {lanes:.3} s  {:.1} billion genotypes a second", rate(lanes));
    println!("gains       {both:.3} s  sums with two vectors, and with squares");
    println!("ratio       {:.2}; {:.2} to the loop in lanes", plain / packed, lanes / packed);
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let (start, on_processor) = (Instant::now(), processor_seconds());
    let made = work();
    let seconds = on_processor.zip(processor_seconds()).map(|(before, after)| after - before);
    // Those of one thread say nothing of several.
    let seconds = seconds.filter(|_| rayon::current_num_threads() == 1);
    (seconds.unwrap_or_else(|| start.elapsed().as_secs_f64()), made)
}

/// How long this thread was on a processor, where the system tells.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds * 1e-9)
}

/// The sums of all columns with a vector, as a space asks for them.
fn scores(columns: &dyn Columns, v: &[f64]) -> Vec<f64> {
    let (laid, batch) = (Outputs::new(v, v.len()), columns.batch());
    let mut sums = vec![0.0; columns.len()];
    sums.par_chunks_mut(batch).enumerate().for_each(|(k, out)| {
        columns.dots_with(k * batch..k * batch + out.len(), &laid, out);
    });
    sums
}

/// What gains are made of, likewise.
fn gains(columns: &dyn Columns, v: &[f64]) -> f64 {
    let both = [v, v].concat();
    let (laid, batch) = (Outputs::new(&both, v.len()), columns.batch());
    let first = |k: usize| {
        let range = k * batch..columns.len().min((k + 1) * batch);
        let mut out = vec![0.0; 3 * range.len()];
        columns.gain_dots(range, &laid, &mut out);
        out[0]
    };
    (0..columns.len().div_ceil(batch)).into_par_iter().map(first).sum()
}

/// A plain loop, which adds one product after the other.
fn plain_dot(x: &[i8], v: &[f64]) -> f64 {
    x.iter().zip(v).map(|(x, v)| f64::from(*x) * v).sum()
}

/// Eight sums at a time, which the compiler turns into vector instructions.
#[multiversion(targets("x86_64+avx2"))]
fn dot(x: &[i8], v: &[f64]) -> f64 {
    let ((x, x_rest), (v, v_rest)) = (x.as_chunks::<8>(), v.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (x, v) in x.iter().zip(v) {
        sums = std::array::from_fn(|l| sums[l] + f64::from(x[l]) * v[l]);
    }
    let rest: f64 = x_rest.iter().zip(v_rest).map(|(x, v)| f64::from(*x) * v).sum();
    sums.iter().sum::<f64>() + rest
}
