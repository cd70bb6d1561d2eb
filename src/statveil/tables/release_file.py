"""release_file(): a plan and a file of any size in, a released file, its card and the private record out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

from statveil.errors import FileError, StatveilError, TableError, cannot
from statveil.made_plan import Plan
from statveil.tables.ahead import started
from statveil.tables.bookkeeping import Bookkeeper, NoBooks, Written, source_mark
from statveil.tables.card import card_path, read_card
from statveil.tables.changes import Changes
from statveil.tables.databases.address import is_address
from statveil.tables.files import open_table
from statveil.tables.files.opening import check_name, format_of
from statveil.tables.files.table_file import TableFile, WatchedFile
from statveil.tables.fingerprint import Fingerprint, fingerprint, refuse_change, unchanged
from statveil.tables.hashing import hash_file
from statveil.tables.publishing import publish, recover, table_in
from statveil.tables.record import Lent, recorded
from statveil.tables.release import Release, column_task, rows_task
from statveil.tables.source import Progress
from statveil.tables.task import Ready, Task
from statveil.whole_file import Named, check_apart, check_folder, is_special, names_folder, put_whole, write_whole
from statveil.work_folder import empty, work_folder, work_folder_of

__all__ = ["Stage", "release_file", "release_to"]

Stage = Callable[[str, int, int | None], None]
"""Called with progress: what is done (reading, writing), rows just done, rows in all where that is known."""

Opened = Callable[[Path], TableFile]
"""Opens the table of a path."""


def release_file(
    plan: Plan,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    column: str | None = None,
    accept: Collection[str] = (),
    round_digits: int | None = None,
    seed: int | None = None,
    record: str | os.PathLike[str] | None = None,
    shuffle: bool = False,
    overwrite: bool = False,
    protect: Collection[str | os.PathLike[str]] = (),
    ledger: Bookkeeper | None = None,
    opened: Opened = open_table,
    progress: Stage = lambda stage, rows, total: None,
) -> Release:
    """Write ``target``, the table of ``source`` with one column released, and its card beside it.

    The file is streamed, so it may be larger than memory. It is written in a folder of our own beside ``target``,
    checked there as :func:`verify_file` would, and put in place at the end together with its card.

    Parameters
    ----------
    plan : Plan
        Made before, without data.
    source, target : path
        Parquet, CSV (``.gz`` too), Arrow/Feather or Excel, or a folder of Parquet files; both of the same format. Or
        tables in databases by their URLs, such as ``postgresql://host/db?table=wages``: the new table and its card
        are written in one transaction. The other of the two may be a Parquet file then.
    column : str
        The column to release; none where the plan hides the number of rows, or names two columns itself.
    accept, round_digits, seed, shuffle
        As for :func:`release`. In a folder of Parquet files, each file's rows are shuffled: a row stays in its file.
    record : path, optional
        Where to keep the private record (readable by its owner only). A record of the same release that is there
        already lends its secret seed.
    overwrite : bool
        Replace an existing ``target``, which must be a release: a table with its card beside it.
    protect : collection of path
        Other files that must not be written over, such as the plan's.
    ledger : Bookkeeper, optional
        Who keeps account of the releases, such as ``sv.Ledger("books.db").keeper(dataset="salaries")``: it refuses what
        would pass a budget before any data is read, and has an entry before the output gets its name.
    opened : callable, optional
        Who opens the files, such as :func:`statveil.tables.spark.spark_file.open_spark`.
    progress : callable, optional
        Called with what is done, rows just done, and rows in all where that is known.
    """
    task: Task
    if isinstance(plan, Plan) and plan.release_mode.of_table:
        task = rows_task(plan, seed, accept=accept, column=column, round_digits=round_digits)
    else:
        task = column_task(
            plan,
            column=None if column is None else str(column),
            accept=accept,
            round_digits=round_digits,
            seed=seed,
            shuffle=shuffle,
        )
    return release_to(
        task,
        source,
        target,
        record=record,
        overwrite=overwrite,
        protect=protect,
        ledger=ledger,
        opened=opened,
        progress=progress,
    )


def release_to(
    task: Task,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    record: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    protect: Collection[str | os.PathLike[str]] = (),
    ledger: Bookkeeper | None = None,
    opened: Opened = open_table,
    progress: Stage = lambda stage, rows, total: None,
) -> Release:
    """Write ``target``, the table of ``source`` released as the task says, and its card beside it."""
    books = NoBooks() if ledger is None else ledger
    for column, plan in task.plans.items():
        books.admit(plan, column=column, recorded=record is not None)
    private = None if record is None else Path(record)
    protected = [Path(path) for path in protect]
    if is_address(source) or is_address(target):
        return _by_database(task, os.fspath(source), os.fspath(target), private, overwrite, protected, books, progress)
    place, out = Path(source), Path(target)
    before = fingerprint(place)
    table = opened(place)
    as_folder = place.is_dir() or table.as_folder
    if names_folder(target) and not as_folder:
        raise FileError(
            f"{os.fspath(target)} names a folder, but the input is a file; give the name of a file, without a slash at "
            "its end."
        )
    _check_paths(place, out, private, protected, books.files, as_folder)
    return _to_file(
        task,
        table,
        out,
        as_folder=as_folder,
        private=private,
        before=before,
        overwrite=overwrite,
        books=books,
        opened=opened,
        progress=progress,
    )


def _by_database(
    task: Task,
    source: str,
    target: str,
    private: Path | None,
    overwrite: bool,
    protect: list[Path],
    books: Bookkeeper,
    progress: Stage,
) -> Release:
    """The same where the input, the output or both are tables in databases."""
    from statveil.tables.databases.address import Address
    from statveil.tables.databases.releasing import DatabaseOutlet, check_places
    from statveil.tables.databases.releasing import opened as spooled

    check_places(source, target, private, protect, books)
    before = {} if is_address(source) else fingerprint(Path(source))
    table = spooled(source, target, lambda rows: progress("reading", rows, None))
    if not is_address(target):
        before, out = fingerprint(table.path), Path(target)
        check_folder(out)
        return _to_file(
            task,
            table,
            out,
            as_folder=False,
            private=private,
            before=before,
            overwrite=overwrite,
            books=books,
            opened=open_table,
            progress=progress,
        )
    before = before or fingerprint(table.path)
    outlet = DatabaseOutlet(Address.parse(target), table, overwrite=overwrite)
    with ExitStack() as held:
        held.enter_context(outlet.held())
        keep = None if private is None else held.enter_context(_kept(private))
        outlet.check()
        task.check(table)
        return _release(task, table, outlet, private=private, keep=keep, before=before, books=books, progress=progress)


def _to_file(
    task: Task,
    table: TableFile,
    out: Path,
    *,
    as_folder: bool,
    private: Path | None,
    before: Fingerprint,
    overwrite: bool,
    books: Bookkeeper,
    opened: Opened,
    progress: Stage,
) -> Release:
    """The release of an input that was opened and found to be apart from all outputs, to a file or folder."""
    try:
        with ExitStack() as held:
            folder = held.enter_context(work_folder(out))
            with books.mending(out, folder):
                recover(folder, out)
            # before anything is refused: what a killed run left beside the record goes too
            keep = None if private is None else held.enter_context(_kept(private))
            _check_target(out, as_folder, overwrite)
            task.check(table)
            table.work_in(folder)
            outlet = _FileOutlet(folder, out, opened=opened, replace=overwrite, hash_of=table.hash_of)
            return _release(
                task, table, outlet, private=private, keep=keep, before=before, books=books, progress=progress
            )
    except OSError as error:
        raise cannot(f"write {out}", error) from None


class Outlet(Protocol):
    """Where a release goes, and how it is put there whole."""

    fresh: Path
    """Where it is made ready."""

    @property
    def target(self) -> Path | None:
        """The file that it will be, where it is one."""

    @property
    def named(self) -> Any:
        """What it is called when it is there."""

    def digest(
        self, changes: Changes, check: Callable[[Callable[[], TableFile]], None], progress: Progress | None
    ) -> str:
        """Check what is ready, and its hash."""

    def publish(self, card: bytes) -> None:
        """Put it in place together with its card."""


class _FileOutlet:
    """A file or folder that is made ready in its work folder."""

    def __init__(
        self, folder: Path, out: Path, *, opened: Opened, replace: bool, hash_of: Callable[[Path], str]
    ) -> None:
        self._folder, self._opened, self._replace, self._hash_of = folder, opened, replace, hash_of
        self.target = self.named = out
        self.fresh = table_in(folder, out)

    def digest(
        self, changes: Changes, check: Callable[[Callable[[], TableFile]], None], progress: Progress | None
    ) -> str:
        with ThreadPoolExecutor(1) as beside:  # one core hashes while the others read the table back
            digest = beside.submit(self._hash_of, self.fresh)
            check(lambda: self._opened(self.fresh))
        return digest.result()

    def publish(self, card: bytes) -> None:
        publish(self._folder, self.target, card, replace=self._replace)


def _release(
    task: Task,
    table: TableFile,
    outlet: Outlet,
    *,
    private: Path | None,
    keep: Callable[[bytes], None] | None,
    before: Fingerprint,
    books: Bookkeeper,
    progress: Stage,
) -> Release:
    """The release itself, in a work folder that nobody else uses."""
    place, fresh = table.path, outlet.fresh
    sha256 = "" if private is None else table.hashed()
    lent = None if private is None else _recorded(task, table, private, sha256)
    with unchanged(place, before):
        ready = task.ready(table, sha256=sha256, lent=lent, progress=lambda rows: progress("reading", rows, table.rows))
    rows = table.rows
    records = [ready.record] if ready.settle is None else []
    if keep is not None and records:
        # before the table: a table whose seed is lost can never be made again
        keep(_text(ready.record))
    with unchanged(place, before), ready.refused_first():
        _write(table, fresh, ready, lambda rows: progress("writing", rows, table.rows))
    kept: set[int | None] = {rows, table.rows} if ready.changes.keep is None else {ready.changes.keep}

    def check(written: Callable[[], TableFile]) -> None:
        """What was written, and, of a long table, what was seen of the other columns meanwhile."""
        settling = started(ready.settle) if ready.settle is not None and not records else None
        failed: StatveilError | None = None
        try:
            _check_written(written, fresh.parent, task, ready.card(None), kept)
        except StatveilError as error:
            failed = error
        if settling is not None:
            records.append(settling.result())
            if keep is not None:
                keep(_text(records[0]))
        if failed is not None:
            raise failed

    digest = outlet.digest(ready.changes, check, lambda rows: progress("publishing", rows, table.rows))
    card = ready.card(digest)
    refuse_change(place, before)
    known = private is not None and task.seed is None
    written = [
        Written(
            plan=plan,
            column=column,
            table=fresh,
            target=outlet.target,
            sha256=card["sha256"],
            source=source_mark(ready.seed, sha256) if known else None,
            accepted=ready.accepted.get(column, ()),
            shuffled=ready.shuffle is not None,
        )
        for column, plan in task.plans.items()
    ]
    with books.entered(*written):
        outlet.publish(_text(card))
    notes = (*table.notes, *ready.notes, *books.notes)
    return Release(table=outlet.named, card=card, record=records[0], notes=notes, to_check=ready.to_check)


def _write(table: TableFile, fresh: Path, ready: Ready, progress: Progress) -> None:
    if ready.watch is None:
        table.write(fresh, ready.changes, shuffle=ready.shuffle, progress=progress)
    else:
        assert isinstance(table, WatchedFile)
        table.write(fresh, ready.changes, shuffle=ready.shuffle, progress=progress, watch=ready.watch)


def _recorded(task: Task, table: TableFile, private: Path, sha256: str) -> Lent | None:
    """What the record of earlier releases of the same lends, where it is there already."""
    earlier = recorded(private)
    if earlier is None:
        return None
    try:
        lent = task.recorded(earlier, table, sha256=sha256)
    except FileError as error:
        raise FileError(f"{private}: {error}") from None
    if lent is not None and task.seed is not None:
        raise FileError(
            f"{private} holds the secret seed of this column, which a test seed would replace; leave out the seed, or "
            "name another record."
        )
    return lent


@contextmanager
def _kept(record: Path) -> Iterator[Callable[[bytes], None]]:
    """How to write the record, which no other run can use meanwhile: two would draw two seeds, and one be lost."""
    real = _real(record)
    if is_special(real):
        yield lambda content: write_whole(record, content, private=True)
        return
    with work_folder(real) as folder:
        empty(folder)

        def keep(content: bytes) -> None:
            try:
                put_whole(real, content, folder=folder, private=True)
            except OSError as error:
                raise cannot(f"write {record}", error) from None

        yield keep


def _check_written(
    opened: Callable[[], TableFile], folder: Path, task: Task, card: dict[str, Any], rows: set[int | None]
) -> None:
    """Nothing is published that would not pass ``verify``, or has other rows than were read."""
    try:
        written = opened()
        written.work_in(folder)
        wrong = next((check.says for check in task.checks(written, card) if not check.ok), None)
    except StatveilError as error:
        wrong = str(error).replace(f"{folder}{os.sep}", "")
    else:
        if wrong is None and rows != {written.rows}:
            wrong = "It does not have as many rows as were read."
    if wrong is not None:
        raise TableError(
            f"the written table does not pass its own check, so nothing was published. {wrong} The input may have "
            "changed meanwhile, or lie at the edge of what the plan can release."
        )


def _check_paths(
    source: Path, target: Path, record: Path | None, protect: list[Path], books: Sequence[Path], as_folder: bool
) -> None:
    """Refuse to write over the input, or one output over another."""
    if not target.name:
        raise FileError(f"the output needs a name. Got {os.fspath(target)!r}.")
    check_name(target)
    outputs: list[Named] = [
        ("the output", target),
        ("the temporary output", work_folder_of(target)),
        ("the card", card_path(target)),
    ]
    if record is not None:
        outputs.append(("the record", record))
    # what keeps account is written too
    outputs += [("the ledger's file", path) for path in books]
    inputs: list[Named] = [("the input", source), *(("the file", path) for path in protect)]
    try:
        check_apart(inputs, outputs)
        if source.exists() and target.exists() and source.samefile(target):
            raise FileError(f"input and output are the same file, {target}; give the output another name.")
        check_folder(target)
        if record is not None:
            check_folder(record)
        if format_of(source) != format_of(target) and not (as_folder and not target.suffix):
            raise FileError(
                f"the output must have the input's format. Got {source.name} and {target.name}; use the same suffix."
            )
    except (OSError, ValueError) as error:
        raise cannot(f"write {target}", error) from None


def _check_target(target: Path, as_folder: bool, overwrite: bool) -> None:
    """Refuse to write over anything that is there, but for an earlier release where that is asked for."""
    try:
        if target.is_symlink():
            raise FileError(f"{target} is a link; name the file or folder itself.")
        if target.exists() and not overwrite:
            raise FileError(f"{target} exists and is kept; give another name, or --overwrite (overwrite=True).")
        if target.exists() and target.is_dir() != as_folder:
            raise FileError(f"{target} exists and is {'a folder' if target.is_dir() else 'a file'}; give another name.")
        if card_path(target).exists():
            try:
                card = read_card(target)  # a card of an earlier release may be replaced, any other file may not
            except FileError as error:
                raise FileError(
                    f"{error} It stands in the way of the card; move it away, or give another name."
                ) from None
            if target.is_dir() and hash_file(target) != card.get("sha256"):
                raise FileError(
                    f"{target} is not the folder that its card was made for: files in it were changed, added or "
                    "removed. Replacing it would delete them; move it away, or give another name."
                )
        elif target.exists():
            raise FileError(
                f"{target} exists and is no release: there is no card {card_path(target).name} beside it. Only a "
                "release is replaced; move it away, or give another name."
            )
    except (OSError, ValueError) as error:
        raise cannot(f"write {target}", error) from None


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _text(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False) + "\n").encode()
