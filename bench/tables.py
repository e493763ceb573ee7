"""A table of clicks, 13 counts and 26 categories of up to a million levels: featgen and LightGBM on the same
Parquet file.

    bench/run tables                              # a million rows
    bench/run tables --rows 10000000              # 6 GB on disk
    bench/run tables --most-levels 10000          # ten times as many one-hot columns
    bench/run tables reading                      # CSV: featgen beside pandas and polars

featgen converts the file to a store within --memory and selects 10 of the 39 columns; then, of a store of the
categories alone, 20 levels and crosses of two levels.
LightGBM gets the same columns, categories as pandas' categories, 100 trees of 31 leaves. Both run on
--threads (1); seconds are those of the clock, and memory is the most that each process held, pages of mapped
files included. AUC is on 200,000 rows that neither has seen.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

from featgen_command import ROOT, build, run_clocked

WORK = ROOT / "bench" / "work"
TEST_ROWS = 200_000
HERE = Path(__file__).resolve()

# Seconds of a call, without those of the import.
TIMER = (
    "import {name}, sys, time; start = time.perf_counter(); {name}.{call}; print(time.perf_counter() - start)"
)


def show(what: str, seconds: float, peak: int, more: str = "") -> None:
    print(f"{what:<44} {seconds:9.1f} s {peak / 1e6:9,.0f} MB  {more}", flush=True)


def clocked(command: list[str]) -> tuple[str, float, int]:
    start = time.perf_counter()
    out, peak, _ = run_clocked(command)
    return out, time.perf_counter() - start, peak


def compare(featgen: Path, args: argparse.Namespace) -> None:
    prefix = WORK / f"clicks-{args.rows}"
    train, test = (Path(f"{prefix}.{name}.parquet") for name in ("train", "test"))
    store, model = Path(f"{prefix}.store"), Path(f"{prefix}.json")
    if not train.exists():
        sizes = ["--rows", str(args.rows), "--test-rows", str(TEST_ROWS)]
        made = [str(featgen), "synth", "table", "--about", "clicks", "--format", "parquet", "-o", str(prefix)]
        _, seconds, peak = clocked([*made, *sizes])
        show("featgen synth", seconds, peak, f"{train.stat().st_size / 1e6:,.0f} MB")
    threads = ["--threads", str(args.threads)]
    label, levels = ["--label", "click"], ["--most-levels", str(args.most_levels)]

    def convert(into: Path, what: str, *options: str) -> None:
        command = [str(featgen), "convert", str(train), str(into), *label, *levels, *options]
        _, seconds, peak = clocked([*command, "--memory", args.memory, "-q", *threads])
        show(
            f"featgen convert{what} --memory {args.memory}",
            seconds,
            peak,
            f"{into.stat().st_size / 1e6:,.0f} MB",
        )

    def select(source: Path, *options: str) -> None:
        command = [
            str(featgen),
            "train",
            str(source),
            "--loss",
            "logistic",
            *options,
            "-o",
            str(model),
            "--json",
        ]
        out, seconds, peak = clocked([*command, *threads])
        report = json.loads(out)
        applied = [str(featgen), "predict", str(model), str(test), *label, "--json", "-q", *threads]
        scores = json.loads(clocked(applied)[0])
        chosen = dict.fromkeys(str(term.get("group", term["feature"])) for term in report["selected"])
        size = f"{report['n']:,} x {report['m']:,}"
        figures = (
            f"AUC {scores['auc']:.4f}, {scores['accuracy']:.2%} right; {size}; {', '.join(chosen)[:200]}"
        )
        show(f"featgen train {' '.join(options)}", seconds, peak, figures)

    convert(store, "")
    for features in args.features:
        select(store, "--features", str(features))
    store.unlink()
    convert(store, " --ignore 'n*'", "--ignore", "n*")
    select(store, "--space", "products", "--features", "20")
    me = [sys.executable, str(HERE), "--threads", str(args.threads), "--peer", str(train), str(test)]
    out, seconds, peak = clocked(me)
    show("LightGBM, reading and training", seconds, peak, out.strip())


def lightgbm(train: str, test: str, threads: int) -> None:
    """What a process of its own does: reads, trains, predicts."""
    import lightgbm
    import pandas as pd
    from sklearn.metrics import accuracy_score, roc_auc_score

    start = time.perf_counter()
    table = pd.read_parquet(train)
    words = [name for name in table if name.startswith("c") and name != "click"]
    for name in words:
        table[name] = table[name].astype("category")
    kinds = {name: table[name].dtype for name in words}
    read = time.perf_counter() - start
    data = lightgbm.Dataset(table.drop(columns="click"), table.pop("click"), free_raw_data=True)
    settings = {"objective": "binary", "num_leaves": 31, "num_threads": threads, "verbose": -1, "seed": 0}
    start = time.perf_counter()
    model = lightgbm.train(settings, data, num_boost_round=100)
    fitted = time.perf_counter() - start
    other = pd.read_parquet(test).astype(kinds)
    y, chance = other["click"], model.predict(other.drop(columns="click"), num_threads=threads)
    auc, right = roc_auc_score(y, chance), accuracy_score(y, chance > 0.5)
    print(f"AUC {auc:.4f}, {right:.2%} right; {read:.1f} s reading, {fitted:.1f} s training")


def reading(featgen: Path) -> None:
    """How fast CSV is read: of numbers, and of all kinds."""
    WORK.mkdir(exist_ok=True)
    numbers, mixed = WORK / "numbers.csv", WORK / "mixed.train.csv"
    if not numbers.exists():
        import numpy as np

        values = np.random.default_rng(0).standard_normal((200_000, 50))
        labels = (values[:, :3].sum(1) > 0).astype(int)
        header = ",".join([*(f"x{k}" for k in range(50)), "y"])
        formats = ["%.6g"] * 50 + ["%d"]
        np.savetxt(
            numbers, np.column_stack([values, labels]), delimiter=",", header=header, comments="", fmt=formats
        )
    if not mixed.exists():
        made = [
            "synth",
            "table",
            "--about",
            "clicks",
            "-o",
            str(WORK / "mixed"),
            "--rows",
            "300000",
            "--test-rows",
            "0",
        ]
        subprocess.run([str(featgen), *made], check=True, stdout=subprocess.DEVNULL)
    # pandas has one thread whatever is said.
    peers = {"pandas": "read_csv(sys.argv[1])", "polars": "read_csv(sys.argv[1], infer_schema_length=10000)"}
    for path, label in ((numbers, "y"), (mixed, "click")):
        megabytes = path.stat().st_size / 1e6
        print(f"{path.name}: {megabytes:,.0f} MB")
        for threads in (1, 2):
            limit = os.environ | {"POLARS_MAX_THREADS": str(threads)}
            train = [str(featgen), "train", str(path), "--label", label, "--features", "1", "--json"]
            best = dict.fromkeys(["featgen", *peers], math.inf)
            for _ in range(3):
                out = subprocess.run(
                    [*train, "--threads", str(threads)], check=True, capture_output=True
                ).stdout
                best["featgen"] = min(best["featgen"], json.loads(out)["seconds"]["read"])
                for name, call in peers.items():
                    command = [sys.executable, "-c", TIMER.format(name=name, call=call), str(path)]
                    out = subprocess.run(command, check=True, capture_output=True, env=limit).stdout
                    best[name] = min(best[name], float(out))
            for name, seconds in best.items():
                print(
                    f"  {name:<8} {threads} threads {seconds:8.2f} s {megabytes / seconds:8.0f} MB/s",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=["compare", "reading"], default="compare")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--most-levels", type=int, default=1000)
    parser.add_argument("--features", type=int, nargs="+", default=[10])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--featgen", type=Path, help="the command, if it is not to be built")
    parser.add_argument("--peer", nargs=2, metavar=("TRAIN", "TEST"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        return lightgbm(*args.peer, args.threads)
    WORK.mkdir(exist_ok=True)
    featgen = args.featgen or build()
    return reading(featgen) if args.what == "reading" else compare(featgen, args)


if __name__ == "__main__":
    main()
