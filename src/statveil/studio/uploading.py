"""A table that arrives in a request: written as it comes, whole or not at all, and never more than allowed."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from statveil.studio.refusal import Refusal

__all__ = ["receive", "safe_name"]

_LONGEST_NAME = 200


def safe_name(text: str) -> str:
    """The name that a browser gave, without the folders that some put before it."""
    name = text.replace("\\", "/").rsplit("/", 1)[-1].replace("\0", "").strip()
    if not name or name in (".", ".."):
        raise Refusal("the uploaded file has no name.", field="upload")
    if len(name) > _LONGEST_NAME:
        raise Refusal(f"the name of the file has more than {_LONGEST_NAME} characters; rename it.", field="upload")
    return name


async def receive(chunks: AsyncIterator[bytes], place: Path, suffix: str, *, stated: str | None, most: int) -> Path:
    """Write the body of a request to a file in ``place``, a folder of its own that goes where this fails."""
    target = place / f"table{suffix}"
    try:
        if stated is not None and (not stated.isdecimal() or int(stated) > most):
            raise _too_large(most)
        handle = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o600)
        size = 0
        with os.fdopen(handle, "wb") as file:
            async for chunk in chunks:
                size += len(chunk)
                if size > most:
                    raise _too_large(most)
                file.write(chunk)
        if stated is not None and size != int(stated):
            raise Refusal("the upload was cut off; nothing of it was kept. Try again.", field="upload")
        return target
    except OSError as error:
        _remove(place)
        raise Refusal(f"cannot keep the upload: {error.strerror or error}.", status=507, field="upload") from None
    except BaseException:
        _remove(place)
        raise


def _remove(place: Path) -> None:
    with suppress(OSError):
        shutil.rmtree(place)


def _too_large(most: int) -> Refusal:
    return Refusal(
        f"the file is larger than the {most:,} bytes that an upload may have; name its path on this machine instead, "
        "where nothing is copied, or start the studio with a larger --max-upload.",
        status=413,
        field="upload",
    )
