"""What is entered in a ledger."""

from __future__ import annotations

import json
import sqlite3


def entries(ledger):
    db = sqlite3.connect(ledger.path)
    found = [json.loads(content) for (content,) in db.execute("SELECT content FROM entries ORDER BY number")]
    db.close()
    return found
