"""``statveil ledger``: what was released before, and how much more may be."""

from __future__ import annotations

import sys
from typing import Any

import click

from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.parsing import parse_secret, parse_share
from statveil.cli.terminal import IN_PLACE, echo
from statveil.errors import ProblemError
from statveil.ledger.ledger import Ledger
from statveil.spoken import describe

__all__ = ["command"]


@click.group("ledger")
def command() -> None:
    """Releases of each column, what they tell together, and budgets for that. Every command prints the head.

    Note the head elsewhere: with it, 'verify' finds whatever was changed, removed or cut off.
    """


@command.command("init", cls=Once)
@click.argument("file", metavar="FILE")
@json_option
def init(file: str, as_json: bool) -> None:
    """Make a new, empty ledger that only its owner can read."""
    made = Ledger.create(file)
    IN_PLACE.append(file)
    _ended({"ledger": file}, f"Made {file}, an empty ledger.", made, as_json)


@command.command("show", cls=Once)
@click.argument("file", metavar="FILE")
@click.option("--dataset", metavar="NAME", help="Only this dataset.")
@click.option("--column", metavar="NAME", help="Only this column.")
@json_option
def show(file: str, dataset: str | None, column: str | None, as_json: bool) -> None:
    """Every column with its releases, joint risks and budgets."""
    found = Ledger(file).show(dataset=dataset, column=column)
    if as_json:
        echo_json(found.to_json())
    else:
        echo(describe(found))


@command.command("verify", cls=Once)
@click.argument("file", metavar="FILE")
@click.option("--head", metavar="HASH", help="A head that was noted earlier: all entries up to it must be unchanged.")
@json_option
def verify(file: str, head: str | None, as_json: bool) -> None:
    """Whether the file is whole and its chain unbroken. Exit code 1 where it is not."""
    found = Ledger(file).verify(head)
    if as_json:
        echo_json(found.to_json())
    else:
        echo(describe(found))
    if not found.ok:
        sys.exit(1)


@command.command("budget", cls=Once)
@click.argument("file", metavar="FILE")
@click.option("--dataset", required=True, metavar="NAME", help="The dataset.")
@click.option("--column", required=True, metavar="NAME", help="The column.")
@click.option(
    "--secret", required=True, metavar="S", help="What is hidden, as for 'statveil plan': mean, quantile:0.95."
)
@click.option("--max-risk", required=True, metavar="T", help="Largest joint risk of all releases.")
@json_option
def budget(file: str, dataset: str, column: str, secret: str, max_risk: str, as_json: bool) -> None:
    """Set the budget of a secret of a column, or change it: an entry of its own, which 'show' lists."""
    ledger, named, most = Ledger(file), parse_secret(secret), parse_share(max_risk, "the largest joint risk")
    number = ledger.set_budget(most, dataset=dataset, column=column, secret=named)
    facts = {"entry": number, "dataset": dataset, "column": column, "secret": named.label, "max_risk": most}
    text = f"Entry {number}: the joint risk of the {named.label} of {column!r} of {dataset!r} may be {most:g}."
    _ended(facts, text, ledger, as_json)


@command.command("resolve", cls=Once)
@click.argument("file", metavar="FILE")
@click.option("--entry", type=click.IntRange(min=1), metavar="N", help="Settle this entry by your own word, with --as.")
@click.option("--as", "state", type=click.Choice(["done", "abandoned"]), help="What became of it.")
@json_option
def resolve(file: str, entry: int | None, state: str | None, as_json: bool) -> None:
    """Settle releases that were stopped: by what is found of their outputs, or one of them by your word.

    What nothing proves stays pending and counts. Say 'abandoned' only of an output that nobody ever got.
    """
    if (entry is None) != (state is None):
        raise ProblemError("--entry and --as go together: which entry, and what became of it.")
    ledger = Ledger(file)
    if entry is not None and state is not None:
        ledger.finish(entry, state)
        found = [{"entry": entry, "state": state}]
    else:
        found = [{"entry": each.number, "state": said} for each, said in ledger.resolve()]
    text = "\n".join(f"entry {each['entry']}: {each['state']}" for each in found) or "Nothing is unfinished."
    _ended({"resolved": found}, text, ledger, as_json)


def _ended(facts: dict[str, Any], text: str, ledger: Ledger, as_json: bool) -> None:
    """What was done, and the head."""
    head = ledger.head
    if as_json:
        echo_json({**facts, "head": head})
    else:
        echo(f"{text}\nhead {head}")
