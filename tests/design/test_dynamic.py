"""The dynamic programme against every partition of tiny grids, with costs and distances computed from scratch here."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats

import statveil as sv
from statveil.design.partition.designer import Designer, best_partition
from statveil.design.target import MaxDistortion
from statveil.theory.one_parameter import line
from statveil.theory.risk.preimage import bin_cost, contiguous_cost

pytestmark = pytest.mark.usefixtures("no_optimum")

STEADY = {
    "derandomize": True,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.explicit, Phase.generate],  # a failure is reported at once, not shrunk for minutes
}
NOISE = 5e-5
"""Our bins are cut into straight pieces: their costs are right to about this."""


# --- beliefs, with distribution functions of our own --------------------------------------------------
@dataclass
class Belief:
    axis: object
    low: float
    high: float
    cdf: object
    knots: tuple = ()

    def draw(self, rng, size):
        t = np.linspace(self.low, self.high, 400_001)
        return np.interp(rng.random(size), self.cdf(t), t)


def flat(low, high):
    return Belief((low, high), low, high, lambda x: (np.clip(x, low, high) - low) / (high - low))


def table(values, weights):
    x, w = np.array(values, float), np.array(weights, float)
    mass = np.concatenate([[0], np.cumsum((w[1:] + w[:-1]) / 2 * np.diff(x))])

    def cdf(t):
        t = np.clip(np.asarray(t, float), x[0], x[-1])
        k = np.clip(np.searchsorted(x, t) - 1, 0, len(x) - 2)
        u = t - x[k]
        return (mass[k] + w[k] * u + (w[k + 1] - w[k]) / (x[k + 1] - x[k]) * u * u / 2) / mass[-1]

    return Belief(sv.Tabulated(list(values), list(weights)), float(x[0]), float(x[-1]), cdf, tuple(x[1:-1]))


def bumps(low, high, weights):
    return table(np.linspace(low, high, len(weights)), weights)


def normal(centre, spread, low, high):
    dist = stats.norm(centre, spread)
    a, b = dist.cdf(low), dist.cdf(high)
    axis = sv.Density("normal", [centre, spread], low=low, high=high)
    return Belief(axis, low, high, lambda x: (dist.cdf(np.clip(x, low, high)) - a) / (b - a))


def elicited(a, b, sure, scale):
    to, back = {"log": (np.log, np.exp), "logit": (special.logit, special.expit)}[scale]
    centre, whole = (to(a) + to(b)) / 2, stats.norm.cdf(4) - stats.norm.cdf(-4)
    spread = (to(b) - centre) / stats.norm.ppf(0.5 + 0.5 * sure * whole)
    low, high = float(back(centre - 4 * spread)), float(back(centre + 4 * spread))

    def cdf(x):
        z = (to(np.clip(x, low, high)) - centre) / spread
        return np.clip((stats.norm.cdf(z) - stats.norm.cdf(-4)) / whole, 0, 1)

    return Belief(sv.Elicited(a, b, sure), low, high, cdf)


# --- families, with formulas of our own ---------------------------------------------------------------
@dataclass
class Members:
    make: object
    name: str
    mean: object
    std: object
    pmf: object = None
    top: object = None
    peak: object = None


FAMILIES = {
    "geometric": Members(
        sv.Geometric,
        "p",
        lambda t: (1 - t) / t,
        lambda t: np.sqrt(1 - t) / t,
        lambda k, t: t * (1 - t) ** k,
        lambda b: int(40 / b.low) + 50,
        lambda j: 1 / (j + 1),
    ),
    "binomial": Members(
        lambda: sv.Binomial(trials=20),
        "p",
        lambda t: 20 * t,
        lambda t: np.sqrt(20 * t * (1 - t)),
        lambda k, t: special.comb(20, k) * t**k * (1 - t) ** (20 - k),
        lambda b: 20,
        lambda j: j / 20,
    ),
    "poisson": Members(
        sv.Poisson,
        "rate",
        lambda t: 1.0 * t,
        np.sqrt,
        lambda k, t: np.exp(special.xlogy(k, t) - t - special.gammaln(k + 1)),
        lambda b: int(b.high + 12 * math.sqrt(b.high) + 40),
        lambda j: j,
    ),
    "exponential": Members(sv.Exponential, "scale", lambda t: 1.0 * t, lambda t: 1.0 * t),
}


@dataclass
class Tiny:
    """A problem on a tiny grid: ``secret`` is "mean", "std", a count j (its share), or a function."""

    family: str
    belief: Belief
    secret: object
    eps: float
    cells: int
    distance: str = "w1"
    release: str = "free"
    turns: tuple = ()

    @property
    def members(self):
        return FAMILIES[self.family]

    def value(self, t):
        if callable(self.secret):
            return self.secret(t)
        if isinstance(self.secret, int):
            return self.members.pmf(self.secret, t)
        return getattr(self.members, self.secret)(t)

    @cached_property
    def problem(self):
        secret = {"mean": sv.Mean(), "std": sv.Std()}.get(self.secret) if isinstance(self.secret, str) else None
        if secret is None:
            secret = sv.Function(self.secret) if callable(self.secret) else sv.Fraction(self.secret)
        return sv.Problem(
            family=self.members.make(),
            prior=sv.Box(**{self.members.name: self.belief.axis}),
            secret=secret,
            tolerance=self.eps,
            distance=self.distance,
        )

    @cached_property
    def grid(self):
        return np.linspace(self.belief.low, self.belief.high, self.cells + 1)

    @cached_property
    def nodes(self):
        low, high = self.belief.low, self.belief.high
        marks = [*self.belief.knots, *self.turns, *self.grid]
        if isinstance(self.secret, int):
            marks.append(self.members.peak(self.secret))
        if self.family == "binomial" and self.secret == "std":
            marks.append(0.5)
        inner = [t for t in marks if low < t < high]
        return np.unique(np.concatenate([np.linspace(low, high, 6001), inner]))

    # --- distances ---
    def apart(self, a, b):
        if self.distance == "w1":
            return abs(self.members.mean(a) - self.members.mean(b))
        k = np.arange(self.members.top(self.belief) + 1)
        return 0.5 * np.abs(self.members.pmf(k, a) - self.members.pmf(k, b)).sum()

    def spread(self, i, j):
        """Least over the releases of the larger distance to the two ends."""
        a, b = self.grid[i], self.grid[j]
        if self.release == "grid":
            return min(max(self.apart(a, r), self.apart(r, b)) for r in self.grid[i : j + 1])
        if self.distance == "w1":
            return self.apart(a, b) / 2
        r = optimize.brentq(lambda t: self.apart(a, t) - self.apart(t, b), a, b, xtol=1e-15)
        return max(self.apart(a, r), self.apart(r, b))

    # --- costs ---
    def caught(self, a, b):
        """Most mass of a bin that one guess catches: the law of the secret, piece by straight piece."""
        w = 2 * self.eps
        t = np.concatenate([[a], self.nodes[(self.nodes > a) & (self.nodes < b)], [b]])
        g, mass = self.value(t), np.diff(self.belief.cdf(t))
        if np.ptp(g) <= w:
            return float(mass.sum())
        low = np.minimum(g[1:], g[:-1])
        high = np.maximum(np.maximum(g[1:], g[:-1]), low + 1e-12 * w)
        at, slope = np.concatenate([low, high]), np.concatenate([mass, -mass]) / np.tile(high - low, 2)
        order = np.argsort(at, kind="stable")
        at, slope = at[order], np.cumsum(slope[order])
        below = np.concatenate([[0], np.cumsum(slope[:-1] * np.diff(at))])
        opening = np.concatenate([at, at - w])
        return float(np.max(np.interp(opening + w, at, below) - np.interp(opening, at, below)))

    @cached_property
    def bins(self):
        pairs = itertools.combinations(range(self.cells + 1), 2)
        return {(i, j): (self.spread(i, j), self.caught(self.grid[i], self.grid[j])) for i, j in pairs}

    def account(self, edges):
        """Distortion and risk of a partition."""
        parts = [self.bins[pair] for pair in itertools.pairwise(edges)]
        return max(d for d, _ in parts), sum(c for _, c in parts)

    @cached_property
    def all(self):
        inner = range(1, self.cells)
        cuts = itertools.chain.from_iterable(itertools.combinations(inner, k) for k in range(self.cells))
        return [(*self.account([0, *cut, self.cells]), [0, *cut, self.cells]) for cut in cuts]

    def least_risk(self, budget):
        return min(risk for distortion, risk, _ in self.all if distortion <= budget)

    def least_distortion(self, risk):
        return min((distortion for distortion, found, _ in self.all if found <= risk), default=math.inf)

    @cached_property
    def budgets(self):
        """A hair above every distortion that any partition has."""
        return [float(d) * (1 + 1e-7) for d in np.unique(np.round([d for d, _, _ in self.all], 11))]

    # --- the library ---
    @cached_property
    def designer(self):
        return Designer(problem=self.problem, cells=self.cells, on_grid=self.release == "grid")

    def plan(self, method="dynamic", **target):
        return sv.plan(self.problem, method=method, grid=self.cells, release=self.release, **target)

    def edges_of(self, plan):
        return [int(np.argmin(np.abs(self.grid - edge))) for edge in plan.mechanism.edges]


def check_every_budget(tiny, most=100):
    """At every budget: as good as the best of all partitions, within the budget, never worse than greedy."""
    for budget in tiny.budgets[:: math.ceil(len(tiny.budgets) / most)]:
        edges = best_partition(tiny.designer, "dynamic", MaxDistortion(budget))
        distortion, risk = tiny.account(edges)
        assert distortion <= budget * (1 + 1e-9)
        assert risk <= tiny.least_risk(budget) + NOISE, (budget, edges)
        greedy = best_partition(tiny.designer, "greedy", MaxDistortion(budget))
        distortion, other = tiny.account(greedy)
        assert distortion <= budget * (1 + 1e-9)
        assert risk <= other + NOISE
        assert tiny.designer.total(edges) <= tiny.designer.total(greedy) + 1e-9


def check_plan(tiny, budget):
    """The plan says of itself what we find about it."""
    plan = tiny.plan(max_distortion=budget)
    distortion, risk = tiny.account(tiny.edges_of(plan))
    assert plan.risk == pytest.approx(risk, abs=NOISE)
    assert plan.risk == pytest.approx(tiny.least_risk(budget), abs=NOISE)
    assert plan.distortion == pytest.approx(distortion, rel=1e-8)
    assert plan.distortion <= budget * (1 + 1e-9)


# --- random problems ----------------------------------------------------------------------------------
RANGES = {"geometric": (0.1, 0.9), "binomial": (0.05, 0.95), "poisson": (0.5, 12.0), "exponential": (1.0, 9.0)}
WEIGHTS = st.lists(st.floats(0.02, 1.0), min_size=4, max_size=9)


@st.composite
def ranges(draw, family):
    low, high = RANGES[family]
    a = draw(st.floats(low, low + 0.6 * (high - low)))
    return a, draw(st.floats(a + 0.25 * (high - low), high))


@st.composite
def beliefs(draw, family):
    low, high = draw(ranges(family))
    kind = draw(st.sampled_from(["flat", "bumps", "normal", "elicited"]))
    if kind == "bumps":
        return bumps(low, high, draw(WEIGHTS))
    if kind == "normal":
        return normal(draw(st.floats(low, high)), draw(st.floats(0.1, 0.6)) * (high - low), low, high)
    if kind == "elicited":
        third = (high - low) / 3
        scale = "logit" if high < 1 and family in ("geometric", "binomial") else "log"
        return elicited(low + third, high - third, draw(st.floats(0.5, 0.95)), scale)
    return flat(low, high)


@st.composite
def problems(draw, distances=("w1",), waves=False):
    counts = ["geometric", "binomial", "poisson"]
    family = draw(st.sampled_from(counts if "tv" in distances else [*counts, "exponential"]))
    belief = draw(beliefs(family))
    turns = ()
    if waves:
        width = belief.high - belief.low
        rate, shift = draw(st.floats(4.0, 16.0)) / width, draw(st.floats(0.0, 6.0))
        slant = draw(st.sampled_from([0.0, 0.4]))
        turn = math.acos(-slant)
        turns = tuple((s * turn - shift + 2 * math.pi * k) / rate for k in range(-60, 60) for s in (1, -1))

        def secret(t):
            return np.sin(rate * t + shift) + slant * rate * t
    elif family == "exponential":
        secret = draw(st.sampled_from(["mean", "std"]))
    else:
        secret = draw(st.sampled_from(["mean", "std", 0, 2, 5, 7]))
    tiny = Tiny(
        family,
        belief,
        secret,
        1.0,
        draw(st.integers(4, 7)),
        draw(st.sampled_from(distances)),
        draw(st.sampled_from(["free", "grid"])),
        turns,
    )
    tiny.eps = float(np.ptp(tiny.value(np.linspace(belief.low, belief.high, 999)))) * draw(st.floats(0.01, 0.3))
    return tiny


@settings(max_examples=60, **STEADY)
@given(problems())
def test_every_budget_is_brute_force_under_w1(tiny):
    check_every_budget(tiny)


@settings(max_examples=7, **STEADY)
@given(problems(distances=("tv",)))
def test_many_budgets_are_brute_force_under_tv(tiny):
    check_every_budget(tiny, most=5)


@settings(max_examples=12, **STEADY)
@given(problems(waves=True))
def test_every_budget_is_brute_force_for_secrets_with_several_turns(tiny):
    check_every_budget(tiny)


@settings(max_examples=25, **STEADY)
@given(st.data())
def test_every_budget_is_brute_force_when_windows_have_inner_peaks(data):
    """Bumpy beliefs: the best window of a bin starts neither at its left end nor ends at its right end."""
    family = data.draw(st.sampled_from(["geometric", "poisson", "exponential"]))
    low, high = data.draw(ranges(family))
    weights = data.draw(st.lists(st.sampled_from([0.01, 0.05, 0.3, 1.0]), min_size=7, max_size=17).filter(any))
    tiny = Tiny(family, bumps(low, high, weights), "mean", 1.0, data.draw(st.integers(4, 9)))
    gap = abs(float(np.diff(FAMILIES[family].mean(np.array([low, high])))[0]))
    tiny.eps = gap * data.draw(st.sampled_from([0.01, 0.03, 0.06, 0.12]))
    check_every_budget(tiny)


@settings(max_examples=10, **STEADY)
@given(problems(), st.data())
def test_a_plan_reports_what_it_does(tiny, data):
    check_plan(tiny, data.draw(st.sampled_from(tiny.budgets)))


@settings(max_examples=15, **STEADY)
@given(problems(), st.sampled_from(["dynamic", "greedy"]), st.data())
def test_a_risk_is_met_with_the_least_distortion(tiny, method, data):
    goal = data.draw(st.sampled_from([risk for _, risk, _ in tiny.all])) * (1 + 1e-4) + 2 * NOISE
    if not goal < 1 or (method == "greedy" and goal < 1.1 * min(risk for _, risk, _ in tiny.all)):
        return  # nothing to hide; or a goal that the greedy rule need not reach
    plan = tiny.plan(method, max_risk=goal)
    assert plan.risk <= goal
    distortion, risk = tiny.account(tiny.edges_of(plan))
    assert plan.distortion == pytest.approx(distortion, rel=1e-8)
    assert plan.risk == pytest.approx(risk, abs=NOISE)
    if method == "dynamic":
        assert plan.distortion <= tiny.least_distortion(goal - NOISE) * (1 + 1e-6)
    assert plan.distortion >= tiny.least_distortion(goal + NOISE) * (1 - 1e-6)


# --- cases on their own -------------------------------------------------------------------------------
SPIKY = table(
    [2.3544, 3.68, 4.235, 5.9, 6.16, 7.01, 7.147, 7.222, 8.153, 8.35],
    [1.07, 0.417, 0.055, 6.68, 0.0015, 0.32, 15.25, 0.041, 1.12, 0.042],
)
TWO_HILLS = table([1.9, 2.7, 4.4, 4.8, 5.4, 5.7], [0.003, 0.52, 0.14, 0.14, 0.73, 0.0017])
CASES = {
    "a bell, single hump": Tiny("exponential", elicited(7.62, 10.0, 0.7, "log"), "std", 0.1, 5, release="grid"),
    "a bell, share of sevens": Tiny("geometric", elicited(0.34, 0.5, 0.7, "logit"), 7, 0.0033, 3, "tv", "grid"),
    "spikes": Tiny("poisson", SPIKY, "mean", 1.415, 3),
    "two hills": Tiny("exponential", TWO_HILLS, "mean", 0.52, 5),
    "turn on an edge": Tiny("binomial", flat(0.1, 0.9), "std", 0.1, 8),
    "turn inside a cell": Tiny("binomial", flat(0.1, 0.9), "std", 0.1, 7),
    "turn near the end": Tiny("poisson", flat(1.0, 4.0), 3, 0.02, 8),
    "two hills, one turn": Tiny("binomial", bumps(0.1, 0.9, [1, 9, 1, 1, 1, 9, 1]), 10, 0.01, 8),
    "one hump left of the turn": Tiny("binomial", normal(0.3, 0.03, 0.1, 0.9), "std", 0.02, 8),
    "windows wider than all": Tiny("poisson", flat(1.0, 4.0), "mean", 2.0, 5),
}


@pytest.mark.parametrize("name", CASES)
def test_case_at_every_budget(name):
    check_every_budget(CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_case_reports_what_it_does(name):
    tiny = CASES[name]
    for budget in (tiny.budgets[0], tiny.budgets[len(tiny.budgets) // 2], tiny.budgets[-1]):
        check_plan(tiny, budget)


@pytest.mark.parametrize("steps", range(1, 9))
@pytest.mark.parametrize("release", ["free", "grid"])
def test_a_budget_on_the_lattice_keeps_its_step(steps, release):
    """Cells of width 1: a budget of k/2 allows bins of k cells, however its last digit was rounded."""
    tiny = Tiny("exponential", flat(1.0, 9.0), "mean", 0.1, 8, release=release)
    budget = steps / 2 if release == "free" else float(math.ceil(steps / 2))
    wide = steps if release == "free" else min(8, 2 * math.ceil(steps / 2))
    plan = tiny.plan(max_distortion=budget)
    assert plan.distortion <= budget
    assert len(plan.mechanism.released) == math.ceil(8 / wide)
    assert plan.risk == pytest.approx(math.ceil(8 / wide) * 0.2 / 8)


def test_a_plan_at_its_own_distortion_is_itself():
    for tiny in (
        Tiny("geometric", flat(0.2, 0.7), "mean", 0.1, 9, d, r) for d in ("w1", "tv") for r in ("free", "grid")
    ):
        for budget in tiny.budgets[:: max(1, len(tiny.budgets) // 4)]:
            plan = tiny.plan(max_distortion=budget)
            again = tiny.plan(max_distortion=plan.distortion)
            assert (again.risk, again.distortion) == (plan.risk, plan.distortion)


@pytest.mark.parametrize("kind", ["dynamic", "greedy"])
@pytest.mark.parametrize("release", ["free", "grid"])
def test_a_budget_below_one_cell_is_refused(kind, release):
    tiny = Tiny("geometric", flat(0.2, 0.7), "mean", 0.1, 6, release=release)
    with pytest.raises(sv.TargetError, match="single cell"):
        tiny.plan(kind, max_distortion=0.999 * tiny.budgets[0])
    assert tiny.plan(kind, max_distortion=tiny.budgets[0]).distortion <= tiny.budgets[0]


# --- the paper's geometric example, 800 cells -----------------------------------------------------------
GEOMETRIC = sv.Problem(family=sv.Geometric(), prior=sv.Box(p=(0.1, 0.9)), secret=sv.Mean(), tolerance=0.1)


@pytest.mark.parametrize(
    ("release", "budget", "risk"),
    [("grid", 0.3, 0.4091), ("grid", 0.5, 0.2923), ("grid", 1, 0.2133), ("grid", 2, 0.1838), ("free", 0.5, 0.2898)],
)
def test_quoted_risks(release, budget, risk):
    plan = sv.plan(GEOMETRIC, max_distortion=budget, method="dynamic", grid=800, release=release)
    assert plan.risk == pytest.approx(risk, abs=6e-5)
    assert plan.distortion <= budget * (1 + 1e-9)


def test_more_cells_and_free_releases_never_hurt():
    for budget in (0.5, 1.0):
        risks = [
            sv.plan(GEOMETRIC, max_distortion=budget, method="dynamic", grid=n).risk for n in (200, 400, 800, 1600)
        ]
        assert risks == sorted(risks, reverse=True)
        bound = sv.plan(GEOMETRIC, max_distortion=budget, method="dynamic", grid=800, release="grid").risk
        assert risks[2] <= bound


# --- an attacker of our own, through plan.apply ---------------------------------------------------------
ATTACKED = {
    "geometric mean": (Tiny("geometric", flat(0.1, 0.9), "mean", 0.1, 200), 0.6),
    "poisson std, a bell": (Tiny("poisson", normal(5.0, 2.0, 1.0, 10.0), "std", 0.05, 200), 0.8),
    "exponential mean, two hills": (Tiny("exponential", TWO_HILLS, "mean", 0.1, 200), 0.6),
    "exponential mean, elicited": (Tiny("exponential", elicited(2.0, 8.0, 0.9, "log"), "mean", 0.2, 300), 2.0),
    "binomial share, turning": (Tiny("binomial", flat(0.05, 0.95), 10, 0.01, 100), 3.0),
    "binomial std, one hump": (Tiny("binomial", normal(0.35, 0.1, 0.1, 0.9), "std", 0.02, 100), 5.0),
    "binomial share, tv": (Tiny("binomial", flat(0.05, 0.95), 6, 0.01, 60, "tv"), 0.45),
    "poisson wave": (Tiny("poisson", flat(1.0, 9.0), lambda t: np.sin(1.7 * t), 0.05, 80), 1.2),
    "poisson wave, bumps": (
        Tiny("poisson", bumps(1.0, 9.0, [1, 5, 1, 3, 1, 1]), lambda t: np.sin(2 * t), 0.1, 80),
        1.2,
    ),
    "narrow hump left of the turn": (
        Tiny("binomial", table([0.1, 0.3, 0.303, 0.306, 0.9], [1, 1, 400, 1, 1]), "std", 0.002, 100),
        8.0,
    ),
    "a belief over many decades": (Tiny("poisson", elicited(0.1, 100.0, 0.9, "log"), "mean", 0.01, 800), 20.0),
    "a hump before the first cell": (Tiny("exponential", elicited(0.1, 100.0, 0.9, "log"), "mean", 0.05, 400), 40.0),
}


def attack(tiny, plan, seed, size=400_000):
    """Draw, group by release, learn the best guess of each group on one half, score it on the other."""
    rng = np.random.default_rng(seed)
    theta = tiny.belief.draw(rng, size)
    released = plan.apply(**{tiny.members.name: theta}).released[tiny.members.name]
    secret = tiny.value(theta)
    half, hits = size // 2, 0
    for release in np.unique(released[:half]):
        known = np.sort(secret[:half][released[:half] == release])
        held = np.searchsorted(known, known + 2 * tiny.eps, side="right") - np.arange(len(known))
        guess = known[held.argmax()] + tiny.eps
        hits += int(np.sum(np.abs(secret[half:][released[half:] == release] - guess) <= tiny.eps))
    return hits / half, math.sqrt(max(hits, 1) * (1 - hits / half)) / half


@pytest.mark.parametrize("name", ATTACKED)
@pytest.mark.parametrize("method", ["dynamic", "greedy"])
@pytest.mark.heavy(2)
def test_risk_is_what_an_attacker_reaches(name, method):
    tiny, budget = ATTACKED[name]
    plan = tiny.plan(method, max_distortion=budget)
    rate, error = attack(tiny, plan, seed=len(name))
    assert rate <= plan.risk + 4 * error
    assert rate >= 0.93 * plan.risk - 4 * error  # guesses learnt from few draws are a little off
    simulated = sv.simulate(plan, trials=20_000, seed=3)
    assert simulated.low <= plan.risk
    assert simulated.high >= 0.93 * plan.risk


@pytest.mark.parametrize("name", ATTACKED)
def test_distortion_is_the_largest_distance_seen(name):
    tiny, budget = ATTACKED[name]
    plan = tiny.plan(max_distortion=budget)
    edges = np.array(plan.mechanism.edges)
    theta = np.concatenate([edges[:-1], edges[1:] - 1e-9 * np.diff(edges), np.linspace(edges[0], edges[-1], 500)])
    released = plan.apply(**{tiny.members.name: theta}).released[tiny.members.name]
    seen = max(tiny.apart(a, b) for a, b in zip(theta, released, strict=True))
    assert seen == pytest.approx(plan.distortion, rel=1e-3)
    assert seen <= plan.distortion * (1 + 1e-9)
    assert plan.distortion <= budget * (1 + 1e-9)


# --- the paper's cost of a bin --------------------------------------------------------------------------
def test_a_contiguous_window_misses_half_of_the_cost():
    tiny = Tiny("binomial", flat(0.05, 0.95), 10, 0.01, 4)
    found = line(tiny.problem)
    assert contiguous_cost(found.curve, found.axis, 0.05, 0.95, 0.02) == pytest.approx(0.2543, abs=5e-5)
    assert bin_cost(found.curve, found.axis, 0.05, 0.95, 0.02) == pytest.approx(0.5087, abs=5e-5)
    assert tiny.caught(0.05, 0.95) == pytest.approx(0.5087, abs=5e-5)


@settings(max_examples=25, **STEADY)
@given(problems(), st.floats(0.0, 0.6), st.floats(0.2, 0.4))
def test_the_cost_of_any_bin(tiny, start, width):
    """Bins between no particular edges; the printed cost is never above the true one."""
    found = line(tiny.problem)
    span = tiny.belief.high - tiny.belief.low
    low, high = tiny.belief.low + start * span, tiny.belief.low + (start + width) * span
    true = bin_cost(found.curve, found.axis, low, high, found.window)
    assert true == pytest.approx(tiny.caught(low, high), abs=NOISE)
    assert contiguous_cost(found.curve, found.axis, low, high, found.window) <= true + 1e-9


# --- distortion of bins ---------------------------------------------------------------------------------
def test_the_balanced_root_is_not_half_of_the_distance():
    tiny = Tiny("poisson", flat(1.0, 60.0), "mean", 0.1, 2, "tv")
    assert tiny.spread(0, 2) > 1.5 * tiny.apart(1.0, 60.0) / 2
    assert tiny.plan(max_distortion=0.9999).distortion == pytest.approx(tiny.spread(0, 2), rel=1e-9)
    ratios = {}
    for family in ("geometric", "binomial", "poisson"):
        one = Tiny(family, flat(*RANGES[family]), "mean", 0.1, 2, "tv")
        ratios[family] = one.spread(0, 2) / (one.apart(one.grid[0], one.grid[2]) / 2)
    assert min(ratios.values()) > 1.01


@settings(max_examples=25, **STEADY)
@given(st.sampled_from(["geometric", "binomial", "poisson"]), st.floats(0.03, 0.7), st.data())
def test_a_tv_bin_fits_exactly_when_two_steps_up_reach_its_end(family, budget, data):
    low, high = data.draw(ranges(family))
    tiny = Tiny(family, flat(low, high), "mean", 0.1, 12, "tv")

    def up(a):
        if tiny.apart(a, high) <= budget:
            return high
        return optimize.brentq(lambda t: tiny.apart(a, t) - budget, a, high, xtol=1e-15)

    farthest = tiny.designer._farthest(budget)
    for i in range(12):
        reach = up(up(tiny.grid[i]))
        for j in range(i + 1, 13):
            if abs(tiny.spread(i, j) - budget) > 1e-9:
                assert (tiny.spread(i, j) <= budget) == (tiny.grid[j] <= reach)
                assert (tiny.spread(i, j) <= budget) == (j <= farthest[i])


@settings(max_examples=6, **STEADY)
@given(ranges("geometric"), st.integers(3, 40))
def test_a_geometric_bin_is_released_at_the_harmonic_mean(ends, cells):
    tiny = Tiny("geometric", flat(*ends), "mean", 0.05, cells)
    plan = tiny.plan(max_distortion=1.01 * tiny.designer.least_budget)
    for low, high, released in zip(
        plan.mechanism.edges[:-1], plan.mechanism.edges[1:], plan.mechanism.released, strict=True
    ):
        assert released == pytest.approx(2 * low * high / (low + high), rel=1e-12)


@settings(max_examples=8, **STEADY)
@given(problems(distances=("tv",)), st.data())
def test_a_tv_plan_reports_what_it_does(tiny, data):
    check_plan(tiny, data.draw(st.sampled_from(tiny.budgets)))
