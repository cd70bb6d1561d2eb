"""Someone who believes that shares follow a Beta distribution: an odds map leaves that family, and shows how far."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.inversion import Inversion, inverted
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.tables.blocks import Array
from statveil.tables.maps.odds import moved_odds, solved

__all__ = ["BetaShape"]

_NODES, _ROWS = 48, 4_000


class BetaShape(Attacker):
    """Undoes the map for every candidate and asks which original looks most like a Beta distribution."""

    name: ClassVar[str] = "beta-shape"
    doc: ClassVar[str] = "the belief that values between two bounds follow a Beta distribution, which the map leaves"
    remedy: ClassVar[str] = (
        "Leave the column out if outsiders believe in a Beta distribution, or release fewer rows: the shape of many "
        "rows tells such a believer how far they moved."
    )

    def applies(self, view: View) -> bool:
        return view.mode.bends

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None:
            return None
        likely = _likelihood(view, found)
        return None if likely is None else found.posterior(likely) or found.posterior()


def _likelihood(view: View, found: Inversion) -> Array | None:
    """How likely the released rows are under each candidate, up to a factor."""
    known = view.plan.problem.known
    assert known.minimum is not None
    assert known.maximum is not None
    rows = view.column[np.isfinite(view.column)]
    share = (rows - known.minimum) / (known.maximum - known.minimum)
    share = np.clip(share[(share > 0) & (share < 1)][:_ROWS], 1e-9, 1 - 1e-9)
    if len(share) < 20:
        return None
    nodes = np.unique(np.linspace(0, len(found.secrets) - 1, _NODES).astype(np.int64))
    wanted = found.secrets[nodes] / (view.plan.problem.secret.times_mean or 1.0)
    scores = np.array([_score(share, (mean - known.minimum) / (known.maximum - known.minimum)) for mean in wanted])
    # the sample of rows stands for all of them
    scores *= len(rows) / len(share)
    spread = np.interp(np.arange(len(found.secrets)), nodes, scores)
    return np.asarray(np.exp(np.maximum(spread - spread.max(), -700.0)), dtype=np.float64)


def _score(share: Array, mean: float) -> float:
    """Log-likelihood of the released shares if the original had this mean and was a Beta distribution."""
    from scipy.special import betaln

    def mean_of(log_ratio: float) -> tuple[float, float]:
        moved = moved_odds(share, float(np.exp(log_ratio)))
        return float(moved.mean()), float((moved * (1 - moved)).mean())

    ratio = float(np.exp(solved(mean_of, float(np.clip(mean, 1e-9, 1 - 1e-9)))))
    original = np.clip(moved_odds(share, ratio), 1e-12, 1 - 1e-12)
    centre, spread = float(original.mean()), float(original.var())
    size = max(centre * (1 - centre) / max(spread, 1e-12) - 1, 1e-3)
    a, b = centre * size, (1 - centre) * size
    log_density = (a - 1) * np.log(original) + (b - 1) * np.log1p(-original) - betaln(a, b)
    # how much the map back stretches: a / (1 + (a - 1) y)^2
    stretch = np.log(ratio) - 2 * np.log1p((ratio - 1) * share)
    return float(np.sum(log_density + stretch))
