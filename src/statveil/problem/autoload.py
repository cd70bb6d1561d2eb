"""A new family, secret or prior axis is one new file: every module of a folder registers itself."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable

__all__ = ["load_folder"]


def load_folder(package: str, path: Iterable[str]) -> None:
    """Import every module of ``package``, in alphabetical order."""
    for module in sorted(info.name for info in pkgutil.iter_modules(path)):
        importlib.import_module(f"{package}.{module}")
