"""What the studio refuses: a status, one sentence, and where it belongs on the page."""

from __future__ import annotations

from typing import Any

from statveil.errors import shortened
from statveil.spoken import harmless

__all__ = ["Refusal"]


class Refusal(Exception):  # noqa: N818  (what is refused is no mistake of the program)
    """A request that is not carried out.

    Parameters
    ----------
    message : str
        One sentence.
    status : int
        Of HTTP.
    field : str, optional
        The field of the page that it is about.
    column : int, optional
        The column that it is about, by its place in the table.
    more : dict, optional
        What else the answer holds.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        field: str | None = None,
        column: int | None = None,
        more: dict[str, Any] | None = None,
    ) -> None:
        # a sentence that quotes a name shows its control characters, and is one line
        super().__init__(harmless(shortened(" ".join(message.split()))))
        self.status, self.field, self.column, self.more = status, field, column, more or {}

    def to_json(self) -> dict[str, Any]:
        """The answer."""
        return {"message": str(self), "field": self.field, "column": self.column, **self.more}
