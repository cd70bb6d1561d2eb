"""Columns that single out rows are named to the holder; what all columns say together is looked at."""

import json

import numpy as np
import polars as pl
import pytest

import statveil as sv

ROWS = 3000
KNOWN = sv.Structure(minimum=0)
COUNTS = sv.plan(
    sv.Problem(secret=sv.Mean(), prior=(10, 60), tolerance=1, known=sv.Structure(minimum=0, step=1)), max_risk=0.2
)
SHIFTED = sv.plan(sv.Problem(secret=sv.Mean(), prior=(10, 60), tolerance=1), max_risk=0.2)


def table(seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "calls": rng.poisson(30, ROWS),
            "code": [f"{one:08x}" for one in rng.permutation(ROWS) * 7919],
            "second": rng.uniform(0, 86_400, ROWS).round(1),
            "region": rng.choice(list("abcd"), ROWS),
            "sex": rng.choice(["f", "m"], ROWS),
        }
    )


def to_check(frame: pl.DataFrame, **options: bool) -> tuple[str, ...]:
    done = sv.release(COUNTS, frame, column="calls", details=True, **options)
    assert isinstance(done, sv.Release)
    return done.to_check


def test_the_holder_is_told_which_columns_might_link_rows_and_that_the_order_might():
    (said,) = to_check(table())
    assert "'code', 'second' and the order of the rows" in said
    assert "--shuffle" in said
    assert "'region'" not in said
    assert "'sex'" not in said


def test_nothing_is_left_to_check_where_no_row_can_be_told_from_others():
    coarse = table().select("calls", "region", "sex")
    assert to_check(coarse, shuffle=True) == ()
    (said,) = to_check(coarse)
    assert "the order of the rows may say so" in said
    (said,) = to_check(table().drop("second"), shuffle=True)
    assert "column 'code' may say so" in said
    assert "order" not in said


def test_a_move_of_all_rows_needs_no_such_check():
    rng = np.random.default_rng(1)
    frame = table().with_columns(calls=pl.Series(rng.normal(30, 5, ROWS)))
    assert sv.release(SHIFTED, frame, column="calls", details=True).to_check == ()


def test_two_groups_and_specifications_say_it_too():
    rng = np.random.default_rng(2)
    frame = table().with_columns(pay=pl.Series(rng.lognormal(3, 0.3, ROWS)))
    problem = sv.Problem(
        secret=sv.GroupRatio("sex", "f", "m"), prior=(0.5, 2), tolerance=sv.Relative(0.05), known=KNOWN
    )
    (said,) = sv.release(sv.plan(problem, max_risk=0.2), frame, column="pay", details=True).to_check
    assert said.startswith("two groups of values move apart")
    assert "'code', 'second'" in said
    specification = (
        'others = "keep"\nshuffle = true\n[columns.calls]\nhide = "mean"\nprior = "10:60"\ntolerance = 1\n'
        'known = "min=0,step=1"\nmax_risk = 0.2\n[columns.second]\ndrop = true\n'
    )
    plans = sv.plan_specification(sv.Specification.from_toml(specification))
    (said,) = sv.release(plans, frame.drop("pay"), details=True).to_check
    assert said.startswith("Column 'calls': rows are drawn one by one")
    assert "column 'code' may say so" in said


def test_the_command_prints_it_and_its_json_has_it(cli, tmp_path):
    table().write_csv(tmp_path / "in.csv")
    sv.save_plan(COUNTS, tmp_path / "plan.json")
    words = ["release", tmp_path / "plan.json", tmp_path / "in.csv", tmp_path / "out.csv", "--column", "calls"]
    code, out, _ = cli(*words, "--json")
    (said,) = json.loads(out)["to_check"]
    assert (code, "'code', 'second'" in said) == (0, True)
    code, out, _ = cli(*words, "--overwrite")
    assert (code, f"  check   {said}" in out) == (0, True)


@pytest.mark.parametrize("seed", range(3))
def test_three_columns_that_only_together_tell_are_refused(seed):
    rng = np.random.default_rng(seed)
    one, two, three = rng.integers(0, 4, (3, ROWS))
    together = (one + two + three) % 4  # any two of them say nothing of it
    frame = pl.DataFrame({"calls": rng.poisson(20 + 10 * together), "one": one, "two": two, "three": three})
    with pytest.raises(sv.StructureError, match=r"all columns together"):
        sv.release(COUNTS, frame, column="calls", shuffle=True)
    mixed = frame.with_columns(calls=pl.Series(rng.permutation(frame["calls"].to_numpy())))
    assert len(sv.release(COUNTS, mixed, column="calls", shuffle=True)) == ROWS
