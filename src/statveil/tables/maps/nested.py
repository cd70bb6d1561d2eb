"""One order of all units of a column, of which every plan takes the first: what is drawn for two plans is nested.

Whoever has two tables whose units were drawn independently counts the units that both have, and knows how many there
were: capture and recapture. So every unit has one secret priority, which belongs to the column and not to the plan, and
a plan takes the units of least priority. Two plans then differ by exactly the units between their totals.

**Why the tables tell no more than their totals** (docs/theory.md, composition). Let T(N) be the rows when N units are
taken of M in all, and T(M + G) the rows after G units were added, one after another.

* Equal weights: if the rows of the column are Poisson, then given their total the M units lie in the rows like M
  independent throws. Taking the first N in a random order leaves N throws, adding G gives M + G throws: T(0), T(1), ...
  is a sequence of throws, whatever M is.
* Urn: if the rows are geometric, then given their total the units are the first M draws of a Polya urn that starts with
  one ball for each row. Its draws are exchangeable, so the first N in a random order are the urn after N draws, and the
  urn goes on from M: T(0), T(1), ... is the urn, whatever M is.

So the law of (T(N1), T(N2), ...) depends on N1, N2, ... alone, and M, the secret, is independent of the tables given
their totals. For totals below M the first argument needs no model: T(N1) is a uniform part of T(N2).

Nothing is listed unit by unit where there are many: priorities are binary fractions, and how many units of an entry
have a 0 as their next digit is binomial. Only the branch in which the last unit to be taken lies is followed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from statveil.tables.blocks import Array
from statveil.tables.maps.column_map import stream
from statveil.tables.maps.sampling import Counts, spread

__all__ = ["AMONG_FEW", "Node", "first_placed", "first_units", "nodes_of"]

Node = Callable[[int, int], Generator]
"""The random numbers of a numbered part, at one node of its tree."""

AMONG_FEW = 2**12
"""Units below which priorities are listed, where there are few entries (blocks of a column)."""
_LISTED = 2**20
"""The same for the rows of a block: what a list of so many costs is about what one more binomial of each row does."""
_THROWN = 2**17
"""Units that are thrown one by one; after them come parts of three times as many as there were before."""
_ORDER, _THROWS = 0, 1  # parts of the random numbers: priorities, and the throws from here on


def nodes_of(seed: int, purpose: int, block: int) -> Node:
    """The random numbers of one block for one purpose."""
    return lambda part, node: stream(seed, purpose | part << 16, block, node)


def first_units(units: Counts, keep: int, draws: Node, *, part: int = _ORDER, listed: int = _LISTED) -> Counts:
    """How many units of each entry are among the first ``keep`` of all units, in one random order.

    For one ``keep`` this is the law of :func:`statveil.tables.maps.sampling.thinned`, every subset being as likely; for
    two of them the smaller subset lies within the larger one.

    Parameters
    ----------
    units
        Units of each entry, with a total below 2**53.
    keep
        From 0 to the total.
    draws, part
        Where the order comes from: the same for every ``keep``.
    listed
        Units below which each has a priority of its own; changes the order, not its law.

    Examples
    --------
    >>> draws, units = nodes_of(7, 0, 0), np.array([3, 0, 5])
    >>> fewer, more = (first_units(units, keep, draws) for keep in (2, 6))
    >>> int(fewer.sum()), int(more.sum()), bool((fewer <= more).all())
    (2, 6, True)
    """
    taken, rest, node = np.zeros_like(units), units, 1
    while True:
        total = int(rest.sum())
        if keep == 0:
            return taken
        if keep == total:
            return taken + rest
        if np.count_nonzero(rest) == 1:  # they are alike
            return taken + np.where(rest > 0, keep, 0)
        if total <= listed:
            return taken + _least(rest, keep, draws(part, node))
        # the next binary digit of every priority is 0 or 1 with equal chances, whatever the digits before
        low = draws(part, node).binomial(rest, 0.5)
        below = int(low.sum())
        if keep < below:
            rest, node = low, 2 * node
        else:
            taken, rest, keep, node = taken + low, rest - low, keep - below, 2 * node + 1


def _least(units: Counts, keep: int, draws: Generator) -> Counts:
    """The same with one priority of 64 bits for each unit."""
    keys = draws.integers(0, 2**64 - 1, size=int(units.sum()), dtype=np.uint64, endpoint=True)
    last = np.partition(keys, keep - 1)[keep - 1]
    chosen = keys < last
    # equal priorities, once in a hundred thousand tables of a billion units, stand in the order of the rows
    chosen[np.flatnonzero(keys == last)[: keep - int(chosen.sum())]] = True
    seen = np.concatenate([[0], np.cumsum(chosen)])
    stops = np.cumsum(units)
    return np.asarray(seen[stops] - seen[stops - units], dtype=np.int64)


def first_placed(weights: Array, units: int, draws: Node, *, listed: int = _LISTED, thrown: int = _THROWN) -> Counts:
    """How many of the first ``units`` throws each entry gets, each with the odds ``weights``: multinomial, and nested.

    The first throws are made one by one. Then come parts of three times as many throws as there were before, each drawn
    as a whole; of a part that is needed only to some of its throws, the first are taken in a random order.
    """
    placed = np.zeros(len(weights), dtype=np.int64)
    if units:
        single = draws(_THROWS, 0).random(min(units, thrown))  # each takes the next number: a longer list begins alike
        placed += np.bincount(_entries(weights, single), minlength=len(weights))
    done, part = thrown, _THROWS + 1
    while units > done:
        size = 3 * done
        made = spread(weights, size, draws(part, 0))
        placed += made if units >= done + size else first_units(made, units - done, draws, part=part, listed=listed)
        done, part = done + size, part + 1
    return placed


def _entries(weights: Array, chances: Array) -> Counts:
    """Which entry each chance from 0 to 1 falls to."""
    if (weights == weights[0]).all():
        return np.asarray(np.minimum(chances * len(weights), len(weights) - 1), dtype=np.int64)
    ends = np.cumsum(weights)
    found = np.searchsorted(ends, np.sort(chances) * ends[-1], side="right")
    return np.asarray(np.minimum(found, np.flatnonzero(weights)[-1]), dtype=np.int64)
