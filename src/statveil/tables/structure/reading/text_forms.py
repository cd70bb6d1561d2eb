"""Numbers that a text holds without writing them in digits: other bases, bytes, its length, its place in the alphabet.

Also whether a text is a digest of the values: whoever has a list of possible values finds the one behind each.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.reading.written_digits import plain_digits

__all__ = ["as_text", "digests", "leading_bytes", "other_forms"]

_HEX = r"^[-+]?(0[xX])?[0-9a-fA-F]+[hH]?$"
_BASE64 = r"^[A-Za-z0-9+/_-]+={0,2}$"
_ALPHANUMERIC = r"^[A-Za-z0-9]+$"
_PLACES = 10  # characters of a code that count: more do not fit into a float
_ALGORITHMS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
_LEAST_DIGEST, _TRIED, _AGREE = 8, 12, 3  # digits of a shortened digest, rows that are tried, and rows that must agree
_LEADING = 24  # bytes by which texts are sorted: a prefix, and a point in time behind it


def as_text(column: pl.Series) -> pl.Series | None:
    """A column of text or of categories as text; ``None`` for others."""
    if column.dtype == pl.String:
        return column
    return column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else None


def other_forms(text: pl.Series) -> dict[str, Array]:
    """Numbers in a text that is no plain number and no date, each with a word for what it is."""
    known = text.drop_nulls()
    if not len(known):
        return {}
    found = {"length": _floats(text.str.len_chars())}
    plain = plain_digits(text).str.strip_chars()
    kept = plain.drop_nulls()
    # letters that are the same in all rows are no digits, but a name before a number
    mixed = kept.str.replace_all(r"\d", "").n_unique() > 1
    if bool(kept.str.contains(_HEX).all()) and (mixed or bool(kept.str.contains("^0[xX]").all())):
        found |= _hexadecimal(plain)
    if bool(kept.str.contains(_BASE64).all()) and kept.str.len_chars().n_unique() == 1:
        found |= _bytes(plain)
    if bool(kept.str.contains(_ALPHANUMERIC).all()) and mixed:
        found["as a code"] = _code(plain)
    return {name: values for name, values in found.items() if len(np.unique(values[np.isfinite(values)])) > 1}


def _floats(column: pl.Series) -> Array:
    return np.asarray(column.cast(pl.Float64, strict=False).to_numpy(), dtype=np.float64)


def _hexadecimal(text: pl.Series) -> dict[str, Array]:
    """As whole numbers, and as the bytes of a float."""
    bare = [None if one is None else one.lower().strip("+h").replace("0x", "", 1) for one in text.to_list()]
    found = {"hexadecimal": np.array([np.nan if one is None else _base(one, 16) for one in bare], dtype=np.float64)}
    sizes = {len(one) for one in bare if one is not None}
    if sizes in ({8}, {16}) and all(one is None or "-" not in one for one in bare):
        raw = [None if one is None else bytes.fromhex(one) for one in bare]
        found |= _unpacked(raw, sizes.pop() // 2)
    return found


def _base(text: str, base: int) -> float:
    try:
        return float(int(text, base))
    except (ValueError, OverflowError):
        return float("nan")


def _bytes(text: pl.Series) -> dict[str, Array]:
    """Base64 of the bytes of floats, or of a number in digits."""
    try:
        # two alphabets are in use
        plain = [None if one is None else one.replace("-", "+").replace("_", "/") for one in text.to_list()]
        raw = [None if one is None else base64.b64decode(one + "=" * (-len(one) % 4)) for one in plain]
    except (binascii.Error, ValueError):
        return {}
    sizes = {len(one) for one in raw if one is not None}
    if sizes in ({4}, {8}):
        return _unpacked(raw, sizes.pop())
    digits = pl.Series([None if one is None else one.decode("ascii", "replace") for one in raw], dtype=pl.String)
    read = _floats(digits)
    return {"base64": read} if np.isfinite(read).any() else {}


def _unpacked(raw: list[bytes | None], size: int) -> dict[str, Array]:
    """Floats of so many bytes, in either order; those that no column would hold are left out."""
    found = {}
    for order, name in ((">", "bytes of a float"), ("<", "bytes of a float, reversed")):
        joined = b"".join(b"\xff" * size if one is None else one for one in raw)
        with np.errstate(all="ignore"):
            read = np.frombuffer(joined, dtype=f"{order}f{size}").astype(np.float64)
        usual = np.isfinite(read) & ((read == 0) | ((np.abs(read) > 1e-30) & (np.abs(read) < 1e30)))
        if np.mean(usual) > 0.5:
            found[name] = np.where(usual, read, np.nan)
    return found


def _code(text: pl.Series) -> Array:
    """Where codes of letters and digits stand in their order, each place counted in the characters that occur there."""
    known = text.fill_null("")
    size = int(known.str.len_bytes().max() or 0)  # type: ignore[arg-type]
    table = _table(known.str.pad_start(size, "0"), size)
    place = np.zeros(len(table))
    used = 0
    for column in table.T:
        names, digit = np.unique(column, return_inverse=True)
        if len(names) > 1 and used < _PLACES:
            place, used = place * len(names) + digit, used + 1
    return np.where(text.is_null().to_numpy(), np.nan, place)


def _table(text: pl.Series, size: int) -> NDArray[np.uint8]:
    """The bytes of each text, in a row of its own."""
    cells = np.array([one.encode("utf-8", "replace")[:size] for one in text.to_list()], dtype=f"S{size}")
    return cells.view(np.uint8).reshape(len(cells), size)


def leading_bytes(text: pl.Series) -> NDArray[np.bytes_]:
    """The first bytes of each text, by which it is sorted."""
    cells = [b"" if one is None else one.encode("utf-8", "replace")[:_LEADING] for one in text.to_list()]
    return np.array(cells, dtype=f"S{_LEADING}")


# --- digests --------------------------------------------------------------------------------------
def digests(text: pl.Series, values: Array) -> bool:
    """Whether texts are digests of the values of their rows, in one of the usual ways to write a number."""
    rows = [(one, value) for one, value in zip(text.head(4 * _TRIED).to_list(), values.tolist(), strict=False) if one]
    if len(rows) < _AGREE or not all(len(one) >= _LEAST_DIGEST and _is_hex(one) for one, _ in rows):
        return False
    tried = rows[:_TRIED]
    return sum(any(made.startswith(one.lower()) for made in _digests_of(value)) for one, value in tried) >= _AGREE


def _is_hex(text: str) -> bool:
    return all(letter in "0123456789abcdefABCDEF" for letter in text)


def _digests_of(value: float) -> Iterator[str]:
    written = {repr(value), f"{value:g}", *(f"{value:.{digits}f}" for digits in range(7))}
    for one in written:
        for name in _ALGORITHMS:
            yield hashlib.new(name, one.encode(), usedforsecurity=False).hexdigest()
