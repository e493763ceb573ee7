"""The command ``featgen``: ``python -m featgen`` is the same."""

from __future__ import annotations

import signal
import sys

from . import _featgen


def main() -> int:
    """Run the command with the arguments of this process; returns its exit code."""
    # Python only notes Ctrl-C for later, and there is no later while the command runs: it has handlers of its own.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _featgen.command(["featgen", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
