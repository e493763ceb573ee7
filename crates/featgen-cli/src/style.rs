//! Colour and bars, where there is a terminal to show them.

use std::io::IsTerminal;

/// What a piece of text should stand out as.
#[derive(Clone, Copy)]
pub(crate) enum Paint {
    Bold,
    Dim,
    Positive,
    Negative,
}

/// What the output can show.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    bars: bool,
    colour: bool,
}

/// Cells that the longest bar takes.
const BAR_WIDTH: usize = 20;

impl Style {
    /// Bars on a terminal; colours too, unless `NO_COLOR` is set or the terminal is a dumb one.
    pub(crate) fn of_stdout() -> Self {
        let bars = std::io::stdout().is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { bars, colour: bars && !no_colour && !dumb }
    }

    /// Nothing but text.
    pub(crate) fn plain() -> Self {
        Self { bars: false, colour: false }
    }

    pub(crate) fn has_bars(self) -> bool {
        self.bars
    }

    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let code = match paint {
            Paint::Bold => 1,
            Paint::Dim => 2,
            Paint::Positive => 34,
            Paint::Negative => 31,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// A bar for `part` of the longest, in eighths of a cell.
pub(crate) fn bar(part: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    // Something that is not zero shows.
    let eighths = ((part.clamp(0.0, 1.0) * BAR_WIDTH as f64 * 8.0).round() as usize).max(1);
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_by_eighths() {
        assert_eq!(bar(1.0).chars().count(), BAR_WIDTH);
        assert_eq!(bar(0.5).chars().count(), BAR_WIDTH / 2);
        assert_eq!(bar(1e-9), "▏");
        assert_eq!(bar(3.0 / 160.0), "▍");
    }
}
