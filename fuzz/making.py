"""From a problem as a plain dictionary to the library's own, and the arguments of its planner."""

from __future__ import annotations

from typing import Any

from fuzz.laws import CUSTOMS, FUNCTIONS

__all__ = ["make", "planned"]

Spec = dict[str, Any]


def make(spec: Spec) -> tuple[Any, Spec]:
    """The problem of statveil, and the arguments of ``sv.plan``."""
    import statveil as sv

    more: Spec = {}
    if spec["family"]["name"] == "pair":
        return _pair(spec), _target(spec["plan"])
    if spec["family"]["name"] == "any":
        more["prior"] = _belief(spec["prior"]["value"])
    else:
        more["family"] = _family(spec["family"])
        if spec["family"]["name"] != "categorical":
            more["prior"] = sv.Box(**{parameter: _belief(axis) for parameter, axis in spec["prior"].items()})
    if "known" in spec:
        known: Spec = {key: tuple(value) if isinstance(value, list) else value for key, value in spec["known"].items()}
        more["known"] = sv.Structure(**known)
    if "distance" in spec:
        more["distance"] = spec["distance"]
    problem = sv.Problem(secret=_secret(spec["secret"]), tolerance=_number(spec["tolerance"]), **more)
    return problem, _target(spec["plan"])


def planned(spec: Spec) -> tuple[Any, Spec]:
    """The plan, and what it was asked for; after another one where the problem says so."""
    import statveil as sv

    problem, target = make(spec)
    if "before" in spec:
        target["after"] = [sv.plan(problem, **_target(spec["before"]))]
    return sv.plan(problem, **target), target


def _target(plan: Spec) -> Spec:
    return {
        key: tuple(_number(end) for end in value) if isinstance(value, list) else _number(value)
        for key, value in plan.items()
    }


def _pair(spec: Spec) -> Any:
    import statveil as sv

    one, two = spec["parts"]
    base = spec["family"]["base"]
    return sv.Problem(
        family=None if base is None else _family(base),
        secret=_secret(one["secret"]),
        prior=_belief(one["prior"]),
        tolerance=one["tolerance"],
        also=[sv.Also(_secret(two["secret"]), _belief(two["prior"]), tolerance=two["tolerance"])],
    )


def _number(value: Any) -> Any:
    """A number, or a share where a dictionary says so."""
    import statveil as sv

    return sv.Relative(value["share"]) if isinstance(value, dict) else value


def _secret(data: Spec) -> Any:
    import statveil as sv

    kind = data["kind"]
    if kind == "function":
        return sv.Function(FUNCTIONS[data["label"]], label=data["label"])
    if kind == "quantile":
        return sv.Quantile(data["alpha"])
    if kind == "fraction":
        return sv.Fraction(data["category"])
    if kind == "total":
        return sv.Total(data["rows"])
    if kind == "trimmed-mean":
        return sv.TrimmedMean(data["share"])
    plain: dict[str, Any] = {
        "mean": sv.Mean,
        "std": sv.Std,
        "median": sv.Median,
        "iqr": sv.Iqr,
        "min": sv.Minimum,
        "max": sv.Maximum,
    }
    return plain[kind]()


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
    if name == "negative-binomial":
        return sv.NegativeBinomial(size=data["size"])
    if name == "shape":
        of = data["of"]
        table = dict(zip(of["levels"], of["values"], strict=True)) if isinstance(of, dict) else of
        return sv.Shape(table, parameters=data["parameters"])
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
    if kind == "log":
        return sv.LogUniform(axis["low"], axis["high"])
    if kind == "log-slope":
        return sv.LogSlope(axis["low"], axis["high"], axis["slope"])
    return sv.Density(axis["name"], axis["args"], low=axis["low"], high=axis["high"])
