"""The lowest version of every dependency that pyproject.toml allows on this Python, as constraints for pip."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

_BOUND = re.compile(r"^([A-Za-z0-9._-]+)>=([0-9][0-9.]*)(?:; python_version >= '3\.([0-9]+)')?$")

_APART = ("docs",)  # what builds the pages of the documentation runs beside no test


def constraints(pyproject: str, minor: int = sys.version_info.minor) -> list[str]:
    """One ``name==version`` per dependency on Python 3.``minor``; one without a plain lower bound is an error."""
    project = tomllib.loads(pyproject)["project"]
    bounds: dict[str, list[tuple[int, str]]] = {}
    extras = [asked for extra, asked in project["optional-dependencies"].items() if extra not in _APART]
    for asked in (project["dependencies"], *extras):
        here: dict[str, list[tuple[int, str]]] = {}
        for requirement in asked:
            match = _BOUND.match(requirement)
            if match is None:
                raise SystemExit(
                    f"{requirement!r} in pyproject.toml has no plain lower bound; write it as name>=version, or as "
                    "name>=version; python_version >= '3.N'."
                )
            here.setdefault(match[1], []).append((int(match[3] or 0), match[2]))
        for name, found in here.items():
            if bounds.setdefault(name, found) != found:
                raise SystemExit(f"{name} has other lower bounds in one place of pyproject.toml than in another.")
    # the bounds of a dependency rise with Python
    return [f"{name}=={max(b for b in found if b[0] <= minor)[1]}" for name, found in sorted(bounds.items())]


if __name__ == "__main__":
    print("\n".join(constraints(Path("pyproject.toml").read_text(encoding="utf-8"))))
