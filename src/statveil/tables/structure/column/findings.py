"""What a column shows of itself: a step, heaps, atoms, or counts that do not follow their stated family."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.column.atom_search import MOST, continuous_atoms, lattice_atoms
from statveil.tables.structure.column.digit_search import changing_step, significant_bits, significant_digits
from statveil.tables.structure.column.function_search import find_function, find_logarithm
from statveil.tables.structure.column.heap_search import find_heaps
from statveil.tables.structure.column.lattice_search import Lattice, find_lattice, short_floats, ulp
from statveil.tables.structure.column.misfit_search import find_excess
from statveil.tables.structure.column.multiple_search import multiples, of_multiples, spacing
from statveil.tables.structure.column.overtone_search import find_overtones
from statveil.tables.structure.column.part_search import lattice_of_a_part
from statveil.tables.structure.column.place_search import find_public_rule
from statveil.tables.structure.column.ratio_search import binary_step, log_ratios, ratios
from statveil.tables.structure.column.repeat_search import repeats
from statveil.tables.structure.column.rough_search import find_roughness, find_wave, level_out
from statveil.tables.structure.column.round_search import find_round
from statveil.tables.structure.column.skip_search import find_gap, find_skips, skips_rather
from statveil.tables.structure.column.transform_search import find_transform
from statveil.tables.structure.reading.distinct import counted
from statveil.tables.structure.reading.sampler import Sampler

__all__ = [
    "Finding",
    "Sampler",
    "atom_findings",
    "find_misfit",
    "find_step",
    "find_structure",
    "plain_number",
]

Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One piece of structure that a column shows.

    Parameters
    ----------
    name : str
        ``step``, ``heaps``, ``atoms``, ``misfit`` and so on: a name of :data:`statveil.tables.verification.LEAKS`.
    values : tuple of float
        The step; the periods of the heaps; the atoms, the most frequent first; of ``digits`` that a map may hide, their
        step beside the values and beside the largest of them; nothing where none can be declared.
    flag : str
        What to add to ``--known``, such as ``step=1``, ``heaps=5`` or ``atoms=0/30``.
    says : str
        One sentence for people. It holds no number of the data but the values themselves.
    """

    name: str
    values: tuple[float, ...]
    flag: str
    says: str


def find_structure(sample: Array, *, bits: int = 53) -> list[Finding]:
    """Find structure of a column that a shift or a scaling of it would give away.

    Parameters
    ----------
    sample : array
        Rows of the column, in any order; those that are not finite are ignored.
    bits : int
        Significant bits of the numbers: 53, or 24 for a column of 32-bit floats.

    Returns
    -------
    list of Finding
        At most one each of ``step``, ``heaps`` and ``atoms``, in this order, then what cannot be declared: ``rough``,
        ``digits``, ``transform``, ``repeats``, ``ratios``.

    Examples
    --------
    >>> find_structure(np.array([12.0, 7.0, 9.0, 31.0]))[0].flag
    'step=1'
    """
    values, counts = _distinct(sample)
    if len(values) == 0:
        return []
    step, lattice = _stepped(values, counts, bits)
    if len(values) == 1:
        return [*step, *(atom_findings(values) if counts[0] > 1 else [])]
    if lattice is not None:
        return [*step, *_on_lattice(values, counts, lattice)]
    if step:
        return step
    used = _bits(values, bits)
    fine = ulp(values, used)
    found, on = _off_lattice(values, counts, used, fine)
    # Round values among the others are named already, and their squares are round as well.
    others, finer = (np.delete(one, on) if len(on) else one for one in (values, fine))
    found += _transform(others, 2 * finer) or (_log_ratios(others) if used > 24 else [])
    found += _repeats(counts, float("inf") if used > 24 else float((values[-1] - values[0]) / fine.max()))
    found += _coarser() if significant_bits(values) else _part(others, used)
    if used > 24 and not any(one.name == "transform" for one in found):
        found += _ratios(others) or _transformed(others) or _function(find_function(others, 2 * finer))
    elif used <= 24 and not any(one.name == "transform" for one in found):
        found += _function(find_logarithm(others, 2 * finer))
    return found


def find_step(sample: Array, *, bits: int = 53) -> list[Finding]:
    """The step that :func:`find_structure` names, without the searches that take most of its time."""
    values, counts = _distinct(sample)
    return _stepped(values, counts, bits)[0] if len(values) else []


def _stepped(values: Array, counts: Whole, bits: int) -> tuple[list[Finding], Lattice | None]:
    """The step of the distinct values, and the lattice they are on where it is one of decimals or ratios."""
    lattice = find_lattice(values, int(np.sum(counts)), bits)
    if lattice is not None and lattice.step < 16 * float(np.max(ulp(values[[0, -1]], bits))):
        lattice = None  # the spacing of the floats themselves, which a map smears or rounds away
    if len(values) == 1:
        return _step(lattice) if lattice is not None and lattice.down <= 1e6 else [], lattice
    if lattice is None and bits > 24 and _bits(values, bits) > 24 and (binary := binary_step(values)) is not None:
        return _step_of(binary), None
    return [] if lattice is None else _step(lattice), lattice


def find_misfit(sample: Array, pmf: Callable[[Array], Array]) -> list[Finding]:
    """Check counts against the family that is stated for them.

    Maps of counts that keep the shape are proven for columns that follow their family.

    Parameters
    ----------
    sample : array
        Rows of the column; those that are not finite are ignored.
    pmf : callable
        Share of each of some whole numbers from 0 up, as the family has it.

    Returns
    -------
    list of Finding
        ``atoms`` with the single counts that are too frequent, and ``misfit`` if the whole shape deviates. The rules
        are in :mod:`statveil.tables.structure.column.misfit_search`.
    """
    values, counts = _distinct(sample)
    if len(values) == 0:
        return []
    excess, deviates = find_excess(values, counts, pmf)
    found = atom_findings(excess)
    if deviates:
        says = (
            f"the counts do not follow the stated family: they are {deviates}, and a map that is proven for the family "
            "may show by how much it moved them."
        )
        found.append(Finding(name="misfit", values=(), flag="", says=says))
    return found


def _distinct(sample: Array) -> tuple[Array, Whole]:
    finite = np.asarray(sample, dtype=np.float64)
    good = np.isfinite(finite)
    values, counts = counted(finite if good.all() else finite[good])
    return values + 0.0, counts.astype(np.int64)  # -0.0 becomes 0.0


def _on_lattice(values: Array, counts: Whole, lattice: Lattice) -> list[Finding]:
    periods = find_heaps(lattice, counts)
    pattern = int(np.lcm.reduce(periods)) if periods else 1
    places = int(lattice.index[-1] - lattice.index[0])
    atoms = lattice_atoms(lattice.index, counts, pattern)
    if places > 100 * int(np.sum(counts)):
        # On so fine a lattice values do not repeat by accident, as on none at all.
        fine = np.full(len(values), lattice.step)
        repeated = continuous_atoms(values, counts, fine, least=5)
        atoms = np.union1d(atoms, repeated[lattice.index[repeated] % pattern != 0] if periods else repeated)
    periods, rough = _waves(lattice, _levelled(lattice.index, counts, atoms), periods)
    pattern = int(np.lcm.reduce(periods)) if periods else 1
    digits = significant_digits(values, lattice)
    binary = lattice.down > 1 and float(lattice.down).hex().startswith("0x1.0000000000000p")
    coarser = (binary and significant_bits(values)) or (lattice.anchored and changing_step(lattice.index, counts))
    return [
        *_heaps(lattice.times(period) for period in periods),
        *atom_findings(values[_most_frequent(atoms, counts)]),
        *(_digits(digits) if digits is not None else _coarser() if coarser else _rough() if rough else []),
        *(_rounded_function(values, 0.505 * lattice.step) if places >= 4 * len(values) else []),
        *_repeats(counts, places / pattern),
    ]


def _levelled(index: Whole, counts: Whole, atoms: Whole) -> Array:
    """The rows with the atoms taken down to what the places around them have, so that they are not found twice."""
    rows = counts.astype(np.float64)
    rows[atoms] = 0.0
    cumulated = np.concatenate(([0.0], np.cumsum(rows)))
    ends = np.searchsorted(index, np.stack((index[atoms] - 3, index[atoms] + 4)))
    rows[atoms] = np.minimum(counts[atoms], (cumulated[ends[1]] - cumulated[ends[0]]) / 6)
    return rows


def _waves(lattice: Lattice, rows: Array, periods: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """The periods with those of further waves, and whether a roughness remains that no period explains."""
    before = rows
    if find_gap(lattice, rows) or skips_rather(lattice, rows, periods):
        return periods, True
    for period in periods:
        rows = level_out(lattice.index, rows, period)
    for _ in range(3):
        wave = find_wave(lattice, rows)
        if wave is None:
            rough = find_roughness(lattice, rows) or find_public_rule(lattice, rows)
            return periods, rough or find_skips(lattice, before, rows) or find_overtones(lattice, rows)
        if not wave.whole:
            break
        own = int(wave.period)
        if own in periods or skips_rather(lattice, rows, (own,)):
            break
        periods = tuple(sorted({own, *(period for period in periods if own % period)}))
        rows = level_out(lattice.index, rows, own)
    return periods, True


def _bits(values: Array, bits: int) -> int:
    """Significant bits that the values really use: 32-bit floats may be stored as 64-bit ones."""
    return min(bits, 24) if short_floats(values) else bits


def _off_lattice(values: Array, counts: Whole, bits: int, fine: Array) -> tuple[list[Finding], Whole]:
    """Heaps and atoms of a continuous column, and the places of its round values; the next number is ``fine`` away."""
    atoms = continuous_atoms(values, counts, fine, least=3 if bits > 24 else 5)
    found = find_round(values, counts, fine, atoms)
    if found is None:
        return atom_findings(values[_most_frequent(atoms, counts)]), atoms
    # The round values are a lattice of their own: some of its multiples may be favourites again, or atoms.
    step, on = found
    round_ones = Lattice(up=step, down=1.0, index=np.rint(values[on] / step).astype(np.int64), anchored=True)
    periods = find_heaps(round_ones, counts[on]) or (1,)
    pattern = int(np.lcm.reduce(periods))
    heaped = on[lattice_atoms(round_ones.index, counts[on], pattern)]
    atoms = np.concatenate((heaped, np.setdiff1d(atoms, on)))
    named = [*_heaps(period * step for period in periods), *atom_findings(values[_most_frequent(atoms, counts)])]
    return named, np.union1d(on, atoms)


def _most_frequent(positions: Whole, counts: Whole) -> Whole:
    return positions[np.argsort(-counts[positions], kind="stable")][:MOST]


def plain_number(value: float) -> str:
    """Shortest text that reads back as the same number."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _ratios(values: Array) -> list[Finding]:
    if not ratios(values):
        return []
    says = "many values are ratios of small whole numbers; a single one, moved, tells by how much."
    return [Finding(name="ratios", values=(), flag="", says=says)]


def _transform(values: Array, error: Array) -> list[Finding]:
    name = find_transform(values, error)
    if name is None:
        return []
    says = (
        f"many values are {name} of round numbers, and only the right position makes those round again: release the "
        "numbers behind them, with their own step, and transform the released column."
    )
    return [Finding(name="transform", values=(), flag="", says=says)]


def _rounded_function(values: Array, error: float) -> list[Finding]:
    off = np.full(len(values), error)
    return _transform(values, off) or _function(find_logarithm(values, off))


def _function(name: str | None) -> list[Finding]:
    if name is None:
        return []
    says = (
        f"many values are {name} of whole numbers, times a number and plus another one, and only the right position "
        "makes those whole again: release the numbers behind them, with their own step, and transform the released "
        "column."
    )
    return [Finding(name="transform", values=(), flag="", says=says)]


def _transformed(values: Array) -> list[Finding]:
    if (name := of_multiples(values)) is None:
        return []
    says = (
        f"many values are {name} of multiples of one number, and only the right position makes those multiples "
        "again: release the numbers behind them, with their own step, and transform the released column."
    )
    return [Finding(name="transform", values=(), flag="", says=says)]


def _log_ratios(values: Array) -> list[Finding]:
    if not log_ratios(values):
        return []
    says = (
        "many values are logarithms of ratios of whole numbers, and only the right position makes those whole again: "
        "release the numbers behind them, and transform the released column."
    )
    return [Finding(name="transform", values=(), flag="", says=says)]


def _repeats(counts: Whole, places: float) -> list[Finding]:
    if not repeats(counts, places):
        return []
    says = (
        "the rows choose among few values of a fine scale; who knows the choice of values, or one of them, sees how "
        "far they moved: hide the column by a family with a full model, or as categories."
    )
    return [Finding(name="repeats", values=(), flag="", says=says)]


def _rough() -> list[Finding]:
    says = (
        "some places of the lattice are used more often than their neighbours, as after a rounded change of units, or "
        "by rounded ratios of whole numbers; the pattern moves along with the column and shows how far: release the "
        "column in the unit in which it was measured, or by a family with a full model."
    )
    return [Finding(name="rough", values=(), flag="", says=says)]


def _digits(number: int) -> list[Finding]:
    says = (
        f"the values have {number} significant digits, so larger ones are rounded more coarsely; where the step "
        "changes shows how far the column moved: round all of it to the coarsest step."
    )
    return [Finding(name="digits", values=(), flag="", says=says)]


def _coarser() -> list[Finding]:
    says = (
        "larger values are rounded more coarsely than smaller ones; where the step changes shows how far the column "
        "moved, whatever step and heaps are declared: round all of it to the coarsest step."
    )
    return [Finding(name="digits", values=(), flag="", says=says)]


def _part(values: Array, bits: int) -> list[Finding]:
    part = lattice_of_a_part(values, bits)
    some = spacing(values) if bits > 24 else None
    coarsest = max((one for one in (part, some) if one is not None), default=None)
    many = bits > 24 and multiples(values)
    if coarsest is None and not many:
        return []
    says = (
        "many values, or those of one size, are multiples of one step, as where numbers were rounded to a few digits "
        "before a change of units; the width of that step in the release shows how far the column moved: release the "
        "numbers as they were before, with their own step."
    )
    return [Finding(name="digits", values=() if many or coarsest is None else coarsest, flag="", says=says)]


def _step(lattice: Lattice | None) -> list[Finding]:
    return [] if lattice is None else _step_of(lattice.step)


def _step_of(step: float) -> list[Finding]:
    text = plain_number(step)
    says = (
        f"all values are whole multiples of {text}, up to one common offset; a shift that is no multiple of it, or any "
        "scaling, moves the column off that grid and shows itself."
    )
    return [Finding(name="step", values=(step,), flag=f"step={text}", says=says)]


def _heaps(periods: Iterable[float]) -> list[Finding]:
    values = tuple(float(f"{period:.15g}") for period in periods)
    if not values:
        return []
    text = " and ".join(plain_number(value) for value in values)
    says = (
        f"values that differ by multiples of {text} occur more often than those between them; in the released column "
        "the favourites sit elsewhere and show the shift or the factor."
    )
    return [Finding(name="heaps", values=values, flag="heaps=" + "/".join(plain_number(v) for v in values), says=says)]


def atom_findings(values: Array | list[float]) -> list[Finding]:
    """What to say of single values that are too frequent."""
    if len(values) == 0:
        return []
    atoms = tuple(float(value) for value in values)
    text = ", ".join(plain_number(atom) for atom in atoms)
    says = f"the column has {text} far more often than values nearby; where the peak lies in the release shows the map."
    return [Finding(name="atoms", values=atoms, flag="atoms=" + "/".join(plain_number(a) for a in atoms), says=says)]
