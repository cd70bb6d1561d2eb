"""How many real columns can be released, without a family and without accepting a leak.

Usage: python docs/coverage.py FOLDER [--audit] [--fresh] [--minutes M] [--secret NAME], where FOLDER holds the unpacked
packages of docs/coverage_columns.py (``make coverage`` fetches them). Each column is inspected, planned with exactly
what ``inspect`` proposes to declare, and released: its mean, its 0.9-quantile and its standard deviation, with a
tolerance of 5 % of the statistic and of 5 % of the prior's middle. What a refusal says is done: ``--shape catalogue``
added where no map keeps what is declared, ``--shuffle`` where the order of the rows tells their values. Only the column
itself is released, so what other columns tell (``copies``) is not counted.

The prior is a range of a factor 9 that lies around the statistic at random, its ends rounded to two digits; beside a
bound that is declared, of a factor 9 in the distance from it. Where the statistic is small beside the spread, it is a
range of four standard deviations. A relative tolerance is asked for where the prior lies above 0.

Results are kept line by line in FOLDER/results.jsonl, and a run that was stopped goes on from there if the sources are
the same. ``--audit`` plays the attacker against every tenth release (it takes long). The result goes into
docs/coverage.md, but for that of one secret alone (``--secret``), which is only printed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import signal
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from coverage_columns import Column, columns
from numpy.typing import NDArray

import statveil as sv
from statveil.cli.parsing import parse_known

Array = NDArray[np.float64]
HERE = Path(__file__).parent
RISK, CLOSE, FACTOR = 0.2, 0.05, 9.0
AUDITED = 200
"""Tables of an audit: enough to see a leak, which is what is looked for."""
PER_COLUMN = 40
"""Seconds after which a column is given up."""
SECRETS: dict[str, sv.Secret] = {"mean": sv.Mean(), "quantile:0.9": sv.Quantile(0.9), "std": sv.Std()}
KINDS = ("relative", "absolute")
Result = dict[str, Any]


class TooLongError(Exception):
    """A column took longer than it may."""


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Stop what takes longer."""

    def stop(number: int, frame: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# --- one column -------------------------------------------------------------------------------------------
def statistic_of(secret: str, values: Array) -> float:
    """The statistic, by means that are not those of the release."""
    if secret == "mean":
        return float(np.mean(values))
    return float(np.std(values)) if secret == "std" else float(np.quantile(values, 0.9))


def prior_for(secret: str, values: Array, known: sv.Structure, place: float) -> tuple[float, float]:
    """What outsiders believe: a range in which the statistic lies at the share ``place``."""
    statistic, spread = statistic_of(secret, values), float(np.std(values))
    bounds = [b for b in (known.minimum, known.maximum) if b is not None] if secret != "std" else [0.0]
    nearest = min(bounds, key=lambda bound: abs(statistic - bound), default=0.0)
    away = statistic - nearest
    if abs(away) < (1e-9 if bounds else 1.0) * spread:  # no size of its own
        ends = [statistic - 4 * place * spread, statistic + 4 * (1 - place) * spread]
        ends = [round(end, 1 - math.floor(math.log10(spread))) for end in ends]
    else:
        ends = sorted(nearest + _two_digits(away * FACTOR**power) for power in (-place, 1 - place))
        others = [bound for bound in bounds if bound != nearest]
        for bound in others:  # two bounds: no further than most of the way to the other one
            most = statistic + 0.9 * (bound - statistic)
            ends = [min(end, most) if bound > statistic else max(end, most) for end in ends]
    if secret == "std" and known.minimum is not None and known.maximum is not None:
        ends[1] = min(ends[1], 0.45 * (known.maximum - known.minimum))  # none is above half of their distance
    return ends[0], ends[1]


def _two_digits(number: float) -> float:
    return float(f"{number:.1e}")


def results_of(column: Column, number: int, audit: bool, only: str | None = None) -> Iterator[Result]:
    """What became of each secret and tolerance of one column, or of one secret alone."""
    key = {"table": column.table, "column": column.name}
    values = column.values.astype(np.float64)
    try:
        seen = sv.inspect(column.values).columns[0]
        known = parse_known(seen.known or None)
    except sv.StatveilError as error:
        for secret in SECRETS if only is None else (only,):
            for kind in KINDS:
                yield {**key, "secret": secret, "kind": kind, "known": "", "by": "inspect", "why": str(error)}
        return
    # the same draws for a column whatever the order of the columns
    rng = np.random.default_rng(int(hashlib.sha256(f"{column.table} {column.name}".encode()).hexdigest()[:12], 16))
    for index, secret in enumerate(SECRETS):
        low, high = prior_for(secret, values, known, 0.1 + 0.8 * float(rng.random()))
        if only not in (None, secret):
            continue
        for kind in KINDS:
            if kind == "relative" and low <= 0:
                continue
            started = time.perf_counter()
            made = _one(column.values, values, secret, kind, (low, high), known)
            if "by" in made and "--shape catalogue" in made["why"]:
                refused = made
                made = _one(column.values, values, secret, kind, (low, high), known, shape="catalogue")
                made["first"] = refused["why"]
            if audit and "plan" in made and (6 * number + 2 * index + (kind == "absolute")) % 10 == 0:
                made |= _audited(made)
            made.pop("plan", None)
            seconds = round(time.perf_counter() - started, 2)
            said = {"known": seen.known, "command": "shape" if "--shape" in seen.command else bool(seen.command)}
            yield {**key, "secret": secret, "kind": kind, **said, **made, "seconds": seconds}


def _one(
    own: NDArray[Any],
    values: Array,
    secret: str,
    kind: str,
    prior: tuple[float, float],
    known: sv.Structure,
    shape: str | None = None,
) -> Result:
    tolerance = sv.Relative(CLOSE) if kind == "relative" else CLOSE * abs(sum(prior) / 2) or CLOSE * prior[1]
    try:
        problem = sv.Problem(secret=SECRETS[secret], prior=prior, tolerance=tolerance, known=known, shape=shape)
        plan = sv.plan(problem, max_risk=RISK)
    except sv.StatveilError as error:
        return {"by": "plan", "why": str(error)}
    shuffle = False
    try:
        try:
            done = sv.release(plan, own, details=True)
        except sv.StructureError as error:
            shuffle = "--shuffle" in str(error)
            if not shuffle:
                raise
            done = sv.release(plan, own, shuffle=True, details=True)
    except sv.StatveilError as error:
        return {"by": "release", "why": str(error), "mode": plan.mode}
    released = np.asarray(done.table)
    return {
        "mode": plan.mode,
        "shuffle": shuffle,
        "ratio": _moved(plan, values, released.astype(np.float64)),
        "misfit": done.record["coefficients"].get("shape_misfit"),
        "spread": float(np.std(values)),
        "plan": (plan, own, released, done.record),
    }


def _moved(plan: sv.Plan, values: Array, released: Array) -> float | None:
    """W1 realised over W1 stated."""
    stated = plan.to_json()
    moved = float(np.mean(np.abs(np.sort(released) - np.sort(values))))
    if stated["distortion_absolute"] is not None:
        return moved / float(stated["distortion_absolute"])
    fixed = plan.problem.known.fixed_points
    about = fixed[0] if fixed else float(np.mean(values))
    size = float(np.mean(np.abs(values - about)))
    return moved / size / float(stated["distortion_relative"]) if stated["distortion_relative"] else None


def _audited(made: Result) -> Result:
    plan, own, released, record = made["plan"]
    try:
        # a shuffled release is looked at in its own order
        found = sv.audit(plan, own, released, record=record, trials=AUDITED, seed=1)
        if found.leaks:  # of some 200 audits at 99 % a few err: other draws decide
            found = sv.audit(plan, own, released, record=record, trials=5 * AUDITED, seed=2)
    except sv.StatveilError as error:
        return {"audit": f"refused: {error}"}
    worst = max((item for item in found.findings if item.attacker != "prior"), key=lambda item: item.rate)
    return {"audit": found.verdict, "attacker": worst.attacker, "rate": worst.rate, "low": worst.low}


# --- all of them --------------------------------------------------------------------------------------------
def sources() -> str:
    """A fingerprint of the package and of these scripts: results of others are not used."""
    files = [*sorted(Path(sv.__file__).parent.rglob("*.py")), HERE / "coverage.py", HERE / "coverage_columns.py"]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def run(folder: Path, *, audit: bool, fresh: bool, minutes: float, only: str | None = None) -> list[Result]:
    """All results, those of an earlier run of the same sources among them."""
    path, mark = folder / f"results{'.one' if only else ''}.jsonl", {"sources": sources(), "audit": audit, "only": only}
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() and not fresh else []
    kept = [json.loads(line) for line in lines[1:]] if lines and json.loads(lines[0]) == mark else []
    done = {(one["table"], one["column"]) for one in kept}
    until = time.monotonic() + 60 * minutes
    with path.open("w", encoding="utf-8") as file:
        file.write("".join(json.dumps(one) + "\n" for one in (mark, *kept)))
        for number, column in enumerate(columns(folder)):
            if (column.table, column.name) in done:
                continue
            if time.monotonic() > until:
                print("Time is up; run again to go on.")
                break
            rows: list[Result] = []
            try:
                with within(PER_COLUMN * (10 if audit else 1)):
                    rows.extend(results_of(column, number, audit, only))
            except TooLongError:
                have = {(row["secret"], row["kind"]) for row in rows}
                key = {"table": column.table, "column": column.name, "known": "", "by": "time", "why": "took too long"}
                asked = SECRETS if only is None else (only,)
                rows += [{**key, "secret": s, "kind": k} for s in asked for k in KINDS if (s, k) not in have]
            file.write("".join(json.dumps(row) + "\n" for row in rows))
            file.flush()
            kept += rows
    return kept


# --- the result ---------------------------------------------------------------------------------------------
def blanked(result: Result) -> str:
    """Why a column was refused, without its names and numbers."""
    text = re.sub(r"'[^']*'", "...", result["why"])
    text = re.sub(r"^column \.\.\.:? ", "", text)
    text = re.split(r" The stated risk would not hold\.", text)[0]
    text = re.sub(r"-?\d[\d,]*(\.\d+)?(e[-+]?\d+)?", "#", text)
    text = re.sub(r"#(( and|,) #)+", "#", text)
    return f"{result['by']}: {text}"


def share(part: int, whole: int) -> str:
    """A share in per cent, with what it is of."""
    return f"{part / whole:.1%} ({part} of {whole})" if whole else "none"


def median(ratios: Iterable[float | None]) -> str:
    """The median of the ratios that there are."""
    numbers = [ratio for ratio in ratios if ratio is not None]
    return f"{np.median(numbers):.2f}" if numbers else ""


def report(results: list[Result]) -> list[str]:
    """The lines of docs/coverage.md."""
    tables, taken = {one["table"] for one in results}, {(one["table"], one["column"]) for one in results}
    lines = [
        "# Coverage",
        "",
        "Made by `make coverage` (docs/coverage.py says how). Every column is planned without a family, with exactly",
        "what `inspect` proposes to declare, and released without `--accept`; `--shape catalogue` and `--shuffle` are",
        "added where a refusal says so.",
        f"Tolerance 5 %, risk at most {RISK:g}. Relative tolerances are asked for where the prior lies above 0.",
        "",
        f"{len(taken)} columns of {len(tables)} data sets.",
        "",
        "## Released",
        "",
        "| secret | tolerance | released | by mode | W1 realised / stated, median |",
        "|---|---|---|---|---|",
    ]
    for secret in dict.fromkeys(one["secret"] for one in results):
        for kind in KINDS:
            these = [one for one in results if one["secret"] == secret and one["kind"] == kind]
            out = [one for one in these if "by" not in one]
            modes = ", ".join(f"`{mode}` {n}" for mode, n in Counter(one["mode"] for one in out).most_common())
            ratio = median(one["ratio"] for one in out)
            lines.append(f"| {secret} | {kind} | {share(len(out), len(these))} | {modes} | {ratio} |")
    out = [one for one in results if "by" not in one]
    means = [one for one in results if one["secret"] == "mean"]
    offered = [one for one in means if one.get("command")]
    kept = sum("by" not in one for one in offered)
    hidden = sum("by" not in one for one in means if not one.get("command"))
    lines += [
        "",
        f"In all {share(len(out), len(results))}. `inspect` ends with a command for the mean of "
        f"{share(len(offered), len(means))}; a release came out for {share(kept, len(offered))}, and for "
        f"{hidden} of the others. Shuffled: {sum(bool(one.get('shuffle')) for one in out)}. Redrawn columns lie "
        f"{median(one['misfit'] / one['spread'] for one in out if one.get('misfit') and one['spread'])} standard "
        "deviations (median) from the shape at their own statistic, on average over their rows.",
        "",
        "| mode | released | W1 realised / stated, median |",
        "|---|---|---|",
    ]
    for mode, n in Counter(one["mode"] for one in out).most_common():
        lines.append(f"| `{mode}` | {n} | {median(one['ratio'] for one in out if one['mode'] == mode)} |")
    refused: defaultdict[str, list[Result]] = defaultdict(list)
    for one in results:
        if "by" in one:
            refused[blanked(one)].append(one)
    lines += [
        "",
        "## Refused",
        "",
        "| times | columns | secrets | by, and why (numbers blanked) | for example |",
        "|---|---|---|---|---|",
    ]
    for why, ones in sorted(refused.items(), key=lambda item: -len(item[1])):
        columns_ = len({(one["table"], one["column"]) for one in ones})
        secrets = ", ".join(sorted({one["secret"] for one in ones}))
        example = f"{ones[0]['table']} {ones[0]['column']} (`{ones[0]['known']}`)".replace("|", "/")
        lines.append(f"| {len(ones)} | {columns_} | {secrets} | {why.replace('|', '/')} | {example} |")
    audited = [one for one in results if "audit" in one]
    if audited:
        verdicts = ", ".join(f"{verdict} {n}" for verdict, n in Counter(one["audit"] for one in audited).most_common())
        lines += [
            "",
            "## Audited",
            "",
            f"{len(audited)} releases, every tenth: {verdicts}. What was called a leak was audited again, with other "
            f"draws and up to {5 * AUDITED:,} tables: of so many audits at 99 % a few err.",
            "",
        ]
        lines += ["| column | secret | mode | attacker | rate | lower end | verdict |", "|---|---|---|---|---|---|---|"]
        for one in sorted(audited, key=lambda one: -one.get("low", 0.0))[:20]:
            numbers = f"{one.get('attacker', '')} | {one.get('rate', 0):.2f} | {one.get('low', 0):.2f}"
            where = f"{one['table']} {one['column']} | {one['secret']}, {one['kind']} | `{one['mode']}`"
            lines.append(f"| {where} | {numbers} | {one['audit']} |")
    return [*lines, ""]


def main() -> None:
    """Take all columns through and write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--audit", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--secret", choices=SECRETS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = run(
        options.folder, audit=options.audit, fresh=options.fresh, minutes=options.minutes, only=options.secret
    )
    lines = report(results)
    if options.secret is None:
        (HERE / "coverage.md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
