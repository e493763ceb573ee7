"""Models as files: saved and loaded, and shared with the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import featgen
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import planted
from featgen import FGMClassifier
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import NotFittedError

NAMES = [f"c{i}" for i in range(24)]


def frame_of(X):
    return pd.DataFrame(X, columns=NAMES)


PARAMETERS = [
    {},
    {"loss": "logistic", "n_features": 3},
    {"space": "poly2", "n_features": 5},
    {"space": "gaussian", "n_features": 3},
    {"space": "intersection", "n_features": 3},
    {"groups": {"a": [2, 5], "b": [11, 17, 18]}},
    {"debias": 1.0, "n_features": 4, "C": 0.01},
]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_saved_and_loaded(tmp_path, parameters, named):
    X, y = planted()
    given = frame_of(X) if named else X
    model = FGMClassifier(budget=2, **parameters).fit(given, np.where(y == 1, "yes", "no"))
    path = tmp_path / "model.json"
    model.save(path)
    again = featgen.load(str(path))
    np.testing.assert_array_equal(again.decision_function(given), model.decision_function(given))
    np.testing.assert_array_equal(again.predict(given), model.predict(given))
    np.testing.assert_array_equal(again.transform(given), model.transform(given))
    assert list(again.get_feature_names_out()) == list(model.get_feature_names_out())
    assert again.selected_.equals(model.selected_) and list(again.curves_) == list(model.curves_)
    for name in (
        "C_",
        "objective_",
        "lower_bound_",
        "gap_",
        "stopped_",
        "n_features_in_",
        "n_selected_",
        "n_iter_",
    ):
        assert getattr(again, name) == getattr(model, name), name
    assert again.C == model.C and again.loss == model.loss
    np.testing.assert_array_equal(again.coef_, model.coef_)
    fewer = again.path_.n_features[0]
    np.testing.assert_array_equal(
        again.predict(given, n_features=fewer), model.predict(given, n_features=fewer)
    )
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("space", ["linear", "poly2", "gaussian"])
def test_loaded_models_find_columns_by_name(tmp_path, space):
    X, y = planted()
    y = X[:, 2] * X[:, 7] > 0 if space == "poly2" else y
    model = FGMClassifier(n_features=3, space=space).fit(frame_of(X), y)
    model.save(tmp_path / "model.json")
    again = featgen.load(tmp_path / "model.json")
    expected, chosen = model.decision_function(frame_of(X)), model.transform(frame_of(X))
    used = [NAMES[i] for i in model.get_support(indices=True)]
    others = {
        "reversed": frame_of(X)[NAMES[::-1]],
        "with more": frame_of(X).assign(more=1.0)[["more", *NAMES[::-1]]],
        "only those used": frame_of(X)[used[::-1]],
        "polars": pl.DataFrame(X, schema=NAMES)[NAMES[::-1]],
        "sparse": pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X[:, ::-1]), columns=NAMES[::-1]),
        "an array": X,
    }
    for kind, other in others.items():
        np.testing.assert_allclose(again.decision_function(other), expected, atol=1e-12, err_msg=kind)
        values = again.transform(other)
        values = values.toarray() if sp.issparse(values) else np.asarray(values)
        np.testing.assert_allclose(values, chosen, err_msg=kind)
    with pytest.raises(ValueError, match=f"lacks columns.*{used[0]}"):
        again.predict(frame_of(X).drop(columns=used[0]))
    again.set_output(transform="pandas")
    assert list(again.transform(frame_of(X)[NAMES[::-1]]).columns) == list(model.get_feature_names_out())


@pytest.mark.parametrize(
    "labels",
    [
        (0, 1),
        (-1, 1),
        (0.5, 2.0),
        (False, True),
        ("a", "b"),
        ("1", "1.0"),
        ("1", "01"),
        ("inf", "nan"),
        ("", " "),
    ],
)
def test_labels_stay_what_they_are(tmp_path, labels):
    X, y = planted()
    y = np.array(labels, dtype=object if isinstance(labels[0], str) else None)[y]
    model = FGMClassifier().fit(X, y)
    model.save(tmp_path / "model.json")
    assert featgen.load(tmp_path / "model.json").classes_.tolist() == model.classes_.tolist()


def test_fitted_again_a_loaded_model_is_as_any_other(tmp_path):
    X, y = planted()
    FGMClassifier().fit(frame_of(X), y).save(tmp_path / "model.json")
    again = featgen.load(tmp_path / "model.json").fit(frame_of(X), y)
    for other in (frame_of(X)[NAMES[::-1]], frame_of(X).assign(more=1.0)):
        with pytest.raises(ValueError, match="feature names should match"):
            again.predict(other)


def test_files_appear_whole_or_not_at_all(tmp_path):
    model = FGMClassifier().fit(*planted())
    with pytest.raises(OSError):
        model.save(tmp_path / "no folder" / "model.json")
    assert list(tmp_path.iterdir()) == []
    model.save(tmp_path / "model.json")
    model.save(tmp_path / "model.json")
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]
    json.loads((tmp_path / "model.json").read_text())


def test_files_that_are_no_models(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.json"):
        featgen.load(tmp_path / "nowhere.json")
    with pytest.raises(OSError):
        featgen.load(tmp_path)
    FGMClassifier().fit(*planted()).save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text()
    damaged = {
        "empty": "",
        "cut off": text[: len(text) // 2],
        "other": '{"kind": "something else"}',
        "not text": b"\x80\x02\xff\x00",
        "of the future": text.replace('"version"', '"version_"', 1),
        "a number": "3",
    }
    for kind, content in damaged.items():
        path = tmp_path / f"{kind}.json"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(ValueError, match=f"{kind}.json"):
            featgen.load(path)


def test_errors_call_parameters_as_they_are_called_here(tmp_path, data):
    table, groups = tmp_path / "a --cost.csv", tmp_path / "b --cost.txt"
    table.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"a --cost.csv:1:1: .* the labels \(label\); "):
        featgen.convert(table, tmp_path / "store")
    # What is quoted stays as it is.
    groups.write_text("g: --cost\n")
    with pytest.raises(ValueError, match="b --cost.txt:1:4: `--cost` is neither "):
        FGMClassifier(groups=groups).fit(*data)


def test_only_fitted_models_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        FGMClassifier().save(tmp_path / "model.json")


# The command line


def command():
    """The command built from this tree, if there is one."""
    root = Path(__file__).resolve().parents[2]
    target = root / os.environ.get("CARGO_TARGET_DIR", "target")
    name = "featgen.exe" if sys.platform == "win32" else "featgen"
    built = [path for kind in ("release", "debug") if (path := target / kind / name).exists()]
    return max(built, key=lambda path: path.stat().st_mtime, default=None)


@pytest.fixture
def featgen_command(tmp_path):
    path = command()
    if path is None:
        pytest.skip("the command is not built: cargo build --release")

    def run(*arguments):
        done = subprocess.run([path, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def write(tmp_path, form, X, y):
    """Data in a form of the command line's, and what to say of it."""
    if form == "csv":
        frame_of(X).assign(label=y).to_csv(tmp_path / "data.csv", index=False)
        return ["data.csv", "--label", "label"]
    if form == "svmlight":
        dump_svmlight_file(X, y, str(tmp_path / "data.svm"), zero_based=False)
        return ["data.svm"]
    np.save(tmp_path / "data.npy", X)
    (tmp_path / "labels.txt").write_text("".join(f"{label}\n" for label in y))
    return ["data.npy", "--labels", "labels.txt"]


SPACES = [[], ["--space", "poly2"], ["--space", "gaussian"]]


@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("form", ["csv", "svmlight", "npy"])
def test_models_of_the_command_predict_here(tmp_path, featgen_command, form, space):
    X, y = planted()
    X = np.round(X, 3)
    data = write(tmp_path, form, X, y)
    featgen_command("train", *data, "--features", 4, *space, "-o", "model.json", "-q")
    given = frame_of(X) if form == "csv" else X
    model = featgen.load(tmp_path / "model.json")
    here = FGMClassifier(n_features=4, budget=None, space=space[1] if space else "linear").fit(given, y)
    np.testing.assert_allclose(model.decision_function(given), here.decision_function(given), atol=1e-9)
    assert set(model.get_feature_names_out()) == set(here.get_feature_names_out())
    assert set(model.classes_.tolist()) == {0, 1}
    predicted = featgen_command("predict", "model.json", *data).split()
    np.testing.assert_array_equal(np.array(predicted, dtype=float), model.predict(given))


@pytest.mark.parametrize("space", ["linear", "poly2", "gaussian"])
@pytest.mark.parametrize("form", ["csv", "svmlight", "npy"])
def test_models_from_here_predict_in_the_command(tmp_path, featgen_command, form, space):
    X, y = planted()
    X = np.round(X, 3)
    data = write(tmp_path, form, X, y)
    given = frame_of(X) if form == "csv" else X
    model = FGMClassifier(n_features=4, space=space).fit(given, y)
    model.save(tmp_path / "model.json")
    scores = json.loads(featgen_command("predict", "model.json", *data, "--json"))
    assert scores["n"] == len(y) and scores["accuracy"] == pytest.approx(model.score(given, y))
    predicted = featgen_command("predict", "model.json", *data).split()
    np.testing.assert_array_equal(np.array(predicted, dtype=float), model.predict(given))
    assert "features" in featgen_command("inspect", "model.json")


@pytest.mark.parametrize("classes", [("10", "20"), ("False", "True"), (10, 20), (False, True), (0.5, 1.5)])
def test_classes_come_back_as_they_were(data, tmp_path, classes):
    X, y = data
    labels = np.array(classes)[y]
    model = FGMClassifier(n_features=4).fit(X, labels)
    model.save(tmp_path / "model.json")
    again = featgen.load(tmp_path / "model.json")
    assert again.classes_.dtype == model.classes_.dtype
    assert again.score(X, labels) == model.score(X, labels)
