"""Draws docs/accuracy.svg: test accuracy by number of features on the paper's synthetic set, one run each.

    bench/run picture
"""

from __future__ import annotations

import json
import subprocess

import adelie
import matplotlib
import numpy as np
from liblinear import liblinearutil

from featgen_command import ROOT, Featgen, build
from peers import liblinear_problem, liblinear_weights

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "featgen"
import matplotlib.pyplot as plt  # noqa: E402

WORK = ROOT / "bench" / "work"


def load(prefix, part: str) -> tuple[np.ndarray, np.ndarray]:
    return np.load(f"{prefix}.{part}.npy"), np.loadtxt(f"{prefix}.{part}.labels.txt")


def featgen_points(command: Featgen, prefix, budget: int) -> list[tuple[int, float]]:
    """One run to 300 features; every round of it is a point."""
    data = [f"{prefix}.train.npy", "--labels", f"{prefix}.train.labels.txt"]
    model = WORK / "picture.json"
    options = ["--select", "paper", "-B", budget, "-C", 10, "--features", 300]
    rounds = command.train(data, *options, model=model)["rounds"]
    points = []
    for count in [r["selected"] for r in rounds]:
        test = [f"{prefix}.test.npy", "--labels", f"{prefix}.test.labels.txt"]
        call = [str(command.path), "predict", str(model), *test, "--features", str(count), "--json"]
        points.append((count, json.loads(subprocess.run(call, capture_output=True, check=True).stdout)["accuracy"]))
    return points


def accuracy(weights: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[int, float]:
    return int((weights != 0).sum()), float(np.mean(np.where(x @ weights > 0, 1, -1) == y))


def main() -> None:
    WORK.mkdir(exist_ok=True)
    command = Featgen(build())
    prefix = WORK / "picture"
    command.synth("linear", prefix, seed=0)
    (x, y), (xt, yt) = load(prefix, "train"), load(prefix, "test")
    glm = adelie.glm.binomial((y > 0).astype(np.float32), dtype=np.float32)
    path = adelie.grpnet(
        adelie.matrix.dense(x, method="naive"), glm, intercept=False, min_ratio=0.2, lmda_path_size=20,
        early_exit=False, progress_bar=False,
    )
    problem = liblinear_problem(x, y)
    fits = [liblinearutil.train(problem, f"-s 5 -c {c} -q") for c in np.geomspace(0.0012, 0.004, 10)]
    curves = {
        "featgen, B = 10": featgen_points(command, prefix, 10),
        "adelie, l1 path": [accuracy(b.toarray().ravel(), xt, yt) for b in path.betas],
        "LIBLINEAR -s 5, ten fits": [accuracy(liblinear_weights(fit), xt, yt) for fit in fits],
    }
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for (name, points), style in zip(curves.items(), ["o-", "s--", "^:"]):
        points = [p for p in points if 0 < p[0] <= 310]
        axes.plot(*zip(*points), style, label=name, markersize=4)
    axes.set(xlabel="features selected", ylabel="test accuracy", title="4096 x 4096 synthetic, 300 relevant features")
    axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1, decimals=0))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(ROOT / "docs" / "accuracy.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
