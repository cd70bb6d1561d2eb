"""The report: true to its plan, free of terms where people decide, silent about the original where it is public."""

from __future__ import annotations

import datetime
import html
import json
import re
import stat
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.auditing.audit_file import load_audit, save_audit
from statveil.auditing.result import Audit
from statveil.report.document.material import gather
from statveil.report.document.write import report_page
from statveil.words.glossary import TERMS, terms_in
from tests.best_possible import none_known
from tests.words.test_words import PLAIN_TERMS, grade

DAY = datetime.date(2026, 2, 3)
HOSTILE = "</title><script>document.title='RAN'</script><img src='http://127.0.0.1:9/x' onerror=alert(1)>"


def planned(*, max_risk=0.2, **problem):
    stated = {"secret": sv.Mean(), "prior": (40_000, 140_000), "tolerance": 1_000, "known": sv.Structure(step=1)}
    with none_known():
        return sv.plan(sv.Problem(**{**stated, **problem}), max_risk=max_risk)


PLAN = planned()
ROWS = 30_000 + np.random.default_rng(5).permutation(60_000)[:400]
SPEC = """
[budget]
max_risk = 0.3
[columns.wage]
hide = "mean"
prior = "40000:140000"
tolerance = 1000
known = "step=1"
[columns.rent]
hide = "median"
prior = "200:4000"
tolerance = 20
known = "step=1"
[columns.half]
derive = "wage / 2"
[columns.town]
keep = true
"""


class Parts(HTMLParser):
    """The words of the two parts of a page, and the words that are explained."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words = {"decide": "", "evidence": ""}
        self.part, self.hidden, self.tags = "", 0, []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.hidden += tag in ("style", "title")
        self.part = dict(attrs).get("id", self.part) if tag == "div" and dict(attrs).get("id") else self.part
        if self.part:
            self.words[self.part] += "\n" if tag in ("li", "p", "h1", "h2", "h3", "dt", "dd", "td", "th", "b") else " "
            self.words[self.part] += " ".join(value or "" for name, value in attrs if name == "aria-label")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("style", "title")
        if tag == "main":
            self.part = ""

    def handle_data(self, data):
        if self.part and not self.hidden:
            self.words[self.part] += data


@pytest.fixture(scope="module")
def released():
    table = pl.DataFrame({"pay": ROWS, "age": np.arange(400) % 45 + 20})
    done = sv.release(PLAN, table, column="pay", details=True, seed=3)
    audit = sv.audit(PLAN, table, done.table, column="pay", trials=200, seed=1, attackers=["plug-in", "bayes"])
    return done, audit


@pytest.fixture(scope="module")
def private(released):
    done, audit = released
    return report_page(gather(PLAN, card=done.card, audit=audit, file="public.csv", on=DAY))


@pytest.fixture(scope="module")
def of_table():
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"wage": ROWS, "rent": rng.integers(300, 3_000, 400), "town": rng.integers(0, 9, 400)})
    plans = sv.plan_specification(sv.Specification.from_toml(SPEC))
    done = sv.release(plans, table.with_columns(half=pl.col("wage") / 2), details=True, seed=3)
    return report_page(gather(plans, card=done.card, file="staff.parquet", on=DAY))


def test_the_page_names_file_column_day_and_audience(private):
    said = Parts(private).words["decide"]
    for fact in ("public.csv", "pay", "2026-02-03", "only those who may see the original table", "is hidden"):
        assert fact in said
    assert private.count("PRIVATE: for those who may see the original table. Do not publish.") >= 3  # top, end, paper


def test_the_numbers_are_those_of_the_plan(private, released):
    words = Parts(private).words["decide"]
    # whole steps: a guess covers 2,001 of the 10,009 that a bin of a risk below 0.2 holds at least
    assert "comes within 1,000 of it in at most 20 of 100 cases" in words
    move = float(re.search(r"differs from the true one by at most ([\d,]+)", words)[1].replace(",", ""))
    assert PLAN.largest_move <= move <= 1.01 * PLAN.largest_move
    dots = re.findall(r'<circle class="(\w+)" cx="\d+" cy="\d+" r="6"/>', private)
    assert len(dots) == 100
    assert dots.count("wrong") == 100 - 20
    assert dots.count("anyway") == 2  # a window of 2,000 in a range of 100,000


@pytest.mark.parametrize("page", ["private", "of_table"])
def test_where_people_decide_no_term_of_the_trade_stands(page, request):
    words = Parts(request.getfixturevalue(page)).words["decide"]
    for line in words.splitlines():
        assert not set(terms_in(line)) - PLAIN_TERMS, line
    lines = [line.strip() for line in words.splitlines() if line.strip().endswith(".")]
    assert len(lines) > 10
    assert grade(" ".join(lines)) <= 9


@pytest.mark.parametrize("page", ["private", "of_table"])
def test_below_every_term_is_explained_before_it_is_used(page, request):
    words = Parts(request.getfixturevalue(page)).words["evidence"]
    explained, _, below = words.partition("The plan in numbers")
    if page == "of_table":
        explained, _, below = words.partition("Right guesses of each hidden figure")
    used = terms_in(below)
    assert len(used) > 10
    for term in used:
        assert TERMS[term] in explained, term


def test_a_page_holds_no_script_and_asks_for_nothing(private, of_table):
    for page in (private, of_table):
        tags = set(Parts(page).tags)
        assert not tags & {"script", "img", "link", "iframe", "object", "form", "a"}
        assert "script-src 'none'" in page
        assert "default-src 'none'" in page
        assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:|//)", page)


def test_a_table_report_names_every_column_and_what_becomes_of_it(of_table):
    words = Parts(of_table).words["decide"]
    assert "one or more of the 2 hidden figures in at most" in words
    assert "'half' is worked out from the released columns." in words
    assert "1 column is published unchanged: 'town'." in words
    for name in ("wage", "rent"):
        assert name in words


def test_names_that_others_chose_stay_text(released):
    done, audit = released
    card = {**done.card}
    page = report_page(gather(PLAN, column=HOSTILE, file=HOSTILE, on=DAY))
    tags = Parts(page).tags
    assert "script" not in tags
    assert "img" not in tags
    assert html.escape("<script>", quote=False) in page
    frame = pl.DataFrame({HOSTILE: ROWS})
    found = sv.release(PLAN, frame, column=HOSTILE, details=True, seed=3)
    hostile = Audit.from_json({**audit.to_json(), "column": HOSTILE, "assumed": HOSTILE, "released": HOSTILE})
    page = report_page(gather(PLAN, card=found.card, audit=hostile, on=DAY))
    assert not {"script", "img"} & {*Parts(page).tags}
    assert card == done.card  # nothing was changed on the way


def test_a_public_report_is_the_same_for_all_tables_that_are_released_alike():
    """Two true columns, at least 1,000 apart, that become the same rows: no byte may tell which it was."""
    shifts = np.arange(0, 20_000, 100)
    secrets = PLAN.apply(value=ROWS.mean() + shifts).secret.round(6)
    alike = max((shifts[secrets == secret] for secret in np.unique(secrets)), key=len)
    assert np.ptp(alike) >= 1_000
    pages, tables = [], []
    for shift in (alike[0], alike[-1]):
        frame = pl.DataFrame({"pay": ROWS + shift})
        done = sv.release(PLAN, frame, column="pay", details=True, seed=1)
        tables.append(done.table)
        pages.append(report_page(gather(PLAN, card=done.card, file="public.csv", public=True, on=DAY)))
    assert tables[0].equals(tables[1])
    assert pages[0] == pages[1]
    assert "PUBLIC: holds nothing that was computed from the original table." in pages[0]
    assert "PRIVATE" not in pages[0]
    assert "What attacks found" not in pages[0]


def test_a_public_report_takes_no_audit(released):
    _, audit = released
    with pytest.raises(sv.ProblemError, match="a public report holds nothing computed from the original"):
        gather(PLAN, audit=audit, public=True)


def test_what_does_not_belong_together_is_refused(released):
    done, audit = released
    other = planned(max_risk=0.3)
    with pytest.raises(sv.FileError, match="the card belongs to another plan"):
        gather(other, card=done.card)
    with pytest.raises(sv.FileError, match="the audit of the column 'pay' was made under another plan"):
        gather(planned(tolerance=900), audit=audit)
    with pytest.raises(sv.FileError, match="about the column 'pay', and the report is asked for 'age'"):
        gather(PLAN, card=done.card, column="age")
    with pytest.raises(sv.FileError, match="The card was changed"):
        gather(PLAN, card={**done.card, "assumptions": ["None."]})
    plans = sv.plan_specification(sv.Specification.from_toml(SPEC))
    with pytest.raises(sv.FileError, match="of one column and the plans are of a whole table"):
        gather(plans, audit=audit)
    with pytest.raises(sv.FileError, match="the card belongs to another plan"):
        gather(plans, card=done.card)
    with pytest.raises(sv.ProblemError, match="name their columns themselves"):
        gather(plans, column="wage")


@pytest.fixture
def files(released, tmp_path):
    done, audit = released
    sv.save_plan(PLAN, tmp_path / "plan.json")
    sv.save_plan(planned(max_risk=0.3), tmp_path / "other.json")
    (tmp_path / "public.csv.card.json").write_text(json.dumps(done.card))
    save_audit(audit, tmp_path / "audit.json")
    return tmp_path


def test_the_command_writes_a_private_page_and_a_public_one(files, released, cli, monkeypatch):
    monkeypatch.chdir(files)
    given = ("--plan", "plan.json", "--card", "public.csv.card.json")
    code, out, _ = cli("report", *given, "--audit", "audit.json", "-o", "report.html")
    assert (code, out) == (0, "Written to report.html (private).\n")
    assert stat.S_IMODE((files / "report.html").stat().st_mode) == 0o600
    verdict = released[1].verdict.upper()
    assert f"{verdict}: " in (files / "report.html").read_text()
    code, out, _ = cli("report", *given, "--public", "-o", "public.html", "--json")
    assert code == 0
    assert json.loads(out) == {"output": "public.html", "public": True, "card": given[3], "audit": None}
    page = (files / "public.html").read_text()
    assert "'public.csv'" in html.unescape(page)
    assert f"{verdict}: " not in page
    assert stat.S_IMODE((files / "public.html").stat().st_mode) != 0o600


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--plan", "other.json", "--card", "public.csv.card.json"], "the card belongs to another plan"),
        (["--plan", "plan.json", "--audit", "audit.json", "--public"], "a public report holds nothing computed"),
        (["--plan", "plan.json", "--audit", "plan.json"], "plan.json is not an audit; write it with"),
        (["--plan", "plan.json", "--card", "none.json"], "cannot read none.json: No such file"),
        (["--plan", "plan.json", "--audit", "none.json"], "cannot read none.json: No such file"),
        (["--plan", "none.json"], "cannot read none.json: No such file"),
        (["--plan", "plan.json", "--spec", "spec.toml"], "plan.json does not hold the plans of spec.toml"),
        ([], "give it with --plan, or the specification with --spec"),
    ],
)
def test_bad_requests_end_in_one_sentence_and_write_nothing(files, cli, monkeypatch, arguments, said):
    monkeypatch.chdir(files)
    (files / "spec.toml").write_text(SPEC)
    code, out, err = cli("report", *arguments, "-o", "report.html")
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not (files / "report.html").exists()


def test_a_report_is_a_page(files, cli, monkeypatch):
    monkeypatch.chdir(files)
    code, _, err = cli("report", "--plan", "plan.json", "-o", "report.pdf")
    assert code == 2
    assert "use a name that ends in .html" in err


def test_audits_are_read_as_they_were_written(released, tmp_path):
    _, audit = released
    save_audit(audit, tmp_path / "audit.json")
    assert load_audit(tmp_path / "audit.json") == audit
    assert stat.S_IMODE((tmp_path / "audit.json").stat().st_mode) == 0o600
    good = audit.to_json()
    for wrong in (
        {**good, "findings": []},
        {**good, "findings": [{**good["findings"][0], "rate": 1.5}]},
        {**good, "findings": [{**good["findings"][0], "verdict": "fine"}]},
        {**good, "trials": "many"},
        {key: value for key, value in good.items() if key != "distances"},
    ):
        (tmp_path / "wrong.json").write_text(json.dumps(wrong))
        with pytest.raises(sv.FileError, match="is damaged"):
            load_audit(tmp_path / "wrong.json")


def test_an_audit_of_two_hidden_columns_can_be_asked_for_and_reported(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"wage": ROWS, "rent": rng.integers(300, 3_000, 400), "town": rng.integers(0, 9, 400)})
    table.with_columns(half=pl.col("wage") / 2).write_csv("staff.csv")
    (tmp_path / "spec.toml").write_text(SPEC)
    assert cli("release", "spec.toml", "staff.csv", "public.csv")[0] == 0
    audit = ("audit", "spec.toml", "staff.csv", "public.csv", "--trials", 200, "--seed", 1)
    code, _, err = cli(*audit, "--attackers", "plug-in", "-o", "audit.json")
    assert code in (0, 1), err
    assert [one["column"] for one in json.loads((tmp_path / "audit.json").read_text())["columns"]]
    monkeypatch.setattr("statveil.report.document.evidence._tradeoff", lambda plan: None)  # looked at elsewhere
    given = ("--spec", "spec.toml", "--card", "public.csv.card.json", "--audit", "audit.json")
    code, _, err = cli("report", *given, "-o", "report.html")
    assert code == 0, err
    words = Parts((tmp_path / "report.html").read_text()).words["decide"]
    assert "'wage': " in words
    assert "'rent': " in words


def test_the_audit_page_names_what_was_audited(released, tmp_path):
    from statveil.report.audit import audit_page

    _, audit = released
    named = Audit.from_json({**audit.to_json(), "original": "staff.csv", "released": "public.csv"})
    audit_page(named, tmp_path / "audit.html")
    page = html.unescape((tmp_path / "audit.html").read_text())
    for fact in ("'staff.csv' and 'public.csv'", "'pay'", ">mean<", "within 1,000", audit.made_on):
        assert fact in page
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", audit.made_on)


def test_a_plan_for_the_number_of_rows_is_audited_and_reported_from_the_command_line(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"pay": np.random.default_rng(1).lognormal(10, 0.3, 3_000)}).write_csv("in.csv")
    asked = ("plan", "--secret", "rows", "--prior", "1000:50000", "--tolerance", "5%", "--max-risk", "0.3")
    assert cli(*asked, "-o", "plan.json")[0] == 0
    assert cli("release", "plan.json", "in.csv", "out.csv")[0] == 0
    code, _, err = cli("audit", "plan.json", "in.csv", "out.csv", "--trials", 200, "--seed", 1, "-o", "audit.json")
    assert code == 0, err
    monkeypatch.setattr("statveil.report.document.evidence._tradeoff", lambda plan: None)  # looked at elsewhere
    given = ("--plan", "plan.json", "--card", "out.csv.card.json", "--audit", "audit.json")
    code, _, err = cli("report", *given, "-o", "report.html")
    assert code == 0, err
    words = Parts((tmp_path / "report.html").read_text()).words["decide"]
    assert "The number of rows is hidden." in words
    fewer = float(re.search(r"has at most ([\d.]+) % fewer rows than the original", words)[1]) / 100
    kept = pl.read_csv("out.csv").height / 3_000
    assert 1 - kept <= fewer < 0.4


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_texts_stand_out_from_what_is_behind_them(private, scheme):
    """WCAG 2: a ratio of 4.5 for texts, 7 for those that are read most."""
    light, dark, paper = re.findall(
        r":root \{ color-scheme: [a-z ]+;([^}]*)\}|:root \{(?! color-scheme)([^}]*)\}", private
    )
    rules = {"light": light, "dark": dark, "print": paper}[scheme]
    values = dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6})", "".join(rules)))
    assert contrast(values["ink"], values["paper"]) >= 7
    assert contrast(values["ink"], values["back"]) >= 7
    for name in ("muted", "alarm", "ours"):
        assert contrast(values[name], values["paper"]) >= 4.5, name
    assert contrast("#ffffff", "#8c1d18") >= 4.5
    assert contrast("#ffffff", "#1f5136") >= 4.5


def contrast(one: str, two: str) -> float:
    """(L1 + 0.05) / (L2 + 0.05) of the relative luminances."""

    def luminance(colour: str) -> float:
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lights = sorted((luminance(one), luminance(two)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)
