"""The example of the page about Spark, run in the tests' own session."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"


def test_the_example_of_the_page_runs(spark, tmp_path, monkeypatch):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    latency = np.random.default_rng(3).normal(120, 15, 3_000)
    rows = [(number, float(value)) for number, value in enumerate(latency)]
    spark.createDataFrame(rows, "request bigint, latency double").write.parquet(str(tmp_path / "requests.parquet"))
    # a relative path would be that of the folder in which Java was started
    for name in ("requests.parquet", "released.parquet"):
        code = code.replace(f'"{name}"', repr(str(tmp_path / name)))
    exec(compile(code, "spark.md", "exec"), {"spark": spark})
    after = {row.request: row.latency for row in spark.read.parquet(str(tmp_path / "released.parquet")).collect()}
    moved = np.array([after[number] - value for number, value in rows])
    # risk 1/5 within 1: bins of width 10, so the mean moves to the middle of its bin
    assert np.ptp(moved) <= 0.01, "no two rows come nearer to each other, or further apart, by a hundredth of that 1"
    off = 5 * 2.0**-10 / np.sqrt(len(rows))  # of the mean of so many draws of the blur: five standard deviations
    assert np.isclose(np.mean(list(after.values())), np.floor(latency.mean() / 10) * 10 + 5, rtol=0, atol=off)
