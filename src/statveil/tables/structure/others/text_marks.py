"""How a text is written: its letters and digits by place, its words, marks, length and case, and how numbers stand.

`+5` beside `5`, `12.50` beside `12.5`, `itEm` beside `item`, `N/A` beside `NA`: what a reader takes for the same is a
flag if one way is met beside large values alone. Such ways are compared among the rows that leave the choice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from statveil.tables.structure.others.marks import FEWEST_ROWS, MOST_KINDS, coded

__all__ = ["missing_marks", "text_marks"]

Labels = dict[str, NDArray[np.generic]]
Parts = Iterator[tuple[NDArray[np.bool_], Labels]]
Codes = NDArray[np.int64]

_FIRST, _LAST = 12, 6  # characters by their place
_LEAST_SHARE = 0.02  # of the rows that have a word or mark, and of those that do not
_WIDTH = 48  # characters that are looked at
_MOST_WORDS, _MOST_MARKS = 64, 24
_MOST_WRITINGS = 12  # values that are each written in several ways
_CODES = 2**16  # code points with a kind of their own
_LATIN = 0x250  # code points below are Latin, or marks of ASCII
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\s*([-+]?)(\d*)(?:([.,])(\d*))?(?:([eE])([-+]?\d+))?\s*", re.ASCII)
_MISSING = re.compile(
    r"\s*(?:#?n\.?/?a\.?n?|null|none|nil|missing|unknown|unbekannt|void|[-\u2013\u2014?.*]*)\s*", re.IGNORECASE
)
_LONGEST_MISSING = 12
_BLANKS = " \t"


def _kinds() -> NDArray[np.uint8]:
    """Digit, large letter, small letter, blank, other, none: by code point."""
    found = np.full(_CODES, 4, dtype=np.uint8)
    for code in range(1, _LATIN):
        one = chr(code)
        found[code] = 0 if one.isdigit() else 1 if one.isupper() else 2 if one.islower() else 3 if one.isspace() else 4
    found[0] = 5
    return found


_KIND = _kinds()


def text_marks(texts: Sequence[str], keys: Codes) -> Parts:
    """Labels of texts, and which rows have them; ``keys`` are the same for equal texts."""
    if _are_numbers(texts):  # files are written without the blanks around them
        texts = [one.strip(_BLANKS) for one in texts]
        keys = _coded(texts)
    every = np.ones(len(texts), dtype=np.bool_)
    length = np.array([len(one) for one in texts])
    width = int(min(max(length.max(initial=1), 1), _WIDTH))
    table = _table(texts, width)
    kinds = _KIND[table]
    found: Labels = {
        "length": np.minimum(length, MOST_KINDS - 1),
        "even length": length % 2,
        "large letters": np.minimum(np.count_nonzero(kinds == 1, axis=1), 9),
        "digits": np.minimum(np.count_nonzero(kinds == 0, axis=1), 31),
        "accents": np.asarray((table >= 128).any(axis=1)),
        "shape": _shapes(kinds, collapsed=False),
        "rough shape": _shapes(kinds, collapsed=True),
    }
    counts = np.bincount(table.ravel(), minlength=_CODES)
    used = np.flatnonzero(counts)
    alphabet = np.zeros(_CODES, dtype=np.uint8)
    alphabet[used] = np.arange(len(used)) % MOST_KINDS
    places = [(f"character {i + 1}", table[:, i]) for i in range(min(_FIRST, width))]
    if width > 1:
        row = np.arange(len(length))
        behind, size = table, np.minimum(length, width)
        if length.max() > width:
            behind, size = _table([one[-_LAST:] for one in texts], _LAST), np.minimum(length, _LAST)
        places += [
            (f"character {i} from the end", np.where(size >= i, behind[row, np.maximum(size - i, 0)], 0))
            for i in range(1, min(_LAST, width) + 1)
        ]
    for name, codes in places:
        found |= {name: alphabet[codes], f"kind of {name}": _KIND[codes]}
    marks = [code for code in used[np.argsort(-counts[used])].tolist() if code and _KIND[code] >= 3]
    for code in marks[:_MOST_MARKS]:  # each mark and each kind of blank
        found[repr(chr(code))] = (table == code).any(axis=1)
    yield every, found | _words(texts)
    large, small = (kinds == 1).any(axis=1), (kinds == 2).any(axis=1)
    if large.any() and not (large | small).all():
        yield large | small, {"case": large + 2 * small}
    if keys.max(initial=0) < 0.9 * len(texts):
        yield from _writings([one.strip().lower() for one in texts], keys)
    yield from _numbers(texts, keys)


def _table(texts: Sequence[str], width: int) -> NDArray[np.uint32]:
    """Code points, a row for each text; 0 behind its end."""
    cells = np.array(texts, dtype=f"U{width}")
    return np.minimum(cells.view(np.uint32).reshape(len(cells), width), _CODES - 1)


def _shapes(kinds: NDArray[np.uint8], *, collapsed: bool) -> Codes:
    """A number for the order of digits, letters and marks; of runs of them alone if ``collapsed``."""
    mixed = np.zeros(len(kinds), dtype=np.uint64)
    for i in range(kinds.shape[1]):
        made = mixed * np.uint64(0x9E3779B97F4A7C15) + kinds[:, i] + np.uint64(1)
        mixed = np.where(kinds[:, i] != kinds[:, i - 1], made, mixed) if collapsed and i else made
    return coded(mixed)


def _words(texts: Sequence[str]) -> Labels:
    """Which of the words that some rows have and others have not are in a text; and its first and last if they are few.

    Words are read with their case: that they are the same but for it is a way of writing.
    """
    every = [_WORD.findall(one) for one in texts]
    many = np.array([len(one) for one in every])
    if many.max(initial=0) < 2:
        return {}
    least = max(_LEAST_SHARE * len(texts), 4)
    counts = Counter(word for words in every for word in set(words))
    some = [word for word, count in counts.most_common() if least <= count <= len(texts) - least][:_MOST_WORDS]
    found: Labels = {"words": np.minimum(many, 31)}
    if some:
        number = {word: i for i, word in enumerate(some)}
        there = np.zeros((len(some), len(texts)), dtype=np.bool_)
        for row, words in enumerate(every):
            for word in words:
                if word in number:
                    there[number[word], row] = True
        found |= {f"word {word!r}": there[i] for word, i in number.items()}
    for name, place in (("first word", 0), ("last word", -1)):
        ends = [words[place] if words else "" for words in every]
        if len(set(ends)) <= MOST_KINDS:
            found[name] = _coded(ends)
    return found


def _coded(texts: Sequence[Hashable]) -> Codes:
    number: dict[Hashable, int] = {}
    return np.array([number.setdefault(one, len(number)) for one in texts])


def _writings(meant: Sequence[Hashable], keys: Codes) -> Parts:
    """How a value is written that many rows have and that is written in several ways: 0 and -0, 1000 and 1e3."""
    counts = Counter(meant)
    often = [one for one, count in counts.most_common() if count >= FEWEST_ROWS and one is not None]
    if not often:
        return
    code = _coded(meant)
    number = {one: int(code[meant.index(one)]) for one in often}
    left = _MOST_WRITINGS
    for one in often:
        rows = code == number[one]
        if left and (keys[rows] != keys[rows][0]).any():
            left -= 1
            ways = np.zeros(len(keys), dtype=np.int64)
            ways[rows] = coded(keys[rows])
            yield rows, {f"writing of {one!r}": ways}


def _numbers(texts: Sequence[str], keys: Codes) -> Parts:
    """How numbers are written, if most texts are numbers."""
    if not _are_numbers(texts):
        return
    found = [_NUMBER.fullmatch(one) for one in texts]
    parts = [("", "", "", "", "", "") if one is None else one.groups(default="") for one in found]
    number = np.array([bool(one[1] or one[3]) for one in parts])
    if np.count_nonzero(number) < FEWEST_ROWS:
        return
    sign, before, point, behind, power, _ = zip(*parts, strict=True)
    size = [_size(*one) for one in parts]
    # nan is no number that is written in several ways
    yield from _writings([value if one else None for value, one in zip(size, number.tolist(), strict=True)], keys)
    large = np.array(size)
    whole = number & (large == np.floor(large))
    plus, minus = (np.array([one == mark for one in sign]) for mark in "+-")
    pointed, powers = np.array([bool(one) for one in point]), np.array([bool(one) for one in power])
    yield number, {"power": powers, "zero in front": np.array([len(a) > 1 and a[0] == "0" for a in before])}
    if plus.any():
        yield number & ~minus, {"plus": plus}
    if powers.any():
        yield powers, {"case of the power": np.array([one == "E" for one in power])}
    if pointed.any():
        yield number & whole, {"whole with a point": pointed}
        yield number & (large < 1), {"zero before the point": np.array([not one for one in before])}
        decimals = np.array([len(one) for one in behind])
        ends = np.array([one[-1:] == "0" for one in behind])
        yield number & pointed, {"decimals as written": np.minimum(decimals, 31), "zero at the end": ends}
        yield number & pointed, {"mark before the decimals": np.array([one == "," for one in point])}


def _are_numbers(texts: Sequence[str]) -> bool:
    look = texts[:FEWEST_ROWS]
    return sum(_NUMBER.fullmatch(one) is not None for one in look) >= len(look) / 4


def _size(sign: str, before: str, point: str, behind: str, power: str, exponent: str) -> float:
    """The number without its sign; a power that no float has is left out."""
    if not before and not behind:
        return 0.0
    return float(f"{before or 0}.{behind or 0}e{exponent if power and len(exponent) < 4 else 0}")


def missing_marks(texts: Sequence[str | None], keys: Codes) -> Parts:
    """How a missing value is marked, among the rows that have none: empty, NA, N/A, a stroke."""
    marked = np.array(
        [one is None or (len(one) <= _LONGEST_MISSING and _MISSING.fullmatch(one) is not None) for one in texts]
    )
    if marked.any() and not marked.all():
        ways = np.zeros(len(keys), dtype=np.int64)
        ways[marked] = coded(keys[marked])
        yield marked, {"mark for missing": ways}
