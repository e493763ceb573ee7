//! The parts that decide the running time, each on one thread: scoring beside plain reading, parsing, a whole fit.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Write as _;

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use featgen::data::read::Reader;
use featgen::data::{Columns, Dense, Layout, Sparse, Values};
use featgen::machine::Select;
use featgen::space::{AdditiveSpace, Ask, FeatureSpace, GroupSpace, GroupWeight, Groups, Inputs, PolySpace};
use featgen::{LinearSpace, Machine, synth};

/// Larger than any cache: 256 MiB of f32.
const ROWS: usize = 8192;
const COLUMNS: usize = 8192;
/// One value in a hundred, in more columns than text has rows.
const SPARSE_ROWS: usize = 20_000;
const SPARSE_COLUMNS: usize = 100_000;
const PER_COLUMN: usize = 200;

/// Numbers that look random, the same every time.
struct Mix(u64);

impl Mix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform between -1 and 1.
    fn real(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn main() {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    dense(&mut criterion);
    sparse(&mut criterion);
    curves(&mut criterion);
    products(&mut criterion);
    groups(&mut criterion);
    reading(&mut criterion);
    fitting(&mut criterion);
    criterion.final_summary();
}

/// One scoring pass on a single thread.
fn score(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, space: &dyn FeatureSpace) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let mut mix = Mix(1);
    let v: Vec<f64> = (0..space.data().rows()).map(|_| mix.real()).collect();
    let none = HashSet::new();
    let ask = Ask::one(&v, 10, &none);
    group.bench_function(name, |b| {
        pool.install(|| b.iter(|| space.worst_case(black_box(&ask)).expect("finite values")));
    });
}

/// Many independent sums, so that memory and not addition sets the pace.
fn sum(buffer: &[f32]) -> f32 {
    let mut sums = [0f32; 64];
    for part in buffer.chunks_exact(64) {
        for (s, x) in sums.iter_mut().zip(part) {
            *s += x;
        }
    }
    sums.iter().sum()
}

fn dense(criterion: &mut Criterion) {
    let mut mix = Mix(2);
    let buffer: Vec<f32> = (0..ROWS * COLUMNS).map(|_| mix.real() as f32).collect();
    let mut group = criterion.benchmark_group("dense f32");
    group.throughput(Throughput::Bytes(size_of_val(&buffer[..]) as u64));
    group.bench_function("read", |b| b.iter(|| sum(black_box(&buffer))));
    for (name, layout) in [("score by column", Layout::ColumnMajor), ("score by row", Layout::RowMajor)] {
        let matrix = Dense::<f32, _>::new(&buffer[..], ROWS, COLUMNS, layout).expect("right size");
        score(&mut group, name, &LinearSpace::over(&matrix));
    }
    group.finish();
}

fn sparse(criterion: &mut Criterion) {
    let mut mix = Mix(3);
    let reals = (0..SPARSE_COLUMNS * PER_COLUMN).map(|_| mix.real()).collect();
    for (name, values, width) in [("sparse f64", Values::F64(reals), 12), ("sparse ones", Values::Ones, 4)] {
        let mut group = criterion.benchmark_group(name);
        let columns = sparse_columns(SPARSE_ROWS, SPARSE_COLUMNS, PER_COLUMN, values);
        group.throughput(Throughput::Bytes(columns.nonzeros() * width));
        score(&mut group, "score", &LinearSpace::over(&columns));
        group.finish();
    }
}

/// Curves beside the columns that they are over: short sparse ones, longer ones, and dense ones.
fn curves(criterion: &mut Criterion) {
    let mut compare = |name: &str, columns: &dyn Columns| {
        let mut group = criterion.benchmark_group(name);
        score(&mut group, "score linear", &LinearSpace::over(columns));
        let space = AdditiveSpace::hik(Inputs::over(columns), 100).expect("no negative values");
        score(&mut group, "score hik", &space);
        group.finish();
    };
    let mut mix = Mix(7);
    for (name, each) in [("curves, 10 values a column", 10), ("curves, 500 values a column", 500)] {
        let count = 2_000_000 / each;
        let values = (0..count * each).map(|_| mix.real().abs()).collect();
        compare(name, &sparse_columns(SPARSE_ROWS, count, each, Values::F64(values)));
    }
    let (rows, columns) = (4096, 512);
    let buffer: Vec<f32> = (0..rows * columns).map(|_| mix.real().abs() as f32).collect();
    for (name, layout) in
        [("curves, dense by column", Layout::ColumnMajor), ("curves, dense by row", Layout::RowMajor)]
    {
        compare(name, &Dense::<f32, _>::new(&buffer[..], rows, columns, layout).expect("right size"));
    }
}

/// All products of two of dense features.
fn products(criterion: &mut Criterion) {
    let (mut mix, rows, columns) = (Mix(8), 1000, 500);
    let buffer: Vec<f64> = (0..rows * columns).map(|_| mix.real()).collect();
    let matrix = Dense::<f64, _>::new(&buffer[..], rows, columns, Layout::ColumnMajor).expect("right size");
    let mut group = criterion.benchmark_group("products of 500 dense features");
    let space = PolySpace::new(Inputs::over(&matrix), 1.0, 1.0).expect("valid parameters");
    score(&mut group, "score", &space);
    group.finish();
}

/// Columns of `each` values, spread over the rows.
fn sparse_columns(rows: usize, columns: usize, each: usize, values: Values) -> Sparse {
    let mut mix = Mix(5);
    let step = rows / each;
    let mut indices = Vec::with_capacity(columns * each);
    for _ in 0..columns {
        indices.extend((0..each).map(|k| (k * step + mix.next() as usize % step) as u32));
    }
    let ids = (0..columns as u64).collect();
    let pointers = (0..=columns as u64).map(|k| k * each as u64).collect();
    Sparse::new(rows, columns as u64, ids, pointers, indices, values).expect("valid columns")
}

/// Ten million overlapping groups over a million features: scoring them, beside the two things that it is made of.
fn groups(criterion: &mut Criterion) {
    const FEATURES: usize = 1_000_000;
    const GROUPS: usize = 10_000_000;
    const MEMBERS: usize = 6;
    let columns = sparse_columns(10_000, FEATURES, 10, Values::Ones);
    let inputs = Inputs::over(&columns);
    let mut lists = Groups::over(&inputs).expect("few enough columns");
    let (mut mix, mut flat) = (Mix(6), Vec::with_capacity(GROUPS * MEMBERS));
    for _ in 0..GROUPS {
        let members: [u64; MEMBERS] = std::array::from_fn(|_| mix.next() % FEATURES as u64);
        lists.push(&inputs, None, members).expect("known features");
        flat.extend(members.map(|j| j as u32));
    }
    let squares: Vec<f64> = (0..FEATURES).map(|_| mix.real().abs()).collect();
    let mut group = criterion.benchmark_group("10^7 groups of 10^6 features");
    score(&mut group, "score features", &LinearSpace::over(&columns));
    group.bench_function("pass over the lists", |b| {
        let longest = || {
            let sum = |members: &[u32]| members.iter().map(|&j| squares[j as usize]).sum::<f64>();
            black_box(&flat).chunks_exact(MEMBERS).map(sum).fold(0.0, f64::max)
        };
        b.iter(longest);
    });
    let space = GroupSpace::new(inputs, lists, GroupWeight::None).expect("the same columns");
    score(&mut group, "score groups", &space);
    group.finish();
}

fn reading(criterion: &mut Criterion) {
    let (mut mix, mut text) = (Mix(4), String::new());
    for _ in 0..20_000 {
        text.push_str(if mix.next() % 2 == 0 { "+1" } else { "-1" });
        for k in 0..50 {
            write!(text, " {}:0.{:05}", k * 1000 + mix.next() % 1000 + 1, mix.next() % 100_000)
                .expect("memory");
        }
        text.push('\n');
    }
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("room for it");
    let mut group = criterion.benchmark_group("svmlight");
    group.throughput(Throughput::Bytes(text.len() as u64));
    let reader = Reader::new().context(&featgen::Context::new().threads(1));
    group.bench_function("read", |b| b.iter(|| reader.read(file.path()).expect("valid text")));
    group.finish();
}

fn fitting(criterion: &mut Criterion) {
    let linear = synth::Linear { rows: 1000, features: 5000, relevant: 50, ..Default::default() };
    let made = linear.generate().expect("valid parameters");
    let machine = Machine::new().select(Select::Paper).budget(10).cost(10.0).features(100);
    let machine = machine.context(&featgen::Context::new().threads(1));
    criterion.bench_function("fit 100 of 5000 features", |b| {
        b.iter(|| machine.fit(&LinearSpace::new(&made.train), &made.train.labels).expect("a model"));
    });
}
