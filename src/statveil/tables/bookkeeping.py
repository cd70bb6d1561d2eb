"""Who keeps the books: what a release tells a ledger, and when. Table code knows no ledger, only what one must do."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from statveil.planning import Plan

__all__ = ["Bookkeeper", "NoBooks", "Written", "source_mark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A released table that lies whole in its work folder and is about to get its place. Nothing in it is private."""

    plan: Plan
    column: str
    table: Path
    """Where it lies."""
    target: Path
    """Where it is put."""
    sha256: str
    source: str | None
    """Which input and which secret seed it was made of, by a keyed hash; ``None`` where no record keeps the key."""
    accepted: tuple[str, ...]
    shuffled: bool


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

        One is given for each column that was released, all of the same table.
        """


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


def source_mark(seed: int, sha256: str) -> str:
    """A keyed hash of an input: two that are equal have one seed and one input, and nobody else learns either.

    The seed, of 128 secret bits, is the key, so that a hash of the input can be neither compared nor searched for.

    >>> source_mark(7, "ab") == source_mark(7, "ab"), source_mark(7, "ab") == source_mark(8, "ab")
    (True, False)
    """
    return hmac.new(seed.to_bytes(16, "big"), f"statveil ledger input {sha256}".encode(), hashlib.sha256).hexdigest()
