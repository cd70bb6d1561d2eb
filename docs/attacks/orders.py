"""Tables whose rows stand in an order that their values made."""

from __future__ import annotations

import numpy as np
import polars as pl

from attacks.guessing import column_of
from attacks.row_by_row import LABELS, Drawn, drawn, truth_of
from attacks.undoing import blocks_between, guess_by_blocks, guess_by_pairs, guess_by_scatter, guess_by_types
from attacks.variants import Floats, Ints, Table, Variant, log_uniform, rows

__all__ = ["order"]


def ranked_like(rng: np.random.Generator, values: Floats, wave: Floats) -> Ints:
    """The rows in such an order that their values rise and fall as a wave does."""
    ascending = np.argsort(values + 1e-9 * rng.random(len(values)))
    order = np.empty(len(values), dtype=np.int64)
    order[np.argsort(wave)] = ascending
    return order


def in_order(rng: np.random.Generator, values: Floats) -> tuple[str, Ints, list[Ints], float]:
    """Rows in an order that their values made.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the draws come from.
    values : array
        The column.

    Returns
    -------
    str
        The family of the order.
    array
        Numbers of the rows, in that order.
    list of array
        What whoever knows the rule makes of it: positions in the table, each part of which is sorted or slow.
    float
        The share of the rows that are elsewhere.
    """
    count = len(values)
    ascending = np.argsort(values + 1e-9 * rng.random(count))
    line = np.arange(count)
    kinds = (
        *("up", "down", "blocks", "walk", "season", "distance", "digit", "moved", "bands", "interleaved", "rotated"),
        *("piles", "appended", "mirrored", "to and fro", "near", "noisy", "text", "bits", "second column", "half"),
    )
    kind = str(rng.choice(kinds))
    if kind == "up":
        return kind, ascending, [line], 0.0
    if kind == "down":
        return kind, ascending[::-1], [line[::-1]], 0.0
    if kind in ("blocks", "appended", "to and fro"):
        length = int(log_uniform(rng, 12, count / 2)) if kind != "appended" else -(-count // int(rng.integers(2, 7)))
        mixed = rng.permutation(count)
        parts = [line[a : a + length] for a in range(0, count, length)]
        order = np.concatenate([p[np.argsort(values[p], kind="stable")] for p in (mixed[q] for q in parts)])
        if kind == "to and fro":
            for part in parts[1::2]:
                order[part] = order[part][::-1]
            parts = [p if i % 2 == 0 else p[::-1] for i, p in enumerate(parts)]
        return kind, order, [p for p in parts if len(p) > 1], 0.0
    if kind == "walk":
        pull = log_uniform(rng, 1e-3, 0.05)
        wave = np.zeros(count)
        noise = rng.standard_normal(count)
        for i in range(1, count):
            wave[i] = (1 - pull) * wave[i - 1] + noise[i]
        return kind, ranked_like(rng, values, wave), [line], 0.3
    if kind == "season":
        period = log_uniform(rng, 20, count)
        wave = np.sin(2 * np.pi * line / period) + log_uniform(rng, 0.001, 0.3) * rng.standard_normal(count)
        return kind, ranked_like(rng, values, wave), [line], 0.3
    if kind == "distance":
        centre = float(np.quantile(values, rng.uniform(0.05, 0.95)))
        return kind, np.argsort(np.abs(values - centre), kind="stable"), [line], 0.0
    if kind == "digit":
        unit = np.round(values / max(float(np.min(np.diff(np.unique(values)))), 1e-9))
        modulus = int(rng.choice([2, 3, 5, 7, 10, 10, 12, 13, 16, 37, 100]))
        inner = unit if rng.random() < 0.5 else rng.random(count)
        order = np.lexsort((inner, unit % modulus))
        bounds = np.flatnonzero(np.diff((unit % modulus)[order])) + 1
        return kind, order, np.split(line, bounds), 0.0
    if kind in ("moved", "half"):
        share = rng.uniform(0.1, 0.5) if kind == "moved" else rng.uniform(0.5, 0.7)
        order = ascending.copy()
        chosen = rng.permutation(count)[: int(share * count)]
        order[np.sort(chosen)] = order[chosen]
        return kind, order, [line], share
    if kind == "bands":
        bands = int(rng.integers(3, 30))
        cuts = np.quantile(values, np.sort(rng.random(bands)))
        place = np.searchsorted(cuts, values)
        order = np.lexsort((rng.random(count), rng.permutation(bands + 1)[place]))
        return kind, order, [line], 0.0
    if kind in ("interleaved", "piles"):
        piles = 2 if kind == "interleaved" else int(rng.integers(3, 40))
        order = np.empty(count, dtype=np.int64)
        mixed = rng.permutation(count) if rng.random() < 0.5 else ascending
        parts = [line[i::piles] for i in range(piles)]
        begin = 0
        for part in parts:
            own = mixed[begin : begin + len(part)]
            order[part] = own[np.argsort(values[own], kind="stable")]
            begin += len(part)
        return kind, order, parts, 0.0
    if kind == "rotated":
        turn = int(rng.integers(1, count))
        return kind, np.roll(ascending, turn), [np.roll(line, -turn)], 0.0
    if kind == "mirrored":
        order = np.concatenate([ascending[::2], ascending[1::2][::-1]])
        return kind, order, [line[: len(ascending[::2])], line[len(ascending[::2]) :][::-1]], 0.0
    if kind == "near":
        width = log_uniform(rng, 2, count / 10)
        return kind, ascending[np.argsort(line + width * rng.random(count))], [line], 0.2
    if kind == "noisy":
        amount = log_uniform(rng, 0.003, 1) * np.std(values)
        return kind, np.argsort(values + amount * rng.standard_normal(count)), [line], 0.4
    if kind == "text":
        texts = np.array([f"{v:g}" for v in values])
        return kind, np.argsort(texts, kind="stable"), [line], 0.0
    if kind == "bits":
        width = int(np.ceil(np.log2(count)))
        turned_over = np.array([int(f"{i:0{width}b}"[::-1], 2) for i in range(2**width)])
        turned_over = turned_over[turned_over < count]
        order = ascending[turned_over]
        return kind, order, [np.argsort(turned_over)], 0.0
    groups = rng.integers(0, int(rng.integers(2, 30)), count)
    order = np.lexsort((values, groups))
    bounds = np.flatnonzero(np.diff(groups[order])) + 1
    return kind, order, [p for p in np.split(line, bounds) if len(p) > 1], 0.0


def stretches(parts: list[Ints], length: int) -> list[Ints]:
    """Neighbouring rows in groups of about one length."""
    return [q for part in parts for q in np.array_split(part, max(len(part) // length, 1)) if len(q) > 1]


def order_attack(given: Drawn, parts: list[Ints], elsewhere: float, kind: str, table: Table) -> float:
    """Undo what was drawn at random by the order of the rows."""
    assert isinstance(table, pl.DataFrame)
    if given.mode == "category":
        labels = table["x"].cast(pl.String).to_numpy()
        length = 6 if kind in ("walk", "season", "near", "noisy", "digit") else int(np.clip(len(labels) // 60, 7, 25))
        return guess_by_types(given, labels, stretches(parts, length), 0.01 + elsewhere / 3)
    released = column_of(table)
    if given.mode == "unit":
        return guess_by_scatter(given, released, stretches(parts, 6))
    left = np.concatenate([p[:-1] for p in parts])
    right = np.concatenate([p[1:] for p in parts])
    if given.mode in ("jitter", "smooth"):
        return guess_by_pairs(given, released, left, right, 0.9 - 0.7 * elsewhere, 0.25)
    long = [p for p in parts if len(p) >= max(150, len(released) // 8)]
    if elsewhere == 0 and long and kind not in ("distance", "bands", "text", "digit"):
        guesses = [guess_by_blocks(given, released[part], line_ends(released[part])) for part in long]
        return float(np.average(guesses, weights=[len(part) for part in long]))
    low, high = np.minimum(released[left], released[right]), np.maximum(released[left], released[right])
    return guess_by_blocks(given, released, blocks_between(released, low, high, 0.25))


def line_ends(line: Floats) -> Ints:
    """Ends of the blocks of rows that were equal, where rows stand sorted by what they were."""
    before = np.maximum.accumulate(line)[:-1]
    after = np.minimum.accumulate(line[::-1])[::-1][1:]
    places = np.flatnonzero(before <= after) + 1
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    middles = [int(run[len(run) // 2]) for run in runs if len(run)]
    return np.unique(np.concatenate([[0], middles, [len(line)]])).astype(np.int64)


def order(rng: np.random.Generator) -> Variant:
    """A table whose rows stand in an order that their values made."""
    given = drawn(rng, rows(rng))
    if given.mode == "category":
        latent = np.array([LABELS.index(v) for v in given.values], dtype=np.float64)
        if rng.random() < 0.3:
            latent = rng.permutation(5)[latent.astype(np.int64)].astype(np.float64)
    else:
        latent = given.column
    kind, places, parts, elsewhere = in_order(rng, latent)
    values = given.values[places]
    more = {"other": rng.integers(0, 4, len(values))} if rng.random() < 0.3 else {}
    truth, tolerance = truth_of(given)
    return Variant(
        family=f"{given.mode}: {kind}",
        plan=given.plan,
        table=pl.DataFrame({"x": values, **more}),
        twin=pl.DataFrame({"x": rng.permutation(values), **more}),
        truth=truth,
        tolerance=tolerance,
        attack=lambda table: order_attack(given, parts, elsewhere, kind, table),
    )
