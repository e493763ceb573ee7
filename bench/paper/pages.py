"""The tables of the pages, from those in docs/results: what stands between `<!-- table: NAME -->` and `<!-- end -->` is written anew."""

from __future__ import annotations

import re

import synthetic
from common import *  # noqa: F403
from common import ROOT, Row, read

PAGES = (ROOT / "README.md", ROOT / "docs" / "results.md")
PLACE = re.compile(r"(?<=<!-- table: )(?P<name>[\w-]+) -->\n.*?(?=<!-- end -->)", re.DOTALL)

Lines = list[list[str]]


def markdown(lines: Lines) -> str:
    """Without systems of which nothing is known."""
    known = [line for line in lines[1:] if any(set(cell) - set("-/ ") for cell in line[1:])]
    rows = [f"| {' | '.join(line)} |" for line in [lines[0], *known]]
    return "\n".join([rows[0], "|---" * len(lines[0]) + "|", *rows[1:]]) + "\n"


def hundredths(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def short(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.2f}" if seconds < 1 else f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"


def near(rows: list[Row], who: str, count: int) -> Row | None:
    """The row of that system nearest to so many features, if it is near."""
    own = [row for row in rows if row["who"] == who and row.get("features")]
    found = min(own, key=lambda row: abs(row["features"] - count), default=None)
    return found if found and abs(found["features"] - count) <= 0.15 * count else None


def missing(rows: list[Row], who: str, count: int) -> str:
    """Why there is nothing: a limit of time, or nothing at all."""
    notes = [row["note"] for row in rows if row["who"] == who and row.get("note") and row.get("asked") == count]
    return notes[0].replace("not within", ">") if notes else "-"


# 4096 x 4096.


def synthetic_table() -> Lines:
    """Mean accuracy, standard error and number of data sets; relevant features and seconds of the first set."""
    rows = [row for row in read("fig02_synthetic") if not row.get("note")]
    means = {(row["who"], row["features"]): row for row in synthetic.summary(rows)}
    first = [row for row in rows if row["seed"] == 0]
    lines = [["", *(f"{count} features" for count in synthetic.COMPARED), "data sets", "relevant of 200", "CPU s at 200"]]
    for who in dict.fromkeys(who for who, _ in means):
        cells = [means.get((who, count)) for count in synthetic.COMPARED]
        text = ["-" if cell is None else hundredths(cell["accuracy"]) + (f" ({100 * cell['error']:.1f})" if cell["error"] else "") for cell in cells]
        one, sets = near(first, who, 200), max(int(cell["seeds"]) for cell in cells if cell)
        relevant = "-" if one is None else f"{one['relevant']:.0f}" + (f" of {one['features']:.0f}" if one["features"] != 200 else "")
        lines.append([who, *text, str(sets), relevant, short(one and one["seconds"])])
    return lines


# Real data.

#: Who is in the table, in this order.
SYSTEMS = (
    "best", "best, refit", "PROX-FGM", "PROX-SLR", "l1-SVM, refit", "l1-LR, refit", "adelie, refit", "MCP, refit", "abess, refit",
    "L0Learn, refit", "RFE, refit",
)
COUNTS = (50, 100, 200, 400)


def real_table() -> Lines:
    rows = read("fig07_real")
    names = list(dict.fromkeys(row["set"] for row in rows))
    lines = [["", *names]]
    for who in SYSTEMS:
        cells = []
        for name in names:
            here = [row for row in rows if row["set"] == name and row["who"] == who]
            asked = {row.get("asked"): row.get("accuracy") for row in here}
            cells.append(" / ".join(hundredths(asked.get(count)) for count in COUNTS))
        lines.append([who, *cells])
    return lines


# The README: everything at 200 features.

AT = 200
CONTENDERS = {
    "**featgen**": ("best",), "l1 (best of LIBLINEAR and adelie)": ("l1-SVM, refit", "l1-LR, refit", "adelie, refit"), "MCP (skglm)": ("MCP, refit", "MCP"),
    "abess": ("abess, refit",), "L0Learn": ("L0Learn, refit",), "elimination (RFE)": ("RFE, refit",),
}
TITLES = {
    "dorothea": "dorothea, 560 x 88,119", "mnist38": "mnist, 3 or 8, 11,982 x 784", "news20_libsvm": "news20, 12,000 x 62,061",
    "news20_2gram": "news20 2-grams, 11,314 x 1,025,970",
}


def cell(rows: list[Row], systems: tuple[str, ...]) -> tuple[float, str]:
    """The most accurate of these systems."""
    found = []
    for who in systems:
        exact = next((row for row in rows if row["who"] == who and row.get("asked") == AT and row.get("features")), None)
        found += [row for row in [exact or near(rows, who, AT)] if row]
    if not found:
        return 0.0, missing(rows, systems[0], AT)
    row = max(found, key=lambda row: row["accuracy"])
    time = "" if row["seconds"] is None else f" in {short(row['seconds'])} s"
    return row["accuracy"], f"{hundredths(row['accuracy'])} %{time}"


def readme_table() -> Lines:
    small = [row for row in read("fig02_synthetic") if row["seed"] == 0]
    real = read("fig07_real")
    sets = {"synthetic, 4096 x 4096": small, "synthetic, 8192 x 65,536": read("fig03_synthetic_large")}
    sets |= {title: [row for row in real if row["set"] == name] for name, title in TITLES.items()}
    sets = {title: rows for title, rows in sets.items() if rows}
    cells = {title: [cell(rows, systems) for systems in CONTENDERS.values()] for title, rows in sets.items()}
    lines = [["", *sets]]
    for index, who in enumerate(CONTENDERS):
        texts = []
        for title in sets:
            accuracy, text = cells[title][index]
            top = max(a for a, _ in cells[title])
            texts.append(f"**{text.replace(' %', ' %**', 1)}" if 0 < accuracy == top else text)
        lines.append([who, *texts])
    return lines


TABLES = {"synthetic": synthetic_table, "real": real_table, "at-200": readme_table}


def write_pages() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(PLACE.sub(lambda place: f"{place['name']} -->\n\n{markdown(TABLES[place['name']]())}\n", text), encoding="utf-8")
