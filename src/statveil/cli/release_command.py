"""``statveil release``: a plan and a table file in, a released file and its card out."""

from __future__ import annotations

import click

from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.progress import shown
from statveil.cli.stopping import stoppable
from statveil.cli.terminal import IN_PLACE, echo
from statveil.plan_file import load_plan
from statveil.spoken import describe

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
    overwrite: bool,
    digits: int | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Release one column of a table; all else stays as it is. OUT.card.json says how, and may be published."""
    from statveil.tables.card import card_path
    from statveil.tables.release_file import release_file

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
            }
        )
        return
    echo(describe(done))
    echo(f"  card    {card} (public: publish it with the table)")
    if record is not None:
        echo(f"  record  {record} (private: keep it, never share it)")
    for note in warned:
        echo(f"  note    {note}")
