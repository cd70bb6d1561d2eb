"""The plans of a specification, and what the page shows of them. No data is read, and none could be.

Nothing here, nor anything it loads, can read a table (a contract of the imports).
"""

from __future__ import annotations

from typing import Any

from statveil.made_plan import Plan
from statveil.problem.problem import Problem
from statveil.problem.wording import distortion_text
from statveil.rounding import shown_up
from statveil.specification.column_plan import column_risk
from statveil.specification.planned import TablePlan, plan_specification
from statveil.specification.specification import Specification
from statveil.studio.tradeoff import bins_of, plan_words
from statveil.words.table import columns_sentences, table_sentence

__all__ = ["planned"]


def _named(problem: Problem) -> str:
    return problem.secret.text if problem.secret.is_share else problem.secret.label


def _change(made: Plan) -> str:
    if made.problem.distance == "tv":
        return f"{shown_up(100 * made.distortion, 4)} % of the rows"
    return distortion_text(made.problem, made.distortion)


def planned(specification: Specification) -> tuple[TablePlan, dict[str, Any]]:
    """The plans and their summary; columns by name."""
    made = plan_specification(specification)
    words = [str(one) for one in (table_sentence(made), *columns_sentences(made))]
    columns = [
        {
            "column": name,
            "secret": " and ".join(map(_named, made.specification.hidden[name].problems)),
            "risk": max(one.risk, column_risk(made.specification.hidden[name], one).union),
            "risk_kind": column_risk(made.specification.hidden[name], one).kind,
            "distortion": _change(one),
            "words": plan_words(one, made.specification.hidden[name]),
            "bins": bins_of(one),
            "mode": one.mode,
        }
        for name, one in made.plans.items()
    ]
    return made, {"risk": made.risk, "risk_kind": made.risk_kind, "words": words, "columns": columns}
