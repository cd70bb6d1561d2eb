"""Relations that hold in one place only: the released column is moved back until other columns fit it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from statveil.auditing.attacker import Attacker
from statveil.auditing.believed import originals
from statveil.auditing.inversion import Inversion, inverted, released_statistic
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.tables.blocks import Array
from statveil.tables.structure.others.links import Link

__all__ = ["Links", "MovedBack"]

_TRIED = 65  # candidates of each of two looks, the second one around the best of the first
_COUNTED = 4096
_ROWS = 400  # rows that count as independent evidence, at most: what is known of a link is not known exactly


class MovedBack(Attacker):
    """Undoes the release under every candidate, and asks how well the links fit that are known by this one's name."""

    remedy: ClassVar[str] = "Leave out the columns that were worked out from the hidden one, or work them out anew."

    def applies(self, view: View) -> bool:
        return not view.mode.categories and bool(self._links(view))

    def _links(self, view: View) -> list[Link]:
        return [link for link in view.knowledge.links if link.attacker == self.name]

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None:
            return None
        usable = np.flatnonzero(found.weights > 0)
        usable = usable[np.argsort(found.secrets[usable], kind="stable")]
        others = {**view.groups, **view.others}
        if len(usable) < 3:
            return found.posterior()
        tried = usable[np.unique(np.linspace(0, len(usable) - 1, _TRIED).astype(np.int64))]
        gains = {int(node): self._gain(view, found, int(node), others) for node in tried}
        best = max(gains, key=gains.__getitem__)
        at = int(np.flatnonzero(usable == best)[0])
        reach = max(1, len(usable) // _TRIED)
        near = usable[max(0, at - reach) : at + reach + 1]
        gains |= {int(node): self._gain(view, found, int(node), others) for node in _thinned(near)}
        nodes = np.array(sorted(gains, key=lambda node: float(found.secrets[node])))
        heights = np.array([gains[int(node)] for node in nodes])
        if not np.ptp(heights):
            return found.posterior()
        gain = np.interp(found.secrets, found.secrets[nodes], heights - heights.max())
        return found.posterior(np.exp(gain)) or found.posterior()

    def _gain(self, view: View, found: Inversion, node: int, others: Mapping[str, Array]) -> float:
        """Log likelihood of a candidate."""
        original = undone(view, found, node)
        rows = min(_ROWS, int(np.count_nonzero(np.isfinite(original))))
        links = [link for link in self._links(view) if all(name in others for name in link.columns)]
        return -rows * sum(link.misfit(original, others) for link in links)


class Links(MovedBack):
    """Asks how well flags, functions, rolling averages and shares fit."""

    name: ClassVar[str] = "links"
    doc: ClassVar[str] = (
        "labels with an edge, partners that turn, averages of the rows around, shares within groups: they fit one place"
    )


def _thinned(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    return nodes[np.unique(np.linspace(0, len(nodes) - 1, _TRIED // 2).astype(np.int64))]


def _quantiles(view: View, ranks: Array, params: Mapping[str, float]) -> Array:
    """Quantiles of a candidate's distribution; of counts by their distribution function, which takes less time."""
    believed = originals(view)
    if not view.plan.problem.family.discrete:
        return believed.quantile(ranks, params)
    last = float(np.max(believed.quantile(ranks.max(initial=0.5), params)))
    if not last <= _COUNTED:
        return believed.quantile(ranks, params)
    below = np.asarray(believed.cdf(np.arange(last + 1), params), dtype=np.float64)
    return np.searchsorted(below, ranks, side="left").astype(np.float64)


def undone(view: View, found: Inversion, node: int) -> Array:
    """The original that a candidate stands for, row by row."""
    column = view.column
    if found.factor is not None and found.offset is not None:
        return np.asarray((column - found.offset[node]) / found.factor[node])
    if view.mode.of_model or view.mode.of_family:
        finite = np.flatnonzero(np.isfinite(column))
        ranks = np.empty(len(finite))
        ranks[np.argsort(column[finite], kind="stable")] = (np.arange(len(finite)) + 0.5) / max(len(finite), 1)
        params = {name: float(value[node]) for name, value in found.points.items()}
        original = np.full(len(column), np.nan)
        original[finite] = _quantiles(view, ranks, params)
        return original
    known = view.plan.problem.known  # units and smoothed shapes keep proportions about the bound
    about = known.minimum if known.minimum is not None else known.maximum if known.maximum is not None else 0.0
    reach = released_statistic(view) - about
    return about + (column - about) * ((float(found.secrets[node]) - about) / reach if reach else 1.0)
