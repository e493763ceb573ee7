"""Fits that are kept in a file, and go on from it."""

import copy
import os
import pickle
import shutil
import signal
import sys
from pathlib import Path

import featgen
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import planted
from featgen import FGMClassifier, FGMSelector, Groups
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file

PARAMETERS = {"n_features": 12, "budget": 1, "C": 0.1}


def ended_after(rounds):
    return lambda round: round["round"] == rounds


def interrupted_after(rounds):
    def callback(round):
        if round["round"] == rounds:
            signal.raise_signal(signal.SIGINT)

    return callback


def saved(model, folder):
    """The bytes of the model's file."""
    model.save(folder / "model.json")
    return (folder / "model.json").read_bytes()


@pytest.fixture
def kept(tmp_path, data):
    """The checkpoint of a run that was ended after some rounds."""
    file = tmp_path / "run.ckpt"
    FGMClassifier(**PARAMETERS, checkpoint=file, callback=ended_after(3)).fit(*data)
    assert file.stat().st_size > 0
    return file


# Going on


@pytest.mark.parametrize("kind", [FGMClassifier, FGMSelector])
@pytest.mark.parametrize("given", [str, Path])
def test_a_fit_that_was_ended_goes_on_to_the_same_model(tmp_path, data, kind, given):
    file = given(tmp_path / "run.ckpt")
    whole = kind(**PARAMETERS).fit(*data)
    part = kind(**PARAMETERS, checkpoint=file, callback=ended_after(3)).fit(*data)
    assert part.stopped_ == "interrupted" and part.n_iter_ < whole.n_iter_
    seen = []
    again = kind(**PARAMETERS, checkpoint=file, callback=seen.append).fit(*data)
    assert saved(again, tmp_path) == saved(whole, tmp_path)
    assert again.n_iter_ == whole.n_iter_ == seen[-1]["round"] and seen[0]["round"] >= 3
    # It had come to its end, and comes to it again.
    assert saved(kind(**PARAMETERS, checkpoint=file).fit(*data), tmp_path) == saved(whole, tmp_path)


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "logistic", "class_weight": "balanced"},
        {"space": "gaussian"},
        {"space": "poly2", "fit_intercept": False},
        {"space": Groups([[i, i + 1] for i in range(0, 24, 2)]), "solver": "apg"},
    ],
    ids=str,
)
@pytest.mark.parametrize("layout", [np.asarray, sp.csc_array])
def test_whatever_is_fitted(tmp_path, data, parameters, layout):
    X, y = data
    X, parameters = layout(X), {"n_features": 8, "budget": 1, **parameters}
    file = tmp_path / "run.ckpt"
    whole = FGMClassifier(**parameters).fit(X, y)
    FGMClassifier(**parameters, checkpoint=file, callback=ended_after(3)).fit(X, y)
    again = FGMClassifier(**parameters, checkpoint=file, n_jobs=2).fit(X, y)
    assert saved(again, tmp_path) == saved(whole, tmp_path)


def test_on_a_store(tmp_path, data):
    dump_svmlight_file(*data, str(tmp_path / "data.svm"), zero_based=False)
    store = featgen.convert(tmp_path / "data.svm", tmp_path / "data.store")
    whole = FGMClassifier(**PARAMETERS).fit(store, store.y)
    kept = FGMClassifier(**PARAMETERS, checkpoint=tmp_path / "run.ckpt", callback=ended_after(3))
    kept.fit(store, store.y).set_params(callback=None).fit(store, store.y)
    assert saved(kept, tmp_path) == saved(whole, tmp_path)


def test_after_ctrl_c(tmp_path, data):
    model = FGMClassifier(**PARAMETERS, checkpoint=tmp_path / "run.ckpt", callback=interrupted_after(3))
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data)
    assert model.stopped_ == "interrupted"
    model.set_params(callback=None).fit(*data)
    assert saved(model, tmp_path) == saved(FGMClassifier(**PARAMETERS).fit(*data), tmp_path)


def test_a_run_that_ended_can_be_extended(data, tmp_path):
    paper, kept = {**PARAMETERS, "select": "paper"}, tmp_path / "paper.ckpt"
    FGMClassifier(**paper, checkpoint=kept).fit(*data)
    more = {**paper, "n_features": 16}
    longer = FGMClassifier(**more, checkpoint=kept, debias=1.0).fit(*data)
    assert saved(longer, tmp_path) == saved(FGMClassifier(**more, debias=1.0).fit(*data), tmp_path)


@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_what_is_shown(kept, data, capsys, verbose):
    FGMClassifier(**PARAMETERS, checkpoint=kept, verbose=verbose).fit(*data)
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "checkpoint" in line] == lines[: min(verbose, 1)]
    if verbose:
        assert lines[0].startswith("going on from the checkpoint: ") and lines[0].endswith(" selected")


# Refusals


def refusal(kept, X, y, **parameters):
    before = kept.read_bytes()
    with pytest.raises(ValueError) as error:
        FGMClassifier(**{**PARAMETERS, **parameters}, checkpoint=kept).fit(X, y)
    assert kept.read_bytes() == before
    place, _, reason = str(error.value).partition(f"{kept}: ")
    assert place == ""
    return reason


@pytest.mark.parametrize(
    "parameters, difference",
    [
        ({"C": 1}, "with C 0.1, not 1"),
        ({"budget": 2}, "with budget 1, not 2"),
        ({"inner_tol": 1e-6}, "with inner_tol 0.0001, not 0.000001"),
        ({"n_features": 3}, "with n_features 12, not 3"),
        ({"n_features": None, "tol": None}, "with n_features 12, not without it"),
        ({"fit_intercept": False}, "without fit_intercept=False, not with it"),
        ({"space": "poly2"}, "with space linear, not poly2"),
        ({"groups": [[0, 1], [2]]}, "without groups, not with it"),
    ],
)
def test_other_parameters(kept, data, parameters, difference):
    assert refusal(kept, *data, **parameters) == f"the checkpoint was made {difference}"


def test_fewer_rounds_than_were_made(kept, data):
    reason = refusal(kept, *data, max_rounds=2)
    assert reason.startswith("the checkpoint has ") and reason.endswith(": max_rounds 2 is too few")


def test_other_data(kept, data):
    X, y = data
    assert refusal(kept, X[1:], y[1:]) == "the checkpoint is for other data: 160 rows, not 159"
    assert refusal(kept, X, 1 - y) == "the checkpoint is for other data: other labels"
    assert "classes 0 and 1, not a and b" in refusal(kept, X, np.where(y == 1, "b", "a"))
    assert "made without class_weight" in refusal(kept, X, y, class_weight="balanced")
    assert refusal(kept, planted(seed=1)[0], y).startswith("the checkpoint is for other values in the data")


@pytest.mark.parametrize("content", [b"mine", b"featgenC, but not really"])
def test_files_that_are_no_checkpoints(tmp_path, data, content):
    file = tmp_path / "notes.txt"
    file.write_bytes(content)
    assert "checkpoint" in refusal(file, *data)


def test_places_that_cannot_be_written(tmp_path, data):
    with pytest.raises(ValueError, match="there is no folder"):
        FGMClassifier(checkpoint=tmp_path / "nowhere" / "run.ckpt").fit(*data)
    with pytest.raises(OSError, match="directory"):
        FGMClassifier(checkpoint=tmp_path).fit(*data)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="all folders can be written")
def test_folders_that_may_not_be_written(tmp_path, data):
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match="run.ckpt"):
        FGMClassifier(checkpoint=tmp_path / "run.ckpt").fit(*data)


@pytest.mark.parametrize("checkpoint", [3, True, "", b"run.ckpt", ["run.ckpt"]])
def test_what_is_no_path(data, checkpoint):
    with pytest.raises(ValueError, match="checkpoint: must be a path, not "):
        FGMClassifier(checkpoint=checkpoint).fit(*data)


# What cannot be written later


def removing(folder, after=1):
    """Removes the folder of the checkpoint while the run goes on."""

    def callback(round):
        if round["round"] == after:
            shutil.rmtree(folder)

    return callback


@pytest.mark.skipif(sys.platform == "win32", reason="open folders cannot be removed")
def test_a_run_goes_on_without_its_checkpoint(tmp_path, data):
    folder = tmp_path / "soon gone"
    folder.mkdir()
    model = FGMClassifier(**PARAMETERS, checkpoint=folder / "run.ckpt", callback=removing(folder))
    with pytest.warns(
        RuntimeWarning, match="the run goes on, but its checkpoint cannot be written: .*run.ckpt"
    ) as said:
        model.fit(*data)
    assert len(said) == 1 and said[0].filename == __file__
    assert saved(model, tmp_path) == saved(FGMClassifier(**PARAMETERS).fit(*data), tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="open folders cannot be removed")
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_warning_may_be_an_error(tmp_path, data):
    folder = tmp_path / "soon gone"
    folder.mkdir()
    model = FGMClassifier(**PARAMETERS, checkpoint=folder / "run.ckpt", callback=removing(folder, after=3))
    with pytest.raises(RuntimeWarning, match="cannot be written"):
        model.fit(*data)
    assert model.stopped_ == "interrupted" and model.n_iter_ >= 3


# A parameter as others


@pytest.mark.parametrize("again", [clone, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("checkpoint", [None, "run.ckpt", Path("folder") / "run.ckpt"])
def test_copies_keep_it_as_it_was_given(again, checkpoint):
    kept = again(FGMClassifier(checkpoint=checkpoint)).get_params()["checkpoint"]
    assert kept == checkpoint and type(kept) is type(checkpoint)
