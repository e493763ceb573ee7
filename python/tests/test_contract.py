"""The contract of scikit-learn's estimators, checked by its own checks."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from featgen import (
    FGMClassifier,
    FGMClassifierCV,
    FGMRegressor,
    FGMRegressorCV,
    FGMSelector,
    FGMSurvival,
    Gaussian,
    Groups,
    Tree,
    spaces,
)
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

ESTIMATORS = [
    FGMClassifier(),
    FGMClassifier(loss="logistic"),
    FGMClassifier(class_weight="balanced"),
    FGMClassifier(fit_intercept=False),
    FGMClassifier(n_features=2, budget=1, loss="logistic", class_weight="balanced", n_jobs=2),
    FGMClassifier(gap=0.01, debias=1.0),
    FGMClassifier(space="poly2"),
    FGMClassifier(space=Gaussian(), inner_tol=1e-12),
    FGMClassifier(space="hik", inner_tol=1e-12),
    FGMClassifier(loss="softmax"),
    FGMClassifierCV(cv=2),
    FGMRegressorCV(cv=2),
    FGMRegressor(),
    FGMRegressor(loss="huber", n_features=2),
    FGMRegressor(loss="poisson"),
    FGMRegressor(space="poly2", gap=0.01),
    # A gap of 1e-14 leaves 1e-7 of the weights, unless the norm counts for more than by default.
    FGMSurvival(C=0.1, inner_tol=1e-14),
    FGMSelector(loss="squared"),
    FGMSelector(),
    FGMSelector(space="poly2"),
]


def expected_to_fail(estimator):
    """Weights of classes cannot move a plane that must go through the origin: LinearSVC and LogisticRegression fail
    this check without an intercept, too. The checks of scikit-learn 1.6 give two classes other labels in the two fits
    that they compare. Where negative values are refused, one check gives some all the same and another wants the words
    of scikit-learn, which name no sample and no feature. Checks of transformers take classes from 0 on for any outcome,
    and a time cannot be 0. Cross-validation counts every sample that is held out once, whatever its weight, so that
    weights and repetitions may choose other numbers of features. There are no other exceptions.
    """
    reasons = (
        {}
        if getattr(estimator, "fit_intercept", True)
        else {"check_class_weight_classifiers": "no intercept"}
    )
    if get_tags(estimator).input_tags.positive_only:
        reasons["check_class_weight_classifiers"] = "negative values"
        reasons["check_positive_only_tag_during_fit"] = "other words"
    if isinstance(estimator, FGMSurvival):
        names = ("data_not_an_array", "general", "preserve_dtypes")
        reasons |= {f"check_transformer_{name}": "times of 0" for name in names}
    weights = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    if parse_version(sklearn.__version__) < parse_version("1.7"):
        reasons |= dict.fromkeys(weights, "other labels")
    if isinstance(estimator, FGMRegressorCV):
        reasons |= dict.fromkeys(weights, "held out, all count the same")
    return reasons


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_to_fail)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        *((name, name in ("hik", "products")) for name in spaces._KINDS),
        (spaces.HIK(levels=3), True),
        (Groups([[0]]), False),
        (Tree([[0]]), False),
        ("unknown", False),
    ],
    ids=str,
)
def test_tags_say_that_values_must_not_be_negative(space, expected):
    assert get_tags(FGMClassifier(space=space)).input_tags.positive_only is expected


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
#: Where rounds are solved as exactly as doubles can, that is less exactly than was asked for.
AS_EXACTLY_AS_CAN_BE = pytest.mark.filterwarnings("ignore:inner_tol")
LAYOUTS = [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array]


@AS_EXACTLY_AS_CAN_BE
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


@AS_EXACTLY_AS_CAN_BE
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


@AS_EXACTLY_AS_CAN_BE
@pytest.mark.parametrize("space", ["gaussian", "intersection"])
def test_scales_of_curves_are_weighted(data, space):
    X, y = data
    counts = np.random.default_rng(1).integers(0, 4, len(y))
    model = FGMClassifier(space=space, n_features=2, inner_tol=1e-12, class_weight="balanced")
    weighted = model.fit(X, y, sample_weight=counts).decision_function(X)
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).decision_function(X)
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-6 * np.abs(repeated).max())


def test_balanced_classes_have_the_same_say(data, same_model):
    X, y = data
    counts = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    balanced = FGMClassifier(class_weight="balanced").fit(X, y, sample_weight=counts)
    total = [counts[y == c].sum() for c in (0, 1)]
    weights = {c: sum(total) / (2 * total[c]) for c in (0, 1)}
    same_model(balanced, FGMClassifier(class_weight=weights).fit(X, y, sample_weight=counts))


def test_classes_without_a_weight_have_weight_one(data, same_model):
    X, y = data
    expected = FGMClassifier(class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    for weights in ({1: 3.0}, {0: 1, 1: 3, 2: 5}):
        same_model(FGMClassifier(class_weight=weights).fit(X, y), expected)


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
    for weights in (
        {0: -1.0, 1: 1.0},
        {0: np.nan, 1: 1.0},
        {0: None, 1: 1.0},
        {0: "2", 1: 1.0},
        {0: 2.0, "1": 1.0},
        {2: 1.0},
        "unknown",
        [1.0, 2.0],
    ):
        with pytest.raises(ValueError, match="class_weight"):
            FGMClassifier(class_weight=weights).fit(X, y)
