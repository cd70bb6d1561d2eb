"""Ids that sort as text, under ``--shuffle``: where the order of the rows tells, sorting by the id brings it back."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv

BINOMIAL = sv.plan(
    sv.Problem(family=sv.Binomial(trials=20), prior=sv.Box(p=(0.2, 0.8)), secret=sv.Mean(), tolerance=0.2), max_risk=0.2
)
POISSON = sv.plan(
    sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(3, 8)), secret=sv.Mean(), tolerance=0.1), max_risk=0.2
)
SHARES = sv.plan(
    sv.Problem(family=sv.Categorical(labels=("a", "b")), secret=sv.Fraction(0), tolerance=0.03), max_risk=0.2
)
ROWS = 1_500
ACCEPT = ("heaps", "misfit", "atoms", "few-rows")
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def ulid(number, rng):
    time = 1_700_000_000_000 + 37 * number
    begin = "".join(CROCKFORD[time >> 5 * place & 31] for place in range(9, -1, -1))
    return begin + "".join(rng.choice(list(CROCKFORD), 16))


IDS = {
    "ulid": ulid,
    "letters": lambda i, rng: "".join(chr(97 + i // 26**place % 26) for place in (2, 1, 0)),
    "base 36": lambda i, rng: np.base_repr(46_656 + 11 * i, 36),
    "a letter and digits": lambda i, rng: f"{'ABCDEFGH'[i // 250]}{i % 250:03d}",
    "downwards": lambda i, rng: np.base_repr(10**6 - 13 * i, 36),
    "categories": lambda i, rng: f"k{np.base_repr(46_656 + i, 36)}",
}


def ids(name, rng):
    found = [IDS[name](i, rng) for i in range(ROWS)]
    return pl.Series(found, dtype=pl.Categorical) if name == "categories" else found


def drifting(plan, rng, strength=1.0):
    """Rows that change slowly, by plan: sorted ones at full strength."""
    drift = strength * np.sort(rng.normal(size=ROWS)) + np.sqrt(1 - strength**2) * rng.normal(size=ROWS)
    order = np.argsort(np.argsort(drift, kind="stable"), kind="stable")
    if plan is SHARES:
        return np.sort(rng.choice(["a", "b"], ROWS))[order]
    return np.sort(rng.binomial(20, 0.5, ROWS) if plan is BINOMIAL else rng.poisson(5, ROWS)).astype(float)[order]


@pytest.mark.parametrize("plan", [BINOMIAL, POISSON, SHARES], ids=["rank", "unit", "category"])
@pytest.mark.parametrize("name", IDS)
def test_an_id_that_sorts_as_text_undoes_a_shuffle_and_is_refused(name, plan):
    rng = np.random.default_rng([1, *name.encode()])
    frame = pl.DataFrame({"x": drifting(plan, rng), "id": ids(name, rng)})
    with pytest.raises(sv.StructureError, match=r"'id'.*--accept groups"):
        sv.release(plan, frame, column="x", shuffle=True, accept=ACCEPT)
    assert len(sv.release(plan, frame.select("x"), column="x", shuffle=True, accept=ACCEPT)) == ROWS


@pytest.mark.parametrize("name", ["number", "time", "ulid"])
@pytest.mark.heavy(1)
def test_a_weak_drift_is_brought_back_by_whatever_numbers_the_rows(name):
    """Too weak for a group, strong enough for an order: what the shuffle was for."""
    rng = np.random.default_rng(7)
    x = drifting(POISSON, rng, strength=0.35)
    column = {"number": np.arange(ROWS), "time": np.cumsum(rng.exponential(1, ROWS)), "ulid": ids("ulid", rng)}[name]
    frame = pl.DataFrame({"x": x, "id": column})
    with pytest.raises(sv.StructureError, match="--accept order"):
        sv.release(POISSON, frame.select("x"), column="x", accept=ACCEPT)
    with pytest.raises(sv.StructureError, match=r"'id'.*--accept groups"):
        sv.release(POISSON, frame, column="x", shuffle=True, accept=ACCEPT)


@pytest.mark.filterwarnings("ignore:The smallest or the largest")  # by chance, and not what is asked here
@pytest.mark.parametrize("plan", [BINOMIAL, POISSON, SHARES], ids=["rank", "unit", "category"])
@pytest.mark.heavy(1)
def test_ids_of_rows_without_an_order_and_ids_in_another_order_are_fine(plan):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        x = drifting(plan, rng)
        for name in ("ulid", "letters", "base 36"):
            mixed = rng.permutation(ROWS)
            assert len(sv.release(plan, pl.DataFrame({"x": x[mixed], "id": ids(name, rng)}), column="x", shuffle=True,
                                  accept=ACCEPT)) == ROWS  # fmt: skip
            other = pl.Series(ids(name, rng)).gather(mixed)
            assert len(sv.release(plan, pl.DataFrame({"x": x, "id": other}), column="x", shuffle=True,
                                  accept=ACCEPT)) == ROWS  # fmt: skip
