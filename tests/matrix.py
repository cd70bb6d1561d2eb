"""The wheel on every Python that is here, with the oldest and the newest dependencies: ``make test-matrix``.

The wheel is built as it would be published, what is in it is compared with what is tracked, and each cell installs it
into an environment of its own without a compiler. There it is first tried as a new user would (`bare_install.py`), then
under some tests of each part. They run in a folder without the sources, so that only the wheel can be what they import.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

if __package__ is None:
    sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.oldest_versions import constraints

ROOT = Path(__file__).parent.parent
WORK = ROOT / "build" / "matrix"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
KINDS = ("oldest", "newest")
BESIDE = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "pyproject.toml"}
MADE = {"PKG-INFO", ".gitignore"}
"""What the builder adds to the archive of sources by itself."""
TESTS = (
    "tests/schemas",
    "tests/pipeline",
    "tests/cli/test_completion.py",
    "tests/cli/test_specification_release.py",
    "tests/files/test_files.py",
    "tests/files/test_excel_formats.py",
    "tests/report/test_document.py",
    "tests/repository/test_golden.py",
    "tests/repository/test_sources.py",
    "tests/studio/test_flow.py",
)
"""Files of all formats, each kind of frame, pictures, the studio with its processes, and that no number changes."""
SHOWN = ("numpy", "scipy", "polars", "pandas", "scikit-learn", "fastapi")


class FailedError(Exception):
    """A step that failed, with what it printed."""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """What a command prints, or :class:`FailedError`."""
    # a path of modules from outside would put other code before the wheel
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment["OPENBLAS_NUM_THREADS"] = "1"
    done = subprocess.run(
        command, cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise FailedError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def find(version: str) -> Path | None:
    """A Python of this version that can make environments: on PATH, or kept by pyenv."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [shutil.which(f"python{version}"), *sorted(kept.glob(f"{version}.*/bin/python"), reverse=True)]
    asked = "import ensurepip, venv, sys; print('%d.%d' % sys.version_info[:2])"
    for place in filter(None, places):
        try:
            if run(place, "-c", asked).strip() == version:
                return Path(place)
        except (FailedError, OSError):
            pass  # pyenv has a stand-in for versions that are not chosen
    return None


def environment(place: Path, python: Path) -> Path:
    """A fresh virtual environment; its Python."""
    shutil.rmtree(place, ignore_errors=True)
    run(python, "-m", "venv", place)
    return place / "bin" / "python"


def install(python: Path, *asked: str) -> None:
    """Install with pip, from wheels alone, as nobody should need a compiler; pyspark is Python alone and has none."""
    quick = ("--quiet", "--disable-pip-version-check", "--no-compile")  # Python compiles what it imports
    run(python, "-m", "pip", "install", *quick, "--only-binary", ":all:", "--no-binary", "pyspark", *asked)


def build(python: Path) -> Path:
    """The wheel, built without a warning from an archive of sources that holds what it should."""
    tools = environment(WORK / "tools", python)
    install(tools, "build")
    out = WORK / "dist"
    shutil.rmtree(out, ignore_errors=True)
    said = run(tools, "-m", "build", "--outdir", out)
    # where pip looks for packages is the machine's business
    warned = [line for line in said.splitlines() if re.search("warn|deprecat", line, re.I) and "Location" not in line]
    if warned:
        raise FailedError("python -m build warns:\n" + "\n".join(warned))
    (wheel,), (archive,) = out.glob("*.whl"), out.glob("*.tar.gz")
    tracked = set(run("git", "ls-files", "src/statveil").split())
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    _same("the wheel", inside, {name.removeprefix("src/") for name in tracked})
    with tarfile.open(archive) as opened:
        names = {name.split("/", 1)[1] for name in opened.getnames()}
    _same("the sdist", names - MADE, tracked | BESIDE)
    return wheel


def _same(what: str, found: set[str], expected: set[str]) -> None:
    if found != expected:
        raise FailedError(f"{what} has {sorted(found - expected)} beyond, and lacks {sorted(expected - found)}")


def cell(python: Path, version: str, kind: str, wheel: Path, tree: Path) -> str:
    """Install, try and test; what was installed and how many tests passed."""
    place = WORK / f"{version}-{kind}"
    inner = environment(place, python)
    bounds: list[str] = []
    if kind == "oldest":
        lowest = constraints((ROOT / "pyproject.toml").read_text(encoding="utf-8"), int(version.split(".")[1]))
        (place / "constraints.txt").write_text("\n".join(lowest), encoding="utf-8")
        bounds = ["--constraint", str(place / "constraints.txt")]
    install(inner, str(wheel), *bounds)
    (folder := place / "user").mkdir()
    run(inner, "-W", "error", tree / "tests" / "bare_install.py", cwd=folder)
    install(inner, f"{wheel}[dev]", *bounds)
    run(inner, "-m", "pip", "check")
    said = run(inner, "-m", "pytest", "-p", "no:cacheprovider", *TESTS, cwd=tree)
    listed = dict(line.split("==") for line in run(inner, "-m", "pip", "freeze").splitlines() if "==" in line)
    return f"{', '.join(f'{name} {listed[name]}' for name in SHOWN)}: {said.strip().splitlines()[-1]}"


def main() -> int:
    """Every cell asked for; 1 where one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", choices=PYTHONS, help="this version only; repeatable")
    parser.add_argument("--kind", action="append", choices=KINDS, help="these dependencies only; repeatable")
    parser.add_argument("--keep", action="store_true", help="keep the environments that passed, of 1.2 GB each")
    asked = parser.parse_args()
    found = {version: find(version) for version in asked.python or PYTHONS}
    for version in (version for version, python in found.items() if python is None):
        print(f"python{version}: not found, neither on PATH nor kept by pyenv; left out", flush=True)
    here = {version: python for version, python in found.items() if python is not None}
    if not here:
        print("no Python to try: install one, or put it on PATH")
        return 1
    try:
        wheel = build(next(iter(here.values())))
    except FailedError as error:
        print(f"the wheel: FAILED\n{error}")
        return 1
    print(
        f"{wheel.name}: built without a warning; it holds what is tracked, as the archive of sources does", flush=True
    )
    tree = WORK / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    for folder in ("tests", "fuzz", "examples"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    failed = 0
    for version, python in here.items():
        for kind in asked.kind or KINDS:
            start = time.monotonic()
            try:
                said = cell(python, version, kind, wheel, tree)
            except FailedError as error:
                failed += 1
                print(f"python{version} {kind}: FAILED\n{error}", flush=True)
                continue
            print(f"python{version} {kind}: {said}; {time.monotonic() - start:.0f} s with installing", flush=True)
            if not asked.keep:
                shutil.rmtree(WORK / f"{version}-{kind}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
