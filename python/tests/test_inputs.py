"""Every kind of input gives the same model; what cannot be used is refused with words."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from conftest import planted
from featgen import FGMClassifier, FGMClassifierCV, FGMSelector, _input
from sklearn.exceptions import ConvergenceWarning

NAMES = [f"column {i}" for i in range(24)]


def sparse_data(dtype=np.float64):
    X, y = planted()
    X = np.where(np.abs(X) > 0.6, X, 0.0).astype(dtype)
    return X, y


def strided(X):
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan, dtype=X.dtype)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def unaligned(X):
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(X.dtype).reshape(X.shape)
    view[...] = X
    assert not view.flags.aligned
    return view


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def wide_indices(kind):
    def convert(X):
        matrix = kind(X)
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
        return matrix

    return convert


def shuffled(kind):
    """Entries of every row or column in reverse, each split into two that add up."""

    def convert(X):
        matrix = kind(X)
        ends = np.repeat(matrix.indptr[1:], np.diff(matrix.indptr))
        starts = np.repeat(matrix.indptr[:-1], np.diff(matrix.indptr))
        reverse = starts + ends - 1 - np.arange(matrix.nnz)
        indices, values = np.repeat(matrix.indices[reverse], 2), np.repeat(matrix.data[reverse], 2) / 2
        return kind((values, indices, 2 * matrix.indptr), shape=matrix.shape)

    return convert


LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "strided": strided,
    "reversed": lambda X: X[::-1].copy()[::-1],
    "unaligned": unaligned,
    "read-only": read_only,
    "big-endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "lists": lambda X: X.tolist(),
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
    "coo_array": sp.coo_array,
    "lil_matrix": sp.lil_matrix,
    "csr, 64-bit indices": wide_indices(sp.csr_array),
    "csc, 64-bit indices": wide_indices(sp.csc_array),
    "csr, shuffled and split": shuffled(sp.csr_array),
    "csc, shuffled and split": shuffled(sp.csc_array),
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas, numbered": pd.DataFrame,
    "pandas, nullable": lambda X: pd.DataFrame(X).astype("Float64"),
    "pandas, sparse": lambda X: pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X)),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "pyarrow": lambda X: pa.table(dict(zip(NAMES, X.T))),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout, dtype, same_model):
    X, y = sparse_data(dtype)
    model = FGMClassifier(budget=2)
    expected = model.fit(X.astype(np.float64), y)
    decision = expected.decision_function(X.astype(np.float64))
    given = LAYOUTS[layout](X)
    other = FGMClassifier(budget=2).fit(given, y)
    same_model(expected, other)
    np.testing.assert_allclose(other.decision_function(given), decision, atol=1e-9)
    np.testing.assert_array_equal(other.predict(given), expected.predict(X.astype(np.float64)))
    assert other.transform(given).shape == (len(y), other.n_selected_)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix])
@pytest.mark.parametrize("space", ["linear", "poly2"])
def test_what_is_transformed_stays_of_its_kind(space, kind, dtype):
    X, y = sparse_data(dtype)
    X = kind(X)
    values = FGMSelector(n_features=3, space=space).fit(X, y).transform(X)
    assert values.dtype == dtype and sp.issparse(values) == sp.issparse(X)
    if sp.issparse(X):
        assert type(values) is (sp.csr_array if kind in (sp.csr_array, sp.csc_array) else sp.csr_matrix)


@pytest.mark.parametrize(
    "dtype", [bool, np.uint8, np.int8, np.uint16, np.int64, np.float16, np.longdouble, object]
)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array, sp.csc_array])
def test_other_types_of_values(layout, dtype, same_model):
    if dtype in (object, np.float16, np.longdouble) and layout is not np.asarray:
        pytest.skip("not a type of scipy's matrices")
    X, y = planted()
    X = (X > 0.2).astype(dtype)
    same_model(FGMClassifier().fit(layout(X), y), FGMClassifier().fit(X.astype(np.float64), y))


@pytest.mark.parametrize("dtype", [np.uint8, bool])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, sp.csc_array])
def test_bytes_are_not_copied(monkeypatch, layout, dtype):
    X, y = planted()
    X, seen = layout((100 * np.abs(X)).clip(0, 200).astype(dtype)), []
    monkeypatch.setattr(_input, "matrix", watched(_input.matrix, seen))
    FGMClassifier().fit(X, y)
    assert np.shares_memory(*(seen[0]["values"], X.data) if sp.issparse(X) else (seen[0], X))


def test_what_is_made_of_bytes_need_not_be_bytes(same_model):
    X, y = planted()
    X = (100 * np.abs(X)).clip(0, 200).astype(np.uint8)
    selector = FGMSelector(n_features=3, space="poly2")
    wide = selector.fit(X.astype(float), y).transform(X.astype(float))
    assert wide.max() > 255
    np.testing.assert_array_equal(selector.fit(X, y).transform(X), wide)
    # Every entry is there twice: their sums are no bytes either.
    pointers = np.arange(0, 2 * X.size + 1, 2 * len(X))
    indices = np.repeat(np.tile(np.arange(len(X)), X.shape[1]), 2)
    double = sp.csc_array((np.repeat(X.T.ravel(), 2), indices, pointers), shape=X.shape)
    same_model(FGMClassifier().fit(double, y), FGMClassifier().fit(2.0 * X, y))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_mapped_files(tmp_path, order, dtype, same_model):
    X, y = sparse_data(dtype)
    np.save(tmp_path / "x.npy", np.asarray(X, order=order))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    same_model(FGMClassifier().fit(mapped, y), FGMClassifier().fit(X.astype(np.float64), y))
    assert np.shares_memory(_input.matrix(mapped), mapped)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, read_only])
def test_dense_arrays_are_not_copied(monkeypatch, layout, dtype):
    X, y = sparse_data(dtype)
    X, seen = layout(X), []
    monkeypatch.setattr(_input, "matrix", watched(_input.matrix, seen))
    monkeypatch.setattr(_input, "some_columns", watched(_input.some_columns, seen))
    FGMClassifier().fit(X, y).predict(X)
    assert len(seen) == 2 and all(np.shares_memory(part, X) for part in seen)


def test_frames_of_one_block_are_not_copied(monkeypatch):
    X, y = planted()
    seen = []
    monkeypatch.setattr(_input, "matrix", watched(_input.matrix, seen))
    FGMClassifier().fit(pd.DataFrame(X, columns=NAMES, copy=False), y)
    assert np.shares_memory(seen[0], X)


@pytest.mark.parametrize("kind", [sp.csc_array, sp.csc_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compressed_columns_are_not_copied(monkeypatch, kind, dtype):
    X, y = sparse_data(dtype)
    X, seen = kind(X), []
    monkeypatch.setattr(_input, "matrix", watched(_input.matrix, seen))
    FGMClassifier().fit(X, y)
    assert np.shares_memory(seen[0]["values"], X.data)
    assert np.shares_memory(seen[0]["indices"], X.indices)


def watched(function, seen):
    def wrapper(*arguments):
        seen.append(function(*arguments))
        return seen[-1]

    return wrapper


def test_data_are_left_as_they_are():
    X, y = sparse_data()
    for layout in LAYOUTS.values():
        given = layout(X)
        before = (
            [a.copy() for a in (given.data, given.indices, given.indptr)]
            if hasattr(given, "indptr")
            else None
        )
        FGMClassifier().fit(given, y).transform(given)
        if before is not None:
            for old, new in zip(before, (given.data, given.indices, given.indptr)):
                np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("layout", ["pandas", "polars", "pyarrow"])
def test_names(layout):
    X, y = planted()
    model = FGMClassifier(n_features=4, budget=1).fit(LAYOUTS[layout](X), y)
    names = [NAMES[i] for i in (2, 5, 11, 17)]
    assert list(model.feature_names_in_) == NAMES
    assert list(model.get_feature_names_out()) == names
    assert sorted(model.selected_["feature"]) == sorted(names)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame(X, columns=NAMES[::-1]))
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)


def test_no_names():
    X, y = planted()
    for given in (X, pd.DataFrame(X), sp.csr_array(X)):
        model = FGMClassifier(n_features=4, budget=1).fit(given, y)
        assert list(model.get_feature_names_out()) == ["x2", "x5", "x11", "x17"]
        assert list(model.get_feature_names_out(NAMES)) == [NAMES[i] for i in (2, 5, 11, 17)]
        assert not hasattr(model, "feature_names_in_")
    with pytest.raises(TypeError, match="string names"):
        FGMClassifier().fit(pd.DataFrame(X, columns=[0, *NAMES[1:]]), y)


@pytest.mark.parametrize(
    "labels",
    [
        (0, 1),
        (-1, 1),
        (3, 8),
        (0.0, 1.0),
        (0.5, 1.5),
        (-1e300, 0.1),
        (False, True),
        ("no", "yes"),
        ("1", "1.0"),
        ("", "a"),
        ("ä", "ö"),
    ],
)
@pytest.mark.parametrize("kind", [np.array, list, pd.Series, pd.Categorical, pl.Series, pa.array])
def test_labels(data, kind, labels):
    X, y = data
    model = FGMClassifier().fit(X, kind([labels[i] for i in y]))
    assert model.classes_.tolist() == list(labels)
    assert set(model.predict(X).tolist()) == set(labels)
    assert model.score(X, np.array(labels)[y]) > 0.9


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([0] * 6, "one class only, 0"),
        ([0.5, 1.5, 2.5] * 2, "continuous"),
        (["a", "\ud800"] * 3, "y: the label .*UTF-8"),
        ([0.5, np.inf] * 3, "y contains infinity"),
        ([0, 1], "inconsistent numbers"),
        ([0.0, np.nan] * 3, "NaN"),
        (np.array(["a", 1] * 3, dtype=object), "of one type"),
        (np.array(["a", None] * 3, dtype=object), "of one type"),
        (np.eye(6), "1d array|multilabel|bad input shape"),
    ],
)
def test_labels_that_cannot_be(y, words):
    with pytest.raises(ValueError, match=words):
        FGMClassifier().fit(np.eye(6), y)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array, sp.csc_array, pd.DataFrame])
@pytest.mark.parametrize(("value", "words"), [(np.nan, "NaN"), (np.inf, "infinity"), (1e200, "too large")])
def test_values_that_cannot_be(layout, value, words):
    X, y = planted()
    X[3, 4] = value
    if layout is pd.DataFrame and np.isnan(value):
        # There, it is a number that is missing.
        assert FGMClassifier(n_features=4).fit(layout(X), y).score(layout(X), y) > 0.9
        return
    with pytest.raises(ValueError, match=words):
        FGMClassifier().fit(layout(X), y)


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
@pytest.mark.parametrize(("value", "words"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("model", [FGMClassifier(), FGMClassifierCV(cv=2)])
def test_values_of_large_arrays_are_looked_at_by_the_engine(monkeypatch, layout, value, words, model):
    monkeypatch.setattr(_input, "LARGE", 0)
    X, y = planted()
    model.fit(layout(X), y)
    X[3, 4] = value
    with pytest.raises(ValueError, match=words):
        model.fit(layout(X), y)
    # An instance that counts for nothing may not hold one either.
    weights = np.ones(len(y))
    weights[3] = 0
    with pytest.raises(ValueError, match=words):
        model.fit(layout(X), y, sample_weight=weights)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_cannot_be_predicted(data, layout, value):
    X, y = data
    model = FGMClassifier().fit(X, y)
    X[3, 4] = value
    with pytest.raises(ValueError, match="NaN|infinity"):
        model.predict(layout(X))


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros(6), "2D array"),
        (np.zeros((6, 2, 2)), "dim 3"),
        (np.zeros((0, 3)), "0 sample"),
        (np.zeros((6, 0)), "0 feature"),
        (np.full((6, 2), "a"), "could not convert"),
        (np.full((6, 2), 1j), "Complex"),
        ([[1, 2], [3]], "inhomogeneous"),
    ],
)
def test_shapes_that_cannot_be(X, words):
    with pytest.raises(ValueError, match=words):
        FGMClassifier().fit(X, [0, 1] * (len(X) // 2))


def test_more_asked_for_than_there_is(data):
    X, y = data
    assert FGMClassifier(budget=10**6).fit(X, y).n_selected_ <= X.shape[1]
    assert FGMClassifier(budget=10**30).fit(X, y).n_selected_ <= X.shape[1]
    with pytest.warns(ConvergenceWarning, match="n_features=1000 .* is 24 .of 24 .*'exhausted'"):
        assert FGMClassifier(n_features=1000).fit(X, y).n_selected_ == X.shape[1]


def test_columns_that_say_nothing(data, same_model):
    X, y = data
    model = FGMClassifier(n_features=4, budget=1).fit(X, y)
    padded = np.column_stack([X, np.zeros(len(y)), np.full(len(y), 7.0)])
    same_model(model, FGMClassifier(n_features=4, budget=1).fit(padded, y))


def test_columns_twice(data):
    X, y = data
    model = FGMClassifier(n_features=4, budget=1).fit(np.hstack([X, X]), y)
    assert set(model.get_support(indices=True) % X.shape[1]) == {2, 5, 11, 17}
    both = FGMClassifier(n_features=40, budget=4).fit(np.hstack([X, X]), y)
    assert both.n_selected_ == 40


@pytest.mark.parametrize("space", ["linear", "poly2"])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_nothing_selected(space, layout):
    X, y = layout(np.zeros((10, 3))), [0, 1, 1, 1, 1] * 2
    model = FGMClassifier(space=space).fit(X, y)
    assert model.n_selected_ == 0 and model.n_iter_ == 0 and model.get_support().sum() == 0
    with pytest.warns(UserWarning, match="No features were selected"):
        assert model.transform(X).shape == (10, 0)
    assert list(model.get_feature_names_out()) == []
    assert set(model.predict(X)) == {1}
    assert len(model.selected_["feature"]) == 0 and model.path_.coef.shape == (0, 0)
    assert model.at(3).n_selected_ == 0
    assert "0 of" in model._repr_html_()


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_very_many_columns(kind):
    """Three billion columns: nothing may be made that is as long."""
    rng = np.random.default_rng(0)
    n, m = 200, 3_000_000_000
    y = rng.integers(0, 2, n)
    columns = np.column_stack([np.where(y == 1, m - 1, 12345), rng.integers(0, m, n)]).ravel()
    X = kind((np.ones(2 * n), columns, np.arange(0, 2 * n + 1, 2)), shape=(n, m))
    model = FGMClassifier(n_features=2, budget=1).fit(X, y)
    assert model.get_support(indices=True).tolist() == [12345, m - 1]
    assert model.coef_.shape == (1, m) and model.coef_.nnz == 2
    assert list(model.get_feature_names_out()) == ["x12345", f"x{m - 1}"]
    assert model.score(X, y) == 1.0
    chosen = model.transform(X)
    np.testing.assert_array_equal(chosen.toarray().argmax(axis=1), y)


def forged(kind, indices, dtype):
    """A sparse matrix of 10 x 4 whose indices nobody checked."""
    X = kind(np.eye(10, 4))
    X.indices = np.asarray(indices, dtype=dtype)
    return X


@pytest.mark.parametrize("kind", [sp.csc_array, sp.csc_matrix])
@pytest.mark.parametrize("row", [10, 2**31, 2**32 + 5, -1])
def test_a_row_that_is_not_there_is_refused(kind, row):
    y = np.arange(10) % 2
    X = forged(kind, [0, 1, 2, row], np.int64)
    with pytest.raises(ValueError, match=f"X: row index {row} is not within its 10 rows"):
        FGMClassifier().fit(X, y)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("column", [4, 2**30, -7])
def test_a_column_that_is_not_there_is_refused(kind, column):
    y = np.arange(10) % 2
    X = forged(kind, [0, 1, 2, column], np.int32)
    with pytest.raises(ValueError, match=f"X: column index {column} is not within its 4 columns"):
        FGMClassifier().fit(X, y)
    sound = FGMClassifier().fit(sp.csr_array(np.eye(10, 4)), y)
    with pytest.raises(ValueError, match="X: column index"):
        sound.predict(X)


def test_pointers_that_do_not_fit_are_refused():
    X = sp.csr_array(np.eye(10, 4))
    X.indptr = X.indptr.copy()
    X.indptr[3] = 100
    with pytest.raises(ValueError, match="X: the pointers to its rows do not fit a sparse matrix of 10 x 4"):
        FGMClassifier().fit(X, np.arange(10) % 2)
