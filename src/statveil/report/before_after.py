"""A column before and after its release, drawn in a terminal. Private: it shows the original."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from rich.table import Table

__all__ = ["before_after"]

_WIDTH = 30


def before_after(before: ArrayLike, after: ArrayLike, *, unit: str = "", bins: int = 14) -> Table:
    """Two histograms side by side over the same ranges of values."""
    one, two = (np.asarray(values, dtype=np.float64) for values in (before, after))
    one, two = one[np.isfinite(one)], two[np.isfinite(two)]
    edges = np.histogram_bin_edges(np.concatenate([one, two]), bins=bins)
    counts = [np.histogram(values, edges)[0] for values in (one, two)]
    longest = max(1, *(int(count.max(initial=0)) for count in counts))
    table = Table(title="The column before and after (private: it shows the original)", box=None, pad_edge=False)
    table.title_justify = "left"
    table.add_column(f"values{f' ({unit})' if unit else ''}", justify="right")
    table.add_column("before")
    table.add_column("after")
    for i, (left, right) in enumerate(zip(*counts, strict=True)):
        bars = (shade * round(_WIDTH * int(count) / longest) for shade, count in (("█", left), ("▒", right)))
        table.add_row(f"{edges[i]:,.4g} to {edges[i + 1]:,.4g}", *(f"{bar:<{_WIDTH}}" for bar in bars))
    return table
