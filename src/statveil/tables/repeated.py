"""What a release tells together with the earlier ones of its record: decided from the plans alone, without data."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from statveil.composition import compose
from statveil.errors import StatveilError, StructureError
from statveil.made_plan import Plan
from statveil.plan_file import content_of, plan_from
from statveil.rounding import shown_up
from statveil.specification.planned import TablePlan

__all__ = ["REPEATED", "Notes", "column_notes", "table_entry", "table_notes", "well_formed"]

Notes = tuple[str, ...]

REPEATED = "repeated"
"""The name by which a release is accepted that gives the column away together with earlier ones."""


def column_notes(plan: Plan, releases: Sequence[Mapping[str, Any]], *, column: Any, accepted: Collection[str]) -> Notes:
    """What to say of a release of one column, after those that its record lists; a refusal where all are too much."""
    label = "the column" if column is None else f"column {str(column)!r}"
    earlier = [release.get("plan") for release in releases]
    return (*_together(plan, earlier, label, REPEATED in accepted, "--accept repeated"), *_unknown(earlier))


def table_entry(plan: TablePlan, kept: Collection[str]) -> dict[str, Any]:
    """What a record keeps of a release of a whole table, for those that follow; ``kept`` are published as they are."""
    moved = _followed(plan)
    return {
        "plans": {name: content_of(one) for name, one in plan.plans.items()},
        "linked": {name: {"to": one.to, "factor": one.factor} for name, one in plan.specification.linked.items()},
        "derived": [name for name in plan.specification.derived if moved[name]],
        "kept": [*kept],
    }


def well_formed(release: Mapping[str, Any]) -> bool:
    """Whether an entry of a record is one that :func:`table_entry` makes, or one from before it."""
    if "plans" not in release:
        return True
    linked = release.get("linked")
    return (
        isinstance(release["plans"], dict)
        and isinstance(linked, dict)
        and all(isinstance(one, dict) and {"to", "factor"} <= one.keys() for one in linked.values())
        and all(isinstance(release.get(key), list) for key in ("derived", "kept"))
    )


def table_notes(plan: TablePlan, releases: Sequence[Mapping[str, Any]], kept: Collection[str]) -> Notes:
    """The same as :func:`column_notes` for all columns of a table."""
    known = [release for release in releases if "plans" in release]
    this, followed = table_entry(plan, kept), _followed(plan)
    hidden = plan.specification.hidden
    for release in known:
        for name, why, way in _otherwise(this, release):
            leaders = followed.get(name, ())
            if leaders and all(REPEATED in hidden[leader].accept for leader in leaders):
                continue
            accept = f", or accept it: {_key(leaders)}" if leaders else ""
            raise StructureError(f"column {name!r}: an earlier release of this record {why}; {way}{accept}.")
    notes: list[str] = []
    for name, one in plan.plans.items():
        earlier = [release["plans"][name] for release in known if name in release["plans"]]
        found = _together(one, earlier, f"column {name!r}", REPEATED in hidden[name].accept, _key((name,)))
        notes += [f"Column {name!r}: {note[0].lower()}{note[1:]}" for note in found]
    return (*notes, *_unknown([release.get("plans") for release in releases]))


def _key(columns: Sequence[str]) -> str:
    """How a specification accepts it."""
    return f'accept = ["{REPEATED}"] of {" and ".join(f"the column {name!r}" for name in columns)}'


def _followed(plan: TablePlan) -> dict[str, tuple[str, ...]]:
    """Every column that is not published as it is, with the hidden ones that it moves with or is worked out from."""
    found: dict[str, tuple[str, ...]] = {name: (name,) for name in plan.plans}
    found |= {name: (one.to,) for name, one in plan.specification.linked.items()}
    derived = plan.specification.derived

    def leaders(name: str) -> tuple[str, ...]:
        if name not in found and name in derived:  # a specification has no circles
            needed = sorted(derived[name].expression.columns)
            found[name] = tuple(dict.fromkeys(leader for one in needed for leader in leaders(one)))
        return found.get(name, ())

    for name in derived:
        leaders(name)
    return found


def _done(release: Mapping[str, Any], name: str) -> tuple[Any, ...] | None:
    """How a release treats a column; ``None`` where it tells nothing of it."""
    if name in release["plans"]:
        return ("hid it",)
    if name in release["linked"]:
        link = release["linked"][name]
        return (f"moved it with {link['to']!r}", link["factor"])
    if name in release["derived"]:
        return ("worked it out of hidden columns",)
    return ("published it as it is",) if name in release["kept"] else None


def _otherwise(this: Mapping[str, Any], earlier: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Columns that two releases treat in two ways, each with what that tells and what to do."""
    for name in (*this["kept"], *this["plans"], *this["linked"], *this["derived"]):
        now, before = _done(this, name), _done(earlier, name)
        if before is None or now is None or now == before:
            continue
        if name in this["kept"]:
            yield name, f"{before[0]}, and this one publishes it as it is", "treat it as before, or drop it"
        elif name in earlier["kept"]:
            yield name, f"{before[0]}, so nothing of it can be hidden any more", "keep it as before, or drop it"
        else:
            other = "moves it by another factor" if now[0] == before[0] else "treats it in another way"
            unknown = f"{before[0]}, and this one {other}: what both tell together is not known, it may be everything"
            yield name, unknown, "treat it as before, or drop it"


def _together(plan: Plan, earlier: Sequence[Any], label: str, accepted: bool, accept: str) -> Iterator[str]:
    """The joint risk with earlier plans of a column (theorems of compose); nothing for the same plan again."""
    others = {_text(one): one for one in earlier if one is not None}
    if not others or _text(content_of(plan)) in others:
        return
    after = f"the {len(others)} earlier releases" if len(others) > 1 else "the earlier release"
    try:
        plans = [plan_from(one, source="the plan of an earlier release") for one in others.values()]
        found = compose([*plans, plan])
    except StatveilError as error:
        risk, kind, why = "1", "upper bound", str(error).partition(". ")[0].rstrip(".")
    else:
        risk, kind = shown_up(found.risk), found.risk_kind
        # of two secrets the first entry is for either, and says nothing of why
        why = [each.why for each in found.secrets if shown_up(each.risk) == risk][-1]
    if float(risk) < 1:
        yield f"Together with {after} of this record: joint risk {risk} ({kind})."
        return
    if not accepted:
        raise StructureError(
            f"{label}: together with {after} of this record, under other plans, the joint risk is 1 ({why}); release "
            f"the same plan again, plan the next one with 'plan --after', or accept it: {accept}."
        )
    yield f"Together with {after} of this record: joint risk {risk} ({kind}), which was accepted: {why}."


def _unknown(earlier: Sequence[Any]) -> Notes:
    """Releases from before their plans were recorded."""
    count = sum(one is None for one in earlier)
    if not count:
        return ()
    what = f"{count} earlier releases" if count > 1 else "an earlier release"
    return (f"The record lists {what} without the plan: what all releases tell together is not known here.",)


def _text(content: Any) -> str:
    return json.dumps(content, sort_keys=True)
