"""Cells of one parameter, each sent to one release or to several: layers, combs, and the best of all."""
