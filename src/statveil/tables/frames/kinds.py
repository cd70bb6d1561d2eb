"""Which library an object comes from, without importing the library."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["is_a"]


def is_a(value: Any, module: str, name: str) -> bool:
    """Whether the object is an instance of a class of a library that may not be installed."""
    loaded = sys.modules.get(module)
    kind = getattr(loaded, name, None)
    return kind is not None and isinstance(value, kind)
