"""Figure 1: the machine with exactly and roughly solved subproblems. Figure 5: with and without a shift."""

from __future__ import annotations

from common import *  # noqa: F403
from common import Bench, Case, Iterator, Problem, Row, featgen_row, measure, panels, save, style

APG = ["--select", "paper", "--solver", "apg", "-C", 10, "--tol", 0, "--max-rounds", 10]


def rounds_of(bench: Bench, problem: Problem, who: str, *options: str | float, **more) -> list[Row]:
    result = featgen_row(bench, problem, who, *options)["result"]
    first = result["rounds"][0]["objective"]
    rows, iterations, seconds = [], 0, 0.0
    for one in result["rounds"]:
        iterations += one["inner_iterations"]
        seconds += sum(one["seconds"].values())
        rows.append({
            "who": who, "round": one["round"], "iterations": iterations, "objective": one["objective"],
            "relative": one["objective"] / more.get("scale", first), "features": one["selected"], "seconds": seconds,
        })
    return rows


def figure1(bench: Bench) -> list[Row]:
    size = 2048 if bench.small else 4096
    null = 0.5 * 10 * size  # the objective of no features: half a slack of 1 for each instance, times C

    def own(problem: Problem) -> Iterator[Row]:
        for budget in (10, 30, 50):
            for kind, rule in (("exact", 1e-6), ("inexact", 1e-3)):
                who, options = f"{kind}, B = {budget}", [*APG, "--no-shift", "-B", budget, "--inner-decrease", rule]
                yield from rounds_of(bench, problem, who, *options, scale=null)

    return measure(bench, "fig01_exact_inexact", [Case({}, lambda: bench.planted(size, size), own)])


def draw1(rows: list[Row]) -> None:
    figure, (left, right) = panels(2)
    colours = {"10": "#1d4ed8", "30": "#c1121f", "50": "#15803d"}
    for who in dict.fromkeys(row["who"] for row in rows):
        own = [row for row in rows if row["who"] == who]
        look = style(who, 0) | {"color": colours[who.split()[-1]], "linestyle": "-" if who.startswith("exact") else "--"}
        for axes, x in ((left, "iterations"), (right, "round")):
            axes.plot([row[x] for row in own], [row["relative"] for row in own], label=who, **look)
    for axes, x in ((left, "APG iterations, all rounds together"), (right, "rounds")):
        axes.set(xlabel=x, ylabel="objective / that of no features", yscale="log")
        axes.grid(alpha=0.25)
    left.set_xscale("log")
    save(figure, "fig01_exact_inexact", 3)


SHIFTED = ("synthetic, b = 4", "dorothea", "news20_2gram")


def shifted(bench: Bench, name: str) -> Problem | None:
    if name not in SHIFTED[:1]:
        return bench.real(name)
    size = 2048 if bench.small else 4096
    return bench.planted(size, size, shift=4)


def figure5(bench: Bench) -> list[Row]:
    def own(problem: Problem) -> Iterator[Row]:
        scale = 0.5 * 10 * len(problem.y)
        for who, shift in (("FGM", ["--no-shift"]), ("FGM-SHIFT", [])):
            yield from rounds_of(bench, problem, who, *APG, "-B", 20, "--inner-decrease", 1e-3, *shift, scale=scale)

    cases = [Case({"set": name}, lambda name=name: shifted(bench, name), own) for name in SHIFTED]
    return measure(bench, "fig05_shift_objective", cases)


def draw5(rows: list[Row]) -> None:
    names = list(dict.fromkeys(row["set"] for row in rows))
    figure, axes = panels(len(names), 3)
    for place, name in zip(axes, names):
        for index, who in enumerate(("FGM", "FGM-SHIFT")):
            own = [row for row in rows if row["who"] == who and row["set"] == name]
            place.plot([row["iterations"] for row in own], [row["relative"] for row in own], label=who, **style(who, index))
        place.set(title=name, xlabel="APG iterations", ylabel="objective / (n C / 2)", yscale="log")
        place.grid(alpha=0.25)
    save(figure, "fig05_shift_objective")
