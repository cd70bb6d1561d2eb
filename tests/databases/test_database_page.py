"""The page about databases is true: its code runs and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "databases.md"


def test_the_example_of_the_page_runs_and_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    said = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]
    exec(compile(code, str(PAGE), "exec"), {})
    assert capsys.readouterr().out.splitlines() == said == ["True"]
    assert [path.name for path in tmp_path.iterdir()] == ["staff.duckdb"]
