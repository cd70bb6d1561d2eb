"""Pairs of rows across two groups, or columns, that moved apart: all differ by one amount, or by one factor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.inversion import Inversion, inverted
from statveil.auditing.one_group import OneGroup, one_group
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.tables.blocks import Array

__all__ = ["PairedRows"]

_FEWEST = 8  # pairs
_CANDIDATES = 301
_CONCLUSIVE = 6.0
_EXACT = 1e-9  # of the spread of the differences' own size: what rounding leaves


class PairedRows(Attacker):
    """Looks for the move after which pairs differ least: by an amount where groups are stretched, else by a factor."""

    name: ClassVar[str] = "paired-rows"
    doc: ClassVar[str] = "rows of two groups or columns that belong together (ids, parts of texts, partners)"
    remedy: ClassVar[str] = (
        "Leave out the columns that say which rows belong together, or write them anew row by row; a release without "
        "accepted leaks names them."
    )
    of_groups: ClassVar[bool] = True

    def applies(self, view: View) -> bool:
        return view.mode.apart and bool(view.together)

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None:
            return None
        one, two = (one_group(view, place) for place in range(2))
        if one is None or two is None:
            return found.posterior()
        best, sure = found.posterior(), _CONCLUSIVE
        for first, second in _pairs(view):
            said = _weighed(view, found, (one, two), first, second)
            if said is not None and said[1] > sure:
                best, sure = said
        return best


def _pairs(view: View) -> Iterator[tuple[Array, Array]]:
    """Released values that belong together: averages of a group's rows on either side."""
    assert view.parts is not None
    for number in view.together.values():
        code = np.unique(number, return_inverse=True)[1].ravel()
        size = int(code.max(initial=-1)) + 1
        finite = np.isfinite(view.column)
        if view.mode.of_columns:
            half = len(view.column) // 2
            one, two, code = view.column[:half], view.column[half:], code[:half]
            known = finite[:half] & finite[half:]
            rows, sums = np.bincount(code[known], minlength=size), np.bincount(code[known], two[known], minlength=size)
            several = np.flatnonzero(known & (rows[code] > 1))
            pair = one[several], (sums[code] - two)[several] / (rows[code] - 1)[several]
        else:
            sides = [inside & finite for inside in view.parts]
            counts = [np.bincount(code[rows], minlength=size) for rows in sides]
            both = (counts[0] > 0) & (counts[1] > 0)
            one, two = (
                np.bincount(code[rows], view.column[rows], minlength=size)[both] / held[both]
                for rows, held in zip(sides, counts, strict=True)
            )
            pair = one, two
        if len(pair[0]) >= _FEWEST:
            yield pair


def _weighed(
    view: View, found: Inversion, alone: tuple[OneGroup, OneGroup], first: Array, second: Array
) -> tuple[Posterior, float] | None:
    """Candidates weighed by how little pairs differ after the move, and how much better the best one is."""
    order = np.argsort(found.secrets, kind="stable")
    nodes = order[np.unique(np.linspace(0, len(order) - 1, _CANDIDATES).astype(np.int64))]
    secrets = found.secrets[nodes]
    one, two = (_before(view, group, values, secrets) for group, values in zip(alone, (first, second), strict=True))
    with np.errstate(all="ignore"):
        logs = not view.mode.stretches
        apart = np.log(one) - np.log(two) if logs else one - two
        spread = np.std(apart, axis=1)
        fine = _EXACT * float(np.nanmedian(np.std(np.log(one) if logs else one, axis=1)))
        fit = -len(first) * np.log(spread + fine)
        # what varies about the other one is the one or the other: a row's own density on either scale
        own = [np.log(side).sum(axis=1) if logs else np.log(np.std(side, axis=1)) for side in (one, two)]
        scale = -1.0 if logs else float(len(first))
        fits = np.logaddexp(fit + scale * own[0], fit + scale * own[1])
    good = np.isfinite(fits)
    if np.count_nonzero(good) < 3:
        return None
    top = float(fits[good].max())
    sure = top - float(np.median(fits[good]))
    place = np.interp(found.secrets, secrets[good], np.maximum(fits[good] - top, -200.0))
    posterior = found.posterior(np.exp(place))
    return None if posterior is None else (posterior, sure)


def _before(view: View, group: OneGroup, values: Array, secrets: Array) -> Array:
    """The values as they were, one row for each candidate."""
    order = np.argsort(group.secrets, kind="stable")
    means = np.interp(secrets, group.secrets[order], group.means[order])[:, None]
    level = float(np.nanmean(group.view.column))
    return values[None, :] * (means / level) if view.mode.stretches else values[None, :] - (level - means)
