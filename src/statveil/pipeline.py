"""A release as a step of a scikit-learn pipeline: what moves the column is decided once and used again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import polars as pl

from statveil.errors import ColumnError, TableError
from statveil.made_plan import Plan
from statveil.specification.planned import TablePlan
from statveil.tables.changes import Changes
from statveil.tables.frames import open_frame
from statveil.tables.frames.frame import Frame
from statveil.tables.record import Lent
from statveil.tables.table_task import WholeTable
from statveil.tables.task import OneColumn, Task
from statveil.tables.verification import Verifier

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_array
except ImportError as error:  # pragma: no cover - the message is tested in a process without it
    raise ImportError(
        "a release as a step of a pipeline needs scikit-learn, which is not installed: pip install 'statveil[sklearn]'."
    ) from error

__all__ = ["ReleaseTransformer"]


class ReleaseTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Releases a column, or all columns of a specification, inside a scikit-learn pipeline.

    ``fit`` measures and checks the table as :func:`release` does and decides how its rows move. ``transform`` moves
    rows that way, of the same table or of later batches: deciding again for every batch would be a release of its own
    each time, and together these tell more than the plan states. The guarantee is about the statistic of the rows
    that were fitted. Fitted again with the same rows it draws the same numbers; a clone draws its own.

    Where rows are drawn by chance (``rank``, ``model``, ``smooth``, ``jitter``, ``unit``, ``category``) what becomes
    of a row depends on all of them, so only the table that was fitted can be transformed; likewise where two groups
    of its rows move apart (``group-scale``, ``group-shift``).

    Parameters
    ----------
    plan : Plan or TablePlan
        Made before, without data.
    column : str or int, optional
        The column to release; the number of a column for a plain array. Left out for a specification and for a table
        of one column.
    accept : collection of str
        Leaks to accept, by the names that a refusal gives.
    seed : int, optional
        For tests only; see :func:`release`.

    Attributes
    ----------
    card_ : dict
        How the table was released, with the guarantee and its assumptions. Public.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> import statveil as sv
    >>> problem = sv.Problem(secret=sv.Mean(), prior=sv.Flat(0, 100), tolerance=1)
    >>> rows = np.random.default_rng(0).normal(47, 9, size=(400, 2))
    >>> step = sv.ReleaseTransformer(sv.plan(problem, max_risk=0.2), column=0).fit(rows)
    >>> print(round(step.transform(rows)[:, 0].mean(), 2))
    45.0
    """

    def __init__(
        self,
        plan: Plan | TablePlan | None = None,
        *,
        column: str | int | None = None,
        accept: Collection[str] = (),
        seed: int | None = None,
    ) -> None:
        self.plan = plan
        self.column = column
        self.accept = accept
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> ReleaseTransformer:  # noqa: N803 - scikit-learn's name
        """Measure and check the table, and decide how its rows move."""
        task = self._task(table := self._table(X, first=True))
        task.check(table)
        sha256 = task.hashed(table)
        ready = task.ready(table, sha256=sha256, lent=self._lent(sha256))
        if ready.shuffle is not None:
            raise TableError("a pipeline keeps the order of the rows: shuffle them before it, and leave out shuffle.")
        self._changes: Changes = ready.changes
        self._fitted: str | None = sha256 if self._drawn(task) else None
        # scikit-learn shows the attributes that end in an underscore, values and all, wherever a notebook does
        self.card_, self._record = ready.card(None), ready.record
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """The table with its rows moved as it was decided; arrays come back as arrays, frames as frames."""
        changes, table = self._decided(), self._table(X, first=False)
        task = self._task(table)
        task.check(table)
        drawn = self._drawn(task)
        if drawn and task.hashed(table) != self._fitted:
            modes = " and ".join(sorted({plan.mode for plan in drawn.values()}))
            does = (
                "draws rows by chance" if any(plan.release_mode.random for plan in drawn.values()) else "moves groups"
            )
            raise TableError(
                f"the mode {modes} {does}, so only the table that was fitted can be transformed. Got "
                "other rows; fit and transform all of them at once, or plan a mode that moves all rows alike."
            )
        for name, plan in task.plans.items():
            if name not in drawn:
                _check_declared(plan, table, table.find(_own(table, name)))
        released = table.released(changes)
        return released.to_numpy() if isinstance(X, np.ndarray | list | tuple) else released

    def private_record(self) -> dict[str, Any]:
        """True statistic, coefficients and secret seed. Private, and so is a saved (pickled) transformer."""
        self._decided()
        return self._record

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, Any]:
        """The columns of a transformed table."""
        changes = self._decided()
        given = getattr(self, "feature_names_in_", None)
        known = [f"x{i}" for i in range(self.n_features_in_)] if given is None else [str(name) for name in given]
        if input_features is not None and [str(name) for name in input_features] != known:
            raise ValueError("input_features is not equal to feature_names_in_")
        left = [name for name in known if name not in {str(one) for one in changes.dropped}]
        return np.array([*left, *(str(name) for name in changes.derived if str(name) not in left)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_changes")

    def _decided(self) -> Changes:
        if not hasattr(self, "_changes"):
            raise NotFittedError("this ReleaseTransformer is not fitted yet: call fit with the table first.")
        return self._changes

    def _lent(self, sha256: str) -> Lent | None:
        """The stream of an earlier fit of the same rows: with two of them they would be blurred, or drawn, twice."""
        earlier = getattr(self, "_record", None)
        if earlier is None or self.seed is not None or earlier["test_seed"] or earlier["input_sha256"] != sha256:
            return None
        return Lent(seed=int(earlier["seed"], 16), releases=tuple(earlier["releases"]))

    def _table(self, given: Any, *, first: bool) -> Frame:
        """The table as a frame with names, which are remembered and compared as scikit-learn does."""
        if isinstance(given, np.ndarray | list | tuple) or not hasattr(given, "columns"):
            whole = check_array(given, dtype=None, ensure_all_finite=False, estimator=self)
            names = [f"x{i}" for i in range(whole.shape[1])]
            # objects are taken one by one: what they have in common is the column's type
            columns = [open_frame(one.tolist() if whole.dtype == object else one).column(None) for one in whole.T]
            frame: Any = pl.DataFrame(dict(zip(names, columns, strict=True)))
            named = None
        else:
            frame, names = given, [str(name) for name in given.columns]
            named = np.array(names, dtype=object)
        if first:
            self.n_features_in_ = len(names)
            if named is not None:
                self.feature_names_in_ = named
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        elif len(names) != self.n_features_in_:
            raise ValueError(
                f"X has {len(names)} features, but ReleaseTransformer is expecting {self.n_features_in_} features as "
                "input."
            )
        elif named is not None and hasattr(self, "feature_names_in_") and list(self.feature_names_in_) != names:
            raise ValueError("The feature names should match those that were passed during fit.")
        return open_frame(frame)

    def _task(self, table: Frame) -> Task:
        if isinstance(self.plan, TablePlan):
            if self.column is not None or tuple(self.accept):
                raise TableError("a specification says what becomes of each column; leave out column and accept.")
            return WholeTable(plan=self.plan, seed=self.seed)
        if not isinstance(self.plan, Plan):
            raise TableError(f"the plan must be a Plan or the TablePlan of a specification. Got {type(self.plan)}.")
        if self.plan.release_mode.of_columns:
            raise TableError(
                "a step of a pipeline releases one column, and this plan is about two; release the table before, with "
                "sv.release."
            )
        column = self.column
        if column is None and len(table.names) == 1:
            column = table.names[0]
        elif isinstance(column, int | np.integer) and column not in table.names:
            if not 0 <= column < len(table.names):
                raise ColumnError(f"the table has columns 0 to {len(table.names) - 1}. Got column {column}.")
            column = table.names[int(column)]
        return OneColumn(plan=self.plan, column=column, accept=self.accept, seed=self.seed)

    @staticmethod
    def _drawn(task: Task) -> Mapping[str, Plan]:
        """The columns whose rows are drawn by chance, or move by which rows of the table they are."""
        modes = {name: plan.release_mode for name, plan in task.plans.items()}
        return {name: plan for name, plan in task.plans.items() if modes[name].random or modes[name].apart}


def _own(table: Frame, name: str) -> Any:
    """The column's name as the table has it."""
    return next((own for own in table.names if str(own) == name), name)


def _check_declared(plan: Plan, table: Frame, column: Any) -> None:
    """Refuse rows that are not what the plan declares of such columns: moved, they would show how far."""
    verifier = Verifier(plan, bits=table.type_of(column).bits)
    start = 0
    for block in table.blocks(column):
        verifier.watch(block, start)
        start += len(block)
    verifier.check_declared(table.label(column))
