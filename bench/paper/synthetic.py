"""Figures 2 and 3: the paper's synthetic sets. Figure 4: densities. Figure 6: accuracy with and without a shift."""

from __future__ import annotations

import convergence
import foreign
import rivals
from common import *  # noqa: F403
from common import (
    NEWTON, PROX, Bench, Callable, Case, Iterable, Iterator, Problem, Row, curves, debiased, featgen_row, locked, measure, np, panels,
    percent, rounds_to, save, style,
)

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


def debias(problem: Problem, rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        yield row | {"debiased": debiased(problem, row["used"])}


#: Where seeds are compared.
COMPARED = (100, 200, 240, 300)


def l1_rows(problem: Problem, refits: tuple[int, ...]) -> list[Row]:
    svm = rivals.liblinear_path(problem, "l1-SVM", 400)
    lr = rivals.with_refit(lambda problem: rivals.liblinear_path(problem, "l1-LR", 400), refits)
    return [*debias(problem, svm), *lr(problem)]


def figure2(bench: Bench) -> list[Row]:
    """Slow rivals, and counts that only the picture needs, on the first data set alone."""
    size = 1024 if bench.small else 4096

    def case(seed: int) -> Case:
        first = seed == 0
        here = {
            "l1-SVM l1-LR": lambda problem: l1_rows(problem, COMPARED if first else ()),
            "adelie": lambda problem: rivals.adelie_points(problem, "binomial", 0.2, points=10, intercept=False),
            "MCP": lambda problem: rivals.mcp(problem, 260, fits=6, growth=0.82, first=0.35),
            "abess": lambda problem: rivals.chosen(problem, "abess", [200, 240, 100, 300] if first else [200, 240], 80),
            "L0Learn": lambda problem: foreign.l0learn(problem, [100, 200, 240] if first else [200, 240], 80, intercept=False),
        }
        if first:
            here |= {
                "SGD-SLR": lambda problem: rivals.sgd_slr(problem, 400, fits=12),
                "glmnet": lambda problem: foreign.glmnet(problem, 0.2, 10, intercept=False),
                "RFE": lambda problem: rivals.chosen(problem, "RFE", [100, 200, 240, 300], 80),
                "l2-SVM LR": rivals.liblinear_all,
            }
        counts = COUNTS if first else COMPARED
        return Case({"seed": seed}, lambda: bench.planted(size, size, seed), lambda problem: own_rows(bench, problem, counts), here)

    return measure(bench, "fig02_synthetic", map(case, range(bench.seeds)))


def mkl_rows(bench: Bench) -> list[Row]:
    """The same rounds with three solvers to the same gap, for the ratio of their times; at a size that the slow one can do."""
    return measure(bench, "mkl_times", [Case({}, lambda: bench.planted(1024, 1024), lambda problem: three_solvers(bench, problem))])


def three_solvers(bench: Bench, problem: Problem) -> list[Row]:
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
    rows = [row for row in rows if not row.get("seed")]  # points of several paths would not make one line
    shown = [row for row in rows if row["features"] <= 450]
    figure, (accuracy, relevant, refit, seconds) = panels(4)
    curves(accuracy, shown, "features", "accuracy")
    curves(relevant, shown, "features", "relevant")
    plain = [row for row in shown if row["who"] in ("PROX-FGM", "l1-SVM")]
    again = [row | {"who": row["who"] + "-debias", "accuracy": row["debiased"]} for row in plain]
    curves(refit, [*plain, *again], "features", "accuracy")
    curves(seconds, shown, "features", "seconds")
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
    four_panels(rows, "fig02_synthetic", "4096 x 4096, first data set")
    draw_summary(rows)


#: Who is in the README's picture, and as what.
SHOWN = {
    "best": "featgen", "MCP": "MCP (skglm)", "abess, refit": "abess, refitted", "L0Learn, refit": "L0Learn, refitted",
    "l1-LR, refit": "l1 logistic regression, refitted", "l1-LR": "l1 logistic regression (LIBLINEAR, adelie, glmnet)",
    "l1-SVM": "l1 SVM (LIBLINEAR)", "SGD-SLR": "l1 and l2, stochastic (SGD-SLR)",
}


def draw_summary(rows: list[Row]) -> None:
    """Mean accuracy over the seeds where all are compared, with standard errors: the README's picture."""
    figure, axes = panels(1, 1, 3.5)
    figure.set_size_inches(7, 4)
    table = summary(rows)
    for index, (who, label) in enumerate(SHOWN.items()):
        if not (own := [row for row in table if row["who"] == who]):
            continue
        places, means, errors = ([row[key] or 0 for row in own] for key in ("features", "accuracy", "error"))
        axes[0].errorbar(places, means, errors, label=label, capsize=2, **style(who, index))
    axes[0].set(xlabel="features selected", ylabel="test accuracy", xticks=COMPARED)
    axes[0].set_title("4096 x 4096, 300 relevant features, mean of data sets")
    axes[0].grid(alpha=0.25)
    percent(axes[0])
    save(figure, "accuracy", 3)


def figure3(bench: Bench) -> list[Row]:
    """At full size LIBLINEAR would hold 18 GB, and abess and L0Learn two copies in float64; see `liblinear_part`."""
    case = Case(
        {},
        lambda: bench.planted(8192, 4096 if bench.small else 65_536),
        lambda problem: own_rows(bench, problem, (100, 200, 300, 400)),
        {
            "adelie": rivals.with_refit(
                lambda problem: rivals.adelie_points(problem, "binomial", 0.21, intercept=False, dtype=np.float32), (100, 200, 300)
            ),
            "MCP": lambda problem: rivals.mcp(problem, 300, fits=6),
            "SGD-SLR": lambda problem: rivals.sgd_slr(problem, 400, fits=5, growth=0.75),
            "l1-SVM": lambda problem: debias(problem, rivals.liblinear_part(problem, "l1-SVM", 400, 8192, fits=6, growth=1.35)),
            "l1-LR": lambda problem: rivals.liblinear_part(problem, "l1-LR", 400, 8192, fits=6, growth=1.35),
        },
    )
    with locked("memory"):
        return measure(bench, "fig03_synthetic_large", [case])


def draw3(rows: list[Row]) -> None:
    four_panels(rows, "fig03_synthetic_large", "8192 x 65,536")


DENSITIES = (0.08, 0.1, 0.3, 0.5, 0.8, 1.0)


def figure4(bench: Bench) -> list[Row]:
    """Of each system, the fit that is most accurate on the test set, as in the paper."""
    size = 2048 if bench.small else 4096

    def most_accurate(run: Callable[[Problem], Iterable[Row]]) -> Callable[[Problem], list[Row]]:
        return lambda problem: [max(run(problem), key=lambda row: row["accuracy"])]

    def slr(problem: Problem) -> list[Row]:
        return [featgen_row(bench, problem, "PROX-SLR", *PROX, *rounds_to(k), "--loss", "logistic", "--no-shift") for k in (100, 200, 300)]

    def best(problem: Problem) -> list[Row]:
        return [featgen_row(bench, problem, "best", "--features", k, "--no-shift") for k in (100, 200, 300)]

    def case(density: float) -> Case:
        return Case(
            {"density": density},
            lambda: bench.planted(size, size, **({"density": density} if density < 1 else {})),
            lambda problem: most_accurate(slr)(problem) + most_accurate(best)(problem),
            {
                "l1-LR": most_accurate(lambda problem: rivals.liblinear_path(problem, "l1-LR", 900, fits=7, growth=1.8)),
                "SGD-SLR": most_accurate(lambda problem: rivals.sgd_slr(problem, 900, fits=6, growth=0.7)),
            },
        )

    return measure(bench, "fig04_density", map(case, DENSITIES))


def draw4(rows: list[Row]) -> None:
    figure, (accuracy, seconds) = panels(2)
    curves(accuracy, rows, "density", "accuracy")
    curves(seconds, rows, "density", "seconds")
    accuracy.set(xlabel="density of the data", ylabel="best test accuracy")
    seconds.set(xlabel="density of the data", ylabel="seconds of that fit", yscale="log")
    percent(accuracy)
    save(figure, "fig04_density")


def figure6(bench: Bench) -> list[Row]:
    def own(problem: Problem) -> Iterator[Row]:
        for count in (50, 100, 200, 300):
            for who, shift in (("FGM", ["--no-shift"]), ("FGM-SHIFT", [])):
                yield featgen_row(bench, problem, who, *PROX, *rounds_to(count), *shift)
            yield featgen_row(bench, problem, "best", "--features", count)

    def l1(problem: Problem) -> Iterator[Row]:
        for who in ("l1-SVM", "l1-SVM-SHIFT"):
            yield from rivals.liblinear_path(problem, who, 300, shift=who.endswith("SHIFT"), fits=10, growth=1.4)

    cases = [Case({"set": name}, lambda name=name: convergence.shifted(bench, name), own, {"l1-SVM": l1}) for name in convergence.SHIFTED]
    return measure(bench, "fig06_shift_accuracy", cases)


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
        for count in COMPARED:
            each = [a for seed in dict.fromkeys(row["seed"] for row in rows) if (a := at(rows, who, count, seed)) is not None]
            if each:
                error = float(np.std(each, ddof=1) / np.sqrt(len(each))) if len(each) > 1 else None
                table.append({"who": who, "features": count, "accuracy": float(np.mean(each)), "error": error, "seeds": len(each)})
    return table
