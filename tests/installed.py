"""Try the wheel as somebody would who has nothing but it: `make test-wheel`.

Makes an empty environment in a temporary folder, installs the wheel with its extra for pictures, draws a first picture
and runs the examples of the README there, away from the sources.  Prints wall and CPU seconds of each and the size of
the environment.

    python tests/installed.py dist/kernelweave-*.whl
    python tests/installed.py dist/kernelweave-*.whl --first      no further than the first picture
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MEGABYTE = 1e6
FIRST = """
import kernelweave as kw
from kernelweave.plots import CurvesDisplay

X, y = kw.datasets.make_splice(600, random_state=0)
model = kw.KernelClassifier(kw.WeightedDegree(10)).fit(X[:400], y[:400])
CurvesDisplay.from_estimator(model, X[400:], y[400:]).plot().figure_.savefig("first.png")
"""
"""What somebody types who has just installed it."""


def main() -> int:
    """Install, run, and return the exit code."""
    wheel, *options = sys.argv[1:]
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), flags=re.DOTALL | re.MULTILINE)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        python, work = folder / "env/bin/python", folder / "work"
        work.mkdir()
        (work / "readme.py").write_text("if __name__ == '__main__':\n" + _indented("\n".join(blocks)))
        constraints = ["-c", str(ROOT / "constraints.txt")]
        install = [python, "-m", "pip", "install", "-qq", *constraints, f"{Path(wheel).resolve()}[plots]"]
        for what, command in {
            "installed": install,
            "started": [folder / "env/bin/kernelweave", "--version"],
            "the first picture": [python, "-c", FIRST],
            "the README's examples": [python, "-W", "error::DeprecationWarning", "readme.py"],
        }.items():
            if what == "the README's examples" and "--first" in options:
                continue
            began, spent = time.perf_counter(), _cpu()
            done = subprocess.run(command, cwd=work, capture_output=True, text=True, env=_plain(folder))
            if done.returncode:
                print(done.stdout, done.stderr, f"\n{what}: failed", sep="\n")
                return 1
            print(f"{what}: {time.perf_counter() - began:.1f} s, {_cpu() - spent:.1f} s of CPU", flush=True)
        size = sum(path.stat().st_size for path in (folder / "env").rglob("*") if path.is_file())
        print(f"size of the environment: {size / MEGABYTE:.0f} MB")
    return 0


def _cpu() -> float:
    """Return the CPU seconds of all that has run and ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line.strip() else "\n" for line in text.splitlines())


def _plain(folder: Path) -> dict[str, str]:
    """Return an environment of nothing but a path and a home of its own."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(folder), "MPLBACKEND": "Agg"}


if __name__ == "__main__":
    sys.exit(main())
