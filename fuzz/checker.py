"""A plan against the truth: risk, risk over a range of tolerances, distortion, and the target that was asked for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.beliefs import Belief, belief, members, of_logarithm
from fuzz.laws import CUSTOMS, DOMAINS, distance, names_of, secret
from fuzz.layouts import Certain, bin_edges, parallel, rays, simplex
from fuzz.orbits import as_one_parameter, moved, risk_of_shares, value_of
from fuzz.truth_cells import Cells, risk_of_cells
from fuzz.truth_lines import Lines, Truth, risk_of_lines
from fuzz.truth_pairs import distortion_of_pair, draws_agree, pair_truth

__all__ = ["SLACK", "Checked", "Misread", "check", "true_distortion", "true_risk"]

Array = NDArray[np.float64]
Json = Mapping[str, Any]

SLACK = 1e-6
"""A risk may lie this far below the truth, a distortion this share of itself."""


class Misread(Exception):  # noqa: N818  (the checker's fault, not the plan's)
    """Releases do not follow the layout that the checker read from the plan."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What a plan states and what is true of it."""

    stated: float
    risk: Truth
    stated_distortion: float
    distortion: float
    other_terms: tuple[tuple[str, float, float], ...] = ()
    """The distortion in further terms: which, stated, true."""
    stated_robust: float | None = None
    robust: Truth | None = None
    broken_target: str = ""

    @property
    def violations(self) -> list[str]:
        """Everything stated that lies below the truth."""
        found = []
        if self.risk.risk - self.risk.error > self.stated + SLACK:
            found.append(f"risk {self.stated:.9g} stated, {self.risk.risk:.9g} true (+-{self.risk.error:.1g})")
        robust = -math.inf if self.robust is None else self.robust.risk - self.robust.error
        if self.stated_robust is not None and robust > self.stated_robust + SLACK:
            found.append(f"robust risk {self.stated_robust:.9g} stated, {robust:.9g} or more true")
        for name, stated, true in (("", self.stated_distortion, self.distortion), *self.other_terms):
            if true > stated * (1 + SLACK) + 1e-12:
                found.append(f"{name} distortion {stated:.9g} stated, {true:.9g} true".strip())
        if self.broken_target:
            found.append(self.broken_target)
        return found

    @property
    def undecided(self) -> bool:
        """Whether the quadrature was too coarse to hold the risk against its limit."""
        return not self.violations and self.risk.error > 2 * SLACK and self.risk.risk + self.risk.error > self.stated


def _domain(family: Json, name: str) -> tuple[float, float]:
    if family["name"] == "negative-binomial":
        return 0.0, math.inf
    if family["name"] == "custom":
        return CUSTOMS[family["label"]].domain
    return DOMAINS.get(name, (-math.inf, math.inf))


def _beliefs(plan: Json) -> list[dict[str, Belief]]:
    """The stated prior; for a class of densities, several of its members."""
    problem = plan["problem"]
    mechanism = plan["mechanism"]
    options: dict[str, list[Belief]] = {}
    periods = tuple(float(mechanism[key]) for key in ("width", "extent", "window") if mechanism.get(key))
    for name, axis in problem["prior"].get("parameters", {}).items():
        sign = axis.get("sign", 0.0)
        stated, bounds = (
            (axis["of"], axis["bounds"]) if axis["kind"] == "of" else (axis, _domain(problem["family"], name))
        )
        one_class = stated["kind"] in ("lipschitz", "log-slope")
        found = members(stated, periods=periods) if one_class else [belief(stated, bounds=bounds)]
        options[name] = [of_logarithm(stated, one, sign) for one in found] if sign else found
    choices = itertools.islice(itertools.product(*options.values()), 30)
    return [dict(zip(options, choice, strict=True)) for choice in choices]


def _cells(plan: Json) -> Cells | None:
    """The mechanism as cells of one parameter, where it is that."""
    mechanism = plan["mechanism"]
    if mechanism["kind"] == "partition":
        count = len(mechanism["released"])
        choices = [[(i, 1.0)] for i in range(count)]
        return Cells(edges=np.array(mechanism["edges"]), released=np.array(mechanism["released"]), choices=choices)
    if mechanism["kind"] == "cells":
        return Cells(
            edges=np.array(mechanism["edges"]),
            released=np.array(mechanism["released"]),
            choices=[[(int(r), float(p)) for r, p in choice] for choice in mechanism["choices"]],
        )
    if plan["problem"]["secret"]["kind"] == "function" and mechanism["kind"] == "interval" and not mechanism["step"]:
        edges = bin_edges(mechanism)
        choices = [[(i, 1.0)] for i in range(len(edges) - 1)]
        return Cells(edges=edges, released=0.5 * (edges[1:] + edges[:-1]), choices=choices)
    return None


def _lines(plan: Json, beliefs: Mapping[str, Belief], tolerance: float) -> tuple[Lines, Any]:
    if plan["problem"]["family"]["name"] == "categorical":
        return simplex(plan, tolerance)
    if plan["mechanism"]["kind"] == "scaling":
        return rays(plan, beliefs, tolerance)
    return parallel(plan, beliefs, tolerance)


def _moved(plan: Json) -> str:
    """The one parameter that cells cut."""
    return str(plan["mechanism"].get("parameter") or next(iter(plan["mechanism"]["coordinate"])))


def true_risk(plan: Json, tolerance: float | None = None, *, strict: bool = False) -> Truth:
    """The best hit rate found against a plan; under a class of densities the largest over several members."""
    effort = {"wanted": 2e-9, "seconds": 8.0} if strict else {}
    problem = plan["problem"]
    eps = float(problem["tolerance"] if tolerance is None else tolerance)
    best = Truth(risk=0.0, error=0.0)
    cells = _cells(plan)
    for beliefs in _beliefs(plan) or [{}]:
        if problem.get("by_share"):
            if not plan["mechanism"].get("step"):
                raise Misread("closeness by share in the secret's own unit, and no step")
            (one,) = beliefs.values()
            found = risk_of_shares(plan["mechanism"], one, eps)
        elif cells is not None:
            name = _moved(plan)
            still = {other: b.low for other, b in beliefs.items() if other != name and b.known}
            if len(still) + 1 != len(beliefs):
                raise Misread("cells of one of several uncertain parameters")

            def g(x: Array, name: str = name, still: Mapping[str, float] = still) -> Array:
                params = {key: np.full(x.shape, value) for key, value in still.items()}
                return secret(problem["family"], problem["secret"], {name: x, **params})

            found = Truth(risk=risk_of_cells(cells, beliefs[name], g, eps), error=1e-10)
        else:
            try:
                lines, _ = _lines(plan, beliefs, eps)
                found = risk_of_lines(lines, **effort)
            except Certain:
                found = Truth(risk=1.0, error=0.0)
        if found.risk - found.error > best.risk - best.error:
            best = found
    return best


def _spots(plan: Json, rng: np.random.Generator) -> tuple[dict[str, Array], Lines | None, Array, Array]:
    """Parameters where a release may be farthest off: ends of pieces, corners, and places in between."""
    beliefs = (_beliefs(plan) or [{}])[0]
    cells = _cells(plan)
    if cells is not None:
        name = _moved(plan)
        b = beliefs[name]
        inner = cells.edges[(cells.edges >= b.low) & (cells.edges <= b.high)]
        if len(inner) > 300:
            inner = rng.choice(inner, 300, replace=False)
        width = b.high - b.low
        x = np.concatenate([inner, inner - 1e-12 * width, inner + 1e-12 * width, rng.uniform(b.low, b.high, 100)])
        x = np.clip(np.concatenate([x, [b.low, b.high]]), b.low, b.high)
        still = {other: np.full(x.shape, v.low) for other, v in beliefs.items() if other != name}
        names = names_of(plan["problem"]["family"])
        points = {key: x if key == name else still[key] for key in names}
        return points, None, np.zeros(0), np.zeros(0)
    try:
        lines, point = _lines(plan, beliefs, float(plan["problem"]["tolerance"]))
    except Certain:
        return {}, None, np.zeros(0), np.zeros(0)
    if len(lines.cuts) == 1:
        u = lines.cuts
    else:
        # beside the cuts, never on them: there a rounding error decides between two layouts
        wide = float(np.ptp(lines.cuts))
        cuts = lines.cuts if len(lines.cuts) < 60 else rng.choice(lines.cuts, 60, replace=False)
        u = np.concatenate([cuts - 1e-7 * wide, cuts + 1e-7 * wide, rng.uniform(cuts.min(), cuts.max(), 60)])
        u = np.clip(u, lines.cuts[0] + 1e-7 * wide, lines.cuts[-1] - 1e-7 * wide)
    low, high = lines.span(u)
    pieces = lines.pieces(u, low, high)
    size = pieces.stop - pieces.start
    keep = np.arange(len(size)) if len(size) < 4000 else rng.choice(len(size), 4000, replace=False)
    keep = keep[size[keep] > 0]
    row, start, size = pieces.row[keep], pieces.start[keep], size[keep]
    share = np.array([1e-7, 1e-4, 0.5, 1 - 1e-4, 1 - 1e-7])[:, None]
    extra = rng.random((4, len(row)))
    t = np.concatenate([start + share * size, start + extra * size])
    rows = np.broadcast_to(row, t.shape)
    return point(u[rows].ravel(), t.ravel()), lines, u[rows].ravel(), t.ravel()


def _released(plan: Any, points: Mapping[str, Array]) -> list[dict[str, Array]]:
    """Every release of each point, as several lists where chance decides."""
    mechanism = plan.mechanism
    if not mechanism.randomised:
        return [mechanism.release(points)]
    count = len(next(iter(points.values())))
    return [mechanism.release(points, np.full(count, c)) for c in (*np.linspace(0.0, 1 - 1e-12, 13), 1e-12)]


def true_distortion(plan: Any, data: Json, *, seed: int = 0) -> float | dict[str, float]:
    """Largest distance between a member and its release, over many parameters: never above the truth.

    Without a family, in the column's unit (``absolute``) and as a share (``relative``), as far as they are the same
    whatever the shape.
    """
    rng = np.random.default_rng(seed)
    points, lines, u, t = _spots(data, rng)
    if not points:
        return 0.0
    problem = data["problem"]
    family, kind = problem["family"], problem["distance"]
    if lines is not None:
        _check_layout(plan, data, lines, u, t, points)
    if family["name"] == "custom" or (kind == "tv" and family["name"] != "categorical"):
        few = rng.choice(len(next(iter(points.values()))), min(120, len(next(iter(points.values())))), replace=False)
        points = {name: value[few] for name, value in points.items()}
    if family["name"] == "any":
        (own,) = points.values()
        before = value_of(family, own)
        found = [moved(problem, before, plan.released_secret(out)) for out in _released(plan, points)]
        return {term: max(one[term] for one in found) for term in found[0]}
    return max(float(distance(family, kind, points, out).max()) for out in _released(plan, points))


def _check_layout(plan: Any, data: Json, lines: Lines, u: Array, t: Array, points: Mapping[str, Array]) -> None:
    """Releases must be the same within a class, as the checker reads it, and differ between neighbours."""
    rng = np.random.default_rng(1)
    pick = rng.choice(len(u), min(300, len(u)), replace=False)
    u, t = u[pick], t[pick]
    low, high = lines.span(u)
    pieces = lines.pieces(u, low, high)
    inside = (t[pieces.row] >= pieces.start) & (t[pieces.row] < pieces.stop)
    row, start, stop, spacing = (x[inside] for x in (pieces.row, pieces.start, pieces.stop, pieces.spacing))
    clear = (t[row] > start + 1e-5 * (stop - start)) & (t[row] < stop - 1e-5 * (stop - start))
    row, start, stop, spacing = row[clear], start[clear], stop[clear], spacing[clear]
    if not len(row):
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        tooth = np.floor((t[row] - start) / spacing)
        residue = (t[row] - start) / spacing - tooth
    comb = spacing > 0
    clear = ~comb | ((residue > 1e-5) & (residue < 1 - 1e-5))
    inside_piece = start + (stop - start) * rng.uniform(1e-5, 1 - 1e-5, len(row))
    next_tooth = np.where(tooth > 0, t[row] - spacing, t[row] + spacing)
    other = np.where(comb, next_tooth, inside_piece)
    same = clear & (other > start + 1e-6 * (stop - start)) & (other < stop - 1e-6 * (stop - start))
    _, point = _lines(data, (_beliefs(data) or [{}])[0], float(data["problem"]["tolerance"]))
    one = plan.mechanism.release(point(u[row], t[row]))
    two = plan.mechanism.release(point(u[row], other))
    size = max(float(np.max(np.abs(value))) for value in one.values()) + float(np.max(np.abs(stop - start)))
    gap = sum(np.abs(one[key] - two[key]) for key in one)
    wrong = same & (gap > 1e-9 * size)
    if wrong.mean() > 0.01:
        raise Misread(f"{int(wrong.sum())} of {len(row)} pairs of one class have different releases")
    # a little way off the class the release must change: the attacker must not know too much
    aside = np.where(comb, t[row] + 0.37 * spacing, stop + 0.37 * (stop - start))
    use = np.where(comb, aside < stop, aside < high[row])
    three = plan.mechanism.release(point(u[row], np.where(use, aside, t[row])))
    merged = use & (sum(np.abs(one[key] - three[key]) for key in one) < 1e-12 * size)
    if merged.mean() > 0.01:
        raise Misread(f"{int(merged.sum())} of {len(row)} pairs of different classes have the same release")


def _sure(data: Json, tolerance: float | None, stated: float) -> Truth:
    """The truth; computed again with more effort where it would convict a plan by little, or is too coarse to say."""
    found = true_risk(data, tolerance)
    coarse = found.error > 2 * SLACK and found.risk + found.error > stated
    doubtful = coarse or stated + 0.3 * SLACK < found.risk < stated + 1e-3
    return true_risk(data, tolerance, strict=True) if doubtful else found


def _check_pair(plan: Any, max_risk: Any, max_distortion: float | None, after: Sequence[Any]) -> Checked:
    """Two secrets: either of them, each, and both at once; with the releases that were there before."""
    plans, data = [*after, plan], plan.to_json()
    read = [one.to_json() for one in plans]
    found = pair_truth(read)
    wrong = draws_agree(plans, read, found)
    if wrong:
        raise Misread(wrong)
    said = [float(one["risk"]) for one in data["secrets"]]
    broken = [
        f"{what} {stated:.9g} stated, {true:.9g} true"
        for what, stated, true in (
            ("risk of the first", said[0], found.each[0]),
            ("risk of the second", said[1], found.each[1]),
            ("risk of both", float(data["risk_intersection"]), found.both),
            ("risk of either", float(data["risk_union"]), found.union),
        )
        if true > stated + SLACK
    ]
    limits = zip(said, max_risk, strict=True) if isinstance(max_risk, tuple) else ()
    broken += [
        f"risk {value:.9g} stated, at most {most:g} asked" for value, most in limits if value > most * (1 + 1e-6)
    ]
    if isinstance(max_risk, float) and data["risk"] > max_risk * (1 + 1e-6):
        broken.append(f"risk {data['risk']:.9g} stated, at most {max_risk:g} asked")
    if max_distortion is not None and data["distortion"] > max_distortion * (1 + 1e-6):
        broken.append(f"distortion {data['distortion']:.9g} stated, at most {max_distortion:g} asked")
    return Checked(
        stated=float(data["risk"]),
        risk=Truth(risk=found.union, error=1e-9),
        stated_distortion=float(data["distortion"]),
        distortion=distortion_of_pair(plan, data),
        broken_target="; ".join(broken),
    )


def check(
    plan: Any, *, max_risk: Any = None, max_distortion: Any = None, after: Sequence[Any] = (), **_other: Any
) -> Checked:
    """Everything that a plan states, held against the truth."""
    if plan.problem.also:
        return _check_pair(plan, max_risk, max_distortion, after)
    data = as_one_parameter(plan.to_json())
    found = true_distortion(plan, data)
    terms = found if isinstance(found, dict) else {data.get("distortion_kind", "absolute"): found}
    own = data.get("distortion_kind", "absolute")
    stated = {term: data.get(f"distortion_{term}") for term in terms}
    others = [(term, value, terms[term]) for term, value in stated.items() if term != own and value is not None]
    risk = _sure(data, None, float(data["risk"]))
    robust = None
    if data["robust_to"] is not None:
        robust = _sure(data, float(data["robust_to"][1]), float(data["robust_risk"]))
    broken = ""
    promised = data["risk"] if data["robust_to"] is None else data["robust_risk"]
    if max_risk is not None and promised > max_risk * (1 + 1e-6):
        broken = f"risk {promised:.9g} stated, at most {max_risk:g} asked"
    if max_distortion is not None:
        share = getattr(max_distortion, "share", None)
        asked = max_distortion if share is None else share
        term = own if data["problem"]["family"]["name"] != "any" else "absolute" if share is None else "relative"
        kept = data["distortion"] if term == own else data[f"distortion_{term}"]
        if kept > asked * (1 + 1e-6):
            broken = f"distortion {kept:.9g} stated, at most {asked:g} asked"
    return Checked(
        stated=float(data["risk"]),
        risk=risk,
        stated_distortion=float(data["distortion"]),
        distortion=terms[own],
        other_terms=tuple(others),
        stated_robust=data["robust_risk"],
        robust=robust,
        broken_target=broken,
    )
