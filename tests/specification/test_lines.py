"""Where each key of a TOML text stands, against texts whose lines are known because they were put together here."""

import json
import tomllib

from hypothesis import given, settings
from hypothesis import strategies as st

from statveil.specification.lines import line_of, lines_of

TEXT = '''# a comment with [columns.fake]
shuffle = false  # others = "no"
title = """
[columns.inside]
keep = "a \\""" quoted mark"
"""
columns."net price".keep = true
columns.'wage'.hide = [
  "mean",  # ] no end
  {secret = "std", tolerance = "5%", prior = ["a=1:2", 'b=[3]']},
]

[budget]
max_risk = 0.2

[ columns . "a.b" ]
derive = "log(wage) # no comment"
[columns.t]
labels = [ "x",
  """y
z""", 'w' ]
when = 1979-05-27 07:32:00
[[more]]
a = 1
[[more]]
a = {b = {c = 1}, d = [[1, 2],
 [3]]}
'''


def test_lines_of_a_text_with_everything_in_it():
    found = lines_of(TEXT)
    expected = {
        ("shuffle",): 2, ("title",): 3, ("columns", "net price", "keep"): 7, ("columns", "wage"): 8,
        ("columns", "wage", "hide", 0): 9, ("columns", "wage", "hide", 1): 10,
        ("columns", "wage", "hide", 1, "tolerance"): 10, ("budget",): 13, ("budget", "max_risk"): 14,
        ("columns", "a.b"): 16, ("columns", "a.b", "derive"): 17, ("columns", "t", "labels"): 19,
        ("columns", "t", "labels", 1): 20, ("columns", "t", "labels", 2): 21, ("columns", "t", "when"): 22,
        ("more", 0): 23, ("more", 0, "a"): 24, ("more", 1): 25, ("more", 1, "a", "b", "c"): 26,
        ("more", 1, "a", "d", 1): 27,
    }  # fmt: skip
    assert {place: found.get(place) for place in expected} == expected
    assert not any("fake" in place or "inside" in place for place in found)
    assert line_of(found, ("columns", "t", "not there", "nor this")) == 18
    assert line_of(found, ("nothing",)) is None


def places(data, here=()):
    """Every place in what tomllib has read."""
    if here:
        yield here
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in parts:
        yield from places(value, (*here, key))


keys = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6) | st.sampled_from(
    ["a", "b.c", '"', "'", "#"]
)
texts = st.sampled_from(["x", "[a]", "a = 1", "# no", '"', "'", "\\", "'''", "", "{", "\n", "]"]) | st.text(
    st.characters(exclude_categories=["Cs", "Cc"]), max_size=5
)
values = st.recursive(
    texts | st.integers(-9, 9) | st.booleans(), lambda inner: st.lists(inner, max_size=3), max_leaves=5
)


def spelled(value, pretty):
    """A value as TOML, lists over several lines where asked."""
    if isinstance(value, list):
        between = ",\n  # ] a comment\n  " if pretty else ", "
        return "[" + between.join(spelled(one, pretty) for one in value) + "]"
    if isinstance(value, str) and pretty and "'" not in value and "\n" not in value:
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


@settings(max_examples=150)
@given(st.dictionaries(keys, st.dictionaries(keys, values, max_size=3), max_size=4), st.booleans(), st.booleans())
def test_every_key_is_found_on_the_line_on_which_it_was_written(tables, pretty, dotted):
    lines, expected = [], {}
    for name, table in tables.items():
        head = json.dumps(name, ensure_ascii=False)
        if not dotted:
            expected[(name,)] = len(lines) + 1
            lines.append(f"[{head}]  # [x]")
        for key, value in table.items():
            expected[(name, key)] = len(lines) + 1
            said = json.dumps(key, ensure_ascii=False)
            lines += f"{head + '.' if dotted else ''}{said} = {spelled(value, pretty)}".split("\n")
    text = "\n".join(lines)
    data = tomllib.loads(text)
    found = lines_of(text)
    assert {place: found[place] for place in expected} == expected
    known = set(places(data))
    assert {place for place in known if len(place) <= 5} <= set(found)
    assert {place for place in found if len(place) < 8} <= known
