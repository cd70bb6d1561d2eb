"""Combs: points of equal spacing, just over a guess apart, share a release. Attains the limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.mechanisms.directed import Directed
from statveil.mechanisms.mechanism import Fibre, apart, quiet, support_from_json, support_to_json
from statveil.numbers import positive
from statveil.numeric import Array
from statveil.problem.location_scale import evaluate
from statveil.problem.problem import Problem
from statveil.problem.support import Support
from statveil.theory.comb_layout import STRETCH, Layout, layout, packed

__all__ = ["KNIFE", "Comb"]


KNIFE = 3 * STRETCH - 2
"""A risk counts as met by a comb up to this factor: its teeth stand a hair farther apart than a guess is long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comb(Directed):
    """Each line of parameters inside the prior's support is cut into blocks, and each block into combs.

    The blocks of a line depend on its length alone (docs/theory.md, combs). In a block of spacing w the points
    that are the same modulo w share a release, in its middle; where ``layout`` says so, a block is an interval.

    Parameters
    ----------
    along, coordinate, direction : str, Form, Form
        The coordinate, and how the parameters change per unit of it.
    window : float
        Least spacing of the teeth along the coordinate, just over the length of a hit.
    teeth : int
        Largest number of teeth of a comb.
    extent : float
        Largest distance between two parameters that share a release.
    keep : Support
        The prior's support, which ends the lines.
    packed : bool
        Whether blocks are laid from the start of the line, as wide as they can be, and not fitted into it: for a belief
        that is dense there.
    """

    kind: ClassVar[str] = "comb"
    hair: ClassVar[float] = KNIFE
    scattered: ClassVar[bool] = True
    window: float
    teeth: int
    extent: float
    packed: bool = False

    def __post_init__(self) -> None:
        Directed.__post_init__(self)
        object.__setattr__(self, "window", positive(self.window, "the spacing of a comb"))
        object.__setattr__(self, "extent", positive(self.extent, "the extent of a comb"))
        if isinstance(self.teeth, bool) or not isinstance(self.teeth, int) or not 2 <= self.teeth <= 10**9:
            raise ProblemError(f"a comb needs 2 or more teeth. Got {self.teeth!r}.")
        if (self.teeth - 1) * self.window > self.extent * (1 + 1e-9):
            raise ProblemError("the teeth of a comb must fit into its extent.")

    @property
    def _article(self) -> str:
        return "a comb"

    @property
    def spacing(self) -> float | None:
        return self.window

    @property
    def reach(self) -> float:
        return self.extent

    def covers(self, problem: Problem) -> bool:
        return self.keep == problem.support

    def describe(self, slope: float | None) -> tuple[str, str]:
        turned = "" if slope is None else f", slope {slope:.6g}"
        apart = f"{self.window:.6g} or a little more apart along {self.along}{turned}"
        return "combs", f"up to {self.teeth} teeth, {apart}"

    def room(self, params: Mapping[str, float]) -> tuple[float, float]:
        back, ahead = self.keep.extent(params, self.direction)
        return -float(back), float(ahead - back)

    def laid(self, move: float) -> Comb:
        return replace(self, keep=self._kept(move))

    @property
    def finite(self) -> bool:
        return False

    def release(
        self, params: Mapping[str, ArrayLike], chance: ArrayLike | None = None
    ) -> dict[str, NDArray[np.float64]]:
        place = self._place(params)
        with np.errstate(invalid="ignore", divide="ignore"):
            ragged = place.longer > 0
            # the upper end of a block belongs to its last tooth, whatever rounding says
            tooth = np.minimum(np.floor(place.inside / place.spacing), place.whole - (~ragged))
            top = np.where(ragged & (tooth >= place.whole), place.longer, place.spacing)
            residue = np.clip(place.inside - tooth * place.spacing, 0.0, top * (1 - 1e-15))
        offset = np.where(place.comb, self._offset(place, residue), 0.0)
        return self._moved(params, place.middle + offset - place.at)

    def snap(self, released: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.float64]]:
        place = self._place(released)
        half = np.where(place.comb, 0.5 * place.spacing, 0.0)
        return self._moved(released, np.clip(place.at, place.middle - half, place.middle + half) - place.at)

    def bin_of(self, params: Mapping[str, float]) -> dict[str, Any]:
        place = self._place(params)
        begin = float(evaluate(self.coordinate, params)) - float(place.at) + float(place.start)
        found = {"along": self.along, "low": begin, "high": begin + float(place.size)}
        return {**found, "spacing": float(place.spacing) if bool(place.comb) else None}

    def layout(self, length: ArrayLike) -> Layout:
        """Its blocks on lines of these lengths."""
        if self.packed:
            return packed(length, self.teeth, self.window)
        return layout(length, teeth=self.teeth, extent=self.extent, window=self.window)

    def _place(self, params: Mapping[str, ArrayLike]) -> _Place:
        """Where on its line, and in which block, each parameter lies."""
        back, ahead = self.keep.extent(params, self.direction)
        # points of one line must agree on its length, or rounding errors would give them different layouts
        grain = max(self.window * 2.0**-30, self._size * 2.0**-46)
        length = np.round(np.maximum(ahead - back, 0.0) / grain) * grain
        found = self.layout(length)
        at = np.clip(-back, 0.0, length)
        index = np.clip(np.floor(at / np.where(found.block > 0, found.block, 1.0)), 0, found.count)
        rest = (index >= found.count) & (found.rest > 0)
        index = np.where(rest, found.count, np.minimum(index, found.count - 1))
        start = index * found.block
        size = np.where(rest, found.rest, found.block)
        return _Place(
            at=at,
            inside=np.clip(at - start, 0.0, size),
            start=start,
            size=size,
            spacing=np.where((rest & ~found.toothed) | (found.spacing <= 0), np.inf, found.spacing),
        )

    def _offset(self, place: _Place, residue: Array) -> Array:
        """Release of a residue class, from the middle of its block: -w/2 to w/2, each class its own.

        A block of length (m - 1) w + e has classes of m teeth (residues below e) and of m - 1 teeth. Middles of the
        two kinds would coincide; the shorter ones move aside by e/2, which they can, being a tooth shorter.
        """
        with np.errstate(invalid="ignore"):
            longer = place.longer
            return np.where(
                residue < longer,
                residue - 0.5 * longer,
                np.where(
                    residue < 0.5 * (longer + place.spacing),
                    residue - longer - 0.5 * place.spacing,
                    residue - 0.5 * place.spacing,
                ),
            )

    def _moved(self, params: Mapping[str, ArrayLike], move: Array) -> dict[str, NDArray[np.float64]]:
        released = {name: np.asarray(value, dtype=np.float64) for name, value in params.items()}
        exact = {name: released[name] + change * move for name, change in self.direction.items()}
        # sizes that the plan alone sets: how the last bits are rounded must not tell how far a parameter moved
        quieter = {name: quiet(value, self.window, self._size) for name, value in exact.items()}
        return released | apart(quieter, exact)

    @property
    def _size(self) -> float:
        """How large the numbers are."""
        return max([self.extent, *(abs(bound) for _, bound in self.keep.limits)])

    def fibre(self, released: Mapping[str, NDArray[np.float64]], support: Support, nodes: int) -> Fibre:
        place = self._place(released)
        comb = place.comb
        with np.errstate(invalid="ignore", divide="ignore"):
            spacing, longer = np.where(comb, place.spacing, 0.0), np.where(comb, place.longer, 0.0)
            offset = place.at - place.middle
            residue = np.where(
                np.abs(offset) < 0.5 * longer,
                offset + 0.5 * longer,
                np.where(offset < 0, offset + longer + 0.5 * spacing, offset + 0.5 * spacing),
            )
            count = np.where(comb, place.whole + (residue < longer * (1 - 1e-9)), 0)
        width = max(nodes, int(count.max(initial=0)))
        steps = np.arange(width)
        piece = place.size[:, None] * (steps / (width - 1))
        # ends of a support are met in the plan's own numbers: a core that is narrower cuts pieces, not combs
        low, high = support.extent(released, self.direction)
        teeth = np.where(comb, residue, 0.0)[:, None] + spacing[:, None] * steps
        inside = np.where(comb[:, None], teeth, piece)
        from_release = place.start[:, None] + inside - place.at[:, None]
        cut_low, cut_high = np.maximum(low, from_release[:, 0]), np.minimum(high, from_release[:, -1])
        shorter = cut_low[:, None] + (cut_high - cut_low)[:, None] * (steps / (width - 1))
        move = np.where(comb[:, None], from_release, shorter)
        weight = np.where(comb[:, None], (steps < count[:, None]).astype(np.float64), 1.0)
        points = {
            name: np.asarray(value)[:, None] + self.direction.get(name, 0.0) * move for name, value in released.items()
        }
        return Fibre(points=points, weight=weight, comb=comb)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "along": self.along,
            "coordinate": dict(self.coordinate),
            "direction": dict(self.direction),
            "window": self.window,
            "teeth": self.teeth,
            "extent": self.extent,
            "keep": support_to_json(self.keep),
            **({"packed": True} if self.packed else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Comb:
        return cls(
            along=data["along"],
            coordinate=dict(data["coordinate"]),
            direction=dict(data["direction"]),
            window=data["window"],
            teeth=data["teeth"],
            extent=data["extent"],
            keep=support_from_json(data["keep"]),
            packed=data.get("packed", False) is True,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A point on its line, measured from the line's start; ``spacing`` is infinite in an interval block."""

    at: Array
    inside: Array
    start: Array
    size: Array
    spacing: Array

    @property
    def comb(self) -> NDArray[np.bool_]:
        return np.isfinite(self.spacing)

    @property
    def middle(self) -> Array:
        return self.start + 0.5 * self.size

    @property
    def whole(self) -> Array:
        """Teeth of the shorter classes."""
        teeth: Array = np.floor(self.size / self.spacing * (1 + 1e-12) + 1e-9)
        return teeth

    @property
    def longer(self) -> Array:
        """Residues below this have one tooth more; a rounding error is none."""
        more = self.size - self.whole * self.spacing
        return np.where(more > 1e-9 * self.spacing, more, 0.0)
