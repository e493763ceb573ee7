"""The model file: all parameters of the run, and enough words to compute its decision values without featgen."""

import json
import math

import featgen
import numpy as np
import pandas as pd
import pytest
from conftest import planted
from featgen import (
    HIK,
    FGMClassifier,
    FGMSelector,
    Gaussian,
    Groups,
    Intersection,
    Poly2,
    Products,
    Tree,
)
from sklearn.base import clone

LISTS = {"a": [2, 5], "b": [11, 17, 18], "c": [2, 3, 4]}
NESTED = {"all": [2, 5, 11, 17], "left": [2, 5]}

PARAMETERS = [
    {},
    {"n_features": 4},
    {"n_features": 4, "budget": 10},
    {"budget": 3, "C": 0.5, "loss": "logistic", "fit_intercept": False, "max_rounds": 2, "tol": 0.5},
    {"n_features": 3, "max_rounds": 20, "tol": 1e-3, "inner_tol": 1e-7, "solver": "apg", "debias": 0.5},
    {"gap": 0.05, "C": 0.1},
    {"class_weight": "balanced"},
    {"class_weight": {"no": 3.0, "yes": 0.5}},
    {"space": "poly2", "n_features": 5},
    {"space": Poly2(gamma=0.3, coef0=2.0, only=[2, 5, 7]), "n_features": 5},
    {"space": "products", "n_features": 3},
    {"space": Products(degree=3, min_support=5, only=[2, 5, 11]), "n_features": 3},
    {"space": "hik", "n_features": 2},
    {"space": HIK(levels=7), "n_features": 2},
    {"space": Intersection(levels=9, power=0.5), "n_features": 2},
    {"space": "gaussian", "n_features": 2},
    {"space": Gaussian(sigma=0.7), "n_features": 2},
    {"groups": LISTS, "n_features": 2},
    {"groups": list(LISTS.values()), "n_features": 2},
    {"groups": NESTED, "tree": True, "n_features": 1},
    {"space": Groups(LISTS, weight="sqrt", singletons=True), "n_features": 3},
    {"space": Groups([], singletons=True), "n_features": 3},
    {"space": Tree(NESTED, weight="sqrt", singletons=True), "n_features": 3},
]


def data_for(parameters):
    """Data that any space takes, with words for classes."""
    X, y = planted()
    bounded = parameters.get("space") in ("hik", "products") or isinstance(
        parameters.get("space"), (HIK, Products)
    )
    return (np.round(1 / (1 + np.exp(-X)), 2) if bounded else X), np.where(y == 1, "yes", "no")


def plain(parameters):
    """Parameters in a form that can be compared."""
    return {name: repr(value) for name, value in parameters.items()}


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_load_brings_back_every_parameter(tmp_path, parameters):
    X, y = data_for(parameters)
    model = FGMClassifier(**parameters).fit(X, y)
    model.save(tmp_path / "model.json")
    loaded = featgen.load(tmp_path / "model.json")
    assert plain(loaded.get_params()) == plain(model.get_params())
    clone(loaded).fit(X, y).save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def test_groups_in_a_file_come_back_as_its_name(tmp_path):
    X, y = planted()
    (tmp_path / "groups.txt").write_text("a: 3 6\nb: 12 18 19\n")
    (tmp_path / "tree.nwk").write_text("((3,6)a,(12,18)b);\n")
    for space, name in (
        (Groups(str(tmp_path / "groups.txt"), weight="sqrt"), "groups.txt"),
        (Tree(tmp_path / "tree.nwk", format="newick"), "tree.nwk"),
    ):
        FGMClassifier(space=space, n_features=1).fit(X, y).save(tmp_path / "model.json")
        loaded = featgen.load(tmp_path / "model.json")
        assert loaded.space.groups == str(tmp_path / name) and type(loaded.space) is type(space)
        clone(loaded).fit(X, y).save(tmp_path / "again.json")
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def test_classes_that_are_numbers_keep_their_weights(tmp_path):
    X, y = planted()
    FGMSelector(class_weight={0: 4.0}).fit(X, y).save(tmp_path / "model.json")
    assert featgen.load(tmp_path / "model.json").class_weight == {0: 4.0, 1: 1.0}


def test_files_without_parameters_still_load(tmp_path):
    """As files were before they said who made them, how, and what their numbers mean."""
    X, y = planted()
    for parameters in ({"budget": 3, "C": 2.0}, {"groups": LISTS, "budget": 3, "C": 2.0}):
        model = FGMClassifier(**parameters).fit(X, y)
        model.save(tmp_path / "model.json")
        content = json.loads((tmp_path / "model.json").read_text())
        for key in ("made_by", "parameters", "formulas"):
            del content[key]
        (tmp_path / "old.json").write_text(json.dumps(content))
        old = featgen.load(tmp_path / "old.json")
        np.testing.assert_array_equal(old.decision_function(X), model.decision_function(X))
        assert (old.budget, old.C, old.n_features) == (3, 2.0, None)
    # The groups are not in the file: they are asked for, not left out without a word.
    with pytest.raises(ValueError, match="groups: must be"):
        clone(old).fit(X, y)


def test_the_file_says_who_made_it(tmp_path):
    FGMClassifier().fit(*planted()).save(tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["made_by"] == f"featgen {featgen.__version__}"


# What a reader can do who has the file and its formulas, and nothing else.


def value(feature, x, never_negative):
    """The value of a feature, computed as the formula of its kind says; ``x`` gives inputs by their number."""
    ((kind, what),) = feature.items()
    if kind == "input":
        return x(what)
    if kind == "product":
        return math.prod(x(j) for j in what)
    v = x(what["input"])
    if kind == "step":
        top, of = what["top"], what["of"]
        level = 0
        if v > 0 or (v < 0 and not never_negative):
            size = abs(v) ** what["power"] * of / top if top > 0 else 0
            level = min(max(round(size), 1), of)
        return math.sqrt(top / of) if level >= what["level"] else 0.0
    assert kind == "wave"
    d = [math.exp(-((0.55 * k) ** 2) / 2) for k in range(6)]
    h, t = what["harmonic"], 0.55 * v / what["sigma"]
    a = math.sqrt(2 * d[h] / (1 + 2 * sum(d[1:])))
    return a * math.sin(h * t) if what["sine"] else a * (math.cos(h * t) - 1)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_decision_values_can_be_computed_from_the_file_alone(tmp_path, parameters, named):
    X, y = data_for(parameters)
    names = [f"c{j}" for j in range(X.shape[1])]
    given = pd.DataFrame(X, columns=names) if named else X
    model = FGMClassifier(**parameters).fit(given, y)
    model.save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    formulas = content["formulas"]
    kinds = {kind for term in content["terms"] for kind in term["feature"]}
    assert kinds <= formulas.keys() and formulas.keys() - kinds <= {"decision", "probability"}
    assert "- bias" in formulas["decision"] and "f(x) > 0" in formulas["decision"]
    # Values that training has not seen, negative ones and zeros among them.
    new = np.vstack(
        [X[:20], np.random.default_rng(1).normal(size=(20, X.shape[1])), np.zeros((1, X.shape[1]))]
    )
    never_negative = "L(x) = 0 if x <= 0" in formulas.get("step", "")
    assert never_negative == (content["space"]["space"] == "hik")
    for row, decision in zip(
        new, model.decision_function(pd.DataFrame(new, columns=names) if named else new)
    ):
        if content["by_name"]:
            place = {entry["id"]: names.index(entry["name"]) for entry in content["inputs"]}
        else:
            place = {j + 1: j for j in range(X.shape[1])}
        x = lambda j, row=row, place=place: float(row[place[j]])
        terms = ((term["weight"], value(term["feature"], x, never_negative)) for term in content["terms"])
        f = math.fsum(w * v for w, v in terms) - content["bias"]
        assert f == pytest.approx(decision, rel=1e-9, abs=1e-9)
        predicted = content["classes"][1] if f > 0 else content["classes"][0]
        assert predicted == model.classes_[int(decision > 0)]
        if "probability" in formulas:
            second = model._model.probabilities(np.array([[decision]]))[0, 1]
            assert second == pytest.approx(1 / (1 + math.exp(-f)))
