"""Outcomes other than two classes: beside scikit-learn where the problems coincide, and as its tools use them."""

import featgen
import numpy as np
import pytest
from featgen import FGMClassifier, FGMRegressor, FGMSelector, FGMSurvival
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@pytest.fixture
def numbers():
    X, y = load_diabetes(return_X_y=True)
    return 20 * X, (y - y.mean()) / y.std()


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.fixture
def survival():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30))
    time = rng.exponential(np.exp(-X[:, 3] + X[:, 7]))
    censored = rng.exponential(2.0, size=200)
    y = np.empty(200, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = time <= censored, np.minimum(time, censored)
    return X, y


ALL = {"budget": 1000, "gap": 1e-8, "inner_tol": 1e-10}


def test_all_numbers_with_every_feature_are_ridge(numbers):
    X, y = numbers
    model = FGMRegressor(C=0.3, **ALL).fit(X, y)
    ridge = Ridge(alpha=1 / 0.3).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, atol=1e-5)
    assert model.intercept_ == pytest.approx(ridge.intercept_, abs=1e-6)
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), atol=1e-4)


def test_counts_with_every_feature_are_penalised_poisson_regression(numbers):
    X, y = numbers
    counts = np.round(np.exp(0.5 * y + 0.5))
    model = FGMRegressor(loss="poisson", C=0.2, **ALL).fit(X, counts)
    peer = PoissonRegressor(alpha=1 / (0.2 * len(y)), tol=1e-10, max_iter=1000).fit(X, counts)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-3)
    assert model.score(X, counts) == pytest.approx(peer.score(X, counts), abs=1e-4)


def test_classes_with_every_feature_are_multinomial_logistic_regression(iris):
    X, y = iris
    model = FGMClassifier(loss="softmax", C=0.5, **ALL).fit(X, y)
    peer = LogisticRegression(C=0.5, tol=1e-10, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-4)
    assert (model.predict(X) == peer.predict(X)).mean() > 0.99


def test_logistic_takes_many_classes(iris):
    X, y = iris
    a, b = (FGMClassifier(loss=loss, C=0.5, n_features=2).fit(X, y) for loss in ("logistic", "softmax"))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    assert clone(a).loss == "logistic"


@pytest.mark.parametrize("loss", ["squared_hinge", "softmax"])
def test_many_classes_share_their_features(loss):
    X, y = load_digits(return_X_y=True)
    model = FGMClassifier(n_features=20, loss=loss, C=1.0, budget=2).fit(X / 16, y)
    assert model.coef_.shape == (10, 64) and model.intercept_.shape == (10,)
    used = np.abs(model.coef_).sum(axis=0) > 0
    assert used.sum() == 20 and (used == model.get_support()).all()
    assert model.score(X / 16, y) > 0.85
    decision = model.decision_function(X / 16)
    np.testing.assert_allclose(decision, X / 16 @ model.coef_.T + model.intercept_, atol=1e-9)
    assert model.path_.coef.shape == (model.n_iter_, 10, len(model.path_.features))
    assert "weight of 3" in model.selected_


def test_pictures_of_every_outcome(iris, numbers):
    plot = pytest.importorskip("featgen.plot")
    X, y = iris
    model = FGMClassifier(loss="softmax", n_features=2, budget=1).fit(X, y)
    assert plot.weights(model).get_xlabel() == "length of the weights of all classes"
    assert plot.path(model).get_ylabel() == "length of their weights"
    curves = FGMClassifier(loss="softmax", n_features=2, space="gaussian").fit(X, y)
    assert len(plot.curves(curves).child_axes[-1].get_legend().get_texts()) == 3
    X, y = numbers
    model = FGMRegressor(n_features=3, budget=1, space="gaussian").fit(X, y)
    assert plot.curves(model).get_ylabel() == "decision value"
    assert plot.weights(FGMRegressor(n_features=3).fit(X, y)).get_xlabel() == "weight"


def test_words_as_classes(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])
    model = FGMClassifier(loss="softmax", n_features=2).fit(X, names[y])
    assert set(model.predict(X)) <= set(names)
    assert model.score(X, names[y]) > 0.9


def test_kept_columns_explain_others_away():
    rng = np.random.default_rng(1)
    age = rng.normal(size=500)
    X = np.column_stack([age, age + 0.1 * rng.normal(size=500), rng.normal(size=(500, 8))])
    y = 3 * age + X[:, 5] + 0.1 * rng.normal(size=500)
    without = FGMRegressor(n_features=1, budget=1, C=1.0).fit(X, y)
    assert without.get_support(indices=True).tolist() != [5]
    model = FGMRegressor(n_features=1, budget=1, C=1.0, keep=[0]).fit(X, y)
    assert model.selected_["feature"].tolist() == ["x5"]
    assert model.kept_["x0"] == pytest.approx([3.0], abs=0.05)
    assert model.get_support(indices=True).tolist() == [0, 5]
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.predict(X), atol=1e-9)


def test_kept_columns_by_name():
    pandas = pytest.importorskip("pandas")
    frame, y = load_diabetes(return_X_y=True, as_frame=True)
    model = FGMRegressor(n_features=2, budget=1, C=100.0, keep=["age", "sex"]).fit(frame, y)
    assert list(model.kept_) == ["age", "sex"]
    assert isinstance(frame, pandas.DataFrame) and model.n_selected_ == 2
    with pytest.raises(ValueError, match="keep: no column is called 'weight'"):
        FGMRegressor(keep=["weight"]).fit(frame, y)


def test_an_offset_is_added(numbers):
    X, y = numbers
    offset = np.linspace(-3, 3, len(y))
    plain = FGMRegressor(n_features=3, budget=1, C=1.0).fit(X, y)
    model = FGMRegressor(n_features=3, budget=1, C=1.0).fit(X, y + offset, offset=offset)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.predict(X, offset=offset), plain.predict(X) + offset, atol=1e-6)
    with pytest.raises(ValueError, match="offset: 3 numbers for 442 samples"):
        model.fit(X, y, offset=[1, 2, 3])


def test_survival(survival):
    X, y = survival
    model = FGMSurvival(n_features=2, budget=1).fit(X, y)
    assert model.get_support(indices=True).tolist() == [3, 7]
    assert model.coef_[3] > 0 > model.coef_[7]
    assert 0.7 < model.score(X, y) < 1.0
    signed = np.where(y["event"], y["time"], -y["time"])
    again = FGMSurvival(n_features=2, budget=1).fit(X, signed)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    assert model.score(X, signed) == model.score(X, y)


def test_survival_refuses_what_cannot_be(survival):
    X, y = survival
    none = y.copy()
    none["event"] = False
    with pytest.raises(ValueError, match="no event"):
        FGMSurvival().fit(X, none)
    zero = y.copy()
    zero["time"][5] = 0
    with pytest.raises(ValueError, match="times must be above 0"):
        FGMSurvival().fit(X, zero)


def test_scikit_survival_agrees(survival):
    linear = pytest.importorskip("sksurv.linear_model")
    X, y = survival
    X = X[:, :8]
    model = FGMSurvival(C=2.0, **ALL).fit(X, y)
    peer = linear.CoxPHSurvivalAnalysis(alpha=0.5, ties="breslow", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)
    assert model.score(X, y) == pytest.approx(peer.score(X, y), abs=1e-6)


def test_tools_of_scikit_learn(numbers, iris, survival):
    X, y = numbers
    pipe = make_pipeline(StandardScaler(), FGMRegressor(n_features=4, budget=1))
    assert cross_val_score(pipe, X, y, scoring="r2").mean() > 0.4
    search = GridSearchCV(FGMRegressor(), {"n_features": [2, 4], "loss": ["squared", "huber"]}, cv=3).fit(
        X, y
    )
    assert search.best_params_["n_features"] == 4
    X, y = iris
    model = FGMClassifier(loss="softmax", n_features=2, C=1.0)
    scores = cross_val_score(model, X, y, scoring="neg_log_loss", cv=3)
    assert scores.mean() > -0.4
    X, y = survival
    assert cross_val_score(FGMSurvival(n_features=2, budget=1), X, y, cv=3).mean() > 0.7


@pytest.mark.parametrize("loss", ["squared", "huber", "poisson", "cox", "softmax"])
def test_the_selector_takes_every_outcome(numbers, loss):
    X, y = numbers
    y = {"poisson": np.round(np.exp(y)), "cox": np.exp(y), "softmax": np.digitize(y, [-0.5, 0.5])}.get(
        loss, y
    )
    selector = FGMSelector(n_features=3, budget=1, loss=loss).fit(X, y)
    assert selector.transform(X).shape == (len(y), 3)


@pytest.mark.parametrize(
    "model",
    [
        FGMRegressor(n_features=3),
        FGMRegressor(n_features=3, loss="huber", delta=0.5, keep=[1]),
        FGMRegressor(n_features=3, loss="poisson", space="gaussian"),
        FGMClassifier(n_features=2, loss="softmax"),
        FGMSurvival(n_features=3, space="poly2"),
    ],
    ids=str,
)
def test_files_keep_every_outcome(numbers, tmp_path, model):
    X, y = numbers
    if isinstance(model, FGMClassifier):
        y = np.digitize(y, [-0.5, 0.5])
    elif isinstance(model, FGMSurvival) or model.loss == "poisson":
        y = np.round(np.exp(y) + 1)
    model.fit(X, y).save(tmp_path / "model.json")
    again = featgen.load(tmp_path / "model.json")
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(clone(again).fit(X, y).predict(X), model.predict(X))


def test_stores_keep_numbers(numbers, tmp_path):
    X, y = numbers
    y = np.concatenate([y, y + 1e-6, y + 2e-6])
    X = np.concatenate([X, X, X])
    lines = (f"{label} " + " ".join(f"{j + 1}:{x}" for j, x in enumerate(row)) for label, row in zip(y, X))
    (tmp_path / "d.svm").write_text("\n".join(lines) + "\n")
    store = featgen.convert(tmp_path / "d.svm", tmp_path / "d.store")
    np.testing.assert_array_equal(store.y, y)
    of_store = FGMRegressor(n_features=3).fit(store, store.y)
    assert (
        of_store.get_support(indices=True).tolist()
        == FGMRegressor(n_features=3).fit(X, y).get_support(indices=True).tolist()
    )
