"""Instructions that two builds of the command take for the same work, counted by valgrind.

Times say little on a machine that others use. Counts hardly vary: a change of one part in a hundred can be seen. They know nothing
of caches, so that what moves less memory has to be timed all the same.

    python3 bench/instructions.py BEFORE AFTER                               # the commands below
    python3 bench/instructions.py BEFORE AFTER -- a.svm --features 20
"""

from __future__ import annotations

import argparse
import filecmp
import re
import subprocess
import tempfile
from pathlib import Path

COMMANDS = (
    "{data}/mnist38/train.svm.zst --features 100",
    "{data}/news20_2gram/train.svm.zst --features 100 -C 100",
    "{data}/news20_libsvm/train.svm.zst --features 200 -C 100 --loss logistic",
    "{data}/a9a/train.svm.zst --space poly2 --features 30",
    "{data}/w8a/train.svm.zst --features 100",
    "{data}/p53/train.svm.zst --groups {data}/p53/groups.txt --features 10",
    "{data}/mnist38/train.svm.zst --space hik --features 10",
)


def count(binary: str, arguments: list[str], model: Path) -> int:
    """Instructions of one run that writes `model`: by one thread, so that none are spent on waiting for work."""
    train = [binary, "train", *arguments, "-q", "--threads", "1", "-o", str(model)]
    with tempfile.NamedTemporaryFile() as counts:
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts.name}"]
        done = subprocess.run([*tool, *train], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return int(re.findall(r"^(?:totals|summary): (\d+)", Path(counts.name).read_text(), re.MULTILINE)[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="the command as it was")
    parser.add_argument("after", help="the command as it is")
    shared = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", default=shared, help="the folder of the data sets, see README.md")
    parser.add_argument("arguments", nargs="*", help="after --: what to train, in place of the list")
    given = parser.parse_args()
    listed = [command.format(data=given.data).split() for command in COMMANDS]
    print(f"{'ratio':>6}  {'before':>10}  {'after':>10}  model")
    with tempfile.TemporaryDirectory() as folder:
        models = [Path(folder) / name for name in ("before.json", "after.json")]
        for arguments in [given.arguments] if given.arguments else listed:
            before, after = (
                count(binary, arguments, model) for binary, model in zip((given.before, given.after), models)
            )
            same = "the same" if filecmp.cmp(*models, shallow=False) else "differs"
            millions = f"{before / 1e6:8.1f} M  {after / 1e6:8.1f} M"
            print(f"{after / before:6.3f}  {millions}  {same:8}  {' '.join(arguments)}", flush=True)


if __name__ == "__main__":
    main()
