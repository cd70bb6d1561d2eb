"""A plan in words, for a terminal."""

from __future__ import annotations

from statveil.mechanisms.cells import Cells
from statveil.mechanisms.comb import Comb
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
    kind = {"exact": "exactly", "numerical": "at most", "upper bound": "at most"}.get(plan.risk_kind, "about")
    lines = [
        f"Hides the {problem.secret.label} of a {problem.family.name} column.",
        f"  risk        {plan.risk:.6g}   the best attacker gets within {problem.tolerance:g} {kind} this often "
        f"({plan.risk_kind})",
        f"  distortion  {plan.distortion:.6g}   largest {problem.distance} distance between original and release",
        f"  limit       {plan.lower_bound:.6g}   no mechanism with this risk distorts less (gamma {plan.gamma:.6g})",
    ]
    if plan.efficiency is not None:
        among = "the best possible mechanism" if plan.optimum_kind == "exact" else "the best mechanism on a grid"
        best = "" if plan.optimum is None else f"; {among} distorts {plan.optimum:.6g}"
        lines.append(f"  efficiency  {plan.efficiency:.4g}   distortion over the limit, 1 is the least{best}")
    if plan.certificate is not None:
        proof = plan.certificate
        lines.append(
            f"  certificate {proof.least_risk:.6g}   no mechanism on its {proof.cells} cells has a lower risk at a "
            f"distortion of {proof.distortion:.6g}"
        )
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
    elif isinstance(mechanism, Comb):
        slope = "" if plan.slope is None else f", slope {plan.slope:.6g}"
        lines.append(
            f"  combs       up to {mechanism.teeth} teeth, {mechanism.window:.6g} or a little more apart along "
            f"{mechanism.along}{slope}"
        )
    elif isinstance(mechanism, Cells):
        how = "at random among" if mechanism.randomised else "to one of"
        lines.append(
            f"  cells       {len(mechanism.choices)} along {mechanism.parameter}, sent {how} {len(mechanism.released)} "
            "releases"
        )
    elif isinstance(mechanism, Scaling):
        lines.append(f"  bins        {mechanism.bins.count} of width {mechanism.bins.width:.6g} along the secret")
    eps = problem.tolerance
    profile = ", ".join(f"{risk:.3g} within {at:g}" for at, risk in plan.risk_profile([eps / 2, 2 * eps]))
    lines.append(f"  profile     an attacker with another tolerance hits with probability {profile}")
    if plan.robust_to is not None:
        low, high = plan.robust_to
        lines.append(
            f"  robust      the risk is at most {plan.robust_risk:.6g} for every tolerance from {low:g} to {high:g}"
        )
    lines += _honesty(plan)
    return "\n".join(lines)


def _honesty(plan: Plan) -> list[str]:
    """What a reader of the headline risk would not expect."""
    lines = []
    if plan.spacing is not None:
        lines.append(
            f"  note        a comb: the receiver learns the {plan.problem.secret.label} up to multiples of about "
            f"{plan.spacing:.6g}. The risk does not fall for a guess that must be closer, and jumps where a guess may "
            "be so far off that it catches two teeth."
        )
    elif isinstance(plan.mechanism, Cells) and not plan.in_proportion:
        lines.append(
            "  note        values that share a release need not be neighbours: the risk need not fall for a guess that "
            "must be closer, and can jump for one that may be farther; the profile shows it."
        )
    if plan.randomised:
        lines.append(
            "  note        the release is drawn at random: the seed must stay secret, and the same column must not be "
            "released twice ('statveil release --record' keeps its seed)."
        )
    return lines
