"""Inside scikit-learn: pipelines, searches, output as frames, routing, copies; on real data."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
import skops.io
from featgen import FGMClassifier, FGMSelector, Gaussian, Poly2
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import VotingClassifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_few_features_are_enough(cancer, digits, loss):
    for (X, y), least in ((cancer, 0.93), (digits, 0.9)):
        scores = cross_val_score(FGMClassifier(n_features=8, budget=1, loss=loss), X, y, cv=5)
        assert scores.mean() > least


def test_search(digits):
    X, y = digits
    grid = {"C": [0.1, 10.0], "budget": [1, 5], "n_features": [2, 10]}
    search = GridSearchCV(FGMClassifier(), grid, cv=3, scoring="roc_auc").fit(X, y)
    assert search.best_params_["n_features"] == 10
    assert search.best_estimator_.n_selected_ == 10
    assert search.score(X, y) > 0.98 and set(search.predict(X)) == {3, 8}


def test_pipelines(cancer):
    X, y = cancer
    for selector in (FGMSelector(n_features=5, budget=1), FGMClassifier(n_features=5, budget=1)):
        model = make_pipeline(StandardScaler(), selector, LogisticRegression()).fit(X, y)
        assert model.score(X, y) > 0.95 and model[-1].coef_.shape == (1, 5)
        names = model[:-1].get_feature_names_out()
        assert set(names) <= set(X.columns) and len(names) == 5
    last = make_pipeline(StandardScaler(), FGMClassifier(n_features=5)).fit(X, y)
    assert last.score(X, y) > 0.95 and last.decision_function(X).shape == y.shape


def test_a_selector_does_not_predict():
    for method in ("predict", "decision_function", "predict_proba", "score"):
        assert not hasattr(FGMSelector(), method)


def test_in_a_column_transformer(cancer):
    X, y = cancer
    some = list(X.columns[:10])
    parts = make_column_transformer((FGMSelector(n_features=3), some), remainder="drop").fit(X, y)
    assert parts.transform(X).shape == (len(y), 3)


@pytest.mark.parametrize("space", ["linear", "poly2", "gaussian"])
def test_output_as_frames(cancer, space):
    X, y = cancer
    selector = FGMSelector(n_features=4, space=space).set_output(transform="pandas").fit(X, y)
    frame = selector.transform(X)
    assert isinstance(frame, pd.DataFrame) and list(frame.columns) == list(selector.get_feature_names_out())
    assert frame.index.equals(X.index)
    other = selector.set_output(transform="polars").transform(pl.from_pandas(X))
    assert isinstance(other, pl.DataFrame) and other.columns == list(frame.columns)
    np.testing.assert_allclose(frame.to_numpy(), other.to_numpy())
    plain = selector.set_output(transform="default").transform(X)
    np.testing.assert_allclose(frame.to_numpy(), plain)


def test_names_of_given_inputs(cancer):
    X, y = cancer
    model = FGMSelector(n_features=2, space="poly2").fit(X.to_numpy(), y)
    named = model.get_feature_names_out(X.columns)
    assert all(part.split("^")[0] in X.columns for name in named if name != "1" for part in name.split("*"))
    with pytest.raises(ValueError, match="input_features"):
        model.get_feature_names_out(["a", "b"])


def test_inverse(cancer):
    X, y = cancer
    model = FGMSelector(n_features=4).fit(X, y)
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_array_equal(back, np.where(model.get_support(), X, 0.0))
    assert not hasattr(FGMSelector(space="poly2"), "inverse_transform")


def test_weights_of_samples_are_routed(cancer):
    X, y = cancer
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = FGMClassifier(n_features=5, budget=1).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        pipeline.fit(X, y, sample_weight=weights)
        expected = FGMClassifier(n_features=5, budget=1).fit(
            pipeline[0].transform(X), y, sample_weight=weights
        )
        np.testing.assert_array_equal(pipeline[-1].coef_, expected.coef_)
        result = cross_validate(model, X, y, params={"sample_weight": weights}, cv=3)
        assert result["test_score"].mean() > 0.9
        scored = FGMClassifier(n_features=5, budget=1).set_score_request(n_features=True)
        result = cross_validate(
            scored.set_fit_request(sample_weight=False), X, y, params={"n_features": 1}, cv=3
        )
        assert 0.8 < result["test_score"].mean() < 0.93
        fewer = FGMClassifier(n_features=5, budget=1).set_predict_request(n_features=True)
        chosen = make_pipeline(fewer).fit(X, y).predict(X, n_features=2)
        np.testing.assert_array_equal(chosen, fewer.fit(X, y).predict(X, n_features=2))


@pytest.mark.parametrize(
    "again",
    [
        copy.copy,
        copy.deepcopy,
        *(
            lambda model, p=p: pickle.loads(pickle.dumps(model, p))
            for p in range(2, pickle.HIGHEST_PROTOCOL + 1)
        ),
    ],
)
@pytest.mark.parametrize("space", ["linear", "poly2", "gaussian"])
def test_copies(cancer, again, space):
    X, y = cancer
    model = FGMClassifier(n_features=5, budget=2, space=space, loss="logistic").fit(X, y)
    other = again(model)
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(other.transform(X), model.transform(X))
    np.testing.assert_array_equal(other.path_.coef, model.path_.coef)
    assert other.selected_.equals(model.selected_) and other.gap_ == model.gap_
    assert other.at(2).n_selected_ == model.at(2).n_selected_
    assert other.rounds_ == model.rounds_ and list(other.feature_names_in_) == list(X.columns)
    assert other.fit(X, y).n_selected_ == 5


def test_joblib(cancer, tmp_path):
    X, y = cancer
    model = make_pipeline(StandardScaler(), FGMClassifier(n_features=5)).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib", compress=3)
    other = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


#: As docs/python.md has it.
TRUSTED = ["featgen.estimators.FGMClassifier", "featgen.estimators.FGMSelector"]


@pytest.mark.parametrize(
    ("parameters", "more"),
    [
        ({}, []),
        ({"loss": "logistic", "space": "gaussian"}, []),
        ({"groups": {"a": ["mean radius", "mean area"], "b": ["worst area"]}, "n_features": 1}, []),
        ({"space": Poly2(gamma=0.5)}, ["featgen.spaces.Poly2"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [FGMClassifier, FGMSelector])
def test_skops(cancer, tmp_path, kind, parameters, more):
    X, y = cancer
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), kind(**parameters)).fit(X, y)
    skops.io.dump(model, tmp_path / "model.skops")
    # Nothing but the package's own types: no code is run to load the rest.
    assert set(skops.io.get_untrusted_types(file=tmp_path / "model.skops")) <= {*TRUSTED, *more}
    other = skops.io.load(tmp_path / "model.skops", trusted=[*TRUSTED, *more])
    np.testing.assert_array_equal(other[-1]._decision(X), model[-1]._decision(X))
    np.testing.assert_array_equal(other.transform(X), model.transform(X))
    assert list(other[-1].feature_names_in_) == list(X.columns) and other[-1].rounds_ == model[-1].rounds_
    assert (
        other[-1].at(1).n_selected_ == model[-1].at(1).n_selected_ if parameters.get("n_features") else True
    )
    assert repr(clone(other)) == repr(clone(model))
    np.testing.assert_array_equal(clone(other).fit(X, y)[-1].coef_, model[-1].coef_)


def test_skops_before_fitting_and_where_coefficients_are_sparse():
    model = skops.io.loads(skops.io.dumps(FGMClassifier(n_features=3)), trusted=TRUSTED)
    assert model.n_features == 3 and not hasattr(model, "coef_")
    rows = np.flatnonzero(np.arange(40) % 2)
    X = sp.csc_array((np.ones(20), (rows, np.full(20, 7))), shape=(40, 1_500_000))
    model = FGMClassifier(n_features=1).fit(X, np.arange(40) % 2)
    other = skops.io.loads(skops.io.dumps(model), trusted=TRUSTED)
    np.testing.assert_array_equal(other.coef_.indices, [7])
    np.testing.assert_array_equal(other.predict(X), np.arange(40) % 2)


def test_pickles_before_fitting():
    model = pickle.loads(pickle.dumps(FGMClassifier(space=Poly2(gamma=2.0))))
    assert model.space.gamma == 2.0 and not hasattr(model, "coef_")


def test_inside_other_estimators(cancer, digits):
    X, y = cancer
    calibrated = CalibratedClassifierCV(FGMClassifier(n_features=5), cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.93
    voters = [(f"C={C}", FGMClassifier(n_features=5, loss="logistic", C=C)) for C in (0.1, 10.0)]
    assert VotingClassifier(voters, voting="soft").fit(X, y).score(X, y) > 0.93
    chosen = SelectFromModel(FGMClassifier(n_features=5), threshold=1e-12).fit(X, y).get_support()
    np.testing.assert_array_equal(chosen, FGMClassifier(n_features=5).fit(X, y).get_support())
    X, y = digits
    X, y = np.vstack([X, 1 - X[:50]]), np.concatenate([y, np.full(50, 9)])
    assert OneVsRestClassifier(FGMClassifier(n_features=10)).fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("space", ["linear", "poly2", "gaussian"])
def test_importances_of_inputs(cancer, space):
    X, y = cancer
    model = FGMClassifier(n_features=5, space=space)
    importances = model.fit(X, y).feature_importances_
    assert importances.shape == (X.shape[1],) and (importances >= 0).all()
    np.testing.assert_array_equal(importances > 0, model.get_support())
    if space == "linear":
        np.testing.assert_allclose(importances, np.abs(model.coef_[0]))
    getter = {"importance_getter": "feature_importances_"}
    chosen = SelectFromModel(model, threshold=1e-12, **getter).fit(X, y).get_support()
    np.testing.assert_array_equal(chosen, model.get_support())
    fewer = RFE(model.set_params(n_features=2), n_features_to_select=4, step=10, **getter).fit(X, y)
    assert fewer.n_features_ == 4 and fewer.score(X, y) > 0.85


def test_importances_of_factors():
    X = np.random.default_rng(0).normal(size=(300, 6))
    model = FGMClassifier(n_features=2, budget=1, space="poly2").fit(X, X[:, 1] * X[:, 4] + X[:, 1] ** 2 > 0)
    weights = dict(zip(model.get_feature_names_out(), np.abs(model.coef_[0])))
    expected = np.zeros(6)
    expected[1], expected[4] = np.hypot(weights["x1*x4"], weights["x1^2"]), weights["x1*x4"]
    np.testing.assert_allclose(model.feature_importances_, expected)


@pytest.mark.parametrize(
    "fails",
    [
        lambda model, X, y: model.fit(X[:, :3], np.zeros(len(y))),
        lambda model, X, y: model.fit(X[:, :3], y, sample_weight=-np.ones(len(y))),
        lambda model, X, y: model.fit(pd.DataFrame(X[:, :3], columns=list("abc")), y[:-1]),
        lambda model, X, y: model.set_params(space="hik").fit(-np.abs(X[:, :3]), y),
        lambda model, X, y: model.set_params(C=-1).fit(X[:, :3], y),
    ],
)
@pytest.mark.parametrize("named", [False, True])
def test_a_fit_that_fails_leaves_the_old_model(data, named, fails):
    X, y = data
    given = pd.DataFrame(X, columns=[f"c{i}" for i in range(24)]) if named else X
    model = FGMClassifier(n_features=5).fit(given, y)
    before = model.decision_function(given)
    kept = {name: value for name, value in vars(model).items() if name.endswith("_")}
    with pytest.raises(ValueError):
        fails(model, X, y)
    assert {name for name in vars(model) if name.endswith("_")} == kept.keys()
    assert all(getattr(model, name) is value for name, value in kept.items())
    np.testing.assert_array_equal(model.decision_function(given), before)


def test_a_first_fit_that_fails_leaves_nothing(data):
    X, y = data
    model = FGMClassifier()
    before = set(vars(model))
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.zeros(len(y)))
    assert set(vars(model)) == before


def test_fitting_again_forgets(cancer):
    X, y = cancer
    model = FGMClassifier(n_features=5).fit(X, y)
    model.set_params(n_features=2, space=Gaussian()).fit(X.to_numpy()[:, :7], y.map({0: "no", 1: "yes"}))
    assert model.n_features_in_ == 7 and not hasattr(model, "feature_names_in_")
    assert list(model.classes_) == ["no", "yes"] and len(model.curves_) == 2


def test_shown_as_html(cancer):
    X, y = cancer
    assert "selected" not in FGMClassifier(n_features=3)._repr_html_().split("</style>")[-1].split("<p>")[-1]
    page = (
        FGMClassifier(n_features=12, budget=1).fit(X.rename(columns={"mean texture": "<b>"}), y)._repr_html_()
    )
    assert "12 of 30 features" in page and "and 2 more" in page and "><b></td>" not in page
    model = FGMClassifier(n_features=2).fit(X, y)
    assert model._repr_mimebundle_()["text/html"].count("2 of 30 features") == 1
    with sklearn.config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()


def test_defaults_are_those_of_the_interface():
    assert FGMSelector().get_params() == {**FGMClassifier().get_params(), "delta": 1.35}
    expected = {
        "n_features": None,
        "budget": None,
        "C": None,
        "select": None,
        "exchange": None,
        "scale": None,
        "loss": "squared_hinge",
        "fit_intercept": True,
        "space": "linear",
        "groups": None,
        "tree": False,
        "max_rounds": None,
        "tol": None,
        "inner_tol": 1e-4,
        "gap": None,
        "class_weight": None,
        "debias": None,
        "n_jobs": None,
        "verbose": 0,
        "checkpoint": None,
    }
    assert expected.items() <= FGMClassifier().get_params().items()


def test_the_accuracy_of_rounds_counts_samples_as_often_as_they_count(data):
    X, y = data
    wrong = np.r_[1 - y[:40], y[40:]]
    weights = np.r_[np.zeros(40), np.ones(len(y) - 40)]
    weighted = FGMClassifier(n_features=4).fit(X, wrong, sample_weight=weights)
    without = FGMClassifier(n_features=4).fit(X[40:], y[40:])
    accuracies = [[round["accuracy"] for round in model.rounds_] for model in (weighted, without)]
    np.testing.assert_allclose(*accuracies)
    # Classes that weigh more do not count more often.
    balanced = FGMClassifier(n_features=4, class_weight={0: 5.0, 1: 1.0}).fit(X, y)
    assert balanced.rounds_[-1]["accuracy"] == pytest.approx(balanced.score(X, y))
