"""Every block of code in the README and the documentation runs, and prints what its page says (see tests/pages.py)."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import statveil as sv
from tests.blurring import most_off
from tests.pages import RUNS, Block, Page, _agree, blocks, pages, run_page, said

PAGES = [page for page in pages() if any(block.runs for block in blocks(page))]

NOT_RUN = {
    "docs/fuzz.md": 1,
    "docs/reproduce.md": 1,
    "docs/spark.md": 1,
    "docs/studio.md": 1,
    "docs/synthetic-data.md": 2,
    "docs/tutorial.md": 1,
}
"""Blocks that are marked as not run; each says why in its page."""


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# --- what is asked of single pages beyond what they print -----------------------------------------
def _readme(page: Page, folder: Path) -> None:
    assert "public.csv agrees with its card" in page.printed
    before, after = (_rows(folder / name) for name in ("examples/latency.csv", "public.csv"))
    moved = {float(row["latency_ms"]) - float(old["latency_ms"]) for row, old in zip(after, before, strict=True)}
    assert len({round(move, 6) for move in moved}) == 1, "every latency moved by the same number of steps"
    assert [row["request"] for row in after] == [row["request"] for row in before]


def _extending(page: Page, folder: Path) -> None:
    names = page.names
    classes = ["my-gaussian", "spread", "falling", "rounded", "rounded", "plain-shift", "one-record"]
    assert page.added == [{name} for name in classes]  # one for each registry; engines are no names
    box = sv.Box(mu=(0, 50), sigma=(1, 30))
    moved = sv.Problem(family=sv.Gaussian(), prior=box, secret=sv.Mean(), tolerance=2)
    assert sv.plan(moved, max_risk=0.3).mode == "plain-shift"
    problem = sv.Problem(family=sv.Gaussian(), prior=box, secret=names["Spread"](), tolerance=1.0)
    assert sv.limits(problem, max_risk=0.5).gamma == pytest.approx(0.5 * 0.7978845608 / 1.3489795003, rel=1e-6)
    assert len(names["released"]) == 500
    # 15 bins: the risk 2 eps / (100 / 15) is just the one that was asked for
    assert names["rounded"].risk == pytest.approx(0.3, rel=1e-12)
    assert names["rounded"].distortion == pytest.approx(100 / 30, rel=1e-12)
    off = most_off(names["rounded"]) / 5  # one width, of which the mean of 500 rows keeps a twentieth
    assert float(np.mean(names["moved"])) == pytest.approx(100 / 15 * 7.5, abs=off)
    # one move for all rows, up to a hundredth of the tolerance, which is 1
    assert np.ptp(np.subtract(names["done"].table["x"], names["table"]["x"])) <= 0.01


def _audit(page: Page, folder: Path) -> None:
    assert page.names["plan"].mode == "scale"


def _releasing(page: Page, folder: Path) -> None:
    assert len(page.names["released"]) == 5_000


def _numeric(page: Page, folder: Path) -> None:
    plan = page.names["plan"]
    assert plan.risk <= 0.3
    rate = sv.simulate(plan, trials=100_000, seed=3)
    assert rate.low <= plan.risk <= rate.high


def _report(page: Page, folder: Path) -> None:
    assert "Written to public-report.html (public)." in page.printed


def _row_count(page: Page, folder: Path) -> None:
    assert len(_rows(folder / "part.csv")) == len(page.names["released"])


def _two_secrets(page: Page, folder: Path) -> None:
    assert "released: mean = 30, std = 12.5" in page.printed


def _groups(page: Page, folder: Path) -> None:
    assert "agrees with its card" in page.printed


MORE: dict[str, Callable[[Page, Path], None]] = {
    "README.md": _readme,
    "docs/audit.md": _audit,
    "docs/extending.md": _extending,
    "docs/groups.md": _groups,
    "docs/numeric.md": _numeric,
    "docs/releasing.md": _releasing,
    "docs/report.md": _report,
    "docs/row-count.md": _row_count,
    "docs/two-secrets.md": _two_secrets,
}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.heavy(5)
def test_the_code_of_a_page_runs_and_prints_what_it_says(page, tmp_path):
    run_page(page, tmp_path, more=MORE.get(page))


def test_every_block_says_what_it_is():
    for page in pages():
        text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
        found = blocks(page)
        assert text.count("```") == 2 * sum(block.language != "setup" for block in found), (
            f"{page}: a block was not read"
        )
        assert {block.language for block in found} <= {*RUNS, "setup", "toml", "text", "json"}, page
        loose = re.findall(r"^ {4}(?:\$ )?(?:statveil|python|pip) .*", text, flags=re.MULTILINE)
        assert not loose, f"{page}: a command outside of a console block never runs: {loose}"


def test_the_blocks_that_do_not_run_are_few_and_say_why():
    skipped = {page: [block for block in blocks(page) if block.why_not is not None] for page in pages()}
    assert {page: len(found) for page, found in skipped.items() if found} == NOT_RUN
    assert all(len(block.why_not.split()) >= 3 for found in skipped.values() for block in found)
    for page in pages():
        text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
        marks = len(re.findall(r"<!--\s*(?:not run|setup)", text))
        used = sum(block.why_not is not None or block.language == "setup" for block in blocks(page))
        assert marks == used, f"{page}: a mark that belongs to no block"


# --- the runner itself ----------------------------------------------------------------------------
def test_what_a_block_says_that_it_prints():
    code = "# a comment\nx = 1\n\n# another\nprint(x)\n# 1\nprint(2)  # 2\n# no output\nprint(\n    3\n)\n# 3\n# 4\n"
    assert said(code) == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("```python\nprint(1)\n# 2\n```\n", "the page says"),
        ("```python\nprint(1)\n```\n", "it prints"),
        ("```python\nx = 1\n# 1\n```\n", "the page says"),
        ("```console\n$ statveil list --json\nnothing\n```\n", "the page says"),
        ("```console\n$ statveil verify none.csv\n```\n", "ended with 2"),
        ("```console\n$ statveil verify none.csv\n$ echo $?\n1\n```\n", "the page says\n1\n--- it prints\n2"),
        ("```console\n$ pip install statveil\n```\n", "mark it as not run"),
        ("<!-- setup\nraise AssertionError('it runs')\n-->\n", "it runs"),
    ],
)
def test_a_page_that_is_not_true_fails(code, why, tmp_path, monkeypatch):
    _false_page(tmp_path, monkeypatch, code)
    with pytest.raises(AssertionError, match=why):
        run_page("page.md", tmp_path / "run")


def test_a_page_may_be_right_about_an_exit_code_a_file_and_what_does_not_run(tmp_path, monkeypatch):
    code = (
        '```toml title="a.toml"\nx = 1\n```\n\n'
        '```python\nfrom pathlib import Path\nprint(Path("a.toml").read_text())\n# x = 1\n```\n\n'
        "```console\n$ statveil verify none.csv\nstatveil: ...\n$ echo $?\n2\n```\n\n"
        "<!-- not run: it never ends -->\n```python\n1 / 0\n```\n"
    )
    _false_page(tmp_path, monkeypatch, code)
    assert "x = 1" in run_page("page.md", tmp_path / "run").printed


def _false_page(folder, monkeypatch, code):
    (folder / "examples").mkdir()
    (folder / "page.md").write_text(code, encoding="utf-8")
    monkeypatch.setattr("tests.pages.ROOT", folder)


def test_dots_stand_for_anything_and_nothing_else_does():
    _agree("risk 0.2 ...\n...\nend", "risk 0.2 (exact)\none\ntwo\nend\n", "here")
    with pytest.raises(AssertionError):
        _agree("risk 0.2\nend", "risk 0.2\none\nend\n", "here")
    assert not Block(language="text", code="", line=1).runs
