"""What is said of the outcomes: the page docs/attack_variants.md."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from attacks.trials import Outcome

__all__ = ["Tally", "class_line", "report"]


@dataclass(slots=True)
class Tally:
    """Counts over the tables of a class or family."""

    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def accepted(self) -> list[Outcome]:
        """Those that were released."""
        return [each for each in self.outcomes if not each.refused]

    @property
    def stated(self) -> float:
        """The stated risk, averaged over all tables."""
        return float(np.mean([each.stated for each in self.outcomes]))


def interval(hits: int, total: int, level: float = 0.99) -> tuple[float, float]:
    """The interval of Clopper and Pearson."""
    if total == 0:
        return 0.0, 1.0
    low = 0.0 if hits == 0 else float(stats.beta.ppf((1 - level) / 2, hits, total - hits + 1))
    high = 1.0 if hits == total else float(stats.beta.ppf((1 + level) / 2, hits + 1, total - hits))
    return low, high


def per_cent(count: int, total: int) -> str:
    """A share in whole per cent."""
    return f"{count / total:.0%}" if total else "-"


def class_line(name: str, tally: Tally) -> str:
    """The line of a class in the first table."""
    outcomes, accepted = tally.outcomes, tally.accepted
    hits = sum(each.hit for each in accepted)
    forced = [each for each in outcomes if each.refused and each.forced]
    low, high = interval(hits, len(outcomes))
    return (
        f"| `{name}` | {len(outcomes)} | {per_cent(len(outcomes) - len(accepted), len(outcomes))} | {len(accepted)} "
        f"| {hits} | {hits / len(outcomes):.3f} ({low:.3f} to {high:.3f}) | {tally.stated:.3f} "
        f"| {sum(each.hit for each in forced)} of {len(forced)} "
        f"| {per_cent(sum(bool(each.twin) for each in outcomes), len(outcomes))} |"
    )


def family_lines(name: str, tally: Tally) -> list[str]:
    """Lines of the families that more accepted tables were hit of than the risk explains."""
    families: dict[str, list[Outcome]] = defaultdict(list)
    for each in tally.outcomes:
        families[each.family].append(each)
    lines = []
    for family, members in sorted(families.items()):
        accepted = [each for each in members if not each.refused]
        hits = sum(each.hit for each in accepted)
        stated = float(np.mean([each.stated for each in accepted])) if accepted else 0.0
        luck = float(stats.binom.sf(hits - 1, len(accepted), stated)) if hits else 1.0
        if hits >= 2 and hits >= 2 * stated * len(accepted) and luck < 0.05:
            lines.append(
                f"| `{name}` | {family} | {len(members)} | {len(accepted)} | {hits} | {stated:.2f} | {luck:.1g} |"
            )
    return lines


def report(tallies: dict[str, Tally], seed: int) -> str:
    """The page."""
    tables = max(len(each.outcomes) for each in tallies.values())
    lines = [
        "# Attacks by structure, in many variants",
        "",
        "<!-- written by docs/attack_variants.py -->",
        "",
        f'Made by `make attack-variants VARIANTS="--tables {tables} --seed {seed}"`.',
        "",
        "Each table draws its variant anew (rows, prior, tolerance, risk, mode, unit, rounding, order, ids, rule), is "
        "planned, and released with nothing",
        "accepted. Hits over all tables, with refused ones as no hit, stand beside the stated risk. What is refused is "
        "forced through and attacked all",
        "the same (control). Twins have no such structure and should be released.",
        "",
        "| class | tables | refused | accepted | hits among them | hits over all (99 %) | stated "
        "| control: hits of forced | twins refused |",
        "|---|---|---|---|---|---|---|---|---|",
        *(class_line(name, tally) for name, tally in tallies.items()),
        "",
        "Refused as:",
        "",
    ]
    for name, tally in tallies.items():
        kinds = Counter(each.refused for each in tally.outcomes if each.refused)
        twins = Counter(each.twin for each in tally.outcomes if each.twin)
        said = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        also = "; twins: " + ", ".join(f"{kind} {count}" for kind, count in twins.most_common()) if twins else ""
        lines.append(f"* `{name}`: {said}{also}")
    worst = [line for name, tally in tallies.items() for line in family_lines(name, tally)]
    lines += [
        "",
        "## Variants that pass",
        "",
        "Families of which two or more accepted tables were hit, at least twice as often as stated and beyond luck "
        "(binomial, 0.05, for each family by itself).",
        "",
        "| class | family | tables | accepted | hits | stated | chance of so many |",
        "|---|---|---|---|---|---|---|",
        *(worst or ["| | none | | | | | |"]),
        "",
        "A family is a kind of rule under a mode; what is drawn inside it differs from table to table. A table that "
        "carries little (long steps of a unit beside",
        "a fine rounding, few equal rows) is released and rightly so: its attack hits no more often than stated. Where "
        "the control hits rarely, the attack was weak or",
        "there was little to find, and the class proves little for that family.",
    ]
    return "\n".join(lines) + "\n"
