"""Searches for products planted in very many: what is found, at what price. Draws docs/searches.svg.

    bench/run searches
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import matplotlib

from featgen_command import ROOT, Featgen, build

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "featgen", "svg.fonttype": "none", "font.family": "sans-serif"})
import matplotlib.pyplot as plt  # noqa: E402

WORK = ROOT / "bench" / "work"


@dataclass(frozen=True)
class Search:
    """Options of `featgen synth products` and of `featgen train`."""

    name: str
    title: str
    synth: dict[str, float]
    train: list[str | float]
    style: str
    colour: str


KDDB = {"rows": 1_000_000, "test_rows": 100_000, "features": 4_590_807, "per_row": 29, "relevant": 100, "support": 0.02}
BINARY = {"rows": 100_000, "test_rows": 20_000, "features": 400_000}

# Every search is then one for the features of a round.
PAPER = ["--select", "paper"]

SEARCHES = (
    Search(
        "degree4",
        "products of up to 4",
        BINARY | {"degree": 4, "per_row": 40, "support": 0.3},
        [*PAPER, "--space", "products", "--degree", 4, "--features", 10, "--budget", 1],
        "s",
        "#0b3c5d",
    ),
    Search(
        "degree3",
        "products of up to 3",
        BINARY | {"degree": 3},
        [*PAPER, "--space", "products", "--degree", 3, "--features", 10, "--budget", 1],
        "^",
        "#c1440e",
    ),
    Search(
        "kddb",
        "products of 2",
        KDDB,
        [*PAPER, "--space", "poly2", "--coef0", 0, "--features", 100, "--budget", 10],
        "o",
        "#7a7a7a",
    ),
)


def planted(prefix: Path) -> set[str]:
    lines = Path(f"{prefix}.truth.txt").read_text().splitlines()
    return {line.split()[0] for line in lines if not line.startswith("#")}


def run(command: Featgen, search: Search) -> dict:
    """Makes the data, unless they are there, and selects."""
    prefix = WORK / search.name
    if not Path(f"{prefix}.truth.txt").exists():
        command.synth("products", prefix, **search.synth)
    test = ["--test", f"{prefix}.test.svm"]
    result = command.train([f"{prefix}.train.svm", *test], *search.train, model=WORK / f"{search.name}.json")
    chosen, truth = {s["feature"] for s in result["selected"]}, planted(prefix)
    scored = [r["scored"] for r in result["rounds"]]
    seconds = result["seconds"]
    return {
        "title": search.title,
        "candidates": result["candidates"],
        "scored": scored,
        "planted": len(truth),
        "found": len(chosen & truth),
        "selected": len(chosen),
        "gap": result["gap"],
        "accuracy": result["test"]["accuracy"],
        "seconds": seconds["total"] - seconds["read"],
        "search": seconds["score"],
        "cpu": result["cpu"],
        "peak": result["peak"],
    }


def show(found: dict[str, dict]) -> None:
    print(f"{'':10}{'features':>10}{'scored a round':>24}{'found':>12}{'accuracy':>10}{'seconds':>9}{'cpu s':>9}{'peak MB':>9}")
    for name, r in found.items():
        scored = f"{min(r['scored']):,} to {max(r['scored']):,}"
        print(
            f"{name:10}{r['candidates']:>10.2g}{scored:>24}{r['found']:>5} of {r['planted']:<4}"
            f"{r['accuracy']:>9.2%}{r['seconds']:>9.1f}{r['cpu']:>9.1f}{r['peak'] / 1e6:>9.0f}"
        )


def draw(found: dict[str, dict]) -> None:
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for search in SEARCHES:
        r = found[search.name]
        rounds, colour = range(1, len(r["scored"]) + 1), search.colour
        axes.axhline(r["candidates"], color=colour, linestyle="--", linewidth=1.5)
        axes.text(1, r["candidates"] / 2.2, f"{search.title}: {r['candidates']:.1e} features", color=colour, va="top")
        # Two of the lines all but coincide: the marks of one stand around those of the other.
        around = {"markersize": 9, "markerfacecolor": "none"} if search is SEARCHES[0] else {"markersize": 5}
        axes.plot(rounds, r["scored"], search.style, color=colour, linestyle="-", label=search.title, **around)
    axes.set(xlabel="round", yscale="log", ylim=(1e4, 1e23), xticks=range(1, 11))
    axes.set_ylabel("candidates")
    axes.set_title("In the space (dashed) and scored in each round (marks)", fontsize=11)
    axes.set_yticks([10.0**k for k in range(4, 23, 3)])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, title="scored", loc="center right", bbox_to_anchor=(1, 0.27))
    figure.savefig(ROOT / "docs" / "searches.svg", metadata={"Date": None})


def main() -> None:
    WORK.mkdir(exist_ok=True)
    command = Featgen(build())
    found = {search.name: run(command, search) for search in SEARCHES[::-1]}
    (WORK / "searches.json").write_text(json.dumps(found, indent=2) + "\n")
    show(found)
    draw(found)


if __name__ == "__main__":
    main()
