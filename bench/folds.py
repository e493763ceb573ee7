"""Cross-validation of every number of features beside adelie's `cv_grpnet`: processor seconds, accuracy, features.

    bench/run folds [--data FOLDER]

4096 x 4096 dense data with 200 relevant features, and news20_libsvm where FOLDER (default ../shared/data) has it. Both get 5 folds, choose by
them, refit to all training data, and are judged on test data; one thread each. featgen tries up to 200 or 400 features, adelie 50 penalties
of logistic regression, down to 0.1 (its default) or 0.01 of the largest. featgen chooses the smallest number of features within one
standard error of the best, adelie its best penalty.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import adelie as ad
import numpy as np
import scipy.sparse as sp
from choosing import read
from featgen import FGMClassifierCV


def planted(rows: int = 4096, features: int = 4096, relevant: int = 200) -> tuple:
    """The paper's first experiment: the class is the sign of a sum over the relevant features, with weights from 0 to 1."""
    random = np.random.default_rng(0)
    weights = np.zeros(features, np.float32)
    weights[random.choice(features, relevant, replace=False)] = random.random(relevant)
    X = random.standard_normal((2 * rows, features), dtype=np.float32)
    y = np.where(X @ weights > 0, 1, -1)
    return np.asfortranarray(X[:rows]), y[:rows], X[rows:], y[rows:]


def real(folder: Path) -> tuple:
    (X, y), (Xt, yt) = (read(folder / f"{part}.svm.zst") for part in ("train", "test"))
    width = max(X.shape[1], Xt.shape[1])
    X.resize(X.shape[0], width)
    Xt.resize(Xt.shape[0], width)
    return X.tocsc(), y, Xt, yt


def adelie(X: np.ndarray | sp.csc_matrix, y: np.ndarray, Xt: np.ndarray, yt: np.ndarray, least: float) -> tuple:
    """The features of the model that cross-validation chooses, and its accuracy on test data; penalties go down to this part of
    the largest.
    """
    matrix = (ad.matrix.sparse if sp.issparse(X) else ad.matrix.dense)(X, n_threads=1)
    glm = ad.glm.binomial((y > 0).astype(float), dtype=X.dtype.type)
    how = {"n_folds": 5, "lmda_path_size": 50, "min_ratio": least, "seed": 0}
    found = ad.cv_grpnet(matrix, glm, progress_bar=False, n_threads=1, **how)
    fit = found.fit(matrix, glm, progress_bar=False, n_threads=1)
    w, b = np.asarray(fit.betas[-1].todense()).ravel(), fit.intercepts[-1]
    return int(np.count_nonzero(w)), float(np.mean((Xt @ w + b > 0) == (yt > 0)))


def featgen(X: np.ndarray | sp.csc_matrix, y: np.ndarray, Xt: np.ndarray, yt: np.ndarray, most: int) -> tuple:
    """The same; up to so many features are tried."""
    model = FGMClassifierCV(n_features=most, cv=5, n_jobs=1).fit(X, y)
    return model.n_selected_, float(model.score(Xt, yt))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    sets = {"4096 x 4096": planted()}
    if (options.data / "news20_libsvm").is_dir():
        sets["news20_libsvm"] = real(options.data / "news20_libsvm")
    print("| data | method | features | test accuracy | CPU s | s |\n|---|---|---|---|---|---|")
    for name, data in sets.items():
        for method, limit in [(featgen, 200), (adelie, 0.1), (featgen, 400), (adelie, 0.01)]:
            cpu, wall = time.process_time(), time.perf_counter()
            features, accuracy = method(*data, limit)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            print(f"| {name} | {method.__name__}, {limit} | {features} | {accuracy:.2%} | {cpu:.1f} | {wall:.1f} |", flush=True)


if __name__ == "__main__":
    main()
