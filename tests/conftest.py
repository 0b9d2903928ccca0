from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

SHARED_DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"


settings.register_profile("house", deadline=None)  # the first example may wait for a compiled loop
settings.load_profile("house")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets beside the project; tests that need it are skipped where it is missing."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"real data sets are not at {SHARED_DATA}")
    return SHARED_DATA
