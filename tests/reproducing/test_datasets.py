"""The paper's data sets: what is read from files in their layouts, and the shape of the generated stand-ins."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import re
import subprocess
import sys
import zipfile
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from statveil.datasets import (
    Dataset,
    mba_stand_in,
    read_mba,
    read_salary,
    read_wwt,
    salary_stand_in,
    wwt_stand_in,
)
from statveil.errors import ColumnError, FileError, StatveilError, TableError

TITLES = ["Main_Page", 'The "best", of all', "Zürich", "a;b|c", "two\nlines", "tail, comma,", '""']


def days(count):
    return [str(dt.date(2015, 7, 1) + dt.timedelta(days=day)) for day in range(count)]


def as_csv(header, rows, **how):
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=how.pop("lineterminator", "\n"), **how).writerows([header, *rows])
    return out.getvalue()


def written(folder, text, name="train_1.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def kaggle(cells, **how):
    """A file in the layout of Kaggle; None is a gap."""
    rows = [[TITLES[row % len(TITLES)], *("" if x is None else x for x in line)] for row, line in enumerate(cells)]
    return as_csv(["Page", *days(len(cells[0]))], rows, **how)


def refused(error, *parts, reader=read_wwt, **options):
    """The call fails with a sentence that has these parts, and no trace of the engine or of what a cell holds."""

    def check(path):
        with pytest.raises(error) as caught:
            reader(path, **options)
        said = str(caught.value)
        assert type(caught.value) in (error, ColumnError), type(caught.value)
        assert all(part in said for part in parts), said
        assert said.endswith(".")
        assert not re.search("hush|polars|schema|dtype|Traceback|infer", said), said
        assert isinstance(caught.value, StatveilError)

    return check


# --- Wikipedia Web Traffic ------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("datasets")


cell = st.one_of(st.none(), st.integers(0, 10**6), st.floats(0, 1e9, allow_subnormal=False))
table = st.integers(1, 6).flatmap(lambda width: st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=table, ending=st.sampled_from(["\n", "\r\n"]), quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_page_means_are_those_of_pandas(folder, cells, ending, quoting):
    path = written(folder, kaggle(cells, lineterminator=ending, quoting=quoting))
    whole = pd.read_csv(path, index_col="Page").astype(float).dropna()
    if whole.empty:
        refused(TableError, f"none of the {len(cells)} pages", "every one")(path)
        return
    found = read_wwt(path)
    np.testing.assert_allclose(found.values, whole.to_numpy().mean(axis=1), rtol=1e-12)
    assert (found.rows_read, found.rows_kept) == (len(cells), len(whole))
    assert not found.is_stand_in


def test_a_gap_in_any_place_takes_out_that_page_alone(folder):
    cells = np.arange(1, 21).reshape(4, 5)
    for row in range(4):
        for day in range(5):
            holed = cells.tolist()
            holed[row][day] = None
            found = read_wwt(written(folder, kaggle(holed)))
            assert found.values.tolist() == np.delete(cells, row, axis=0).mean(axis=1).tolist()
            assert (found.rows_read, found.rows_kept) == (4, 3)


def test_many_chunks_keep_the_order_of_the_pages(folder):
    rng = np.random.default_rng(1)
    cells = rng.integers(0, 10_000, (6_000, 300)).astype(float)
    cells[rng.random(6_000) < 0.3, 299] = np.nan
    frame = pl.DataFrame(cells, schema=days(300), orient="row").with_columns(pl.all().fill_nan(None).cast(pl.Int64))
    path = folder / "many.csv"
    frame.insert_column(0, pl.Series("Page", [f'p{row}, "{row}"' for row in range(6_000)])).write_csv(path)
    assert path.stat().st_size > 2 * (1 << 22)
    found = read_wwt(path)
    np.testing.assert_allclose(found.values, cells[~np.isnan(cells[:, 299])].mean(axis=1), rtol=1e-13)
    assert found.rows_read == 6_000
    assert f"300 days, 2015-07-01 to {days(300)[-1]}" in found.source


def test_stray_quotes_never_merge_pages(folder):
    header = "Page,2015-07-01,2015-07-02\n"
    for page in ('"x"y', 'x""y', 'x"y"'):
        assert read_wwt(written(folder, f"{header}a,1,2\n{page},3,4\nb,5,6\n")).values.tolist() == [1.5, 3.5, 5.5]
    refused(FileError, "train_1.csv")(written(folder, f'{header}a,1,2\nx"y,3,4\nz"w,5,6\nb,7,8\n'))


def test_zero_views_are_no_gap_and_nan_is_one(folder):
    found = read_wwt(written(folder, kaggle([[0, 0], ["nan", 1], ["NaN", "nan"], [3, 4]])))
    assert found.values.tolist() == [0.0, 3.5]


def test_blank_lines_are_no_pages(folder):
    text = kaggle([[1, 2], [None, 3], [5, 6]]).replace("\nZ", "\n\n\nZ") + "\n"
    found = read_wwt(written(folder, text))
    assert (found.values.tolist(), found.rows_read) == ([1.5, 5.5], 3)


def test_other_separators_a_mark_of_utf8_and_days_in_any_order(folder):
    for mark in (";", "\t", "|"):
        assert read_wwt(written(folder, kaggle([[1, 2]], delimiter=mark))).values.tolist() == [1.5]
    assert read_wwt(written(folder, "\ufeff" + kaggle([[1, 2]]))).values.tolist() == [1.5]
    mixed = "2016-12-31,Page,2015-07-01\n4,x,8\n"
    assert read_wwt(written(folder, mixed)).values.tolist() == [6.0]
    assert "2 days, 2015-07-01 to 2016-12-31" in read_wwt(written(folder, mixed)).source


def test_a_name_with_signs_of_a_pattern_is_a_name(folder):
    written(folder, kaggle([[9, 9]]), "train_1.csv")
    assert read_wwt(written(folder, kaggle([[1, 2]]), "train_[1*].csv")).values.tolist() == [1.5]


def test_gzip_and_zip_hold_the_same_pages(folder):
    text = kaggle([[1, 2, 4], [None, 1, 1], [7, 7, 7]]).encode()
    plain = read_wwt(written(folder, text))
    packed = read_wwt(written(folder, gzip.compress(text), "train_1.csv.gz"))
    with zipfile.ZipFile(folder / "train_1.csv.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__MACOSX/._train_1.csv", b"\0\1")
        archive.writestr("inner/train_1.csv", text)
    zipped = read_wwt(folder / "train_1.csv.zip")
    assert plain.values.tolist() == packed.values.tolist() == zipped.values.tolist() == [7 / 3, 7.0]
    assert plain.source == zipped.source


def test_an_archive_that_cannot_be_used_says_why(folder):
    def archive(**files):
        with zipfile.ZipFile(folder / "a.zip", "w") as out:
            for name, text in files.items():
                out.writestr(name.replace("_csv", ".csv"), text)
        return folder / "a.zip"

    refused(FileError, "a.zip", "no CSV file", "unpack it")(archive(readme="hush"))
    refused(FileError, "2 CSV files (x.csv, y.csv)", "unpack it")(archive(x_csv="a", y_csv="b"))
    refused(FileError, "line 3 of x.csv in", "a.zip has 2 field(s)")(archive(x_csv=kaggle([[1, 2]]) + "cut,7\n"))
    refused(TableError, "x.csv in", "a.zip has neither")(archive(x_csv="hat,coat\n1,2\n"))
    good = archive(x_csv=kaggle([[1, 2]])).read_bytes()
    refused(FileError, "a.zip", "not a whole zip")(written(folder, good[:-30], "a.zip"))
    refused(FileError, "a.zip", "not a whole zip")(written(folder, good.replace(b"Main_Page", b"Main_Pig!"), "a.zip"))
    locked = bytearray(good)
    for signature, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):  # the bit that says "encrypted" in both headers
        locked[good.index(signature) + place] |= 1
    refused(FileError, "password", "unpack it")(written(folder, bytes(locked), "a.zip"))


def test_a_row_that_is_cut_or_too_long_is_refused_wherever_it_stands(folder):
    lines = kaggle([[1, 2, 3]] * 4).replace("two\nlines", "x").splitlines()
    for number in range(2, 6):
        for fields in (1, 2, 3, 5):
            damaged = list(lines)
            damaged[number - 1] = ",".join(["page", *"7777"][:fields])
            refused(FileError, f"line {number} of", f"has {fields} field(s), but the header has 4")(
                written(folder, "\n".join(damaged))
            )
    # a download that stopped within the last row
    refused(FileError, "has 3 field(s)")(written(folder, "\n".join(lines)[:-3]))


@pytest.mark.parametrize("text", ["hush", "1 2", "0x1F", "1_000", "--", "NA", "inf", "-inf", "12a"])
def test_a_cell_that_is_no_finite_number_is_named(folder, text):
    for row in range(3):
        for day in range(3):
            cells = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
            cells[row][day] = text
            refused(TableError, f"row {row + 1} of column '{days(3)[day]}'", "not a finite number", "leave it empty")(
                written(folder, kaggle(cells))
            )


def test_infinities_that_cancel_are_not_taken_for_a_gap(folder):
    refused(TableError, "row 2 of column '2015-07-01'")(written(folder, kaggle([[1, 2], ["inf", "-inf"]])))


def test_the_first_of_many_wrong_cells_is_named_across_chunks(folder):
    lines = kaggle([[1] * 300] * 9_000).replace("two\nlines", "x").splitlines()
    for row in (8_500, 6_000, 7_000):
        lines[row] = "page," + ",".join(["1"] * 200 + ["hush"] * 100)
    refused(TableError, f"row 6000 of column '{days(300)[200]}'")(written(folder, "\n".join(lines)))


@pytest.mark.parametrize(
    ("text", "error", "parts"),
    [
        ("", FileError, ["empty"]),
        ("\n", FileError, ["first line is blank"]),
        ("\xff\xfe\0\1".encode("latin-1"), FileError, ["not text in UTF-8"]),
        ("Title,2015-07-01\na,1\n", TableError, ["neither a column 'Page'", "'Title', '2015-07-01'", "YYYY-MM-DD"]),
        ("Page\na\n", TableError, ["no other column", "YYYY-MM-DD"]),
        ("Page,Day\na,1\n", TableError, ["a column 'Day'", "YYYY-MM-DD"]),
        (",Page,2015-07-01\n0,a,1\n", TableError, ["a column ''"]),
        ("Page,2015-02-30\na,1\n", TableError, ["a column '2015-02-30'"]),
        ("Page,2015-07-01,2015-07-1\na,1,2\n", TableError, ["a column '2015-07-1'"]),
        ("Page,2015-07-01,2015-07-01\na,1,2\n", TableError, ["more than one column called '2015-07-01'"]),
        ("Page,Page,2015-07-01\na,b,1\n", TableError, ["more than one column called 'Page'"]),
        ("Page,2015-07-01\n", TableError, ["none of the 0 pages"]),
        ("Page,2015-07-01\na,\nb,\n", TableError, ["none of the 2 pages"]),
        ('Page,2015-07-01\n"a,1\nb,2\n', FileError, ["opening quote without a closing one"]),
        ("mean_views\n\n\n", TableError, ["holds no number"]),
        ("mean_views\nhush\n", ColumnError, ["row 1 of column 'mean_views'"]),
    ],
)
def test_a_wrong_layout_says_what_is_wrong(folder, text, error, parts):
    refused(error, *parts)(written(folder, text))


def test_a_path_that_is_no_table_says_so(folder, tmp_path):
    refused(FileError, "nowhere.csv", "No such file")(tmp_path / "nowhere.csv")
    refused(FileError, "nowhere.zip", "No such file")(tmp_path / "nowhere.zip")
    refused(FileError, "the folder", "holds no Parquet files")(tmp_path)
    refused(FileError, "name of the table file is empty")("")
    refused(FileError, "no suffix of a known table format")(written(folder, kaggle([[1, 2]]), "train_1.txt"))
    refused(FileError, "not a whole gzip")(written(folder, b"Page,2015-07-01\na,1\n", "x.csv.gz"))
    text = gzip.compress(kaggle([[1, 2]] * 50_000).encode())
    refused(FileError, "not a whole gzip")(written(folder, text[:-100], "x.csv.gz"))
    pl.DataFrame({"Page": ["a"], "2015-07-01": [1]}).write_parquet(folder / "days.parquet")
    refused(FileError, "days.parquet", "comes as CSV")(folder / "days.parquet")


def test_means_that_were_taken_before_are_read_from_any_format(folder):
    frame = pl.DataFrame({"views_550d": [9, 5045, 3], "mean_views": [9 / 550, 5045 / 550, None]})
    frame.write_csv(folder / "means.csv")
    frame.write_parquet(folder / "means.parquet")
    for name in ("means.csv", "means.parquet"):
        found = read_wwt(folder / name)
        np.testing.assert_allclose(found.values * 550, [9, 5045], rtol=1e-13)
        assert (found.rows_read, found.rows_kept) == (3, 2)


@pytest.mark.slow
def test_the_full_layout_takes_less_than_one_gibibyte():
    script = Path(__file__).parents[2] / "benchmarks" / "kaggle_layout.py"
    printed = subprocess.run([sys.executable, str(script)], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^(\.csv\S*) +\S+ +\S+ +(\S+) +117,277$", printed, re.MULTILINE)
    assert [name for name, _ in found] == [".csv", ".csv.gz"], printed
    assert max(float(peak) for _, peak in found) < 1.0


# --- Measuring Broadband America ------------------------------------------------------------------------------------
NETUSAGE = ["unit_id", "dtime", "wan_rx_bytes", "wan_tx_bytes", "sk_rx_bytes", "sk_tx_bytes", "location_id"]


def measurements(seed=0, homes=30, rows=2_000):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "unit_id": rng.integers(100, 100 + homes, rows),
            "dtime": "2017-09-18 00:00:00",
            "wan_rx_bytes": rng.integers(0, 10**10, rows),
            "wan_tx_bytes": rng.integers(0, 10**9, rows),
            "sk_rx_bytes": 0,
            "sk_tx_bytes": 0,
            "location_id": 1,
        }
    )


def profile(folder, names):
    path = folder / "unit-profile.csv"
    path.write_text(as_csv(["Unit ID", "ISP", "State"], [[unit, isp, "TX"] for unit, isp in names.items()]))
    return path


def test_the_fccs_file_gives_the_averages_of_the_providers_homes(folder):
    data = measurements()
    isp = {
        unit: ("AT&T", "at&t DSL", "AT&Tower", "Comcast", "AT&T-IPBB")[unit % 5] for unit in data["unit_id"].unique()
    }
    data.to_csv(folder / "curr_netusage.csv", index=False)
    found = read_mba(folder / "curr_netusage.csv", homes=profile(folder, isp))
    clients = data[data["unit_id"].map(isp).isin(["AT&T", "at&t DSL", "AT&T-IPBB"])]
    gigabytes = (clients["wan_rx_bytes"] + clients["wan_tx_bytes"]) / 1e9
    np.testing.assert_allclose(found.values, gigabytes.groupby(clients["unit_id"], sort=False).mean(), rtol=1e-12)
    assert (found.rows_read, found.rows_kept) == (2_000, len(clients))
    assert found.unit == "GB a measurement"
    assert "AT&T" in found.label
    everyone = read_mba(folder / "curr_netusage.csv", provider=None)
    assert len(everyone.values) == data["unit_id"].nunique()
    assert everyone.rows_kept == 2_000
    assert "all providers" in everyone.label


def test_measurements_that_are_none_are_left_out(folder):
    data = measurements().astype({"wan_rx_bytes": object, "wan_tx_bytes": object})
    whole = data.copy()
    spoilt = {
        3: ("wan_rx_bytes", None),
        7: ("wan_tx_bytes", -1),
        11: ("wan_rx_bytes", 10**11 + 1),
        2: ("unit_id", None),
    }
    for row, (column, value) in spoilt.items():
        data.loc[row, column] = value
    data["unit_id"] = data["unit_id"].astype("Int64")
    data.to_csv(folder / "curr_netusage.csv", index=False)
    found = read_mba(folder / "curr_netusage.csv", provider=None)
    kept = whole.drop(index=list(spoilt))
    total = (kept["wan_rx_bytes"] + kept["wan_tx_bytes"]).astype(float) / 1e9
    np.testing.assert_allclose(np.sort(found.values), np.sort(total.groupby(kept["unit_id"]).mean()), rtol=1e-12)
    assert (found.rows_read, found.rows_kept) == (2_000, 2_000 - len(spoilt))


def test_the_three_layouts_agree(folder):
    rng = np.random.default_rng(3)
    gigabytes = rng.integers(1, 10**9, (5, 56)) / 1e9
    isps = ["AT&T", "Cox", "AT&T", "Cox", "AT&T"]
    long = [[home, step, gigabytes[home, step], isps[home]] for home in range(5) for step in range(56)]
    raw = [[home, "t", round(traffic * 1e9), 0, 0, 0, 1] for home, _, traffic, _ in long]
    (folder / "netusage.csv").write_text(as_csv(NETUSAGE, raw))
    (folder / "long.csv").write_text(as_csv(["home", "step", "traffic_byte_counter", "isp"], long))
    (folder / "no_home.csv").write_text(as_csv(["traffic_byte_counter", "isp"], [row[2:] for row in long]))
    averages = [[home, gigabytes[home].mean(), isps[home]] for home in range(5)]
    (folder / "homes.csv").write_text(as_csv(["home", "mean_traffic", "isp"], averages))
    pl.read_csv(folder / "long.csv").drop("isp").write_parquet(folder / "long.parquet")
    by_profile = profile(folder, dict(enumerate(isps)))
    expected = gigabytes[[0, 2, 4]].mean(axis=1)
    for name, homes, rows in (
        ("netusage.csv", by_profile, 168),
        ("long.csv", None, 168),
        ("no_home.csv", None, 168),
        ("long.parquet", by_profile, 168),
        ("homes.csv", None, 3),
    ):
        found = read_mba(folder / name, homes=homes)
        np.testing.assert_allclose(found.values, expected, rtol=1e-12, err_msg=name)
        assert found.rows_kept == rows
        assert len(read_mba(folder / name, provider=None).values) == 5
        np.testing.assert_allclose(
            read_mba(folder / name, homes=homes, provider="cox").values, gigabytes[[1, 3]].mean(axis=1), rtol=1e-12
        )


def test_a_home_that_changed_its_provider_counts_while_it_was_a_client(folder):
    rows = [[1, 2.0, "AT&T"], [1, 4.0, "AT&T"], [1, 90.0, "Cox"], [2, 5.0, "AT&T"], [2, "", "AT&T"]]
    (folder / "long.csv").write_text(as_csv(["home", "traffic_byte_counter", "isp"], rows))
    found = read_mba(folder / "long.csv")
    assert found.values.tolist() == [3.0, 5.0]
    assert (found.rows_read, found.rows_kept) == (5, 3)
    assert read_mba(folder / "long.csv", provider=None).values.tolist() == [32.0, 5.0]


def test_the_table_of_homes_may_be_a_workbook(folder):
    data = measurements(homes=6)
    data.to_csv(folder / "curr_netusage.csv", index=False)
    book = openpyxl.Workbook()
    for row in (["unit_id", "isp"], [100, "AT&T"], [103.0, "AT&T"], [101, "Cox"], [999, "AT&T"]):
        book.active.append(row)
    book.save(folder / "profile.xlsx")
    found = read_mba(folder / "curr_netusage.csv", homes=folder / "profile.xlsx")
    clients = data[data["unit_id"].isin([100, 103])]
    total = (clients["wan_rx_bytes"] + clients["wan_tx_bytes"]) / 1e9
    np.testing.assert_allclose(np.sort(found.values), np.sort(total.groupby(clients["unit_id"]).mean()), rtol=1e-12)


def test_a_wrong_broadband_table_says_what_is_wrong(folder):
    def check(text, error, *parts, **options):
        refused(error, *parts, reader=read_mba, **options)(written(folder, text, "mba.csv"))

    line = "100,2017-09-18 00:00:00,5,6,0,0,1\n"
    header = ",".join(NETUSAGE) + "\n"
    check(line * 3, TableError, "neither unit_id", "has no header", header.strip(), provider=None)
    check(header, TableError, "none of the 0 rows", provider=None)
    check(header + "100,t,,6,0,0,1\n", TableError, "none of the 1 rows", provider=None)
    check(header + line + "100,t,5\n", FileError, "line 3", "has 3 field(s)", provider=None)
    check(header + line + "100,t,hush,6,0,0,1\n", TableError, "row 2 of column 'wan_rx_bytes'", provider=None)
    check(header + line, TableError, "no column isp", "unit profile", "not the paper's selection")
    check("mean_traffic\n1\n", TableError, "no column home", homes=profile(folder, {100: "AT&T"}))
    check(header + line, TableError, "no home of", "'AT&T'", "'Cox'", homes=profile(folder, {100: "Cox"}))
    check(header + line, TableError, "of its homes: none", homes=profile(folder, {7: "AT&T"}))
    check(header + line, TableError, "needs the columns unit_id and isp", homes=written(folder, "a,b\n1,2\n", "p.csv"))
    check(header + line, FileError, "No such file", homes=folder / "nowhere.csv")
    check("traffic_byte_counter\n" + "1\n" * 57, TableError, "57 rows are not 56 in a row", provider=None)
    unnumbered = "traffic_byte_counter\n" + "1\n" * 56
    check(unnumbered, TableError, "no column home to look it up by", homes=profile(folder, {0: "AT&T"}))
    mixed = "traffic_byte_counter,isp\n" + "1,Cox\n" * 55 + "1,AT&T\n"
    check(mixed, TableError, "56 rows are not 56 in a row for each home of one provider")


# --- salaries -------------------------------------------------------------------------------------------------------
def test_salaries_are_those_of_masters_and_phds_in_two_age_groups(folder):
    rng = np.random.default_rng(5)
    data = pd.DataFrame(
        {
            "Age": rng.integers(23, 54, 400).astype(float),
            "Education Level": rng.choice(["Bachelor's", "Master's", "PhD", "Master's Degree", "High School"], 400),
            "Job Title": "Manager, senior",
            "Salary": rng.integers(8, 50, 400) * 5_000.0,
        }
    )
    data.loc[:3, "Age"] = [40, 41, 40.5, np.nan]
    data.loc[:3, "Education Level"] = "PhD"
    data.loc[5, "Salary"] = np.nan
    data.loc[6, "Education Level"] = np.nan
    data.loc[7] = np.nan
    data.to_csv(folder / "Salary Data.csv", index=False)
    data.to_parquet(folder / "salary.parquet")
    kept = data[data["Education Level"].isin(["Master's", "PhD", "Master's Degree"])].dropna()
    for name in ("Salary Data.csv", "salary.parquet"):
        found = read_salary(folder / name)
        assert found.values.tolist() == kept["Salary"].tolist()
        assert found.in_group("age <= 40").tolist() == kept["Salary"][kept["Age"] <= 40].tolist()
        assert found.in_group("age > 40").tolist() == kept["Salary"][kept["Age"] > 40].tolist()
        assert (found.rows_read, found.rows_kept) == (400, len(kept))


def test_a_wrong_salary_table_says_what_is_wrong(folder):
    def check(text, error, *parts):
        refused(error, *parts, reader=read_salary)(written(folder, text, "salary.csv"))

    check("age,salary\n1,2\n", TableError, "no column 'education' or 'education level'", "'age', 'salary'")
    check("age,education,salary\n30,Bachelor's,5\n", TableError, "none of the 1 rows", '"Bachelor\'s"')
    check("age,education,salary\n,PhD,5\n30,PhD,\n", TableError, "none of the 2 rows", "'PhD'")
    check("age,education,salary\n", TableError, "none of the 0 rows", "holds nothing")
    check("age,education,salary\n30,PhD,hush\n", ColumnError, "row 1 of column 'salary'")
    check("age,education,salary\n30,PhD\n", FileError, "line 2")


# --- the value itself -----------------------------------------------------------------------------------------------
def made(**changes):
    plain = {
        "name": "x",
        "label": "X",
        "values": [1.0, 2.0],
        "unit": "u",
        "source": "s",
        "rows_read": 9,
        "rows_kept": 2,
    }
    return Dataset(**{**plain, "is_stand_in": False, **changes})


def test_a_dataset_cannot_be_changed_from_outside():
    values = np.array([1.0, 2.0])
    found = made(values=values)
    values[0] = 7.0
    assert found.values.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        found.values[0] = 7.0
    with pytest.raises(FrozenInstanceError):
        found.label = "Y"
    assert found.says == "X: 2 values in u (2 of 9 rows kept; s)."


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"values": []}, "at least one value"),
        ({"values": [[1.0]]}, "shape"),
        ({"values": [1.0, np.nan]}, "finite"),
        ({"rows_kept": 1}, "2 values"),
        ({"rows_read": 1}, "2 values"),
        ({"groups": ("a",)}, "2 values but 1 groups"),
        ({"is_stand_in": True}, "must say 'stand-in'"),
        ({"label": "stand-in for X"}, "must say 'stand-in'"),
    ],
)
def test_a_dataset_that_contradicts_itself_is_refused(changes, part):
    with pytest.raises(TableError, match=part):
        made(**changes)


def test_an_unknown_group_is_named_with_those_there_are():
    found = made(groups=("young", "old"))
    assert found.in_group("old").tolist() == [2.0]
    with pytest.raises(TableError, match=r"'ald'; did you mean 'old'\? Allowed: old, young"):
        found.in_group("ald")


# --- stand-ins ------------------------------------------------------------------------------------------------------
SMALL, LARGE = stats.lognorm(0.75, scale=np.exp(2.6)), stats.lognorm(1.45, scale=np.exp(6.4))


@pytest.mark.parametrize("make", [wwt_stand_in, mba_stand_in, salary_stand_in])
def test_a_stand_in_says_so_and_depends_on_its_seed_alone(make):
    first, again, other = make(seed=3), make(seed=3), make(seed=4)
    assert np.array_equal(first.values, again.values)
    assert not np.array_equal(first.values, other.values)
    assert first.is_stand_in
    assert "stand-in" in first.label
    assert "stand-in" in first.says
    assert "seed 3" in first.source
    with pytest.raises(TableError, match="seed"):
        make(seed=-1)


def test_a_stand_in_has_as_many_pages_as_asked_for():
    assert len(wwt_stand_in(pages=17).values) == 17
    for wrong in (0, -3):
        with pytest.raises(TableError, match=f"pages; {wrong} were asked for"):
            wwt_stand_in(pages=wrong)


@pytest.mark.parametrize("seed", [0, 1])
def test_generated_pages_have_the_stated_shape(seed):
    values = wwt_stand_in(seed=seed).values
    assert len(values) == 117_277
    views = values * 550
    np.testing.assert_allclose(views, np.rint(views), rtol=1e-12)
    assert views.min() >= 1
    exact = 0.8 * SMALL.mean() + 0.2 * LARGE.mean()
    spread = np.sqrt(0.8 * SMALL.moment(2) + 0.2 * LARGE.moment(2) - exact**2)
    assert values.mean() == pytest.approx(exact, abs=5 * spread / np.sqrt(len(values)))
    assert stats.kstest(values, lambda x: 0.8 * SMALL.cdf(x) + 0.2 * LARGE.cdf(x)).pvalue > 1e-3
    # centre and tail of the real extract: mean 351, median 17, 0.95-quantile 1,880, skew 16
    assert values.mean() == pytest.approx(351, rel=0.1)
    assert np.median(values) == pytest.approx(17, rel=0.1)
    assert np.quantile(values, 0.95) == pytest.approx(1_880, rel=0.25)
    assert stats.skew(values) > 10


@pytest.mark.parametrize("seed", [0, 1])
def test_generated_homes_have_the_stated_shape(seed):
    values = mba_stand_in(seed=seed).values
    assert len(values) == 600
    assert stats.kstest(values, stats.gamma(2.2, scale=0.022).cdf).pvalue > 1e-3
    many = np.concatenate([mba_stand_in(seed=1_000 * seed + other).values for other in range(334)])
    assert many.mean() == pytest.approx(2.2 * 0.022, rel=0.01)
    assert stats.skew(many) == pytest.approx(2 / np.sqrt(2.2), rel=0.05)
    # the real extract: mean .0485, standard deviation .0331, 0.95-quantile .106
    assert many.mean() == pytest.approx(0.0485, rel=0.02)
    assert many.std() == pytest.approx(0.0331, rel=0.05)
    assert np.quantile(many, 0.95) == pytest.approx(0.106, rel=0.06)


@pytest.mark.parametrize("seed", [0, 1])
def test_generated_salaries_have_the_stated_shape(seed):
    found = salary_stand_in(seed=seed)
    younger, older = found.in_group("age <= 40"), found.in_group("age > 40")
    assert (len(younger), len(older), len(found.values)) == (47, 102, 149)
    assert not np.any(found.values % 5_000)
    assert found.values.min() >= 40_000
    assert found.values.max() <= 250_000
    assert younger.mean() == pytest.approx(94_000, abs=4 * 21_000 / np.sqrt(47))
    assert older.mean() == pytest.approx(160_000, abs=4 * 24_000 / np.sqrt(102))
    # two peaks: hardly anybody of one group reaches the middle of the other
    assert np.mean(younger > 160_000) < 0.02
    assert np.mean(older < 94_000) < 0.03
