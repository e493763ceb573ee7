"""Rivals for groups: FISTA, and the online method of UFO-MKL, written from their papers; BCD is adelie's, in rivals.py."""

from __future__ import annotations

from typing import Iterator

from common import *  # noqa: F403
from common import Problem, Row, np, row_of, timed

import numba


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
