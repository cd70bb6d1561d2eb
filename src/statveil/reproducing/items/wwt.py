"""The figure of Wikipedia Web Traffic: hiding the mean, our mechanism against DP, AP and DistP."""

from __future__ import annotations

from typing import ClassVar

from statveil.problem.families.location import Location
from statveil.problem.secrets.mean import Mean
from statveil.reproducing.item import Item, Work
from statveil.reproducing.on_data import LIMITS, compared, figure, ratios, tables
from statveil.reproducing.results import Claim, Outcome

__all__ = ["Wwt"]


class Wwt(Item):
    """Attacker's error against distortion on mean page views."""

    name: ClassVar[str] = "wwt"
    title: ClassVar[str] = "Wikipedia Web Traffic, secret = mean"
    source: ClassVar[str] = "Figure fig:results (a), fig:wiki"
    place: ClassVar[int] = 70
    needs: ClassVar[tuple[str, ...]] = ("wwt",)

    def run(self, work: Work) -> Outcome:
        data = work.datasets["wwt"]
        found = compared(data, secret=Mean(), family=Location(), work=work)
        ours = ratios(found, "ours", "paper")
        noise = ratios(found, "ap", "paper") + ratios(found, "distp", "paper")
        histogram, informed = ratios(found, "dp", "paper"), ratios(found, "dp", "paper", debiased=True)
        shift = ratios(found, "directional", "fair")
        return Outcome(
            figures=(figure(found, data, "wwt"),),
            tables=tables(found, data, "wwt"),
            claims=(
                Claim(
                    says="Our mechanism matches the lower bound: its error is its distortion.",
                    holds=min(ours) > 1 - 1e-6,
                    evidence=f"error / distortion from {min(ours):.6f} to {max(ours):.6f}.",
                ),
                Claim(
                    says="AP and DistP have a bad trade-off.",
                    holds=max(noise) < 0.1,
                    evidence=f"error / distortion at most {max(noise):.4f}: independent noise averages out over "
                    f"{found.rows:,} rows.",
                ),
                Claim(
                    says="DP is better than AP and DistP, but worse than quantization.",
                    holds=max(noise) < max(histogram) < min(ours) * (1 - 1e-3),
                    evidence=f"error / distortion of DP from {min(histogram):.3f} to {max(histogram):.3f} for the "
                    f"paper's attacker, and from {min(informed):.3f} to {max(informed):.3f} for one who knows the "
                    "mechanism.",
                ),
            ),
            differs=(
                *LIMITS,
                "On heavy-tailed traffic the clipped noise of empty bins adds rows on one side only, so that against "
                "the paper's attacker DP lies on the lower bound too wherever that bias prevails.",
                f"One common Laplace shift lies on the line as well ({min(shift):.3f} to {max(shift):.3f}): it is the "
                "directional form of distribution privacy, which the paper did not run.",
                *found.notes,
            ),
            datasets=(data,),
        )
