"""What the experiments share: data, rows of tables, featgen at given numbers of features, figures.

Every experiment is a list of cases, whose rows make a table, and a function from rows to a figure. So figures can be drawn again
without measuring, and featgen measured again beside the rows that its rivals have in the table.

Seconds are those of the processor, on one thread: other programs, and a second experiment beside this one, hardly change them.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"  # before numpy is imported

import csv
import fcntl
import resource
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import compare
import matplotlib
import numpy as np
import scipy.sparse as sp
from compare import Problem
from featgen_command import ROOT, Featgen
from liblinear import liblinearutil

# adelie has bound this process to one core, which would be the same for all that run.
if compare.CORES:
    os.sched_setaffinity(0, compare.CORES)

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "featgen", "svg.fonttype": "none", "font.size": 8, "lines.markersize": 3})
import matplotlib.pyplot as plt  # noqa: E402

WORK = ROOT / "bench" / "work" / "paper"
RESULTS = ROOT / "docs" / "results"
#: Number of features of the real sets, and whether they are dense enough for an array.
REAL = {"dorothea": (88_119, False), "mnist38": (784, True), "news20_libsvm": (62_061, False), "news20_2gram": (1_025_970, False)}
#: The cost of the refit without selection bias, as in the paper.
DEBIAS = 20.0

Row = dict[str, Any]


@contextmanager
def locked(name: str) -> Iterator[None]:
    """One at a time among the processes of `bench/run paper`: who makes data, or needs most of the memory."""
    with open(WORK / f"{name}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass
class Bench:
    featgen: Featgen
    data: Path
    small: bool = False
    seeds: int = 5
    only: tuple[str, ...] = ()  # "featgen", "rivals", or rivals by their names; rows of others are taken from the table
    missing: bool = False  # only what the table does not have

    def keeps(self) -> bool:
        return bool(self.only) or self.missing

    def wants(self, step: str, rows: list[Row]) -> bool:
        """Whether to measure this step, of which the table has these rows."""
        named = any(name in self.only for name in step.split()) or (step != "featgen" and "rivals" in self.only)
        return (named or not self.only) and not (self.missing and rows)

    def made(self, kind: str, prefix: Path, **options: float) -> Path:
        """Synthetic data, made by the command unless they are there."""
        with locked("data"):
            if not Path(f"{prefix}.truth.txt").exists():
                self.featgen.synth(kind, prefix, **options)
        return prefix

    def real(self, name: str) -> Problem | None:
        return compare.real(self, name, *REAL[name])

    def planted(self, rows: int, features: int, seed: int = 0, **options: float) -> Problem:
        """The paper's synthetic set: 300 relevant features with weights from 0 to 1; by columns."""
        name = "_".join(f"{k}{v}" for k, v in options.items())
        prefix = WORK / f"linear_{rows}_{features}_{seed}_{name}"
        options = {"rows": rows, "features": features, "test_rows": 4096, "seed": seed, "relevant": 300, **options}
        return load_synthetic(self.made("linear", prefix, **options))

    def groups(self, rows: int, features: int, relevant: int, seed: int = 0) -> Problem:
        prefix = WORK / f"group_{rows}_{features}_{seed}"
        options = {"rows": rows, "features": features, "test_rows": 2000, "seed": seed, "relevant": relevant, "group_size": 10}
        problem = load_synthetic(self.made("group", prefix, **options))
        problem.group_size = 10
        problem.truth = np.unique(problem.truth // 10)
        problem.train_args += ["--groups", f"{prefix}.groups.txt"]
        return problem


def load_synthetic(prefix: Path) -> Problem:
    loaded = []
    for part in ("train", "test"):
        array, text = Path(f"{prefix}.{part}.npy"), Path(f"{prefix}.{part}.svm")
        if array.exists():
            labels = f"{prefix}.{part}.labels.txt"
            loaded.append((np.load(array, mmap_mode="r"), np.loadtxt(labels), [str(array), "--labels", labels]))
        else:
            from sklearn.datasets import load_svmlight_file

            x, y = load_svmlight_file(str(text))
            loaded.append((x, y, [str(text)]))
    (x, y, train), (test_x, test_y, test) = loaded
    truth = np.loadtxt(f"{prefix}.truth.txt", ndmin=2)[:, 0].astype(int) - 1
    return Problem(x, y, test_x, test_y, train, test, truth)


# What is measured.


@dataclass
class Case:
    """One data set of an experiment: what marks its rows, featgen's runs on it, and its rivals'.

    Rivals go by how the names of their rows begin, with spaces between if there are several.
    """

    marks: Row
    load: Callable[[], Any]
    own: Callable[[Any], Iterable[Row]]
    rivals: dict[str, Callable[[Any], Iterable[Row]]] = field(default_factory=dict)

    def steps(self) -> dict[str, Callable[[Any], Iterable[Row]]]:
        return {"featgen": self.own, **self.rivals}

    def rows_of(self, step: str, table: list[Row]) -> list[Row]:
        """The rows that a table has of this step."""
        here = [row for row in table if all(row.get(key) == value for key, value in self.marks.items())]
        return [row for row in here if row["who"].startswith(OURS if step == "featgen" else tuple(step.split()))]


#: How the names of featgen's rows begin.
OURS = ("best", "PROX-", "FGM", "MKL-FGM", "ACTIVE", "Newton", "APG", "exact", "inexact", "tolerance", "10 rounds")


def measure(bench: Bench, table: str, cases: Iterable[Case]) -> list[Row]:
    """The rows of all cases, written after each step; of steps that are not to be measured, the rows that the table has."""
    old = read(table) if bench.keeps() else []
    cases = list(cases)
    found = {(index, step): case.rows_of(step, old) for index, case in enumerate(cases) for step in case.steps()}
    for index, case in enumerate(cases):
        wanted = {name: step for name, step in case.steps().items() if bench.wants(name, found[index, name])}
        problem = case.load() if wanted else None
        for name, step in wanted.items() if problem is not None else ():
            found[index, name], seconds = timed(lambda: [row | case.marks for row in step(problem)])
            write(table, [row for rows in found.values() for row in rows])
            print(table, *case.marks.values(), name, f"{seconds:.0f} s", flush=True)
    return [row for rows in found.values() for row in rows]


def accuracy_of(problem: Problem, weights: np.ndarray, shift: float = 0.0) -> float:
    used = np.flatnonzero(weights)
    values = problem.test_x[:, used] @ weights[used] + shift
    return float(np.mean(np.where(values > 0, 1, -1) == problem.test_y))


def debiased(problem: Problem, used: np.ndarray, shift: bool = False) -> float:
    """Test accuracy of an l2-SVM (LIBLINEAR, cost 20) on these features alone."""
    if len(used) == 0:
        return float(max(np.mean(problem.test_y > 0), np.mean(problem.test_y < 0)))
    bias = "-B 1" if shift else ""
    train, test = (sp.csr_matrix(x[:, used], dtype=np.float64) for x in (problem.x, problem.test_x))
    model = liblinearutil.train(liblinearutil.problem(problem.y, train), liblinearutil.parameter(f"-s 2 -c {DEBIAS} {bias} -q"))
    labels, *_ = liblinearutil.predict(problem.test_y, test, model, "-q")
    return float(np.mean(np.asarray(labels) == problem.test_y))


def row_of(problem: Problem, who: str, weights: np.ndarray, shift: float, seconds: float, **more: Any) -> Row:
    used = np.flatnonzero(weights)
    chosen = np.unique(used // problem.group_size)
    relevant = None if problem.truth is None else len(np.intersect1d(chosen, problem.truth))
    row = {"who": who, "features": len(chosen), "accuracy": accuracy_of(problem, weights, shift), "relevant": relevant}
    return row | {"seconds": seconds} | more


def weights_of(result: dict[str, Any], features: int) -> np.ndarray:
    weights = np.zeros(features)
    for chosen in result["selected"]:
        weights[int(chosen["feature"]) - 1] += chosen["weight"]
    return weights


def featgen_row(bench: Bench, problem: Problem, who: str, *options: str | float, **more: Any) -> Row:
    """One run of the command: features, test accuracy, seconds of training with the data in memory, rounds."""
    model = WORK / f"model-{os.getpid()}.json"
    result = bench.featgen.train(problem.train_args, *options, model=model)
    weights = weights_of(result, problem.x.shape[1])
    row = row_of(problem, who, weights, 0.0, train_seconds(result), **more)
    # Groups may be more than one output can hold as plain weights: the command knows.
    row["accuracy"] = bench.featgen.accuracy(model, problem.test_args)
    return row | {"result": result, "used": np.flatnonzero(weights)}


#: The systems of the paper as options of the command.
NEWTON: list[str | float] = ["--select", "paper", "-C", 10, "--tol", 0]


def prox(cost: float = 10, tol: float = 0) -> list[str | float]:
    """The paper's machine by its own inner rule."""
    return ["--select", "paper", "--solver", "apg", "--inner-decrease", 1e-3, "-C", cost, "--tol", tol]


PROX = prox()


def rounds_to(count: int, budget: int | None = None) -> list[str | float]:
    """So many features in ten rounds, as the paper does, or with that budget."""
    budget = budget or max(1, count // 10)
    return ["-B", budget, "--max-rounds", -(-count // budget)]


def train_seconds(result: dict[str, Any]) -> float:
    """Processor seconds of training with the data in memory: of the whole process, the part that is not reading."""
    clocks = result["seconds"]
    return result["cpu"] * (1 - clocks["read"] / clocks["total"])


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """What `run` returns, and its processor seconds."""
    start = clock()
    return run(), clock() - start


def clock() -> float:
    """Processor seconds of this process and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


# Tables and figures.


def plain(row: Row) -> Row:
    """Without what is kept for later steps only."""
    kept = {k: v for k, v in row.items() if k not in ("result", "used", "weights")}
    return {k: round(v, 5) if isinstance(v, float) else v for k, v in kept.items()}


def write(name: str, rows: list[Row]) -> None:
    rows = [plain(row) for row in rows]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with open(RESULTS / f"{name}.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(name: str) -> list[Row]:
    if not (RESULTS / f"{name}.csv").exists():
        return []

    def value(text: str) -> Any:
        try:
            return float(text) if text else None
        except ValueError:
            return text

    with open(RESULTS / f"{name}.csv", newline="") as file:
        return [{key: value(text) for key, text in row.items()} for row in csv.DictReader(file)]


#: One look for each system in all figures.
COLOURS = {
    "best": "#c1121f", "PROX-FGM": "#1d4ed8", "PROX-SLR": "#0891b2", "PROX-PFGM": "#7c3aed", "PROX-PSLR": "#0f766e", "l1-PSVM": "#b45309", "FGM": "#1d4ed8", "FGM-SHIFT": "#0891b2", "MKL-FGM": "#7c3aed",
    "l1-SVM": "#b45309", "l1-LR": "#d97706", "l1-SVM-SHIFT": "#d97706", "SGD-SLR": "#78716c", "abess": "#15803d", "MCP": "#65a30d",
    "adelie": "#be185d", "glmnet": "#db2777", "L0Learn": "#166534", "RFE": "#0f766e", "l2-SVM": "#000000", "LR": "#525252",
}
MARKS = "os^vD<>ph*X+x"


def style(who: str, index: int) -> dict[str, Any]:
    base = next((name for name in sorted(COLOURS, key=len, reverse=True) if who.startswith(name)), None)
    ours = who.startswith(OURS)
    look: dict[str, Any] = {"marker": MARKS[index % len(MARKS)], "linestyle": "-" if ours else "--", "linewidth": 1.6 if who.startswith("best") else 1.0}
    if base:
        look["color"] = COLOURS[base]
    if "debias" in who or "refit" in who:
        look["linestyle"] = ":"
    return look


def curves(axes, rows: Iterable[Row], x: str, y: str) -> None:
    """A line for each system, over the means of what has the same x."""
    rows = [row for row in rows if row.get(x) is not None and row.get(y) is not None]
    for index, who in enumerate(dict.fromkeys(row["who"] for row in rows)):
        points: dict[float, list[float]] = {}
        for row in rows:
            if row["who"] == who:
                points.setdefault(float(row[x]), []).append(float(row[y]))
        places = sorted(points)
        axes.plot(places, [np.mean(points[place]) for place in places], label=who, **style(who, index))
    axes.grid(alpha=0.25)


def percent(axes) -> None:
    axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))


def panels(count: int, columns: int = 2, height: float = 2.4):
    lines = -(-count // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(3.6 * columns, height * lines + 0.5), layout="constrained", squeeze=False)
    for spare in axes.ravel()[count:]:
        spare.set_axis_off()
    return figure, axes.ravel()


def save(figure, name: str, columns: int = 5) -> None:
    """With one legend for all panels, below them."""
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        for line, label in zip(*axes.get_legend_handles_labels()):
            entries.setdefault(label, line)
    if entries:
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns, frameon=False, fontsize=7)
    figure.savefig(RESULTS / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


__all__ = [name for name in globals() if not name.startswith("_")]
