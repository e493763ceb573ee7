"""What ``verbose`` shows: one line that moves in a terminal, a table in a notebook, plain lines elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from . import _html
from ._text import percent

Round = dict[str, Any]

#: Seconds between two pictures: many short rounds are not slowed down by being shown.
_PAUSE = 0.1


@contextmanager
def reporter(verbose: int, wanted: int | None = None) -> Iterator[Callable[[Round], None] | None]:
    """A function that shows a round, or None if there is nothing to show; ``wanted`` features were asked for."""
    if not verbose:
        yield None
    elif _in_notebook():
        yield from _closed(_Notebook())
    elif verbose == 1 and _in_terminal():
        yield from _closed(_Terminal(wanted))
    else:
        yield lambda round: _write(f"{_line(round)}\n")


def going_on(round: Round) -> None:
    """Says that a run goes on from its checkpoint after this round."""
    rounds = "1 round" if round["round"] == 1 else f"{round['round']} rounds"
    _write(f"going on from the checkpoint: {rounds}, {round['selected']} selected\n")


def proving(proof: dict[str, Any]) -> None:
    """Says how far a proof is."""
    nodes = "1 node" if proof["nodes"] == 1 else f"{proof['nodes']} nodes"
    _write(
        f"proving: objective {proof['objective']:.4g}, none below {proof['lower_bound']:.4g}, "
        f"gap {percent(proof['gap'])}, {nodes}, {proof['undecided']} undecided\n"
    )


@contextmanager
def loading(verbose: int, shards: int) -> Iterator[None]:
    """Says that shards are being loaded, and how long it took."""
    if not verbose:
        yield
        return
    start = time.monotonic()
    _write(f"loading {'1 shard' if shards == 1 else f'{shards} shards'} of columns\n")
    yield
    _write(f"loaded in {time.monotonic() - start:.1f} s\n")


def _write(text: str) -> None:
    """To standard error. It may not be there, or be closed: what cannot be shown must not end a fit."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()


def _closed(moving: _Moving) -> Iterator[_Moving]:
    try:
        yield moving
    finally:
        moving.close()


def _line(round: Round) -> str:
    return (
        f"round {round['round']}: {round['selected']} selected, objective {round['objective']:.4g}, "
        f"gap {percent(round['gap'])}, {_fit(round)}"
    )


class _Moving:
    """Shows the latest round, but not too often; ``close`` shows the last one."""

    def __init__(self) -> None:
        self._shown_at: float | None = None
        self._waiting: Round | None = None

    def __call__(self, round: Round) -> None:
        self._waiting = round
        if self._shown_at is None or time.monotonic() - self._shown_at >= _PAUSE:
            self._flush()

    def _flush(self) -> None:
        if self._waiting is not None:
            self._show(self._waiting)
            self._waiting, self._shown_at = None, time.monotonic()

    def close(self) -> None:
        self._flush()

    def _show(self, round: Round) -> None:
        raise NotImplementedError


class _Terminal(_Moving):
    """Overwrites its line, which never wraps; what the last round leaves stays there."""

    LONGEST_BAR, SHORTEST_BAR = 16, 4

    def __init__(self, wanted: int | None) -> None:
        super().__init__()
        self._wanted = wanted
        utf = "utf" in (sys.stderr.encoding or "").lower()
        self._coloured = utf and "NO_COLOR" not in os.environ

    def _show(self, round: Round) -> None:
        width = shutil.get_terminal_size().columns - 1
        line = _line(round)
        room = min(self.LONGEST_BAR, width - len(line) - 1)
        bar = (
            self._bar(room, round["selected"] / self._wanted)
            if self._wanted and room >= self.SHORTEST_BAR
            else ""
        )
        _write(f"\r\x1b[2K{bar}{line[:width]}")

    def _bar(self, length: int, share: float) -> str:
        done = min(length, int(length * share))
        if not self._coloured:
            return f"{'=' * done}{'-' * (length - done)} "
        return f"\x1b[36m{'━' * done}\x1b[90m{'━' * (length - done)}\x1b[0m "

    def close(self) -> None:
        super().close()
        if self._shown_at is not None:
            _write("\n")


class _Notebook(_Moving):
    """A table with a row for each of the last rounds."""

    SHOWN = 12

    def __init__(self) -> None:
        super().__init__()
        self._rounds: list[Round] = []
        self._handle: Any = None

    def __call__(self, round: Round) -> None:
        self._rounds = [*self._rounds[1 - self.SHOWN :], round]
        super().__call__(round)

    def _show(self, round: Round) -> None:
        from IPython.display import HTML, display

        table = HTML(_html.rounds(self._rounds))
        if self._handle is None:
            self._handle = display(table, display_id=True)
        else:
            self._handle.update(table)


def _in_terminal() -> bool:
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def _fit(round: dict[str, Any]) -> str:
    """How well the model of a round fits."""
    name = "accuracy" if "accuracy" in round else "explained"
    return f"{name} {100 * round[name]:.2f} %"
