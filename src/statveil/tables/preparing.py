"""From a plan and one column to the map of its rows: measure, verify, estimate, decide. Reads, never writes."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from statveil.errors import ColumnError, ProblemError
from statveil.made_plan import Applied, Plan
from statveil.problem.families.categorical import Categorical
from statveil.problem.parameters import OutsidePriorError
from statveil.problem.structure import Structure
from statveil.tables.ahead import started
from statveil.tables.between_columns import PairCopies, PairVerifier
from statveil.tables.blocks import Array, Blocks
from statveil.tables.change import measure_change
from statveil.tables.changes import Labels
from statveil.tables.estimate import estimate, levels_of, measured_for, own_statistic, shares_of
from statveil.tables.first_pass import FirstBeside, Watchers
from statveil.tables.group_order import ColumnOrder, GroupOrder
from statveil.tables.groups import GroupRows
from statveil.tables.linked_parts import LinkedColumns, LinkedGroups
from statveil.tables.looking import BesideColumn, CategoryLook, Look, NumberLook
from statveil.tables.looking_later import Later, Own, first_of_all
from statveil.tables.maps.build import Job, build_map
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.maps.sampling import Counts
from statveil.tables.measure import Measured
from statveil.tables.outside import outside
from statveil.tables.resolution import check_resolution
from statveil.tables.series import ColumnType
from statveil.tables.source import Progress, Source
from statveil.tables.stacked import Halves, above_each_other
from statveil.tables.structure.column.findings import Finding
from statveil.tables.structure.others.alongside import Seen
from statveil.tables.structure.others.facets import Parted, Sampling
from statveil.tables.structure.others.telling import MOST_COLUMNS, Copies
from statveil.tables.structure.rows.exchangeable import find_groups, find_made_order, find_order, parts_rows
from statveil.tables.structure.rows.group_search import Beside, Others
from statveil.tables.structure.rows.order_search import Order
from statveil.tables.structure.rows.singling import Singling
from statveil.tables.structure.rows.tied_search import broken_by
from statveil.tables.structure.rows.together_search import Together
from statveil.tables.verification import Verifier, bounds_of, check_accepted, refuse_undeclared
from statveil.tables.within_groups import GroupCopies, GroupVerifier

__all__ = [
    "Elsewhere",
    "Prepared",
    "column_labels",
    "count_categories",
    "is_an_atom",
    "new_seed",
    "prepare",
    "rows_said",
    "unnamed",
    "valid_digits",
]

_LEAST_WINDOW = 10
"""Values of a statistic that a guess's window must hold for the stated risk to be right within a tenth."""

Read = Callable[[Sequence[str] | None], Iterator[Array]]
"""A pass over the column as numbers, or with labels as numbers of categories."""

ReadBeside = Callable[[Sequence[str] | None], Beside]
"""The same with all other columns beside it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Elsewhere:
    """A column of a table whose rows may lie elsewhere, and be looked at there."""

    table: Source
    column: Any
    progress: Progress | None = None

    def look(self, look: Look, copies: Copies | None) -> bool:
        """Have all of the column looked at, and the others beside it; false where nothing was, and it must be read."""
        return self.table.look(self.column, look, copies, progress=self.progress)

    @property
    def others_afterwards(self) -> bool:
        """Whether the others are looked at beside the column in one pass for all columns, once these were measured."""
        return False

    def look_beside(self, labels: Labels, searches: Sequence[Sampling], watchers: Sequence[Parted]) -> bool:
        """Have the others looked at beside the column, which was looked at; false where they must be read."""
        asked = BesideColumn(column=self.column, searches=searches, watchers=watchers)
        return self.table.look_beside({self.column: labels}, [asked])[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Everything that the rows need. Private."""

    column_map: ColumnMap
    labels: tuple[str, ...] | None
    accepted: tuple[str, ...]
    seed: int
    test_seed: bool
    facts: dict[str, Any]
    """What the private record keeps: estimates, released parameters, bin, coefficients, how far the rows moved."""
    rows: int
    """Rows that have a value."""
    warnings: tuple[str, ...] = ()
    """What the holder should know before publishing."""
    to_check: tuple[str, ...] = ()
    """What the release rests on, and only the holder can know."""
    later: Later | None = None
    """What must be looked for while the table is written, if that was asked for."""

    def check_rows(self, plan: Plan, column: str) -> None:
        """Refuse a column of another number of rows than the secret was stated for."""
        with first_of_all(self.later):
            try:
                for one in plan.problem.each:
                    one.secret.check_rows(self.rows)
            except ColumnError as error:
                raise ColumnError(f"column {column!r}: {error}") from None

    def settled(self) -> Prepared:
        """The same once the table is written and nothing that was looked for meanwhile is refused."""
        if self.later is None:
            return self
        return replace(self, facts={**self.facts, "structure_found": _listed(self.later.refuse())}, later=None)


def new_seed() -> int:
    """A secret seed: 128 bits, too many to search."""
    return secrets.randbits(128)


def prepare(
    plan: Plan,
    read: Read,
    *,
    column: str,
    type: ColumnType,
    accept: Collection[str] = (),
    round_digits: int | None = None,
    seed: int | None = None,
    secret_seed: int | None = None,
    beside: ReadBeside | None = None,
    shuffled: bool = False,
    trial: bool = False,
    later: bool = False,
    groups: GroupRows | None = None,
    elsewhere: Elsewhere | None = None,
) -> Prepared:
    """Measure and verify the column, and find the map that realises the plan on it.

    ``seed`` is for tests and is marked as such; ``secret_seed`` is that of an earlier release of the same column.
    ``beside`` reads the column with all others, which must not tell it;
    ``shuffled`` says that the rows will be released in another order, so theirs does not matter;
    ``trial`` that nobody is told what was found, as all of it is accepted: only what the map depends on is looked for;
    ``later`` that the others are seen once more: a column that needs one pass is measured alone (``Prepared.later``);
    ``groups`` are the rows of the two groups that the secret compares, or say that every row has two numbers;
    ``elsewhere`` has the column looked at where its rows lie, if it can.
    """
    accepted = check_accepted(accept)
    _check_options(plan, round_digits, seed)
    chosen = seed if seed is not None else new_seed() if secret_seed is None else secret_seed
    labels = column_labels(plan, column, type)

    mode = plan.release_mode
    # these searches take time, so what is accepted anyway is not looked for
    looked = beside is not None and not trial and "copies" not in accepted
    copies: Copies | None = None
    broken = broken_by(mode, mode.fixed_point(plan.problem))
    if looked and groups is not None:
        copies = (
            PairCopies(
                groups.names,
                stretched=mode.stretches,
                values_show=mode.structure_shows,
                shuffled=shuffled,
                broken=broken,
            )
            if isinstance(groups, Halves)
            else GroupCopies(groups, values_show=mode.structure_shows, broken=broken, shuffled=shuffled)
        )
    elif looked:
        copies = Copies(
            categories=labels is not None, values_show=mode.structure_shows, broken=broken, shuffled=shuffled
        )

    def pass_beside() -> Beside:
        return iter(()) if beside is None else unnamed(beside(labels))

    rows_drawn = mode.random
    later = later and copies is not None and labels is None and not rows_drawn
    apart: GroupOrder | None = None
    if groups is not None and beside is not None and not trial and not {"order", "copies"} <= set(accepted):
        apart = ColumnOrder(stretched=mode.stretches) if isinstance(groups, Halves) else GroupOrder(groups)
    linked: LinkedColumns | LinkedGroups | None = None
    if groups is not None and beside is not None and not trial and "groups" not in accepted:
        linked = LinkedColumns() if isinstance(groups, Halves) else LinkedGroups(groups)
    singling = Singling() if (rows_drawn or groups is not None) and beside is not None and not trial else None
    watchers = [] if later else [one for one in (copies, apart, linked, singling) if one is not None]
    once = FirstBeside(lambda: read(labels), pass_beside, Watchers(*watchers) if watchers else None)
    blocks: Blocks = above_each_other(once) if isinstance(groups, Halves) else once
    order = Order(categories=labels is not None)

    def related(statistics: tuple[float, ...]) -> list[Finding]:
        """Whether the order of the rows or another column tells the values, or a cell one of these numbers."""
        # too many columns are refused by then, and are not gone through for another reason to refuse them
        unseen = not rows_drawn or beside is None or "groups" in accepted or not parts_rows(mode, order)
        told_by = None if unseen else _OtherColumns.of(plan, most=MOST_COLUMNS if looked else None, shuffled=shuffled)
        if there and elsewhere is not None:
            searches: list[Sampling] = [one for one in (copies, apart) if one is not None]
            beside_them: list[Parted] = [] if told_by is None else [told_by.others, told_by.together]
            alone = (*beside_them, *(one for one in (linked, singling) if one is not None))
            if elsewhere.look_beside(labels, searches, (*alone, *(one for all in searches for one in all.watchers))):
                told_by = None if told_by is None else replace(told_by, seen=True)
            else:
                seen = Watchers(*watchers)
                for values, others in pass_beside():
                    if not seen.add(values, others):
                        break
        told = [] if copies is None else copies.found(statistics)
        told += [] if apart is None else apart.found(shuffled=shuffled)
        told += [] if linked is None else linked.found()
        if not rows_drawn:
            return told
        ordered = not shuffled and "order" not in accepted
        in_order = (find_order(mode, order) or _made(order, labels)) if ordered else []
        return [*told, *in_order, *([] if told_by is None else told_by.found(plan, order, pass_beside))]

    # where rows are drawn they are gone through again, and it is worth it only where that is done there as well
    afterwards = elsewhere is not None and (rows_drawn or groups is not None or elsewhere.others_afterwards)
    in_parts = elsewhere is not None and (not afterwards or elsewhere.table.makes_maps)
    there = False

    def looked_at(look: Look) -> bool:
        """Whether the column was looked at where it lies; then it is gone through there from now on."""
        nonlocal blocks, there
        # where rows are drawn the others are looked at afterwards, once it is known what must be looked for
        if not in_parts or elsewhere is None or not elsewhere.look(look, None if later or afterwards else copies):
            return False
        once.unwatched()
        blocks, there = look.spread(blocks), afterwards
        return True

    counts: Counts | None = None
    looking: Later | None = None
    verifier: Verifier | None = None
    if labels is not None:
        counting = CategoryLook(labels, order)
        counts = counting.counts if looked_at(counting) else count_categories(blocks, len(labels), watch=order.add)
        found = _refused(column, accepted, [*_few_rows(plan, int(counts.sum())), *related(_counted(counts))])
        params = shares_of(tuple(param.name for param in plan.problem.family.params), counts)
        applied = _apply(plan, column, params, chosen)
        statistic, measured, offset, smear = float(plan.problem.secret_of(params)), None, 0.0, False
        centre = 0.0
    else:
        verifier = _verifier(plan, groups, bits=type.bits)
        watched = verifier.watch

        def watch(values: Array, start: int) -> None:
            watched(values, start)
            if rows_drawn:
                order.add(values)

        counted = plan.problem.secret.counted(plan.problem.family)
        look = NumberLook(verifier, counted, levels_of(plan.problem), order if rows_drawn else None, groups)
        measured = look.measured(blocks) if looked_at(look) else measured_for(plan.problem, blocks, watch, groups)
        verifier.check_declared(column)
        statistic = own_statistic(plan.problem, measured)
        params = _estimate(plan, column, measured, statistic)
        spread = plan.problem.secret.anchor.per_shift == 0
        centre = plan.problem.secret.anchor.centre(measured) if spread else 0.0
        applied = _apply(plan, column, params, chosen)
        for one in plan.problem.each:
            alone = plan if one is plan.problem else replace(plan, problem=one)
            here = replace(applied, secret=alone.released_secret(applied.released))
            check_resolution(alone, column, measured, own_statistic(one, measured), here)
        _check_not_an_atom(plan, column, statistic, accepted)
        if trial:
            found = verifier.undeclared_step()
        else:
            few = _few_rows(plan, measured.rows)

            def search(verifier: Verifier = verifier, measured: Measured = measured) -> Own:
                found = verifier.check_undeclared(column, accepted, params)
                if not (rows_drawn or shuffled or "order" in accepted) and groups is None:
                    _refused(column, accepted, find_made_order(verifier.sampler.values))
                return Own(found=found, statistics=_numbers(measured, statistic, verifier))

            if later and copies is not None and not few:
                own = started(search)
                looking = Later(column=column, accepted=accepted, copies=copies, own=own)
                # the map depends on a step that was accepted; any other is refused
                found = own.result().found if "step" in accepted else []
            else:
                found, numbers = search()
                if later and copies is not None:  # refused now, or by all that is found together
                    for values, others in pass_beside():
                        copies.add(values, others)
                found += _refused(column, accepted, [*few, *related(numbers)])
        offset = verifier.offset or 0.0
        # values on a lattice that was accepted are short for another reason, and stay on it
        smear = all(finding.name != "step" for finding in found)
    job = Job(
        plan=plan,
        params=params,
        statistic=statistic,
        applied=applied,
        blocks=blocks,
        offset=offset,
        smear=smear,
        seed=chosen,
        centre=centre,
        counts=counts,
        groups=groups,
        measured_groups=None if measured is None else measured.groups,
        sampler=None if verifier is None else verifier.sampler,
        rows=0 if measured is None else measured.rows,
    )
    with first_of_all(looking):
        column_map = build_map(job)
        _check_decimals(plan, column, type)
    facts = _facts(plan, measured, statistic, params, applied, column_map, found)
    ends = () if verifier is None or trial or "bounds" in accepted else verifier.sharp_ends(params)
    told: tuple[str, ...] = ()
    if rows_drawn and labels is None and not trial:
        change = measure_change(blocks, column_map, logs=plan.problem.distance == "log-w1")
        told = change.warnings(plan)
        facts |= {"measured": change.to_json(), "warnings": list(told)}
    return Prepared(
        column_map=column_map,
        labels=labels,
        accepted=accepted,
        seed=chosen,
        test_seed=seed is not None,
        facts=facts,
        rows=int(counts.sum()) if counts is not None else rows_said(plan, measured) if measured is not None else 0,
        warnings=told,
        to_check=(*ends, *(() if singling is None else singling.to_check(shuffled=shuffled, drawn=rows_drawn))),
        later=looking,
    )


def _verifier(plan: Plan, groups: GroupRows | None, *, bits: int) -> Verifier:
    if groups is None:
        return Verifier(plan, bits=bits)
    kind = PairVerifier if isinstance(groups, Halves) else GroupVerifier
    return kind(plan, groups, bits=bits)


def rows_said(plan: Plan, measured: Measured) -> int:
    """How many rows a card speaks of: those with a value, of two columns in that which has fewer."""
    two = measured.groups
    return min(two.rows) if plan.release_mode.of_columns and two is not None else measured.rows


def check_seed_for_tests(seed: Any) -> None:
    """Refuse a seed that is none."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**128):
        raise ProblemError(f"the seed must be a whole number from 0 to 2^128 - 1. Got {seed!r}.")


def _check_options(plan: Plan, round_digits: int | None, seed: int | None) -> None:
    check_seed_for_tests(seed)
    if round_digits is None:
        return
    if not valid_digits(round_digits):
        raise ProblemError(f"the digits to round to must be a whole number from -12 to 15. Got {round_digits!r}.")
    if 10.0**-round_digits > 10 * plan.moves_rows:
        raise ProblemError(
            f"rounding to {round_digits} digits is far coarser than the plan's own distortion {plan.moves_rows:g}, "
            "so the release would no longer be the plan's; keep more digits."
        )
    for bound in bounds_of(plan.problem):
        if math.isfinite(bound) and abs(round(bound, round_digits) - bound) > 1e-12 * abs(bound):
            raise ProblemError(
                f"rounding to {round_digits} digits would move values beyond the known bound {bound:g}; "
                "keep more digits."
            )
    if plan.release_mode.whole_steps or plan.problem.known.step is not None or plan.problem.family.discrete:
        raise ProblemError(
            f"rounding is for continuous columns; the mode {plan.mode!r} keeps the column's own steps. Leave it out."
        )


def valid_digits(digits: Any) -> bool:
    """Whether a number of digits to round to makes sense."""
    return isinstance(digits, int) and not isinstance(digits, bool) and -12 <= digits <= 15


def column_labels(plan: Plan, column: str, type: ColumnType) -> tuple[str, ...] | None:
    """The categories as the column writes them; ``None`` for numbers. Refuses a column of the wrong kind."""
    family = plan.problem.family
    if not isinstance(family, Categorical):
        if not type.numeric:
            where = "" if type.first_text is None else f" (first in row {type.first_text}: mend it or leave it empty)"
            raise ColumnError(
                f"column {column!r} holds {_KINDS.get(type.kind, 'values of type ' + type.name)}{where}; the "
                f"{plan.problem.secret.label} of a column needs numbers"
                f"{', written with a decimal point and without marks between thousands' * (type.kind == 'text')}."
            )
        return None
    if type.kind not in ("text", "boolean", "integer", "float"):
        raise ColumnError(
            f"column {column!r} has the type {type.name}; categories are text, true/false or whole numbers."
        )
    if type.numeric and family.labels == tuple(f"p{i}" for i in range(len(family.labels))):
        return tuple(str(i) for i in range(len(family.labels)))  # planned by number: the column holds 0, 1, ...
    return family.labels


_KINDS = {"text": "text", "boolean": "true/false values"}


def _few_rows(plan: Plan, rows: int) -> list[Finding]:
    """Whether a mean of counts or a share is so coarse in a table of this length that guessing is easier.

    It is a multiple of 1/n, so a window holds floor(2 eps n) + 1 of its values, not 2 eps n.
    """
    counted = plan.problem.family.discrete and plan.problem.secret.of_rows
    window = 2 * plan.problem.tolerance * rows
    if not counted or window >= _LEAST_WINDOW:
        return []
    needed = math.ceil(_LEAST_WINDOW / (2 * plan.problem.tolerance))
    what = plan.problem.secret.label
    says = f"with fewer than {needed} rows the {what} takes so few values that guesses hit more often."
    return [Finding(name="few-rows", values=(), flag="", says=says)]


def is_an_atom(plan: Plan, statistic: float) -> bool:
    """Whether the secret is a value of the column that everyone knows to be frequent; such a column is refused."""
    declared = plan.problem.known.atoms if plan.problem.secret.on_steps else ()
    return any(abs(statistic - atom) <= 1e-12 * max(1.0, abs(atom)) for atom in declared)


def _check_not_an_atom(plan: Plan, column: str, statistic: float, accepted: Collection[str]) -> None:
    """Refuse a quantile that is one of the declared frequent values: everyone knows these, whatever the prior says."""
    if "atoms" not in accepted and is_an_atom(plan, statistic):
        raise ColumnError(
            f"the {plan.problem.secret.label} of column {column!r} is one of the frequent values that the plan "
            "declares, and everyone knows these: a guess among them hits. Hide another statistic; if they are known "
            "from this table alone, plan again without them (--shape catalogue needs no declaration); or accept the "
            "leak: --accept atoms."
        )


def _check_decimals(plan: Plan, column: str, type: ColumnType) -> None:
    """Refuse a type that cannot hold the steps by which the rows move."""
    if type.scale is None or not plan.release_mode.whole_steps:
        return
    if Fraction(repr(plan.problem.known.spacing)) * 10**type.scale % 1:
        raise ColumnError(
            f"column {column!r} is written with {type.scale} decimals, but the plan moves by multiples of "
            f"{plan.problem.known.spacing:g}; declare the step that the column has, or write it with more decimals."
        )


def unnamed(rows: Beside) -> Beside:
    """The other columns without their own names: the engine takes one such as ``^a.*$`` for a pattern."""
    for values, others in rows:
        # what several columns look at has none already
        yield values, others if isinstance(others, Seen) else {name: one.alias("") for name, one in others.items()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _OtherColumns:
    """Whether another column tells the rows, where there are others."""

    others: Others
    together: Together
    most: int | None
    """Columns that are gone through."""
    seen: bool = False
    """Whether they have seen all rows already."""

    @classmethod
    def of(cls, plan: Plan, *, most: int | None, shuffled: bool) -> _OtherColumns:
        others = Others(categories=plan.release_mode.categories, shuffled=shuffled)
        return cls(others=others, together=Together(), most=most)

    def found(self, plan: Plan, order: Order, rows: Callable[[], Beside]) -> list[Finding]:
        """What they find, in a pass of their own where they have seen nothing."""
        for values, columns in () if self.seen else rows():
            if not columns or (self.most is not None and len(columns) > self.most):
                return []
            self.others.add(values, columns)
            self.together.add(values, columns)
        return find_groups(plan.release_mode, order, self.others, self.together)


def _counted(counts: Counts) -> tuple[float, ...]:
    """Rows and shares of the categories."""
    rows = max(int(counts.sum()), 1)
    return tuple(float(one) for count in counts for one in (count, count / rows, 100 * count / rows) if count)


def _numbers(measured: Measured, statistic: float, verifier: Verifier) -> tuple[float, ...]:
    """Numbers of a whole column, or of its groups, that tell its map wherever they stand."""
    std, rows = measured.std, measured.rows
    free = std * math.sqrt(rows / (rows - 1)) if rows > 1 else std
    own = (statistic, measured.mean, rows * measured.mean, std, free, std * std, free * free, *verifier.numbers())
    two = measured.groups
    return own if two is None else (*own, *two.means, *(n * mean for n, mean in zip(two.rows, two.means, strict=True)))


def _refused(column: str, accepted: Collection[str], found: list[Finding]) -> list[Finding]:
    refuse_undeclared(column, accepted, found, Structure())
    return found


def count_categories(blocks: Blocks, size: int, watch: Callable[[Array], None] = lambda block: None) -> Counts:
    """How many rows each category has."""
    counts = np.zeros(size, dtype=np.int64)
    for block in blocks():
        watch(block)
        counts += np.bincount(block[np.isfinite(block)].astype(np.int64), minlength=size)
    return counts


def _estimate(plan: Plan, column: str, measured: Measured, statistic: float) -> dict[str, float]:
    try:
        return estimate(plan.problem, measured, statistic)
    except ProblemError as error:
        raise ColumnError(f"column {column!r}: {error}") from None


def _apply(plan: Plan, column: str, params: dict[str, float], seed: int) -> Applied:
    """The mechanism; a column outside the prior is an error that names the side and never the value."""
    try:
        return plan.apply(params, secret_seed=seed)
    except OutsidePriorError as error:
        raise ColumnError(
            f"column {column!r} lies outside the stated prior: {outside(plan.problem, error)} {error.why}"
        ) from None
    except ProblemError as error:
        raise ColumnError(f"column {column!r} lies outside the stated prior: {error}") from None


def _facts(
    plan: Plan,
    measured: Measured | None,
    statistic: float,
    params: dict[str, float],
    applied: Applied,
    column_map: ColumnMap,
    found: list[Finding],
) -> dict[str, Any]:
    estimates: dict[str, Any] = {"secret": statistic, "parameters": params}
    if measured is not None:
        estimates |= {"rows": measured.rows, "mean": measured.mean, "std": measured.std}
        if (two := measured.groups) is not None:
            estimates["groups"] = {"rows": list(two.rows), "means": list(two.means)}
    return {
        "estimates": estimates,
        "released": {
            "secret": float(applied.secret),
            "parameters": {name: float(value) for name, value in applied.released.items()},
        },
        "bin": plan.mechanism.bin_of(params),
        "coefficients": column_map.coefficients(),
        "structure_found": _listed(found),
    }


def _made(order: Order, labels: Labels) -> list[Finding]:
    """Whether the size of the values put the rows in order; categories have none."""
    return find_made_order(order.values) if labels is None else []


def _listed(found: list[Finding]) -> list[dict[str, Any]]:
    return [{"name": finding.name, "values": list(finding.values)} for finding in found]
