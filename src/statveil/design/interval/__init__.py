"""Bins of equal width: the paper's mechanism, along any direction."""
