"""Derived columns: what an expression makes of the released columns of the same rows. Nothing is executed but NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from statveil.errors import ColumnError
from statveil.specification.expressions import Binary, Call, Column, Expression, Node, Number, Text, Truth, Unary
from statveil.specification.nodes import ARITHMETIC, COMPARISONS
from statveil.specification.specification import Specification
from statveil.tables.blocks import Array, all_finite
from statveil.tables.changes import Derived
from statveil.tables.rounding_digits import rounded
from statveil.tables.series import ColumnType

__all__ = ["derived_column", "derived_columns", "kind_of", "plain_kind"]

_LARGEST_WHOLE = 2.0**53
_NUMBERS = ("integer", "float", "boolean")  # a truth counts as 1 or 0


def derived_column(name: str, expression: Expression, kinds: Mapping[str, str], own: str | None = None) -> Derived:
    """The column that an expression makes.

    Parameters
    ----------
    name : str
        Its name, for messages.
    expression : Expression
        Over released columns.
    kinds : mapping of str to str
        What these columns hold: ``"integer"``, ``"float"``, ``"boolean"``, ``"text"``, or ``"other"``.
    own : str, optional
        What the column of this name holds in the table, where it has one: a flag of 0 and 1 stays one.
    """
    if not expression.columns:
        raise ColumnError(f"column {name!r} is derived from no column ({str(expression)!r}); leave it out.")
    try:
        made = kind_of(expression.tree, kinds)
    except ColumnError as error:
        raise ColumnError(f"column {name!r} cannot be derived as {str(expression)!r}: {error}") from None
    kind = made
    if made == "boolean" and own in ("integer", "float"):
        kind = own
    elif made == "integer" and own == "float":
        kind = "float"

    # no function of its own, so that what was decided about a table can be saved and sent to other processes
    return Derived(needs=tuple(sorted(expression.columns)), kind=kind, rows=partial(_rows, name, expression.tree, kind))


def _rows(name: str, tree: Node, kind: str, columns: Mapping[Any, pl.Series]) -> pl.Series:
    """The rows of a derived column."""
    value = _value(tree, {str(one): _read(column) for one, column in columns.items()})
    return _series(name, value, kind, len(next(iter(columns.values()))))


def derived_columns(
    specification: Specification, kinds: Mapping[str, str], types: Mapping[str, ColumnType]
) -> dict[str, Derived]:
    """All derived columns, each after those that it needs.

    ``kinds`` are those of the released columns, ``types`` those of the columns that the table has.
    """
    known, found = dict(kinds), {}
    for name, one in specification.derived.items():
        own = plain_kind(types[name]) if name in types else None
        found[name] = derived_column(name, one.expression, known, own)
        known[name] = found[name].kind
    return found


def plain_kind(found: ColumnType) -> str:
    """What a column holds, as expressions know it."""
    return "float" if found.kind == "decimal" else found.kind


# --- what comes out --------------------------------------------------------------------------------
def kind_of(tree: Node, kinds: Mapping[str, str]) -> str:
    """What an expression gives: a sink must know it before the first row, so no row is looked at.

    >>> kind_of(Expression.parse("price * quantity").tree, {"price": "integer", "quantity": "integer"})
    'integer'
    >>> kind_of(Expression.parse("log(price)").tree, {"price": "integer"})
    'float'
    """
    match tree:
        case Number(value=value):
            return "integer" if isinstance(value, int) else "float"
        case Text():
            return "text"
        case Truth():
            return "boolean"
        case Column(name=name):
            return kinds[name]
        case Unary(operator="not", operand=operand):
            _needs(operand, kinds, ("boolean",), "'not'")
            return "boolean"
        case Unary(operand=operand):
            return _whole_if(_needs(operand, kinds, _NUMBERS, "a sign"))
        case Binary(operator=operator, left=left, right=right):
            return _kind_of_operation(operator, left, right, kinds)
        case Call():
            return _kind_of_call(tree, kinds)


def _kind_of_operation(operator: str, left: Node, right: Node, kinds: Mapping[str, str]) -> str:
    if operator in COMPARISONS:
        one, two = kind_of(left, kinds), kind_of(right, kinds)
        texts = one == two == "text" and operator in ("==", "!=")
        if not texts and not (one in _NUMBERS and two in _NUMBERS):
            raise ColumnError(f"'{operator}' compares numbers, or texts by == and !=; it got {one} and {two}.")
        return "boolean"
    if operator in ARITHMETIC:
        both = [_needs(side, kinds, _NUMBERS, f"'{operator}'") for side in (left, right)]
        power = operator == "**" and isinstance(right, Number) and isinstance(right.value, int)
        whole = operator in ("+", "-", "*", "//", "%") or power
        return _whole_if(*both) if whole else "float"
    for side in (left, right):
        _needs(side, kinds, ("boolean",), f"'{operator}'")
    return "boolean"


def _kind_of_call(call: Call, kinds: Mapping[str, str]) -> str:
    if call.name == "missing":
        kind_of(call.arguments[0], kinds)
        return "boolean"
    if call.name == "where":
        _needs(call.arguments[0], kinds, ("boolean",), "the condition of where(...)")
        one, two = (kind_of(part, kinds) for part in call.arguments[1:])
        if one == two:
            return one
        if one not in _NUMBERS or two not in _NUMBERS:
            raise ColumnError(f"where(...) must give values of one kind; it got {one} and {two}.")
        return _whole_if(one, two)
    parts = [_needs(part, kinds, _NUMBERS, f"{call.name}(...)") for part in call.arguments]
    if call.name in ("floor", "ceil"):
        return "integer"
    if call.name == "round":
        return "integer" if _digits(call) <= 0 else "float"
    return _whole_if(*parts) if call.name in ("abs", "min", "max", "minutes", "hhmm") else "float"


def _needs(tree: Node, kinds: Mapping[str, str], allowed: tuple[str, ...], what: str) -> str:
    found = kind_of(tree, kinds)
    if found not in allowed:
        wanted = "true or false" if allowed == ("boolean",) else "numbers"
        held = {"other": "neither numbers nor text", "boolean": "true or false", "integer": "numbers"}.get(found, found)
        raise ColumnError(f"{what} needs {wanted}, and gets {held}.")
    return found


def _whole_if(*kinds: str) -> str:
    return "float" if "float" in kinds else "integer"


# --- the rows --------------------------------------------------------------------------------------
def _read(column: pl.Series) -> Array | pl.Series:
    """Numbers and truths as floats with NaN where one is missing; text as it is; of all else whether it is there."""
    dtype = column.dtype
    if dtype.is_numeric() or dtype == pl.Boolean:
        return _finite(column.cast(pl.Float64).to_numpy(allow_copy=True))
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    return np.where(column.is_null().to_numpy(), np.nan, 1.0)


def _finite(values: Any) -> Array:
    """What is no number is missing: after a division by zero, the logarithm of nothing, an overflow."""
    return values if all_finite(np.asarray(values)) else np.where(np.isfinite(values), values, np.nan)


def _value(tree: Node, columns: Mapping[str, Array | pl.Series]) -> Any:
    """The rows of a part of an expression; a constant is one value."""
    with np.errstate(all="ignore"):
        match tree:
            case Number(value=value) | Truth(value=value):
                return np.float64(value)
            case Text(value=text):
                return text
            case Column(name=name):
                return columns[name]
            case Unary(operator=operator, operand=operand):
                value = _value(operand, columns)
                return 1.0 - value if operator == "not" else -value if operator == "-" else value
            case Binary(operator=operator, left=left, right=right):
                return _OPERATIONS[operator](_value(left, columns), _value(right, columns))
            case Call(name=name, arguments=arguments):
                if name == "round":
                    return _finite(rounded(np.asarray(_value(arguments[0], columns)), _digits(tree)))
                return _FUNCTIONS[name](*(_value(part, columns) for part in arguments))


def _digits(call: Call) -> int:
    """The digits of round(x, digits), which are written out."""
    if len(call.arguments) == 1:
        return 0
    digits = call.arguments[1]
    sign = -1 if isinstance(digits, Unary) and digits.operator == "-" else 1
    number = digits.operand if isinstance(digits, Unary) else digits
    assert isinstance(number, Number)
    return sign * int(number.value)


def _compared(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def rows(left: Any, right: Any) -> Any:
        if isinstance(left, str | pl.Series) or isinstance(right, str | pl.Series):
            same = compare(left, right)
            return same.cast(pl.Float64).to_numpy(allow_copy=True) if isinstance(same, pl.Series) else np.float64(same)
        return np.where(np.isnan(left) | np.isnan(right), np.nan, compare(left, right))

    return rows


def _kept_finite(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: _finite(function(value))


def _divided(divide: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: _finite(np.where(right == 0, np.nan, divide(left, right)))


def _settled(by: float) -> Callable[[Any, Any], Any]:
    """``and`` is settled by one that is false, ``or`` by one that is true, whatever the other is."""

    def rows(left: Any, right: Any) -> Any:
        unknown = np.isnan(left) | np.isnan(right)
        return np.where((left == by) | (right == by), by, np.where(unknown, np.nan, 1.0 - by))

    return rows


def _where(condition: Any, one: Any, two: Any) -> Any:
    if isinstance(one, str | pl.Series) or isinstance(two, str | pl.Series):
        known, true = pl.Series(~np.isnan(condition)), pl.Series(condition == 1)
        frame = pl.DataFrame(
            {"known": known, "true": true, "one": _texts(one, len(true)), "two": _texts(two, len(true))}
        )
        chosen = pl.when(pl.col("true")).then(pl.col("one")).otherwise(pl.col("two"))
        return frame.select(pl.when(pl.col("known")).then(chosen)).to_series()
    return np.where(np.isnan(condition), np.nan, np.where(condition == 1, one, two))


def _texts(value: Any, rows: int) -> pl.Series:
    if isinstance(value, pl.Series):
        return value if len(value) == rows else value.new_from_index(0, rows)
    return pl.Series([value] * rows, dtype=pl.String)


def _is_missing(value: Any) -> Any:
    if isinstance(value, pl.Series):
        return value.is_null().cast(pl.Float64).to_numpy(allow_copy=True)
    return np.float64(False) if isinstance(value, str) else np.isnan(value).astype(np.float64)


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: _finite(left + right),
    "-": lambda left, right: _finite(left - right),
    "*": lambda left, right: _finite(left * right),
    "/": _divided(np.divide),
    "//": _divided(np.floor_divide),
    "%": _divided(np.mod),
    "**": lambda left, right: _finite(np.power(left, right)),
    "==": _compared(lambda left, right: left == right),
    "!=": _compared(lambda left, right: left != right),
    "<": _compared(np.less),
    "<=": _compared(np.less_equal),
    ">": _compared(np.greater),
    ">=": _compared(np.greater_equal),
    "and": _settled(0.0),
    "or": _settled(1.0),
}

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        function.__name__: _kept_finite(function)
        for function in (np.log, np.log2, np.log10, np.log1p, np.exp, np.expm1, np.sqrt, np.floor, np.ceil)
    },
    "abs": np.abs,
    "min": lambda *values: _least(np.minimum, values),
    "max": lambda *values: _least(np.maximum, values),
    "where": _where,
    "missing": _is_missing,
    "minutes": lambda clock: np.floor(clock / 100) * 60 + np.mod(clock, 100),
    "hhmm": lambda minutes: np.floor(minutes / 60) * 100 + np.mod(minutes, 60),
}


def _least(choose: Callable[[Any, Any], Any], values: tuple[Any, ...]) -> Any:
    found = values[0]
    for value in values[1:]:
        found = choose(found, value)
    return found


def _series(name: str, value: Any, kind: str, size: int) -> pl.Series:
    """The rows in the type of their kind, null where one is missing."""
    if kind == "text":
        return _texts(value, size).alias(name)
    numbers: Array = np.broadcast_to(np.asarray(value, dtype=np.float64), (size,))
    gaps = None if all_finite(numbers) else np.isnan(numbers)
    filled = numbers if gaps is None else np.where(gaps, 0.0, numbers)
    if kind == "integer":
        if size and np.abs(filled).max() > _LARGEST_WHOLE:
            raise ColumnError(f"the derived column {name!r} has whole numbers beyond 2^53; derive it in a larger unit.")
        made = pl.Series(name, np.rint(filled).astype(np.int64))
    elif kind == "boolean":
        made = pl.Series(name, filled != 0)
    else:
        made = pl.Series(name, filled + 0.0)  # which makes a negative zero a plain one
    return made if gaps is None or not gaps.any() else made.set(pl.Series(gaps), None)
