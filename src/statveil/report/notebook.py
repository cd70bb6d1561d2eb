"""Results in notebooks: the picture, and the text below it."""

from __future__ import annotations

import base64
import html

from statveil.errors import StatveilError
from statveil.spoken import Drawn, describe

__all__ = ["bundle"]


def bundle(result: Drawn) -> dict[str, str]:
    """The result as text and as a part of a page.

    The picture is an image of its own, in which nothing runs whatever the names in it are; where there is nothing to
    draw, the text stands alone.
    """
    text = describe(result)
    page = f"<pre>{html.escape(text)}</pre>"
    try:
        chart = result.plot()
    except StatveilError:
        return {"text/plain": text, "text/html": page}
    import vl_convert

    drawn = base64.b64encode(vl_convert.vegalite_to_svg(chart.to_json()).encode()).decode()
    # on paper of its own: the labels are dark whatever the notebook's theme is
    style = "background:#fff;padding:8px;border-radius:6px;max-width:100%"
    picture = f'<img alt="chart of the result below" style="{style}" src="data:image/svg+xml;base64,{drawn}">'
    return {"text/plain": text, "text/html": f"<div>{picture}{page}</div>"}
