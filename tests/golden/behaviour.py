"""What plans and releases are, written down: a change that means to move code alone must leave every line as it is.

``python -m tests.golden.behaviour`` writes the file; ``python -m tests.golden.behaviour --against OTHER/src`` makes
the same with the code of another tree on the same machine and prints every line that differs, to the last bit.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import itertools
import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import statveil as sv
from statveil.problem.family import Family

FILE = Path(__file__).with_name("behaviour.json")
SEED = 20_261_115
ROWS = 300
FORMATS = ("t.parquet", "t.csv", "t.csv.gz", "t.tsv", "t.arrow", "t.xlsx", "t")
_tabulated = sv.Tabulated if "Tabulated" in sv.__all__ else sv.Table  # its name in trees from before

ENGINES = ("numpy", "list", "polars", "lazy", "pandas", "arrow", "duckdb")


# --- plans --------------------------------------------------------------------------------------
def problems() -> Iterator[tuple[str, sv.Problem, dict[str, Any]]]:
    """Families, secrets, kinds of prior, structure and methods; each with a name."""
    shift = sv.Box(shift=(0, 20), scale=(1, 9))
    gauss = sv.Box(mu=(0, 200), sigma=(1, 51))
    ends = sv.Box(low=(0, 50), high=(50, 90))
    two: dict[str, tuple[Family, sv.Box]] = {
        "gaussian": (sv.Gaussian(), gauss),
        "uniform": (sv.Uniform(), ends),
        "shifted": (sv.ShiftedExponential(), shift),
    }
    secrets = {"mean": sv.Mean(), "std": sv.Std(), "q10": sv.Quantile(0.1), "q95": sv.Quantile(0.95)}
    for (name, (family, box)), (word, secret) in itertools.product(two.items(), secrets.items()):
        for method in ("auto", "interval", "comb"):
            yield (
                f"{name} {word} {method}",
                sv.Problem(family=family, prior=box, secret=secret, tolerance=0.4),
                {"max_risk": 0.25, "method": method},
            )
    cells = ("interval", "dynamic", "greedy", "comb", "layered", "layered-comb", "optimal")
    one: dict[str, tuple[Family, sv.Box, float]] = {
        "exponential": (sv.Exponential(), sv.Box(scale=(20, 200)), 2.0),
        "poisson": (sv.Poisson(), sv.Box(rate=(2, 30)), 0.3),
        "geometric": (sv.Geometric(), sv.Box(p=(0.05, 0.5)), 0.3),
        "binomial": (sv.Binomial(trials=20), sv.Box(p=(0.1, 0.9)), 0.3),
        "location": (sv.Location(), sv.Box(mean=(0, 200)), 1.0),
    }
    for (name, (family, box, tolerance)), method in itertools.product(one.items(), cells):
        yield (
            f"{name} mean {method}",
            sv.Problem(family=family, prior=box, secret=sv.Mean(), tolerance=tolerance),
            {"max_risk": 0.27, "method": method, **({"grid": 60} if method == "optimal" else {})},
        )
    for name in ("exponential", "poisson", "geometric", "binomial"):
        family, box, tolerance = one[name]
        for word, secret in (("std", sv.Std()), ("q90", sv.Quantile(0.9))):
            if word == "std" or name == "exponential":
                yield (
                    f"{name} {word}",
                    sv.Problem(family=family, prior=box, secret=secret, tolerance=tolerance),
                    {"max_risk": 0.25},
                )
    yield (
        "poisson tv",
        sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(2, 30)), secret=sv.Mean(), tolerance=0.3, distance="tv"),
        {"max_risk": 0.3},
    )
    axes: dict[str, Any] = {
        "normal": "10:200~normal(100,30)",
        "table": _tabulated([10, 60, 90, 200], [1, 5, 1, 0.5]),
        "lipschitz": sv.Lipschitz(10, 200, slope=1e-5, floor=0.004),
        "between": "between(60,120,0.8)",
    }
    for name, axis in axes.items():
        yield (
            f"location {name}",
            sv.Problem(family=sv.Location(), prior=sv.Box(mean=_axis(axis)), secret=sv.Mean(), tolerance=1),
            {"max_risk": 0.25},
        )
    yield (
        "gaussian normal beside a range",
        sv.Problem(
            family=sv.Gaussian(),
            prior=sv.Box(mu=_axis("0:200~normal(90,40)"), sigma=(1, 30)),
            secret=sv.Quantile(0.9),
            tolerance=1,
        ),
        {"max_risk": 0.25, "method": "interval"},
    )
    known = {
        "step": sv.Structure(step=1),
        "minimum": sv.Structure(minimum=0),
        "step above a minimum": sv.Structure(minimum=0, step=1),
        "heaps": sv.Structure(step=1, heaps=(5,)),
        "heaps above a minimum": sv.Structure(minimum=0, step=1, heaps=(5,)),
    }
    for name, structure in known.items():
        for target in ({"max_risk": 0.2}, {"max_distortion": 12.0}):
            yield (
                f"location {name} {next(iter(target))}",
                sv.Problem(
                    family=sv.Location(), prior=sv.Box(mean=(50, 200)), secret=sv.Mean(), tolerance=1, known=structure
                ),
                target,
            )
    yield (
        "gaussian rank",
        sv.Problem(
            family=sv.Gaussian(),
            prior=sv.Box(mu=(50, 200), sigma=(1, 15)),
            secret=sv.Mean(),
            tolerance=1,
            known=sv.Structure(minimum=0, step=1),
        ),
        {"max_risk": 0.2},
    )
    for labels in (("a", "b"), ("a", "b", "c"), tuple("abcdefghijkl")):
        yield (
            f"categorical {len(labels)}",
            sv.Problem(family=sv.Categorical(labels=labels), secret=sv.Fraction("a"), tolerance=0.02),
            {"max_risk": 0.2},
        )
    for name in ("gaussian", "uniform", "exponential"):
        family, box = two[name] if name in two else one[name][:2]
        yield (
            f"{name} robust",
            sv.Problem(family=family, prior=box, secret=sv.Mean(), tolerance=0.4),
            {"max_risk": 0.25, "robust_to": (0.2, 0.8)},
        )
        yield (
            f"{name} bin",
            sv.Problem(family=family, prior=box, secret=sv.Mean(), tolerance=0.4),
            {"bin": 7.0},
        )


def _axis(value: Any) -> Any:
    """A belief, by the command line's spelling where it is a text."""
    if not isinstance(value, str):
        return value
    from statveil.cli.parsing import parse_priors

    box = parse_priors([f"x{'=' if ':' in value else '~'}{value}"])
    assert box is not None
    return box.axes["x"]


# --- releases -----------------------------------------------------------------------------------
def release_plans() -> dict[str, sv.Plan]:
    """One plan of every mode, and a few more."""

    def located(low: float, high: float, **known: Any) -> sv.Plan:
        problem = sv.Problem(
            family=sv.Location(),
            prior=sv.Box(mean=(low, high)),
            secret=sv.Mean(),
            tolerance=1,
            known=sv.Structure(**known),
        )
        return sv.plan(problem, max_risk=0.2, method="interval")

    def counted(family: Family, low: float, high: float) -> sv.Plan:
        prior = sv.Box(**{family.params[0].name: (low, high)})
        problem = sv.Problem(family=family, prior=prior, secret=sv.Mean(), tolerance=0.3)
        return sv.plan(problem, max_risk=0.3, method="dynamic")

    gauss = sv.Problem(
        family=sv.Gaussian(), prior=sv.Box(mu=(0, 200), sigma=(1, 51)), secret=sv.Quantile(0.9), tolerance=1
    )
    labels = sv.Problem(
        family=sv.Categorical(labels=("red", "green", "blue")), secret=sv.Fraction("red"), tolerance=0.02
    )
    return {
        "shift": located(20, 220),
        "affine": sv.plan(gauss, max_risk=0.2),
        "scale": located(50, 200, minimum=0),
        "odds": sv.plan(
            sv.Problem(secret=sv.Mean(), prior=(20, 80), tolerance=1, known=sv.Structure(minimum=0, maximum=100)),
            max_risk=0.2,
        ),
        "model": sv.plan(
            sv.Problem(
                secret=sv.Mean(),
                prior=(50, 200),
                tolerance=1,
                known=sv.Structure(minimum=0, step=1, heaps=(5,)),
                shape="quantiles(0=0,0.001=76,0.02=85,0.5=103,0.98=121,1=131)",
            ),
            max_risk=0.2,
        ),
        "lattice": located(0, 200, step=1),
        "unit": counted(sv.Poisson(), 2, 30),
        "urn": counted(sv.Geometric(), 0.05, 0.5),
        "rank": counted(sv.Binomial(trials=20), 0.1, 0.9),
        "jitter": located(40, 200, minimum=0, step=1),
        "smooth": located(40, 200, minimum=0, step=1, heaps=(5,)),
        "category": sv.plan(labels, max_risk=0.2),
    }


def column(name: str) -> list[Any]:
    """A column that the plan of this name fits."""
    rng = np.random.default_rng(7)
    made = {
        "scale": lambda: rng.gamma(6.0, 18.0, ROWS),
        "odds": lambda: np.where(rng.random(ROWS) < 0.5, rng.uniform(5, 30, ROWS), rng.uniform(55, 90, ROWS)),
        "unit": lambda: rng.poisson(8, ROWS),
        "urn": lambda: rng.geometric(0.2, ROWS) - 1,
        "rank": lambda: rng.binomial(20, 0.4, ROWS),
        "category": lambda: rng.choice(["red", "green", "blue"], ROWS, p=[0.55, 0.3, 0.15]),
        "lattice": lambda: np.rint(rng.normal(103, 9, ROWS)).astype(np.int64),
    }
    made |= dict.fromkeys(("jitter", "smooth", "model"), made["lattice"])
    listed: list[Any] = made.get(name, lambda: rng.normal(103, 9, ROWS))().tolist()
    return listed


def in_memory(engine: str, values: list[Any]) -> Any:
    """The column as a table of this library."""
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    made = {
        "numpy": lambda: np.array(values),
        "list": lambda: values,
        "polars": lambda: pl.DataFrame({"x": values}),
        "lazy": lambda: pl.LazyFrame({"x": values}),
        "pandas": lambda: pd.DataFrame({"x": values}),
        "arrow": lambda: pa.table({"x": values}),
        "duckdb": lambda: duckdb.from_arrow(pa.table({"x": values})),
    }
    return made[engine]()


def back(table: Any) -> list[Any]:
    """The released column as plain values."""
    if hasattr(table, "collect"):
        table = table.collect()
    if hasattr(table, "fetchall"):
        return [row[0] for row in table.fetchall()]
    if hasattr(table, "to_pylist"):
        return [row["x"] for row in table.to_pylist()]
    if hasattr(table, "columns"):
        return list(table["x"].to_list())
    return list(np.asarray(table).tolist())


def write(values: list[Any], path: Path) -> None:
    """The column, with an id and a text beside it, in the format that the name says."""
    import openpyxl
    import polars as pl

    table = pl.DataFrame({"id": range(len(values)), "x": values, "note": [f"row {i}" for i in range(len(values))]})
    if not path.suffix:
        path.mkdir()
        table[:100].write_parquet(path / "a.parquet")
        table[100:].write_parquet(path / "b.parquet")
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(table.write_csv().encode(), mtime=0))
    elif path.suffix in (".csv", ".tsv"):
        table.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    elif path.suffix == ".arrow":
        table.write_ipc(path)
    elif path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        book.active.append(table.columns)
        for row in table.iter_rows():
            book.active.append(row)
        book.save(path)
    else:
        table.write_parquet(path)


def read(path: Path) -> list[Any]:
    """The column of a released file; the text itself where the format is text."""
    import openpyxl
    import polars as pl

    if path.is_dir():
        return list(pl.concat([pl.read_parquet(part) for part in sorted(path.glob("*.parquet"))])["x"].to_list())
    if path.suffix == ".xlsx":
        rows = list(openpyxl.load_workbook(path).active.iter_rows(values_only=True))
        return [row[1] for row in rows[1:]]
    if path.suffix == ".arrow":
        return list(pl.read_ipc(path)["x"].to_list())
    if path.suffix == ".parquet":
        return list(pl.read_parquet(path)["x"].to_list())
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return raw.decode().splitlines()


def digest(values: list[Any]) -> dict[str, str]:
    """Names for the values: to the last bit, and to nine digits, which no processor's last bit changes."""
    rounded = [f"{value:.9g}" if isinstance(value, float) else _NUMBER.sub(_rounded, str(value)) for value in values]
    texts = {"exact": map(repr, values), "rounded": rounded}
    return {key: hashlib.sha256("\n".join(text).encode()).hexdigest()[:20] for key, text in texts.items()}


_NUMBER = re.compile(r"-?\d+\.\d+(e[+-]?\d+)?")


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found.group()):.9g}"


def short(value: Any) -> Any:
    """A plan's JSON with each long list replaced by its length and two sums: cells and edges would fill megabytes."""
    if isinstance(value, dict):
        return {key: short(inner) for key, inner in value.items()}
    if not isinstance(value, list) or len(value) <= 12:
        return [short(inner) for inner in value] if isinstance(value, list) else value
    numbers = list(_numbers(value))
    return {
        "long": len(value),
        "sum": math.fsum(numbers),
        "weighted": math.fsum(number * math.sin(place) for place, number in enumerate(numbers, 1)),
    }


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _numbers(inner)
    elif _plain(value):
        yield float(value)


# --- the whole ----------------------------------------------------------------------------------
def planned() -> dict[str, Any]:
    """What each problem's plan says; a refusal by its sentence."""
    found: dict[str, Any] = {}
    for name, problem, target in problems():
        try:
            found[name] = short(sv.plan(problem, **target).to_json())
        except sv.StatveilError as error:
            found[name] = {"refused": str(error)}
    return found


def released() -> dict[str, dict[str, str]]:
    """What each mode makes of a column with a known seed, on every engine and in every format."""
    found = {}
    accepted = ("order", "bounds")
    for name, plan in release_plans().items():
        values = column(name)
        for engine in ENGINES:
            table = in_memory(engine, values)
            where = {} if engine in ("numpy", "list") else {"column": "x"}
            made = sv.release(plan, table, seed=SEED, accept=accepted, **where)
            found[f"{name} {engine}"] = digest([float(v) if not isinstance(v, str) else v for v in back(made)])
        with tempfile.TemporaryDirectory() as folder:
            for form in FORMATS:
                source, target = Path(folder, "in" + form), Path(folder, "out" + form)
                write(values, source)
                sv.release_file(plan, source, target, column="x", seed=SEED, accept=accepted)
                found[f"{name} {form}"] = digest(read(target))
    return found


def behaviour() -> dict[str, Any]:
    """All of it."""
    return {"plans": planned(), "releases": released()}


def differences(old: Any, new: Any, *, within: float = 0.0, place: str = "") -> Iterator[str]:
    """Every place at which two of them differ; numbers by more than ``within`` of themselves."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            here = f"{place}/{key}"
            if key not in old or key not in new:
                yield f"{here}: only {'after' if key in new else 'before'}"
            else:
                yield from differences(old[key], new[key], within=within, place=here)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from differences(left, right, within=within, place=f"{place}/{number}")
    elif _plain(old) and _plain(new) and math.isclose(old, new, rel_tol=within, abs_tol=within):
        return
    elif old != new:
        yield f"{place}: {old!r} became {new!r}"


def _plain(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def main() -> int:
    """Write the file, or compare with another tree's code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", help="the src folder of another tree")
    parser.add_argument("--print", action="store_true", help="to standard output instead of the file")
    given = parser.parse_args()
    if given.against:
        command = [sys.executable, "-m", "tests.golden.behaviour", "--print"]
        root = Path(__file__).parents[2]
        other = subprocess.run(command, cwd=root, env={"PYTHONPATH": given.against}, capture_output=True, check=True)
        changed = list(differences(json.loads(other.stdout), json.loads(json.dumps(behaviour()))))
        print("\n".join(changed) or "equal to the last bit")
        return int(bool(changed))
    text = json.dumps(behaviour(), indent=1, sort_keys=True)
    if given.print:
        print(text)
    else:
        FILE.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
