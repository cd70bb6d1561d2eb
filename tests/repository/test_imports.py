"""Importing is cheap, public names are sorted and real, layers hold."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import statveil as sv


def _loaded_by(code):
    script = f"import sys\n{code}\nprint(*sorted(sys.modules))"
    return set(
        subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    )


def test_importing_statveil_loads_neither_numpy_nor_scipy():
    assert not {"numpy", "scipy", "rich", "click"} & _loaded_by("import statveil")


def test_help_loads_no_numbers():
    assert not {"numpy", "scipy"} & _loaded_by(
        "import click.testing, statveil.cli.main as m\nclick.testing.CliRunner().invoke(m.statveil, ['--help'])"
    )


def test_a_plan_of_a_plain_problem_needs_no_scipy_stats():
    loaded = _loaded_by(
        "import statveil as sv\n"
        "p = sv.Problem(family=sv.Gaussian(), prior=sv.Box(mu=(0, 9), sigma=(1, 5)), secret=sv.Mean(), tolerance=.1)\n"
        "sv.plan(p, max_risk=.2)"
    )
    assert "scipy.stats" not in loaded


def test_public_names_are_sorted_and_exist():
    assert sv.__all__ == sorted(sv.__all__)
    assert len(set(sv.__all__)) == len(sv.__all__)
    assert all(getattr(sv, name) is not None for name in sv.__all__)
    assert set(sv.__all__) <= set(dir(sv))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = sv.nonsense


def test_the_stub_types_every_public_name_from_where_it_lives():
    stub = Path(sv.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    typed = {
        name.asname: node.module
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    assert typed == {name: f"statveil.{module}" for name, module in sv._WHERE.items()}


def test_the_former_name_of_a_prior_still_works_and_warns():
    with pytest.warns(DeprecationWarning, match=r"sv\.Table is called sv\.Tabulated"):
        former = sv.Table
    assert former is sv.Tabulated
    assert sv.Tabulated([0, 1], [1, 1]).to_json()["kind"] == "table"
