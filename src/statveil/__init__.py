"""Share a table while hiding a summary statistic of a column, with an exact limit on how well anyone can guess it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from statveil.auditing.audit import Audit, audit
    from statveil.comparing.compare import Comparison, compare
    from statveil.design.frontier import frontier
    from statveil.errors import (
        ColumnError,
        FileError,
        PlanFileError,
        ProblemError,
        StatveilError,
        StructureError,
        TableError,
        TargetError,
    )
    from statveil.plan_file import load_plan, save_plan
    from statveil.planning import Plan, limits, plan, simulate
    from statveil.problem.families.binomial import Binomial
    from statveil.problem.families.categorical import Categorical
    from statveil.problem.families.custom import Custom
    from statveil.problem.families.exponential import Exponential
    from statveil.problem.families.gaussian import Gaussian
    from statveil.problem.families.geometric import Geometric
    from statveil.problem.families.location import Location
    from statveil.problem.families.poisson import Poisson
    from statveil.problem.families.shifted_exponential import ShiftedExponential
    from statveil.problem.families.uniform import Uniform
    from statveil.problem.prior import Box, Simplex
    from statveil.problem.priors.density import Density
    from statveil.problem.priors.elicited import Elicited
    from statveil.problem.priors.flat import Flat
    from statveil.problem.priors.known import Known
    from statveil.problem.priors.lipschitz import Lipschitz
    from statveil.problem.priors.table import Table
    from statveil.problem.problem import Problem
    from statveil.problem.secrets.fraction import Fraction
    from statveil.problem.secrets.function import Function
    from statveil.problem.secrets.mean import Mean
    from statveil.problem.secrets.quantile import Quantile
    from statveil.problem.secrets.std import Std
    from statveil.problem.structure import Structure
    from statveil.tables.inspection import inspect
    from statveil.tables.release import Release, release
    from statveil.tables.release_file import release_file
    from statveil.tables.verify_file import verify_file

_WHERE = {
    "Audit": "auditing.audit",
    "Binomial": "problem.families.binomial",
    "Box": "problem.prior",
    "Categorical": "problem.families.categorical",
    "ColumnError": "errors",
    "Comparison": "comparing.points",
    "Custom": "problem.families.custom",
    "Density": "problem.priors.density",
    "Elicited": "problem.priors.elicited",
    "Exponential": "problem.families.exponential",
    "FileError": "errors",
    "Flat": "problem.priors.flat",
    "Fraction": "problem.secrets.fraction",
    "Function": "problem.secrets.function",
    "Gaussian": "problem.families.gaussian",
    "Geometric": "problem.families.geometric",
    "Known": "problem.priors.known",
    "Lipschitz": "problem.priors.lipschitz",
    "Location": "problem.families.location",
    "Mean": "problem.secrets.mean",
    "Plan": "planning",
    "PlanFileError": "errors",
    "Poisson": "problem.families.poisson",
    "Problem": "problem.problem",
    "ProblemError": "errors",
    "Quantile": "problem.secrets.quantile",
    "Release": "tables.release",
    "ShiftedExponential": "problem.families.shifted_exponential",
    "Simplex": "problem.prior",
    "StatveilError": "errors",
    "Std": "problem.secrets.std",
    "Structure": "problem.structure",
    "StructureError": "errors",
    "Table": "problem.priors.table",
    "TableError": "errors",
    "TargetError": "errors",
    "Uniform": "problem.families.uniform",
    "audit": "auditing.audit",
    "compare": "comparing.compare",
    "frontier": "design.frontier",
    "inspect": "tables.inspection",
    "limits": "planning",
    "load_plan": "plan_file",
    "plan": "planning",
    "release": "tables.release",
    "release_file": "tables.release_file",
    "save_plan": "plan_file",
    "simulate": "planning",
    "verify_file": "tables.verify_file",
}
"""Where each public name lives: loaded on first use, so that importing statveil costs next to nothing."""

__all__ = [
    "Audit",
    "Binomial",
    "Box",
    "Categorical",
    "ColumnError",
    "Comparison",
    "Custom",
    "Density",
    "Elicited",
    "Exponential",
    "FileError",
    "Flat",
    "Fraction",
    "Function",
    "Gaussian",
    "Geometric",
    "Known",
    "Lipschitz",
    "Location",
    "Mean",
    "Plan",
    "PlanFileError",
    "Poisson",
    "Problem",
    "ProblemError",
    "Quantile",
    "Release",
    "ShiftedExponential",
    "Simplex",
    "StatveilError",
    "Std",
    "Structure",
    "StructureError",
    "Table",
    "TableError",
    "TargetError",
    "Uniform",
    "audit",
    "compare",
    "frontier",
    "inspect",
    "limits",
    "load_plan",
    "plan",
    "release",
    "release_file",
    "save_plan",
    "simulate",
    "verify_file",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'statveil' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"statveil.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
