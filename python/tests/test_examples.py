"""Every example runs, and shows something."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.count("\n") >= 1


def test_there_are_examples():
    assert EXAMPLES
