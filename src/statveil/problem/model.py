"""A public shape at any value of the secret: what a column is redrawn from. Nothing here reads a table.

The rows are out(place + spread z) for the quantiles z of the shape. One of the two numbers follows the released
statistic; the other one, which shape of a catalogue it is, and the shares of declared atoms and heaps are *choices*
among few that everyone can list. So a release tells its statistic, and one of K choices besides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from statveil.errors import ProblemError
from statveil.numeric import Array
from statveil.problem.secret import Secret
from statveil.problem.shapes.reading import standard_of
from statveil.problem.shapes.standard import Standard
from statveil.problem.structure import Structure

__all__ = ["CATALOGUE", "REDRAWN", "Choice", "Curve", "Model", "model_of"]

CATALOGUE = "catalogue"
"""What to write for the nearest of the documented shapes."""
REDRAWN = 'Without a family, add --shape catalogue (shape="catalogue"): the column is redrawn from a public shape'
"""What always works, said where no map keeps what is declared."""
FROM_A_BOUND = (
    "expon",
    "gamma(0.5)",
    "gamma(2)",
    "gamma(5)",
    "gamma(20)",
    "gamma(100)",
    "gamma(1000)",
    "lognorm(0.25)",
    "lognorm(0.5)",
    "lognorm(0.75)",
    "lognorm(1)",
    "lognorm(1.5)",
    "lognorm(2)",
    "uniform",
)
ANYWHERE = (
    "norm",
    "logistic",
    "laplace",
    "t(3)",
    "uniform",
    "arcsine",
    "expon",
    "weibull_max(1)",
    "gamma(3)",
    "lognorm(1)",
    "gumbel_r",
    "gumbel_l",
)
_ATOM, _HEAP = 20, 10
"""Shares of an atom are multiples of 1/20, those of a heap of 1/10."""
_QUARTERS = (-48, 8)
"""Spreads are the width of the prior (between two bounds: 1) times 2 to these many quarters, from the first on."""
_BETWEEN_QUARTERS = (-16, 12)
_PLACES, _PLACE = 8.0, 0.25
"""Between two bounds a place is a multiple of 1/4 of a log-odds, up to 8."""
_FARTHEST = 40.0
"""Log-odds beyond which a share is 0 or 1."""
_EVEN = 2**12
_TAIL = 2.0 ** -np.arange(6, 44, 1 / 16)  # of relative steps, as tails may be heavy
_MIDDLE = np.arange(_EVEN // 64 + 1, _EVEN - _EVEN // 64) / _EVEN
_LEVELS = np.concatenate([_TAIL[::-1], _MIDDLE, 1 - _TAIL])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """A shape as it is used: quantiles at fixed levels, straight in between, so that every machine has the same."""

    values: Array
    """Of place 0; of spread 1 where the spread is a choice."""
    reach: float
    """Mean distance from 0."""

    def at(self, levels: Array) -> Array:
        """The quantiles at these levels."""
        return np.interp(levels, _LEVELS, self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a release tells besides its statistic: one of few possibilities."""

    shape: int = 0
    """Which of the shapes."""
    beside: float = 0.0
    """The spread where the place follows the statistic, the place where the spread does."""
    atoms: tuple[float, ...] = ()
    heaps: tuple[float, ...] = ()
    """The share of rows that each declared atom has, and of those that each heap drew to its multiples."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """Public shapes, made to fit what is declared of the column.

    Parameters
    ----------
    label : str
        ``catalogue``, or how the one shape is written.
    shapes : tuple of Standard
        Among which the nearest is chosen.
    known : Structure
        Bounds, step, atoms and heaps of the released column.
    secret : Secret
        The statistic that it is given.
    width : float
        Width of the belief, the unit of spreads.
    """

    label: str
    shapes: tuple[Standard, ...]
    known: Structure
    secret: Secret
    width: float

    # --- how shape and statistic make values ---------------------------------------------------
    @property
    def link(self) -> str:
        """``free``, ``above`` or ``below`` one bound, ``between`` two."""
        if self.known.minimum is not None and self.known.maximum is not None:
            return "between"
        if self.known.minimum is not None:
            return "above"
        return "free" if self.known.maximum is None else "below"

    @property
    def moves_place(self) -> bool:
        """Whether the statistic decides the place of the shape; else its spread."""
        return bool(self.secret.per_shift) and self.link in ("free", "between")

    @property
    def keeps_spread(self) -> bool:
        """Whether the shape has its own spread: it was named, and ends on both sides as the column does."""
        one = len(self.shapes) == 1
        return self.moves_place and self.link == "between" and one and all(map(math.isfinite, self.shapes[0].support))

    @property
    def has_beside(self) -> bool:
        """Whether place or spread is a choice."""
        return self.link in ("free", "between") and not self.keeps_spread

    def curve(self, choice: Choice) -> Curve:
        """The chosen shape, on the scale on which it is moved and stretched."""
        return _curve(self.shapes[choice.shape], self.link, self.has_beside)

    def latent(self, values: Array) -> Array:
        """Values of a column on that scale."""
        known = self.known
        if self.link == "between":
            assert known.minimum is not None
            assert known.maximum is not None
            share = (values - known.minimum) / (known.maximum - known.minimum)
            with np.errstate(divide="ignore", invalid="ignore"):
                odds = np.clip(np.log(share) - np.log1p(-share), -_FARTHEST, _FARTHEST)
            return np.asarray(odds, dtype=np.float64)
        return values - self._end

    def values(self, choice: Choice, at: float, levels: Array) -> Array:
        """Quantiles of the column whose statistic-driven number is ``at``, before step and heaps."""
        if not choice.atoms or not any(choice.atoms):
            return self._continuous(choice, at, levels)
        atoms, shares = np.array(self.known.atoms), np.array(choice.atoms)
        rest = 1 - float(shares.sum())
        if rest <= 0:
            return np.asarray(atoms[np.searchsorted(np.cumsum(shares) / shares.sum(), levels, side="left")])
        ends = self._continuous(choice, at, _LEVELS)
        # the continuous part's share below each atom, and where the atom starts and stops among all rows
        below = np.where(atoms <= ends[0], 0.0, np.where(atoms >= ends[-1], 1.0, np.interp(atoms, ends, _LEVELS)))
        before = np.concatenate([[0.0], np.cumsum(shares)[:-1]])
        starts = rest * below + before
        passed = np.searchsorted(starts, levels, side="right")  # atoms that start below a level
        skipped = np.concatenate([[0.0], np.cumsum(shares)])[passed]
        own = np.clip((levels - skipped) / rest, 0.0, 1.0)
        found = self._continuous(choice, at, own)
        last = np.maximum(passed - 1, 0)
        inside = (passed > 0) & (levels <= starts[last] + shares[last])
        return np.where(inside, atoms[last], found)

    def _continuous(self, choice: Choice, at: float, levels: Array) -> Array:
        curve, beside = self.curve(choice).at(levels), 1.0 if self.keeps_spread else choice.beside
        if self.link in ("above", "below"):
            return self._end + at * curve
        place, spread = (at, beside) if self.moves_place else (beside, at)
        latent = place + spread * curve
        return latent if self.link == "free" else self._between(latent)

    def moved(self, values: Array, start: ArrayLike, stop: ArrayLike, centre: float = 0.0) -> Array:
        """Values of a column of any shape as those of one with another statistic, moved as such columns can be.

        ``centre`` is what stays of a column whose spread is the secret.
        """
        known, rate = self.known, self.secret.per_shift or 0.0
        first, last = np.asarray(start, dtype=np.float64), np.asarray(stop, dtype=np.float64)
        with np.errstate(all="ignore"):
            if self.link == "free":
                found = values + (last - first) / rate if rate else centre + (values - centre) * last / first
            elif self.link == "between" and rate:
                odds = self.latent(values) + self.latent(last / rate) - self.latent(first / rate)
                found = self._between(odds)
            else:
                end = known.fixed_points[0] if self.link == "between" else self._end
                found = end + (values - end) * (last - rate * end) / (first - rate * end)
        found = np.nan_to_num(np.asarray(found, dtype=np.float64), nan=0.0)
        return found if self.link == "free" else np.clip(found, known.minimum, known.maximum)

    def _between(self, odds: Array) -> Array:
        known = self.known
        assert known.minimum is not None
        assert known.maximum is not None
        share = 1 / (1 + np.exp(-np.clip(odds, -_FARTHEST, _FARTHEST)))
        return np.asarray(known.minimum + (known.maximum - known.minimum) * share)

    @property
    def _end(self) -> float:
        known = self.known
        if self.link in ("above", "below"):
            end = known.minimum if known.minimum is not None else known.maximum
            assert end is not None
            return end
        return 0.0

    # --- the choices ----------------------------------------------------------------------------
    @property
    def choices(self) -> int | None:
        """How many releases of one statistic there are (the K of the card); ``None`` where there is no end of them."""
        if self.link == "free" and not self.moves_place:
            return None  # the place of a column may be anywhere
        if self.known.step is not None and not self.known.fixed_points:
            return None  # and so may its lattice
        beside = 1
        if self.has_beside:
            first, last = _BETWEEN_QUARTERS if self.link == "between" else _QUARTERS
            beside = last - first + 1 if self.moves_place else 2 * round(_PLACES / _PLACE) + 1
        atoms, heaps = len(self.known.atoms), len(self.known.heaps)
        return int(len(self.shapes) * beside * (_ATOM + 1) ** atoms * (_HEAP + 1) ** heaps)

    def allowed_beside(self, place: float, spread: float, statistic: float) -> float:
        """The nearest choice to a column's own place or spread; ``statistic`` is the released one."""
        if self.moves_place:
            between = self.link == "between"
            unit = 1.0 if between else self.width
            first, last = _BETWEEN_QUARTERS if between else _QUARTERS
            quarter = first if spread <= 0 else min(max(round(4 * math.log2(spread / unit)), first), last)
            return float(unit * 2.0 ** (quarter / 4))
        if self.link == "between":
            return min(max(_PLACE * round(place / _PLACE), -_PLACES), _PLACES)
        grain = 2.0 ** (math.floor(math.log2(abs(statistic))) - 3)  # about an eighth of the spread
        return grain * round(place / grain)

    @staticmethod
    def allowed_shares(atoms: list[float], heaps: list[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The nearest choices to shares of atoms and heaps; all together at most all rows."""
        kept: list[tuple[float, ...]] = []
        for shares, parts in ((atoms, _ATOM), (heaps, _HEAP)):
            whole = [max(round(share * parts), 0) for share in shares]
            while sum(whole) > parts:
                whole[whole.index(max(whole))] -= 1
            kept.append(tuple(part / parts for part in whole))
        return kept[0], kept[1]

    def settings(self) -> Any:
        """For comparing problems and for their JSON."""
        return CATALOGUE if self.label == CATALOGUE else self.shapes[0].to_json()


def model_of(shape: Any, *, secret: Secret, known: Structure, width: float) -> Model:
    """The model that a problem names: ``"catalogue"``, a shape as people write it, or what stands for one."""
    one_sided = (known.minimum is None) != (known.maximum is None)
    if isinstance(shape, str) and shape.strip() == CATALOGUE:
        names = FROM_A_BOUND if one_sided else ANYWHERE
        return Model(label=CATALOGUE, shapes=tuple(map(standard_of, names)), known=known, secret=secret, width=width)
    found = standard_of(getattr(shape, "standard", shape))
    made = Model(label=found.label, shapes=(found,), known=known, secret=secret, width=width)
    if one_sided and not any(map(math.isfinite, found.support)):
        bound = "minimum" if known.minimum is not None else "maximum"
        raise ProblemError(
            f"a column with a known {bound} needs a shape that ends there, and {found.label} has no end. Choose one "
            f"that starts somewhere, such as expon, gamma(2) or lognorm(1), or --shape {CATALOGUE}."
        )
    made.curve(Choice())  # refuses a shape without any spread
    return made


@lru_cache(maxsize=128)
def _curve(shape: Standard, link: str, standardised: bool) -> Curve:
    raw = np.concatenate([shape.quantile(_TAIL[::-1]), shape.quantile(_MIDDLE), shape.upper_quantile(_TAIL)])
    low, high = shape.support
    if link == "above":
        made = raw - low if math.isfinite(low) else (high - raw)[::-1]
    elif link == "below":
        made = raw - high if math.isfinite(high) else (low - raw)[::-1]
    else:
        made = _log_odds(raw, low, high) if link == "between" else raw
        made = made - made[len(made) // 2]
        if standardised:
            quarter = int(np.searchsorted(_LEVELS, 0.25)), int(np.searchsorted(_LEVELS, 0.75))
            width = float(made[quarter[1]] - made[quarter[0]]) or float(np.abs(made).mean())
            made = made / width if width > 0 else made
    if not np.all(np.isfinite(made)) or made[0] == made[-1]:
        raise ProblemError(f"the shape {shape.label} has no spread that could be used here; choose another one.")
    made = np.maximum.accumulate(made)
    return Curve(values=made, reach=_mean(lambda u: np.abs(np.interp(u, _LEVELS, made))))


def _log_odds(values: Array, low: float, high: float) -> Array:
    """A shape between two bounds on the scale of log-odds: as it is, from its one end, or between its two."""
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.log(values - low) if math.isfinite(low) else None
        above = np.log(high - values) if math.isfinite(high) else None
    if below is None and above is None:
        return values
    found = (0.0 if below is None else below) - (0.0 if above is None else above)
    return np.clip(np.asarray(found, dtype=np.float64), -_FARTHEST, _FARTHEST)


def _mean(of: Callable[[Array], Array]) -> float:
    return float(of((np.arange(_EVEN) + 0.5) / _EVEN).mean())
