"""Public conformance checks: run them on a family, secret, mechanism, mode, attacker or engine of your own.

    from statveil.testing import check_family
    check_family(MyFamily())

Each check compares independent ways to the same number and raises :class:`ConformanceError` with the difference.
:func:`family_checks` gives those of a family one by one, for a parametrised test.
"""

from statveil import problem as _problem  # noqa: F401  (fills the registries)
from statveil.testing.attackers import Attacked, check_attacker
from statveil.testing.comparison import ConformanceError, registered_families, typical_secrets
from statveil.testing.families import check_family, family_checks
from statveil.testing.mechanisms import check_mechanism
from statveil.testing.modes import check_mode
from statveil.testing.secrets import check_secret
from statveil.testing.sources import check_source

__all__ = [
    "Attacked",
    "ConformanceError",
    "check_attacker",
    "check_family",
    "check_mechanism",
    "check_mode",
    "check_secret",
    "check_source",
    "family_checks",
    "registered_families",
    "typical_secrets",
]
