"""The README and the documentation are true: their code runs and prints what they say."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import statveil as sv
from statveil.auditing import attackers as _attackers  # noqa: F401  (fills the registry)
from statveil.auditing.attacker import ATTACKERS
from statveil.cli.main import run
from statveil.design.methods import METHODS
from statveil.mechanisms.mechanism import MECHANISMS
from statveil.modes import MODES
from statveil.problem.axis import AXES
from statveil.problem.family import FAMILIES
from statveil.problem.secret import SECRETS
from statveil.tables.frames.frame import FRAMES

ROOT = Path(__file__).parents[2]


def _blocks(name, language):
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_the_readmes_library_example_runs_and_prints_what_it_says():
    (code,) = _blocks("README.md", "python")
    said = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {})
    assert out.getvalue().splitlines() == said


def test_the_readmes_commands_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (block,) = _blocks("README.md", "console")
    commands = re.findall(r"^\$ (.*?)(?=^\$ |\Z)", block.replace("\\\n", " "), flags=re.DOTALL | re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        monkeypatch.setattr("sys.argv", shlex.split(command))
        with pytest.raises(SystemExit) as end:
            run()
        assert end.value.code == 0, command
    assert "public.csv agrees with its card" in capsys.readouterr().out
    before, after = (_rows(tmp_path / name) for name in ("examples/latency.csv", "public.csv"))
    moved = {float(row["latency_ms"]) - float(old["latency_ms"]) for row, old in zip(after, before, strict=True)}
    assert len({round(move, 6) for move in moved}) == 1, "every latency moved by the same number of steps"
    assert [row["request"] for row in after] == [row["request"] for row in before]


def _rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_example_of_a_release_runs():
    (code,) = _blocks("docs/releasing.md", "python")
    names: dict[str, object] = {}
    exec(compile(code, "releasing.md", "exec"), names)
    assert len(names["released"]) == 5_000


def test_the_examples_of_two_secrets_run_and_print_what_they_say(tmp_path, monkeypatch, capsys):
    code = "\n".join(_blocks("docs/two-secrets.md", "python"))
    said = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "two-secrets.md", "exec"), {})
    assert out.getvalue().splitlines() == said
    monkeypatch.chdir(tmp_path)
    (block,) = _blocks("docs/two-secrets.md", "console")
    for command in re.findall(r"^\$ (.*)$", block, flags=re.MULTILINE):
        monkeypatch.setattr("sys.argv", shlex.split(command))
        with pytest.raises(SystemExit) as end:
            run()
        assert end.value.code == 0, command
    assert "released: mean = 30, std = 12.5" in capsys.readouterr().out


def test_the_examples_of_two_groups_run_and_print_what_they_say(tmp_path, monkeypatch, capsys):
    (code,) = _blocks("docs/groups.md", "python")
    said = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "groups.md", "exec"), {})
    assert out.getvalue().splitlines() == said
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    years = rng.choice([2022, 2023, 2024], 400)
    rows = "".join(
        f"{year},{revenue!r}\n" for year, revenue in zip(years, rng.gamma(3.0, 9.0, 400).tolist(), strict=True)
    )
    (tmp_path / "sales.csv").write_text(f"year,revenue\n{rows}", encoding="utf-8")
    (block,) = _blocks("docs/groups.md", "console")
    for command in re.findall(r"^\$ (.*)$", block, flags=re.MULTILINE):
        monkeypatch.setattr("sys.argv", shlex.split(command))
        with pytest.raises(SystemExit) as end:
            run()
        assert end.value.code == 0, command
    assert "agrees with its card" in capsys.readouterr().out


def test_the_example_of_a_pipeline_runs_and_prints_what_it_says(capsys):
    (code,) = _blocks("docs/scikit-learn.md", "python")
    exec(compile(code, "scikit-learn.md", "exec"), {})
    assert capsys.readouterr().out.split() == re.findall(r"print\(.*\)\s+# (.*)", code)


def test_the_example_of_a_whole_table_runs():
    for code in _blocks("docs/specification.md", "python"):
        exec(compile(code, "specification.md", "exec"), {})


def test_the_examples_of_everything_that_can_be_added_run():
    registries = (FAMILIES, SECRETS, AXES, MECHANISMS, METHODS, MODES, ATTACKERS)
    before = [(registry, dict(registry)) for registry in registries]
    names: dict[str, object] = {"__name__": __name__}  # a module that exists: dataclasses look it up
    try:
        blocks = [code for code in _blocks("docs/extending.md", "python") if "(Frame)" not in code]
        assert len(blocks) == len(registries)  # one for each; engines have a test of their own
        for block in blocks:
            exec(compile(block, "extending.md", "exec", dont_inherit=True), names)
        added = [set(registry) - set(old) for registry, old in before]
        assert added == [
            {"my-gaussian"},
            {"spread"},
            {"falling"},
            {"rounded"},
            {"rounded"},
            {"plain-shift"},
            {"one-record"},
        ]
        problem = sv.Problem(
            family=sv.Gaussian(), prior=sv.Box(mu=(0, 50), sigma=(1, 30)), secret=names["Spread"](), tolerance=1.0
        )
        assert sv.limits(problem, max_risk=0.5).gamma == pytest.approx(0.5 * 0.7978845608 / 1.3489795003, rel=1e-6)
        assert len(names["released"]) == 500
        assert sv.plan(names["problem"], max_risk=0.3).mode == "plain-shift"
        # 15 bins: the risk 2 eps / (100 / 15) is just the one that was asked for
        assert names["rounded"].risk == pytest.approx(0.3, rel=1e-12)
        assert names["rounded"].distortion == pytest.approx(100 / 30, rel=1e-12)
        assert float(np.mean(names["moved"])) == pytest.approx(100 / 15 * 7.5, abs=1e-9)
    finally:
        for registry, entries in before:
            registry.clear()
            registry.update(entries)


def test_the_example_of_an_own_engine_runs():
    engine = next(code for code in _blocks("docs/extending.md", "python") if "(Frame)" in code)
    names: dict[str, Any] = {"sv": sv, "np": np}
    known = list(FRAMES)
    try:
        exec(compile(engine, "extending.md", "exec", dont_inherit=True), names)
    finally:
        FRAMES[:] = known
    assert len(set(np.subtract(names["done"].table["x"], names["table"]["x"]).round(6))) == 1


def test_the_example_of_a_number_of_rows_runs_and_its_commands_too(tmp_path, monkeypatch):
    (code,) = _blocks("docs/row-count.md", "python")
    said = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]
    out, names = io.StringIO(), {}
    with contextlib.redirect_stdout(out):
        exec(compile(code, "row-count.md", "exec"), names)
    assert out.getvalue().splitlines() == said
    monkeypatch.chdir(tmp_path)
    names["orders"].write_csv("orders.csv")
    (block,) = _blocks("docs/row-count.md", "console")
    commands = [line.removeprefix("$ ") for line in block.splitlines()]
    for command in commands:
        monkeypatch.setattr("sys.argv", shlex.split(command))
        with pytest.raises(SystemExit) as end:
            run()
        assert end.value.code == 0, command
    assert len(_rows(tmp_path / "part.csv")) == len(names["released"])


def test_the_example_of_a_specification_is_planned_as_it_says():
    (text,) = _blocks("docs/specification.md", "toml")
    (said,) = _blocks("docs/specification.md", "text")
    assert str(sv.plan_specification(sv.Specification.from_toml(text))) == said.rstrip("\n")


@pytest.mark.parametrize("name", ["docs/releasing.md", "docs/structure.md", "docs/command-line.md"])
def test_the_documents_name_every_mode_and_no_other(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    if name.endswith("command-line.md"):
        listed = re.search(r"`mode` names the map[^:]*:(.*)", text)[1]
    else:  # the cells of the column that is headed "mode"
        table = re.search(r"\n(\|[^\n]*\bmode \|[^\n]*\n)((?:\|[^\n]*\n)+)", text)
        place = [cell.strip() for cell in table[1].split("|")].index("mode")
        listed = " ".join(row.split("|")[place] for row in table[2].splitlines())
    assert set(re.findall(r"`([a-z-]+)`", listed)) == set(MODES)


def test_the_example_of_an_own_family_and_secret_gives_a_plan_that_an_attacker_confirms():
    (code,) = _blocks("docs/numeric.md", "python")
    names: dict[str, object] = {}
    exec(compile(code, "numeric.md", "exec"), names)
    plan = names["plan"]
    assert plan.risk <= 0.3
    rate = sv.simulate(plan, trials=100_000, seed=3)
    assert rate.low <= plan.risk <= rate.high


def test_the_example_of_an_audit_runs():
    (code,) = _blocks("docs/audit.md", "python")
    names: dict[str, object] = {}
    exec(compile(code, "audit.md", "exec"), names)  # it asserts its own verdict
    assert names["plan"].mode == "scale"


def test_every_link_of_the_documents_leads_somewhere():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_examples_of_a_report_run_and_print_what_they_say(tmp_path, monkeypatch, capsys):
    (code,) = _blocks("docs/report.md", "python")
    said = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "report.md", "exec"), {})
    assert out.getvalue().splitlines() == said
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (block,) = _blocks("docs/report.md", "console")
    for command in re.findall(r"^\$ (.*)$", block, flags=re.MULTILINE):
        monkeypatch.setattr("sys.argv", shlex.split(command))
        with pytest.raises(SystemExit) as end:
            run()
        assert end.value.code == 0, (command, capsys.readouterr().err)
    assert "Written to public-report.html (public)." in capsys.readouterr().out
