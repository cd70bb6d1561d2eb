# Types of the public names, for editors and type checkers; the names themselves are listed in __init__.py.
from statveil.auditing.attacker import Attacker as Attacker
from statveil.auditing.audit import Audit as Audit
from statveil.auditing.audit import Finding as Finding
from statveil.auditing.audit import audit as audit
from statveil.auditing.table_audit import TableAudit as TableAudit
from statveil.comparing.compare import compare as compare
from statveil.comparing.points import Comparison as Comparison
from statveil.composition import Composition as Composition
from statveil.composition import JointRisk as JointRisk
from statveil.composition import Tiers as Tiers
from statveil.composition import compose as compose
from statveil.composition import tiers as tiers
from statveil.design.frontier import Frontier as Frontier
from statveil.design.frontier import frontier as frontier
from statveil.drifting import Series as Series
from statveil.drifting import series as series
from statveil.errors import (
    BudgetError as BudgetError,
)
from statveil.errors import (
    ColumnError as ColumnError,
)
from statveil.errors import (
    FileError as FileError,
)
from statveil.errors import (
    PlanFileError as PlanFileError,
)
from statveil.errors import (
    ProblemError as ProblemError,
)
from statveil.errors import (
    StatveilError as StatveilError,
)
from statveil.errors import (
    StructureError as StructureError,
)
from statveil.errors import (
    TableError as TableError,
)
from statveil.errors import (
    TargetError as TargetError,
)
from statveil.leaking import Leakage as Leakage
from statveil.leaking import SecretLeakage as SecretLeakage
from statveil.leaking import leakage as leakage
from statveil.ledger.ledger import Ledger as Ledger
from statveil.ledger.verifying import LedgerCheck as LedgerCheck
from statveil.ledger.view import LedgerView as LedgerView
from statveil.made_plan import Applied as Applied
from statveil.made_plan import Plan as Plan
from statveil.mechanisms.mechanism import Mechanism as Mechanism
from statveil.pipeline import ReleaseTransformer as ReleaseTransformer
from statveil.plan_file import load_plan as load_plan
from statveil.plan_file import save_plan as save_plan
from statveil.planning import (
    Limits as Limits,
)
from statveil.planning import (
    limits as limits,
)
from statveil.planning import (
    plan as plan,
)
from statveil.planning import (
    simulate as simulate,
)
from statveil.problem.also import Also as Also
from statveil.problem.families.binomial import Binomial as Binomial
from statveil.problem.families.categorical import Categorical as Categorical
from statveil.problem.families.counts import Counts as Counts
from statveil.problem.families.custom import Custom as Custom
from statveil.problem.families.exponential import Exponential as Exponential
from statveil.problem.families.gaussian import Gaussian as Gaussian
from statveil.problem.families.geometric import Geometric as Geometric
from statveil.problem.families.location import Location as Location
from statveil.problem.families.log_shape import LogShape as LogShape
from statveil.problem.families.negative_binomial import NegativeBinomial as NegativeBinomial
from statveil.problem.families.poisson import Poisson as Poisson
from statveil.problem.families.shape import Shape as Shape
from statveil.problem.families.shifted_exponential import ShiftedExponential as ShiftedExponential
from statveil.problem.families.uniform import Uniform as Uniform
from statveil.problem.family import Family as Family
from statveil.problem.location_scale import LocationScale as LocationScale
from statveil.problem.ordinal import Ordinal as Ordinal
from statveil.problem.prior import Box as Box
from statveil.problem.prior import Simplex as Simplex
from statveil.problem.priors.density import Density as Density
from statveil.problem.priors.elicited import Elicited as Elicited
from statveil.problem.priors.flat import Flat as Flat
from statveil.problem.priors.known import Known as Known
from statveil.problem.priors.lipschitz import Lipschitz as Lipschitz
from statveil.problem.priors.log_slope import LogSlope as LogSlope
from statveil.problem.priors.log_uniform import LogUniform as LogUniform
from statveil.problem.priors.tabulated import Tabulated as Tabulated
from statveil.problem.problem import Problem as Problem
from statveil.problem.secret import Secret as Secret
from statveil.problem.secrets.column_difference import ColumnDifference as ColumnDifference
from statveil.problem.secrets.column_ratio import ColumnRatio as ColumnRatio
from statveil.problem.secrets.extreme import Maximum as Maximum
from statveil.problem.secrets.extreme import Minimum as Minimum
from statveil.problem.secrets.fraction import Fraction as Fraction
from statveil.problem.secrets.function import Function as Function
from statveil.problem.secrets.group_difference import GroupDifference as GroupDifference
from statveil.problem.secrets.group_ratio import GroupRatio as GroupRatio
from statveil.problem.secrets.iqr import Iqr as Iqr
from statveil.problem.secrets.mean import Mean as Mean
from statveil.problem.secrets.median import Median as Median
from statveil.problem.secrets.quantile import Quantile as Quantile
from statveil.problem.secrets.rows import Rows as Rows
from statveil.problem.secrets.std import Std as Std
from statveil.problem.secrets.total import Total as Total
from statveil.problem.secrets.trimmed_mean import TrimmedMean as TrimmedMean
from statveil.problem.structure import Structure as Structure
from statveil.problem.tolerance import Relative as Relative
from statveil.protection import Protection as Protection
from statveil.report.document.write import write_report as write_report
from statveil.reproducing.run import Reproduced as Reproduced
from statveil.reproducing.run import reproduce as reproduce
from statveil.simulation import Rate as Rate
from statveil.specification.planned import TablePlan as TablePlan
from statveil.specification.planned import plan_specification as plan_specification
from statveil.specification.plans_file import load_table_plan as load_table_plan
from statveil.specification.plans_file import save_table_plan as save_table_plan
from statveil.specification.specification import Specification as Specification
from statveil.specification.specification import load_specification as load_specification
from statveil.spoken import describe as describe
from statveil.tables.drafting import draft_specification as draft_specification
from statveil.tables.inspection import ColumnReport as ColumnReport
from statveil.tables.inspection import Inspection as Inspection
from statveil.tables.inspection import inspect as inspect
from statveil.tables.reference import public_shape as public_shape
from statveil.tables.release import Release as Release
from statveil.tables.release import release as release
from statveil.tables.release_file import release_file as release_file
from statveil.tables.release_table import release_table as release_table
from statveil.tables.verify_content import Check as Check
from statveil.tables.verify_file import Verified as Verified
from statveil.tables.verify_file import verify as verify
from statveil.tables.verify_file import verify_file as verify_file

Table = Tabulated  # its former name

__all__: list[str]
__version__: str
