"""Figures 7 and 8: accuracy and time on real data. Figure 9: with a refit. Figures 10 to 12: sensitivity to C and B."""

from __future__ import annotations

import rivals
from common import *  # noqa: F403
from common import NEWTON, PROX, REAL, Bench, Problem, Row, curves, debiased, featgen_row, np, panels, percent, prox, rounds_to, save, write

COUNTS = (50, 100, 200, 400)
#: Seconds for elimination and for abess on each set, all counts together.
LIMIT = 45


def sets(bench: Bench) -> list[tuple[str, Problem]]:
    return [(name, problem) for name in REAL if (problem := bench.real(name)) is not None]


def own_rows(bench: Bench, problem: Problem) -> list[Row]:
    rows = []
    for count in COUNTS:
        rounds = rounds_to(count, max(1, count // 10))
        contenders = {
            "PROX-FGM": [*PROX, *rounds],
            "PROX-SLR": [*PROX, *rounds, "--loss", "logistic"],
            "FGM, solved": [*NEWTON, *rounds],
            "best": ["--features", count],
        }
        for who, options in contenders.items():
            row = featgen_row(bench, problem, who, *options, asked=count)
            row["debiased"] = debiased(problem, row["used"], shift=True)
            rows.append(row)
    return rows


def tuned(problem: Problem, rows: list[Row]) -> list[Row]:
    """The features of an l1 model, at the cost that selects the nearest number to each count, refitted as other rivals are."""
    found = []
    split = rivals.choosing.Split(*(x.tocsr() if hasattr(x, "tocsr") else x for x in (problem.x, problem.y, problem.test_x, problem.test_y)))
    even = split.even()
    for count in COUNTS:
        enough = [row for row in rows if row["features"] >= count]
        if enough:
            weights = np.abs(enough[0]["weights"])
            kept = rivals.choosing.largest(weights, count)
            accuracy = rivals.choosing.refitted(even, kept)
            found.append({"who": f"{enough[0]['who']}, refit", "features": count, "accuracy": accuracy, "seconds": enough[0]["seconds"], "asked": count})
    return found


def figure7(bench: Bench) -> list[Row]:
    rows = []
    for name, problem in sets(bench):
        found = own_rows(bench, problem)
        for who in ("l1-SVM", "l1-LR"):
            path = list(rivals.liblinear_path(problem, who, 420, shift=True, fits=14, growth=1.7))
            if who == "l1-SVM":
                for row in path:
                    row["debiased"] = debiased(problem, row["used"], shift=True)
            found += path
            found += tuned(problem, path)
        found += rivals.sgd_slr(problem, 420, fits=4, growth=0.5, epochs=20)
        found += rivals.chosen(problem, "RFE", list(COUNTS), LIMIT)
        found += rivals.chosen(problem, "abess", list(COUNTS), LIMIT)
        found += rivals.liblinear_all(problem)
        rows += [row | {"set": name} for row in found]
        write("fig07_real", rows)
        print(name, len(found), flush=True)
    return rows


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
    rows = []
    for name in ("news20_libsvm", "mnist38"):
        if (problem := bench.real(name)) is None:
            continue
        for cost in (0.5, 5, 50, 500):
            for count in (50, 100, 200, 300):
                options = [*prox(cost), *rounds_to(count)]
                rows.append(featgen_row(bench, problem, f"PROX-FGM, C = {cost:g}", *options) | {"set": name})
        rows += [row | {"set": name} for row in rivals.liblinear_path(problem, "l1-SVM", 320, shift=True, fits=12, growth=1.5)]
    return rows


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
    if (problem := bench.real(SENSITIVE)) is None:
        return []
    rows = []
    for budget in (5, 10, 20, 40, 60, 80, 100):
        for who, tol, most in (("tolerance 0.005", 0.005, 100), ("tolerance 0.001", 0.001, 100), ("10 rounds", 0, 10)):
            rows.append(featgen_row(bench, problem, who, *prox(tol=tol), "-B", budget, "--max-rounds", most, budget=budget))
    return rows


def draw11(rows: list[Row]) -> None:
    figure, axes = panels(3, 3)
    for place, y, label in zip(axes, ("features", "accuracy", "seconds"), ("features selected", "test accuracy", "seconds of training")):
        curves(place, rows, "budget", y)
        place.set(xlabel="B", ylabel=label)
    percent(axes[1])
    save(figure, "fig11_budget")


def figure12(bench: Bench) -> list[Row]:
    if (problem := bench.real(SENSITIVE)) is None:
        return []
    rows = []
    for budget in (2, 5, 10, 20, 40, 100, 200, 400):
        for who, base in (("PROX-FGM", PROX), ("FGM, solved (Newton)", NEWTON)):
            if budget > 2 or who != "PROX-FGM" or not bench.small:
                rows.append(featgen_row(bench, problem, who, *base, *rounds_to(400, budget), budget=budget))
    return rows


def draw12(rows: list[Row]) -> None:
    figure, (seconds, accuracy) = panels(2)
    for place, y, label in ((seconds, "seconds", "seconds of training"), (accuracy, "accuracy", "test accuracy")):
        curves(place, rows, "budget", y)
        place.set(xlabel="B, up to 400 features", ylabel=label, xscale="log")
    seconds.set_yscale("log")
    percent(accuracy)
    save(figure, "fig12_budget_400")
