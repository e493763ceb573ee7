"""The experiments of the paper's section 7, beside the systems it was compared with and some of today.

    bench/run paper                    # all of them, two at a time: tables (CSV) and figures (SVG) in docs/results
    bench/run paper fig02 fig07        # some of them
    bench/run paper --only featgen     # featgen's rows anew, those of its rivals from the tables that are there
    bench/run paper --missing          # goes on with an interrupted run
    bench/run paper --draw             # figures only, from the tables that are there
    bench/run paper --small            # smaller synthetic sets: a smoke test

Everything runs on one thread, and seconds are those of the processor. Real data: see bench/README.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable

import common
import convergence
import groups
import pages
import products
import real
import synthetic
from common import RESULTS, ROOT, WORK, Bench, Row, read, timed, write
from featgen_command import Featgen, build

Experiment = tuple[str, Callable[[Bench], list[Row]], Callable[[list[Row]], None]]

#: Those that take longest first.
EXPERIMENTS: dict[str, Experiment] = {
    "fig02": ("fig02_synthetic", synthetic.figure2, synthetic.draw2),
    "fig07": ("fig07_real", real.figure7, real.draw7),  # draws 7, 8 and 9
    "fig03": ("fig03_synthetic_large", synthetic.figure3, synthetic.draw3),
    "fig13": ("fig13_products", products.figure13, products.draw13),  # draws 13 and 14
    "fig04": ("fig04_density", synthetic.figure4, synthetic.draw4),
    "fig16": ("fig16_kernels", groups.figure16, groups.draw16),  # draws 16 and 17
    "fig15": ("fig15_groups", groups.figure15, groups.draw15),
    "fig06": ("fig06_shift_accuracy", synthetic.figure6, synthetic.draw6),
    "fig10": ("fig10_cost", real.figure10, real.draw10),
    "fig11": ("fig11_budget", real.figure11, real.draw11),
    "fig12": ("fig12_budget_400", real.figure12, real.draw12),
    "fig05": ("fig05_shift_objective", convergence.figure5, convergence.draw5),
    "fig01": ("fig01_exact_inexact", convergence.figure1, convergence.draw1),
    "mkl": ("mkl_times", synthetic.mkl_rows, synthetic.no_figure),
}


def draw(name: str) -> None:
    table, _, figure = EXPERIMENTS[name]
    rows = [row for row in read(table) if not row.get("note")]
    if rows:
        figure(rows)
    if name == "fig02":
        write("fig02_summary", synthetic.summary(rows))


def write_pages() -> None:
    """README.md and docs/results.md have tables of these results, unless they go elsewhere."""
    if common.RESULTS == RESULTS:
        pages.write_pages()


def side_by_side(names: list[str], options: list[str], jobs: int) -> None:
    """Each experiment in a process of its own; what fails is said at the end, and does not stop the others."""

    def one(name: str) -> int:
        start = time.perf_counter()
        code = subprocess.run([sys.executable, __file__, name, *options]).returncode
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
        return code

    start = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        codes, seconds = timed(lambda: list(pool.map(one, names)))
    print(f"all: {time.perf_counter() - start:.0f} s, {seconds:.0f} s of the processor", flush=True)
    if failed := [name for name, code in zip(names, codes) if code]:
        sys.exit(f"failed: {' '.join(failed)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="*", choices=[*EXPERIMENTS, []], metavar="FIGURE", help=", ".join(sorted(EXPERIMENTS)))
    parser.add_argument("--small", action="store_true", help="smaller synthetic sets")
    parser.add_argument("--seeds", type=int, default=5, help="data sets of fig02")
    parser.add_argument("--only", nargs="+", default=[], metavar="SYSTEM", help="featgen, rivals, or rivals by name: rows of others stay")
    parser.add_argument("--missing", action="store_true", help="only what the tables do not have, as after an interrupted run")
    parser.add_argument("--draw", action="store_true", help="draw again without measuring")
    parser.add_argument("--jobs", type=int, default=2, help="experiments at a time")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="the folder of real data")
    parser.add_argument("--command", type=Path, help="the command to measure; built if not given")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where tables and figures go")
    arguments = parser.parse_args()
    common.RESULTS = arguments.results.resolve()
    for folder in (WORK, common.RESULTS):
        folder.mkdir(parents=True, exist_ok=True)
    names = arguments.experiments or list(EXPERIMENTS)
    if arguments.draw:
        for name in names:
            draw(name)
        write_pages()
        return
    command = (arguments.command or build()).resolve()
    if len(names) > 1:
        options = ["--command", command, "--data", arguments.data, "--results", common.RESULTS, "--seeds", arguments.seeds]
        options += ["--only", *arguments.only] if arguments.only else []
        options += ["--small"] if arguments.small else []
        options += ["--missing"] if arguments.missing else []
        side_by_side(names, [str(option) for option in options], arguments.jobs)
        write_pages()
        return
    bench = Bench(Featgen(command), arguments.data, arguments.small, arguments.seeds, tuple(arguments.only), arguments.missing)
    EXPERIMENTS[names[0]][1](bench)
    draw(names[0])


if __name__ == "__main__":
    main()
