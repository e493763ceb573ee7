"""Fits on a cluster of Dask: the same model as in one process, whatever happens to workers."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import planted
from featgen import (
    FGMClassifier,
    FGMClassifierCV,
    FGMRegressor,
    FGMSurvival,
    FGMSurvivalCV,
    Groups,
    Products,
    Tree,
    convert,
)
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file

pytest.importorskip("distributed", reason="dask.distributed is not installed")
pytest.importorskip("dask.array", reason="dask is not installed")

import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import pandas as pd
from dask import delayed
from distributed import Client, LocalCluster
from featgen._shards import Sharded, StoreShard, ranges
from featgen.dask import (
    DaskFGMClassifier,
    DaskFGMClassifierCV,
    DaskFGMRegressor,
    DaskFGMSurvival,
    DaskFGMSurvivalCV,
)


def cluster(workers):
    return LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    )


@pytest.fixture(scope="module")
def client():
    with cluster(2) as local, Client(local) as client:
        yield client


def workers_of(dask_scheduler):
    return len(dask_scheduler.workers)


def bytes_of(model):
    return model._model.to_json()


def sparse_data(n=200, m=300, seed=1):
    rng = np.random.default_rng(seed)
    X = sp.random(n, m, density=0.1, format="csr", random_state=rng, dtype=np.float64)
    X = X.tolil()
    X[:, [3, 150, 299]] = rng.random((n, 3))
    X = X.tocsr()
    y = (X[:, [3]].toarray() - X[:, [150]].toarray() + 0.1 * rng.normal(size=(n, 1)))[:, 0] > 0
    return sp.csc_matrix(X), y.astype(int)


def in_blocks(X, rows):
    """A dask array of sparse blocks."""
    starts = range(0, X.shape[0], rows)
    blocks = [sp.csr_matrix(X[start : start + rows]) for start in starts]
    parts = [da.from_delayed(delayed(block), block.shape, X.dtype, meta=X[:0]) for block in blocks]
    return da.concatenate(parts)


# The same model


def same_on(client):
    X, y = planted(n=120, m=50)
    S, t = sparse_data()
    for chunks in [(120, 50), (31, 50), (120, 7), (50, 20)]:
        model = DaskFGMClassifier(n_features=5)
        model.client = client
        model.fit(da.from_array(X, chunks=chunks), da.from_array(y, chunks=40))
        assert bytes_of(model) == bytes_of(FGMClassifier(n_features=5).fit(X, y))
    model = DaskFGMClassifier(n_features=4)
    model.client = client
    model.fit(in_blocks(S, 70), t)
    assert bytes_of(model) == bytes_of(FGMClassifier(n_features=4).fit(S, t))


def test_the_model_is_the_same_on_any_number_of_workers(client):
    same_on(client)
    # Processes take seconds to start: the same cluster has first one worker, then four.
    with cluster(1) as local, Client(local, set_as_default=False) as other:
        same_on(other)
        local.scale(4)
        other.wait_for_workers(4)
        same_on(other)


def outcomes():
    X, _ = planted(n=100, m=30)
    rng = np.random.default_rng(3)
    f = X[:, 2] - X[:, 5] + 0.3 * rng.normal(size=100)
    times = np.array(
        [(t < 2, min(t, 2.0)) for t in rng.exponential(np.exp(-f))], dtype=[("e", bool), ("t", float)]
    )
    groups = Groups([[0, 1, 2], [3, 4, 5, 6], list(range(10, 30))], singletons=True)
    tree = Tree([[0, 1, 2, 3], [1, 2], list(range(4, 20)), [5, 6]])
    weights = rng.integers(0, 3, size=100).astype(float)
    three = np.array(["a", "b", "c"])[np.digitize(f, [-0.5, 0.5])]
    return [
        ("gain", DaskFGMClassifier, FGMClassifier, {"n_features": 4}, f > 0, {"sample_weight": weights}),
        ("keep", DaskFGMClassifier, FGMClassifier, {"n_features": 3, "keep": [1, 29]}, f > 0, {}),
        ("proof", DaskFGMClassifier, FGMClassifier, {"n_features": 2, "C": 0.01, "prove": 0.2}, f > 0, {}),
        ("softmax", DaskFGMClassifier, FGMClassifier, {"n_features": 3, "loss": "logistic"}, three, {}),
        ("groups", DaskFGMClassifier, FGMClassifier, {"n_features": 2, "space": groups}, f > 0, {}),
        ("tree", DaskFGMRegressor, FGMRegressor, {"max_rounds": 3, "space": tree}, f, {}),
        ("gaussian", DaskFGMRegressor, FGMRegressor, {"n_features": 3, "space": "gaussian"}, f, {}),
        ("intersection", DaskFGMRegressor, FGMRegressor, {"max_rounds": 2, "space": "intersection"}, f, {}),
        ("poly2", DaskFGMRegressor, FGMRegressor, {"n_features": 3, "space": "poly2"}, f, {}),
        ("offset", DaskFGMRegressor, FGMRegressor, {"n_features": 2, "scale": "std"}, f, {"offset": f / 2}),
        ("cox", DaskFGMSurvival, FGMSurvival, {"n_features": 2}, times, {}),
        ("stability", DaskFGMClassifier, FGMClassifier, {"n_features": 2, "stability": 4}, f > 0, {}),
        ("stand-ins", DaskFGMRegressor, FGMRegressor, {"n_features": 2, "stand_ins": 0.1}, f, {}),
        ("folds", DaskFGMClassifierCV, FGMClassifierCV, {"n_features": 3, "cv": 3}, f > 0, {}),
        ("times", DaskFGMSurvivalCV, FGMSurvivalCV, {"n_features": 2, "cv": 2, "keep": [4]}, times, {}),
    ]


@pytest.mark.parametrize(
    "kind, on_dask, plain, parameters, y, more", outcomes(), ids=lambda x: x if isinstance(x, str) else ""
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_outcome_and_space(client, kind, on_dask, plain, parameters, y, more):
    X, _ = planted(n=100, m=30)
    model = on_dask(**parameters).fit(da.from_array(X, chunks=(33, 30)), y, **more)
    expected = plain(**parameters).fit(X, y, **more)
    assert bytes_of(model) == bytes_of(expected)
    assert isinstance(model, plain) and model.n_features_in_ == 30
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_products(client):
    X, y = planted(n=120, m=40)
    X = (X > 0.5).astype(float)
    for space in (Products(degree=3), Products(degree=2, min_support=5, only=list(range(0, 40, 2))), "poly2"):
        parameters = {"max_rounds": 2, "budget": 3, "space": space}
        for data, plain in (
            (da.from_array(X, chunks=(50, 40)), X),
            (in_blocks(sp.csc_matrix(X), 50), sp.csc_matrix(X)),
        ):
            model = DaskFGMClassifier(**parameters).fit(data, y)
            assert bytes_of(model) == bytes_of(FGMClassifier(**parameters).fit(plain, y))


def test_folds_are_those_of_the_plain_estimator(client):
    X, y = planted(n=90, m=30)
    patients = np.arange(90) // 3
    parameters = {"n_features": 4, "budget": 1, "cv": 3, "Cs": [0.01, 0.1], "scoring": "accuracy"}
    model = DaskFGMClassifierCV(**parameters).fit(
        da.from_array(X, chunks=(33, 30)), y, groups=da.from_array(patients)
    )
    expected = FGMClassifierCV(**parameters).fit(X, y, groups=patients)
    assert bytes_of(model) == bytes_of(expected) and model.n_features_ == expected.n_features_
    for name, values in expected.cv_results_.items():
        np.testing.assert_array_equal(model.cv_results_[name], values)


def test_tables_with_categories_and_gaps_as_stores(client, tmp_path):
    rng = np.random.default_rng(5)
    colour, size = rng.choice(["red", "green", "blue"], 120), rng.normal(size=120)
    table = pd.DataFrame({"colour": colour, "size": size, "noise": rng.normal(size=120)})
    table["bought"] = np.where((colour == "red") ^ (size > 0.7), "yes", "no")
    table.loc[::7, "size"] = np.nan
    table.to_csv(tmp_path / "table.csv", index=False)
    store = convert(tmp_path / "table.csv", tmp_path / "table.store", label="bought")
    model = DaskFGMClassifier(n_features=2).fit(tmp_path / "table.store")
    expected = FGMClassifier(n_features=2).fit(store, store.y)
    assert bytes_of(model) == bytes_of(expected)
    with pytest.raises(ValueError, match=r"'colour' is of type .* make a store of the table"):
        DaskFGMClassifier(n_features=2).fit(
            dd.from_pandas(table[["colour", "size"]], npartitions=2), table["bought"]
        )
    gaps = dd.from_pandas(table[["noise", "size"]], npartitions=2)
    with pytest.raises(ValueError, match=r"row 1, feature size: NaN .* must not have gaps; make a store"):
        DaskFGMClassifier(n_features=2).fit(gaps, table["bought"])


def test_progress_is_shown(client, capsys):
    X, y = planted()
    rounds = []
    DaskFGMClassifier(n_features=3, budget=1, verbose=2, callback=rounds.append).fit(
        da.from_array(X, chunks=40), y
    )
    shown = capsys.readouterr().err.splitlines()
    assert shown[0] == "loading 2 shards of columns" and shown[1].startswith("loaded in ")
    assert len(rounds) == len(shown) - 2 and all(line.startswith("round ") for line in shown[2:])


def test_dataframes_have_names_and_may_have_empty_partitions(client, cancer):
    X, y = cancer
    # Column by column, as files of tables are read.
    X = pd.DataFrame({name: X[name].to_numpy() for name in X})
    frame = dd.from_pandas(pd.concat([X, y.rename("y")], axis=1), npartitions=4)
    frame = dd.concat([frame, frame[frame["y"] > 5]], interleave_partitions=True)
    model = DaskFGMClassifier(n_features=5).fit(frame[list(X.columns)], frame["y"])
    expected = FGMClassifier(n_features=5).fit(X, y)
    assert bytes_of(model) == bytes_of(expected)
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.score(X, y) == expected.score(X, y)


def test_narrow_values_and_whole_numbers(client):
    X, y = planted(n=90, m=20)
    for values in (X.astype(np.float32), (10 * X).astype(np.int64), X > 0):
        model = DaskFGMClassifier(n_features=3).fit(da.from_array(values, chunks=(30, 9)), y)
        assert bytes_of(model) == bytes_of(FGMClassifier(n_features=3).fit(values, y))


def test_a_store(client, tmp_path):
    X, y = sparse_data()
    dump_svmlight_file(X, y, str(tmp_path / "data.svm"), zero_based=False)
    store = convert(tmp_path / "data.svm", tmp_path / "data.store")
    model = DaskFGMClassifier(n_features=4).fit(tmp_path / "data.store")
    plain = bytes_of(FGMClassifier(n_features=4).fit(store, store.y))
    assert bytes_of(model) == plain
    # Shards that keep nothing in memory between two requests, as where they would fill that of a worker.
    path = str(tmp_path / "data.store")
    shards = [StoreShard(path, start, stop, None, 1, lets_go=True) for start, stop in ranges(X.shape[1], 3)]
    data = Sharded(lambda request: [shard.answer(request) for shard in shards], X.shape, None)
    assert bytes_of(FGMClassifier(n_features=4).fit(data, store.y)) == plain
    # The driver reads no columns: what is wrong with them is found where they are.
    with open(path, "r+b") as file:
        file.seek(200)
        byte = file.read(1)[0]
        file.seek(200)
        file.write(bytes([byte ^ 1]))
    with pytest.raises(ValueError, match="damaged"):
        DaskFGMClassifier(n_features=4).fit(path, store.y)


def test_fewer_columns_than_workers(client):
    X, y = planted(n=50, m=24)
    X = X[:, 2:3]
    model = DaskFGMClassifier(n_features=1).fit(da.from_array(X), y)
    assert bytes_of(model) == bytes_of(FGMClassifier(n_features=1).fit(X, y))


def test_it_is_an_estimator_like_any_other(client, tmp_path):
    X, y = planted()
    model = DaskFGMClassifier(n_features=4, budget=1)
    model.client = client
    assert model.client is client and clone(model).get_params() == model.get_params()
    model.fit(da.from_array(X, chunks=40), y)
    again = pickle.loads(pickle.dumps(model))
    assert again._client is None and copy.copy(model)._client is client
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    model.save(tmp_path / "m.json")
    assert model.at(2).n_selected_ == 2


# What happens to workers


class Killing:
    """A callback that kills a worker after some rounds."""

    def __init__(self, client, rounds):
        self.client, self.rounds, self.killed = client, rounds, []

    def __call__(self, round):
        if round["round"] in self.rounds:
            pids = self.client.run(os.getpid)
            address, pid = sorted(pids.items())[0]
            os.kill(pid, signal.SIGKILL)
            self.killed.append(address)


def test_workers_that_are_killed_are_replaced(client):
    X, y = planted(n=150, m=60)
    S, t = sparse_data()
    dense, sparse = da.from_array(X, chunks=(50, 60)), in_blocks(S, 50)
    for data, labels, plain, rounds in ((dense, y, X, (2, 4)), (sparse, t, S, (3,))):
        killing = Killing(client, rounds)
        model = DaskFGMClassifier(n_features=8, budget=1, callback=killing).fit(data, labels)
        assert len(set(killing.killed)) == len(rounds)
        assert bytes_of(model) == bytes_of(FGMClassifier(n_features=8, budget=1).fit(plain, labels))
    client.wait_for_workers(2)


def test_a_worker_may_join_or_be_slow(client):
    X, y = planted(n=150, m=60)

    def join(round):
        if round["round"] == 2:
            client.cluster.scale(3)

    model = DaskFGMClassifier(n_features=6, budget=1, callback=join)
    worker = next(iter(client.scheduler_info(n_workers=-1)["workers"]))
    busy = client.submit(time.sleep, 1.0, workers=[worker], pure=False)
    model.fit(da.from_array(X, chunks=(50, 60)), y)
    assert bytes_of(model) == bytes_of(FGMClassifier(n_features=6, budget=1).fit(X, y))
    busy.release()
    client.cluster.scale(2)
    # Whoever joined leaves in its own time: the next test is to begin with two.
    deadline = time.monotonic() + 60
    # The scheduler itself is asked, for what the client knows of it may be from before anybody joined.
    while not (len(client.cluster.workers) == client.run_on_scheduler(workers_of) == 2):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_task_that_fails_ends_with_the_words_of_the_worker(client):
    X, y = planted()

    def broken(block):
        raise RuntimeError("the disk of this worker is full")

    with pytest.raises(RuntimeError, match="the disk of this worker is full"):
        DaskFGMClassifier(n_features=3).fit(da.from_array(X, chunks=40).map_blocks(broken, meta=X[:0]), y)
    X[5, 3] = np.nan
    model = DaskFGMClassifier(n_features=3)
    with pytest.raises(ValueError, match="row 6, feature 4: NaN is not a finite number"):
        model.fit(da.from_array(X, chunks=40), y)
    assert not hasattr(model, "coef_")


def test_what_a_worker_raises_in_a_round_is_raised_here(client, monkeypatch, tmp_path):
    X, y = planted()
    asked, tries, workers = [], tmp_path / "tries", client.run(os.getpid)

    def broken(shard, request, file=str(tries)):
        with open(file, "a") as tried:
            tried.write(f"{os.getpid()}-{id(shard)}\n")
        raise MemoryError("no memory on this worker")

    def callback(round):
        asked.append(round["round"])
        if round["round"] == 2:
            monkeypatch.setattr("featgen.dask._answer", broken)

    model = DaskFGMClassifier(n_features=6, budget=1, callback=callback)
    with pytest.raises(MemoryError, match="no memory on this worker"):
        model.fit(da.from_array(X, chunks=40), y)
    assert asked == [1, 2] and not hasattr(model, "coef_")
    # It was tried three times, in the workers that there were: none is lost, and none is added.
    assert max(Counter(tries.read_text().split()).values()) == 3
    assert client.run(os.getpid) == workers


def test_a_task_that_kills_every_worker_ends():
    X, y = planted()
    # Every worker that is killed takes seconds to be replaced.
    few = dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with few, cluster(1) as local, Client(local):
        data = da.from_array(X, chunks=40).map_blocks(lambda block: os._exit(1), meta=X[:0])
        with pytest.raises(distributed.scheduler.KilledWorker, match="died while running it"):
            DaskFGMClassifier(n_features=3).fit(data, y)


def test_what_cannot_be_is_said(client):
    X, y = planted()
    with pytest.raises(TypeError, match="a dask array, a dask dataframe or the path of a store"):
        DaskFGMClassifier().fit(X, y)
    with pytest.raises(ValueError, match="labels must be given"):
        DaskFGMClassifier().fit(da.from_array(X), None)
    with pytest.raises(ValueError, match="ignore: only a frame has columns of kinds"):
        DaskFGMClassifier(ignore=["a"]).fit(da.from_array(X), y)
    words = dd.from_pandas(pd.DataFrame({"a": ["u", "v"] * 20, "b": range(40)}), npartitions=2)
    with pytest.raises(ValueError, match="the column 'a' is of type .*numbers"):
        DaskFGMClassifier().fit(words, [0, 1] * 20)
    with pytest.raises(ValueError):
        DaskFGMClassifier().fit(da.from_array(X), y[:-1])


# The driver


def test_ctrl_c_leaves_what_was_reached_and_a_checkpoint_goes_on(client, tmp_path):
    X, y = planted()
    data = da.from_array(X, chunks=40)

    def interrupt(round):
        if round["round"] == 3:
            signal.raise_signal(signal.SIGINT)

    file = tmp_path / "run.ckpt"
    model = DaskFGMClassifier(n_features=8, budget=1, checkpoint=file, callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data, y)
    assert model.stopped_ == "interrupted" and model.n_selected_ < 8
    whole = FGMClassifier(n_features=8, budget=1).fit(X, y)
    seen = []
    on = DaskFGMClassifier(
        n_features=8, budget=1, checkpoint=file, callback=lambda r: seen.append(r["round"])
    )
    assert bytes_of(on.fit(data, y)) == bytes_of(whole)
    assert min(seen) > 2


#: A driver that dies in the fourth round.
DRIVER = """
import os, signal, sys
import dask.array as da
from conftest import planted
from distributed import Client
from featgen.dask import DaskFGMClassifier

def die(round):
    if round["round"] == 4:
        os.kill(os.getpid(), signal.SIGKILL)

with Client(sys.argv[1]):
    X, y = planted()
    DaskFGMClassifier(n_features=8, budget=1, checkpoint=sys.argv[2], callback=die).fit(da.from_array(X, chunks=40), y)
"""


def test_a_driver_that_is_killed_goes_on_from_its_checkpoint(client, tmp_path):
    X, y = planted()
    file = tmp_path / "run.ckpt"
    command = [sys.executable, "-c", DRIVER, client.scheduler.address, str(file)]
    died = subprocess.run(command, cwd=os.path.dirname(__file__), capture_output=True, timeout=120)
    assert died.returncode == -signal.SIGKILL, died.stderr
    rounds = []
    on = DaskFGMClassifier(
        n_features=8, budget=1, checkpoint=file, callback=lambda r: rounds.append(r["round"])
    )
    on.fit(da.from_array(X, chunks=40), y)
    assert bytes_of(on) == bytes_of(FGMClassifier(n_features=8, budget=1).fit(X, y))
    assert min(rounds) >= 4
    # Nor do the shards of the dead driver stay.
    wait_for_nothing_held(client)


def wait_for_nothing_held(client):
    for _ in range(200):
        held = [key for keys in client.has_what().values() for key in keys]
        if not held:
            break
        time.sleep(0.1)
    assert held == []


def test_ctrl_c_while_workers_are_asked(client, monkeypatch):
    X, y = planted()
    gather = distributed.Client.gather
    asked = []

    def interrupted(self, *args, **kwargs):
        asked.append(1)
        if len(asked) == 12:
            raise KeyboardInterrupt
        return gather(self, *args, **kwargs)

    monkeypatch.setattr(distributed.Client, "gather", interrupted)
    model = DaskFGMClassifier(n_features=8, budget=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(da.from_array(X, chunks=40), y)
    assert len(asked) == 12


def test_nothing_stays_on_the_workers(client):
    X, y = planted()
    DaskFGMClassifier(n_features=3).fit(da.from_array(X, chunks=40), y)
    wait_for_nothing_held(client)
