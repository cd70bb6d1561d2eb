"""Pages made from hostile names: nothing of them runs, nothing is sent."""

import http.server
import json
import subprocess
import threading
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import statveil as sv
from statveil.report.audit import audit_page
from statveil.report.chart import save_frontier
from statveil.report.comparison import save_comparison
from statveil.report.page import json_in_script
from tests.browser import chromium

NAME = (
    "</script><script>document.title='RAN';new Image().src='{}/name'</script>"
    "<img src='{}/img' onerror=document.title='RAN'>\u2028"
)


class Scripts(HTMLParser):
    """The tags and the scripts of a page, as a browser takes them apart."""

    def __init__(self):
        super().__init__()
        self.tags, self.scripts, self.policies = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "script":
            self.scripts.append("")
        if tag == "meta" and dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policies.append((dict(attrs)["content"], len(self.scripts)))

    def handle_data(self, data):
        if self.lasttag == "script":
            self.scripts[-1] += data


def hostile(address: str) -> str:
    return NAME.replace("{}", address)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Makes all pages with names that hold scripts, which ask for an address."""
    folder = tmp_path_factory.mktemp("pages")
    done: dict[str, dict[str, Path]] = {}

    def make(address: str) -> dict[str, Path]:
        if address not in done:
            name = hostile(address)
            place = folder / str(len(done))
            place.mkdir()
            share = sv.Problem(family=sv.Categorical(labels=[name, "b"]), secret=sv.Fraction(0), tolerance=0.01)
            save_frontier(sv.frontier(share, points=5), str(place / "frontier.html"))
            rng = np.random.default_rng(1)
            table = place / "table.csv"
            rows = "\n".join(f"{value:.17g}" for value in rng.normal(100, 10, 300))
            table.write_text('"' + name.replace('"', '""') + '"\n' + rows + "\n", encoding="utf-8")
            found = sv.compare(
                str(table), column=name, secret=sv.Mean(), methods=["ours"], points=2, seeds=2, trials=2, seed=1
            )
            save_comparison(found, place / "compare.html")
            done[address] = {"frontier": place / "frontier.html", "compare": place / "compare.html"}
        return done[address]

    return make


@pytest.mark.parametrize("page", ["frontier", "compare"])
def test_names_end_no_script_and_open_no_tag(made, page):
    text = made("http://127.0.0.1:9")[page].read_text(encoding="utf-8")
    seen = Scripts()
    seen.feed(text)
    assert seen.tags.count("script") == 2  # the library, and the call that draws
    assert "img" not in seen.tags
    assert "RAN" in text  # the name is there
    ((rules, before),) = seen.policies
    assert before == 0  # the policy stands before any script
    assert "default-src 'none'" in rules
    assert "unsafe-eval" not in rules
    assert "script-src 'sha256-" in rules
    assert "connect" not in rules  # so that default-src decides


def test_json_in_a_script_is_the_same_data():
    data = {"a": "</script><!-- & \u2028 \u2029 \ud800", "b": [1.5, None, True]}
    text = json_in_script(json.dumps(data))
    assert json.loads(text) == data
    assert not set("<>&\u2028\u2029") & set(text)


def test_a_page_without_scripts_allows_none(tmp_path):
    rng = np.random.default_rng(3)
    problem = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 200)), secret=sv.Mean(), tolerance=1)
    plan = sv.plan(problem, max_risk=0.2)
    import polars as pl

    name = hostile("http://127.0.0.1:9")
    original = pl.DataFrame({name: rng.normal(100, 10, 300)})
    done = sv.release(plan, original, column=name, seed=1)
    found = sv.audit(plan, original, done, column=name, trials=200, seed=1, attackers=["plug-in"])
    audit_page(found, tmp_path / "audit.html")
    seen = Scripts()
    seen.feed((tmp_path / "audit.html").read_text(encoding="utf-8"))
    assert seen.tags.count("script") == seen.tags.count("img") == 0
    ((rules, _),) = seen.policies
    assert "script-src 'none'" in rules


def test_in_chromium_nothing_runs_and_nothing_is_sent(made, tmp_path):
    path = chromium()
    asked: list[str] = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        control = tmp_path / "control.html"  # the listener hears what a page does that lets names through
        control.write_text(f"<body><script>const a = ['{hostile(address)}'];</script>", encoding="utf-8")
        seen = {}
        for name, page in [("control", control), *made(address).items()]:
            asked.clear()
            dom = subprocess.run(
                [path, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000",
                 f"--user-data-dir={tmp_path / name}", "--dump-dom", page.as_uri()],
                capture_output=True, text=True, timeout=60, check=True,
            ).stdout  # fmt: skip
            seen[name] = (sorted(asked), "<title>RAN</title>" in dom, dom.count("<svg"))
    finally:
        server.shutdown()
        server.server_close()
    assert seen["control"][0] == ["/img", "/name"]
    assert seen["control"][1]
    for name in ("frontier", "compare"):
        requests, ran, pictures = seen[name]
        assert (requests, ran) == ([], False), name
        assert pictures >= 1, name  # and the chart is drawn under the policy
