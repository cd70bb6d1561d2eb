"""The ledger: what was released of each column, what that tells together, and how much it may."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from statveil.errors import BudgetError, FileError, ProblemError
from statveil.ledger.account import Counted, Decision, decide, refuse
from statveil.ledger.entry import STATES, checked_column, checked_name
from statveil.ledger.store import Store, append, entry, last
from statveil.made_plan import Plan
from statveil.numbers import number
from statveil.problem.secret import Secret, secret_from_text
from statveil.problem.secrets.rows import ROWS

if TYPE_CHECKING:
    from statveil.ledger.keeper import Keeper
    from statveil.ledger.verifying import LedgerCheck
    from statveil.ledger.view import LedgerView

__all__ = ["EVERYONE", "Ledger", "Pending", "plan_text", "standing"]

EVERYONE = "everyone"
"""The audience of a release where none is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A release whose entry stands and of which it is not yet known whether its output got its name."""

    number: int
    at: str
    dataset: str
    column: str
    target: Path | None
    sha256: str | None
    run: str | None
    """What the run wrote into its work folder, so that what it left there is known for its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """What stands of one column: enough to decide, however many entries there are."""

    counted: tuple[Counted, ...]
    budgets: tuple[tuple[str, float, int], ...]

    @property
    def limits(self) -> dict[str, float]:
        return {secret: most for secret, most, _ in self.budgets}

    def same(self, other: _Column) -> bool:
        """Whether a decision on the one is a decision on the other."""
        return self.budgets == other.budgets and [(one.sha256, one.made) for one in self.counted] == [
            (one.sha256, one.made) for one in other.counted
        ]


class Ledger:
    """An append-only book of releases in one SQLite file, with a budget for the joint risk of each secret.

    It holds plans, names, hashes of outputs and times; never the true statistic, a seed or a coefficient. All releases
    of a column under one dataset name count together, whoever got them.

    Parameters
    ----------
    path : path
        A ledger, made by :meth:`create` or ``statveil ledger init``.

    Examples
    --------
    >>> import tempfile, statveil as sv
    >>> problem = sv.Problem(secret=sv.Mean(), prior=(0, 100), tolerance=1)
    >>> ten, seven = sv.plan(problem, bin=10), sv.plan(problem, bin=7)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = sv.Ledger.create(f"{folder}/books.db")
    ...     _ = ledger.set_budget(0.3, dataset="staff", column="wage", secret="mean")
    ...     _ = ledger.add(ten, dataset="staff", column="wage")
    ...     (account,) = ledger.check(seven, dataset="staff", column="wage").accounts
    >>> account.before, round(account.after, 6), account.budget, account.fits
    (0.2, 0.43, 0.3, False)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._store = Store(path)

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Ledger:
        """Make a new, empty ledger; only its owner can read it."""
        made = cls(path)
        made._store.create()
        return made

    @property
    def path(self) -> Path:
        """Where it is."""
        return self._store.path

    @property
    def head(self) -> str:
        """The hash that all entries so far lead to: note it elsewhere, and :meth:`verify` shows what was changed."""
        with self._store.reading() as db:
            return last(db)[1]

    def keeper(self, *, dataset: str, budget: float | None = None, audience: str = EVERYONE) -> Keeper:
        """What keeps account of one release of a dataset: for ``sv.release_file(..., ledger=...)``."""
        from statveil.ledger.keeper import Keeper

        return Keeper(self, dataset=dataset, budget=budget, audience=audience)

    # --- deciding ---------------------------------------------------------------------------------
    def check(
        self, plan: Plan, *, dataset: str, column: str, budget: float | None = None, recorded: bool = True
    ) -> Decision:
        """What a release under a plan would do to the accounts of a column; no data is read, nothing is entered.

        Parameters
        ----------
        plan : Plan
            Under which the column would be released.
        dataset, column : str
            Names; under one dataset name the rows must stay the same.
        budget : float, optional
            Largest joint risk of the plan's secret, where none is set yet.
        recorded : bool
            Whether the release keeps a record, so that what is drawn at random is drawn once.
        """
        asked = Counted(plan=plan, sha256=plan_text(plan)[1], made=() if recorded else (("", ""),))
        with self._store.reading() as db:
            _refuse_lengths(db, plan, dataset, column)
            state = _state(db, dataset, column)
        return decide(asked, state.counted, _limits(state, plan, budget))

    # --- entering ---------------------------------------------------------------------------------
    def set_budget(self, max_risk: float, *, dataset: str, column: str, secret: str | Secret) -> int:
        """Set the largest joint risk of a secret of a column, or change it: an entry of its own, whose number it gives.

        Nothing that was released is taken back where it is lowered.
        """
        checked_name(dataset, "the dataset"), checked_column(column)
        named = secret_from_text(secret, _parsed) if isinstance(secret, str) else secret
        most = _checked_risk(max_risk)
        with self._store.writing() as db:
            return append(db, "budget", dataset=dataset, column=column, secret=named.label, max_risk=most)

    def add(
        self,
        plan: Plan,
        *,
        dataset: str,
        column: str,
        audience: str = EVERYONE,
        budget: float | None = None,
        sha256: str | None = None,
    ) -> int:
        """Enter a release that was made otherwise, such as one in memory or from before the ledger; its number.

        It is refused where it passes the budget; to enter it all the same, as it has happened, raise the budget first.
        """
        made = self.enter(plan, dataset=dataset, column=column, audience=audience, budget=budget, sha256=sha256)
        self.finish(made, "done", how="added")
        return made

    def enter(
        self,
        plan: Plan,
        *,
        dataset: str,
        column: str,
        audience: str = EVERYONE,
        budget: float | None = None,
        sha256: str | None = None,
        source: str | None = None,
        target: Path | None = None,
        run: str | None = None,
        accepted: Sequence[str] = (),
        shuffled: bool = False,
    ) -> int:
        """Enter a release that is about to happen, as pending, on the disk when this returns; its number.

        Raises
        ------
        BudgetError
            The joint risk would pass a budget.
        FileError
            The ledger cannot be written; nothing was entered.
        """
        checked_name(dataset, "the dataset"), checked_column(column), checked_name(audience, "the audience")
        text, mark = plan_text(plan)
        asked = Counted(plan=plan, sha256=mark, made=((sha256 or "", source or ""),))
        with self._store.reading() as db:
            state = _state(db, dataset, column)
        while True:  # decided without keeping others from writing, and again where they wrote something that matters
            limits = _limits(state, plan, budget)
            refuse(decide(asked, state.counted, limits), dataset=dataset, column=column)
            with self._store.writing() as db:
                _refuse_lengths(db, plan, dataset, column)
                now = _state(db, dataset, column)
                if not now.same(state):
                    state = now
                    continue
                secret = plan.problem.secret.label
                if secret in limits and secret not in state.limits:
                    facts = {"dataset": dataset, "column": column, "secret": secret, "max_risk": limits[secret]}
                    append(db, "budget", **facts)
                db.execute("INSERT OR IGNORE INTO plans VALUES (?, ?)", (mark, text))
                return append(
                    db,
                    "release",
                    dataset=dataset,
                    column=column,
                    audience=audience,
                    plan=mark,
                    mode=plan.mode,
                    output=sha256,
                    source=source,
                    target=None if target is None else os.path.realpath(target),
                    run=run,
                    accepted=list(accepted),
                    shuffled=shuffled,
                    state=STATES[0],
                )

    def finish(self, number: int, state: str, *, how: str = "by hand") -> str:
        """Enter that a pending release got its place (``done``) or never did (``abandoned``); the head after that."""
        if state not in STATES[1:]:
            raise ProblemError(f"a release is finished as {' or '.join(STATES[1:])}. Got {state!r}.")
        with self._store.writing() as db:
            if db.execute("SELECT 1 FROM unfinished WHERE entry = ?", (number,)).fetchone() is None:
                raise ProblemError(f"entry {number} is no unfinished release; 'statveil ledger show' lists those.")
            append(db, "state", entry=number, state=state, how=how)
            return last(db)[1]

    # --- looking ----------------------------------------------------------------------------------
    def pending(self, target: Path | None = None) -> tuple[Pending, ...]:
        """Releases that are not finished; those to one output where that is given."""
        with self._store.reading() as db:
            numbers = [int(row[0]) for row in db.execute("SELECT entry FROM unfinished ORDER BY entry")]
            found = [_pending(entry(db, each)) for each in numbers]
        if target is None:
            return tuple(found)
        real = Path(os.path.realpath(target))
        return tuple(each for each in found if each.target == real)

    def seen(self, *, dataset: str, column: str, source: str | None, sha256: str | None) -> bool | None:
        """Whether it is proven that a column's input is that of an earlier release; None where there is none."""
        with self._store.reading() as db:
            where = "FROM outputs WHERE dataset = ? AND column_name = ? AND releases > 0"
            if db.execute(f"SELECT 1 {where} LIMIT 1", (dataset, column)).fetchone() is None:
                return None
            same = [("source", source), ("output", sha256)]
            return any(
                value and db.execute(f"SELECT 1 {where} AND {name} = ? LIMIT 1", (dataset, column, value)).fetchone()
                for name, value in same
            )

    def show(self, *, dataset: str | None = None, column: str | None = None) -> LedgerView:
        """What stands: columns with their releases, joint risks and budgets, and what is unfinished."""
        from statveil.ledger.view import view

        return view(self._store, dataset=dataset, column=column)

    def verify(self, head: str | None = None) -> LedgerCheck:
        """Whether the file is whole, its chain unbroken, and ``head``, noted earlier, one of its links."""
        from statveil.ledger.verifying import verified

        return verified(self._store, head)

    def resolve(self) -> tuple[tuple[Pending, str], ...]:
        """Settle every pending release of which it can be seen whether its output got its place.

        Done where the output is there with its hash. Abandoned where the very run left it in its work folder, so that
        it never left that. All else stays pending, and counts: an output that is gone may have been given away.
        """
        from statveil.ledger.keeper import settled

        return tuple((each, settled(self, each)) for each in self.pending())


def standing(db: sqlite3.Connection, dataset: str, column: str) -> tuple[Counted, ...]:
    """The plans under which a column was released, each once."""
    where, key = "dataset = ? AND column_name = ? AND releases > 0", (dataset, column)
    plans = f"SELECT plan, content FROM standing LEFT JOIN plans ON plan = sha256 WHERE {where} ORDER BY plan"
    counted = []
    for mark, content in db.execute(plans, key).fetchall():
        each = Counted(plan=_plan(mark, content), sha256=mark)
        if each.draws:
            made = db.execute(f"SELECT output, source FROM outputs WHERE {where} AND plan = ?", (*key, mark)).fetchall()
            each = Counted(plan=each.plan, sha256=mark, made=tuple(made))
        counted.append(each)
    return tuple(counted)


def _refuse_lengths(db: sqlite3.Connection, plan: Plan, dataset: str, column: str) -> None:
    """Refuse to hide the number of rows of a table that was released whole, and to release one whole that hides it."""
    where = "FROM standing WHERE dataset = ? AND releases > 0 AND column_name"
    if plan.release_mode.of_table:
        whole = db.execute(f"SELECT column_name {where} <> ? LIMIT 1", (dataset, column)).fetchone()
        if whole is not None:
            raise BudgetError(
                f"the number of rows of {dataset!r} is public: its column {whole[0]!r} was released with all of them. "
                "Hide it under another dataset name if these are other rows."
            )
    elif column != ROWS and db.execute(f"SELECT 1 {where} = ? LIMIT 1", (dataset, ROWS)).fetchone() is not None:
        raise BudgetError(
            f"the number of rows of {dataset!r} is hidden, and a release of its column {column!r} would show all of "
            "them. Release the column of the part that was released, under a dataset name of its own."
        )


def _state(db: sqlite3.Connection, dataset: str, column: str) -> _Column:
    """What stands of a column: its plans, each once, and its budgets."""
    where = "dataset = ? AND column_name = ? ORDER BY secret"
    budgets = db.execute(f"SELECT secret, max_risk, entry FROM budgets WHERE {where}", (dataset, column)).fetchall()
    return _Column(counted=standing(db, dataset, column), budgets=tuple(budgets))


def plan_text(plan: Plan) -> tuple[str, str]:
    """The text of a plan, and the hash by which its private record names it too."""
    text = json.dumps(plan.to_json(), sort_keys=True)
    return text, hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=512)
def _plan(mark: str, content: str | None) -> Plan:
    """A plan by its text, which must be the one that its name says."""
    damaged = "a plan in the ledger is damaged; 'statveil ledger verify' says which. Restore the ledger from a copy."
    # by its text, and not by what this version would write: plans of earlier versions stay what they were
    if content is None or hashlib.sha256(content.encode()).hexdigest() != mark:
        raise FileError(damaged)
    return Plan.from_json(json.loads(content))


def _limits(state: _Column, plan: Plan, budget: float | None) -> dict[str, float]:
    """The budgets of a column, with the one that is given now for the plan's secret."""
    limits, secret = state.limits, plan.problem.secret.label
    if budget is None:
        return limits
    most = _checked_risk(budget)
    if secret in limits and limits[secret] != most:
        at = next(number for name, _, number in state.budgets if name == secret)
        raise BudgetError(
            f"the budget of the {secret} was set to {limits[secret]:g} in entry {at}, and is not changed by a release. "
            f"Got {most:g}; leave out the budget, or change it with 'statveil ledger budget'."
        )
    return {**limits, secret: most}


def _checked_risk(value: float) -> float:
    most = number(value, "the budget")
    if not 0 < most <= 1:
        raise ProblemError(f"the budget is a joint risk, above 0 and at most 1. Got {most:g}.")
    return most


def _parsed(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ProblemError(f"{what} must be a number. Got {text!r}.") from None


def _pending(found: dict[str, Any] | None) -> Pending:
    if found is None:
        raise FileError("an unfinished entry is missing; 'statveil ledger verify' says what else is wrong.")
    target = found["target"]
    return Pending(
        number=found["number"],
        at=found["at"],
        dataset=found["dataset"],
        column=found["column"],
        target=None if target is None else Path(target),
        sha256=found["output"],
        run=found["run"],
    )
