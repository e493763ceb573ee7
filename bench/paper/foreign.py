"""Rivals that another program runs: glmnet (a package of R) and L0Learn (packages for Python up to 3.10 only).

Where R or such a Python is not there, they have no rows, and a message says so.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import rivals
from common import *  # noqa: F403
from common import WORK, Path, Problem, Row, np, sp, timed

HERE = Path(__file__).resolve().parent
#: The Python that has L0Learn: bench/run makes it where there is a Python 3.10.
L0LEARN_PYTHON = Path(os.environ.get("L0LEARN_PYTHON", HERE.parent / ".venv310" / "bin" / "python"))


def works(*command: str) -> bool:
    if shutil.which(command[0]) and subprocess.run(command, capture_output=True).returncode == 0:
        return True
    print(f"no rows of it: {' '.join(command)} does not run", file=sys.stderr)
    return False


# glmnet.


def write_for_r(folder: Path, problem: Problem) -> None:
    """Plain numbers: an array by columns, or compressed columns."""
    (problem.y > 0).astype(np.float64).tofile(folder / "y")
    if sp.issparse(problem.x):
        x = sp.csc_matrix(problem.x, dtype=np.float64)
        x.indices.astype(np.int32).tofile(folder / "rows")
        x.indptr.astype(np.int32).tofile(folder / "starts")
        x.data.tofile(folder / "values")
    else:
        np.asarray(problem.x, dtype=np.float64).T.tofile(folder / "values")


def glmnet(problem: Problem, ratio: float, points: int, intercept: bool) -> list[Row]:
    """An l1 path of logistic regression, columns as they are, as adelie's. Each point has the seconds of the whole path."""
    if not works("Rscript", "-e", "library(glmnet)"):
        return []
    with tempfile.TemporaryDirectory(dir=WORK) as name:
        folder = Path(name)
        write_for_r(folder, problem)
        options = [str(value) for value in (*problem.x.shape, ratio, points, int(intercept))]
        subprocess.run(["Rscript", str(HERE / "glmnet.R"), name, *options], check=True, capture_output=True)
        seconds = float((folder / "seconds").read_text())
        shifts = np.fromfile(folder / "shifts")
        triples = np.fromfile(folder / "weights").reshape(3, -1)
    weights = np.zeros((len(shifts), problem.x.shape[1]))
    weights[triples[1].astype(int), triples[0].astype(int)] = triples[2]
    return rivals.points_of(problem, "glmnet", zip(weights, map(float, shifts)), seconds)


# L0Learn.

#: Its ridge penalties; cross-validation of the refit says which of them counts.
GAMMAS = (0.01, 0.001)


#: How often it is tried.
CRASHES = 4


def l0learn(problem: Problem, counts: list[int], limit: int, intercept: bool = True) -> list[Row]:
    """For each count the first point of a path that has so many features, at each ridge penalty, refitted as other rivals are.

    A process for each count; all together have `limit` seconds of the processor, and one that is ended is the last.
    """
    if not works(str(L0LEARN_PYTHON), "-c", "import l0learn"):
        return []
    even, rows, left = rivals.even_split(problem), [], float(limit)
    with tempfile.TemporaryDirectory(dir=WORK) as name:
        np.save(f"{name}/y.npy", even.y)
        sp.save_npz(f"{name}/x.npz", sp.csc_matrix(even.X)) if sp.issparse(even.X) else np.save(f"{name}/x.npy", even.X)
        for count in counts:
            options = (name, count, max(1, int(left)), int(intercept), *GAMMAS)
            call = [str(L0LEARN_PYTHON), str(HERE / "l0learn_peer.py"), *map(str, options)]
            # It crashes now and then, and not when it is tried again.
            for _ in range(CRASHES):
                done, seconds = timed(lambda: subprocess.run(call, capture_output=True, text=True))
                if done.returncode in (0, -signal.SIGXCPU):
                    break
            left -= seconds
            fits = [json.loads(line) for line in done.stdout.splitlines()]
            enough = [fit for fit in fits if len(fit["kept"]) == count]
            tried = [rivals.refit_row(problem, "L0Learn", fit["kept"], count) | {"seconds": fit["seconds"]} for fit in enough]
            rows += sorted(tried, key=lambda row: -row["validated"])[:1]
            if done.returncode:
                break
    note = {0: "fewer features", -signal.SIGXCPU: f"not within {limit} s"}.get(done.returncode, "failed")
    return rows + rivals.unfinished("L0Learn, refit", rows, counts, note)
