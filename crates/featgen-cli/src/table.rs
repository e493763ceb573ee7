//! Tables of aligned columns.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use crate::style::{Paint, Style};

#[derive(Clone, Copy)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A text in a table, perhaps painted.
pub(crate) struct Cell {
    text: String,
    paint: Option<Paint>,
}

impl Cell {
    pub(crate) fn painted(paint: Paint, text: impl Into<String>) -> Self {
        Self { paint: Some(paint), ..Self::from(text.into()) }
    }
}

impl From<String> for Cell {
    /// Names come from files: what could move the cursor or fill the screen is not shown as it is.
    fn from(text: String) -> Self {
        const LONGEST: usize = 60;
        let mut shown = crate::plain(&text);
        if let Some((cut, _)) = shown.char_indices().nth(LONGEST) {
            shown.truncate(cut);
            shown.push('…');
        }
        Self { text: shown, paint: None }
    }
}

struct Column {
    align: Align,
    cells: Vec<Cell>,
}

/// Built column by column; all have the same number of cells.
#[derive(Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn column<C: Into<Cell>>(
        mut self,
        head: &str,
        align: Align,
        cells: impl IntoIterator<Item = C>,
    ) -> Self {
        let head = Cell::painted(Paint::Dim, head);
        let cells = std::iter::once(head).chain(cells.into_iter().map(Into::into)).collect();
        self.columns.push(Column { align, cells });
        self
    }

    /// Numbers: to the right.
    pub(crate) fn numbers(self, head: &str, cells: impl IntoIterator<Item = String>) -> Self {
        self.column(head, Align::Right, cells)
    }

    pub(crate) fn write(&self, out: &mut dyn Write, style: Style) -> io::Result<()> {
        let rows = self.columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
        let widths: Vec<usize> = self
            .columns
            .iter()
            .map(|column| column.cells.iter().map(|cell| cell.text.width()).max().unwrap_or(0))
            .collect();
        for row in 0..rows {
            let mut line = String::new();
            for (column, width) in self.columns.iter().zip(&widths) {
                let Cell { text, paint } = &column.cells[row];
                let space = " ".repeat(width - text.width());
                let text = paint.map_or_else(|| text.clone(), |paint| style.paint(paint, text));
                line += "  ";
                match column.align {
                    Align::Left => line = line + &text + &space,
                    Align::Right => line = line + &space + &text,
                }
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
