"""Frames with columns of all kinds: the same model as the command makes of the same table in a file."""

import datetime
import decimal
import json
import pickle
import subprocess
import sys
import warnings

import featgen
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from featgen import FGMClassifier, FGMRegressor, FGMSelector, FGMSurvival, Poly2, TableWarning
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

pytestmark = pytest.mark.filterwarnings("ignore::featgen.TableWarning")

NUMBERS = ["age", "weight", "years", "gain", "loss", "hours"]
CATEGORIES = ["workplace", "education", "marital", "occupation", "household", "country"]


def command(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "featgen", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """The files of a table of people."""
    folder = tmp_path_factory.mktemp("people")
    command(folder, "synth", "table", "-o", "people", "--rows", 1500, "--test-rows", 400)
    return folder


def read(path):
    """A table as pandas reads it: text, numbers with NaN, truths, and dates as text."""
    return pd.read_csv(path)


def parts(frame):
    return frame.drop(columns="income"), frame["income"].to_numpy(dtype=str)


def polars_of(frame):
    return pl.from_pandas(frame)


def arrow_of(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


FRAMES = {"pandas": lambda frame: frame, "polars": polars_of, "pyarrow": arrow_of}


def facts(path_or_model):
    """All that a model file says but how long it took, what the label is called, and whether classes were strings."""
    if isinstance(path_or_model, featgen.FGMClassifier):
        said = json.loads(path_or_model._model.to_json())
    else:
        said = json.loads(path_or_model.read_text())
    return untimed({key: said[key] for key in said if key not in ("label_column", "classes_are_text")})


def untimed(said):
    for round in said["rounds"]:
        round.pop("seconds", None)
    return said


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (["--features", 4], {"n_features": 4}),
        (["--features", 4, "--number", "joined"], {"n_features": 4, "number": ["joined"]}),
        (["--features", 3, "--space", "poly2"], {"n_features": 3, "space": "poly2"}),
        (
            [
                "--ignore",
                "wei*",
                "--category",
                "years",
                "--impute",
                "median",
                "--most-levels",
                7,
                "-C",
                "0.1",
            ],
            {"ignore": ["wei*"], "category": [4], "impute": "median", "most_levels": 7, "C": 0.1},
        ),
        (["--features", 3, "--keep", "education,hours"], {"n_features": 3, "keep": ["education", "hours"]}),
    ],
    ids=["plain", "number", "poly2", "all", "keep"],
)
def test_all_ways_to_a_table_lead_to_one_model(people, tmp_path, options, parameters):
    frame = read(people / "people.train.csv")
    frame.to_csv(tmp_path / "people.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "people.parquet", index=False)
    pa.feather.write_feather(arrow_of(frame), tmp_path / "people.arrow", compression="uncompressed")
    files = [
        people / "people.train.csv",
        *(tmp_path / f"people.{end}" for end in ("tsv", "parquet", "arrow")),
    ]
    models = []
    for at, file in enumerate(files):
        model = tmp_path / f"{at}.json"
        command(tmp_path, "train", file, "--label", "income", *options, "-o", model)
        models.append(facts(model))
    X, y = parts(frame)
    for make in FRAMES.values():
        models.append(facts(FGMClassifier(**parameters).fit(make(X), y)))
    for other in models[1:]:
        assert other == models[0]


def test_a_store_of_a_table_makes_the_same_model(people, tmp_path):
    X, y = parts(read(people / "people.train.csv"))
    store = featgen.convert(people / "people.train.csv", tmp_path / "people.store", label="income")
    model = FGMClassifier(n_features=4).fit(X, y)
    of_store = FGMClassifier(n_features=4).fit(store, store.y)
    assert facts(of_store) == facts(model)
    np.testing.assert_array_equal(model.decision_function(store), model.decision_function(X))
    np.testing.assert_array_equal(model.transform(store).toarray(), model.transform(X))
    np.testing.assert_array_equal(of_store.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(of_store.transform(X[X.columns[::-1]]), model.transform(X))


def test_models_go_from_the_command_to_python_and_back(people, tmp_path):
    """Decision values are the same, to the bit, on raw tables that hold more columns, in another order."""
    train, test = (read(people / f"people.{part}.csv") for part in ("train", "test"))
    by_command = tmp_path / "command.json"
    command(
        tmp_path, "train", people / "people.train.csv", "--label", "income", "--features", 5, "-o", by_command
    )
    model = FGMClassifier(n_features=5).fit(*parts(train))
    model.save(tmp_path / "python.json")
    expected = None
    for file in (by_command, tmp_path / "python.json"):
        shown = command(
            tmp_path,
            "predict",
            file,
            people / "people.test.csv",
            "--label",
            "income",
            "--output-kind",
            "decision",
        )
        decision = np.array([float(line.split()[-1]) for line in shown.splitlines()])
        loaded = featgen.load(file)
        assert loaded._found_by_name and set(loaded.feature_names_in_) <= set(train.columns)
        assert loaded.n_features_in_ == len(loaded.feature_names_in_) == loaded.get_support().sum()
        for make in FRAMES.values():
            given = make(test[test.columns[::-1]])
            np.testing.assert_array_equal(loaded.decision_function(given), decision)
        np.testing.assert_array_equal(model.decision_function(parts(test)[0]), decision)
        expected = decision if expected is None else expected
        np.testing.assert_array_equal(decision, expected)
        assert loaded.score(test, parts(test)[1]) > 0.7
        assert list(loaded.get_feature_names_out()) == list(model.get_feature_names_out())
        np.testing.assert_array_equal(loaded.transform(test), model.transform(parts(test)[0]))
        with pytest.raises(ValueError, match="lacks columns that the model expects"):
            loaded.predict(test.drop(columns=loaded.feature_names_in_[0]))


def test_what_a_fit_says_of_a_frame(people):
    X, y = parts(read(people / "people.train.csv"))
    with pytest.warns(
        TableWarning, match=r"1 column is left out: `joined` \(dates; number=\[...\] takes it in\)"
    ) as said:
        model = FGMClassifier(n_features=3).fit(X, y)
    assert said[0].filename == __file__
    assert model.n_features_in_ == 14 and list(model.feature_names_in_) == list(X.columns)
    assert model.n_selected_ == 3 and model.n_candidates_ == 13
    selected = model.selected_
    columns = set(selected["group"])
    assert len(columns) == 3
    for feature, group in zip(selected["feature"], selected["group"]):
        assert feature == group or feature.startswith(f"{group} = ")
    assert any(" = " in feature for feature in selected["feature"])
    assert set(X.columns[model.get_support()]) == columns
    assert list(model.get_support(indices=True)) == list(np.flatnonzero(model.get_support()))
    assert set(np.array(X.columns)[model.feature_importances_ > 0]) == columns
    assert model.feature_importances_.shape == (14,)
    assert model.coef_.shape == (1, len(model.input_names_))
    assert set(model.input_names_[np.flatnonzero(model.coef_[0])]) == set(selected["feature"])
    names = list(model.get_feature_names_out())
    assert sorted(names) == sorted(selected["feature"])
    values = model.transform(X)
    assert isinstance(values, np.ndarray) and values.shape == (len(X), len(names))
    for name, column in zip(names, values.T):
        if " = " in name and not name.endswith((" = missing", " = other")):
            group, level = name.split(" = ")
            np.testing.assert_array_equal(column, (X[group] == level).to_numpy(dtype=float))
    weights = model.coef_[0][[list(model.input_names_).index(name) for name in names]]
    np.testing.assert_allclose(values @ weights + model.intercept_, model.decision_function(X), atol=1e-9)
    assert not hasattr(model, "inverse_transform")
    framed = model.set_output(transform="pandas").transform(X.iloc[5:10])
    assert list(framed.columns) == names and list(framed.index) == list(range(5, 10))
    assert model.set_output(transform="polars").transform(polars_of(X)).columns == names
    assert "colour" not in model._repr_html_inner() and names[0].split(" = ")[0] in model._repr_html_inner()


def test_frames_must_have_the_columns_of_the_training_data(people):
    X, y = parts(read(people / "people.train.csv"))
    model = FGMClassifier(n_features=3).fit(X, y)
    for other in (
        X[X.columns[::-1]],
        X.drop(columns="gain"),
        X.assign(more=1),
        X.rename(columns={"age": "Age"}),
    ):
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(other)
    for other in (X.to_numpy(), np.zeros((3, 14)), sp.csr_array((3, 14))):
        with pytest.raises(ValueError, match="must be a frame"):
            model.predict(other)
    expected = model.decision_function(X)
    for make in FRAMES.values():
        np.testing.assert_array_equal(model.decision_function(make(X)), expected)
        np.testing.assert_array_equal(model.decision_function(make(X[10:20])), expected[10:20])


def test_values_that_the_model_does_not_know_are_said_once():
    X = pd.DataFrame({"colour": ["red", "blue", "green", "odd"] * 10 + ["rare"], "size": np.arange(41.0)})
    y = (X["colour"] == "red").to_numpy()
    model = FGMClassifier().fit(X, y)
    new = X.assign(colour=["red", "pink", None] + ["mauve"] * 38)
    with pytest.warns(TableWarning) as said:
        decision = model.decision_function(new)
    assert len(said) == 1 and said[0].filename == __file__
    assert (
        "39 rows have a value of `colour` that the model does not know, such as `pink`: taken as other"
        in str(said[0].message)
    )
    rare = model.decision_function(X.assign(colour="rare"))
    np.testing.assert_array_equal(decision[[1, 3]], rare[[1, 3]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.decision_function(X[:40])[0] > 0


@pytest.mark.parametrize("kind", [FGMClassifier, FGMRegressor, FGMSelector, FGMSurvival])
def test_every_estimator_takes_frames(people, kind):
    X, y = parts(read(people / "people.train.csv"))
    y = {FGMRegressor: X["years"] + 1.0, FGMSurvival: np.where(y == ">50K", 1.0, -2.0)}.get(kind, y)
    X = X.drop(columns="years")
    model = kind(n_features=3).fit(X, y)
    assert model.n_selected_ == 3 and model.transform(X).shape == (len(X), len(model.get_feature_names_out()))
    for copy in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        np.testing.assert_array_equal(copy.transform(X), model.transform(X))
        np.testing.assert_array_equal(copy.get_support(), model.get_support())
        assert facts_of(copy) == facts_of(model)
    if kind is not FGMSelector:
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
        assert model.score(X, y) > 0.3


def facts_of(model):
    return untimed(json.loads(model._model.to_json()))


def test_more_classes_weights_of_samples_and_probabilities(people):
    frame = read(people / "people.train.csv")
    X, y = frame.drop(columns=["marital", "income"]), frame["marital"].to_numpy(dtype=str)
    model = FGMClassifier(n_features=2, loss="logistic").fit(X, y)
    assert model.predict_proba(X).shape == (len(X), 5) and model.coef_.shape == (5, len(model.input_names_))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.score(X, y) > 0.4

    X, y = parts(frame)
    # What is put where a number is missing does not know of weights.
    X = X.dropna(subset=NUMBERS).reset_index(drop=True)
    y = y[: len(X)]
    once = np.random.default_rng(0).integers(1, 3, len(X))
    weighted = FGMClassifier(n_features=3, ignore=["country"], C=0.1).fit(X, y, sample_weight=once)
    twice = FGMClassifier(n_features=3, ignore=["country"], C=0.1).fit(
        X.loc[X.index.repeat(once)], np.repeat(y, once)
    )
    np.testing.assert_allclose(weighted.decision_function(X), twice.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(weighted.get_support(), twice.get_support())


def test_pipelines_and_searches(people):
    X, y = parts(read(people / "people.train.csv"))
    shuffled = X.sample(frac=1, random_state=0)
    search = GridSearchCV(
        FGMClassifier(space="linear"),
        {"n_features": [2, 4], "impute": ["mean", "median"]},
        cv=2,
        error_score="raise",
    ).fit(shuffled, y[shuffled.index])
    assert search.best_score_ > 0.7
    assert (
        cross_val_score(FGMClassifier(n_features=2), polars_of(X), y, cv=2, error_score="raise").min() > 0.7
    )
    after = make_pipeline(
        FGMSelector(n_features=3).set_output(transform="pandas"), StandardScaler(), FGMClassifier()
    )
    assert after.fit(X, y).score(X, y) > 0.7
    with pytest.raises(ValueError, match="scalers"):
        featgen.save(
            make_pipeline(StandardScaler().set_output(transform="pandas"), FGMClassifier()).fit(
                X[["age", "hours"]], y
            ),
            "nowhere.json",
        )


# What columns are

DAYS = pd.to_datetime(["2026-01-05", "2026-03-01", None, "2025-12-31"] * 6)
TEXT = ["red", "blue", None, "red"] * 6
TRUTH = [True, False, None, True] * 6
WHOLE = [3, 1, None, 2] * 6
LABEL = np.array([0, 1, 0, 1] * 6)

#: What a column becomes, in values of its first four rows.
EXPECTED = {
    "text": {"c = blue": [0, 1, 0, 0], "c = red": [1, 0, 0, 1], "c = missing": [0, 0, 1, 0]},
    "truth": {"c": [1, 0, 2 / 3, 1], "c = missing": [0, 0, 1, 0]},
    "whole": {"c": [3, 1, 2, 2], "c = missing": [0, 0, 1, 0]},
    "codes": {
        "c = 1": [0, 1, 0, 0],
        "c = 2": [0, 0, 0, 1],
        "c = 3": [1, 0, 0, 0],
        "c = missing": [0, 0, 1, 0],
    },
    "days": {"c": [20458, 20513, (20458 + 20513 + 20453) / 3, 20453], "c = missing": [0, 0, 1, 0]},
}

COLUMNS = {
    "pandas object": ("text", lambda: pd.DataFrame({"c": pd.Series(TEXT, dtype=object)})),
    "pandas str": ("text", lambda: pd.DataFrame({"c": TEXT})),
    "pandas string": ("text", lambda: pd.DataFrame({"c": pd.Series(TEXT, dtype="string")})),
    "pandas category": ("text", lambda: pd.DataFrame({"c": pd.Categorical(TEXT, ["odd", "red", "blue"])})),
    "pandas codes": ("codes", lambda: pd.DataFrame({"c": pd.Categorical(WHOLE)})),
    "pandas Int64": ("whole", lambda: pd.DataFrame({"c": pd.Series(WHOLE, dtype="Int64")})),
    "pandas pyarrow": ("whole", lambda: pd.DataFrame({"c": pd.Series(WHOLE, dtype="int64[pyarrow]")})),
    "pandas float": ("whole", lambda: pd.DataFrame({"c": pd.Series(WHOLE, dtype=float)})),
    "pandas float32": ("whole", lambda: pd.DataFrame({"c": pd.Series(WHOLE, dtype=np.float32)})),
    "pandas boolean": ("truth", lambda: pd.DataFrame({"c": pd.Series(TRUTH, dtype="boolean")})),
    "pandas object truths": ("truth", lambda: pd.DataFrame({"c": pd.Series(TRUTH, dtype=object)})),
    "pandas datetime": ("days", lambda: pd.DataFrame({"c": DAYS})),
    "pandas datetime with zone": ("days", lambda: pd.DataFrame({"c": DAYS.tz_localize("UTC")})),
    "pandas dates as text": ("days", lambda: pd.DataFrame({"c": DAYS.strftime("%Y-%m-%d")})),
    "pandas decimal": (
        "whole",
        lambda: pd.DataFrame({"c": [None if x is None else decimal.Decimal(x) for x in WHOLE]}),
    ),
    "polars String": ("text", lambda: pl.DataFrame({"c": TEXT})),
    "polars Categorical": ("text", lambda: pl.DataFrame({"c": pl.Series(TEXT, dtype=pl.Categorical)})),
    "polars Enum": (
        "text",
        lambda: pl.DataFrame({"c": pl.Series(TEXT, dtype=pl.Enum(["red", "blue", "odd"]))}),
    ),
    "polars Boolean": ("truth", lambda: pl.DataFrame({"c": TRUTH})),
    "polars Int16": ("whole", lambda: pl.DataFrame({"c": pl.Series(WHOLE, dtype=pl.Int16)})),
    "polars Float32": ("whole", lambda: pl.DataFrame({"c": pl.Series(WHOLE, dtype=pl.Float32)})),
    "polars Decimal": ("whole", lambda: pl.DataFrame({"c": pl.Series(WHOLE).cast(pl.Decimal(10, 2))})),
    "polars Date": ("days", lambda: pl.DataFrame({"c": pl.Series(DAYS).cast(pl.Date)})),
    "polars Datetime": ("days", lambda: pl.DataFrame({"c": pl.Series(DAYS).cast(pl.Datetime("us"))})),
    "pyarrow string": ("text", lambda: pa.table({"c": pa.array(TEXT)})),
    "pyarrow large_string": ("text", lambda: pa.table({"c": pa.array(TEXT, pa.large_string())})),
    "pyarrow string_view": ("text", lambda: pa.table({"c": pa.array(TEXT, pa.string_view())})),
    "pyarrow dictionary": ("text", lambda: pa.table({"c": pa.array(TEXT).dictionary_encode()})),
    "pyarrow dictionary of numbers": ("codes", lambda: pa.table({"c": pa.array(WHOLE).dictionary_encode()})),
    "pyarrow uint8": ("whole", lambda: pa.table({"c": pa.array(WHOLE, pa.uint8())})),
    "pyarrow half": (
        "whole",
        lambda: pa.table(
            {"c": pa.array([None if x is None else np.float16(x) for x in WHOLE], pa.float16())}
        ),
    ),
    "pyarrow decimal": ("whole", lambda: pa.table({"c": pa.array(WHOLE, pa.decimal128(10, 0))})),
    "pyarrow bool": ("truth", lambda: pa.table({"c": pa.array(TRUTH)})),
    "pyarrow date64": ("days", lambda: pa.table({"c": pa.array(DAYS).cast(pa.date32()).cast(pa.date64())})),
    "pyarrow timestamp": ("days", lambda: pa.table({"c": pa.array(DAYS).cast(pa.timestamp("s"))})),
    "pyarrow in chunks": ("text", lambda: pa.concat_tables([pa.table({"c": pa.array(TEXT[:4])})] * 6)),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_every_kind_of_column(name):
    expected, make = COLUMNS[name]
    X = make()
    # A column is needed by which the labels can be told.
    model = FGMClassifier(scale="none", C=1e3, number=["c"] if expected == "days" else None).fit(X, LABEL)
    assert list(model.input_names_) == list(EXPECTED[expected])
    values = dict(zip(model.get_feature_names_out(), model.transform(X)[:4].T))
    for input_name, column in values.items():
        np.testing.assert_allclose(column, EXPECTED[expected][input_name], rtol=1e-15)
    assert values and model.n_features_in_ == 1 and list(model.feature_names_in_) == ["c"]


def test_times_are_parts_of_days():
    X = pd.DataFrame({"when": pd.to_datetime(["2026-11-17 12:00", "1970-01-02 06:00"] * 5)})
    model = FGMClassifier(number=["when"]).fit(X, [0, 1] * 5)
    np.testing.assert_array_equal(model.transform(X)[:2, 0], [20774.5, 1.25])


def test_plain_numbers_go_the_way_of_arrays():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(100, 8))
    y = values[:, 3] + values[:, 5] > 0
    names = [f"c{i}" for i in range(7)] + ["id"]
    expected = FGMClassifier(n_features=3).fit(values, y)
    for X in (
        pd.DataFrame(values, columns=names),
        pd.DataFrame(values, columns=names).astype("Float64"),
        pl.DataFrame(values, schema=names),
        pa.table(dict(zip(names, values.T))),
    ):
        model = FGMClassifier(n_features=3).fit(X, y)
        assert model._made is None
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(values))


def test_numbers_with_gaps():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 4))
    y = values[:, 0] - values[:, 2] > 0
    values[rng.random(values.shape) < 0.1] = np.nan
    frame = pd.DataFrame(values, columns=list("abcd"))
    model = FGMClassifier(n_features=2).fit(frame, y)
    assert list(model.feature_names_in_[model.get_support()]) == ["a", "c"]
    assert list(model.input_names_) == [name + end for name in "abcd" for end in ("", " = missing")]
    filled = SimpleImputer(add_indicator=False).fit_transform(values)
    np.testing.assert_allclose(
        model.transform(frame)[:, list(model.get_feature_names_out()).index("a")], filled[:, 0], rtol=1e-12
    )
    for X in (polars_of(frame), arrow_of(frame), frame.astype("Float64")):
        np.testing.assert_array_equal(FGMClassifier(n_features=2).fit(X, y).coef_, model.coef_)
    # Without names, columns are known by their places.
    numbered = FGMClassifier(n_features=2).fit(pd.DataFrame(values), y)
    assert not hasattr(numbered, "feature_names_in_") and list(numbered.get_support(indices=True)) == [0, 2]
    np.testing.assert_array_equal(numbered.coef_, model.coef_)
    np.testing.assert_array_equal(numbered.predict(pd.DataFrame(values)), model.predict(frame))
    for X in (values, sp.csr_array(values)):
        with pytest.raises(ValueError, match=r"contains NaN.*Give a frame .*SimpleImputer"):
            FGMClassifier().fit(X, y)
    whole = FGMClassifier().fit(np.nan_to_num(values), y)
    with pytest.raises(ValueError, match=r"contains NaN.*Give a frame"):
        whole.predict(values)
    plain = FGMClassifier().fit(frame.fillna(0.0), y)
    with pytest.raises(ValueError, match="nothing was missing in the training data"):
        plain.predict(frame)


def test_columns_are_spoken_of_by_name_pattern_and_index():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"a,b": rng.integers(1, 4, 60), "code*": rng.integers(1, 4, 60), "x_1": rng.normal(size=60)}
    )
    X = X.assign(x_2=rng.normal(size=60), row_id=np.arange(60))
    y = (X["a,b"] == 2).to_numpy()
    model = FGMClassifier(category=["a,b", -4], ignore=["x_*"]).fit(X, y)
    assert list(model.input_names_) == [f"{name} = {k}" for name in ("a,b", "code*") for k in (1, 2, 3)]
    with pytest.warns(TableWarning, match="row_id"):
        assert FGMClassifier(most_levels=2, category=[0]).fit(X, y).n_features_in_ == 5
    assert "row_id" in FGMClassifier(number=["row_id"]).fit(X, y).input_names_
    for parameters, words in [
        ({"category": ["missing"]}, "category: the table has no column `missing`"),
        ({"category": ["a,b"], "number": ["a,b"]}, "is in two such lists"),
        ({"ignore": "x_1"}, "ignore: must be a list of columns"),
        ({"id": [5]}, "id: no column 5: there are 5"),
        ({"id": [1.5]}, "id: must be names, patterns or indices"),
        ({"number": [True]}, "number: must be names, patterns or indices"),
        ({"impute": "mode"}, "impute: must be one of 'mean', 'median'"),
        ({"most_levels": 0}, "most_levels: must be at least 1"),
        ({"most_levels": 1.5}, "most_levels: must be an integer"),
        ({"ignore": list(X.columns)}, "no column is left to learn from"),
        ({"number": ["a,b"], "keep": ["row_id"]}, "keep: nothing is made of the column 'row_id'"),
        ({"number": ["a,b"], "keep": ["nobody"]}, "keep: no column is called 'nobody'"),
    ]:
        with pytest.raises(ValueError, match=words):
            FGMClassifier(**parameters).fit(X, y)
    for other in (X.to_numpy(), sp.csr_array(X.to_numpy())):
        with pytest.raises(ValueError, match="category: only a frame"):
            FGMClassifier(category=["a"]).fit(other, y)


def test_groups_products_and_kept_columns_of_a_frame():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {"colour": rng.choice(["red", "blue", "green"], 300), "shape": rng.choice(["cube", "ball"], 300)}
    )
    X = X.assign(size=rng.normal(size=300), noise=rng.normal(size=300))
    y = (X["colour"] == "red") & (X["shape"] == "cube")
    products = FGMClassifier(n_features=1, space=Poly2(only=["colour", 1])).fit(X, y)
    assert list(products.get_feature_names_out()) == ["colour = red & shape = cube"]
    assert list(products.get_support()) == [True, True, False, False]
    np.testing.assert_array_equal(products.transform(X)[:, 0], y.astype(float))
    groups = {"look": ["colour", 1], "rest": ["size", "noise"], "red": ["colour = red"]}
    grouped = FGMClassifier(n_features=1, groups=groups).fit(X, y)
    assert set(grouped.selected_["group"]) == {"look"} and len(grouped.selected_) == 5
    kept = FGMClassifier(n_features=1, keep=["shape"]).fit(X, y)
    assert list(kept.kept_) == ["shape = cube"] and list(kept.get_support()) == [True, True, False, False]
    assert list(kept.get_feature_names_out()) == [
        "colour = blue",
        "colour = green",
        "colour = red",
        "shape = cube",
    ]
    np.testing.assert_array_equal(kept.transform(X)[:, 3], (X["shape"] == "cube").to_numpy(dtype=float))
    curves = FGMClassifier(n_features=2, space="gaussian").fit(X.assign(flag=y.to_numpy()), y)
    assert curves.transform(X.assign(flag=y)).shape[1] == len(curves.get_feature_names_out())


def test_kept_columns_of_a_loaded_model_are_kept_again(tmp_path):
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"colour": rng.choice(["red", "blue", "green"], 100), "size": rng.normal(size=100)})
    model = FGMClassifier(keep=["colour"]).fit(X, X["size"] > 0)
    model.save(tmp_path / "model.json")
    loaded = featgen.load(tmp_path / "model.json")
    assert list(loaded.kept_) == list(model.kept_) == ["colour = green", "colour = red"]
    np.testing.assert_array_equal(clone(loaded).fit(X, X["size"] > 0).coef_, model.coef_)


# Hostile frames

Y = [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (lambda: pd.DataFrame([["a", "b"]] * 4, columns=["c", "c"]), "two columns are called .c."),
        (
            lambda: pa.table([pa.array(list("abab")), pa.array(list("abab"))], names=["c", "c"]),
            "two columns are called .c.",
        ),
        (lambda: pd.DataFrame(index=range(4)), "X has 0 columns"),
        (lambda: pd.DataFrame({"c": pd.Series([], dtype=object)}), "inconsistent numbers of samples"),
        (lambda: pd.DataFrame({"c": [None] * 4}), r"no column is left to learn from: .*`c` \(no values\)"),
        (lambda: pd.DataFrame({"c": [np.nan] * 4}), r"no column is left to learn from: .*`c` \(no values\)"),
        (lambda: pd.DataFrame({"c": list("abcd")}), "no column is left.*different in every row; category"),
        (
            lambda: pd.DataFrame({"c": [[1], [2, 3], [], None]}),
            "holds values of type .*ignore leaves it out",
        ),
        (lambda: pl.DataFrame({"c": [[1], [2, 3], [], None]}), "holds values of type .*ignore leaves it out"),
        (lambda: pl.DataFrame({"c": [{"a": 1}] * 4}), "holds values of type .*ignore leaves it out"),
        (
            lambda: pd.DataFrame({"c": [1, "two", 3.0, None]}),
            "column c with type object.*must be of one type",
        ),
        (
            lambda: pd.DataFrame({"c": ["x", "y", "x", datetime.date(2026, 1, 1)]}),
            "column c .*must be of one type",
        ),
        (lambda: pd.DataFrame({"c": ["a", "b\0", "a", "b\0"]}), "is not text"),
        (
            lambda: pd.DataFrame({"c": [np.inf, 1.0, 2.0, None], "d": list("abab")}),
            "row 1, .*inf is not a finite number",
        ),
        (lambda: pd.DataFrame({"c": ["a"] * 4, 7: [1] * 4}), "all .*names.* string|string"),
        (lambda: pd.DataFrame({"c": [1j, 2j, 1j, 2j], "d": list("abab")}), "complex|Complex|one type"),
        (
            lambda: pd.DataFrame({"c": pd.to_timedelta([1, 2, 1, 2], unit="D")}),
            "holds values of type Duration",
        ),
        (
            lambda: pd.DataFrame({"a": list("xyxy"), "a = x": [1, 2, 1, 2]}),
            "two inputs would be called `a = x`: rename a column",
        ),
    ],
)
def test_hostile_frames_are_refused_in_a_line(frame, words):
    model = FGMClassifier()
    with pytest.raises((ValueError, TypeError), match=words) as raised:
        model.fit(frame(), Y)
    assert "\n" not in str(raised.value) or isinstance(raised.value, TypeError)
    assert not hasattr(model, "classes_")


def test_frames_without_rows():
    X = pd.DataFrame({"c": ["a", "b"] * 5})
    model = FGMClassifier().fit(X, [0, 1] * 5)
    with pytest.raises(ValueError, match="no instances|0 sample"):
        model.predict(X[:0])
    with pytest.raises(ValueError, match="no instances|0 sample"):
        FGMClassifier().fit(X[:0], [])
    with pytest.raises(ValueError, match="labels must be given"):
        FGMClassifier().fit(X, None)


def test_ten_thousand_columns():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 3, size=(60, 10_000))
    X = pd.DataFrame(np.array(["low", "mid", "high"])[values], columns=[f"c{i}" for i in range(10_000)])
    y = values[:, 1234] == 2
    model = FGMClassifier(n_features=1).fit(X, y)
    assert list(model.get_support(indices=True)) == [1234] and model.n_features_in_ == 10_000
    assert (model.predict(X) == y).all()
    named = FGMClassifier(n_features=1, ignore=list(X.columns[2000:])).fit(X, y)
    assert list(named.get_support(indices=True)) == [1234]


# Beside scikit-learn


def encoder(frame, scaled):
    """What scikit-learn makes of such a table, in the order of the engine's inputs."""
    steps = []
    for name in frame.columns:
        if name in NUMBERS:
            # What is missing in fewer rows has no input of its own.
            common = frame[name].isna().mean() >= 0.01
            number = SimpleImputer(add_indicator=common)
            steps.append((name, make_pipeline(number, StandardScaler()) if scaled else number, [name]))
        elif name in CATEGORIES:
            fill = SimpleImputer(strategy="constant", fill_value="~", missing_values=np.nan)
            steps.append((name, make_pipeline(fill, OneHotEncoder(min_frequency=2)), [name]))
        elif name == "member":
            steps.append((name, "passthrough", [name]))
    return ColumnTransformer(steps, sparse_threshold=0)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_features": 4},
        {"n_features": 4, "loss": "logistic"},
        {"C": 0.05},
        # Columns that are weighed by their standard deviations, and those that are scaled already, are the same but for
        # their means, which the intercept takes up.
        {"n_features": 4, "scale": "std"},
        {"n_features": 4, "scale": "std", "loss": "logistic"},
    ],
    ids=str,
)
def test_the_same_as_encoders_of_scikit_learn(tmp_path, parameters):
    command(tmp_path, "synth", "table", "-o", "people", "--rows", 30_000, "--test-rows", 0)
    X, y = parts(pd.read_csv(tmp_path / "people.train.csv", na_values="?"))
    X = X.drop(columns="joined").assign(member=lambda frame: frame["member"].astype(float))
    for name in CATEGORIES:
        X[name] = X[name].astype(object).where(X[name].notna(), np.nan)
    encode = encoder(X, scaled=parameters.get("scale") == "std").fit(X)
    Z = np.asarray(encode.transform(X), dtype=float)
    groups, first = {}, 0
    for name in X.columns:
        made = encode.output_indices_[name]
        groups[name] = list(range(first, first + made.stop - made.start))
        first += made.stop - made.start
    expected = FGMClassifier(groups=groups, inner_tol=1e-12, **parameters).fit(Z, y)
    model = FGMClassifier(inner_tol=1e-12, **parameters).fit(X, y)
    assert model.coef_.shape == expected.coef_.shape
    assert set(model.selected_["group"]) == set(expected.selected_["group"])
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(Z), rtol=0, atol=1e-9)
