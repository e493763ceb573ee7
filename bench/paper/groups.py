"""Figure 15: synthetic groups. Figures 16 and 17: a group of features for every input, by two additive kernels."""

from __future__ import annotations

import os

import group_rivals
import rivals
from common import *  # noqa: F403
from common import WORK, Bench, Case, Iterator, Problem, Row, curves, featgen_row, measure, np, panels, percent, save, train_seconds

PAPER = ["--select", "paper", "--loss", "logistic", "--tol", 1e-3, "--max-rounds", 100]


def figure15(bench: Bench) -> list[Row]:
    """The machine as in the paper: costs make the number of groups, B is 2, 5, 8 or 10."""

    def own(problem: Problem) -> Iterator[Row]:
        for budget in (2, 5, 8, 10):
            for cost in (0.01, 0.03, 0.1, 1):
                yield featgen_row(bench, problem, f"FGM, B = {budget}", *PAPER, "-B", budget, "-C", cost, cost=cost)
        active = ["--select", "paper", "--loss", "logistic", "-B", 1, "-C", 1]
        for count in (20, 30, 40, 50, 60):
            yield featgen_row(bench, problem, "best", "--features", count, "--loss", "logistic")
            yield featgen_row(bench, problem, "ACTIVE (B = 1)", *active, "--features", count)

    case = Case(
        {},
        lambda: bench.groups(2048, 10_000 if bench.small else 20_000, 50),
        own,
        {
            "BCD": lambda problem: rivals.adelie_points(problem, "binomial", 0.5),
            "FISTA": lambda problem: group_rivals.fista(problem, [0.9, 0.8, 0.7, 0.6, 0.5]),
            "UFO-MKL": lambda problem: group_rivals.ufo_mkl(problem, [0.8, 0.65, 0.5, 0.4], epochs=10 if bench.small else 20),
        },
    )
    return measure(bench, "fig15_groups", [case])


def draw15(rows: list[Row]) -> None:
    figure, axes = panels(3, 3)
    shown = [row for row in rows if row["features"] <= 150]
    for place, y, label in zip(axes, ("accuracy", "relevant", "seconds"), ("test accuracy", "relevant groups", "seconds of training")):
        curves(place, shown, "features", y)
        place.set(xlabel="groups", ylabel=label)
    percent(axes[0])
    axes[1].axhline(50, color="#bbb", linewidth=0.8)
    axes[2].set_yscale("log")
    save(figure, "fig15_groups", 4)


# Additive kernels: what the space of the command makes by itself, rivals must have written down.


def waves(x: np.ndarray, sigma: float) -> np.ndarray:
    """11 columns an input for the Gaussian kernel: cosines and sines of five frequencies, without what they are at 0."""
    frequencies = np.arange(1, 6) * 0.5 / sigma
    weights = np.exp(-0.5 * (frequencies * sigma) ** 2)
    parts = [np.zeros_like(x)]
    for frequency, weight in zip(frequencies, weights):
        parts += [np.sqrt(weight) * (np.cos(frequency * x) - 1), np.sqrt(weight) * np.sin(frequency * x)]
    return np.stack(parts, axis=2).reshape(len(x), -1).astype(np.float32)


def steps(x: np.ndarray, levels: int) -> np.ndarray:
    """The unary code of each input's level."""
    edges = (np.arange(levels) + 0.5) / levels
    return ((x[:, :, None] >= edges) / np.sqrt(levels)).reshape(len(x), -1).astype(np.float32)


LEVELS = 10


def expanded(problem: Problem, kind: str) -> Problem:
    make = (lambda x: waves(x, 0.5)) if kind == "gaussian" else (lambda x: steps(x, LEVELS))
    arrays = [np.asfortranarray(make(np.asarray(x))) for x in (problem.x, problem.test_x)]
    return Problem(arrays[0], problem.y, arrays[1], problem.test_y, [], [], None, 11 if kind == "gaussian" else LEVELS)


def part_of(bench: Bench, name: str, rows: int, columns: int) -> Problem | None:
    """Some instances, and the inputs that are filled most often, as arrays: all contenders get the same."""
    if (problem := bench.real(name)) is None:
        return None
    x, test = (p.toarray() if hasattr(p, "toarray") else np.asarray(p) for p in (problem.x[:rows], problem.test_x))
    chosen = np.sort(np.argsort(-(x != 0).mean(0), kind="stable")[:columns])
    top = np.maximum(x[:, chosen].max(0), 1e-12)
    files = []
    for part, values, y in (("train", x, problem.y[:rows]), ("test", test, problem.test_y)):
        array, labels = WORK / f"part_{name}_{part}.npy", WORK / f"part_{name}_{part}.txt"
        np.save(array, np.asfortranarray(np.clip(values[:, chosen] / top, 0, 1), dtype=np.float32))
        np.savetxt(labels, y, fmt="%d")
        files.append((np.load(array), y, [str(array), "--labels", str(labels)]))
    (x, y, train), (test_x, test_y, test_args) = files
    return Problem(x, y, test_x, test_y, train, test_args)


def curve_row(bench: Bench, problem: Problem, who: str, *options: str | float) -> Row:
    model = WORK / f"curves-{os.getpid()}.json"
    result = bench.featgen.train(problem.train_args, *options, model=model)
    inputs = {one.get("group", one["feature"]) for one in result["selected"]}
    return {"who": who, "features": len(inputs), "accuracy": bench.featgen.accuracy(model, problem.test_args), "seconds": train_seconds(result)}


KERNELS = {
    "gaussian": ["--space", "gaussian", "--sigma", 0.5],
    "hik": ["--space", "hik", "--levels", LEVELS],
}


def figure16(bench: Bench) -> list[Row]:
    def case(name: str, kind: str, inputs: int) -> Case:
        def own(problem: Problem) -> Iterator[Row]:
            for count in (20, 50, 100, 150):
                base = ["--select", "paper", "--loss", "logistic", "-C", 10, "--features", count, *KERNELS[kind]]
                yield curve_row(bench, problem, "FGM, B = 10", *base, "-B", 10)
                yield curve_row(bench, problem, "ACTIVE (B = 1)", *base, "-B", 1)
                yield curve_row(bench, problem, "best", "--features", count, "--loss", "logistic", *KERNELS[kind])

        def written(problem: Problem) -> Iterator[Row]:
            problem = expanded(problem, kind)
            yield from rivals.adelie_points(problem, "binomial", 0.05, points=12)
            yield from group_rivals.fista(problem, [0.7, 0.5, 0.35, 0.25, 0.15, 0.1])
            yield from group_rivals.ufo_mkl(problem, [0.5, 0.3, 0.2, 0.1], epochs=10 if bench.small else 20)

        return Case({"set": f"{name}, {kind}"}, lambda: part_of(bench, name, 3000, inputs), own, {"BCD FISTA UFO-MKL": written})

    sizes = (("mnist38", 400), ("news20_libsvm", 1000))
    return measure(bench, "fig16_kernels", [case(name, kind, inputs) for name, inputs in sizes for kind in KERNELS])


def draw16(rows: list[Row]) -> None:
    for name, y, label in (("fig16_kernels_accuracy", "accuracy", "test accuracy"), ("fig17_kernels_time", "seconds", "seconds of training")):
        names = list(dict.fromkeys(row["set"] for row in rows))
        figure, axes = panels(len(names))
        for place, one in zip(axes, names):
            curves(place, [row for row in rows if row["set"] == one and 5 <= row["features"] <= 200], "features", y)
            place.set(title=one, xlabel="inputs", ylabel=label)
            percent(place) if y == "accuracy" else place.set_yscale("log")
        save(figure, name)
