"""The experiments of the paper's section 7, beside the systems it was compared with and some of today.

    bench/run paper                    # all of them: tables (CSV) and figures (SVG) in docs/results
    bench/run paper fig02 fig07        # some of them
    bench/run paper --draw             # figures only, from the tables that are there
    bench/run paper --small            # smaller synthetic sets: a smoke test of a quarter of the time

Everything runs on one thread. Times are for ratios within one run. Real data: see bench/README.md.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Callable

import common
import convergence
import groups
import products
import real
import synthetic
from common import RESULTS, ROOT, WORK, Bench, Row, read, write
from featgen_command import Featgen, build

Experiment = tuple[str, Callable[[Bench], list[Row]], Callable[[list[Row]], None]]

EXPERIMENTS: dict[str, Experiment] = {
    "fig01": ("fig01_exact_inexact", convergence.figure1, convergence.draw1),
    "fig02": ("fig02_synthetic", synthetic.figure2, synthetic.draw2),
    "mkl": ("mkl_times", synthetic.mkl_rows, synthetic.no_figure),
    "fig03": ("fig03_synthetic_large", synthetic.figure3, synthetic.draw3),
    "fig04": ("fig04_density", synthetic.figure4, synthetic.draw4),
    "fig05": ("fig05_shift_objective", convergence.figure5, convergence.draw5),
    "fig06": ("fig06_shift_accuracy", synthetic.figure6, synthetic.draw6),
    "fig07": ("fig07_real", real.figure7, real.draw7),  # draws 7, 8 and 9
    "fig10": ("fig10_cost", real.figure10, real.draw10),
    "fig11": ("fig11_budget", real.figure11, real.draw11),
    "fig12": ("fig12_budget_400", real.figure12, real.draw12),
    "fig13": ("fig13_products", products.figure13, products.draw13),  # draws 13 and 14
    "fig15": ("fig15_groups", groups.figure15, groups.draw15),
    "fig16": ("fig16_kernels", groups.figure16, groups.draw16),  # draws 16 and 17
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="*", choices=[*EXPERIMENTS, []], metavar="FIGURE", help=", ".join(EXPERIMENTS))
    parser.add_argument("--small", action="store_true", help="smaller synthetic sets")
    parser.add_argument("--seeds", type=int, default=5, help="data sets of fig02")
    parser.add_argument("--draw", action="store_true", help="draw again without measuring")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="the folder of real data")
    parser.add_argument("--command", type=Path, help="the command to measure; built if not given")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where tables and figures go")
    arguments = parser.parse_args()
    common.RESULTS = arguments.results
    for folder in (WORK, arguments.results):
        folder.mkdir(parents=True, exist_ok=True)
    bench = None if arguments.draw else Bench(Featgen(arguments.command or build()), arguments.data, arguments.small, arguments.seeds)
    for name in arguments.experiments or EXPERIMENTS:
        table, measure, draw = EXPERIMENTS[name]
        start = time.perf_counter()
        if bench:
            write(table, measure(bench))
        if rows := read(table):
            draw(rows)
        if name == "fig02":
            write("fig02_summary", synthetic.summary(rows))
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
