"""What the card of a release says whose number of rows is hidden."""

from __future__ import annotations

__all__ = ["ROWS_ASSUMED", "ROWS_CHECKED"]

ROWS_ASSUMED = (
    "Outsiders believe no more than the stated prior; someone who knows more guesses better.",
    "Nothing else of this table is released with all of its rows: its length would tell.",
    "The same table is not released again under another plan or another seed.",
    "Nobody knows what a released column adds up to over all rows (survey weights that add up to a population, parts "
    "of a published total): the sum of the released rows over it is their share of all rows.",
)

ROWS_CHECKED = (
    "Every column by itself: whether it counts rows (numbers, keys or times that repeat less often than by chance, or "
    "leave no gap), rises from row to row, holds ranks or scores of ranks, shares of a total or the number of rows, "
    "adds up to a round number as weights and standardised values do, or makes groups whose size someone may know "
    "(complete panels, pairs, lines of an order, a column that says the size).",
    "The rows were put in a random order by the secret seed, and the first of them released.",
    "Not looked at: groups that two or more columns make together, how often rows come in a day or a place, groups of "
    "sizes that vary as if by chance, other tables.",
)
