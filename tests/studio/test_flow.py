"""From a table to its release: the same bytes as the command line makes, and a server that outlives whatever fails."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import polars as pl
import pytest

import statveil as sv
from tests.studio.desk import desk, staff, started


def planned(at):
    at.choose_staff()
    found = at.run("plan")
    assert found["state"] == "done", found
    return at.study


@pytest.fixture(scope="module", params=["csv", "parquet"])
def released(request, tmp_path_factory):
    """A study that was planned and released, with what was downloaded of it."""
    folder = tmp_path_factory.mktemp(request.param) / "tables"
    folder.mkdir()
    source = folder / f"staff.{request.param}"
    getattr(staff(), f"write_{request.param}")(source)
    with desk(folder, children=request.param == "csv") as at:
        at.open(source.name)
        assert at.run("inspect")["state"] == "done"
        study = planned(at)
        assert study["plan"]["frozen"]
        assert at.run("release")["state"] == "done"
        yield at, source


def test_a_proposal_is_what_the_draft_of_the_command_line_has(released):
    at, source = released
    import tomllib

    drafted = tomllib.loads(sv.draft_specification(source))["columns"]
    for column in at.study["columns"]:
        wanted, proposal = drafted[column["name"]], column["proposal"]
        assert proposal["action"] in wanted
        if "derive" in wanted:
            assert proposal["expression"] == wanted["derive"]
        if "hide" in wanted:
            assert (proposal["secret"], proposal.get("known")) == (wanted["hide"], wanted.get("known"))
    told = at.study["columns"][0]["telling"]
    assert any("lwage" in words for words in told)


def test_the_released_table_is_that_of_the_command_line(released, tmp_path, cli, monkeypatch):
    """The specification and the record that the page gives, and the commands that it shows, make the same bytes."""
    at, source = released
    folder = tmp_path / "again"
    folder.mkdir()
    shown = at("GET", "/api/commands")
    assert shown["specification"].encode() == at.download("specification")
    (folder / "spec.toml").write_text(shown["specification"])
    (folder / "record.json").write_bytes(at.download("record"))
    monkeypatch.chdir(folder)
    target = None
    for line in shown["shell"].splitlines()[:3]:
        words = shlex.split(line)
        code, _, err = cli(*words[1:])
        assert (words[0], code, err) == ("statveil", 0, "")
        target = words[4] if words[1] == "release" else target
    assert target == f"staff-released{source.suffix}"
    assert (folder / target).read_bytes() == at.download("table")
    assert (folder / "plans.json").read_bytes() == at.download("plan")
    ours, theirs = (json.loads(text) for text in (at.download("card"), (folder / f"{target}.card.json").read_text()))
    assert ours == theirs
    assert "planned_again" not in ours


def test_the_python_code_runs_as_it_is_shown(released, tmp_path, monkeypatch):
    at, source = released
    monkeypatch.chdir(tmp_path)
    shown = at("GET", "/api/commands")
    (tmp_path / "spec.toml").write_text(shown["specification"])
    (tmp_path / "record.json").write_bytes(at.download("record"))
    lines = [line for line in shown["python"].splitlines() if "audit" not in line and "found" not in line]
    exec("\n".join(lines), {})
    assert (tmp_path / f"staff-released{source.suffix}").read_bytes() == at.download("table")


def test_before_and_after_are_those_of_the_two_tables(released, tmp_path):
    at, source = released
    found = at("GET", "/api/comparison/0")
    (tmp_path / source.name).write_bytes(at.download("table"))
    read = pl.read_csv if source.suffix == ".csv" else pl.read_parquet
    before, after = read(source), read(tmp_path / source.name)
    for name, table in (("before", before), ("after", after)):
        wage = table["wage"].to_numpy()
        edges = found["histogram"]["edges"]
        assert sum(found["histogram"][name]) == len(wage)
        assert found["histogram"][name] == np.histogram(wage, edges)[0].tolist()
        assert found["quantiles"][name][50] == pytest.approx(np.median(wage))
        (by,) = found["group_means"]
        means = dict(table.group_by("region").agg(pl.col("wage").mean()).rows())
        assert {one["label"]: pytest.approx(one[name]) for one in by["groups"]} == means
        hours = next(one for one in found["correlations"] if one["with"] == "hours")
        assert hours[name] == pytest.approx(np.corrcoef(wage, table["hours"].to_numpy())[0, 1])
    assert at("GET", "/api/comparison/2", status=404)["column"] == 2


def test_a_reload_in_the_middle_finds_everything(released):
    at, _ = released
    with httpx.Client(base_url=at.client.base_url) as other:
        other.get("/", params={"token": at.token})
        again = other.get("/api/study", headers={"x-statveil-token": at.token}).json()
    assert again == at.study
    assert (again["step"], again["release"]["state"]) == (4, "done")


def test_what_is_not_made_yet_is_not_found(released):
    at, _ = released
    for what in ("audit", "nothing", "..%2Frecord"):
        assert at.client.get(f"/api/download/{what}").status_code == 404
        assert at.client.post(f"/api/download/{what}").status_code == 404
    at("GET", "/api/findings", status=404)


def test_a_file_is_downloaded_by_an_address_that_serves_once(released):
    """The browser fetches it itself, without the header that only the page can send; the page's cookie is asked for."""
    at, _ = released
    address = at("POST", "/api/download/table")["address"]
    with httpx.Client(base_url=at.client.base_url) as other:
        assert other.get(address).status_code == 403
        other.get("/", params={"token": at.token})
        assert other.post("/api/download/table").status_code == 403  # which takes the header
        assert other.get(address).content == at.download("table")
        assert other.get(address).status_code == 404
        assert other.get("/download/another").status_code == 404


def test_a_frozen_plan_is_not_changed_by_the_way(released):
    at, _ = released
    before = at.study
    for call in (
        lambda: at.put(0, status=400, prior="1:5"),
        lambda: at("POST", "/api/plan", {"revision": at.revision}, status=400),
    ):
        assert "frozen" in call()["message"]
    assert at.study == before


def test_an_audit_says_what_the_library_says(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    staff(200).write_parquet(folder / "staff.parquet")
    with desk(folder, report=True) as at:
        at.open("staff.parquet")
        planned(at)
        assert at.run("release")["state"] == "done"
        assert at.run("audit", trials=200)["state"] == "done"
        found = at("GET", "/api/findings")
        assert found["verdict"] == at.study["audit"]["verdict"]
        (column,) = found["columns"]
        assert column["index"] == 0
        for one in column["attackers"]:
            assert one["low"] <= one["rate"] <= one["high"]
            assert one["claimed"] == pytest.approx(at.study["plan"]["columns"][0]["risk"])
        assert "private" in at.download("audit").decode().lower()
        report = at.download("report").decode()
        assert "staff-released.parquet" in report
        assert str(column["attackers"][0]["attacker"]) in report
        # planning again after that: confirmed, and on the card, which verify knows
        at("POST", "/api/unfreeze", {"revision": at.revision}, status=400)
        study = at("POST", "/api/unfreeze", {"revision": at.revision, "confirm": True})
        assert study["replanned"]
        assert study["release"] is study["audit"] is study["plan"] is None
        at.put(0, max_risk=0.3)
        assert at.run("plan")["state"] == "done"
        assert at.run("release")["state"] == "done"
        card = json.loads(at.download("card"))
        assert card["planned_again"] is True
        assert "made again" in card["guarantee"]["says"]
        (tmp_path / "x.parquet").write_bytes(at.download("table"))
        assert sv.verify(tmp_path / "x.parquet", card).ok
        for changed in ({**card, "planned_again": False}, {**card, "planned_again": "yes"}):
            assert not sv.verify(tmp_path / "x.parquet", changed).ok
        assert "--planned-again" in at("GET", "/api/commands")["shell"]
        assert at.open("staff.parquet")["replanned"]  # opening the same table again does not make it unseen
        at("POST", "/api/audit", {"revision": at.revision, "trials": 5}, status=422)


def test_what_is_missing_or_infeasible_is_said_before_any_work(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    staff(100).write_parquet(folder / "staff.parquet")
    with desk(folder) as at:
        for kind in ("inspect", "plan", "release", "audit"):
            assert "open a table" in at("POST", f"/api/{kind}", {"revision": at.revision}, status=400)["message"]
        at.open("staff.parquet")
        assert at("POST", "/api/release", {"revision": at.revision}, status=400)["message"].startswith("plan first")
        at.put(0, action="hide", prior="10:80")
        answer = at("POST", "/api/plan", {"revision": at.revision}, status=400)
        assert (answer["column"], answer["field"]) == (0, "tolerance")
        at.choose_staff()
        at.put(2, action="hide", prior="30:50", tolerance="5%", known="min=0", max_risk=0.5)
        at("PUT", "/api/table/options", {"revision": at.revision, "joint_risk": 0.4})
        failed = at.run("plan")  # each can be met, both together cannot
        assert (failed["state"], failed["field"]) == ("failed", "joint_risk")
        assert at.study["jobs"][0]["message"] == failed["message"]
        assert at.study["plan"] is None


def test_a_column_outside_its_prior_is_said_at_its_field_without_the_value(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    table = staff(100)
    table.write_parquet(folder / "staff.parquet")
    with desk(folder) as at:
        at.open("staff.parquet")
        at.choose_staff()
        at.put(0, prior="100:800")
        assert at.run("plan")["state"] == "done"
        failed = at.run("release")
        assert (failed["state"], failed["column"], failed["field"]) == ("failed", 0, "prior")
        assert "below the prior's range" in failed["message"]
        assert str(table["wage"].mean())[:4] not in failed["message"]
        assert at.client.get("/api/download/table").status_code == 404
        # such an answer tells something of the table, so planning again is recorded
        at("POST", "/api/unfreeze", {"revision": at.revision}, status=400)
        assert at("POST", "/api/unfreeze", {"revision": at.revision, "confirm": True})["replanned"]


def test_a_column_that_is_gone_by_the_time_of_the_release_is_one_sentence(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    staff(100).write_csv(folder / "staff.csv")
    with desk(folder) as at:
        at.open("staff.csv")
        planned(at)
        text = (folder / "staff.csv").read_text().replace("wage,", "salary,", 1)
        (folder / "staff.csv").write_text(text)  # the same file, with other content
        failed = at.run("release")
        assert failed["state"] == "failed"
        assert "unknown column 'wage'" in failed["message"]
        assert at.study["plan"]["frozen"]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A table whose inspection takes long enough to be cancelled."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    pl.DataFrame({f"c{i}": rng.normal(50, 5, 300_000) for i in range(3)}).write_parquet(folder / "large.parquet")
    return folder / "large.parquet"


def test_a_cancelled_job_leaves_nothing_and_the_next_one_runs(tmp_path, large):
    folder = tmp_path / "tables"
    folder.mkdir()
    shutil.copy(large, folder)
    with desk(folder, children=True) as at:
        at.open("large.parquet")
        before = at.study
        job = at("POST", "/api/inspect", {"revision": at.revision})["job"]
        busy = "wait until the columns have been looked at, or cancel that."
        assert at("POST", "/api/inspect", {"revision": at.revision}, status=400)["message"] == busy
        assert at.put(0, status=400, action="keep")["message"] == busy
        assert [one["id"] for one in at.study["jobs"]] == [job]  # which a reload goes on watching
        found = at("POST", f"/api/jobs/{job}/cancel")
        assert found["state"] == "cancelled"
        assert {**at.study, "revision": 0} == {**before, "revision": 0}
        assert at("POST", f"/api/jobs/{job}/cancel")["state"] == "cancelled"
        at("POST", "/api/jobs/nothing/cancel", status=404)
        at.put(0, action="hide", prior="10:80", tolerance="5%", max_risk=0.3)
        for place in range(1, 3):
            at.put(place, action="drop")
        assert at.run("plan")["state"] == "done"
        job = at("POST", "/api/release", {"revision": at.revision})["job"]
        while at("GET", f"/api/jobs/{job}")["words"] == "starting":
            time.sleep(0.02)
        assert at("POST", f"/api/jobs/{job}/cancel")["state"] == "cancelled"
        out = next(path for path in (tmp_path / "tables-work").rglob("out"))
        assert sorted(path.name for path in out.iterdir()) == ["plans.json", "spec.toml"]
        assert at.run("release")["state"] == "done"


def test_a_release_that_stands_is_not_called_cancelled(tmp_path):
    """Cancelled while before and after are compared, the release is there, and said to be."""
    from statveil.studio.jobs import Job

    class Late(Job):
        def _begin(self):
            pass

        def _watch(self, task):
            self._kept = {"words": ["Released."]}
            self._cancelled = True
            return {"stage": "comparing before and after"}, False

    ended = []
    job = Late("release", {}, ended=ended.append)
    job.wait(10)
    assert (job.state, job.result, ended) == ("done", {"words": ["Released."]}, [job])


def test_a_killed_child_is_a_sentence_and_the_server_stays(tmp_path, large):
    folder = tmp_path / "tables"
    folder.mkdir()
    shutil.copy(large, folder)
    with desk(folder, children=True) as at:
        at.open("large.parquet")
        job = at("POST", "/api/inspect", {"revision": at.revision})["job"]
        children = [
            line.split()
            for line in subprocess.run(
                ["ps", "-wweo", "pid,ppid,args"], capture_output=True, text=True
            ).stdout.splitlines()
        ]
        (child,) = [int(one[0]) for one in children if one[1] == str(os.getpid()) and "statveil.studio.work" in one]
        os.kill(child, signal.SIGKILL)
        found = at.wait(job)
        assert found["state"] == "failed"
        assert "unexpectedly" in found["message"]
        assert at.study["table"]["name"] == "large.parquet"


def test_a_ledger_is_shown_and_the_release_is_entered(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    staff(200).write_parquet(folder / "staff.parquet")
    books = tmp_path / "books.ledger"
    sv.Ledger.create(books)
    with desk(folder, ledger=str(books), dataset="staff") as at:
        assert at("GET", "/api/ledger")["releases"] == []
        at.open("staff.parquet")
        planned(at)
        assert at.run("release")["state"] == "done"
        found = at("GET", "/api/ledger")
        assert [one["columns"] for one in found["releases"]] == [["wage"]]
        (account,) = found["accounts"]
        assert (account["column"], account["secret"]) == ("wage", "mean")
        assert account["risk"] == pytest.approx(at.study["plan"]["columns"][0]["risk"])
        assert f"--ledger {books} --dataset staff" in at("GET", "/api/commands")["shell"]
    with desk(folder.rename(tmp_path / "plain")) as at:
        assert at("GET", "/api/ledger") is None


# --- the process ---------------------------------------------------------------------------------
def test_the_command_serves_many_at_once_and_leaves_nothing(tmp_path):
    """200 requests side by side are all answered; told to end, it removes its folder and ends its children."""
    folder, temporary = tmp_path / "tables", tmp_path / "tmp"
    folder.mkdir()
    temporary.mkdir()
    staff(5000).write_parquet(folder / "staff.parquet")
    with started(folder, "staff.parquet", temporary=temporary) as (at, process):
        (work,) = temporary.glob(".studio-*")
        assert stat.S_IMODE(work.stat().st_mode) == 0o700
        at.put(0, action="hide", secret="mean", prior="10:80", tolerance="5%")
        paths = ["/api/study", "/api/table/preview", "/static/none", "/api/ledger"] * 45
        asked = [("GET", path, None) for path in paths]
        asked += [("POST", "/api/tradeoff", {"column": 0, "max_risk": 0.2 + i / 100}) for i in range(20)]
        with (
            httpx.Client(
                base_url=at.client.base_url,
                headers=at.client.headers,
                cookies=at.client.cookies,
                timeout=60,
                limits=httpx.Limits(max_connections=200),
            ) as many,
            ThreadPoolExecutor(200) as pool,
        ):
            answers = list(pool.map(lambda one: many.request(one[0], one[1], json=one[2]), asked))
        assert [answer.status_code for answer in answers] == [404 if one[1] == "/static/none" else 200 for one in asked]
        job = at("POST", "/api/inspect", {"revision": at.revision})["job"]
        assert at("GET", f"/api/jobs/{job}")["state"] == "running"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGTERM
    assert list(temporary.iterdir()) == []
    left = subprocess.run(["ps", "-wweo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(work) not in left


def test_what_a_killed_start_left_is_removed_by_the_next(tmp_path):
    folder, temporary = tmp_path / "tables", tmp_path / "tmp"
    folder.mkdir()
    temporary.mkdir()
    with started(folder, temporary=temporary) as (_, process):
        (first,) = temporary.glob(".studio-*")
        process.kill()
        process.wait()
    assert first.exists()
    (first / "upload.csv").write_text("private")
    with started(folder, temporary=temporary) as (_, process):
        (second,) = temporary.glob(".studio-*")
        assert second != first
        process.send_signal(signal.SIGINT)  # Ctrl-C is how it is meant to end
        assert process.wait(30) == 0
    assert list(temporary.iterdir()) == []


def test_errors_of_the_command_are_one_sentence(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli("studio", "--ledger", "x")[0] == 2
    code, _, err = cli("studio", "--folder", "nowhere")
    assert (code, err.count("\n")) == (2, 1)
    code, _, err = cli("studio", "missing.csv", "--no-browser")
    assert code == 2
    assert "cannot read" in err
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    code, _, err = cli("studio")
    assert code == 2
    assert "pip install 'statveil[studio]'" in err
    assert err.count("\n") == 1


def test_progress_of_several_audits_is_that_of_their_whole():
    from statveil.studio.steps import _in_one

    told = []
    tell = _in_one(lambda stage, done, total: told.append((stage, done, total)), 2)
    for _ in range(3):
        tell("attacking wage", 50, 200)  # decided after 150 of 200
    tell("attacking hours", 50, 200)
    assert {(stage, total) for stage, _, total in told} == {("attacking", 400)}
    assert sum(done for _, done, _ in told) == 250
