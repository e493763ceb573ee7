"""The solver reaches the objective that LIBLINEAR, by scikit-learn, reaches for the same penalty.

    python -m pytest bench/benchopt
"""

import numpy as np
import pytest

pytest.importorskip("benchopt")
from featgen_solver import Solver  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402


def objective(X, y, w, penalty):
    return np.logaddexp(0, -y * (X @ w)).sum() + penalty * np.abs(w).sum()


@pytest.mark.parametrize("part", [0.9, 0.5, 0.1])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_objective_is_that_of_liblinear(seed, part):
    random = np.random.default_rng(seed)
    X = random.standard_normal((120, 60))
    y = np.where(X[:, :5].sum(1) + random.standard_normal(120) > 0, 1.0, -1.0)
    penalty = part * np.abs(X.T @ y).max() / 2
    solver = Solver()
    solver.set_objective(X, y, penalty)
    solver.run(1e-7)
    model = LogisticRegression(l1_ratio=1.0, penalty="l1", solver="liblinear", C=1 / penalty, fit_intercept=False, tol=1e-10, max_iter=10_000)
    expected = objective(X, y, model.fit(X, y).coef_.ravel(), penalty)
    assert objective(X, y, solver.get_result()["beta"], penalty) == pytest.approx(expected, rel=1e-5)


def test_a_penalty_that_selects_nothing():
    X, y = np.eye(4), np.array([1.0, -1.0, 1.0, -1.0])
    solver = Solver()
    solver.set_objective(X, y, 10.0)
    solver.run(1e-6)
    assert not solver.get_result()["beta"].any()
