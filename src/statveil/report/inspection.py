"""An inspection in words, for the holder's terminal."""

from __future__ import annotations

from statveil.tables.inspection import PRIVATE, ColumnReport, Inspection

__all__ = ["describe_inspection"]

_FILL_IN = "LO:HI is what outsiders believe of the mean: from public knowledge, never from this column."
_OF_A_RULE = (
    "If the values were worked out of other round numbers (another unit or currency, a rate, a tax, a ratio), add "
    "--shape catalogue: whoever knows the rule would learn how far they moved."
)
_OF_A_FORMULA = (
    "If the values were computed by a formula from rounded numbers (a logarithm, an index, a clearance by age, a dew "
    "point, an annuity), add --shape catalogue: whoever knows the formula would learn how far they moved."
)

_OF_SHARES = (
    "If these are {what} of a whole, everyone knows that they end at {end:g}, also where few come near: declare both "
    "ends, min=0,max={end:g}."
)


def describe_inspection(found: Inspection) -> str:
    """One paragraph a column; the first line says that it is private."""
    return "\n\n".join([PRIVATE, *(_column(report) for report in found.columns)])


def _column(report: ColumnReport) -> str:
    lines = [f"{report.column}  ({report.type})"]
    numbers = report.measured
    if numbers is not None:
        lines.append(
            f"  {report.rows:,} rows, {report.untouched:,} of them not finite; from {numbers.minimum:.6g} to "
            f"{numbers.maximum:.6g}, mean {numbers.mean:.6g}, standard deviation {numbers.std:.6g}"
        )
    if report.families:
        fitting = ", ".join(f"{fit.family} ({fit.says}, distance {fit.distance:.3f})" for fit in report.families)
        lines.append(f"  families    {fitting}")
    for leak in report.leaks:
        lines.append(f"  would leak  {leak}" if numbers is not None else f"  {leak}")
    if report.known:
        lines.append(f'  to declare  --known "{report.known}"')
    lines += [f"  no map      {sentence}" for sentence in report.no_map]
    if report.shuffle:
        lines.append("  order       The order of the rows tells their values: release with --shuffle.")
    if report.command:
        lines.append(f"  to plan     {report.command}")
        lines.append(f"              {_FILL_IN}")
        if "--shape" not in report.command:
            lines.append(f"              {_OF_A_RULE if 'step=' in report.known else _OF_A_FORMULA}")
        if numbers is not None and numbers.minimum >= 0 and "max=" not in report.known:
            for what, end in (("shares", 1.0), ("percentages", 100.0)):
                if 0.5 * end < numbers.maximum <= end:
                    lines.append(f"              {_OF_SHARES.format(what=what, end=end)}")
    return "\n".join(lines)
