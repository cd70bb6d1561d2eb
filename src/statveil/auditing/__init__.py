"""Attacks on a released table before someone else makes them."""
