"""Which mechanisms are compared, with which settings. Nothing here looks at a value of the column."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from statveil.accounting import hit_window
from statveil.alternatives.alternative import Alternative
from statveil.alternatives.binned import BinnedAlternative
from statveil.alternatives.common_shift import CommonShift
from statveil.alternatives.gaussian import GaussianNoise
from statveil.alternatives.histogram import PrivateHistogram
from statveil.alternatives.laplace import LaplaceNoise
from statveil.alternatives.opendp_histogram import OpenDPHistogram
from statveil.comparing.contender import Contender
from statveil.comparing.noisy import Noisy
from statveil.comparing.quantization import Quantization
from statveil.comparing.stated import Stated, shifts
from statveil.errors import ProblemError, TargetError
from statveil.mechanisms.comb import Comb
from statveil.mechanisms.interval import Interval
from statveil.planning import plan
from statveil.problem.location_scale import LocationScale

__all__ = ["FORMS", "METHODS", "Sweep", "contenders"]

METHODS: dict[str, str] = {
    "ours": "interval quantization, the paper's mechanism",
    "comb": "comb quantization, which attains the limit",
    "dp": "differential privacy: rows drawn from a noisy histogram",
    "ap": "attribute privacy: normal noise",
    "distp": "distribution privacy: Laplace noise on each row",
    "directional": "directional distribution privacy: one Laplace shift of all rows",
    "opendp": "differential privacy by OpenDP",
}
"""What can be compared."""

FORMS = (PAPER, FAIR, SWEPT) = ("paper", "fair", "swept")
"""As the paper ran it; set from its own guarantee; noise that is neither."""

_BETA = (0.5, 500.0)
_DP_EPSILON, _EPSILON, _DELTA = (0.01, 10.0), (0.1, 100.0), 1e-6
_NARROWEST, _LOUDEST = 1e-3, 10.0
"""Narrowest bin and loudest noise on rows, over the width of the prior."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """How finely to sweep: settings of each form, numbers of bins, and rows of the column."""

    points: int
    bins: tuple[int, ...]
    rows: int


Found = Iterator[Contender]


def contenders(stated: Stated, methods: Sequence[str], sweep: Sweep) -> tuple[list[Contender], dict[str, str]]:
    """Every setting of every method, and what is left out with the reason."""
    makers: dict[str, Sequence[tuple[str, Callable[[Stated, Sweep], Found]]]] = {
        "ours": [(PAPER, _intervals)],
        "comb": [(FAIR, _combs)],
        "dp": [(PAPER, _paper_histograms), (FAIR, partial(_fair_histograms, "dp", PrivateHistogram))],
        "ap": [(PAPER, _normal_rows), (FAIR, _normal_shifts)],
        "distp": [(PAPER, _laplace_rows), (FAIR, _fair_laplace_rows)],
        "directional": [(FAIR, _laplace_shifts)],
        "opendp": [(FAIR, partial(_fair_histograms, "opendp", OpenDPHistogram))],
    }
    found: list[Contender] = []
    left_out: dict[str, str] = {}
    for method in methods:
        for form, make in makers[method]:
            try:
                found += make(stated, sweep)
            except (ProblemError, TargetError) as error:
                left_out[f"{method} ({form})"] = str(error)
    return found, left_out


# --- our mechanisms -----------------------------------------------------------------------------
def _widths(stated: Stated, sweep: Sweep) -> list[float]:
    """Bin widths from that of a guess, below which everything is given away, to the whole range."""
    widest = plan(stated.problem, bin=1e99).mechanism
    assert isinstance(widest, Interval)
    window = hit_window(stated.problem, widest.direction, stated.problem.tolerance)
    whole = widest.bins.high - widest.bins.low
    return [float(f"{width:.4g}") for width in np.geomspace(max(window, _NARROWEST * whole), whole, sweep.points)]


def _intervals(stated: Stated, sweep: Sweep) -> Found:
    for width in _widths(stated, sweep):
        found = plan(stated.problem, bin=width)
        yield Quantization(stated=stated, method="ours", form=PAPER, parameter={"bin": width}, plan=found)


def _combs(stated: Stated, sweep: Sweep) -> Found:
    """Combs with the largest distortions of the intervals."""
    made, last = 0, None
    for width in _widths(stated, sweep):
        allowed = plan(stated.problem, bin=width).distortion
        try:
            found = plan(stated.problem, max_distortion=allowed, method="comb")
        except TargetError:  # too little for two teeth
            continue
        if found.mechanism == last:
            continue
        made, last = made + 1, found.mechanism
        assert isinstance(found.mechanism, Comb)
        parameter = {"teeth": float(found.mechanism.teeth), "max_distortion": found.distortion}
        yield Quantization(stated=stated, method="comb", form=FAIR, parameter=parameter, plan=found)
    if not made:
        raise TargetError("no comb of two teeth or more fits into the prior.")


# --- the alternatives ---------------------------------------------------------------------------
def _paper_histograms(stated: Stated, sweep: Sweep) -> Found:
    low, high = stated.range
    for bins, beta in _grid(sweep, _BETA):
        mechanism = PrivateHistogram.paper(beta=beta, bins=bins, low=low, high=high)
        yield Noisy(stated=stated, method="dp", form=PAPER, parameter=_of(beta=beta, bins=bins), mechanism=mechanism)


def _fair_histograms(method: str, kind: type[BinnedAlternative], stated: Stated, sweep: Sweep) -> Found:
    if kind is OpenDPHistogram and importlib.util.find_spec("opendp") is None:
        raise ProblemError(
            "OpenDP is not installed; install the extra statveil[opendp]: pip install 'statveil[opendp]'."
        )
    low, high = stated.range
    fewer = sweep if kind is PrivateHistogram else replace(sweep, points=sweep.points // 2)  # OpenDP takes its time
    for bins, epsilon in _grid(fewer, _DP_EPSILON):
        mechanism = kind.calibrated(epsilon=epsilon, bins=bins, low=low, high=high)
        parameter = _of(epsilon=epsilon, bins=bins)
        yield Noisy(stated=stated, method=method, form=FAIR, parameter=parameter, mechanism=mechanism)


def _normal_rows(stated: Stated, sweep: Sweep) -> Found:
    yield from _rows(stated, sweep, "ap", lambda beta: GaussianNoise.paper(beta=beta))


def _laplace_rows(stated: Stated, sweep: Sweep) -> Found:
    yield from _rows(stated, sweep, "distp", lambda beta: LaplaceNoise.paper(beta=beta))


def _rows(stated: Stated, sweep: Sweep, method: str, make: Callable[[float], Alternative]) -> Found:
    for beta in _noises(stated, sweep):
        yield Noisy(stated=stated, method=method, form=PAPER, parameter=_of(beta=beta), mechanism=make(beta))


def _normal_shifts(stated: Stated, sweep: Sweep) -> Found:
    gap = _gap(stated)
    for epsilon in _spaced(*_EPSILON, sweep.points):
        # the published constant is proven for epsilon below 1 only: the least noise holds everywhere
        mechanism = GaussianNoise.calibrated(gap=gap, epsilon=epsilon, delta=_DELTA, tight=True)
        parameter = _of(epsilon=epsilon, delta=_DELTA)
        yield Noisy(stated=stated, method="ap", form=FAIR, parameter=parameter, mechanism=mechanism)


def _fair_laplace_rows(stated: Stated, sweep: Sweep) -> Found:
    gap = _gap(stated)
    for epsilon in _spaced(*_EPSILON, sweep.points):
        mechanism = LaplaceNoise.calibrated(gap=gap, rows=sweep.rows, epsilon=epsilon)
        parameter = _of(epsilon=epsilon)
        yield Noisy(stated=stated, method="distp", form=FAIR, parameter=parameter, mechanism=mechanism)


def _laplace_shifts(stated: Stated, sweep: Sweep) -> Found:
    family, secret = stated.problem.family, stated.problem.secret
    if isinstance(family, LocationScale) and not secret.moves(family):
        raise ProblemError(f"one shift of all rows leaves the {secret.label} as it is.")
    if not shifts(stated.problem):
        for beta in _noises(stated, sweep):
            shift = CommonShift(scale=1.0).at(beta)
            yield Noisy(stated=stated, method="directional", form=SWEPT, parameter=_of(beta=beta), mechanism=shift)
        return
    gap = _gap(stated)
    for epsilon in _spaced(*_EPSILON, sweep.points):
        shift = CommonShift.calibrated(gap=gap, epsilon=epsilon)
        yield Noisy(stated=stated, method="directional", form=FAIR, parameter=_of(epsilon=epsilon), mechanism=shift)


def _gap(stated: Stated) -> float:
    """Largest difference of two candidates' means; the fair forms are for candidates that differ by a shift."""
    problem = stated.problem
    if not shifts(problem):
        raise ProblemError(
            f"its guarantee is for columns that differ by a shift; those of the family {problem.family.name!r} that "
            "the prior allows differ in scale too."
        )
    return stated.ends[1] - stated.ends[0]


# --- grids --------------------------------------------------------------------------------------
def _spaced(low: float, high: float, count: int) -> list[float]:
    """Numbers of three digits, evenly spaced on a logarithmic scale."""
    return [float(f"{value:.3g}") for value in np.geomspace(low, high, count)]


def _noises(stated: Stated, sweep: Sweep) -> list[float]:
    width = stated.ends[1] - stated.ends[0]
    return _spaced(stated.problem.tolerance, _LOUDEST * width, sweep.points)


def _grid(sweep: Sweep, ends: tuple[float, float]) -> Iterator[tuple[int, float]]:
    """Numbers of bins times noise, about as many pairs as other sweeps have settings."""
    each = max(2, -(-sweep.points // len(sweep.bins)))
    for bins in sweep.bins:
        for value in _spaced(*ends, each):
            yield bins, value


def _of(**parameter: float) -> dict[str, float]:
    return {name: float(value) for name, value in parameter.items()}
