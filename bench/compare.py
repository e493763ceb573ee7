"""featgen and its peers side by side: the same data, the same core, one run.

Run it with `bench/run`; see README.md for what is measured.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"  # before numpy is imported
# Before adelie is imported: it binds the process to one core.
CORES: set[int] = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()

import argparse
import io
import json
import platform
import sys
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Callable

import numpy as np
import scipy.sparse as sp
import zstandard
from sklearn.datasets import load_svmlight_file

import peers
from featgen_command import ROOT, Featgen, build, fit_seconds, run_measured
from made import GROUPS100, GROUPS2048, SYNTH4096, SYNTH65536, Recipe, write_synthetic, write_text

WORK = ROOT / "bench" / "work"
SEEDS = (0, 1, 2)
PACKAGES = ("adelie", "liblinear-official", "numpy", "scikit-learn", "scipy", "skglm")

# Ends the names of runs whose data are laid out by columns, or are text.
BY_COLUMNS = ", by columns"
AS_TEXT = ", as text"


@dataclass
class Row:
    """One line of a table: what one contender did, at the last point of its path.

    Where features come in groups, `features` and `relevant` count groups.
    """

    who: str
    seconds: float | None = None
    ratio: float | None = None  # seconds over those of featgen: above 1, featgen is faster
    cpu: float | None = None  # of peers: far below `seconds` if other programs were in the way
    features: float | None = None
    accuracy: float | None = None
    relevant: float | None = None
    peak: int | None = None


@dataclass
class Problem:
    """Training and test data in memory, and the arguments by which the command finds them."""

    x: Any
    y: np.ndarray
    test_x: Any
    test_y: np.ndarray
    train_args: list[str]
    test_args: list[str]
    truth: np.ndarray | None = None  # the relevant features; the relevant groups where there are groups
    group_size: int = 1  # of consecutive features
    column_args: list[str] | None = None  # the same training data by columns, where `train_args` has them by rows
    text_args: list[str] | None = None  # the same as svmlight text

    def judge(self, row: Row, weights: np.ndarray, shift: float) -> None:
        """Fills in what `weights` select and how well they predict."""
        used = np.flatnonzero(weights)
        values = self.test_x[:, used] @ weights[used] + shift
        row.accuracy = float(np.mean(np.where(values > 0, 1, -1) == self.test_y))
        self.count(row, used)

    def count(self, row: Row, used: np.ndarray) -> None:
        """Fills in how many features, or groups, are `used`, and how many of these are relevant."""
        used = np.unique(used // self.group_size)
        row.features = len(used)
        if self.truth is not None:
            row.relevant = len(np.intersect1d(used, self.truth))


class Bench:
    """What all cases share: the command, the data folder, the number of repeats."""

    def __init__(self, featgen: Featgen | None, data: Path, repeats: int):
        self.featgen, self.data, self.repeats = featgen, data, repeats

    def best_of(self, contenders: dict[str, Callable[[], float]]) -> dict[str, float]:
        """The best time of each contender; they take turns, so that a noisy moment hurts all alike."""
        best = dict.fromkeys(contenders, float("inf"))
        for _ in range(self.repeats):
            for who, run in contenders.items():
                best[who] = min(best[who], run())
        return best

    def compare(
        self, problem: Problem, runs: dict[str, list[str | float]], fits: dict[str, peers.Fit]
    ) -> tuple[list[Row], dict[str, dict]]:
        """Times `featgen train` with each set of options in `runs` against the peers' `fits`.

        The first of `runs` is what ratios refer to. Returns the table and featgen's fastest result of each run.
        """
        rows = {who: Row(who) for who in [*(runs if self.featgen else ()), *fits]}
        results: dict[str, dict] = {}
        model = WORK / "model.json"

        def featgen_run(who: str, options: list[str | float]) -> float:
            others = {BY_COLUMNS: problem.column_args, AS_TEXT: problem.text_args}
            data = next((args for end, args in others.items() if who.endswith(end)), problem.train_args)
            result = self.featgen.train(data, *options, model=model)
            seconds = fit_seconds(result)
            if who not in results:
                rows[who].accuracy = self.featgen.accuracy(model, problem.test_args)
            if who not in results or seconds < fit_seconds(results[who]):
                results[who] = result
            return seconds

        def peer_run(who: str, fit: peers.Fit) -> float:
            start, cpu = time.perf_counter(), time.process_time()
            weights, shift = fit()
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            rows[who].cpu = min(cpu, rows[who].cpu or cpu)
            problem.judge(rows[who], weights, shift)
            return seconds

        contenders: dict[str, Callable[[], float]] = {}
        if self.featgen:
            contenders |= {w: lambda w=w, o=o: featgen_run(w, o) for w, o in runs.items()}
        contenders |= {w: lambda w=w, f=f: peer_run(w, f) for w, f in fits.items()}
        best = self.best_of(contenders)
        reference = best[next(iter(runs))] if self.featgen else None
        for who, row in rows.items():
            row.seconds = best[who]
            row.ratio = best[who] / reference if reference else None
        for who, result in results.items():
            problem.count(rows[who], selected(result))
            rows[who].peak = result["peak"]
        return list(rows.values()), results


def selected(result: dict) -> np.ndarray:
    """The features that featgen selected, counted from 0."""
    return np.array([int(s["feature"]) - 1 for s in result["selected"]], dtype=int)


# ---- data


def synthetic(bench: Bench, recipe: Recipe, seed: int) -> Problem:
    """The data of `recipe`, kept in bench/work. Test data stay in their file until they are used."""
    prefix = WORK / f"{recipe.name}-{seed}"
    if bench.featgen and not synthetic_files(prefix, "train"):
        recipe.make(bench.featgen, prefix, seed)
    elif not bench.featgen:
        prefix = WORK / f"{recipe.name}-numpy-{seed}"
        if not synthetic_files(prefix, "train"):
            write_synthetic(prefix, recipe, seed)
    loaded = []
    for part in ("train", "test"):
        x_file, y_file = synthetic_files(prefix, part)
        x = np.load(x_file, mmap_mode="r" if part == "test" else None)
        loaded.append((x, np.loadtxt(y_file), [str(x_file), "--labels", str(y_file)]))
    features = np.loadtxt(Path(f"{prefix}.truth.txt"), comments="#", ndmin=2)[:, 0].astype(int) - 1
    truth = np.unique(features // recipe.group_size)
    (x, y, column_args), (test_x, test_y, test_args) = loaded
    if recipe.group_size > 1:
        train_args = [*column_args, "--groups", f"{prefix}.groups.txt"]
        return Problem(x, y, test_x, test_y, train_args, test_args, truth, recipe.group_size)
    by_rows = WORK / f"rows-{prefix.name}.npy"
    if not by_rows.exists():
        np.save(by_rows, np.ascontiguousarray(x))
    train_args = [str(by_rows), *column_args[1:]]
    return Problem(x, y, test_x, test_y, train_args, test_args, truth, column_args=column_args)


def synthetic_files(prefix: Path, part: str) -> tuple[Path, Path] | None:
    """The array and the labels of one part, if they have been made."""
    found = sorted(prefix.parent.glob(f"{prefix.name}.{part}*"))
    arrays = [f for f in found if f.suffix == ".npy" and "label" not in f.name]
    labels = [f for f in found if f not in arrays]
    return (arrays[0], labels[0]) if arrays and labels else None


def real(bench: Bench, name: str, features: int, dense: bool) -> Problem | None:
    """A data set of the data folder: float32 by columns where dense, float64 compressed columns where sparse."""
    folder = bench.data / name
    if not folder.is_dir():
        print(f"{name}: skipped, no folder {folder}", file=sys.stderr)
        return None
    loaded = []
    for part in ("train", "test"):
        file = folder / f"{part}.svm.zst"
        with open(file, "rb") as stream:
            text = zstandard.ZstdDecompressor().stream_reader(stream).read()
        x, y = load_svmlight_file(io.BytesIO(text), n_features=features, zero_based=False)
        x = np.asfortranarray(x.toarray(), dtype=np.float32) if dense else sp.csc_matrix(x)
        if not dense:
            x.sort_indices()
        loaded.append((x, y, [str(file)]))
    (x, y, train_args), (test_x, test_y, test_args) = loaded
    return Problem(x, y, test_x.tocsr() if not dense else test_x, test_y, train_args, test_args)


def dense_text(x: np.ndarray, y: np.ndarray, name: str) -> list[str]:
    """The arguments for an array as svmlight text, with digits enough for single precision. Kept in bench/work."""
    path = WORK / f"{name}.svm"
    if not path.exists():
        partial = path.with_suffix(".partial")
        line = " ".join(f"{j}:%.9g" for j in range(1, x.shape[1] + 1))
        with open(partial, "w") as out:
            out.writelines(f"{label:+.0f} {line % tuple(row)}\n" for label, row in zip(y, x.tolist()))
        partial.rename(path)
    return [str(path)]


# ---- cases


def case_synth4096(bench: Bench) -> dict:
    problem = synthetic(bench, SYNTH4096, SEEDS[0])
    problem.text_args = dense_text(problem.x, problem.y, f"text-{SYNTH4096.name}")
    count = ["--select", "paper", "--features", 200, "-B", 10, "-C", 10]
    logistic = [*count, "--loss", "logistic"]
    python = {"select": "paper", "n_features": 200, "budget": 10, "C": 10}
    runs = {f"featgen{form}": count for form in ("", BY_COLUMNS, AS_TEXT)}
    runs |= {f"featgen, logistic{form}": logistic for form in ("", BY_COLUMNS)}
    liblinear = peers.liblinear_problem(problem.x, problem.y)
    fits = {
        "featgen, Python": peers.featgen_fit(problem.x, problem.y, **python),
        "featgen, Python, by rows": peers.featgen_fit(np.ascontiguousarray(problem.x), problem.y, **python),
        "adelie, binomial": peers.adelie_path(problem.x, problem.y, "binomial", 0.2, intercept=False),
        "adelie, gaussian": peers.adelie_path(problem.x, problem.y, "gaussian", 0.22, intercept=False),
        "LIBLINEAR -s 5": peers.liblinear_fits(liblinear, 5, np.geomspace(0.0015, 0.007, 10)),
    }
    rows, _ = bench.compare(problem, runs, fits)
    rows += mean_over_seeds(bench, SYNTH4096, {who: runs[who] for who in ("featgen", "featgen, logistic")})
    return {"title": "synthetic, 4096 x 4096, 300 relevant", "rows": rows}


def mean_over_seeds(bench: Bench, recipe: Recipe, runs: dict[str, list[str | float]]) -> list[Row]:
    """featgen's accuracy and relevant features in each of `runs`, averaged over data sets. Empty without featgen."""
    if not bench.featgen:
        return []
    rows: dict[str, list[Row]] = {who: [] for who in runs}
    model = WORK / "model.json"
    for seed in SEEDS:
        problem = synthetic(bench, recipe, seed)
        for who, options in runs.items():
            row = Row(who)
            problem.count(row, selected(bench.featgen.train(problem.train_args, *options, model=model)))
            row.accuracy = bench.featgen.accuracy(model, problem.test_args)
            rows[who].append(row)

    def mean(who: str, column: str) -> float:
        return float(np.mean([getattr(row, column) for row in rows[who]]))

    columns = ("features", "accuracy", "relevant")
    return [Row(f"{who}, mean of seeds", **{column: mean(who, column) for column in columns}) for who in runs]


def case_groups100(bench: Bench) -> dict:
    """Far fewer instances than columns of a few groups, as with patients and genes: mostly solving."""
    problem, size = synthetic(bench, GROUPS100, SEEDS[0]), GROUPS100.group_size
    runs = {f"featgen, {k} groups": ["--features", k, "--loss", "logistic"] for k in (10, 20)}
    path = {"min_ratio": 0.25, "intercept": True, "group_size": size}
    double = problem.x.astype(np.float64)
    fits = {
        "adelie, binomial": peers.adelie_path(double, problem.y, "binomial", **path),
        "adelie, gaussian": peers.adelie_path(double, problem.y, "gaussian", **path),
    }
    rows, _ = bench.compare(problem, runs, fits)
    rows += mean_over_seeds(bench, GROUPS100, runs)
    return {"title": "groups of 100, 100 x 20,000, 5 of 200 relevant", "unit": "groups", "rows": rows}


def case_groups2048(bench: Bench) -> dict:
    problem, size, penalty = synthetic(bench, GROUPS2048, SEEDS[0]), GROUPS2048.group_size, 0.0152
    common = ["--select", "paper", "-B", 5, "-C", 1, "--loss", "logistic"]
    runs = {f"featgen, {k} groups": ["--features", k, *common] for k in (50, 30)}
    x, y, double = problem.x, problem.y, problem.x.astype(np.float64)
    ratio = penalty / peers.first_penalty(double, y, size)
    path = {"loss": "binomial", "min_ratio": ratio, "intercept": True, "group_size": size}
    groups = np.arange(x.shape[1]).reshape(-1, size).tolist()
    fits = {
        "featgen, Python": peers.featgen_fit(
            x, y, select="paper", n_features=50, budget=5, C=1, loss="logistic", groups=groups
        ),
        "adelie": peers.adelie_path(double, y, **path),
        "adelie, float32": peers.adelie_path(x, y, newton_tol=1e-6, **path),  # by its default, 1e-12, it gives up
        "skglm, one fit": peers.skglm_fit(double, y, size, penalty),
    }
    rows, _ = bench.compare(problem, runs, fits)
    rows += mean_over_seeds(bench, GROUPS2048, runs)
    return {"title": "groups of 10, 2048 x 100,000, 50 of 10,000 relevant", "unit": "groups", "rows": rows}


def case_synth65536(bench: Bench) -> dict:
    problem = synthetic(bench, SYNTH65536, SEEDS[0])
    count = ["--select", "paper", "--features", 250, "-B", 25, "-C", 10]
    runs = {"featgen": count, f"featgen{BY_COLUMNS}": count}
    fits = {
        "featgen, Python": peers.featgen_fit(problem.x, problem.y, select="paper", n_features=250, budget=25, C=10),
        "adelie, binomial": peers.adelie_path(problem.x, problem.y, "binomial", 0.21, intercept=False),
    }
    rows, results = bench.compare(problem, runs, fits)
    notes = read_bandwidth(bench, problem.x)
    if results:
        # By columns all values are read in each pass; the last round carries the certifying pass as well.
        rounds = results[f"featgen{BY_COLUMNS}"]["rounds"][:-1]
        score = sum(r["seconds"]["score"] for r in rounds)
        notes["featgen scoring GB/s"] = problem.x.nbytes * len(rounds) / score / 1e9
        notes["featgen peak memory / data"] = rows[0].peak / problem.x.nbytes
    return {"title": "synthetic, 8192 x 65536, 300 relevant, 2 GiB", "rows": rows, "notes": notes}


def read_bandwidth(bench: Bench, x: np.ndarray) -> dict[str, float]:
    """How fast this core reads `x`, and how fast numpy's BLAS scores it (in single precision)."""
    flat, v = x.ravel("K").view(np.int32), np.ones(len(x), x.dtype)

    def timed(run: Callable[[], Any]) -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    best = bench.best_of({"read GB/s": lambda: timed(flat.max), "numpy X^T v GB/s": lambda: timed(lambda: x.T @ v)})
    return {what: x.nbytes / seconds / 1e9 for what, seconds in best.items()}


def case_real(
    bench: Bench,
    name: str,
    features: int,
    cost: float,
    ratios: tuple[float, float],
    costs: tuple[float, float],
    dense: bool,
    budget: int = 20,
) -> dict | None:
    """A data set of the data folder. `ratios` end adelie's paths (binomial, gaussian), `costs` bound LIBLINEAR's grid:
    near the number of features that featgen's 20 rounds select."""
    problem = real(bench, name, features, dense)
    if problem is None:
        return None
    common = ["--select", "paper", "-B", budget, "-C", cost]
    runs = {"featgen": ["--max-rounds", 20, "--tol", 0, *common]}
    counts = [k for k in (100, 200, 400) if k <= 20 * budget]
    runs |= {f"featgen --features {k}": ["--features", k, *common] for k in counts}
    liblinear = peers.liblinear_problem(problem.x, problem.y)
    fits = {
        "adelie, binomial": peers.adelie_path(problem.x, problem.y, "binomial", ratios[0], intercept=True),
        "adelie, gaussian": peers.adelie_path(problem.x, problem.y, "gaussian", ratios[1], intercept=True),
        "LIBLINEAR -s 5": peers.liblinear_fits(liblinear, 5, np.geomspace(*costs, 10)),
    }
    rows, _ = bench.compare(problem, runs, fits)
    return {"title": f"{name}, {problem.x.shape[0]} x {problem.x.shape[1]}", "rows": rows}


def case_curves(bench: Bench) -> dict | None:
    """Curves beside linear features: as many features, and as many columns as 20 Gaussian curves have."""
    problem = real(bench, "mnist38", 784, dense=True) if bench.featgen else None
    if problem is None:
        return None
    runs: dict[str, list[str | float]] = {}
    for loss in ("squared-hinge", "logistic"):
        common = ["--select", "paper", "-C", 10, "--loss", loss]
        runs |= {
            f"20 features, {loss}": [*common, "--features", 20, "-B", 2],
            f"200 features, {loss}": [*common, "--features", 200, "-B", 20],
            f"20 smooth curves, {loss}": [*common, "--space", "gaussian", "--features", 20, "-B", 2],
            f"20 stairs, {loss}": [*common, "--space", "hik", "--features", 20, "-B", 2],
        }
    rows, results = bench.compare(problem, runs, {})
    notes = {f"{who}, solving, ms": 1e3 * result["seconds"]["solve"] for who, result in results.items()}
    return {"title": "curves on mnist38: ten rounds each", "rows": rows, "notes": notes}


SKLEARN_READ = """
import json, sys, time
from sklearn.datasets import load_svmlight_file
start, cpu = time.perf_counter(), time.process_time()
x, _ = load_svmlight_file(sys.argv[1])
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
size = x.data.nbytes + x.indices.nbytes + x.indptr.nbytes
print(json.dumps({"seconds": seconds, "cpu": cpu, "bytes": size}))
"""


def case_reading(bench: Bench) -> dict:
    text = WORK / "reading.svm"
    if not text.exists():
        write_text(text, 315_000, 1_000_000, 66, seed=0)
    read: dict[str, dict] = {}

    def sklearn_run() -> float:
        out, peak = run_measured([sys.executable, "-c", SKLEARN_READ, str(text)])
        result = json.loads(out) | {"peak": peak}
        if result["seconds"] <= read.get("scikit-learn", result)["seconds"]:
            read["scikit-learn"] = result
        return result["seconds"]

    def featgen_run(threads: int) -> float:
        options = ["--max-rounds", 1, "--threads", threads]
        result = bench.featgen.train([str(text)], *options, cores=CORES if threads > 1 else None)
        read[f"featgen, threads {threads}"] = result
        return result["seconds"]["read"]

    contenders: dict[str, Callable[[], float]] = {}
    if bench.featgen:
        contenders |= {f"featgen, threads {t}": lambda t=t: featgen_run(t) for t in (1, 2)}
    contenders["scikit-learn"] = sklearn_run
    best = bench.best_of(contenders)
    reference = best.get("featgen, threads 1")
    rows = []
    for who, seconds in best.items():
        ratio = seconds / reference if reference else None
        rows.append(Row(who, seconds, ratio, read[who].get("cpu"), peak=read[who]["peak"]))
    megabytes, arrays = text.stat().st_size / 1e6, read["scikit-learn"]["bytes"]
    notes = {f"{row.who} MB/s": megabytes / row.seconds for row in rows}
    notes |= {f"{row.who} peak memory / arrays": row.peak / arrays for row in rows}
    return {"title": f"reading svmlight text, {megabytes:.0f} MB, 315,000 x 1,000,000", "rows": rows, "notes": notes}


def case_products(bench: Bench) -> dict | None:
    """All products of two pixels: searched by featgen, written down for LIBLINEAR, in a process of its own."""
    folder = bench.data / "mnist38"
    if not folder.is_dir():
        print(f"products: skipped, no folder {folder}", file=sys.stderr)
        return None
    train, test = (str(folder / f"{part}.svm.zst") for part in ("train", "test"))
    common = ["--select", "paper", "--space", "poly2", "-B", 10, "-C", 1, "--gamma", 1]
    runs = {f"featgen, {k} products": [*common, "--features", k] for k in (240, 100)}
    peer, model = "PolynomialFeatures, LIBLINEAR -s 5", WORK / "model.json"
    rows = {who: Row(who) for who in [*(runs if bench.featgen else ()), peer]}

    def featgen_run(who: str) -> float:
        result = bench.featgen.train([train], *runs[who], model=model)
        row = rows[who]
        row.features, row.peak = len(result["selected"]), result["peak"]
        row.cpu = min(result["cpu"], row.cpu or result["cpu"])
        row.accuracy = row.accuracy or bench.featgen.accuracy(model, [test])
        return fit_seconds(result)

    def peer_run() -> float:
        script = str(ROOT / "bench" / "poly_peer.py")
        out, peak = run_measured([sys.executable, script, train, test, "784", "0.0105"])
        result, row = json.loads(out), rows[peer]
        row.features, row.accuracy, row.peak = result["features"], result["accuracy"], peak
        row.cpu = min(result["cpu"], row.cpu or result["cpu"])
        return result["seconds"]

    contenders: dict[str, Callable[[], float]] = {}
    if bench.featgen:
        contenders |= {who: lambda who=who: featgen_run(who) for who in runs}
    contenders[peer] = peer_run
    best = bench.best_of(contenders)
    reference = best[next(iter(runs))] if bench.featgen else None
    for who, row in rows.items():
        row.seconds = best[who]
        row.ratio = best[who] / reference if reference else None
    return {"title": "mnist38, all products of two: 11982 x 308,505", "rows": list(rows.values())}


CASES: dict[str, Callable[[Bench], dict | None]] = {
    "synth4096": case_synth4096,
    "news20_libsvm": lambda bench: case_real(bench, "news20_libsvm", 62_061, 100, (0.033, 0.045), (0.01, 0.16), dense=False),
    "news20_2gram": lambda bench: case_real(bench, "news20_2gram", 1_025_970, 100, (0.025, 0.033), (0.01, 0.27), dense=False),
    "mnist38": lambda bench: case_real(bench, "mnist38", 784, 10, (0.001, 0.002), (0.0003, 0.1), dense=True, budget=12),
    "curves": case_curves,
    "reading": case_reading,
    "products": case_products,
    "groups100": case_groups100,
    "groups2048": case_groups2048,
    "synth65536": case_synth65536,
}
LARGE = ("products", "groups2048", "synth65536")


# ---- output


def show(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def print_table(case: dict) -> None:
    unit = case.get("unit", "features")
    print(f"\n{case['title']}\n")
    print(f"{'':34}{'seconds':>9}{'ratio':>8}{'cpu s':>9}{unit:>10}{'accuracy':>10}{'relevant':>10}{'peak MB':>9}")
    for r in case["rows"]:
        peak = r.peak / 1e6 if r.peak else None
        print(
            f"{r.who:34}{show(r.seconds, '.3f'):>9}{show(r.ratio, '.2f'):>8}{show(r.cpu, '.3f'):>9}"
            f"{show(r.features, 'g'):>10}{show(r.accuracy, '.2%'):>10}{show(r.relevant, '.4g'):>10}{show(peak, '.0f'):>9}"
        )
    for what, value in case.get("notes", {}).items():
        print(f"  {what}: {value:.2f}")
    sys.stdout.flush()


def save(results: dict[str, dict], path: Path) -> None:
    machine = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()}
    versions = {package: version(package) for package in PACKAGES}
    cases = {name: case | {"rows": [asdict(row) for row in case["rows"]]} for name, case in results.items()}
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps({"machine": machine, "versions": versions, "cases": cases}, indent=2) + "\n")
    partial.replace(path)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"which to run: {', '.join(CASES)}")
    parser.add_argument("--large", action="store_true", help=f"run {', '.join(LARGE)} too (10 GiB on disk, 9 GiB of memory)")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the real data")
    parser.add_argument("--featgen", type=Path, help="the command to measure; built from this repository by default")
    parser.add_argument("--peers", action="store_true", help="run the peers alone, on synthetic data made by numpy")
    parser.add_argument("--repeats", type=int, default=3, help="take the best of so many (default 3)")
    parser.add_argument("--core", type=int, help="the core to run on; the first allowed one by default")
    args = parser.parse_args()
    for name in args.cases:
        if name not in CASES:
            parser.error(f"no case {name!r}; there are {', '.join(CASES)}")
    if args.repeats < 1:
        parser.error("--repeats must be at least 1")
    return args


def main() -> None:
    args = arguments()
    WORK.mkdir(exist_ok=True)
    featgen = None if args.peers else Featgen(args.featgen.resolve() if args.featgen else build())
    if CORES:
        os.sched_setaffinity(0, {min(CORES) if args.core is None else args.core})
    bench = Bench(featgen, args.data, args.repeats)
    results: dict[str, dict] = {}
    for name in args.cases or [name for name in CASES if args.large or name not in LARGE]:
        case = CASES[name](bench)
        if case:
            results[name] = case
            print_table(case)
            save(results, WORK / "results.json")
    print(f"\nratio: seconds over those of the first line; above 1, featgen is faster. Best of {args.repeats}, one core.")


if __name__ == "__main__":
    main()
