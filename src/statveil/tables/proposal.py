"""What to declare of a column so that plan() and release() accept it, as a command to copy. Private, as inspect() is.

Each proposal is held against what a release would ask: a plan with a stand-in prior is made, and the release's own
checks look at the same sample of rows. The stand-in prior decides nothing but that, and is not shown: a prior comes
from public knowledge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from statveil.design.treatment import treatment
from statveil.errors import StatveilError
from statveil.made_plan import Plan
from statveil.planning import plan
from statveil.problem.model import CATALOGUE
from statveil.problem.problem import Problem
from statveil.problem.secret import Secret
from statveil.problem.secrets.mean import Mean
from statveil.problem.secrets.quantile import Quantile
from statveil.problem.secrets.std import Std
from statveil.problem.structure import Structure
from statveil.tables.blocks import Array
from statveil.tables.estimate import estimate
from statveil.tables.measure import Measured
from statveil.tables.structure.column.findings import Finding
from statveil.tables.structure.column.grid_search import grid_behind
from statveil.tables.structure.column.lattice_search import ulp
from statveil.tables.structure.rows.exchangeable import find_made_order, find_order
from statveil.tables.structure.rows.order_search import Order
from statveil.tables.verification import Verifier, known_text

__all__ = ["Proposal", "name_grids", "propose"]

_GRIDS = ("transform", "repeats", "ratios")
"""Findings that explain values which repeat: those are no atoms that anybody knows one by one."""
_DIGITS = 4
"""Digits of a frequent value that outsiders may know, such as a price; a longer one is known from the table alone."""
_AROUND = 2
"""Standard deviations from what is known anyway, within which one frequent value hardly says where the column lies."""
_MOST_INSIDE = 2
"""Frequent values inside a column that may be named: the more there are, the better they say where it lies."""
_OTHERS = {"a quantile": Quantile(0.9), "the std": Std()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What to declare, and what comes of it."""

    known: str
    """For ``--known``."""
    command: str
    """The ``statveil plan`` to copy, with LO:HI to fill in; empty where nothing hides it."""
    shuffle: bool
    """Whether the release needs ``--shuffle``, because the order of the rows tells their values."""
    no_map: tuple[str, ...]
    """Which declarations have no map, for which statistics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """What the checks of a release need to see of a column."""

    sample: Array
    structure: list[Finding]
    """As it was found, before anything was taken out of what is said."""
    measured: Measured
    bits: int
    grids: set[str]
    """What explains values that repeat."""


def name_grids(found: list[Finding], bits: int) -> list[Finding]:
    """Frequent values that are transforms or ratios of whole numbers, named as such instead of one by one."""
    step = next((finding.values[0] for finding in found if finding.name == "step"), None)
    named: list[Finding] = []
    for finding in found:
        atoms = np.array(finding.values if finding.name == "atoms" else ())
        grid = grid_behind(atoms, ulp(atoms, bits) * 2 if step is None else np.full(len(atoms), 0.505 * step))
        if grid is None:
            named.append(finding)
            continue
        says = (
            f"values that occur often are {grid} of whole or other round numbers, not atoms of their own; only the "
            "right position makes those round again: release the numbers behind them."
        )
        name = "ratios" if grid == "ratios" else "transform"
        named.append(Finding(name=name, values=(), flag="", says=says))
    return named


def propose(
    declared: list[Finding], *, sample: Array, structure: list[Finding], measured: Measured, order: Order, bits: int
) -> Proposal:
    """The first way to declare what was found that a release of the mean accepts.

    Parameters
    ----------
    declared : list of Finding
        What may be said of the column, natural bounds among it.
    sample, structure : array, list of Finding
        The rows that are looked at, and all that was found in them.
    measured, order, bits
        The column's numbers, the order of its rows, and the precision of its type.
    """
    grids = {finding.name for finding in (*structure, *declared) if finding.name in _GRIDS}
    told = [finding for finding in declared if finding.flag and not (grids and finding.name == "atoms")]
    known = _structure(told, measured)
    if measured.maximum == measured.minimum:
        return Proposal(known=known_text(known), command="", shuffle=False, no_map=("All rows have one value.",))
    looked = _Looked(sample=sample, structure=structure, measured=measured, bits=bits, grids=grids)
    made_by_size = bool(find_made_order(sample))
    refusals = []
    for option in _options(known, measured):
        made, why = _tried(option, looked)
        if made is None:
            refusals.append(why)
            continue
        return Proposal(
            known=known_text(option),
            command=_command(option, measured),
            shuffle=made_by_size or (made.release_mode.random and bool(find_order(made.release_mode, order))),
            no_map=_without_map(option, measured),
        )
    for option in _plainer(known):
        made, why = _tried(option, looked, shape=CATALOGUE)
        if made is not None:
            return Proposal(
                known=known_text(option),
                command=_command(option, measured, shape=CATALOGUE),
                shuffle=made_by_size or bool(find_order(made.release_mode, order)),
                no_map=(refusals[0],),
            )
    return Proposal(known=known_text(known), command="", shuffle=False, no_map=(refusals[0],))


def _structure(found: list[Finding], measured: Measured) -> Structure:
    values = {finding.name: finding.values for finding in found if finding.name != "bounds"}
    bounds: dict[str, float] = {}
    for finding in found:
        if finding.name == "bounds":
            names = [part.partition("=")[0] for part in finding.flag.split(",")]
            bounds |= dict(zip(names, finding.values, strict=True))
    minimum, maximum = bounds.get("min"), bounds.get("max")
    atoms = [value for value in values.get("atoms", ()) if not _beyond(value, minimum, maximum) and _short(value)]
    ends = {0.0, *bounds.values(), measured.minimum, measured.maximum}
    inside = [value for value in atoms if value not in ends]
    if _tell_place(inside, bounds, measured):
        atoms = [value for value in atoms if value in ends]
    return Structure(
        minimum=minimum,
        maximum=maximum,
        step=values.get("step", (None,))[0],
        heaps=values.get("heaps", ()),
        atoms=tuple(atoms),
    )


def _beyond(value: float, minimum: float | None, maximum: float | None) -> bool:
    return (minimum is not None and value < minimum) or (maximum is not None and value > maximum)


def _short(value: float) -> bool:
    """Whether a frequent value is written with so few digits that it may be common knowledge.

    >>> [_short(value) for value in (0.0, 12.0, 19.99, 250_000.0, 4.8999996)]
    [True, True, True, True, False]
    """
    return len(f"{abs(value):.14e}".partition("e")[0].replace(".", "").rstrip("0")) <= _DIGITS


def _tell_place(inside: list[float], bounds: dict[str, float], measured: Measured) -> bool:
    """Whether frequent values inside the column, named in a public plan, would say where the column lies.

    The column lies around them, up to a standard deviation or so: on a lattice that is coarser than the column's own,
    the values around its middle are the most frequent. That is news where they lie further than that from all that is
    known anyway, from 0 and from the bounds. Many rows at an end are a limit, which is as known.
    """
    if len(inside) > _MOST_INSIDE:
        return True
    reach = _AROUND * measured.std / max(len(inside), 1)
    return any(min(abs(value - anchor) for anchor in (0.0, *bounds.values())) > reach for value in inside)


def _options(known: Structure, measured: Measured) -> Iterator[Structure]:
    """What was found; and for numbers from 0 up, that they are: atoms and favourites have a map above a bound."""
    yield known
    if measured.minimum >= 0 and known.minimum is None and known.maximum is None:
        yield replace(known, minimum=0.0)


def _plainer(known: Structure) -> Iterator[Structure]:
    """What was found; and the bounds alone, where the rest is no structure that a model can be put on."""
    yield known
    yield replace(known, step=None, heaps=(), atoms=())


def _tried(known: Structure, looked: _Looked, shape: str | None = None) -> tuple[Plan | None, str]:
    """A plan for the mean that the release would carry out, or why there is none."""
    try:
        made = plan(_stand_in(Mean(), known, looked.measured, shape), max_risk=0.2)
        verifier = Verifier(made, bits=looked.bits)
        verifier.watch(looked.sample, 0)
        verifier.check_declared("values")
    except StatveilError as error:
        why = str(error).split(". ")[0]  # what follows is about the stand-in prior
        return None, f"No map of the column keeps {known_text(known)}: {why}."
    params = estimate(made.problem, looked.measured, looked.measured.mean)
    found = verifier.undeclared(params, looked.structure)
    if not found:
        return made, ""
    shown = {finding.name for finding in found} - ({"atoms", "filled"} if looked.grids else set())
    names = ", ".join(sorted(shown | looked.grids))
    return None, (
        f"No shift or scaling of the column hides what it shows ({names}), declared or not; redraw it from a public "
        "shape, or mend it as said above."
    )


def _stand_in(secret: Secret, known: Structure, measured: Measured, shape: str | None = None) -> Problem:
    """A problem like the user's: a prior around the statistic that keeps away from the one point that stays."""
    centre = measured.std if isinstance(secret, Std) else measured.mean
    bounds = [bound for bound in (known.minimum, known.maximum) if bound is not None]
    about = 0.0 if isinstance(secret, Std) else (*bounds, *known.atoms, None)[0]
    away = None if about is None else centre - about
    if about is None or not away:
        reach = max(20 * measured.std, 200 * (known.spacing or 0.0))
        low, high = centre - reach, centre + reach
    else:
        low, high = sorted((about + 0.5 * away, about + 2 * away))
        if len(bounds) == 2:
            low, high = max(low, 0.5 * (bounds[0] + centre)), min(high, 0.5 * (bounds[1] + centre))
    return Problem(secret=secret, prior=(low, high), tolerance=(high - low) / 40, known=known, shape=shape)


def _command(known: Structure, measured: Measured, shape: str | None = None) -> str:
    closeness = "5%" if measured.minimum >= 0 else "T"  # a share of what may be 0 or less says nothing
    text = known_text(known)
    declared = f'--known "{text}" ' if text else ""
    declared += f"--shape {shape} " if shape else ""
    return f"statveil plan --secret mean --prior LO:HI --tolerance {closeness} {declared}--max-risk 0.2 -o plan.json"


def _without_map(known: Structure, measured: Measured) -> tuple[str, ...]:
    """Which declarations leave no map for the other statistics."""
    parts = known_text(known).split(",")
    alone: dict[str, Structure] = {}
    for part in parts:
        name = part.partition("=")[0]
        field = {"min": "minimum", "max": "maximum"}.get(name, name)
        alone[part] = replace(Structure(), **{field: getattr(known, field)}) if part else Structure()
    said: dict[str, list[str]] = {}
    for name, secret in _OTHERS.items():
        if _mapped(secret, known, measured):
            continue
        blamed = [part for part, structure in alone.items() if not _mapped(secret, structure, measured)]
        said.setdefault(" and ".join(blamed) or f"{known_text(known)} together", []).append(name)
    return tuple(
        f"{blame}: no map hides {' or '.join(names)}; add --shape {CATALOGUE}." for blame, names in said.items()
    )


def _mapped(secret: Secret, known: Structure, measured: Measured) -> bool:
    try:
        treatment(_stand_in(secret, known, measured))
    except StatveilError:
        return False
    return True
