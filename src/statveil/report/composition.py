"""The joint risk of several releases in words."""

from __future__ import annotations

from statveil.composition import Composition, JointRisk, Tiers
from statveil.problem.wording import distortion_text
from statveil.rounding import shown_down, shown_up

__all__ = ["describe_composition", "describe_tiers"]


def describe_composition(found: Composition) -> str:
    """Each secret with its joint risk, rounded up, and what that rests on."""
    count = len(found.alone)
    alone = ", ".join(shown_up(risk) for risk in found.alone)
    same = "" if found.different == count else f", {found.different} of them different"
    lines = [f"{count} release{'s' * (count > 1)} of one column{same}. Each alone: {alone}."]
    for each in found.secrets:
        lines += ["", *_secret(each)]
    lines += [
        "",
        "Assumed: all are of the same, unchanged column, made with one record, and everyone may see all of them.",
    ]
    return "\n".join(lines)


def _secret(each: JointRisk) -> list[str]:
    if each.tolerance_kind == "own":
        return [
            f"{each.secret}, each within its own tolerance:",
            f"  risk        {shown_up(each.risk)}   the best attacker who has all of them hits one at least, at most "
            f"this often ({each.risk_kind})",
        ]
    close = f"{100 * each.tolerance:.10g} %" if each.tolerance_kind == "relative" else f"{each.tolerance:.12g}"
    lines = [
        f"{each.secret} within {close}:",
        f"  risk        {shown_up(each.risk)}   the best attacker who has all of them hits at most this often "
        f"({each.risk_kind}): {each.why}",
        f"  without     {shown_up(each.risk_without_release)}   a guess from the prior alone",
        f"  leakage     {shown_up(each.leakage, 4)} bits   the releases raise the chance of a hit by 2 to this power",
    ]
    if each.certain is not None:
        lines.append(f"  certain     {shown_up(each.certain)}   for this share of the values one guess is sure to hit")
    if each.candidates is not None:
        lines.append(
            f"  candidates  {shown_down(each.candidates.mean, 4)}   so many guesses, on average, are sure to hit; at "
            f"least {each.candidates.least}"
        )
    return lines


def describe_tiers(found: Tiers) -> str:
    """One line for each audience, from the least trusted on."""
    lines = ["Audiences from the least trusted on; whoever holds all releases up to one knows what that one tells."]
    lines += [
        f"  {i}. risk {shown_up(plan.risk)}, distortion {distortion_text(plan.problem, plan.distortion)}, "
        f"{len(plan.mechanism.levels) if plan.mechanism.levels is not None else '?'} classes"
        for i, plan in enumerate(found.plans, 1)
    ]
    return "\n".join(lines)
