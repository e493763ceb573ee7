"""What is proven of n_features features: prove, time_limit and proof_."""

from __future__ import annotations

import warnings

import featgen
import numpy as np
import pytest
from featgen import FGMClassifier, FGMRegressor
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning


def planted(n: int = 200, p: int = 300, relevant: int = 4) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.standard_normal((n, p))
    return X, X[:, :relevant].sum(1) + 0.3 * random.standard_normal(n)


def test_planted_features_are_proven_the_best(tmp_path):
    X, y = planted()
    model = FGMRegressor(n_features=4, select="best", C=0.01, scale="none", prove=1e-4).fit(X, y)
    assert model.get_support(indices=True).tolist() == [0, 1, 2, 3]
    proof = model.proof_
    assert set(proof) == {"objective", "lower_bound", "gap", "forced", "undecided", "nodes"}
    assert proof["gap"] <= 1e-4
    assert proof["nodes"] > 0
    assert proof["forced"] <= 4
    assert proof["objective"] == model.objective_
    model.save(tmp_path / "model.json")
    loaded = featgen.load(tmp_path / "model.json")
    assert loaded.proof_ == proof
    assert loaded.get_params()["prove"] == 1e-4
    # Points of the path were not proven.
    assert model.at(4).proof_ == proof
    assert model.at(2).proof_ is None


def test_true_means_one_percent_and_nothing_means_what_is_free():
    X, y = planted()
    labels = y > 0
    model = FGMClassifier(n_features=4, select="best", C=1e-3, scale="none")
    proven = clone(model).set_params(prove=True).fit(X, labels)
    assert proven.proof_["gap"] <= 0.01
    for nothing in (None, False):
        assert clone(model).set_params(prove=nothing).fit(X, labels).proof_["nodes"] == 0
    assert FGMClassifier(select="paper", max_rounds=1).fit(X, labels).proof_ is None


@pytest.mark.parametrize("wrong", [0.0, 1.0, -0.1, "yes"])
def test_a_gap_is_a_part(wrong):
    X, y = planted(50, 10)
    with pytest.raises(ValueError, match="prove: must"):
        FGMRegressor(n_features=2, select="best", prove=wrong).fit(X, y)


def test_a_proof_without_a_number_of_features_is_refused():
    X, y = planted(50, 10)
    with pytest.raises(ValueError, match="prove: only a number of features"):
        FGMRegressor(prove=0.1).fit(X, y)


def test_a_time_limit_ends_a_proof_and_says_so():
    X, y = planted(80, 300, 20)
    model = FGMRegressor(n_features=12, select="best", C=1.0, prove=1e-9, time_limit=0.5)
    with pytest.warns(ConvergenceWarning, match="prove=1e-09 was asked for"):
        model.fit(X, y)
    assert model.stopped_ == "time"
    assert model.n_selected_ == 12
    assert model.proof_["gap"] > 1e-9


def test_verbose_says_how_far_a_proof_is(capfd):
    X, y = planted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FGMRegressor(n_features=4, select="best", C=0.05, prove=1e-3, verbose=2).fit(X, y)
    assert "proving: objective" in capfd.readouterr().err
