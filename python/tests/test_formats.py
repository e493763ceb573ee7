"""Matrix Market files, pathways and annotated data."""

import gzip
import sys
import warnings
from types import SimpleNamespace

import featgen
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
from featgen import FGMClassifier

NAMES = [f"G{i}" for i in range(40)]


def values(kind="real"):
    """Sparse data with columns and rows that hold nothing."""
    random = np.random.default_rng(0)
    X = sp.random(120, 40, density=0.3, random_state=random, format="coo")
    X.data = (
        np.ones_like(X.data)
        if kind == "pattern"
        else np.round(100 * X.data) + 1
        if kind == "integer"
        else X.data
    )
    keep = (X.col != 11) & (X.row != 5)
    return sp.coo_array((X.data[keep], (X.row[keep], X.col[keep])), shape=X.shape)


def labels(X):
    X = X.tocsc()
    score = X[:, [3]].toarray() - X[:, [7]].toarray()
    return np.where(score.ravel() > 0, "yes", "no")


def matrix_of(store):
    """What a store holds, by models that look at one column each."""
    model = FGMClassifier(n_features=store.shape[1], budget=store.shape[1], C=1e3)
    with warnings.catch_warnings(action="ignore"):
        fitted = model.fit(store, np.arange(store.shape[0]) % 2)
    taken = fitted.transform(store)
    columns = fitted.get_support(indices=True)
    return sp.csr_array(taken).toarray(), columns


@pytest.mark.parametrize("kind", ["real", "integer", "pattern"])
@pytest.mark.parametrize("order", ["rows", "columns", "mixed"])
@pytest.mark.parametrize("transpose", [False, True])
def test_a_matrix_is_what_scipy_reads(tmp_path, kind, order, transpose):
    X = values(kind)
    at = {"rows": np.lexsort((X.col, X.row)), "columns": np.lexsort((X.row, X.col))}
    at = at.get(order, np.random.default_rng(1).permutation(X.nnz))
    X = sp.coo_array((X.data[at], (X.row[at], X.col[at])), shape=X.shape)
    path = tmp_path / "x.mtx.gz"
    with gzip.open(path, "wb") as file:
        scipy.io.mmwrite(file, X.T if transpose else X, field=kind, symmetry="general", precision=17)
    with gzip.open(path, "rb") as file:
        expected = scipy.io.mmread(file, spmatrix=False)
    expected = (expected.T if transpose else expected).tocsc()
    (tmp_path / "y.txt").write_text("".join(f"{y}\n" for y in labels(X)))
    (tmp_path / "names.txt").write_text("".join(f"{name}\n" for name in NAMES))
    files = {"labels": tmp_path / "y.txt", "names": tmp_path / "names.txt"}
    store = featgen.convert(path, tmp_path / "x.store", transpose=transpose, memory=1, **files)
    assert store.shape == (120, 40) and store.feature_names == NAMES
    assert store._store.nnz == expected.nnz
    np.testing.assert_array_equal(store.y, labels(X))
    found, columns = matrix_of(store)
    np.testing.assert_array_equal(found, expected.toarray()[:, columns])
    models = [FGMClassifier(n_features=4).fit(data, labels(X)) for data in (store, expected)]
    np.testing.assert_array_equal(*(model.decision_function(expected) for model in models))


def test_an_array_is_what_scipy_reads(tmp_path):
    X = np.random.default_rng(2).normal(size=(50, 6))
    scipy.io.mmwrite(tmp_path / "x.mtx", X, symmetry="general", precision=17)
    np.testing.assert_array_equal(scipy.io.mmread(tmp_path / "x.mtx"), X)
    y = np.where(X[:, 1] > 0, 1, 0)
    np.savetxt(tmp_path / "y.txt", y, fmt="%d")
    store = featgen.convert(tmp_path / "x.mtx", tmp_path / "x.store", labels=tmp_path / "y.txt")
    models = [FGMClassifier(n_features=2).fit(data, y) for data in (store, X)]
    np.testing.assert_array_equal(*(model.decision_function(X) for model in models))


def test_matrices_that_cannot_be_read(tmp_path):
    scipy.io.mmwrite(tmp_path / "x.mtx", sp.coo_array(np.eye(3)), symmetry="symmetric")
    with pytest.raises(ValueError, match="only a `general` matrix"):
        featgen.convert(tmp_path / "x.mtx", tmp_path / "x.store", labels=tmp_path / "y.txt")
    (tmp_path / "x.svm").write_text("1 1:1\n0 2:1\n")
    with pytest.raises(ValueError, match="transpose: .*only a Matrix Market file"):
        featgen.convert(tmp_path / "x.svm", tmp_path / "x.store", transpose=True)
    with pytest.raises(ValueError, match="transpose: must be True or False"):
        featgen.convert(tmp_path / "x.svm", tmp_path / "x.store", transpose="yes")


def test_pathways(tmp_path):
    X = pd.DataFrame(values().toarray(), columns=NAMES)
    y = labels(values())
    groups = {f"p{k}": [NAMES[(5 * k + j) % 40] for j in range(5)] for k in range(8)}
    lines = [[name, "na", *genes, "ELSEWHERE", genes[0], ""] for name, genes in groups.items()]
    lines.append(["nowhere", "", "ELSEWHERE"])
    text = "".join("\t".join(line) + "\r\n" for line in lines)
    (tmp_path / "pathways.gmt").write_text(text, newline="")
    with gzip.open(tmp_path / "pathways.gmt.gz", "wt") as file:
        file.write(text)
    models = [FGMClassifier(n_features=2, groups=groups).fit(X, y)]
    for file in (tmp_path / "pathways.gmt", str(tmp_path / "pathways.gmt.gz")):
        with pytest.warns(UserWarning, match="X lacks: 1 of 41; pathways left out, .*: 1 of 9"):
            models.append(FGMClassifier(n_features=2, groups=file).fit(X, y))
    for model in models[1:]:
        np.testing.assert_array_equal(model.decision_function(X), models[0].decision_function(X))
    with pytest.raises(ValueError, match="no pathway has a gene among the features"):
        FGMClassifier(groups=tmp_path / "pathways.gmt").fit(X.rename(columns=lambda name: f"x{name}"), y)


def annotated(X, names=NAMES):
    """Annotated data as far as they are looked at."""
    table = pd.DataFrame({"type": pd.Categorical(labels(sp.coo_array(X))), "age": np.arange(X.shape[0]) / 8})
    return SimpleNamespace(X=X, obs=table, var_names=pd.Index(names), layers={"raw": 2 * X})


FORMS = {
    "csr": lambda X: X.tocsr(),
    "csc": lambda X: X.tocsc(),
    "coo": lambda X: X.tocoo(),
    "csr_matrix": lambda X: sp.csr_matrix(X),
    "float32": lambda X: X.tocsr().astype(np.float32),
    "counts": lambda X: (10 * X.tocsr()).astype(np.int64),
    "dense": lambda X: X.toarray(),
    "fortran": lambda X: np.asfortranarray(X.toarray().astype(np.float32)),
}


@pytest.mark.parametrize("memory", [2**30, 20_000])
@pytest.mark.parametrize("form", FORMS)
def test_annotated_data(tmp_path, form, memory):
    X = FORMS[form](values())
    before = X.copy()
    store = featgen.convert_anndata(annotated(X), tmp_path / "x.store", label="type", memory=memory)
    assert store.shape == X.shape and store.feature_names == NAMES
    y = annotated(X).obs["type"].to_numpy(dtype=str)
    np.testing.assert_array_equal(store.y, y)
    models = [FGMClassifier(n_features=4).fit(data, y) for data in (store, X)]
    np.testing.assert_array_equal(*(model.get_support() for model in models))
    expected = models[1].decision_function(X)
    np.testing.assert_allclose(models[0].decision_function(store), expected, rtol=1e-12)
    assert (before != X).sum() == 0
    layer = featgen.convert_anndata(annotated(X), tmp_path / "layer.store", layer="raw", memory=memory)
    assert layer.y is None
    found, columns = matrix_of(layer)
    whole = X.toarray() if sp.issparse(X) else X
    np.testing.assert_array_equal(found, 2.0 * whole[:, columns])


def test_entries_that_hold_nothing_are_not_stored(tmp_path):
    X = sp.csr_array(
        (np.array([1.0, 0.0, 2.0, 3.0, -3.0]), np.array([0, 1, 2, 2, 2]), np.array([0, 2, 5])), shape=(2, 4)
    )
    assert not X.has_canonical_format
    data = SimpleNamespace(X=X, obs=pd.DataFrame(), var_names=list("abcd"), layers={})
    store = featgen.convert_anndata(data, tmp_path / "x.store")
    assert store.shape == (2, 4) and store._store.nnz == 2
    assert X.nnz == 5


def test_numbers_as_labels(tmp_path):
    X = sp.random(1500, 5, density=0.5, random_state=np.random.default_rng(3), format="csr")
    data = SimpleNamespace(
        X=X, obs=pd.DataFrame({"age": np.arange(1500) / 7}), var_names=list("abcde"), layers={}
    )
    store = featgen.convert_anndata(data, tmp_path / "x.store", label="age")
    np.testing.assert_array_equal(store.y, np.arange(1500) / 7)
    data.obs["name"] = [f"cell {i}" for i in range(1500)]
    with pytest.raises(ValueError, match="label: 'name' has more than 1000 values that are not numbers"):
        featgen.convert_anndata(data, tmp_path / "x.store", label="name")


def test_annotated_data_that_cannot_be_used(tmp_path):
    data = annotated(values().tocsr())

    def refused(match, **options):
        with pytest.raises(ValueError, match=match):
            featgen.convert_anndata(data, tmp_path / "x.store", **options)
        assert not (tmp_path / "x.store").exists()

    refused("label: obs has no column 'kind'", label="kind")
    refused("layer: the data have no layer 'counts'", layer="counts")
    refused("memory: must not be negative", memory=-1)
    data.obs.loc[3, "age"] = np.nan
    refused("label: 1 samples have no 'age'", label="age")
    data.var_names = ["twice", "twice", *NAMES[2:]]
    refused("var_names: several are 'twice'; var_names_make_unique", label="type")
    data.var_names = NAMES[1:]
    refused("39 names for 40 features", label="type")
    data.var_names = NAMES
    data.X.data[7] = np.nan
    refused("X: contains NaN or infinity", label="type")
    data.X = None
    refused("the data have no X", label="type")


@pytest.mark.parametrize("form", ["csr", "csc", "dense"])
@pytest.mark.parametrize("backed", ["path", "backed", "memory"])
def test_anndata_itself(tmp_path, form, backed):
    anndata = pytest.importorskip("anndata")
    X = FORMS[form](values())
    plain = annotated(X)
    adata = anndata.AnnData(
        X=sp.csr_matrix(X) if form == "csr" else sp.csc_matrix(X) if form == "csc" else X,
        obs=plain.obs.set_index(pd.Index([f"cell{i}" for i in range(X.shape[0])])),
        var=pd.DataFrame(index=NAMES),
    )
    adata.layers["raw"] = 2 * adata.X
    adata.write_h5ad(tmp_path / "x.h5ad")
    data = {
        "path": lambda: tmp_path / "x.h5ad",
        "backed": lambda: anndata.read_h5ad(tmp_path / "x.h5ad", backed="r"),
        "memory": lambda: adata,
    }[backed]()
    expected = featgen.convert_anndata(plain, tmp_path / "expected.store", label="type")
    for memory in (2**30, 20_000):
        store = featgen.convert_anndata(data, tmp_path / "x.store", label="type", memory=memory)
        assert (tmp_path / "x.store").read_bytes() == (
            tmp_path / "expected.store"
        ).read_bytes() or memory < 2**30
        found = matrix_of(store)[0]
        np.testing.assert_array_equal(found, matrix_of(expected)[0])
        assert store.feature_names == NAMES and list(store.y) == list(expected.y)
    layer = featgen.convert_anndata(data, tmp_path / "layer.store", layer="raw")
    np.testing.assert_array_equal(matrix_of(layer)[0], 2 * found)
    model = FGMClassifier(n_features=4).fit(adata.X, adata.obs["type"])
    assert list(model.get_support(indices=True)) == list(
        FGMClassifier(n_features=4).fit(store, store.y).get_support(indices=True)
    )
    if backed == "path":
        with pytest.raises(ValueError, match="has no layer 'x'"):
            featgen.convert_anndata(data, tmp_path / "y.store", layer="x")
        with pytest.raises(FileNotFoundError):
            featgen.convert_anndata(tmp_path / "no.h5ad", tmp_path / "y.store")


def test_the_package_is_asked_for_where_a_file_is_read(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    monkeypatch.setitem(sys.modules, "anndata.io", None)
    with pytest.raises(ImportError, match="by the package anndata: install it"):
        featgen.convert_anndata(tmp_path / "x.h5ad", tmp_path / "x.store")
