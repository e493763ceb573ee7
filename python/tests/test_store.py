"""Stores in the place of arrays."""

import featgen
import numpy as np
import pytest
import scipy.sparse as sp
from featgen import FGMClassifier
from sklearn.datasets import dump_svmlight_file


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


def test_what_does_not_fit_is_said(data, tmp_path):
    store = stored(data, tmp_path)
    model = FGMClassifier().fit(store, store.y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        FGMClassifier().fit(store, store.y[:-1])
    with pytest.raises(ValueError, match="labels must be given"):
        FGMClassifier().fit(store, None)
    with pytest.raises(ValueError, match="not taken out"):
        model.transform(store)
    with pytest.raises(ValueError, match="50 features, but 49"):
        FGMClassifier().fit(data[0][:, :49], data[1]).predict(store)
    whole = (tmp_path / "data.store").read_bytes()
    (tmp_path / "cut.store").write_bytes(whole[:-1])
    with pytest.raises(ValueError, match="damaged"):
        featgen.open_store(tmp_path / "cut.store")
    with pytest.raises(FileNotFoundError):
        featgen.open_store(tmp_path / "missing")
