"""K features at equal K beside those of other methods: test accuracy, as wins, level and losses over many sets.

    bench/run choosing                                 # scikit-learn's sets and drawn ones: some minutes
    bench/run choosing --data FOLDER [--only SET ...]  # also FOLDER/SET/train.svm.zst and test.svm.zst, or FOLDER/SET.npz with X and y: hours
    bench/run choosing --data FOLDER --cache FILE      # what rivals chose is kept in FILE, and not computed again
    bench/run choosing --data FOLDER --costs           # featgen alone, at multiples of its default cost

Every rival gets what a careful user would give it: columns of mean 0 and deviation 1 where data are dense and of largest value 1
where they are sparse, and a logistic ridge refit on its features with a cost from cross-validation. featgen runs with its defaults.
A win or loss is a difference beyond one standard error: over splits where a set is split several times, of the two accuracies on
one test set otherwise. Splits of one set share most instances, so that their results differ by less than those of new data would:
the error allows for that (Nadeau and Bengio 2003). What would be counted without is shown beside it.

abess and L0Learn take part where they are installed. L0Learn is only there for Python up to 3.10: `--rivals` fills a cache without
featgen, from any Python.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import subprocess
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_svmlight_file, load_wine
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC

warnings.filterwarnings("ignore")

COUNTS = (5, 10, 20, 50, 100, 200)
#: How often a set is split that has fewer instances to test on than `SMALL`.
SPLITS = 10
SMALL = 500
#: Elimination halves the features as long as there are more than these, then drops one in ten at a time.
MANY = 20_000
MULTIPLES = (1 / 30, 1 / 10, 1 / 3, 1, 3, 10, 30)


class Split:
    """Instances to learn from and to test on, and both as rivals get them."""

    def __init__(self, X, y, Z, z) -> None:
        self.X, self.y, self.Z, self.z = X, y, Z, z

    def even(self) -> Split:
        scaler = (MaxAbsScaler() if sp.issparse(self.X) else StandardScaler()).fit(self.X)
        return Split(scaler.transform(self.X), self.y, scaler.transform(self.Z), self.z)

    def counts(self) -> list[int]:
        return [count for count in COUNTS if count < self.X.shape[1]]


# The sets.


def planted(n: int = 800, p: int = 1000, relevant: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A few columns of equal weight decide, with noise."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, p)).astype(np.float32)
    signal = X[:, :relevant].sum(1)
    return X, signal + 0.5 * signal.std() * random.standard_normal(n) > 0


def modules(n: int = 100, p: int = 3000, count: int = 30, size: int = 40, relevant: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """As genes: groups of columns that are noisy copies of one thing, of which some decide."""
    random = np.random.default_rng(7)
    shared = random.standard_normal((n, count))
    X = random.standard_normal((n, p))
    X[:, : count * size] = 0.6 * X[:, : count * size] + 0.8 * np.repeat(shared, size, axis=1)
    signal = shared[:, :relevant].sum(1)
    return X.astype(np.float32), signal + 0.7 * signal.std() * random.standard_normal(n) > 0


def weak(n: int = 1000, p: int = 1000, relevant: int = 75) -> tuple[np.ndarray, np.ndarray]:
    """Many columns decide, most of them by little, without noise."""
    random = np.random.default_rng(7)
    X = random.standard_normal((n, p)).astype(np.float32)
    return X, X[:, :relevant] @ random.standard_normal(relevant) > 0


def neighbours(n: int = 300, p: int = 1000, relevant: int = 15, rho: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Columns are correlated with the next ones; a few decide, with noise."""
    random = np.random.default_rng(7)
    noise = random.standard_normal((n, p))
    X = np.empty((n, p))
    X[:, 0] = noise[:, 0]
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho * rho) * noise[:, j]
    weights = random.choice([-1, 1], relevant) * random.uniform(0.5, 1.5, relevant)
    signal = X[:, random.choice(p, relevant, replace=False)] @ weights
    return X.astype(np.float32), signal + 0.4 * signal.std() * random.standard_normal(n) > 0


def indicators(n: int = 1000, p: int = 3000, relevant: int = 25) -> tuple[sp.csr_matrix, np.ndarray]:
    """Columns of 0 and 1, few of which are 1."""
    random = np.random.default_rng(7)
    frequency = random.uniform(0.005, 0.1, p)
    X = (random.random((n, p)) < frequency).astype(np.float32)
    weights = random.choice([-1, 1], relevant) * random.uniform(1, 2.5, relevant)
    signal = X[:, :relevant] @ weights
    return sp.csr_matrix(X), signal - np.median(signal) + 0.5 * random.standard_normal(n) > 0


def own_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    wine, digits = load_wine(return_X_y=True), load_digits(return_X_y=True)
    two = wine[1] > 0
    return {
        "breast_cancer": load_breast_cancer(return_X_y=True),
        "wine": (wine[0][two], wine[1][two]),
        "digits": (digits[0], digits[1] % 2),
        "planted": planted(),
        "planted_few": planted(400, 2000, 15, seed=7),
        "modules": modules(),
        "weak": weak(),
        "neighbours": neighbours(),
        "indicators": indicators(),
    }


def read(path: Path) -> tuple[sp.csr_matrix, np.ndarray]:
    text = subprocess.run(["zstd", "-dc", str(path)], capture_output=True, check=True).stdout
    return load_svmlight_file(io.BytesIO(text))


def splits_of(X, y, test=None) -> Iterator[Split]:
    if test is not None and len(test[1]) > SMALL:
        yield Split(X, y, *test)
        return
    if test is not None:
        X, y = sp.vstack([X, test[0]]).tocsr(), np.append(y, test[1])
    if sp.issparse(X) and X.nnz > 0.5 * X.shape[0] * X.shape[1]:
        X = X.toarray()
    for train, rest in StratifiedShuffleSplit(SPLITS, test_size=0.3, random_state=0).split(X, y):
        yield Split(X[train], y[train], X[rest], y[rest])


def sets(folder: Path | None, only: list[str]) -> Iterator[tuple[str, list[Split]]]:
    """Small sets first."""
    for name, (X, y) in own_sets().items():
        if not only or name in only:
            yield name, list(splits_of(X, y))
    for path in sorted(folder.glob("*.npz")) if folder else ():
        if not only or path.stem in only:
            content = np.load(path)
            yield path.stem, list(splits_of(content["X"], content["y"]))
    files = folder.glob("*/train.svm.zst") if folder else ()
    for train in sorted(files, key=lambda path: path.stat().st_size):
        if only and train.parent.name not in only:
            continue
        (X, y), (Z, z) = read(train), read(train.with_name("test.svm.zst"))
        width = max(X.shape[1], Z.shape[1])
        X.resize(X.shape[0], width)
        Z.resize(Z.shape[0], width)
        yield train.parent.name, list(splits_of(X, y, (Z, z)))


# What chooses features: each yields a number of them and which they are, for as many numbers as it is asked for.

Chosen = Iterator[tuple[int, np.ndarray]]


def largest(weights: np.ndarray, count: int) -> np.ndarray:
    return np.sort(np.argsort(-weights, kind="stable")[:count])


def elimination(X, y, counts: list[int]) -> Chosen:
    kept = np.arange(X.shape[1])
    for count in sorted(counts, reverse=True):
        while len(kept) > count:
            weights = np.abs(LinearSVC(dual="auto", max_iter=300).fit(X[:, kept], y).coef_).max(0)
            rest = int((0.5 if len(kept) > MANY else 0.9) * len(kept))
            kept = kept[largest(weights, max(count, rest))]
        yield count, kept


def sparsest(model, costs, X, y, counts: list[int]) -> Chosen:
    """The largest weights of the sparsest l1 model that has enough of them."""
    left = sorted(counts)
    for cost in costs:
        weights = np.abs(model.set_params(C=cost).fit(X, y).coef_).max(0)
        while left and ((weights > 0).sum() >= left[0] or cost == costs[-1]):
            yield left[0], largest(weights, left.pop(0))
        if not left:
            return


def l1_svm(X, y, counts: list[int]) -> Chosen:
    return sparsest(LinearSVC(penalty="l1", dual=False, max_iter=300), np.geomspace(1e-4, 100, 31), X, y, counts)


def l1_logistic(X, y, counts: list[int]) -> Chosen:
    model = LogisticRegression(l1_ratio=1.0, penalty="l1", solver="liblinear", max_iter=300)
    return sparsest(model, np.geomspace(1e-3, 1000, 31), X, y, counts)


def univariate(X, y, counts: list[int]) -> Chosen:
    scores = np.nan_to_num(f_classif(X, y)[0])
    for count in counts:
        yield count, largest(scores, count)


def abess(X, y, counts: list[int]) -> Chosen:
    from abess import LogisticRegression as Abess

    # It refuses constant columns.
    varies = np.flatnonzero(StandardScaler(with_mean=False).fit(X).var_ > 0)
    for count in counts:
        weights = Abess(support_size=count).fit(X[:, varies], y, sparse_matrix=sp.issparse(X)).coef_
        yield count, varies[np.flatnonzero(weights)]


def l0learn(X, y, counts: list[int]) -> Chosen:
    """With a ridge penalty too; of its path, the most features that are no more than asked for."""
    import l0learn as package

    X = X.tocsc() if sp.issparse(X) else np.asfortranarray(X, dtype=float)
    two = np.where(y == y.max(), 1.0, -1.0)
    options = dict(loss="Logistic", penalty="L0L2", num_gamma=3, gamma_max=1.0, gamma_min=0.01, algorithm="CDPSI")
    paths = package.fit(X, two, max_support_size=max(counts), **options)
    for count in counts:
        fits = [
            (size, column)
            for sizes, coefficients in zip(paths.support_size, paths.coeffs)
            for size, column in zip(sizes, coefficients.T)
            if size <= count
        ]
        most = max(size for size, _ in fits)
        found = [column for size, column in fits if size == most]
        yield count, np.flatnonzero(found[0].toarray().ravel())


RIVALS = {
    "univariate F": univariate,
    "RFE": elimination,
    "l1-SVM": l1_svm,
    "l1-LR": l1_logistic,
    "abess": abess,
    "L0Learn": l0learn,
}


def refit(split: Split, kept: np.ndarray) -> LogisticRegressionCV:
    """A logistic ridge model of these columns, its cost by cross-validation."""
    # Instances may come in an order.
    model = LogisticRegressionCV(Cs=8, cv=StratifiedKFold(5, shuffle=True, random_state=0), max_iter=500)
    return model.fit(split.X[:, kept], split.y)


def refitted(split: Split, kept: np.ndarray) -> float:
    """Accuracy of that model."""
    return float(refit(split, kept).score(split.Z[:, kept], split.z))


def run_rival(choose, split: Split, sender) -> None:
    even = split.even()
    for count, kept in choose(even.X, even.y, split.counts()):
        if len(kept):
            sender.send((count, refitted(even, kept), kept.tolist()))
    sender.send(None)


def rival(name: str, split: Split, limit: float) -> dict[str, dict]:
    """By number of features: the accuracy and the features, as far as it comes within so many seconds."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=run_rival, args=(RIVALS[name], split, sender))
    found: dict[str, dict] = {}
    start = time.monotonic()
    process.start()
    sender.close()
    try:
        while receiver.poll(max(0.0, start + limit - time.monotonic())):
            message = receiver.recv()
            if message is None:
                break
            found[str(message[0])] = {"accuracy": message[1], "kept": message[2]}
    except EOFError:
        pass
    process.terminate()
    process.join()
    return found


class Cache:
    """What rivals reached: by set, number of the split, and rival."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.content = json.loads(path.read_text()) if path and path.exists() else {}

    def get(self, key: str, compute) -> dict[str, dict]:
        if key not in self.content:
            self.content[key] = compute()
            if self.path:
                # Another Python may have added to it.
                old = json.loads(self.path.read_text()) if self.path.exists() else {}
                self.content = {**old, **self.content}
                self.path.write_text(json.dumps(self.content))
        return self.content[key]


def installed(name: str) -> bool:
    modules = {"abess": "abess", "L0Learn": "l0learn"}
    try:
        __import__(modules.get(name, "sklearn"))
    except ImportError:
        return False
    return True


def rivals_of(name: str, splits: list[Split], cache: Cache, limit: float) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for who in RIVALS:
        each = []
        for k, split in enumerate(splits):
            key = f"{name}/{k}/{who}"
            if key not in cache.content and not installed(who):
                break
            each.append(cache.get(key, lambda: rival(who, split, limit / len(splits))))
            if not each[-1]:
                break
        if len(each) == len(splits):
            found[who] = each
    return found


# The comparison.


def ours(split: Split, count: int, multiple: float | None = None) -> float:
    from featgen import FGMClassifier

    model = FGMClassifier(n_features=count).fit(split.X, split.y)
    if multiple is not None:
        model = FGMClassifier(n_features=count, C=multiple * model.C_).fit(split.X, split.y)
    return float(model.score(split.Z, split.z))


def outcome(mine: list[float], theirs: list[float], split: Split, shared: bool = True) -> int:
    """0 for a win, 1 for level, 2 for a loss. Splits share instances, unless that is left out of account."""
    difference, tested = np.subtract(mine, theirs), len(split.z)
    if (count := len(difference)) > 1:
        variance = difference.var(ddof=1) * (1 / count + shared * tested / len(split.y))
        error = max(np.sqrt(variance), 1e-3)
    else:
        rate = np.mean([mine[0], theirs[0]])
        error = np.sqrt(max(rate * (1 - rate), 1e-4) / tested)
    return 0 if difference.mean() > error else 2 if difference.mean() < -error else 1


class Total:
    """Of all sets and numbers of features."""

    def __init__(self) -> None:
        self.outcomes, self.naive, self.points = [0, 0, 0], [0, 0, 0], []

    def __str__(self) -> str:
        wins, level, losses = self.outcomes
        mean = f"mean difference {np.mean(self.points):+.2f} points"
        naive = " / ".join(map(str, self.naive))
        return f"{wins:3} wins {level:3} level {losses:3} losses, {mean}; as if splits shared nothing {naive}"


def compare(arguments: argparse.Namespace) -> None:
    cache = Cache(arguments.cache)
    totals = {name: Total() for name in RIVALS}
    for name, splits in sets(arguments.data, arguments.only):
        found = rivals_of(name, splits, cache, arguments.limit)
        if arguments.rivals:
            print(name, *found, flush=True)
            continue
        for count in splits[0].counts():
            mine = [ours(split, count) for split in splits]
            line = f"{name:14} {count:4}  featgen {100 * np.mean(mine):6.2f}"
            for who, each in found.items():
                if not all(str(count) in one for one in each):
                    continue
                theirs = [one[str(count)]["accuracy"] for one in each]
                found_here = outcome(mine, theirs, splits[0])
                totals[who].outcomes[found_here] += 1
                totals[who].naive[outcome(mine, theirs, splits[0], shared=False)] += 1
                totals[who].points.append(100 * np.mean(np.subtract(mine, theirs)))
                line += f"   {who} {100 * np.mean(theirs):6.2f}{'+ -'[found_here]}"
            print(line, flush=True)
    for who, total in totals.items():
        if total.points:
            print(f"against {who:14} {total}")


def compare_costs(arguments: argparse.Namespace) -> None:
    for name, splits in sets(arguments.data, arguments.only):
        for count in splits[0].counts():
            means = [100 * np.mean([ours(split, count, x) for split in splits]) for x in MULTIPLES]
            line = "  ".join(f"{mean:6.2f}" for mean in means)
            print(f"{name:14} {count:4}  {line}   default - best {means[MULTIPLES.index(1)] - max(means):+.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="SET")
    parser.add_argument("--cache", type=Path, metavar="FILE", help="where what rivals reached is kept")
    parser.add_argument("--limit", type=float, default=600, help="seconds for each rival on each set")
    parser.add_argument("--rivals", action="store_true", help="only fill the cache")
    parser.add_argument("--costs", action="store_true", help="featgen at multiples of its default cost")
    arguments = parser.parse_args()
    compare_costs(arguments) if arguments.costs else compare(arguments)


if __name__ == "__main__":
    main()
