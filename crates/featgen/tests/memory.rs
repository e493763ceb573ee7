//! What a run that chooses features by gain is said to hold is at least what it holds.

use std::alloc::{GlobalAlloc, Layout as Bytes, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use featgen::data::{Columns, Dense, Labels, Layout, Sparse, Values};
use featgen::space::{AdditiveSpace, FeatureSpace, GroupWeight, Groups, Inputs, PolySpace, ProductSpace};
use featgen::space::{Scale, Scaling};
use featgen::{Context, GroupSpace, LinearSpace, Machine};

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, which counts.
struct Counting;

fn more(bytes: usize) {
    let now = IN_USE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: all is left to the system's allocator.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Bytes) -> *mut u8 {
        more(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Bytes) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROWS: usize = 3000;
const COLUMNS: usize = 400;

/// Values from 0 to 1, a tenth of which are not 0 where that is wanted.
fn value(row: usize, column: usize, sparse: bool) -> f64 {
    let mixed = (row * 2_654_435_761 + column * 40_503 + row * column * 97) % 10_007;
    if sparse && !mixed.is_multiple_of(10) { 0.0 } else { mixed as f64 / 10_007.0 }
}

fn dense() -> Dense<f64, Vec<f64>> {
    let values = (0..COLUMNS).flat_map(|j| (0..ROWS).map(move |i| value(i, j, false))).collect();
    Dense::new(values, ROWS, COLUMNS, Layout::ColumnMajor).unwrap()
}

fn sparse() -> Sparse {
    let (mut pointers, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for j in 0..COLUMNS {
        let filled = (0..ROWS).map(|i| (i, value(i, j, true))).filter(|(_, x)| *x != 0.0);
        filled.for_each(|(i, x)| {
            indices.push(i as u32);
            values.push(x);
        });
        pointers.push(indices.len() as u64);
    }
    let ids = (0..COLUMNS as u64).collect();
    Sparse::new(ROWS, COLUMNS as u64, ids, pointers, indices, Values::F64(values)).unwrap()
}

fn groups<'a>(inputs: Inputs<'a>, size: u64) -> Box<dyn FeatureSpace + 'a> {
    let mut groups = Groups::over(&inputs).unwrap();
    let count = inputs.dimension() / size;
    (0..count).for_each(|g| groups.push(&inputs, None, size * g..size * g + size).unwrap());
    Box::new(GroupSpace::new(inputs, groups, GroupWeight::None).unwrap())
}

/// A run that is allowed as many bytes as it is found to hold is refused, for it may need more.
fn is_refused(name: &str, space: &mut dyn FeatureSpace, labels: &Labels, context: &Context) {
    let machine = Machine::new().features(30).context(context);
    let before = IN_USE.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let model = machine.fit(space, labels).unwrap();
    let held = (MOST.load(Ordering::Relaxed) - before) as u64;
    let bound = machine.context(&context.clone().memory(held));
    let refused = bound.limit_memory(space, labels).is_err();
    assert!(refused, "{name}: {held} bytes for {} features", model.count());
}

/// Groups so large that the solver's matrices take more than all else.
fn wide_groups(context: &Context) {
    let (rows, columns) = (1000, 3000);
    let values = (0..columns).flat_map(|j| (0..rows).map(move |i| value(i, j, false) as f32)).collect();
    let data = Dense::<f32, Vec<f32>>::new(values, rows, columns, Layout::ColumnMajor).unwrap();
    let labels = Labels::from_text((0..rows).map(|i| {
        let x = (0..columns).step_by(50).map(|j| value(i, j, false) - 0.5).sum::<f64>();
        if x > 0.05 { "yes" } else { "no" }.to_owned()
    }));
    let mut space = groups(Inputs::over(&data).context(context), 50);
    is_refused("wide groups", &mut *space, &labels, context);
}

/// In each space. One test, for all that runs at the same time is counted together.
#[test]
fn what_a_run_may_hold_is_no_less_than_what_it_holds() {
    let labels = Labels::from_text((0..ROWS).map(|i| {
        let x = value(i, 3, true) + value(i, 8, true) - value(i, 21, true) + 0.1 * value(i, 399, false);
        if x > 0.05 { "yes" } else { "no" }.to_owned()
    }));
    let context = Context::new().threads(2);
    let storages: [(&str, Box<dyn Columns>); 2] =
        [("dense", Box::new(dense())), ("sparse", Box::new(sparse()))];
    for (storage, columns) in &storages {
        let scale = Scale::new(Scaling::Auto, &Inputs::over(&**columns), None).unwrap();
        let inputs = Inputs::over(&**columns).context(&context);
        let spaces: [(&str, Box<dyn FeatureSpace + '_>); 6] = [
            ("linear", Box::new(LinearSpace::from(inputs))),
            ("scaled", Box::new(LinearSpace::from(inputs.scaled(&scale)))),
            ("groups", groups(inputs, 5)),
            ("poly2", Box::new(PolySpace::new(inputs, 1.0, 1.0).unwrap())),
            ("products", Box::new(ProductSpace::new(inputs, 2).unwrap())),
            ("gaussian", Box::new(AdditiveSpace::gaussian(inputs, None).unwrap())),
        ];
        for (name, mut space) in spaces {
            is_refused(&format!("{name}, {storage}"), &mut *space, &labels, &context);
        }
    }
    wide_groups(&context);
}
