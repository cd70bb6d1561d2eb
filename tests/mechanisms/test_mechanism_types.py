"""A mechanism owns its behaviour: its type is hardly asked for elsewhere, and one of its own is accounted for."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest

import statveil as sv
from statveil import accounting
from statveil.contradictions import contradictions
from statveil.mechanisms.mechanism import MECHANISMS, Mechanism, mechanism_from_json
from statveil.mechanisms.partition import Partition
from statveil.report.plan import describe_plan

SOURCE = Path(__file__).parents[2] / "src" / "statveil"
MECHANISM_TYPES = {kind.__name__ for kind in MECHANISMS.values()} | {"Directed"}


def names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} | {
        part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)
    }


def asking_lines(types: set[str], text: str) -> list[int]:
    """Lines that ask whether a value is of one of these types, by ``isinstance``, ``type(...) is`` or ``match``."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
        ):
            asked = names_in(node.args[1])
        elif isinstance(node, ast.Compare) and any(
            isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "type"
            for part in (node.left, *node.comparators)
        ):
            asked = names_in(node)
        elif isinstance(node, ast.MatchClass):
            asked = names_in(node.cls)
        else:
            continue
        if asked & types:
            found.append(node.lineno)
    return found


def places(types: set[str], *own: str) -> list[str]:
    return [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not path.relative_to(SOURCE).as_posix().startswith(own)
        for line in asking_lines(types, path.read_text(encoding="utf-8"))
    ]


def test_the_counter_sees_every_way_to_ask():
    text = """
isinstance(m, Comb)
isinstance(m, Interval | interval.Comb)
isinstance(m, (int, Scaling))
type(m) is Comb
match m:
    case Cells():
        pass
isinstance(m, int)
Comb(teeth=2)
"""
    assert len(asking_lines({"Comb", "Interval", "Scaling", "Cells"}, text)) == 5


def test_mechanisms_are_asked_for_their_type_at_most_ten_times_outside_their_folder():
    found = places(MECHANISM_TYPES, "mechanisms/", "accounting")
    assert len(found) <= 10, found


# --- what the dispatch leaves to a mechanism's own file ------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Thirds(Partition):
    """Bins that are released as a mechanism of its own kind."""

    kind: ClassVar[str] = "thirds"

    def describe(self, slope: float | None) -> tuple[str, str]:
        return "thirds", f"{len(self.released)} of them"


PROBLEM = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 30)), secret=sv.Mean(), tolerance=1)
MADE = Thirds(parameter="mean", edges=(0.0, 10.0, 20.0, 30.0), released=(5.0, 15.0, 25.0))


@pytest.fixture(autouse=True, scope="module")
def _registered_here_alone():
    yield
    MECHANISMS.pop("thirds")


def test_a_mechanism_of_its_own_is_accounted_for_and_describes_itself():
    assert accounting.risk(PROBLEM, MADE).value == pytest.approx(2 / 10)  # the best guess holds 2 of 10
    assert accounting.distortion(PROBLEM, MADE) == pytest.approx(5.0)
    assert mechanism_from_json(MADE.to_json()) == MADE
    plan = replace(sv.plan(PROBLEM, max_distortion=5, method="dynamic", grid=60), mechanism=MADE)
    assert "  thirds      3 of them\n" in describe_plan(plan)
    assert (plan.bin, plan.spacing, plan.slope) == (None, None, None)
    assert MADE.covers(PROBLEM)
    assert not replace(MADE, edges=(0.0, 10.0, 20.0, 29.0)).covers(PROBLEM)


def test_a_mechanism_without_an_accounting_is_refused():
    class Silent(Mechanism):
        kind = "silent"

    try:
        silent = object.__new__(type("Loud", (Silent,), dict.fromkeys(Silent.__abstractmethods__)))
        for ask in (accounting.risk, accounting.distortion):
            with pytest.raises(sv.ProblemError, match="no accounting for the mechanism 'silent'"):
                ask(PROBLEM, silent)
    finally:
        MECHANISMS.pop("silent")


def test_a_plan_that_forgets_the_declared_step_is_contradicted_whatever_its_mechanism():
    for method in ("dynamic", "comb", "layered"):
        plan = sv.plan(PROBLEM, max_distortion=6, method=method, grid=60)
        assert contradictions(plan) == []
        stepped = replace(plan, problem=replace(PROBLEM, known=sv.Structure(step=5.0)), mode="lattice")
        assert "it does not move by the declared steps" in contradictions(stepped)
