"""First use: what a new user waits for, with an empty cache of compiled loops and with a full one.

    python benchmarks/first_use.py                        # this source tree
    python benchmarks/first_use.py --against ../other     # and another one, case by case
    python benchmarks/first_use.py --only wd --slowest 20 # which functions take longest to compile

Every case is a process of its own, imports included.  `cold` runs it with an empty `NUMBA_CACHE_DIR`, `warm` runs it
again in the directory that the cold run filled; of several warm runs the one with the least CPU time counts.
`compiled` counts what the cold run compiled, one for each function and signature, with the functions of numba that
ours call; `again` counts those of the warm run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import ROOT, Row, conditions, show, write_csv

TABLE = """
rng = np.random.default_rng(0)
X = rng.normal(size=(500, 10))
y = X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=500) > 0.5
"""
CASES = {
    "table": TABLE + "kw.KernelClassifier(kw.RBF(width=10.0)).fit(X, y).predict(X)",
    "wd": """
X, y = kw.datasets.make_splice(2000, random_state=0)
kw.KernelClassifier(kw.WeightedDegree(20), normalize="trace").fit(X, y).predict(X)
""",
    "mkl": TABLE + "kw.MKLClassifier(kw.RBF.grid([1.0, 10.0, 100.0])).fit(X, y).predict(X)",
    "5-grams": """
rng = np.random.default_rng(0)
words = np.array(["ship", "grain", "oil", "trade", "rate", "bank", "corn", "money", "crude", "share", "dollar", "year"])
X = [" ".join(rng.choice(words[k % 2 : 10 + k % 2], 40)) for k in range(1000)]
kw.KernelClassifier(kw.NGram(5), normalize="cosine").fit(X, np.arange(1000) % 2).predict(X)
""",
    "readme": "",
}
COMMANDS = {
    "--version": ["--version"],
    "missing file": ["predict", "nope.kw", "nope.fa"],
    "missing data": ["train", "nope.tsv", "--out", "nope.kw"],
    "wrong option": ["train", "--nope"],
}
BEGIN = "import numpy as np\nimport kernelweave as kw\n"
COUNTED = """
import json
print("\\n" + json.dumps({"compiled": _count, "seconds": compile_seconds}))
"""
TIMED = """
import collections, time, numba.core.event as event
compile_seconds, _open, _count = collections.defaultdict(float), [], 0
class Clock(event.Listener):
    def on_start(self, event):
        _open.append([time.thread_time(), 0.0])
    def on_end(self, event):
        global _count
        _count += 1
        began, inner = _open.pop()
        took = time.thread_time() - began
        function = event.data["dispatcher"].py_func
        compile_seconds[f"{function.__module__}.{function.__qualname__}"] += took - inner
        if _open:
            _open[-1][1] += took
event.register("numba:compile", Clock())
"""


def main() -> None:
    """Run the cases, print the table, write the CSV file."""
    options = arguments()
    print(f"{conditions()}; imports and compilation included")
    sources = {"here": options.source} | ({"before": options.against} if options.against else {})
    rows = []
    for name in (*CASES, *COMMANDS):
        if options.only in (None, name):
            run_it = measured if name in CASES else answered
            for label, source in sources.items():
                rows.append({"source": label, **run_it(name, source, options)})
                print("  ".join(map(str, rows[-1].values())), flush=True)
    print(show(rows))
    if options.only is None and options.source == ROOT:
        print(f"written: {write_csv('first_use', rows)}")


def arguments() -> Any:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, default=ROOT, help="source tree to measure")
    parser.add_argument("--against", type=Path, help="a former source tree, measured in turn with the first")
    parser.add_argument("--only", choices=[*CASES, *COMMANDS], help="one case")
    parser.add_argument("--repeats", type=int, default=2, help="warm runs")
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="list the functions that compile longest")
    options = parser.parse_args()
    options.source = options.source.resolve()
    options.against = options.against and options.against.resolve()
    return options


def measured(name: str, source: Path, options: Any) -> Row:
    """Run a case with an empty cache, then with a full one."""
    script = TIMED + BEGIN + (readme(source) if name == "readme" else CASES[name]) + COUNTED
    with tempfile.TemporaryDirectory() as folder:
        cold = run([sys.executable, "-c", script], source, folder)
        warm = [run([sys.executable, "-c", script], source, folder) for _ in range(max(1, options.repeats))]
    best = min(warm, key=lambda found: found["cpu"])
    slowest = sorted(cold["seconds"].items(), key=lambda pair: -pair[1])[: options.slowest]
    for function, seconds in slowest:
        print(f"  {seconds:7.3f} s  {function}")
    return {
        "case": name,
        "cold_cpu": cold["cpu"],
        "cold_wall": cold["wall"],
        "warm_cpu": best["cpu"],
        "warm_wall": best["wall"],
        "compiled": cold["compiled"],
        "again": best["compiled"],
    }


def answered(name: str, source: Path, options: Any) -> Row:
    """Time the answer of a command that has little to do; the first run fills the caches of the file system."""
    program = [sys.executable, "-c", "from kernelweave.cli.app import main; main()", *COMMANDS[name]]
    with tempfile.TemporaryDirectory() as folder:
        runs = [run(program, source, folder, ends=None) for _ in range(1 + max(1, options.repeats))]
    best = min(runs[1:], key=lambda found: found["cpu"])
    warm = {"warm_cpu": best["cpu"], "warm_wall": best["wall"]}
    return {"case": name, "cold_cpu": "", "cold_wall": "", **warm, "compiled": "", "again": ""}


def readme(source: Path) -> str:
    """Return the blocks of Python of the README, as one program."""
    return "\n".join(re.findall(r"```python\n(.*?)```", (source / "README.md").read_text(encoding="utf-8"), re.DOTALL))


def run(command: list[str], source: Path, folder: str, ends: int | None = 0) -> dict[str, Any]:
    """Run a process in an empty folder; return its wall and CPU seconds, and what it says in its last line."""
    environment = {**os.environ, "PYTHONPATH": str(source / "src"), "NUMBA_CACHE_DIR": f"{folder}/cache"}
    wall, cpu = time.perf_counter(), child_seconds()
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    wall, cpu = time.perf_counter() - wall, child_seconds() - cpu
    if ends is not None and done.returncode != ends:
        raise SystemExit(done.stderr[-2000:])
    said = json.loads(done.stdout.splitlines()[-1]) if ends is not None else {}
    return {"wall": round(wall, 2), "cpu": round(cpu, 2), **said}


def child_seconds() -> float:
    """Return the CPU seconds of all processes that were waited for."""
    used = os.times()
    return used.children_user + used.children_system


if __name__ == "__main__":
    main()
