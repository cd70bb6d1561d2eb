"""What a card states of the rows of a table, and what an address shows."""

from __future__ import annotations

import pickle

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statveil as sv
from statveil.tables.databases.address import Address
from statveil.tables.databases.rows_hash import hash_in_order, hash_of_rows, row_texts
from statveil.tables.source import open_source
from statveil.testing.sources import _check_reading, _table

CELLS = st.one_of(st.none(), st.sampled_from(["", "-", "1", "1:", ";", "-;", "1:1;"]))
TABLES = st.lists(st.tuples(CELLS, CELLS), max_size=5)


def frame(rows):
    return pl.DataFrame(rows, schema={"a": pl.String, "b": pl.String}, orient="row")


def hashed(rows, *cuts):
    whole = frame(rows)
    pieces = [whole] if not cuts else [whole[: cuts[0]], whole[cuts[0] :]]
    return hash_of_rows(whole.columns, pieces), hash_in_order(pieces)


@given(TABLES, TABLES)
def test_two_tables_have_one_hash_exactly_where_their_rows_are_the_same(one, two):
    first, second = hashed(one), hashed(two)
    assert (first[0] == second[0]) == (sorted(map(pickle.dumps, one)) == sorted(map(pickle.dumps, two)))
    assert (first[1] == second[1]) == (one == two)


@given(TABLES, st.integers(0, 5))
def test_it_does_not_matter_in_which_pieces_rows_come(rows, cut):
    assert hashed(rows, cut) == hashed(rows)


def test_numbers_are_told_apart_to_the_last_bit_and_not_by_their_type():
    floats = [0.1 + 0.2, 0.3, 0.0, -0.0, float("nan"), float("inf"), None]
    assert row_texts(pl.DataFrame({"a": floats})).n_unique() == len(floats)
    texts = [row_texts(pl.DataFrame({"a": [5, None]}, schema={"a": dtype})) for dtype in (pl.Int16, pl.UInt64)]
    assert texts[0].to_list() == texts[1].to_list()


def test_a_table_of_a_database_is_read_as_every_source(place):
    _check_reading(open_source(place.put("t", _table())), _table())


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ann:hush/hush@host/db?table=t",
        "postgresql://ann:hush@hush@host/db?table=t",
        "postgresql://ann:hush#hush@host/db?table=t",
        "postgresql://ann:hush@host:hush/db?table=t",
        "postgresql://ann:hush@host/db",
        "postgresql://ann:hush@host/db?table=",
        "postgresql://ann:hush@host/db?table=a&table=b",
        "postgresql://ann:hush@host/db?hush",
        "nonsense://ann:hush@host/db?table=t",
    ],
)
def test_an_address_that_is_none_is_refused_without_being_shown(text):
    with pytest.raises(sv.FileError) as refused:
        open_source(text)
    assert "hush" not in str(refused.value)


def test_what_is_shown_of_an_address_has_no_password():
    given = Address.parse(
        "postgres://ann:hu%40sh@host:5433/db?password=hush&table=a%22b&schema=s&order_by=x&order_by=y"
    )
    assert str(given) == "postgresql://ann@host:5433/db?schema=s&table=a%22b"
    assert (given.table, given.schema, given.order_by) == ('a"b', "s", ("x", "y"))
    assert Address.parse(str(given)).card.table == 'a"b_card'
    assert set(given.passwords) == {"hu%40sh", "hu@sh", "hush"}
    assert "hush" not in repr(given)
