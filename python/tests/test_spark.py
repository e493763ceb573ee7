"""Fits on Spark: the same model as in one process, in pipelines and searches of pyspark.ml."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import featgen
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import planted
from featgen import FGMClassifier, FGMClassifierCV, FGMRegressor, FGMSurvival, Groups, Products

pytest.importorskip("pyspark", reason="pyspark is not installed")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java, which is not installed", allow_module_level=True)

from featgen.spark import (
    SparkFGMClassifier,
    SparkFGMClassifierCV,
    SparkFGMModel,
    SparkFGMRegressor,
    SparkFGMSurvival,
)
from pyspark.errors import PySparkException
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.linalg import Vectors
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark():
    # Without the second number, tasks are not done again on one machine, as they are on clusters.
    session = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


#: Few questions, each of which is a job.
FEW = {"max_rounds": 2, "budget": 2}


def bytes_of(model):
    return model._model.to_json()


def framed(spark, X, y, partitions=3, **more):
    """A frame of vectors, sparse where X is."""
    if sp.issparse(X):
        X = sp.csr_matrix(X)
        vectors = [Vectors.sparse(X.shape[1], row.indices, row.data) for row in X]
    else:
        vectors = [Vectors.dense(row) for row in X]
    columns = {"features": vectors, "label": np.asarray(y).tolist(), **more}
    rows = list(zip(*columns.values()))
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, partitions), list(columns))


def sparse_data(n=150, m=400, seed=1):
    rng = np.random.default_rng(seed)
    X = sp.random(n, m, density=0.1, format="lil", random_state=rng)
    X[:, [3, 150, 399]] = rng.random((n, 3))
    y = (X[:, [3]].toarray() - X[:, [150]].toarray())[:, 0] + 0.1 * rng.normal(size=n) > 0
    return sp.csc_matrix(X), y.astype(float)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_model_is_the_same_for_any_number_of_shards(spark, workers):
    X, y = planted(n=120, m=30)
    gained = {"n_features": 3, "exchange": 1}
    model = SparkFGMClassifier(**gained, num_workers=workers).fit(framed(spark, X, y.astype(float)))
    assert bytes_of(model.estimator) == bytes_of(FGMClassifier(**gained).fit(np.asfortranarray(X), y))
    S, t = sparse_data()
    model = SparkFGMClassifier(**FEW, num_workers=workers).fit(framed(spark, S, t, partitions=4))
    assert bytes_of(model.estimator) == bytes_of(FGMClassifier(**FEW).fit(S, t.astype(int)))


def test_every_outcome(spark):
    X, _ = planted(n=100, m=20)
    columns = np.asfortranarray(X)
    rng = np.random.default_rng(3)
    f = X[:, 2] - X[:, 5] + 0.3 * rng.normal(size=100)
    weights = rng.integers(0, 3, size=100).astype(float)
    kept = {**FEW, "keep": [1], "scale": "std"}
    model = SparkFGMRegressor(**kept, weight_col="w").fit(framed(spark, X, f, w=weights.tolist()))
    assert bytes_of(model.estimator) == bytes_of(FGMRegressor(**kept).fit(columns, f, weights))
    time = rng.exponential(np.exp(-f))
    event, time = time < 2, np.minimum(time, 2.0)
    model = SparkFGMSurvival(**FEW, censor_col="died").fit(
        framed(spark, X, time, died=event.astype(float).tolist())
    )
    expected = FGMSurvival(**FEW).fit(columns, np.where(event, time, -time))
    assert bytes_of(model.estimator) == bytes_of(expected)
    words = np.array(["a", "b", "c"])[np.digitize(f, [-0.5, 0.5])]
    parameters = {
        **FEW,
        "loss": "logistic",
        "space": Groups([[0, 1, 2], [3, 4, 5]], singletons=True),
    }
    model = SparkFGMClassifier(**parameters).fit(framed(spark, X, words))
    expected = FGMClassifier(**parameters).fit(columns, words)
    assert bytes_of(model.estimator) == bytes_of(expected)
    found = model.transform(framed(spark, X, words)).toPandas()
    assert found["prediction"].tolist() == expected.predict(X).tolist()
    np.testing.assert_allclose(np.array(found["probability"].map(list).tolist()), expected.predict_proba(X))


@pytest.mark.parametrize("space", ["poly2", Products(degree=3)], ids=str)
def test_products(spark, space):
    X, y = planted(n=100, m=12, relevant=(1, 4, 6))
    X = (X > 0).astype(float)
    model = SparkFGMClassifier(**FEW, space=space, num_workers=2).fit(framed(spark, X, y.astype(float)))
    assert bytes_of(model.estimator) == bytes_of(
        FGMClassifier(**FEW, space=space).fit(np.asfortranarray(X), y)
    )


def test_folds(spark):
    X, y = planted(n=80, m=10, relevant=(1, 4))
    parameters = {"n_features": 2, "cv": 2, "exchange": 0}
    model = SparkFGMClassifierCV(**parameters, num_workers=2).fit(framed(spark, X, y.astype(float))).estimator
    expected = FGMClassifierCV(**parameters).fit(np.asfortranarray(X), y)
    assert bytes_of(model) == bytes_of(expected) and model.cv_score_ == expected.cv_score_


def test_progress_is_shown(spark, capsys):
    X, y = planted(n=60, m=10, relevant=(1, 4))
    SparkFGMClassifier(**FEW, verbose=2, num_workers=2).fit(framed(spark, X, y.astype(float)))
    shown = capsys.readouterr().err.splitlines()
    assert shown[0] == "loading 2 shards of columns" and shown[1].startswith("loaded in ")
    assert shown[2].startswith("round 1: ")


def test_arrays_and_columns(spark):
    X, y = planted(n=80, m=6, relevant=(1, 4))
    names = [f"x{j}" for j in range(6)]
    frame = pd.DataFrame(X, columns=names).assign(label=y.astype(float), all=[row.tolist() for row in X])
    frame = spark.createDataFrame(frame).repartition(1)
    plain = FGMClassifier(**FEW).fit(np.asfortranarray(X), y)
    model = SparkFGMClassifier(features_col="all", **FEW).fit(frame)
    assert bytes_of(model.estimator) == bytes_of(plain)
    named = SparkFGMClassifier(features_col=names, **FEW).fit(frame)
    assert list(named.estimator.feature_names_in_) == names
    for fitted in (model, named):
        found = fitted.transform(frame).toPandas()
        assert found["prediction"].tolist() == plain.predict(X).tolist()


def test_empty_partitions(spark):
    X, y = planted(n=40, m=10, relevant=(2, 5))
    frame = framed(spark, X, y.astype(float), partitions=2)
    frame = spark.createDataFrame(frame.rdd.union(spark.sparkContext.parallelize([], 3)), frame.schema)
    model = SparkFGMClassifier(**FEW, num_workers=4).fit(frame)
    assert bytes_of(model.estimator) == bytes_of(FGMClassifier(**FEW).fit(np.asfortranarray(X), y))


def test_pipelines_searches_and_files(spark, tmp_path):
    X, y = planted(n=120, m=8, relevant=(1, 4, 6))
    names = [f"x{j}" for j in range(8)]
    frame = spark.createDataFrame(pd.DataFrame(X, columns=names).assign(label=y.astype(float)))
    classifier = SparkFGMClassifier(n_features=2, budget=2, exchange=0)
    pipeline = Pipeline(stages=[VectorAssembler(inputCols=names, outputCol="features"), classifier])
    grid = ParamGridBuilder().addGrid(classifier.n_features, [1, 3]).build()
    search = CrossValidator(
        estimator=pipeline,
        estimatorParamMaps=grid,
        evaluator=BinaryClassificationEvaluator(),
        numFolds=2,
        seed=1,
    )
    best = search.fit(frame).bestModel
    assert best.stages[-1].estimator.n_selected_ == 3
    best.write().overwrite().save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    assert again.stages[-1].uid == best.stages[-1].uid
    one, other = (model.transform(frame).select("prediction").toPandas() for model in (best, again))
    assert one.equals(other)
    classifier.save(str(tmp_path / "estimator"))
    assert SparkFGMClassifier.load(str(tmp_path / "estimator")).getOrDefault("n_features") == 2
    # Files of featgen, both ways.
    best.stages[-1].estimator.save(tmp_path / "model.json")
    loaded = SparkFGMModel(featgen.load(tmp_path / "model.json"), features_col=names)
    assert loaded.transform(frame).select("prediction").toPandas().equals(one)


def test_what_happens_in_the_driver(spark, tmp_path):
    X, y = planted(n=80, m=20)
    frame = framed(spark, X, y.astype(float))

    def interrupt(round):
        if round["round"] == 3:
            signal.raise_signal(signal.SIGINT)

    parameters = {"max_rounds": 4, "budget": 1, "tol": 0.0, "checkpoint": str(tmp_path / "run.ckpt")}
    with pytest.raises(KeyboardInterrupt):
        SparkFGMClassifier(**parameters, callback=interrupt).fit(frame)
    seen = []
    model = SparkFGMClassifier(**parameters, callback=lambda r: seen.append(r["round"])).fit(frame)
    plain = FGMClassifier(max_rounds=4, budget=1, tol=0.0).fit(np.asfortranarray(X), y)
    assert bytes_of(model.estimator) == bytes_of(plain) and min(seen) > 2


def test_shards_that_are_lost_are_loaded_again(spark):
    X, y = planted(n=80, m=20)
    removed = []

    def remove(round):
        if round["round"] in (1, 3):
            for folder in folders():
                shutil.rmtree(folder)
                removed.append(folder)

    def folders():
        roots = spark.sparkContext.parallelize([0], 1).map(lambda _: os.environ["SPARK_LOCAL_DIRS"]).collect()
        root = roots[0].split(",")[0]
        return [os.path.join(root, name) for name in os.listdir(root) if name.startswith("featgen-")]

    model = SparkFGMClassifier(max_rounds=4, budget=1, tol=0.0, callback=remove).fit(
        framed(spark, X, y.astype(float))
    )
    assert len(removed) == 2
    plain = FGMClassifier(max_rounds=4, budget=1, tol=0.0).fit(np.asfortranarray(X), y)
    assert bytes_of(model.estimator) == bytes_of(plain)
    assert folders() == []


def test_processes_of_python_that_are_killed_are_replaced(spark):
    X, y = planted(n=80, m=20)
    killed = []

    def kill(round):
        if round["round"] in (1, 3):
            pids = set(spark.sparkContext.parallelize(range(4), 4).map(lambda _: os.getpid()).collect())
            killed.extend(pids)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)

    model = SparkFGMClassifier(max_rounds=4, budget=1, tol=0.0, callback=kill, num_workers=2).fit(
        framed(spark, X, y.astype(float))
    )
    assert len(set(killed)) >= 2
    plain = FGMClassifier(max_rounds=4, budget=1, tol=0.0).fit(np.asfortranarray(X), y)
    assert bytes_of(model.estimator) == bytes_of(plain)


def test_what_a_task_raises_is_raised_here(spark, monkeypatch):
    X, y = planted(n=60, m=10, relevant=(1, 4))
    frame = framed(spark, X, y.astype(float))

    def broken(request, sent, shards):
        list(shards)
        raise OSError("the disk of this executor is full")

    def callback(round):
        monkeypatch.setattr("featgen.spark._spark.answered", broken)

    with pytest.raises(PySparkException, match="the disk of this executor is full"):
        SparkFGMClassifier(max_rounds=3, budget=1, tol=0.0, callback=callback).fit(frame)


#: A cluster of two executors, each in a process of its own with directories of its own. One is killed in the second
#: round, the driver in the fourth.
CLUSTER = """
import os, signal, sys
from conftest import planted
from featgen.spark import SparkFGMClassifier
from pyspark.ml.linalg import Vectors
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local-cluster[2,1,512]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.executor.memory", "512m")
spark = builder.config("spark.worker.cleanup.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
X, y = planted(n=80, m=20)
rows = [(Vectors.dense(x), float(label)) for x, label in zip(X, y)]
frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, 2), ["features", "label"])

def executor(_):
    # Processes of Python are children of a daemon, which is one of the executor.
    with open(f"/proc/{os.getppid()}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])

def happen(round):
    if round["round"] == 2:
        executors = set(spark.sparkContext.parallelize(range(8), 8).map(executor).collect())
        os.kill(min(executors), signal.SIGKILL)
        print("killed one of", len(executors), flush=True)
    if round["round"] == 4:
        os.kill(os.getpid(), signal.SIGKILL)

run = {"max_rounds": 5, "budget": 1, "tol": 0.0}
SparkFGMClassifier(**run, num_workers=2, callback=happen, checkpoint=sys.argv[1]).fit(frame)
"""


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks for processes in /proc")
def test_executors_and_drivers_that_are_killed(spark, tmp_path):
    file = tmp_path / "run.ckpt"
    command = [sys.executable, "-c", CLUSTER, str(file)]
    # What it says goes to a file: processes that are left behind, were there any, would keep a pipe open.
    with open(tmp_path / "said", "w") as said:
        group = subprocess.Popen(
            command, cwd=os.path.dirname(__file__), stdout=said, stderr=said, start_new_session=True
        )
        try:
            code = group.wait(timeout=600)
        finally:
            if group.poll() is None:
                os.killpg(group.pid, signal.SIGKILL)
    assert code == -signal.SIGKILL and "killed one of 2" in (tmp_path / "said").read_text()
    # The other processes of that cluster end by themselves.
    for _ in range(300):
        if not of_session(group.pid):
            break
        time.sleep(0.1)
    assert of_session(group.pid) == []
    # Another cluster goes on, with as many shards as it likes.
    X, y = planted(n=80, m=20)
    run, seen = {"max_rounds": 5, "budget": 1, "tol": 0.0}, []
    on = SparkFGMClassifier(
        **run, num_workers=3, checkpoint=str(file), callback=lambda r: seen.append(r["round"])
    )
    model = on.fit(framed(spark, X, y.astype(float))).estimator
    assert bytes_of(model) == bytes_of(FGMClassifier(**run).fit(np.asfortranarray(X), y)) and min(seen) >= 4


def of_session(session):
    """The processes of a session that are still there."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{pid}/stat") as stat:
            state, _, _, own = stat.read().rpartition(")")[2].split()[:4]
            if int(own) == session and state != "Z":
                found.append(int(pid))
    return found


def test_what_cannot_be_is_said(spark):
    X, y = planted(n=40, m=5, relevant=(1, 4))
    frame = framed(spark, X, y.astype(float))
    with pytest.raises(TypeError, match="has no parameter 'depth'"):
        SparkFGMClassifier(depth=3)
    with pytest.raises(ValueError, match="vectors or arrays of numbers are needed"):
        SparkFGMClassifier(features_col="label").fit(frame)
    with pytest.raises(ValueError, match="the frame has no rows"):
        SparkFGMClassifier().fit(frame.filter("label > 5"))
    X[3, 2] = np.nan
    with pytest.raises(
        ValueError, match="row 4, feature 3: NaN is not a finite number: data in shards must not have gaps"
    ):
        SparkFGMClassifier(**FEW).fit(framed(spark, X, y.astype(float)))
    words = spark.createDataFrame([("u", 1.0, 0.0), ("v", 2.0, 1.0)] * 4, ["colour", "size", "label"])
    with pytest.raises(
        ValueError, match="'colour' is of type string: features must be numbers; index and encode"
    ):
        SparkFGMClassifier(features_col=["colour", "size"]).fit(words)
