"""The paper's Algorithm 1, transcribed as printed in plain Python: what the fast programme is compared with.

The bin distortion is found by trying every released parameter of the grid (the paper's O(range / step) for D), the
attacker's window by its closed form. Its "= 2 eps" is read as "<= 2 eps", as it must be.
"""

from __future__ import annotations

__all__ = ["printed_algorithm"]


def printed_algorithm(low: float, high: float, cells: int, budget: float, tolerance: float) -> float:
    """Risk of the best partition for the mean of a geometric column with a uniform prior."""
    step = (high - low) / cells
    grid = [low + i * step for i in range(cells + 1)]
    means = [(1 - p) / p for p in grid]

    def distortion(i: int, j: int) -> float:
        best = float("inf")
        for k in range(i, j + 1):  # every released parameter of the bin
            best = min(best, max(abs(means[k] - means[i]), abs(means[k] - means[j])))
        return best

    def share(i: int, j: int) -> float:
        # the secret falls in p, so the longest window of parameters is the one that ends at the bin's upper end
        start = 1 / (1 / grid[j] + 2 * tolerance)
        return (grid[j] - max(start, grid[i])) / (grid[j] - grid[i])

    privacy = [0.0] + [float("inf")] * cells
    for j in range(1, cells + 1):
        for i in range(j - 1, -1, -1):
            if distortion(i, j) > budget * (1 + 1e-12):
                break
            weight = (grid[i] - low) / (grid[j] - low)
            value = weight * privacy[i] + (1 - weight) * share(i, j)
            if value < privacy[j]:
                privacy[j] = value
    return privacy[cells]
