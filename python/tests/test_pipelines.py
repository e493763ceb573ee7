"""Pipelines that are saved as one model of raw data."""

import json
import subprocess
import sys

import featgen
import numpy as np
import pandas as pd
import pytest
from featgen import FGMClassifier, FGMRegressor, FGMSurvival, Products
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler


def raw(n=80, p=6, seed=0):
    """Columns of sizes from 1e-3 to 1e6, away from 0."""
    random = np.random.default_rng(seed)
    sizes = 10.0 ** np.linspace(-3, 6, p)
    return sizes * (random.standard_normal((n, p)) + np.arange(p))


def signal(X):
    Z = StandardScaler().fit_transform(X)
    return Z[:, 0] - Z[:, 2] + 0.5 * Z[:, 4]


SCALERS = {
    "standard": [StandardScaler()],
    "without mean": [StandardScaler(with_mean=False)],
    "without deviation": [StandardScaler(), StandardScaler(with_std=False)],
    "largest": [MaxAbsScaler()],
    "range": [MinMaxScaler(feature_range=(-2, 5))],
    "several": [
        MinMaxScaler(),
        "passthrough",
        StandardScaler(with_mean=False),
        MaxAbsScaler(),
        StandardScaler(),
    ],
    "nested": [make_pipeline(MaxAbsScaler(), StandardScaler()), MinMaxScaler()],
}


def printed(command, folder):
    done = subprocess.run(
        [sys.executable, "-I", "-m", "featgen", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def saved(pipeline, path):
    featgen.save(pipeline, path)
    return featgen.load(path)


@pytest.mark.parametrize("scalers", SCALERS.values(), ids=SCALERS)
@pytest.mark.parametrize(
    "model",
    [
        FGMClassifier(n_features=3, budget=1),
        FGMClassifier(n_features=3, budget=1, loss="logistic", keep=[1, 3], debias=1.0),
        FGMClassifier(n_features=3, budget=1, loss="softmax", fit_intercept=False),
        FGMRegressor(n_features=3, budget=1, groups=[[0, 1], [2, 3, 4], [4, 5]]),
        FGMSurvival(n_features=3, budget=1),
    ],
    ids=lambda model: f"{type(model).__name__} {getattr(model, 'loss', '')}",
)
def test_decision_values_are_those_of_the_pipeline(model, scalers, tmp_path):
    X, others = raw(), raw(seed=1)
    y = signal(X)
    if isinstance(model, FGMClassifier):
        y = np.digitize(y, [-0.5, 0.7] if model.loss == "softmax" else [0])
    elif isinstance(model, FGMSurvival):
        y = np.exp(-y)
    pipeline = make_pipeline(*scalers, model).fit(X, y)
    again = saved(pipeline, tmp_path / "model.json")
    decide = "decision_function" if isinstance(model, FGMClassifier) else "predict"
    for data in (X, others):
        np.testing.assert_allclose(
            getattr(again, decide)(data), getattr(pipeline, decide)(data), rtol=1e-9, atol=1e-9
        )
    scaled = pipeline[:-1].transform(others)
    for count in {round["selected"] for round in pipeline[-1].rounds_}:
        expected = getattr(pipeline[-1].at(count), decide)(scaled)
        np.testing.assert_allclose(getattr(again.at(count), decide)(others), expected, rtol=1e-9, atol=1e-9)


def test_the_command_reads_raw_tables(tmp_path):
    names = ["age", "weight", "height", "dose", "pulse", "load"]
    X = pd.DataFrame(raw(), columns=names)
    y = np.where(signal(X) > 0, "ill", "well")
    pipeline = make_pipeline(StandardScaler(), FGMClassifier(n_features=3)).fit(X, y)
    again = saved(pipeline, tmp_path / "model.json")
    assert set(again.get_feature_names_out()) <= set(names)
    np.testing.assert_array_equal(again.predict(X[names[::-1]]), pipeline.predict(X))
    X.assign(state=y)[["state", *names[::-1]]].to_csv(tmp_path / "data.csv", index=False)
    asked = ["predict", "model.json", "data.csv", "--label", "state"]
    quality = json.loads(printed([*asked, "--json"], tmp_path))
    assert quality["accuracy"] == pipeline.score(X, y)
    decisions = np.array(printed([*asked, "--output-kind", "decision"], tmp_path).split(), dtype=float)
    np.testing.assert_allclose(decisions, pipeline.decision_function(X), rtol=1e-9, atol=1e-9)


def test_products_are_saved_where_nothing_is_shifted(tmp_path):
    X = np.abs(raw())
    y = X[:, 1] * X[:, 4] > np.median(X[:, 1] * X[:, 4])
    for space in ("poly2", Products(degree=2)):
        model = FGMClassifier(n_features=3, space=space, C=10.0)
        pipeline = make_pipeline(MaxAbsScaler(), model).fit(X, y)
        assert any("*" in name for name in pipeline[-1].get_feature_names_out())
        again = saved(pipeline, tmp_path / "model.json")
        np.testing.assert_allclose(again.decision_function(X), pipeline.decision_function(X), rtol=1e-9)
    with pytest.raises(ValueError, match="a product of shifted columns is no product"):
        featgen.save(make_pipeline(MinMaxScaler(), model).fit(X, y), tmp_path / "refused.json")


def test_an_estimator_alone_is_saved_as_by_itself(tmp_path):
    X = raw()
    model = FGMClassifier(n_features=2, space="gaussian").fit(X, signal(X) > 0)
    for name, given in (("alone", model), ("in a pipeline", Pipeline([("skip", None), ("model", model)]))):
        again = saved(given, tmp_path / name)
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([PCA(2), FGMClassifier()], "PCA cannot be saved: only scalers"),
        ([MinMaxScaler(clip=True), FGMClassifier()], r"MinMaxScaler\(clip=True\) cannot be saved"),
        ([StandardScaler(), FGMClassifier(space="gaussian")], "a curve over a scaled column is none"),
        (
            [FGMClassifier(), StandardScaler()],
            "StandardScaler cannot be saved: it is no estimator of featgen",
        ),
    ],
    ids=lambda x: type(x[0]).__name__ if isinstance(x, list) else "",
)
def test_what_weights_cannot_say_is_refused(steps, says, tmp_path):
    X = raw()
    pipeline = make_pipeline(*steps).fit(X, signal(X) > 0)
    with pytest.raises((TypeError, ValueError), match=says):
        featgen.save(pipeline, tmp_path / "model.json")
    assert not list(tmp_path.iterdir())
