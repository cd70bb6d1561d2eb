"""A new ledger for each test."""

from __future__ import annotations

import pytest

import statveil as sv


@pytest.fixture
def ledger(tmp_path):
    return sv.Ledger.create(tmp_path / "books.db")
