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
    "Columns together, in up to 65,536 rows: whether rows speak of other rows, by a value that another column has in "
    "another row (keys of other rows, balances before and after), by a step to it (the time since the last one), in "
    "pairs that are listed both ways or are all there are, by a total, an average, the largest, the smallest or the "
    "size of a group, by one marked row or one sum in each group, or by the distance to the nearest row.",
    "The rows were put in a random order by the secret seed, and the first of them released.",
    "Not looked at: what rows say of each other in other ways (keys of groups of rows, several keys in one cell, "
    "numbers of neighbours, steps through a third column), groups that two or more columns make together, how often "
    "rows come in a day or a place, groups of sizes that vary as if by chance, other tables.",
)
