"""The tree of an expression: numbers, texts, truths, columns, signs, operations and calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = [
    "ARITHMETIC",
    "COMPARISONS",
    "FUNCTIONS",
    "LEVELS",
    "LOGICAL",
    "RESERVED",
    "Binary",
    "Call",
    "Column",
    "Node",
    "Number",
    "Text",
    "Truth",
    "Unary",
    "children",
    "column_written",
    "columns_of",
    "walk",
    "written",
]

FUNCTIONS: dict[str, tuple[int, int]] = {
    "log": (1, 1),
    "log2": (1, 1),
    "log10": (1, 1),
    "log1p": (1, 1),
    "exp": (1, 1),
    "expm1": (1, 1),
    "sqrt": (1, 1),
    "abs": (1, 1),
    "floor": (1, 1),
    "ceil": (1, 1),
    "round": (1, 2),
    "min": (2, 16),
    "max": (2, 16),
    "where": (3, 3),
    "missing": (1, 1),
    "minutes": (1, 1),
    "hhmm": (1, 1),
}
"""The functions of the language, each with the fewest and the most arguments that it takes."""

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**")
LOGICAL = ("and", "or")

LEVELS = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys(COMPARISONS, 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/", "//", "%"), 6),
    "sign": 7,
    "**": 8,
}
"""How strongly an operation binds; the same order as in Python."""

RESERVED = ("and", "or", "not", "true", "false")
"""Words that are no names; a column of such a name stands in backquotes."""

_BARE = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Number:
    """A number, never negative (a sign is an operation); whole where it was written without a point or an exponent."""

    value: int | float
    at: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Text:
    """A text in single quotes."""

    value: str
    at: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Truth:
    """``true`` or ``false``."""

    value: bool
    at: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Column:
    """The value of a released column in the same row."""

    name: str
    at: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """``-x``, ``+x`` or ``not x``."""

    operator: str
    operand: Node
    at: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """Two operands: arithmetic, a comparison (never a chain of them), ``and`` or ``or``.

    ``//`` rounds down and ``%`` has the sign of the divisor, as in Python; ``**`` is a power.
    """

    operator: str
    left: Node
    right: Node
    at: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """One of :data:`FUNCTIONS`, with as many arguments as it takes.

    ``round(x)`` is ``round(x, 0)``, its digits are a whole number that is written out; ``min`` and ``max`` compare the
    arguments row by row; ``where(cond, a, b)`` is ``a`` where the condition is true and ``b`` where it is not;
    ``missing(x)`` is true where there is no value. ``minutes(517)`` is 5 * 60 + 17, ``hhmm(317)`` is 517.
    """

    name: str
    arguments: tuple[Node, ...]
    at: int = field(default=0, compare=False, repr=False)


Node = Number | Text | Truth | Column | Unary | Binary | Call


def children(tree: Node) -> tuple[Node, ...]:
    """The parts of which a node is made."""
    if isinstance(tree, Unary):
        return (tree.operand,)
    if isinstance(tree, Binary):
        return tree.left, tree.right
    return tree.arguments if isinstance(tree, Call) else ()


def walk(tree: Node) -> Iterator[Node]:
    """The node and all that it is made of."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def columns_of(tree: Node) -> frozenset[str]:
    """Names of the columns that an expression uses."""
    return frozenset(node.name for node in walk(tree) if isinstance(node, Column))


def written(tree: Node) -> str:
    """The text of a tree, with no more brackets than needed; reading it gives the same tree.

    >>> written(Binary("*", Binary("+", Column("a"), Number(1)), Column("net price")))
    '(a + 1) * `net price`'
    """
    return _written(tree)[0]


def _written(tree: Node) -> tuple[str, int]:
    """The text, and how strongly its outermost operation binds."""
    if isinstance(tree, Number):
        return repr(tree.value), 9
    if isinstance(tree, Truth):
        return ("true" if tree.value else "false"), 9
    if isinstance(tree, Text):
        return "'" + tree.value.replace("'", "''") + "'", 9
    if isinstance(tree, Column):
        return column_written(tree.name), 9
    if isinstance(tree, Call):
        return f"{tree.name}({', '.join(_written(part)[0] for part in tree.arguments)})", 9
    if isinstance(tree, Unary):
        level = LEVELS["not" if tree.operator == "not" else "sign"]
        return f"{tree.operator}{' ' * (tree.operator == 'not')}{_bracketed(tree.operand, level)}", level
    level = LEVELS[tree.operator]
    power, single = tree.operator == "**", tree.operator in COMPARISONS
    # a power groups from the right and takes a sign there; comparisons do not group at all
    left = _bracketed(tree.left, level + (power or single))
    right = _bracketed(tree.right, LEVELS["sign"] if power else level + 1)
    return f"{left} {tree.operator} {right}", level


def _bracketed(tree: Node, level: int) -> str:
    text, own = _written(tree)
    return text if own >= level else f"({text})"


def column_written(name: str) -> str:
    """The name of a column as it stands in an expression."""
    return name if _BARE.fullmatch(name) and name not in RESERVED else "`" + name.replace("`", "``") + "`"
