"""A small, safe language for derived columns: its own reader, bounded in length and depth, and nothing is executed."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from statveil.errors import ProblemError, shortened, unknown_name
from statveil.specification.nodes import (
    COMPARISONS,
    FUNCTIONS,
    LEVELS,
    RESERVED,
    Binary,
    Call,
    Column,
    Node,
    Number,
    Text,
    Truth,
    Unary,
    children,
    columns_of,
    written,
)
from statveil.specification.nodes import walk as walk

__all__ = [
    "DEEPEST",
    "LONGEST",
    "Binary",
    "Call",
    "Column",
    "Expression",
    "ExpressionError",
    "Node",
    "Number",
    "Text",
    "Truth",
    "Unary",
    "walk",
]

LONGEST = 2000
"""Characters of an expression."""
DEEPEST = 60
"""Operations, brackets and calls inside one another; a sum of so many terms is one."""
_LARGEST_WHOLE = 1 << 53

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<name>[^\W\d]\w*)
    |(?P<quoted>`(?:[^`]|``)*`)
    |(?P<text>'(?:[^']|'')*')
    |(?P<sign>\*\*|//|==|!=|<=|>=|[-+*/%<>(),])
    |(?P<end>\Z)
    )""",
    re.VERBOSE,
)
_ALLOWED = (
    "Allowed are numbers, 'texts', true, false, column names (in backquotes where they are not plain words), "
    "+ - * / // % **, == != < <= > >=, and, or, not, brackets and the functions " + ", ".join(FUNCTIONS) + "."
)
_HINTS = {
    "=": "write == to compare",
    "&": "write 'and'",
    "|": "write 'or'",
    "!": "write 'not', or != to compare",
    "^": "write ** for a power",
    '"': "write texts in single quotes",
    "'": "a text ends with a single quote",
    "`": "a name ends with a backquote",
    "≥": "write >=",
    "≤": "write <=",
    ".": "write no points in names; a name with one stands in backquotes",
    "[": "only columns, not places in them, can be named",
}


class ExpressionError(ProblemError):
    """An expression that cannot be read; the message has the expression and the position in it."""


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class Expression:
    """A formula over the released columns of one row; read by :meth:`parse`.

    Attributes
    ----------
    text : str
        As it was written.
    tree : Node
        What it means; two expressions are equal where their trees are.
    columns : frozenset of str
        The columns that it uses.

    Examples
    --------
    >>> Expression.parse("log(wage) + 1").tree
    Binary(operator='+', left=Call(name='log', arguments=(Column(name='wage'),)), right=Number(value=1))
    >>> sorted(Expression.parse("score >= 60 and not missing(`last name`)").columns)
    ['last name', 'score']
    """

    text: str = field(compare=False)
    tree: Node
    columns: frozenset[str] = field(compare=False)

    @classmethod
    def parse(cls, text: str) -> Expression:
        """The expression that a text states; :class:`ExpressionError` (a ``ProblemError``) where it states none."""
        if not isinstance(text, str):
            raise ExpressionError(f"an expression is a text, such as 'log(wage)'. Got {shortened(repr(text))}.")
        tree = _Parser(text).whole()
        return cls(text=text, tree=tree, columns=columns_of(tree))

    @classmethod
    def of(cls, tree: Node) -> Expression:
        """The expression with this tree, in its shortest spelling."""
        return cls.parse(written(tree))

    def __str__(self) -> str:
        return written(self.tree)


class _Parser:
    """Reads one expression by recursive descent; an operation that binds weaker than ``least`` ends a part."""

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > LONGEST:
            raise ExpressionError(
                f"an expression has at most {LONGEST:,} characters. Got one of {len(text):,}; derive a column for a "
                "part of it."
            )
        self.tokens = self._tokens()
        self.place = 0
        self.depth = 0

    def whole(self) -> Node:
        tree = self.part(0)
        token = self.tokens[self.place]
        if token.kind != "end":
            raise self.wrong(token.at, f"{_said(token)} is not expected here")
        self.check_depth(tree)
        return tree

    def wrong(self, at: int, what: str, allowed: str = _ALLOWED) -> ExpressionError:
        return ExpressionError(f"in the expression {shortened(self.text)!r}, at character {at + 1}: {what}. {allowed}")

    def _tokens(self) -> Sequence[_Token]:
        found: list[_Token] = []
        at = 0
        while True:
            match = _TOKEN.match(self.text, at)
            if match is None:
                at += len(self.text[at:]) - len(self.text[at:].lstrip())
                char = self.text[at]
                hint = f"; {_HINTS[char]}" if char in _HINTS else ""
                raise self.wrong(at, f"{char!r} cannot be read{hint}")
            kind = str(match.lastgroup)
            found.append(_Token(kind, match[kind], match.start(kind)))
            if kind == "end":
                return found
            at = match.end()

    def next(self) -> _Token:
        token = self.tokens[self.place]
        self.place += token.kind != "end"
        return token

    def seen(self, sign: str) -> bool:
        """Whether the next token is this sign, which is then taken."""
        token = self.tokens[self.place]
        found = token.kind == "sign" and token.text == sign
        self.place += found
        return found

    def part(self, least: int) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.too_deep(self.tokens[self.place].at)
        left = self.operand()
        while (level := LEVELS.get(self.operator(), 0)) and level >= least:
            token = self.next()
            # what binds alike groups from the left, a power from the right
            right = self.part(LEVELS["sign"] if token.text == "**" else level + 1)
            left = Binary(token.text, left, right, token.at)
            if token.text in COMPARISONS and self.operator() in COMPARISONS:
                raise self.wrong(
                    self.tokens[self.place].at,
                    "comparisons do not form chains",
                    "Write 'a < b and b < c', or put one of them in brackets.",
                )
        self.depth -= 1
        return left

    def operator(self) -> str:
        """The operation that comes next, or an empty text."""
        token = self.tokens[self.place]
        known = token.kind == "sign" or (token.kind == "name" and token.text in ("and", "or"))
        return token.text if known and token.text in LEVELS else ""

    def operand(self) -> Node:
        token = self.next()
        if token.kind == "number":
            return Number(self.number(token), token.at)
        if token.kind == "text":
            return Text(token.text[1:-1].replace("''", "'"), token.at)
        if token.kind == "quoted":
            name = token.text[1:-1].replace("``", "`")
            if not name:
                raise self.wrong(token.at, "a column has no name")
            return Column(name, token.at)
        if token.kind == "name":
            return self.named(token)
        if token.kind == "sign" and token.text in "+-":
            return Unary(token.text, self.part(LEVELS["sign"]), token.at)
        if token.kind == "sign" and token.text == "(":
            inner = self.part(0)
            if not self.seen(")"):
                raise self.wrong(self.tokens[self.place].at, "a bracket is not closed")
            return inner
        raise self.wrong(token.at, "something is missing" if token.kind == "end" else f"{_said(token)} is not expected")

    def named(self, token: _Token) -> Node:
        """A column, a call, ``true``, ``false``, or what follows ``not``."""
        if token.text == "not":
            return Unary("not", self.part(LEVELS["not"]), token.at)
        if token.text in ("true", "false"):
            return Truth(token.text == "true", token.at)
        if token.text in RESERVED:
            raise self.wrong(token.at, f"{token.text!r} is not expected here")
        if not self.seen("("):
            return Column(token.text, token.at)
        if token.text not in FUNCTIONS:
            raise self.wrong(token.at, unknown_name("function", token.text, FUNCTIONS).rstrip("."), "")
        arguments: list[Node] = []
        while not self.seen(")"):
            if arguments and not self.seen(","):
                raise self.wrong(self.tokens[self.place].at, f"a comma or a bracket is missing in {token.text}(...)")
            arguments.append(self.part(0))
        fewest, most = FUNCTIONS[token.text]
        if not fewest <= len(arguments) <= most:
            count = f"{fewest}" if fewest == most else f"{fewest} to {most}"
            raise self.wrong(token.at, f"{token.text}(...) takes {count} arguments. Got {len(arguments)}", "")
        if token.text == "round" and len(arguments) == 2 and not _whole(arguments[1]):
            raise self.wrong(token.at, "the digits of round(x, digits) are a whole number from -15 to 15", "")
        return Call(token.text, tuple(arguments), token.at)

    def number(self, token: _Token) -> int | float:
        follows = self.text[token.at + len(token.text) : token.at + len(token.text) + 1]
        if follows.isalpha() or follows == "_":
            raise self.wrong(token.at, "a name does not begin with a digit; put such a name in backquotes")
        if token.text.isdigit() and int(token.text[:20]) <= _LARGEST_WHOLE and len(token.text) <= 20:
            return int(token.text)
        value = float(token.text)
        if not math.isfinite(value):
            raise self.wrong(token.at, "the number is too large", "")
        return value

    def too_deep(self, at: int) -> ExpressionError:
        return self.wrong(
            at,
            f"more than {DEEPEST} operations or brackets lie inside one another",
            "Derive a column for a part of it.",
        )

    def check_depth(self, tree: Node) -> None:
        """A long sum is deep too, and whoever evaluates it descends it."""
        waiting = [(tree, 1)]
        while waiting:
            node, depth = waiting.pop()
            if depth > DEEPEST:
                raise self.too_deep(node.at)
            waiting.extend((part, depth + 1) for part in children(node))


def _said(token: _Token) -> str:
    return "the end" if token.kind == "end" else shortened(repr(token.text))


def _whole(node: Node) -> bool:
    """Whether a node is a written whole number of digits."""
    if isinstance(node, Unary) and node.operator in "+-":
        node = node.operand
    return isinstance(node, Number) and isinstance(node.value, int) and node.value <= 15
