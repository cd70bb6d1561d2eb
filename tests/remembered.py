"""Searches that many tests repeat, in tests: once for each question.

The same mechanism is designed, and the same column is searched for structure, by tests of several modes, formats or
ways; both depend on nothing but what they are given. What a plan then states of its mechanism is worked out every time.
"""

from __future__ import annotations

import json
import pickle
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np

from statveil import accounting

__all__ = ["OnceForEachColumn", "OnceForEachGoal", "OnceForEachTable"]

_KEPT = 2_000
_SHORT = 50_000


class _Kept:
    """A function with its last answers kept."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.answers: OrderedDict[Any, Any] = OrderedDict()

    def answer(self, key: Any, *arguments: Any, **options: Any) -> Any:
        if key in self.answers:
            self.answers.move_to_end(key)
        else:
            self.answers[key] = self.function(*arguments, **options)
            if len(self.answers) > _KEPT:
                self.answers.popitem(last=False)
        return self.answers[key]


class OnceForEachColumn(_Kept):
    """A search for structure; a column is known by its bytes."""

    def __call__(self, values: Any, **options: Any) -> Any:
        rows = np.asarray(values)
        known = blake2b(rows.tobytes()).digest(), rows.dtype.str, rows.shape
        # what was counted of the column before follows from it
        asked = sorted((name, option) for name, option in options.items() if name != "counted")
        found = self.answer((known, *asked), values, **options)
        return list(found) if isinstance(found, list) else found


class OnceForEachTable(_Kept):
    """A search in the rows that were kept of a table, for short ones."""

    def __call__(self, sample: Any) -> Any:
        if len(sample.values) * len(sample.labels) > _SHORT:
            return self.function(sample)
        return iter(self.answer(blake2b(pickle.dumps(sample)).digest(), sample))


class OnceForEachGoal(_Kept):
    """The choice of a mechanism, for problems that can be written down, if nobody listens and nothing is replaced."""

    honest = staticmethod(accounting.risk)

    def __call__(self, problem: Any, goal: Any, *, progress: Any = None, **options: Any) -> Any:
        heard = progress is not None and progress.__closure__ is not None
        portable = problem.family.portable and problem.secret.portable
        if heard or not portable or accounting.risk is not self.honest:
            return self.function(problem, goal, progress=progress, **options)
        # by their classes too: tests give one name to several
        kinds = type(problem.family), type(problem.secret), repr(goal), *sorted(options.items())
        return self.answer((kinds, json.dumps(problem.to_json())), problem, goal, progress=progress, **options)
