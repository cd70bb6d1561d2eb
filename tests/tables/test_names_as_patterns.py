"""Names that the engine takes for patterns (``^a.*$``) are names: no route treats them unlike others."""

import duckdb
import numpy as np
import polars as pl
import pytest

import statveil as sv

ROWS = 1_200
NAMES = {
    "amount": "^a.*$",
    "label": "^.*$",
    "count": "^c$",
    "day": "^d.*$",
    "person": "^p.*$",
    "empty": "^e$",
    "same": "^s.*$",
    "more": "^m.*$",
}
SOURCES = ["polars", "lazy", "pandas", "arrow", "duckdb", "parquet", "csv"]


def table():
    rng = np.random.default_rng(0)
    amount = rng.normal(100, 10, ROWS)
    return pl.DataFrame(
        {
            "amount": amount,
            "label": rng.choice(["x", "y", "with, comma"], ROWS, p=[0.3, 0.5, 0.2]),
            "count": rng.integers(0, 50, ROWS),
            "day": np.datetime64("2020-01-01") + rng.integers(0, 999, ROWS).astype("timedelta64[D]"),
            "plain": rng.normal(size=ROWS),
            "empty": [None if u < 0.2 else f"q{u:.1f}" for u in rng.random(ROWS)],
            "same": amount,
            # a name that a pattern meets
            "abc": rng.normal(size=ROWS),
        }
    )


def as_source(frame, engine, folder):
    if engine in ("parquet", "csv"):
        path = folder / f"in-{len(list(folder.iterdir()))}.{engine}"
        frame.write_parquet(path) if engine == "parquet" else frame.write_csv(path)
        return path
    if engine == "duckdb":
        return duckdb.connect().from_arrow(frame.to_arrow())
    return {"polars": frame, "lazy": frame.lazy()}.get(
        engine, frame.to_pandas() if engine == "pandas" else frame.to_arrow()
    )


def released(plan, source, folder, **options):
    """The released table, as a frame and as the source gives it, with its record and card."""
    if hasattr(source, "suffix"):
        out = folder / f"out-{len(list(folder.iterdir()))}{source.suffix}"
        done = sv.release(plan, source, output=out, details=True, **options)
        return (pl.read_parquet(out) if out.suffix == ".parquet" else pl.read_csv(out)), out, done
    done = sv.release(plan, source, details=True, **options)
    return pl.from_arrow(sv_arrow(done.table)), done.table, done


def sv_arrow(native):
    import pandas as pd
    import pyarrow as pa

    if isinstance(native, pl.LazyFrame):
        return native.collect().to_arrow()
    if isinstance(native, pl.DataFrame):
        return native.to_arrow()
    if isinstance(native, pd.DataFrame):
        return pa.Table.from_pandas(native, preserve_index=False)
    return native if isinstance(native, pa.Table) else native.to_arrow_table()


def spec(named, group):
    head = (
        f'others = "keep"\n[columns."{named("count")}"]\nhide = "mean"\nprior = "10:40"\ntolerance = 1\n'
        'max_risk = 0.3\naccept = ["few-rows"]\nknown = "min=0,step=1"\n'
    )
    head += f'group = "{named("person")}"\n' if group else 'shape = "catalogue"\n'
    return sv.plan_specification(
        sv.Specification.from_toml(
            f'{head}[columns."{named("amount")}"]\nhide = "mean"\nprior = "50:150"\ntolerance = 1\nknown = "min=0"\n'
            f'max_risk = 0.3\naccept = ["few-rows"]\n[columns."{named("same")}"]\nlink = "{named("amount")}"\n'
            f'[columns."{named("more")}"]\nderive = "`{named("amount")}` * 2"\n'
        )
    )


def problem(mode, named):
    mean = {"secret": sv.Mean(), "prior": (50, 150), "tolerance": 1.0}
    fields = {
        "shift": mean,
        "scale": mean | {"known": sv.Structure(minimum=0)},
        "model": mean | {"shape": "norm"},
        "smooth": {
            "secret": sv.Mean(),
            "prior": (10, 40),
            "tolerance": 1.0,
            "known": sv.Structure(minimum=0, step=1),
        },
        "groups": {
            "secret": sv.GroupDifference(named("label"), "x", "y"),
            "prior": (-30, 30),
            "tolerance": 1.0,
        },
    }
    return sv.Problem(**fields[mode])


def same(one, other, named):
    return all(one[name].to_list() == other[named(name) if name in NAMES else name].to_list() for name in one.columns)


def named(name):
    return NAMES.get(name, name)


@pytest.mark.parametrize("engine", SOURCES)
@pytest.mark.parametrize("mode", ["shift", "scale", "model", "smooth", "groups"])
@pytest.mark.heavy(6)
def test_one_column(tmp_path, engine, mode):
    plain = table().drop("same")
    odd = plain.rename({name: to for name, to in NAMES.items() if name in plain.columns})
    column = "count" if mode == "smooth" else "amount"
    for options in ({}, {"shuffle": True}):
        found = []
        for frame, call in ((plain, str), (odd, named)):
            plan = sv.plan(problem(mode, call), max_risk=0.3)
            source = as_source(frame, engine, tmp_path)
            rows, native, done = released(plan, source, tmp_path, column=call(column), seed=5, **options)
            # what is read of a table is read alike by every mode, and audited alike whatever the engine
            seen = rate = None
            if mode == "shift" and not options:
                seen = [(one.known, one.command.replace(call(one.column), "?")) for one in sv.inspect(source).columns]
            if not options and (mode == "shift" or engine == "csv"):
                played = sv.audit(plan, source, native, column=call(column), record=done.record, trials=200, seed=1)
                rate = [(one.attacker, one.rate) for one in played.findings]
            found.append((rows, seen, rate, sv.verify(native, done.card).ok))
        (rows, *told), (others, *same_told) = found
        assert same(rows, others, named)
        assert rows[column].to_list() != plain[column].to_list()
        assert told == same_told


@pytest.mark.parametrize("group", [False, True])
@pytest.mark.parametrize("engine", SOURCES)
@pytest.mark.heavy(1)
def test_a_specification(tmp_path, engine, group):
    plain = table()
    if group:
        person = np.repeat(np.arange(ROWS // 4), 4)[np.random.default_rng(1).permutation(ROWS)]
        plain = plain.with_columns(person=person, count=pl.Series(person * 7 % 50))
    odd = plain.rename({name: to for name, to in NAMES.items() if name in plain.columns})
    plan = spec(named, group)  # each column's draws have its name in their seed, so they are those of no other names
    source = as_source(odd, engine, tmp_path)
    rows, native, done = released(plan, source, tmp_path, seed=5)
    assert sv.verify(native, done.card).ok
    assert np.allclose(rows["^s.*$"], rows["^a.*$"])
    assert np.allclose(rows["^m.*$"], 2 * rows["^a.*$"].to_numpy())
    assert rows["^a.*$"].to_list() != odd["^a.*$"].to_list() != rows["^c$"].to_list()
    assert all(rows[name].to_list() == odd[name].to_list() for name in ("^.*$", "^e$"))
    assert all(np.allclose(rows[name], odd[name]) for name in ("plain", "abc"))
    if engine in ("lazy", "csv"):  # read alike whatever the engine
        played = sv.audit(plan, source, native, record=done.record, trials=200, seed=1)
        assert all(played[name].findings for name in ("^c$", "^a.*$"))
