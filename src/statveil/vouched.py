"""Which plans of this process have numbers that follow from their problem and mechanism.

A plan is vouched for as an object: a copy with another number in it, as by ``dataclasses.replace``, is another object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from statveil.made_plan import Plan

__all__ = ["vouch_for", "vouched"]

_PLANS: WeakValueDictionary[int, Plan] = WeakValueDictionary()


def vouch_for(plan: Plan) -> Plan:
    """Remember that this very plan was made, or found right."""
    _PLANS[id(plan)] = plan
    return plan


def vouched(plan: Plan) -> bool:
    """Whether this very plan was made by us, or found right before."""
    return _PLANS.get(id(plan)) is plan
