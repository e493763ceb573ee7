"""L0Learn at several ridge penalties, for a Python that has it. Prints a line of JSON for each that ends in time.

    python l0learn_peer.py FOLDER COUNT LIMIT INTERCEPT GAMMA ...
"""

import json
import os
import resource
import sys
import time
import warnings

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is imported

import l0learn
import numpy as np
import scipy.sparse as sp

warnings.filterwarnings("ignore")


def main() -> None:
    folder, count, limit, intercept = sys.argv[1], *map(int, sys.argv[2:5])
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    if os.path.exists(f"{folder}/x.npz"):
        x = sp.csc_matrix(sp.load_npz(f"{folder}/x.npz"), dtype=float)
    else:
        x = np.asfortranarray(np.load(f"{folder}/x.npy"), dtype=float)
    y = np.where(np.load(f"{folder}/y.npy") > 0, 1.0, -1.0)
    for gamma in map(float, sys.argv[5:]):
        start = time.process_time()
        # One gamma: it asks for a least and a greatest that differ.
        path = l0learn.fit(
            x, y, loss="Logistic", penalty="L0L2", algorithm="CD", max_support_size=count, num_gamma=1,
            gamma_min=gamma, gamma_max=1.001 * gamma, scale_down_factor=0.9, intercept=bool(intercept),
        )
        seconds = time.process_time() - start
        # The path ends at the first point with enough features: of these, those of largest weight.
        weights = np.abs(path.coeffs[0][:, len(path.support_size[0]) - 1].toarray().ravel())
        kept = np.sort(np.argsort(-weights, kind="stable")[: min(count, np.count_nonzero(weights))])
        print(json.dumps({"gamma": gamma, "seconds": seconds, "kept": kept.tolist()}), flush=True)


if __name__ == "__main__":
    main()
