"""``statveil release``: a plan or a specification and a table file in, a released file and its card out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from statveil.cli.engines import engine_option, opener
from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.outputs import overwrite_option
from statveil.cli.parsing import parse_share
from statveil.cli.progress import shown
from statveil.cli.table_plans import table_plan_of
from statveil.cli.terminal import IN_PLACE, echo
from statveil.plan_file import load_plan
from statveil.spoken import describe
from statveil.stopping import stoppable

if TYPE_CHECKING:
    from statveil.ledger.keeper import Keeper
    from statveil.specification.planned import TablePlan
    from statveil.tables.release import Release

__all__ = ["command"]


@click.command("release", cls=Once)
@click.argument("plan_file", metavar="PLAN|SPEC")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option("--column", metavar="NAME", help="The column to release (needed, but for a specification or rows).")
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
@click.option("--budget", metavar="T", help="With --ledger: largest joint risk of the secret, set once.")
@click.option("--audience", metavar="NAME", help="With --ledger: who gets it; noted, and all count together.")
@click.option(
    "--planned-again",
    is_flag=True,
    help="With a specification: say on the card that it was planned again after a release, audit or refusal.",
)
@overwrite_option
@click.option("--round", "digits", type=int, metavar="DIGITS", help="Decimals of the released numbers.")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="For tests only: a seed that can be guessed.")
@engine_option
@json_option
def command(
    plan_file: str,
    source: str,
    target: str,
    column: str | None,
    accept: tuple[str, ...],
    record: str | None,
    shuffle: bool,
    books: str | None,
    dataset: str | None,
    budget: str | None,
    audience: str | None,
    planned_again: bool,
    overwrite: bool,
    digits: int | None,
    seed: int | None,
    engine: str | None,
    as_json: bool,
) -> None:
    """Release a table; OUT.card.json says how, and may be published.

    IN and OUT are files, or tables in databases: postgresql://user@host/db?table=wages, duckdb:///FILE?table=wages,
    sqlite:///FILE?table=wages. The card of a table is the table wages_card beside it.

    PLAN releases one column, and all else stays as it is. SPEC (a .toml file, or the plans made of it by 'statveil plan
    --spec') says what becomes of every column: --column, --accept, --shuffle and --round are said there.
    With --engine spark OUT is a folder.
    """
    from statveil.tables.release_file import release_file

    keeper = _keeper(books, dataset, budget, audience)
    table_plan = table_plan_of(plan_file)
    if table_plan is not None:
        given = {"--column": column, "--accept": accept, "--shuffle": shuffle, "--round": digits}
        for option, value in given.items():
            if value not in (None, (), False):
                raise click.UsageError(f"a specification says what becomes of each column; leave out {option}.")
        _release_table(
            table_plan, plan_file, source, target, record, planned_again, overwrite, seed, keeper, engine, as_json
        )
        return
    if planned_again:
        raise click.UsageError("--planned-again is for the release of a whole table by its specification.")
    plan = load_plan(plan_file)
    if column is None and plan.release_mode.of_one_column:
        context = click.get_current_context()
        missing = next(param for param in context.command.params if param.name == "column")
        raise click.MissingParameter(ctx=context, param=missing)
    shuffle = shuffle or plan.release_mode.of_table
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
            opened=opener(engine),
            progress=progress,
        )
    card = _in_place(done, record)
    notes = _warned(seed, record, drawn=plan.randomised or shuffle or plan.release_mode.random)
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
                "to_check": list(done.to_check),
                "notes": [*done.notes, *notes],
                **_entered(keeper),
            }
        )
        return
    _say(done, card, record, keeper, notes)


def _release_table(
    plan: TablePlan,
    plan_file: str,
    source: str,
    target: str,
    record: str | None,
    planned_again: bool,
    overwrite: bool,
    seed: int | None,
    keeper: Keeper | None,
    engine: str | None,
    as_json: bool,
) -> None:
    from statveil.tables.release_table import release_table

    with stoppable(), shown() as progress:
        done = release_table(
            plan,
            source,
            target,
            record=record,
            planned_again=planned_again,
            overwrite=overwrite,
            seed=seed,
            protect=[plan_file],
            ledger=keeper,
            opened=opener(engine),
            progress=progress,
        )
    card = _in_place(done, record)
    drawn = plan.specification.shuffle or any(one.randomised or one.release_mode.random for one in plan.plans.values())
    notes = _warned(seed, record, drawn=drawn)
    if as_json:
        columns = done.card["columns"]
        kept = ("done", "mode", "to", "factor", "expression")
        echo_json(
            {
                "output": str(done.table),
                "card": card,
                "record": record,
                "risk": plan.risk,
                "risk_kind": plan.risk_kind,
                "shuffled": plan.specification.shuffle,
                "columns": {
                    name: {
                        **{key: one[key] for key in kept if key in one},
                        **({"risk": plan.plans[name].risk} if name in plan.plans else {}),
                    }
                    for name, one in columns.items()
                },
                "to_check": list(done.to_check),
                "notes": [*done.notes, *notes],
                **_entered(keeper),
            }
        )
        return
    _say(done, card, record, keeper, notes)


def _in_place(done: Release, record: str | None) -> str:
    """The card's path; what was asked for is done from here on, whatever becomes of what is printed."""
    from statveil.tables.card import card_path
    from statveil.tables.databases.address import Address, is_address

    card = str(Address.parse(done.table).card if is_address(done.table) else card_path(done.table))
    IN_PLACE.extend([str(done.table), card, *([] if record is None else [record])])
    return card


def _warned(seed: int | None, record: str | None, *, drawn: bool) -> list[str]:
    if seed is not None:
        return ["Made with a test seed, which anyone can guess: not for publication."]
    if drawn and record is None:
        return ["No --record was kept: another release of this column would draw anew, and two can be averaged."]
    return []


def _say(done: Release, card: str, record: str | None, keeper: Keeper | None, notes: list[str]) -> None:
    echo(describe(done))
    echo(f"  card    {card} (public: publish it with the table)")
    if record is not None:
        echo(f"  record  {record} (private: keep it, never share it)")
    if keeper is not None:
        echo(f"  ledger  {describe(keeper)}")
    for note in notes:
        echo(f"  note    {note}")


def _entered(keeper: Keeper | None) -> dict[str, Any]:
    return {} if keeper is None else {"ledger": keeper.to_json()}


def _keeper(books: str | None, dataset: str | None, budget: str | None, audience: str | None) -> Keeper | None:
    """Who keeps account of the release, if someone does."""
    if books is None:
        given = {"--dataset": dataset, "--budget": budget, "--audience": audience}
        for option in (name for name, value in given.items() if value is not None):
            raise click.UsageError(f"{option} is for a release that is entered in a ledger; name it with --ledger.")
        return None
    if dataset is None:
        raise click.UsageError("--ledger counts releases of a dataset; name it with --dataset.")
    from statveil.ledger.ledger import EVERYONE, Ledger

    most = None if budget is None else parse_share(budget, "the budget")
    return Ledger(books).keeper(dataset=dataset, budget=most, audience=EVERYONE if audience is None else audience)
