"""Columns that move along with a hidden one, under its map: a second clock, a price and its tax."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.errors import ColumnError, StructureError
from statveil.made_plan import Plan
from statveil.modes import Mode
from statveil.specification.specification import Specification
from statveil.tables.blocks import Array, Blocks, Part, by_parts
from statveil.tables.first_pass import FirstBeside
from statveil.tables.looking import NumberLook
from statveil.tables.maps.affine import Affine, Quiet
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.maps.lattice import Lattice
from statveil.tables.preparing import Elsewhere, Read, ReadBeside, unnamed
from statveil.tables.series import ColumnType
from statveil.tables.sharing import Reader
from statveil.tables.source import Source
from statveil.tables.structure.column.findings import Finding
from statveil.tables.structure.others.telling import Copies
from statveil.tables.structure.rows.group_search import Beside
from statveil.tables.structure.rows.tied_search import broken_by
from statveil.tables.verification import Verifier, refuse_undeclared

__all__ = ["ShortFloats", "check_linked", "check_multiples", "linked_map", "refuse_link", "refuse_short", "rest_of"]

_MULTIPLE = 1e-12
"""Relative error of a product in 64 bits, and some more."""
_LARGEST = 1e100
"""Size of a number that moves along; sums and products of larger ones overflow."""
_FEWEST = 8
"""Different 32-bit numbers from which on a column is taken to hold such; fewer may be frequent values."""


def refuse_link(column: str, to: str, mode: Mode) -> None:
    """An error where no other column can move along with what the mode does; this needs no data."""
    if mode.line and not mode.random:
        return
    why = (
        "draws rows at random, so that equal rows move differently"
        if mode.random
        else "moves two groups of rows apart"
        if mode.apart
        else "bends the column between two bounds, which another column does not have"
    )
    raise ColumnError(
        f"column {column!r} cannot move along with {to!r}: the mode {mode.name!r} {why}. Use derive to work it "
        f"out from the released {to!r}, or drop it."
    )


def check_linked(
    reader: Reader,
    plan: Plan,
    *,
    column: str,
    type: ColumnType,
    factor: float,
    accepted: Collection[str],
    elsewhere: Elsewhere | None = None,
    shuffled: bool = False,
) -> Verifier:
    """Refuse a linked column that would tell how far it moves, and with it how far the hidden one does.

    Its own structure shows as that of the hidden column would: what is declared of that one, times the factor, is
    taken to be known of this one too. ``elsewhere`` has it looked at where its rows lie, if it can; ``shuffled`` says
    that the rows will be released in another order.
    """
    if not type.numeric:
        raise ColumnError(
            f"column {column!r} holds {type.name} values, and only numbers can move along with another column; "
            "drop it, or derive it."
        )
    verifier, start = Verifier(plan, bits=type.bits, factor=factor), 0
    mode, copies = plan.release_mode, None
    if "copies" not in accepted:
        broken = broken_by(mode, mode.fixed_point(plan.problem))
        copies = Copies(values_show=mode.structure_shows, broken=broken, shuffled=shuffled)
    look = NumberLook(verifier, None)
    if elsewhere is not None and elsewhere.table.makes_maps and elsewhere.look(look, None):
        if look.rows and max(map(abs, look.ends)) > _LARGEST:
            raise _too_large(column)
        if copies is not None and not elsewhere.look_beside(None, [copies], ()):
            for values, others in unnamed(reader.beside(None)):
                copies.add(values, others)
    else:
        for block in FirstBeside(lambda: reader.blocks(None), lambda: unnamed(reader.beside(None)), copies)():
            if np.any(np.abs(block[np.isfinite(block)]) > _LARGEST):
                raise _too_large(column)
            verifier.watch(block, start)
            start += len(block)
    if not len(verifier.sampler.values):
        raise ColumnError(f"column {column!r} has no number, so nothing can move along; drop it.")
    verifier.check_declared(column)
    found: list[Finding] = verifier.undeclared(None)
    if copies is not None:
        found += copies.found()
    refuse_undeclared(column, accepted, found, verifier.known)
    return verifier


def _too_large(column: str) -> ColumnError:
    return ColumnError(
        f"column {column!r} holds numbers of more than {_LARGEST:g}, which cannot move along with another "
        "column; mark missing values by empty cells, change the unit, or drop it."
    )


def rest_of(linked: Array, to: Array, factor: float) -> Array:
    """What a linked column differs by from the multiple that it is of the other; nothing where that is rounding."""
    leader = factor * to
    rest = linked - leader
    return np.where(np.abs(rest) <= _MULTIPLE * (np.abs(linked) + np.abs(leader)), 0.0, rest)


def check_multiples(
    table: Source, plans: Mapping[str, Plan], specification: Specification, names: Mapping[str, Any]
) -> None:
    """Refuse a link to a stretched column that is no plain multiple of it.

    Whatever else lies between the two is stretched with them, or is a ratio that stays as it was, and who knows what it
    should be (a tip in whole dollars, a rate that is kept) knows the factor. A shift leaves differences, which are
    looked at as columns that are kept.
    """
    stretched = {name: link for name, link in specification.linked.items() if plans[link.to].release_mode.stretches}
    for name, link in stretched.items():
        plan = plans[link.to]
        if plan.release_mode.fixed_point(plan.problem) != 0:
            # the blur of a stretched value is in proportion to it, and only about 0 to what it becomes as well
            raise ColumnError(
                f"column {name!r} cannot move along with {link.to!r}, which is stretched about another point than 0: "
                f"the last digits of both would show by how much. Derive {name!r} from released columns, or drop it."
            )
    wanted = dict.fromkeys(names[name] for pair in stretched.items() for name in (pair[0], pair[1].to))
    if not wanted:
        return
    multiples = _Multiples(
        {name: (names[name], link.to, names[link.to], link.factor) for name, link in stretched.items()}
    )
    if not table.show_rows(wanted, (), multiples):
        for rows in table.together(wanted):
            multiples.add(rows, {})


class _Multiples:
    """Refuses rows in which a column is no plain multiple of another one: wherever the rows lie, it can look at them.

    ``links`` are the columns that must be some, as the specification and the table call them: each with the name of the
    other, as both call that, and the factor.
    """

    def __init__(self, links: Mapping[str, tuple[Any, str, Any, float]]) -> None:
        self._links = links

    def part(self, start: int) -> _Multiples:
        return self

    def join(self, other: _Multiples) -> None:
        """Whoever is left has refused nothing."""

    def add(self, rows: Mapping[Any, Array], others: Mapping[str, pl.Series]) -> None:
        """Look at the next rows."""
        for name, (own, to, leader, factor) in self._links.items():
            y, x = rows[own], factor * rows[leader]
            with np.errstate(invalid="ignore"):
                off = np.abs(y - x) > _MULTIPLE * np.abs(x)
            if np.any(np.isfinite(x) != np.isfinite(y)) or np.any(off & np.isfinite(x)):
                raise StructureError(
                    f"column {name!r} is not {factor:g} times {to!r} in every row, and the plan of "
                    f"{to!r} stretches it: what lies between them would show by how much. Derive {name!r} from "
                    "released columns, or drop it."
                )


class ShortFloats:
    """Whether a column holds 32-bit floats, in whichever type, watched while others read it.

    Values on declared heaps are left out: their map keeps them exactly.
    """

    def __init__(self, *, bits: int, heap: float | None = None) -> None:
        self._bits, self._heap = bits, heap
        self._found: set[float] = set()
        self._others = False

    @property
    def declared(self) -> bool:
        """Whether the type of the column has 32 bits."""
        return self._bits < np.finfo(np.float64).nmant + 1

    @property
    def any(self) -> bool:
        """Whether it holds them."""
        return self.declared or len(self._found) >= _FEWEST or (bool(self._found) and not self._others)

    def watch(self, values: Array) -> None:
        """Look at some rows; the same rows may come again."""
        if self.any and self._others:
            return
        if self._others:  # all that is left to see, as a rule nothing
            values = values[_nearly_short(values)]
        given = values[np.isfinite(values) & (values != 0)]
        if self._heap is not None:
            given = given[given != self._heap * np.rint(given / self._heap)]
        with np.errstate(over="ignore"):
            # up to the last digits that a spreadsheet leaves out
            short = np.abs(given.astype(np.float32) - given) <= 2.0**-50 * np.abs(given)
        self._others |= not bool(short.all())
        self._found.update(np.unique(given[short])[:_FEWEST].tolist())

    def watch_there(self, blocks: Blocks) -> None:
        """Look at all rows of a column where they lie."""
        for found, others in by_parts(blocks, ShortFloats(bits=self._bits, heap=self._heap)._of_part):
            self._found |= found
            self._others |= others

    def _of_part(self, part: Part) -> tuple[set[float], bool]:
        for _, block in part:
            self.watch(block)
        return self._found, self._others

    def watched(self, read: Read) -> Read:
        """Passes over the column, watched."""

        def passed(labels: Sequence[str] | None) -> Iterator[Array]:
            for values in read(labels):
                self.watch(values)
                yield values

        return passed

    def watched_beside(self, read: ReadBeside) -> ReadBeside:
        """Passes over the column with others beside it, watched."""

        def passed(labels: Sequence[str] | None) -> Beside:
            for values, others in read(labels):
                self.watch(values)
                yield values, others

        return passed


def _nearly_short(values: Array) -> NDArray[np.bool_]:
    """Values that may be 32-bit floats up to their last digits: all that are, and hardly any others.

    Neighbouring floats are neighbouring whole numbers, and the last 29 bits of a 32-bit float are 0.
    A 2^-50 of a value is at most eight floats to either side, or sixteen across a power of two.
    """
    return ((values.view(np.uint64) + np.uint64(16)) & np.uint64(2**29 - 1)) <= np.uint64(32)


def refuse_short(
    column_map: ColumnMap,
    *,
    column: str,
    to: str,
    hidden: ShortFloats,
    linked: Verifier,
    type: ColumnType,
    accepted: Collection[str],
) -> None:
    """Refuse a link of columns of which one holds 32-bit floats, unless their map keeps every digit.

    Each column is smeared below its last bit, or blurred at the seventh digit, by a key of its own. What is left
    between them, y' / f - x', is as wide as the cells were before they moved, and cells double at powers of two: where
    they do in the release shows how far the columns moved. A lattice is moved by whole steps, and smears nothing.
    """
    if isinstance(column_map, Lattice) and column_map.step is not None:
        return
    assert isinstance(column_map, Affine | Lattice)
    bare = column_map.seed is None  # values on a lattice that was accepted: nothing is smeared
    own = ShortFloats(bits=type.bits, heap=min(linked.known.heaps, default=None))
    own.watch(linked.sampler.values)
    short = [to] if hidden.any and (hidden.declared or not bare) else []
    if own.any and (own.declared or not bare or not linked.undeclared_step()):
        short.append(column)
    if not short:
        return
    says = (
        f"it is linked to {to!r}, and {' and '.join(map(repr, short))} "
        f"{'holds' if len(short) == 1 else 'hold'} 32-bit numbers, whose last digits are drawn anew: what the columns "
        "differ by in these digits shows how large the values were before they moved. Derive it, drop it, or write "
        "both with 64-bit numbers that were never 32-bit ones."
    )
    refuse_undeclared(column, accepted, [Finding(name="digits", values=(), flag="", says=says)], linked.known)


def linked_map(
    column_map: ColumnMap, *, column: str, type: ColumnType, factor: float, offset: float, seed: int
) -> ColumnMap:
    """The map of a column of which ``factor`` units are one unit of the other: factor m(y / factor)."""
    if isinstance(column_map, Affine):
        return replace(
            column_map,
            pivot=factor * column_map.pivot,
            target=factor * column_map.target,
            quiet=_times(column_map.quiet, factor),
            fixed=None if column_map.fixed is None else factor * column_map.fixed,
            seed=None if column_map.seed is None else seed,
            width=abs(factor) * column_map.width,
        )
    assert isinstance(column_map, Lattice)
    size = abs(factor)
    move = Fraction(repr(float(factor))) * Fraction(repr(column_map.spacing))
    if type.scale is not None and move * 10**type.scale % 1:
        raise ColumnError(
            f"column {column!r} is written with {type.scale} decimals, but moves along by multiples of "
            f"{float(move):g}; write it with more decimals, or derive it."
        )
    return replace(
        column_map,
        spacing=float(move),
        step=None if column_map.step is None else float(Fraction(repr(size)) * Fraction(repr(column_map.step))),
        heap=None if column_map.heap is None else float(Fraction(repr(size)) * Fraction(repr(column_map.heap))),
        offset=offset,
        quiet=_times(column_map.quiet, factor),
        seed=None if column_map.seed is None else seed,
        width=size * column_map.width,
    )


def _times(quiet: Quiet, factor: float) -> Quiet:
    """The rounding of a column of another unit; its grain stays a power of two, and comes from the plan alone."""
    return replace(quiet, grain=quiet.grain * 2.0 ** math.ceil(math.log2(abs(factor))))
