"""The page's modules as one script: each is a file that answers one question, and a browser asks for all of them once.

Every request costs a browser some milliseconds, and the modules were most of them. Nothing is translated: a module
becomes a function that is called once, after those it imports, and what it exports is what that function returns.
"""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["joined"]

_IMPORT = re.compile(r'import \{ ([\w$]+(?:, [\w$]+)*) \} from "\./(\w+)\.js";')
_EXPORT = re.compile(r"export ((?:async )?function|class|const) ([\w$]+)")


def joined(folder: Path, first: str) -> str:
    """The module ``first`` of a folder with all that it imports, in the order in which they are needed.

    Raises
    ------
    ValueError
        A module imports or exports in another form than ``import { a, b } from "./module.js";`` and a named function,
        class or constant, or modules import each other in a circle.
    """
    parts: dict[str, str] = {}
    _join(folder, first, parts, ())
    return "\n".join(parts.values())


def _join(folder: Path, name: str, parts: dict[str, str], above: tuple[str, ...]) -> None:
    if name in above:
        raise ValueError(f"modules import each other: {' -> '.join((*above, name))}; move what both need to a third.")
    if name in parts:
        return
    lines, exported = [], []
    for line in (folder / f"{name}.js").read_text(encoding="utf-8").splitlines():
        wanted, given = _IMPORT.fullmatch(line), _EXPORT.match(line)
        if wanted is not None:
            _join(folder, wanted[2], parts, (*above, name))
            lines.append(f"const {{ {wanted[1]} }} = ${wanted[2]};")
        elif given is not None:
            exported.append(given[2])
            lines.append(line.removeprefix("export "))
        elif line.startswith(("import", "export")):
            raise ValueError(f"{name}.js: {line!r} is no form that can be joined; name what is imported or exported.")
        else:
            lines.append(line)
    body = "\n".join(lines)
    parts[name] = f"const ${name} = (() => {{ // {name}.js\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();"
