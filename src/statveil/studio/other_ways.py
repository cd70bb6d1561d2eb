"""What else one could do with a column: risk and change of other methods, as far as they follow without any data.

One random move of all rows (a shift, or a factor) is what attribute privacy and the directional form of distribution
privacy come to on a column of unknown shape. Its risk follows from the belief and the noise alone. What noise on each
row does depends on how many rows there are and on their shape, so it is said in words and not drawn.

Nothing here, nor anything it loads, can read a table (a contract of the imports).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from statveil.numeric import Array
from statveil.problem.axis import Axis
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.problem import Problem

__all__ = ["Noise", "other_curves", "other_words", "random_move_risk", "why_not_drawn"]

_SCALES = 22  # points of a curve
_OFTEN = 0.9
_CELLS, _PLACES, _AT_ONCE = 300, 500, 50  # of the belief, of what is released, and how many of those at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """One random number that moves all rows."""

    name: str
    words: str
    cdf: Callable[[Array], Array]
    """Of scale 1."""
    reach: float
    """Beyond so many scales there is nothing to speak of."""


def _laplace_cdf(at: Array) -> Array:
    tail = 0.5 * np.exp(-np.abs(at))
    found: Array = np.where(at < 0, tail, 1 - tail)
    return found


def _normal_cdf(at: Array) -> Array:
    return np.asarray(ndtr(at), dtype=np.float64)


NOISES = (
    Noise(
        name="normal",
        words="normal noise, as in attribute privacy",
        cdf=_normal_cdf,
        reach=6.0,
    ),
    Noise(
        name="laplace",
        words="Laplace noise, as in distribution privacy",
        cdf=_laplace_cdf,
        reach=16.0,
    ),
)


def other_curves(problem: Problem, *, quick: bool = False) -> list[dict[str, Any]]:
    """Curves of risk against change, in nine of ten releases, of one random move of all rows; none where it has none.

    ``quick`` leaves out what takes more than a moment.
    """
    if why_not_drawn(problem) is not None:
        return []
    family = problem.family
    assert isinstance(family, AnyShape)
    if quick and not family.axis.flat:
        return []
    scales = np.geomspace(0.3 * problem.tolerance, 3 * family.axis.width, _SCALES).tolist()
    move = "factor for all rows" if family.log else "shift of all rows"
    found = []
    for noise in NOISES:
        risks = (random_move_risk(family.axis, problem.tolerance, noise, scale) for scale in scales)
        points = [[risk, _change(problem, family, noise, at)] for risk, at in zip(risks, scales, strict=True)]
        found.append({"name": noise.name, "words": f"one random {move} ({noise.words})", "points": sorted(points)})
    return found


def _change(problem: Problem, family: AnyShape, noise: Noise, scale: float) -> float:
    """What nine of ten releases change by at most, in the terms in which a plan states what all of its releases do.

    Noise has no largest change; the mean would lie below what bins change by at most for the same risk, and hide that.
    """
    move = nine_in_ten(noise, scale)
    if not family.log:
        return problem.measure.stated(float(family.z_distance(move, 0.0)))

    def within(share: float) -> float:
        below = float(noise.cdf(np.array(math.log1p(-share) / scale))) if share < 1 else 0.0
        return float(noise.cdf(np.array(math.log1p(share) / scale))) - below

    low, high = 0.0, math.expm1(min(2 * move, 600.0))
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if within(middle) < _OFTEN else (low, middle)
    return (problem.measure.relative or 1.0) * high


def nine_in_ten(noise: Noise, scale: float) -> float:
    """The size that nine of ten draws do not exceed.

    >>> [round(nine_in_ten(noise, 1.0), 3) for noise in NOISES]  # the 95 % quantile, and ln 10
    [1.645, 2.303]
    """
    low, high = 0.0, noise.reach
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if 1 - 2 * float(noise.cdf(np.array(-middle))) < _OFTEN else (low, middle)
    return scale * high


_TWO = "One random move hides one statistic, and here are two."


def why_not_drawn(problem: Problem) -> str | None:
    """Why one random move of all rows cannot stand in the chart; ``None`` where it can."""
    family, known = problem.family, problem.known
    if problem.also:
        return _TWO
    if not isinstance(family, AnyShape) or family.model is not None or family.secret.apart is not None:
        return "What a random move of all rows does cannot be said for such a secret."
    if known.heaps or known.atoms or (known.step is not None and not _fine(problem, family, known.step)):
        return (
            "A random move would leave the steps and special values that everyone knows, and so show how far it went."
        )
    if family.between is not None or (family.about is not None and not (family.log and family.about == 0)):
        return "A random move would pass the bounds that everyone knows, or show by how much it moved them."
    if not family.axis.exact:
        return "Many beliefs are allowed for here, and the risk of a random move differs between them."
    return None


def _fine(problem: Problem, family: AnyShape, step: float) -> bool:
    """Whether a shift by whole steps is as good as any: ten of them fit into what counts as a hit."""
    close = problem.tolerance * (min(abs(family.belief.low), abs(family.belief.high)) if family.log else 1.0)
    return family.moves == "shift" and 10 * step <= close / (family.secret.per_shift or 1.0)


def random_move_risk(axis: Axis, tolerance: float, noise: Noise, scale: float) -> float:
    """How often the best guess hits if one random number of this scale is added to the coordinate of the secret.

    On an even belief of width W the best window lies around what is released, moved inside the belief: it misses on
    either side where the noise exceeds the tolerance and there is room, 1 - 2 P(noise > e) (1 - 2 e / W). Otherwise
    the belief is cut into cells of even density, and for each release the best window over them is found; the sum over
    releases is numerical, to about a part in a hundred.
    """
    if axis.flat:
        beyond = float(noise.cdf(np.array(-tolerance / scale)))
        return min(1.0, 1 - 2 * beyond * max(0.0, 1 - 2 * tolerance / axis.width))
    edges = np.linspace(axis.low, axis.high, _CELLS + 1)
    mass = np.diff(np.asarray(axis.cdf(edges), dtype=np.float64))
    reach = noise.reach * scale
    places = np.linspace(axis.low - reach, axis.high + reach, _PLACES + 1)
    # neighbouring parts share a place, so that no piece of the releases is left out
    parts = [places[start : start + _AT_ONCE + 1] for start in range(0, _PLACES, _AT_ONCE)]
    total = math.fsum(_caught(part, edges, mass, noise, scale, tolerance) for part in parts)
    return min(1.0, total)


def _caught(places: Array, edges: Array, mass: Array, noise: Noise, scale: float, tolerance: float) -> float:
    """P(the best window hits and the release lies between the first and the last of these places)."""
    middles = 0.5 * (edges[:-1] + edges[1:])
    until = noise.cdf((places[:, None] - middles[None, :]) / scale)
    joint = np.diff(until, axis=0) * mass  # a row for each piece of releases, a column for each cell
    above = np.concatenate([np.zeros((len(joint), 1)), np.cumsum(joint, axis=1)], axis=1)
    # even cells: the best window begins or ends at the edge of one
    step = edges[1] - edges[0]
    numbers = np.arange(len(edges))
    ends = np.minimum(numbers + 2 * tolerance / step, len(edges) - 1)
    floor = np.minimum(ends.astype(int), len(edges) - 2)
    high = above[:, floor] + (ends - floor) * (above[:, floor + 1] - above[:, floor])
    begins = np.maximum(numbers - 2 * tolerance / step, 0)
    floor = np.minimum(begins.astype(int), len(edges) - 2)
    low = above[:, floor] + (begins - floor) * (above[:, floor + 1] - above[:, floor])
    return float(np.maximum((high - above).max(axis=1), (above - low).max(axis=1)).sum())


def other_words(problem: Problem, *, two: bool = False) -> list[str]:
    """What is beside the chart: what the drawn curves leave out, and what cannot be drawn without data."""
    label, why = problem.secret.plain, _TWO if two else why_not_drawn(problem)
    drawn = (
        "Bins never change a column by more than is drawn. A random move has no such limit: nine of ten change it by "
        "less than is drawn, the tenth by more."
        if why is None
        else f"Not drawn, one random move of all rows: {why[:1].lower()}{why[1:]}"
    )
    return [
        drawn,
        f"Not drawn, noise on each row: it averages out over the rows, so what it leaves of the {label} depends on how "
        "many there are. To hide an average as one random move does, it must be 100 times as large where there are "
        "10,000 rows.",
        f"Not drawn, differential privacy: it hides each single row. The {label} of a long table stays open to all. "
        "What it would change depends on the table; 'statveil compare' works that out, privately, on the data.",
    ]
