//! `featgen convert`: data of any size to a store.

use std::path::Path;
use std::time::Instant;

use featgen::Context;
use featgen::data::store::{self, Progress as Step};

use crate::args::ConvertArgs;
use crate::numbers::{count, plural, seconds};
use crate::progress::Progress;

pub(crate) fn run(args: &ConvertArgs, context: &Context) -> anyhow::Result<u8> {
    let start = Instant::now();
    let reader = args.reader(context)?;
    let inputs: Vec<(&str, &Path)> =
        std::iter::once(("the data", &*args.data)).chain(reader.files()).collect();
    crate::check_outputs(&inputs, &[("the store", &args.store)])?;
    let progress = if args.quiet { Progress::hidden() } else { Progress::new(None, context) };
    progress.doing(format!("reading {}", args.data.display()));
    let made = store::convert(&reader, &args.data, &args.store, &args.conversion(), &mut |step| {
        show(&progress, step)
    })?;
    progress.finish();
    if !args.quiet {
        let passes = match made.runs {
            0 => String::new(),
            runs => format!(", put together from {}", plural(runs, "run")),
        };
        crate::note(format_args!(
            "{}: {} x {}, {} values in {}{passes}; {}",
            args.store.display(),
            count(made.rows),
            count(made.dimension),
            count(made.nonzeros),
            plural(made.shards, "shard"),
            seconds(start.elapsed().as_secs_f64())
        ));
        made.notes.iter().for_each(|note| crate::note(format_args!("note: {}: {note}", args.data.display())));
    }
    Ok(crate::SUCCESS)
}

/// Says how far a conversion is.
pub(crate) fn show(progress: &Progress, step: Step) {
    progress.doing(match step {
        Step::Read { rows, values } => format!("read {} rows, {} values", count(rows), count(values)),
        Step::Written { columns, of } => format!("written {} of {} columns", count(columns), count(of)),
    });
}
