"""HiGHS as we use it: silent, on one thread, keeping its basis from one solve to the next."""

from __future__ import annotations

from typing import Any

import highspy

INFINITY = highspy.kHighsInf
AT_LOWER, BASIC, AT_UPPER = (int(getattr(highspy.HighsBasisStatus, name)) for name in ("kLower", "kBasic", "kUpper"))
"""What a basis says of a variable or a row, by number."""


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


def basis_of(model: Any) -> dict[str, list[int]]:
    """Return which variables and rows of a programme are basic, and at which bound the others are, by number."""
    basis = model.getBasis()
    return {"columns": [int(one) for one in basis.col_status], "rows": [int(one) for one in basis.row_status]}


def set_basis(model: Any, basis: dict[str, list[int]]) -> None:
    """Let a programme go on from a basis that `basis_of` gave; its solutions are the same up to rounding."""
    made = highspy.HighsBasis()
    made.col_status = [highspy.HighsBasisStatus(one) for one in basis["columns"]]
    made.row_status = [highspy.HighsBasisStatus(one) for one in basis["rows"]]
    if made.col_status:
        basic = sum(one == BASIC for one in (*basis["columns"], *basis["rows"]))
        made.valid, made.alien = True, basic != len(made.row_status)
        model.setBasis(made)


def solve(model: Any) -> Any:
    """Solve from the last basis; return the solution, or raise where there is none."""
    model.run()
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        model.clearSolver()  # a basis that rounding has spoilt
        model.run()
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(f"HiGHS did not solve the linear programme: its status is {model.getModelStatus()}.")
    return model.getSolution()
