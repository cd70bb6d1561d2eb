"""The README and the documentation are whole: links, modes, the reference, the table of the tutorial."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import statveil as sv
from docs.commands import PAGE
from docs.energy import TABLE, text
from statveil.modes import MODES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["docs/releasing.md", "docs/structure.md", "docs/command-line.md"])
def test_the_documents_name_every_mode_and_no_other(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    if name.endswith("command-line.md"):
        listed = re.search(r"`mode` names the map[^:]*:(.*)", text)[1]
    else:  # the cells of the column that is headed "mode"
        table = re.search(r"\n(\|[^\n]*\bmode \|[^\n]*\n)((?:\|[^\n]*\n)+)", text)
        place = [cell.strip() for cell in table[1].split("|")].index("mode")
        listed = " ".join(row.split("|")[place] for row in table[2].splitlines())
    assert set(re.findall(r"`([a-z-]+)`", listed)) == set(MODES)


def test_every_link_of_the_documents_leads_somewhere():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_reference_has_every_public_name_once():
    shown = [
        name
        for page in sorted((ROOT / "docs" / "reference").glob("*.md"))
        for name in re.findall(r"^::: statveil\.(\w+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    ]
    assert sorted(shown) == sorted(sv.__all__)
    listed = re.findall(r"\[`(\w+)`\]", (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(sv.__all__)


def test_every_page_has_its_place_in_the_site():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    named = re.findall(r"^ *- (?:[^#\n]*: )?(\S+\.md)$", nav, flags=re.MULTILINE)
    assert len(named) == len(set(named))
    assert set(named) == {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}


def test_the_table_of_the_tutorial_is_the_one_that_its_script_makes():
    assert TABLE.read_text(encoding="utf-8") == text()


def test_the_reference_has_the_help_of_every_command():
    # in a process of its own: click keeps the help of a command that another test has run by itself
    asked = "from docs.commands import text; import sys; sys.stdout.buffer.write(text().encode())"
    said = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode()
    assert PAGE.read_text(encoding="utf-8") == said, "run 'python docs/commands.py'"
