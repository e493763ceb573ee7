"""What a round costs on a cluster: constants measured here, and what follows from them for data that are not here.

    python bench/cluster.py             # measures: 20,000 x 200,000 sparse values, two workers of Dask
    python bench/cluster.py --spark     # the same with Spark, local[2]
    python bench/cluster.py --speed 4   # one worker of one thread against two, on a store of so many gigabytes
    python bench/cluster.py --products  # poly2 and products: one process, and two workers of Dask
    python bench/cluster.py --simulate  # the model of docs/cluster.md, with the constants there
"""

import argparse
import math
import os
import resource
import statistics
import sys
import tempfile
import time

#: Measured by this program, on two cores: seconds that the scheduler takes for a question with two shards, and for each task more.
LATENCY, TASK = 0.08, 0.001
#: Values that one core measures by gain in a second, where rows are all over memory; by score, twice as many.
RATE = 2e7
#: Assumed: bytes a second from machine to machine, and cores of a machine.
BANDWIDTH, CORES = 1.25e9, 8


def data(n=20_000, m=200_000, per_row=100):
    import numpy as np
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    columns = np.minimum((m * rng.random((n, per_row)) ** 2).astype(np.int64), m - 1)
    pointers = np.arange(0, n * per_row + 1, per_row)
    X = sp.csr_matrix((np.ones(n * per_row), columns.ravel(), pointers), shape=(n, m))
    X.sum_duplicates()
    X.data[:] = 1.0
    w = np.zeros(m)
    w[:60] = rng.normal(size=60)
    return X, (X @ w + 0.3 * rng.normal(size=n) > 0).astype(int)


RUN = {"max_rounds": 15, "budget": 10, "tol": 0.0, "C": 1.0}


def timed(owner, name, asked):
    call = getattr(owner, name)

    def wrapped(self, request):
        start = time.perf_counter()
        replies = call(self, request)
        asked.append((len(request), sum(map(len, replies)), time.perf_counter() - start))
        return replies

    setattr(owner, name, wrapped)


def show(asked, model, plain, seconds):
    # What a run begins with is not part of a round.
    rounds = [ask for ask in asked[4:]]
    each = sum(ask[2] for ask in rounds) / model.n_iter_
    print(f"{seconds:.2f} s, {len(asked)} questions, {each:.3f} s a round for questions, with scoring")
    sent, received = (sum(ask[k] for ask in rounds) / model.n_iter_ / 1e3 for k in (0, 1))
    print(f"a round sends {sent:.0f} kB to each shard and receives {received:.0f} kB")
    print("the same model as in one process:", model._model.to_json() == plain._model.to_json())
    print(f"memory of the driver, with the data that it made: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")


def dask(X, y, plain):
    import dask.array as da
    import featgen.dask
    from dask import delayed
    from distributed import Client

    asked = []
    timed(featgen.dask._Asking, "__call__", asked)
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        blocks = [X[first : first + 2000] for first in range(0, X.shape[0], 2000)]
        parts = [da.from_delayed(delayed(b), b.shape, b.dtype, meta=b[:0]) for b in blocks]
        for _ in range(2):
            asked.clear()
            start = time.perf_counter()
            model = featgen.dask.DaskFGMClassifier(**RUN).fit(da.concatenate(parts), y)
            seconds = time.perf_counter() - start
        show(asked, model, plain, seconds)


def spark(X, y, plain):
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    import featgen.spark
    from pyspark.ml.linalg import Vectors
    from pyspark.sql import SparkSession

    asked = []
    timed(featgen.spark._Loaded, "_ask", asked)
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    rows = [(Vectors.sparse(X.shape[1], row.indices, row.data), float(label)) for row, label in zip(X, y)]
    frame = session.createDataFrame(session.sparkContext.parallelize(rows, 4), ["features", "label"]).persist()
    for _ in range(2):
        asked.clear()
        start = time.perf_counter()
        model = featgen.spark.SparkFGMClassifier(num_workers=2, **RUN).fit(frame).estimator
        seconds = time.perf_counter() - start
    show(asked, model, plain, seconds)
    session.stop()


def speed(gigabytes, folder):
    """One worker of one thread against two, where scoring is most of it: seconds of the questions of a round, and in all."""
    import numpy as np
    from distributed import Client
    from featgen import _featgen
    from featgen.dask import DaskFGMClassifier, _Asking

    # Of so many rows no copy in bytes is made: every round reads all values.
    n, path = 40_960, os.path.join(folder, "speed.store")
    m = int(gigabytes * 2**30 / 4 / n)
    rng = np.random.default_rng(0)
    maker = _featgen.Maker(path, 1 << 30)
    y = np.zeros(n)
    for first in range(0, n, 256):
        block = rng.standard_normal((256, m), dtype=np.float32)
        y[first : first + 256] = block[:, :40] @ np.linspace(-1, 1, 40)
        maker.add(block, False)
    maker.finish([], None, None, None)
    asked, found = [], {1: [], 2: []}
    timed(_Asking, "__call__", asked)
    for workers in (1, 2) * 3:
        with Client(n_workers=workers, threads_per_worker=1, dashboard_address=":0"):
            asked.clear()
            DaskFGMClassifier(n_features=80, exchange=0, n_jobs=1).fit(path, (y > 0).astype(int))
            # Those that send residuals are about all columns.
            found[workers].append(statistics.median(ask[2] for ask in asked if ask[0] > 8 * n))
            print(f"{workers} workers: {found[workers][-1]:.3f} s for a question about all columns", flush=True)
    os.remove(path)
    print(f"two workers are {min(found[1]) / min(found[2]):.2f} times as fast as one")


def products():
    """Products of zeros and ones: one process, and two workers of Dask, with what is sent."""
    import dask.array as da
    import featgen.dask
    from dask import delayed
    from distributed import Client
    from featgen import FGMClassifier, Products

    asked = []
    timed(featgen.dask._Asking, "__call__", asked)
    X, y = data(n=5_000, m=20_000, per_row=50)
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        blocks = [X[first : first + 1000] for first in range(0, X.shape[0], 1000)]
        parts = [da.from_delayed(delayed(b), b.shape, b.dtype, meta=b[:0]) for b in blocks]
        for space in ("poly2", Products(degree=3, min_support=5)):
            run = {"max_rounds": 5, "budget": 10, "tol": 0.0, "C": 1.0, "space": space}
            start = time.perf_counter()
            plain = FGMClassifier(**run, n_jobs=1).fit(X.tocsc(), y)
            print(f"{space}: one process of one thread {time.perf_counter() - start:.2f} s for {plain.n_iter_} rounds")
            asked.clear()
            start = time.perf_counter()
            model = featgen.dask.DaskFGMClassifier(**run).fit(da.concatenate(parts), y)
            show(asked, model, plain, time.perf_counter() - start)


def round_seconds(n, nonzeros, machines, outputs=1):
    """Bytes and seconds of a round by gain: residuals and curvature to every machine, from one to two others at a time."""
    sent = 2 * 8 * n * outputs
    hops = math.ceil(math.log2(machines + 1))
    return sent, hops * sent / BANDWIDTH, nonzeros * outputs / (machines * CORES * RATE), 2 * (LATENCY + TASK * machines)


def simulate():
    print(f"{'':22}{'machines':>9}{'sent to each':>14}{'sending':>9}{'scoring':>10}{'overhead':>9}{'round':>10}")
    for name, n, nonzeros in (("kddb, 566 M values", 19_264_097, 566e6), ("10^12 values", 100_000_000, 1e12)):
        for machines in (1, 4, 10, 30, 100, 300):
            sent, sending, scoring, overhead = round_seconds(n, nonzeros, machines)
            total = sending + scoring + overhead
            print(
                f"{name:22}{machines:9}{sent / 1e6:11.0f} MB{sending:7.1f} s{scoring:8.1f} s{overhead:7.1f} s{total:8.1f} s"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--products", action="store_true")
    parser.add_argument("--speed", type=float, metavar="GIGABYTES")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where the store of --speed is made")
    options = parser.parse_args()
    if options.simulate:
        simulate()
    elif options.speed:
        speed(options.speed, options.folder)
    elif options.products:
        products()
    else:
        from featgen import FGMClassifier

        X, y = data()
        start = time.perf_counter()
        plain = FGMClassifier(**RUN).fit(X.tocsc(), y)
        print(f"one process: {time.perf_counter() - start:.2f} s for {plain.n_iter_} rounds")
        (spark if options.spark else dask)(X, y, plain)
