"""The stages of the campaign, in the order in which they run."""

from __future__ import annotations

from . import extremes, forgeries, full, killed, memory, mutated, soak
from .stage import Stage

STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (forgeries.STAGE, extremes.STAGE, soak.STAGE, killed.STAGE, full.STAGE, memory.STAGE, mutated.STAGE)
}
