"""What notebooks show: a fitted estimator, and the rounds of one at work. Colours of text are the notebook's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ._text import percent

if TYPE_CHECKING:
    from ._machine import Machine

#: How many features a summary names.
_SHOWN = 10

_TABLE = "border-collapse:collapse;font-size:0.9em;margin:0.3em 0"
_LEFT = "text-align:left;padding:1px 12px 1px 0"
_RIGHT = "text-align:right;padding:1px 12px 1px 0;font-variant-numeric:tabular-nums"


def summary(machine: Machine) -> str:
    """What was selected, and how good that is."""
    table = machine._selection()
    names, weights = list(table["feature"]), [float(weight) for weight in table["weight"]]
    groups = table.get("group")
    largest = max(map(abs, weights), default=0.0) or 1.0
    unit = "groups" if groups else "features"
    head = ["feature", *(["group"] if groups else []), "weight", ""]
    rows = []
    for k, (name, weight) in enumerate(zip(names[:_SHOWN], weights)):
        group = [_cell(escape(str(groups[k])), _LEFT)] if groups else []
        rows.append(
            [_cell(escape(str(name)), _LEFT), *group, _cell(f"{weight:.4g}", _RIGHT), _bar(weight / largest)]
        )
    more = len(names) - _SHOWN
    rest = f"<div>and {more:,} more: <code>selected_</code> has all</div>" if more > 0 else ""
    n_iter, gap = machine.n_iter_, f"<b>{percent(machine.gap_)}</b>"
    proven = f"The optimum over all of them lies at most {gap} below the objective."
    if machine._facts["select"] == "best":
        proven = f"No {machine.n_selected_:,} of them have an objective that is more than {gap} lower."
    return (
        f"<div style='margin-top:0.5em'><b>{machine.n_selected_:,} of {machine.n_candidates_:,} {unit}</b> selected in "
        f"{n_iter} round{'s' * (n_iter != 1)}, C = {machine.C_:.4g}. "
        f"{proven}</div>"
        f"{_table(head, rows)}{rest}"
    )


def rounds(latest: Sequence[dict[str, Any]]) -> str:
    """A table of rounds."""
    fit = "explained" if latest and "explained" in latest[0] else "accuracy"
    head = ["round", "selected", "objective", "gap", fit]
    rows = (
        [
            f"{round['round']}",
            f"{round['selected']:,}",
            f"{round['objective']:.4g}",
            percent(round["gap"]),
            f"{100 * round[fit]:.2f} %",
        ]
        for round in latest
    )
    return _table(head, ([_cell(text, _RIGHT) for text in row] for row in rows), _RIGHT)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], style: str = _LEFT) -> str:
    titles = "".join(f"<th style='{style}'>{title}</th>" for title in head)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table style='{_TABLE}'><tr>{titles}</tr>{body}</table>"


def _cell(text: str, style: str) -> str:
    return f"<td style='{style}'>{text}</td>"


def _bar(share: float) -> str:
    """Blue for the second class, orange for the first."""
    colour = "#0072B2" if share > 0 else "#D55E00"
    width = f"{6 * abs(share):.2f}em"
    return f"<td style='{_LEFT}'><div style='background:{colour};height:0.7em;width:{width}'></div></td>"
