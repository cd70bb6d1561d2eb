"""Every concept owns its behaviour: how often its kind is tested far from its own folder, counted in the syntax trees.

``python -m tests.repository.test_concepts`` prints every place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import statveil
from statveil.mechanisms.mechanism import MECHANISMS
from statveil.modes import MODES
from statveil.problem.secret import SECRETS

SOURCE = Path(statveil.__file__).parent


@dataclass(frozen=True, kw_only=True)
class Concept:
    """What is counted: registry, attribute that names its kind, who has it, its kinds, its classes, its own places."""

    registry: str
    attribute: str
    owners: tuple[str, ...]
    kinds: frozenset[str]
    classes: frozenset[str]
    home: tuple[str, ...]

    def names(self, node: ast.AST) -> bool:
        """Whether an expression is the kind of such a thing: ``secret.kind``, ``plan.mode``, or a name for it."""
        if isinstance(node, ast.Name):
            return node.id == self.attribute
        if not isinstance(node, ast.Attribute) or node.attr != self.attribute:
            return False
        owner = node.value
        last = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
        return not self.owners or last in self.owners

    def tested(self, node: ast.AST) -> bool:
        """Whether this node decides something by the kind: a comparison, a lookup, a match, an isinstance."""
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
            if any(isinstance(part, ast.Attribute) and self.names(part) for part in parts):
                return True
            literal = any(self._literal(part) for part in parts)
            made = any(isinstance(part, ast.Call) and self._class(part.func) for part in parts)
            return made or (literal and any(self.names(part) for part in parts))
        if isinstance(node, ast.Subscript):  # from the registry itself comes the thing, and no decision
            own = isinstance(node.value, ast.Name) and node.value.id == self.registry
            return not own and self.names(node.slice) and isinstance(node.slice, ast.Attribute)
        if isinstance(node, ast.Match):
            return self.names(node.subject) or any(
                isinstance(part, ast.MatchClass) and self._class(part.cls) for part in ast.walk(node)
            )
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            return any(isinstance(one, ast.Attribute) and self.names(one) for one in node.args)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            return any(self._class(part) for part in ast.walk(node.args[1]))
        return False

    def _class(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id in self.classes

    def _literal(self, node: ast.AST) -> bool:
        values = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
        return any(isinstance(value, ast.Constant) and value.value in self.kinds for value in values)


def _concept(
    name: str, registry: dict[str, type], attribute: str, owners: tuple[str, ...], home: tuple[str, ...]
) -> Concept:
    return Concept(
        registry=name,
        attribute=attribute,
        owners=owners,
        kinds=frozenset(registry),
        classes=frozenset(cls.__name__ for cls in registry.values()),
        home=home,
    )


CONCEPTS = {
    "secrets": _concept("SECRETS", SECRETS, "kind", ("secret",), ("problem/secret.py", "problem/secrets/")),
    "modes": Concept(
        registry="MODES",
        attribute="mode",
        owners=(),
        kinds=frozenset(MODES),
        classes=frozenset(),
        home=("modes/",),
    ),
    "mechanisms": _concept("MECHANISMS", MECHANISMS, "kind", ("mechanism",), ("mechanisms/", "accounting/")),
}


def places(concept: Concept) -> Iterator[str]:
    """Every test of the concept outside its own folder, as ``file:line  code``."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith(concept.home):
            continue
        text = path.read_text()
        tree = ast.parse(text)
        foreign = {  # fractions.Fraction is no secret
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("statveil")
            for alias in node.names
        }
        own = Concept(**{**vars(concept), "classes": concept.classes - foreign})
        for node in ast.walk(tree):
            if own.tested(node):
                yield f"{name}:{node.lineno}  {text.splitlines()[node.lineno - 1].strip()}"


@pytest.mark.parametrize(
    ("code", "concept", "found"),
    [
        ('if problem.secret.kind == "std": pass', "secrets", 1),
        ('kind in ("mean", "std")', "secrets", 1),
        ('kind in ("w1", "tv")', "secrets", 0),
        ("isinstance(secret, Quantile | Mean)", "secrets", 1),
        ("secret == Mean()", "secrets", 1),
        ("known[secret.kind]", "secrets", 1),
        ("known.get(plan.problem.secret.kind)", "secrets", 1),
        ("secret.moves(family)", "secrets", 0),
        ('{"kind": secret.kind}', "secrets", 0),
        ('plan.mode in ("shift", "scale")', "modes", 1),
        ('mode != "unit"', "modes", 1),
        ("SAYS[plan.mode]", "modes", 1),
        ("MODES[plan.mode]", "modes", 0),
        ("plan.mode in RANDOM", "modes", 1),
        ('{"mode": plan.mode}', "modes", 0),
        ('np.pad(x, 1, mode="edge")', "modes", 0),
        ("isinstance(mechanism, Interval | Comb)", "mechanisms", 1),
        ("isinstance(mechanism, Mechanism)", "mechanisms", 0),
    ],
)
def test_the_counter_counts_what_decides_by_kind_and_nothing_else(code, concept, found):
    assert sum(map(CONCEPTS[concept].tested, ast.walk(ast.parse(code)))) == found


@pytest.mark.parametrize(("name", "most"), [("secrets", 15), ("modes", 0)])
@pytest.mark.heavy(1)
def test_concepts_are_not_tested_by_kind_outside_their_own_folder(name, most):
    found = list(places(CONCEPTS[name]))
    assert len(found) <= most, "\n".join(found)


if __name__ == "__main__":
    for name, concept in CONCEPTS.items():
        found = list(places(concept))
        print(f"{name}: {len(found)} in {len({line.partition(':')[0] for line in found})} files")
        print(*(f"  {line}" for line in found), sep="\n")
