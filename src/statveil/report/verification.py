"""What was found of a table and its card, in words."""

from __future__ import annotations

from statveil.tables.verify_file import Verified

__all__ = ["describe_verification"]


def describe_verification(found: Verified) -> str:
    """One line for each check, and the verdict."""
    lines = [f"{'ok ' if check.ok else 'NOT'} {check.name:<10} {check.says}" for check in found.checks]
    return "\n".join([*lines, f"{found.table} {'agrees' if found.ok else 'does NOT agree'} with its card."])
