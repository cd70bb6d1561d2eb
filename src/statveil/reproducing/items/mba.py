"""The figure of Measuring Broadband America: hiding the 0.95-quantile, our mechanism against DP, AP and DistP."""

from __future__ import annotations

from typing import ClassVar

from statveil.problem.families.exponential import Exponential
from statveil.problem.secrets.quantile import Quantile
from statveil.reproducing.item import Item, Work
from statveil.reproducing.on_data import LIMITS, compared, figure, ratios, tables
from statveil.reproducing.results import Claim, Outcome

__all__ = ["Mba"]


class Mba(Item):
    """Attacker's error against distortion on the traffic of homes."""

    name: ClassVar[str] = "mba"
    title: ClassVar[str] = "Measuring Broadband America, secret = 0.95-quantile"
    source: ClassVar[str] = "Figure fig:results (b), fig:fccmba"
    place: ClassVar[int] = 75
    needs: ClassVar[tuple[str, ...]] = ("mba",)

    def run(self, work: Work) -> Outcome:
        data = work.datasets["mba"]
        found = compared(data, secret=Quantile(0.95), family=Exponential(), work=work)
        ours = ratios(found, "ours", "paper")
        histogram, informed = ratios(found, "dp", "paper"), ratios(found, "dp", "paper", debiased=True)
        least, most = min(ours), max(ours)
        wins = sum(ratio > most for ratio in histogram)
        wins_informed = sum(ratio > most for ratio in informed)
        noise, noise_informed = (
            [ratio for name in ("ap", "distp") for ratio in ratios(found, name, "paper", debiased=knows, hidden=True)]
            for knows in (False, True)
        )
        return Outcome(
            figures=(figure(found, data, "mba"),),
            tables=tables(found, data, "mba"),
            claims=(
                Claim(
                    says="Quantization does well although traffic is not exponential.",
                    holds=least > 0.5 * found.line.slope,
                    evidence=f"error / distortion {least:.3f} to {most:.3f}; an exponential column would have "
                    f"{found.line.slope:.3f}.",
                ),
                Claim(
                    says="Quantization has a better trade-off than AP and DistP.",
                    holds=max(noise, default=0.0) < least,
                    evidence=f"error / distortion of quantization is {least:.3f} at least. At errors of two tolerances "
                    f"or more AP and DistP have up to {max(noise, default=0.0):.3f} for the paper's attacker, and up "
                    f"to {max(noise_informed, default=0.0):.3f} for one who knows the mechanism.",
                ),
                Claim(
                    says="A few DP instances have a better trade-off than quantization.",
                    holds=0 < wins < len(histogram),
                    evidence=f"{wins} of {len(histogram)} settings have a larger error / distortion.",
                ),
            ),
            differs=(
                *LIMITS,
                "The paper puts DP's better instances down to lucky noise. These are means over seeds: it is the "
                f"bias of clipped noise. Against an attacker who takes it out, {wins_informed} of {len(informed)} "
                "settings are left.",
                "Noise on each row does not leave a quantile where it is. Loud noise replaces the column by itself, "
                "and the paper's attacker then finds the quantile of the noise: error / distortion is 2.06 for "
                "normal and 2.30 for Laplace noise, whatever the column. One who knows the noise deconvolves it.",
                "The paper names neither the month, the counters nor the number of homes.",
                "The dashed line is the limit for pairs of exponential columns; a real column may lie off it.",
                *found.notes,
            ),
            datasets=(data,),
        )
