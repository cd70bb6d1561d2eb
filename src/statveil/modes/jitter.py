"""Every row is scaled about the bound, moved by less than a step at random, and put back on whole steps."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from statveil.modes.mode import Redrawn

__all__ = ["JitterMode"]


class JitterMode(Redrawn):
    """For many steps above one bound."""

    name: ClassVar[str] = "jitter"
    says: ClassVar[str] = "scale about the bound, jitter by one step, back to whole steps (rows measured, not proven)"
    prepared_in: ClassVar[str] = "statveil.tables.maps.jitter"
    near_line: ClassVar[bool] = True
    keeps_steps: ClassVar[bool] = True

    def first_level(self, rise: NDArray[np.float64], phase: float) -> NDArray[np.float64]:
        return 0.5 * rise - 0.5
