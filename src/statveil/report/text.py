"""A plan in words, for a terminal."""

from __future__ import annotations

from statveil.mechanisms.interval import Interval
from statveil.mechanisms.partition import Partition
from statveil.mechanisms.scaling import Scaling
from statveil.planning import Plan

__all__ = ["describe_plan"]

_MODES = {
    "affine": "scale and shift every value (a x + b)",
    "category": "relabel the fewest rows",
    "jitter": "scale about the bound, jitter by one step, back to whole steps (rows measured, not proven)",
    "lattice": "shift every value by a whole number of steps",
    "rank": "redraw the column from the released model, by rank",
    "scale": "scale every value about the bound that stays fixed",
    "smooth": "draw the smoothed, scaled shape anew, by rank (rows measured, not proven)",
    "unit": "keep or add units of the counts at random",
    "shift": "shift every value by one number (x + b)",
}


def describe_plan(plan: Plan) -> str:
    """Risk, distortion, limit and mechanism, one sentence each; lower is better for all three."""
    problem = plan.problem
    kind = {"exact": "exactly", "upper bound": "at most"}.get(plan.risk_kind, "about")
    lines = [
        f"Hides the {problem.secret.label} of a {problem.family.name} column.",
        f"  risk        {plan.risk:.6g}   the best attacker gets within {problem.tolerance:g} {kind} this often "
        f"({plan.risk_kind})",
        f"  distortion  {plan.distortion:.6g}   largest {problem.distance} distance between original and release",
        f"  limit       {plan.lower_bound:.6g}   no mechanism with this risk distorts less (gamma {plan.gamma:.6g})",
    ]
    if plan.published_bound is not None:
        lines.append(
            f"  paper       {plan.published_bound:.6g}   the paper's printed bound on the risk, for comparison"
        )
    lines.append(f"  mode        {plan.mode}   {_MODES[plan.mode]}")
    mechanism = plan.mechanism
    if isinstance(mechanism, Interval):
        count = mechanism.bins.count
        slope = "" if plan.slope is None else f", slope {plan.slope:.6g}"
        lines.append(f"  bins        {count} of width {mechanism.bins.width:.6g} along {mechanism.along}{slope}")
    elif isinstance(mechanism, Partition):
        lines.append(f"  bins        {len(mechanism.released)} of different widths along {mechanism.parameter}")
    elif isinstance(mechanism, Scaling):
        lines.append(f"  bins        {mechanism.bins.count} of width {mechanism.bins.width:.6g} along the secret")
    eps = problem.tolerance
    profile = ", ".join(f"{risk:.3g} within {at:g}" for at, risk in plan.risk_profile([eps / 2, 2 * eps]))
    lines.append(f"  profile     an attacker with another tolerance hits with probability {profile}")
    return "\n".join(lines)
