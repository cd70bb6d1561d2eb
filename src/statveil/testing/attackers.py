"""Conformance of an attacker: harmless against a sound release, and it finds what it was made to find."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from statveil.auditing.attacker import ATTACKERS, Attacker
from statveil.auditing.audit import Audit, audit
from statveil.made_plan import Plan
from statveil.problem.structure import Structure
from statveil.tables.release import release
from statveil.testing.comparison import same

__all__ = ["Attacked", "check_attacker"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attacked:
    """A table and the plan it is released under, and what attackers know besides.

    Parameters
    ----------
    plan : Plan
        The plan.
    table : object
        The original, as :func:`statveil.release` takes it.
    column : str, optional
        The column to release.
    accept : collection of str
        Leaks that are accepted, as for :func:`statveil.release`: a positive control has one.
    known : Structure, optional
        Structure that attackers know, as for :func:`statveil.audit`.
    records : sequence of (int, float)
        True records that attackers know.
    """

    plan: Plan
    table: Any
    column: Any = None
    accept: Collection[str] = ()
    known: Structure | None = None
    records: Sequence[tuple[int, float]] = ()


def check_attacker(
    attacker: type[Attacker],
    *,
    sound: Attacked,
    control: Attacked | None = None,
    elsewhere: Attacked | None = None,
    trials: int = 400,
    seed: int = 0,
) -> None:
    """An attacker on tables of three sorts, by the rates of :func:`statveil.audit`.

    Parameters
    ----------
    attacker : type
        The registered attacker.
    sound : Attacked
        A release that keeps its promise: the attacker must apply, and its rate must not be above the plan's risk
        beyond its interval.
    control : Attacked, optional
        A release with the leak that the attacker is for: its whole interval must lie above the plan's risk. Without
        one nothing says that the attacker finds anything.
    elsewhere : Attacked, optional
        A release for which the attacker says that it does not apply.
    trials : int
        Tables to attack at most.
    seed : int
        To repeat a check.
    """
    name = attacker.name
    same(ATTACKERS.get(name) is attacker, f"the attacker {name!r} is not registered under its name")
    same(bool(attacker.doc) and bool(attacker.remedy), f"the attacker {name!r} lacks its 'doc' or its 'remedy'")
    found = _audited(name, sound, trials, seed)
    same(name not in found.not_applicable, f"{name!r} does not apply to the sound release; take one that it attacks")
    (one,) = (finding for finding in found.findings if finding.attacker == name)
    same(
        one.low <= one.claimed,
        f"{name!r} hits a sound release with probability {one.low:.3g} to {one.high:.3g}, more than the risk "
        f"{one.claimed:.3g}: the release is not sound, or the attacker sees what a receiver has not",
    )
    (again,) = (finding for finding in _audited(name, sound, trials, seed).findings if finding.attacker == name)
    same(again == one, f"{name!r} guesses otherwise when it is asked again with the same seed")
    if control is not None:
        leak = _audited(name, control, trials, seed)
        same(name not in leak.not_applicable, f"{name!r} does not apply to the positive control")
        (hit,) = (finding for finding in leak.findings if finding.attacker == name)
        same(
            hit.low > hit.claimed,
            f"{name!r} does not find the leak of the positive control: it hits with probability {hit.low:.3g} to "
            f"{hit.high:.3g}, and the risk is {hit.claimed:.3g}",
        )
    if elsewhere is not None:
        other = _audited(name, elsewhere, trials, seed)
        same(name in other.not_applicable, f"{name!r} applies where it is said not to")


def _audited(name: str, case: Attacked, trials: int, seed: int) -> Audit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a holder should know is for a holder
        released = release(case.plan, case.table, column=case.column, accept=tuple(case.accept), seed=seed)
    return audit(
        case.plan,
        case.table,
        released,
        column=case.column,
        known=case.known,
        records=case.records,
        attackers=[name, "prior"] if name != "prior" else [name],
        trials=trials,
        seed=seed,
    )
