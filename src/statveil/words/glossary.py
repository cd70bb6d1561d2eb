"""Terms of the trade, each with what it means: where people decide none of them stands unexplained."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["TERMS", "terms_in"]

TERMS: Mapping[str, str] = {
    "secret": "the figure of the column that is hidden",
    "statistic": "a figure that sums up a column, such as its average",
    "prior": "what outsiders are taken to believe of the hidden figure before they see the table",
    "tolerance": "how close a guess must come to count as right",
    "risk": "how often the best guess is right, from 0 (never) to 1 (always); lower is better",
    "attacker": "someone who tries to guess the hidden figure",
    "distortion": "how far the values of the column move at most, on average; lower is better",
    "mechanism": "the rule that says which figure is released for which true one",
    "limit": "the least distortion that any mechanism with this risk has",
    "bin": "a range of true figures that all lead to the same release",
    "comb": "true figures that lie apart from each other and lead to the same release",
    "mode": "how the rule is carried out on the rows",
    "quantile": "the value below which a stated share of the rows lies",
    "median": "the value that half of the rows lie below",
    "standard deviation": "how far the rows usually lie from their average",
    "W1": "how far values move on average between two columns (Wasserstein distance)",
    "total variation": "the share of the rows that differ between two columns",
    "gamma": "the constant from which the limit follows: the least distortion for one unit of the secret, halved",
    "efficiency": "the distortion over its limit; 1 is the best there can be",
    "upper bound": "a number that the true one does not exceed",
    "hit": "a guess within the tolerance",
    "seed": "the secret number that decides what is drawn at random",
    "card": "the public file that goes with a released table and says how it was made",
    "trial": "one table like this one, on which an attack was run",
    "release": "the table that is given out",
    "plan": "what was decided before any data was read",
}
"""In the order in which they build on each other. ``docs/glossary.md`` has all words of the code."""


def terms_in(text: str) -> list[str]:
    """The terms that a text uses, in any number: each as a whole word, whatever its case.

    >>> terms_in("The bins of a mechanism; binary data have none.")
    ['mechanism', 'bin']
    """
    return [term for term in TERMS if re.search(rf"(?<![\w-]){re.escape(term)}(s|es)?(?![\w-])", text, re.IGNORECASE)]
