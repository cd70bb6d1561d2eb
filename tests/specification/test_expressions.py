"""The language of derived columns: what it means, that it round-trips, and that nothing hostile gets anywhere."""

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statveil.specification.expressions import DEEPEST, LONGEST, Expression, ExpressionError
from statveil.specification.kinds import kind_of
from statveil.specification.nodes import FUNCTIONS, Binary, Call, Column, Number, Text, Truth, Unary, written

names = st.text(min_size=1, max_size=8).filter(lambda name: "\x00" not in name)
numbers = st.integers(0, 10**9) | st.floats(0, 1e300, allow_nan=False, allow_infinity=False)
leaves = (
    st.builds(Number, numbers)
    | st.builds(Text, st.text(max_size=6))
    | st.builds(Truth, st.booleans())
    | st.builds(Column, names | st.sampled_from(["a", "and", "true", "log", "net price", "`", "5x", "é"]))
)


def calls(inner):
    def of(name):
        low, high = FUNCTIONS[name]
        return st.lists(inner, min_size=low, max_size=min(high, 3)).map(lambda parts: Call(name, tuple(parts)))

    return st.sampled_from(sorted(set(FUNCTIONS) - {"round"})).flatmap(of)


binary = ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "and", "or"]
trees = st.recursive(
    leaves,
    lambda inner: (
        st.builds(Unary, st.sampled_from(["-", "+", "not"]), inner)
        | st.builds(Binary, st.sampled_from(binary), inner, inner)
        | calls(inner)
    ),
    max_leaves=12,
)


@settings(max_examples=120)
@given(trees)
def test_a_tree_that_is_written_and_read_is_the_same_tree(tree):
    text = written(tree)
    found = Expression.parse(text)
    assert found.tree == tree
    assert str(found) == text


plain = st.recursive(
    st.integers(0, 9).map(str) | st.sampled_from(["0.5", "2.", ".25", "1e1"]),
    lambda inner: (
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%", " ** "]), inner).map("".join)
        | inner.map(lambda text: f"({text})")
        | inner.map(lambda text: f"-{text}")
        | inner.map(lambda text: f"+ {text}")
    ),
    max_leaves=8,
)


def value(tree):
    """What an expression of numbers and truths means, by hand."""
    if isinstance(tree, Number | Truth):
        return tree.value
    if isinstance(tree, Unary):
        one = value(tree.operand)
        return {"-": lambda: -one, "+": lambda: one, "not": lambda: not one}[tree.operator]()
    a, b = value(tree.left), value(tree.right)
    return {
        "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b, "//": lambda: a // b,
        "%": lambda: a % b, "**": lambda: a**b, "<": lambda: a < b, "<=": lambda: a <= b, ">": lambda: a > b,
        ">=": lambda: a >= b, "==": lambda: a == b, "!=": lambda: a != b, "and": lambda: a and b, "or": lambda: a or b,
    }[tree.operator]()  # fmt: skip


def outcome(make):
    try:
        found = make()
    except ArithmeticError as error:
        return type(error)
    return "too large" if isinstance(found, complex) or abs(found) > 1e300 else found


@settings(max_examples=400)
@given(plain)
def test_operations_group_as_python_groups_them(text):
    if text.count("**") > 2:
        return  # towers of powers have no use, and take ages in whole numbers
    expected = outcome(lambda: eval(text))  # of digits and signs that this test has put together
    found = outcome(lambda: value(Expression.parse(text).tree))
    assert found == expected or (isinstance(found, float) and math.isnan(found))


truths, signs_, negated = (
    st.sampled_from(["true", "false"]),
    st.sampled_from(["and", "or"]),
    st.sampled_from(["", "not "]),
)


@settings(max_examples=200)
@given(st.tuples(truths, truths, truths), st.tuples(signs_, signs_), negated, negated)
def test_and_or_and_not_group_as_python_groups_them(parts, signs, first, second):
    text = f"{first}{parts[0]} {signs[0]} {second}{parts[1]} {signs[1]} {parts[2]}"
    assert value(Expression.parse(text).tree) == eval(text.replace("true", "True").replace("false", "False"))


pieces = st.sampled_from([*"ab1.5 '`\"()+-*/%<>=!,&|^#[]{}:;\\\n\té", " and ", " or ", "not ", "log(", "where("])


@settings(max_examples=400)
@given(st.lists(pieces | st.characters(), max_size=40).map("".join))
def test_garbage_is_read_or_ends_in_one_sentence(text):
    try:
        tree = Expression.parse(text).tree
    except ExpressionError as error:
        said = str(error)
        assert "in the expression" in said
    else:
        assert Expression.parse(written(tree)).tree == tree


@pytest.mark.parametrize(
    "text",
    [
        "(" * 1000 + "a" + ")" * 999, "-" * 1999 + "a", "not " * 400 + "a", "a+" * 900 + "a", "a**" * 600 + "a",
        "abs(" * 400 + "a" + ")" * 400, "a" * (LONGEST + 1), "`" * 1999, "'" * 1999, "9" * 1999, "1e999", "a<b<c",
        "(" * 10**6, "min(" + "a," * 900 + "a)",
    ],
)  # fmt: skip
def test_deep_and_long_expressions_are_refused_at_once(text):
    started = time.perf_counter()
    with pytest.raises(ExpressionError) as refused:
        Expression.parse(text)
    assert time.perf_counter() - started < 1
    assert len(str(refused.value)) < 3100


def test_what_is_deep_but_allowed_can_be_read_written_and_compared():
    deep = "(" * (DEEPEST - 2) + "a + 1" + ")" * (DEEPEST - 2)
    long = " + ".join(["a"] * DEEPEST)
    for text in (deep, long):
        found = Expression.parse(text)
        assert Expression.parse(str(found)) == found
        assert hash(found) == hash(Expression.parse(str(found)))


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("wage = 3", 6, "write =="),
        ("a && b", 3, "write 'and'"),
        ("a < b < c", 7, "chains"),
        ("log(wage", 9, "bracket"),
        ("lug(wage)", 1, "did you mean 'log'"),
        ("wage +", 7, "missing"),
        ("a b", 3, "not expected"),
        ("__import__('os')", 1, "unknown function"),
        ("a.b", 2, "backquotes"),
        ("a[0]", 2, "only columns"),
        ("2x", 1, "backquotes"),
        ("round(x, y)", 1, "whole number"),
        ("round(x, 99)", 1, "whole number"),
        ("where(a, b)", 1, "takes 3 arguments"),
        ('name == "x"', 9, "single quotes"),
        ("``", 1, "no name"),
        ("x ^ 2", 3, "**"),
        ("", 1, "missing"),
    ],
)
def test_an_error_names_the_place_and_what_to_write(text, place, words):
    with pytest.raises(ExpressionError) as refused:
        Expression.parse(text)
    assert f"at character {place}:" in str(refused.value)
    assert words in str(refused.value)


def test_columns_are_those_that_are_named():
    found = Expression.parse("where(missing(`net price`), min(log, 2), 'wage') == and_ or true")
    assert found.columns == {"net price", "log", "and_"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [("a + 1", "number"), ("a > 1", "truth"), ("'x'", "text"), ("a", None), ("n", "number"), ("t", "text"),
     ("where(n > 1, 'a', t)", "text"), ("missing(t) and true", "truth"), ("-log(n)", "number"), ("a == t", "truth")],
)  # fmt: skip
def test_kinds(text, kind):
    assert kind_of(Expression.parse(text), {"n": "number", "t": "text", "a": None}) == kind


@pytest.mark.parametrize(
    "text",
    ["t + 1", "true + 1", "log(t)", "not n", "n and true", "n == t", "where(n, 1, 2)", "where(true, n, t)", "-(n > 1)",
     "min(n, t)", "(n > 1) < 2"],
)  # fmt: skip
def test_kinds_are_not_mixed(text):
    with pytest.raises(ExpressionError, match="takes"):
        kind_of(Expression.parse(text), {"n": "number", "t": "text"})
