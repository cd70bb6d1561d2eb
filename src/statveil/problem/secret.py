"""What a secret is: one number of a distribution that must stay hidden."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ColumnError, ProblemError, unknown_name

if TYPE_CHECKING:
    from statveil.problem.column_numbers import ColumnNumbers
    from statveil.problem.family import Family
    from statveil.problem.location_scale import LocationScale
    from statveil.problem.ordinal import Ordinal, Shape
    from statveil.problem.structure import Structure

__all__ = ["SECRETS", "Apart", "Secret", "secret_from_json", "secret_from_text", "spellings"]

SECRETS: dict[str, type[Secret]] = {}
"""Every secret by its kind; filled when the files of ``problem/secrets`` are loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """How a secret of two groups of rows, or of two columns, moves: each by a map of its own, and all else not at all.

    Parameters
    ----------
    kind : str
        How the column is treated.
    in_rows : float or None
        W1 of all rows per unit of the secret, at most; ``None`` where it depends on the shape.
    of_logarithm : float
        Which share of the change of the secret's logarithm each of the two takes.
    parts : str
        What the two are, in words.
    """

    kind: str
    in_rows: float | None = None
    of_logarithm: float = 1.0
    parts: str = "groups"


class Secret(ABC):
    """A summary statistic to hide. Subclasses are frozen values that name their ``kind``.

    Everything that depends on which secret it is stands here: its value for parameters and for a column, how it
    follows a shift and a scaling, how it is written. A subclass in one new file is enough.
    """

    kind: ClassVar[str]
    doc: ClassVar[str]
    portable: ClassVar[bool] = True
    """Whether it can be made from its JSON object: not if it holds a Python function."""
    argument: ClassVar[str] = ""
    """What stands behind the colon where people write it (``A`` in ``quantile:A``); nothing if it takes no argument."""
    also: ClassVar[Mapping[str, str]] = {}
    """Other words that people use, and what to write instead."""
    synonyms: ClassVar[tuple[str, ...]] = ()
    """Other words for the kind, with the same argument."""
    rough: ClassVar[bool] = False
    """Whether nothing is known of it between two parameters but that it rises or falls: its risks are upper bounds."""
    of_rows: ClassVar[bool] = False
    """Whether it is a multiple of 1/n in a column of n whole numbers."""
    on_steps: ClassVar[bool] = False
    """Whether it is a value of the column, or a difference of two, so that it lies on the column's lattice."""
    of_table: ClassVar[bool] = False
    """Whether it is a number of the whole table, and not of a column."""
    of_columns: ClassVar[bool] = False
    """Whether it compares two columns, which it names itself."""
    is_share: ClassVar[bool] = False
    """Whether it is a share, which people read in per cent."""
    bounded_by_w1: ClassVar[bool] = False
    """Whether no two columns differ more in it than their W1 distance, whatever their shape."""
    most_of_range: ClassVar[float] = 1.0
    """Of the distance between two bounds of the column: the largest that a spread can be."""
    most_spread: ClassVar[float | None] = None
    """For a spread: how far rows lie from its :meth:`centre` on average at most, per unit of it; ``None``: no limit."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            SECRETS[cls.kind] = cls

    # --- its value ----------------------------------------------------------------------------
    @abstractmethod
    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Value of the secret where the family has these parameters."""

    def of_column(self, numbers: ColumnNumbers, family: Family) -> float:
        """Value of the secret for a column, from its plain numbers."""
        measured = [kind for kind, cls in SECRETS.items() if cls.of_column is not Secret.of_column]
        raise ColumnError(
            f"columns are not measured for the secret {self.label!r}: its plans are for parameters (plan.apply). "
            f"To release a column, give the secret a method 'of_column', or hide one of {', '.join(sorted(measured))}."
        )

    @property
    def levels(self) -> tuple[float, ...]:
        """Levels of the quantiles that :meth:`of_column` asks for: they are counted along with the first pass."""
        return ()

    def counted(self, family: Family) -> int | None:
        """Number of the category, or count, whose share :meth:`of_column` asks for."""
        return None

    @property
    def anchor(self) -> Secret:
        """The statistic of rows that a map moves: the secret itself, or what stands for it."""
        return self

    # --- how it follows the rows, whatever their shape ----------------------------------------
    @property
    def per_shift(self) -> float | None:
        """By how much it changes when 1 is added to every row: 0 for a spread, ``None`` where that depends on the rows.

        A statistic that states it is also multiplied by a where every row is, for every a > 0: both together let it be
        hidden without knowing the column's shape (docs/theory.md, orbits).
        """
        return None

    @property
    def most_away(self) -> float | None:
        """How far rows lie from it on average at most, per standard deviation of any shape; ``None``: no limit."""
        return None if self.times_mean is None else 1.0  # E|X - mean| <= std (Jensen)

    @property
    def times_mean(self) -> float | None:
        """How many times the mean it is, whatever the shape; ``None`` where it is something else."""
        return None

    @property
    def apart(self) -> Apart | None:
        """For a secret of two groups of rows, or of two columns: how they move; ``None`` where all rows move alike."""
        return None

    def check_stated(self, known: Structure, *, relative: bool) -> None:  # noqa: B027  (most are moved by any map)
        """Refuse a declaration, or a kind of tolerance, that goes with no map of this secret."""

    def off_by(self, row: float, numbers: ColumnNumbers) -> float:
        """How far it may be off in a column where every row may be off by ``row``."""
        return abs(self.times_mean or 1.0) * row

    def centre(self, numbers: ColumnNumbers) -> float:
        """For a spread: the point of the column about which it is stretched."""
        return numbers.mean

    def check_rows(self, rows: int) -> None:  # noqa: B027  (most secrets are about any number of rows)
        """Refuse a column of so many rows, if the secret was stated for another number of them."""

    # --- where it makes sense -----------------------------------------------------------------
    def fits(self, family: Family) -> bool:
        """Whether this kind of secret makes sense for the family."""
        return self.kind in family.secrets

    def check(self, family: Family) -> None:  # noqa: B027  (most secrets have nothing more to check)
        """Refuse this secret where it makes no sense for the family (beyond the kind)."""

    def linear(self, family: LocationScale) -> tuple[float, float] | None:
        """The secret of X = loc + scale Z as ``(a, b)``: its value is a loc + b scale; ``None`` where it is not linear.

        A statistic that moves and stretches with the column (quantile, trimmed mean, midrange) is (1, its value
        on Z); one that only stretches (a standard deviation, a range of quantiles) is (0, its value on Z).
        """
        return None

    def shape(self, family: Ordinal) -> Shape | None:
        """Its derivative in the parameter of a family of counts, and where that turns; ``None`` where none is known."""
        return None

    def moves(self, family: LocationScale) -> bool:
        """Whether the secret changes when the whole column is shifted."""
        return self.shift_rate(family) != 0

    def shift_rate(self, family: LocationScale) -> float:
        """By how much what a map moves changes when 1 is added to every row."""
        if self.anchor.per_shift is not None:
            return self.anchor.per_shift
        parts = self.anchor.linear(family)
        return 1.0 if parts is None else parts[0]

    # --- how it is written --------------------------------------------------------------------
    @property
    def label(self) -> str:
        """How people write it: ``mean``, ``quantile:0.95``."""
        return self.kind

    @property
    def text(self) -> str:
        """How people say it: ``standard deviation``, ``0.95-quantile``."""
        return self.label

    @property
    def plain(self) -> str:
        """How people say it who know no statistics; it fits between "the" and "of the column"."""
        return self.text

    @property
    def explained(self) -> str:
        """What it is, for the same people: a sentence that follows a colon. Nothing where everyone knows."""
        return ""

    @classmethod
    def examples(cls) -> tuple[Secret, ...]:
        """A few of its kind, for lists and for the conformance suite."""
        return (cls(),)

    @classmethod
    def meant(cls, text: str) -> str | None:
        """What to write instead of a word that means this secret; ``None`` for any other word."""
        return cls.also.get(text.partition(":")[0].lower())

    @classmethod
    def parse(cls, argument: str, number: Callable[[str, str], float]) -> Secret:
        """The secret from the text behind the colon; ``number`` reads a number and names it where it is none."""
        return cls()

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which :func:`secret_from_json` makes the same secret."""
        return {"kind": self.kind}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The secret that :meth:`to_json` wrote."""
        return cls(**{key: value for key, value in data.items() if key != "kind"})


def secret_from_json(data: Mapping[str, Any]) -> Secret:
    """Any secret from its JSON object."""
    kind = data.get("kind")
    if kind not in SECRETS:
        raise ProblemError(unknown_name("secret", str(kind), SECRETS))
    return SECRETS[kind].from_json(data)


def spellings() -> list[str]:
    """How each secret is written, those without an argument first."""
    found = [f"{kind}:{cls.argument}" if cls.argument else kind for kind, cls in SECRETS.items() if cls.portable]
    return sorted(found, key=lambda text: (":" in text, text))


def secret_from_text(text: str, number: Callable[[str, str], float]) -> Secret:
    """Any secret as people write it: ``mean``, ``quantile:0.95``."""
    kind, colon, argument = text.partition(":")
    if argument:
        kind = next((cls.kind for cls in SECRETS.values() if kind in cls.synonyms), kind)
        text = f"{kind}{colon}{argument}"
    for cls in SECRETS.values():
        if (meant := cls.meant(text)) is not None:
            raise ProblemError(f"unknown secret {text!r}; write {meant}. Allowed: {', '.join(spellings())}.")
    if kind not in SECRETS or not SECRETS[kind].portable:
        raise ProblemError(unknown_name("secret", kind, spellings()))
    found = SECRETS[kind]
    if colon and not found.argument:
        raise ProblemError(f"the secret {kind!r} takes no argument. Got {text!r}.")
    if found.argument and not argument:
        raise ProblemError(f"the secret {kind!r} needs an argument, such as {found.examples()[0].label}. Got {text!r}.")
    return found.parse(argument, number)
