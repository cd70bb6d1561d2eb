"""Public shapes: the standard variable Z of columns X = loc + scale Z."""
