//! What is seen while the machine works: one moving line on a terminal, or a line per round when asked for.

use std::fmt::{Arguments, Write};
use std::time::Duration;

use featgen::error::Reason;
use featgen::machine::Observer;
use featgen::model::{Certificate, Proof, Round};
use featgen::{Context, Error};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::args::TalkArgs;
use crate::numbers::{count, percent, plural, rough, seconds, short, small_percent};

/// Shows rounds on standard error.
pub(crate) struct Progress {
    line: ProgressBar,
    every_round: bool,
    quiet: bool,
    /// Whether it was said that the checkpoint cannot be written: once is enough.
    not_saved: bool,
    /// What rounds count.
    unit: &'static str,
    /// Nodes of a proof at which the next line about it is due.
    next_node: u64,
}

impl Progress {
    /// A moving line if standard error is a terminal; with `wanted` features, a bar that fills up to them. It says how far
    /// searches in `context` are.
    pub(crate) fn new(wanted: Option<usize>, context: &Context) -> Self {
        let (line, template) = match wanted {
            Some(k) => (ProgressBar::new(k as u64), "{spinner} {bar:16} {search}{wide_msg}"),
            None => (ProgressBar::new_spinner(), "{spinner} {search}{wide_msg}"),
        };
        let style = ProgressStyle::with_template(template).expect("the templates above are valid");
        let context = context.clone();
        line.set_style(style.with_key("search", move |_: &ProgressState, out: &mut dyn Write| {
            // Where nothing can be written there is nobody to tell.
            let _ = out.write_str(&searching(context.searched()));
        }));
        // A line that nobody sees needs no thread; one that is seen can do without if the system starts no more.
        if !line.is_hidden() && std::thread::Builder::new().spawn(|| ()).is_ok() {
            line.enable_steady_tick(Duration::from_millis(100));
        }
        Self::with(line, false)
    }

    fn with(line: ProgressBar, quiet: bool) -> Self {
        Self { line, every_round: false, quiet, not_saved: false, unit: "feature", next_node: 0 }
    }

    /// Shows nothing.
    pub(crate) fn hidden() -> Self {
        Self::with(ProgressBar::hidden(), true)
    }

    /// As [`new`](Self::new), as talkative as the user wants it.
    pub(crate) fn talking(talk: &TalkArgs, wanted: Option<usize>, context: &Context) -> Self {
        if talk.quiet {
            return Self::hidden();
        }
        Self { every_round: talk.verbose, ..Self::new(wanted, context) }
    }

    /// Says what rounds count, if not features.
    pub(crate) fn counting(&mut self, unit: &'static str) {
        self.unit = unit;
    }

    /// What is being done now.
    pub(crate) fn doing(&self, what: impl Into<String>) {
        self.line.set_message(crate::plain(&what.into()));
    }

    /// How many of how many folds are done.
    pub(crate) fn fold(&self, done: usize, of: usize) {
        self.doing(format!("{done} of {of} folds"));
    }

    fn say(&self, what: Arguments<'_>) {
        if !self.quiet {
            self.line.suspend(|| crate::note(what));
        }
    }

    /// Clears the moving line.
    pub(crate) fn finish(self) {
        self.line.finish_and_clear();
    }
}

/// How far a search is; nothing if there is none.
fn searching(read: u64) -> String {
    match read {
        0 => String::new(),
        read => format!("searching, {} values read; ", rough(read)),
    }
}

impl Observer for Progress {
    fn round(&mut self, round: &Round) {
        let &Round { objective, lower_bound, .. } = round;
        let gap = Certificate { objective, lower_bound }.gap();
        let state = format!(
            "round {}: {}, objective {}, gap {}, {} {}",
            round.round,
            plural(round.selected, self.unit),
            short(objective),
            small_percent(gap),
            if round.accuracy.is_some() { "accuracy" } else { "explained" },
            percent(round.fit().part())
        );
        if self.every_round {
            let spent = round.seconds.score + round.seconds.generate + round.seconds.solve;
            self.line.suspend(|| crate::note(format_args!("{state}, {}", seconds(spent))));
        }
        self.line.set_position(round.selected as u64);
        self.line.set_message(state);
    }

    fn proof(&mut self, proof: &Proof) {
        let undecided = match u64::try_from(proof.undecided) {
            Ok(undecided) => rough(undecided),
            Err(_) => count(proof.undecided),
        };
        let state = format!(
            "proving: best {}, none below {}, gap {}, {}, {undecided} undecided",
            short(proof.objective),
            short(proof.lower_bound),
            small_percent(proof.gap()),
            plural(proof.nodes as usize, "node"),
        );
        // There may be very many nodes: lines become rarer, so that all together can be read.
        if self.every_round && proof.nodes >= self.next_node {
            self.next_node = proof.nodes + proof.nodes / 4 + 1;
            self.line.suspend(|| crate::note(format_args!("{state}")));
        }
        self.line.set_message(state);
    }

    fn resumed(&mut self, rounds: &[Round]) {
        let (count, selected) = (rounds.len(), rounds.last().map_or(0, |round| round.selected));
        let (after, with) = (plural(count, "round"), plural(selected, self.unit));
        self.say(format_args!("going on from the checkpoint: {after}, {with}"));
    }

    fn given_up(&mut self, reason: &Reason) {
        self.say(format_args!("note: this is the model so far: {reason}"));
    }

    fn not_saved(&mut self, error: &Error) {
        if !std::mem::replace(&mut self.not_saved, true) {
            self.say(format_args!("note: the run goes on, but its checkpoint cannot be written: {error}"));
        }
    }
}
