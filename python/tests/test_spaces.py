"""Where features are searched: spaces by name and as objects, and the features that they make."""

import re

import featgen
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import planted
from featgen import (
    HIK,
    FGMClassifier,
    FGMSelector,
    Gaussian,
    Groups,
    Intersection,
    Linear,
    Poly2,
    Products,
    Tree,
)
from featgen.spaces import Inputs
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

SPACES = {
    "linear": Linear(),
    "poly2": Poly2(),
    "products": Products(),
    "hik": HIK(),
    "intersection": Intersection(),
    "gaussian": Gaussian(),
}
CURVES = ["hik", "intersection", "gaussian"]


def unit(n=300, m=12, seed=0):
    """Values from 0 to 1, which every space takes; the third decides by its distance from the middle."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, m))
    return X, (np.abs(X[:, 2] - 0.5) + 0.3 * X[:, 7] > 0.4).astype(int)


@pytest.mark.parametrize("space", SPACES)
def test_by_name_and_as_objects(space, same_model):
    X, y = unit()
    by_name = FGMClassifier(space=space, budget=2).fit(X, y)
    same_model(by_name, FGMClassifier(space=SPACES[space], budget=2).fit(X, y))
    assert by_name.score(X, y) > 0.6
    assert 0 <= by_name.gap_ < 1 and by_name.lower_bound_ <= by_name.objective_


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("space", SPACES)
def test_layouts(space, layout, same_model):
    X, y = unit()
    X[X < 0.4] = 0.0
    expected = FGMClassifier(space=space, budget=2).fit(X, y)
    model = FGMClassifier(space=space, budget=2).fit(layout(X), y)
    same_model(expected, model, 1e-7)
    np.testing.assert_allclose(model.decision_function(layout(X)), expected.decision_function(X), atol=1e-6)


@pytest.mark.parametrize(
    "space", ["linear", "poly2", Poly2(gamma=0.25, coef0=3.0), "products", Products(degree=3)]
)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array, sp.csc_array])
def test_decision_is_transform_times_weights(space, layout):
    X, y = unit()
    X = layout(X)
    model = FGMClassifier(space=space, n_features=6, budget=2).fit(X, y)
    values = model.transform(X)
    assert sp.issparse(values) == sp.issparse(X)
    assert values.shape == (300, 6) and len(model.get_feature_names_out()) == 6
    weights = model.coef_[0] if space != "linear" else model.coef_[0][model.get_support()]
    np.testing.assert_allclose(values @ weights + model.intercept_[0], model.decision_function(X), atol=1e-9)


def test_names_and_columns_of_products_belong_together():
    X, y = unit()
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(12)])
    model = FGMClassifier(space="poly2", n_features=8, budget=2).set_output(transform="pandas").fit(frame, y)
    values = model.transform(frame)
    assert sorted(values.columns) == sorted(model.selected_["feature"])
    for name in values.columns:
        expected = np.ones(len(y))
        for factor in name.split("*") if name != "1" else []:
            base, _, power = factor.partition("^")
            expected = expected * frame[base] ** int(power or 1)
        ratio = values[name] / expected
        np.testing.assert_allclose(ratio, ratio.iloc[0])


@pytest.mark.parametrize("gamma", [1.0, 0.1])
def test_a_planted_product_of_two(gamma):
    X, _ = planted(n=300, m=40)
    y = X[:, 3] * X[:, 30] > 0
    model = FGMClassifier(space=Poly2(gamma=gamma), n_features=1).fit(X, y)
    assert list(model.get_feature_names_out()) == ["x3*x30"]
    assert model.get_support(indices=True).tolist() == [3, 30]
    assert model.score(X, y) > 0.95


def test_a_planted_square():
    X, _ = planted(n=300, m=40)
    model = FGMClassifier(space="poly2", n_features=1).fit(X, X[:, 9] ** 2 > 0.5)
    assert list(model.get_feature_names_out()) == ["x9^2"]


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_a_planted_product_of_three(layout):
    X = (np.random.default_rng(0).random((500, 30)) < 0.4).astype(float)
    y = X[:, 2] * X[:, 5] * X[:, 11]
    model = FGMSelector(space=Products(degree=3), n_features=1).fit(layout(X), y)
    assert list(model.get_feature_names_out()) == ["x2*x5*x11"]
    chosen = model.transform(layout(X))
    np.testing.assert_array_equal((chosen.toarray() if sp.issparse(chosen) else chosen)[:, 0] > 0, y > 0)


def test_only_some_may_be_multiplied():
    X, _ = planted(n=300, m=20)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(20)])
    y = X[:, 3] * X[:, 15] > 0
    for only in ([3, 4, 5], ["c3", "c4", "c5"], np.array([3, 4, 5]), {"c3", 4, 5}):
        model = FGMClassifier(space=Poly2(only=only), budget=5).fit(frame, y)
        factors = {
            f.split("^")[0] for name in model.get_feature_names_out() if "*" in name for f in name.split("*")
        }
        assert factors <= {"c3", "c4", "c5"}


@pytest.mark.parametrize("space", CURVES)
def test_curves(space):
    X, y = unit()
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(12)])
    model = FGMClassifier(space=space, n_features=2, budget=1).fit(frame, y)
    assert set(model.curves_) == {"c2", "c7"} == set(model.selected_["feature"])
    assert list(model.get_feature_names_out()) == ["c2", "c7"] and model.transform(frame).shape == (300, 2)
    assert model.coef_.shape[1] > 2
    for name, points in model.curves_.items():
        assert points.shape[1] == 2 and (np.diff(points[:, 0]) > 0).all()
        assert points[0, 0] >= frame[name].min() - 0.5 and points[-1, 0] <= frame[name].max() + 0.5


def test_a_curve_is_what_a_feature_adds():
    X, y = unit()
    model = FGMClassifier(space=Gaussian(sigma=0.3), n_features=1).fit(X, y)
    (points,) = model.curves_.values()
    decision = model.decision_function(X) - model.intercept_[0]
    (column,) = model.get_support(indices=True)
    np.testing.assert_allclose(np.interp(X[:, column], points[:, 0], points[:, 1]), decision, atol=0.05)


def test_linear_models_have_no_curves(data):
    assert FGMClassifier().fit(*data).curves_ == {}


# Groups

LISTS = {"a": [2, 5], "b": [11, 17], "c": [0, 1, 2], "d": [20, 21, 22, 23]}


def as_file(tmp_path, lists):
    path = tmp_path / "groups.txt"
    path.write_text(
        "".join(f"{name}: {' '.join(str(i + 1) for i in group)}\n" for name, group in lists.items())
    )
    return path


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_groups(data, tmp_path, layout, same_model):
    X, y = data
    names = [f"c{i}" for i in range(24)]
    model = FGMClassifier(n_features=2, budget=1, groups=LISTS).fit(layout(X), y)
    assert model.n_selected_ == 2 and model.n_candidates_ == 4
    assert set(model.selected_["group"]) == {"a", "b"}
    assert model.get_support(indices=True).tolist() == [2, 5, 11, 17]
    assert model.coef_.shape == (1, 24)
    decision = X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(layout(X)), decision, atol=1e-9)
    path = as_file(tmp_path, LISTS)
    for groups in (list(LISTS.values()), path, str(path), {k: np.array(v) for k, v in LISTS.items()}):
        same_model(model, FGMClassifier(n_features=2, budget=1, groups=groups).fit(layout(X), y))
    same_model(model, FGMClassifier(n_features=2, budget=1, space=Groups(LISTS)).fit(layout(X), y))
    by_name = {name: [names[i] for i in group] for name, group in LISTS.items()}
    frame = pd.DataFrame(X, columns=names)
    same_model(model, FGMClassifier(n_features=2, budget=1, groups=by_name).fit(frame, y))


def test_groups_that_overlap_share_a_feature(data):
    X, y = data
    model = FGMClassifier(n_features=2, budget=1, groups=[[2, 5, 11], [11, 17, 2]]).fit(X, y)
    assert len(model.selected_["feature"]) == 6 and model.get_support().sum() == 4
    decision = X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), decision, atol=1e-9)


def test_singletons(data):
    X, y = data
    model = FGMClassifier(n_features=2, budget=1, space=Groups({"far": [20, 21]}, singletons=True)).fit(X, y)
    assert model.n_candidates_ == 23 and {2, 5} >= set(model.get_support(indices=True))


def test_size_may_count_against_a_group(data):
    X, y = data
    lists = {"one": [2], "all": list(range(24))}
    choose = lambda weight: FGMClassifier(
        n_features=1, select="paper", space=Groups(lists, weight=weight)
    ).fit(X, y)
    assert set(choose("none").selected_["group"]) == {"all"}
    assert set(choose("sqrt").selected_["group"]) == {"one"}


def test_a_tree(data, tmp_path, same_model):
    X, y = data
    nested = {"all": list(range(24)), "left": list(range(12)), "a": [2, 5], "b": [11], "right": [17, 18]}
    model = FGMClassifier(n_features=2, budget=1, space=Tree(nested, weight="sqrt")).fit(X, y)
    flat = FGMClassifier(n_features=2, budget=1, space=Groups(nested, weight="sqrt")).fit(X, y)
    assert set(model.selected_["group"]) == set(flat.selected_["group"])
    np.testing.assert_allclose(model.coef_, flat.coef_, atol=1e-9)
    of_file = Tree(as_file(tmp_path, nested), weight="sqrt", format="lists")
    same_model(model, FGMClassifier(n_features=2, budget=1, space=of_file).fit(X, y))
    by_switch = FGMClassifier(n_features=1, budget=1, groups=nested, tree=True).fit(X, y)
    same_model(by_switch, FGMClassifier(n_features=1, budget=1, space=Tree(nested)).fit(X, y))


def test_groups_that_cross_are_no_tree(data):
    with pytest.raises(ValueError, match="not a tree: the groups . and . overlap"):
        FGMClassifier(groups={"a": [0, 1], "b": [1, 2]}, tree=True).fit(*data)


# Parameters

WRONG = [
    (FGMClassifier(n_features=0), "n_features"),
    (FGMClassifier(n_features=-3), "n_features"),
    (FGMClassifier(n_features=2.5), "n_features"),
    (FGMClassifier(budget=0), "budget"),
    (FGMClassifier(budget=-1), "budget"),
    (FGMClassifier(budget="ten"), "budget"),
    (FGMClassifier(budget=True), "budget"),
    (FGMClassifier(C=0), "C"),
    (FGMClassifier(C=-1.0), "C"),
    (FGMClassifier(C=np.nan), "C"),
    (FGMClassifier(C=np.inf), "C"),
    (FGMClassifier(C="1"), "C"),
    (FGMClassifier(C=10**400), "C: must be a number that a float can hold"),
    (FGMClassifier(loss="hinge"), "loss"),
    (FGMClassifier(loss=["logistic"]), "loss"),
    (FGMClassifier(max_rounds=0), "max_rounds"),
    (FGMClassifier(tol=-1.0), "tol"),
    (FGMClassifier(inner_tol=0.0), "inner_tol"),
    (FGMClassifier(inner_tol=None), "inner_tol"),
    (FGMClassifier(gap=0.0), "gap"),
    (FGMClassifier(gap="small"), "gap"),
    (FGMClassifier(gap=1), "gap: must lie between 0 and 1"),
    (FGMClassifier(gap=np.nan), "gap: must lie between 0 and 1"),
    (FGMClassifier(fit_intercept="False"), "fit_intercept"),
    (FGMClassifier(fit_intercept=None), "fit_intercept"),
    (FGMClassifier(fit_intercept=2), "fit_intercept"),
    (FGMClassifier(verbose="yes"), "verbose"),
    (FGMClassifier(verbose=1.5), "verbose"),
    (FGMClassifier(verbose=-1), "verbose"),
    (FGMClassifier(verbose=None), "verbose"),
    (FGMClassifier(debias=-1.0), "debias"),
    (FGMClassifier(solver="simplex"), "solver"),
    (FGMClassifier(n_jobs=0), "n_jobs"),
    (FGMClassifier(n_jobs="all"), "n_jobs"),
    (FGMClassifier(n_jobs=True), "n_jobs"),
    (FGMClassifier(n_jobs=1.0), "n_jobs"),
    (FGMClassifier(class_weight="heavy"), "class_weight"),
    (FGMClassifier(space="cubic"), "space"),
    (FGMClassifier(space=["linear"]), "space"),
    (FGMClassifier(space=None), "space"),
    (FGMClassifier(space=Poly2), "space"),
    (FGMClassifier(space=Poly2(gamma=-1.0)), "gamma"),
    (FGMClassifier(space=Poly2(gamma="1")), "gamma"),
    (FGMClassifier(space=Poly2(coef0=-1.0)), "coef0"),
    (FGMClassifier(space=Poly2(coef0=None)), "coef0"),
    (FGMClassifier(space=Poly2(only=[99])), "only: no feature 99"),
    (FGMClassifier(space=Poly2(only=[-1])), "only: no feature -1"),
    (FGMClassifier(space=Poly2(only=["x"])), "only: no feature is called 'x'"),
    (FGMClassifier(space=Poly2(only="abc")), "only"),
    (FGMClassifier(space=Poly2(only=3)), "only"),
    (FGMClassifier(space=Products(degree=0)), "degree"),
    (FGMClassifier(space=Products(degree=1.5)), "degree"),
    (FGMClassifier(space=Products(min_support=-1)), "min_support"),
    (FGMClassifier(space=Products(only=[True])), "only"),
    (FGMClassifier(space=HIK(levels=0)), "levels"),
    (FGMClassifier(space=HIK(levels=None)), "levels"),
    (FGMClassifier(space=Intersection(power=0.0)), "power"),
    (FGMClassifier(space=Intersection(levels=10**6)), "levels"),
    (FGMClassifier(space=Gaussian(sigma=0.0)), "sigma"),
    (FGMClassifier(space=Gaussian(sigma="wide")), "sigma"),
    (FGMClassifier(space=Groups([[0]], weight="heavy")), "weight"),
    (FGMClassifier(space=Groups([[0]], weight=None)), "weight"),
    (FGMClassifier(space=Tree([[0]], format="yaml")), "format"),
    (FGMClassifier(groups=[[0, 99]]), "groups: no feature 99"),
    (FGMClassifier(groups=[[0, 1.0]]), "groups: no feature is called 1.0"),
    (FGMClassifier(groups={"a": "bc"}), "groups"),
    (FGMClassifier(groups=[[]]), "group 1 is empty"),
    (FGMClassifier(groups=3), "groups"),
    (FGMClassifier(groups=[]), "groups: there must be at least one"),
    (FGMClassifier(groups={}), "groups: there must be at least one"),
    (FGMClassifier(space=Groups(())), "groups: there must be at least one"),
    (FGMClassifier(space=Tree({})), "groups: there must be at least one"),
    (FGMClassifier(groups=(group for group in [[0], [1]])), "groups: must be"),
    (FGMClassifier(space=Groups(iter([[0], [1]]))), "groups: must be"),
    (FGMClassifier(space=Tree(map(list, [[0], [1]]))), "groups: must be"),
    (FGMClassifier(groups=[iter([0, 1])]), "groups: must be a list"),
    (FGMClassifier(space=Poly2(only=iter([0, 1]))), "only: must be a list"),
    (FGMClassifier(space=Groups([[0]], singletons="no")), "singletons"),
    (FGMClassifier(groups=[[0]], tree="no"), "tree"),
    (FGMClassifier(groups=[3]), "groups"),
    (FGMClassifier(groups=[[0]], space="poly2"), "groups.*space"),
    (FGMClassifier(tree=True), "tree.*groups"),
]


def called(value):
    """The same name in every run: where an object lies is left out."""
    return re.sub(" at 0x[0-9a-f]+", "", str(value).replace("\n", ""))


@pytest.mark.parametrize(("model", "words"), WRONG, ids=called)
def test_parameters_that_cannot_be(model, words):
    X, y = unit(n=20)
    with pytest.raises(ValueError, match=rf"\b{words}(\b|$)"):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("yes", [True, np.True_, 1])
def test_truth_values(data, same_model, yes):
    X, y = data
    model = FGMClassifier(space=Groups([[2, 5]], singletons=yes), fit_intercept=yes).fit(X, y)
    expected = FGMClassifier(space=Groups([[2, 5]], singletons=True)).fit(X, y)
    same_model(model, expected)


def test_names_of_several_features():
    inputs = Inputs(3, ["a", "b", "a"])
    assert inputs.some("groups", ["b", 0, 2]) == [1, 0, 2]
    with pytest.raises(ValueError, match="groups: several features are called 'a'"):
        inputs.some("groups", ["a"])


def test_files_that_are_not_there(data):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        FGMClassifier(groups="nowhere.txt").fit(*data)


@pytest.mark.parametrize(
    ("space", "words"), [("hik", "negative.*intersection"), ("products", "within 0 and 1")]
)
def test_values_that_a_space_does_not_take(data, space, words):
    with pytest.raises(ValueError, match=words):
        FGMClassifier(space=space).fit(*data)


# Methods of what was fitted


@pytest.mark.parametrize(
    ("fitted", "set_afterwards"), [("linear", "poly2"), ("poly2", "linear"), ("gaussian", "products")]
)
def test_a_space_set_after_a_fit_is_that_of_the_next(data, fitted, set_afterwards):
    X, y = data
    model = FGMClassifier(n_features=3, space=fitted).fit(X, y)
    values, names = model.transform(X), list(model.get_feature_names_out())
    model.set_params(space=set_afterwards)
    np.testing.assert_array_equal(model.transform(X), values)
    assert list(model.get_feature_names_out()) == names
    assert model.at(3).coef_.shape == model.coef_.shape
    assert hasattr(model, "inverse_transform") == (fitted != "poly2")


def test_a_loss_set_after_a_fit_is_that_of_the_next(data):
    X, y = data
    model = FGMClassifier().fit(X, y).set_params(loss="logistic")
    assert not hasattr(model, "predict_proba") and not hasattr(model, "predict_log_proba")
    p = model.fit(X, y).set_params(loss="squared_hinge").predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_an_unknown_space_is_named_by_fit_only():
    model = FGMClassifier(space="cubic")
    assert hasattr(model, "inverse_transform") and "cubic" in model._repr_html_()


# As parts of estimators


@pytest.mark.parametrize("space", [*SPACES.values(), Groups(LISTS), Tree(LISTS, format="lists")])
def test_clones(space):
    model = FGMClassifier(space=space)
    again = clone(model)
    assert again.space is not space and repr(again) == repr(model)
    assert again.space.get_params().keys() == space.get_params().keys()


def test_search_over_the_parameters_of_a_space(data):
    X, y = data
    grid = {"space__gamma": [0.1, 1.0], "space__coef0": [0.0, 1.0], "C": [1.0]}
    search = GridSearchCV(FGMClassifier(space=Poly2(), n_features=4), grid, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_.space.coef0 in (0.0, 1.0)
    machine = FGMClassifier(n_features=4, select="paper")
    spaces = GridSearchCV(machine, {"space": ["linear", Poly2(), Gaussian()]}, cv=2)
    assert spaces.fit(X, y).best_params_["space"] == "linear"
    nested = FGMClassifier(space=Poly2()).set_params(space__gamma=3.0, C=2.0)
    assert nested.space.gamma == 3.0 and nested.C == 2.0


def test_all_are_exported():
    for name in featgen.__all__:
        assert hasattr(featgen, name)
