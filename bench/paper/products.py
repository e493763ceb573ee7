"""Figures 13 and 14: products of two features that are never written down, beside those that are."""

from __future__ import annotations

import json
import os
import sys

from common import *  # noqa: F403
from common import PROX, WORK, Bench, Path, Row, curves, fit_seconds, panels, percent, rounds_to, run_clocked, save

PEER = Path(__file__).resolve().parent.parent / "poly_peer.py"


def own(bench: Bench, train: list[str], test: list[str], who: str, *options: str | float) -> Row:
    model = WORK / f"products-{os.getpid()}.json"
    result = bench.featgen.train(train, *options, model=model)
    accuracy = bench.featgen.accuracy(model, test)
    return {"who": who, "features": len(result["selected"]), "accuracy": accuracy, "seconds": fit_seconds(result), "peak": result["peak"]}


def planted(bench: Bench) -> tuple[list[str], list[str]]:
    """As many features, and as many in a row, as the kddb of the paper; its instances are those that the paper takes of it."""
    rows = 100_000 if bench.small else 1_000_000
    prefix = WORK / f"products_{rows}"
    if not Path(f"{prefix}.truth.txt").exists():
        options = {"rows": rows, "test_rows": 100_000, "features": 4_590_807, "per_row": 29, "relevant": 100}
        bench.featgen.synth("products", prefix, **options)
    return [f"{prefix}.train.svm"], [f"{prefix}.test.svm"]


def figure13(bench: Bench) -> list[Row]:
    rows: list[Row] = []
    for name, gamma in (("mnist38", 4), ("news20_libsvm", 8)):
        folder = bench.data / name
        if not folder.is_dir():
            continue
        train, test = [str(folder / "train.svm.zst")], [str(folder / "test.svm.zst")]
        space = ["--space", "poly2", "--gamma", gamma]
        found = []
        for count in (50, 100, 200, 300):
            rounds = rounds_to(count)
            found.append(own(bench, train, test, "PROX-PFGM", *PROX, *rounds, *space))
            found.append(own(bench, train, test, "PROX-PSLR", *PROX, *rounds, *space, "--loss", "logistic"))
            found.append(own(bench, train, test, "best", "--features", count, *space))
            found.append(own(bench, train, test, "PROX-FGM, linear", *PROX, *rounds))
        if name == "mnist38":
            found += explicit(train[0], test[0], 784, (0.002, 0.005) if bench.small else (0.002, 0.004, 0.01))
        rows += [row | {"set": name} for row in found]
    train, test = planted(bench)
    for count in (50, 100):
        for who, space in (("PROX-PFGM", ["--space", "poly2"]), ("PROX-FGM, linear", [])):
            rows.append(own(bench, train, test, who, *PROX, *rounds_to(count), *space) | {"set": "planted products, 1e13"})
    return rows


def explicit(train: str, test: str, features: int, costs: tuple[float, ...]) -> list[Row]:
    """l1-PSVM: all products written down, then LIBLINEAR, each in a process of its own, for its memory."""
    rows = []
    for cost in costs:
        out, peak, _ = run_clocked([sys.executable, str(PEER), train, test, str(features), str(cost)])
        answer = json.loads(out)
        kept = {key: answer[key] for key in ("features", "accuracy", "seconds")}
        rows.append({"who": "l1-PSVM", "cost": cost, "peak": peak} | kept)
    return rows


def draw13(rows: list[Row]) -> None:
    for name, y, label in (("fig13_products_time", "seconds", "seconds of training"), ("fig14_products_accuracy", "accuracy", "test accuracy")):
        names = list(dict.fromkeys(row["set"] for row in rows))
        figure, axes = panels(len(names), 3)
        for place, one in zip(axes, names):
            curves(place, [row for row in rows if row["set"] == one and row["features"] <= 700], "features", y)
            place.set(title=one, xlabel="features", ylabel=label)
            percent(place) if y == "accuracy" else place.set_yscale("log")
        save(figure, name)
