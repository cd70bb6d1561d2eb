"""What linked columns give away: wrong factors, short floats, and what a card and an Arrow table say of the others."""

from __future__ import annotations

import tomllib

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import statveil as sv
from statveil.specification.planned import plan_specification
from statveil.specification.specification import Specification
from statveil.tables.linking import ShortFloats
from statveil.tables.maps import affine
from tests.best_possible import none_known

SEED = 5
HIDE = '[columns.{}]\nhide = "mean"\nprior = "{}"\ntolerance = {}\nmax_risk = 0.2\n'


def planned(text):
    with none_known():
        return plan_specification(Specification.from_toml(text))


def drafted(**columns):
    """The draft's text of each column."""
    text = sv.draft_specification(pl.DataFrame(columns))
    parts = {}
    for name in columns:
        here = text.index(f"[columns.{name}]")
        there = min((at for at in (text.find("\n\n", here), len(text)) if at > 0), default=len(text))
        parts[name] = text[here:there]
    return parts, tomllib.loads(text)["columns"]


# --- drafts ---------------------------------------------------------------------------------------
def test_formulas_are_derived_and_taxes_and_tips_dropped_and_neither_is_linked():
    rng, rows = np.random.default_rng(1), 1_000
    net = rng.lognormal(4, 0.5, rows)
    parts, said = drafted(
        net=net,
        gross=net * 1.2,
        two_rates=net * (1 + rng.choice([0.07, 0.19], rows)),
        tipped=net * rng.normal(1.15, 0.02, rows),
        progressive=net * 1.1 + 0.4 * np.maximum(net - 60, 0),
    )
    assert said["gross"] == {"derive": "net * 1.2"}
    for name in ("two_rates", "tipped", "progressive"):
        assert said[name] == {"drop": True}, name
    assert not any("link =" in part for part in parts.values())


def test_of_columns_that_tell_each_other_the_finest_is_hidden_wherever_it_stands():
    exact = np.random.default_rng(5).lognormal(4, 0.5, 1_000)
    _, said = drafted(whole=np.floor(exact), exact=exact)
    assert said["whole"] == {"derive": "floor(exact)"}
    assert said["exact"]["hide"] == "mean"


def test_a_second_clock_is_proposed_as_a_link_with_its_factor():
    rng, rows = np.random.default_rng(2), 1_000
    start = rng.normal(720, 110, rows).round().astype(int)  # no sharp ends: between two bounds nothing is only moved
    parts, said = drafted(start=start, end=start + rng.integers(40, 70, rows))
    assert said["end"] == {"drop": True}
    proposed = parts["end"].replace("drop = true\n", "").replace("# ", "")
    assert tomllib.loads(proposed)["columns"]["end"] == {"link": "start", "factor": 1.0}


@pytest.mark.parametrize(
    "rest",
    [
        lambda x, rng: 20 * np.sin(x / 3),  # a function of the column, though not of its size
        lambda x, rng: rng.normal(60, 8, len(x)) * x / 900,  # as wide as the column is large
        lambda x, rng: 0.02 * x + rng.normal(60, 8, len(x)),  # the factor is 1.02
        lambda x, rng: np.where(x > 900, 5.0, 3.0),
    ],
)
def test_a_difference_that_has_to_do_with_the_column_makes_no_link(rest):
    rng = np.random.default_rng(3)
    x = rng.normal(900, 200, 2_000)
    parts, said = drafted(x=x, y=x + rest(x, rng))
    assert said["y"] == {"drop": True}
    assert "link" not in parts["y"]


# --- 32-bit floats --------------------------------------------------------------------------------
LINKED = HIDE.format("x", "0:2000", 10) + '{}[columns.y]\nlink = "x"\nfactor = 2.0\n'


def columns(kind, rows=3_000, seed=4):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(500, 150, rows), rng.normal(1_000, 300, rows)
    short_x, short_y = x.astype(np.float32), y.astype(np.float32)
    return pl.DataFrame(
        {
            "64 bits": {"x": x, "y": y},
            "32 bits": {"x": short_x, "y": short_y},
            "32 in 64": {"x": short_x.astype(float), "y": short_y.astype(float)},
            "hidden alone": {"x": short_x, "y": y},
            "linked alone": {"x": x, "y": short_y},
            "linked in 64": {"x": x, "y": short_y.astype(float)},
            "some rows": {"x": np.where(np.arange(rows) % 9, x, short_x), "y": y},
        }[kind]
    )


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("32 bits", "'x' and 'y' hold"),
        ("32 in 64", "'x' and 'y' hold"),
        ("hidden alone", "'x' holds"),
        ("linked alone", "'y' holds"),
        ("linked in 64", "'y' holds"),
        ("some rows", "'x' holds"),
    ],
)
def test_links_of_32_bit_numbers_are_refused_as_digits(kind, named):
    with pytest.raises(sv.StructureError, match=rf"{named} 32-bit numbers.*64-bit numbers.*--accept digits"):
        sv.release(planned(LINKED.format('accept = ["ratios"]\n')), columns(kind))


def test_64_bit_numbers_and_lattices_are_linked():
    assert sv.release(planned(LINKED.format("")), columns("64 bits")).columns == ["x", "y"]
    rng = np.random.default_rng(5)
    start = rng.integers(300, 1_200, 2_000)
    frame = pl.DataFrame({"x": start, "y": 2 * (start + rng.integers(0, 40, 2_000))}).cast(pl.Float32)
    done = sv.release(planned(LINKED.format('known = "step=1"\n')), frame)
    np.testing.assert_array_equal((done["y"] - 2 * done["x"]).to_numpy(), (frame["y"] - 2 * frame["x"]).to_numpy())


def test_what_is_refused_would_tell_the_move(monkeypatch):
    """The cells of 32-bit numbers are twice as wide from 512 on: in the accepted release, from 512 + b on.

    A blur of both columns is far wider than these cells, but no number of rows is too large for it: it is left out.
    """
    monkeypatch.setattr(affine, "blurred_evenly", lambda values, seed, width: values)
    x = np.random.default_rng(6).normal(500, 150, 20_000).astype(np.float32).astype(float)
    plan = planned(LINKED.format('accept = ["digits", "copies"]\n'))
    done = sv.release(plan, pl.DataFrame({"x": x, "y": 2 * x}), seed=SEED, details=True)
    assert [leak["name"] for leak in done.card["columns"]["x"]["accepted_leaks"]] == ["copies", "digits"]
    moved = done.record["columns"]["x"]["coefficients"]["b"]
    assert abs(moved) > 20
    released = np.sort(done.table["x"].to_numpy())
    rest = np.abs(done.table["y"].to_numpy() / 2 - done.table["x"].to_numpy())[np.argsort(done.table["x"].to_numpy())]
    wide = 2.0**-15 * 1.001  # the widest residual of cells below 512, half a cell of 2^-15 from each column
    first = released[np.flatnonzero(rest > wide)[0]]
    assert abs(first - (512 + moved)) < 1  # far within the tolerance: a sure guess


def test_few_frequent_values_and_heaps_are_no_32_bit_numbers():
    rng = np.random.default_rng(7)
    values = rng.normal(500, 150, 1_000)
    few = ShortFloats(bits=53)
    few.watch(np.concatenate([values, np.repeat([0.0, 100.0, 250.0], 50), [np.nan, np.inf]]))
    assert not few.any
    heaped = ShortFloats(bits=53, heap=5.0)
    heaped.watch(np.concatenate([values, 5.0 * np.arange(40)]))
    assert not heaped.any
    for watched in (ShortFloats(bits=24), ShortFloats(bits=53), ShortFloats(bits=53)):
        watched.watch(np.concatenate([values, np.arange(1.0, 20)]))
        assert watched.any


@pytest.mark.parametrize("off", [-20, -16, -8, -4, -1, 0, 1, 3, 4, 5, 8, 9, 16, 20])
def test_32_bit_numbers_count_alike_in_the_first_rows_and_in_later_ones(off):
    """Later rows have a quick look first, which must not miss one whose last digits are a little off."""
    rng = np.random.default_rng(9)
    sizes = 10.0 ** rng.uniform(-44, 38, 3_000)
    short = np.concatenate([sizes, -sizes, 2.0 ** np.arange(-149, 128)]).astype(np.float32).astype(np.float64)
    moved = (short.view(np.int64) + off).view(np.float64)
    others = rng.normal(500, 150, 1_000)
    for one in (moved, *np.array_split(moved, 40)):
        first, later = ShortFloats(bits=53), ShortFloats(bits=53)
        first.watch(np.concatenate([others, one]))
        later.watch(others)
        later.watch(one)
        assert later.any == first.any
        assert later._found == first._found
    assert abs(off) > 4 or later.any


# --- the words of the card ------------------------------------------------------------------------
def card_of(text, frame):
    return sv.release(planned(text), pl.DataFrame(frame), seed=SEED, details=True).card


def test_a_card_says_what_became_of_the_other_columns():
    rng, rows = np.random.default_rng(8), 600
    start, wage = rng.integers(300, 1_200, rows), rng.normal(500, 80, rows)
    frame = {"start": start, "end": start + rng.integers(40, 70, rows), "wage": wage, "double": 2 * wage}
    frame |= {"id": rng.permutation(rows), "gone": wage}
    text = HIDE.format("start", "0:1440", 10) + 'known = "step=1"\n[columns.end]\nlink = "start"\n'
    text += HIDE.format("wage", "100:1000", 5) + '[columns.double]\nderive = "wage * 2"\n'
    card = card_of(text + "[columns.id]\nkeep = true\n[columns.gone]\ndrop = true\n", frame)
    said = {name: " ".join(card["columns"][name]["assumptions"]) for name in ("start", "wage")}
    for words in said.values():
        assert "Other columns were left as they were" not in words
        for part in ("ept columns were left as they were", "derived columns were worked out", "dropped columns were"):
            assert part in words
    assert "linked columns were moved by the same map" in said["start"]
    assert "('end') say of it and of each other tells nothing of the hidden statistic" in said["start"]
    assert "linked" not in said["wage"]
    checked = {name: card["columns"][name]["checked"] for name in ("start", "wage")}
    assert any(
        "Linked columns were not searched" in line and "differences under a shift" in line for line in checked["start"]
    )
    assert not any("inked columns" in line for line in checked["wage"])
    assert not any(line.startswith("The other columns") for lines in checked.values() for line in lines)
    assert card["says"].endswith("the names of its columns and the number of its rows.")


def test_a_card_says_nothing_of_treatments_that_do_not_occur():
    frame = {"wage": np.random.default_rng(9).normal(500, 80, 300)}
    words = " ".join(card_of(HIDE.format("wage", "100:1000", 5), frame)["columns"]["wage"]["assumptions"])
    for part in ("kept columns", "inked", "derived", "dropped"):
        assert part not in words


# --- metadata of Arrow tables ---------------------------------------------------------------------
def test_released_arrow_tables_have_no_metadata_at_any_depth():
    rng, rows = np.random.default_rng(10), 400
    wage, secret = pa.array(rng.normal(500, 80, rows)), {"mean": "501.7"}
    inner = pa.field("code", pa.int64(), metadata=secret)
    fields = [
        pa.field("wage", pa.float64(), metadata=secret),
        pa.field("id", pa.int64(), nullable=False, metadata=secret),
        pa.field("record", pa.struct([inner]), metadata=secret),
        pa.field("list", pa.list_(inner)),
        pa.field("large", pa.large_list(inner)),
        pa.field("pair", pa.list_(inner, 1)),
        pa.field("map", pa.map_(pa.string(), pa.field("value", pa.int64(), metadata=secret))),
    ]
    ids = rng.permutation(rows).tolist()
    table = pa.table(
        [
            wage,
            pa.array(ids),
            pa.array([{"code": one} for one in ids], fields[2].type),
            *(pa.array([[one] for one in ids], field.type) for field in fields[3:6]),
            pa.array([[("a", one)] for one in ids], fields[6].type),
        ],
        schema=pa.schema(fields, metadata=secret),
    )
    whole = planned('others = "keep"\n' + HIDE.format("wage", "100:1000", 5) + 'accept = ["copies"]\n')
    plan = whole.plans["wage"]
    for done in (sv.release(plan, table, column="wage", accept=["copies"]), sv.release(whole, table)):
        assert b"501.7" not in bytes(done.schema.serialize())
        assert done.schema.equals(table.schema)  # types, names and what may be missing stay
        assert done.drop_columns(["wage"]).equals(table.drop_columns(["wage"]))
        done.validate(full=True)
