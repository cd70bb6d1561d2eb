"""Attacks by structure, in many variants: is the release refused by name, or does the stated risk hold.

Usage: python docs/attack_variants.py [--tables N] [--class NAME] [--seed S]

Six classes: rows in an order that the values made (``order``), rows that belong together (``panel``), numbers that
were recorded in another unit (``conversion``), functions of round numbers (``log``), columns that tell by a limit, a
label or a copy (``flag``), and ways of writing a cell of a CSV file (``quote``). Every table draws its variant from a
whole domain: rows, prior, tolerance, risk, mode, unit, rounding, order, sizes of groups. A table is planned, released
with nothing accepted, and attacked by somebody who has the released table, the plan and the public rule, and nothing
else. A refused table is forced through with every leak accepted and attacked all the same, which shows that the attack
works. Its twin without the structure must be released. The result is written into docs/attack_variants.md.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from attacks.report import Tally, class_line, report
from attacks.trials import CLASSES, trials

HERE = Path(__file__).parent


def main() -> None:
    """Try all classes, or one, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tables", type=int, default=60, help="tables of each class")
    parser.add_argument("--class", dest="name", choices=CLASSES, help="one class only; the page is then printed")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tallies: dict[str, Tally] = {}
    for name in [options.name] if options.name else list(CLASSES):
        tallies[name] = Tally(list(trials(name, options.tables, options.seed)))
        print(class_line(name, tallies[name]), flush=True)
    page = report(tallies, options.seed)
    if options.name:
        print(page)
    else:
        (HERE / "attack_variants.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
