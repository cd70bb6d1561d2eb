"""One interface for every attacker: a view in, candidates for the secret out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View

__all__ = ["ATTACKERS", "Attacker"]

ATTACKERS: dict[str, type[Attacker]] = {}
"""Every attacker by name; filled when the files of ``auditing/attackers`` are loaded."""


class Attacker(ABC):
    """Guesses the secret from a released table.

    A subclass in one new file is enough: naming it puts it into ``audit`` and the command line. It gets a
    :class:`View`, which holds nothing but what a receiver has.
    """

    name: ClassVar[str]
    doc: ClassVar[str]
    """What it uses, in a few words."""
    remedy: ClassVar[str]
    """What the holder can do when it succeeds."""
    of_groups: ClassVar[bool] = False
    """Whether it can attack two groups that moved apart; all others are asked about each of them alone."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            ATTACKERS[cls.name] = cls

    @abstractmethod
    def applies(self, view: View) -> bool:
        """Whether the view has what this attacker needs (a mode, a piece of knowledge, another column)."""

    @abstractmethod
    def attack(self, view: View) -> Posterior | None:
        """Candidates for the secret of the original table; ``None`` where the view gives this attacker nothing.

        Where the evidence is not conclusive an attacker falls back on :func:`statveil.auditing.inversion.inverted`.
        """
