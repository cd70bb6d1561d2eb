"""Columns that are a function of round numbers: logarithms, powers, ratios, scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from attacks.lattices import Lattice
from attacks.rounded import on_lattice, plan_of, rounded_rule
from attacks.variants import Floats, NoTableError, Variant, belief, log_uniform, rows, shape

__all__ = ["log"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A public function, what undoes it, and the range of values that it is used for."""

    name: str
    forward: Callable[[Floats], Floats]
    backward: Callable[[Floats], Floats]
    low: float
    high: float
    spread: tuple[float, float] = (0.08, 0.5)
    additive: bool = False
    """Whether the values of a column spread around their mean by an amount, not by a share."""


def power(exponent: float) -> Function:
    """A power of numbers up to some 100,000."""
    return Function(
        name=f"power {exponent:.2g}" if exponent not in (0.5, 2.0) else ("root" if exponent < 1 else "square"),
        forward=lambda x: np.asarray(x**exponent),
        backward=lambda y: np.asarray(np.maximum(y, 1e-12) ** (1 / exponent)),
        low=8.0**exponent,
        high=60_000.0**exponent,
        spread=(0.08 * min(exponent, 1), 0.5 * min(exponent, 1)),
    )


def functions(rng: np.random.Generator) -> Function:
    """A function from the whole domain."""
    kinds: tuple[Callable[[], Function], ...] = (
        lambda: Function(name="ln", forward=np.log, backward=np.exp, low=2.0, high=13.0, spread=(0.04, 0.25)),
        lambda: Function(
            name="log10", forward=np.log10, backward=lambda y: 10.0**y, low=0.9, high=5.5, spread=(0.04, 0.25)
        ),
        lambda: Function(name="log2", forward=np.log2, backward=np.exp2, low=3.0, high=18.0, spread=(0.04, 0.25)),
        lambda: Function(name="log1p", forward=np.log1p, backward=np.expm1, low=2.0, high=13.0, spread=(0.04, 0.25)),
        lambda: Function(
            name="decibel",
            forward=lambda x: 10 * np.log10(x),
            backward=lambda y: 10.0 ** (y / 10),
            low=9.0,
            high=55.0,
            spread=(0.04, 0.25),
        ),
        lambda: power(0.5),
        lambda: power(1 / 3),
        lambda: power(2.0),
        lambda: power(3.0),
        lambda: power(round(float(rng.uniform(0.2, 3)), 2)),
        lambda: power(float(rng.choice([0.25, 0.75, 2 / 3, 1.5, 0.425, 0.725]))),
        lambda: Function(name="arcsinh", forward=np.arcsinh, backward=np.sinh, low=2.5, high=12.0, spread=(0.04, 0.25)),
        lambda: Function(
            name="reciprocal", forward=lambda x: 1 / x, backward=lambda y: 1 / y, low=2e-4, high=0.1, spread=(0.05, 0.3)
        ),
        lambda: Function(
            name="reciprocal root",
            forward=lambda x: x**-0.5,
            backward=lambda y: y**-2.0,
            low=0.01,
            high=0.3,
            spread=(0.05, 0.2),
        ),
        lambda: Function(
            name="logarithm, base 3 to 9",
            forward=(lambda base: lambda x: np.log(x) / np.log(base))(float(rng.integers(3, 10))),
            backward=(lambda base: lambda y: base**y)(6.0),
            low=1.5,
            high=5.0,
            spread=(0.04, 0.2),
        ),
    )
    return kinds[rng.integers(len(kinds))]()


def transformed(rng: np.random.Generator) -> Variant:
    """One of the usual functions of whole or other round numbers, or of amounts with cents."""
    function = functions(rng)
    source = float(rng.choice([1, 1, 1, 1, 0.1, 0.5, 0.01, 5, 10, 100]))
    ratio = function.high / function.low
    low = function.low * np.exp(rng.uniform(0, np.log(ratio) - np.log(3))) if ratio > 3.2 else function.low
    spread = log_uniform(rng, *function.spread)
    held = belief(rng, float(low), deviation=spread, most=function.high)
    count = rows(rng)
    with np.errstate(all="ignore"):
        units = function.backward(held.truth * shape(rng, count, spread=spread)) * (source if rng.random() < 0.5 else 1)
        if not np.isfinite(units).all():
            raise NoTableError("beyond the range")
        originals = np.stack([np.round(units / source) * source, units], axis=1)
        if originals.min() <= 0:
            raise NoTableError("below 0")
        top = originals[:, 0].max() / source
        if top > 3e6 or top < 30:
            raise NoTableError("too many places")
        every = np.arange(1, min(np.ceil(top * 4), 3e6) + 2) * source
    ends = np.sort(function.forward(np.quantile(originals[:, 0], [0.05, 0.5])))
    usual = float(np.median(originals[:, 0]))
    at, beyond = function.forward(np.array([usual, usual + source]))
    slope = abs(float(beyond - at))
    choices = [None, *(d for d in range(7) if 1e-3 < 10.0**-d / max(slope, 1e-12) < 20 and 10.0**-d < ends[1] * 0.2)]
    decimals = choices[rng.integers(len(choices))]
    share = 1.0 if rng.random() < 0.75 else rng.uniform(0.3, 1.0)
    coarse = "all digits" if decimals is None else ("coarser" if 10.0**-decimals > slope else "finer")
    family = (
        f"{'power' if function.name.startswith('power') else function.name}, {coarse}{', a part' if share < 1 else ''}"
    )
    positive = bool(ends[0] >= 0)
    return rounded_rule(
        rng, family, function.forward, originals, every, held, decimals=decimals, share=share, positive=positive
    )


def quotients(rng: np.random.Generator) -> Variant:
    """Ratios of whole numbers, changes in per cent, their logarithms and log-odds, scores by public constants."""
    kind = str(rng.choice(["ratio", "per cent", "log ratio", "logit", "score", "percentage", "index"]))
    count = rows(rng)
    divisor = int(log_uniform(rng, 8, 120))
    below = rng.integers(max(2, divisor // 4), divisor + 1, count).astype(np.float64)
    whole = np.arange(1, divisor + 1)
    spread = log_uniform(rng, 0.1, 0.4)
    decimals = [None, None, 1, 2, 3, 4][rng.integers(6)]
    if kind in ("ratio", "index"):
        times = 100.0 if kind == "index" else 1.0
        held = belief(rng, log_uniform(rng, 0.5, 3) * times, deviation=spread)
        aim = held.truth / times * shape(rng, count, spread=spread)
        values = np.round(aim * below) / below * times
        most = int(np.ceil(aim.max() * 1.6))
        pairs = np.unique(np.concatenate([np.arange(1, most * d + 1) / d for d in whole])) * times
        plain, positive = aim * times, True
    elif kind in ("per cent", "percentage"):
        held = belief(rng, log_uniform(rng, 8, 25), deviation=spread, most=80.0)
        aim = np.clip(held.truth * shape(rng, count, spread=spread), 0, 99)
        base = below if kind == "percentage" else below * 2
        values = 100 * np.round(aim / 100 * base) / base
        pairs = 100 * np.unique(np.concatenate([np.arange(0, 2 * d + 1) / d for d in range(1, 2 * divisor + 1)]))
        plain, positive = aim, True
    elif kind in ("log ratio", "logit"):
        held = belief(rng, log_uniform(rng, 0.5, 0.9), deviation=0.6, most=3.0)
        aim = held.truth + 0.4 * rng.standard_normal(count)
        parts = np.clip(np.round(special.expit(aim) * below), 1, below - 1)
        if kind == "logit":
            values = np.log(parts / (below - parts))
            pairs = np.concatenate([np.log(np.arange(1, d) / (d - np.arange(1, d))) for d in range(2, divisor + 1)])
        else:
            values = np.log(np.maximum(np.round(np.exp(aim) * below), 1) / below)
            pairs = np.log(np.concatenate([np.arange(1, 80 * d) / d for d in whole]))
        plain, positive = aim, False
    else:
        centre, width = float(rng.choice([50, 100, 500, 20, 36])), float(rng.choice([10, 15, 100, 2.5, 7, 12.7]))
        held = belief(rng, log_uniform(rng, 0.5, 2), deviation=0.7)
        aim = held.truth + 0.8 * rng.standard_normal(count)
        values = (np.round(centre + width * aim) - centre) / width
        pairs = (np.arange(-5000.0, 5000.0) - centre) / width
        plain, positive = aim, False
    if kind in ("ratio", "log ratio", "logit") and decimals == 1:
        decimals = 2
    if len(pairs) > 2_000_000:
        raise NoTableError("too many places")
    if decimals is not None:
        values, plain = np.round(values, decimals), np.round(plain, decimals)
    plan = plan_of(rng, held, values, plain, decimals, positive=positive)
    name = f"{kind}, {'all digits' if decimals is None else 'rounded'}"
    return on_lattice(rng, name, plan, held, Lattice.of(pairs, decimals, 1.0), values, plain)


def log(rng: np.random.Generator) -> Variant:
    """A function of round numbers."""
    return quotients(rng) if rng.random() < 0.25 else transformed(rng)
