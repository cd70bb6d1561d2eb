"""``statveil list``: what can be asked."""

from __future__ import annotations

import click

from statveil import problem as _problem  # noqa: F401  (fills the registries)
from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.terminal import echo
from statveil.problem.family import FAMILIES
from statveil.problem.secret import SECRETS

__all__ = ["PRIORS", "command"]

PRIORS = {
    "NAME=LO:HI": "every value of the range equally likely",
    "NAME=X": "publicly known",
    "NAME~between(A,B,0.9)": "90 % sure that it lies between A and B",
    "NAME=LO:HI~normal(M,S)": "mean and standard deviation, cut to the range",
    "NAME=LO:HI~lognormal(M,S)": "mean and standard deviation of the logarithm, cut to the range",
    "NAME=LO:HI~exponential(S)": "mean, cut to the range",
    "NAME=LO:HI~NAME(...)": "any continuous distribution of SciPy with its arguments, cut to the range",
    "NAME=LO:HI~log": "every factor of the range equally likely",
    "NAME=LO:HI~slope(L)": "any belief whose log-density changes by at most L per unit of the logarithm",
    "NAME=LO:HI~lipschitz(FLOOR,L)": "any density above FLOOR that changes by at most L per unit",
}
"""How to write what outsiders believe."""


@click.command("list", cls=Once)
@json_option
def command(as_json: bool) -> None:
    """Families with their parameters and secrets, and how to write secrets and priors."""
    families = {name: cls.example() for name, cls in sorted(FAMILIES.items())}
    if as_json:
        echo_json(
            {
                "families": {
                    name: {
                        "doc": family.doc,
                        "parameters": {param.name: param.doc for param in family.params},
                        "secrets": list(family.secrets),
                        "distances": list(family.distances),
                    }
                    for name, family in families.items()
                },
                "secrets": {kind: cls.doc for kind, cls in sorted(SECRETS.items()) if cls.portable},
                "priors": PRIORS,
            }
        )
        return
    examples = {kind: cls.examples()[0] for kind, cls in SECRETS.items() if cls.portable}
    follow = [kind for kind, one in examples.items() if one.per_shift is not None or one.apart is not None]
    echo("No family: a column of any shape, the prior on the statistic itself, as in --prior 100:250")
    echo(f"  {', '.join(sorted(follow))}\n")
    echo("Families (parameters; secrets; distances)")
    for name, family in families.items():
        names = "one share per category" if name == "categorical" else ", ".join(p.name for p in family.params)
        echo(f"  {name:<20} {family.doc}")
        echo(f"  {'':<20} {names}; {', '.join(family.secrets)}; {', '.join(family.distances)}")
    echo("\nSecrets")
    for kind, cls in sorted((kind, cls) for kind, cls in SECRETS.items() if cls.portable):
        echo(f"  {kind:<20} {cls.doc}")
    echo("\nPriors (what outsiders believe of this very column's own parameters; never taken from the data)")
    for form, doc in PRIORS.items():
        echo(f"  {form:<31} {doc}")
    echo("Without a family the same without NAME=, as in 100:250~log or between(100,250,0.9).")
    echo("Numbers have a decimal point and no marks between thousands: 40000.5")
