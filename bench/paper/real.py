"""Figures 7 and 8: accuracy and time on real data. Figure 9: with a refit. Figures 10 to 12: sensitivity to C and B."""

from __future__ import annotations

import foreign
import rivals
from common import *  # noqa: F403
from common import (
    NEWTON, PROX, REAL, Bench, Case, Iterable, Iterator, Problem, Row, curves, debiased, featgen_row, measure, panels, percent,
    prox, rounds_to, save,
)
from rivals import LIBLINEAR, with_refit

COUNTS = (50, 100, 200, 400)
#: Processor seconds for each of elimination, abess and L0Learn on each set, all counts together.
LIMIT = 30


def own_rows(bench: Bench, problem: Problem) -> Iterator[Row]:
    for count in COUNTS:
        rounds = rounds_to(count)
        contenders = {
            "PROX-FGM": [*PROX, *rounds],
            "PROX-SLR": [*PROX, *rounds, "--loss", "logistic"],
            "FGM, solved": [*NEWTON, *rounds],
            "best": ["--features", count],
        }
        for who, options in contenders.items():
            row = featgen_row(bench, problem, who, *options, asked=count)
            row["debiased"] = debiased(problem, row["used"], shift=True)
            yield row
        # Is it the features or the weights: the refit that rivals get.
        yield rivals.refit_row(problem, "best", row["used"], count)


def l1(problem: Problem) -> Iterator[Row]:
    for who in LIBLINEAR:
        for row in with_refit(lambda problem: rivals.liblinear_path(problem, who, 420, shift=True, fits=20, growth=1.4), COUNTS)(problem):
            yield row | ({"debiased": debiased(problem, row["used"], shift=True)} if row["who"] == "l1-SVM" else {})


#: Where the l1 paths of glmnet and adelie end, as a part of the first penalty: near 400 features.
ENDS = {"dorothea": 0.005, "mnist38": 0.001, "news20_libsvm": 0.03, "news20_2gram": 0.03}


def figure7(bench: Bench) -> list[Row]:
    def case(name: str) -> Case:
        counts = list(COUNTS)
        here = {
            "l1-SVM l1-LR": l1,
            "adelie": with_refit(lambda problem: rivals.adelie_points(problem, "binomial", ENDS[name], points=30), COUNTS),
            "glmnet": lambda problem: foreign.glmnet(problem, ENDS[name], 30, intercept=True),
            "MCP": with_refit(lambda problem: rivals.mcp(problem, 420, fits=14, growth=0.75), COUNTS),
            "SGD-SLR": lambda problem: rivals.sgd_slr(problem, 420, fits=12, growth=0.7, epochs=50),
            "RFE": lambda problem: rivals.chosen(problem, "RFE", counts, LIMIT),
            "abess": lambda problem: rivals.chosen(problem, "abess", counts, LIMIT),
            "L0Learn": lambda problem: foreign.l0learn(problem, counts, LIMIT),
            "l2-SVM LR": rivals.liblinear_all,
        }
        return Case({"set": name}, lambda: bench.real(name), lambda problem: own_rows(bench, problem), here)

    return measure(bench, "fig07_real", map(case, REAL))


def by_set(rows: list[Row], name: str, y: str, shown, title: str) -> None:
    names = list(dict.fromkeys(row["set"] for row in rows))
    figure, axes = panels(len(names))
    for place, one in zip(axes, names):
        own = [row for row in rows if row["set"] == one and shown(row) and 20 <= (row["features"] or 0) <= 450]
        curves(place, own, "features", y)
        place.set(title=one, xlabel="features", ylabel=title)
        if y == "accuracy":
            percent(place)
            for row in rows:
                if row["set"] == one and row["who"].startswith("l2-SVM"):
                    place.axhline(row["accuracy"], color="#888", linewidth=0.8)
        else:
            place.set_yscale("log")
    save(figure, name, 6)


def draw7(rows: list[Row]) -> None:
    by_set(rows, "fig07_real_accuracy", "accuracy", lambda row: True, "test accuracy")
    by_set(rows, "fig08_real_time", "seconds", lambda row: True, "seconds of training")
    again = [row | {"who": row["who"] + "-debias", "accuracy": row["debiased"]} for row in rows if row["who"] in ("PROX-FGM", "l1-SVM")]
    both = [row for row in rows if row["who"] in ("PROX-FGM", "l1-SVM")] + again
    by_set(both, "fig09_debias", "accuracy", lambda row: True, "test accuracy")


def figure10(bench: Bench) -> list[Row]:
    def own(problem: Problem) -> Iterator[Row]:
        for cost in (0.5, 5, 50, 500):
            for count in (50, 100, 200, 300):
                yield featgen_row(bench, problem, f"PROX-FGM, C = {cost:g}", *prox(cost), *rounds_to(count))

    def l1_svm(problem: Problem) -> Iterable[Row]:
        return rivals.liblinear_path(problem, "l1-SVM", 320, shift=True, fits=12, growth=1.5)

    names = ("news20_libsvm", "mnist38")
    return measure(bench, "fig10_cost", [Case({"set": name}, lambda name=name: bench.real(name), own, {"l1-SVM": l1_svm}) for name in names])


def draw10(rows: list[Row]) -> None:
    names = list(dict.fromkeys(row["set"] for row in rows))
    figure, axes = panels(len(names))
    colours = {"0.5": "#93c5fd", "5": "#3b82f6", "50": "#1d4ed8", "500": "#172554"}
    for place, name in zip(axes, names):
        own = [row for row in rows if row["set"] == name and row["features"] >= 20]
        curves(place, own, "features", "accuracy")
        for line in place.get_lines():
            if (cost := line.get_label().rpartition("= ")[2]) in colours:
                line.set_color(colours[cost])
        place.set(title=name, xlabel="features", ylabel="test accuracy")
        percent(place)
    save(figure, "fig10_cost")


SENSITIVE = "news20_libsvm"


def figure11(bench: Bench) -> list[Row]:
    def own(problem: Problem) -> Iterator[Row]:
        for budget in (5, 10, 20, 40, 60, 80, 100):
            for who, tol, most in (("tolerance 0.005", 0.005, 100), ("tolerance 0.001", 0.001, 100), ("10 rounds", 0, 10)):
                yield featgen_row(bench, problem, who, *prox(tol=tol), "-B", budget, "--max-rounds", most, budget=budget)

    return measure(bench, "fig11_budget", [Case({}, lambda: bench.real(SENSITIVE), own)])


def draw11(rows: list[Row]) -> None:
    figure, axes = panels(3, 3)
    for place, y, label in zip(axes, ("features", "accuracy", "seconds"), ("features selected", "test accuracy", "seconds of training")):
        curves(place, rows, "budget", y)
        place.set(xlabel="B", ylabel=label)
    percent(axes[1])
    save(figure, "fig11_budget")


def figure12(bench: Bench) -> list[Row]:
    def own(problem: Problem) -> Iterator[Row]:
        for budget in (2, 5, 10, 20, 40, 100, 200, 400):
            for who, base in (("PROX-FGM", PROX), ("FGM, solved (Newton)", NEWTON)):
                if budget > 2 or who != "PROX-FGM" or not bench.small:
                    yield featgen_row(bench, problem, who, *base, *rounds_to(400, budget), budget=budget)

    return measure(bench, "fig12_budget_400", [Case({}, lambda: bench.real(SENSITIVE), own)])


def draw12(rows: list[Row]) -> None:
    figure, (seconds, accuracy) = panels(2)
    for place, y, label in ((seconds, "seconds", "seconds of training"), (accuracy, "accuracy", "test accuracy")):
        curves(place, rows, "budget", y)
        place.set(xlabel="B, up to 400 features", ylabel=label, xscale="log")
    seconds.set_yscale("log")
    percent(accuracy)
    save(figure, "fig12_budget_400")
