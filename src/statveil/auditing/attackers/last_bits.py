"""Equal values of 32-bit floats: what is drawn below their last bit differs from copy to copy, and shows its size."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.inversion import inverted
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View

__all__ = ["LastBits"]

_CLOSE = 2.0**-19  # of the size: within it, released values are copies of one
_CLUSTERS = 400
_CONCLUSIVE = 6.0


class LastBits(Attacker):
    """Measures how far released copies of one value lie apart: so far times the factor is a last bit of the original.

    A last bit doubles at every power of two, so where it doubles tells a shift, too.
    """

    name: ClassVar[str] = "last-bits"
    doc: ClassVar[str] = "copies of one 32-bit value, whose last bits were drawn one by one"
    remedy: ClassVar[str] = "Release 64-bit floats, or round the column to decimals far above its last bits."

    def applies(self, view: View) -> bool:
        return view.mode.continuous

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None or found.factor is None or found.offset is None:
            return None if found is None else found.posterior()
        values = np.sort(view.column[np.isfinite(view.column)])
        near = np.diff(values) <= _CLOSE * np.abs(values[1:])
        ends = np.flatnonzero(np.concatenate([[True], ~near, [True]]))
        size, first = np.diff(ends), ends[:-1]
        apart = values[first + size - 1] - values[first]
        kept = np.flatnonzero((size >= 2) & (apart > 64 * np.spacing(np.abs(values[first]))))
        if len(kept) < 3 or len(values) < 2 * len(kept):
            return found.posterior()
        kept = kept[np.argsort(-size[kept], kind="stable")[:_CLUSTERS]]
        middle, rows, reach = values[first[kept]] + 0.5 * apart[kept], size[kept], apart[kept]
        with np.errstate(all="ignore"):
            back = (middle[:, None] - found.offset) / found.factor
            cell = np.spacing(np.abs(back).astype(np.float32)).astype(np.float64) * np.abs(found.factor)
        cell = np.where(np.isfinite(cell) & (cell > 0), cell, 1e300)
        # the range of m uniform draws on a cell, blurred by the rounding of what is released
        ratio = reach[:, None] / cell
        count = rows[:, None].astype(np.float64)
        inside = np.log(count * (count - 1)) + (count - 2) * np.log(np.minimum(ratio, 1.0) + 1e-12)
        inside += np.log(np.maximum(1 - ratio, 1e-3)) - np.log(cell)
        gain = np.where(ratio <= 1.02, inside, -np.log(cell) - 12.0).sum(axis=0)
        if float(gain.max() - np.median(gain)) < _CONCLUSIVE:
            return found.posterior()
        return found.posterior(np.exp(gain - gain.max())) or found.posterior()
