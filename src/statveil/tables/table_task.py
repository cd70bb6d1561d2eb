"""All columns of a table under a specification: hidden, moved along, derived, left out or kept, in the same passes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from statveil.contradictions import refuse_contradictions
from statveil.errors import ColumnError, StructureError, TableError
from statveil.made_plan import Plan
from statveil.specification.planned import TablePlan
from statveil.specification.treatments import Derive, Drop, Hide, Link
from statveil.tables.changes import Changes, Labels, Replacement
from statveil.tables.deriving import derived_columns, plain_kind
from statveil.tables.groups import label_columns, read_groups
from statveil.tables.linking import (
    ShortFloats,
    check_linked,
    check_multiples,
    linked_map,
    refuse_link,
    refuse_short,
    rest_of,
)
from statveil.tables.looking import Look as ColumnLook
from statveil.tables.panel_units import prepare_panel
from statveil.tables.panels import check_secrets, drawn_by_group
from statveil.tables.preparing import Elsewhere, Prepared, Read, ReadBeside, column_labels, new_seed, prepare
from statveil.tables.record import Lent, hash_column, table_lent_by, table_record
from statveil.tables.series import ColumnType
from statveil.tables.sharing import Look, Reader, Shared, each_beside
from statveil.tables.source import Progress, Source
from statveil.tables.structure.others.alongside import LEFT
from statveil.tables.structure.others.facets import Parted, Sampling
from statveil.tables.structure.others.telling import Copies
from statveil.tables.table_card import make_table_card
from statveil.tables.task import Ready, Task
from statveil.tables.verification import Verifier
from statveil.tables.verify_content import Check
from statveil.tables.verify_table import table_checks

__all__ = ["Layout", "WholeTable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What becomes of the columns that a table has, by their names as the table has them."""

    hidden: Mapping[str, Any]
    linked: Mapping[str, Any]
    derived: Mapping[str, Any]
    """Also those that the table does not have, by the name they will have."""
    dropped: tuple[Any, ...]
    kept: tuple[Any, ...]

    @property
    def kept_names(self) -> list[str]:
        """The columns that are published as they are, in words."""
        return [str(name) for name in self.kept]

    @classmethod
    def of(cls, plan: TablePlan, table: Source) -> Layout:
        """Hold the specification against the columns of a table."""
        columns, others = plan.specification.columns, plan.specification.others
        if table.names == [None]:
            raise TableError("a specification is about named columns, and this table has one without a name.")
        known = {str(name): name for name in reversed(table.names)}
        found = {
            name: known[name]
            if isinstance(one, Derive) and name in known
            else name
            if isinstance(one, Derive)
            else table.find(known.get(name, name))
            for name, one in columns.items()
        }
        unnamed = [name for name in table.names if str(name) not in columns]
        if unnamed and others == "refuse":
            listed = ", ".join(repr(str(name)) for name in unnamed[:8]) + " and more" * (len(unnamed) > 8)
            raise TableError(
                f"the table has columns that the specification does not name: {listed}. Say what becomes of each "
                '(hide, keep, drop, link or derive), or of all of them: others = "keep" or "drop".'
            )
        plain = [found[name] for name, one in columns.items() if not isinstance(one, Hide | Link | Derive | Drop)]
        return cls(
            hidden={name: found[name] for name in plan.specification.hidden},
            linked={name: found[name] for name in plan.specification.linked},
            derived={name: found[name] for name in plan.specification.derived},
            dropped=(
                *(found[name] for name, one in columns.items() if isinstance(one, Drop)),
                *(dict.fromkeys(unnamed) if others == "drop" else ()),
            ),
            kept=(*plain, *(unnamed if others == "keep" else ())),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeTable(Task):
    """A table under the plans of a specification."""

    plan: TablePlan
    seed: int | None = None
    planned_again: bool = False
    """Whether the plans were made again after earlier ones had been tried on the table; the card says so."""

    def __post_init__(self) -> None:
        for plan in self.plan.plans.values():
            refuse_contradictions(plan)
        for name, hide in self.plan.specification.hidden.items():
            if drawn_by_group(self.plan.plans[name], hide.group):
                self._check_group(name, str(hide.group))
        for name, link in self.plan.specification.linked.items():
            refuse_link(name, link.to, self.plan.plans[link.to].release_mode)

    def _check_group(self, name: str, group: str) -> None:
        """Refuse groups that nobody could see afterwards, and columns that follow one drawn by groups."""
        specification = self.plan.specification
        check_secrets(self.plan.plans[name], name, group)
        dropped = isinstance(specification.columns.get(group), Drop)
        if dropped or (group not in specification.columns and specification.others == "drop"):
            raise ColumnError(
                f"column {name!r} is drawn by groups of {group!r}, which is dropped: then nobody sees which rows "
                "belong together, and nobody could check it. Keep that column, or leave out the group."
            )

    @property
    def plans(self) -> Mapping[str, Plan]:
        return self.plan.plans

    @property
    def shuffle(self) -> bool:
        """Whether the rows are put in another order."""
        return self.plan.specification.shuffle

    def check(self, table: Source) -> None:
        self._label_columns(table, Layout.of(self.plan, table))

    def _label_columns(self, table: Source, layout: Layout) -> list[Any]:
        """The columns that name the groups of hidden ones, which are kept."""
        return label_columns(table, {name: self.plan.plans[text] for text, name in layout.hidden.items()})

    def hashed(self, table: Source) -> str:
        layout, digest = Layout.of(self.plan, table), hashlib.sha256()
        for name in (*layout.hidden.values(), *layout.linked.values(), *self._label_columns(table, layout)):
            digest.update(hash_column(table, name).encode())
        return digest.hexdigest()

    def recorded(self, record: Any, table: Source, *, sha256: str) -> Lent | None:
        return table_lent_by(record, self.plan, sha256=sha256, kept=Layout.of(self.plan, table).kept_names)

    def ready(self, table: Source, *, sha256: str, lent: Lent | None, progress: Progress | None = None) -> Ready:
        layout = Layout.of(self.plan, table)
        seed = self.seed if self.seed is not None else new_seed() if lent is None else lent.seed
        moved = {**layout.hidden, **layout.linked}
        types = _types(table, self.plan, layout)
        hidden, links = self._prepared(table, layout, types, seed, progress)
        replaced = {
            layout.hidden[name]: Replacement(
                column_map=one.column_map,
                labels=one.labels,
                round_digits=self.plan.specification.hidden[name].round_digits,
            )
            for name, one in hidden.items()
        }
        for name, link in self.plan.specification.linked.items():
            replaced[moved[name]] = Replacement(
                column_map=linked_map(
                    hidden[link.to].column_map,
                    column=name,
                    type=types[name],
                    factor=link.factor,
                    offset=links[name].offset or 0.0,
                    seed=column_seed(seed, name),
                )
            )
        derived = derived_columns(self.plan.specification, _released_kinds(types, moved, replaced), types)
        changes = Changes(
            replaced=replaced,
            dropped=layout.dropped,
            derived={layout.derived[name]: one for name, one in derived.items()},
        )

        def card(sha256: str | None) -> dict[str, Any]:
            return make_table_card(
                self.plan,
                accepted={name: one.accepted for name, one in hidden.items()},
                rows={name: one.rows for name, one in hidden.items()},
                kept=layout.kept_names,
                dropped=[str(name) for name in layout.dropped],
                test_seed=self.seed is not None,
                planned_again=self.planned_again,
                sha256=sha256,
            )

        facts = {name: {"seed": f"{one.seed:032x}", **one.facts} for name, one in hidden.items()}
        along = {name: replaced[moved[name]].column_map.coefficients() for name in layout.linked}
        return Ready(
            changes=changes,
            record=table_record(
                self.plan,
                seed=seed,
                test_seed=self.seed is not None,
                sha256=sha256,
                columns={**facts, **{name: {"coefficients": one} for name, one in along.items()}},
                kept=layout.kept_names,
                lent=lent,
            ),
            card=card,
            seed=seed,
            accepted={name: one.accepted for name, one in hidden.items()},
            shuffle=seed if self.shuffle else None,
            notes=(
                *(() if lent is None else lent.notes),
                *(f"Column {name!r}: {note}" for name, one in hidden.items() for note in one.warnings),
            ),
            to_check=tuple(f"Column {name!r}: {one}" for name, of in hidden.items() for one in of.to_check),
        )

    def checks(self, table: Source, card: dict[str, Any]) -> Iterator[Check]:
        return table_checks(table, self.plan, card)

    def _prepared(
        self, table: Source, layout: Layout, types: Mapping[str, ColumnType], seed: int, progress: Progress | None
    ) -> tuple[dict[str, Prepared], dict[str, Verifier]]:
        """All hidden columns measured and verified, and all that move along verified, in shared passes."""
        specification, plans = self.plan.specification, self.plan.plans
        labels: dict[Any, Labels] = {
            name: column_labels(plans[text], text, types[text]) for text, name in layout.hidden.items()
        }
        labels |= dict.fromkeys(layout.linked.values())

        # labels are read before the passes that all columns share
        groups = {text: read_groups(table, plans[text].problem, name) for text, name in layout.hidden.items()}

        followed = {link.to for link in specification.linked.values()}
        short = {
            name: ShortFloats(bits=types[name].bits, heap=min(plans[name].problem.known.heaps, default=None))
            for name in followed
        }

        def hide(name: str) -> Callable[[Reader], Prepared]:
            one, own = specification.hidden[name], column_seed(seed, name)

            def work(reader: Reader) -> Prepared:
                read: Read = reader.blocks
                beside: ReadBeside = reader.beside
                if name in short:
                    read, beside = short[name].watched(read), short[name].watched_beside(beside)
                with _said_of(name):
                    prepared = prepare(
                        plans[name],
                        read,
                        column=name,
                        type=types[name],
                        accept=one.accept,
                        round_digits=one.round_digits,
                        seed=None if self.seed is None else own,
                        secret_seed=own,
                        beside=beside,
                        shuffled=self.shuffle,
                        groups=groups[name],
                        elsewhere=_WithOthers(table=table, column=reader.name, reader=reader, short=short.get(name)),
                    )
                    prepared.check_rows(plans[name], name)
                    return prepared

            return work

        def follow(name: str) -> Callable[[Reader], Verifier]:
            link = specification.linked[name]

            def work(reader: Reader) -> Verifier:
                with _said_of(link.to):
                    return check_linked(
                        reader,
                        plans[link.to],
                        column=name,
                        type=types[name],
                        factor=link.factor,
                        accepted=specification.hidden[link.to].accept,
                        elsewhere=_WithOthers(table=table, column=reader.name, reader=reader),
                        shuffled=self.shuffle,
                    )

            return work

        grouped = [name for name, one in specification.hidden.items() if drawn_by_group(plans[name], one.group)]
        known = {str(name): name for name in table.names}
        by_group = {}
        for name in grouped:
            one, own = specification.hidden[name], column_seed(seed, name)
            with _said_of(name):
                by_group[name] = prepare_panel(
                    plans[name],
                    table,
                    layout.hidden[name],
                    column=name,
                    group=table.find(known.get(str(one.group), one.group)),
                    labels=labels[layout.hidden[name]],
                    type=types[name],
                    gone={str(gone) for gone in (*layout.dropped, *layout.derived.values())},
                    accept=one.accept,
                    round_digits=one.round_digits,
                    seed=None if self.seed is None else own,
                    secret_seed=own,
                    shuffled=self.shuffle,
                )
                by_group[name].check_rows(plans[name], name)
        works: dict[Any, Callable[[Reader], Prepared | Verifier]] = {
            layout.hidden[name]: hide(name) for name in layout.hidden if name not in by_group
        }
        works |= {layout.linked[name]: follow(name) for name in layout.linked}
        check_multiples(table, plans, specification, {**layout.hidden, **layout.linked})
        shared: Shared[Prepared | Verifier] = Shared(
            table, labels, look=_published(self.plan, layout), progress=progress
        )
        done = shared.run(works)
        done |= {layout.hidden[name]: one for name, one in by_group.items()}
        hidden = {text: done[name] for text, name in layout.hidden.items()}
        linked = {text: done[name] for text, name in layout.linked.items()}
        prepared = {name: one for name, one in hidden.items() if isinstance(one, Prepared)}
        verifiers = {name: one for name, one in linked.items() if isinstance(one, Verifier)}
        for name, verifier in verifiers.items():
            to = specification.linked[name].to
            with _said_of(to):
                refuse_short(
                    prepared[to].column_map,
                    column=name,
                    to=to,
                    hidden=short[to],
                    linked=verifier,
                    type=types[name],
                    accepted=prepared[to].accepted,
                )
        return prepared, verifiers


@dataclass(frozen=True, kw_only=True, eq=False)
class _WithOthers(Elsewhere):
    """A column of several that are looked at beside each other, in one pass."""

    reader: Reader
    short: ShortFloats | None = None
    """Sees all rows of a column that others follow."""

    def look(self, look: ColumnLook, copies: Copies | None) -> bool:
        done = super().look(look, copies)
        if done and self.short is not None:
            self.short.watch_there(look.spread(lambda: self.reader.blocks(None)))
        return done

    @property
    def others_afterwards(self) -> bool:
        return True

    def look_beside(self, labels: Labels, searches: Sequence[Sampling], watchers: Sequence[Parted]) -> bool:
        return self.reader.look_beside(searches, watchers)


def column_seed(seed: int, column: str) -> int:
    """The secret seed of one column: none tells another, nor that of the table."""
    text = b"statveil column\0" + seed.to_bytes(16, "big") + column.encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:16], "big")


class _said_of:  # noqa: N801
    """A refusal in a specification's words: there are no flags to add."""

    def __init__(self, column: str) -> None:
        self._column = column

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, StructureError):
            raise StructureError(
                f"{error} In a specification --known and --accept are the keys known and accept of the column "
                f"{self._column!r}, and --shuffle is shuffle = true."
            ) from None


def _types(table: Source, plan: TablePlan, layout: Layout) -> dict[str, ColumnType]:
    """What the columns hold that are moved, derived, or used to derive others; by their names in the specification."""
    used = {name for one in plan.specification.derived.values() for name in one.expression.columns}
    wanted = dict.fromkeys([*layout.hidden, *layout.linked, *layout.derived, *sorted(used)])
    known = {str(name): name for name in table.names}
    for name in used:
        if name not in known and name not in layout.derived:
            table.find(name)  # which says what there is
    gone = {str(name) for name in layout.dropped}
    for name, one in plan.specification.derived.items():
        for needed in sorted(one.expression.columns & gone):
            raise ColumnError(
                f"column {name!r} is derived from {needed!r}, which is dropped: nobody could check it. Keep that one, "
                "or drop both."
            )
    found = table.types_of([known[name] for name in wanted if name in known])
    return {str(name): one for name, one in found.items()}


def _released_kinds(
    types: Mapping[str, ColumnType], moved: Mapping[str, Any], replaced: Mapping[Any, Replacement]
) -> dict[str, str]:
    """What the columns hold after the release: whole numbers only where their map keeps them whole."""
    kinds = {name: plain_kind(one) for name, one in types.items()}
    for text, name in moved.items():
        one = replaced[name]
        if one.labels is None:
            kinds[text] = "integer" if kinds[text] == "integer" and one.column_map.whole else "float"
    return kinds


def _published(plan: TablePlan, layout: Layout) -> Callable[[], Look]:
    """What is looked at beside a column: all that stays as it is, and what moves under another map than its own.

    What is derived is made of released columns alone, and what is left out tells nothing. What moves along is looked at
    by what it leaves as it was.
    """
    leader = {name: name for name in layout.hidden} | {
        name: link.to for name, link in plan.specification.linked.items()
    }
    texts = {name: text for text, name in (*layout.hidden.items(), *layout.linked.items())}
    gone: Collection[str] = {str(name) for name in (*layout.dropped, *layout.derived.values())}

    # under a shift the rest y - factor x of a linked column is published as it was, like a column that is kept
    rests = {
        f"{name} less {link.factor:g} {link.to} {LEFT}": (name, link)
        for name, link in plan.specification.linked.items()
        if not plan.plans[link.to].release_mode.stretches
    }
    return each_beside(
        texts.__getitem__,
        stays=lambda key: key not in gone,
        apart=lambda own, other: leader[own] != leader[other],
        left=lambda rows: {
            text: partial(rest_of, rows[name], rows[link.to], link.factor)
            for text, (name, link) in rests.items()
            if name in rows and link.to in rows
        },
        of_own=lambda own, text: leader[own] == rests[text][1].to,
    )
