"""What the plans of a whole table say together, in plain words."""

from __future__ import annotations

from statveil.specification.planned import TablePlan
from statveil.words.phrases import named, often
from statveil.words.plan import CASE
from statveil.words.sentence import Sentence

__all__ = ["DEPENDENCE", "columns_sentences", "table_sentence"]

DEPENDENCE = {
    "independent": "the columns' statistics say nothing about each other",
    "comonotone": "the columns' statistics rise and fall together, as copies do",
    "worst": "whatever the statistics of one column say about those of another",
}
"""How the hidden statistics are taken to hang together."""


def table_sentence(table: TablePlan) -> Sentence:
    """How often the best guess is right about any of the hidden statistics."""
    about = "about" if table.risk_kind == "simulated" else "at most"
    (chance,) = often(table.risk)
    many = len(table.secrets)
    what = "the hidden figure" if many == 1 else f"one or more of the {many} hidden figures"
    return Sentence(
        name="risk",
        says=f"Whoever guesses from the released table is right about {what} in {about} {chance} cases.",
        value=table.risk,
        unit="chance, from 0 to 1",
        better="lower",
        means=f"{CASE}{_together(table)}",
        kind=table.risk_kind,
    )


def _together(table: TablePlan) -> str:
    """What is assumed of several hidden figures, in plain words."""
    if len(table.secrets) == 1:
        return ""
    return f" Assumed: {DEPENDENCE[table.dependence].replace('statistics', 'figures')}."


def columns_sentences(table: TablePlan) -> tuple[Sentence, ...]:
    """What becomes of the columns that are not hidden: moved along, worked out, left out, or left as they are."""
    specification = table.specification
    linked = [f"{named(name)} moves along with {named(link.to)}." for name, link in specification.linked.items()]
    derived = [f"{named(name)} is worked out from the released columns." for name in specification.derived]
    return tuple(
        Sentence(name=done, says=says) for done, all_ in (("linked", linked), ("derived", derived)) for says in all_
    )
