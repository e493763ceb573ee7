"""Figures 2 and 3: the paper's synthetic sets. Figure 4: densities. Figure 6: accuracy with and without a shift."""

from __future__ import annotations

import convergence
import rivals
from common import *  # noqa: F403
from common import NEWTON, PROX, Bench, Problem, Row, curves, debiased, featgen_row, np, panels, percent, rounds_to, save, write

COUNTS = (50, 100, 200, 240, 300, 400)


def own_rows(bench: Bench, problem: Problem, counts=COUNTS) -> list[Row]:
    """featgen: the paper's machine by its own rule, with both losses, and the default with a number of features."""
    rows = []
    for count in counts:
        rounds = rounds_to(count)
        for who, options in (
            ("PROX-FGM", [*PROX, *rounds]),
            ("PROX-SLR", [*PROX, *rounds, "--loss", "logistic"]),
            ("best", ["--features", count]),
        ):
            rows.append(featgen_row(bench, problem, who, *options, "--no-shift", asked=count))
            if who == "PROX-FGM":
                rows[-1]["debiased"] = debiased(problem, rows[-1]["used"])
    return rows


def l1_rows(problem: Problem, most: int = 400) -> list[Row]:
    rows = []
    for who in ("l1-SVM", "l1-LR"):
        for row in rivals.liblinear_path(problem, who, most):
            if who == "l1-SVM":
                row["debiased"] = debiased(problem, row["used"])
            rows.append(row)
    return rows


def figure2(bench: Bench) -> list[Row]:
    size = 1024 if bench.small else 4096
    rows = []
    for seed in range(bench.seeds):
        problem = bench.planted(size, size, seed)
        first = seed == 0
        steps = [
            lambda: own_rows(bench, problem, COUNTS if first else (100, 200, 240, 300)),
            lambda: l1_rows(problem),
            lambda: rivals.adelie_points(problem, "binomial", 0.2, points=10, intercept=False),
            lambda: rivals.mcp(problem, 300),
            lambda: rivals.chosen(problem, "abess", [100, 200, 240, 300] if first else [200, 240], 150),
        ]
        if first:
            steps.append(lambda: rivals.liblinear_all(problem))
            steps.append(lambda: rivals.sgd_slr(problem, 400, fits=5, epochs=10, growth=0.7))
            steps.append(lambda: rivals.chosen(problem, "RFE", [100, 200, 240, 300], 150))
        for step in steps:
            rows += [row | {"seed": seed} for row in step()]
            write("fig02_synthetic", rows)
            print("seed", seed, rows[-1]["who"], flush=True)
    return rows


def mkl_rows(bench: Bench) -> list[Row]:
    """The same rounds with three solvers to the same gap, for the ratio of their times."""
    problem = bench.planted(1024, 1024) if bench.small else bench.planted(4096, 4096)
    rows = []
    rounds = [*NEWTON, "--no-shift", "-B", 10, "--max-rounds", 5, "--inner-tol", 1e-3]
    for who, options in (
        ("Newton, 50 features", rounds),
        ("APG, 50 features", [*rounds, "--solver", "apg"]),
        ("MKL-FGM, 50 features", [*rounds, "--solver", "mkl"]),
    ):
        rows.append(featgen_row(bench, problem, who, *options))
        rows[-1]["objective"] = rows[-1]["result"]["objective"]
    return rows


def no_figure(rows: list[Row]) -> None:
    """A table is enough."""


def four_panels(rows: list[Row], name: str, title: str) -> None:
    shown = [row for row in rows if "50 features" not in row["who"] and (row["features"] or 0) <= 450]
    figure, (accuracy, relevant, refit, seconds) = panels(4)
    curves(accuracy, shown, "features", "accuracy")
    curves(relevant, shown, "features", "relevant")
    plain = [row for row in shown if row["who"] in ("PROX-FGM", "l1-SVM")]
    again = [row | {"who": row["who"] + "-debias", "accuracy": row["debiased"]} for row in plain]
    curves(refit, [*plain, *again], "features", "accuracy")
    curves(seconds, [row for row in shown if not row.get("seed")], "features", "seconds")
    for row in rows:
        if row["who"] == "l2-SVM, all features":
            accuracy.axhline(row["accuracy"], color="#888", linewidth=0.8)
            accuracy.text(400, row["accuracy"] - 0.005, row["who"], ha="right", va="top", fontsize=6, color="#555")
    relevant.plot([0, 300], [0, 300], color="#bbb", linewidth=0.8)
    accuracy.set(title=title, xlabel="features", ylabel="test accuracy")
    relevant.set(title="relevant features among them", xlabel="features", ylabel="relevant")
    refit.set(title="with a refit on the selected features", xlabel="features", ylabel="test accuracy")
    seconds.set(title="training time of one fit", xlabel="features", ylabel="seconds", yscale="log")
    percent(accuracy)
    percent(refit)
    save(figure, name, 6)


def draw2(rows: list[Row]) -> None:
    four_panels(rows, "fig02_synthetic", "4096 x 4096, mean of seeds")


def figure3(bench: Bench) -> list[Row]:
    problem = bench.planted(8192, 4096 if bench.small else 16_384)
    rows = own_rows(bench, problem, (100, 200, 300, 400))
    rows += l1_rows(problem)
    rows += rivals.mcp(problem, 300)
    rows += rivals.adelie_points(problem, "binomial", 0.15, intercept=False)
    rows += rivals.sgd_slr(problem, 400, fits=4, epochs=15, growth=0.65)
    return rows


def draw3(rows: list[Row]) -> None:
    four_panels(rows, "fig03_synthetic_large", "8192 x 16,384")


DENSITIES = (0.08, 0.1, 0.3, 0.5, 0.8, 1.0)


def figure4(bench: Bench) -> list[Row]:
    """Of each system, the fit that is most accurate on the test set, as in the paper."""
    rows = []
    for density in DENSITIES:
        size = 2048 if bench.small else 4096
        problem = bench.planted(size, size, **({"density": density} if density < 1 else {}))
        found = [featgen_row(bench, problem, "PROX-SLR", *PROX, *rounds_to(k), "--loss", "logistic", "--no-shift") for k in (100, 200, 300)]
        found += [featgen_row(bench, problem, "best", "--features", k, "--no-shift") for k in (100, 200, 300)]
        found += rivals.liblinear_path(problem, "l1-LR", 600, fits=6, growth=1.7)
        found += rivals.sgd_slr(problem, 600, fits=3, growth=0.5, epochs=10)
        for who in dict.fromkeys(row["who"] for row in found):
            rows.append(max((row for row in found if row["who"] == who), key=lambda row: row["accuracy"]) | {"density": density})
    return rows


def draw4(rows: list[Row]) -> None:
    figure, (accuracy, seconds) = panels(2)
    curves(accuracy, rows, "density", "accuracy")
    curves(seconds, rows, "density", "seconds")
    accuracy.set(xlabel="density of the data", ylabel="best test accuracy")
    seconds.set(xlabel="density of the data", ylabel="seconds of that fit", yscale="log")
    percent(accuracy)
    save(figure, "fig04_density")


def figure6(bench: Bench) -> list[Row]:
    rows = []
    for name in convergence.SHIFTED:
        if (problem := convergence.shifted(bench, name)) is None:
            continue
        found = []
        for count in (50, 100, 200, 300):
            for who, shift in (("FGM", ["--no-shift"]), ("FGM-SHIFT", [])):
                found.append(featgen_row(bench, problem, who, *PROX, *rounds_to(count), *shift))
            found.append(featgen_row(bench, problem, "best", "--features", count))
        for who in ("l1-SVM", "l1-SVM-SHIFT"):
            found += rivals.liblinear_path(problem, who, 300, shift=who.endswith("SHIFT"), fits=10, growth=1.4)
        rows += [row | {"set": name} for row in found]
    return rows


def draw6(rows: list[Row]) -> None:
    names = list(dict.fromkeys(row["set"] for row in rows))
    figure, axes = panels(len(names), 3)
    for place, name in zip(axes, names):
        curves(place, [row for row in rows if row["set"] == name and row["features"] >= 10], "features", "accuracy")
        place.set(title=name, xlabel="features", ylabel="test accuracy")
        percent(place)
    save(figure, "fig06_shift_accuracy")


def at(rows: list[Row], who: str, count: int, seed: float) -> float | None:
    """Accuracy at exactly so many features, between the points of a path if need be."""
    points = sorted((row["features"], row["accuracy"]) for row in rows if row["who"] == who and row["seed"] == seed)
    if not points or not points[0][0] <= count <= points[-1][0]:
        return None
    return float(np.interp(count, *zip(*points)))


def summary(rows: list[Row]) -> list[Row]:
    """Mean accuracy over the seeds, with its standard error, at equal numbers of features."""
    table = []
    for who in dict.fromkeys(row["who"] for row in rows):
        for count in (100, 150, 200, 240, 300):
            each = [a for seed in dict.fromkeys(row["seed"] for row in rows) if (a := at(rows, who, count, seed)) is not None]
            if each:
                error = float(np.std(each, ddof=1) / np.sqrt(len(each))) if len(each) > 1 else None
                table.append({"who": who, "features": count, "accuracy": float(np.mean(each)), "error": error, "seeds": len(each)})
    return table
