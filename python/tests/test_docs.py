"""What documentation shows is what happens."""

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
from pathlib import Path

import featgen
import matplotlib
import pytest

matplotlib.use("Agg")

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / name
    for name in ("README.md", "docs/python.md", "docs/outcomes.md", "docs/tables.md", "docs/export.md")
    if (ROOT / name).exists()
]
LINKING = [
    *(ROOT / page for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md")),
    *ROOT.glob("docs/*.md"),
]
MODULES = sorted(module.name for module in pkgutil.walk_packages(featgen.__path__, "featgen."))

#: A block of Python and, if it follows at once, the text that it prints.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n*^```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)


def blocks(page):
    """The blocks of a page: their first line, code and output."""
    text = page.read_text()
    return [(text.count("\n", 0, m.start(1)), m[1], m[2]) for m in BLOCK.finditer(text)]


def run(page):
    """All blocks of a page in one namespace."""
    names = {"__name__": "__main__"}
    for line, code, output in blocks(page):
        printed = io.StringIO()
        # Errors show the line of the page.
        program = compile("\n" * line + code, str(page), "exec")
        with contextlib.redirect_stdout(printed):
            exec(program, names)
        if output is not None:
            assert tidy(printed.getvalue()) == tidy(output), f"{page}:{line + 1}"


def tidy(text):
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page)


def anchors(page):
    """What headings of a page are called in links."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", LINKING, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if not link.startswith("http"):
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def test_blocks_are_run_and_compared(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\n```python\nx = 1\n```\n\nThen:\n\n```python\nprint(x + 1)\n```\n\n```text\n2\n```\n"
    )
    run(page)
    assert len(blocks(page)) == 2
    page.write_text(page.read_text().replace("2\n", "3\n"))
    with pytest.raises(AssertionError, match="page.md:10"):
        run(page)


@pytest.mark.parametrize("module", ["featgen", *MODULES])
def test_examples(module):
    # Clusters are for those who have one.
    needed = {"featgen.dask": "distributed", "featgen.spark": "pyspark"}.get(module)
    if needed is not None:
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    if not module.endswith("_featgen"):
        result = doctest.testmod(importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
        assert result.failed == 0


def test_everything_public_is_described():
    for name in featgen.__all__:
        thing = getattr(featgen, name)
        assert name.startswith("__") or thing.__doc__
