"""The densities that are worst for the holder when only a floor and a Lipschitz constant are known."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from statveil.numeric import Array
from statveil.published import printed_peak, printed_relaxed
from statveil.reproducing.drawing import COLOURS, data, title
from statveil.reproducing.item import Item, Work
from statveil.reproducing.results import Claim, Column, Figure, Outcome, ResultTable
from statveil.theory.risk.lipschitz import best_share

__all__ = ["RelaxedPriors", "best_share_by_programme", "peak_by_programme"]


_FLOOR, _SLOPE, _WINDOW, _BIN = 0.05, 0.2, 0.2, 2.0
_CELLS = 200


class RelaxedPriors(Item):
    """The extremal densities of the two lemmas, held against a linear programme over all densities."""

    name: ClassVar[str] = "relaxed-priors"
    title: ClassVar[str] = "Lipschitz priors: the worst densities of the appendix"
    source: ClassVar[str] = "Figures fig:fraction_derivation_illustration, fig:derivation_illustration"
    place: ClassVar[int] = 90

    def run(self, work: Work) -> Outcome:
        share = best_share(_BIN, _WINDOW, _FLOOR, _SLOPE)
        printed = {sign: printed_relaxed(_WINDOW, _BIN, _FLOOR, _SLOPE, sign=sign) for sign in (-1.0, 1.0)}
        work.tell("a linear programme over all densities")
        solved, density = best_share_by_programme(_BIN, _WINDOW, _FLOOR, _SLOPE)
        peaks = [
            (name, floor, printed_peak(_BIN, floor, _SLOPE, 1.0), *peak_by_programme(_BIN, floor, _SLOPE, 1.0))
            for name, floor in (("pattern 1", 0.1), ("pattern 2", 0.4))
        ]
        rows: list[dict[str, str | float | None]] = [
            {"quantity": "largest share of a bin in a window", "printed": printed[-1.0], "programme": solved},
            {"quantity": "the same, std of an exponential as printed", "printed": printed[1.0], "programme": solved},
        ]
        for name, floor, value, found, _ in peaks:
            what = f"largest density, {name} (floor {floor:g})"
            rows.append({"quantity": what, "printed": value, "programme": found})
        near = [bool(np.isclose(value, found, rtol=0.01)) for _, _, value, found, _ in peaks]
        return Outcome(
            figures=(
                Figure(
                    name="relaxed-priors",
                    chart=_chart(density, [(name, shape) for name, _, _, _, shape in peaks]),
                    caption="Found by a linear programme over all densities on a bin of length 2, not drawn from the "
                    "lemmas: flat at the floor, then rising as fast as allowed; or rising all the way where the mass "
                    "allows it.",
                ),
            ),
            tables=(
                ResultTable(
                    name="relaxed-priors",
                    caption=f"Floor {_FLOOR:g} (share), Lipschitz constant {_SLOPE:g}, window {_WINDOW:g}, bin "
                    f"{_BIN:g}.",
                    columns=(
                        Column(name="quantity", meaning="what is bounded"),
                        Column(name="printed", meaning="the paper's formula"),
                        Column(name="programme", meaning=f"the linear programme on {_CELLS} cells"),
                    ),
                    rows=rows,
                ),
            ),
            claims=(
                Claim(
                    says="The largest share of a bin's mass in a window is that of a density flat at the floor, then "
                    "rising to the end.",
                    holds=bool(np.isclose(share, solved, rtol=0.01)),
                    evidence=f"formula {share:.5f}, programme {solved:.5f}.",
                ),
                Claim(
                    says="The largest value of a density has the two printed patterns.",
                    holds=all(near),
                    evidence="; ".join(
                        f"{name}: formula {value:.4f}, programme {found:.4f}" for name, _, value, found, _ in peaks
                    )
                    + ".",
                ),
                Claim(
                    says="The relaxed bound printed for the standard deviation of an exponential is what the lemma "
                    "gives.",
                    holds=bool(np.isclose(printed[1.0] or 0.0, share, rtol=1e-6)),
                    evidence=f"as printed {printed[1.0]:.5f}, by the lemma {share:.5f}: both signs of eps are wrong in "
                    "print. The printed number is an upper bound, but not the least one.",
                ),
            ),
            differs=(
                "The pictures of the paper have no numbers; floor, constant, window and bin are ours.",
                "Printed for the standard deviation of a Gaussian, the relaxed bound divides by t0 = 0; statveil "
                "uses the limit M(A, k/A, L, 1).",
            ),
        )


def best_share_by_programme(
    length: float, window: float, floor: float, slope: float, cells: int = _CELLS
) -> tuple[float, Array]:
    """Largest share of the bin's mass in its last window over all densities, and the density that has it.

    A share is a ratio, so the density is scaled to mass 1 and the scale is one more variable (Charnes and Cooper).
    """
    from scipy.optimize import linprog

    step = length / cells
    inside = round(window / step)
    gain = np.zeros(cells + 1)
    gain[cells - inside : cells] = -step
    mass = np.append(np.full(cells, step), 0.0)
    found = linprog(
        gain,
        A_ub=_limits(cells, floor, slope * step),
        b_ub=np.zeros(3 * cells - 2),
        A_eq=mass[None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * (cells + 1),
    )
    density: Array = found.x[:cells] / found.x[cells]
    return float(-found.fun), density


def peak_by_programme(
    length: float, floor: float, slope: float, mass: float, cells: int = _CELLS
) -> tuple[float, Array]:
    """Largest value at the end of the bin over all densities of this mass, and the density that has it."""
    from scipy.optimize import linprog

    step = length / cells
    limits = _limits(cells, floor, slope * step)
    found = linprog(
        np.append(np.zeros(cells - 1), -1.0),
        A_ub=limits[:, :cells],
        b_ub=-limits[:, cells],
        A_eq=np.full((1, cells), step),
        b_eq=[mass],
        bounds=[(0, None)] * cells,
    )
    # half a cell on from the middle of the last one
    return float(-found.fun) + 0.5 * slope * step, found.x


def _limits(cells: int, floor: float, rise: float) -> Array:
    """Rows of ``A x <= 0`` for a density and its scale: above the floor, neighbours at most ``rise`` apart."""
    one = np.eye(cells)
    change = one[1:] - one[:-1]
    return np.block(
        [
            [-one, np.full((cells, 1), floor)],
            [change, np.full((cells - 1, 1), -rise)],
            [-change, np.full((cells - 1, 1), -rise)],
        ]
    )


def _chart(density: Array, peaks: list[tuple[str, Array]]) -> Any:
    import altair as alt

    curves = [("largest share in a window", density), *((f"largest value, {name}", shape) for name, shape in peaks)]
    parts = []
    for name, shape in curves:
        middles = (np.arange(len(shape)) + 0.5) / len(shape) * _BIN
        rows = [{"x": float(x), "density": float(y)} for x, y in zip(middles, shape, strict=True)]
        x = alt.X("x:Q", title="parameter inside the bin", scale=alt.Scale(domain=[0, _BIN], nice=False))
        line = (
            alt.Chart(data(rows))
            .mark_area(line={"color": COLOURS["blue"]}, color=COLOURS["blue"], opacity=0.25)
            .encode(x=x, y=alt.Y("density:Q", title="density"))
        )
        layers = [line]
        if name.endswith("window"):
            edge = [{"x": _BIN - _WINDOW}]
            layers.append(alt.Chart(data(edge)).mark_rule(color=COLOURS["red"], strokeDash=[5, 3]).encode(x=x))
        parts.append(alt.layer(*layers).properties(width=220, height=180, title={"text": name, "fontSize": 13}))
    return alt.hconcat(
        *parts,
        title=title(
            "The worst densities with a floor and a Lipschitz constant", "red: where the attacker's window starts"
        ),
    )
