"""Features of which only a given part may be false: fdr, discoveries_ and support_fdr_."""

import featgen
import numpy as np
import pytest
from featgen import FGMClassifier, FGMRegressor
from sklearn.base import clone


def sample(seed, n=300, p=600):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    signal = X[:, 10:60:10] @ np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    return X, signal + rng.standard_normal(n), rng


def test_planted_columns_are_the_discoveries(tmp_path):
    X, y, _ = sample(0)
    model = FGMRegressor(fdr=0.1).fit(X, y)
    assert set(range(10, 60, 10)) <= set(np.flatnonzero(model.support_fdr_))
    found = model.discoveries_
    assert found["rate"] == 0.1 and found["expected_rate"] <= 0.1 and found["considered"] >= 20
    assert len(found["by_chance"]) == model.n_selected_ <= 7
    assert model.stopped_ == "discoveries"
    model.save(tmp_path / "model.json")
    loaded = featgen.load(tmp_path / "model.json")
    assert loaded.discoveries_ == found and loaded.get_params()["fdr"] == 0.1
    np.testing.assert_array_equal(loaded.support_fdr_, model.support_fdr_)


def test_noise_holds_no_discoveries():
    X, _, rng = sample(1)
    model = FGMClassifier(fdr=0.05).fit(X, rng.integers(0, 2, len(X)))
    assert model.n_selected_ == 0 and not model.support_fdr_.any()
    assert len(set(model.predict(X))) == 1


def test_no_rate_no_discoveries():
    X, y, _ = sample(2)
    model = FGMRegressor(n_features=5).fit(X, y)
    assert model.discoveries_ is None and model.support_fdr_ is None


@pytest.mark.parametrize("wrong", [0, 1, -0.1, "much"])
def test_rates_that_are_none(wrong):
    X, y, _ = sample(3)
    with pytest.raises((ValueError, TypeError), match="fdr"):
        clone(FGMRegressor(fdr=0.1)).set_params(fdr=wrong).fit(X, y)
