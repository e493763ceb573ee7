//! The page itself: a template with style, program, chart library and data put into it, so that it asks nothing of the network.

use crate::Report;
use crate::words::{count, short};

const TEMPLATE: &str = include_str!("../page/page.html");
const STYLE: &str = include_str!("../page/page.css");
const PROGRAM: &str = include_str!("../page/page.js");
const CHARTS: &str = include_str!("../page/charts.js");
const TABLE: &str = include_str!("../page/table.js");
const LIBRARY: &str = include_str!("../vendor/uplot/uPlot.iife.min.js");
const LIBRARY_STYLE: &str = include_str!("../vendor/uplot/uPlot.min.css");
const LICENCE: &str = include_str!("../vendor/uplot/LICENSE");

/// Rows that are there for readers without programs.
const PLAIN_ROWS: usize = 100;

pub(crate) fn html(report: &Report) -> String {
    let parts = [
        ("title", escaped(&report.title)),
        ("style", format!("{LIBRARY_STYLE}\n{STYLE}")),
        ("plain", plain(report)),
        ("data", in_script(&report.to_json())),
        ("licence", LICENCE.trim().to_owned()),
        ("library", LIBRARY.trim().to_owned()),
        ("program", [TABLE, CHARTS, PROGRAM].concat()),
    ];
    // One pass over the template: what is put in is not looked at again, whatever names hold.
    let mut page = String::new();
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("the template closes what it opens");
        page.push_str(before);
        let part = parts.iter().find(|(known, _)| *known == name);
        page.push_str(&part.expect("the template names parts that there are").1);
        rest = after;
    }
    page + rest
}

/// JSON that stays data inside of a script element, and on its line in any program: no `<` can end or begin anything there.
fn in_script(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' => text.push_str("\\u2029"),
            c => text.push(c),
        }
    }
    text
}

/// Text as HTML shows it.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '&' => html.push_str("&amp;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html
}

/// What readers without programs see: everything that is words or a number, and the first features.
fn plain(report: &Report) -> String {
    let mut html = format!("<p>{}</p>\n<ul>\n", escaped(&report.about));
    for figure in &report.figures {
        let (name, text, told) = (escaped(&figure.name), escaped(&figure.text), escaped(&figure.told));
        html += &format!("<li>{name}: <b>{text}</b>, {told}</li>\n");
    }
    html += "</ul>\n<table><thead><tr><th>feature</th><th>weight</th></tr></thead><tbody>\n";
    for row in report.selection.rows.iter().take(PLAIN_ROWS) {
        html +=
            &format!("<tr><td><bdi>{}</bdi></td><td>{}</td></tr>\n", escaped(&row.name), short(row.weight));
    }
    html += "</tbody></table>\n";
    let more = report.selection.count.saturating_sub(PLAIN_ROWS);
    if more > 0 {
        html += &format!("<p>and {} more, which take JavaScript to be shown.</p>\n", count(more as u128));
    }
    report.proof.iter().for_each(|sentence| html += &format!("<p>{}</p>\n", escaped(sentence)));
    html + &format!("<pre>{}</pre>", escaped(&report.repeat))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_ends_the_script() {
        let hostile = serde_json::to_string("</script><!--&\u{2028}\"").unwrap();
        let safe = in_script(&hostile);
        assert_eq!(safe, "\"\\u003c/script\\u003e\\u003c!--\\u0026\\u2028\\\"\"");
        let back: String = serde_json::from_str(&safe).unwrap();
        assert_eq!(back, "</script><!--&\u{2028}\"");
        assert_eq!(escaped("<a href='x'>&\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
    }

    #[test]
    fn what_is_put_into_scripts_does_not_end_them() {
        for part in [LIBRARY, PROGRAM, CHARTS, TABLE] {
            assert!(!part.to_lowercase().contains("</script") && !part.contains("<!--"));
        }
    }
}
