"""reproduce(): every figure and table of the paper into one folder, with a page that collects them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from statveil.datasets.dataset import Dataset
from statveil.datasets.mba import PROVIDER
from statveil.errors import FileError, ProblemError, StatveilError, cannot, unknown_name
from statveil.numbers import check_seed
from statveil.reproducing import items as _items  # noqa: F401  (fills the registry)
from statveil.reproducing.item import FULL, ITEMS, Item, Sizes, Work
from statveil.reproducing.page import INDEX, MARK, page
from statveil.reproducing.results import Outcome
from statveil.reproducing.saving import save
from statveil.reproducing.sources import Sources
from statveil.spoken import Progress, telling
from statveil.whole_file import write_whole

__all__ = ["Reproduced", "item_names", "reproduce"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced:
    """One item after its run: its outcome, or why it failed."""

    name: str
    title: str
    source: str
    seconds: float
    outcome: Outcome | None
    failure: str | None
    files: dict[str, bytes]
    """What was written, by file name."""

    def to_json(self) -> dict[str, Any]:
        """For scripts."""
        found = self.outcome if self.outcome is not None else Outcome()
        return {
            "name": self.name,
            "title": self.title,
            "source": self.source,
            "seconds": round(self.seconds, 1),
            "failure": self.failure,
            "files": sorted(self.files),
            "claims": [{"says": c.says, "holds": c.holds, "evidence": c.evidence} for c in found.claims],
            "differs": list(found.differs),
            "datasets": [{"name": d.name, "stand_in": d.is_stand_in, "says": d.says} for d in found.datasets],
        }


def item_names() -> list[str]:
    """The items in the order of the paper."""
    return sorted(ITEMS, key=lambda name: ITEMS[name].place)


def reproduce(
    output: str | os.PathLike[str],
    *,
    only: Collection[str] | None = None,
    wwt: str | os.PathLike[str] | None = None,
    mba: str | os.PathLike[str] | None = None,
    mba_homes: str | os.PathLike[str] | None = None,
    mba_provider: str | None = PROVIDER,
    salary: str | os.PathLike[str] | None = None,
    seed: int = 0,
    sizes: Sizes = FULL,
    progress: Progress | None = None,
) -> list[Reproduced]:
    """Make the paper's figures and tables anew.

    Parameters
    ----------
    output : path
        A folder; made if there is none. ``index.html`` in it collects everything.
    only : collection of str, optional
        Names of items; all by default.
    wwt, mba, salary : path, optional
        The paper's data sets; a generated stand-in, labelled as such, takes the place of each that is not given.
    mba_homes : path, optional
        Which provider each home of ``mba`` has, where the file does not say.
    mba_provider : str or None
        Whose homes of ``mba`` to take; None takes all.
    seed : int
        The same seed gives the same numbers.
    sizes : Sizes
        How much work to do.
    progress : callable, optional
        Called now and then with what is being done, 0 and None.

    Returns
    -------
    list of Reproduced
        One for each item. An item that fails says so and does not stop the others.
    """
    seed = check_seed(seed)
    names = _chosen(only)
    sources = Sources(wwt=wwt, mba=mba, mba_homes=mba_homes, mba_provider=mba_provider, salary=salary)
    folder = _checked_folder(output)
    tell = telling(progress)
    datasets: dict[str, Dataset] = {}
    for name in sorted({need for chosen in names for need in ITEMS[chosen].needs}):
        tell(f"reading {name}")
        datasets[name] = sources.dataset(name, seed=seed, pages=sizes.pages)
    _make(folder)
    ours = (folder / INDEX).exists()  # then its files are those of an earlier run
    found = []
    for i, name in enumerate(names):
        before = f"{name} ({i + 1} of {len(names)})"
        tell(before)
        work = Work(seed=seed, sizes=sizes, datasets=datasets, tell=partial(_tell, tell, before))
        found.append(_run(ITEMS[name](), work, folder, replace=ours))
    own = any(done.outcome is not None and done.outcome.from_own_file for done in found)
    write_whole(folder / INDEX, page(found, seed=seed).encode(), private=own)
    return found


def _tell(tell: Callable[[str], None], before: str, text: str) -> None:
    tell(f"{before}: {text}")


def _run(item: Item, work: Work, folder: Path, *, replace: bool) -> Reproduced:
    start = time.perf_counter()
    outcome, failure, files = None, None, {}
    try:
        outcome = item.run(work)
        files = save(outcome, folder, replace=replace)
    except StatveilError as error:
        outcome, failure = None, str(error)
    except Exception as error:  # one item must not lose the others
        outcome, failure = None, f"{type(error).__name__}: {error}"
    return Reproduced(
        name=item.name,
        title=item.title,
        source=item.source,
        seconds=time.perf_counter() - start,
        outcome=outcome,
        failure=failure,
        files=files,
    )


def _chosen(only: Collection[str] | None) -> list[str]:
    names = item_names()
    if only is None:
        return names
    wanted = [only] if isinstance(only, str) else list(only)
    if not wanted:
        raise ProblemError(f"name at least one item. Allowed: {', '.join(names)}.")
    for name in wanted:
        if name not in names:
            raise ProblemError(unknown_name("item", str(name), names))
    return [name for name in names if name in wanted]


def _checked_folder(output: str | os.PathLike[str]) -> Path:
    """The output folder, refused before any work where it cannot be written to."""
    if not os.fspath(output):
        raise FileError("the name of the output folder is empty; give a folder, such as results.")
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise FileError(f"{folder} is a file, and the output is a folder of figures and tables; give another name.")
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise FileError(f"cannot write to the folder {there}; give one that you may write to.")
    index = folder / INDEX
    if index.is_dir() or (index.exists() and MARK.encode() not in index.read_bytes()[:2000]):
        raise FileError(f"{index} was not made by this command and would be overwritten; give another folder.")
    return folder


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot(f"make the folder {folder}", error) from None
