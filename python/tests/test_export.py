"""Exported models say in their homes what they say here."""

import csv
import functools
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import featgen
import numpy as np
import pandas as pd
import pyarrow
import pytest
from conftest import planted
from featgen import FGMClassifier, FGMRegressor, FGMSurvival
from homes import HOMES, Said, close
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

# New tables bring levels that the models do not know.
pytestmark = pytest.mark.filterwarnings("ignore::featgen.TableWarning")

ENDINGS = {"onnx": ".onnx", "pmml": ".pmml", "sql": ".sql", "c": ".c", "python": ".py", "liblinear": ".model"}


def said(model, X):
    """What the model itself says."""
    if isinstance(model, FGMClassifier):
        decision = model.decision_function(X).reshape(len(X), -1)
        has = model.loss in ("logistic", "softmax")
        probability = model.predict_proba(X)[:, 1 if decision.shape[1] == 1 else 0 :] if has else None
        return Said(decision, model.predict(X).tolist(), probability)
    if isinstance(model, FGMRegressor):
        predicted = model.predict(X)
        decision = np.log(predicted) if model.loss == "poisson" else predicted
        return Said(decision.reshape(-1, 1), predicted.tolist())
    risk = model.predict(X)
    return Said(risk.reshape(-1, 1), risk.tolist())


def check(model, home, X, folder, tolerance=1e-9):
    target, run = HOMES[home]
    file = folder / f"model{ENDINGS[target]}"
    model.export(file)
    found, expected = run(file, X), said(model, X)
    assert found.decision.shape == expected.decision.shape
    assert close(found.decision, expected.decision, tolerance)
    if isinstance(model, FGMClassifier):
        assert [str(label) for label in found.prediction] == [str(label) for label in expected.prediction]
    else:
        assert close(np.array(found.prediction, dtype=float), np.array(expected.prediction), tolerance)
    # Where LIBLINEAR has no probabilities of the same meaning, it has none.
    if expected.probability is not None and not (home == "liblinear" and found.probability is None):
        assert close(found.probability, expected.probability, tolerance)
    else:
        assert found.probability is None


def table(rows=300, seed=1):
    """Numbers with gaps, truths, and categories with gaps, rare levels, and levels called as nothing else is."""
    rng = np.random.default_rng(seed)
    age = np.where(rng.random(rows) < 0.1, np.nan, rng.normal(40, 12, rows).round(1))
    colour = rng.choice(["red", "green", "blue", "other", None], rows, p=[0.3, 0.3, 0.2, 0.1, 0.1])
    town = rng.choice([f"town {k}" for k in range(80)], rows)
    member = rng.random(rows) < 0.4
    score = np.nan_to_num(age, nan=50) / 10 + 2 * (colour == "red") - 2 * (colour == "blue") + member
    X = pd.DataFrame(
        {"age": age, "colour": colour, "town": town, "member": member, "hours": rng.normal(size=rows)}
    )
    return X, np.where(score + rng.normal(size=rows) > 5.0, "yes", "no")


def new_rows():
    """With everything that a new table may bring."""
    X, _ = table(60, seed=2)
    X.loc[:3, "colour"] = ["purple", "missing", "", None]
    X.loc[4:8, "age"] = np.nan
    return X


def counts(X, seed=3):
    return np.random.default_rng(seed).poisson(np.exp(0.5 * X[:, 2] - 0.4 * X[:, 5])).astype(float)


def times(X, seed=4):
    time = np.random.default_rng(seed).exponential(np.exp(-X[:, 2] + X[:, 5]))
    return np.where(time < 2, time, -2.0)


def named(X):
    return pd.DataFrame(X, columns=[f"gene {k}" for k in range(X.shape[1])])


def linear():
    X, y = planted()
    return FGMClassifier(n_features=4, loss="logistic").fit(X, y), X


def names():
    X, y = planted()
    return FGMClassifier(n_features=4).fit(named(X), y), named(X)


def softmax():
    X, y = load_digits(return_X_y=True)
    return FGMClassifier(n_features=8, loss="softmax", C=1).fit(X[:400] / 16, y[:400]), X[::20] / 16


def against_the_rest():
    X, y = load_digits(return_X_y=True)
    return FGMClassifier(n_features=6, C=1).fit(named(X[:400] / 16), y[:400]), named(X[::20] / 16)


def number():
    X, _ = planted()
    y = X[:, 2] - 2 * X[:, 5]
    return FGMRegressor(n_features=3, keep=[7]).fit(X, y), X


def count():
    X, _ = planted()
    return FGMRegressor(n_features=2, loss="poisson").fit(named(X), counts(X)), named(X)


def risk():
    X, _ = planted()
    return FGMSurvival(n_features=2).fit(X, times(X)), X


def poly2():
    X, _ = planted()
    y = X[:, 2] * X[:, 5] + X[:, 11] ** 2 > 1
    return FGMClassifier(n_features=5, space="poly2").fit(named(X), y), named(X)


def products():
    X, _ = planted()
    X = (X > 0).astype(float)
    y = (X[:, 2] * X[:, 5] * X[:, 11] + X[:, 17]) > 0.5
    return FGMClassifier(n_features=6, space=featgen.Products(degree=3)).fit(X, y), X


def hik():
    X, y = load_digits(return_X_y=True)
    some = (y == 3) | (y == 8)
    # Negative values count as 0, and the largest are beyond all levels.
    return FGMClassifier(n_features=6, space="hik").fit(X[some] / 16, y[some]), X[::20] / 10 - 0.2


def intersection():
    X, _ = planted()
    y = np.abs(X[:, 2]) + np.sqrt(np.abs(X[:, 5])) > 1.5
    space = featgen.Intersection(levels=30, power=0.5)
    return FGMClassifier(n_features=3, space=space).fit(named(X), y), named(2 * X)


def gaussian():
    X, _ = planted()
    y = np.digitize(np.cos(X[:, 2]) + X[:, 5] ** 2, [0.5, 1.5])
    return FGMClassifier(n_features=3, space="gaussian", loss="softmax").fit(X, y), 2 * X


def categories():
    return FGMClassifier(n_features=4, loss="logistic").fit(*table()), new_rows()


def products_of_categories():
    return FGMClassifier(n_features=6, space="poly2").fit(*table()), new_rows()


def curves_of_categories():
    return FGMClassifier(n_features=4, space="gaussian").fit(*table()), new_rows()


#: A case is fitted once for all homes.
fitted = functools.cache(lambda case: case())

LINEAR = (linear, names, softmax, against_the_rest, number, risk)
OTHERS = (count, poly2, products, hik, intersection, gaussian)
TABLES = (categories, products_of_categories, curves_of_categories)


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("case", LINEAR + OTHERS + TABLES, ids=lambda case: case.__name__)
def test_same_in_every_home(case, home, tmp_path):
    model, X = fitted(case)
    if home == "liblinear" and case not in LINEAR:
        with pytest.raises(
            ValueError, match="^to: liblinear has .*; python, c, sql, pmml and onnx have them$"
        ):
            model.export(tmp_path / "x", to="liblinear")
        assert not (tmp_path / "x").exists()
        return
    check(model, home, X, tmp_path)


HOSTILE = [
    'it\'s "quoted" \\ back`tick',
    "*/ int x; /*",
    "line\nbreak\r\ttab",
    "<script>alert(1)</script> & ]]> <!--",
    "select",
    '"""',
    "??/ trigraph %s {0}",
    "a" * 10_000,
    "a b",
    "a-b",
    "decision",
    "prediction_",
    "featgen_1",
    "überstraße 数据 \U0001f600",
    "-- comment",
    "'); DROP TABLE data; --",
    " leading and trailing ",
]


@pytest.mark.parametrize("home", [home for home in HOMES if home != "liblinear"])
def test_names_are_only_names(home, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, len(HOSTILE))), columns=HOSTILE)
    y = np.where(X @ np.linspace(1, 2, len(HOSTILE)) > 0, *HOSTILE[:2])
    X["kind"] = rng.choice(HOSTILE[:7], 120)
    model = FGMClassifier(space="linear", C=0.1).fit(X, y)
    assert set(model.selected_["feature"]) >= {"select", '"""'}
    target, run = HOMES[home]
    file = tmp_path / f"model{ENDINGS[target]}"
    model.export(file)
    expected = said(model, X)
    found = run(file, X)
    assert close(found.decision, expected.decision)
    assert found.prediction == expected.prediction


def test_the_path_is_there(tmp_path):
    X, y = planted()
    model = FGMClassifier(n_features=4, budget=1).fit(X, y)
    model.at(2).export(tmp_path / "two.py")
    two = runpy.run_path(str(tmp_path / "two.py"))
    assert len(two["COLUMNS"]) == 2
    expected = model.decision_function(X, n_features=2)
    np.testing.assert_allclose([two["decision"](row) for row in X.tolist()], expected, rtol=1e-9)


def test_cells_as_they_stand_in_a_file(tmp_path):
    """Python takes text, and as a program whole tables."""
    X, y = table()
    days = pd.date_range("2026-01-01", periods=len(X))
    X["day"], X["german"] = days, days.strftime("%d.%m.%Y")
    X["price"] = [f"1.{k * 37 % 300:03},5" for k in range(len(X))]
    model = FGMClassifier(number=["day", "german"], keep=["day", "price"], C=1).fit(X, y)
    german = FGMClassifier(number=["german"], keep=["german"], ignore=["day"], C=1).fit(X, y)
    X.to_csv(tmp_path / "table.csv", index=False, na_rep="NA")
    for fitted_to, dates in ((model, {"day", "price"}), (german, {"german"})):
        fitted_to.export(tmp_path / "model.py")
        module = runpy.run_path(str(tmp_path / "model.py"))
        assert dates <= {name for name, *_ in module["COLUMNS"]}
        with (tmp_path / "table.csv").open() as file:
            found = [module["decision"](record) for record in csv.DictReader(file)]
            file.seek(0)
            printed = subprocess.run(
                [sys.executable, "-I", tmp_path / "model.py"],
                stdin=file,
                capture_output=True,
                text=True,
                check=True,
            )
        np.testing.assert_allclose(found, fitted_to.decision_function(X), rtol=1e-7)
        assert printed.stdout.split() == fitted_to.predict(X).tolist()


def test_gaps_that_training_never_saw(tmp_path):
    """Nothing is made up: the decision is missing, too."""
    X, y = planted()
    X = np.abs(X)
    for space in ("linear", "hik", "gaussian"):
        model = FGMClassifier(n_features=3, space=space).fit(named(X), y)
        gaps = named(X[:4]).copy()
        gaps.loc[1, model.input_names_[model.get_support()][0]] = np.nan
        for home in ("onnxruntime", "jpmml", "sqlite", "duckdb", "postgres", "gcc"):
            target, run = HOMES[home]
            file = tmp_path / f"model{ENDINGS[target]}"
            model.export(file)
            found = run(file, gaps).decision[:, 0].astype(float)
            assert np.isnan(found).tolist() == [False, True, False, False], (space, home)


def test_scalers_are_part_of_it(tmp_path):
    """A pipeline is saved as one model of the data as they are, which is exported as any other."""
    X, y = planted()
    X = 100 * X + 7
    pipeline = make_pipeline(StandardScaler(), FGMClassifier(n_features=4)).fit(X, y)
    featgen.save(pipeline, tmp_path / "model.json")
    featgen.load(tmp_path / "model.json").export(tmp_path / "model.onnx")
    found = HOMES["onnxruntime"][1](tmp_path / "model.onnx", X).decision[:, 0]
    np.testing.assert_allclose(found, pipeline.decision_function(X), rtol=1e-9)


def test_targets_are_known(tmp_path):
    model, _ = linear()
    with pytest.raises(
        ValueError, match="^to: must be one of onnx, pmml, sql, c, python, liblinear, not tex$"
    ):
        model.export(tmp_path / "model", to="tex")
    with pytest.raises(ValueError, match="^to: must be given where a file does not end with one of .onnx, "):
        model.export(tmp_path / "model.bin")
    with pytest.raises(ValueError, match="^table: must be the name of a table$"):
        model.export(tmp_path / "model.sql", table="")
    with pytest.raises(OSError):
        model.export(tmp_path / "nowhere" / "model.sql")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(
    not all(map(shutil.which, ("bash", "gcc", "python3", "sqlite3"))), reason="not all programs are there"
)
def test_the_page(tmp_path):
    """docs/export.md shows what happens; what it shows of Python is for the tests of pages."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "export.md").read_text()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    blocks = re.findall(r"^```sh\n(.*?)^```\n\n```text\n(.*?)^```\n", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 6
    for commands, shown in blocks:
        printed = subprocess.run(
            ["bash", "-eu", "-c", commands],
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert printed.stdout.rstrip() == shown.rstrip(), commands


def test_mnist(tmp_path):
    """The digits 3 and 8, on the whole test set, in every home."""
    folder = Path(__file__).resolve().parents[3] / "shared" / "data" / "mnist38"
    if not folder.exists():
        pytest.skip(f"{folder} is not there")
    train, y = dense(folder / "train.svm.zst")
    X, _ = dense(folder / "test.svm.zst")
    for space in ("linear", "poly2", "hik", "gaussian"):
        model = FGMClassifier(n_features=30, space=space, loss="logistic", select="paper").fit(train, y)
        for home in HOMES:
            if home != "liblinear" or space == "linear":
                check(model, home, X, tmp_path, 1e-5)


def dense(file):
    """The values of svmlight text, 784 in a row, and its labels."""
    lines = pyarrow.CompressedInputStream(pyarrow.OSFile(str(file)), "zstd").read().decode().splitlines()
    X, y = np.zeros((len(lines), 784)), [int(line.split()[0]) for line in lines]
    for row, line in zip(X, lines):
        for entry in line.split()[1:]:
            column, value = entry.split(":")
            row[int(column) - 1] = float(value)
    return X, y
