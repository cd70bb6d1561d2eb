"""``statveil release``: a plan and a table file in, a released file and its card out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.progress import shown
from statveil.cli.stopping import stoppable
from statveil.cli.terminal import IN_PLACE, echo
from statveil.plan_file import load_plan
from statveil.spoken import describe

if TYPE_CHECKING:
    from statveil.ledger.keeper import Keeper

__all__ = ["command"]


@click.command("release", cls=Once)
@click.argument("plan_file", metavar="PLAN")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option("--column", required=True, metavar="NAME", help="The column to release.")
@click.option(
    "--accept",
    multiple=True,
    metavar="NAME",
    help="Accept a leak by name, such as step, order, groups; see docs/releasing.md.",
)
@click.option("--record", metavar="PATH", help="Keep the private record here; a later run reuses its secret seed.")
@click.option(
    "--shuffle", is_flag=True, help="Put all rows in a random order by the secret seed, so that it tells nothing."
)
@click.option("--ledger", "books", metavar="FILE", help="Enter the release here; refused where it passes a budget.")
@click.option("--dataset", metavar="NAME", help="With --ledger: the name of the table, whose rows stay the same.")
@click.option("--budget", type=float, metavar="T", help="With --ledger: largest joint risk of the secret, set once.")
@click.option("--audience", metavar="NAME", help="With --ledger: who gets it; noted, and all count together.")
@click.option("--overwrite", is_flag=True, help="Replace an existing output.")
@click.option("--round", "digits", type=int, metavar="DIGITS", help="Decimals of the released numbers.")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="For tests only: a seed that can be guessed.")
@json_option
def command(
    plan_file: str,
    source: str,
    target: str,
    column: str,
    accept: tuple[str, ...],
    record: str | None,
    shuffle: bool,
    books: str | None,
    dataset: str | None,
    budget: float | None,
    audience: str | None,
    overwrite: bool,
    digits: int | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Release one column of a table; all else stays as it is. OUT.card.json says how, and may be published."""
    from statveil.tables.card import card_path
    from statveil.tables.release_file import release_file

    keeper = _keeper(books, dataset, budget, audience)
    plan = load_plan(plan_file)
    with stoppable(), shown() as progress:
        done = release_file(
            plan,
            source,
            target,
            column=column,
            accept=accept,
            round_digits=digits,
            seed=seed,
            record=record,
            shuffle=shuffle,
            overwrite=overwrite,
            protect=[plan_file],
            ledger=keeper,
            progress=progress,
        )
    card = str(card_path(done.table))
    IN_PLACE.extend([str(done.table), card, *([] if record is None else [record])])
    warned = []
    if seed is not None:
        warned.append("Made with a test seed, which anyone can guess: not for publication.")
    elif (plan.randomised or shuffle or plan.release_mode.random) and record is None:
        warned.append("No --record was kept: another release of this column would draw anew, and two can be averaged.")
    if as_json:
        echo_json(
            {
                "output": str(done.table),
                "card": card,
                "record": record,
                "column": column,
                "mode": plan.mode,
                "risk": plan.risk,
                "risk_kind": plan.risk_kind,
                "distortion": plan.distortion,
                "shuffled": shuffle,
                "accepted": [leak["name"] for leak in done.card["accepted_leaks"]],
                "notes": [*done.notes, *warned],
                **({} if keeper is None else {"ledger": keeper.to_json()}),
            }
        )
        return
    echo(describe(done))
    echo(f"  card    {card} (public: publish it with the table)")
    if record is not None:
        echo(f"  record  {record} (private: keep it, never share it)")
    if keeper is not None:
        echo(f"  ledger  {describe(keeper)}")
    for note in warned:
        echo(f"  note    {note}")


def _keeper(books: str | None, dataset: str | None, budget: float | None, audience: str | None) -> Keeper | None:
    """Who keeps account of the release, if someone does."""
    if books is None:
        given = {"--dataset": dataset, "--budget": budget, "--audience": audience}
        for option in (name for name, value in given.items() if value is not None):
            raise click.UsageError(f"{option} is for a release that is entered in a ledger; name it with --ledger.")
        return None
    if dataset is None:
        raise click.UsageError("--ledger counts releases of a dataset; name it with --dataset.")
    from statveil.ledger.ledger import EVERYONE, Ledger

    return Ledger(books).keeper(dataset=dataset, budget=budget, audience=EVERYONE if audience is None else audience)
