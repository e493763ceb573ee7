"""Estimators that choose the number of their features."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from featgen import FGMClassifier, FGMClassifierCV, FGMRegressorCV, FGMSurvivalCV
from sklearn.base import clone
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@pytest.fixture
def planted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 60))
    return X, X[:, :4].sum(axis=1) + 0.5 * rng.normal(size=200)


def test_what_is_found(planted):
    X, f = planted
    y = np.where(f > 0, "yes", "no")
    model = FGMClassifierCV(n_features=10, budget=1).fit(X, y)
    assert 3 <= model.n_features_ == model.n_selected_ <= model.best_n_features_ <= 10
    results = model.cv_results_
    assert list(results["n_features"]) == list(range(1, 11)) and set(results["C"]) == {model.C_}
    splits = np.array([results[f"split{k}_test_score"] for k in range(5)])
    np.testing.assert_allclose(results["mean_test_score"], splits.mean(axis=0))
    np.testing.assert_allclose(results["std_test_score"], splits.std(axis=0))
    np.testing.assert_allclose(results["se_test_score"], splits.std(axis=0, ddof=1) / np.sqrt(5))
    best = results["mean_test_score"].argmax()
    assert model.best_n_features_ == best + 1
    enough = results["mean_test_score"] >= (results["mean_test_score"] - results["se_test_score"])[best]
    assert model.n_features_ == enough.argmax() + 1
    assert model.cv_score_ == results["mean_test_score"][model.n_features_ - 1]
    assert model.baseline_score_ == pytest.approx(max(np.mean(y == "yes"), np.mean(y == "no")))
    # It is the estimator of that number.
    same = FGMClassifier(n_features=model.n_features_, budget=1, C=model.C_).fit(X, y)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.n_features_ == model.n_features_


@pytest.mark.parametrize(
    "cv", [KFold(4), StratifiedKFold(3, shuffle=True, random_state=0), ShuffleSplit(3, random_state=0)]
)
def test_folds_are_those_of_scikit_learn(planted, cv):
    X, f = planted
    y = (f > 0).astype(int)
    model = FGMClassifierCV(n_features=6, budget=2, cv=cv, scoring="auc").fit(X, y)
    listed = FGMClassifierCV(n_features=6, budget=2, cv=list(cv.split(X, y)), scoring="auc").fit(X, y)
    for k, (train, test) in enumerate(cv.split(X, y)):
        fold = FGMClassifier(n_features=6, budget=2, exchange=0).fit(X[train], y[train])
        expected = [roc_auc_score(y[test], fold.decision_function(X[test], n)) for n in (2, 4, 6)]
        np.testing.assert_allclose(model.cv_results_[f"split{k}_test_score"], expected, atol=1e-3)
        # To the bit where samples have no weight instead of not being there.
        weighed = FGMClassifier(n_features=6, budget=2, exchange=0)
        weighed.fit(X, y, sample_weight=np.isin(np.arange(len(y)), train).astype(float))
        expected = [roc_auc_score(y[test], weighed.decision_function(X[test], n)) for n in (2, 4, 6)]
        np.testing.assert_allclose(model.cv_results_[f"split{k}_test_score"], expected, rtol=1e-14)
        np.testing.assert_array_equal(
            model.cv_results_[f"split{k}_test_score"], listed.cv_results_[f"split{k}_test_score"]
        )


def test_groups_stay_together():
    rng = np.random.default_rng(1)
    patients = np.repeat(np.arange(20), 6)
    y = rng.permutation(np.repeat([0, 1], 10))[patients]
    X = np.hstack([np.eye(20)[patients], rng.normal(size=(120, 5))])
    apart = FGMClassifierCV(n_features=20, scale="none").fit(X, y)
    together = FGMClassifierCV(n_features=20, scale="none").fit(X, y, groups=patients)
    assert apart.cv_results_["mean_test_score"].max() > 0.85 > 0.75 > together.cv_score_
    same = FGMClassifierCV(n_features=20, scale="none", cv=GroupKFold(5)).fit(X, y, groups=patients)
    np.testing.assert_array_equal(
        same.cv_results_["mean_test_score"], together.cv_results_["mean_test_score"]
    )


def test_costs_and_the_best(planted):
    X, f = planted
    y = f > 0
    model = FGMClassifierCV(n_features=6, Cs="auto").fit(sp.csr_matrix(X), y)
    costs = np.unique(model.cv_results_["C"])
    np.testing.assert_allclose(costs / costs[2], [0.1, 0.3, 1, 3])
    assert model.C_ in costs
    best = FGMClassifierCV(n_features=6, Cs=[0.01, 1.0], one_se=False).fit(X, y)
    place = best.cv_results_["mean_test_score"].argmax()
    assert (best.n_features_, best.C_) == (best.best_n_features_, best.cv_results_["C"][place])


def test_numbers_counts_and_times(planted):
    X, f = planted
    model = FGMRegressorCV(n_features=8, budget=1).fit(X, f)
    assert 4 <= model.n_features_ <= 8 and model.cv_score_ > 0.8 and model.baseline_score_ == 0
    counts = np.random.default_rng(0).poisson(np.exp(0.5 * f))
    assert FGMRegressorCV(n_features=6, loss="poisson").fit(X, counts).cv_score_ > 0.3
    time = np.exp(-f)
    y = np.array([(t < 2, min(t, 2.0)) for t in time], dtype=[("event", bool), ("time", float)])
    model = FGMSurvivalCV(n_features=6, budget=1).fit(X, y)
    assert model.cv_score_ > 0.8 and model.score(X, y) > 0.85


def test_in_a_pipeline_and_cloned(planted):
    X, f = planted
    y = f > 0
    pipeline = make_pipeline(StandardScaler(), FGMClassifierCV(n_features=6, budget=2, cv=3))
    model = clone(pipeline).fit(X, y)
    assert accuracy_score(y, model.predict(X)) > 0.8
    params = pipeline[-1].get_params()
    assert (params["cv"], params["budget"], params["one_se"]) == (3, 2, True)
    assert clone(pipeline[-1]).set_params(cv=4).cv == 4


def test_the_rounds_of_the_paper(planted):
    X, f = planted
    model = FGMClassifierCV(select="paper", budget=2).fit(X, f > 0)
    assert model.n_selected_ <= model.n_features_


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"cv": 1}, "cv: at least 2 folds"),
        ({"cv": 500}, "cv: 500 folds"),
        ({"cv": "five"}, "cv: "),
        ({"cv": None}, "cv: must be"),
        ({"cv": [([0, 1], [1])]}, "cv: split 1"),
        ({"cv": [([0.5], [1])]}, "cv: splits"),
        ({"scoring": "r2"}, "scoring: r2 does not fit"),
        ({"scoring": "best"}, "scoring: must be one of"),
        ({"Cs": "many"}, "Cs: must be one of"),
        ({"Cs": [1.0, -1.0]}, "C: must be"),
        ({"n_features": 1000}, "n_features: 1000 are asked for"),
        ({"one_se": "no"}, "one_se"),
        ({"random_state": None}, "random_state"),
    ],
)
def test_what_cannot_be_done(planted, parameters, said):
    X, f = planted
    model = FGMClassifierCV(**{"n_features": 4, **parameters})
    with pytest.raises(ValueError, match=said):
        model.fit(X, f > 0)
    assert not hasattr(model, "n_features_")


def test_unknown_parameters():
    with pytest.raises(TypeError, match="folds"):
        FGMClassifierCV(folds=5)
