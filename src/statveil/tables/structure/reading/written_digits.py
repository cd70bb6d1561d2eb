"""Digits as other scripts write them: Arabic-Indic, Devanagari, full width and the rest, and Roman numerals."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import polars as pl

__all__ = ["plain_digits", "roman"]

_OTHER = r"[^\x00-\x7f]"
_MARKS = {"\u066b": ".", "\u066c": ",", "\u060c": ",", "\u2019": "'", "\u2212": "-", "\u2013": "-", "\u2009": " "}
"""Marks in and before numbers, as ASCII has them: a decimal point, thousands, a minus."""
_DATED = {"\u5e74": "/", "\u6708": "/", "\u65e5": " ", "\ub144": "/", "\uc6d4": "/", "\uc77c": " "}
"""Year, month and day behind their numbers, in Chinese and Japanese, and in Korean."""
_ROMAN = r"^(?i:M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3}))$"
_LETTERS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_LEAST_ROMAN = 3  # different ones: M and D alone are initials


class _Plain(dict[int, str]):
    """What each character is in ASCII, worked out when it is met first."""

    def __missing__(self, code: int) -> str:
        if chr(code) in _DATED:
            return _DATED[chr(code)]
        # a half or a square would become digits of the number before it
        parts = chr(code) if unicodedata.category(chr(code)) == "No" else unicodedata.normalize("NFKD", chr(code))
        self[code] = made = "".join(map(_ascii, parts))
        return made


def _ascii(letter: str) -> str:
    if letter in _MARKS:
        return _MARKS[letter]
    if (digit := unicodedata.decimal(letter, None)) is not None:
        return str(digit)
    # accents, and marks for the direction of writing, stand between digits without a meaning
    return "" if unicodedata.category(letter) in ("Mn", "Cf") else letter


_PLAIN = _Plain()


def plain_digits(text: pl.Series) -> pl.Series:
    """The texts with every digit, and the marks in numbers, as ASCII has them; letters lose their accents.

    >>> plain_digits(pl.Series(["\u0661\u0662\u0663\u066b\u0665", "m\u00e4rz", None])).to_list()
    ['123.5', 'marz', None]
    """
    if not text.str.contains(_OTHER).any():
        return text
    made = [None if one is None or one.isascii() else one.translate(_PLAIN) for one in text.to_list()]
    return pl.Series(text.name, made, dtype=pl.String).fill_null(text)


def roman(text: pl.Series) -> pl.Series | None:
    """The numbers of a column that holds Roman numerals alone; ``None`` for others.

    >>> roman(pl.Series(["XIV", "mcm", None, "II"])).to_list()
    [14.0, 1900.0, None, 2.0]
    >>> roman(pl.Series(["M", "D", "C"])) is None
    True
    """
    known = text.drop_nulls()
    if not len(known) or not bool(known.str.contains(_ROMAN).all()) or known.eq("").any():
        return None
    if known.n_unique() < _LEAST_ROMAN or int(known.str.len_chars().max() or 0) < 2:  # type: ignore[arg-type]
        return None
    return text.map_elements(_value, return_dtype=pl.Float64)


def _value(numeral: str) -> float:
    letters = np.array([_LETTERS[letter] for letter in re.sub(r"\s", "", numeral).upper()])
    following = np.concatenate((letters[1:], [0]))
    return float(np.where(letters < following, -letters, letters).sum())
