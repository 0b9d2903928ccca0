"""HiGHS as we use it: silent, on one thread, keeping its basis from one solve to the next."""

from __future__ import annotations

from typing import Any

import highspy

INFINITY = highspy.kHighsInf


def quiet_model() -> Any:
    """Return an empty linear programme that prints nothing and gives the same bits on every machine load."""
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("threads", 1)
    return model


def precise_model() -> Any:
    """Return an empty linear programme whose solutions are as close as its numbers allow."""
    model = quiet_model()
    for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        model.setOptionValue(name, 1e-10)
    return model


def solve(model: Any) -> Any:
    """Solve from the last basis; return the solution, or raise where there is none."""
    model.run()
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(f"HiGHS did not solve the linear programme: its status is {model.getModelStatus()}.")
    return model.getSolution()
