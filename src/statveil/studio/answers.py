"""Answers as JSON text in which no name can be anything but text."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["answer_bytes"]

_MARKS = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def answer_bytes(value: Any) -> bytes:
    r"""JSON in ASCII: control characters, marks of direction and lone surrogates are spelled out, and so is ``<``.

    >>> answer_bytes({"name": "<b>"})
    b'{"name":"\\u003cb\\u003e"}'
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for mark, spelled in _MARKS.items():
        text = text.replace(mark, spelled)
    return text.encode("ascii")
