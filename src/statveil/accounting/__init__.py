"""What a mechanism guarantees: its risk and its distortion, from the problem alone; a file for each mechanism."""

from statveil.accounting import cells, comb, interval  # noqa: F401  (each registers its mechanism)
from statveil.accounting.guarantee import KINDS, Risk, accounted_distortion, accounted_risk, distortion, risk
from statveil.accounting.prior import hit_window, hit_windows, support_polygon
from statveil.accounting.scaling import quarter
from statveil.accounting.tiles import Both, both, either

__all__ = [
    "KINDS",
    "Both",
    "Risk",
    "accounted_distortion",
    "accounted_risk",
    "both",
    "distortion",
    "either",
    "hit_window",
    "hit_windows",
    "quarter",
    "risk",
    "support_polygon",
]
