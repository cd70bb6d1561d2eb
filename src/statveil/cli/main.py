"""The ``statveil`` command: its subcommands and how errors end."""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import suppress
from typing import NoReturn

import click

from statveil import __version__
from statveil.cli.terminal import IN_PLACE, echo
from statveil.stopping import Stopped

__all__ = ["TRACEBACK", "UNEXPECTED", "main", "run", "statveil"]

_COMMANDS = {
    "apply": "released parameter of a parameter",
    "audit": "private: attack a released table before someone else does",
    "compose": "what several releases of one column tell together",
    "compare": "private: our mechanisms beside the alternatives, on one column",
    "frontier": "the whole trade-off between risk and distortion",
    "inspect": "private: structure of a table's columns, and what would leak",
    "ledger": "what was released before, and budgets for all of it together",
    "leakage": "what releases tell whatever is believed, in bits",
    "limits": "what no mechanism can beat",
    "schema": "the JSON schema of a plan, card, record or specification",
    "list": "families, secrets, priors and the pairs that work",
    "plan": "the best mechanism for a target, without any data",
    "release": "a table file, one column under a plan or all under a specification",
    "report": "one page about a release, for those who decide (private, or --public)",
    "reproduce": "the paper's figures and tables, with one page that collects them",
    "series": "risk month by month of a statistic that drifts",
    "simulate": "the best attacker played against a plan",
    "studio": "private: the whole flow as a page in the browser, on this machine alone",
    "tiers": "nested plans for audiences of rising trust",
    "verify": "a released table against its card",
}


class _Lazy(click.Group):
    """Subcommands are imported when they are called, so that ``--help`` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"statveil.cli.{cmd_name}_command")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS:
            from statveil.errors import unknown_name

            raise click.UsageError(unknown_name("command", args[0], sorted(_COMMANDS)))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="statveil")
def statveil() -> None:
    """Share a table while hiding a summary statistic of a column.

    A plan is made without any data: say what outsiders believe (--family, --prior), what to hide (--secret), how close
    a guess counts (--tolerance), and how often a guess may succeed (--max-risk).
    """


UNEXPECTED = 70
"""Exit code of an error that we did not expect (BSD's EX_SOFTWARE); 1 says that something was found, 2 bad input."""
TRACEBACK = "STATVEIL_TRACEBACK"
"""Environment variable that shows where an unexpected error happened."""


def main() -> NoReturn:
    """Entry point of the process: :func:`run`, whose exit code stays what it is also when it was stopped.

    A stopped run has cleaned up, but threads of a table engine may still be at work; where the interpreter ends under
    them, some versions abort the process (SIGABRT). Nothing is left to do then, so it is left at once.
    """
    try:
        run()
    except Stopped as stopped:
        os._exit(int(stopped.code or 0))


def run() -> NoReturn:
    """The command with the process's arguments: every expected error is one sentence on stderr and exit code 2."""
    from statveil.errors import StatveilError

    _check_streams()
    if "OMP_NUM_THREADS" not in os.environ:
        # before NumPy is loaded: its products are small, and threads that wait for the next one spin meanwhile, which
        # took more time than reading the table
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    IN_PLACE.clear()
    try:
        try:
            code = statveil.main(standalone_mode=False)
        except Stopped:
            _flush()
            raise
        except SystemExit as ended:
            code = ended.code
        sys.stdout.flush()  # a full disk is noticed here rather than by the interpreter on its way out
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message())
        sys.exit(2)
    except click.MissingParameter as error:
        asked = _called(error.ctx)
        _fail(f"{error.format_message()} '{asked} --help' shows what it takes, 'statveil list' what can be asked.")
    except click.ClickException as error:
        _fail(error.format_message())
    except StatveilError as error:
        _fail(str(error))
    except (click.Abort, KeyboardInterrupt):
        _say("stopped.")
        raise Stopped(2) from None
    except MemoryError:
        _fail("there is not enough memory for this; ask for less, such as fewer cells, trials or rows.")
    except OSError as error:
        if isinstance(error, FileNotFoundError) and "temporary directory" in str(error):
            # Python's own words where none of its folders takes a file; earlier versions of SciPy need one to start
            _fail("cannot write temporary files: the disk is full or read-only. Free some space, or set TMPDIR.")
        # reading and writing files has errors of its own: this is the output that someone closed, or a full disk
        done = f" What was asked for is done: {' and '.join(IN_PLACE)}, in place and whole." if IN_PLACE else ""
        _fail(f"cannot print the result: {error.strerror or error}.{done}")
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        _fail(
            f"an unexpected error, {type(error).__name__}; nothing of it says that the table or the plan is wrong. "
            f"Please report it with the command and what 'statveil --version' says; {TRACEBACK}=1 shows where it was.",
            UNEXPECTED,
        )
    sys.exit(code if isinstance(code, int) else 0)


def _called(context: click.Context | None) -> str:
    """The command with the ones that it belongs to."""
    if context is None or context.parent is None:
        return "statveil"
    return f"{_called(context.parent)} {context.info_name}"


def _check_streams() -> None:
    """A closed standard error is replaced by nothing; what a closed standard output should take is not made."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115  (open until the process ends)
    if sys.stdout is None:
        sys.stdout = sys.stderr
        _fail("standard output is closed; give it somewhere to go, such as /dev/null.")


def _fail(message: str, code: int = 2) -> NoReturn:
    """One sentence on stderr, and the end."""
    _say(message)
    sys.exit(code)


def _say(message: str) -> None:
    """One sentence on stderr, where there is one."""
    from statveil.errors import shortened

    with suppress(OSError, ValueError):
        echo("statveil: " + shortened(" ".join(message.split())), err=True)
    _flush()


def _flush() -> None:
    """What was said goes out; what a full or closed stdout still holds is dropped rather than tried again."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
