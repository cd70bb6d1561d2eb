"""What no mechanism can beat: the paper's two theorems."""

from __future__ import annotations

from statveil.rounding import tolerant_ceil

__all__ = ["least_distortion", "least_risk"]


def least_distortion(gamma: float, tolerance: float, risk: float) -> float:
    """Theorem 1: with risk at most T, distortion > (ceil(1/T) - 1) 2 gamma eps.

    >>> least_distortion(0.5, 1.0, 1 / 49)
    48.0
    """
    return max(0, tolerant_ceil(1 / risk) - 1) * 2 * gamma * tolerance


def least_risk(gamma: float, tolerance: float, distortion: float) -> float:
    """Theorem 2: with distortion at most B, risk >= 1 / ceil(B / (2 gamma eps)).

    >>> least_risk(0.5, 1.0, 9.0)
    0.1111111111111111
    """
    return 1 / max(1, tolerant_ceil(distortion / (2 * gamma * tolerance)))
