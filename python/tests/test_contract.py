"""The contract of scikit-learn's estimators, checked by its own checks."""

import numpy as np
import pytest
import scipy.sparse as sp
from featgen import FGMClassifier, FGMSelector, Gaussian
from sklearn.utils.estimator_checks import parametrize_with_checks

ESTIMATORS = [
    FGMClassifier(),
    FGMClassifier(loss="logistic"),
    FGMClassifier(class_weight="balanced"),
    FGMClassifier(fit_intercept=False),
    FGMClassifier(n_features=2, budget=1, loss="logistic", class_weight="balanced", n_jobs=2),
    FGMClassifier(gap=0.01, debias=1.0),
    FGMClassifier(space="poly2"),
    FGMClassifier(space=Gaussian(), inner_tol=1e-12),
    FGMSelector(),
    FGMSelector(space="poly2"),
]


def expected_to_fail(estimator):
    """Weights of classes cannot move a plane that must go through the origin: LinearSVC and LogisticRegression fail
    this check without an intercept, too. There are no other exceptions.
    """
    reason = {"check_class_weight_classifiers": "no intercept"}
    return {} if estimator.fit_intercept else reason


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_to_fail)
def test_scikit_learn(estimator, check):
    check(estimator)


CONFIGURATIONS = [
    pytest.param(
        {"loss": loss, "class_weight": weight, "fit_intercept": shift}, id=f"{loss}-{weight}-{shift}"
    )
    for loss in ("squared_hinge", "logistic")
    for weight in (None, "balanced")
    for shift in (True, False)
]
#: The optimum of a smooth objective in doubles is known to the root of their precision; that of the squared hinge,
#: which is found by solving linear equations, better.
TOLERANCE = {"squared_hinge": 1e-9, "logistic": 2e-8}
LAYOUTS = [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("parameters", CONFIGURATIONS)
def test_a_weight_is_a_repetition(data, parameters, layout):
    X, y = data
    counts = np.random.default_rng(1).integers(0, 4, len(y))
    model = FGMClassifier(n_features=4, budget=1, inner_tol=1e-15, **parameters)
    weighted = model.fit(layout(X), y, sample_weight=counts).decision_function(X)
    repeated = model.fit(layout(np.repeat(X, counts, axis=0)), np.repeat(y, counts)).decision_function(X)
    tolerance = TOLERANCE[parameters["loss"]] * np.abs(repeated).max()
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=tolerance)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("parameters", CONFIGURATIONS)
def test_a_weight_of_zero_is_removal(data, parameters, layout):
    X, y = data
    kept = np.random.default_rng(2).random(len(y)) < 0.7
    model = FGMClassifier(n_features=4, budget=1, inner_tol=1e-15, **parameters)
    without_weight = model.fit(layout(X), y, sample_weight=kept.astype(float)).decision_function(X)
    removed = model.fit(layout(X[kept]), y[kept]).decision_function(X)
    tolerance = TOLERANCE[parameters["loss"]] * np.abs(removed).max()
    np.testing.assert_allclose(without_weight, removed, rtol=0, atol=tolerance)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_weights_of_classes_are_weights_of_samples(data, same_model, loss):
    X, y = data
    by_class = FGMClassifier(loss=loss, class_weight={0: 3.0, 1: 0.5}).fit(X, y)
    by_sample = FGMClassifier(loss=loss).fit(X, y, sample_weight=np.where(y == 0, 3.0, 0.5))
    same_model(by_class, by_sample)


@pytest.mark.parametrize("space", ["gaussian", "intersection"])
def test_scales_of_curves_are_weighted(data, space):
    X, y = data
    counts = np.random.default_rng(1).integers(0, 4, len(y))
    model = FGMClassifier(space=space, n_features=2, inner_tol=1e-12, class_weight="balanced")
    weighted = model.fit(X, y, sample_weight=counts).decision_function(X)
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).decision_function(X)
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-6 * np.abs(repeated).max())


def test_weights_and_cost_are_one(data, same_model):
    X, y = data
    same_model(
        FGMClassifier(C=6.0).fit(X, y), FGMClassifier(C=2.0).fit(X, y, sample_weight=np.full(len(y), 3.0))
    )


def test_weights_that_cannot_be():
    X, y = np.eye(4), [0, 1, 0, 1]
    for weights in ([-1, 1, 1, 1], [np.nan, 1, 1, 1], [1, 1], [0, 0, 0, 0], [1, 0, 1, 0]):
        with pytest.raises(ValueError):
            FGMClassifier().fit(X, y, sample_weight=weights)
    for weights in ({0: -1.0, 1: 1.0}, "unknown", {0: np.nan, 1: 1.0}):
        with pytest.raises(ValueError, match="class_weight"):
            FGMClassifier(class_weight=weights).fit(X, y)
