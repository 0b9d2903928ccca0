"""That NUMBA_BOUNDSCHECK, by which `make test-bounds` looks for wrong indices, holds for the house decorator."""

import os
import subprocess
import sys

BEYOND = """
import numpy as np
from kernelweave._numba.rows import dense_dot
dense_dot(np.zeros(3), np.zeros(2))
"""


def test_an_index_out_of_bounds_raises_where_indices_are_checked(tmp_path):
    given = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", BEYOND], env=given, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "IndexError: index is out of bounds" in ended.stderr
