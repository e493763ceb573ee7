"""The best K features with proof: ten planted features of many, beside l0bnb, okridge and abess where they install.

    bench/run proof                                    # the table; some minutes, and 400 MB of memory
    bench/run proof --quick                            # without the large problems
    bench/run proof --picture docs/best-subset.svg     # bound and objective, against nodes and time

Normal columns, correlated as `rho^|i - j|` where that is said; ten of them decide, each as much as the others. Numbers have a signal to
noise ratio of 5; classes are the sign of the signal with noise of half its size. All run on one thread; seconds are processor time, of
featgen with reading. featgen is asked for a gap of 1e-4 within a minute. l0bnb knows no K: it is given a price of a feature at which the
planted set is worth it, the same ridge, a bound on weights, and the same minute. okridge and abess are given K and the same ridge; abess
proves nothing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from featgen_command import Featgen, build

K = 10
GAP = 1e-4
SECONDS = 60


class Problem(NamedTuple):
    n: int
    p: int
    rho: float
    task: str
    cost: float
    rivals: tuple[str, ...] = ()

    def __str__(self) -> str:
        correlated = f", correlated {self.rho}" if self.rho else ""
        return f"{self.task}, {self.n} x {self.p:,}{correlated}, C = {self.cost:g}"


PROBLEMS = [
    Problem(1000, 1000, 0.0, "numbers", 1e-2, ("l0bnb", "okridge", "abess")),
    Problem(1000, 10_000, 0.0, "numbers", 1e-2, ("l0bnb", "abess")),
    Problem(1000, 10_000, 0.0, "classes", 1e-3, ("abess",)),
    Problem(1000, 10_000, 0.0, "classes", 1e-2),
    Problem(300, 10_000, 0.0, "numbers", 1e-2, ("l0bnb", "abess")),
    Problem(300, 10_000, 0.0, "classes", 1e-3, ("abess",)),
    Problem(1000, 10_000, 0.5, "numbers", 1e-2, ("l0bnb", "abess")),
    Problem(1000, 10_000, 0.5, "classes", 1e-3),
    Problem(1000, 10_000, 0.9, "numbers", 1e-2, ("l0bnb", "abess")),
    Problem(1000, 10_000, 0.9, "classes", 1e-3),
    Problem(1000, 100_000, 0.0, "numbers", 1e-2, ("l0bnb", "abess")),
    Problem(1000, 100_000, 0.0, "classes", 1e-3, ("abess",)),
]


class Result(NamedTuple):
    seconds: float
    right: int
    gap: float | None
    nodes: int


def planted(problem: Problem, seed: int = 1) -> tuple[np.ndarray, np.ndarray, set[int]]:
    random = np.random.default_rng(seed)
    X = random.standard_normal((problem.n, problem.p), dtype=np.float32)
    for j in range(1, problem.p if problem.rho else 0):
        X[:, j] = problem.rho * X[:, j - 1] + np.sqrt(1 - problem.rho**2) * X[:, j]
    part = problem.p // K
    truth = np.arange(K) * part + random.integers(0, part, K)
    signal = X[:, truth].sum(1).astype(float)
    noise = random.standard_normal(problem.n)
    if problem.task == "numbers":
        y = signal + np.sqrt(signal.var() / 5) * noise
    else:
        y = np.where(signal + 0.5 * signal.std() * noise > 0, 1.0, -1.0)
    return np.asfortranarray(X), y, set(truth.tolist())


def saved(folder: Path, X: np.ndarray, y: np.ndarray) -> list[str]:
    np.save(folder / "x.npy", X)
    np.savetxt(folder / "y.txt", y, fmt="%.17g")
    return [str(folder / "x.npy"), "--labels", str(folder / "y.txt")]


def featgen(engine: Featgen, data: list[str], truth: set[int], *options: str | float) -> Result:
    wanted = ("--select", "best", "--features", K, "--prove", GAP, "--time-limit", SECONDS, "-q")
    report = engine.train(data, *wanted, *options)
    found = {int(one["feature"]) - 1 for one in report["selected"] if one["feature"].isdigit()}
    proof = report["proof"]
    return Result(report["cpu"], len(found & truth), proof["gap"], proof["nodes"])


def l0bnb(problem: Problem, X: np.ndarray, y: np.ndarray, truth: set[int]) -> Result:
    from l0bnb import BNBTree

    # 1/2 |y - X w|^2 + l0 |w|_0 + l2 |w|^2: divided by C, featgen's objective with a price. A planted feature explains about n / 2.
    tree = BNBTree(X.astype(float), y - y.mean())
    start = time.process_time()
    found = tree.solve(l0=0.25 * problem.n, l2=0.5 / problem.cost, m=2.0, gap_tol=GAP, time_limit=SECONDS)
    right = len(set(np.flatnonzero(found.beta).tolist()) & truth)
    return Result(time.process_time() - start, right, float(found.gap), tree.number_of_nodes)


def okridge(problem: Problem, X: np.ndarray, y: np.ndarray, truth: set[int]) -> Result:
    from okridge.tree import BNBTree

    tree = BNBTree(X=X.astype(float), y=y - y.mean(), lambda2=1 / problem.cost)
    start = time.process_time()
    _, beta, gap, _, _ = tree.solve(k=K, gap_tol=GAP, time_limit=SECONDS)
    return Result(time.process_time() - start, len(set(np.flatnonzero(beta).tolist()) & truth), float(gap), 0)


def abess(problem: Problem, X: np.ndarray, y: np.ndarray, truth: set[int]) -> Result:
    from abess import LinearRegression, LogisticRegression

    model = (LinearRegression if problem.task == "numbers" else LogisticRegression)(support_size=K, thread=1)
    X, y = X.astype(float), y if problem.task == "numbers" else (y > 0).astype(int)
    start = time.process_time()
    model.fit(X, y)
    return Result(time.process_time() - start, len(set(np.flatnonzero(model.coef_).tolist()) & truth), None, 0)


RIVALS: dict[str, Callable[..., Result]] = {"l0bnb": l0bnb, "okridge": okridge, "abess": abess}


def show(problem: object, who: str, result: Result) -> None:
    gap = "nothing proven" if result.gap is None else f"gap {100 * result.gap:.4f} %"
    print(f"{problem!s:52} {who:8} {result.right:3} of {K}  {gap:16} {result.nodes:7} nodes {result.seconds:8.2f} s", flush=True)


def compare(engine: Featgen, problem: Problem, folder: Path) -> None:
    X, y, truth = planted(problem)
    loss = ("--loss", "squared") if problem.task == "numbers" else ()
    show(problem, "featgen", featgen(engine, saved(folder, X, y), truth, "-C", problem.cost, "--scale", "none", *loss))
    for name in problem.rivals:
        try:
            show(problem, name, RIVALS[name](problem, X, y, truth))
        except Exception as error:  # noqa: BLE001 - a rival that does not install, or cannot do it, is no reason to end
            print(f"{problem!s:52} {name:8} {error}", file=sys.stderr)


def sparse(engine: Featgen, folder: Path, n: int = 1000, p: int = 1_000_000, filled: int = 1000) -> None:
    """A thousand of a million columns are filled in every row, and the first ten in a third of the rows."""
    random = np.random.default_rng(1)
    path = folder / "sparse.svm"
    with path.open("w") as out:
        for _ in range(n):
            columns = np.append(np.flatnonzero(random.random(K) < 0.3), np.unique(random.integers(K, p, filled)))
            values = random.standard_normal(len(columns))
            noise = 0.5 * random.standard_normal()
            label = 1 if values[columns < K].sum() + noise > 0 else -1
            out.write(f"{label} " + " ".join(f"{j + 1}:{x:.5g}" for j, x in zip(columns, values)) + "\n")
    found = featgen(engine, [str(path)], set(range(K)), "-C", 0.01, "--scale", "none")
    show(f"classes, {n} x {p:,} sparse, C = 0.01", "featgen", found)


def products(engine: Featgen, folder: Path, n: int = 2000, p: int = 141_421, filled: int = 40) -> None:
    """0/1 columns of which ten pairs decide together; there are 10^10 products of two."""
    random = np.random.default_rng(3)
    path = folder / "products.svm"
    with path.open("w") as out:
        for _ in range(n):
            on = random.random(2 * K) < 0.5
            columns = np.append(np.flatnonzero(on), np.unique(random.integers(2 * K, p, filled)))
            signal = np.count_nonzero(on[::2] & on[1::2]) - K / 4
            label = 1 if signal + 0.3 * random.standard_normal() > 0 else -1
            out.write(f"{label} " + " ".join(f"{j + 1}:1" for j in columns) + "\n")
    report = engine.train(
        [str(path)], "--select", "best", "--features", K, "--prove", GAP, "--time-limit", SECONDS, "-q",
        "--space", "poly2", "-C", 1e-3,
    )
    names = {f"{2 * j + 1}*{2 * j + 2}" for j in range(K)}
    right = len(names & {one["feature"] for one in report["selected"]})
    proof = report["proof"]
    found = Result(report["cpu"], right, proof["gap"], proof["nodes"])
    show(f"classes, {n} x {report['candidates']:,} products, C = 0.001", "featgen", found)


def picture(engine: Featgen, path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "featgen"
    import matplotlib.pyplot as plt

    problem = Problem(1000, 10_000, 0.0, "classes", 1e-2)
    X, y, _ = planted(problem)
    points: list[tuple[float, float, float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        line = [str(engine.path), "train", *saved(Path(folder), X, y), "--select", "best", "--features", str(K), "--scale", "none"]
        line += ["-C", str(problem.cost), "--prove", str(GAP), "--time-limit", str(SECONDS), "-v", "--threads", "1"]
        run = subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        assert run.stderr is not None
        begin = None
        for text in run.stderr:
            if text.startswith("proving:"):
                begin = time.monotonic() if begin is None else begin
                words = text.replace(",", "").split()
                nodes = next(i for i, word in enumerate(words) if word in ("node", "nodes"))
                points.append((float(words[nodes - 1]), time.monotonic() - begin, float(words[2]), float(words[5])))
        run.wait()
    figure, axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True)
    for axis, place, label in ((axes[0], 0, "nodes"), (axes[1], 1, "seconds")):
        x = [point[place] for point in points]
        axis.step(x, [point[2] for point in points], where="post", label="these 10 features")
        axis.step(x, [point[3] for point in points], where="post", label="no 10 features can do better")
        axis.set_xlabel(label)
    axes[0].set_ylabel("objective")
    axes[0].legend(frameon=False, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--featgen", type=Path, help="this command instead of one that is built")
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    engine = Featgen(arguments.featgen or build())
    if arguments.picture:
        picture(engine, arguments.picture)
        return
    with tempfile.TemporaryDirectory() as folder:
        for problem in PROBLEMS:
            if problem.p <= 10_000 or not arguments.quick:
                compare(engine, problem, Path(folder))
        if not arguments.quick:
            sparse(engine, Path(folder))
            products(engine, Path(folder))


if __name__ == "__main__":
    main()
