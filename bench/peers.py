"""The peers: each function prepares a fit outside the clock and returns a thunk to be timed.

A thunk returns the last point of its path as `(weights, shift)`, with decision values `x @ weights + shift`.
"""

from __future__ import annotations

from typing import Callable

import adelie
import numpy as np
import scipy.sparse as sp
from liblinear import liblinearutil
from skglm import GeneralizedLinearEstimator
from skglm.datafits import LogisticGroup
from skglm.penalties import WeightedGroupL2
from skglm.solvers import GroupProxNewton
from skglm.utils.data import grp_converter

Fit = Callable[[], tuple[np.ndarray, float]]


def adelie_path(
    x,
    y: np.ndarray,
    loss: str,
    min_ratio: float,
    intercept: bool,
    points: int = 10,
    group_size: int = 1,
    newton_tol: float = 1e-12,
) -> Fit:
    """An l1 path of `points` penalties, from the first that selects nothing down to `min_ratio` of it, on one thread.

    With a `group_size` above 1, a group lasso over that many consecutive features each.
    """
    dtype = x.dtype.type
    make = adelie.matrix.sparse if sp.issparse(x) else adelie.matrix.dense
    matrix = make(x, method="naive", n_threads=1)
    if loss == "binomial":
        glm = adelie.glm.binomial((y > 0).astype(dtype), dtype=dtype)
    else:
        glm = adelie.glm.gaussian(y.astype(dtype), dtype=dtype)

    def fit() -> tuple[np.ndarray, float]:
        state = adelie.grpnet(
            matrix,
            glm,
            groups=np.arange(0, x.shape[1], group_size),
            intercept=intercept,
            lmda_path_size=points,
            min_ratio=min_ratio,
            early_exit=False,
            newton_tol=newton_tol,
            n_threads=1,
            progress_bar=False,
        )
        if len(state.lmdas) != points:
            raise RuntimeError(f"adelie stopped after {len(state.lmdas)} of {points} points")
        return state.betas[-1].toarray().ravel(), float(state.intercepts[-1])

    return fit


def featgen_fit(x: np.ndarray, y: np.ndarray, **parameters) -> Fit:
    """The package instead of the command: the whole of `fit`, with scikit-learn's checks of the data."""
    import featgen  # `bench/run paper` has only the command

    model = featgen.FGMClassifier(n_jobs=1, **parameters)

    def fit() -> tuple[np.ndarray, float]:
        model.fit(x, y)
        return model.coef_.ravel(), float(model.intercept_[0])

    return fit


def first_penalty(x: np.ndarray, y: np.ndarray, group_size: int) -> float:
    """Where a logistic group lasso path begins: the least penalty that selects nothing but the intercept."""
    slopes = ((y > 0) - np.mean(y > 0)) @ x / len(y)
    return float(np.linalg.norm(slopes.reshape(-1, group_size), axis=1).max() / np.sqrt(group_size))


def skglm_fit(x: np.ndarray, y: np.ndarray, group_size: int, penalty: float) -> Fit:
    """A logistic group lasso with an intercept at one `penalty` (skglm has no path), scaled as adelie scales it.

    A fit to a corner of the data, before the clock starts, has numba compile the solver.
    """
    solver = GroupProxNewton(fit_intercept=True)

    def solve(x: np.ndarray, y: np.ndarray) -> GeneralizedLinearEstimator:
        indices, starts = grp_converter(group_size, x.shape[1])
        weights = np.full(len(starts) - 1, np.sqrt(group_size))
        norm = WeightedGroupL2(penalty, weights, starts, indices)
        return GeneralizedLinearEstimator(LogisticGroup(starts, indices), norm, solver).fit(x, y)

    def fit() -> tuple[np.ndarray, float]:
        model = solve(x, y)
        if model.stop_crit_ > solver.tol:
            raise RuntimeError(f"skglm stopped at {model.stop_crit_:g}, above its tolerance {solver.tol:g}")
        return model.coef_.ravel(), float(model.intercept_)

    solve(np.asfortranarray(x[:100, : 2 * group_size]), y[:100])
    return fit


def liblinear_fits(problem, solver: int, costs: np.ndarray) -> Fit:
    """One fit for each of `costs` (LIBLINEAR has no path); no bias, default accuracy."""
    parameters = [liblinearutil.parameter(f"-s {solver} -c {cost!r} -q") for cost in map(float, costs)]

    def fit() -> tuple[np.ndarray, float]:
        models = [liblinearutil.train(problem, parameter) for parameter in parameters]
        return liblinear_weights(models[-1]), 0.0

    return fit


def liblinear_problem(x, y: np.ndarray):
    """LIBLINEAR's own copy of the data."""
    return liblinearutil.problem(y.astype(np.float64), sp.csr_matrix(x, dtype=np.float64))


def liblinear_weights(model) -> np.ndarray:
    """The weights of a two-class model without bias, for the class +1."""
    weights = np.ctypeslib.as_array(model.w, (model.nr_feature,)).copy()
    return weights if model.label[0] == 1 else -weights
