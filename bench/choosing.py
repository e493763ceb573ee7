"""K features at equal K beside those of other methods: test accuracy, as wins, level and losses over many sets.

    bench/run choosing                                 # scikit-learn's sets and a planted one: some minutes
    bench/run choosing --data FOLDER [--only SET ...]  # also FOLDER/SET/train.svm.zst and test.svm.zst

Every rival gets what a careful user would give it: standardised columns where they are dense, and a ridge refit on its features
with a cost from cross-validation. featgen runs with its defaults. A win or loss is a difference beyond one standard error: over
splits where a set is split several times, of the two accuracies on one test set otherwise.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from featgen import FGMClassifier
from sklearn.datasets import load_breast_cancer, load_digits, load_svmlight_file, load_wine
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC

warnings.filterwarnings("ignore")

COUNTS = (5, 10, 20, 50, 100)
SPLITS = 5
#: Sets too small for one test set: they are split again and again.
SMALL = 1000

Split = tuple[object, np.ndarray, object, np.ndarray]


def planted(n: int = 800, p: int = 1000, relevant: int = 20) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.standard_normal((n, p)).astype(np.float32)
    signal = X[:, :relevant].sum(1)
    return X, signal + 0.5 * signal.std() * random.standard_normal(n) > 0


def own_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    wine, digits = load_wine(return_X_y=True), load_digits(return_X_y=True)
    two = wine[1] > 0
    return {
        "breast_cancer": load_breast_cancer(return_X_y=True),
        "wine, 2 of 3": (wine[0][two], wine[1][two]),
        "digits, odd": (digits[0], digits[1] % 2),
        "planted": planted(),
    }


def read(path: Path) -> tuple[sp.csr_matrix, np.ndarray]:
    text = subprocess.run(["zstd", "-dc", str(path)], capture_output=True, check=True).stdout
    return load_svmlight_file(io.BytesIO(text))


def splits_of(X, y, test=None) -> Iterator[Split]:
    if test is not None and len(test[1]) > SMALL:
        yield X, y, *test
        return
    if test is not None:
        X, y = sp.vstack([X, test[0]]).tocsr(), np.append(y, test[1])
    for train, rest in StratifiedShuffleSplit(SPLITS, test_size=0.3, random_state=0).split(X, y):
        yield X[train], y[train], X[rest], y[rest]


def sets(folder: Path | None, only: list[str]) -> Iterator[tuple[str, Iterator[Split]]]:
    for name, (X, y) in own_sets().items():
        if not only or name in only:
            yield name, splits_of(X, y)
    for train in sorted(folder.glob("*/train.svm.zst")) if folder else ():
        if only and train.parent.name not in only:
            continue
        (X, y), (Z, z) = read(train), read(train.with_name("test.svm.zst"))
        width = max(X.shape[1], Z.shape[1])
        X.resize(X.shape[0], width)
        Z.resize(Z.shape[0], width)
        yield train.parent.name, splits_of(X, y, (Z, z))


def elimination(X, y, count: int) -> np.ndarray:
    """Recursive elimination, a tenth of the features at a time."""
    kept = np.arange(X.shape[1])
    while len(kept) > count:
        weights = np.abs(LinearSVC(dual="auto", max_iter=300).fit(X[:, kept], y).coef_).max(0)
        kept = kept[np.sort(np.argsort(-weights)[: max(count, int(0.9 * len(kept)))])]
    return kept


def l1(X, y, count: int) -> np.ndarray:
    """The largest weights of the sparsest l1 model that has enough of them."""
    weights = np.zeros(X.shape[1])
    for C in np.geomspace(1e-4, 100, 25):
        weights = np.abs(LinearSVC(penalty="l1", dual=False, C=C, max_iter=300).fit(X, y).coef_).max(0)
        if (weights > 0).sum() >= count:
            break
    return np.sort(np.argsort(-weights)[:count])


def univariate(X, y, count: int) -> np.ndarray:
    return np.sort(np.argsort(-np.nan_to_num(f_classif(X, y)[0]))[:count])


RIVALS: dict[str, Callable[[object, np.ndarray, int], np.ndarray]] = {
    "RFE": elimination,
    "l1-SVM": l1,
    "univariate F": univariate,
}


def refitted(split: Split, kept: np.ndarray) -> float:
    X, y, Z, z = split
    model = LogisticRegressionCV(Cs=8, cv=5, max_iter=500, l1_ratios=(0.0,), use_legacy_attributes=False)
    return model.fit(X[:, kept], y).score(Z[:, kept], z)


def scaled(split: Split) -> Split:
    X, y, Z, z = split
    scaler = (MaxAbsScaler() if sp.issparse(X) else StandardScaler()).fit(X)
    return scaler.transform(X), y, scaler.transform(Z), z


def scores(split: Split, count: int, limit: float) -> dict[str, float]:
    X, y, Z, z = split
    found = {"featgen": FGMClassifier(n_features=count).fit(X, y).score(Z, z)}
    even = scaled(split)
    for name, choose in RIVALS.items():
        start = time.monotonic()
        if limits.get(name, 0.0) > limit:
            continue
        found[name] = refitted(even, choose(even[0], y, count))
        limits[name] = time.monotonic() - start
    return found


#: The seconds that each method last took on the set at hand.
limits: dict[str, float] = {}


def beyond(ours: list[float], theirs: list[float], tested: int) -> tuple[float, float]:
    """The difference and its standard error."""
    difference = np.subtract(ours, theirs)
    if len(difference) > 1:
        return difference.mean(), max(difference.std(ddof=1) / np.sqrt(len(difference)), 1e-3)
    rate = np.mean([ours[0], theirs[0]])
    return difference[0], np.sqrt(max(rate * (1 - rate), 1e-4) / tested)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a method is left out of a set")
    arguments = parser.parse_args()
    totals: dict[str, list[float]] = {name: [0, 0, 0, 0.0] for name in RIVALS}
    for name, splits in sets(arguments.data, arguments.only):
        limits.clear()
        splits = list(splits)
        for count in (count for count in COUNTS if count < splits[0][0].shape[1]):
            each = [scores(split, count, arguments.limit) for split in splits]
            ours = [found["featgen"] for found in each]
            line = f"{name:16} {count:4}  featgen {100 * np.mean(ours):6.2f}"
            for rival, total in totals.items():
                if not all(rival in found for found in each):
                    continue
                theirs = [found[rival] for found in each]
                difference, error = beyond(ours, theirs, len(splits[0][3]))
                total[0 if difference > error else 2 if difference < -error else 1] += 1
                total[3] += 100 * difference
                line += f"   {rival} {100 * np.mean(theirs):6.2f}"
            print(line, flush=True)
    for rival, (wins, level, losses, points) in totals.items():
        if cells := wins + level + losses:
            mean = points / cells
            print(f"against {rival:14} {wins:3.0f} wins {level:3.0f} level {losses:3.0f} losses, mean difference {mean:+.2f} points")


if __name__ == "__main__":
    main()
