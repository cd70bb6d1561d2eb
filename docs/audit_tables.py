"""Real and generated tables under the audit: forced onto the paper's maps, and planned with their structure declared.

Usage: python docs/audit_tables.py FOLDER, where FOLDER holds the unpacked packages powerlaw, statsmodels, sdmetrics and
palmerpenguins (``make audit-tables`` fetches them). Writes the table into docs/audit_tables.md.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import statveil as sv
from statveil.tables.verification import LEAKS

RISK, ACCEPTED = 0.1, tuple(LEAKS)
Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A column, the family that it is planned with, and what is declared."""

    name: str
    column: Any
    family: Any
    prior: dict[str, tuple[float, float]]
    known: sv.Structure
    method: str = "interval"


def columns(folder: Path) -> Iterator[tuple[str, Array]]:
    """The real columns."""
    for name in ("fires", "cities", "flares"):
        yield name, np.loadtxt(folder / "powerlaw" / "reference_data" / f"{name}.txt")
    yield "mdvis", _field(folder / "statsmodels" / "datasets" / "randhie" / "randhie.csv", "mdvis")
    yield (
        "salary",
        _field(folder / "sdmetrics" / "demos" / "single_table" / "student_placements_real.csv", "salary"),
    )


def _field(path: Path, name: str) -> Array:
    with path.open(encoding="utf-8", newline="") as file:
        return np.array([float(row[name]) for row in csv.DictReader(file) if row[name] not in ("", "NA")])


def structure_of(column: Array) -> sv.Structure:
    """What the makers of such a column would declare: what is there."""
    found = {item.name: item.values for item in sv.inspect(column).columns[0].structure}
    atoms = tuple(atom for atom in found.get("atoms", ()) if atom >= 0)
    return sv.Structure(
        minimum=0.0 if column.min() >= 0 else None,
        step=(found.get("step") or (None,))[0],
        heaps=found.get("heaps", ()),
        atoms=atoms,
    )


def cases(folder: Path) -> Iterator[Case]:
    """Real columns, then one generated table of every family."""
    location = sv.Location()
    for name, column in columns(folder):
        mean = float(column.mean())
        yield Case(
            name=name,
            column=column,
            family=location,
            prior={"mean": (0.5 * mean, 2 * mean)},
            known=structure_of(column),
        )
    with (folder / "palmerpenguins" / "data" / "penguins.csv").open(encoding="utf-8", newline="") as file:
        species = [row["species"] for row in csv.DictReader(file)]
    labels = sorted(set(species))
    rng = np.random.default_rng(0)
    yield Case(
        name="penguin species (shuffled)",
        column=rng.permutation(np.array(species)),
        family=sv.Categorical(labels=labels),
        prior={},
        known=sv.Structure(),
    )
    rows = 2_000
    made: list[tuple[str, Any, Any, dict[str, tuple[float, float]], str]] = [
        ("gaussian", rng.normal(100, 15, rows), sv.Gaussian(), {"mu": (50, 200), "sigma": (5, 40)}, "interval"),
        ("uniform", rng.uniform(20, 90, rows), sv.Uniform(), {"low": (0, 50), "high": (60, 120)}, "interval"),
        ("exponential", rng.exponential(40, rows), sv.Exponential(), {"scale": (20, 80)}, "interval"),
        (
            "shifted exponential",
            10 + rng.exponential(40, rows),
            sv.ShiftedExponential(),
            {"scale": (20, 80), "shift": (0, 30)},
            "interval",
        ),
        ("poisson", rng.poisson(30, rows).astype(float), sv.Poisson(), {"rate": (15, 60)}, "dynamic"),
        ("geometric", rng.geometric(0.05, rows) - 1.0, sv.Geometric(), {"p": (0.025, 0.1)}, "dynamic"),
        ("binomial", rng.binomial(60, 0.4, rows).astype(float), sv.Binomial(trials=60), {"p": (0.2, 0.8)}, "dynamic"),
        ("counts from 0, rounded gamma", np.rint(rng.gamma(1.5, 53, rows)), location, {"mean": (40, 160)}, "interval"),
        ("whole numbers, no bound", np.rint(rng.normal(100, 15, rows)), location, {"mean": (50, 200)}, "interval"),
    ]
    for name, column, family, prior, method in made:
        known = sv.Structure()
        if name == "counts from 0, rounded gamma":
            known = sv.Structure(minimum=0, step=1)
        if name == "whole numbers, no bound":
            known = sv.Structure(step=1)
        yield Case(name=name, column=column, family=family, prior=prior, known=known, method=method)


def planned(case: Case, known: sv.Structure, family: Any = None) -> sv.Plan:
    """A plan for the mean (the share of the first category) at the claimed risk."""
    if isinstance(case.family, sv.Categorical):
        problem = sv.Problem(family=case.family, secret=sv.Fraction(0), tolerance=0.02)
        return sv.plan(problem, max_risk=RISK)
    tolerance = 0.01 * float(np.mean(case.column))
    problem = sv.Problem(
        family=family or case.family, prior=sv.Box(**case.prior), secret=sv.Mean(), tolerance=tolerance, known=known
    )
    return sv.plan(problem, max_risk=RISK, method=case.method)


def row_of(name: str, what: str, plan: Callable[[], sv.Plan], column: Any, accept: tuple[str, ...]) -> str:
    """One line of the table."""
    try:
        made = plan()
    except sv.StatveilError as error:
        return f"| {name} | {what} | refused by `plan` | | | | {_short(error)} |"
    try:
        released = sv.release(made, column, accept=accept)
    except sv.StatveilError as error:
        return f"| {name} | {what} | `{made.mode}`, refused by `release` | | | | {_short(error)} |"
    found = sv.audit(made, column, released, seed=1)
    worst = max((item for item in found.findings if item.attacker != "prior"), key=lambda item: item.rate)
    if made.mode == "category":
        distance = f"TV {found.distances['tv']:.3g}"
    else:
        gap = abs(float(np.mean(released)) - float(np.mean(column)))
        distance = f"{found.distances['w1'] / gap:.2f}" if gap else "1"
    return (
        f"| {name} | {what} | `{made.mode}` | {worst.attacker} | {worst.rate:.2f} "
        f"({worst.low:.2f} to {worst.high:.2f}) | {distance} | {found.verdict} |"
    )


def _short(error: Exception) -> str:
    return str(error).split(". ")[0].replace("|", "/")[:150]


def main() -> None:
    """Write the table."""
    folder, lines = Path(sys.argv[1]), []
    for case in cases(folder):
        if isinstance(case.family, sv.Location) and not case.family.settings():
            bound = sv.Structure(minimum=case.known.minimum)
            for what, known in (("paper's shift, forced", sv.Structure()), ("paper's scaling, forced", bound)):
                if known != sv.Structure() or what.startswith("paper's shift"):
                    plan = lambda case=case, known=known: planned(case, known)  # noqa: E731
                    lines.append(row_of(case.name, what, plan, case.column, ACCEPTED))
                    print(lines[-1], flush=True)
        lines.append(row_of(case.name, "declared", lambda case=case: planned(case, case.known), case.column, ()))  # type: ignore[misc]
        print(lines[-1], flush=True)
    head = (
        "| table | how | mode | worst attacker | its rate (interval) | W1 / change of the mean | verdict |\n"
        "|---|---|---|---|---|---|---|"
    )
    text = (
        "# Audited tables\n\nMade by `make audit-tables`. Secret: the mean (the share of the first category); "
        f"claimed risk {RISK}; the prior on the mean of a real column runs from half to twice the true one; a hit is "
        "within 1 % of the mean (a share within 0.02). Attackers know the structure that the column has, and no "
        "record; at most 2,000 tables each. Forced releases accept every leak. A shift, or a scaling from the bound, "
        "has W1 = change of the mean.\n\n"
    )
    Path(__file__).with_suffix(".md").write_text(text + head + "\n" + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
