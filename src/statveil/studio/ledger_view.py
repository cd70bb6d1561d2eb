"""Earlier releases of the dataset and what they leave, for the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from statveil.rounding import shown_up

__all__ = ["ledger_view"]


def ledger_view(books: str | None, dataset: str | None) -> dict[str, Any] | None:
    """What stands in the ledger of this dataset; ``None`` where none is kept."""
    if books is None:
        return None
    if not Path(books).exists():
        return {"dataset": dataset, "words": ["Nothing was released before."], "releases": [], "accounts": []}
    from statveil.ledger.ledger import Ledger
    from statveil.ledger.store import Store
    from statveil.ledger.view import releases

    found = Ledger(books).show(dataset=dataset)
    earlier = [
        {
            "when": one.at,
            "columns": list(one.columns),
            "audience": one.audience,
            "words": f"{one.at}: {', '.join(one.columns)}, for {one.audience} ({one.state}).",
        }
        for one in releases(Store(Path(books)), dataset=dataset or "")
    ]
    accounts = []
    for column in found.columns:
        for one in column.to_json()["secrets"]:
            left = "no budget is set" if one["budget"] is None else f"the budget is {one['budget']:g}"
            risk = "nothing was released" if one["risk"] is None else f"the joint risk is {shown_up(one['risk'])}"
            accounts.append(
                {
                    "column": column.column,
                    "secret": one["secret"],
                    "risk": one["risk"],
                    "budget": one["budget"],
                    "words": f"The {one['secret']} of {column.column!r}: {risk}, {left}.",
                }
            )
    return {"dataset": dataset, "words": _words(len(earlier)), "releases": earlier, "accounts": accounts}


def _words(count: int) -> list[str]:
    if not count:
        return ["Nothing was released of this dataset before."]
    times = "once" if count == 1 else f"{count} times"
    return [f"This dataset was released {times} before. All receivers count together, whoever they are."]
