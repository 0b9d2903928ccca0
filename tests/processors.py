"""Run tests as other processors would: `make test-processors`.

BLAS chooses its loops by the kind of processor, numpy by its instruction sets; both can be told to take others.  A
kind that this processor cannot run is skipped, and said so.

    python tests/processors.py                      the tests that promise bits or compare numbers, on every kind
    python tests/processors.py --all                all fast tests, on every kind
    python tests/processors.py --only SkylakeX -- -k bits -n 2       one kind; what follows -- is for pytest
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

CORES = {
    "Haswell": ("AVX2", "FMA3"),
    "SkylakeX": ("AVX512F", "AVX512BW", "AVX512DQ", "AVX512VL", "AVX512CD"),
    "Zen": ("AVX2", "FMA3"),
    "Prescott": ("SSE3",),
}
"""The names by which OPENBLAS_CORETYPE knows kinds of processors, and the instructions that each must have."""
DISABLED = {
    "no-AVX512": ("AVX512", "X86_V4"),
    "no-AVX2": ("AVX512", "X86_V4", "AVX2", "FMA3", "X86_V3"),
}
"""How the names begin of the instruction sets that numpy does without (NPY_DISABLE_CPU_FEATURES)."""
PROMISES = (
    "tests/engines",
    "tests/contracts",
    "tests/operators",
    "tests/kernels",
    "tests/estimators/test_persistence.py",
)
"""Where tests compare floating-point numbers, to the bit or to rounding."""
NOTHING_COLLECTED = 5


def settings() -> dict[str, dict[str, str] | str]:
    """Return for every kind of processor the environment that makes this one behave so, or why it cannot."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    out: dict[str, dict[str, str] | str] = {}
    for core, needed in CORES.items():
        missing = [name for name in needed if not __cpu_features__.get(name)]
        out[core] = f"this processor has no {', '.join(missing)}" if missing else {"OPENBLAS_CORETYPE": core}
    for kind, prefixes in DISABLED.items():
        names = [name for name in __cpu_dispatch__ if name.startswith(prefixes) and __cpu_features__.get(name)]
        out[kind] = {"NPY_DISABLE_CPU_FEATURES": " ".join(names)} if names else "numpy uses none of these here"
    return out


def answers(environment: dict[str, str]) -> tuple[str, ...]:
    """Return the kinds of processors that the BLAS libraries take this one for; none where BLAS is not OpenBLAS."""
    script = (
        "import numpy, scipy.linalg, threadpoolctl as t; "
        "print(*sorted({i['architecture'] for i in t.threadpool_info() if i.get('internal_api') == 'openblas'}))"
    )
    command = [sys.executable, "-c", script]
    made = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return tuple(made.stdout.split())


def chosen(only: list[str] | None) -> Iterator[tuple[str, dict[str, str]]]:
    """Give the kinds that differ from each other here, with their environments; say which others are left out."""
    known: dict[tuple[str, ...], str] = {}
    for kind, environment in settings().items():
        if only and kind not in only:
            continue
        reason = environment if isinstance(environment, str) else ""
        if isinstance(environment, dict) and kind in CORES:
            loops = answers(environment)
            reason = "BLAS is not OpenBLAS" if not loops else ""
            if loops in known:  # a build without loops of its own for a kind takes those of another
                reason = f"BLAS has the same loops for it as for {known[loops]}"
            known.setdefault(loops, kind)
        if reason or isinstance(environment, str):
            print(f"{kind}: skipped, {reason}", flush=True)
        else:
            yield kind, environment


def main() -> int:
    """Run pytest once for each kind of processor; return 0 if all passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="all fast tests, not only those that compare numbers")
    parser.add_argument("--only", action="append", choices=[*CORES, *DISABLED], help="one kind (may be repeated)")
    parser.add_argument("rest", nargs="*", help="arguments for pytest")
    given = parser.parse_args()
    paths = [] if given.all or any(Path(word.split("::")[0]).exists() for word in given.rest) else list(PROMISES)
    failed = []
    for kind, environment in chosen(given.only):
        print(f"{kind}: {' '.join(f'{name}={value!r}' for name, value in environment.items())}", flush=True)
        command = [sys.executable, "-m", "pytest", *paths, *given.rest]
        code = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=False).returncode
        if code not in (0, NOTHING_COLLECTED):
            failed.append(kind)
    print(f"failed: {', '.join(failed)}" if failed else "every kind passed")
    return len(failed) > 0


if __name__ == "__main__":
    sys.exit(main())
