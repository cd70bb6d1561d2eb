"""Random problems and targets, as plain dictionaries that a line of text can hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from fuzz.laws import CUSTOMS, DOMAINS, FUNCTIONS, PARAMETERS

__all__ = ["FAMILIES", "METHODS", "make", "random_spec"]

Spec = dict[str, Any]

FAMILIES = (
    "binomial",
    "categorical",
    "custom",
    "exponential",
    "gaussian",
    "geometric",
    "location",
    "poisson",
    "shifted-exponential",
    "uniform",
)
METHODS = ("auto", "interval", "dynamic", "greedy", "comb", "layered", "layered-comb", "optimal")
_TWO = ("gaussian", "shifted-exponential", "uniform")
_HARD = 1 / 6
_HARD_FAMILIES = (*_TWO, *_TWO, "location", "exponential", "custom", "poisson", "binomial")


def random_spec(rng: Generator, only: str | None = None, *, hard: bool | None = None) -> Spec:
    """A problem with a target: every family, secret, kind of prior, method; boxes and tolerances of all sizes.

    A sixth of them (``hard``: all, or none) has beliefs that quadrature finds hard: narrow separate peaks, heavy tails
    for every parameter, a narrow density beside a range, tolerances far below the range.
    """
    aside = rng.spawn(1)[0]  # of its own, so that the other problems of a seed stay what they were
    if (aside.random() < _HARD) if hard is None else hard:
        return _hard(aside, only)
    name = only or str(rng.choice(FAMILIES, p=_weights()))
    spec: Spec = {"family": {"name": name}, "plan": {}}
    if name == "categorical":
        return _categorical(spec, rng)
    if name == "custom":
        spec["family"]["label"] = str(rng.choice(list(CUSTOMS)))
    if name == "binomial":
        spec["family"]["trials"] = int(rng.choice([1, 5, 20, 100, 1000]))
    own = _own_secret(name, rng)
    if name == "location" and own is not None:
        spec["family"] |= {"shape": "laplace", "spread": 2.0}
    ranges = _ranges(spec["family"], rng, own)
    free = list(ranges)
    if name in _TWO and rng.random() < 0.25:  # one parameter is publicly known
        still = str(rng.choice(free))
        free.remove(still)
        low, high = ranges[still]
        spec["prior"] = {still: {"kind": "known", "value": _round(0.5 * (low + high))}}
    else:
        spec["prior"] = {}
    plain = rng.random() < 0.35
    # a class of densities has bounds for equal bins only, beside a plain range or a known value
    kinds = ["flat", "density", "density", "table", "elicited"]
    if name == "custom":
        kinds.remove("elicited")
    lipschitz = name in ("exponential", "gaussian", "location", "shifted-exponential") and rng.random() < 0.12
    for parameter in free:
        low, high = ranges[parameter]
        if lipschitz:
            spec["prior"][parameter] = _axis(str(rng.choice(["lipschitz", "flat"])), low, high, rng)
        elif plain:
            spec["prior"][parameter] = {"kind": "flat", "low": low, "high": high}
        else:
            spec["prior"][parameter] = _axis(str(rng.choice(kinds)), low, high, rng)
    spec["prior"] = {parameter: spec["prior"][parameter] for parameter in PARAMETERS[name]}
    reach = _ask(spec, ranges, own, rng)
    if reach is None:
        return random_spec(rng, only)
    spec["tolerance"] = _round(reach * 10 ** rng.uniform(-4 if len(free) == 1 else -3, -0.4))
    if name in ("binomial", "geometric", "poisson") and own is None and rng.random() < 0.35:
        spec["distance"] = "tv"
    _structure(spec, rng)
    _target(spec, rng, reach, len(free))
    return spec


def _ask(spec: Spec, ranges: Any, own: Any, rng: Generator) -> float | None:
    """Give the problem a secret that its prior leaves open, and say how far that reaches; None if none is found."""
    for _ in range(20):
        spec["secret"] = own or _secret(spec["family"]["name"], spec, rng)
        reach = _reach(spec, ranges)
        if reach > 1e-6:
            return reach
    return None


def _hard(rng: Generator, only: str | None) -> Spec:
    """A problem whose beliefs have most of their mass in few narrow places."""
    name = only if only not in (None, "categorical") else None
    name = name or str(rng.choice(_HARD_FAMILIES))
    spec: Spec = {"family": {"name": name}, "plan": {}, "prior": {}}
    if name == "custom":
        spec["family"]["label"] = str(rng.choice(list(CUSTOMS)))
    if name == "binomial":
        spec["family"]["trials"] = int(rng.choice([5, 20, 100]))
    own = _own_secret(name, rng)
    if name == "location" and own is not None:
        spec["family"] |= {"shape": "laplace", "spread": 2.0}
    ranges = _ranges(spec["family"], rng, own)
    if name == "custom":  # room for the tails of an elicited belief
        low, high = CUSTOMS[spec["family"]["label"]].domain
        ranges["theta"] = (_round(low + 0.05 * (high - low)), _round(high - 0.05 * (high - low)))
    kinds = ["peaks", "peaks", "heavy", "narrow"]
    every = ["heavy", "heavy"] if rng.random() < 0.25 else [str(kind) for kind in rng.choice(kinds, 2)]
    if len(ranges) == 2 and rng.random() < 0.5:  # beside a plain range, another density or a known value
        every[int(rng.integers(2))] = str(rng.choice(["flat", "flat", "density", "known"]))
    if name == "custom" and rng.random() < 0.5:
        every = ["elicited"]
    for kind, (parameter, (low, high)) in zip(every, ranges.items(), strict=False):
        value = {"kind": "known", "value": _round(0.5 * (low + high))}
        spec["prior"][parameter] = value if kind == "known" else _axis(kind, low, high, rng)
    spec["prior"] = {parameter: spec["prior"][parameter] for parameter in PARAMETERS[name]}
    free = sum(axis["kind"] != "known" for axis in spec["prior"].values())
    reach = _ask(spec, ranges, own, rng)
    if reach is None:
        return _hard(rng, only)
    spec["tolerance"] = _round(reach * 10 ** rng.uniform(-5 if rng.random() < 0.3 else -3, -0.7))
    if rng.random() < 0.3:
        _structure(spec, rng)
    _target(spec, rng, reach, free)
    plan = spec["plan"]
    if "max_distortion" in plan or rng.random() < 0.3:  # far enough to put several peaks together
        for key in ("max_risk", "bin", "slope"):
            plan.pop(key, None)
        plan["max_distortion"] = _round(max(1.2 * spec["tolerance"], reach * 10 ** rng.uniform(-1.5, -0.3)))
    elif "bin" in plan:
        plan["bin"] = _round(reach * 10 ** rng.uniform(-1.5, 0.0))
    elif "max_risk" in plan:
        plan["max_risk"] = _round(rng.uniform(0.2, 0.95))
    return spec


def _weights() -> list[float]:
    heavy = {"gaussian": 2.0, "uniform": 2.0, "shifted-exponential": 2.0, "custom": 0.6}
    raw = np.array([heavy.get(name, 1.0) for name in FAMILIES])
    return [float(x) for x in raw / raw.sum()]


def _round(x: float) -> float:
    return float(f"{x:.4g}")


def _categorical(spec: Spec, rng: Generator) -> Spec:
    count = int(rng.choice([2, 3, 4, 5, 10, 30]))
    spec["family"]["labels"] = [f"p{i}" for i in range(count)]
    spec["secret"] = {"kind": "fraction", "category": f"p{rng.integers(count)}"}
    spec["tolerance"] = _round(10 ** rng.uniform(-3.5, -0.8))
    _target(spec, rng, min(1.0, 3 / count), 1)
    spec["plan"]["method"] = str(
        rng.choice(["auto", "interval"] if "bin" in spec["plan"] else ["auto", "interval", "comb"])
    )
    for numeric in ("grid", "release"):
        spec["plan"].pop(numeric, None)
    return spec


def _own_secret(name: str, rng: Generator) -> Spec | None:
    if name not in _TWO and name != "custom" and rng.random() < 0.2:
        return {"kind": "function", "label": str(rng.choice(list(FUNCTIONS)))}
    return None


def _ranges(family: Spec, rng: Generator, own: Spec | None) -> dict[str, tuple[float, float]]:
    """A range for each parameter, of any aspect ratio."""
    name = family["name"]
    out = {}
    for parameter in PARAMETERS[name]:
        if name == "custom":
            low, high = CUSTOMS[family["label"]].domain
            ends = np.sort(rng.uniform(low, high, 2))
        elif parameter == "p" or own is not None:
            ends = np.sort(rng.uniform(0.02, 0.98, 2))
        else:
            width = 10 ** rng.uniform(-1.5, 1.5)
            start = 10 ** rng.uniform(-1, 1.5) if DOMAINS.get(parameter) else rng.normal() * width
            ends = np.array([start, start + width])
        if ends[1] - ends[0] < 0.02 * max(1.0, abs(ends[1])):
            ends[1] = ends[0] + 0.02 * max(1.0, abs(ends[0]))
        out[parameter] = (_round(ends[0]), _round(ends[1]))
    if name == "uniform":
        lower = out["low"]
        width = 10 ** rng.uniform(-1.5, 1.5)
        case = rng.random()
        if case < 0.4:  # a box that the diagonal does not cut, touching it or apart from it
            start = lower[1] + (0.0 if case < 0.2 else abs(rng.normal()) * width)
        else:
            start = lower[0] + rng.uniform(0.1, 1) * (lower[1] - lower[0])
        out["high"] = (_round(start), _round(start + width))
    return out


def _axis(kind: str, low: float, high: float, rng: Generator) -> Spec:
    """A belief of this kind on a range."""
    wide = high - low
    if kind == "flat":
        return {"kind": "flat", "low": low, "high": high}
    if kind == "table":
        count = int(rng.integers(2, 8))
        inner = np.sort(rng.uniform(low, high, count))
        weights = rng.exponential(size=count + 2) * (rng.random(count + 2) < 0.8)
        weights[int(rng.integers(count + 2))] += 0.5
        return {"kind": "table", "values": [low, *map(float, inner), high], "weights": [float(w) for w in weights]}
    if kind == "lipschitz":
        floor = float(rng.choice([0.0, rng.uniform(0, 1)])) / wide
        slope = 10 ** rng.uniform(-1.5, 1.2) / wide**2
        return {"kind": "lipschitz", "low": low, "high": high, "floor": floor, "slope": slope}
    if kind == "elicited":
        a, b = low + 0.35 * wide, high - 0.35 * wide
        return {"kind": "elicited", "a": a, "b": b, "sure": float(rng.choice([0.5, 0.8, 0.9, 0.95]))}
    if kind == "peaks":
        return _peaks(low, high, rng)
    if kind == "heavy":
        spread = wide * 10 ** rng.uniform(-4, -0.5)
        centre = low + wide * rng.uniform(0.02, 0.98)
        shape = str(rng.choice(["t", "t", "cauchy"]))
        args = [centre, spread] if shape == "cauchy" else [float(rng.choice([1.1, 1.5, 2.0])), centre, spread]
        return {"kind": "density", "name": shape, "args": args, "low": low, "high": high}
    if kind == "narrow":
        args = [low + wide * rng.uniform(0.05, 0.95), wide * 10 ** rng.uniform(-4.5, -2)]
        shape = str(rng.choice(["norm", "laplace", "logistic"]))
        return {"kind": "density", "name": shape, "args": args, "low": low, "high": high}
    shape = str(rng.choice(["norm", "t", "cauchy", "lognorm", "beta", "gamma", "expon", "laplace", "logistic"]))
    centre, spread = low + wide * rng.uniform(-0.1, 1.1), wide * 10 ** rng.uniform(-2.3, 0.3)
    if shape == "t":
        args = [float(rng.choice([1.2, 2.0, 5.0])), centre, spread]
    elif shape == "lognorm":
        args = [float(rng.choice([0.3, 1.0, 2.0])), low - 0.05 * wide, 0.3 * wide]
    elif shape == "beta":
        args = [float(a) for a in rng.choice([1.0, 1.5, 2.0, 8.0, 40.0], 2)] + [low, wide]
    elif shape == "gamma":
        args = [float(rng.choice([1.0, 2.0, 9.0])), low, 0.2 * wide]
    elif shape == "expon":
        args = [low, spread]
    else:
        args = [centre, spread]
    return {"kind": "density", "name": shape, "args": args, "low": low, "high": high}


def _peaks(low: float, high: float, rng: Generator) -> Spec:
    """A table of narrow separate peaks, with nothing or a little between them."""
    wide = high - low
    half = wide * 10 ** rng.uniform(-5, -1.5)
    centres = np.sort(rng.uniform(low + 2 * half, high - 2 * half, int(rng.integers(2, 13))))
    if rng.random() < 0.2:  # even ones, as teeth are
        centres = np.linspace(low, high, len(centres) + 2)[1:-1]
    centres = centres[np.concatenate([[True], np.diff(centres) > 3 * half])]
    floor = float(rng.choice([0.0, 0.0, 10 ** rng.uniform(-4, -1)]))
    tops = rng.uniform(0.3, 1.0, len(centres)) if rng.random() < 0.7 else np.ones(len(centres))
    values, weights = [low], [floor]
    for centre, top in zip(centres, tops, strict=True):
        values += [float(centre - half), float(centre), float(centre + half)]
        weights += [floor, float(top), floor]
    return {"kind": "table", "values": [*values, high], "weights": [*weights, floor]}


def _secret(name: str, spec: Spec, rng: Generator) -> Spec:
    if name in ("location",):
        return {"kind": "mean"}
    if name == "custom":
        return {"kind": str(rng.choice(["mean", "std"]))}
    if name in ("binomial", "geometric", "poisson"):
        kind = str(rng.choice(["mean", "std", "fraction"]))
        top = {"binomial": min(int(spec["family"].get("trials", 1)), 12), "geometric": 5, "poisson": 15}[name]
        return {"kind": kind, "category": int(rng.integers(top + 1))} if kind == "fraction" else {"kind": kind}
    kind = str(rng.choice(["mean", "std", "quantile"]))
    if kind != "quantile":
        return {"kind": kind}
    alphas = [0.01, 0.1, 0.25, 0.5, 0.6, 0.75, 0.9, 0.95, 0.99, _round(rng.uniform(0.02, 0.98))]
    if name == "uniform":
        alphas += [0.0, 1.0]
    return {"kind": "quantile", "alpha": float(rng.choice(alphas))}


def _reach(spec: Spec, ranges: dict[str, tuple[float, float]]) -> float:
    """How far the secret goes, roughly: over the corners and a few points in between."""
    from fuzz.laws import secret

    names = PARAMETERS[spec["family"]["name"]]
    grids = []
    for name in names:
        axis = spec["prior"][name]
        low, high = ranges[name]
        grids.append(np.array([axis["value"]]) if axis["kind"] == "known" else np.linspace(low, high, 33))
    mesh = np.meshgrid(*grids, indexing="ij")
    params = {name: part.ravel() for name, part in zip(names, mesh, strict=True)}
    if spec["family"]["name"] == "uniform":
        inside = params["high"] > params["low"]
        params = {name: value[inside] for name, value in params.items()}
    value = secret(spec["family"], spec["secret"], params)
    value = value[np.isfinite(value)]
    return float(np.ptp(value)) if len(value) else 0.0


def _structure(spec: Spec, rng: Generator) -> None:
    name = spec["family"]["name"]
    if name in ("gaussian", "location", "shifted-exponential", "uniform") and rng.random() < 0.12:
        spec["known"] = {"step": _round(spec["tolerance"] * 10 ** rng.uniform(-0.7, 1.0))}
        if rng.random() < 0.3:
            spec["known"]["step"] = 2 * spec["tolerance"]
    elif name in ("gaussian", "location") and rng.random() < 0.25:
        parameter = "mu" if name == "gaussian" else "mean"
        axis = spec["prior"][parameter]
        low = axis.get("low", axis.get("value", axis.get("values", [0])[0] if "values" in axis else None))
        if low is not None:
            spec["known"] = {"minimum": _round(low - 10 ** rng.uniform(-1, 1) * spec["tolerance"] * 3)}


def _target(spec: Spec, rng: Generator, reach: float, free: int) -> None:
    plan: Spec = spec["plan"]
    eps, name = spec["tolerance"], spec["family"]["name"]
    kinds = {axis["kind"] for axis in spec.get("prior", {}).values()}
    continuous = name in (*_TWO, "exponential", "location", "categorical") and spec["secret"]["kind"] != "function"
    bins_only = "lipschitz" in kinds or "step" in spec.get("known", {}) or (free == 2 and "known" in spec)
    if bins_only or (free == 2 and not continuous):
        methods = ["auto", "interval"]
    elif free == 2:
        methods = ["auto", "interval", "comb", "comb"]
    else:
        methods = [method for method in METHODS if continuous or method != "interval"]
    blind = min(1.0, 2 * eps / reach) * (1.5 if kinds <= {"flat", "known"} else 5.0)  # a guess without the release
    case = rng.random()
    if case < (0.5 if continuous else 0.75):
        plan["max_risk"] = _round(min(0.98, max(blind, 10 ** rng.uniform(-1.3, -0.1))))
    elif case < 0.8 or not continuous:
        # roughly: half a bin of a few windows, at least a cell of the grid
        plan["max_distortion"] = _round(eps * 10 ** rng.uniform(0.1, 1.3))
    else:
        plan["bin"] = _round(eps * 10 ** rng.uniform(0.4, 1.4))
        methods = ["auto", "interval"]
        if free == 2 and "known" not in spec and rng.random() < 0.5:
            plan["slope"] = float(rng.choice([0.0, 1.0, -0.5, _round(rng.normal())]))
    plan["method"] = str(rng.choice(methods))
    if free == 1 and plan["method"] not in ("auto", "interval"):
        coarsest = float(plan.get("max_distortion", reach))
        fine = round(min(200.0, max(12.0, 3 * reach / max(coarsest, 1e-12))))
        small = plan["method"] == "optimal"
        plan["grid"] = min(60, fine) if small else max(fine, int(rng.integers(12, 121)))
        if rng.random() < 0.15 and name != "categorical":
            plan["release"] = "grid"
    if rng.random() < 0.15 and "bin" not in plan and not bins_only:
        plan["robust_to"] = [_round(0.5 * eps), _round(eps * float(rng.choice([1.0, 1.5, 2.0, 3.0])))]


def make(spec: Spec) -> tuple[Any, Spec]:
    """The problem of statveil, and the arguments of ``sv.plan``."""
    import statveil as sv

    family, name = _family(spec["family"]), spec["family"]["name"]
    wanted = spec["secret"]
    chosen: Any
    if wanted["kind"] == "function":
        chosen = sv.Function(FUNCTIONS[wanted["label"]], label=wanted["label"])
    elif wanted["kind"] == "quantile":
        chosen = sv.Quantile(wanted["alpha"])
    elif wanted["kind"] == "fraction":
        chosen = sv.Fraction(wanted["category"])
    else:
        chosen = sv.Mean() if wanted["kind"] == "mean" else sv.Std()
    more: Spec = {}
    if name != "categorical":
        more["prior"] = sv.Box(**{parameter: _belief(axis) for parameter, axis in spec["prior"].items()})
    if "known" in spec:
        more["known"] = sv.Structure(**spec["known"])
    if "distance" in spec:
        more["distance"] = spec["distance"]
    problem = sv.Problem(family=family, secret=chosen, tolerance=spec["tolerance"], **more)
    target = {key: tuple(value) if isinstance(value, list) else value for key, value in spec["plan"].items()}
    return problem, target


def _family(data: Spec) -> Any:
    import statveil as sv

    name = data["name"]
    if name == "custom":
        own = CUSTOMS[data["label"]]
        values = {"pmf": own.pmf, "top": own.top} if own.pmf is not None else {"cdf": own.cdf, "support": own.support}
        return sv.Custom(parameter="theta", domain=own.domain, label=data["label"], **values)
    if name == "categorical":
        return sv.Categorical(labels=data["labels"])
    if name == "binomial":
        return sv.Binomial(trials=data["trials"])
    if name == "location":
        return sv.Location(shape=data["shape"], spread=data["spread"]) if "shape" in data else sv.Location()
    plain: dict[str, Any] = {
        "exponential": sv.Exponential,
        "gaussian": sv.Gaussian,
        "geometric": sv.Geometric,
        "poisson": sv.Poisson,
        "shifted-exponential": sv.ShiftedExponential,
        "uniform": sv.Uniform,
    }
    return plain[name]()


def _belief(axis: Spec) -> Any:
    import statveil as sv

    kind = axis["kind"]
    if kind == "flat":
        return (axis["low"], axis["high"])
    if kind == "known":
        return axis["value"]
    if kind == "table":
        return sv.Tabulated(axis["values"], axis["weights"])
    if kind == "lipschitz":
        return sv.Lipschitz(axis["low"], axis["high"], axis["floor"], axis["slope"])
    if kind == "elicited":
        return sv.Elicited(axis["a"], axis["b"], axis["sure"])
    return sv.Density(axis["name"], axis["args"], low=axis["low"], high=axis["high"])
