"""What someone meets who has installed statveil without extras: run by that Python, in an empty folder.

Nothing but the standard library is used here, so that it runs where no test tools are.
"""

from __future__ import annotations

import csv
import importlib.metadata
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import zipfile
from pathlib import Path

STATVEIL = str(Path(sys.executable).with_name("statveil"))
OPTIONAL = ("fastapi", "openpyxl", "opendp", "pyarrow", "sklearn")  # the oldest altair brings pandas along
PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
    "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>',
}
"""As much of a workbook as it takes to be one."""


def call(*command: str, fails: bool = False, **environment: str) -> str:
    """What a command prints; where it must fail, its one sentence."""
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == (2 if fails else 0), (command, done.returncode, done.stderr)
    if fails:
        assert done.stderr.count("\n") == 1, done.stderr
        assert not done.stdout
        return done.stderr
    assert not done.stderr, done.stderr
    return done.stdout


def check_place() -> None:
    """The wheel is what runs, and no extra came with it."""
    place = importlib.util.find_spec("statveil")
    assert place is not None
    assert Path(str(place.origin)).is_relative_to(sys.prefix), place.origin
    assert Path(str(place.origin)).with_name("py.typed").exists()
    there = [name for name in OPTIONAL if importlib.util.find_spec(name) is not None]
    assert not there, f"installed without being asked for: {there}"


def check_commands() -> None:
    """The command and the module say the same; schemas and completion are inside."""
    version = f"statveil, version {importlib.metadata.version('statveil')}\n"
    assert call(STATVEIL, "--version") == call(sys.executable, "-m", "statveil", "--version") == version
    for kind in ("plan", "card", "record", "specification"):
        assert json.loads(call(STATVEIL, "schema", kind))["title"]
    for shell in ("zsh", "fish"):  # bash's asks the bash that is there for its version
        assert "statveil" in call(STATVEIL, _STATVEIL_COMPLETE=f"{shell}_source")


def check_release() -> None:
    """A plan and a release: every value moves by the same step, and the average by no more than the plan says."""
    drawn = random.Random(1)
    values = [60 + drawn.randrange(101) / 10 for _ in range(500)]
    Path("in.csv").write_text("\n".join(["pay", *(f"{value:.1f}" for value in values)]) + "\n")
    call(
        STATVEIL,
        *("plan", "--secret", "mean", "--prior", "20:220", "--tolerance", "1", "--max-risk", "0.2"),
        *("--known", "step=0.1", "--output", "plan.json"),
    )
    said = json.loads(call(STATVEIL, "release", "plan.json", "in.csv", "out.csv", "--column", "pay", "--json"))
    assert said
    with Path("out.csv").open() as file:
        released = [float(row["pay"]) for row in csv.DictReader(file)]
    moved = [after - before for after, before in zip(released, values, strict=True)]
    assert max(moved) - min(moved) < 1e-9
    # bins of equal width, of which a guess within 1 covers at most a fifth: at least 10 wide, and moved by half of it
    risk = json.loads(Path("plan.json").read_text())["risk"]
    assert 0.15 < risk <= 0.2
    assert abs(statistics.fmean(moved)) <= 1 / risk + 0.2
    assert "agrees with its card" in call(STATVEIL, "verify", "out.csv")
    assert Path("out.csv.card.json").exists()


def check_missing() -> None:
    """What an extra is needed for says so, with the command that installs it, and leaves nothing behind."""
    assert "pip install 'statveil[studio]'" in call(STATVEIL, "studio", fails=True)
    with zipfile.ZipFile("in.xlsx", "w") as book:
        for name, text in PARTS.items():
            book.writestr(name, text)
    release = ("release", "plan.json", "in.xlsx", "out.xlsx", "--column", "pay")
    assert "pip install 'statveil[excel]'" in call(STATVEIL, *release, fails=True)
    assert not Path("out.xlsx").exists()
    compare = ("compare", "in.csv", "--column", "pay", "--secret", "mean", "--prior", "mean=20:220")
    assert "pip install 'statveil[opendp]'" in call(STATVEIL, *compare, "--methods", "opendp", fails=True)
    import statveil

    try:
        statveil.ReleaseTransformer  # noqa: B018
    except ImportError as error:
        assert "pip install 'statveil[sklearn]'" in str(error)  # noqa: PT017 - no pytest here
    else:
        raise AssertionError("a transformer without scikit-learn")


if __name__ == "__main__":
    check_place()
    check_commands()
    check_release()
    check_missing()
