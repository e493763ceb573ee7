"""A fit at work: callbacks, Ctrl-C, threads, forks, and what is shown meanwhile."""

import io
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import planted
from featgen import FGMClassifier, _featgen, _progress
from joblib import cpu_count, parallel_config
from sklearn.model_selection import GridSearchCV

# Callbacks


def test_callbacks_get_every_round(data):
    X, y = data
    seen = []
    model = FGMClassifier(n_features=6, budget=2, callback=seen.append).fit(X, y)
    assert [r["round"] for r in seen] == list(range(1, model.n_iter_ + 1))
    assert [r["objective"] for r in seen] == [r["objective"] for r in model.rounds_]


def test_a_callback_may_stop(data):
    X, y = data
    model = FGMClassifier(n_features=20, budget=1, callback=lambda r: r["round"] == 3).fit(X, y)
    assert model.stopped_ == "interrupted" and 3 <= model.n_iter_ <= 4
    assert model.n_selected_ == model.n_iter_ and model.score(X, y) > 0.7


def test_an_exception_in_a_callback_is_raised_and_the_model_kept(data):
    X, y = data

    def fail(round):
        if round["round"] == 3:
            raise OSError("the disk is full")

    model = FGMClassifier(n_features=20, budget=1, callback=fail)
    with pytest.raises(OSError, match="the disk is full"):
        model.fit(X, y)
    assert model.stopped_ == "interrupted" and 3 <= model.n_iter_ <= 4 and model.score(X, y) > 0.7


def test_a_callback_that_is_none(data):
    X, y = data
    model = FGMClassifier(callback=3)
    with pytest.raises(TypeError, match="callback: 3 is not callable"):
        model.fit(np.full_like(X, np.nan), y)


def test_callbacks_may_fit(data):
    X, y = data
    inner = []
    outer = FGMClassifier(n_features=2, budget=1, callback=lambda _: inner.append(FGMClassifier().fit(X, y)))
    outer.fit(X, y)
    assert len(inner) == 2 and inner[0].n_selected_ == inner[1].n_selected_


# Ctrl-C

LONG = {
    # Thousands of short rounds.
    "rounds": """
        X = rng.normal(size=(2000, 3000)); y = rng.integers(0, 2, 2000)
        model = FGMClassifier(n_features=2500, budget=1, callback=begun)
        """,
    # One search among 10^16 products, in the first round.
    "search": """
        X = (rng.random((3000, 3000)) < 0.5).astype(float); y = rng.integers(0, 2, 3000)
        model = FGMClassifier(n_features=5, space=Products(degree=5))
        begun()
        """,
    # One problem with many columns that takes very many steps.
    "solving": """
        X = rng.normal(size=(1500, 4000)) + 3 * rng.normal(size=(1500, 1)); y = rng.integers(0, 2, 1500)
        model = FGMClassifier(budget=4000, C=1e6, inner_tol=1e-14, solver="pg")
        begun()
        """,
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("kind", LONG)
def test_ctrl_c(kind):
    program = textwrap.dedent("""
        import numpy as np
        from featgen import FGMClassifier, Products
        rng = np.random.default_rng(0)
        def begun(*_): print("begun", flush=True)
        """)
    program += textwrap.dedent(LONG[kind])
    program += textwrap.dedent("""
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            print("interrupted", model.stopped_, len(model.predict(X)), flush=True)
        """)
    run = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert run.stdout.readline() == "begun\n", run.stderr.read()
        time.sleep(0.5)
        assert run.poll() is None, "the run was too short"
        run.send_signal(signal.SIGINT)
        # Long enough for a busy machine: without an answer, runs take minutes.
        out, errors = run.communicate(timeout=20)
    finally:
        run.kill()
    assert "interrupted interrupted" in out, errors


# Threads and processes


def test_python_goes_on_meanwhile():
    X, y = planted(n=2000, m=500)
    done, steps = threading.Event(), []

    def count():
        while not done.is_set():
            steps.append(time.perf_counter())
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    start = time.perf_counter()
    FGMClassifier(n_features=100, budget=1).fit(X, y)
    end = time.perf_counter()
    done.set()
    other.join()
    assert sum(start < step < end for step in steps) > 5


def bits(model):
    return model.coef_.tobytes(), model.intercept_.tobytes(), model.lower_bound_


@pytest.mark.parametrize("parameters", [{}, {"loss": "logistic"}, {"space": "poly2"}, {"space": "gaussian"}])
def test_the_same_bits_on_any_number_of_threads(parameters):
    X, y = planted(n=3000, m=60)
    one = bits(FGMClassifier(n_features=10, budget=2, n_jobs=1, **parameters).fit(X, y))
    for n_jobs in (2, 3, -1, None):
        assert bits(FGMClassifier(n_features=10, budget=2, n_jobs=n_jobs, **parameters).fit(X, y)) == one


def test_threads_are_not_more_than_processors(data, monkeypatch):
    seen = []
    engine = _featgen.fit
    monkeypatch.setattr(_featgen, "fit", lambda *given: seen.append(given[4]["threads"]) or engine(*given))
    for n_jobs in (5000, 10**9, 1, -(10**6)):
        FGMClassifier(n_jobs=n_jobs).fit(*data)
    assert seen == [cpu_count(), cpu_count(), 1, 1]


def test_fits_in_threads(data):
    X, y = data
    expected = bits(FGMClassifier(n_features=6).fit(X, y))
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(bits(FGMClassifier(n_features=6, n_jobs=2).fit(X, y))))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 8


def fit_in_child(_):
    X, y = planted()
    model = FGMClassifier(n_features=6, n_jobs=2).fit(X, y)
    return bits(model), model.predict(X).tolist()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_fits_after_a_fork(method):
    here = fit_in_child(None)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(fit_in_child, range(3)).get(timeout=120) == [here] * 3
    assert fit_in_child(None) == here


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_parallel_searches(data, backend):
    X, y = data
    grid = {"C": [0.1, 10.0], "budget": [1, 5]}
    expected = GridSearchCV(FGMClassifier(n_features=4), grid, cv=3).fit(X, y)
    with parallel_config(backend, n_jobs=2):
        search = GridSearchCV(FGMClassifier(n_features=4, n_jobs=2), grid, cv=3).fit(X, y)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )
    assert bits(search.best_estimator_) == bits(expected.best_estimator_)


# What is shown


def test_silence_is_the_default(data, capfd):
    FGMClassifier().fit(*data)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("verbose", [1, 2, True])
def test_plain_lines(data, capsys, verbose):
    model = FGMClassifier(n_features=4, budget=2, verbose=verbose).fit(*data)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == "" and len(lines) == model.n_iter_
    assert lines[0].startswith("round 1: 2 selected, objective ")
    assert "\x1b" not in err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_has_one_line(data, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    model = FGMClassifier(n_features=4, budget=2, verbose=1).fit(*data)
    shown = sys.stderr.getvalue()
    assert shown.count("\r") == model.n_iter_ and shown.count("\n") == 1 and shown.endswith("\n")


def test_a_terminal_is_left_clean_by_errors(data, monkeypatch):
    X, y = data
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(ValueError):
        FGMClassifier(verbose=1, C=-1).fit(X, y)
    assert sys.stderr.getvalue() == ""


def closed(stream):
    stream.close()
    return stream


class Broken(Terminal):
    def write(self, text):
        raise BrokenPipeError


@pytest.mark.parametrize("verbose", [1, 2])
@pytest.mark.parametrize("stderr", [None, closed(io.StringIO()), closed(Terminal()), Broken()])
def test_nobody_to_show_it_to(data, tmp_path, monkeypatch, capsys, stderr, verbose):
    monkeypatch.setattr(sys, "stderr", stderr)
    model = FGMClassifier(n_features=4, verbose=verbose, checkpoint=tmp_path / "run.ckpt").fit(*data)
    assert model.fit(*data).n_selected_ == 4
    assert capsys.readouterr().out == ""


def test_a_terminal_may_have_lines(data, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    model = FGMClassifier(n_features=4, budget=2, verbose=2).fit(*data)
    assert len(sys.stderr.getvalue().splitlines()) == model.n_iter_


def test_a_notebook_has_a_table_that_is_updated(data, monkeypatch):
    pages, updates = [], []

    def display(page, display_id):
        pages.append(page)
        return SimpleNamespace(update=updates.append)

    shell = type("ZMQInteractiveShell", (), {})()
    ipython = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(HTML=str, display=display))
    model = FGMClassifier(n_features=20, budget=1, verbose=1).fit(*data)
    assert len(pages) == 1 and 1 <= len(updates) < model.n_iter_
    assert updates[-1].count("<tr>") == 1 + _progress._Notebook.SHOWN
    assert f">{model.n_iter_}</td>" in updates[-1]


def test_progress_and_callback(data, capsys):
    seen = []
    model = FGMClassifier(n_features=4, budget=2, verbose=2, callback=seen.append).fit(*data)
    assert len(seen) == model.n_iter_ == len(capsys.readouterr().err.splitlines())
