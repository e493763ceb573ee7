"""The path of a run, its points, its certificate, and when it ends."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from featgen import FGMClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, log_loss

LOSSES = {
    "squared_hinge": lambda margin: 0.5 * np.maximum(0.0, 1.0 - margin) ** 2,
    "logistic": lambda margin: np.logaddexp(0.0, -margin),
}


def objective(model, X, y):
    """What one feature a round minimises: 0.5 |w|_1^2 + C times the sum of losses."""
    margin = np.where(y == model.classes_[1], 1.0, -1.0) * model.decision_function(X)
    return 0.5 * np.abs(model.coef_).sum() ** 2 + model.C_ * LOSSES[model.loss](margin).sum()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_certificate_is_true(data, loss, fit_intercept):
    """With one feature a round and a small gap, the objective is that of the l1 problem, to be seen in numpy."""
    X, y = data
    model = FGMClassifier(loss=loss, fit_intercept=fit_intercept, budget=1, C=0.5, gap=1e-6).fit(X, y)
    assert model.stopped_ == "gap" and model.gap_ <= 1e-6
    assert model.lower_bound_ <= model.objective_
    np.testing.assert_allclose(objective(model, X, y), model.objective_, rtol=1e-5)
    # Nothing nearby is better than the bound says.
    rng = np.random.default_rng(0)
    weights, shift = model.coef_[0], model.intercept_[0]
    for _ in range(200):
        w = weights * (1 + 0.1 * rng.normal(size=len(weights)))
        b = shift + 0.1 * rng.normal() * fit_intercept
        margin = np.where(y == 1, 1.0, -1.0) * (X @ w + b)
        value = 0.5 * np.abs(w).sum() ** 2 + model.C_ * LOSSES[loss](margin).sum()
        assert value >= model.lower_bound_


@pytest.mark.parametrize("solver", ["newton", "apg", "pg"])
def test_solvers_agree(data, solver):
    X, y = data
    model = FGMClassifier(budget=2, C=0.1, n_features=4, inner_tol=1e-8)
    expected = model.fit(X, y).coef_
    np.testing.assert_allclose(model.set_params(solver=solver).fit(X, y).coef_, expected, atol=1e-4)


def test_rounds(data):
    X, y = data
    model = FGMClassifier(n_features=6, budget=2).fit(X, y)
    assert len(model.rounds_) == model.n_iter_
    assert [round["round"] for round in model.rounds_] == list(range(1, model.n_iter_ + 1))
    for round in model.rounds_:
        assert 0 < round["selected"] <= 6 and 0 <= round["accuracy"] <= 1
        assert round["lower_bound"] <= round["objective"] and 0 <= round["gap"] <= 1
        assert set(round["seconds"]) == {"score", "generate", "solve"}
    last = model.rounds_[-1]
    assert (last["selected"], last["objective"]) == (model.n_selected_, model.objective_)
    assert model.lower_bound_ == last["lower_bound"] and model.gap_ == last["gap"]


def test_path(data):
    X, y = data
    model = FGMClassifier(n_features=8, budget=2).fit(X, y)
    path = model.path_
    assert path.coef.shape == (model.n_iter_, len(path.features))
    np.testing.assert_array_equal(path.n_features, [r["selected"] for r in model.rounds_])
    np.testing.assert_array_equal(path.n_features, (path.coef != 0).sum(axis=1))
    np.testing.assert_array_equal(path.objective, [r["objective"] for r in model.rounds_])
    columns = [int(name[1:]) for name in path.features]
    np.testing.assert_array_equal(path.coef[-1], model.coef_[0][columns])
    assert path.intercept[-1] == model.intercept_[0]
    for k, count in enumerate(path.n_features):
        point = X[:, columns] @ path.coef[k] + path.intercept[k]
        np.testing.assert_allclose(model.decision_function(X, n_features=count), point, atol=1e-9)


def test_points_of_the_path(data):
    X, y = data
    model = FGMClassifier(n_features=8, budget=2, loss="logistic").fit(X, y)
    before = model.coef_.copy()
    for count in range(2, 12):
        point = model.at(count)
        nearest = max(c for c in model.path_.n_features if c <= count)
        assert point.n_selected_ == nearest == point.get_support().sum() == (point.coef_ != 0).sum()
        assert point.n_iter_ <= model.n_iter_ and len(point.rounds_) == point.n_iter_
        assert point.objective_ == point.rounds_[-1]["objective"]
        np.testing.assert_array_equal(model.predict(X, n_features=count), point.predict(X))
        np.testing.assert_array_equal(model.predict_proba(X, n_features=count), point.predict_proba(X))
        np.testing.assert_array_equal(model.predict_log_proba(X, count), point.predict_log_proba(X))
        assert point.at(2).n_selected_ == 2
    np.testing.assert_array_equal(model.coef_, before)
    counts = set(model.path_.n_features.tolist())
    for count in range(2, 12):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            nearest = model.at(count).n_selected_
        expected = (
            []
            if count in counts
            else [f"no point with {count} features: this is the nearest below, with {nearest}"]
        )
        assert [str(warning.message).removeprefix("the path has ") for warning in said] == expected
    for wrong, words in ((1, "fewest are 2"), (-1, "negative"), (1.5, "integer"), (None, "None")):
        with pytest.raises(ValueError, match=words):
            model.at(wrong)


def test_a_point_is_what_fitting_for_it_gives(data):
    """One feature a round of the paper, the same C: the point with k features is the fit that stops there."""
    X, y = data
    model = FGMClassifier(n_features=6, budget=1, select="paper").fit(X, y)
    for count in (1, 3, 4):
        fitted = FGMClassifier(n_features=count, budget=1, select="paper").fit(X, y)
        np.testing.assert_allclose(model.at(count).coef_, fitted.coef_, atol=1e-12)


def test_selected(data):
    X, y = data
    table = FGMClassifier(n_features=6, budget=2).fit(X, y).selected_
    assert list(table.columns) == ["feature", "weight", "round"] and len(table) == 6
    assert (np.diff(np.abs(table["weight"])) <= 0).all() and (table["weight"] != 0).all()
    assert set(table["round"]) <= set(range(1, 10))


@pytest.mark.parametrize("budget", [1, 3, None])
@pytest.mark.parametrize("count", [1, 2, 7, 23])
@pytest.mark.parametrize("select", ["best", "paper"])
def test_exactly_so_many(data, select, count, budget):
    X, y = data
    model = FGMClassifier(n_features=count, budget=budget, C=0.01, select=select).fit(X, y)
    assert model.n_selected_ == count == model.get_support().sum() == (model.coef_ != 0).sum()
    assert model.stopped_ == "features" and model.C_ >= 0.01
    # C is doubled, if anything, and by the rounds of the paper only.
    doublings = np.log2(model.C_ / 0.01)
    assert doublings == pytest.approx(round(doublings) if select == "paper" else 0)


def test_rules(data):
    X, y = data
    assert FGMClassifier(budget=1, max_rounds=3, tol=1e-12).fit(X, y).n_iter_ == 3
    assert FGMClassifier(budget=1, max_rounds=3, tol=1e-12).fit(X, y).stopped_ == "rounds"
    assert FGMClassifier(budget=1, tol=0.5).fit(X, y).stopped_ == "tolerance"
    early = FGMClassifier(budget=1, tol=0.5).fit(X, y)
    late = FGMClassifier(budget=1, tol=1e-4).fit(X, y)
    assert early.n_iter_ < late.n_iter_
    loose, tight = (FGMClassifier(budget=1, gap=gap).fit(X, y) for gap in (0.3, 0.01))
    assert tight.gap_ <= 0.01 < loose.gap_ <= 0.3 and loose.stopped_ == tight.stopped_ == "gap"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_features": 23, "max_rounds": 5}, "n_features=23 .* is 5 .of 24 .*'rounds'"),
        ({"n_features": 23, "tol": 0.5}, "n_features=23 .* is 1 .*'tolerance'"),
        ({"n_features": 30}, "n_features=30 .* is 24 .of 24 .*'exhausted'"),
        ({"n_features": 30, "select": "paper"}, "n_features=30 .* is 2[0-3] .of 24 .*'optimal'"),
        ({"gap": 1e-4, "max_rounds": 3}, "gap=0.0001 .* is 0.9.*'rounds'"),
        ({"inner_tol": 1e-300, "loss": "logistic"}, "inner_tol=1e-300 .* last round"),
    ],
    ids=str,
)
def test_what_was_not_reached_is_said(data, parameters, words):
    with pytest.warns(ConvergenceWarning, match=words) as said:
        FGMClassifier(budget=1, **parameters).fit(*data)
    assert len(said) == 1 and said[0].filename == __file__


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"n_features": 12},
        {"n_features": 5, "max_rounds": 5},
        {"gap": 0.3},
        {"n_features": 20, "gap": 1e-6, "callback": lambda _: True},
    ],
    ids=str,
)
def test_nothing_is_said_of_what_was_reached_or_ended(data, parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FGMClassifier(budget=1, **parameters).fit(*data)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_parameters_that_equal_a_default_are_not_ignored(data):
    """What is given counts, whatever it would have been otherwise."""
    X, y = data
    assert FGMClassifier(n_features=10, budget=10).fit(X, y).n_iter_ == 1
    assert FGMClassifier(n_features=10, budget=9).fit(X, y).n_iter_ == 2
    assert FGMClassifier(n_features=10).fit(X, y).n_iter_ == 10
    assert FGMClassifier(n_features=23, budget=1, max_rounds=20).fit(X, y).stopped_ == "rounds"
    assert FGMClassifier(gap=1e-9, budget=1, max_rounds=3, tol=0.0).fit(X, y).stopped_ == "rounds"
    slow = FGMClassifier(n_features=23, budget=1, C=0.01, tol=1e-3).fit(X, y)
    assert slow.stopped_ == "tolerance" and slow.n_selected_ < 23


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_defaults_are_those_of_the_engine(data):
    X, y = data

    def rounds(**parameters):
        return FGMClassifier(**parameters).fit(X, y).rounds_

    def same(a, b):
        return [(r["selected"], r["objective"]) for r in a] == [(r["selected"], r["objective"]) for r in b]

    assert same(rounds(), rounds(budget=10, max_rounds=20, tol=1e-3))
    assert same(rounds(C=1e6), rounds(C=1e6, budget=10, max_rounds=20, tol=1e-3))
    assert same(rounds(n_features=20), rounds(n_features=20, budget=2, tol=0.0))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rules_that_do_not_apply_unless_given(data):
    """With a number of features or a gap, max_rounds and tol stop the run only if they are given."""
    X, y = data
    assert FGMClassifier(n_features=23, budget=1).fit(X, y).n_iter_ > 20
    assert FGMClassifier(n_features=23, budget=1, max_rounds=5).fit(X, y).stopped_ == "rounds"
    assert FGMClassifier(n_features=23, budget=1, tol=0.5).fit(X, y).stopped_ == "tolerance"
    assert FGMClassifier(gap=1e-4, budget=1, max_rounds=5).fit(X, y).n_iter_ == 5


def test_debias_refits_without_the_certificate(data):
    X, y = data
    plain = FGMClassifier(n_features=4, budget=1, C=0.01).fit(X, y)
    refitted = FGMClassifier(n_features=4, budget=1, C=0.01, debias=10.0).fit(X, y)
    np.testing.assert_array_equal(plain.get_support(), refitted.get_support())
    assert np.abs(refitted.coef_).sum() > np.abs(plain.coef_).sum()
    assert refitted.objective_ == plain.objective_ and refitted.gap_ == plain.gap_


def test_the_last_point_is_the_model_itself(data):
    X, y = data
    refitted = FGMClassifier(n_features=4, budget=1, C=0.01, debias=10.0).fit(X, y)
    np.testing.assert_array_equal(refitted.at(4).coef_, refitted.coef_)


def test_decision_values_that_are_not_finite_name_the_row(data):
    X, y = data
    model = FGMClassifier(n_features=4, budget=1, C=100.0).fit(1e-3 * X, y)
    large = X.copy()
    large[6] = 1.7e308 * np.sign(model.coef_[0])
    for predict in (model.decision_function, model.predict):
        with pytest.raises(ValueError, match="X: row 7: its values are too large for this model"):
            predict(large)


def test_probabilities(data):
    X, y = data
    model = FGMClassifier(loss="logistic").fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(-model.decision_function(X))))
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X), atol=1e-12)
    assert log_loss(y, p) < 0.3
    for method in ("predict_proba", "predict_log_proba"):
        assert not hasattr(FGMClassifier(), method)


def test_probabilities_that_vanish(data):
    X, y = data
    model = FGMClassifier(loss="logistic").fit(X, y)
    with np.errstate(all="raise"):
        log_p = model.predict_log_proba(1e6 * X)
        p = model.predict_proba(1e6 * X)
    assert np.isfinite(log_p).all() and (log_p.min(axis=1) < -1e3).any()
    assert set(p.ravel()) == {0.0, 1.0}


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_along_the_path(data, weighted):
    X, y = data
    model = FGMClassifier(n_features=8, budget=2).fit(X, y)
    weights = np.arange(1.0, len(y) + 1) if weighted else None
    for count in (2, 4, 8, None):
        expected = accuracy_score(y, model.predict(X, n_features=count), sample_weight=weights)
        assert model.score(X, y, weights, n_features=count) == expected
    with pytest.raises(ValueError, match="no round had at most 1"):
        model.score(X, y, n_features=1)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        FGMClassifier().fit(X, y + 0.5).score(X, y[1:])


def test_very_wide_paths_stay_sparse(data, monkeypatch):
    X, y = data
    model = FGMClassifier(n_features=6, budget=2).fit(X, y)
    dense = model.path_.coef
    for module in ("_machine", "_selection"):
        monkeypatch.setattr(f"featgen.{module}.DENSE_LIMIT", 3)
    assert sp.issparse(model.path_.coef)
    np.testing.assert_array_equal(model.path_.coef.toarray(), dense)
    wide = FGMClassifier(n_features=6, budget=2).fit(X, y)
    assert sp.issparse(wide.coef_)
    np.testing.assert_array_equal(wide.coef_.toarray(), model.coef_)
    np.testing.assert_array_equal(wide.transform(sp.csr_array(X)).toarray(), model.transform(X))
