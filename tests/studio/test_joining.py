"""Modules that become one script: each once, after those it needs, and nothing that cannot be joined is let through."""

from __future__ import annotations

import pytest

from statveil.studio.joining import joined


def write(folder, **modules):
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")


def test_a_module_comes_once_and_after_those_it_imports(tmp_path):
    write(
        tmp_path,
        main='import { a } from "./one.js";\nimport { b, c } from "./two.js";\na(b, c);\n',
        one='import { c } from "./two.js";\nexport function a() {\n  return c;\n}\n',
        two="const own = 1;\nexport const b = own;\nexport async function c() {}\nexport class D {}\n",
        unused="export const e = 1;\n",
    )
    said = joined(tmp_path, "main")
    places = [said.index(f"const ${name} = ") for name in ("two", "one", "main")]
    assert places == sorted(places)
    assert said.count("const $two = ") == 1
    assert "return { b, c, D };" in said
    assert "const { b, c } = $two;\na(b, c);" in said
    assert not any(word in said for word in ("import ", "export ", "$unused"))


@pytest.mark.parametrize(
    "line",
    [
        'import "./two.js";',
        'import * as two from "./two.js";',
        'import { b as d } from "./two.js";',
        'import { b } from "https://elsewhere.example/two.js";',
        "export default 1;",
        "export { b };",
        "export let b = 1;",
    ],
)
def test_what_cannot_be_joined_is_refused_with_its_line(tmp_path, line):
    write(tmp_path, main=f"{line}\n", two="export const b = 1;\n")
    with pytest.raises(ValueError, match=r"main\.js: .* is no form that can be joined"):
        joined(tmp_path, "main")


def test_a_circle_is_refused(tmp_path):
    write(tmp_path, main='import { b } from "./two.js";\n', two='import { a } from "./main.js";\nexport const b = a;\n')
    with pytest.raises(ValueError, match="main -> two -> main"):
        joined(tmp_path, "main")
