"""Categorical: any shares of a fixed list of categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError, unknown_name
from statveil.problem.domain import Param
from statveil.problem.family import Family
from statveil.problem.tolerance import Relative

__all__ = ["Categorical"]


class Categorical(Family):
    """Shares of two or more categories without an order; they sum to 1.

    Parameters
    ----------
    labels : sequence of str, optional
        Names of the categories, which are also the names of the parameters.
    categories : int, optional
        Number of categories; without labels they are called ``p0``, ``p1``, ...
    """

    name: ClassVar[str] = "categorical"
    doc: ClassVar[str] = "any shares of a fixed list of categories"
    secrets: ClassVar[tuple[str, ...]] = ("fraction",)
    distances: ClassVar[tuple[str, ...]] = ("tv",)
    discrete: ClassVar[bool] = True
    takes_ranges: ClassVar[bool] = False

    def __init__(self, *, labels: Sequence[str] | None = None, categories: int | None = None) -> None:
        if categories is not None and (isinstance(categories, bool) or not isinstance(categories, int)):
            raise ProblemError(f"the number of categories must be a whole number from 2 up. Got {categories!r}.")
        if categories is not None and not 2 <= categories <= 10_000:
            raise ProblemError(
                f"a categorical family needs two or more categories. Got {categories}; 10,000 are the most."
            )
        if labels is None:
            if categories is None:
                raise ProblemError(
                    "a categorical family needs its categories. Got neither; give labels=['yes', 'no'] or categories=2."
                )
            labels = [f"p{i}" for i in range(categories)]
        self.labels = _checked(labels)
        if len(self.labels) < 2:
            raise ProblemError(
                f"a categorical family needs two or more categories. Got {len(self.labels)}; "
                "one category always has the share 1."
            )
        if categories is not None and categories != len(self.labels):
            raise ProblemError(
                f"the number of categories and the labels disagree. Got categories={categories} and "
                f"{len(self.labels)} labels; leave out 'categories'."
            )

    @classmethod
    def example(cls) -> Categorical:
        return cls(categories=4)

    def tolerated(self, tolerance: float | Relative) -> float:
        if isinstance(tolerance, Relative):
            raise ProblemError(
                f"a share has no relative tolerance: it is one itself. Got {tolerance}; write {tolerance.share:g} for "
                f"{100 * tolerance.share:g} percentage points of all rows."
            )
        return tolerance

    @property
    def params(self) -> tuple[Param, ...]:
        usual = 1 / len(self.labels)
        return tuple(
            Param(name=label, low=0.0, high=1.0, typical=(0.5 * usual, 1.5 * usual), doc=f"share of {label}")
            for label in self.labels
        )

    def settings(self) -> dict[str, Any]:
        return {"labels": list(self.labels)}

    def category_index(self, category: int | str) -> int:
        # A label wins: with the labels "1", "2", "3" the category 1 is the one called "1", not the second.
        text = str(category)
        if text in self.labels:
            return self.labels.index(text)
        try:
            number = -1 if isinstance(category, bool) else int(text)
        except ValueError:
            raise ProblemError(unknown_name("category", text, self.labels)) from None
        if not 0 <= number < len(self.labels):
            raise ProblemError(
                f"the number of a category must be from 0 to {len(self.labels) - 1}. Got {category!r}; "
                f"or use a label: {', '.join(self.labels)}."
            )
        return number

    def support_top(self, params: Mapping[str, ArrayLike]) -> int:
        """Give the number of the last category."""
        return len(self.labels) - 1

    # --- the distribution ---------------------------------------------------------------------
    def pmf(self, k: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        number = np.asarray(k, dtype=np.float64)
        total: NDArray[np.float64] = np.zeros(())
        for i, label in enumerate(self.labels):
            total = total + np.where(number == i, np.asarray(params[label], dtype=np.float64), 0.0)
        return total

    def sample(self, params: Mapping[str, float], size: int, rng: Generator) -> NDArray[np.float64]:
        shares = np.array([float(params[label]) for label in self.labels])
        if not (np.all(shares >= 0) and abs(shares.sum() - 1) <= 1e-9):
            raise ProblemError(
                f"the shares must be 0 or more and sum to 1. Got {', '.join(f'{s:g}' for s in shares)} "
                f"(sum {shares.sum():g}); divide them by their sum."
            )
        return rng.choice(len(shares), size=size, p=shares / shares.sum()).astype(np.float64)

    def tv(self, a: Mapping[str, ArrayLike], b: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        total: NDArray[np.float64] = np.zeros(())
        for label in self.labels:
            total = total + np.abs(np.asarray(a[label], dtype=np.float64) - np.asarray(b[label], dtype=np.float64))
        return 0.5 * total

    # --- what makes no sense without numbers --------------------------------------------------
    def mean(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        self._refuse("mean")

    def std(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        self._refuse("standard deviation")

    def quantile(self, alpha: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        self._refuse("quantile")

    def cdf(self, x: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        self._refuse("distribution function")

    def _refuse(self, what: str) -> NoReturn:
        raise ProblemError(
            f"categories are neither numbers nor ordered, so {self.name!r} has no {what}. "
            "Its secret is the share of one category, fraction:LABEL, and its distance is 'tv'."
        )


def _checked(labels: Sequence[str]) -> tuple[str, ...]:
    """Give the labels, or an error where they are not a list of different, non-empty names."""
    if isinstance(labels, str):
        raise ProblemError(f"the labels must be a list of names. Got the text {labels!r}; write [{labels!r}, ...].")
    names = tuple(labels)
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise ProblemError(f"every label must be a text that is not empty. Got {name!r}.")
        if any("\ud800" <= letter <= "\udfff" for letter in name):  # no file in UTF-8 can hold it
            raise ProblemError(f"every label must be text that can be written as UTF-8. Got {name!r}; write it anew.")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ProblemError(f"every label must be different. Got {twice[0]!r} more than once; rename one of them.")
    return names
