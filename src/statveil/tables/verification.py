"""Whether a column has the structure that was declared, and no other."""

from __future__ import annotations

import math
from collections.abc import Collection
from copy import copy
from typing import NamedTuple, Self

import numpy as np

from statveil.errors import StructureError, unknown_name
from statveil.made_plan import Plan
from statveil.modes import Mode
from statveil.problem.location_scale import LocationScale
from statveil.problem.model import REDRAWN
from statveil.problem.ordinal import Ordinal
from statveil.problem.problem import Problem
from statveil.problem.structure import Structure
from statveil.tables.blocks import Array, finite_rows
from statveil.tables.structure.column.beta_search import beta_levels
from statveil.tables.structure.column.bound_search import bounds_shown, ends_shown
from statveil.tables.structure.column.code_search import find_codes
from statveil.tables.structure.column.end_search import End
from statveil.tables.structure.column.findings import (
    Finding,
    Sampler,
    atom_findings,
    find_misfit,
    find_step,
    find_structure,
    plain_number,
)
from statveil.tables.structure.column.sum_search import find_sums
from statveil.tables.structure.reading.distinct import frozen
from statveil.tables.structure.reading.sampler import thinning

__all__ = [
    "LEAKS",
    "Verifier",
    "Watched",
    "blind_spots",
    "bound_findings",
    "bounds_of",
    "check_accepted",
    "end_asked",
    "holds_long",
    "known_text",
    "name_filled",
    "precision",
    "refuse_undeclared",
    "step_of",
]

_SHORT = 24
"""Significant bits of 32-bit floats."""
_GLANCE = 4096  # rows that tell most columns of 64-bit floats

LEAKS = {
    "step": "The values lie on a lattice that was not declared. Someone who knows it may learn how far they moved.",
    "heaps": "Multiples of some number are favourites, which was not declared. Someone who knows them may learn how "
    "far the values moved.",
    "atoms": "Single values occur often, which was not declared. Someone who knows one learns how far it moved.",
    "ratios": "Many values are ratios of small whole numbers, which was not declared. Single values may tell the map.",
    "order": "The order of the rows tells their values. Rows that were drawn one by one stick out of it; two groups or "
    "columns that moved apart, and a column whose rows were put in order by its size, can be put in order again.",
    "codes": "Single values are codes rather than numbers. Someone who knows one learns how far it moved.",
    "copies": "Another column tells values of the released one: a copy in another form, a flag, a sum. Whoever knows "
    "how learns how far the values moved.",
    "groups": "Other columns tell the values of the rows. Rows that were drawn one by one stick out of their groups.",
    "rough": "Some places of the lattice are used more often than their neighbours, which was not declared. Someone "
    "who knows the pattern learns how far it moved.",
    "digits": "Larger values are rounded more coarsely. Where the step changes may tell how far the values moved.",
    "transform": "Values are logarithms, powers or the like of round numbers. Someone who knows that may learn how far "
    "they moved.",
    "shared": "Rows of one group have the values of rows of another. Each group moves by a map of its own, so where "
    "such values come out tells both.",
    "repeats": "Rows choose among few values. Someone who knows the values learns how far they moved.",
    "sums": "Rows are sums, opposites or reciprocals of other rows. Whoever knows which learns how far the values "
    "moved.",
    "bounds": "The values end at a natural bound, which was not declared. Someone who knows it learns the move.",
    "filled": "One value occurs often, which was not declared, as where gaps were filled. Someone who knows why may "
    "learn the hidden statistic.",
    "shape": "The values follow a Beta distribution, which the map leaves. Someone who believes in it learns how far "
    "they moved.",
    "few-rows": "The table has so few rows that its statistic can take few values only. The stated risk is too low.",
    "misfit": "The counts do not follow the stated family. The stated risk is proven only for columns that do.",
    "row-numbers": "A column counts the rows. Its largest value, or its gaps, tell how many rows there were.",
    "timestamps": "A column says when each row came. Whoever knows how often rows come learns how many there were.",
    "panels": "Groups of rows have sizes that someone may know. How many rows of a group are missing tells how many "
    "there were.",
    "running": "A column rises from row to row, as a running total does. Its end tells how many rows there were.",
    "totals": "A column holds the number of rows, or a total or a share of the whole table.",
    "ranks": "A column holds ranks or shares of all rows, whose steps tell how many rows there were.",
    "references": "Rows speak of other rows: by their keys, balances or distances, in pairs, or by a total of a group. "
    "How many of those are missing tells how many rows there were.",
    "repeated": "The column was released before under another plan, and all releases together may tell the hidden "
    "statistic. The stated risk is that of this release alone.",
}
"""What may be accepted by name, in words that can be published: they say nothing of the column's own values."""


def check_accepted(names: Collection[str]) -> tuple[str, ...]:
    """The accepted leaks, each a known name."""
    if isinstance(names, str):
        names = (names,)
    if not isinstance(names, Collection):
        raise StructureError(f"what to accept is a list of names. Allowed: {', '.join(LEAKS)}.")
    for name in names:
        if not isinstance(name, str) or name not in LEAKS:
            raise StructureError(unknown_name("leak to accept", str(name), LEAKS))
    return tuple(sorted(set(names)))


class Watched(NamedTuple):
    """What a :class:`Verifier` keeps of the rows that it has watched."""

    broken: frozenset[str]
    off: frozenset[int]
    sampler: Sampler
    inside: tuple[Sampler, ...] = ()
    """Rows that are kept of all that is looked at by itself, as of groups."""


class Verifier:
    """Watches a column block by block, then says whether it may be released."""

    def __init__(
        self,
        plan: Plan,
        *,
        bits: int,
        factor: float | None = None,
        alone: bool = True,
        sampler: Sampler | None = None,
    ) -> None:
        """``factor`` is for a column that moves along: how many of its units one of the plan's column is.

        ``alone`` is false for one group of a column whose groups move by maps of their own; ``sampler`` keeps the rows
        where less is asked of them than :meth:`undeclared` asks.
        """
        self._alone = alone
        self.plan, self.bits = plan, bits
        self.known = plan.problem.known if factor is None else plan.problem.known.times(factor)
        self.low, self.high = sorted(bound * (1.0 if factor is None else factor) for bound in bounds_of(plan.problem))
        self._factor = factor
        self.sampler = Sampler() if sampler is None else sampler
        self.offset: float | None = None
        """The place of the lattice relative to 0, once what was declared has been checked."""
        self._offsets: dict[int, float] = {}
        self._off: set[int] = set()
        self._broken: set[str] = set()

    # --- while reading ------------------------------------------------------------------------
    def watch(self, values: Array, start: int) -> None:
        """Look at the rows from ``start`` on."""
        finite, least, most = finite_rows(values)
        if not len(finite):
            return
        if least < self.low:
            self._broken.add("minimum")
        if most > self.high:
            self._broken.add("maximum")
        if self.known.step is not None:
            self._watch_step(finite, self.known.step)
        if isinstance(self.plan.problem.family, Ordinal) and np.any(finite != np.floor(finite)):
            self._broken.add("whole")
        self.sampler.add(values, start)

    # --- in parts, each looked at elsewhere -----------------------------------------------------
    def begin(self, first: Array, rows: int) -> bool:
        """Get ready for parts, from the column's first rows; false where these do not say what a part must know.

        ``rows`` is the number of finite rows, as far as it is known.
        """
        finite, *_ = finite_rows(first)
        if self.known.step is not None:
            if not len(finite):
                return False
            self._watch_step(finite, self.known.step)
        self.sampler.thin(thinning(rows))
        return True

    def part(self) -> Self:
        """One that watches other rows."""
        fresh = copy(self)
        fresh.sampler, fresh._off, fresh._broken = self.sampler.part(), set(self._off), set(self._broken)
        return fresh

    def seen(self) -> Watched:
        """What was seen so far, for another one to :meth:`join`."""
        return Watched(broken=frozenset(self._broken), off=frozenset(self._off), sampler=self.sampler)

    def join(self, part: Watched) -> None:
        """Take in what a part has seen."""
        self._broken |= part.broken
        self._off |= part.off
        self.sampler.join(part.sampler)

    def settle(self) -> bool:
        """Once all parts have joined; false where they must look again, as they have kept too few rows."""
        return self.sampler.settle()

    def give_up(self) -> None:
        """Forget all parts."""
        self.sampler.thin(0)

    def _watch_step(self, values: Array, step: float) -> None:
        """Whether the values lie on the step, as numbers of their type and as 32-bit ones, which they may have been."""
        for bits in (self.bits, _SHORT):
            if bits not in self._offsets:
                self._offsets[bits] = _offset(float(values[0]), step, bits)
            if bits not in self._off and _off_step(values, step, self._offsets[bits], bits):
                self._off.add(bits)
            elif bits != _SHORT and self._offsets.get(_SHORT) == self._offsets[bits]:
                break  # what is on the step is so within coarser errors

    # --- afterwards ---------------------------------------------------------------------------
    def check_declared(self, column: str) -> None:
        """Refuse a column that lacks what was declared: the map and the stated risk rest on it."""
        family = self.plan.problem.family.name
        if self._offsets:
            # known at the end only: 32-bit floats that are stored in 64 bits are as near to a step as they can be
            bits = precision(self.sampler.values, self.bits, ()) if self.bits in self._off else self.bits
            self.offset = self._offsets[bits]
            self._broken |= {"step"} if bits in self._off else set()
        says = {
            "minimum": f"has values below the minimum that the plan rests on ({self.low:g})",
            "maximum": f"has values above the maximum that the plan rests on ({self.high:g})",
            "step": f"has values off the declared step {self.known.step}",
            "whole": f"has values that are not whole numbers, but {family!r} is a family of counts",
        }
        for name in ("whole", "minimum", "maximum", "step"):
            if name in self._broken:
                raise StructureError(
                    f"column {column!r} {says[name]}. The plan does not fit this column; correct the column, "
                    "or plan again with what is publicly known of such columns."
                )

    def numbers(self) -> tuple[float, ...]:
        """Numbers of the rows that no other column may hold, beside those that are measured anyway."""
        sample = self.sampler.values
        if not len(sample):
            return ()
        std, rows = float(np.std(sample)), len(sample)
        return (float(np.median(sample)), *((std, std * math.sqrt(rows / (rows - 1))) if rows > 1 else ()))

    def check_undeclared(self, column: str, accepted: Collection[str], params: dict[str, float]) -> list[Finding]:
        """Refuse structure that was found but not declared, unless accepted by name; returns what was found."""
        found = self.undeclared(params)
        alone = self.plan.problem.family.shapeless and self.plan.problem.secret.apart is None
        refuse_undeclared(column, accepted, found, self.known, f"{REDRAWN}, whatever it shows." if alone else "")
        return found

    def undeclared_step(self) -> list[Finding]:
        """The step alone of what :meth:`undeclared` finds: all that a map asks of it where everything is accepted."""
        mode = self.plan.release_mode
        if not mode.structure_shows or "step" in mode.harmless:
            return []
        sample = self.sampler.values
        known = Structure(step=1.0) if mode.of_family else self.known
        found = find_step(sample, bits=precision(sample, self.bits, ()))
        return [finding for finding in found if not _declared(finding, known, ())]

    def undeclared(self, params: dict[str, float] | None, found: list[Finding] | None = None) -> list[Finding]:
        """What would show in the release and was not declared; ``found`` is the sample's structure if it is known."""
        mode, family = self.plan.release_mode, self.plan.problem.family
        if not mode.structure_shows:  # what is released depends on nothing but the order of the rows
            return []
        sample = frozen(self.sampler.values)
        bits = precision(sample, self.bits, ())
        found = find_structure(sample, bits=bits) if found is None else found
        found = [finding for finding in found if finding.name not in mode.harmless and not _hidden(finding, mode)]
        if mode.of_family:
            shape = [finding for finding in found if not _declared(finding, Structure(step=1.0), ())]
            assert params is not None
            shape += find_misfit(self.sampler.values, lambda counts: family.pmf(counts, params))
            return self._without_secret(shape, params)
        bound = mode.fixed_point(self.plan.problem)
        bound = bound if bound is None or self._factor is None else self._factor * bound
        fixed = (*self.known.fixed_points, *(() if bound is None else (bound,)))
        found = [finding for finding in found if not _declared(finding, self.known, fixed)]
        found = self._without_secret(found, params)
        found += self._codes(sample, fixed, found)
        return [*found, *self._sums(sample, bound, bits), *self._bounds(sample), *self._shape(sample)]

    def _shape(self, sample: Array) -> list[Finding]:
        """A family of shapes that the map leaves, so that a believer in it sees how far."""
        low, high = self.known.minimum, self.known.maximum
        if not self.plan.release_mode.bends or low is None or high is None:
            return []
        if beta_levels(np.clip((sample - low) / (high - low), 0.0, 1.0)) is None:
            return []
        says = (
            "the values follow a Beta distribution, and the map between two bounds leaves that family: whoever "
            "believes in it learns from many rows how far they moved. Release fewer rows, or declare one bound only if "
            "the other is not known."
        )
        return [Finding(name="shape", values=(), flag="", says=says)]

    def _without_secret(self, found: list[Finding], params: dict[str, float] | None) -> list[Finding]:
        """The findings, where one would print a value as close to the secret as a hit, without that value."""
        if params is None:
            return found
        secret = float(self.plan.problem.secret_of(params))
        return name_filled(found, (secret,), self.plan.problem.within(secret))

    def _codes(self, sample: Array, fixed: tuple[float, ...], found: list[Finding]) -> list[Finding]:
        """Codes that are no values of the column, where they are not said to be frequent values anyway."""
        named = {value for finding in found for value in finding.values} | {*fixed, *self.known.atoms}
        codes = [code for code in find_codes(sample, continuous=self.known.step is None) if code not in named]
        if not codes or any(finding.name in ("step", "heaps") for finding in found):
            return []
        says = (
            f"single values are codes rather than numbers ({', '.join(map(plain_number, codes[:3]))}), such as for a "
            "missing entry; they move along and show how far: leave such cells empty."
        )
        return [Finding(name="codes", values=tuple(codes), flag="", says=says)]

    def _sums(self, sample: Array, about: float | None, bits: int) -> list[Finding]:
        """Rows that are made of others, where the map does not keep them so."""
        mode = self.plan.release_mode
        if not mode.near_line and not mode.apart:
            return []
        # a scaling keeps sums, but not those of rows that are scaled apart
        keeps = mode.stretches and about == 0 and not (mode.apart and self._alone)
        found = find_sums(sample, bits=bits, about_zero=keeps)
        if found is None:
            return []
        says = f"{found}, which after the map they are no longer: how much is missing shows how far the column moved."
        return [Finding(name="sums", values=(), flag="", says=f"{says} Leave such rows out.")]

    def _bounds(self, sample: Array) -> list[Finding]:
        """Natural bounds that the column keeps to, on a side where neither the plan nor the family has one."""
        family = self.plan.problem.family
        if not isinstance(family, LocationScale):
            return []
        minimum, maximum = bounds_shown(sample, self._ends())
        # A bound that is a parameter of the family has a prior of its own: it is not taken to be known.
        return bound_findings(minimum if family.minimum is None else None, maximum if family.maximum is None else None)

    def _ends(self) -> tuple[float | None, float | None]:
        """Where the values must lie; nothing on a side without a bound."""
        low, high = (None if math.isinf(end) else end for end in (self.low, self.high))
        return low, high

    def sharp_ends(self, params: dict[str, float]) -> tuple[str, ...]:
        """What to ask the holder of ends that look cut off, and would show in the release without being declared."""
        problem, mode = self.plan.problem, self.plan.release_mode
        family = problem.family
        if not mode.structure_shows or not isinstance(family, LocationScale):
            return ()
        sample = frozen(self.sampler.values)
        step = self.known.step or step_of(find_step(sample, bits=precision(sample, self.bits, ())))
        secret = float(problem.secret_of(params))
        ends = zip(
            ("min", "max"), ends_shown(sample, self._ends(), step), (family.minimum, family.maximum), strict=True
        )
        return tuple(
            end_asked(name, end)
            for name, end, own in ends
            # an end that is a parameter has a prior of its own, and one that is the secret is not to be named
            if end is not None and own is None and abs(end.value - secret) > problem.within(secret)
        )


def refuse_undeclared(
    column: str, accepted: Collection[str], found: list[Finding], known: Structure, other: str = ""
) -> None:
    """Refuse what was found but neither declared nor accepted, with the flags to add; ``other`` is one more way out."""
    refused = [finding for finding in found if finding.name not in accepted]
    if not refused:
        return
    flags = _merged(known, [finding.flag for finding in refused if finding.flag])
    names = " ".join(f"--accept {name}" for name in sorted({finding.name for finding in refused}))
    declared = any(finding.flag for finding in refused)
    remedy = f'If it is known of such columns, plan again with --known "{flags}"; or a' if declared else "Mend it, or a"
    raise StructureError(
        f"column {column!r}: {' '.join(finding.says for finding in refused)} The stated risk would not hold. "
        f"{remedy}ccept the leak: {names}.{' ' * bool(other)}{other}"
    )


def bound_findings(minimum: float | None, maximum: float | None) -> list[Finding]:
    """What to say of natural bounds that a column keeps to."""
    bounds = {"min": ("below", minimum), "max": ("above", maximum)}
    named = {name: (side, value) for name, (side, value) in bounds.items() if value is not None}
    if not named:
        return []
    where = " and ".join(f"{side} {plain_number(value)}" for side, value in named.values())
    says = f"no value is {where}, and some come near; who knows that bound sees how far the column moved."
    flag = ",".join(f"{name}={plain_number(value)}" for name, (_, value) in named.items())
    return [Finding(name="bounds", values=tuple(value for _, value in named.values()), flag=flag, says=says)]


def end_asked(name: str, end: End) -> str:
    """What to ask the holder of an end that looks cut off."""
    side = "below" if name == "min" else "above"
    text = plain_number(end.value)
    return (
        f"the column ends sharply at about {text}: no value is {side} it, and just inside the rows are as dense as "
        "further in. If a law, a scale or the way in which it was collected says so, everyone may know that end, and "
        f"where it comes out shows how far the column moved: declare it, as that says it (such as {name}={text})."
    )


def step_of(found: Collection[Finding]) -> float | None:
    """The step that was found, if there is one."""
    return next((finding.values[0] for finding in found if finding.name == "step"), None)


def name_filled(found: list[Finding], statistics: tuple[float, ...], tolerance: float) -> list[Finding]:
    """Take atoms that would tell a statistic out of what is said: gaps may have been filled with it.

    Messages end up in logs, and an atom that is proposed as public knowledge ends up in a public plan.
    """
    named: list[Finding] = []
    for finding in found:
        near = [v for v in finding.values if any(abs(v - one) <= tolerance for one in statistics)]
        if finding.name != "atoms" or not near:
            named.append(finding)
            continue
        named += atom_findings([value for value in finding.values if value not in near])
        says = (
            "one value, close to the statistic that is to be hidden, occurs far more often than values nearby, as "
            "where gaps were filled with the mean; where the peak lies in the release shows the map: leave the gaps "
            "empty."
        )
        named.append(Finding(name="filled", values=(), flag="", says=says))
    return named


def blind_spots(rows: int, mode: Mode) -> tuple[str, ...]:
    """What the checks of a column cannot see in a table of so many rows: an attacker may know it, and then sees more.

    >>> from statveil.modes import MODES
    >>> blind_spots(40, MODES["lattice"])[0]
    'With fewer than 100 rows, favourite values and multiples are seen only if most rows have them.'
    >>> blind_spots(40, MODES["rank"])
    ()
    """
    if not mode.structure_shows:
        return ()
    says = []
    if rows < 100:
        says.append("With fewer than 100 rows, favourite values and multiples are seen only if most rows have them.")
    elif rows < 1_000 and (mode.keeps_steps or mode.of_family):
        says.append(
            "With fewer than 1,000 rows, multiples that are favourites by less than a fifth are not seen, nor are some "
            "rows that were rounded to any of several usual values (5, 10, 15, 20, 30, 45 or 60 minutes)."
        )
    if rows < 300 and not mode.of_family:
        says.append(
            "With fewer than 300 rows, values from a public list (a pay scale), or a few that were converted from "
            "another unit or currency, are not seen."
        )
    if rows < 3_000 and mode.keeps_steps:
        says.append(
            "With fewer than 3,000 rows, a change of units or currency, or a ratio of whole numbers, that was rounded "
            "may not be seen, and whoever knows the rule learns how far the values moved."
        )
    if rows < 10_000 and mode.keeps_steps:
        says.append(
            "With fewer than 10,000 rows, places that differ from their neighbours by a tenth are not seen, nor are "
            "single ones that a rule leaves out (amounts that were multiplied by a number within a hundredth of 1)."
        )
    if rows < 300:
        says.append("With fewer than 300 rows, a flag for a limit that differs by many labels is not seen.")
    if mode.continuous and rows < 30:
        says.append("With fewer than 30 rows, a natural bound at the end of the column is not seen.")
    return tuple(says)


def precision(sample: Array, bits: int, found: Collection[Finding]) -> int:
    """Bits of the column's floats: 24 also where 32-bit floats are stored in 64 bits.

    Values on a lattice that was accepted are short for another reason: nothing is left to hide in their last bits.
    """
    if any(finding.name == "step" for finding in found):
        return bits
    return _SHORT if _short(sample[:_GLANCE]) and _short(sample) else bits


def holds_long(sample: Array) -> bool:
    """Whether some values are no 32-bit floats: then :func:`precision` says so of every sample that they are in."""
    return not _short(sample)


def _short(sample: Array) -> bool:
    """Whether all are 32-bit floats, up to the last digits that a spreadsheet leaves out."""
    with np.errstate(over="ignore"):
        return bool(np.all(np.abs(sample.astype(np.float32) - sample) <= 2.0**-50 * np.abs(sample)))


def _hidden(finding: Finding, mode: Mode) -> bool:
    return finding.name == "digits" and len(finding.values) == 2 and mode.hides_cells(*finding.values)


def _declared(finding: Finding, known: Structure, fixed: tuple[float, ...]) -> bool:
    if finding.name == "atoms":
        return set(finding.values) <= set(fixed)
    if finding.name not in ("step", "heaps"):
        return False
    spacing = known.spacing
    return spacing is not None and all(_whole(spacing / value) for value in finding.values)


def _whole(ratio: float) -> bool:
    return ratio > 0.5 and abs(ratio - round(ratio)) <= 1e-9 * ratio


def bounds_of(problem: Problem) -> tuple[float, float]:
    """Where the values must lie, by declaration or by the family."""
    lows, highs = [problem.known.minimum], [problem.known.maximum]
    family = problem.family
    if isinstance(family, LocationScale):
        for end, bounds in ((family.minimum, lows), (family.maximum, highs)):
            if isinstance(end, float):
                bounds.append(end)
            elif end is not None and problem.box.axes[end].known:
                bounds.append(problem.box.axes[end].low)
    if isinstance(family, Ordinal):
        lows.append(0.0)
        highs.append(family.last_count)
    return (
        max((low for low in lows if low is not None), default=-math.inf),
        min((high for high in highs if high is not None), default=math.inf),
    )


def _off_step(values: Array, step: float, offset: float, bits: int) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        place = (values - offset) / step
        # a millionth of a step, or the rounding errors of the numbers themselves
        slack = np.maximum(1e-6, 4 * 2.0**-bits * np.abs(values) / step)
        return bool(np.any(np.abs(place - np.floor(place + 0.5)) > slack))


def _offset(value: float, step: float, bits: int) -> float:
    """The place of a lattice relative to 0, from one of its values; 0 where it is a rounding error away."""
    if not math.isfinite(value / step):
        return 0.0
    rest = value - math.floor(value / step) * step
    slack = max(1e-6 * step, 4 * 2.0**-bits * abs(value))
    if min(rest, step - rest) <= slack:
        return 0.0
    for digits in range(13):  # 0.3 rather than 0.30000000000000004
        if abs(round(rest, digits) - rest) <= max(1e-9 * step, 4 * 2.0**-bits * abs(value)):
            return round(rest, digits)
    return rest


def _merged(known: Structure, flags: list[str]) -> str:
    """What is declared and what was found, as one ``--known`` argument."""
    parts = {"min": known.minimum, "max": known.maximum, "step": known.step}
    lists = {"heaps": list(known.heaps), "atoms": list(known.atoms)}
    for flag in flags:
        for piece in flag.split(","):
            name, _, value = piece.partition("=")
            if name in lists:
                lists[name] = sorted({*lists[name], *(float(part) for part in value.split("/"))})
            else:
                parts[name] = float(value)
    plain = [f"{name}={plain_number(value)}" for name, value in parts.items() if value is not None]
    return ",".join(
        [*plain, *(f"{name}={'/'.join(map(plain_number, values))}" for name, values in lists.items() if values)]
    )


def known_text(known: Structure) -> str:
    """A declaration as one ``--known`` argument.

    >>> known_text(Structure(minimum=0, step=0.5, heaps=(5, 10)))
    'min=0,step=0.5,heaps=5/10'
    """
    return _merged(known, [])
