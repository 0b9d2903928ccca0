"""Try the wheel as somebody would who has nothing but it: `make test-wheel`.

Makes an empty environment in a temporary folder, installs the wheel with its extra for pictures, and runs the examples
of the README there, away from the sources.  Prints the seconds of each and the size of the environment.

    python tests/installed.py dist/kernelweave-0.1.0-py3-none-any.whl
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MEGABYTE = 1e6


def main() -> int:
    """Install, run, and return the exit code."""
    (wheel,) = sys.argv[1:]
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
            "the README's examples": [python, "-W", "error::DeprecationWarning", "readme.py"],
        }.items():
            began = time.perf_counter()
            done = subprocess.run(command, cwd=work, capture_output=True, text=True, env=_plain(folder))
            if done.returncode:
                print(done.stdout, done.stderr, f"\n{what}: failed", sep="\n")
                return 1
            print(f"{what}: {time.perf_counter() - began:.0f} s")
        size = sum(path.stat().st_size for path in (folder / "env").rglob("*") if path.is_file())
        print(f"size of the environment: {size / MEGABYTE:.0f} MB")
    return 0


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line.strip() else "\n" for line in text.splitlines())


def _plain(folder: Path) -> dict[str, str]:
    """Return an environment of nothing but a path and a home of its own."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(folder), "MPLBACKEND": "Agg"}


if __name__ == "__main__":
    sys.exit(main())
