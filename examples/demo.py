"""The main job on an embedded example: plan a release, play the attacker, draw the trade-off.

A cloud provider wants to publish request latencies without telling the 95th percentile, which shows its scale.
Outsiders believe that latencies are roughly normal with a mean of 0 to 200 ms and a spread of 1 to 51 ms.
"""

from __future__ import annotations

from rich.console import Console

import statveil as sv
from statveil.report.terminal import tradeoff
from statveil.report.text import describe_plan


def main() -> None:
    """Plan, attack, draw."""
    console = Console()
    problem = sv.Problem(
        family=sv.Gaussian(),
        prior=sv.Box(mu=(0, 200), sigma=(1, 51)),
        secret=sv.Quantile(0.95),
        tolerance=1.0,
    )
    plan = sv.plan(problem, max_risk=0.2)
    console.print("[bold]1. The plan[/bold] (made without any data)")
    console.print(describe_plan(plan), markup=False, highlight=False)

    console.print("\n[bold]2. A release[/bold]")
    done = plan.apply(mu=103.0, sigma=7.0)
    console.print(
        f"  mu = 103, sigma = 7 is released as mu = {done.released['mu']:.3f}, sigma = {done.released['sigma']:.3f}"
    )

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
