"""One pass of scores over genotypes: featgen on two bits, the same as bytes, and adelie's `snp_unphased`.

    bench/run genotypes                          # 10,000 people x 50,000 variants: 125 MB, 500 MB as bytes
    bench/run genotypes --variants 500000        # 1.25 GB, 5 GB as bytes
    bench/run genotypes --threads 2

The data are made by `featgen synth bed`. What featgen and the loops over bytes take is measured by
`src/bin/genotypes.rs`; adelie's time is that of `mul`, the product of all columns with one vector, best of as
many.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import time
from pathlib import Path

from featgen_command import ROOT, build

WORK = ROOT / "bench" / "work"


def genotypes(path: Path, people: int, variants: int):
    """The copies of the first allele, by columns; what is missing is -9."""
    import numpy as np

    stride = (people + 3) // 4
    packed = np.memmap(path, np.uint8, "r", 3, (variants, stride))
    table = np.array([2, -9, 1, 0], np.int8)
    out = np.empty((people, variants), np.int8, order="F")
    for j in range(variants):
        codes = (packed[j][:, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
        out[:, j] = table[codes.ravel()[:people]]
    return out


def adelie(path: Path, people: int, variants: int, repeats: int, threads: int) -> None:
    import adelie as ad
    import numpy as np

    file = str(path.with_suffix(".snpdat"))
    io = ad.io.snp_unphased(file)
    if not os.path.exists(file):
        io.write(genotypes(path, people, variants), n_threads=threads)
    io.read()
    matrix = ad.matrix.snp_unphased(io, n_threads=threads)
    v, weights, out = np.sin(0.7 * np.arange(people)), np.ones(people), np.empty(variants)
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        matrix.mul(v, weights, out)
        best = min(best, time.perf_counter() - start)
    print(
        f"adelie      {best:.3f} s  {people * variants / best / 1e9:.1f} billion genotypes a second, snp_unphased"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--variants", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    prefix = WORK / f"genotypes-{args.people}-{args.variants}"
    bed = Path(f"{prefix}.train.bed")
    if not bed.exists():
        sizes = ["--rows", args.people, "--test-rows", 0, "--features", args.variants]
        command = [build(), "synth", "bed", "-o", prefix, *sizes]
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    cargo = ["cargo", "run", "--release", "-q", "-p", "featgen-bench", "--bin", "genotypes", "--"]
    subprocess.run([*cargo, str(bed), str(args.repeats), str(args.threads)], cwd=ROOT, check=True)
    adelie(bed, args.people, args.variants, args.repeats, args.threads)


if __name__ == "__main__":
    main()
