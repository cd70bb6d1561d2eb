"""The card of a whole table: what was done with each column, and the risk that all of it has together."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from statveil.rounding import shown_up
from statveil.specification.planned import TablePlan
from statveil.tables.card import FORMAT, TABLE_VERSION, make_card, read_from, used_versions
from statveil.tables.other_columns import OtherColumns
from statveil.tables.panels import drawn_by_group
from statveil.words.table import table_sentence

__all__ = ["is_table_card", "make_table_card", "table_plan_of"]

_OF_COLUMN = (
    "mode",
    "guarantee",
    "declared",
    "assumptions",
    "checked",
    "accepted_leaks",
    "rounded_to_digits",
    "rows",
)
"""What the card of one column says that is about that column alone."""

_PLANNED_AGAIN = (
    " The plans were made again after earlier ones had been tried on the table (a release, an audit, or a refusal that "
    "named its statistic): that these were chosen may tell something of the table, which the risk does not count."
)


def is_table_card(card: Mapping[str, Any]) -> bool:
    """Whether a card is that of a whole table."""
    return card.get("version") == TABLE_VERSION


def make_table_card(
    plan: TablePlan,
    *,
    accepted: Mapping[str, tuple[str, ...]],
    rows: Mapping[str, int],
    kept: Collection[str],
    dropped: Collection[str],
    test_seed: bool = False,
    planned_again: bool = False,
    sha256: str | None = None,
) -> dict[str, Any]:
    """The card as a JSON object.

    Parameters
    ----------
    plan : TablePlan
        The plans of all hidden columns.
    accepted, rows : mapping
        Of each hidden column: the leaks that were accepted, and its rows with a value.
    kept, dropped : collection of str
        What else the table had: which columns were published as they are, and which were left out.
    test_seed : bool
        Whether the seed can be guessed.
    planned_again : bool
        Whether the plans were made again after earlier ones had been tried on the table.
    sha256 : str, optional
        Hash of the written file.
    """
    specification = plan.specification
    columns: dict[str, Any] = {}
    for name, hide in specification.hidden.items():
        one = make_card(
            plan.plans[name],
            column=name,
            accepted=accepted[name],
            round_digits=hide.round_digits,
            shuffled=specification.shuffle,
            rows=rows[name],
            beside=_beside(plan, name, kept, dropped),
        )
        columns[name] = {"done": "hidden", **{key: one[key] for key in _OF_COLUMN}}
        if drawn_by_group(plan.plans[name], hide.group):
            columns[name] |= {
                "group": hide.group,
                "assumptions": [
                    *one["assumptions"],
                    f"Read 'rows' as groups of {hide.group!r}: rows of one group hold one value, all groups have as "
                    "many rows, and what is drawn was drawn once for each group.",
                ],
            }
    for name, link in specification.linked.items():
        columns[name] = {
            "done": "linked",
            "to": link.to,
            "factor": link.factor,
            "says": f"Moved along with {link.to!r}, of which one unit is {link.factor:g} of its own: whoever guesses "
            "the move of one knows that of the other.",
        }
    for name, derive in specification.derived.items():
        columns[name] = {
            "done": "derived",
            "expression": str(derive.expression),
            "says": "Worked out of the released columns; it tells nothing beyond them.",
        }
    columns |= {name: {"done": "kept", "says": "Published as it is."} for name in kept}
    columns |= {name: {"done": "dropped", "says": "Left out."} for name in dropped}
    return {
        "format": FORMAT,
        "version": TABLE_VERSION,
        "says": "Public. Describes how the table was released; holds nothing computed from the original table but the "
        "names of its columns and the number of its rows.",
        "guarantee": {
            "risk": plan.risk,
            "risk_kind": plan.risk_kind,
            "dependence": plan.dependence,
            "says": f"Under the stated priors, anyone who sees the released table and knows these plans guesses "
            f"{_any_of(len(plan.secrets))} within its tolerance with probability at most {shown_up(plan.risk)} "
            f"({plan.risk_kind}{f'; statistics taken to be {plan.dependence}' * (len(plan.secrets) > 1)})."
            + _PLANNED_AGAIN
            * planned_again,
            "in_words": table_sentence(plan).says,
        },
        "columns": columns,
        "assumed_of_kept": _assumed(plan, kept),
        "test_seed": test_seed,
        # said only where it is so: cards from before do not speak of it
        **({"planned_again": True} if planned_again else {}),
        "shuffled": specification.shuffle,
        "plan": plan.to_json(),
        "versions": used_versions(),
        "sha256": sha256,
    }


def _beside(plan: TablePlan, column: str, kept: Collection[str], dropped: Collection[str]) -> OtherColumns:
    """What became of the columns beside a hidden one."""
    specification = plan.specification
    others = {
        "kept": kept,
        "hidden": [name for name in specification.hidden if name != column],
        "derived": specification.derived,
        "dropped": dropped,
    }
    return OtherColumns(
        linked=tuple(name for name, link in specification.linked.items() if link.to == column),
        done=frozenset(name for name, columns in others.items() if columns),
    )


def _any_of(secrets: int) -> str:
    return "the hidden statistic" if secrets == 1 else f"at least one of the {secrets} hidden statistics"


def _assumed(plan: TablePlan, kept: Collection[str]) -> list[str]:
    """What the guarantee takes for granted of the columns that are published as they are."""
    hidden = ", ".join(map(repr, [*plan.specification.hidden, *plan.specification.linked]))
    says = [
        "Nothing published elsewhere tells a hidden column row by row (another table of the same people or things).",
    ]
    if not plan.specification.shuffle:
        says.append("The order of the rows tells nothing of a hidden statistic beyond what was checked.")
    if kept:
        listed = ", ".join(map(repr, list(kept)[:20])) + f" and {len(kept) - 20} more" * (len(kept) > 20)
        says = [
            f"The columns that are published as they are ({listed}) tell none of the hidden ones ({hidden}): no copy "
            "in another form, flag, sum, difference, share or total of them, alone or together. They were searched for "
            "these before the release; what is too weak or too intricate to be found was not.",
            "No statistic that is hidden is a public function of the columns that are published as they are.",
            *says,
        ]
    return says


def table_plan_of(card: Mapping[str, Any], source: str) -> TablePlan:
    """The plans on a card."""
    return read_from(card, source, TablePlan.from_json)
