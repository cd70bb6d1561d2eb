"""What attackers are taken to know of a column besides its release: its structure, and what other columns say of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from statveil.auditing.patterns import PATTERNS
from statveil.auditing.relations import MISSING, Threshold
from statveil.auditing.tables import AuditTable
from statveil.auditing.view import Knowledge
from statveil.made_plan import Plan
from statveil.problem.structure import Structure
from statveil.tables.structure.column.bound_search import natural_bounds
from statveil.tables.structure.column.findings import find_structure
from statveil.tables.structure.others.aggregate_search import find_aggregates
from statveil.tables.structure.others.alongside import SIZES
from statveil.tables.structure.others.limit_search import find_limits
from statveil.tables.structure.others.link_search import find_links
from statveil.tables.structure.others.links import Link
from statveil.tables.structure.others.running_search import find_running
from statveil.tables.structure.others.ties import Tie

__all__ = ["assumed", "in_words", "links_of"]

_LINKED = 2**15
_GROUPED = 2**18


def links_of(table: AuditTable, ties: Sequence[Tie], rules: Sequence[Threshold]) -> tuple[Link, ...]:
    """Relations that neither copies nor exact flags are, in the first rows of a long table."""
    known = {name for tie in ties for name in tie.columns} | {rule.column for rule in rules}
    rows = slice(None, _LINKED)
    labels = {name: np.nan_to_num(one[rows], nan=MISSING) for name, one in {**table.others, **table.groups}.items()}
    numbers = {name: one[rows] for name, one in table.others.items()}
    found = find_links(table.column[rows], numbers, labels, known=known)
    return (*found, *_beside(table, known | {link.columns[0] for link in found}))


def _beside(table: AuditTable, told: Collection[str]) -> Iterator[Link]:
    """Limits that other columns say, numbers of groups, counts along the rows: what a release looks for last."""
    finite = np.isfinite(table.column)
    rows = np.flatnonzero(finite)[:_GROUPED]
    column, known = table.column[rows], frozenset(told)
    labels = {name: np.nan_to_num(one[rows], nan=MISSING) for name, one in {**table.others, **table.groups}.items()}
    numbers = {name: one[rows] for name, one in table.others.items() if not name.endswith(SIZES)}
    some = slice(None, _LINKED)
    starts = np.arange(len(column)) == 0
    short = [{name: one[some] for name, one in columns.items()} for columns in (numbers, labels)]
    free = {name: one[some] for name, one in table.others.items() if name in numbers and name not in known}
    every = {name: np.nan_to_num(one[some], nan=MISSING) for name, one in {**table.others, **table.groups}.items()}
    first = np.arange(len(table.column[some])) == 0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        yield from find_limits(column[some], *short, known=known, breaks=starts[some] if finite.all() else None)
        yield from find_running(table.column[some], free, every, first)
        # of a long table as a release does: groups that another column names
        yield from find_aggregates(column, numbers, labels, known=known, alone=len(column) <= _LINKED)


def assumed(plan: Plan, table: AuditTable, given: Structure | None) -> Structure:
    """Declared, given, and really there: the holder's attacker knows the column as well as its makers do."""
    if plan.release_mode.categories:
        return Structure()
    values = table.column[np.isfinite(table.column)]
    found = {finding.name: finding.values for finding in find_structure(values[: 2**20], bits=table.bits)}
    parts = [plan.problem.known, given or Structure()]
    # what a release looks for too: that nothing lies below 0, or above 1 or 100, and why
    low, high = natural_bounds(values[: 2**20])
    minimum = next((part.minimum for part in reversed(parts) if part.minimum is not None), low)
    step = next((part.step for part in reversed(parts) if part.step is not None), (found.get("step") or (None,))[0])
    maximum = next((part.maximum for part in reversed(parts) if part.maximum is not None), high)
    atoms = {atom for part in parts for atom in part.atoms} | set(found.get("atoms", ()))
    heaps = {heap for part in parts for heap in part.heaps} | set(found.get("heaps", ()))
    inside = {a for a in atoms if (minimum is None or a >= minimum) and (maximum is None or a <= maximum)}
    return Structure(minimum=minimum, maximum=maximum, step=step, atoms=tuple(inside), heaps=tuple(heaps))


def in_words(knowledge: Knowledge) -> str:
    """What attackers know, for the holder to read."""
    known = knowledge.structure
    parts = [
        f"{name} {value:g}"
        for name, value in (("minimum", known.minimum), ("maximum", known.maximum), ("step", known.step))
        if value is not None
    ]
    parts += [
        f"{name} {', '.join(f'{value:g}' for value in values)}"
        for name, values in (("heaps", known.heaps), ("atoms", known.atoms))
        if values
    ]
    parts += [f"holds {PATTERNS[name].says}" for name in knowledge.patterns]
    parts += [f"{' and '.join(tie.columns[:3])} as a copy" for tie in knowledge.ties]
    parts += [f"{rule.column} changes at {rule.value:g}" for rule in knowledge.thresholds]
    parts += [f"{' and '.join(link.columns)} as {link.says}" for link in knowledge.links]
    if knowledge.seeming is not None:
        seen = [f"{' and '.join(tie.columns[:3])} was a copy" for tie in knowledge.seeming.ties]
        seen += [f"{rule.column} changed at {rule.value:g}" for rule in knowledge.seeming.thresholds]
        parts += [f"{one} before the release" for one in dict.fromkeys(seen)]
    if knowledge.records:
        parts.append(f"{len(knowledge.records)} true record(s)")
    if knowledge.releases:
        parts.append(f"{len(knowledge.releases)} other release(s)")
    return "the plan, the prior and the released table" + (f"; {'; '.join(parts)}" if parts else "")
