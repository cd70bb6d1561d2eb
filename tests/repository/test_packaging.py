"""The lowest versions that `make test-oldest` and `make test-matrix` install, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oldest_versions import constraints

TEXT = """
[project]
dependencies = ["a>=1.5", "a>=2.0; python_version >= '3.13'", "a>=10.1; python_version >= '3.14'", "b-c>=3"]
[project.optional-dependencies]
one = ["d>=0.1"]
dev = ["d>=0.1", "b-c>=3"]
"""


@pytest.mark.parametrize(("minor", "version"), [(11, "1.5"), (12, "1.5"), (13, "2.0"), (14, "10.1"), (15, "10.1")])
def test_bounds_follow_python(minor, version):
    assert constraints(TEXT, minor) == [f"a=={version}", "b-c==3", "d==0.1"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"b-c>=3"]\n[', '"b-c"]\n[', "'b-c' in pyproject.toml has no plain lower bound"),
        ('"b-c>=3"]\n[', '"b-c>3,<4"]\n[', "no plain lower bound"),
        ("3.13", "3.13' and sys_platform == 'linux", "no plain lower bound"),
        ('dev = ["d>=0.1"', 'dev = ["d>=0.2"', "d has other lower bounds in one place"),
    ],
)
def test_bounds_that_nobody_could_test(old, new, said):
    assert old in TEXT
    with pytest.raises(SystemExit, match=said):
        constraints(TEXT.replace(old, new), 11)


def test_every_dependency_of_ours_has_one():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert {"numpy", "scipy", "fastapi", "copulas"} <= {line.split("==")[0] for line in constraints(text, 11)}
