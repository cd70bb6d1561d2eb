"""Tables that the page opens: paths inside the folder alone, uploads whole or not at all, names that are only text."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
import stat
import time
from pathlib import Path

import polars as pl
import pytest

from statveil.studio import inside
from statveil.studio.refusal import Refusal
from statveil.studio.uploading import receive
from tests.studio.desk import desk, staff

MiB = 1 << 20


@pytest.fixture
def tables(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    staff(50).write_csv(folder / "staff.csv")
    staff(50).write_parquet(folder / "staff.parquet")
    (tmp_path / "outside.csv").write_text("a\n1\n2\n")
    return folder


@pytest.fixture
def at(tables):
    with desk(tables, max_upload=MiB) as found:
        yield found


def leftovers(tables: Path) -> list[Path]:
    return list((tables.parent / "tables-work").iterdir())


# --- paths ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["staff.csv", "staff.parquet"])
@pytest.mark.parametrize("full", [False, True])
def test_a_table_inside_the_folder_is_opened(at, tables, name, full):
    study = at.open(tables / name if full else name)
    assert study["table"]["name"] == name
    assert study["table"]["columns"] == 5
    preview = at("GET", "/api/table/preview?rows=3")
    wanted = staff(50).head(3)
    assert preview["names"] == wanted.columns
    assert [float(row[0]) for row in preview["rows"]] == wanted["wage"].to_list()
    assert [row[3] for row in preview["rows"]] == wanted["region"].to_list()


def test_paths_out_of_the_folder_are_refused(at, tables, tmp_path):
    (tables / "link.csv").symlink_to(tmp_path / "outside.csv")
    (tables / "way").symlink_to(tmp_path)
    for path in (
        "../outside.csv",
        str(tmp_path / "outside.csv"),
        "link.csv",
        "way/outside.csv",
        "/etc/passwd",
        "..",
        ".",
        "/",
    ):
        answer = at.open(path, status=403)
        assert answer["field"] == "path"
        assert "only files in" in answer["message"]
    assert at.study["table"] is None
    (tables / "inner.csv").symlink_to("staff.csv")
    assert at.open("inner.csv")["table"]["name"] == "staff.csv"


@pytest.mark.parametrize("path", ["", "  ", "no such.csv", "a\0b.csv", None, 7, "x" * 5000])
def test_what_is_no_path_is_one_sentence_at_the_field(at, path):
    answer = at.client.post("/api/table/path", json={"revision": at.revision, "path": path})
    assert answer.status_code in (400, 403, 404)
    assert answer.json()["field"] == "path"


def test_a_link_that_is_swapped_while_the_path_is_checked_is_refused(tables, tmp_path, monkeypatch):
    """The path is checked before it is opened; what was opened is checked again, for it may be another file."""
    real, swapped = inside.os.open, []

    def swap(path, *rest, **more):
        if str(path).endswith("staff.csv") and not swapped:
            swapped.append(path)
            (tables / "staff.csv").unlink()
            (tables / "staff.csv").symlink_to(tmp_path / "outside.csv")
        return real(path, *rest, **more)

    monkeypatch.setattr(inside.os, "open", swap)
    with pytest.raises(Refusal, match="only files in"):
        inside.open_inside("staff.csv", tables)
    assert swapped


def test_what_is_read_is_what_was_opened_whatever_becomes_of_the_name(at, tables, tmp_path):
    """After the check the name may be given to another file: the table stays the one that was opened."""
    at.open("staff.csv")
    (tables / "staff.csv").unlink()
    (tables / "staff.csv").symlink_to(tmp_path / "outside.csv")
    found = at.run("inspect")
    assert found["state"] == "done", found
    assert [column["name"] for column in at.study["columns"]] == staff(1).columns
    assert at.study["table"]["rows"] == 50


def test_a_pipe_is_refused_and_nothing_waits(at, tables):
    os.mkfifo(tables / "pipe.csv")
    assert at.open("pipe.csv", status=400)["field"] == "path"


def test_a_folder_of_parquet_files_with_a_link_in_it_is_refused(at, tables, tmp_path):
    (tables / "parts").mkdir()
    staff(20).write_parquet(tables / "parts" / "a.parquet")
    assert at.open("parts")["table"]["rows"] == 20
    staff(20).write_parquet(tmp_path / "b.parquet")
    (tables / "parts" / "b.parquet").symlink_to(tmp_path / "b.parquet")
    assert "links" in at.open("parts", status=403)["message"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.csv", b""),
        ("bad.parquet", b"PAR1 nonsense"),
        ("cut.parquet", None),
        ("table.xlsx", b"PK\x03\x04 nonsense"),
        ("what.exe", b"MZ"),
        ("noise.csv.gz", b"\x1f\x8b nonsense"),
        ("twice.csv", b"a,a\n1,2\n"),
    ],
)
def test_bad_files_are_one_sentence_at_the_field_and_nothing_is_lost(at, tables, name, content):
    at.open("staff.csv")
    at.put(0, action="hide", prior="10:80", tolerance="5%")
    (tables / name).write_bytes((tables / "staff.parquet").read_bytes()[:-50] if content is None else content)
    before = at.study
    answer = at.open(name, status=400)
    assert answer["field"] == "path"
    assert len(answer["message"]) < 400
    assert "tables-work" not in answer["message"]
    assert at.study == before
    uploaded = at.client.post(
        "/api/table/upload", params={"name": name, "revision": at.revision}, content=(tables / name).read_bytes()
    )
    assert uploaded.status_code == 400
    assert uploaded.json()["field"] == "upload"
    assert at.study == before


def test_two_gigabytes_by_path_are_opened_without_being_read(at, tables):
    """A stand-in whose rows are a hole in the file: reading it would take its size, opening it takes its head."""
    with (tables / "large.csv").open("wb") as file:
        file.write(b"a,b\n" + b"1,2\n" * 200_000)
        file.truncate(2 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    study = at.open("large.csv")
    assert study["table"]["size"] == 2 << 30
    assert at("GET", "/api/table/preview?rows=2")["rows"] == [["1", "2"], ["1", "2"]]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024  # KiB


# --- uploads -------------------------------------------------------------------------------------
def upload(at, content, name="staff.csv", **options):
    return at.client.post(
        "/api/table/upload", params={"name": name, "revision": at.revision}, content=content, **options
    )


def test_an_upload_is_the_table_and_only_its_owner_reads_it(at, tables):
    content = (tables / "staff.csv").read_bytes()
    study = upload(at, content).json()
    assert (study["table"]["name"], study["table"]["path"], study["table"]["size"]) == ("staff.csv", None, len(content))
    (place,) = leftovers(tables)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    (file,) = place.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_bytes() == content
    upload(at, (tables / "staff.parquet").read_bytes(), "other.parquet")
    assert [file.name for place in leftovers(tables) for file in place.iterdir()] == ["table.parquet"]


def chunks(total, size=1 << 16):
    def make():
        for _ in range(total // size):
            yield b"1,2\n" * (size // 4)

    return make()


@pytest.mark.parametrize("way", ["stated", "chunked"])
def test_an_upload_that_is_too_large_is_refused_and_leaves_nothing(at, tables, way):
    answer = upload(at, b"1" * (MiB + 1) if way == "stated" else chunks(4 * MiB))
    assert answer.status_code == 413
    assert answer.json()["field"] == "upload"
    assert leftovers(tables) == []
    assert upload(at, b"1" * MiB, "x.csv").status_code in (200, 400)  # the limit itself is allowed


def raw(at, *, length, sent):
    """An upload by hand, of which only a part is sent; the connection, still open."""
    line = socket.create_connection(("127.0.0.1", at.port), timeout=10)
    line.sendall(
        f"POST /api/table/upload?name=x.csv&revision={at.revision} HTTP/1.1\r\nHost: 127.0.0.1:{at.port}\r\n"
        f"Cookie: statveil-{at.port}={at.token}\r\nX-Statveil-Token: {at.token}\r\n"
        f"Content-Length: {length}\r\n\r\n".encode()
        + sent
    )
    return line


@pytest.mark.parametrize(
    ("length", "status"), [("nonsense", 400), ("-5", 400), ("1e9", 400), (2 * MiB, 413), ("9" * 19, 413)]
)
def test_a_length_that_is_none_or_too_large_is_refused_before_anything_is_kept(at, tables, length, status):
    with raw(at, length=length, sent=b"a,b\n") as line:
        assert line.recv(100).split()[1] == str(status).encode()
    assert leftovers(tables) == []
    assert at.study["table"] is None


def test_a_cut_upload_leaves_nothing_and_loses_nothing(at, tables):
    at.open("staff.csv")
    at.put(0, action="hide", prior="10:80", tolerance="5%")
    before, kept = at.study, leftovers(tables)
    line = raw(at, length=MiB // 2, sent=b"a,b\n" * 1000)
    for _ in range(200):
        if len(leftovers(tables)) > len(kept):
            break
        time.sleep(0.02)
    assert len(leftovers(tables)) == len(kept) + 1  # it has begun
    line.close()
    for _ in range(200):
        if leftovers(tables) == kept:
            break
        time.sleep(0.02)
    assert leftovers(tables) == kept
    assert at.study == before


@pytest.mark.parametrize("name", ["../../etc/x.csv", "C:\\temp\\x.csv", "a\0b.csv", "x" * 150 + ".csv", "..csv"])
def test_the_name_of_an_upload_is_only_shown(at, tables, name):
    answer = upload(at, b"a,b\n1,2\n3,4\n", name)
    assert answer.status_code == 200, answer.text
    shown = answer.json()["table"]["name"]
    assert "/" not in shown
    assert "\\" not in shown
    assert [file.name for place in leftovers(tables) for file in place.iterdir()] == ["table.csv"]


@pytest.mark.parametrize("name", ["", "..", "/", "x" * 300])
def test_a_file_without_a_usable_name_is_refused(at, tables, name):
    assert upload(at, b"a\n1\n", name).json()["field"] == "upload"
    assert leftovers(tables) == []


def test_an_upload_for_which_the_disk_has_no_room_leaves_nothing(tmp_path):
    async def full():
        yield b"a,b\n"
        raise OSError(errno.ENOSPC, "No space left on device")

    place = tmp_path / "place"
    place.mkdir()
    with pytest.raises(Refusal, match="No space left") as refused:
        asyncio.run(receive(full(), place, ".csv", stated=None, most=MiB))
    assert (refused.value.status, refused.value.field) == (507, "upload")
    assert not place.exists()


# --- names ---------------------------------------------------------------------------------------
HOSTILE = [
    "<script>alert(1)</script>",
    'x" onload="y',
    "\u202egnp.exe",
    "a\x1b[2Jb",
    "\u2028",
    "&lt;b&gt;",
    "{{token}}",
    "' or 1=1",
]


def test_hostile_names_come_back_as_text(at, tables):
    pl.DataFrame({name: [1.5, 2.5, 3.5] for name in HOSTILE}).write_parquet(tables / "hostile.parquet")
    answer = at.client.post("/api/table/path", json={"revision": at.revision, "path": "hostile.parquet"})
    assert answer.headers["content-type"] == "application/json"
    assert [column["name"] for column in answer.json()["columns"]] == HOSTILE
    for raw in (answer.content, at.client.get("/api/table/preview").content):
        assert raw.isascii()
        assert not any(mark in raw for mark in b"<>&\x1b")
    assert at("GET", "/api/table/preview")["names"] == HOSTILE
    at.put(0, action="hide", prior="1:5", tolerance="5%")
    for place in range(1, len(HOSTILE)):
        at.put(place, action="derive", expression="`<script>alert(1)</script>` * 2")
    commands = at.client.get("/api/commands")
    assert commands.headers["content-type"] == "application/json"
    assert b"<" not in commands.content
    import statveil as sv

    assert list(sv.Specification.from_toml(commands.json()["specification"]).columns) == HOSTILE


def test_a_hostile_file_name_is_no_header(at, tables):
    name = 'x"; filename="evil.exe\r\nset-cookie: a=b.csv'
    study = upload(at, (tables / "staff.csv").read_bytes(), name).json()
    assert study["table"]["name"] == name
    at.choose_staff()
    assert at.run("plan")["state"] == "done"
    answer = at.client.get("/api/download/specification")
    assert "set-cookie" not in answer.headers
    assert answer.headers["content-disposition"].isascii()
    assert answer.headers["content-disposition"].count('"') == 2
