"""How many of the features that `fdr` keeps are false, and how many of the relevant ones it finds, over many samples.

    bench/run discoveries [--seeds 200] [--rate 0.1] [--rivals] [--only NAME ...]

Samples are 300 x 1000 and 500 x 5000 with 10 relevant features of equal weight, as many plus as minus at random. A number is the signal
and noise of the same variance; classes are drawn with the probability of a logistic function of three times the signal. Columns are
independent, correlated with their neighbours by 0.5 and less with those further away, or all with each other by 0.5; groups are 200
of 5 columns, of which 10 are relevant by two columns each; products are the 780 pairs of 40 columns of zeros and ones, and the columns
themselves, of which 5 pairs are relevant.

With `--rivals` the same samples go to trexselector, ipss (with its l1 selector) and knockpy (which is told the true covariances) where
these are installed: single columns, and all pairs as columns of their own. Each is asked for the same rate, all else is its default.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import itertools
import time
import warnings
from collections.abc import Callable

import numpy as np
from featgen import FGMClassifier, FGMRegressor
from featgen.spaces import Products

COLUMNS = ("independent", "neighbours", "all")


def columns_of(rng: np.random.Generator, n: int, p: int, columns: str) -> np.ndarray:
    """Columns that are correlated as `columns` says."""
    X = rng.standard_normal((n, p))
    if columns == "all":
        X = np.sqrt(0.5) * (X + rng.standard_normal((n, 1)))
    if columns == "neighbours":
        for j in range(1, p):
            X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    return X


def outcome_of(rng: np.random.Generator, signal: np.ndarray, classes: bool) -> np.ndarray:
    signal = (signal - signal.mean()) / signal.std()
    if classes:
        return (rng.random(len(signal)) < 1 / (1 + np.exp(-3 * signal))).astype(int)
    return signal + rng.standard_normal(len(signal))


def sample(seed: int, n: int, p: int, columns: str, classes: bool, of_each: int) -> tuple:
    """Data, outcome and the groups that matter; single columns are groups of one."""
    rng = np.random.default_rng(seed)
    X = columns_of(rng, n, p, columns)
    relevant = rng.choice(p // of_each, 10, replace=False)
    first = relevant * of_each
    signal = X[:, first] @ rng.choice([-1.0, 1.0], 10)
    if of_each > 1:
        signal += X[:, first + 1] @ rng.choice([-1.0, 1.0], 10)
    return X, outcome_of(rng, signal, classes), set(relevant.tolist())


def pairs_sample(seed: int, n: int, inputs: int, columns: str, classes: bool) -> tuple:
    """The same with columns of zeros and ones, of which pairs matter; a pair is named by its two columns."""
    rng = np.random.default_rng(seed)
    X = (columns_of(rng, n, inputs, columns) > 0).astype(float)
    pairs = list(itertools.combinations(range(inputs), 2))
    relevant = [pairs[k] for k in rng.choice(len(pairs), 5, replace=False)]
    products = np.stack([X[:, a] * X[:, b] for a, b in relevant], axis=1)
    return X, outcome_of(rng, products @ rng.choice([-1.0, 1.0], 5), classes), set(relevant)


def featgen(X: np.ndarray, y: np.ndarray, classes: bool, rate: float, of_each: int, **_: object) -> set:
    groups = None if of_each == 1 else [list(range(j, j + of_each)) for j in range(0, X.shape[1], of_each)]
    model = (FGMClassifier if classes else FGMRegressor)(fdr=rate, groups=groups, n_jobs=1).fit(X, y)
    return {j // of_each for j in np.flatnonzero(model.support_fdr_).tolist()}


def featgen_pairs(X: np.ndarray, y: np.ndarray, classes: bool, rate: float) -> set:
    model = (FGMClassifier if classes else FGMRegressor)(fdr=rate, space=Products(2), n_jobs=1).fit(X, y)
    return {tuple(sorted(int(name[1:]) for name in str(f).split("*"))) for f in model.selected_["feature"]}


def trexselector(X: np.ndarray, y: np.ndarray, rate: float, seed: int, **_: object) -> set:
    from trexselector import trex

    found = trex(X, y - y.mean(), tFDR=rate, seed=seed, verbose=False)["selected_var"]
    return {int(j) for j in found}


def ipss(X: np.ndarray, y: np.ndarray, rate: float, seed: int, **_: object) -> set:
    from ipss import ipss

    np.random.seed(seed)
    return {int(j) for j in ipss(X, y, selector="l1", target_fdr=rate)["selected_features"]}


def knockpy(X: np.ndarray, y: np.ndarray, rate: float, columns: str, seed: int, **_: object) -> set:
    from knockpy import KnockoffFilter

    np.random.seed(seed)
    p = X.shape[1]
    apart = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    covariances = {"independent": np.eye(p), "neighbours": 0.5**apart, "all": np.where(apart == 0, 1.0, 0.5)}
    knockoffs = KnockoffFilter(fstat="lasso", ksampler="gaussian", knockoff_kwargs={"method": "equicorrelated"})
    chosen = knockoffs.forward(X=X, y=y, mu=np.zeros(p), Sigma=covariances[columns], fdr=rate)
    return set(np.flatnonzero(chosen).tolist())


#: Those that are installed; `pip install trexselector ipss knockpy` brings them all.
RIVALS = {of.__name__: of for of in (trexselector, ipss, knockpy) if importlib.util.find_spec(of.__name__)}


def quietly(of: Callable[..., set], **given: object) -> tuple[set, float]:
    """What a method finds, and its processor seconds; what it prints on the way is not of interest."""
    start = time.process_time()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        found = of(**given)
    return found, time.process_time() - start


def shares(found: set, relevant: set) -> tuple[float, float]:
    """The false part of what was found, and the part of the relevant that was found."""
    return len(found - relevant) / max(1, len(found)), len(found & relevant) / len(relevant)


def row(names: list[str], each: list[tuple[float, float, float]]) -> None:
    mean, error = np.mean(each, axis=0), np.std(each, axis=0) / np.sqrt(len(each))
    false, found = (f"{mean[k]:.3f} ± {error[k]:.3f}" for k in (0, 1))
    print(f"| {' | '.join(names)} | {false} | {found} | {mean[2]:.2f} |", flush=True)


def singles(options: argparse.Namespace, n: int, p: int, of_each: int, columns: str, classes: bool) -> None:
    """All methods on samples of columns, or groups of them."""
    name = f"{n} x {p}" + (f", groups of {of_each}" if of_each > 1 else "")
    names = [name, columns, "classes" if classes else "number"]
    if options.only and not {*names} & set(options.only):
        return
    methods = {"featgen": featgen} | (RIVALS if options.rivals and of_each == 1 else {})
    for method, of in methods.items():
        each = []
        for seed in range(options.seeds):
            X, y, relevant = sample(seed, n, p, columns, classes, of_each)
            found, seconds = quietly(
                of, X=X, y=y, classes=classes, rate=options.rate, of_each=of_each, columns=columns, seed=seed
            )
            each.append((*shares(found, relevant), seconds))
        row([*names, method], each)


def products(options: argparse.Namespace, columns: str, classes: bool) -> None:
    """All methods on samples of which pairs matter; rivals are given the pairs as columns."""
    names = ["300 x 780 pairs", columns, "classes" if classes else "number"]
    if options.only and not {*names} & set(options.only):
        return
    pairs = list(itertools.combinations(range(40), 2))
    rivals = [name for name in RIVALS if options.rivals and name != "knockpy"]
    for method in ["featgen", *rivals]:
        each = []
        for seed in range(options.seeds):
            X, y, relevant = pairs_sample(seed, 300, 40, columns, classes)
            if method == "featgen":
                found, seconds = quietly(featgen_pairs, X=X, y=y, classes=classes, rate=options.rate)
            else:
                written = np.stack([X[:, a] * X[:, b] for a, b in pairs], axis=1)
                written = np.hstack([written, X])
                places, seconds = quietly(RIVALS[method], X=written, y=y, rate=options.rate, seed=seed)
                found = {pairs[j] if j < len(pairs) else (j - len(pairs),) for j in places}
            each.append((*shares(found, relevant), seconds))
        row([*names, method], each)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    print("| sample | columns | outcome | method | false | found | s |\n|---|---|---|---|---|---|---|")
    for n, p, of_each in [(300, 1000, 1), (500, 5000, 1), (300, 1000, 5)]:
        for columns, classes in itertools.product(COLUMNS, (False, True)):
            singles(options, n, p, of_each, columns, classes)
    for columns, classes in itertools.product(COLUMNS, (False, True)):
        products(options, columns, classes)


if __name__ == "__main__":
    main()
