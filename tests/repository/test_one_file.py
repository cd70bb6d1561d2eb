"""A new secret, family, mode and attacker, each one file in a folder of its own: planned, released and audited."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import statveil as sv
from statveil.auditing.attacker import ATTACKERS
from statveil.cli.list_command import command
from statveil.modes import MODES
from statveil.problem.family import FAMILIES
from statveil.problem.secret import SECRETS, secret_from_text
from statveil.tables.maps import affine
from statveil.tables.verification import LEAKS
from statveil.testing import (
    Attacked,
    ConformanceError,
    check_attacker,
    check_family,
    check_mode,
    check_secret,
)
from tests.blurring import most_off

ALL = tuple(LEAKS)

TRIMMED = '''
"""The mean of the rows between two quantiles."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from statveil.problem.secret import Secret

NODES, WEIGHTS = np.polynomial.legendre.leggauss(400)


@dataclass(frozen=True, slots=True)
class TrimmedMean(Secret):
    share: float = 0.1
    kind: ClassVar[str] = "clipped-mean"
    doc: ClassVar[str] = "the mean without a share A of the rows at each end, written clipped-mean:0.1"
    argument: ClassVar[str] = "A"

    def of(self, family, params):
        return family.loc(params) + family.scale(params) * self.linear(family)[1]

    def linear(self, family):
        levels = self.share + (1 - 2 * self.share) * 0.5 * (1 + NODES)
        return 1.0, float(0.5 * WEIGHTS @ family.z_quantile(levels))

    @property
    def levels(self):
        return self.share, 1 - self.share

    def of_column(self, numbers, family):
        low, high = (numbers.quantile(level) for level in self.levels)
        kept = [block[(block >= low) & (block <= high)] for block in numbers.blocks()]
        return math.fsum(float(part.sum()) for part in kept) / sum(map(len, kept))

    @property
    def label(self):
        return f"clipped-mean:{self.share!r}"

    @classmethod
    def parse(cls, argument, number):
        return cls(number(argument, "the share of a trimmed mean"))

    def to_json(self):
        return {"kind": self.kind, "share": self.share}
'''

TENTHS = '''
"""Every row moves by one number, and is rounded to tenths by chance so that the mean stays."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from statveil.modes import Mode
from statveil.problem.families.gaussian import Gaussian
from statveil.tables.maps.column_map import ColumnMap, stream


@dataclass(frozen=True)
class Tenths(ColumnMap):
    move: float
    seed: int

    def block(self, values, index):
        up = stream(self.seed, 0x77, index).random(len(values))
        return np.floor(10 * (values + self.move) + up) / 10

    def coefficients(self) -> dict[str, Any]:
        return {"b": self.move}


class TenthsMode(Mode):
    name: ClassVar[str] = "tenths"
    says: ClassVar[str] = "shift every value and round it to tenths at random"
    random: ClassVar[bool] = True
    but: ClassVar[str] = "It holds up to the rounding."

    def treats(self, problem, kind, moved):
        return isinstance(problem.family, Gaussian) and kind == "free" and dict(moved) == {"mu": 1.0}

    def prepare(self, job):
        before, after = job.ends
        return Tenths(after - before, job.seed)

    def slack(self, problem, rows, largest):
        return 0.3 / rows**0.5

    def assumes(self, problem):
        return ("Nobody minds tenths.",)
'''

LAPLACE = '''
"""Laplace: two exponential tails, back to back. No closed form of a limit or of a best direction is given."""

from typing import ClassVar

import numpy as np

from statveil.problem.domain import Param
from statveil.problem.location_scale import LocationScale


class Laplace(LocationScale):
    name: ClassVar[str] = "laplace"
    doc: ClassVar[str] = "Laplace distribution: centre loc, mean absolute deviation scale"
    secrets: ClassVar = ("mean", "std", "quantile")
    coordinates: ClassVar = {"scale": {"scale": 1.0}, "loc": {"loc": 1.0}}
    location: ClassVar = "loc"
    shift: ClassVar = {"loc": 1.0}
    loc_form: ClassVar = {"loc": 1.0}
    scale_form: ClassVar = {"scale": 1.0}
    z_mean = 0.0
    z_std = 2**0.5

    @property
    def params(self):
        return (
            Param(name="loc", typical=(-10.0, 10.0), doc="centre"),
            Param(name="scale", low=0.0, typical=(0.5, 5.0), doc="mean absolute deviation"),
        )

    def z_quantile(self, alpha):
        tail = np.minimum(alpha, 1 - np.asarray(alpha))
        return np.sign(np.asarray(alpha) - 0.5) * -np.log(2 * tail)

    def z_cdf(self, z):
        half = 0.5 * np.exp(-np.abs(z))
        return np.where(np.asarray(z) < 0, half, 1 - half)

    def z_sample(self, size, rng):
        return rng.laplace(size=size)

    def z_distance(self, a, b):
        far, wide = np.abs(np.asarray(a, dtype=float)), np.abs(np.asarray(b, dtype=float))
        with np.errstate(divide="ignore", invalid="ignore"):
            return far + np.where(wide > 0, wide * np.exp(-far / wide), 0.0)
'''

CEILING = '''
"""Everyone knows where such a column ends: the released column ends as much further as it was moved."""

from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.inversion import inverted, released_statistic
from statveil.auditing.posterior import Posterior


class Ceiling(Attacker):
    name: ClassVar[str] = "ceiling"
    doc: ClassVar[str] = "the known maximum of the column, and the largest released value"
    remedy: ClassVar[str] = "Declare the maximum."

    def applies(self, view):
        return view.mode.line and not view.mode.stretches

    def attack(self, view):
        top = view.knowledge.structure.maximum
        if top is None:
            found = inverted(view)
            return None if found is None else found.posterior()
        return Posterior.of(released_statistic(view) - (np.nanmax(view.column) - top))
'''


def loaded(folder, name: str, text: str):
    """The module of one file, wherever it lies."""
    (folder / f"{name}.py").write_text(text)
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


@pytest.fixture
def trimmed(tmp_path):
    yield loaded(tmp_path, "trimmed", TRIMMED).TrimmedMean
    del SECRETS["clipped-mean"]


@pytest.fixture
def tenths(tmp_path):
    loaded(tmp_path, "tenths", TENTHS)
    yield MODES["tenths"]
    del MODES["tenths"]


@pytest.fixture
def laplace(tmp_path):
    yield loaded(tmp_path, "laplace", LAPLACE).Laplace
    del FAMILIES["laplace"]


@pytest.fixture
def ceiling(tmp_path):
    yield loaded(tmp_path, "ceiling", CEILING).Ceiling
    del ATTACKERS["ceiling"]


def gaussian(secret, **known):
    prior = sv.Box(mu=(0, 200), sigma=(1, 51))
    return sv.Problem(family=sv.Gaussian(), prior=prior, secret=secret, tolerance=2.0, known=sv.Structure(**known))


@pytest.mark.parametrize("family", [sv.Gaussian(), sv.Uniform(), sv.ShiftedExponential(), sv.Exponential()])
def test_a_secret_in_one_file_passes_the_conformance_suite(trimmed, family):
    check_secret(family, trimmed(0.1))


def test_a_secret_in_one_file_has_the_closed_forms_of_its_linear_form(trimmed):
    """Of a normal or uniform column the trimmed mean is the mean; of an exponential one it lies below."""
    for family, prior in (
        (sv.Gaussian(), {"mu": (0, 9), "sigma": (1, 5)}),
        (sv.Uniform(), {"low": (0, 5), "high": (6, 9)}),
    ):
        problem = sv.Problem(family=family, prior=sv.Box(**prior), secret=trimmed(0.2), tolerance=0.1)
        assert sv.limits(problem, max_risk=0.3).gamma == pytest.approx(0.5, rel=1e-9)
    problem = sv.Problem(family=sv.Exponential(), prior=sv.Box(scale=(1, 9)), secret=trimmed(0.1), tolerance=0.1)
    # the integral of x exp(-x) is -(x + 1) exp(-x); between the 0.1- and the 0.9-quantile lie 0.8 of the rows
    a, b = -np.log(0.9), -np.log(0.1)
    level = ((a + 1) * 0.9 - (b + 1) * 0.1) / 0.8
    assert sv.limits(problem, max_risk=0.3).gamma == pytest.approx(1 / (2 * level), rel=1e-9)


def test_a_secret_in_one_file_is_planned_released_and_audited(trimmed):
    secret = secret_from_text("clipped-mean:0.1", lambda text, what: float(text))
    assert secret == trimmed(0.1)
    plan = sv.plan(gaussian(secret), max_risk=0.3)
    assert sv.Plan.from_json(plan.to_json()) == plan
    column = np.random.default_rng(3).normal(87.3, 20.0, 3_000)
    made = sv.release(plan, column, details=True)
    edges = np.quantile(column, [0.1, 0.9])
    own = column[(column >= edges[0]) & (column <= edges[1])].mean()
    assert made.record["estimates"]["secret"] == pytest.approx(own, rel=1e-12)
    ends = np.quantile(made.table, [0.1, 0.9])
    after = made.table[(made.table >= ends[0]) & (made.table <= ends[1])].mean()
    assert after == pytest.approx(made.record["released"]["secret"], abs=most_off(plan))
    assert abs(after - own) <= plan.largest_move + most_off(plan)
    found = sv.audit(plan, column, made.table, trials=200, seed=4)
    assert found.verdict == "holds"
    (bayes,) = (finding for finding in found.findings if finding.attacker == "bayes")
    assert 0.15 <= bayes.rate <= 0.45  # about as often as was stated: neither blind nor told the secret


SUM = (
    TRIMMED[: TRIMMED.index("@dataclass")]
    + """
@dataclass(frozen=True, slots=True)
class QuartileSum(Secret):
    kind: ClassVar[str] = "quartile-sum"
    doc: ClassVar[str] = "the sum of both quartiles: it moves twice as far as the column"

    def of(self, family, params):
        return family.quantile(0.25, params) + family.quantile(0.75, params)

    def linear(self, family):
        return 2.0, float(family.z_quantile(0.25) + family.z_quantile(0.75))

    def of_column(self, numbers, family):
        return numbers.quantile(0.25) + numbers.quantile(0.75)
"""
)


@pytest.mark.parametrize(("known", "mode"), [({}, "shift"), ({"step": 1.0}, "lattice"), ({"minimum": 0.0}, "scale")])
@pytest.mark.heavy(1)
def test_a_secret_that_moves_twice_as_far_as_the_column_is_released_as_the_plan_says(tmp_path, known, mode):
    try:
        secret = loaded(tmp_path, "quartile_sum", SUM).QuartileSum()
        check_secret(sv.Gaussian(), secret)
        prior = sv.Box(mu=(100, 200), sigma=(1, 9))
        problem = sv.Problem(
            family=sv.Gaussian(), prior=prior, secret=secret, tolerance=3.0, known=sv.Structure(**known)
        )
        plan = sv.plan(problem, max_risk=0.3, method="interval")
        assert plan.mode == mode
        column = np.random.default_rng(5).normal(130.2, 7.0, 2_001)
        column = np.round(column) if "step" in known else column
        made = sv.release(plan, column, details=True, accept=("heaps",))
        before, after = (sum(np.quantile(rows, [0.25, 0.75])) for rows in (column, made.table))
        off = most_off(plan)
        assert off <= 3.0 / 200 / 2, "of the tolerance, in the column's unit, of which one is two of the secret"
        near = 1e-3 if mode == "scale" else 2 * off + 1e-6  # a stretched column keeps seven digits
        assert after == pytest.approx(made.record["released"]["secret"], abs=near)
        if mode != "scale":
            moves = made.table - column
            assert moves.max() - moves.min() <= 2 * off + 1e-9
            assert moves[0] == pytest.approx(0.5 * (after - before), abs=2 * off + 1e-9)
        found = sv.audit(plan, column, made.table, trials=200, seed=4)
        assert not found.leaks
        (bayes,) = (finding for finding in found.findings if finding.attacker == "bayes")
        assert 0.15 <= bayes.rate <= 0.45  # about the stated 0.3
    finally:
        SECRETS.pop("quartile-sum", None)


def test_a_secret_that_moves_twice_as_far_may_be_off_by_twice_the_blur(tmp_path, monkeypatch):
    """The most that chance can do to a release is no change of it."""
    try:
        secret = loaded(tmp_path, "quartile_sum", SUM).QuartileSum()
        prior = sv.Box(mu=(100, 200), sigma=(1, 9))
        problem = sv.Problem(family=sv.Gaussian(), prior=prior, secret=secret, tolerance=3.0)
        plan = sv.plan(problem, max_risk=0.3, method="interval")
        column = np.random.default_rng(5).normal(130.2, 7.0, 201)
        for widths, ok in ((4.99, True), (-4.99, True), (5.1, False)):
            with monkeypatch.context() as patched:
                patched.setattr(
                    affine, "blurred_evenly", lambda values, seed, width, widths=widths: values + widths * width
                )
                made = sv.release(plan, column, details=True, seed=1)
            assert sv.verify(made.table, made.card).ok is ok
    finally:
        SECRETS.pop("quartile-sum", None)


def test_a_secret_that_is_not_what_its_linear_form_says_is_found_out(trimmed):
    class Wrong(trimmed):
        kind = "wrong-trimmed"

        def of_column(self, numbers, family):
            return numbers.mean + 0.5 * numbers.std

    try:
        with pytest.raises(ConformanceError, match="of columns and of their parameters differ"):
            check_secret(sv.Gaussian(), Wrong(0.1))
    finally:
        del SECRETS["wrong-trimmed"]


def test_a_mode_in_one_file_passes_the_conformance_suite(tenths):
    check_mode(tenths, gaussian(sv.Mean()), np.random.default_rng(1).normal(80, 9, 500))


def test_a_mode_that_draws_rows_and_does_not_say_so_is_found_out(tenths):
    type(tenths).random = False
    try:
        with pytest.raises(ConformanceError, match="the mode is not random"):
            check_mode(tenths, gaussian(sv.Mean()), np.random.default_rng(1).normal(80, 9, 500))
    finally:
        type(tenths).random = True


def test_a_mode_in_one_file_is_planned_released_and_audited(tenths):
    plan = sv.plan(gaussian(sv.Mean()), max_risk=0.3)
    assert plan.mode == "tenths"
    assert sv.plan(gaussian(sv.Mean(), minimum=-1000.0), max_risk=0.3).mode != "tenths"  # a bound: another treatment
    column = np.random.default_rng(3).normal(87.3, 20.0, 2_000)
    made = sv.release(plan, column, details=True)
    assert np.array_equal(np.round(made.table, 1), made.table)
    assert np.abs(made.table - column - (made.table - column).mean()).max() < 0.2
    assert "It holds up to the rounding." in made.card["guarantee"]["says"]
    assert "Nobody minds tenths." in made.card["assumptions"]
    assert "round it to tenths at random" in str(plan)
    found = sv.audit(plan, column, made.table, trials=200, seed=4)
    assert found.verdict == "holds"


def test_a_family_in_one_file_passes_the_conformance_suite(laplace):
    check_family(laplace())


def test_a_family_in_one_file_without_closed_forms_is_planned_released_and_audited(laplace):
    prior = sv.Box(loc=(0, 200), scale=(1, 51))
    problem = sv.Problem(family=laplace(), prior=prior, secret=sv.Std(), tolerance=2.0)
    plan = sv.plan(problem, max_risk=0.3)
    # half the least W1 per unit of the standard deviation: E|a + Z| / (2 sqrt 2), least at a = 0, where it is 1
    assert plan.gamma == pytest.approx(1 / (2 * 2**0.5), rel=1e-6)
    again = sv.Plan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan
    column = np.random.default_rng(3).laplace(87.3, 20.0, 3_000)
    made = sv.release(again, column, details=True)
    assert made.table.std() == pytest.approx(made.record["released"]["secret"], rel=1e-6)
    assert abs(made.table.std() - column.std()) <= plan.largest_move * (1 + 1e-6)
    found = sv.audit(again, column, made.table, attackers=["bayes", "plug-in"], trials=800, seed=12)
    assert found.verdict == "holds"
    (bayes,) = (finding for finding in found.findings if finding.attacker == "bayes")
    assert 0.15 <= bayes.rate <= 0.45


def below_a_hundred(rng):
    """Shares in per cent of which some come near 100; their mean is hidden, and the ceiling was not declared."""
    return 100 - rng.exponential(9.0, 300)


@pytest.mark.usefixtures("no_optimum")
def test_an_attacker_in_one_file_passes_the_conformance_suite(ceiling):
    plan = sv.plan(gaussian(sv.Mean()), max_risk=0.3)
    rng = np.random.default_rng(5)
    counts = sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(1, 20)), secret=sv.Mean(), tolerance=0.3)
    sound = Attacked(plan=plan, table=rng.normal(87.3, 20.0, 300))
    leak = Attacked(plan=plan, table=below_a_hundred(rng), accept=ALL, known=sv.Structure(maximum=100.0))
    elsewhere = Attacked(plan=sv.plan(counts, max_risk=0.3, grid=60), table=rng.poisson(7.0, 300))
    check_attacker(ceiling, sound=sound, control=leak, elsewhere=elsewhere, trials=200)
    with pytest.raises(ConformanceError, match="hits a sound release with probability"):
        check_attacker(ceiling, sound=leak, trials=200)
    with pytest.raises(ConformanceError, match="does not find the leak"):
        check_attacker(ceiling, sound=sound, control=sound, trials=200)
    with pytest.raises(ConformanceError, match="does not apply to the sound release"):
        check_attacker(ceiling, sound=elsewhere, trials=200)
    with pytest.raises(ConformanceError, match="applies where it is said not to"):
        check_attacker(ceiling, sound=sound, elsewhere=sound, trials=200)


@pytest.mark.usefixtures("ceiling")
def test_a_family_a_secret_a_mode_and_an_attacker_work_together_and_by_name(laplace, trimmed, tenths, tmp_path):
    """All four in one plan file, one release and one audit; nothing but their files was written."""
    type(tenths).treats = lambda self, problem, kind, moved: (
        problem.family.name == "laplace" and kind == "free" and dict(moved) == {"loc": 1.0}
    )
    prior = sv.Box(loc=(0, 200), scale=(1, 21))
    problem = sv.Problem(family=laplace(), prior=prior, secret=trimmed(0.1), tolerance=2.0)
    plan = sv.plan(problem, max_risk=0.3)
    assert (plan.problem.family.name, plan.problem.secret.label, plan.mode) == ("laplace", "clipped-mean:0.1", "tenths")
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan.to_json()))
    again = sv.Plan.from_json(json.loads(file.read_text()))
    assert again == plan
    table = pd.DataFrame({"x": np.random.default_rng(3).laplace(87.3, 9.0, 2_000), "y": np.arange(2_000) % 7})
    made = sv.release(again, table, column="x", details=True)
    released = made.table["x"].to_numpy()
    assert np.array_equal(np.round(released, 1), released)
    low, high = np.quantile(released, [0.1, 0.9])
    own = released[(released >= low) & (released <= high)].mean()
    assert own == pytest.approx(made.record["released"]["secret"], abs=0.05)
    found = sv.audit(again, table, made.table, column="x", trials=200, seed=4)
    assert found.verdict == "holds"
    assert "ceiling" in found.not_applicable  # rows are drawn: no line


def test_what_one_file_adds_is_listed_by_the_command_line(laplace, trimmed):
    text = CliRunner().invoke(command, []).output
    assert laplace.doc in text
    assert trimmed.doc in text
