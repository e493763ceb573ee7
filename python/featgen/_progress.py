"""What ``verbose`` shows: one line that grows in a terminal, a table in a notebook, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

Round = dict[str, Any]


@contextmanager
def reporter(verbose: int) -> Iterator[Callable[[Round], None] | None]:
    """A function that shows a round, or None if nothing is to be shown."""
    if not verbose:
        yield None
    elif _in_notebook():
        yield _Notebook()
    elif sys.stderr.isatty() and verbose == 1:
        terminal = _Terminal()
        try:
            yield terminal
        finally:
            terminal.close()
    else:
        yield lambda round: print(_line(round), file=sys.stderr)


def _line(round: Round) -> str:
    return (
        f"round {round['round']}: {round['selected']} features, objective {round['objective']:.6g}, "
        f"gap {100 * round['gap']:.3g} %, {100 * round['accuracy']:.2f} % right on the training data"
    )


class _Terminal:
    """Overwrites its line; what the last round leaves stays there."""

    def __init__(self) -> None:
        self._shown = False

    def __call__(self, round: Round) -> None:
        self._shown = True
        sys.stderr.write(f"\r\x1b[2K\x1b[36mfeatgen\x1b[0m {_line(round)}")
        sys.stderr.flush()

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\n")


class _Notebook:
    """A table with a row for each of the last rounds."""

    SHOWN = 12

    def __init__(self) -> None:
        self._rounds: list[Round] = []
        self._handle: Any = None

    def __call__(self, round: Round) -> None:
        from IPython.display import HTML, display

        self._rounds.append(round)
        table = HTML(_table(self._rounds[-self.SHOWN :]))
        if self._handle is None:
            self._handle = display(table, display_id=True)
        else:
            self._handle.update(table)


def _table(rounds: list[Round]) -> str:
    columns = {
        "round": lambda r: f"{r['round']}",
        "features": lambda r: f"{r['selected']}",
        "objective": lambda r: f"{r['objective']:.6g}",
        "gap": lambda r: f"{100 * r['gap']:.3g} %",
        "right": lambda r: f"{100 * r['accuracy']:.2f} %",
    }
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    rows = ("".join(f"<td>{show(r)}</td>" for show in columns.values()) for r in rounds)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"
