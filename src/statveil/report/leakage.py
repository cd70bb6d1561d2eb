"""Leakage in words."""

from __future__ import annotations

import math

from statveil.accounting.leakage import Bits
from statveil.leaking import Leakage, SecretLeakage
from statveil.rounding import shown_down, shown_up

__all__ = ["describe_leakage"]


def describe_leakage(found: Leakage) -> str:
    """Each secret with what is told of it, in bits, rounded up."""
    count = found.plans
    lines = [f"Leakage of {count} release{'s' * (count > 1)} of one column, in bits."]
    for each in found.secrets:
        lines += ["", *_secret(each)]
    return "\n".join(lines)


def _secret(each: SecretLeakage) -> list[str]:
    close = f"{100 * each.tolerance:.10g} %" if each.tolerance_kind == "relative" else f"{each.tolerance:.12g}"
    lines = [f"{each.secret} within {close}:"]
    if each.why is not None:
        lines.append(f"  everything counts as told: {each.why}")
    lines.append(
        _line(
            "any prior", each.prior_free, "whatever is believed, the chance of a hit rises by 2 to this power at most"
        )
    )
    if each.known_line is not None:
        lines.append(_line("known line", each.known_line, "the same for those who know the line or residue beforehand"))
    lines += [
        f"  published    {_amount(each.published)}   what publishing the value itself would leak",
        _line(
            "maximal", each.maximal, "of any function of the parameter (Issa et al.); the secret at tolerance 0, too"
        ),
    ]
    if each.min_entropy is not None:
        lines.append(_line("min-entropy", each.min_entropy, "the same under the stated prior"))
    if each.mutual_information is not None:
        lines.append(
            _line("mutual inf.", each.mutual_information, "between secret and releases, under the stated prior")
        )
    if each.candidates is not None:
        lines += [
            f"  candidates   {shown_down(each.candidates.mean, 4)}   so many guesses, on average, are sure to hit; at "
            f"least {each.candidates.least}",
            f"  certain      {shown_up(each.candidates.certain)}   for this share of the values one guess is sure",
        ]
    if each.advantage is not None:
        lines.append(
            f"  advantage    {shown_up(each.advantage.value)}   total variation of the releases under the two priors "
            f"({each.advantage.kind}): which one is true is guessed right with probability "
            f"{shown_up(each.advantage.right, 4)} at most"
        )
    return lines


def _line(name: str, bits: Bits, what: str) -> str:
    kind = f" ({bits.kind})" if math.isfinite(bits.value) else ""
    return f"  {name:<12} {_amount(bits.value)}   {what}{kind}"


def _amount(bits: float) -> str:
    return "infinite" if math.isinf(bits) else shown_up(bits, 4)
