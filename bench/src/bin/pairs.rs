//! The search for products of two beside trying all pairs that occur, at the duals of a real run:
//!
//!     cargo run --release -p featgen-bench --bin pairs -- TRAIN.svm [FEATURES [BUDGET [REPEATS]]]
//!
//! Selects FEATURES products (60 unless told), BUDGET (10) in each round. Then both look for the best at the duals of the
//! first, the middle and the last round, on one thread, REPEATS (1) times in turns, and must find the same. The shortest
//! times count; they are those of the processor where the system tells them, in hundredths of a second.

#![allow(clippy::print_stdout)]

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use featgen::data::read::Reader;
use featgen::machine::Select;
use featgen::operator::Operator;
use featgen::space::{
    Ask, Candidate, DataFacts, Demand, Feature, FeatureSpace, Footprint, Inputs, Members, PolySpace,
    Precision, Settings, WorstCase,
};
use featgen::{Context, Machine};

/// A worst case that a machine asked for.
struct Asked {
    v: Vec<f64>,
    taken: HashSet<Candidate>,
}

/// Notes what a machine asks a space for.
struct Watched<'a> {
    space: &'a PolySpace<'a>,
    asked: Mutex<Vec<Asked>>,
}

impl FeatureSpace for Watched<'_> {
    fn data(&self) -> &dyn DataFacts {
        self.space.data()
    }

    fn size(&self) -> u128 {
        self.space.size()
    }

    fn worst_case(&self, ask: &Ask<'_>) -> featgen::Result<WorstCase> {
        let asked = Asked { v: ask.v.to_vec(), taken: ask.taken.clone().into_owned() };
        self.asked.lock().expect("one thread").push(asked);
        self.space.worst_case(ask)
    }

    fn precision(&self) -> featgen::Result<Precision> {
        self.space.precision()
    }

    fn group(&self, candidate: &Candidate) -> featgen::Result<Members> {
        self.space.group(candidate)
    }

    fn generate(&self, features: &[Feature]) -> featgen::Result<Vec<Operator>> {
        self.space.generate(features)
    }

    fn settings(&self) -> Settings {
        self.space.settings()
    }

    fn footprint(&self, demand: &Demand) -> Footprint {
        self.space.footprint(demand)
    }
}

/// A clock that stands still while other programs run, if there is one.
enum Clock {
    Processor(f64),
    Wall(Instant),
}

impl Clock {
    fn start() -> Self {
        processor_seconds().map_or_else(|| Self::Wall(Instant::now()), Self::Processor)
    }

    fn seconds(&self) -> f64 {
        match self {
            Self::Processor(start) => processor_seconds().map_or(f64::NAN, |now| now - start),
            Self::Wall(start) => start.elapsed().as_secs_f64(),
        }
    }
}

/// What all threads of this process have taken of the processor: fields 14 and 15 of Linux's /proc/self/stat.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields = text.rsplit(')').next()?.split_whitespace().skip(11).take(2);
    let ticks = fields.map(|field| field.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some(ticks as f64 / 100.0)
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else { bail!("which file? See the head of pairs.rs") };
    let mut number = |otherwise: usize| {
        arguments.next().map_or(Ok(otherwise), |text| text.parse().with_context(|| format!("number {text}")))
    };
    let (features, budget, repeats) = (number(60)?, number(10)?, number(1)?);
    let one = Context::new().threads(1);
    let data = Reader::new().context(&one).read(&file)?;
    let made = || PolySpace::new(Inputs::new(&data), 1.0, 1.0).map(|space| space.most_work(u64::MAX));
    let (pruned, all) = one.run(|| -> Result<_> { Ok((made()?, made()?.exhaustive())) })??;

    let clock = Clock::start();
    let watched = Watched { space: &pruned, asked: Mutex::default() };
    let machine = Machine::new().select(Select::Paper).budget(budget).features(features).context(&one);
    let model = machine.fit(&watched, &data.labels)?;
    let asked = watched.asked.into_inner()?;
    println!(
        "{} instances, {} features that occur, {} features in the space",
        data.labels.len(),
        data.columns.len(),
        pruned.size()
    );
    println!("selected {} in {} rounds, {:.2} s\n", model.count(), model.rounds.len(), clock.seconds());

    println!(
        "{:>8}{:>12}{:>14}{:>10}{:>14}{:>10}{:>8}",
        "selected", "with dual", "scored", "seconds", "all pairs", "seconds", "ratio"
    );
    let last = asked.len() - 1;
    for Asked { v, taken } in [0, last / 2, last].map(|k| &asked[k]) {
        let timed = |space: &PolySpace<'_>| -> Result<(WorstCase, f64)> {
            let clock = Clock::start();
            let found = one.run(|| space.worst_case(&Ask::one(v, budget, taken)))??;
            Ok((found, clock.seconds()))
        };
        let ((found, mut seconds), (expected, mut longer)) = (timed(&pruned)?, timed(&all)?);
        for _ in 1..repeats {
            (seconds, longer) = (seconds.min(timed(&pruned)?.1), longer.min(timed(&all)?.1));
        }
        ensure!(found.best == expected.best && found.fresh == expected.fresh, "the two do not agree");
        let weighing = v.iter().filter(|v| **v != 0.0).count();
        println!(
            "{:>8}{weighing:>12}{:>14}{seconds:>10.2}{:>14}{longer:>10.2}{:>8.1}",
            taken.len(),
            found.scored,
            expected.scored,
            longer / seconds
        );
    }
    Ok(())
}
