"""Each concept owns its behaviour: how often its types are asked for elsewhere is counted here."""

from __future__ import annotations

import ast
from pathlib import Path

from statveil.mechanisms.mechanism import MECHANISMS

SOURCE = Path(__file__).parent.parent / "src" / "statveil"
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
