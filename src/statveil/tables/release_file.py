"""release_file(): a plan and a file of any size in, a released file, its card and the private record out."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from statveil.errors import FileError
from statveil.planning import Plan
from statveil.tables.blocks import Array
from statveil.tables.card import card_path, make_card, read_card
from statveil.tables.files import open_table
from statveil.tables.files.opening import check_name
from statveil.tables.preparing import prepare
from statveil.tables.record import make_record, recorded_seed
from statveil.tables.release import Release
from statveil.tables.structure.group_search import Beside
from statveil.whole_file import write_whole

__all__ = ["Stage", "hash_file", "release_file"]

_TABLE, _CARD, _OLD, _OLD_CARD = "table", "card", "old", "old.card"  # names inside the folder of a run

Stage = Callable[[str, int, int | None], None]
"""Told of progress: what is done (reading, writing), rows just done, rows in all where that is known."""


def release_file(
    plan: Plan,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    column: str,
    accept: Collection[str] = (),
    round_digits: int | None = None,
    seed: int | None = None,
    record: str | os.PathLike[str] | None = None,
    shuffle: bool = False,
    overwrite: bool = False,
    protect: Collection[str | os.PathLike[str]] = (),
    progress: Stage = lambda stage, rows, total: None,
) -> Release:
    """Write ``target``, the table of ``source`` with one column released, and its card beside it.

    The file is streamed, so it may be larger than memory. It is written as ``target.partial`` and renamed at the end.

    Parameters
    ----------
    plan : Plan
        Made before, without data.
    source, target : path
        Parquet, CSV (``.gz`` too), Arrow/Feather or Excel, or a folder of Parquet files; both of the same format.
    column : str
        The column to release.
    accept, round_digits, seed, shuffle
        As for :func:`release`. In a folder of Parquet files, each file's rows are shuffled: a row stays in its file.
    record : path, optional
        Where to keep the private record (readable by its owner only). A record of the same release that is there
        already lends its secret seed.
    overwrite : bool
        Replace an existing ``target``.
    protect : collection of path
        Other files that must not be written over, such as the plan's.
    progress : callable, optional
        Told of progress.
    """
    place, out = Path(source), Path(target)
    table = open_table(place)
    private = None if record is None else Path(record)
    _check_paths(place, out, private, [Path(path) for path in protect], overwrite)
    table.position(column)
    _clear(out)
    sha256 = "" if private is None else hash_file(place)
    kept = None if private is None else recorded_seed(private, plan, column=column, sha256=sha256, shuffled=shuffle)
    if kept is not None and seed is not None:
        raise FileError(
            f"{private} holds the secret seed of this release, which a test seed would replace; leave out the seed, or "
            "name another record."
        )

    def read(labels: Sequence[str] | None) -> Iterator[Array]:
        return table.blocks(column, labels=labels, progress=lambda rows: progress("reading", rows, table.rows))

    def read_beside(labels: Sequence[str] | None) -> Beside:
        return table.beside(column, labels=labels, progress=lambda rows: progress("reading", rows, table.rows))

    prepared = prepare(
        plan,
        read,
        column=column,
        type=table.type_of(column),
        accept=accept,
        round_digits=round_digits,
        seed=seed,
        secret_seed=kept,
        beside=read_beside,
        shuffled=shuffle,
    )
    facts = make_record(plan, prepared, column=column, sha256=sha256, shuffled=shuffle)
    if private is not None:
        # before the table: a table whose seed is lost can never be made again
        write_whole(private, _text(facts), private=True)
    work = _partial(out)
    try:
        _make(work, out)
        table.write(
            work / _TABLE,
            column,
            prepared.column_map,
            labels=prepared.labels,
            round_digits=round_digits,
            shuffle=prepared.seed if shuffle else None,
            progress=lambda rows: progress("writing", rows, table.rows),
        )
        card = make_card(
            plan,
            column=column,
            accepted=prepared.accepted,
            round_digits=round_digits,
            test_seed=prepared.test_seed,
            shuffled=shuffle,
            rows=prepared.rows,
            sha256=hash_file(work / _TABLE),
        )
        write_whole(work / _CARD, _text(card))
        _publish(work, out)
    except BaseException:
        _remove(work, out)
        raise
    return Release(table=out, card=card, record=facts, notes=(*table.notes, *prepared.warnings))


def hash_file(path: Path) -> str:
    """SHA-256 of a file, or of a folder's files with their names."""
    try:
        if path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        digest = hashlib.sha256()
        for inner in sorted(entry for entry in path.rglob("*") if entry.is_file()):
            digest.update(f"{inner.relative_to(path).as_posix()}\0{hash_file(inner)}\n".encode())
        return digest.hexdigest()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from None


def _check_paths(source: Path, target: Path, record: Path | None, protect: list[Path], overwrite: bool) -> None:
    """Refuse to write over the input, over anything else that is there, or one output over another."""
    if not target.name:
        raise FileError(f"the output needs a name. Got {os.fspath(target)!r}.")
    check_name(target)
    outputs = {"the output": target, "the temporary output": _partial(target), "the card": card_path(target)}
    if record is not None:
        outputs["the record"] = record
    inputs = {"the input": source, **{f"the file {path.name}": path for path in protect}}
    try:
        _check_apart(inputs, outputs)
        if source.exists() and target.exists() and source.samefile(target):
            raise FileError(f"input and output are the same file, {target}; give the output another name.")
        if not target.parent.is_dir():
            raise FileError(f"cannot write {target}: there is no folder {target.parent}.")
        if _format(source) != _format(target) and not (source.is_dir() and not target.suffix):
            raise FileError(
                f"the output must have the input's format. Got {source.name} and {target.name}; use the same suffix."
            )
        if target.is_symlink():
            raise FileError(f"{target} is a link; name the file or folder itself.")
        if target.exists() and not overwrite:
            raise FileError(f"{target} exists and is kept; give another name, or --overwrite (overwrite=True).")
        if target.exists() and target.is_dir() != source.is_dir():
            raise FileError(f"{target} exists and is {'a folder' if target.is_dir() else 'a file'}; give another name.")
        if card_path(target).exists():
            read_card(target)  # a card of an earlier release may be replaced, any other file may not
    except (OSError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot write {target}: {getattr(error, 'strerror', None) or error}.") from None


def _check_apart(inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """No output may be, hold or lie inside an input or another output."""
    seen = {name: _real(path) for name, path in inputs.items()}
    for what, path in outputs.items():
        real = _real(path)
        for other, taken in seen.items():
            if real == taken:
                raise FileError(f"{what} would be written over {other}, {path}; give it another name.")
            if real in taken.parents:
                raise FileError(f"{what} {path} is a folder that holds {other}; write it elsewhere.")
            if taken in real.parents:
                raise FileError(f"{what} {path} lies inside {other}; write it elsewhere.")
        seen[what] = real


def _format(path: Path) -> str:
    """The suffix that says the format, ``.csv.gz`` included."""
    parts = [suffix.lower() for suffix in path.suffixes]
    last = "".join(parts[-2:]) if parts[-1:] == [".gz"] else "".join(parts[-1:])
    return {".pq": ".parquet", ".feather": ".arrow", ".ipc": ".arrow"}.get(last, last)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _partial(target: Path) -> Path:
    """The folder in which everything is made ready: after a kill, the only thing that is left behind."""
    return target.with_name(target.name + ".partial")


def _make(work: Path, target: Path) -> None:
    try:
        work.mkdir()
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}.") from None


def _clear(target: Path) -> None:
    """Remove what an earlier run left behind; an old folder that it had set aside comes back."""
    work = _partial(target)
    if (work / _OLD).exists() and not target.exists():
        _restore(work, target)
    _remove(work, target)


def _publish(work: Path, target: Path) -> None:
    """Put the table and its card in place: both new, or both as they were. A table is never there without its card."""
    for path, place in ((target, work / _OLD), (card_path(target), work / _OLD_CARD)):
        if path.exists():
            _move(path, place)
    try:
        _move(work / _CARD, card_path(target))
        _move(work / _TABLE, target)
    except BaseException:
        _remove(card_path(target), target)
        _restore(work, target)
        raise
    _remove(work, target)


def _restore(work: Path, target: Path) -> None:
    """Put an old table and its card back."""
    for path, place in ((work / _OLD, target), (work / _OLD_CARD, card_path(target))):
        if path.exists():
            _move(path, place)


def _move(path: Path, target: Path) -> None:
    try:
        path.replace(target)
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}.") from None


def _remove(path: Path, target: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}.") from None


def _text(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False) + "\n").encode()
