"""Who keeps the books: what a release tells a ledger, and when. Table code knows no ledger, only what one must do."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from statveil.errors import TableError
from statveil.made_plan import Plan

__all__ = ["Bookkeeper", "Books", "NoBooks", "Written", "books_of", "source_mark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A released table that is whole and about to be handed over. Nothing in it is private.

    A file lies in its work folder until then; a table in memory is nowhere but in this process.
    """

    plan: Plan
    column: str
    sha256: str
    """Of the file, or of what is in a table in memory."""
    source: str | None
    """Which input and which secret seed it was made of, by a keyed hash; ``None`` where no record keeps the key."""
    accepted: tuple[str, ...]
    shuffled: bool
    table: Path | None = None
    """Where a file lies."""
    target: Path | None = None
    """Where it is put."""


@runtime_checkable
class Bookkeeper(Protocol):
    """What keeps account of the releases of a dataset."""

    @property
    def files(self) -> Sequence[Path]:
        """Files that the books are in: no output may take their place."""

    @property
    def notes(self) -> Sequence[str]:
        """What the holder should be told of the entries that were made."""

    def admit(self, plan: Plan, *, column: str, recorded: bool) -> None:
        """Refuse what must not be released, before any data is read; ``recorded`` says whether a record is kept."""

    def mending(self, target: Path, folder: Path) -> AbstractContextManager[None]:
        """Around the mending of what a killed run left of ``target`` in its work folder, which the caller holds."""

    def entered(self, *written: Written) -> AbstractContextManager[None]:
        """Around the putting in place: entries stand before the output has its name, and are finished after.

        One is given for each column that was released, all of the same table. One in memory is handed over after this.
        """


@runtime_checkable
class Books(Protocol):
    """A ledger: it says who keeps account of a dataset."""

    def keeper(self, *, dataset: str, budget: float | None = ..., audience: str = ...) -> Bookkeeper:
        """Who keeps account of one release."""


class NoBooks:
    """Nobody keeps account."""

    files: Sequence[Path] = ()
    notes: Sequence[str] = ()

    def admit(self, plan: Plan, *, column: str, recorded: bool) -> None:
        """Everything may be released."""

    def mending(self, target: Path, folder: Path) -> AbstractContextManager[None]:
        """Nothing to do."""
        return nullcontext()

    def entered(self, *written: Written) -> AbstractContextManager[None]:
        """Nothing to do."""
        return nullcontext()


def books_of(ledger: Any, *, dataset: str | None, budget: float | None, audience: str | None) -> Bookkeeper:
    """Who keeps account of a release: nobody, a ledger for a dataset, or a keeper who was made for one before.

    >>> books_of(None, dataset=None, budget=None, audience=None).notes
    ()
    """
    given: dict[str, Any] = {"dataset": dataset, "budget": budget, "audience": audience}
    said = {name: value for name, value in given.items() if value is not None}
    if ledger is None:
        if said:
            raise TableError(f"{next(iter(said))} is for a release that is entered in a ledger; give it as ledger=...")
        return NoBooks()
    if isinstance(ledger, Bookkeeper):
        if said:
            raise TableError(f"a ledger's keeper knows its dataset itself; leave out {', '.join(said)}.")
        return ledger
    if not isinstance(ledger, Books):
        raise TableError(f"ledger must be a ledger, such as sv.Ledger('books.db'). Got {type(ledger).__name__}.")
    if dataset is None:
        raise TableError("a ledger counts releases of a dataset; give its name: dataset=...")
    return ledger.keeper(**said)


def source_mark(seed: int, sha256: str) -> str:
    """A keyed hash of an input: two that are equal have one seed and one input, and nobody else learns either.

    The seed, of 128 secret bits, is the key, so that a hash of the input can be neither compared nor searched for.

    >>> source_mark(7, "ab") == source_mark(7, "ab"), source_mark(7, "ab") == source_mark(8, "ab")
    (True, False)
    """
    return hmac.new(seed.to_bytes(16, "big"), f"statveil ledger input {sha256}".encode(), hashlib.sha256).hexdigest()
