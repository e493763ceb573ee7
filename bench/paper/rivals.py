"""The systems that the paper compares with, and some of today: each makes rows at several numbers of features.

LIBLINEAR is itself; its costs grow from the first that selects anything. SGD-SLR (proximal stochastic dual coordinate ascent), FISTA
and UFO-MKL have no package that can be installed today: they are written here, from their papers, and compiled by numba.
"""

from __future__ import annotations

import warnings
from typing import Any, Iterator

from common import *  # noqa: F403
from common import Problem, Row, np, row_of, sp, timed

import adelie
import choosing
import numba
from liblinear import liblinearutil
from peers import liblinear_problem, liblinear_weights
from skglm import GeneralizedLinearEstimator
from skglm.datafits import Logistic
from skglm.penalties import MCPenalty
from skglm.solvers import AndersonCD
from sklearn.svm import l1_min_c

warnings.filterwarnings("ignore")


# LIBLINEAR.


def liblinear_path(problem: Problem, who: str, most: int, shift: bool = False, fits: int = 12, growth: float = 1.35) -> Iterator[Row]:
    """One fit a cost, from the least that selects anything until more than `most` features are selected."""
    solver, loss = {"l1-SVM": (5, "squared_hinge"), "l1-LR": (6, "log")}[who.removesuffix("-SHIFT")]
    copy = liblinear_problem(problem.x, problem.y)
    if shift:
        copy.set_bias(1)
    cost = 1.1 * l1_min_c(problem.x, problem.y, loss=loss, fit_intercept=False)
    for _ in range(fits):
        bias = "-B 1" if shift else ""
        model, seconds = timed(lambda: liblinearutil.train(copy, f"-s {solver} -c {cost} {bias} -q"))
        weights, b = split_bias(model, problem, shift)
        yield row_of(problem, who, weights, b, seconds, cost=cost) | {"weights": weights, "used": np.flatnonzero(weights)}
        if (weights != 0).sum() > most:
            return
        cost *= growth


def split_bias(model, problem: Problem, shift: bool) -> tuple[np.ndarray, float]:
    """LIBLINEAR's weight for the column of ones comes last."""
    if not shift:
        return liblinear_weights(model), 0.0
    whole = np.ctypeslib.as_array(model.w, (model.nr_feature + 1,)).copy()
    whole = whole if model.label[0] == 1 else -whole
    return whole[:-1], float(whole[-1])


def liblinear_all(problem: Problem) -> list[Row]:
    """The l2-SVM and logistic regression on all features: CD-SVM and CD-LR."""
    copy, rows = liblinear_problem(problem.x, problem.y), []
    for who, solver in (("l2-SVM, all features", 1), ("LR, all features", 7)):
        model, seconds = timed(lambda: liblinearutil.train(copy, f"-s {solver} -c 1 -q"))
        rows.append(row_of(problem, who, liblinear_weights(model), 0.0, seconds))
    return rows


# SGD-SLR: Shalev-Shwartz and Zhang, proximal stochastic dual coordinate ascent.


@numba.njit(cache=True)
def sdca(starts, columns, values, y, m, l1, l2, epochs, gap, seed):  # pragma: no cover
    n = len(y)
    # From the dual variables of w = 0: from none at all, dense data would take thousands of epochs.
    alpha, v, squares = 0.5 * y, np.zeros(m), np.zeros(n)
    for i in range(n):
        for k in range(starts[i], starts[i + 1]):
            squares[i] += values[k] ** 2
            v[columns[k]] += alpha[i] * values[k] / (l2 * n)
    np.random.seed(seed)
    ratio = l1 / l2
    for _ in range(epochs):
        for _ in range(n):
            i = np.random.randint(n)
            f = 0.0
            for k in range(starts[i], starts[i + 1]):
                u = v[columns[k]]
                if u > ratio:
                    f += values[k] * (u - ratio)
                elif u < -ratio:
                    f += values[k] * (u + ratio)
            step = (y[i] / (1 + np.exp(y[i] * f)) - alpha[i]) / max(1.0, 0.25 + squares[i] / (l2 * n))
            alpha[i] += step
            for k in range(starts[i], starts[i + 1]):
                v[columns[k]] += step * values[k] / (l2 * n)
        w = np.sign(v) * np.maximum(np.abs(v) - ratio, 0)
        primal, dual = l2 / 2 * (w * w).sum() + l1 * np.abs(w).sum(), -l2 / 2 * (w * w).sum()
        for i in range(n):
            f = 0.0
            for k in range(starts[i], starts[i + 1]):
                f += values[k] * w[columns[k]]
            primal += np.log1p(np.exp(-y[i] * f)) / n
            a = min(max(y[i] * alpha[i], 1e-12), 1 - 1e-12)
            dual -= (a * np.log(a) + (1 - a) * np.log(1 - a)) / n
        if primal - dual < gap:
            break
    return w


def sgd_slr(problem: Problem, most: int, fits: int = 6, epochs: int = 30, growth: float = 0.75) -> Iterator[Row]:
    """As the paper has it: lambda_2 is 1e-4, a duality gap of 1e-5 ends a fit, and lambda_1 makes solutions sparse."""
    x = sp.csr_matrix(problem.x, dtype=np.float64)
    start = x.indptr.astype(np.int64), x.indices.astype(np.int64), x.data
    sdca(*(a[:2] for a in start), problem.y[:1], x.shape[1], 1.0, 1.0, 1, 1e-5, 0)  # compiled before the clock starts
    penalty = 0.9 * np.abs(x.T @ problem.y).max() / (2 * len(problem.y))
    for _ in range(fits):
        weights, seconds = timed(lambda: sdca(*start, problem.y, x.shape[1], penalty, 1e-4, epochs, 1e-5, 0))
        yield row_of(problem, "SGD-SLR", weights, 0.0, seconds, cost=penalty)
        if (weights != 0).sum() > most:
            return
        penalty *= growth


# Today's: MCP by skglm, l1 paths by adelie, abess and elimination as in choosing.py.


def mcp(problem: Problem, most: int, fits: int = 8, growth: float = 0.87, gamma: float = 10.0, first: float = 0.5) -> Iterator[Row]:
    """The minimax concave penalty on the logistic loss, of columns of equal length; `first` is the part of the penalty that selects nothing."""
    x = problem.x
    size = np.sqrt(np.asarray(x.multiply(x).mean(0) if sp.issparse(x) else (x * x).mean(0)).ravel())
    varies = np.flatnonzero(size > 0)
    even = sp.csc_matrix(x[:, varies].multiply(1 / size[varies])) if sp.issparse(x) else np.asfortranarray(x[:, varies] / size[varies].astype(x.dtype))
    y = problem.y.astype(even.dtype)
    penalty = first * float(np.abs(even.T @ y).max()) / (2 * len(y))

    def fit(x, y) -> GeneralizedLinearEstimator:
        solver = AndersonCD(fit_intercept=False, tol=1e-4, max_epochs=2000)
        return GeneralizedLinearEstimator(Logistic(), MCPenalty(penalty, gamma), solver).fit(x, y)

    fit(even[:50], y[:50])  # compiled before the clock starts
    for _ in range(fits):
        model, seconds = timed(lambda: fit(even, y))
        weights = np.zeros(problem.x.shape[1])
        weights[varies] = model.coef_.ravel() / size[varies]
        yield row_of(problem, "MCP", weights, 0.0, seconds, cost=penalty) | {"used": np.flatnonzero(weights)}
        if (weights != 0).sum() > most:
            return
        penalty *= growth


def adelie_points(problem: Problem, loss: str, ratio: float, points: int = 12, intercept: bool = True) -> list[Row]:
    """A path; with groups, a group lasso by block coordinate descent. Each point has the seconds of the whole path."""
    dtype = np.float64
    x = problem.x if sp.issparse(problem.x) else np.asfortranarray(problem.x, dtype=dtype)
    x = sp.csc_matrix(x, dtype=dtype) if sp.issparse(x) else x
    matrix = (adelie.matrix.sparse if sp.issparse(x) else adelie.matrix.dense)(x, method="naive", n_threads=1)
    y = (problem.y > 0).astype(dtype) if loss == "binomial" else problem.y.astype(dtype)
    glm = getattr(adelie.glm, loss)(y, dtype=dtype)
    groups = np.arange(0, x.shape[1], problem.group_size)
    options: dict[str, Any] = dict(groups=groups, intercept=intercept, early_exit=False, n_threads=1, progress_bar=False)
    state, seconds = timed(lambda: adelie.grpnet(matrix, glm, lmda_path_size=points, min_ratio=ratio, **options))
    who = "adelie" if problem.group_size == 1 else "BCD (adelie)"
    rows = [row_of(problem, who, beta.toarray().ravel(), float(b), seconds) for beta, b in zip(state.betas, state.intercepts)]
    return [row for row in rows if row["features"]]


def chosen(problem: Problem, who: str, counts: list[int], limit: float) -> list[Row]:
    """abess or elimination with a refit by cross-validation, in a process of its own that ends after `limit` seconds."""

    class Split(choosing.Split):
        def counts(self) -> list[int]:
            return counts

    x, test = (x if sp.issparse(x) else np.asarray(x) for x in (problem.x, problem.test_x))
    x, test = (sp.csr_matrix(x) if sp.issparse(x) else x for x in (x, test))
    found, seconds = timed(lambda: choosing.rival(who, Split(x, problem.y, test, problem.test_y), limit))
    rows = []
    for count, one in found.items():
        relevant = None if problem.truth is None else len(np.intersect1d(one["kept"], problem.truth))
        rows.append({"who": f"{who}, refit", "features": len(one["kept"]), "accuracy": one["accuracy"], "relevant": relevant})
    # The time of all counts together: they come from one run.
    return [row | {"seconds": seconds / max(1, len(rows)), "asked": int(c)} for row, c in zip(rows, found)]


# Groups: FISTA, and the online method of UFO-MKL.


def group_norms(w: np.ndarray, size: int) -> np.ndarray:
    return np.linalg.norm(w.reshape(-1, size), axis=1)


def fista(problem: Problem, penalties: list[float], iterations: int = 150) -> Iterator[Row]:
    """A logistic group lasso by accelerated proximal gradients with restart, from nothing at each penalty (a part of the first)."""
    x, y, size = np.asarray(problem.x), problem.y.astype(np.float32), problem.group_size
    n = len(y)
    start = np.log(np.mean(y > 0) / np.mean(y < 0))
    first = group_norms(x.T @ (y / (1 + np.exp(y * start))) / n, size).max()
    # A few power iterations, with something to spare.
    u = np.random.default_rng(0).standard_normal(x.shape[1]).astype(np.float32)
    for _ in range(8):
        u = x.T @ (x @ (u / np.linalg.norm(u)))
    step = 1 / (0.25 * 1.1 * float(np.linalg.norm(u)) / n + 0.25)

    def fit(penalty: float) -> tuple[np.ndarray, float]:
        w, v, b, c, t, last = np.zeros(x.shape[1], np.float32), np.zeros(x.shape[1], np.float32), start, start, 1.0, np.inf
        for _ in range(iterations):
            f = x @ v + c
            residual = y / (1 + np.exp(y * f)) / n
            new = v + step * (x.T @ residual)
            norms = group_norms(new, size)
            shrink = np.maximum(0, 1 - step * penalty / np.maximum(norms, 1e-12))
            new = (new.reshape(-1, size) * shrink[:, None]).ravel().astype(np.float32)
            moved = c + step * residual.sum()
            value = np.log1p(np.exp(-y * f)).mean() + penalty * norms.sum()
            t = 1.0 if value > last else t
            after = (1 + np.sqrt(1 + 4 * t * t)) / 2
            v, c = new + (t - 1) / after * (new - w), moved + (t - 1) / after * (moved - b)
            change = np.abs(new - w).max()
            w, b, t, last = new, moved, after, value
            if change < 1e-5:
                break
        return w, b

    for part in penalties:
        (w, b), seconds = timed(lambda: fit(part * first))
        yield row_of(problem, "FISTA", w, float(b), seconds, cost=part)


@numba.njit(cache=True)
def online_mkl(x, y, size, lam, alpha, epochs, seed):  # pragma: no cover
    """Orabona and Jie 2011: w is the gradient of the conjugate of lam/2 ||w||_(2,p)^2 + alpha ||w||_(2,1) at the mean gradient."""
    n, m = x.shape
    groups = m // size
    q = max(2.0, 2 * np.log(groups))
    theta, w = np.zeros(m), np.zeros(m)
    np.random.seed(seed)
    t = 0
    for _ in range(epochs):
        for _ in range(n):
            i = np.random.randint(n)
            t += 1
            f = 0.0
            for j in range(m):
                f += x[i, j] * w[j]
            if y[i] * f < 1:
                for j in range(m):
                    theta[j] += y[i] * x[i, j]
            norms, norm = np.zeros(groups), 0.0
            for g in range(groups):
                s = 0.0
                for j in range(g * size, (g + 1) * size):
                    s += theta[j] ** 2
                norms[g] = np.sqrt(s)
            u = np.maximum(0, norms - alpha * t)
            top = u.max()
            if top == 0:
                w[:] = 0
                continue
            for g in range(groups):
                norm += (u[g] / top) ** q
            norm = top * norm ** (1 / q)
            for g in range(groups):
                factor = 0.0
                if u[g] > 0:
                    factor = norm * (u[g] / norm) ** (q - 1) / (lam * t * norms[g])
                for j in range(g * size, (g + 1) * size):
                    w[j] = factor * theta[j]
    return w


def ufo_mkl(problem: Problem, strengths: list[float], epochs: int = 20, lam: float = 0.01) -> Iterator[Row]:
    """20 epochs, as in the paper; groups come and go with alpha, a part of the longest group of the first gradient."""
    x, y, size = np.ascontiguousarray(problem.x), problem.y.astype(np.float64), problem.group_size
    online_mkl(x[:2, : 2 * size], y[:2], size, 1.0, 0.0, 1, 0)  # compiled before the clock starts
    first = group_norms(x.T @ y.astype(x.dtype) / len(y), size).max()
    for part in strengths:
        w, seconds = timed(lambda: online_mkl(x, y, size, lam, part * float(first), epochs, 0))
        yield row_of(problem, "UFO-MKL", w, 0.0, seconds, cost=part)
