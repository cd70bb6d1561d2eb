"""The parts of a text that may say which rows belong together: words, runs of digits, domains, beginnings and ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.structure.reading.text_forms import as_text
from statveil.tables.structure.reading.written_digits import plain_digits

__all__ = ["Tokens", "Written", "parts_of", "shared_tokens", "tokens_of", "written"]

_WORD, _DIGITS, _LETTERS = r"[\p{L}\p{N}]+", r"\p{N}+", r"\p{L}+"
_FROM_START, _FROM_END = 6, 3  # words and runs, counted from either end of a text
_CHARACTERS = 16  # at the beginning, and at the end
_ZEROS = r"(^|\D)0+(\d)"  # before a number: 0042 and 42 are one
_WHOLE = r"^([-+]?\d+)[.,]0+$"  # 42.0 and 42 as well
_MOST_SHARED = 50  # rows that have a word in common, for it to say that they belong together
_TOKENS = 12  # of a text that are looked at


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Written:
    """A column as it is written, in lower case, digits as ASCII has them.

    Parameters
    ----------
    plain : polars.Series
        The texts, null where there is none.
    normal : polars.Series
        The same without zeros before numbers, and whole numbers without decimals.
    number : bool
        Whether the column holds whole numbers as such.
    different : int
        Different texts.
    """

    plain: pl.Series
    normal: pl.Series
    number: bool
    different: int


def written(column: pl.Series) -> Written | None:
    """A column of texts, categories or whole numbers; ``None`` for others, which name no rows.

    >>> written(pl.Series(["AB-0042", " 7.0 ", ""])).normal.to_list()
    ['ab-42', '7', None]
    >>> written(pl.Series([1.0, None])).normal.to_list(), written(pl.Series([0.5]))
    (['1', None], None)
    """
    text, number = as_text(column), column.dtype.is_integer()
    if column.dtype.is_float():
        known = column.fill_nan(None)
        whole = known.is_null() | ((known == known.round()) & (known.abs() < 2.0**53))
        number = bool(whole.all())
        column = known.cast(pl.Int64, strict=False) if number else column
    if text is None and not number:
        return None
    plain = column.cast(pl.String) if text is None else plain_digits(text).str.to_lowercase().str.strip_chars()
    plain = pl.select(pl.when(plain != "").then(plain)).to_series().alias("")
    normal = plain if number else plain.str.replace(_WHOLE, "$1").str.replace_all(_ZEROS, "${1}${2}")
    return Written(plain=plain, normal=normal, number=number, different=plain.n_unique())


def parts_of(text: Written) -> Iterator[tuple[str, pl.Series]]:
    """Parts of each text, with a word for which one it is; null in texts without it."""
    plain = text.plain
    longest = int(plain.str.len_chars().max() or 0)  # type: ignore[arg-type]
    if not text.number:
        normal = text.normal
        yield "without case and zeros", normal
        if bool(plain.str.contains("@", literal=True).any()):
            yield "behind the @", plain.str.extract(r"@(.+)$")
            yield "before the @", plain.str.extract(r"^(.*?)@")
        for what, pattern in (("word", _WORD), ("number", _DIGITS), ("letters", _LETTERS)):
            every = normal.str.extract_all(pattern)
            most = int(every.list.len().max() or 0)  # type: ignore[arg-type]
            for place in range(min(most, _FROM_START)):
                yield f"{what} {place + 1}", every.list.get(place, null_on_oob=True)
            for place in range(1, min(most, _FROM_END) + 1):
                yield f"{what} {place} from the end", every.list.get(-place, null_on_oob=True)
        yield "without its last part", plain.str.extract(r"^(.*[\p{L}\p{N}])[^\p{L}\p{N}]+[\p{L}\p{N}]+[^\p{L}\p{N}]*$")
        yield "without its first part", plain.str.extract(r"^[^\p{L}\p{N}]*[\p{L}\p{N}]+[^\p{L}\p{N}]+(.*)$")
        yield "without its last number", plain.str.extract(r"^(.*?)\p{N}+\P{N}*$")
        yield "without its numbers", plain.str.replace_all(_DIGITS, "0")
        yield "its numbers", plain.str.replace_all(r"\P{N}+", " ").str.strip_chars()
    for length in range(1, min(longest - 1, _CHARACTERS) + 1):
        yield f"first {length} characters", plain.str.head(length)
        yield f"last {length} characters", plain.str.tail(length)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tokens:
    """Words and numbers in texts, by a hash of each, with their rows; each once in a row."""

    rows: NDArray[np.int64]
    keys: NDArray[np.uint64]


def tokens_of(text: Written) -> Tokens:
    """Words, runs of digits and the whole text; at most a dozen words of a text."""
    normal = text.normal.alias("text")
    pieces = [
        normal.str.extract_all(pattern).list.head(_TOKENS)
        for pattern in ((_WORD,) if text.number else (_WORD, _DIGITS))
    ]
    frame = pl.DataFrame({"row": np.arange(len(normal)), "text": normal})
    parts = [frame.select("row", token="text")]
    parts += [pl.DataFrame({"row": frame["row"], "token": one}).explode("token") for one in pieces]
    every = pl.concat(parts).drop_nulls().unique(maintain_order=True)
    return Tokens(
        rows=every["row"].to_numpy().astype(np.int64),
        keys=np.asarray(every["token"].hash(seed=1).to_numpy(), np.uint64),
    )


def shared_tokens(text: Written) -> NDArray[np.int64] | None:
    """Groups of rows by the rarest word or number that a text has in common with another one, wherever it stands."""
    tokens = tokens_of(text)
    _, code, counts = np.unique(tokens.keys, return_inverse=True, return_counts=True)
    often = counts[code.ravel()]
    usable = (often > 1) & (often <= _MOST_SHARED)
    if not usable.any():
        return None
    rows, which, often = tokens.rows[usable], code.ravel()[usable], often[usable]
    first = np.lexsort((which, often, rows))
    chosen = first[np.concatenate(([True], np.diff(rows[first]) > 0))]
    group = np.full(len(text.normal), -1, dtype=np.int64)
    group[rows[chosen]] = which[chosen]
    return group
