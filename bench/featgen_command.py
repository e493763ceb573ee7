"""The command `featgen` from Python: build it, run it, read its JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

# A small process of its own between us and the command: the peak memory of a child starts from that of its parent.
WRAPPER = """
import json, os, subprocess, sys
cores = json.loads(sys.argv[1])
if cores: os.sched_setaffinity(0, cores)
child = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(child.pid, 0)
peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print("measured", peak, usage.ru_utime + usage.ru_stime, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def build() -> Path:
    """Builds the command as a release and returns its path."""
    subprocess.run(["cargo", "build", "--release", "-p", "featgen-cli"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "featgen"


def run_clocked(command: list[str], cores: set[int] | None = None) -> tuple[str, int, float]:
    """Runs a command, on `cores` only if given; its standard output, its peak memory in bytes, its processor seconds."""
    wrapped = [sys.executable, "-I", "-S", "-c", WRAPPER, json.dumps(sorted(cores or ()))] + command
    done = subprocess.run(wrapped, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr.strip()}")
    peak, cpu = done.stderr.rsplit("measured", 1)[1].split()
    return done.stdout, int(peak), float(cpu)


def run_measured(command: list[str], cores: set[int] | None = None) -> tuple[str, int]:
    """The same without the processor seconds."""
    return run_clocked(command, cores)[:2]


class Featgen:
    """One executable, run with the same number of threads each time."""

    def __init__(self, path: Path, threads: int = 1):
        self.path, self.threads = path, threads

    def train(
        self, data: list[str], *options: str | float, model: Path | None = None, cores: set[int] | None = None
    ) -> dict[str, Any]:
        """`featgen train --json`; `data` is the file with the options that belong to it. Adds "peak" and "cpu", of the process."""
        command = [str(self.path), "train", *data, "--json", *map(str, options)]
        if "--threads" not in command:
            command += ["--threads", str(self.threads)]
        if model:
            command += ["-o", str(model)]
        out, peak, cpu = run_clocked(command, cores)
        return json.loads(out) | {"peak": peak, "cpu": cpu}

    def accuracy(self, model: Path, data: list[str]) -> float:
        """`featgen predict --json`: the accuracy on `data`."""
        out, _ = run_measured([str(self.path), "predict", str(model), *data, "--json"])
        return json.loads(out)["accuracy"]

    def synth(self, kind: str, prefix: Path, **options: int) -> None:
        """`featgen synth`."""
        flags = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]
        run_measured([str(self.path), "synth", kind, "-o", str(prefix), *flags])


def fit_seconds(result: dict[str, Any]) -> float:
    """Training time with the data already in memory."""
    return result["seconds"]["total"] - result["seconds"]["read"]
