"""Stores in the place of arrays."""

import featgen
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from featgen import FGMClassifier
from sklearn.datasets import dump_svmlight_file
from sklearn.model_selection import cross_val_score


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    X = sp.random(200, 50, density=0.3, random_state=random, format="csr")
    y = np.where(X[:, 3].toarray().ravel() - X[:, 7].toarray().ravel() > 0, 1, -1)
    return X, y


def stored(data, folder, **options):
    X, y = data
    dump_svmlight_file(X, y, str(folder / "data.svm"), zero_based=False)
    return featgen.convert(folder / "data.svm", folder / "data.store", **options)


@pytest.mark.parametrize("memory", [2**30, 1])
def test_a_store_gives_the_model_of_its_data(data, tmp_path, memory):
    X, y = data
    store = stored(data, tmp_path, memory=memory)
    assert store.shape == X.shape
    assert np.array_equal(store.y, y)
    expected = FGMClassifier(n_features=5).fit(X, y)
    model = FGMClassifier(n_features=5).fit(store, store.y)
    assert list(model.get_support(indices=True)) == list(expected.get_support(indices=True))
    # The text has 16 digits of each value.
    assert np.allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
    assert np.allclose(model.decision_function(store), expected.decision_function(X), rtol=1e-9, atol=1e-9)
    assert np.array_equal(featgen.open_store(tmp_path / "data.store").y, y)


def test_names_of_a_table_are_kept(tmp_path):
    random = np.random.default_rng(1)
    X = random.normal(size=(60, 3))
    y = np.where(X[:, 1] > 0, "yes", "no")
    rows = "".join(f"{a},{b},{c},{label}\n" for (a, b, c), label in zip(X, y))
    (tmp_path / "data.csv").write_text("left,middle,right,sick\n" + rows)
    store = featgen.convert(tmp_path / "data.csv", tmp_path / "data.store", label="sick")
    assert store.feature_names == ["left", "middle", "right"]
    model = FGMClassifier(n_features=1).fit(store, store.y)
    assert list(model.get_feature_names_out()) == ["middle"]
    assert set(model.predict(store)) == {"yes", "no"}


def table(folder, X, y, names):
    """A store of these columns, which are called so."""
    lines = [
        ",".join([*names, "y"]),
        *(",".join(map(repr, [*row, label])) for row, label in zip(X.tolist(), y)),
    ]
    (folder / "data.csv").write_text("".join(f"{line}\n" for line in lines))
    return featgen.convert(folder / "data.csv", folder / f"{'-'.join(names)}.store", label="y")


@pytest.mark.parametrize("loaded", [False, True])
def test_columns_stand_where_they_stood(tmp_path, loaded):
    X = np.random.default_rng(1).normal(size=(60, 4))
    y = (X[:, 1] > 0).astype(int).tolist()
    names = ["a", "b", "c", "d"]
    model = FGMClassifier(n_features=1).fit(pd.DataFrame(X, columns=names), y)
    if loaded:
        model.save(tmp_path / "model.json")
        model = featgen.load(tmp_path / "model.json")
    expected = model.decision_function(pd.DataFrame(X, columns=names))
    np.testing.assert_array_equal(model.decision_function(table(tmp_path, X, y, names)), expected)
    moved = table(tmp_path, X[:, [0, 2, 1, 3]], y, ["a", "c", "b", "d"])
    for method in (model.decision_function, model.transform):
        with pytest.raises(ValueError, match="another order. 'b' was column 1 and is column 2"):
            method(moved)
    with pytest.raises(ValueError, match="lacks columns.*: b"):
        model.predict(table(tmp_path, X, y, ["a", "B", "c", "d"]))
    with pytest.raises(ValueError, match="X has 5 features, but 4"):
        model.predict(table(tmp_path, np.column_stack([X, X[:, 0]]), y, [*names, "e"]))
    # A loaded model minds only what it looks at.
    swapped = table(tmp_path, X[:, [3, 1, 2, 0]], y, ["d", "b", "c", "a"])
    if loaded:
        np.testing.assert_array_equal(model.decision_function(swapped), expected)
    else:
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(swapped)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"space": "poly2"},
        {"groups": [[2, 3], [3, 7], [8, 9]]},
        {"n_features": 2, "C": 1e-9, "debias": 1.0, "select": "paper"},
    ],
    ids=str,
)
def test_selected_columns_of_a_store(data, tmp_path, parameters):
    X, y = data
    sparse = stored(data, tmp_path)
    dense = table(tmp_path, X.toarray(), y.tolist(), [f"c{i}" for i in range(50)])
    model = FGMClassifier(**{"n_features": 3, "budget": 1, **parameters}).fit(sparse, sparse.y)
    expected = model.transform(X)
    for store in (sparse, dense):
        values = model.transform(store)
        assert sp.issparse(values) == (store is sparse) and values.dtype == np.float64
        values = values.toarray() if sp.issparse(values) else values
        np.testing.assert_allclose(values, expected.toarray(), rtol=1e-9)


def test_what_does_not_fit_is_said(data, tmp_path):
    store = stored(data, tmp_path)
    model = FGMClassifier().fit(store, store.y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        FGMClassifier().fit(store, store.y[:-1])
    with pytest.raises(ValueError, match="labels must be given"):
        FGMClassifier().fit(store, None)
    with pytest.raises(ValueError, match="not taken out"):
        FGMClassifier(space="gaussian").fit(store, store.y).transform(store)
    with pytest.raises(ValueError, match="NaN"):
        FGMClassifier().fit(store, np.where(store.y > 0, 1.0, np.nan))
    with pytest.raises(TypeError, match="used as a whole"):
        cross_val_score(model, store, store.y, error_score="raise")
    for memory in (-1, 1.5, None):
        with pytest.raises(ValueError, match="memory"):
            stored(data, tmp_path, memory=memory)
    with pytest.raises(ValueError, match="50 features, but 49"):
        FGMClassifier().fit(data[0][:, :49], data[1]).predict(store)
    whole = (tmp_path / "data.store").read_bytes()
    (tmp_path / "cut.store").write_bytes(whole[:-1])
    with pytest.raises(ValueError, match="damaged"):
        featgen.open_store(tmp_path / "cut.store")
    with pytest.raises(FileNotFoundError):
        featgen.open_store(tmp_path / "missing")
