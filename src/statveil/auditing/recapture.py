"""Capture and recapture: two tables whose rows were drawn independently tell how many were drawn from.

Both released from mu by independent draws, the tables agree by chance only as far as their own statistics and mu make
them: how far they do gives mu. Where both were drawn in one order of the column (docs/composition.md), one lies within
the other, and their agreement is what their own statistics say.
"""

from __future__ import annotations

import numpy as np

from statveil.auditing.view import Earlier, View
from statveil.tables.blocks import Array

__all__ = ["drawn_apart", "recaptured"]

_SURE = 3.0
"""Standard errors by which the agreement must lie below that of nested tables."""


def drawn_apart(view: View) -> bool:
    """Whether another release of the column was drawn by another stream, as far as the tables themselves show it.

    Of modes that are not nested nothing is known, and they count as drawn apart.
    """
    return any(not _nested(view, release) for release in view.knowledge.releases)


def _nested(view: View, release: Earlier) -> bool:
    one, two = _both(view, release)
    if not _comparable(view, release):
        return False
    if view.mode.categories:
        size = len(view.plan.problem.family.params)
        counts = [np.bincount(table.astype(np.int64), minlength=size) for table in (one, two)]
        return int((one != two).sum()) == int(np.abs(counts[0] - counts[1]).sum()) // 2
    return bool((one <= two).all() or (two <= one).all())


def _comparable(view: View, release: Earlier) -> bool:
    """Whether both tables were drawn in a way that can be nested, from counts both or from categories both."""
    one, two = view.mode, release.plan.release_mode
    return one.nested and two.nested and one.categories == two.categories


def _both(view: View, release: Earlier) -> tuple[Array, Array]:
    if len(view.column) != len(release.column):
        return np.zeros(0), np.zeros(0)
    known = np.isfinite(view.column) & np.isfinite(release.column)
    return view.column[known], release.column[known]


def recaptured(view: View, release: Earlier) -> list[tuple[float, float]]:
    """Values of the secret that the agreement of two tables leaves, with their standard errors; often two, or none.

    One if rows or units were taken away for both tables, and one if they were added for both.
    """
    one, two = _both(view, release)
    if not _comparable(view, release) or len(one) < 2:
        return []
    family = view.plan.problem.family
    if view.mode.categories:
        if view.plan.problem.secret != release.plan.problem.secret:
            return []
        number = view.plan.problem.secret.counted(family)
        one, two = (one == number).astype(np.float64), (two == number).astype(np.float64)
    mine, theirs = float(one.mean()), float(two.mean())
    agree = (one - mine) * (two - theirs)
    common, error = float(agree.mean()), float(agree.std()) / np.sqrt(len(one))
    urn = family.name == "geometric"
    low, high = min(mine, theirs), max(mine, theirs)
    whole = low * (1 - high) if view.mode.categories else low * (1 + high) if urn else low  # if one lies in the other
    if not 0 < common < whole - _SURE * error:
        return []

    def taken_and_added(agreement: float) -> Array:
        product = mine * theirs
        if view.mode.categories:
            kept, left = agreement + product, agreement + (1 - mine) * (1 - theirs)
            return np.array([product / kept, 1 - (1 - mine) * (1 - theirs) / left])
        if urn:
            share = agreement / ((1 + mine) * (1 + theirs))
            return np.array([product / max(agreement - product, 1e-300), share / (1 - share)])
        return np.array([product / agreement, agreement])

    found = taken_and_added(common)
    step = 1e-3 * common
    slopes = (taken_and_added(common + step) - found) / step
    return [(float(value), float(abs(slope) * error)) for value, slope in zip(found, slopes, strict=True)]
