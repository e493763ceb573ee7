"""How time grows with instances, features, nonzeros and the number of features wanted. Draws docs/scaling.svg.

    bench/run scaling                      # three decades of each; 2 GB on disk at a time, a few minutes
    bench/run scaling --decades 2          # without the largest

One thread, `featgen train --features 20` (or as many as the axis says) with its defaults on data that `featgen
synth linear` makes, the best of three. Seconds are those of training, without reading. The exponent is the slope
of the line through the larger half of the points: below, what does not grow takes most of the time.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib

from featgen_command import ROOT, Featgen, build, fit_seconds

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "featgen", "svg.fonttype": "none", "font.family": "sans-serif"})
import matplotlib.pyplot as plt  # noqa: E402

WORK = ROOT / "bench" / "work"
PER_DECADE = 3
REPEATS = 3
# Longer runs vary little.
LONG = 5.0


@dataclass(frozen=True)
class Axis:
    """What grows, and from where on; the data and the number of features wanted at a point of the axis."""

    title: str
    beside: str
    symbol: str
    start: float
    data: Callable[[float], dict[str, float]]
    wanted: Callable[[float], int] = lambda _: 20


def linear(rows: float, features: float, relevant: int = 20, density: float = 1.0) -> dict[str, float]:
    sizes = {"rows": round(rows), "features": round(features), "relevant": relevant, "test_rows": 0}
    return sizes | ({"density": density} if density < 1 else {})


SPARSE = (20_000, 50_000)
AXES = (
    Axis("instances", "300 features, dense", "n", 1e3, lambda n: linear(n, 300)),
    Axis("features", "500 instances, dense", "m", 1e3, lambda m: linear(500, m)),
    Axis(
        "nonzeros",
        "20,000 x 50,000, sparse",
        "nonzeros",
        2e4,
        lambda z: linear(*SPARSE, density=z / math.prod(SPARSE)),
    ),
    Axis("features wanted", "4096 x 4096, dense", "K", 1, lambda _: linear(4096, 4096, 300), round),
)


def measure(command: Featgen, axis: Axis, at: float) -> float:
    """Seconds of training at a point of an axis. Data are deleted afterwards, unless the next point has the same."""
    sizes = axis.data(at)
    prefix = WORK / ("scaling-" + "-".join(f"{value:g}" for value in sizes.values()))
    ending = "svm" if "density" in sizes else "npy"
    if not Path(f"{prefix}.train.{ending}").exists():
        command.synth("linear", prefix, **sizes)
    labels = [] if ending == "svm" else ["--labels", f"{prefix}.train.labels.txt"]
    best = math.inf
    for _ in range(REPEATS):
        result = command.train([f"{prefix}.train.{ending}", *labels], "--features", axis.wanted(at))
        best = min(best, fit_seconds(result))
        if best > LONG:
            break
    if axis.data(2 * at) != sizes:
        for file in WORK.glob(f"{prefix.name}.*"):
            file.unlink()
    return best


def exponent(points: list[tuple[float, float]]) -> float:
    """The slope of the line through the larger half of the points, in logarithms."""
    larger = [(math.log(x), math.log(y)) for x, y in points[len(points) // 2 :]]
    x0, y0 = (sum(column) / len(larger) for column in zip(*larger, strict=True))
    return sum((x - x0) * (y - y0) for x, y in larger) / sum((x - x0) ** 2 for x, _ in larger)


def draw(found: list[tuple[Axis, list[tuple[float, float]]]]) -> None:
    figure, panels = plt.subplots(1, len(found), figsize=(12, 3.6), layout="constrained")
    for panel, (axis, points) in zip(panels, found, strict=True):
        panel.plot(*zip(*points, strict=True), "o-", color="#0b3c5d", markersize=4)
        panel.set(xscale="log", yscale="log", xlabel=axis.title)
        power = f"time ~ {axis.symbol}$^{{{exponent(points):.2f}}}$"
        panel.set_title(f"{axis.beside}\n{power}", fontsize=10)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("seconds")
    figure.savefig(ROOT / "docs" / "scaling.svg", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--decades", type=int, default=3)
    args = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    command = Featgen(build())
    found = []
    for axis in AXES:
        places = [axis.start * 10 ** (k / PER_DECADE) for k in range(args.decades * PER_DECADE + 1)]
        points = []
        for at in places:
            points.append((at, measure(command, axis, at)))
            print(f"{axis.title:16} {at:12,.0f} {points[-1][1]:9.3f} s", flush=True)
        print(f"{axis.title:16} {'exponent':>12} {exponent(points):9.2f}", flush=True)
        found.append((axis, points))
    draw(found)


if __name__ == "__main__":
    main()
