"""Rows that tell each other's values without an id: stacked waves, rare labels, surnames, sizes of classes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv

SHARES = sv.plan(
    sv.Problem(family=sv.Categorical(labels=("a", "b", "c")), secret=sv.Fraction("a"), tolerance=0.02), max_risk=0.2
)
COUNTS = sv.plan(
    sv.Problem(family=sv.Binomial(trials=20), prior=sv.Box(p=(0.2, 0.8)), secret=sv.Mean(), tolerance=0.2),
    max_risk=0.2,
)


def letters(rng, rows):
    return rng.choice(np.array(["a", "b", "c"]), rows, p=[0.5, 0.3, 0.2])


def refused(plan, frame, name):
    try:
        sv.release(plan, frame, column="x", seed=1)
    except sv.StructureError as error:
        return f"--accept {name}" in str(error)
    return False


@pytest.mark.parametrize("waves", [2, 3])
def test_stacked_waves_of_the_same_rows_are_refused(waves):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        once = rng.binomial(20, 0.5, 3000 // waves).astype(float)
        again = np.where(rng.random(len(once)) < 0.8, once, rng.permutation(once))
        x = np.concatenate([once, *[again] * (waves - 1)])
        assert refused(COUNTS, pl.DataFrame({"x": x}), "order")
        labels = letters(rng, 3000 // waves)
        assert refused(SHARES, pl.DataFrame({"x": np.concatenate([labels] * waves)}), "order")


def test_a_rare_label_that_implies_a_category_tells_and_is_refused():
    hits = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        chances = rng.dirichlet([4, 2, 2])
        x = rng.choice(np.array(["a", "b", "c"]), 20_000, p=chances)
        rare = np.where((x == "a") & (rng.random(20_000) < 0.04), "ward 9", "other")
        frame = pl.DataFrame({"x": x, "ward": rare})
        assert refused(SHARES, frame, "groups")
        out = sv.release(SHARES, frame, column="x", seed=seed, accept=["groups"])
        kept = float((out.filter(pl.col("ward") == "ward 9")["x"] == "a").mean())
        share = float((out["x"] == "a").mean())
        # rows of the ward were all "a": who left shows which part was relabelled, if it shrank
        hits += kept < 1 and abs(share / kept - np.mean(x == "a")) <= 0.02
    assert hits >= 4  # of those where the share fell: 0.2 is stated of all


def test_surnames_group_the_rows():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        family = rng.integers(0, 250, 1000)
        x = letters(rng, 250)[family]
        names = [f"{''.join(rng.choice(list('aeioubdkl'), 7))} Family{f}" for f in family]
        assert refused(SHARES, pl.DataFrame({"x": x, "name": names}), "groups")
        unrelated = [f"{name.split()[0]} Family{f}" for name, f in zip(names, rng.permutation(family), strict=True)]
        assert not refused(SHARES, pl.DataFrame({"x": x, "name": unrelated}), "groups")


def test_the_size_of_a_class_is_the_number_of_its_rows():
    plan = sv.plan(
        sv.Problem(
            family=sv.Location(),
            prior=sv.Box(mean=(5, 60)),
            secret=sv.Mean(),
            tolerance=0.6,
            known=sv.Structure(step=1),
        ),
        max_risk=0.2,
    )
    rng = np.random.default_rng(0)
    sizes = rng.integers(8, 40, 60)
    frame = pl.DataFrame(
        {"x": np.repeat(sizes, sizes), "class": np.repeat([f"k{i}" for i in rng.permutation(60)], sizes)}
    )
    with pytest.raises(sv.StructureError, match=r"'class \(rows of each\)'"):
        sv.release(plan, frame, column="x", accept=["rough", "repeats", "atoms", "heaps", "bounds", "digits"])


def test_independent_rows_are_released():
    for seed in range(12):
        rng = np.random.default_rng(100 + seed)
        rows = int(rng.choice([300, 1000, 5000]))
        words = np.array(["red", "green", "blue", "old", "new"])
        frame = pl.DataFrame(
            {
                "x": letters(rng, rows),
                "team": [" ".join(pair) for pair in rng.choice(words, (rows, 2))],
                "rare": rng.choice(["usual", "rare"], rows, p=[0.99, 0.01]),
                "person": rng.integers(0, rows // 4, rows),
            }
        )
        assert len(sv.release(SHARES, frame, column="x", seed=1)) == rows
        counts = frame.with_columns(x=pl.Series(rng.binomial(20, 0.5, rows).astype(float)))
        assert len(sv.release(COUNTS, counts, column="x", seed=1)) == rows
