"""Share a table while hiding a summary statistic of a column, with a proven limit on how well anyone can guess it."""

import importlib
import warnings
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "Also": "problem.also",
    "Applied": "made_plan",
    "Attacker": "auditing.attacker",
    "Audit": "auditing.audit",
    "Binomial": "problem.families.binomial",
    "Box": "problem.prior",
    "BudgetError": "errors",
    "Categorical": "problem.families.categorical",
    "Check": "tables.verify_content",
    "ColumnDifference": "problem.secrets.column_difference",
    "ColumnError": "errors",
    "ColumnRatio": "problem.secrets.column_ratio",
    "ColumnReport": "tables.inspection",
    "Comparison": "comparing.points",
    "Composition": "composition",
    "Counts": "problem.families.counts",
    "Custom": "problem.families.custom",
    "Density": "problem.priors.density",
    "Elicited": "problem.priors.elicited",
    "Exponential": "problem.families.exponential",
    "Family": "problem.family",
    "FileError": "errors",
    "Finding": "auditing.audit",
    "Flat": "problem.priors.flat",
    "Fraction": "problem.secrets.fraction",
    "Frontier": "design.frontier",
    "Function": "problem.secrets.function",
    "Gaussian": "problem.families.gaussian",
    "Geometric": "problem.families.geometric",
    "GroupDifference": "problem.secrets.group_difference",
    "GroupRatio": "problem.secrets.group_ratio",
    "Inspection": "tables.inspection",
    "Iqr": "problem.secrets.iqr",
    "JointRisk": "composition",
    "Known": "problem.priors.known",
    "Ledger": "ledger.ledger",
    "LedgerCheck": "ledger.verifying",
    "LedgerView": "ledger.view",
    "Leakage": "leaking",
    "Limits": "planning",
    "Lipschitz": "problem.priors.lipschitz",
    "Location": "problem.families.location",
    "LocationScale": "problem.location_scale",
    "LogSlope": "problem.priors.log_slope",
    "LogUniform": "problem.priors.log_uniform",
    "Maximum": "problem.secrets.extreme",
    "Mean": "problem.secrets.mean",
    "Mechanism": "mechanisms.mechanism",
    "Median": "problem.secrets.median",
    "Minimum": "problem.secrets.extreme",
    "LogShape": "problem.families.log_shape",
    "NegativeBinomial": "problem.families.negative_binomial",
    "Ordinal": "problem.ordinal",
    "Plan": "made_plan",
    "PlanFileError": "errors",
    "Poisson": "problem.families.poisson",
    "Problem": "problem.problem",
    "ProblemError": "errors",
    "Protection": "protection",
    "Quantile": "problem.secrets.quantile",
    "Rate": "simulation",
    "Relative": "problem.tolerance",
    "Release": "tables.release",
    "ReleaseTransformer": "pipeline",
    "Reproduced": "reproducing.run",
    "Rows": "problem.secrets.rows",
    "Secret": "problem.secret",
    "SecretLeakage": "leaking",
    "Series": "drifting",
    "Shape": "problem.families.shape",
    "ShiftedExponential": "problem.families.shifted_exponential",
    "Simplex": "problem.prior",
    "Specification": "specification.specification",
    "StatveilError": "errors",
    "Std": "problem.secrets.std",
    "Structure": "problem.structure",
    "StructureError": "errors",
    "TableError": "errors",
    "TableAudit": "auditing.table_audit",
    "TablePlan": "specification.planned",
    "Tabulated": "problem.priors.tabulated",
    "TargetError": "errors",
    "Tiers": "composition",
    "Total": "problem.secrets.total",
    "TrimmedMean": "problem.secrets.trimmed_mean",
    "Uniform": "problem.families.uniform",
    "Verified": "tables.verify_file",
    "audit": "auditing.audit",
    "compare": "comparing.compare",
    "compose": "composition",
    "describe": "spoken",
    "draft_specification": "tables.drafting",
    "frontier": "design.frontier",
    "inspect": "tables.inspection",
    "leakage": "leaking",
    "limits": "planning",
    "load_plan": "plan_file",
    "load_specification": "specification.specification",
    "load_table_plan": "specification.plans_file",
    "plan": "planning",
    "plan_specification": "specification.planned",
    "public_shape": "tables.reference",
    "release": "tables.release",
    "release_file": "tables.release_file",
    "release_table": "tables.release_table",
    "reproduce": "reproducing.run",
    "save_plan": "plan_file",
    "save_table_plan": "specification.plans_file",
    "series": "drifting",
    "simulate": "planning",
    "tiers": "composition",
    "verify": "tables.verify_file",
    "verify_file": "tables.verify_file",
    "write_report": "report.document.write",
}
"""Where each public name lives: loaded on first use, so that importing statveil costs next to nothing. The only list of
public names; ``__init__.pyi`` gives them their types, and a test holds the two together."""

_FORMER = {"Table": "Tabulated"}
"""Names from before, which still work and warn: ``Table`` is a prior, in a library about tables."""

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name in _FORMER:
        warnings.warn(f"sv.{name} is called sv.{_FORMER[name]} now.", DeprecationWarning, stacklevel=2)
        return __getattr__(_FORMER[name])
    if name not in _WHERE:
        raise AttributeError(f"module 'statveil' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"statveil.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
