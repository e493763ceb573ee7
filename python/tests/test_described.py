"""What the engine says of itself is what Python has: every space, every parameter, every name."""

import inspect

import numpy as np
import pytest
from conftest import planted
from featgen import FGMClassifier, _featgen, convert, spaces
from featgen._described import GROUP_WEIGHTS, SOLVERS, SPACES, TREE_FORMATS
from sklearn.base import clone

PARAMETERS = [
    pytest.param(kind, parameter, id=f"{kind.name}-{parameter.name}")
    for kind in SPACES.values()
    for parameter in kind.parameters
]


def unit():
    """Values from 0 to 1, which every space takes."""
    X, y = planted(n=40, m=5, relevant=(1, 3))
    return (X - X.min()) / (X.max() - X.min()), y


@pytest.mark.parametrize("kind", SPACES.values(), ids=SPACES)
def test_every_space_has_a_class_with_its_parameters_and_defaults(kind):
    space = spaces.by_name(kind.name)
    assert space.get_params() == {parameter.name: parameter.default for parameter in kind.parameters}
    signature = list(inspect.signature(type(space)).parameters)
    assert signature == [parameter.name for parameter in kind.parameters]
    for parameter in kind.parameters:
        assert f"    {parameter.name} :" in type(space).__doc__


@pytest.mark.parametrize("kind", SPACES.values(), ids=SPACES)
def test_every_space_is_searched_with_its_defaults(kind, same_model):
    X, y = unit()
    by_name = FGMClassifier(space=kind.name, budget=2).fit(X, y)
    same_model(by_name, FGMClassifier(space=spaces.by_name(kind.name), budget=2).fit(X, y))
    assert by_name._facts["space"]["space"] == kind.name
    assert spaces.named(spaces.from_settings(by_name._facts["space"])) == kind.name


@pytest.mark.parametrize("value", [-1.0, float("nan"), "x", [], True])
@pytest.mark.parametrize(("kind", "parameter"), PARAMETERS)
def test_a_bad_value_of_any_parameter_is_one_line_that_says_the_range(kind, parameter, value):
    if (value == -1.0 and parameter.kind != "real") or parameter.kind == "features":
        value = -1
    model = FGMClassifier(space=type(spaces.by_name(kind.name))(**{parameter.name: value}))
    with pytest.raises(ValueError) as error:
        model.fit(*unit())
    said = str(error.value)
    assert said == f"{parameter.name}: must be {parameter.range}, not {value!r}"


def test_numbers_of_any_size_are_told():
    model = FGMClassifier(space=spaces.Products(min_support=10**30, degree=np.int8(2)))
    assert model.fit(*unit()).n_selected_ == 0
    with pytest.raises(ValueError, match="gamma: must be a finite number above 0, not 1000"):
        FGMClassifier(space=spaces.Poly2(gamma=10**400)).fit(*unit())


def test_names_are_told_where_they_are_chosen():
    for parameter, names in (("solver", SOLVERS),):
        for name in names:
            FGMClassifier(**{parameter: name}).fit(*unit())
            assert f'"{name}"' in FGMClassifier.__doc__
    for name in SPACES:
        assert f'"{name}"' in FGMClassifier.__doc__
    for name in GROUP_WEIGHTS:
        FGMClassifier(space=spaces.Groups([[0, 1]], weight=name)).fit(*unit())
    for name in TREE_FORMATS:
        FGMClassifier(space=spaces.Tree([[0, 1]], format=name)).fit(*unit())


def test_a_space_without_a_class_gets_one(monkeypatch, same_model):
    for kind in SPACES.values():
        monkeypatch.setitem(spaces._KINDS, kind.name, spaces._KINDS[kind.name])
    X, y = unit()
    made = spaces.made(SPACES["poly2"])
    assert made.__name__ == "Poly2" and "gamma : default=1.0" in made.__doc__
    assert made().get_params() == spaces.Poly2().get_params()
    space = clone(made(gamma=0.5)).set_params(only=[0, 1])
    expected = FGMClassifier(space=spaces.Poly2(gamma=0.5, only=[0, 1])).fit(X, y)
    same_model(FGMClassifier(space=space).fit(X, y), expected)
    with pytest.raises(TypeError, match="poly2 has no parameter width"):
        made(width=1)


def test_the_engine_refuses_what_it_does_not_know():
    X, y = unit()
    model = FGMClassifier()
    model.space = spaces.Linear()
    for told, words in (
        ({"space": "magic", "values": []}, "space: magic is not one of linear, poly2"),
        ({"space": "linear", "values": [("gamma", "1")]}, "gamma: only the space poly2 has this"),
        ({"space": "linear", "values": [("width", "1")]}, "space: no space has a parameter width"),
    ):
        model.space._describe = lambda inputs, told=told: {**told, "grouping": None}
        with pytest.raises(ValueError, match=words):
            model.fit(X, y)
    named = {
        "spaces",
        "losses",
        "solvers",
        "selects",
        "scalings",
        "imputes",
        "metrics",
        "group_weights",
        "tree_formats",
    }
    assert set(_featgen.describe()) == named


# Words of the engine


def test_errors_call_parameters_as_python_does(tmp_path):
    X, y = unit()
    file = tmp_path / "groups.txt"
    file.write_text("a > b\nb > 1 2\n")
    with pytest.raises(ValueError, match="describes a tree of groups, add tree$"):
        FGMClassifier(groups=str(file)).fit(X, y)
    file.write_text("nothing known\n")
    with pytest.raises(ValueError, match="say what they are: format$"):
        FGMClassifier(groups=str(file), tree=True).fit(X, y)
    table = tmp_path / "table.csv"
    table.write_text("a,b,y\n1,2,yes\n3,4,no\n")
    with pytest.raises(ValueError, match=r"holds the labels \(label\); the columns are a, b, y"):
        convert(table, tmp_path / "store")


def test_text_of_files_is_not_taken_for_parameters(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,b --cost 1,y\n1,2,yes\n3,4,no\n")
    with pytest.raises(ValueError, match="the columns are a, b --cost 1, y"):
        convert(table, tmp_path / "store")
