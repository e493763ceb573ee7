"""Does featgen agree with LIBLINEAR where both solve the same problem?

featgen minimises 1/2 ||w||_B^2 + C sum loss, with loss 1/2 max(0, 1 - z)^2 or log(1 + exp(-z)). Without a shift,

- B at least the number of features makes the norm the l2 norm: LIBLINEAR -s 2 with C/2, and -s 0 with C;
- B = 1 makes it the l1 norm, squared. Where ||w||_1 = t at the optimum, it is the optimum of ||w||_1 + C/t sum loss too:
  LIBLINEAR -s 5 with C/(2t), and -s 6 with C/t.

Objectives must agree to 1e-6, each solution must be as good for the other's problem, and featgen's lower bound must
not be above what LIBLINEAR reaches. Run it with `bench/run check`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from liblinear import liblinearutil

from featgen_command import Featgen, build
from peers import liblinear_problem, liblinear_weights

TOLERANCE = 1e-6
LOSSES = ("squared-hinge", "logistic")


@dataclass
class Problem:
    name: str
    x: np.ndarray
    y: np.ndarray
    cost: float

    def loss(self, w: np.ndarray, loss: str) -> float:
        """C times the sum of losses."""
        z = self.y * (self.x @ w)
        each = 0.5 * np.maximum(0, 1 - z) ** 2 if loss == "squared-hinge" else np.logaddexp(0, -z)
        return self.cost * float(each.sum())

    def liblinear(self, solver: int, cost: float) -> np.ndarray:
        """LIBLINEAR's weights, as exact as it can."""
        options = liblinearutil.parameter(f"-s {solver} -c {cost!r} -e 1e-8 -q")
        weights = liblinear_weights(liblinearutil.train(liblinear_problem(self.x, self.y), options))
        return np.pad(weights, (0, self.x.shape[1] - len(weights)))

    def featgen(self, featgen: Featgen, budget: int, loss: str) -> tuple[np.ndarray, dict]:
        """featgen's weights through the command, and its answer."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "train.svm"
            self.write(file)
            options = ["-B", budget, "-C", repr(self.cost), "--loss", loss, "--no-shift", "--gap", "1e-8"]
            result = featgen.train([str(file)], *options)
        weights = np.zeros(self.x.shape[1])
        for selected in result["selected"]:
            weights[int(selected["feature"]) - 1] = selected["weight"]
        return weights, result

    def write(self, file: Path) -> None:
        """svmlight text that holds every value exactly."""
        with open(file, "w") as out:
            for label, row in zip(self.y, self.x):
                pairs = " ".join(f"{j + 1}:{row[j]:.17g}" for j in np.flatnonzero(row))
                out.write(f"{label:+.0f} {pairs}\n")


def problems() -> list[Problem]:
    """Small ones of different shapes, all mild enough for LIBLINEAR -s 5 to converge within its 1000 iterations."""
    made = []
    for seed, (name, n, m, cost) in enumerate(
        [("tall", 120, 15, 1.0), ("wide", 40, 80, 0.5), ("sparse", 150, 60, 5.0), ("correlated", 100, 30, 2.0)]
    ):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((n, m))
        if name == "sparse":
            x[rng.random((n, m)) < 0.8] = 0
        if name == "correlated":
            x += 0.7 * rng.standard_normal((n, 3)) @ rng.standard_normal((3, m))
        truth = np.where(np.arange(m) < 8, rng.standard_normal(m), 0)
        y = np.where(x @ truth + 0.5 * rng.standard_normal(n) > 0, 1, -1)
        made.append(Problem(name, x, y, cost))
    return made


def relative(a: float, b: float) -> float:
    """How far `a` is above `b`; negative if below."""
    return (a - b) / abs(b)


def check_l2(problem: Problem, featgen: Featgen, loss: str) -> dict[str, float]:
    """B at least m. Every number returned must be at most the tolerance."""
    m = problem.x.shape[1]
    ours, result = problem.featgen(featgen, m + 5, loss)
    theirs = problem.liblinear(*((2, problem.cost / 2) if loss == "squared-hinge" else (0, problem.cost)))

    def objective(w: np.ndarray) -> float:
        return 0.5 * float(w @ w) + problem.loss(w, loss)

    return {
        "objective": abs(relative(result["objective"], objective(theirs))),
        "our weights": relative(objective(ours), objective(theirs)),
        "lower bound": relative(result["lower_bound"], objective(theirs)),
    }


def check_l1(problem: Problem, featgen: Featgen, loss: str) -> dict[str, float]:
    """B = 1. Every number returned must be at most the tolerance."""
    ours, result = problem.featgen(featgen, 1, loss)
    norm = float(np.abs(ours).sum())
    squared = loss == "squared-hinge"
    theirs = problem.liblinear(5 if squared else 6, problem.cost / (2 * norm if squared else norm))

    def objective(w: np.ndarray) -> float:
        return 0.5 * float(np.abs(w).sum()) ** 2 + problem.loss(w, loss)

    def penalised(w: np.ndarray) -> float:
        return float(np.abs(w).sum()) + problem.loss(w, loss) / norm

    return {
        "objective": abs(relative(result["objective"], objective(theirs))),
        "our weights, our problem": relative(objective(ours), objective(theirs)),
        "their weights, our problem": relative(objective(theirs), objective(ours)),
        "our weights, their problem": relative(penalised(ours), penalised(theirs)),
        "lower bound": relative(result["lower_bound"], objective(theirs)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--featgen", type=Path, help="the command to check; built from this repository by default")
    args = parser.parse_args()
    featgen = Featgen(args.featgen.resolve() if args.featgen else build())
    failed = 0
    for problem in problems():
        for norm, check in (("l2", check_l2), ("l1", check_l1)):
            for loss in LOSSES:
                excess = check(problem, featgen, loss)
                wrong = {what: value for what, value in excess.items() if not value <= TOLERANCE}
                failed += bool(wrong)
                details = ", ".join(f"{what} {value:.1e}" for what, value in (wrong or excess).items())
                print(f"{'failed' if wrong else 'OK':7}{problem.name:11}{norm}  {loss:14} {details}", flush=True)
    sys.exit(f"{failed} failed" if failed else None)


if __name__ == "__main__":
    main()
