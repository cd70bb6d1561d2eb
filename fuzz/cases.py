"""Plans that once stated less than the truth: the checker must have found them, and the library must not make them."""

from __future__ import annotations

from typing import Any

__all__ = ["CASES"]


def _uniform(low: tuple[float, float], high: tuple[float, float], **more: Any) -> dict[str, Any]:
    prior = {
        "low": {"kind": "flat", "low": low[0], "high": low[1]},
        "high": {"kind": "flat", "low": high[0], "high": high[1]},
    }
    return {"family": {"name": "uniform"}, "prior": prior, **more}


CASES: dict[str, dict[str, Any]] = {
    "uniform maximum, flat box": _uniform(
        (0, 50), (50, 52), secret={"kind": "quantile", "alpha": 1.0}, tolerance=0.1, plan={"max_risk": 0.1}
    ),
    "uniform quantile, thin box": _uniform(
        (0, 6.375), (6.375, 6.497), secret={"kind": "quantile", "alpha": 0.95}, tolerance=0.0807, plan={"max_risk": 0.2}
    ),
    "uniform std, thin box": _uniform(
        (0, 20.4), (22.4, 24.8), secret={"kind": "std"}, tolerance=1.21, plan={"max_risk": 0.4}
    ),
}
