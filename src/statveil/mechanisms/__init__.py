"""What a parameter becomes: frozen, serialisable rules with no search in them."""

from statveil.mechanisms import cells, comb, interval, partition, scaling  # noqa: F401  (fills the registry)
