"""Hostile input to every command: one sentence and exit code 2, within 30 seconds and 1 GiB."""

import gzip
import json
import os
import random
import resource
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from statveil.cli.main import run
from statveil.errors import StatveilError

MEMORY, SECONDS = 1 << 30, 30
ESCAPE = "\x1b[2J\x1b]0;owned\x07"
ASK = ["--family", "location", "--prior", "mean=0:200", "--secret", "mean", "--tolerance", "1"]


def statveil(*arguments, cwd, limit=True, **streams):
    def limits():
        # of data, not of addresses: libraries reserve far more of these than they use
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))

    threads = {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    return subprocess.run(
        [sys.executable, "-m", "statveil", *map(str, arguments)],
        cwd=cwd, timeout=SECONDS, env=os.environ | threads, preexec_fn=limits if limit else None, **streams,
    )  # fmt: skip


def one_sentence(done, *words):
    """Exit code 2 and one line that says what was wrong."""
    said = done.stderr.decode()
    assert done.returncode == 2, said
    assert said.startswith("statveil: ")
    assert said.count("\n") == 1
    assert "Traceback" not in said
    assert "\x1b" not in said
    for word in words:
        assert word in said
    return said


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a plan, a table and a release of it."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = [repr(random.Random(row).gauss(100, 10)) for row in range(300)]
    (folder / "in.csv").write_text("v\n" + "\n".join(rows) + "\n")
    made = statveil("plan", *ASK, "--max-risk", "0.2", "-o", "plan.json", cwd=folder)
    assert made.returncode == 0, made.stderr
    # the positive control of everything below
    done = statveil("release", "plan.json", "in.csv", "out.csv", "--column", "v", "--accept", "bounds", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert statveil("verify", "out.csv", cwd=folder).returncode == 0
    return folder


DIGITS = "1" * 5000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan", *ASK[:2], "--prior", "self=0:200", *ASK[4:], "--max-risk", "0.2"], ["'self'"]),
        (["apply", "plan.json", "--at", "seed=1"], ["'seed'"]),
        (["apply", "plan.json", "--at", f"mean={DIGITS}"], ["finite"]),
        (["limits", "--family", "categorical", "--labels", "a,b", "--secret", f"fraction:{DIGITS}", "--tolerance",
          "0.1", "--max-risk", "0.5"], ["category"]),
        (["plan", "--family", "categorical", "--labels", "a,\udc80", "--secret", "fraction:a", "--tolerance", "0.1",
          "--max-risk", "0.5"], ["UTF-8"]),
        (["plan", *ASK, "--max-risk", "0.2", "-o", "a" * 300], ["too long"]),
        (["plan", *ASK, "--max-risk", "0.2", "--known", f"heaps={'/'.join(map(str, range(1, 2000)))}"], ["step"]),
        (["plan", *ASK[:2], "--prior", "mean=0:1e-320", *ASK[4:], "--max-risk", "0.2"], ["wide"]),
        (["release", "plan.json", "in.csv", "a" * 300 + ".csv", "--column", "v"], ["too long"]),
        (["plan", "--family", "binomial", "--trials-per-draw", "1000000000000", "--prior", "p=0.1:0.9", "--secret",
          "mean", "--tolerance", "1", "--max-risk", "0.2"], ["100,000"]),
        (["simulate", "plan.json", "--trials", "1000000000"], ["10,000,000"]),
        (["audit", "plan.json", "in.csv", "out.csv", "--column", "v", "--trials", "1000000000"], ["1,000,000"]),
        (["compare", "in.csv", "--column", "v", "--secret", "mean", "--trials", "1000000000"], ["100,000"]),
        (["plan", *ASK, "--max-risk", "0.2", "--grid", "1000000000000"], ["grid"]),
        (["frontier", *ASK, "--points", "1000000000000"], ["points"]),
        (["release", "plan.json", "in.csv", "two.csv", "--column", "v", "--column", "w"], ["--column", "twice"]),
        (["plan", *ASK, "--secret", "std", "--max-risk", "0.2"], ["--secret", "twice"]),
        (["inspect", "in.csv", "--column", "v", "--column", "w"], ["--column", "twice"]),
        (["release", "plan.json", "in.csv", "two.csv", "--column", ESCAPE], ["unknown column", "x1b"]),
        (["release", "plan.json", f"{ESCAPE}.csv", "two.csv", "--column", "v"], ["\\u001b"]),
        ([ESCAPE], ["unknown command", "x1b"]),
        (["plan", *ASK, f"--{ESCAPE}", "1"], ["No such option", "1b"]),
    ],
)  # fmt: skip
def test_arguments(place, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", ["statveil", *arguments])
    before = time.monotonic()
    with pytest.raises(SystemExit) as ended:
        run()
    assert time.monotonic() - before < SECONDS
    done = subprocess.CompletedProcess(arguments, ended.value.code, b"", capsys.readouterr().err.encode())
    one_sentence(done, *words)
    assert not (place / "two.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("what", ["/dev/zero", "fifo", "large", "."])
def test_plans_cards_and_records_are_regular_files_of_bounded_size(place, tmp_path, what):
    file = Path(what)
    if what == "fifo":
        file = tmp_path / "fifo"
        os.mkfifo(file)
    if what == "large":
        file = tmp_path / "large"
        with file.open("wb") as sparse:
            sparse.truncate(1 << 40)
    for command in (["apply", file, "--at", "mean=1"], ["simulate", file],
                    ["release", file, "in.csv", "two.csv", "--column", "v"]):  # fmt: skip
        one_sentence(statveil(*command, cwd=place), "cannot read")
    record = ["release", "plan.json", "in.csv", "two.csv", "--column", "v", "--accept", "bounds", "--shuffle"]
    one_sentence(statveil(*record, "--record", file, cwd=place))
    (tmp_path / "t.csv").write_text("v\n1\n")
    (tmp_path / "t.csv.card.json").symlink_to(file.resolve())
    one_sentence(statveil("verify", tmp_path / "t.csv", cwd=place), "cannot read")


@pytest.mark.slow
def test_output_that_cannot_be_written(place):
    with Path("/dev/full").open("wb") as full:
        for command in (["plan", *ASK, "--max-risk", "0.2"], ["list"], ["verify", "out.csv"], ["plan", "--help"]):
            one_sentence(statveil(*command, cwd=place, stdout=full), "No space left")
    command = 'exec "$0" -m statveil list >&-'
    done = subprocess.run(["sh", "-c", command, sys.executable], cwd=place, timeout=SECONDS, capture_output=True)
    one_sentence(done, "closed")


def test_a_pipe_that_nobody_reads_is_no_output(place, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    one_sentence(statveil("plan", *ASK, "--max-risk", "0.2", "-o", tmp_path / "pipe", cwd=place), "cannot write")


def test_a_mechanism_along_nothing_that_the_family_has_is_refused(place, tmp_path):
    plan = json.loads((place / "plan.json").read_text())
    assert plan["mechanism"]["along"] == "mean"
    plan["mechanism"]["along"] = ESCAPE
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    one_sentence(statveil("apply", tmp_path / "plan.json", "--at", "mean=100", cwd=place), "coordinate")


def test_an_unexpected_error_has_a_code_of_its_own(place):
    program = (
        "import statveil.cli.list_command as c, statveil.cli.main as m, sys\n"
        "def broken(*args, **kwargs): raise LookupError('secret 42')\n"
        "c.command.callback = broken\nsys.argv = ['statveil', 'list']\nm.run()"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=place, capture_output=True, timeout=SECONDS)
    assert done.returncode == 70
    assert done.stderr.decode().count("\n") == 1
    assert b"report" in done.stderr
    assert b"42" not in done.stderr  # whatever it was about
    shown = os.environ | {"STATVEIL_TRACEBACK": "1"}
    done = subprocess.run([sys.executable, "-c", program], cwd=place, capture_output=True, timeout=SECONDS, env=shown)
    assert b"Traceback" in done.stderr


def test_extra_keys_on_a_card_are_named(place, tmp_path):
    card = json.loads((place / "out.csv.card.json").read_text())
    for changed in ({**card, "endorsed": "yes"}, {**card, "versions": {**card["versions"], "endorsed": "1"}}):
        (tmp_path / "out.csv").write_bytes((place / "out.csv").read_bytes())
        (tmp_path / "out.csv.card.json").write_text(json.dumps(changed))
        done = statveil("verify", "out.csv", cwd=tmp_path)
        assert done.returncode == 1
        assert b"endorsed" in done.stdout


ROWS = "\n".join(repr(random.Random(row).gauss(100, 10)) + ",x" for row in range(300))
TABLES = {
    "unclosed quote": (f'v,w\n{ROWS}\n1.5,"' + "a" * 12_000_000, "closing"),
    "unclosed quote over lines": (f'v,w\n{ROWS}\n1.5,"' + "a,b\n" * 3_000_000, "closing"),
    "unclosed quote after a stray one": (f'v,w\n{ROWS}\n1.5,5" pipe\n1.5,"' + "a" * 8_000_000, "closing"),
    "unclosed quote in the header": ('"v,w\n' + "1.5,b\n" * 1_500_000, "closing"),
    "long name": ("v," + "w" * 200_000 + "\n" + ROWS + "\n", "first line"),
    "digits": (f"v,w\n{ROWS}\n{DIGITS},x\n", "row 301"),
    "digits of 8 MB": (f"v,w\n{ROWS}\n" + "1" * 8_000_000 + ",x\n", "row 301"),
    "stray quote": (f'v,w\n{ROWS}\n"1.5"x,5\n', "text"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_csv(place, tmp_path, name):
    text, word = TABLES[name]
    (tmp_path / "in.csv").write_text(text)
    command = ["release", place / "plan.json", "in.csv", "out.csv", "--column", "v", "--accept", "bounds"]
    one_sentence(statveil(*command, cwd=tmp_path), word)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.slow
def test_a_field_of_8_mb_in_another_column_is_kept(place, tmp_path):
    for field in ("a" * 8_000_000, '"' + '""' * 4_000_000 + '"'):
        (tmp_path / "in.csv").write_text(f"v,w\n{ROWS}\n100.25,{field}\n")
        command = ["release", place / "plan.json", "in.csv", "out.csv", "--column", "v", "--accept", "bounds"]
        done = statveil(*command, "--overwrite", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "out.csv").read_text().endswith("," + field + "\n")


def workbook(path, *, strings="", fonts="", row=2):
    """A workbook with parts repeated as often as someone hostile likes."""
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["v"])
    book.active.append([1.5])
    plain = path.with_suffix(".plain.xlsx")
    book.save(plain)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target:
        for name in source.namelist():
            text = source.read(name)
            if name == "xl/worksheets/sheet1.xml":
                text = text.replace(b'r="2"', b'r="%d"' % row).replace(b'r="A2"', b'r="A%d"' % row)
            if name == "xl/styles.xml" and fonts:
                before, mark, after = text.partition(b"</fonts>")
                repeated(target, name, before, fonts, mark + after)
            else:
                target.writestr(name, text)
        if strings:
            repeated(target, "xl/sharedStrings.xml", b"<sst>", strings, b"</sst>")


def repeated(archive, name, before, text, after):
    with archive.open(name, "w", force_zip64=True) as part:
        part.write(before)
        for _ in range(120):
            part.write(text.encode())
        part.write(after)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "word"),
    [
        ({"row": 10**9}, "1,048,576"),
        ({"strings": ("<si><t>" + "a" * 1000 + "</t></si>") * 1200}, "unpacks"),
        ({"fonts": "<font/>" * 100_000}, "unpacks"),
    ],
)
def test_excel(place, tmp_path, parts, word):
    workbook(tmp_path / "in.xlsx", **parts)
    for command in (["release", place / "plan.json", "in.xlsx", "out.xlsx", "--column", "v"], ["inspect", "in.xlsx"]):
        one_sentence(statveil(*command, cwd=tmp_path), word)


@pytest.mark.slow
@pytest.mark.parametrize(("high", "tolerance", "word"), [("1e13", "1", "64-bit"), ("1e15", "1e12", "64-bit")])
def test_ranges_that_numbers_cannot_hold(place, tmp_path, high, tolerance, word):
    ask = ["--family", "location", "--prior", f"mean=0:{high}", "--secret", "mean", "--tolerance", tolerance]
    assert statveil("plan", *ask, "--max-risk", "0.2", "-o", "p.json", cwd=tmp_path).returncode == 0
    command = ["release", "p.json", place / "in.csv", "out.csv", "--column", "v", "--accept", "bounds"]
    one_sentence(statveil(*command, cwd=tmp_path), word)


@pytest.mark.slow
@pytest.mark.parametrize(("high", "tolerance"), [("1e8", "1"), ("1e10", "1")])
def test_wide_ranges_are_released_and_pass_their_own_verify(place, tmp_path, high, tolerance):
    ask = ["--family", "location", "--prior", f"mean=0:{high}", "--secret", "mean", "--tolerance", tolerance]
    assert statveil("plan", *ask, "--max-risk", "0.2", "-o", "p.json", cwd=tmp_path).returncode == 0
    command = ["release", "p.json", place / "in.csv", "out.csv", "--column", "v", "--accept", "bounds"]
    assert statveil(*command, cwd=tmp_path).returncode == 0
    assert statveil("verify", "out.csv", cwd=tmp_path).returncode == 0
    values = set((tmp_path / "out.csv").read_text().splitlines()[1:])
    assert len(values) == 300


@pytest.mark.parametrize("step", [0.5, 2.0, 5.0])
def test_a_declared_step_that_the_mechanism_does_not_move_by_is_refused(place, tmp_path, step):
    # the risk counts guesses on the mechanism's lattice; the column would lie on another one
    made = statveil("plan", *ASK, "--max-risk", "0.2", "--known", "step=1", "-o", tmp_path / "plan.json", cwd=place)
    assert made.returncode == 0
    plan = json.loads((tmp_path / "plan.json").read_text())
    plan["problem"]["known"]["step"] = step
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    one_sentence(statveil("apply", tmp_path / "plan.json", "--at", "mean=100", cwd=place), "declared steps")


# --- what others wrote is never repeated at length -----------------------------------------------------------
LONG = "n" * 200_000
WORDS = "no words " * 20_000


@pytest.mark.parametrize("long", [DIGITS, LONG, WORDS], ids=["digits", "name", "words"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["@"],
        ["plan", "--family", "@"],
        ["plan", *ASK, "--max-risk", "x@"],
        ["plan", *ASK, "--max-risk", "0.2", "--@", "1"],
        ["plan", *ASK[:2], "--prior", "@=0:200", *ASK[4:], "--max-risk", "0.2"],
        ["plan", *ASK[:2], "--prior", "mean=@:x", *ASK[4:], "--max-risk", "0.2"],
        ["plan", *ASK[:4], "--secret", "@", "--tolerance", "1", "--max-risk", "0.2"],
        ["plan", *ASK, "--max-risk", "0.2", "--known", "@=1"],
        ["plan", "--family", "categorical", "--labels", "a,b=@", "--secret", "fraction:a", "--tolerance", "0.1"],
        ["limits", "--family", "categorical", "--labels", "a,b", "--secret", "fraction:@", "--tolerance", "0.1"],
        ["apply", "plan.json", "--at", "@=1"],
        ["apply", "@", "--at", "mean=1"],
        ["release", "plan.json", "in.csv", "two.csv", "--column", "@"],
        ["release", "plan.json", "in.csv", "two.csv", "--column", "v", "--accept", "@"],
        ["release", "plan.json", "in.csv", "@.csv", "--column", "v"],
        ["inspect", "@.csv"],
        ["verify", "@"],
    ],
    ids=" ".join,
)
def test_long_values_are_cut_in_every_message(place, monkeypatch, capsys, arguments, long):
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", ["statveil", *(one.replace("@", long) for one in arguments)])
    with pytest.raises(SystemExit) as ended:
        run()
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.count("\n") == 1
    assert 20 < len(said) <= 3200


def test_long_values_in_plans_cards_and_records_are_cut(place, tmp_path, monkeypatch, capsys):
    plan, card = (json.loads((place / name).read_text()) for name in ("plan.json", "out.csv.card.json"))
    (tmp_path / "out.csv").write_bytes((place / "out.csv").read_bytes())
    seen = []
    for changed in (
        {**plan, "version": LONG},
        {**plan, "problem": {**plan["problem"], "family": {"name": LONG}}},
        {**plan, "problem": {**plan["problem"], "tolerance": WORDS}},
        {**plan, "mechanism": {**plan["mechanism"], "kind": LONG}},
    ):
        (tmp_path / "plan.json").write_text(json.dumps(changed))
        monkeypatch.setattr(sys, "argv", ["statveil", "apply", str(tmp_path / "plan.json"), "--at", "mean=100"])
        with pytest.raises(SystemExit) as ended:
            run()
        seen.append((ended.value.code, capsys.readouterr().err))
    for changed, code in (({**card, LONG: 1}, 1), ({**card, "column": WORDS}, 1), ({**card, "version": LONG}, 2)):
        (tmp_path / "out.csv.card.json").write_text(json.dumps(changed))
        monkeypatch.setattr(sys, "argv", ["statveil", "verify", str(tmp_path / "out.csv")])
        with pytest.raises(SystemExit) as ended:
            run()
        assert ended.value.code == code
        said = capsys.readouterr()
        assert max(map(len, (said.out + said.err).splitlines())) <= 3200
    for code, said in seen:
        assert code == 2
        assert 20 < len(said) <= 3200


def test_ordinary_messages_are_left_whole():
    text = f"cannot read {'/'.join(['folder'] * 50)}.csv: " + "there is no such file, so give another one. " * 40
    assert str(StatveilError(text)) == text


# --- small files that unpack to much ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"\0" * (1 << 24), "compressed, and what it unpacks to is no text"),
        pytest.param(
            b"v," * (40 << 20),
            "compressed, and the unpacked text's first line is longer than 64 MiB",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            b"v\n" + b"1" * (70 << 20), "compressed and unpacks to more than 400 times", marks=pytest.mark.slow
        ),
        pytest.param(
            b"v\n" + b"1.5\n" * (20 << 20), "compressed and unpacks to more than 400 times", marks=pytest.mark.slow
        ),
    ],
    ids=["zeros", "header", "line", "rows"],
)
def test_a_gzip_bomb_is_named(place, tmp_path, monkeypatch, capsys, content, word):
    level = 1 if content.startswith(b"v,") else 9  # about 200 and 1,000 bytes per byte
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(content, level))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["statveil", "inspect", "bomb.csv.gz"])
    before = time.process_time()
    with pytest.raises(SystemExit) as ended:
        run()
    said = capsys.readouterr()
    # a table with a row that cannot be read is inspected no further
    assert ended.value.code == 2, said.out
    assert word in said.err
    assert time.process_time() - before < SECONDS


def test_a_table_that_compresses_well_is_read(tmp_path, monkeypatch, capsys):
    """A short one of any kind, and text of numbers however long."""
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(b"v,w\n" + b"1.5,0\n2.5,0\n" * 100_000))
    monkeypatch.setattr(sys, "argv", ["statveil", "inspect", str(tmp_path / "in.csv.gz"), "--column", "v", "--json"])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out)["columns"][0]["rows"] == 200_000


# --- cells far from the others, and many columns --------------------------------------------------------------
def spread(path, *cells):
    """A workbook of few cells, each at its own place."""
    import openpyxl

    book = openpyxl.Workbook()
    for at, value in cells:
        book.active[at] = value
    book.save(path)


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        ([("A1", "v"), *((f"XFD{row}", 1) for row in range(2, 300))], "more cells than the 1 column name"),
        ([("A1", "v"), ("XFD1", "w"), *((f"XFD{row}", 1) for row in range(2, 300))], "almost blank"),
        ([("A1", "v"), ("A1048576", 5)], "almost blank"),
        ([("A1", "v"), ("B1", "w"), *((f"A{row}", row) for row in range(2, 300)), ("B1048576", 5)], "almost blank"),
    ],
    ids=["last column", "last column named", "last row", "stray cell"],
)
def test_cells_far_from_the_others(place, tmp_path, monkeypatch, capsys, cells, word):
    spread(tmp_path / "in.xlsx", *cells)
    monkeypatch.chdir(tmp_path)
    for command in (["release", str(place / "plan.json"), "in.xlsx", "out.xlsx", "--column", "v"],
                    ["inspect", "in.xlsx", "--column", "v"]):  # fmt: skip
        monkeypatch.setattr(sys, "argv", ["statveil", *command])
        before = time.process_time()
        with pytest.raises(SystemExit) as ended:
            run()
        said = capsys.readouterr().err
        assert time.process_time() - before < SECONDS
        assert (ended.value.code, said.count("\n")) == (2, 1), said
        assert word in said


def test_many_columns_are_inspected_one_at_a_time(tmp_path, monkeypatch, capsys):
    text = ",".join(f"c{number}" for number in range(50_000))
    (tmp_path / "wide.csv").write_text(text + "\n" + ("1.5," * 50_000)[:-1] + "\n")
    for extra, code in (([], 2), (["--column", "c49999"], 0)):
        monkeypatch.setattr(sys, "argv", ["statveil", "inspect", str(tmp_path / "wide.csv"), *extra])
        before = time.process_time()
        with pytest.raises(SystemExit) as ended:
            run()
        assert time.process_time() - before < SECONDS
        said = capsys.readouterr()
        assert ended.value.code == code, said.err
        assert "50,000 columns" in said.err if code else "c49999" in said.out


@pytest.mark.parametrize("name", ["two.csv/", "two.csv/."])
def test_a_file_is_not_written_under_the_name_of_a_folder(place, monkeypatch, capsys, name):
    monkeypatch.chdir(place)
    for command in (["release", "plan.json", "in.csv", name, "--column", "v", "--accept", "bounds"],
                    ["plan", *ASK, "--max-risk", "0.2", "-o", name]):  # fmt: skip
        monkeypatch.setattr(sys, "argv", ["statveil", *command])
        with pytest.raises(SystemExit) as ended:
            run()
        assert ended.value.code == 2
        assert "names a folder" in capsys.readouterr().err
        assert not (place / "two.csv").exists()


# --- output that cannot be printed ------------------------------------------------------------------------------
def test_what_is_in_place_is_said_where_the_result_cannot_be_printed(place, tmp_path):
    release = ["release", "plan.json", "in.csv", tmp_path / "out.csv", "--column", "v", "--accept", "bounds"]
    for command, made in ((release, "out.csv"), (["plan", *ASK, "--max-risk", "0.2", "-o", tmp_path / "p"], "p")):
        with Path("/dev/full").open("wb") as full:
            said = one_sentence(statveil(*command, cwd=place, stdout=full), "No space left", "in place and whole")
        assert str(tmp_path / made) in said
        assert (tmp_path / made).exists()
    assert statveil("verify", tmp_path / "out.csv", cwd=place).returncode == 0
    with Path("/dev/full").open("wb") as full:  # nothing was made here
        assert "in place" not in one_sentence(statveil("list", cwd=place, stdout=full), "No space left")


def test_an_answer_that_cannot_be_printed_is_no_answer(place, tmp_path):
    """Code 1 says that table and card disagree, which nobody could read here."""
    (tmp_path / "out.csv").write_bytes((place / "out.csv").read_bytes() + b"1\n")
    (tmp_path / "out.csv.card.json").write_bytes((place / "out.csv.card.json").read_bytes())
    assert statveil("verify", "out.csv", cwd=tmp_path).returncode == 1
    with Path("/dev/full").open("wb") as full:
        one_sentence(statveil("verify", "out.csv", cwd=tmp_path, stdout=full), "No space left")
    command = 'exec "$0" -m statveil verify out.csv >&-'
    done = subprocess.run(["sh", "-c", command, sys.executable], cwd=tmp_path, timeout=SECONDS, capture_output=True)
    one_sentence(done, "closed")
