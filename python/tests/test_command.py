"""The command that comes with the package: a real program, which runs the same engine."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import featgen
import numpy as np
import pytest
from conftest import planted
from featgen import FGMClassifier
from sklearn.datasets import dump_svmlight_file

SCRIPT = [
    str(Path(sysconfig.get_path("scripts")) / ("featgen.exe" if sys.platform == "win32" else "featgen"))
]
MODULE = [sys.executable, "-m", "featgen"]


@pytest.fixture(params=[SCRIPT, MODULE], ids=["script", "module"])
def run(request, tmp_path):
    def run(*arguments, **kwargs):
        command = [*request.param, *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, **kwargs)

    return run


@pytest.fixture
def data_file(tmp_path):
    X, y = planted()
    dump_svmlight_file(X, y, str(tmp_path / "data.svm"), zero_based=False)
    return tmp_path / "data.svm"


def test_the_command_trains_and_predicts(run, tmp_path, data_file):
    X, y = planted()
    trained = run("train", "data.svm", "--features", 4, "-o", "model.json", "--json")
    assert trained.returncode == 0, trained.stderr
    assert len(json.loads(trained.stdout)["selected"]) == 4
    predicted = run("predict", "model.json", "data.svm")
    assert predicted.returncode == 0, predicted.stderr
    model = featgen.load(tmp_path / "model.json")
    np.testing.assert_array_equal(np.array(predicted.stdout.split(), dtype=int), model.predict(X))
    assert "accuracy" in predicted.stderr
    assert model.n_features == 4 and model.score(X, y) > 0.9


def test_the_command_reads_standard_input(run, data_file):
    trained = run("train", "-", "--features", 2, "--json", input=data_file.read_text())
    assert trained.returncode == 0 and len(json.loads(trained.stdout)["selected"]) == 2


def test_the_command_has_the_version_of_the_package(run):
    shown = run("--version")
    assert (shown.returncode, shown.stdout) == (0, f"featgen {featgen.__version__}\n")


def test_the_command_calls_itself_featgen(run):
    assert "Usage: featgen train" in run("help", "train").stdout
    assert "Usage: featgen train" in run("train").stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["predict", "nowhere.json", "data.svm"], 1, "nowhere.json: "),
        (["train", "bad.svm"], 1, "bad.svm:1:"),
        (["train", "data.svm", "--features", "0"], 2, "--features"),
        (["train", "data.svm", "--unknown"], 2, "--unknown"),
        ([], 2, "Usage: featgen"),
    ],
    ids=str,
)
def test_exit_codes_of_the_command(run, tmp_path, data_file, arguments, code, message):
    (tmp_path / "bad.svm").write_text("1 1:x\n")
    ended = run(*arguments)
    assert ended.returncode == code and message in ended.stderr and ended.stdout == ""
    assert "Traceback" not in ended.stderr


def test_a_reader_that_has_seen_enough_is_no_error(data_file):
    """As in ``featgen predict ... | head -1``."""
    FGMClassifier().fit(*planted()).save(data_file.parent / "model.json")
    data_file.write_bytes(data_file.read_bytes() * 200)
    with subprocess.Popen(
        [*SCRIPT, "predict", "model.json", "data.svm"],
        cwd=data_file.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        program.stdout.close()
        assert program.wait(timeout=60) == 0
        assert b"Traceback" not in program.stderr.read()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("program", [SCRIPT, MODULE], ids=["script", "module"])
def test_an_interrupted_run_saves_the_model_so_far(tmp_path, program, number):
    """Python's own handler would only make a note, which nobody reads before the run ends."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", rng.normal(size=(2000, 4000)))
    (tmp_path / "y.txt").write_text("".join(f"{label}\n" for label in rng.integers(2, size=2000)))
    command = [*program, "train", "x.npy", "--labels", "y.txt", "--features", "1500", "-B", "1", "-v"]
    with subprocess.Popen(
        [*command, "-o", "model.json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    ) as run:
        # The first round has ended: a handler is there.
        assert "1" in run.stderr.readline()
        run.send_signal(number)
        began = time.monotonic()
        out, err = run.communicate(timeout=60)
        assert time.monotonic() - began < 30
    assert run.returncode == 130, err
    assert "stopped" in out and "ending with the model so far" in err
    model = featgen.load(tmp_path / "model.json")
    assert model.stopped_ == "interrupted" and 1 <= model.n_selected_ < 1500


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_what_has_no_handler(data_file):
    FGMClassifier().fit(*planted()).save(data_file.parent / "model.json")
    # It waits for data that never come.
    with subprocess.Popen(
        [*SCRIPT, "predict", "model.json", "-"],
        cwd=data_file.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        time.sleep(2)
        assert program.poll() is None
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=10) in (-signal.SIGINT, 130)
        assert b"Traceback" not in program.stderr.read()


def test_the_command_does_not_wait_for_scikit_learn():
    """Importing it takes a second or more."""
    code = "import sys, featgen.__main__; sys.exit('sklearn' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
