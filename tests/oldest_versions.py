"""The lowest version of every dependency that pyproject.toml allows, as constraints for pip."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

_BOUND = re.compile(r"^([A-Za-z0-9._-]+)>=([0-9][0-9.]*)$")


def constraints(pyproject: str) -> list[str]:
    """One ``name==version`` per dependency; a dependency without a lower bound is an error."""
    project = tomllib.loads(pyproject)["project"]
    extras = project["optional-dependencies"]
    found = {}
    for requirement in (*project["dependencies"], *extras["excel"], *extras["dev"]):
        match = _BOUND.match(requirement)
        if match is None:
            raise SystemExit(f"{requirement!r} in pyproject.toml has no plain lower bound; write it as name>=version.")
        found[match[1]] = match[2]
    return [f"{name}=={version}" for name, version in sorted(found.items())]


if __name__ == "__main__":
    print("\n".join(constraints(Path("pyproject.toml").read_text(encoding="utf-8"))))
