"""Why a specification does not hide the number of rows beside columns: the means of a part tell what was left out."""

import numpy as np

SHOWN, MOST, TOLERANCE = 10_000, 20_000, 500


def hits(columns, *, part_is_moved, trials=400):
    """How often the best attacker guesses the number of rows: the means of all rows, or of the part, are public."""
    rng = np.random.default_rng(columns)
    guesses = np.arange(SHOWN, MOST + 1)
    spread = np.sqrt(np.maximum(guesses - SHOWN, 1e-6) / (guesses - 1) / SHOWN)
    found = 0
    for _ in range(trials):
        rows = int(rng.integers(SHOWN, MOST + 1))
        off = rng.standard_normal(columns) * spread[rows - SHOWN] * (not part_is_moved)
        believed = np.zeros(len(guesses))
        if not part_is_moved:
            believed = -0.5 * (off @ off) / spread**2 - columns * np.log(spread)
        weight = np.cumsum(np.concatenate(([0.0], np.exp(believed - believed.max()))))
        window = 2 * TOLERANCE + 1
        guess = guesses[int(np.argmax(weight[window:] - weight[:-window])) + TOLERANCE]
        found += abs(guess - rows) <= TOLERANCE
    return found / trials


def test_columns_moved_before_rows_are_left_out_tell_their_number():
    claimed = (2 * TOLERANCE + 1) / (MOST - SHOWN + 1)
    assert hits(1, part_is_moved=False) > claimed + 0.02
    assert hits(12, part_is_moved=False) > 0.22


def test_columns_of_the_part_moved_afterwards_do_not():
    assert hits(12, part_is_moved=True) < (2 * TOLERANCE + 1) / (MOST - SHOWN + 1) + 0.06
