"""``statveil studio``: the whole flow in the browser, on this machine alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click

from statveil.cli.options import Once
from statveil.cli.terminal import echo
from statveil.errors import FileError
from statveil.stopping import stoppable

__all__ = ["command"]


@click.command("studio", cls=Once)
@click.argument("table", metavar="[FILE]", required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port (default: any that is free).")
@click.option("--no-browser", is_flag=True, help="Print the address and open nothing.")
@click.option(
    "--folder", metavar="DIR", help="Tables are opened by path from here alone (default: FILE's folder, else this one)."
)
@click.option("--ledger", "books", metavar="FILE", help="Show earlier releases, and enter the new one here.")
@click.option("--dataset", metavar="NAME", help="With --ledger: the name of the table, whose rows stay the same.")
@click.option(
    "--max-upload",
    type=click.IntRange(min=1),
    default=2 << 30,
    show_default=True,
    metavar="BYTES",
    help="Largest upload; files that are named by path may be larger.",
)
def command(
    table: str | None,
    port: int,
    no_browser: bool,
    folder: str | None,
    books: str | None,
    dataset: str | None,
    max_upload: int,
) -> None:
    """Hide, plan, release and audit in the browser. PRIVATE: the page shows the table.

    The page is served to this machine alone (127.0.0.1), under an address with a token that is new each time. Nothing
    is sent elsewhere. Ctrl-C ends it and removes what was not downloaded.
    """
    if (books is None) != (dataset is None):
        raise click.UsageError("--ledger counts releases of a dataset: give --ledger and --dataset together.")
    for needed in ("fastapi", "uvicorn"):
        if importlib.util.find_spec(needed) is None:
            raise click.UsageError(f"the studio needs {needed}; install it with: pip install 'statveil[studio]'")
    home = Path(folder) if folder is not None else Path(table).parent if table is not None else Path()
    if not home.is_dir():
        raise FileError(f"{home} is no folder; give --folder one that holds the tables.")
    from statveil.studio.running import run_studio

    with stoppable():
        run_studio(
            table=None if table is None else Path(table),
            folder=home.resolve(),
            port=port,
            browser=not no_browser,
            ledger=None if books is None else str(Path(books).resolve()),
            dataset=dataset,
            max_upload=max_upload,
            say=echo,
        )
