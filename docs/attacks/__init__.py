"""Attacks by structure, for ``docs/attack_variants.py``: one class of tables in each file, and what they share."""
