"""The page about a model: its numbers are right, and a browser shows it."""

import json
import pickle
import re
from html import unescape
from pathlib import Path

import browser
import featgen
import numpy as np
import pandas as pd
import pytest
from featgen import FGMClassifier, FGMClassifierCV, FGMRegressor, FGMSurvival
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, roc_auc_score, roc_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

HOSTILE = [
    "<script>document.title = 'attacked'</script>",
    "</script><img src='http://example.invalid/x' onerror='document.title = 1'>",
    "\"quoted\" & 'single'",
    "\u202eright to left \u0627\u0644\u0639\u0631\u0628\u064a\u0629",
    "line\nbreak\u2028and\ttab",
    "x" * 10_000,
]


def shown(page):
    """What a page shows."""
    found = re.search(r'<script type="application/json" id="report">(.*?)</script>', page.html, re.DOTALL)
    return json.loads(found[1])


def planted(n, m, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    return X, X[:, 0] - X[:, 1] + 0.5 * X[:, 2], rng


@pytest.fixture(scope="module")
def two():
    """A model with probabilities, and data it was not learned from."""
    X, f, rng = planted(1000, 20)
    y = np.where(f + rng.logistic(size=1000) > 0, "sick", "healthy")
    return FGMClassifier(n_features=4, loss="logistic").fit(X[:500], y[:500]), X[500:], y[500:]


# Numbers


def test_roc_is_that_of_scikit_learn(two):
    model, X, y = two
    ranking = shown(model.report(X_test=X, y_test=y))["tested"]["ranking"]
    decision = model.decision_function(X)
    assert ranking["auc"] == pytest.approx(roc_auc_score(y == "sick", decision), abs=1e-12)
    # Without ties, both keep the corners only; scikit-learn also the first point after 0, whether it is one or not.
    corners = np.column_stack(roc_curve(y == "sick", decision)[:2])
    np.testing.assert_allclose(ranking["roc"], np.delete(corners, 1, axis=0), atol=1e-5)
    at = [(decision[y == name] > 0).mean() for name in ("healthy", "sick")]
    assert ranking["at"] == pytest.approx(at, abs=1e-5)


def test_calibration_is_that_of_scikit_learn(two):
    model, X, y = two
    bins = shown(model.report(X_test=X, y_test=y))["tested"]["ranking"]["calibration"]
    probability = model.predict_proba(X)[:, 1]
    observed, predicted = calibration_curve(y == "sick", probability, n_bins=10, strategy="quantile")
    np.testing.assert_allclose([b["observed"] for b in bins], observed, atol=1e-5)
    np.testing.assert_allclose([b["predicted"] for b in bins], predicted, atol=1e-5)
    assert all(b["low"] <= b["observed"] <= b["high"] for b in bins)


def test_confusion_is_that_of_scikit_learn(digits, two):
    model, X, y = two
    found = shown(model.report(X_test=X, y_test=y))["tested"]["confusion"]
    assert found["counts"] == confusion_matrix(y, model.predict(X)).tolist()
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 6)), rng.integers(0, 4, size=300)
    X[:, 0] += y
    many = FGMClassifier(n_features=2, loss="logistic").fit(X, y)
    report = shown(many.report(X_test=X, y_test=y))
    found = report["tested"]["confusion"]
    expected = confusion_matrix(y, many.predict(X))
    assert found["counts"] == expected.tolist() and "ranking" not in report["tested"]
    np.testing.assert_allclose(found["recall"], expected.diagonal() / expected.sum(axis=1), atol=1e-5)
    assert len(report["selection"]["rows"][0]["weights"]) == 4


def test_kaplan_meier_by_thirds_of_the_risk():
    X, f, rng = planted(300, 8)
    time, censored = rng.exponential(np.exp(-f)) + 0.01, rng.exponential(2.0, size=300) + 0.01
    event, time = time <= censored, np.minimum(time, censored).round(2) + 0.01
    y = np.array(list(zip(event, time)), dtype=[("event", bool), ("time", float)])
    model = FGMSurvival(n_features=3).fit(X, y)
    survival = shown(model.report(X_test=X, y_test=y))["tested"]["survival"]
    risk = model.predict(X)
    third = np.searchsorted(np.quantile(risk, [1 / 3, 2 / 3]), risk)
    assert [t["n"] for t in survival["thirds"]] == np.bincount(third).tolist()
    for k, found in enumerate(survival["thirds"]):
        own_event, own_time = event[third == k], time[third == k]
        assert found["events"] == own_event.sum()
        for at, left in found["steps"]:
            # The definition: a product over the times with events up to now.
            times = np.unique(own_time[own_event & (own_time <= at + 1e-9)])
            expected = np.prod(
                [1 - (own_event & (own_time == t)).sum() / (own_time >= t).sum() for t in times]
            )
            assert left == pytest.approx(expected, abs=1e-5)
        counted = [(own_time >= t).sum() for t in survival["times"]]
        np.testing.assert_allclose(found["at_risk"], counted, atol=1)


def test_numbers_and_counts_against_what_was_predicted():
    X, f, rng = planted(200, 6)
    model = FGMRegressor(n_features=3).fit(X, f)
    numbers = shown(model.report(X_test=X, y_test=f))["tested"]["numbers"]
    expected = sorted(zip(model.predict(X), f))
    np.testing.assert_allclose(numbers["points"], expected, rtol=1e-4, atol=1e-4)
    counts = rng.poisson(np.exp(f / 2))
    model = FGMRegressor(n_features=3, loss="poisson").fit(X, counts)
    numbers = shown(model.report(X_test=X, y_test=counts))["tested"]["numbers"]
    assert numbers["counts"] and sum(y for _, y in numbers["points"]) == counts.sum()
    means = np.array(numbers["means"])
    predicted = model.predict(X)
    assert means[:, 0].mean() == pytest.approx(predicted.mean(), rel=1e-3) and len(means) == 10
    with pytest.raises(ValueError, match="y_test: counts"):
        model.report(X_test=X, y_test=-1.0 - counts)


def test_effects_are_deviations_of_what_features_add():
    X, f, _ = planted(200, 6)
    X = X * [1.0, 10.0, 0.1, 1.0, 1.0, 1.0]
    model = FGMClassifier(n_features=3).fit(X, f > 0)
    rows = shown(model.report(X_test=X, y_test=f > 0))["selection"]["rows"]
    expected = {f"x{j}": np.abs(w) * X[:, j].std() for j, w in enumerate(model.coef_[0]) if w}
    assert {row["name"]: row["effect"] for row in rows} == pytest.approx(expected, rel=1e-4)
    assert rows == sorted(rows, key=lambda row: -row["effect"])
    curves = FGMClassifier(n_features=1, space="gaussian").fit(X, f > 0)
    (row,) = shown(curves.report(X_test=X, y_test=f > 0))["selection"]["rows"]
    # One curve is all that decision values vary by.
    assert row["effect"] == pytest.approx(curves.decision_function(X).std(), rel=1e-4)
    assert "effect" not in shown(model.report())["selection"]["rows"][0]


def test_cross_validation_goes_with_the_model(tmp_path, data):
    X, y = data
    model = FGMClassifierCV(n_features=6, budget=1).fit(X, y)
    counts = shown(model.report())["counts"]
    assert counts["held_out"] and counts["chosen"] == model.n_features_ == counts["model"]["features"]
    np.testing.assert_allclose(
        [p["mean"] for p in counts["points"]], model.cv_results_["mean_test_score"], atol=1e-5
    )
    np.testing.assert_allclose(
        [p["se"] for p in counts["points"]], model.cv_results_["se_test_score"], atol=1e-5
    )
    again = pickle.loads(pickle.dumps(model))
    assert again.report().html == model.report().html
    model.save(tmp_path / "model.json")
    assert shown(featgen.load(tmp_path / "model.json").report())["counts"] == counts
    assert not shown(FGMClassifier(n_features=3).fit(X, y).report())["counts"]["held_out"]


# Interface


def test_a_page_is_a_file_and_a_part_of_a_notebook(tmp_path, two):
    model, X, y = two
    path = tmp_path / "page.html"
    page = model.report(path, X, y)
    assert path.read_text(encoding="utf-8") == page.html
    frame = page._repr_html_()
    assert unescape(re.search(r'srcdoc="([^"]*)"', frame)[1]) == page.html
    assert 'sandbox="allow-scripts"' in frame
    # scikit-learn's own diagram is still what an estimator shows.
    assert "sk-" in model._repr_html_() and "<iframe" not in model._repr_html_()
    assert "save(path)" in repr(page)
    assert shown(page)["repeat"] == f"{model!r}.fit(X, y)"


def test_features_are_called_as_scikit_learn_calls_them(two):
    model, _, _ = two
    rows = shown(model.report())["selection"]["rows"]
    assert {row["name"] for row in rows} == set(model.get_feature_names_out())
    assert rows[0]["weight"] == pytest.approx(
        np.abs(model.coef_).max() * np.sign(rows[0]["weight"]), rel=1e-5
    )


def test_pipelines_have_pages(cancer):
    X, y = cancer
    pipeline = make_pipeline(StandardScaler(), FGMClassifier(n_features=3, loss="logistic")).fit(X, y)
    tested = shown(featgen.report(pipeline, X_test=X, y_test=y))["tested"]
    assert tested["confusion"]["counts"] == confusion_matrix(y, pipeline.predict(X)).tolist()
    with pytest.raises(TypeError, match="no estimator of featgen"):
        featgen.report(LogisticRegression())


def test_mistakes_are_told(two, tmp_path):
    model, X, y = two
    with pytest.raises(ValueError, match="y_test: must be given"):
        model.report(X_test=X)
    with pytest.raises(ValueError, match="X_test: must be given"):
        model.report(y_test=y)
    with pytest.raises(ValueError, match="y_test: some labels"):
        model.report(X_test=X, y_test=np.where(y == "sick", "sick", "other"))
    with pytest.raises(ValueError, match="inconsistent"):
        model.report(X_test=X, y_test=y[1:])
    with pytest.raises(Exception, match="not fitted"):
        FGMClassifier().report()
    with pytest.raises(OSError):
        model.report(tmp_path / "nowhere" / "page.html")


# In a browser


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    """A browser without a window."""
    if browser.found() is None:
        pytest.skip("no browser was found: chromium is what these tests take, or what FEATGEN_BROWSER names")
    with browser.Browser(tmp_path_factory.mktemp("browser")) as window:
        yield window


@pytest.fixture
def look(window, tmp_path):
    """Opens a page; what it complains of, or asks of the network, is an error."""

    def look(page, width=1200, theme="light"):
        path = tmp_path / "page.html"
        page.save(path)
        window.resize(width, 900)
        window.theme(theme)
        window.requests.clear()
        window.complaints.clear()
        window.open(path)
        window.screenshot(tmp_path / "page.png")
        assert window.complaints == []
        assert {Path(url).name for url in window.requests} == {"page.html"}
        # Nothing is wider than the window: only tables scroll.
        assert window.run("document.documentElement.scrollWidth") <= width
        return window

    return look


def names(window):
    return window.run(
        "[...document.querySelectorAll('table.selected tbody tr')].map(r => r.cells[0].textContent)"
    )


def click(window, text):
    window.run(
        f"[...document.querySelectorAll('button')].find(b => b.textContent.startsWith({text!r})).click()"
    )


def search(window, text):
    window.run(
        "(() => { const field = document.querySelector('input[type=search]');"
        f"field.value = {text!r}; field.dispatchEvent(new Event('input')); }})()"
    )


#: How many charts there are, and how many have something drawn on them.
CHARTS = (
    "[document.querySelectorAll('.chart').length, [...document.querySelectorAll('.chart canvas')].filter(c => "
    "new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size > 5).length]"
)


def test_the_table_sorts_and_searches(look, cancer):
    X, y = cancer
    model = FGMClassifier(n_features=8).fit(X, y)
    window = look(model.report())
    by_weight = names(window)
    assert sorted(by_weight) == sorted(model.get_feature_names_out())
    click(window, "feature")
    assert names(window) == sorted(by_weight)
    click(window, "feature")
    assert names(window) == sorted(by_weight, reverse=True)
    assert window.run("document.querySelector('th').getAttribute('aria-sort')") == "descending"
    click(window, "weight")
    weights = [row["weight"] for row in shown(model.report())["selection"]["rows"]]
    of = dict(zip(by_weight, weights))
    assert names(window) == sorted(by_weight, key=of.__getitem__, reverse=True)
    search(window, "WORST")
    assert set(names(window)) == {name for name in by_weight if "worst" in name}
    search(window, "no such feature")
    assert names(window) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_charts_are_drawn(look, two, width, theme):
    model, X, y = two
    window = look(model.report(X_test=X, y_test=y), width, theme)
    assert window.run(CHARTS) == [3, 3]
    ink, paper = window.run("(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))")
    light = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
    assert (light[0] < light[1]) == (theme == "light")


def test_every_outcome_is_drawn(look):
    X, f, rng = planted(240, 6)
    time = rng.exponential(np.exp(-f)) + 0.01
    outcomes = [
        (FGMRegressor(n_features=2), f, 3),
        (FGMRegressor(n_features=2, loss="poisson"), rng.poisson(np.exp(f / 2)), 3),
        (FGMSurvival(n_features=2), np.where(rng.random(240) < 0.3, -time, time), 2),
        (FGMClassifier(n_features=2, loss="logistic"), np.digitize(f, [-0.5, 0.5]), 1),
        (FGMClassifier(n_features=3, space="gaussian"), f > 0, 6),
        (FGMClassifier(n_features=3, space="poly2"), X[:, 0] * X[:, 1] > 0, 3),
    ]
    for model, y, charts in outcomes:
        model.fit(X, y)
        window = look(model.report(X_test=X, y_test=y))
        assert window.run(CHARTS) == [charts, charts], model


def test_hostile_names_are_text(look):
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(80, len(HOSTILE))), columns=HOSTILE)
    y = np.where(X.sum(axis=1) > 0, "<b>yes</b>", "no'\"")
    model = FGMClassifier(n_features=len(HOSTILE)).fit(X, y)
    for width in (1200, 390):
        window = look(model.report(X_test=X, y_test=y), width)
        assert sorted(names(window)) == sorted(HOSTILE)
        assert window.run("document.title") == "FGMClassifier"
        assert window.run("document.querySelectorAll('main img, main b, main script').length") == 0


def test_thousands_of_features_are_quick(look, tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 30))
    small = FGMClassifier(n_features=2).fit(X, X[:, 0] > 0)
    small.save(tmp_path / "model.json")
    model = json.loads((tmp_path / "model.json").read_text())
    term, count = model["terms"][0], 5000
    model["terms"] = [
        {**term, "name": f"feature {k}", "feature": {"input": k + 1}, "weight": float(rng.normal())}
        for k in range(count)
    ]
    model["rounds"], model["training"]["m"] = [], count
    (tmp_path / "model.json").write_text(json.dumps(model))
    page = featgen.load(tmp_path / "model.json").report()
    assert len(page.html) < 2_000_000
    window = look(page)
    assert len(names(window)) == 100
    spent = window.run(
        "(() => { const start = performance.now(); document.querySelector('th button').click();"
        "document.body.offsetHeight; return performance.now() - start; })()"
    )
    assert spent < 1000
    search(window, "feature 4321")
    assert names(window) == ["feature 4321"]
    search(window, "")
    click(window, "Show all")
    assert len(names(window)) == count


def test_stability_and_stand_ins_have_columns_if_there_are_any(look, cancer):
    X, y = cancer
    heads = "[...document.querySelectorAll('table.selected th')].map(head => head.textContent)"
    assert not {"stability", "stand-ins"} & set(
        look(FGMClassifier(n_features=3).fit(X, y).report()).run(heads)
    )
    first, second = np.asarray(X)[:, 0], np.asarray(X)[:, 1]
    frame = pd.DataFrame({"<i>first</i>": first, "kept": second, "<i>other</i>": 2 * first})
    model = FGMClassifier(n_features=1, keep=["kept"], stability=10, stand_ins=0.9).fit(frame, y)
    window = look(model.report())
    assert {"stability", "stand-ins"} <= set(window.run(heads))
    cells = window.run(
        "[...document.querySelector('table.selected tbody tr').cells].map(cell => cell.textContent)"
    )
    assert {"<i>other</i> (1.00)", "<i>first</i> (1.00)"} & set(cells) and any(
        cell.endswith(" %") for cell in cells
    )


def test_a_page_is_printed_light(look, two, tmp_path):
    model, X, y = two
    window = look(model.report(X_test=X, y_test=y), theme="dark")
    window.run("window.dispatchEvent(new Event('beforeprint'))")
    assert window.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    window.run("window.dispatchEvent(new Event('afterprint'))")
    assert window.run("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    window.pdf(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_without_programs_there_is_a_table(two):
    model, _, _ = two
    plain = re.search(r"<noscript>(.*?)</noscript>", model.report().html, re.DOTALL)[1]
    for name in model.get_feature_names_out():
        assert f"<bdi>{name}</bdi>" in plain
