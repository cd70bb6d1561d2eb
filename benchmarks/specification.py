"""A specification of 12 hidden columns, 4 derived and 2 linked ones: time as a ratio to the engine's own copy, memory.

Usage: python benchmarks/specification.py [--rows 1] (millions). The plans are made before, and are not timed. ``force``
is the same with the leak ``copies`` accepted: what the searches for columns that tell take does not grow with the rows.
``passes`` is the engine alone with the passes that a release has: it reads all columns, reads them again and writes the
21 of the released table, reads back the 16 that are checked, and the file is hashed. Nothing is measured, moved or
looked for: a release cannot take less without leaving out a pass.
"cpu" is the time of all threads, which does not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HIDDEN, LINKED = 12, 2
_DERIVED = {"sum": "x0 + x1", "flag": "x2 >= 100", "log": "log(x3)", "ratio": "x4 / x5"}

# One process a measurement, so that the peak of one is not the peak of the next.
_CHILD = """
import json, resource, sys, time
what, source, target, text = sys.argv[1:5]
import polars as pl
def used():
    found = resource.getrusage(resource.RUSAGE_SELF)
    return found.ru_utime + found.ru_stime
if what in ("release", "force"):
    from statveil.specification.planned import plan_specification
    from statveil.specification.specification import Specification
    from statveil.tables.release_table import release_table
    plan = plan_specification(Specification.from_toml(text))
began, cpu = time.perf_counter(), used()
if what == "copy":
    pl.scan_parquet(source).sink_parquet(target)
elif what == "passes":
    import hashlib
    def read(names):
        batches = pl.scan_parquet(source if names is None else target).select(names or pl.all())
        return sum(len(one) for one in batches.collect_batches(maintain_order=True, chunk_size=65_536))
    read(None)
    x = [pl.col(f"x{number}") for number in range(12)]
    made = {"sum": x[0] + x[1], "flag": x[2] >= 100, "log": x[3].log(), "ratio": x[4] / x[5]}
    pl.scan_parquet(source).with_columns(**made).sink_parquet(target, compression_level=1)
    read([*(f"x{number}" for number in range(12)), *made])
    with open(target, "rb") as file:
        hashlib.file_digest(file, "sha256")
else:
    release_table(plan, source, target)
print(json.dumps({"seconds": time.perf_counter() - began, "cpu": used() - cpu,
                  "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}))
"""


def specification(*, force: bool) -> str:
    """The file: means and quantiles of twelve columns, and what follows from them."""
    accept = 'accept = ["copies"]\n' if force else ""
    secrets = ("mean", "quantile:0.9", "mean", "std")
    parts = ["others = 'keep'\n"]
    for number in range(HIDDEN):
        secret = secrets[number % len(secrets)]
        prior = '["mu=50:200", "sigma=5:40"]'
        parts.append(
            f'[columns.x{number}]\nhide = "{secret}"\nfamily = "gaussian"\nprior = {prior}\ntolerance = 1\n'
            f"max_risk = 0.2\n{accept}"
        )
    # what moves along needs a hidden column that only moves
    for number in range(LINKED):
        parts[1 + 2 * number] = (
            f'[columns.x{2 * number}]\nhide = "mean"\nprior = "50:200"\ntolerance = 1\nmax_risk = 0.2\n{accept}'
        )
        parts.append(f'[columns.y{number}]\nlink = "x{2 * number}"\nfactor = {1.0 + number}\n')
    parts += [f'[columns.{name}]\nderive = "{formula}"\n' for name, formula in _DERIVED.items()]
    return "".join(parts)


def make_table(path: Path, rows: int) -> None:
    """Twelve measurements, two that go with them, and three columns that are published as they are."""
    import numpy as np
    import polars as pl
    from polars.io.plugins import register_io_source

    schema: dict[str, pl.DataType] = {"id": pl.Int64()}
    schema |= {f"x{number}": pl.Float64() for number in range(HIDDEN)}
    schema |= {f"y{number}": pl.Float64() for number in range(LINKED)}
    schema |= {"region": pl.String(), "year": pl.Int64()}

    def source(*_: object) -> Iterator[pl.DataFrame]:
        rng, regions = np.random.default_rng(0), np.array(["north", "south", "east"])
        for start in range(0, rows, 250_000):
            size = min(250_000, rows - start)
            columns = {f"x{number}": rng.normal(100, 12, size) for number in range(HIDDEN)}
            columns |= {f"y{number}": columns[f"x{2 * number}"] + rng.normal(60, 9, size) for number in range(LINKED)}
            others = {"region": regions[rng.integers(0, 3, size)], "year": rng.integers(2000, 2020, size)}
            yield pl.DataFrame({"id": np.arange(start, start + size), **columns, **others}, schema=schema)

    register_io_source(source, schema=schema).sink_parquet(path, row_group_size=250_000)


def run(what: str, source: Path, target: Path) -> dict[str, float]:
    """One measurement in a process of its own."""
    target.unlink(missing_ok=True)
    target.with_name(target.name + ".card.json").unlink(missing_ok=True)
    arguments = [sys.executable, "-c", _CHILD, what, str(source), str(target), specification(force=what == "force")]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="1", help="millions of rows, separated by commas")
    print(f"{'rows':>12} {'what':<8} {'seconds':>8} {'x copy':>7} {'cpu':>8} {'x copy':>7} {'peak GiB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for rows in [int(float(part) * 1e6) for part in parser.parse_args().rows.split(",")]:
            source, target = Path(folder) / "in.parquet", Path(folder) / "out.parquet"
            make_table(source, rows)
            copied: dict[str, float] = {}
            for what in ("copy", "passes", "release", "force"):
                found = run(what, source, target)
                copied = copied or found
                shown = (f"{found[key]:>8.2f} {found[key] / copied[key]:>7.2f}" for key in ("seconds", "cpu"))
                print(f"{rows:>12,} {what:<8} {' '.join(shown)} {found['peak']:>9.2f}", flush=True)


if __name__ == "__main__":
    main()
