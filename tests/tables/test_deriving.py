"""Derived columns: rows against Python's own arithmetic, row by row."""

from __future__ import annotations

import math

import polars as pl
import pytest

from statveil.errors import ColumnError
from statveil.specification.expressions import Expression
from statveil.tables.deriving import derived_column

A = [3.0, -2.5, None, 0.0, 517.0, 1e200]
B = [2.0, 0.0, 1.0, None, 60.0, 1e200]
T = ["x", "y", None, "x", "", "y"]
F = [True, False, None, True, False, True]
KINDS = {"a": "float", "b": "float", "t": "text", "f": "boolean", "n": "integer"}
N = [7, -7, None, 0, 1317, 5]


def truth(value):
    return None if value is None else bool(value)


def both(function):
    """Missing where an argument is, where there is no number, and where it is too large for one."""

    def row(*values):
        if any(value is None for value in values):
            return None
        try:
            found = function(*values)
        except (ZeroDivisionError, ValueError, OverflowError):
            return None
        if isinstance(found, complex) or (isinstance(found, float) and not math.isfinite(found)):
            return None
        return found

    return row


CASES = {
    "a + b": both(lambda a, b, t, f, n: a + b),
    "a - b * 2": both(lambda a, b, t, f, n: a - b * 2),
    "a / b": both(lambda a, b, t, f, n: a / b),
    "a // b": both(lambda a, b, t, f, n: a // b),
    "a % b": both(lambda a, b, t, f, n: a % b),
    "a ** b": both(lambda a, b, t, f, n: a**b),
    "-a": both(lambda a, b, t, f, n: -a),
    "log(a)": both(lambda a, b, t, f, n: math.log(a)),
    "log1p(a)": both(lambda a, b, t, f, n: math.log1p(a)),
    "sqrt(a)": both(lambda a, b, t, f, n: math.sqrt(a)),
    "exp(a)": both(lambda a, b, t, f, n: math.exp(a)),
    "min(a, b, 1)": both(lambda a, b, t, f, n: min(a, b, 1.0)),
    "max(a, b)": both(lambda a, b, t, f, n: max(a, b)),
    "a >= b": both(lambda a, b, t, f, n: a >= b),
    "n * 2 + 1": both(lambda a, b, t, f, n: n * 2 + 1),
    "n // 2": both(lambda a, b, t, f, n: n // 2),
    "n % 4": both(lambda a, b, t, f, n: n % 4),
    "floor(a)": both(lambda a, b, t, f, n: float(math.floor(a)) if abs(a) < 1e15 else a),
    "round(a / 3, 2)": both(lambda a, b, t, f, n: math.floor(a / 3 * 100 + 0.5) / 100 if abs(a) < 1e15 else a / 3),
    "minutes(n)": both(lambda a, b, t, f, n: n // 100 * 60 + n % 100),
    "hhmm(n)": both(lambda a, b, t, f, n: n // 60 * 100 + n % 60),
    "t == 'x'": both(lambda a, b, t, f, n: t == "x"),
    "f and a > 0": lambda a, b, t, f, n: (
        False if f is False or (a is not None and a <= 0) else None if f is None or a is None else True
    ),
    "f or a > 0": lambda a, b, t, f, n: (
        True if f or (a is not None and a > 0) else None if f is None or a is None else False
    ),
    "not f": lambda a, b, t, f, n: None if f is None else not f,
    "missing(a)": lambda a, b, t, f, n: a is None,
    "where(f, a, 0)": lambda a, b, t, f, n: None if f is None else a if f else 0.0,
    "where(a > 0, t, 'none')": lambda a, b, t, f, n: None if a is None else t if a > 0 else "none",
    "f + 1": both(lambda a, b, t, f, n: int(f) + 1),
}


@pytest.mark.parametrize("text", CASES)
def test_rows_are_those_of_python(text):
    expression = Expression.parse(text)
    made = derived_column("d", expression, KINDS)
    columns = {
        "a": pl.Series(A, dtype=pl.Float64),
        "b": pl.Series(B, dtype=pl.Float64),
        "t": pl.Series(T, dtype=pl.String),
        "f": pl.Series(F, dtype=pl.Boolean),
        "n": pl.Series(N, dtype=pl.Int64),
    }
    if made.kind == "integer" and "a" in expression.columns:
        columns["a"] = columns["a"].replace(1e200, 4.0)
    found = made.rows({name: columns[name] for name in made.needs})
    assert found.dtype == made.dtype
    rows = zip(*(columns[name].to_list() for name in "abtfn"), strict=True)
    used = [name in expression.columns for name in "abtfn"]
    for value, row in zip(found.to_list(), rows, strict=True):
        # columns that an expression does not use are never what makes a row missing
        stand_in = (1.0, 1.0, "x", True, 1)
        wanted = CASES[text](*(one if here else other for one, here, other in zip(row, used, stand_in, strict=True)))
        assert value == (pytest.approx(wanted, rel=1e-15) if isinstance(wanted, float) else wanted), row


@pytest.mark.parametrize(
    ("text", "own", "kind"),
    [
        ("a >= 1", None, "boolean"),
        ("a >= 1", "integer", "integer"),
        ("a >= 1", "float", "float"),
        ("a >= 1", "boolean", "boolean"),
        ("n + 1", None, "integer"),
        ("n + 1", "float", "float"),
        ("n / 2", "integer", "float"),
        ("n * 1.5", None, "float"),
        ("n ** 2", None, "integer"),
        ("round(a)", None, "integer"),
        ("round(a, 1)", None, "float"),
        ("where(f, n, 1)", None, "integer"),
        ("where(f, n, 1.5)", None, "float"),
        ("t", None, "text"),
    ],
)
def test_whole_numbers_stay_whole_only_where_they_must_be(text, own, kind):
    assert derived_column("d", Expression.parse(text), KINDS, own).kind == kind


@pytest.mark.parametrize("text", ["t + 1", "where(f, 'x', 1)", "log(t)", "t == a"])
def test_values_of_the_wrong_kind_are_refused(text):
    with pytest.raises(ColumnError, match="column 'd' cannot be derived as"):
        derived_column("d", Expression.parse(text), KINDS)


def test_a_constant_is_no_column():
    with pytest.raises(ColumnError, match="from no column"):
        derived_column("d", Expression.parse("1 + 2"), KINDS)


def test_whole_numbers_beyond_the_exact_ones_are_refused():
    made = derived_column("d", Expression.parse("n ** 9"), KINDS)
    with pytest.raises(ColumnError, match="2\\^53"):
        made.rows({"n": pl.Series([10**6])})
