"""``statveil list``: what can be asked."""

from __future__ import annotations

import click

from statveil import problem as _problem  # noqa: F401  (fills the registries)
from statveil.cli.options import echo_json, json_option
from statveil.problem.family import FAMILIES
from statveil.problem.secret import SECRETS

__all__ = ["command"]


@click.command("list")
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
            }
        )
        return
    click.echo("Families (parameters; secrets; distances)")
    for name, family in families.items():
        names = "one share per category" if name == "categorical" else ", ".join(p.name for p in family.params)
        click.echo(f"  {name:<20} {family.doc}")
        click.echo(f"  {'':<20} {names}; {', '.join(family.secrets)}; {', '.join(family.distances)}")
    click.echo("\nSecrets")
    for kind, cls in sorted((kind, cls) for kind, cls in SECRETS.items() if cls.portable):
        click.echo(f"  {kind:<20} {cls.doc}")
    click.echo("\nPriors (what outsiders believe; never taken from the data)")
    for form, doc in (
        ("NAME=LO:HI", "every value of the range equally likely"),
        ("NAME=X", "publicly known"),
        ("NAME=LO:HI~normal(M,S)", "a continuous distribution of SciPy, cut to the range"),
        ("NAME=LO:HI~lipschitz(FLOOR,L)", "any density above FLOOR that changes by at most L per unit"),
        ("NAME~between(A,B,0.9)", "90 % sure that it lies between A and B"),
    ):
        click.echo(f"  {form:<31} {doc}")
