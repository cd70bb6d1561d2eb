"""The next release of a column: bins that only cut further what earlier releases have told.

After a release with classes A, no mechanism of a given distortion has a smaller joint risk than one that refines each
class by itself; other offsets and fresh grids only lose (docs/theory.md, composition). A finer release says all that
the earlier ones do, so its own risk is that of all of them together.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from statveil.accounting import risk
from statveil.accounting.pieces import common_edges, parts_of
from statveil.design.methods import Choice
from statveil.design.target import BinWidth, MaxRisk, Target, meets
from statveil.design.tile_refinement import refine_tiles
from statveil.design.treatment import treatment
from statveil.errors import ProblemError, TargetError
from statveil.mechanisms.mechanism import Mechanism
from statveil.mechanisms.partition import Partition
from statveil.modes.mode import mode_of
from statveil.numeric import Array
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.rounding import shown_up
from statveil.theory.one_parameter import line

__all__ = ["refine"]

_HALVINGS = 60
_MOST_PARTS = 100_000


def refine(problem: Problem, goal: Target, earlier: Sequence[Mechanism]) -> Choice:
    """The partition of least distortion under a joint risk, or of a given distortion, that refines all earlier ones."""
    if isinstance(goal, BinWidth):
        raise ProblemError("after another plan ask for a joint risk or a distortion; the bins are cut from its own.")
    if problem.also:
        return Choice(mechanism=refine_tiles(problem, goal, earlier), how=treatment(problem), method="tiles")
    if not isinstance(problem.prior, Box) or len(problem.box.free) != 1:
        raise ProblemError(
            "the next release is planned for one uncertain parameter. With two, keep the direction of the earlier plan "
            "(--slope) and give bins that divide its own (--bin); 'statveil compose' says what both tell."
        )
    how, found = treatment(problem), line(problem)
    if how.lattice is not None:
        raise ProblemError("the next release of a column on a known step is not planned for; release the same again.")
    (name,) = problem.box.free
    mode = mode_of(problem, how.kind, {name: 1.0})
    if mode.random and not mode.of_model and not mode.nested:
        raise ProblemError(
            f"the mode {mode.name!r} draws rows at random, and that two such releases tell no more than their bins is "
            "not proven; release the same plan again, with the same record."
        )
    parts = [parts_of(mechanism, problem) for mechanism in earlier]
    plain = [part for part in parts if part is not None and part.plain and bool(np.isinf(part.spacing).all())]
    if len(plain) < len(parts) or found.ruler.position is None or found.ruler.at_position is None:
        raise ProblemError(
            "the next release cuts the bins of the earlier ones further, and one of these has none (a comb, or a plan "
            "that draws); release the same again, which adds nothing."
        )
    position, back = found.ruler.position, found.ruler.at_position
    edges = common_edges(plain, found.axis)
    places = np.asarray(position(edges), dtype=np.float64)
    longest = float(np.abs(np.diff(places)).max())

    def cut(length: float) -> Partition:
        """Every earlier bin cut from its lower end into bins of this length, as distances are measured."""
        inner: list[Array] = [places[:1]]
        for low, high in itertools.pairwise(places.tolist()):
            count = max(1, int(np.ceil(abs(high - low) / length * (1 - 1e-12))))
            inner.append(np.append(low + np.sign(high - low) * length * np.arange(1, count), high))
        at = np.concatenate(inner)
        if len(at) > _MOST_PARTS:
            raise TargetError(f"this would need more than {_MOST_PARTS:,} bins; ask for a larger distortion.")
        ends = np.asarray(back(at), dtype=np.float64)
        known = np.searchsorted(at * np.sign(at[-1] - at[0]), places * np.sign(at[-1] - at[0]))
        ends[known] = edges  # to the last bit, so that nothing falls between two plans
        middles = np.asarray(back(0.5 * (at[1:] + at[:-1])), dtype=np.float64)
        return Partition(parameter=name, edges=tuple(ends.tolist()), released=tuple(middles.tolist()))

    if not isinstance(goal, MaxRisk):
        return Choice(mechanism=cut(min(2 * goal.value, longest)), how=how, method="greedy")
    told = risk(problem, cut(longest)).value
    if not meets(told, goal):
        raise TargetError(
            f"the earlier releases together already have a risk of {shown_up(told)}, so no further one can keep it at "
            f"{goal.value:g}. Release one of them again, or ask for a larger joint risk."
        )
    low, high = 0.0, longest
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        few = longest / middle * len(edges) < _MOST_PARTS / 4
        if few and meets(risk(problem, cut(middle)).value, goal):
            high = middle
        else:
            low = middle
        if high - low <= 1e-9 * high:
            break
    return Choice(mechanism=cut(high), how=how, method="greedy")
