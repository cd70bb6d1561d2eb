"""Counts(of): any discrete distribution of SciPy with one parameter that outsiders do not know."""

from __future__ import annotations

import math
import re
import warnings
from typing import Any, ClassVar

import numpy as np

from statveil.errors import ProblemError, shortened, unknown_name
from statveil.numbers import number
from statveil.numeric import Array
from statveil.problem.families.custom import Custom

__all__ = ["Counts"]

_WRITTEN = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,39})(?:\(([^()]{0,400})\))?")
_FORMS = "write zipf, logser or betabinom(n=20,b=3): every argument but one with its publicly known value"
_TOP = 10_000
"""Largest count of a distribution without end, unless another is given: more counts cost time in proportion."""
_FEW = 256
"""So few counts are taken whole."""
_NOTHING = 1e-17
"""A share of which a sum of doubles near 1 shows nothing."""
_BETWEEN = (-math.inf, 0.0, 1.0, math.inf)
"""Where the domain of a real parameter of SciPy's begins or ends."""
_INSIDE = ((-7.3, -1.5, -0.4), (0.3, 0.5, 0.7), (1.5, 2.5, 7.3))


class Counts(Custom):
    """Counts from 0 up, of a discrete distribution of SciPy: one argument is unknown, the others are public.

    Parameters
    ----------
    of : str
        The distribution with its known arguments by name, as in ``"betabinom(n=20,b=3)"``; the one that is left out is
        the parameter of the prior, here ``a``.
    top : int, optional
        Larger counts are left out of the sums, where the distribution does not end before; one whose mean or spread
        hangs on them by more than 1e-5 is refused. The standard value is 10,000. In the text: ``"zipf(top=50000)"``.

    Examples
    --------
    >>> import statveil as sv
    >>> words = sv.Counts("zipf")
    >>> words.params[0].name, round(float(words.mean({"a": 4.0})), 6)  # zeta(3) / zeta(4)
    ('a', 1.110627)
    """

    name: ClassVar[str] = "counts"
    doc: ClassVar[str] = "any discrete distribution of SciPy with one unknown argument, written counts:zipf"
    portable: ClassVar[bool] = True
    discrete: ClassVar[bool] = True
    unresolved: ClassVar[float] = 1e-5

    def __init__(self, of: str, *, top: int | None = None) -> None:
        name, given = _read(of)
        if "top" in given and top is None:
            stated = given.pop("top")
            top = int(stated) if stated.is_integer() else 0  # 0 is refused below
        dist = _distribution(name)
        free = _unknown(dist, name, given)
        low, high = _domain(dist, name, free, given)
        self._dist: Any = dist
        self._known, self._given_top = given, top
        inside = 0.5 if high == 1 else max(low, 0.0) + 1.5
        smallest, end = (float(value) for value in dist.support(**{free: inside}, **given))
        if not smallest >= 0:
            raise ProblemError(
                f"the distribution {name!r} has values below 0; counts are whole numbers from 0 up. Use a column of "
                "any shape with a step instead: leave out --family and declare --known step=1."
            )
        whole = ",".join(f"{key}={repr(value).removesuffix('.0')}" for key, value in given.items())
        self.of = f"{name}({whole})" if whole else name
        limit = _TOP if top is None else top
        super().__init__(
            parameter=free,
            domain=(low, high),
            pmf=lambda k, theta: dist.pmf(k, **{free: theta}, **given),
            top=limit if not isinstance(limit, int) or end > limit else max(1, int(end)),
            label=f"{self.name}:{self.of}",
        )

    @classmethod
    def example(cls) -> Counts:
        return cls("betabinom(n=20,b=3)")

    @property
    def label(self) -> str:
        return self._label

    def settings(self) -> dict[str, Any]:
        return {"of": self.of} | ({} if self._given_top is None else {"top": self._given_top})

    def _counts(self, theta: Array) -> Array:
        """Only the counts that some of these parameters reach: far ones have no share that a sum would show."""
        last = len(self._x) - 1
        if last <= _FEW:
            return self._x
        ladder = np.unique(np.minimum(np.append(2.0 ** np.arange(3, last.bit_length() + 1), last), last))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            beyond = self._dist.sf(ladder, **{self._parameter: np.unique(theta)[:, None]}, **self._known)
        shown = ~np.all(beyond < _NOTHING, axis=0)  # what is no number counts as shown
        first = int(np.flatnonzero(shown)[-1]) + 1 if shown.any() else 0
        return self._x if first >= len(ladder) else self._x[: int(ladder[first]) + 1]

    def __repr__(self) -> str:
        return f"Counts({self.of!r}{'' if self._given_top is None else f', top={self._given_top}'})"


def _read(of: Any) -> tuple[str, dict[str, float]]:
    """Name and known arguments of a distribution as people write it."""
    found = _WRITTEN.fullmatch(of.strip()) if isinstance(of, str) and len(of) <= 500 else None
    if found is None:
        raise ProblemError(f"counts need a discrete distribution of SciPy. Got {shortened(str(of))!r}; {_FORMS}.")
    given: dict[str, float] = {}
    for part in (found[2] or "").split(",") if (found[2] or "").strip() else []:
        key, equals, value = (text.strip() for text in part.partition("="))
        if not equals or not key:
            raise ProblemError(
                f"the known arguments of counts are given by name. Got {shortened(part)!r} in {shortened(of)!r}; "
                f"{_FORMS}."
            )
        if key in given:
            raise ProblemError(f"the argument {key!r} stands twice in {shortened(of)!r}; keep one of them.")
        try:
            given[key] = number(float(value), f"the argument {key!r} of {found[1]!r}")
        except ValueError:
            raise ProblemError(
                f"the argument {key!r} of {found[1]!r} must be a number. Got {shortened(value)!r}."
            ) from None
    return found[1], given


def _distribution(name: str) -> Any:
    from scipy import stats

    found = vars(stats).get(name)
    if not isinstance(found, stats.rv_discrete):
        names = sorted(key for key, value in vars(stats).items() if isinstance(value, stats.rv_discrete))
        raise ProblemError(unknown_name("discrete distribution", name, names))
    return found


def _unknown(dist: Any, name: str, given: dict[str, float]) -> str:
    """The one argument that is not given."""
    needed = [str(part).strip() for part in dist.shapes.split(",")]
    if extra := [key for key in given if key not in needed]:
        raise ProblemError(unknown_name(f"argument of {name!r}", extra[0], needed))
    left = [key for key in needed if key not in given]
    if len(left) != 1:
        known = ",".join(f"{key}=..." for key in needed[: max(len(needed) - 1, 0)])
        raise ProblemError(
            f"counts have one parameter that outsiders do not know. {name!r} has the arguments {', '.join(needed)}, "
            f"of which {', '.join(left) if left else 'none'} {'are' if len(left) > 1 else 'is'} left open; give all "
            f"but one of them{f', as in counts:{name}({known})' if known else ''}."
        )
    return left[0]


def _domain(dist: Any, name: str, free: str, given: dict[str, float]) -> tuple[float, float]:
    """Where SciPy has the distribution, by its support at trial values: it has none outside."""

    def there(theta: float) -> bool:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return not bool(np.isnan(dist.support(**{free: theta}, **given)[0]))
            except (TypeError, ValueError):
                return False

    parts = [i for i, trials in enumerate(_INSIDE) if all(there(theta) for theta in trials)]
    if not parts:
        others = ", ".join(f"{key}={value:g}" for key, value in given.items()) or "no other argument"
        raise ProblemError(
            f"the discrete distribution {name!r} has no range of {free!r} with {others}: the open argument must be a "
            "real number (leave open another one where it is a whole number), and the given ones must be possible."
        )
    return _BETWEEN[parts[0]], _BETWEEN[parts[-1] + 1]
