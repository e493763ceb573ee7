"""How many of the features that `fdr` keeps are false, and how many of the relevant ones it finds, over many samples.

    bench/run discoveries [--seeds 200] [--rate 0.1] [--only NAME ...]

Samples are 300 x 1000 and 500 x 5000 with 10 relevant features of equal weight, as many plus as minus at random. A number is the signal
and noise of the same variance; classes are drawn with the probability of a logistic function of three times the signal. Columns are
independent, correlated with their neighbours by 0.5 and less with those further away, or all with each other by 0.5; groups are 200
of 5 columns, of which 10 are relevant by two columns each.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from featgen import FGMClassifier, FGMRegressor

COLUMNS = ("independent", "neighbours", "all")


def sample(seed: int, n: int, p: int, columns: str, classes: bool, of_each: int) -> tuple:
    """Data, outcome and the groups that matter; single columns are groups of one."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    if columns == "all":
        X = np.sqrt(0.5) * (X + rng.standard_normal((n, 1)))
    if columns == "neighbours":
        for j in range(1, p):
            X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    relevant = rng.choice(p // of_each, 10, replace=False)
    first = relevant * of_each
    signal = X[:, first] @ rng.choice([-1.0, 1.0], 10)
    if of_each > 1:
        signal += X[:, first + 1] @ rng.choice([-1.0, 1.0], 10)
    signal /= signal.std()
    if classes:
        y = (rng.random(n) < 1 / (1 + np.exp(-3 * signal))).astype(int)
    else:
        y = signal + rng.standard_normal(n)
    return X, y, set(relevant)


def rates(seed: int, rate: float, n: int, p: int, columns: str, classes: bool, of_each: int) -> tuple:
    """The false part, the found part, and the processor time."""
    X, y, relevant = sample(seed, n, p, columns, classes, of_each)
    groups = None if of_each == 1 else [list(range(j, j + of_each)) for j in range(0, p, of_each)]
    model = (FGMClassifier if classes else FGMRegressor)(fdr=rate, groups=groups, n_jobs=1)
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    found = {j // of_each for j in np.flatnonzero(model.support_fdr_)}
    return len(found - relevant) / max(1, len(found)), len(found & relevant) / 10, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    print("| sample | columns | outcome | false | found | s |\n|---|---|---|---|---|---|")
    sizes = [(300, 1000, 1), (500, 5000, 1), (300, 1000, 5)]
    for n, p, of_each in sizes:
        for columns in COLUMNS:
            for classes in (False, True):
                name = f"{n} x {p}" + (f", groups of {of_each}" if of_each > 1 else "")
                outcome = "classes" if classes else "number"
                if options.only and not {name, columns, outcome} & set(options.only):
                    continue
                each = [rates(s, options.rate, n, p, columns, classes, of_each) for s in range(options.seeds)]
                mean, error = np.mean(each, axis=0), np.std(each, axis=0) / np.sqrt(len(each))
                false, found = (f"{mean[k]:.3f} ± {error[k]:.3f}" for k in (0, 1))
                print(f"| {name} | {columns} | {outcome} | {false} | {found} | {mean[2]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
