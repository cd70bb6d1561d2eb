"""A value that is known to occur often: the most frequent released values tell where it went."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.evidence import Span, on_comb, slack_of, span
from statveil.auditing.inversion import Inversion, inverted
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.tables.blocks import Array

__all__ = ["Atoms"]

_MODES = 32  # frequent released values that are tried for each atom


class Atoms(Attacker):
    """Puts the frequent released values back to the known atoms."""

    name: ClassVar[str] = "atoms"
    doc: ClassVar[str] = "values that are known to occur often, compared with the most frequent released values"
    remedy: ClassVar[str] = "Declare the frequent value in the plan (known atoms), so that the map keeps it in place."

    def applies(self, view: View) -> bool:
        kept = view.mode.fixed_point(view.plan.problem)
        return view.mode.line and any(atom != kept for atom in view.knowledge.structure.atoms)

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None or found.factor is None:
            return None
        values = np.sort(view.column[np.isfinite(view.column)])
        slack = slack_of(view.plan, values)
        atoms = view.knowledge.structure.atoms
        spans = [
            one
            for mode in _frequent(values, slack)
            for atom in atoms
            if (one := span(found, atom, mode, slack)) is not None
        ]
        low, high = float(found.secrets.min()), float(found.secrets.max())
        open_still = [one for one in spans if one.high >= low and one.low <= high]
        if not open_still:
            return found.posterior()
        # every atom has its say on every candidate: two atoms must both lie on frequent values
        counts = np.array([_rows_at(found, values, atoms, one.middle, slack) for one in open_still])
        return _posterior(view, found, open_still, counts) or found.posterior()


def _frequent(values: Array, slack: float) -> Array:
    """The released values that occur most often, up to rounding and the jitter of 32-bit floats; at least twice."""
    first = np.searchsorted(values, values - slack, side="left")
    counts = np.searchsorted(values, values + slack, side="right") - first
    modes: list[float] = []
    for place in np.argsort(-counts, kind="stable"):
        if counts[place] < 2 or len(modes) == _MODES:
            break
        if all(abs(values[place] - mode) > 2 * slack for mode in modes):
            inside = values[first[place] : first[place] + counts[place]]
            modes.append(float(inside.mean()))
    return np.array(modes)


def _rows_at(found: Inversion, values: Array, atoms: tuple[float, ...], secret: float, slack: float) -> float:
    """Rows that lie where the atoms would be if this were the secret."""
    assert found.factor is not None
    assert found.offset is not None
    order = np.argsort(found.secrets)
    back = 1 / found.factor[order]  # linear in the secret, as is offset / factor; the factor itself is not
    steps = np.interp(secret, found.secrets[order], back)
    starts = np.interp(secret, found.secrets[order], found.offset[order] * back)
    places = (np.array(atoms) + starts) / steps
    width = 2 * slack
    counts = np.searchsorted(values, places + width, side="right") - np.searchsorted(values, places - width)
    return float(counts.sum())


def _posterior(view: View, found: Inversion, spans: list[Span], counts: Array) -> Posterior | None:
    """Candidates weighted by the prior and the square of their rows: a known atom stands out from chance ties."""
    order = np.argsort(found.secrets)
    secrets, weights = found.secrets[order], found.weights[order]
    points = np.clip([[one.low, one.middle, one.high] for one in spans], secrets[0], secrets[-1])
    shares = np.outer(counts**2, [1.0, 2.0, 1.0]) * np.interp(points, secrets, weights)
    return Posterior.of(on_comb(view, found, points).ravel(), shares.ravel())
