"""Combs in closed form: the mechanism that attains the limit."""
