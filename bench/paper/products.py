"""Figures 13 and 14: products of two features that are never written down, beside those that are."""

from __future__ import annotations

import json
import os
import sys

from common import *  # noqa: F403
from common import (
    PROX, WORK, Bench, Callable, Case, Iterator, Path, Row, curves, locked, measure, panels, percent, rounds_to, save, train_seconds,
)
from featgen_command import run_clocked

PEER = Path(__file__).resolve().parent.parent / "poly_peer.py"


def own(bench: Bench, train: list[str], test: list[str], who: str, *options: str | float) -> Row:
    model = WORK / f"products-{os.getpid()}.json"
    result = bench.featgen.train(train, *options, model=model)
    accuracy = bench.featgen.accuracy(model, test)
    return {"who": who, "features": len(result["selected"]), "accuracy": accuracy, "seconds": train_seconds(result), "peak": result["peak"]}


Files = tuple[list[str], list[str]]


def planted(bench: Bench) -> Files:
    """As many features, and as many in a row, as the kddb of the paper; its instances are those that the paper takes of it."""
    rows = 100_000 if bench.small else 1_000_000
    options = {"rows": rows, "test_rows": 100_000, "features": 4_590_807, "per_row": 29, "relevant": 100, "support": 0.02}
    prefix = bench.made("products", WORK / f"products_{rows}", **options)
    return [f"{prefix}.train.svm"], [f"{prefix}.test.svm"]


def real(bench: Bench, name: str) -> Files | None:
    folder = bench.data / name
    return ([str(folder / "train.svm.zst")], [str(folder / "test.svm.zst")]) if folder.is_dir() else None


def figure13(bench: Bench) -> list[Row]:
    def own_rows(files: Files, counts: tuple[int, ...], *space: str | float) -> Iterator[Row]:
        for count in counts:
            rounds = rounds_to(count)
            yield own(bench, *files, "PROX-PFGM", *PROX, *rounds, *space)
            yield own(bench, *files, "PROX-PSLR", *PROX, *rounds, *space, "--loss", "logistic")
            yield own(bench, *files, "best", "--features", count, *space)
            yield own(bench, *files, "PROX-FGM, linear", *PROX, *rounds)

    def poly(gamma: float) -> Callable[[Files], Iterator[Row]]:
        return lambda files: own_rows(files, (50, 100, 200), "--space", "poly2", "--gamma", gamma)

    cases = [
        Case({"set": "mnist38"}, lambda: real(bench, "mnist38"), poly(4), {"l1-PSVM": lambda files: explicit(files, 784, (0.0105,))}),
        Case({"set": "news20_libsvm"}, lambda: real(bench, "news20_libsvm"), poly(8)),
        Case({"set": "planted products"}, lambda: planted(bench), lambda files: own_rows(files, (50, 100), "--space", "poly2")),
    ]
    return measure(bench, "fig13_products", cases)


def explicit(files: Files, features: int, costs: tuple[float, ...]) -> Iterator[Row]:
    """l1-PSVM: all products written down, then LIBLINEAR, each in a process of its own, for its memory."""
    (train,), (test,) = files
    for cost in costs:
        with locked("memory"):
            out, peak, _ = run_clocked([sys.executable, str(PEER), train, test, str(features), str(cost)])
        answer = json.loads(out)
        yield {"who": "l1-PSVM", "cost": cost, "peak": peak, "features": answer["features"], "accuracy": answer["accuracy"], "seconds": answer["cpu"]}


def draw13(rows: list[Row]) -> None:
    for name, y, label in (("fig13_products_time", "seconds", "seconds of training"), ("fig14_products_accuracy", "accuracy", "test accuracy")):
        names = list(dict.fromkeys(row["set"] for row in rows))
        figure, axes = panels(len(names), 3)
        for place, one in zip(axes, names):
            curves(place, [row for row in rows if row["set"] == one and row["features"] <= 700], "features", y)
            place.set(title=one, xlabel="features", ylabel=label)
            percent(place) if y == "accuracy" else place.set_yscale("log")
        save(figure, name)
