"""The homes of exported models: each takes a file and data, and returns what the file says of them, row by row."""

import atexit
import ctypes
import functools
import io
import itertools
import math
import os
import runpy
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest


@dataclass
class Said:
    """Decisions by rows and outputs; predictions and probabilities, if there are any, by rows."""

    decision: np.ndarray
    prediction: list
    probability: np.ndarray | None = None


def cells(column):
    """The cells of a column of a frame; None where one is missing."""
    return [None if pd.isna(cell) else cell for cell in column.astype(object)]


def names(X):
    """What columns are called where names are needed: by number, where there are none."""
    return X.columns.tolist() if hasattr(X, "columns") else [str(k + 1) for k in range(X.shape[1])]


def frame(X):
    return X if hasattr(X, "columns") else pd.DataFrame(X, columns=names(X))


def of_table(columns):
    """From columns by the names that SQL and PMML give them: with `_` more, where those of the data are called so."""
    columns = {name.removeprefix("featgen_").strip("_"): columns[name] for name in columns}
    many = {name: columns[name] for name in columns if name.startswith(("decision", "probability"))}
    by_kind = lambda kind: [np.asarray(many[name], dtype=float) for name in many if name.startswith(kind)]
    probability = by_kind("probability")
    return Said(
        np.column_stack(by_kind("decision")),
        list(columns["prediction"]),
        np.column_stack(probability) if probability else None,
    )


def python(file, X):
    module = runpy.run_path(str(file))
    if hasattr(X, "columns"):
        rows = [dict(zip(X.columns, row)) for row in zip(*(cells(X.iloc[:, k]) for k in range(X.shape[1])))]
    else:
        rows = X.tolist()
    decision = np.array([np.atleast_1d(module["decision"](row)) for row in rows])
    probability = None
    if module["PROBABILITIES"]:
        probability = np.array([list(module["probabilities"](row).values()) for row in rows])
        probability = probability[:, 1:] if decision.shape[1] == 1 else probability
    return Said(decision, [module["predict"](row) for row in rows], probability)


def onnx(file, X):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx").checker.check_model(str(file), full_check=True)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    feed = {}
    for taken in session.get_inputs():
        if not hasattr(X, "columns"):
            feed[taken.name] = np.ascontiguousarray(X, dtype=np.float64)
        elif taken.type == "tensor(string)":
            texts = ["" if cell is None else str(cell) for cell in cells(X[taken.name])]
            feed[taken.name] = np.array(texts, dtype=object).reshape(-1, 1)
        else:
            feed[taken.name] = X[taken.name].to_numpy(np.float64, na_value=np.nan).reshape(-1, 1)
    outputs = [output.name for output in session.get_outputs()]
    found: dict[str, Any] = dict(zip(outputs, session.run(None, feed)))
    decision, prediction = found[outputs[0]], found[outputs[1]]
    probability = found[outputs[2]] if len(outputs) > 2 else None
    if probability is not None and decision.shape[1] == 1:
        probability = probability[:, 1:]
    return Said(decision, prediction.tolist(), probability)


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'


def query(file):
    """The text as it is: names may hold line breaks of any kind."""
    return file.read_bytes().decode()


def sqlite(file, X):
    X = frame(X)
    connection = sqlite3.connect(":memory:")
    # Without a type, cells are what they are.
    connection.execute(f"CREATE TABLE data ({', '.join(map(_quoted, X.columns))})")
    rows = zip(*(cells(X.iloc[:, k]) for k in range(X.shape[1])))
    rows = [[cell.item() if isinstance(cell, np.generic) else cell for cell in row] for row in rows]
    connection.executemany(f"INSERT INTO data VALUES ({', '.join('?' * X.shape[1])})", rows)
    found = connection.execute(query(file))
    columns = [column[0] for column in found.description]
    by_column = list(zip(*found.fetchall()))
    return of_table(dict(zip(columns[X.shape[1] :], by_column[X.shape[1] :])))


def duckdb(file, X):
    duckdb = pytest.importorskip("duckdb")
    pyarrow = pytest.importorskip("pyarrow")
    X = frame(X)
    with duckdb.connect() as connection:
        connection.register("data", pyarrow.Table.from_pandas(X, preserve_index=False))
        found = connection.execute(query(file))
        columns = [column[0] for column in found.description]
        by_column = list(zip(*found.fetchall()))
    return of_table(dict(zip(columns[X.shape[1] :], by_column[X.shape[1] :])))


@functools.cache
def postgres_server():
    """A server of our own, in a folder of its own, until the tests end; its folder."""
    found = shutil.which("initdb") or next(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")), None)
    if found is None or shutil.which("psql") is None:
        return None
    folder = tempfile.mkdtemp(prefix="featgen-postgres-")
    as_user = []
    if os.getuid() == 0:
        # It refuses to run as root.
        shutil.chown(folder, "nobody")
        as_user = ["setpriv", "--reuid=nobody", "--clear-groups"]
    run = lambda program, *arguments: subprocess.run(
        [*as_user, str(Path(found).with_name(program)), "-D", f"{folder}/data", *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=folder,
    )
    run("initdb", "-U", "featgen", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")
    run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", f"-k {folder} -F -c listen_addresses=''", "start")
    atexit.register(lambda: (run("pg_ctl", "-m", "immediate", "stop"), shutil.rmtree(folder)))
    return folder


def postgres(file, X):
    folder = postgres_server()
    if folder is None:
        pytest.skip("there is no PostgreSQL")
    X = frame(X)
    kinds = {"b": "boolean", "f": "double precision"}
    kind = lambda column: kinds.get(getattr(column.dtype, "kind", "O"), "text")
    columns = ", ".join(f"{_quoted(name)} {kind(X[name])}" for name in X.columns)
    data, select = Path(folder, "data.csv"), query(file).rstrip().rstrip(";")
    X.to_csv(data, index=False, header=False)
    script = f"""
        SET client_min_messages = error;
        CREATE TEMPORARY TABLE data ({columns});
        \\copy data FROM {data} WITH (FORMAT csv)
        COPY ({select}) TO STDOUT WITH (FORMAT csv, HEADER)
    ;"""
    printed = subprocess.run(
        ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", folder, "-U", "featgen", "-d", "postgres"],
        input=script.encode(),
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    # No cell stands for a missing one, but for decisions.
    found = pd.read_csv(io.BytesIO(printed), header=None, skiprows=0, keep_default_na=False, dtype=str)
    added = found.iloc[:, X.shape[1] :]
    said = {name: added[k].tolist()[1:] for k, name in zip(added, added.iloc[0])}
    return of_table({name: ["nan" if cell == "" else cell for cell in said[name]] for name in said})


_LIBRARIES = itertools.count()


def c(file, X):
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    # A library is loaded once: another one needs another name.
    library = file.with_suffix(f".{next(_LIBRARIES)}.so")
    strict = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    subprocess.run(["gcc", *strict, "-o", library, file, "-lm"], check=True)
    code = ctypes.CDLL(str(library))
    defined = dict(line.split()[1:3] for line in file.read_text().splitlines() if line.startswith("#define "))
    numbers, texts, outputs = (int(defined[f"FEATGEN_{what}"]) for what in ("NUMBERS", "TEXTS", "DECISIONS"))
    if hasattr(X, "columns"):
        listed = lambda kind, count: (
            [name.decode() for name in (ctypes.c_char_p * count).in_dll(code, f"featgen_{kind}_names")]
            if count
            else []
        )
        by_number = [X[name].to_numpy(np.float64, na_value=np.nan) for name in listed("number", numbers)]
        by_text = [cells(X[name]) for name in listed("text", texts)]
    else:
        by_number, by_text = list(np.asarray(X, dtype=np.float64).T), []
    classes = int(defined.get("FEATGEN_CLASSES", 0))
    said = Said(np.zeros((len(X), outputs)), [], None)
    if hasattr(code, "featgen_probabilities"):
        said.probability = np.zeros((len(X), classes))
    for k in range(len(X)):
        number = (ctypes.c_double * max(numbers, 1))(*(column[k] for column in by_number))
        cell = [None if column[k] is None else str(column[k]).encode() for column in by_text]
        text = (ctypes.c_char_p * max(texts, 1))(*cell)
        decision = (ctypes.c_double * outputs)()
        code.featgen_decisions(number, text, decision)
        said.decision[k] = decision
        if classes:
            labels = (ctypes.c_char_p * classes).in_dll(code, "featgen_classes")
            said.prediction.append(labels[code.featgen_class(decision)].decode())
        else:
            code.featgen_prediction.restype = ctypes.c_double
            said.prediction.append(code.featgen_prediction(ctypes.c_double(decision[0])))
        if said.probability is not None:
            probability = (ctypes.c_double * classes)()
            code.featgen_probabilities(decision, probability)
            said.probability[k] = probability
    if said.probability is not None and outputs == 1:
        said.probability = said.probability[:, 1:]
    return said


#: Reads rows from a pickle, and writes what a model says of them to another. Java takes over Ctrl-C, which other tests
#: send, so that it must have a process of its own.
_JPMML = """
import sys
import jpmml_evaluator
import pandas as pd
evaluator = jpmml_evaluator.make_evaluator(sys.argv[1]).verify()
rows = pd.read_pickle(sys.argv[2])[[field.name for field in evaluator.getInputFields()]]
found = evaluator.evaluateAll(rows)
pd.to_pickle({field.name: found[field.name].tolist() for field in evaluator.getOutputFields()}, sys.argv[3])
"""


def pmml(file, X):
    pytest.importorskip("jpmml_evaluator")
    if shutil.which("java") is None:
        pytest.skip("there is no java")
    X = frame(X)
    rows, found = file.with_suffix(".rows"), file.with_suffix(".found")
    pd.to_pickle(pd.DataFrame({name: pd.Series(cells(X[name]), dtype=object) for name in X.columns}), rows)
    subprocess.run([sys.executable, "-I", "-c", _JPMML, file, rows, found], check=True, timeout=300)
    return of_table(pd.read_pickle(found))


def liblinear(file, X):
    util = pytest.importorskip("liblinear.liblinearutil")
    model = util.load_model(str(file))
    X = np.asarray(frame(X), dtype=np.float64)
    regression = model.is_regression_model()
    options = "-q -b 1" if model.is_probability_model() else "-q"
    labels, _, decision = util.predict([], X, model, "-q")
    decision = np.array(decision)
    known = model.get_labels()
    probability = None
    if not regression and decision.shape[1] == 1:
        # Its first class is that of positive decisions.
        if options != "-q":
            probability = np.array(util.predict([], X, model, options)[2])[:, :1]
        known = known[::-1]
    return Said(decision, labels if regression else [int(label) for label in labels], probability)


#: Homes by name, and what models are exported to for them.
HOMES = {
    "onnxruntime": ("onnx", onnx),
    "jpmml": ("pmml", pmml),
    "sqlite": ("sql", sqlite),
    "duckdb": ("sql", duckdb),
    "postgres": ("sql", postgres),
    "gcc": ("c", c),
    "python": ("python", python),
    "liblinear": ("liblinear", liblinear),
}


def close(found, expected, tolerance=1e-9):
    """Whether numbers agree, relative to their size and to that of all of them."""
    scale = tolerance * (1.0 + np.abs(expected))
    return bool(np.all(np.abs(found - expected) <= scale)) and not math.isnan(float(np.sum(found)))
