"""Who is answered: the page that this start opened, and nobody else."""

from __future__ import annotations

import json
import re
import socket
from importlib import resources

import polars as pl
import pytest

from statveil.studio.running import listening
from tests.studio.desk import desk, staff

PATHS = ["/", "/download/x", "/static/studio.css", "/api/study", "/api/table/preview", "/api/download/record"]


@pytest.fixture(scope="module")
def open_desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gate") / "tables"
    folder.mkdir()
    staff(20).write_csv(folder / "staff.csv")
    with desk(folder) as found:
        yield found


@pytest.fixture
def stranger(open_desk):
    """Requests without anything of ours, each with the headers and cookies that a test gives."""

    def ask(method="GET", path="/api/study", *, headers=None, cookies="", **options):
        open_desk.client.cookies.clear()
        before = open_desk.client.headers.pop("x-statveil-token", None)
        try:
            given = {"cookie": cookies, **(headers or {})} if cookies else (headers or {})
            return open_desk.client.request(method, path, headers=given, follow_redirects=False, **options)
        finally:
            open_desk.client.headers["x-statveil-token"] = before

    yield ask
    open_desk.client.get("/", params={"token": open_desk.token}, follow_redirects=False)


def cookie(open_desk):
    return f"statveil-{open_desk.port}={open_desk.token}"


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_nothing_is_answered(stranger, path):
    answer = stranger(path=path)
    assert answer.status_code == 403
    assert set(answer.json()) == {"message", "field", "column"}


def test_the_cookie_alone_opens_the_page_and_no_request(open_desk, stranger):
    assert stranger(path="/api/study", cookies=cookie(open_desk)).status_code == 403
    assert stranger(path="/", cookies=cookie(open_desk)).status_code != 403
    with_header = {"x-statveil-token": open_desk.token}
    assert stranger(cookies=cookie(open_desk), headers=with_header).status_code == 200
    assert stranger(headers=with_header).status_code == 403  # and the header alone opens nothing either


@pytest.mark.parametrize("wrong", ["", "x", "A" * 22, "A" * 5000, "ä", "%00"])
def test_a_wrong_token_is_refused_wherever_it_stands(open_desk, stranger, wrong):
    assert stranger(path="/", params={"token": wrong}).status_code == 403
    assert "set-cookie" not in stranger(path="/", params={"token": wrong}).headers
    headers = {"x-statveil-token": wrong.encode()}
    assert stranger(cookies=cookie(open_desk), headers=headers).status_code == 403


def test_a_part_of_the_token_is_a_wrong_one(open_desk, stranger):
    assert stranger(path="/", params={"token": open_desk.token[:-1]}).status_code == 403


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        "https://127.0.0.1:PORT",
        "http://127.0.0.1:PORT.evil.example",
    ],
)
def test_another_origin_is_refused_even_with_the_token(open_desk, stranger, origin):
    headers = {"x-statveil-token": open_desk.token, "origin": origin.replace("PORT", str(open_desk.port))}
    for method, path in (("GET", "/api/study"), ("POST", "/api/inspect"), ("GET", "/")):
        assert stranger(method, path, cookies=cookie(open_desk), headers=headers).status_code == 403


@pytest.mark.parametrize("origin", ["http://127.0.0.1:PORT", "http://localhost:PORT"])
def test_the_own_origin_is_answered(open_desk, stranger, origin):
    headers = {"x-statveil-token": open_desk.token, "origin": origin.replace("PORT", str(open_desk.port))}
    assert stranger(cookies=cookie(open_desk), headers=headers).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:PORT", "127.0.0.1", "127.0.0.1:80", "localhost.evil:PORT", ""]
)
def test_a_name_that_someone_points_at_this_machine_is_refused(open_desk, stranger, host):
    host = host.replace("PORT", str(open_desk.port))
    headers = {"x-statveil-token": open_desk.token, "host": host}
    assert stranger(cookies=cookie(open_desk), headers=headers).status_code == 403
    assert stranger(path="/", params={"token": open_desk.token}, headers={"host": host}).status_code == 403


def test_the_token_leaves_the_address_for_a_cookie_that_no_script_reads(open_desk, stranger):
    answer = stranger(path="/", params={"token": open_desk.token})
    assert (answer.status_code, answer.headers["location"], answer.content) == (303, "/", b"")
    said = answer.headers["set-cookie"]
    assert "HttpOnly" in said
    assert "SameSite=Strict" in said


def test_tokens_have_128_bits_and_are_new_each_time():
    from statveil.studio.gate import new_token

    assert len({new_token() for _ in range(50)}) == 50
    assert all(re.fullmatch(r"[\w-]{22}", new_token()) for _ in range(50))  # 22 characters of 6 bits


@pytest.mark.parametrize("path", ["/api/study", "/api/nothing", "/", "/static/none.js", "/docs", "/openapi.json"])
def test_every_answer_is_kept_from_caches_frames_and_guesses(open_desk, path):
    headers = open_desk.client.get(path).headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


def test_refusals_carry_the_same_headers(stranger):
    assert "frame-ancestors 'none'" in stranger(headers={"host": "evil.example"}).headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json", "/static/../gate.py", "/static/%2e%2e/gate.py"])
def test_nothing_describes_the_interface_and_no_other_file_is_served(open_desk, path):
    assert open_desk.client.get(path).status_code == 404


def test_no_answer_waits_for_the_acknowledgement_of_its_head():
    """Head and body are two packets; a socket without this option holds the second one back for 40 ms."""
    with listening(0) as listener, socket.create_connection(listener.getsockname()) as _:
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP  # by which asyncio decides
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_the_first_page_asks_for_one_script_and_brings_the_study(open_desk):
    """Each request costs a browser some milliseconds, and what is asked for by a script is asked for late."""
    page = open_desk.client.get("/").text
    asked = re.findall(r'(?:src|href)="(/[^"]*)"', page)
    assert sorted(asked) == ["/static/icon.svg", "/static/studio.css", "/static/studio.js"]
    assert "{{" not in page
    study = re.search(r'<script type="application/json" id="study">(.*?)</script>', page)[1]
    assert json.loads(study) == open_desk.study
    answer = open_desk.client.get("/static/studio.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    modules = (resources.files("statveil.studio") / "static" / "js").iterdir()
    assert sorted(re.findall(r"=> \{ // (\w+\.js)$", answer.text, re.MULTILINE)) == sorted(one.name for one in modules)


def test_no_name_of_a_column_ends_the_study_in_the_page(tmp_path):
    hostile = "</script><script>alert(1)</script><!--"
    pl.DataFrame({hostile: [1, 2]}).write_csv(tmp_path / "t.csv")
    with desk(tmp_path) as found:
        found.open("t.csv")
        page = found.client.get("/").text
        assert hostile not in page
        assert page.count("<script") == page.count("</script>") == 2
        study = re.search(r'id="study">(.*?)</script>', page)[1]
        assert json.loads(study)["columns"][0]["name"] == hostile


@pytest.mark.parametrize("body", [b"", b"[]", b"nonsense", b'{"a":', b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_object_is_one_sentence(open_desk, body):
    answer = open_desk.client.post("/api/check", content=body)
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("the request is no JSON")


def test_a_request_that_is_no_upload_is_small(open_desk):
    answer = open_desk.client.post("/api/check", content=b'{"prior":"' + b"9" * (1 << 20) + b'"}')
    assert answer.status_code == 413
    assert open_desk.study["revision"]
