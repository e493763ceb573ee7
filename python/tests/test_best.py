"""K features chosen by gain, and columns that are weighed by scales."""

import json

import featgen
import numpy as np
import pytest
import scipy.sparse as sp
from featgen import FGMClassifier, FGMRegressor, FGMSelector
from sklearn.base import clone


def planted(n=300, p=400, relevant=5, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, p))
    signal = X[:, :relevant].sum(axis=1)
    return X, signal + 0.3 * random.standard_normal(n)


def test_planted_features_are_found_in_any_units():
    X, signal = planted()
    units = np.where(np.arange(X.shape[1]) % 2 == 0, 1e6, 1e-3)
    raw = X * units + 7 * units
    model = FGMClassifier(n_features=5).fit(raw, signal > 0)
    assert model.get_support(indices=True).tolist() == [0, 1, 2, 3, 4]
    assert model.score(raw, signal > 0) > 0.9
    # Weights are those of the data as they are.
    plain = FGMClassifier(n_features=5).fit(X, signal > 0)
    assert np.allclose(plain.coef_[0, :5], model.coef_[0, :5] * units[:5], rtol=1e-2)
    # Without scales the large columns are taken.
    unscaled = FGMClassifier(n_features=5, select="paper").fit(raw, signal > 0)
    assert set(unscaled.get_support(indices=True)) != {0, 1, 2, 3, 4}


@pytest.mark.parametrize("scale", ["auto", "std", "max", "none"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_every_scale_and_storage(scale, kind):
    X, signal = planted(p=60)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    X = sp.csr_matrix(X) if kind == "sparse" else X
    model = FGMRegressor(n_features=7, scale=scale).fit(X, signal)
    assert model.n_selected_ == 7
    assert {0, 1, 2, 3, 4} <= set(model.get_support(indices=True))
    assert model.at(3).n_selected_ == 3


def test_storages_agree():
    X, signal = planted(p=60)
    X = np.where(np.abs(X) > 1, X, 0.0)
    dense = FGMRegressor(n_features=6).fit(X, signal)
    sparse = FGMRegressor(n_features=6).fit(sp.csc_matrix(X), signal)
    assert pytest.approx(sparse.C_) == dense.C_
    assert np.allclose(
        dense.coef_, sparse.coef_.toarray() if sp.issparse(sparse.coef_) else sparse.coef_, atol=1e-4
    )


def test_parameters_survive_a_file(tmp_path):
    X, signal = planted(p=50)
    for given in ({}, {"C": 0.2, "exchange": 3, "scale": "std"}):
        model = FGMSelector(n_features=4, loss="squared", **given).fit(X, signal)
        model.save(tmp_path / "model.json")
        loaded = featgen.load(tmp_path / "model.json")
        for name in ("C", "select", "exchange", "scale", "n_features"):
            assert getattr(loaded, name) == getattr(model, name), name
        again = clone(loaded).fit(X, signal)
        assert again.C_ == model.C_
        assert np.array_equal(again.get_support(), model.get_support())


def test_the_default_depends_on_what_is_asked_for():
    X, signal = planted(p=50)
    chosen = lambda **given: FGMRegressor(**given).fit(X, signal)._facts["select"]
    assert chosen(n_features=4) == chosen(n_features=4, exchange=1) == "best"
    assert chosen() == chosen(gap=0.5) == chosen(gap=0.5, n_features=4) == "paper"
    assert chosen(n_features=4, select="paper") == "paper"


def test_models_from_before_there_was_a_choice_fit_the_same_again(tmp_path):
    X, signal = planted(p=50)
    model = FGMRegressor(n_features=4, select="paper").fit(X, signal)
    model.save(tmp_path / "model.json")
    file = json.loads((tmp_path / "model.json").read_text())
    del file["parameters"]["select"]
    (tmp_path / "model.json").write_text(json.dumps(file))
    loaded = featgen.load(tmp_path / "model.json")
    assert loaded.select == "paper"
    assert np.array_equal(clone(loaded).fit(X, signal).coef_, model.coef_)


@pytest.mark.parametrize(
    "parameters",
    [
        {"select": "worst"},
        {"scale": "large"},
        {"select": "best"},
        {"select": "best", "n_features": 3, "gap": 0.1},
        {"exchange": 3},
        {"scale": "std", "space": "poly2"},
    ],
)
def test_strange_wishes_are_refused(parameters):
    X, signal = planted(n=40, p=20)
    with pytest.raises(ValueError):
        FGMClassifier(**parameters).fit(X, signal > 0)
