//! A small picture of means with their errors, for a terminal.

use featgen::validate::Point;

use crate::style::{Paint, Style};
use crate::validate::shown;

/// Lines of the picture, and the most columns.
const HEIGHT: usize = 12;
const WIDTH: usize = 64;

/// The means of points, in order of the number of features, with a band of one standard error above and below; the number chosen is
/// marked.
pub(crate) fn path(points: &[Point], metric: &str, chosen: usize, style: Style) -> Vec<String> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    let error = |point: &Point| if point.se.is_nan() { 0.0 } else { point.se };
    let low = points.iter().map(|p| p.mean - error(p)).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|p| p.mean + error(p)).fold(f64::NEG_INFINITY, f64::max);
    if points.len() < 2 || high <= low {
        return Vec::new();
    }
    let span = (last.features - first.features).max(1);
    let width = WIDTH.min(4 * points.len());
    let column = |point: &Point| (point.features - first.features) * (width - 1) / span;
    let line = |value: f64| ((high - value) / (high - low) * (HEIGHT - 1) as f64).round() as usize;
    let mut cells = vec![vec![(' ', None); width]; HEIGHT];
    for point in points {
        let at = column(point);
        let (top, bottom) = (line(point.mean + error(point)), line(point.mean - error(point)));
        cells[top..=bottom].iter_mut().for_each(|row| row[at] = ('│', Some(Paint::Dim)));
    }
    // Means last: they stand out where bands of neighbours share a column.
    for point in points {
        let mark = if point.features == chosen {
            ('◆', Some(Paint::Negative))
        } else {
            ('●', Some(Paint::Positive))
        };
        let cell = &mut cells[line(point.mean)][column(point)];
        if cell.0 != '◆' {
            *cell = mark;
        }
    }
    let labels: Vec<String> = (0..HEIGHT)
        .map(|k| match k % 3 {
            0 => shown(metric, high - (high - low) * k as f64 / (HEIGHT - 1) as f64),
            _ => String::new(),
        })
        .collect();
    let margin = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let draw = |(ch, paint): &(char, Option<Paint>)| match paint {
        Some(paint) => style.paint(*paint, &ch.to_string()),
        None => ch.to_string(),
    };
    let mut lines: Vec<String> = cells
        .iter()
        .zip(&labels)
        .map(|(row, label)| {
            let drawn: String = row.iter().map(draw).collect();
            format!("  {label:>margin$} ┤{}", drawn.trim_end())
        })
        .collect();
    let (from, to) = (first.features.to_string(), last.features.to_string());
    lines.push(format!("  {:margin$} └{}", "", "─".repeat(width)));
    let between = width.saturating_sub(from.len());
    lines.push(format!("  {:margin$}  {from}{to:>between$} features", ""));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_chosen_stands_out() {
        let point = |features: usize, mean: f64| Point { features, mean, se: 0.05, scores: Vec::new() };
        let points = [point(1, 0.6), point(5, 0.8), point(10, 0.9)];
        let lines = path(&points, "accuracy", 5, Style::plain());
        assert_eq!(lines.len(), HEIGHT + 2);
        let marks: String = lines.concat();
        assert_eq!((marks.matches('◆').count(), marks.matches('●').count()), (1, 2));
        assert!(lines[0].starts_with("  95.00 % ┤") && lines[HEIGHT + 1].ends_with("10 features"));
        assert!(path(&points[..1], "accuracy", 1, Style::plain()).is_empty());
    }
}
