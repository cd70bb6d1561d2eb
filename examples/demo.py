"""The main job on an embedded table: plan a release, release the file, read it back, play the attacker.

A cloud provider wants to publish request latencies without telling the 95th percentile, which shows its scale.
Outsiders believe that latencies are roughly normal with a mean of 0 to 200 ms and a spread of 1 to 51 ms; everyone
knows that they are logged in hundredths of a millisecond.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
from rich.console import Console

import statveil as sv
from statveil.report.before_after import before_after
from statveil.report.plan import describe_plan
from statveil.report.terminal import tradeoff

TABLE = Path(__file__).with_name("latency.csv")


def main() -> None:
    """Plan, release, read back, attack, draw."""
    console = Console()
    problem = sv.Problem(
        family=sv.Gaussian(),
        prior=sv.Box(mu=(0, 200), sigma=(1, 51)),
        secret=sv.Quantile(0.95),
        tolerance=1.0,
        known=sv.Structure(step=0.01),
    )
    plan = sv.plan(problem, max_risk=0.2)
    console.print("[bold]1. The plan[/bold] (made without any data)")
    console.print(describe_plan(plan), markup=False, highlight=False)

    console.print("\n[bold]2. The release[/bold]")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "latency-released.csv"
        done = sv.release_file(plan, TABLE, out, column="latency_ms", record=Path(folder) / "private.json")
        before, after = pl.read_csv(TABLE, infer_schema_length=None), pl.read_csv(out, infer_schema_length=None)
        agrees = sv.verify_file(out).ok
    console.print(f"  {done.card['guarantee']['says']}", highlight=False)
    console.print(f"  read back: {len(after)} rows, the card agrees with the file: {agrees}", highlight=False)
    for name, frame in (("before", before), ("after", after)):
        level = frame["latency_ms"].quantile(0.95, interpolation="linear")
        gap = frame.group_by("region").agg(pl.col("latency_ms").mean())["latency_ms"]
        spread = float(gap.max()) - float(gap.min())  # type: ignore[arg-type]
        console.print(
            f"  {name:<7} 95th percentile {level:.2f} ms; slowest and fastest region differ by {spread:.2f} ms",
            highlight=False,
        )
    console.print(before_after(before["latency_ms"].to_numpy(), after["latency_ms"].to_numpy(), unit="ms"))

    console.print("\n[bold]3. The attacker[/bold] (knows the plan, sees the release, guesses as well as anyone can)")
    rate = sv.simulate(plan, trials=200_000, seed=1)
    console.print(
        f"  hit {rate.rate:.2%} of {rate.trials:,} trials (99.9 % interval {rate.low:.2%} to {rate.high:.2%}); "
        f"the plan says {plan.risk:.2%}"
    )

    console.print("\n[bold]4. The trade-off[/bold]")
    console.print(tradeoff(problem, [0.5, 0.35, 0.25, 0.2, 0.15, 0.1, 0.07, 0.05]))


if __name__ == "__main__":
    main()
