"""Every example runs, and shows something."""

import os
import runpy
import shutil
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


#: Packages that some examples are about.
NEEDED = {"on_dask": "distributed", "on_spark": "pyspark"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example, capsys):
    if example.stem in NEEDED:
        pytest.importorskip(NEEDED[example.stem], reason=f"{NEEDED[example.stem]} is not installed")
    if example.stem == "on_spark" and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, which is not installed")
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.count("\n") >= 1


def test_there_are_examples():
    assert EXAMPLES
