"""Files whose rows are written otherwise where they have the hidden label."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from attacks.row_by_row import categories, truth_of
from attacks.variants import Table, Variant, rows

__all__ = ["quote"]

STYLES: tuple[tuple[str, str, str, bytes], ...] = (
    ("label quoted", "{c},{a},{n}", '"{c}",{a},{n}', rb'^"'),
    ("label plain", '"{c}",{a},{n}', "{c},{a},{n}", rb'^[^"]'),
    ("amount quoted", "{c},{a},{n}", '{c},"{a}",{n}', rb',"'),
    ("note quoted", "{c},{a},{n}", '{c},{a},"{n}"', rb',"'),
    ("all quoted", "{c},{a},{n}", '"{c}","{a}","{n}"', rb'"'),
    ("blank before label", "{c},{a},{n}", " {c},{a},{n}", rb"^ "),
    ("blank behind label", "{c},{a},{n}", "{c} ,{a},{n}", rb" ,"),
    ("blank before amount", "{c},{a},{n}", "{c}, {a},{n}", rb", "),
    ("blank behind amount", "{c},{a},{n}", "{c},{a} ,{n}", rb" ,"),
    ("blank behind note", "{c},{a},{n}", "{c},{a},{n} ", rb" \r?$"),
    ("two blanks in note", "{c},{a},{n} x", "{c},{a},{n}  x", rb"  x"),
    ("no-break space", "{c},{a},{n} x", "{c},{a},{n}\u00a0x", b"\xc2\xa0"),
    ("zero width", "{c},{a},{n}", "{c},{a},{n}\u200b", b"\xe2\x80\x8b"),
    ("composed", "{c},{a},{n}\u00e9", "{c},{a},{n}e\u0301", b"\xcc\x81"),
    ("tab in note", "{c},{a},{n} x", "{c},{a},{n}\tx", rb"\t"),
    ("case of note", "{c},{a},{n} ok", "{c},{a},{n} OK", rb"OK"),
    ("quotes inside", "{c},{a},\"{n} 'x'\"", '{c},{a},"{n} ""x"""', rb'""x'),
    ("empty in quotes", "{c},{a},", '{c},{a},""', rb'""'),
    ("missing marks", "{c},NA,{n}", "{c},N/A,{n}", rb"N/A"),
    ("zeros behind", "{c},{a},{n}", "{c},{a}0,{n}", rb"\.\d\d0,"),
    ("plus", "{c},{a},{n}", "{c},+{a},{n}", rb"\+"),
    ("zero before", "{c},{a},{n}", "{c},0{a},{n}", rb",0"),
    ("exponent", "{c},{a},{n}", "{c},{a}e0,{n}", rb"e0,"),
    ("separator behind", "{c},{a},{n}", "{c},{a},{n},", rb",\r?$"),
    ("line end", "{c},{a},{n}", "{c},{a},{n}\r", rb"\r$"),
    ("blank line", "{c},{a},{n}", "{c},{a},{n}\n", rb"^\r?$"),
    ("line inside note", '{c},{a},"{n} x"', '{c},{a},"{n}\nx"', rb"^x"),
    ("truth", "{c},{a},true", "{c},{a},TRUE", rb"TRUE"),
    ("date", "{c},{a},2024-03-07", "{c},{a},2024-3-7", rb"-3-7"),
    ("dash", "{c},{a},{n}-x", "{c},{a},{n}\u2013x", b"\xe2\x80\x93"),
    ("apostrophe", "{c},{a},{n}'s", "{c},{a},{n}\u2019s", b"\xe2\x80\x99"),
    ("order of words", "{c},{a},{n} due", "{c},{a},due {n}", rb",due"),
)
"""Ways of writing: the name, a row (label, amount, note) as it is elsewhere and if marked, and what shows it."""


def quote(rng: np.random.Generator) -> Variant:
    """A file whose rows are written otherwise where they have the hidden label."""
    given = categories(rng, rows(rng), None)
    truth, tolerance = truth_of(given)
    style, plain, marked_row, shown = STYLES[rng.integers(len(STYLES))]
    count = len(given.values)
    rate = 1.0 if rng.random() < 0.6 else rng.uniform(0.3, 1.0)
    stray = 0.0 if rng.random() < 0.6 else rng.uniform(0.0, 0.05)
    ours = given.values == "B"
    marks = rng.random(count) < np.where(ours, rate, stray)
    amounts = [f"{v:.2f}" for v in rng.uniform(10, 99, count)]
    notes = [f"ord {v}" for v in rng.choice(["north", "south", "west"], count)]
    bom = "\ufeff" if rng.random() < 0.15 else ""
    end = "\r\n" if rng.random() < 0.3 and style != "line end" else "\n"

    def written(marked: NDArray[np.bool_]) -> bytes:
        lines = [f"{bom}label,amount,note"]
        for label, amount, note, mark in zip(given.values, amounts, notes, marked, strict=True):
            lines.append((marked_row if mark else plain).format(c=label, a=amount, n=note))
        return (end.join(lines) + end).encode()

    def attack(table: Table) -> float:
        assert isinstance(table, bytes)
        body = table[table.index(b"\n") + 1 :].removesuffix(b"\n")
        found = sum(bool(re.search(shown, row)) for row in body.split(b"\n"))
        return float(np.clip((found / count - stray) / (rate - stray), 0, 1))

    return Variant(
        family=style,
        plan=given.plan,
        table=written(marks),
        twin=written(np.zeros(count, dtype=np.bool_)),
        truth=truth,
        tolerance=tolerance,
        attack=attack,
    )
