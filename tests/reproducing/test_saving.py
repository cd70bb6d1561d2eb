"""Files of an outcome never replace files that are not those of an earlier run."""

from types import SimpleNamespace

import pytest

import statveil as sv
from statveil.reproducing.saving import save


def test_files_that_are_there_stay(tmp_path):
    table = SimpleNamespace(name="result", caption="", columns=[], rows=[])
    outcome = SimpleNamespace(figures=[], tables=[table], from_own_file=False)
    (tmp_path / "result.json").write_text("somebody's\n")
    with pytest.raises(sv.FileError, match="was not made by this command"):
        save(outcome, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert (tmp_path / "result.json").read_text() == "somebody's\n"
    assert save(outcome, tmp_path, replace=True).keys() == {"result.csv", "result.json"}
    assert (tmp_path / "result.json").read_text() != "somebody's\n"
