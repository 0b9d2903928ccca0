"""Run the tests with the lowest versions that pyproject.toml allows: `make test-oldest`.

Every bound ``name>=version`` of the package, of its extras and of the tools that the tests need becomes
``name==version``, in an environment of its own.  What these ask for in turn is chosen by pip.

    python tests/oldest.py --environment .oldest                  install, once, and run all fast tests
    python tests/oldest.py --environment .oldest -- tests/io      what follows -- is for pytest
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("build", "import-linter", "mypy", "pre-commit", "ruff")
"""Tools of development that no test imports."""
QUIETLY = ("-qq", "--disable-pip-version-check")
INSTALLED = "versions.txt"
"""What an environment was made from."""


def lowest() -> list[str]:
    """Return the lowest version of everything that the tests import, as requirements."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    bounds = [*project["dependencies"], *(bound for name in extras if name != "docs" for bound in extras[name])]
    named = [bound for bound in bounds if ">=" in bound]
    return sorted(bound.replace(">=", "==") for bound in named if re.match(r"[\w-]+", bound)[0] not in TOOLS)


def install(environment: Path) -> Path:
    """Make the environment, unless it holds these versions already, and return its interpreter."""
    python, noted = environment / "bin/python", environment / INSTALLED
    wanted = "\n".join(lowest()) + "\n"
    if not (noted.exists() and noted.read_text() == wanted):
        subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
        print(f"installing the lowest versions into {environment.name} (once)", flush=True)
        subprocess.run([python, "-m", "pip", "install", *QUIETLY, *lowest(), "-e", str(ROOT)], check=True)
        noted.write_text(wanted)
    return python


def main() -> int:
    """Install and run; return pytest's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--environment", type=Path, default=ROOT / ".oldest")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest")
    given = parser.parse_args()
    python = install(given.environment.resolve())
    print("versions: " + ", ".join(lowest()), flush=True)
    loops = {**os.environ, "NUMBA_CACHE_DIR": str(given.environment.resolve() / "loops")}
    return subprocess.run([python, "-m", "pytest", *given.pytest], cwd=ROOT, env=loops, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
