"""What a mechanism guarantees: its risk and its distortion, from the problem alone; a file for each mechanism."""

from statveil.accounting.interval import KINDS, Risk, distortion, hit_window, quarter, risk, support_polygon

__all__ = ["KINDS", "Risk", "distortion", "hit_window", "quarter", "risk", "support_polygon"]
