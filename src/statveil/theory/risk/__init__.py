"""Exact risk, one prior's shape a file."""
