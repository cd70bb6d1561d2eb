"""Attackers with side knowledge: each breaks what it should break every time, and nothing that is safe."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from scipy.stats import binomtest

import statveil as sv
import statveil.auditing.attackers
from statveil.auditing.attacker import ATTACKERS
from statveil.auditing.evidence import precision
from statveil.auditing.inversion import inverted
from statveil.auditing.view import Earlier, Knowledge, View
from statveil.tables.verification import LEAKS

pytestmark = pytest.mark.usefixtures("no_optimum")

NAMES = ("support", "atoms", "records", "auxiliary", "repeated")
LOW, HIGH, ATOM = 20.0, 330.0, 130.0
TRIALS = 30
GAUSSIAN = {"mu": (100, 200), "sigma": (20, 60)}


def _plan(family, secret, known=None, *, tolerance=1.0, risk=0.1, method="interval", **prior):
    known = sv.Structure(**(known or {}))
    problem = sv.Problem(family=family, prior=sv.Box(**prior), secret=secret, tolerance=tolerance, known=known)
    return sv.plan(problem, max_risk=risk, method=method, grid=200)


@cache
def plan_of(name):
    mean = (100, 200)
    return {
        "shift": lambda: _plan(sv.Location(), sv.Mean(), mean=mean),
        "shift gaussian": lambda: _plan(sv.Gaussian(), sv.Mean(), **GAUSSIAN),
        "scale": lambda: _plan(sv.Location(), sv.Mean(), {"minimum": 0}, mean=mean),
        "scale 10": lambda: _plan(sv.Location(), sv.Mean(), {"minimum": 10}, mean=mean),
        "scale gaussian": lambda: _plan(sv.Gaussian(), sv.Mean(), {"minimum": 0}, risk=0.2, **GAUSSIAN),
        "affine": lambda: _plan(sv.Gaussian(), sv.Quantile(0.95), **GAUSSIAN),
        "affine std": lambda: _plan(sv.Gaussian(), sv.Std(), tolerance=0.5, **GAUSSIAN),
        "lattice": lambda: _plan(sv.Location(), sv.Mean(), {"step": 1}, mean=mean),
        "heaps": lambda: _plan(sv.Location(), sv.Mean(), {"heaps": (0.5,)}, mean=mean),
        "unit": lambda: _plan(sv.Poisson(), sv.Mean(), risk=0.3, method="greedy", rate=(0.5, 60)),
        "rank": lambda: _plan(sv.Gaussian(), sv.Mean(), {"minimum": 0, "maximum": 400}, **GAUSSIAN),
        "category": lambda: sv.plan(
            sv.Problem(family=sv.Categorical(labels=("a", "b", "c")), secret=sv.Fraction("a"), tolerance=0.02),
            max_risk=0.2,
        ),
    }[name]()


MODES = ("shift", "shift gaussian", "scale", "scale 10", "scale gaussian", "affine", "affine std", "lattice", "heaps")


def structured(plan, rng, rows=200):
    """A column with a parameter drawn from the prior that reaches both bounds once and has an atom."""
    params = {name: float(value[0]) for name, value in plan.problem.sample(1, rng).items()}
    centre, spread = params.get("mean", params.get("mu")), params.get("sigma", rng.uniform(20, 60))
    column = np.clip(centre + spread * rng.standard_normal(rows), LOW + 3 * rng.random(rows), HIGH - rng.random(rows))
    column[rng.permutation(rows)[: rows // 15]] = ATOM
    column[rng.permutation(rows)[:2]] = LOW, HIGH
    return np.round(column) if plan.problem.known.step else column


def released(plan, rng, *, dtype=np.float64, digits=None, make=structured):
    """A column, its release and its true statistic; drawn anew where a random column falls out of the prior.

    Also where its release does: that is tested below.
    """
    while True:
        column = make(plan, rng).astype(dtype)
        try:
            release = sv.release(plan, column, accept=LEAKS, round_digits=digits, details=True, seed=7)
        except sv.ColumnError:
            continue
        table = np.asarray(release.table, dtype=np.float64)
        if inverted(View(plan=plan, column=table)) is not None:
            return column, table, release.record["estimates"]["secret"]


def others_of(column, rng, trial, ratios):
    """Columns that give the hidden one away, among others that do not."""
    part = rng.uniform(1, 50, len(column)).astype(column.dtype)
    ratio = column.dtype.type(ratios[trial // 6 % len(ratios)])
    telling = (
        {"multiple": column * ratio},
        {"total": column + part, "part": part},
        {"net": column - part, "part": part},
        {"part": part, "total": part - column},
        {"quantity": part, "price": column / part},
        {"quantity": part, "total": column * part},
    )[trial % 6]
    noise = {"noise": column + rng.normal(0, 1, len(column)), "constant": np.ones(len(column)), "flag": part > 20}
    return {name: np.asarray(values, dtype=np.float64) for name, values in {**noise, **telling}.items()}


def knowledge_of(name, mode, column, rng, trial):
    if name == "support":
        bounds = ({"minimum": LOW}, {"maximum": HIGH}, {"minimum": LOW, "maximum": HIGH})[trial % 3]
        return Knowledge(structure=sv.Structure(**bounds))
    if name == "atoms":
        return Knowledge(structure=sv.Structure(atoms=(ATOM,) if trial % 2 else (LOW, ATOM)))
    if name == "records":
        rows = rng.permutation(len(column))[: 1 + trial % 3]
        return Knowledge(records=tuple((int(row), float(column[row])) for row in rows))
    if name == "repeated":
        other = plan_of("shift" if mode.startswith("scale") else "scale")
        table = sv.release(other, column, accept=LEAKS, seed=11)
        return Knowledge(releases=(Earlier(plan=other, column=np.asarray(table, dtype=np.float64)),))
    return Knowledge()


def hit(posterior, plan, truth):
    tolerance = plan.problem.tolerance
    return posterior is not None and abs(posterior.best(tolerance)[0] - truth) <= tolerance * (1 + 1e-9)


def variants() -> Iterator[tuple[str, str]]:
    for mode in ("shift", "scale", "affine"):
        yield from ((mode, kind) for kind in ("float64", "float32", "rounded"))
    yield from (("lattice", "float64"), ("lattice", "float32"), ("heaps", "float32"))  # whole steps are not rounded
    yield from ((mode, "rounded") for mode in ("shift gaussian", "scale 10", "scale gaussian", "affine std"))


# each mode once, and each kind of numbers at least twice
QUICK = (
    ("shift", "rounded"),
    ("scale", "float32"),
    ("affine", "float64"),
    ("lattice", "float64"),
    ("heaps", "float32"),
    *((mode, "rounded") for mode in ("shift gaussian", "scale 10", "affine std")),
)


# --- positive controls ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mode", "kind"),
    [pytest.param(*one, marks=() if one in QUICK else pytest.mark.slow) for one in variants()],
)
@pytest.mark.heavy(2)
def test_every_attacker_breaks_its_table_every_time(mode, kind):
    plan, missed = plan_of(mode), []
    for trial in range(TRIALS):
        rng = np.random.default_rng([trial, MODES.index(mode)])
        digits = 2 + trial % 3 if kind == "rounded" else None
        dtype = np.float32 if kind == "float32" else np.float64
        column, table, truth = released(plan, rng, dtype=dtype, digits=digits)
        for name in NAMES:
            ratios = (1, 100) if mode in ("scale", "scale gaussian") else (1, 12, 0.19, 100)
            others = others_of(column, rng, trial, ratios) if name == "auxiliary" else {}
            known = knowledge_of(name, mode, column, rng, trial)
            view = View(plan=plan, column=table, others=others, knowledge=known)
            attacker = ATTACKERS[name]()
            assert attacker.applies(view)
            if not hit(attacker.attack(view), plan, truth):
                missed.append((name, trial))
    assert not missed


def test_bound_that_a_sample_does_not_quite_reach():
    plan = plan_of("shift")

    def make(plan, rng):
        mean = float(plan.problem.sample(1, rng)["mean"][0])
        return LOW + rng.exponential(mean - LOW, 2000)

    hits = 0
    for trial in range(TRIALS):
        _, table, truth = released(plan, np.random.default_rng(trial), make=make)
        view = View(plan=plan, column=table, knowledge=Knowledge(structure=sv.Structure(minimum=LOW)))
        hits += hit(ATTACKERS["support"]().attack(view), plan, truth)
    assert hits == TRIALS


def test_ten_shifts_with_other_bins_leave_one_window():
    plans = [_plan(sv.Location(), sv.Mean(), mean=(100 - 2 * i, 200 - 2 * i + 20)) for i in range(10)]
    for trial in range(TRIALS // 3):
        rng = np.random.default_rng(trial)
        column = rng.uniform(105, 195) + rng.uniform(-5, 5, 50)
        tables = [np.asarray(sv.release(plan, column, accept=LEAKS)) for plan in plans]
        rest = tuple(Earlier(plan=p, column=t) for p, t in zip(plans[1:], tables[1:], strict=True))
        view = View(plan=plans[0], column=tables[0], knowledge=Knowledge(releases=rest))
        posterior = ATTACKERS["repeated"]().attack(view)
        assert np.ptp(posterior.interval) <= 2 + 1e-6
        assert hit(posterior, plans[0], column.mean())


def test_whole_steps_and_a_shift_leave_a_comb():
    shift, lattice = plan_of("shift"), plan_of("lattice")
    for trial in range(TRIALS):
        column, table, truth = released(lattice, np.random.default_rng(trial))
        moved = np.asarray(sv.release(shift, column, accept=LEAKS))
        for plan, own, other, their in ((lattice, table, shift, moved), (shift, moved, lattice, table)):
            known = Knowledge(releases=(Earlier(plan=other, column=their),))
            posterior = ATTACKERS["repeated"]().attack(View(plan=plan, column=own, knowledge=known))
            assert np.abs(posterior.points - truth).min() < 1e-6
            steps = posterior.points - truth
            assert np.abs(steps - np.round(steps)).max() < 1e-6


def test_other_kinds_of_secret_carry_over():
    """A release that hides the mean by a shift keeps the spread, which another plan hides."""
    plan, other = plan_of("affine std"), plan_of("shift gaussian")
    for trial in range(TRIALS):
        column, table, truth = released(plan, np.random.default_rng(trial))
        moved = np.asarray(sv.release(other, column, accept=LEAKS))
        view = View(plan=plan, column=table, knowledge=Knowledge(releases=(Earlier(plan=other, column=moved),)))
        assert hit(ATTACKERS["repeated"]().attack(view), plan, truth)


def test_release_outside_the_prior_is_inverted():
    plan, rng = plan_of("affine"), np.random.default_rng(0)
    column = 100.5 + 39.5 * (z := rng.standard_normal(500)) / z.std()
    column += 100.5 + 39.5 * 1.6449 - np.quantile(column, 0.95)
    release = sv.release(plan, column, details=True)
    assert release.record["released"]["parameters"]["mu"] < 100
    view = View(plan=plan, column=release.table, knowledge=Knowledge(records=((0, column[0]),)))
    assert hit(ATTACKERS["records"]().attack(view), plan, release.record["estimates"]["secret"])


# --- negative controls ---------------------------------------------------------------------------
def _safe(plan, rng):
    """A column from the family, with some rows at the bound that the plan keeps."""
    mean = float(plan.problem.sample(1, rng)["mean"][0])
    column = np.abs(1 + 0.3 * rng.standard_normal(60))
    if plan.mode == "scale":
        column[:5] = 0.0
    return np.sort(column) * (mean / column.mean()) if plan.mode == "scale" else column + mean - column.mean()


@pytest.mark.parametrize("mode", ["scale", "shift"])
@pytest.mark.heavy(1)
def test_safe_tables_stay_safe(mode):
    plan, trials = plan_of(mode), 200
    names = NAMES if mode == "scale" else ("auxiliary", "repeated")
    hits = dict.fromkeys(names, 0)
    for trial in range(trials):
        rng = np.random.default_rng([trial, 5])
        column, table, truth = released(plan, rng, make=_safe)
        noisy = {"noise": column * rng.normal(1, 0.01, 60), "other": rng.random(60), "cents": np.round(column / 5)}
        known = Knowledge(
            structure=sv.Structure(minimum=0, atoms=(0,)) if mode == "scale" else sv.Structure(),
            records=((0, 0.0),) if mode == "scale" else (),
            releases=(Earlier(plan=plan, column=table),),
        )
        view = View(plan=plan, column=table, others=noisy, knowledge=known)
        for name in names:
            hits[name] += hit(ATTACKERS[name]().attack(view), plan, truth)
    for name, count in hits.items():
        low = binomtest(count, trials).proportion_ci(0.999, "exact").low
        assert low <= plan.risk, (name, count)


# --- what must not happen ------------------------------------------------------------------------
KNOWN = {
    "nothing": Knowledge(),
    "false bounds": Knowledge(structure=sv.Structure(minimum=-1e9, maximum=1e12, atoms=(1e11,))),
    "false atoms": Knowledge(structure=sv.Structure(minimum=151.0, maximum=152.0, atoms=(151.5, 152.0), step=0.5)),
    "false records": Knowledge(records=((0, 1e300), (1, -1e300), (2, np.nan), (10**9, 1.0), (-1, 5.0))),
    "another column": Knowledge(
        releases=(
            Earlier(plan=plan_of("shift"), column=np.array([101.0, 102.0, 1e5])),
            Earlier(plan=plan_of("scale"), column=np.full(7, 150.0)),
            Earlier(plan=plan_of("affine"), column=np.full(7, np.nan)),
            Earlier(plan=plan_of("rank"), column=np.linspace(60, 240, 7)),
            Earlier(plan=plan_of("unit"), column=np.arange(7.0)),
            Earlier(plan=plan_of("category"), column=np.array([0.0, 1, 2, 0, 1, 2, 0])),
        )
    ),
}
COLUMNS = {
    "missing": np.array([np.nan, 120.0, 180.5, np.nan, 150.25, 99.0, 230.0]),
    "one row": np.array([150.0]),
    "two rows": np.array([140.0, 171.0]),
    "all equal": np.full(7, 150.0),
    "infinite": np.array([np.inf, 120.0, 180.5, -np.inf, 150.25, 99.0, 230.0]),
    "nothing": np.full(3, np.nan),
    "empty": np.empty(0),
    "outside": np.array([1e9, 2e9, 3e9]),
    "zeros": np.zeros(5),
    "counts": np.array([0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 0.0]),
}


@pytest.mark.parametrize("mode", [*MODES, "unit", "rank", "category"])
def test_strange_tables_and_false_knowledge(mode):
    plan = plan_of(mode)
    for (case, column), known in ((item, known) for item in COLUMNS.items() for known in KNOWN.values()):
        if mode == "category" and case != "counts":
            continue
        others = {
            "same": column,
            "gaps": np.where(np.arange(len(column)) % 2, np.nan, column),
            "constant": np.ones(len(column)),
            "short": np.ones(2),
            "huge": np.arange(len(column)) * 1e200,
        }
        for given in (others, {}):
            view = View(plan=plan, column=column, others=given, knowledge=known)
            for name in NAMES:
                attacker = ATTACKERS[name]()
                posterior = attacker.attack(view) if attacker.applies(view) else None
                assert posterior is None or (np.isfinite(posterior.points).all() and len(posterior.points))


def test_false_knowledge_outside_the_bin_leaves_the_bin():
    plan = plan_of("shift")
    _, table, _ = released(plan, np.random.default_rng(0))
    wrong = Knowledge(structure=sv.Structure(minimum=-500, atoms=(-500,)), records=((0, 1e6),))
    view = View(plan=plan, column=table, knowledge=wrong)
    whole = inverted(view).posterior()
    for name in ("support", "atoms", "records"):
        assert ATTACKERS[name]().attack(view).interval == pytest.approx(whole.interval)


def test_one_false_record_is_outvoted():
    plan = plan_of("affine")
    column, table, truth = released(plan, np.random.default_rng(0))
    records = ((3, float(column[3]) + 2.5), *((row, float(column[row])) for row in (5, 6, 7)))
    view = View(plan=plan, column=table, knowledge=Knowledge(records=records))
    assert hit(ATTACKERS["records"]().attack(view), plan, truth)


def test_applies_only_where_it_can_tell():
    everything = Knowledge(
        structure=sv.Structure(minimum=0, atoms=(0,)),
        records=((0, 0.0),),
        releases=(Earlier(plan=plan_of("shift"), column=np.arange(3.0)),),
    )
    for mode in ("shift", "affine", "scale", "lattice", "unit", "rank", "category"):
        view = View(plan=plan_of(mode), column=np.arange(3.0))
        assert not any(ATTACKERS[name]().applies(view) for name in NAMES)
        full = dataclasses.replace(view, knowledge=everything, others={"other": np.arange(3.0)})
        moved = mode in ("shift", "affine", "scale", "lattice")
        # scaling about 0 keeps the bound 0 and the atom 0
        expected = {name: moved and not (mode == "scale" and name in ("support", "atoms")) for name in NAMES}
        # a redrawn column has its copies, and under a model by rank a row has its level
        expected |= {"repeated": True, "auxiliary": mode != "category", "records": moved or mode == "rank"}
        assert {name: ATTACKERS[name]().applies(full) for name in NAMES} == expected


def test_precision_of_released_numbers():
    rng = np.random.default_rng(0)
    values = rng.normal(100, 10, 500)
    for digits in (0, 2, 4):
        assert precision(np.round(values, digits)) == pytest.approx(0.5 * 10.0**-digits)
        if digits <= 2:
            short = np.round(values, digits).astype(np.float32).astype(np.float64)
            assert precision(short) == pytest.approx(0.5 * 10.0**-digits)
    assert precision(values) < 1e-4
    assert precision(np.empty(0)) == 0


assert statveil.auditing.attackers  # loading the folder registers every attacker
