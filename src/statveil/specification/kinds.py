"""Whether an expression is a number, a text or a truth, and that these are not mixed."""

from __future__ import annotations

from collections.abc import Mapping

from statveil.specification.expressions import Expression, ExpressionError
from statveil.specification.nodes import ARITHMETIC, LOGICAL, Call, Column, Node, Number, Text, Truth, Unary

__all__ = ["KINDS", "kind_of"]

KINDS = ("number", "text", "truth")


def kind_of(expression: Expression, kinds: Mapping[str, str | None]) -> str | None:
    """The kind of an expression's values, where columns have these kinds; ``None`` where it is not known.

    >>> kind_of(Expression.parse("score >= 60"), {})
    'truth'
    >>> kind_of(Expression.parse("name + 1"), {"name": "text"})
    Traceback (most recent call last):
    ...
    statveil.specification.expressions.ExpressionError: in the expression 'name + 1', at character 1: + takes numbers, \
and this is a text.
    """
    return _kind(expression.tree, kinds, expression.text)


def _kind(tree: Node, kinds: Mapping[str, str | None], text: str) -> str | None:
    if isinstance(tree, Number):
        return "number"
    if isinstance(tree, Text):
        return "text"
    if isinstance(tree, Truth):
        return "truth"
    if isinstance(tree, Column):
        return kinds.get(tree.name)
    if isinstance(tree, Unary):
        wanted = "truth" if tree.operator == "not" else "number"
        return _expect(tree.operand, wanted, tree.operator, kinds, text)
    if isinstance(tree, Call):
        return _call(tree, kinds, text)
    if tree.operator in ARITHMETIC or tree.operator in LOGICAL:
        wanted = "number" if tree.operator in ARITHMETIC else "truth"
        for part in (tree.left, tree.right):
            _expect(part, wanted, tree.operator, kinds, text)
        return wanted
    _alike((tree.left, tree.right), tree.operator, tree.at, kinds, text)
    return "truth"


def _call(tree: Call, kinds: Mapping[str, str | None], text: str) -> str | None:
    if tree.name == "missing":
        _kind(tree.arguments[0], kinds, text)
        return "truth"
    if tree.name == "where":
        _expect(tree.arguments[0], "truth", "where", kinds, text)
        return _alike(tree.arguments[1:], "where", tree.at, kinds, text)
    for part in tree.arguments:
        _expect(part, "number", tree.name, kinds, text)
    return "number"


def _expect(tree: Node, wanted: str, what: str, kinds: Mapping[str, str | None], text: str) -> str:
    found = _kind(tree, kinds, text)
    if found not in (None, wanted):
        raise _mixed(text, tree.at, f"{what} takes {wanted}s, and this is a {found}")
    return wanted


def _alike(parts: tuple[Node, ...], what: str, at: int, kinds: Mapping[str, str | None], text: str) -> str | None:
    found = {kind for part in parts if (kind := _kind(part, kinds, text)) is not None}
    if len(found) > 1:
        raise _mixed(text, at, f"{what} takes two of a kind, and these are a {' and a '.join(sorted(found))}")
    return next(iter(found), None)


def _mixed(text: str, at: int, what: str) -> ExpressionError:
    return ExpressionError(f"in the expression {text!r}, at character {at + 1}: {what}.")
