"""Pages that run nothing but our own scripts and send nothing, whatever the names in them are."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence

__all__ = ["chart_page", "json_in_script", "policy"]

_OPEN, _CLOSE = '<script type="text/javascript">', "</script>"
_STYLE = (
    "#vega-chart.vega-embed { width: 100%; display: flex; }"
    "#vega-chart.vega-embed details, #vega-chart.vega-embed details summary { position: relative; }"
)
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def json_in_script(text: str) -> str:
    r"""JSON that stays data inside a script: no character ends the script, opens a comment or breaks a line.

    >>> json_in_script('{"name": "</script>"}')
    '{"name": "\\u003c/script\\u003e"}'
    """
    ascii_only = json.dumps(json.loads(text))  # so U+2028, U+2029 and lone surrogates are escaped as well
    for mark, escape in _ESCAPED.items():
        ascii_only = ascii_only.replace(mark, escape)
    return ascii_only


def policy(scripts: Sequence[str] = ()) -> str:
    """A Content-Security-Policy under which only these scripts run, and nothing is fetched or sent."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts
    )
    rules = (
        "default-src 'none'",
        "script-src " + (hashes or "'none'"),
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">'


def chart_page(spec: str, *, below: str = "") -> str:
    """A page with a Vega-Lite chart that opens offline; ``below`` is HTML whose parts are escaped already."""
    import vl_convert

    # the libraries come from a page of an empty chart: no name of ours ever passes through that page's making
    empty = vl_convert.vegalite_to_html('{"mark": "point", "data": {"values": []}}', bundle=True)
    library = empty.partition(_OPEN)[2].partition(_CLOSE)[0]
    # "ast": expressions are interpreted, so that the policy need not allow code made from text
    show = f"vegaEmbed('#vega-chart', {json_in_script(spec)}, {{renderer: 'svg', ast: true}}).catch(console.error);"
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">{policy((library, show))}
<title>Chart</title><style>{_STYLE}</style>
{_OPEN}{library}{_CLOSE}
</head><body>
<div id="vega-chart"></div>
{_OPEN}{show}{_CLOSE}
{below}
</body></html>
"""
