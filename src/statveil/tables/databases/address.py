"""Where a table in a database is, as a URL; what is shown of it never holds a password."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from statveil.errors import FileError

__all__ = ["Address", "is_address"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_OURS = ("table", "schema", "order_by")
_FILES = ("duckdb", "sqlite")
"""Databases that are one file."""
CARD = "_card"
"""What the name of a table's card adds to the table's."""


def is_address(place: Any) -> bool:
    """Whether this is the URL of a table in a database rather than a path.

    >>> is_address("duckdb:///wages.duckdb?table=wages"), is_address("wages.csv"), is_address(Path("a"))
    (True, False, False)
    """
    return isinstance(place, str) and _SCHEME.match(place) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A table in a database.

    Parameters
    ----------
    url : str
        The database, for its driver. It may hold a password: never shown.
    shown : str
        The same without user's password and without the driver's options.
    table, schema : str
        Name of the table, and of its schema where it is not the database's own choice.
    order_by : tuple of str
        Columns that say the order of the rows; the primary key by default.
    """

    url: str
    shown: str
    table: str
    schema: str | None = None
    order_by: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Address:
        """From what a user writes, such as ``postgresql://ann@host/db?table=wages``.

        >>> print(Address.parse("postgresql://ann:pass@host/db?table=wages&sslmode=require"))
        postgresql://ann@host/db?table=wages
        """
        try:
            parts = urlsplit(text)
            host = "" if parts.hostname is None else parts.netloc.rpartition("@")[2]
            parts.port  # noqa: B018  (an error where it is none)
            options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query), errors="strict")
        except ValueError:
            raise _no_address() from None
        # what comes behind may be the rest of a password
        if "@" in parts.path or "@" in parts.netloc.rpartition("@")[0] or parts.fragment:
            raise FileError(
                "the address of the database cannot be read: write @, / and # in a user's name or password as %40, %2F "
                "and %23, or leave the password to the driver (for PostgreSQL: ~/.pgpass or PGPASSWORD)."
            )
        ours = {name: [value for key, value in options if key == name] for name in _OURS}
        if len(ours["table"]) != 1 or not ours["table"][0] or len(ours["schema"]) > 1:
            raise _no_address()
        scheme = re.sub(r"^(adbc\+)?postgres$", r"\1postgresql", parts.scheme)
        others = urlencode([(key, value) for key, value in options if key not in _OURS])
        user = parts.netloc.rpartition("@")[0].partition(":")[0]
        where = f"{scheme}://{user}{'@' if user else ''}{host}{parts.path}"
        table, schema = ours["table"][0], next(iter(ours["schema"]), None)
        for name in (table, schema or "", *ours["order_by"]):
            if "\0" in name:
                raise FileError("a name in a database cannot hold a zero byte; give another one.")
        return cls(
            url=f"{scheme}://{parts.netloc}{parts.path}{'?' if others else ''}{others}",
            shown=where,
            table=table,
            schema=schema,
            order_by=tuple(ours["order_by"]),
        )

    def __str__(self) -> str:
        named = [("schema", self.schema), ("table", self.table)]
        return f"{self.shown}?{'&'.join(f'{key}={quote(value)}' for key, value in named if value is not None)}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    @property
    def scheme(self) -> str:
        """Which database it is, without the name of a driver."""
        return urlsplit(self.url).scheme.partition("+")[0]

    @property
    def product(self) -> str:
        """The database itself, however it is reached."""
        scheme = urlsplit(self.url).scheme
        return scheme.removeprefix("adbc+") if scheme.startswith("adbc+") else self.scheme

    @property
    def passwords(self) -> tuple[str, ...]:
        """What no message may show."""
        parts = urlsplit(self.url)
        given = [value for key, value in parse_qsl(parts.query) if "pass" in key.lower()]
        own = [] if parts.password is None else [parts.password, unquote(parts.password)]
        return tuple(value for value in (*own, *given) if value)

    @property
    def file(self) -> Path | None:
        """The file of a database that is one."""
        if self.product not in _FILES:
            return None
        parts = urlsplit(self.url)
        if parts.netloc or not parts.path.strip("/"):
            raise FileError(
                f"the address of a {self.scheme} file has three slashes and its path, four where the path begins with "
                f"one: {self.scheme}:///wages.db?table=wages, {self.scheme}:////data/wages.db?table=wages."
            )
        return Path(unquote(parts.path[1:]))

    def beside(self, table: str) -> Address:
        """Another table in the same place."""
        return Address(url=self.url, shown=self.shown, table=table, schema=self.schema)

    @property
    def card(self) -> Address:
        """Where the card of this table is."""
        return self.beside(self.table + CARD)

    def same(self, other: Address) -> bool:
        """Whether both are the same table, as far as the addresses tell."""
        return (self._place, self.schema, self.table) == (other._place, other.schema, other.table)

    @property
    def _place(self) -> tuple[str, str]:
        """The database, without the way in which it is reached."""
        return self.product, self.shown.partition("://")[2]


def _no_address() -> FileError:
    """Without what was given, which may hold a password."""
    return FileError(
        "this is no address of a table in a database. It is the database's URL with the name of the table: "
        "postgresql://user@host/database?table=wages, duckdb:///file.duckdb?table=wages, sqlite:///file.db?table=wages."
        " &schema=NAME and &order_by=COLUMN may follow, with other characters written as in any URL (%20 for a blank)."
    )
