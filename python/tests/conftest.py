"""Data that several tests use."""

import os
import signal
import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

# Shells start programs in the background with Ctrl-C ignored, and Python keeps to that; tests press it all the same.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Spark's tasks are for the same Python, whichever test starts Spark.
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


def planted(n=160, m=24, relevant=(2, 5, 11, 17), noise=0.3, seed=0):
    """Normal features, of which a few decide the class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    w = np.zeros(m)
    w[list(relevant)] = np.linspace(2.0, 1.0, len(relevant)) * (-1.0) ** np.arange(len(relevant))
    return X, (X @ w + noise * rng.normal(size=n) > 0).astype(int)


@pytest.fixture
def data():
    return planted()


@pytest.fixture(scope="session")
def cancer():
    """Breast cancer, standardised, as a frame and its classes."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return (X - X.mean()) / X.std(), y


@pytest.fixture(scope="session")
def digits():
    """The digits 3 and 8, values from 0 to 1."""
    X, y = load_digits(return_X_y=True)
    some = (y == 3) | (y == 8)
    return X[some] / 16.0, y[some]


def assert_same_model(a, b, tolerance=1e-9):
    """The same features in the same rounds, with the same weights."""
    assert [r["selected"] for r in a.rounds_] == [r["selected"] for r in b.rounds_]
    np.testing.assert_array_equal(a._terms["round"], b._terms["round"])
    assert a._terms["inputs"] == b._terms["inputs"]
    scale = np.abs(a._terms["weight"]).max(initial=1.0)
    np.testing.assert_allclose(a._terms["weight"], b._terms["weight"], rtol=0, atol=tolerance * scale)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=0, atol=tolerance * scale)


@pytest.fixture
def same_model():
    return assert_same_model
