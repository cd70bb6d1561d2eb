"""How long it takes to start, as multiples of ``import numpy`` in the same run."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 7


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    python = sys.executable
    commands = {
        "python -c pass": [python, "-c", "pass"],
        "import numpy": [python, "-c", "import numpy"],
        "import statveil": [python, "-c", "import statveil"],
        "import everything public": [python, "-c", "from statveil import *"],
        "statveil --help": [str(Path(python).with_name("statveil")), "--help"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):  # interleaved, so that a noisy moment hits all of them
        for name, command in commands.items():
            times[name].append(seconds(command))
    bare = statistics.median(times["python -c pass"])
    unit = statistics.median(times["import numpy"]) - bare
    print(
        f"{'':<26}{'seconds':>9}{'x import numpy':>16}   (median of {ROUNDS}; ratio without Python's own {bare:.3f} s)"
    )
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:<26}{median:>9.3f}{(median - bare) / unit:>16.2f}")
    print("targets: import statveil under 0.2 s, statveil --help under 0.3 s")


if __name__ == "__main__":
    main()
