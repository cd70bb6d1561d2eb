"""Columns that move along with a hidden one, under its map: a second clock, a price and its tax."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from statveil.errors import ColumnError, StructureError
from statveil.modes import Mode
from statveil.planning import Plan
from statveil.specification.specification import Specification
from statveil.tables.first_pass import FirstBeside
from statveil.tables.maps.affine import Affine, Quiet
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.maps.lattice import Lattice
from statveil.tables.preparing import unnamed
from statveil.tables.series import ColumnType
from statveil.tables.sharing import Reader
from statveil.tables.source import Source
from statveil.tables.structure.findings import Finding
from statveil.tables.structure.telling import Copies
from statveil.tables.verification import Verifier, refuse_undeclared

__all__ = ["check_linked", "check_multiples", "linked_map", "refuse_link"]

_MULTIPLE = 1e-12
"""Relative error of a product in 64 bits, and some more."""


def refuse_link(column: str, to: str, mode: Mode) -> None:
    """An error where no other column can move along with what the mode does; this needs no data."""
    if mode.line and not mode.random:
        return
    why = (
        "draws rows at random, so that equal rows move differently"
        if mode.random
        else "bends the column between two bounds, which another column does not have"
    )
    raise ColumnError(
        f"column {column!r} cannot move along with {to!r}: the mode {mode.name!r} {why}. Use derive to work it "
        f"out from the released {to!r}, or drop it."
    )


def check_linked(
    reader: Reader, plan: Plan, *, column: str, type: ColumnType, factor: float, accepted: Collection[str]
) -> Verifier:
    """Refuse a linked column that would tell how far it moves, and with it how far the hidden one does.

    Its own structure shows as that of the hidden column would: what is declared of that one, times the factor, is
    taken to be known of this one too.
    """
    if not type.numeric:
        raise ColumnError(
            f"column {column!r} holds {type.name} values, and only numbers can move along with another column; "
            "drop it, or derive it."
        )
    verifier, start = Verifier(plan, bits=type.bits, factor=factor), 0
    copies = None if "copies" in accepted else Copies(values_show=plan.release_mode.structure_shows)
    for block in FirstBeside(lambda: reader.blocks(None), lambda: unnamed(reader.beside(None)), copies)():
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


def check_multiples(
    table: Source, plans: Mapping[str, Plan], specification: Specification, names: Mapping[str, Any]
) -> None:
    """Refuse a link to a stretched column that is no plain multiple of it.

    Whatever else lies between the two is stretched with them, or is a ratio that stays as it was, and who knows what it
    should be (a tip in whole dollars, a rate that is kept) knows the factor. A shift leaves differences, which are
    looked at as columns that are kept.
    """
    stretched = {name: link for name, link in specification.linked.items() if plans[link.to].release_mode.stretches}
    wanted = dict.fromkeys(names[name] for pair in stretched.items() for name in (pair[0], pair[1].to))
    if not wanted:
        return
    for rows in table.together(wanted):
        for name, link in stretched.items():
            y, x = rows[names[name]], link.factor * rows[names[link.to]]
            with np.errstate(invalid="ignore"):
                off = np.abs(y - x) > _MULTIPLE * np.abs(x)
            if np.any(np.isfinite(x) != np.isfinite(y)) or np.any(off & np.isfinite(x)):
                raise StructureError(
                    f"column {name!r} is not {link.factor:g} times {link.to!r} in every row, and the plan of "
                    f"{link.to!r} stretches it: what lies between them would show by how much. Derive {name!r} from "
                    "released columns, or drop it."
                )


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
    )


def _times(quiet: Quiet, factor: float) -> Quiet:
    """The rounding of a column of another unit; its grain stays a power of two, and comes from the plan alone."""
    return replace(quiet, grain=quiet.grain * 2.0 ** math.ceil(math.log2(abs(factor))))
