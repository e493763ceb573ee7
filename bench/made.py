"""Data that benchmarks make: by `featgen synth`, or, for peers alone, by numpy."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from featgen_command import Featgen


@dataclass(frozen=True)
class Recipe:
    """Gaussian features, of which a few, or a few groups, make the label: the options of `featgen synth`."""

    name: str
    rows: int
    features: int
    test_rows: int = 4096
    relevant: int = 300
    group_size: int = 1  # above 1: `synth group`, and `relevant` counts groups

    def make(self, featgen: Featgen, prefix: Path, seed: int) -> None:
        """Has featgen make the data."""
        options = {key: value for key, value in asdict(self).items() if key != "name"} | {"seed": seed}
        if self.group_size == 1:
            del options["group_size"]
        featgen.synth("linear" if self.group_size == 1 else "group", prefix, **options)


SYNTH4096 = Recipe("synth4096", 4096, 4096)  # the paper's first experiment
SYNTH65536 = Recipe("synth65536", 8192, 65536)
GROUPS100 = Recipe("groups100", 100, 20_000, test_rows=2000, relevant=5, group_size=100)
GROUPS2048 = Recipe("groups2048", 2048, 100_000, test_rows=2048, relevant=50, group_size=10)


def write_synthetic(prefix: Path, recipe: Recipe, seed: int) -> None:
    """What `featgen synth` makes by the same recipe, for peers alone; other random numbers."""
    rng = np.random.default_rng(seed)
    features, shape = recipe.features, (recipe.relevant, recipe.group_size)
    weights = np.zeros((features // recipe.group_size, recipe.group_size))
    chosen = rng.choice(len(weights), recipe.relevant, replace=False)
    weights[chosen] = 1 - rng.random(shape) if recipe.group_size == 1 else rng.standard_normal(shape)
    weights = weights.ravel()
    for part, n in (("train", recipe.rows), ("test", recipe.test_rows)):
        path = Path(f"{prefix}.{part}.npy")
        x = np.lib.format.open_memmap(path, "w+", np.float32, (n, features), fortran_order=True)
        values = np.zeros(n)
        for j in range(features):
            x[:, j] = rng.standard_normal(n, dtype=np.float32)
            if weights[j]:
                values += weights[j] * x[:, j]
        x.flush()
        np.savetxt(f"{prefix}.{part}.labels.txt", np.where(values > 0, 1, -1), fmt="%d")
    used = np.flatnonzero(weights)
    np.savetxt(f"{prefix}.truth.txt", np.column_stack([used + 1, weights[used]]), fmt=["%d", "%.17g"])


def write_text(path: Path, rows: int, features: int, per_row: int, seed: int) -> None:
    """svmlight text of random rows, values of five digits. Appears whole or not at all."""
    rng = np.random.default_rng(seed)
    partial = path.with_suffix(".partial")
    with open(partial, "w") as out:
        for start in range(0, rows, 5000):
            n = min(5000, rows - start)
            ids = np.sort(rng.integers(1, features - per_row + 2, (n, per_row)), axis=1) + np.arange(per_row)
            digits = rng.integers(10_000, 100_000, (n, per_row))
            pairs = np.stack([ids, digits], axis=2).reshape(n, -1).tolist()
            line = "%s" + " %d:0.%05d" * per_row + "\n"
            labels = np.where(rng.random(n) < 0.5, "-1", "+1").tolist()
            out.writelines(line % (label, *row) for label, row in zip(labels, pairs))
    partial.rename(path)
