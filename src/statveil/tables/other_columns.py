"""What a specification did with the columns beside a hidden one, in the words of a card."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OtherColumns"]

_DONE = {
    "kept": "kept columns were left as they were",
    "hidden": "other hidden columns were released under plans of their own",
    "linked": "linked columns were moved by the same map",
    "derived": "derived columns were worked out from released columns",
    "dropped": "dropped columns were left out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherColumns:
    """What a specification did with the columns beside a hidden one."""

    linked: tuple[str, ...] = ()
    """Those that moved by the same map."""
    done: frozenset[str] = frozenset()
    """What became of the others: any of ``_DONE``."""

    def assumed(self) -> list[str]:
        """What the guarantee takes for granted of them."""
        said = [says for name, says in _DONE.items() if name in self.done or (name == "linked" and self.linked)]
        became = "; ".join(said)
        lines = [
            "No column that was kept, or that moved under another map, tells the released one (a copy, a multiple, a "
            f"sum).{f' {became[0].upper()}{became[1:]}.' if became else ''}"
        ]
        if self.linked:
            lines.append(
                f"What the columns that are linked to it ({', '.join(map(repr, self.linked))}) say of it and of each "
                "other tells nothing of the hidden statistic: their differences under a shift and their ratios under a "
                "scaling are published as they were, and the factors of the links are right."
            )
        return lines
