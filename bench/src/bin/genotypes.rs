//! One pass of scores over genotypes of two bits, beside passes over the same genotypes as bytes:
//!
//!     cargo run --release -p featgen-bench --bin genotypes -- DATA.bed [REPEATS] [THREADS]
//!
//! REPEATS (5) times in turns; the shortest times count. On one thread (the default) these are times on a processor where the system
//! tells them, else those of the clock. The bytes have the mean, rounded, for what is missing: no loop need look for it. They take
//! four times the memory of the file.
//!
//! The fastest pass over bytes multiplies them in whole numbers with a vector of 14 bits, so that reading is all that takes time: it has
//! rough sums, where featgen's pass ends with the exact scores of the best columns. The others have sums of 64-bit floats.

#![allow(clippy::print_stdout)]

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use featgen::Context;
use featgen::data::read::Reader;
use featgen::data::{Columns, Outputs};
use featgen::space::{Ask, FeatureSpace, Gain, LinearSpace};
use multiversion::multiversion;
use rayon::prelude::*;

/// How many are looked for.
const BEST: usize = 50;

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

    let whole: Vec<i16> = v.iter().map(|v| (v * f64::from(1 << 13)).round() as i16).collect();
    let (space, none) = (LinearSpace::over(columns), HashSet::new());
    let ask = Ask::one(&v, BEST, &none);
    let gain = Gain { curvature: Cow::Owned(vec![1.0; rows]), intercept: true, wanted: BEST };
    let by_gain = ask.clone().by_gain(gain);

    let mut best = [f64::INFINITY; 7];
    Context::new().threads(threads).run(|| -> Result<()> {
        for _ in 0..repeats {
            let all = |dot: &(dyn Fn(&[i8]) -> f64 + Sync)| -> Vec<f64> {
                bytes.par_chunks_exact(rows).map(dot).collect()
            };
            let (scored, found) = timed(|| space.worst_case(&ask));
            let (exactly, sums) = timed(|| scores(columns, &v));
            let (of_whole, rough) = timed(|| all(&|x| whole_dot(x, &whole) as f64 / f64::from(1 << 13)));
            let (lanes, others) = timed(|| all(&|x| dot(x, &v)));
            let plain = timed(|| all(&|x| plain_dot(x, &v))).0;
            let (gains_best, by_gain) = timed(|| space.worst_case(&by_gain));
            let gains_all = timed(|| gains(columns, &v)).0;
            by_gain?;
            let times = [scored, exactly, of_whole, lanes, plain, gains_best, gains_all];
            best.iter_mut().zip(times).for_each(|(best, time)| *best = best.min(time));
            // Rounded means differ, by less than one for each that is missing.
            for others in [&others, &rough] {
                let apart = sums.iter().zip(others).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                ensure!(apart < 0.2 * rows as f64, "sums differ by {apart}");
            }
            let largest = sums.iter().fold(0.0, |most: f64, sum| most.max(sum.abs()));
            ensure!(found?.best[0].score == largest, "another score is the best");
        }
        Ok(())
    })??;
    println!("{rows} people x {held} variants, best of {repeats}; threads: {threads}");
    let names = [
        format!("two bits, the {BEST} best scores"),
        "two bits, all sums exact".into(),
        "bytes, whole numbers".into(),
        "bytes, floats in lanes".into(),
        "bytes, a plain loop".into(),
        format!("two bits, the {BEST} best gains"),
        "two bits, all gains exact".into(),
    ];
    for (name, seconds) in names.iter().zip(best) {
        let rate = (rows * held) as f64 / seconds / 1e9;
        println!("{name:<32}{seconds:.3} s  {rate:.1} billion genotypes a second");
    }
    println!("ratio of the third to the first {:.2}", best[2] / best[0]);
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

/// Sums of 32 bits of products of whole numbers, which the compiler turns into vector instructions; there are few enough of them at a
/// time that they fit.
#[multiversion(targets("x86_64+avx512f+avx512bw", "x86_64+avx2"))]
fn whole_dot(x: &[i8], v: &[i16]) -> i64 {
    const TOGETHER: usize = 1 << 12;
    let part = |(x, v): (&[i8], &[i16])| {
        let products = x.iter().zip(v).map(|(x, v)| i32::from(*x) * i32::from(*v));
        i64::from(products.sum::<i32>())
    };
    x.chunks(TOGETHER).zip(v.chunks(TOGETHER)).map(part).sum()
}
