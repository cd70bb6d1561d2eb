"""The risk of bins and combs by brute force: lines, pieces and windows on plain grids, nothing of the accounting.

Only what a plan publishes is used: the mechanism's numbers, the prior's and the tolerance. Densities come from SciPy,
and the layout of combs is written down anew from docs/theory.md.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import stats


def density(axis):
    """The belief as a function of its parameter, with mass 1."""
    data = axis.to_json()
    if data["kind"] == "table":
        at, height = np.array(data["values"]), np.array(data["weights"])
        mass = float((0.5 * (height[1:] + height[:-1]) * np.diff(at)).sum())
        return lambda x: np.interp(x, at, height / mass, left=0.0, right=0.0)
    low, high = data["low"], data["high"]
    if data["kind"] == "flat":
        return lambda x: np.where((x >= low) & (x <= high), 1 / (high - low), 0.0)
    frozen = getattr(stats, data["name"])(*data["args"])
    mass = frozen.cdf(high) - frozen.cdf(low)
    return lambda x: np.where((x >= low) & (x <= high), frozen.pdf(x) / mass, 0.0)


def layout(length, teeth, extent, window):
    """Number of blocks, their length, the spacing of their teeth (0: an interval), and the rest."""
    widest, n = extent / (teeth - 1), math.floor(length / (teeth * window) + 1e-9)
    if n >= 1 and length <= n * teeth * widest * (1 + 1e-9):
        return n, length / n, length / n / teeth, 0.0
    if n >= 1 and length - n * extent < (n + 1) * window:
        return n, teeth * widest, widest, length - n * teeth * widest
    block = length / (n + 1)
    return n + 1, block, 0.0 if block <= extent * (1 + 1e-9) else window, 0.0


def best_window(x, height, window):
    """Mass of the best window, and all of it, on a grid with a linear density between its points."""
    below = np.concatenate([[0.0], np.cumsum(0.5 * (height[1:] + height[:-1]) * np.diff(x))])
    if window >= x[-1] - x[0]:
        return below[-1], below[-1]
    start = np.clip(np.concatenate([x, x - window]), x[0], x[-1] - window)
    return float(np.max(np.interp(start + window, x, below) - np.interp(start, x, below))), below[-1]


def best_teeth(height_at, start, size, spacing, window, residues):
    """The same for the residue classes of a block, by the midpoint rule."""
    whole = math.floor(size / spacing * (1 + 1e-9))
    longer, held = max(size - whole * spacing, 0.0), math.floor(window / spacing + 1e-9) + 1
    hit = mass = 0.0
    for low, high, count in ((0.0, longer, whole + 1), (longer, spacing, whole)):
        if high - low > 1e-12 * spacing and count > 0:
            residue = low + (high - low) * (np.arange(residues) + 0.5) / residues
            height = height_at(start + residue[:, None] + spacing * np.arange(count))
            total = np.concatenate([np.zeros((residues, 1)), np.cumsum(height, axis=1)], axis=1)
            k = min(held, count)
            hit += (high - low) * float((total[:, k:] - total[:, :-k]).max(axis=1).mean())
            mass += (high - low) * float(total[:, -1].mean())
    return hit, mass


def risk(plan, *, lines=600, nodes=1501, residues=48):
    """P(best attacker hits) under a plan of bins or combs."""
    problem, data = plan.problem, plan.mechanism.to_json()
    names = problem.box.free
    axes = [problem.box.axes[name] for name in names]
    heights = [density(axis) for axis in axes]
    direction = np.array([data["direction"].get(name, 0.0) for name in names])
    coordinate = np.array([data["coordinate"].get(name, 0.0) for name in names])
    slopes = problem.family.coefficients(problem.secret)
    rate = abs(sum(slopes[name] * change for name, change in zip(names, direction, strict=True)))
    window = 2 * problem.tolerance / rate
    ordered = problem.family.name == "uniform" and len(names) == 2
    hit = mass = 0.0
    for base, share in _bases(axes, direction, lines):
        low, high = _ends(base, direction, axes, ordered)
        if high <= low:
            continue

        def height(t, base=base):
            return np.prod([h(b + d * t) for h, b, d in zip(heights, base, direction, strict=True)], axis=0)

        extra = _marks(base, direction, axes, nodes, low, high)
        if data["kind"] == "interval":
            at = float(coordinate @ base)
            first = math.floor((low + at - data["origin"]) / data["width"])
            count = math.ceil((high - low) / data["width"]) + 2
            inner = data["origin"] + data["width"] * np.arange(first, first + count) - at
            cuts = np.unique(np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]]))
            pieces = list(itertools.pairwise(cuts))
        else:
            count, block, spacing, rest = layout(high - low, data["teeth"], data["extent"], data["window"])
            starts = [low + i * block for i in range(count)]
            pieces = [(start, start + block) for start in starts if spacing == 0]
            pieces += [(high - rest, high)] if rest > 0 else []
            for start in starts if spacing > 0 else []:
                caught, all_of_it = best_teeth(height, start, block, spacing, window, residues)
                hit, mass = hit + share * caught, mass + share * all_of_it
        for a, b in pieces:
            grid = np.linspace(a, b, max(101, nodes // max(1, len(pieces))))
            x = np.unique(np.concatenate([grid, extra[(extra > a) & (extra < b)]]))
            caught, all_of_it = best_window(x, height(x), window)
            hit, mass = hit + share * caught, mass + share * all_of_it
    return hit / mass


def _bases(axes, direction, lines):
    """A point of each line and the line's share of the transverse coordinate: midpoints that follow the mass."""
    if len(axes) == 1:
        return [(np.zeros(1), 1.0)]
    normal = np.array([direction[1], -direction[0]])
    level = (np.arange(150) + 0.5) / 150
    inside = np.array(np.meshgrid(*(axis.ppf(level) for axis in axes))).reshape(2, -1)
    corners = normal @ np.array(np.meshgrid(*((axis.low, axis.high) for axis in axes))).reshape(2, -1)
    where = [np.quantile(normal @ inside, np.linspace(0, 1, lines // 2)), np.linspace(*_range(corners), lines // 2)]
    edges = np.unique(np.concatenate([corners, *where]))
    middles = 0.5 * (edges[1:] + edges[:-1])
    return [(y * normal / (normal @ normal), dy) for y, dy in zip(middles, np.diff(edges), strict=True)]


def _range(values):
    return float(values.min()), float(values.max())


def _ends(base, direction, axes, ordered):
    """Where a line enters and leaves the box and, for a uniform, low < high."""
    low, high = -math.inf, math.inf
    for b, d, axis in zip(base, direction, axes, strict=True):
        if d:
            a, c = sorted(((axis.low - b) / d, (axis.high - b) / d))
            low, high = max(low, a), min(high, c)
        elif not axis.low <= b <= axis.high:
            return 0.0, 0.0
    if ordered:
        rise, gap = direction[1] - direction[0], base[1] - base[0]
        if rise > 0:
            low = max(low, -gap / rise)
        elif rise < 0:
            high = min(high, -gap / rise)
        elif gap < 0:
            return 0.0, 0.0
    return low, high


def _marks(base, direction, axes, nodes, low, high):
    """Where the mass is, and where tables bend, along a line."""
    found = [np.zeros(0)]
    for b, d, axis in zip(base, direction, axes, strict=True):
        if d:
            found.append((axis.ppf(np.linspace(0, 1, nodes // 3)) - b) / d)
            found.append((np.array(getattr(axis, "values", ())) - b) / d)
    at = np.concatenate(found)
    return at[(at > low) & (at < high)]
