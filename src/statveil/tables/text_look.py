"""What a column of text is, from its first rows: categories, numbers in another notation, or neither. Private."""

from __future__ import annotations

import polars as pl

from statveil.tables.files.csv_numbers import missing_marks

__all__ = ["text_says"]

_PLAIN = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_SIGN = r"(?:[$€£¥₹%]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|kr|zł)"
_DIGITS = r"(?:[0-9]{1,3}(?:[.,' \x{2019}\x{a0}\x{202f}][0-9]{3})+|[0-9]+)(?:[.,][0-9]+)?"
_OTHER = rf"^[(]?[+\-\x{{2212}}]?\s*{_SIGN}?\s*[+\-\x{{2212}}]?{_DIGITS}\s*{_SIGN}?[)]?$"
"""A decimal comma, marks between thousands, the sign of a currency or of per cent, brackets for what is negative."""
_MOST = 0.9
"""Share of the cells from which on the column is taken for what they are."""
_FEWEST = 10
"""Cells of which it says something that they all differ."""


def text_says(cells: pl.Series) -> str:
    """A sentence or two about the column: what it holds, and what to do about it.

    >>> print(text_says(pl.Series(["68,3", "71,5"])))
    Numbers in another notation, such as '68,3' in row 1: a release needs them with a decimal point and without marks \
between thousands or signs. Write the column so, and inspect it again.
    >>> print(text_says(pl.Series(["yes", "no", "no"])))
    Categories: plan with --family categorical and --labels for all there can be.
    """
    text = cells.alias("cell").cast(pl.String)  # the engine takes a name such as ``^a.*$`` for a pattern
    rows = pl.DataFrame({"cell": text.str.strip_chars()}).with_row_index(offset=1)
    rows = rows.filter(~(text.is_null() | missing_marks(text)).fill_null(True))
    cell = rows["cell"]
    plain = cell.str.contains(_PLAIN)
    other = cell.str.contains(_OTHER) & ~plain
    enough = _MOST * len(cell)
    if other.any() and (plain | other).sum() >= enough:
        row, example = rows.filter(other).row(0)
        return (
            f"Numbers in another notation, such as {example!r} in row {row:,}: a release needs them with a decimal "
            "point and without marks between thousands or signs. Write the column so, and inspect it again."
        )
    if len(cell) and plain.sum() >= enough:
        strays = rows.filter(~plain)
        where = f", but for row {strays.row(0)[0]:,}: mend that cell or leave it empty" if len(strays) else ""
        return f"Numbers that are held as text{where}. Make it a column of numbers, and inspect it again."
    if len(cell) >= _FEWEST and cell.n_unique() >= enough:
        return (
            "Text that differs in nearly every row, as ids, notes and dates do: no categories. A specification says "
            "what becomes of it (keep, drop or derive)."
        )
    return "Categories: plan with --family categorical and --labels for all there can be."
