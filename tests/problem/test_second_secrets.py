"""Two secrets of one column, stated: which pairs there are, and what they are in terms of a location and a scale."""

from __future__ import annotations

import json

import numpy as np
import pytest

import statveil as sv

STD = sv.Also(sv.Std(), (5, 25), tolerance=0.5)


def stated(**other):
    return sv.Problem(**{"secret": sv.Mean(), "prior": (0, 60), "tolerance": 1.0, "also": [STD], **other})


PAIRS = [
    (None, sv.Mean(), sv.Std()),
    (None, sv.Quantile(0.9), sv.Std()),
    (sv.Gaussian(), sv.Quantile(0.95), sv.Std()),
    (sv.Gaussian(), sv.Median(), sv.Iqr()),
    (sv.Uniform(), sv.Mean(), sv.Std()),
    (sv.Shape("lognorm(1)"), sv.Quantile(0.2), sv.Iqr()),
    (sv.ShiftedExponential(), sv.Mean(), sv.Std()),
]


@pytest.mark.parametrize(("family", "place", "spread"), PAIRS)
def test_written_and_read_again_it_is_the_same(family, place, spread):
    for one, two in ((place, spread), (spread, place)):
        problem = stated(family=family, secret=one, prior=(5, 60), also=[sv.Also(two, (5, 25), tolerance=0.5)])
        again = sv.Problem.from_json(json.loads(json.dumps(problem.to_json())))
        assert again == problem
        assert [each.secret for each in again.each] == [one, two]


@pytest.mark.parametrize(("family", "place", "spread"), [pair for pair in PAIRS if pair[0] is not None])
def test_the_pair_is_what_columns_of_the_family_have(family, place, spread):
    problem = stated(family=family, secret=place, prior=(5, 60), also=[sv.Also(spread, (5, 25), tolerance=0.5)])
    params = {place.label: 31.0, spread.label: 12.0}
    rows = problem.family.sample(params, 400_000, np.random.default_rng(1))
    levels = {"median": 0.5, "quantile:0.95": 0.95, "quantile:0.2": 0.2}
    measured = rows.mean() if place.label == "mean" else np.quantile(rows, levels[place.label])
    width = rows.std() if spread.label == "std" else np.subtract(*np.quantile(rows, [0.75, 0.25]))
    assert measured == pytest.approx(31.0, rel=0.02)
    assert width == pytest.approx(12.0, rel=0.02)


def test_a_box_of_parameters_is_a_prior_of_the_secrets_that_they_are():
    box = stated(family=sv.Gaussian(), prior=sv.Box(mu=(0, 60), sigma=(5, 25)), also=[sv.Also(sv.Std(), tolerance=0.5)])
    assert box == stated(family=sv.Gaussian())
    shape = sv.Shape("lognorm(1)")
    in_mean = stated(family=shape, prior={"mean": (0, 60), "std": (5, 25)}, also=[sv.Also(sv.Std(), tolerance=0.5)])
    assert in_mean == stated(family=shape)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"also": [STD, sv.Also(sv.Iqr(), (1, 2), tolerance=1)]}, "Got 2"),
        ({"also": [sv.Std()]}, "sv.Also"),
        ({"also": [sv.Also(sv.Mean(), (0, 9), tolerance=1)]}, "named twice"),
        ({"also": [sv.Also(sv.Median(), (0, 9), tolerance=1)]}, "only stretches"),
        ({"secret": sv.Std(), "also": [sv.Also(sv.Iqr(), (1, 9), tolerance=1)]}, "only stretches"),
        ({"also": [sv.Also(sv.Iqr(), (1, 9), tolerance=1)]}, "state a family"),
        ({"secret": sv.Quantile(1.0)}, "state a family"),
        ({"also": [sv.Also(sv.Std(), tolerance=1)]}, "prior of the std is missing"),
        ({"also": [sv.Also(sv.Std(), 7, tolerance=1)]}, "publicly known"),
        ({"also": [sv.Also(sv.Std(), (0, 9), tolerance=1)]}, "domain"),
        ({"tolerance": sv.Relative(0.05)}, "own unit"),
        ({"known": sv.Structure(minimum=0)}, "cannot keep a bound"),
        ({"known": sv.Structure(step=1)}, "cannot keep a step"),
        ({"shape": "lognorm(1)"}, "a shape redraws it"),
        ({"family": sv.Exponential()}, "does not allow"),
        ({"family": sv.Location()}, "only stretches|does not allow"),
        ({"family": sv.Poisson()}, "does not allow"),
        ({"family": sv.Gaussian(), "secret": sv.Quantile(1.0)}, "infinite"),
        (
            {
                "family": sv.Gaussian(),
                "secret": sv.Quantile(0.9),
                "prior": sv.Box(mu=(0, 60), sigma=(5, 25)),
                "also": [sv.Also(sv.Std(), tolerance=1)],
            },
            "none of its parameters",
        ),
        (
            {"family": sv.Gaussian(), "prior": sv.Box(mu=(0, 60), sigma=(5, 25))},
            "prior of the mean is missing",
        ),
    ],
)
def test_what_is_no_pair_is_refused_in_one_sentence(changes, word):
    with pytest.raises(sv.ProblemError, match=word) as said:
        stated(**changes)
    assert "Traceback" not in str(said.value)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"secret": "std", "tolerance": 1}, "sv.Std"),
        ({"secret": sv.Std(), "tolerance": 0}, "tolerance"),
        ({"secret": sv.Std(), "tolerance": sv.Relative(0.1)}, "own unit"),
        ({"secret": sv.Std(), "prior": (9, 3), "tolerance": 1}, "reversed"),
    ],
)
def test_a_second_secret_that_says_nonsense(arguments, word):
    with pytest.raises(sv.ProblemError, match=word):
        sv.Also(**arguments)
