"""Numbers as people read them."""

from __future__ import annotations


def percent(gap: float) -> str:
    """A gap in percent. It is a bound, so that tiny ones are rounded up."""
    return f"{100 * max(gap, 1e-5):.3g} %"
