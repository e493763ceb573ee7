"""How sure a selection is: stability_ and stand_ins; and what is known of frames in folds."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from featgen import FGMClassifier, FGMClassifierCV, FGMRegressor, TableWarning, load
from sklearn.base import clone
from sklearn.metrics import log_loss


@pytest.fixture
def rng():
    return np.random.default_rng(2014)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(150, 40))
    X[:, 7] = X[:, 3] + 0.1 * rng.normal(size=150)
    y = X[:, 3] - X[:, 20] + 0.3 * rng.normal(size=150)
    return X, y


def test_frequencies(data, tmp_path):
    X, y = data
    model = FGMRegressor(n_features=4, stability=20, stand_ins=0.9).fit(X, y)
    found = model.stability_
    assert found["runs"] == 20 and found["threshold"] == 0.75 and found["selected"] == 4
    assert found["expected_false"] == pytest.approx(16 / (0.5 * 40))
    assert list(found["counts"]) == [1, 2, 3, 4]
    assert found["path"].shape == (len(found["features"]), 4)
    np.testing.assert_array_equal(found["path"][:, -1], found["frequency"])
    assert found["features"][0] == "x20" and found["frequency"][0] == 1
    table = model.selected_
    frequency = dict(zip(table["feature"], table["frequency"]))
    assert frequency["x20"] == 1 and all(0 <= part <= 1 for part in frequency.values())
    model.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.get_params()["stability"] == 20 and loaded.get_params()["stand_ins"] == 0.9
    np.testing.assert_array_equal(loaded.stability_["path"], found["path"])


def test_halves_are_drawn_from_random_state(data):
    X, y = data

    def of(seed):
        return FGMRegressor(n_features=8, stability=6, random_state=seed).fit(X, y).stability_

    again, other = of(1), of(2)
    np.testing.assert_array_equal(of(1)["path"], again["path"])
    assert again["path"].shape != other["path"].shape or not np.array_equal(again["path"], other["path"])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, np.asfortranarray])
def test_stand_ins(data, make):
    X, y = data
    table = FGMRegressor(n_features=2, stand_ins=0.9).fit(make(X), y).selected_
    stand_ins = dict(zip(table["feature"], table["stand_ins"]))
    (chosen,) = {"x3", "x7"} & set(stand_ins)
    ((name, correlation),) = stand_ins[chosen]
    assert {chosen, name} == {"x3", "x7"}
    assert correlation == pytest.approx(np.corrcoef(X[:, 3], X[:, 7])[0, 1])
    assert stand_ins["x20"] == []


def test_nothing_of_it_without_being_asked(data):
    model = FGMRegressor(n_features=3).fit(*data)
    assert model.stability_ is None
    assert set(model.selected_) == {"feature", "weight", "round"}


@pytest.mark.parametrize(
    "wrong", [{"stability": 7}, {"stability": 0}, {"stability": "many"}, {"stand_ins": 0}, {"stand_ins": 1.5}]
)
def test_what_cannot_be_is_refused(data, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        clone(FGMRegressor(n_features=3)).set_params(**wrong).fit(*data)


def test_names_and_groups(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame(X, columns=[f"gene {i}" for i in range(40)])
    model = FGMRegressor(n_features=2, stability=10, stand_ins=0.9).fit(frame, y)
    assert model.stability_["features"][0] == "gene 20"
    assert {"gene 3", "gene 7"} & {name for names in model.selected_["stand_ins"] for name, _ in names}
    grouped = FGMRegressor(n_features=2, stability=10, groups=np.arange(40).reshape(10, 4).tolist()).fit(X, y)
    assert len(set(grouped.selected_["group"])) == 2
    assert max(grouped.selected_["frequency"]) == 1


def noise(rng, rows=60):
    """A frame with rare levels and missing numbers, and classes that have nothing to do with it."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    level = rng.integers(0, 12, rows)
    number = rng.normal(size=rows)
    number[rng.random(rows) < 0.3] = np.nan
    frame = pd.DataFrame(
        {"level": [f"l{k}" for k in level], "number": number, "other": rng.normal(size=rows)}
    )
    return frame, rng.integers(0, 2, rows)


def test_what_is_learned_of_a_frame_is_learned_in_the_fold(rng):
    """A fold gives what a fit to its rows alone gives: levels and means of rows held out are not known there."""
    frame, y = noise(rng)
    rows = np.arange(len(y))
    splits = [(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]
    how = {"n_features": 3, "budget": 1, "loss": "logistic", "exchange": 0, "C": 1.0}
    results = FGMClassifierCV(cv=splits, scoring="log_loss", **how).fit(frame, y).cv_results_
    for k, (train, test) in enumerate(splits):
        alone = FGMClassifier(**how).fit(frame.iloc[train], y[train])
        for n_features, score in zip(results["n_features"], results[f"split{k}_test_score"]):
            with warnings.catch_warnings():
                # Levels that only rows held out have are not known.
                warnings.simplefilter("ignore", TableWarning)
                p = alone.at(n_features).predict_proba(frame.iloc[test])
            assert abs(score) == pytest.approx(log_loss(y[test], p), rel=1e-6), (k, n_features)


def test_stability_of_a_frame_with_kept_columns(rng):
    frame, y = noise(rng, 120)
    model = FGMClassifier(n_features=1, stability=10, keep=["level"]).fit(frame, y)
    assert set(model.stability_["features"]) <= {"number", "other"}
    assert model.stability_["selected"] == 1
