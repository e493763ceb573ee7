"""Genotypes of PLINK, beside bed-reader: what it writes is read, and what featgen writes it reads."""

import json
import subprocess
import sys

import numpy as np
import pytest
from bed_reader import open_bed, to_bed
from featgen import FGMClassifier

PEOPLE, VARIANTS = 203, 90  # the last byte of a variant is not full


def featgen(folder, *arguments):
    command = [sys.executable, "-m", "featgen", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def imputed(genotypes):
    return np.where(np.isnan(genotypes), np.nanmean(genotypes, axis=0), genotypes)


@pytest.mark.parametrize("options", [{"scale": "none"}, {"scale": "std", "loss": "logistic"}])
def test_what_bed_reader_writes_is_read(tmp_path, options):
    rng = np.random.default_rng(3)
    genotypes = rng.binomial(2, rng.uniform(0.1, 0.5, VARIANTS), (PEOPLE, VARIANTS)).astype(np.float32)
    y = genotypes[:, [5, 40, 77]] @ [1.0, -1.2, 0.8] + 0.5 * rng.normal(size=PEOPLE) > 0.4
    genotypes[rng.random(genotypes.shape) < 0.04] = np.nan
    people = [f"p{i}" for i in range(PEOPLE)]
    variants = [f"rs{j}" for j in range(VARIANTS)]
    facts = {"fid": people, "iid": people, "sid": variants, "pheno": (1 + y).astype(str).tolist()}
    to_bed(tmp_path / "x.bed", genotypes, properties=facts)
    arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
    arguments += ["--select", "paper", "--features", 6, "-C", 0.1, "-o", "model.json", "--json"]
    found = json.loads(featgen(tmp_path, "train", "x.bed", *arguments))

    model = FGMClassifier(select="paper", n_features=6, C=0.1, **options)
    model.fit(imputed(genotypes.astype(float)), np.where(y, "2", "1"))
    ours = {int(term["feature"].removeprefix("rs")): term["weight"] for term in found["selected"]}
    assert sorted(ours) == model.get_support(indices=True).tolist()
    np.testing.assert_allclose([ours[j] for j in sorted(ours)], model.coef_[0, sorted(ours)], atol=1e-6)


def test_what_featgen_writes_is_read_by_bed_reader(tmp_path):
    sizes = ["--rows", PEOPLE, "--features", VARIANTS, "--test-rows", 0, "--relevant", 3, "--missing", 0.03]
    featgen(tmp_path, "synth", "bed", "-o", "toy", *sizes)
    with open_bed(tmp_path / "toy.train.bed") as bed:
        genotypes, names = bed.read(dtype="float64"), list(bed.sid)
    assert genotypes.shape == (PEOPLE, VARIANTS) and np.isnan(genotypes).any()
    featgen(tmp_path, "train", "toy.train.bed", "--features", 3, "-o", "model.json")
    kind = ["--output-kind", "decision"]
    decisions = featgen(tmp_path, "predict", "model.json", "toy.train.bed", *kind).split()
    model = json.loads((tmp_path / "model.json").read_text())
    selected = json.loads(featgen(tmp_path, "inspect", "model.json", "--json"))["selected"]
    x = imputed(genotypes)
    expected = sum(term["weight"] * x[:, names.index(term["feature"])] for term in selected) - model["bias"]
    np.testing.assert_allclose(np.array(decisions, float), expected, atol=1e-5)
