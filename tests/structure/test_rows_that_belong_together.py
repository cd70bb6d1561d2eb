"""Rows that belong together without a column for it: by a partner's id, by a part of a text, by two columns at once.

Whoever reads which rows had one value sees what was drawn row by row, and whoever sees pairs of two groups that move
apart sees by how much. Every table here was released before such groupings were looked for.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv
from tests.plans import BY_MODE, LABELS, column_for, planned

ACCEPT = ("heaps", "misfit", "atoms", "few-rows", "step", "rough", "bounds", "repeats")
MODES = ("rank", "model", "smooth", "jitter", "unit", "category")
RATIO = planned(
    secret=sv.GroupRatio("part", "a", "b"), prior=(0.5, 2), tolerance=sv.Relative(0.05), known=sv.Structure(minimum=0)
)
DIFFERENCE = planned(secret=sv.GroupDifference("part", "a", "b"), prior=(-10, 10), tolerance=0.5)
COLUMNS = planned(
    secret=sv.ColumnRatio("one", "two"), prior=(0.5, 2), tolerance=sv.Relative(0.05), known=sv.Structure(minimum=0)
)


# --- how rows name their group ------------------------------------------------------------------------------------
def own_and_named(group, rng, named):
    """An id of each row, and what ``named`` makes of the ids of a group: which id each of its rows names."""
    own = rng.permutation(10 * len(group))[: len(group)] + 1_000
    other = np.full(len(group), -1)
    for one in np.unique(group):
        rows = rng.permutation(np.flatnonzero(group == one))
        other[rows] = named(own[rows])
    return own, other


def ring(ids):
    return np.roll(ids, 1)


def before(ids):
    return np.concatenate(([-1], ids[:-1]))


def head(ids):
    return np.concatenate(([-1], np.repeat(ids[0], len(ids) - 1)))


def empty(ids, form=int):
    return [None if one < 0 else form(one) for one in ids]


def keys(group, rng):
    """A number for each group that says nothing else."""
    return rng.permutation(5 * int(group.max() + 1))[: int(group.max()) + 1][group] + 100


def words(rng, rows):
    return rng.choice(np.array(["red", "tall", "oak", "mill", "lane", "east", "two", "old"]), rows)


SURNAMES = ("Smith", "Jones", "Wu")


def partner(group, rng):
    own, other = own_and_named(group, rng, ring)
    return {"id": own, "partner": other}


def spelled(ours, theirs):
    def columns(group, rng):
        own, other = own_and_named(group, rng, ring)
        return {"id": [ours(one) for one in own], "partner": [theirs(one) for one in other]}

    return columns


def chain(group, rng):
    own, other = own_and_named(group, rng, before)
    return {"order": own, "previous": empty(other)}


def household(group, rng):
    own, other = own_and_named(group, rng, head)
    return {"person": own, "of": empty(other, lambda one: f"lives with person {one}")}


def written_as(form):
    def columns(group, rng):
        return {"text": [form(key, rng) for key in keys(group, rng)]}

    return columns


def anywhere(key, rng):
    parts = [str(key), *words(rng, 3), str(rng.integers(10**7, 10**8))]
    return " ".join(parts[i] for i in rng.permutation(len(parts)))


def lettered(key):
    return "".join(chr(97 + int(digit)) for digit in str(key))


def two_together(group, rng):
    key = rng.permutation(int(group.max()) + 1)[group]
    side = int(np.ceil(np.sqrt(key.max() + 1)))
    return {"street": [f"s{k // side}" for k in key], "house": key % side}


NAMED = {
    "partner": partner,
    "chain": chain,
    "household": household,
    "a prefix in one": spelled(int, lambda one: f"P-{one:08d}"),
    "a prefix in the other": spelled(lambda one: f"P-{one:08d}", int),
    "decimals": spelled(lambda one: str(int(one)), float),
    "case": spelled(lambda one: f"ab{one}x", lambda one: f"AB{one}X"),
    "inside a text": spelled(int, lambda one: f"married to {one}, since {one % 37}"),
}
WRITTEN = {
    "in the middle": written_as(lambda key, rng: f"order {key} of Mr {rng.choice(SURNAMES)} {rng.integers(10**6)}"),
    "code": written_as(lambda key, rng: f"AB-{key:05d}-{rng.integers(10**6)}x"),
    "path": written_as(lambda key, rng: f"https://example.org/u/{key}/item/{rng.integers(10**6)}?q={rng.integers(99)}"),
    "domain": written_as(lambda key, rng: f"{rng.choice(['ann', 'bo', 'cy'])}{rng.integers(10**5)}@firm{key}.com"),
    "beginning": written_as(lambda key, rng: f"{key:05d}{rng.integers(10**6, 10**7)}"),
    "end": written_as(lambda key, rng: f"{rng.integers(10**6, 10**7)}{key:05d}"),
    "letters": written_as(lambda key, rng: f"{rng.integers(10**5, 10**6)}{lettered(key)}{rng.integers(10**5, 10**6)}"),
    "anywhere": written_as(anywhere),
    "case and zeros": written_as(lambda key, rng: str(rng.choice([f"K{key}", f"k{key}", f"k{key:07d}"]))),
    "two columns": two_together,
}  # fmt: skip
VARIANTS = NAMED | WRITTEN
FEW = ("partner", "in the middle", "two columns")


def grouped(rng, rows, size):
    """The group of each row, of one size or of several."""
    sizes = rng.choice([1, 2, 3, 5], rows) if size == "mixed" else np.full(rows, size)
    return rng.permutation(np.repeat(np.arange(rows), sizes)[:rows])


def alike(mode, rng, group, noise=0.0):
    """A column for a mode whose rows are alike in each group, up to noise in units of the groups' spread."""
    score = rng.normal(size=int(group.max()) + 1)[group] + noise * rng.normal(size=len(group))
    score += 1e-9 * rng.normal(size=int(group.max()) + 1)[group]
    drawn = np.sort(column_for(mode, rng, len(group)))
    x = np.empty_like(drawn)
    x[np.argsort(score, kind="stable")] = drawn
    return x


def refused(plan, table, match="--accept groups", **options):
    with pytest.raises(sv.StructureError, match=match):
        sv.release(plan, pl.DataFrame(table, strict=False), accept=ACCEPT, **options)


def released(plan, table, **options):
    return sv.release(plan, pl.DataFrame(table, strict=False), accept=ACCEPT, **options)


# --- rows that are drawn one by one -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("variant", "mode"),
    [
        pytest.param(variant, mode, marks=[] if mode == "smooth" or variant in FEW else pytest.mark.slow)
        for variant in VARIANTS
        for mode in MODES
    ],
)
def test_groups_of_like_rows_are_refused_however_they_are_named(variant, mode):
    rng = np.random.default_rng([5, *variant.encode(), *mode.encode()])
    group = grouped(rng, 400, 2)
    refused(BY_MODE[mode], {"x": alike(mode, rng, group), **VARIANTS[variant](group, rng)}, column="x", shuffle=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("mode", ["smooth", pytest.param("category", marks=pytest.mark.slow)])
def test_the_same_columns_beside_rows_that_are_not_alike_pass(variant, mode):
    rng = np.random.default_rng([6, *variant.encode(), *mode.encode()])
    group = grouped(rng, 400, 2)
    table = {"x": column_for(mode, rng, 400), **VARIANTS[variant](group, rng)}
    assert len(released(BY_MODE[mode], table, column="x", shuffle=True)) == 400


@pytest.mark.parametrize("size", [3, 10, 50, "mixed"])
@pytest.mark.parametrize("variant", ["chain", "household", "in the middle", "domain", "end", "two columns"])
def test_groups_of_other_sizes_are_refused(variant, size):
    rng = np.random.default_rng([7, *variant.encode()])
    group = grouped(rng, 600, size)
    refused(BY_MODE["smooth"], {"x": alike("smooth", rng, group), **VARIANTS[variant](group, rng)}, column="x")


@pytest.mark.parametrize("variant", ["partner", "household", "in the middle", "two columns"])
@pytest.mark.parametrize("mode", ["smooth", "category", "unit"])
def test_rows_that_are_alike_up_to_a_third_of_their_spread_are_refused(variant, mode):
    rng = np.random.default_rng([8, *variant.encode()])
    group = grouped(rng, 600, 2)
    refused(BY_MODE[mode], {"x": alike(mode, rng, group, 1 / 3), **VARIANTS[variant](group, rng)}, column="x")


@pytest.mark.parametrize("variant", ["partner", "in the middle", "domain"])
def test_sixty_rows_are_enough_where_pairs_are_equal(variant):
    rng = np.random.default_rng([9, *variant.encode()])
    group = grouped(rng, 80, 2)
    refused(BY_MODE["smooth"], {"x": alike("smooth", rng, group), **VARIANTS[variant](group, rng)}, column="x")


@pytest.mark.parametrize("variant", ["partner", "in the middle"])
def test_long_tables_are_looked_at_in_part(variant):
    rng = np.random.default_rng([10, *variant.encode()])
    group = grouped(rng, 100_000, 2)
    x = alike("smooth", rng, group)
    if variant == "partner":
        own = rng.permutation(10**6)[: len(group)]
        order = np.argsort(group, kind="stable").reshape(-1, 2)
        other = np.empty(len(group), dtype=np.int64)
        other[order[:, 0]], other[order[:, 1]] = own[order[:, 1]], own[order[:, 0]]
        table = {"x": x, "id": own, "partner": other}
    else:
        key, rest = keys(group, rng), rng.integers(10**6, size=len(group))
        table = {"x": x, "text": [f"order {k} of {r}" for k, r in zip(key, rest, strict=True)]}
    refused(BY_MODE["smooth"], table, column="x")


# --- two groups, and two columns, that move apart ---------------------------------------------------------------------
def pairs(rng, rows, kind, noise):
    """Pairs of rows, one of each part, that differ by an amount (for a ratio) or by a factor (for a difference)."""
    base = rng.gamma(6, 3, rows // 2) + 5 if kind == "ratio" else rng.normal(103, 9, rows // 2)
    more = noise * base.std() * rng.normal(size=rows // 2)
    x = np.concatenate([base + 2.3 + more if kind == "ratio" else 1.02 * base + more, base])
    order = rng.permutation(rows)
    return x[order], np.tile(np.arange(rows // 2), 2)[order], np.repeat(["a", "b"], rows // 2)[order]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("kind", "noise"),
    [
        ("ratio", 0.0),
        ("difference", 1 / 3),
        pytest.param("ratio", 1 / 3, marks=pytest.mark.slow),
        pytest.param("difference", 0.0, marks=pytest.mark.slow),
    ],
)
def test_pairs_across_two_groups_are_refused(variant, kind, noise):
    rng = np.random.default_rng([11, *variant.encode()])
    x, group, part = pairs(rng, 400, kind, noise)
    plan = RATIO if kind == "ratio" else DIFFERENCE
    refused(plan, {"x": x, "part": part, **VARIANTS[variant](group, rng)}, column="x")


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", ["ratio", pytest.param("difference", marks=pytest.mark.slow)])
def test_pairs_across_two_groups_that_say_nothing_pass(variant, kind):
    rng = np.random.default_rng([12, *variant.encode()])
    _, group, part = pairs(rng, 400, kind, 0.0)
    x = rng.gamma(6, 3, 400) + 5 if kind == "ratio" else rng.normal(103, 9, 400)
    plan = RATIO if kind == "ratio" else DIFFERENCE
    assert len(released(plan, {"x": x, "part": part, **VARIANTS[variant](group, rng)}, column="x")) == 400


def test_pairs_with_rows_of_neither_group_are_refused_as_these_stay():
    rng = np.random.default_rng(13)
    x, group, part = pairs(rng, 400, "ratio", 0.0)
    part = np.where((part == "b") & (group % 2 == 0), "c", part)
    refused(RATIO, {"x": x, "part": part, **partner(group, rng)}, column="x")


@pytest.mark.parametrize("variant", ["partner", "a prefix in one", "in the middle", "domain", "two columns"])
@pytest.mark.parametrize("noise", [0.0, 1 / 3])
@pytest.mark.heavy(3)
def test_two_columns_of_which_one_is_that_of_the_partner_are_refused(variant, noise):
    rng = np.random.default_rng([14, *variant.encode()])
    group = grouped(rng, 400, 2)
    one = rng.gamma(6, 3, 400) + 5
    order = np.argsort(group, kind="stable").reshape(-1, 2)
    two = np.empty(400)
    two[order[:, 0]], two[order[:, 1]] = one[order[:, 1]], one[order[:, 0]]
    two = two + 2.3 + noise * one.std() * rng.normal(size=400)
    two -= min(two.min() - 1, 0)
    named = VARIANTS[variant](group, rng)
    refused(COLUMNS, {"one": one, "two": two, **named})
    assert len(released(COLUMNS, {"one": one, "two": rng.permutation(two) * 1.01, **named})) == 400


def test_the_refusal_says_which_column_and_that_shuffling_does_not_help():
    rng = np.random.default_rng(15)
    x, group, part = pairs(rng, 400, "ratio", 0.0)
    said = r"'partner \(names other rows by id\)'.*--shuffle does not help"
    refused(RATIO, {"x": x, "part": part, **partner(group, rng)}, said, column="x")
    group = grouped(rng, 400, 2)
    table = {"x": alike("smooth", rng, group), **VARIANTS["in the middle"](group, rng)}
    refused(BY_MODE["smooth"], table, r"'text \(word 2\)'", column="x")


def test_labels_are_those_of_the_plans():
    assert set(alike("category", np.random.default_rng(0), np.arange(50))) <= set(LABELS)
