"""Measuring Broadband America: the average traffic of each home (the paper's second data set, secret = 0.95-quantile).

The paper: "the average network traffic (GB/measurement) from AT&T clients". It names neither the month nor the
counters; here traffic is what the home received and sent (``wan_rx_bytes + wan_tx_bytes``), tests of the box included.
"""

from __future__ import annotations

import os

import polars as pl

from statveil.datasets.csv_stream import collect_csv
from statveil.datasets.dataset import Dataset
from statveil.datasets.small_table import find_column, numbers_of, texts_of
from statveil.datasets.unpacking import unpacked
from statveil.errors import TableError
from statveil.tables.files import TableFile, open_table

__all__ = ["PROVIDER", "STEPS", "read_mba"]

PROVIDER = "AT&T"
"""The provider that the paper selects."""

STEPS = 56
"""Measurements of each home in the public table of 600 homes, which has them in order but does not number the homes."""

_COUNTERS = ("wan_rx_bytes", "wan_tx_bytes")
_BYTES_PER_GB = 1e9
_LARGEST = 1e11  # the FCC's own cleaning takes out negative counters and counters above 100 GB
_HEADER = "unit_id,dtime,wan_rx_bytes,wan_tx_bytes,sk_rx_bytes,sk_tx_bytes,location_id"
_FILE_UNIT = "the file's own unit of traffic"
_SHOWN = 12


def read_mba(
    path: str | os.PathLike[str],
    *,
    homes: str | os.PathLike[str] | None = None,
    provider: str | None = PROVIDER,
) -> Dataset:
    """Average traffic of each home of one provider.

    Parameters
    ----------
    path : path
        One of three layouts, by column names. The FCC's ``curr_netusage.csv``: ``unit_id``, ``wan_rx_bytes`` and
        ``wan_tx_bytes``, a row a measurement, of any size. A table of measurements: ``traffic_byte_counter``, with
        ``home`` or else ``STEPS`` rows in a row for each home. A table of averages: ``mean_traffic``, a row a home.
    homes : path, optional
        The FCC's unit profile: a table with ``unit_id`` and ``isp``. Needed where the file itself has no ``isp``.
    provider : str or None
        Whose homes to keep: ``isp`` is this name, alone or followed by more ("AT&T", "AT&T DSL"), in any case. None
        keeps all homes, which is not what the paper did.

    Notes
    -----
    A measurement is left out if a counter is missing or, in the FCC's file, negative or above 100 GB.
    """
    with unpacked(path) as place:
        table = open_table(place)
        averages, rows, unit = _averages(table, by_provider=provider is not None)
        if not averages.height:
            raise TableError(f"none of the {rows:,} rows of {table.path} holds a usable measurement. Check the file.")
        if provider is not None:
            averages = _of_provider(averages, table, homes, provider)
        return Dataset(
            name="mba",
            label=f"Measuring Broadband America ({'all providers' if provider is None else provider})",
            values=averages["traffic"].to_numpy(),
            unit=unit,
            source=f"{table.path.name}: average of each home",
            rows_read=rows,
            rows_kept=int(averages["measurements"].sum()),
            is_stand_in=False,
        )


# --- the three layouts: a row a home and provider, with ``traffic`` and the number of ``measurements`` ----------------
def _averages(table: TableFile, *, by_provider: bool) -> tuple[pl.DataFrame, int, str]:
    """Averages, rows of the file, unit."""
    if all(name in table.names for name in ("unit_id", *_COUNTERS)):
        return *_from_counters(table), "GB a measurement"
    if "traffic_byte_counter" in table.names:
        return *_from_measurements(table, by_provider=by_provider), _FILE_UNIT
    if "mean_traffic" in table.names:
        return *_from_averages(table), _FILE_UNIT
    raise TableError(
        f"{table.path} has neither unit_id with {' and '.join(_COUNTERS)}, nor traffic_byte_counter, nor mean_traffic; "
        f"its columns begin with {', '.join(map(repr, table.names[:3]))}. Give the FCC's curr_netusage.csv (before "
        f"September 2016 it has no header; put the line {_HEADER} on top), or a table of measurements or averages."
    )


def _from_counters(table: TableFile) -> tuple[pl.DataFrame, int]:
    """The FCC's own file, streamed: memory grows with the homes, not with the measurements."""
    usable = pl.all_horizontal(pl.col(name).is_between(0, _LARGEST) for name in _COUNTERS)
    traffic = pl.sum_horizontal(_COUNTERS) / _BYTES_PER_GB
    return collect_csv(
        table,
        numbers=_COUNTERS,
        query=lambda scan: (
            scan.filter(usable & pl.col("unit_id").is_not_null())
            .group_by(home=pl.col("unit_id").str.strip_chars(), maintain_order=True)
            .agg(traffic=traffic.mean(), measurements=pl.len())
        ),
    )


def _from_measurements(table: TableFile, *, by_provider: bool) -> tuple[pl.DataFrame, int]:
    """A table of measurements, small enough for memory."""
    isp, home = find_column(table, "isp", "provider"), find_column(table, "home", "unit_id")
    frame = pl.DataFrame({"traffic": numbers_of(table, "traffic_byte_counter")})
    rows = frame.height
    if home is not None:
        frame = frame.with_columns(home=texts_of(table, home))
    elif rows % STEPS == 0:
        frame = frame.with_columns(home=(pl.int_range(pl.len()) // STEPS).cast(pl.String))
    if isp is not None:
        frame = frame.with_columns(isp=texts_of(table, isp))
    if "home" not in frame or (home is None and isp is not None and not _one_provider_a_home(frame)):
        raise TableError(
            f"{table.path} has no column home, and its {rows:,} rows are not {STEPS} in a row for each home of one "
            "provider. Add a column home that numbers the homes."
        )
    # a home that changed its provider is one client of each
    keys = ["home", "isp"] if isp is not None and by_provider else ["home"]
    averages = (
        frame.filter(pl.col("traffic").is_finite() & pl.col("home").is_not_null())
        .group_by(keys, maintain_order=True)
        .agg(pl.col("traffic").mean(), measurements=pl.len())
    )
    # a number that was made up here is none to look up in a table of homes
    return averages if home is not None else averages.drop("home"), rows


def _one_provider_a_home(frame: pl.DataFrame) -> bool:
    """Whether no home has two providers."""
    return frame.select("home", "isp").n_unique() == frame["home"].n_unique()


def _from_averages(table: TableFile) -> tuple[pl.DataFrame, int]:
    """A table of averages."""
    isp, home = find_column(table, "isp", "provider"), find_column(table, "home", "unit_id")
    frame = pl.DataFrame({"traffic": numbers_of(table, "mean_traffic")}).with_columns(measurements=pl.lit(1))
    rows = frame.height
    texts = {name: texts_of(table, column) for name, column in (("home", home), ("isp", isp)) if column is not None}
    return frame.with_columns(**texts).filter(pl.col("traffic").is_finite()), rows


# --- one provider -----------------------------------------------------------------------------------------------------
def _of_provider(
    averages: pl.DataFrame, table: TableFile, homes: str | os.PathLike[str] | None, provider: str
) -> pl.DataFrame:
    """The homes of the provider, by the file's own column or by the table of homes."""
    if "isp" in averages:
        kept, seen = averages.filter(_is(provider)), averages["isp"]
    elif homes is None or "home" not in averages:
        lacks = "and no column home to look it up by" if "home" not in averages else "and no table of homes was given"
        raise TableError(
            f"{table.path} does not say whose client a home is: it has no column isp, {lacks}. Give the FCC's unit "
            "profile (unit_id, isp) as homes, or ask for all providers together, which is not the paper's selection."
        )
    else:
        profile = _profile(homes)
        kept = averages.join(profile.filter(_is(provider)), on="home", how="semi", maintain_order="left")
        seen = averages.join(profile, on="home", how="inner")["isp"]
    if not kept.height:
        names = seen.drop_nulls().unique().sort().to_list()
        found = ", ".join(map(repr, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "") if names else "none"
        raise TableError(
            f"no home of {table.path} is a client of {provider!r}. Providers of its homes: {found}. Name one of them, "
            "or check that the table of homes belongs to the file."
        )
    return kept


def _is(provider: str) -> pl.Expr:
    """Whether ``isp`` is the provider's name, alone or followed by something that is no letter or digit."""
    name, wanted = pl.col("isp").str.to_lowercase(), provider.lower()
    return name.str.starts_with(wanted) & ~name.str.slice(len(wanted), 1).str.contains(r"[\p{L}\p{N}]")


def _profile(homes: str | os.PathLike[str]) -> pl.DataFrame:
    """Home and provider, from the FCC's unit profile."""
    with unpacked(homes) as place:
        table = open_table(place)
        home, isp = find_column(table, "unit_id", "home"), find_column(table, "isp", "provider")
        if home is None or isp is None:
            raise TableError(
                f"the table of homes {table.path} needs the columns unit_id and isp; its columns begin with "
                f"{', '.join(map(repr, table.names[:5]))}. Rename them, or give the FCC's unit profile."
            )
        return pl.DataFrame({"home": texts_of(table, home), "isp": texts_of(table, isp)})
