"""From what people type to values: numbers, priors, secrets, structure; on the command line and in files alike."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from statveil import problem as _problem  # noqa: F401  (fills the registries)
from statveil.errors import ProblemError, shortened, unknown_name
from statveil.problem.also import Also
from statveil.problem.axis import Axis
from statveil.problem.families.any_shape import VALUE
from statveil.problem.families.binomial import Binomial
from statveil.problem.families.categorical import Categorical
from statveil.problem.families.counts import Counts
from statveil.problem.families.log_shape import LogShape
from statveil.problem.families.negative_binomial import NegativeBinomial
from statveil.problem.families.shape import Shape
from statveil.problem.family import FAMILIES, Family
from statveil.problem.model import CATALOGUE
from statveil.problem.prior import Box, Simplex
from statveil.problem.priors.density import Density
from statveil.problem.priors.elicited import Elicited
from statveil.problem.priors.flat import Flat
from statveil.problem.priors.known import Known
from statveil.problem.priors.lipschitz import Lipschitz
from statveil.problem.priors.log_slope import LogSlope
from statveil.problem.priors.log_uniform import LogUniform
from statveil.problem.problem import Problem
from statveil.problem.secret import Secret, secret_from_text
from statveil.problem.shapes.standard import Standard
from statveil.problem.structure import Structure
from statveil.problem.tolerance import Relative

__all__ = [
    "PublicShape",
    "parse_also",
    "parse_amount",
    "parse_family",
    "parse_known",
    "parse_number",
    "parse_other_prior",
    "parse_priors",
    "parse_secret",
    "parse_shape",
    "parse_share",
]

PublicShape = Callable[[str, str], Shape]
"""Makes a shape of a column of a public table, by file and column; deciding itself cannot read tables."""

_PRIOR_HELP = (
    "Allowed: NAME=LO:HI, NAME=X, NAME=LO:HI~normal(M,S), NAME=LO:HI~log, NAME=LO:HI~slope(L), "
    "NAME=LO:HI~lipschitz(FLOOR,L), NAME~between(A,B,0.9); without a family the same without NAME="
)
_CALL = re.compile(r"^([A-Za-z_][A-Za-z0-9_]*)\((.*)\)$")


def parse_number(text: str, what: str) -> float:
    """One finite number."""
    return _number(text, what, "a number")


def parse_share(text: str, what: str) -> float:
    """A number that is a part of 1, such as a risk: what is written in per cent was meant so."""
    return _number(text, what, "a number", share=True)


def _number(text: str, what: str, form: str, *, share: bool = False) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ProblemError(f"{what} must be {form}. Got {text!r}{_hint(text.strip(), share=share)}.") from None
    if not math.isfinite(value):
        raise ProblemError(f"{what} must be a finite number. Got {text!r}.")
    return value


def _hint(text: str, *, share: bool = False) -> str:
    """How to write what was probably meant; never a guess that is taken silently."""
    advice = "with a decimal point and without marks between thousands"
    if re.fullmatch(r"[-+]?\d{1,3}(,\d{3})", text) and not text.lstrip("+-").startswith("0"):
        # forty thousand to some, forty to others
        return f"; write {text.replace(',', '')} or {text.replace(',', '.')}, {advice}"
    if re.fullmatch(r"[-+]?\d*,\d+", text):
        return f"; write {text.replace(',', '.')}, {advice}"
    if re.fullmatch(r"[-+]?\d{1,3}([.,'\s]\d{3})+([.,]\d+)?", text):
        mark = next(char for char in text.lstrip("+-") if not char.isdigit())
        return f"; write {text.replace(mark, '').replace(',', '.')}, {advice}"
    if text.endswith("%"):
        number = re.fullmatch(r"(\d+(\.\d+)?)\s*%+", text)
        part = f"{float(number[1]) / 100:.12g}" if number else ""
        if share:
            return f"; write {part or 'it as a part of 1, without the sign'}"
        return f"; write {part and f'{part} for a share, or '}a number in the unit of the statistic, without '%'"
    if thousands := re.fullmatch(r"([-+]?\d+)\s*[kKtT]", text):
        return f"; write {thousands[1]}000"
    return f"; write it {advice}" if re.fullmatch(r"[-+\d.,'\s]+", text) else ""


_NOT_THERE = {
    "lognormal": "shape:lognorm(1)",
    "lognorm": "shape:lognorm(1)",
    "gamma": "shape:gamma(2)",
    "weibull": "shape:weibull_min(1.5)",
    "pareto": "shape:pareto(2.5)",
    "beta": "shape:beta(2,5)",
    "student": "shape:t(3)",
    "t": "shape:t(3)",
    "logistic": "shape:logistic",
    "laplace": "shape:laplace",
}
"""Families that people ask for and that there are none of, and how to write such a shape."""


def parse_family(
    name: str,
    *,
    trials: int | None = None,
    categories: int | None = None,
    labels: str | None = None,
    public_shape: PublicShape | None = None,
) -> Family:
    """The family by name, with its fixed settings."""
    head, colon, shape = name.partition(":")
    if head in ("shape", "log-shape"):
        if trials is not None or categories is not None or labels is not None:
            raise ProblemError("--trials-per-draw, --categories and --labels are not for a shape; leave them out.")
        found = _parse_shape(shape if colon else "", head, public_shape)
        return LogShape(found.standard) if head == "log-shape" else found
    if head == "counts":
        if trials is not None or categories is not None or labels is not None:
            raise ProblemError(
                "--trials-per-draw, --categories and --labels are not for counts; leave them out, and write the known "
                "arguments in brackets, as in counts:binom(n=20)."
            )
        return Counts(shape if colon else "")
    if written := re.fullmatch(r"negative-binomial(?:\(([^()]*)\))?", name):
        if not (written[1] or "").strip():
            raise ProblemError(
                "the family 'negative-binomial' needs its publicly known size: write negative-binomial(2.5) for counts "
                "of variance mean + mean^2 / 2.5."
            )
        return NegativeBinomial(size=parse_number(written[1], "the size of a negative binomial"))
    if name not in FAMILIES:
        if name in _NOT_THERE:
            raise ProblemError(
                f"there is no family {name!r}. A column of any shape needs none: leave out --family, and give the "
                f"prior of the statistic itself. If everyone knows the shape, write {_NOT_THERE[name]}. "
                f"Allowed: {', '.join(sorted(FAMILIES))}."
            )
        if name == "any":
            raise ProblemError("any shape needs no family: leave out --family, and give the prior of the statistic.")
        meant = {"normal": "gaussian", "norm": "gaussian", "expon": "exponential"}.get(name, name)
        hint = (
            unknown_name("family", meant, sorted(FAMILIES))
            if meant == name
            else (f"unknown family {name!r}; did you mean {meant!r}? Allowed: {', '.join(sorted(FAMILIES))}.")
        )
        raise ProblemError(hint)
    if name != "binomial" and trials is not None:
        raise ProblemError(f"--trials-per-draw is for the binomial family. Got the family {name!r}; leave it out.")
    if name != "categorical" and (categories is not None or labels is not None):
        raise ProblemError(f"--categories and --labels are for the categorical family. Got {name!r}; leave them out.")
    if name == "binomial":
        if trials is None:
            raise ProblemError("the binomial family needs --trials-per-draw n, the number of trials behind each count.")
        return Binomial(trials=trials)
    if name == "categorical":
        if categories is None and labels is None:
            raise ProblemError("the categorical family needs --categories C or --labels a,b,c.")
        names = None if labels is None else [label.strip() for label in labels.split(",")]
        if names and any("=" in name for name in names):
            raise ProblemError(f"a label must not contain '=', which 'apply --at' could not read. Got {labels!r}.")
        return Categorical(labels=names, categories=categories)
    return FAMILIES[name]()


def parse_amount(text: str, what: str) -> float | Relative:
    """A number in the unit of the column, or a share written in per cent."""
    share, form = text.strip(), "a number in the unit of the statistic, or a share such as 5%"
    if not share.endswith("%"):
        return _number(text, what, form)
    try:
        return Relative(float(share[:-1]) / 100)
    except ValueError as error:
        if isinstance(error, ProblemError):
            raise
        number = re.fullmatch(r"(\d+(?:[.,]\d+)?)[\s%]*", share)
        meant = f"; write {number[1].replace(',', '.')}%" if number else ""
        raise ProblemError(f"{what} must be {form}. Got {text!r}{meant}.") from None


def parse_shape(text: str | None, *, public_shape: PublicShape | None = None) -> str | Standard | None:
    """The shape from which a column is redrawn: ``catalogue``, or what :func:`_parse_shape` reads."""
    if text is None or text.strip() in (CATALOGUE, "catalog"):
        return None if text is None else CATALOGUE
    return _parse_shape(text.strip().removeprefix("shape:"), "shape", public_shape).standard


def _parse_shape(text: str, head: str, public_shape: PublicShape | None) -> Shape:
    """``lognorm(1)``, ``quantiles(0=1,0.5=3,1=20)``, or ``FILE:COLUMN`` of a public table."""
    if not text:
        raise ProblemError(
            f"the family {head!r} needs a public shape: write {head}:{'lognorm(1)' if head == 'shape' else 'norm'}, "
            f"{head}:quantiles(0=1,0.5=3,1=20), or {head}:FILE:COLUMN for a column of a public table."
        )
    file, colon, column = text.rpartition(":")
    if not colon:
        return Shape(text)
    if not file or not column:
        raise ProblemError(f"a public table is written shape:FILE:COLUMN. Got {shortened(text)!r}.")
    if public_shape is None:
        raise ProblemError(
            f"no table is read here, so a shape is not FILE:COLUMN. Got {shortened(text)!r}; write its quantiles, "
            "as in quantiles(0=1,0.5=3,1=20)."
        )
    return public_shape(file, column)


def parse_priors(texts: Sequence[str], *, named: bool = True) -> Box | None:
    """All ``--prior`` options together; ``None`` where none was given. Without a family the one prior has no name."""
    axes: dict[str, Axis] = {}
    for text in texts:
        alone = not named and not _names(text)
        name, axis = _parse_prior(_with_name(text), given=text) if alone else _parse_prior(text)
        if name in axes:
            of = "" if alone else f" of {name!r}"
            raise ProblemError(f"the prior{of} is given twice; keep one of them.")
        axes[name] = axis
    return Box(axes) if axes else None


def parse_other_prior(texts: Sequence[str], problem: Problem) -> Box:
    """Another belief about the parameters of a plan's problem; where one is uncertain no name is needed."""
    whole = [text.strip() for text in texts]
    free = () if isinstance(problem.prior, Simplex) else problem.box.free
    if not problem.family.shapeless and len(free) == 1:
        between = tuple(text.lstrip("~").startswith("between(") for text in whole)
        whole = [
            text if _names(text) else f"{free[0]}~{text.lstrip('~')}" if asked else f"{free[0]}={text}"
            for text, asked in zip(whole, between, strict=True)
        ]
    found = parse_priors(whole, named=not problem.family.shapeless)
    assert found is not None
    return found


def _names(text: str) -> bool:
    """Whether a prior names a parameter."""
    head, tilde, _ = text.partition("~")
    return "=" in head or bool(tilde and re.fullmatch(r"\s*[A-Za-z_-][A-Za-z0-9_-]*\s*", head))


def _with_name(text: str) -> str:
    """The prior of the secret itself, in the form of a parameter's."""
    whole = text.strip()
    return f"{VALUE}~{whole.lstrip('~')}" if whole.lstrip("~").startswith("between(") else f"{VALUE}={whole}"


def _parse_prior(text: str, *, given: str | None = None) -> tuple[str, Axis]:
    """A belief with its name; ``given`` is what was typed where no name was needed: messages then have none."""
    head, tilde, tail = text.partition("~")
    name, equals, span = head.partition("=")
    name = name.strip()
    own = name if given is None else ""
    before = own and f"{own}="
    if not name or (not equals and not tilde):
        raise ProblemError(f"a prior must name its parameter. Got {text!r}. {_PRIOR_HELP}.")
    what = f"the prior of {own!r}" if own else "the prior"
    got = text if given is None else given
    if another := re.search(r"[,;\s]\s*([^\s,;:=~()]*[^\s\d,;:=~().][^\s,;:=~()]*)\s*[=~]", span + tilde + tail):
        raise ProblemError(
            f"{what} must be given by itself. Got {got!r}; give {another[1]!r} an option of its own, as in "
            f"--prior {before}LO:HI --prior {another[1]}=LO:HI."
        )
    if not tilde:
        return name, _parse_span(span, what, before)
    call = _CALL.match(tail.strip() if tail.strip() != "log" else "log()")
    if call is None:
        raise ProblemError(f"the part after '~' in {what} must look like normal(M,S). Got {tail!r}. {_PRIOR_HELP}.")
    function = call[1]
    parts = call[2].split(",") if call[2].strip() else []
    values = [parse_number(part, f"each argument of {tail.strip()!r} in {what}") for part in parts]
    if function == "between":
        if equals or len(values) != 3:
            raise ProblemError(
                f"{what} must look like {own and f'{own}~'}between(A,B,0.9), without a range, three numbers with "
                f"decimal points. Got {got!r}."
            )
        return name, Elicited(a=values[0], b=values[1], sure=values[2])
    low, colon, high = span.partition(":")
    if not colon:
        raise ProblemError(f"{what} needs a range to which {function}(...) is cut. Got {got!r}. {_PRIOR_HELP}.")
    ends = parse_number(low, f"the lower end in {what}"), parse_number(high, f"the upper end in {what}")
    if function == "log":
        if values:
            raise ProblemError(f"{what} must look like {before}LO:HI~log, without arguments. Got {got!r}.")
        return name, LogUniform(*_ordered(ends, own))
    if function == "slope":
        if len(values) != 1:
            raise ProblemError(f"{what} must look like {before}LO:HI~slope(L). Got {got!r}.")
        return name, LogSlope(*_ordered(ends, own), *values)
    if function == "lipschitz":
        if len(values) != 2:
            raise ProblemError(f"{what} must look like {before}LO:HI~lipschitz(FLOOR,L). Got {got!r}.")
        return name, Lipschitz(*_ordered(ends, own), *values)
    low_end, high_end = _ordered(ends, own)
    return name, Density(function, values, low=low_end, high=high_end)


def _parse_span(text: str, what: str, before: str) -> Axis:
    """A number or a range; ``before`` is what people write before it: the name, where there is one."""
    low, colon, high = text.partition(":")
    if not colon:
        number, apart = r"[-+]?\d[\d.,_]*", r"-|\u2013|\.\.+|to|,\s|;|/|\s|,(?=\d{4})"
        if two := re.fullmatch(rf"\s*[\[(]?\s*({number}?)\s*(?:{apart})\s*({number})\s*[\])]?\s*", text):
            raise ProblemError(
                f"{what} must be a number or a range LO:HI. Got {text!r}; write {before}{two[1]}:{two[2]} for a range."
            )
        return Known(_number(text, what, "a number or a range LO:HI"))
    ends = parse_number(low, f"the lower end of {what}"), parse_number(high, f"the upper end of {what}")
    return Flat(*_ordered(ends, before.rstrip("=")))


def _ordered(ends: tuple[float, float], name: str) -> tuple[float, float]:
    low, high = ends
    if low >= high:
        state = "reversed" if low > high else "empty"
        if not name:
            raise ProblemError(f"the range of the prior is {state}. Got {low:g}:{high:g}; write the smaller end first.")
        raise ProblemError(
            f"the range of {name!r} is {state}. Got {low:g}:{high:g}; write the smaller end first, "
            f"or {name}={low:g} if the value is publicly known."
        )
    return low, high


def parse_secret(text: str) -> Secret:
    """``mean``, ``quantile:A``, ``total:N`` and so on."""
    return secret_from_text(text, parse_share)


def parse_also(text: str) -> Also:
    """A second secret, ``std; prior=5:20; tolerance=0.5``."""
    name, *parts = (part.strip() for part in text.split(";"))
    given: dict[str, str] = {}
    for part in filter(None, parts):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key not in ("prior", "tolerance") or not equals or not value or key in given:
            raise ProblemError(
                f"a second secret is written as in 'std; prior=5:20; tolerance=0.5', each part once. Got {part!r}."
            )
        given[key] = value
    if "tolerance" not in given:
        raise ProblemError(
            f"the second secret needs a tolerance, as in 'std; prior=5:20; tolerance=0.5'. Got {text!r}."
        )
    tolerance = parse_amount(given["tolerance"], "the tolerance of the second secret")
    prior = parse_priors([given["prior"]], named=False) if "prior" in given else None
    axis = None if prior is None else prior.axes.get(VALUE)
    if prior is not None and axis is None:
        raise ProblemError(f"the prior of a second secret is its own, without a name. Got {given['prior']!r}.")
    return Also(parse_secret(name), axis, tolerance=tolerance)  # type: ignore[arg-type]  # a share is refused there


def parse_known(text: str | None) -> Structure:
    """``min=0,max=9,step=1,heaps=5,atoms=0`` in any order; several heaps or atoms are separated by ``/``."""
    if text is None:
        return Structure()
    names = {"min": "minimum", "max": "maximum", "step": "step", "heaps": "heaps", "atoms": "atoms"}
    found: dict[str, float] = {}
    lists: dict[str, tuple[float, ...]] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if re.fullmatch(r"\d+", part):
            raise ProblemError(
                f"known structure must look like min=0,step=1,atoms=0. Got {text!r}; write decimals with a point, and "
                "several atoms or heaps with '/'."
            )
        if name not in names:
            raise ProblemError(unknown_name("known structure", name, names))
        if not equals or not value:
            raise ProblemError(f"known structure must look like min=0,step=1,atoms=0. Got {part!r}.")
        if name in found or name in lists:
            raise ProblemError(f"the known {name!r} is given twice; separate several atoms by '/', as in atoms=0/100.")
        if name in ("atoms", "heaps"):
            lists[name] = tuple(parse_number(part, f"one of the known {name}") for part in value.split("/"))
        else:
            found[name] = parse_number(value, f"the known {name!r}")
    plain = {names[name]: value for name, value in found.items()}
    return Structure(**plain, atoms=lists.get("atoms", ()), heaps=lists.get("heaps", ()))
