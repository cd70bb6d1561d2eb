"""CSV files with columns moved, left out, worked out anew and added: the fields against Python's own reader."""

from __future__ import annotations

import csv
import io
import itertools

import numpy as np
import polars as pl
import pytest

from statveil.tables.changes import Changes, Derived, Replacement
from statveil.tables.files import open_table
from statveil.tables.maps.column_map import ColumnMap

FILES = {
    "plain": b"a,b,c\n1,x,3\n,y,\n5,z,7\n",
    "windows, no last line end": b'a,b,c\r\n1,"x, ""y""",3\r\n,,\r\n4,z,6',
    "mark of UTF-8, blank lines": b"\xef\xbb\xbfa,b,c\n\n1,x,3\n\n4,y,6\n\n",
    "quoted numbers": b'"a","b","c"\n"1","x","3"\n"2","y","4"\n',
    "semicolons": b"a;b;c\n1;x,1;3\n2;;NA\n",
    "header alone": b"a,b,c\n",
    "a name in quotes": b'a,"b, too",c\n1,x,3\n',
}


class PlusTen(ColumnMap):
    def block(self, values, index):
        return values + 10

    def coefficients(self):
        return {}


def rows_of(raw):
    text = raw.decode("utf-8-sig")
    separator = ";" if ";" in text else ","
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]


def number(text):
    return None if text in ("", "NA") else float(text)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("shuffle", [None, 3])
def test_fields_are_those_of_pythons_reader(tmp_path, name, shuffle):
    head, *body = rows_of(FILES[name])
    source, target = tmp_path / "t.csv", tmp_path / "out.csv"
    source.write_bytes(FILES[name])
    twice = Derived(needs=("a",), kind="float", rows=lambda columns: columns["a"].cast(pl.Float64) * 2)
    label = Derived(
        needs=("a",), kind="text", rows=lambda columns: columns["a"].cast(pl.Int64).cast(pl.String) + ', "so"'
    )
    wheres = [{}, {"c": twice}, {"new, 1": twice}, {"c": twice, "new, 1": label}, {head[1]: label, "new": twice}]
    for dropped, derived in itertools.product([(), (head[1],), ("c",), (head[1], "c")], wheres):
        if set(dropped) & set(derived):
            continue
        changes = Changes(replaced={"a": Replacement(column_map=PlusTen())}, dropped=dropped, derived=derived)
        open_table(source).write(target, changes, shuffle=shuffle)
        found_head, *found = rows_of(target.read_bytes())
        kept = [column for column in head if column not in dropped]
        new = [column for column in derived if column not in head]
        assert found_head == [*kept, *new]
        wanted = []
        for row in body:
            cells = dict(zip(head, row, strict=True))
            a = number(cells["a"])
            moved = None if a is None else a + 10
            if moved is not None:
                cells["a"] = repr(moved)
            for column, one in derived.items():
                text = None if moved is None else repr(moved * 2) if one is twice else f'{int(moved)}, "so"'
                cells[column] = text or ""
            wanted.append([cells[column] for column in (*kept, *new)])
        # a table of one column writes a missing value as a blank line, which the reader above leaves out
        wanted = [row for row in wanted if row != [""]]
        order = sorted if shuffle else list
        assert order(found) == order(wanted), (dropped, [*derived])


def test_quotes_and_line_ends_stay_those_of_the_file(tmp_path):
    source, target = tmp_path / "t.csv", tmp_path / "out.csv"
    source.write_bytes(FILES["quoted numbers"].replace(b"\n", b"\r\n"))
    twice = Derived(needs=("a",), kind="float", rows=lambda columns: columns["a"] * 2)
    changes = Changes(
        replaced={"a": Replacement(column_map=PlusTen())}, dropped=("b",), derived={"c": twice, "d": twice}
    )
    open_table(source).write(target, changes)
    assert target.read_bytes() == b'"a","c",d\r\n"11.0","22.0",22.0\r\n"12.0","24.0",24.0\r\n'


def test_everything_but_the_last_column_may_go(tmp_path):
    source, target = tmp_path / "t.csv", tmp_path / "out.csv"
    source.write_bytes(b"a,b,c\n1,x,3\n,y,\n5,z,7\n")
    open_table(source).write(target, Changes(replaced={"c": Replacement(column_map=PlusTen())}, dropped=("a", "b")))
    assert target.read_bytes() == b"c\n13.0\n\n17.0\n"
    assert np.isnan(np.concatenate(list(open_table(target).blocks("c")))[1])
