"""PolynomialFeatures(2) and LIBLINEAR -s 5: all products of two written down, then an l1 fit. A process of its own.

    python poly_peer.py TRAIN.svm.zst TEST.svm.zst FEATURES COST
"""

from __future__ import annotations

import io
import json
import sys
import time

import numpy as np
import zstandard
from liblinear import liblinearutil
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import PolynomialFeatures


def load(path: str, features: int):
    with open(path, "rb") as stream:
        text = zstandard.ZstdDecompressor().stream_reader(stream).read()
    return load_svmlight_file(io.BytesIO(text), n_features=features, zero_based=False)


def main() -> None:
    train, test, features, cost = sys.argv[1:]
    x, y = load(train, int(features))

    def clocks() -> np.ndarray:
        return np.array([time.perf_counter(), time.process_time()])

    start = clocks()
    products = PolynomialFeatures(2)
    expanded = products.fit_transform(x)
    spent = clocks() - start
    # LIBLINEAR's own copy is not timed, as in the other cases; the first one is not needed any more.
    problem = liblinearutil.problem(y, expanded)
    del expanded
    start = clocks()
    model = liblinearutil.train(problem, f"-s 5 -c {cost} -q")
    seconds, cpu = spent + (clocks() - start)
    weights = np.ctypeslib.as_array(model.w, (model.nr_feature,)).copy()
    weights = weights if model.label[0] == 1 else -weights
    test_x, test_y = load(test, int(features))
    right = np.where(products.transform(test_x) @ weights > 0, 1, -1) == test_y
    answer = {"seconds": seconds, "cpu": cpu, "features": int((weights != 0).sum()), "accuracy": float(right.mean())}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
