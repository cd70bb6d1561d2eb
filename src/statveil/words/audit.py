"""What an audit found, in plain words: from its numbers, so that every page says the same. Private like the audit."""

from __future__ import annotations

from statveil.rounding import rate_up, read_up
from statveil.words.phrases import named, often
from statveil.words.sentence import Sentence

__all__ = ["subject_text", "verdict_sentence", "within_text"]

_TRY = "A try is one table like this one, on which the attack was run. What was seen holds with 99 % certainty."


def verdict_sentence(verdict: str, *, rate: float, up_to: float, claimed: float) -> Sentence:
    """Whether an attack does better than the plan promises.

    Parameters
    ----------
    verdict : str
        ``"leaks"``, ``"undecided"`` or ``"holds"``.
    rate, up_to : float
        How often the best attack hit, and how often it may do so at most, with 99 %.
    claimed : float
        The plan's risk.

    >>> print(verdict_sentence("holds", rate=0.1, up_to=0.14, claimed=0.2))
    HOLDS: no attack clearly does better than promised. The best one was right in 10 of 100 tries; promised are at \
most 20 of 100. Over very many tries it is at most 14 of 100.
    """
    # the same numbers as beside the attackers, where rates have three decimals
    whole = all(rate_up(one).endswith("0") for one in (rate, up_to, claimed))
    seen, most, promised = often(rate, up_to, claimed, least=100 if whole else 1000)
    if verdict == "leaks":
        says = (
            f"LEAKS: an attack does better than promised. It was right in {seen} tries; promised are at most "
            f"{promised}."
        )
    elif verdict == "undecided":
        says = (
            f"UNDECIDED: an attack may do better than promised. It may be right in up to {most} tries; promised are at "
            f"most {promised}. Allow it more tries."
        )
    else:
        chance = " Chance alone can explain that." if rate > claimed else ""
        says = (
            f"HOLDS: no attack clearly does better than promised. The best one was right in {seen} tries; promised are "
            f"at most {promised}.{chance} Over very many tries it is at most {most}."
        )
    value = rate if verdict == "leaks" else up_to
    return Sentence(
        name="verdict", says=says, value=value, unit="share of the tries", better="lower", means=_TRY, kind="simulated"
    )


def subject_text(secret: str, *, column: str | None, tolerance: float, relative: bool) -> str:
    """What was attacked: secret, column and how close a guess counts."""
    what = f"the {secret}" + ("" if column is None else f" of the column {named(column)}")
    return f"Secret: {what}; a guess {within_text(tolerance, relative=relative)} of it is a hit."


def within_text(tolerance: float, *, relative: bool) -> str:
    """How close a guess counts, as it was stated."""
    return f"within {read_up(tolerance, 12, times=100)} %" if relative else f"within {tolerance:,.12g}"
