"""What `kernelweave train` and `inspect` say of mixtures of kernel columns (--model cgboost)."""

from __future__ import annotations

import math
import os
from typing import Any

from kernelweave.cli.explaining.learned import chosen_class
from kernelweave.cli.options import Explaining

ENDS = {"interrupted": "an interruption", "memory": "the memory limit", "stalled": "rounding"}
"""What ends a fit where no rule does."""


def is_mixture(core: Any) -> bool:
    """Return whether a fitted model gives each kernel its own coefficients of the rows."""
    from kernelweave.estimators.cgboost.base import CGBoostEstimator

    return isinstance(core, CGBoostEstimator)


def facts(core: Any) -> dict[str, Any]:
    """Return what there is to know beyond that of other models, as plain data."""
    return {
        "support_vectors": len({int(row) for row in core.columns_["example"]}),
        "columns": len(core.columns_),
        "scanned": core.scanned_,
        "stopped_by": core.stopped_by_,
        "kept_round": [len(history) for history in core.stages_],
        "held_out_error": _held_out_error(core),
    }


def _held_out_error(core: Any) -> list[float] | None:
    """Return the error on held-out rows at the round that is kept, for each output; None where none were held out."""
    errors = core.trace_.columns.get("validation_error", [])
    owners = core.trace_.columns.get("output", [0] * len(errors))
    found = []
    for output, history in enumerate(core.stages_):
        mine = [float(error) for error, owner in zip(errors, owners) if owner == output]
        found.append(mine[len(history) - 1] if len(history) <= len(mine) else math.nan)
    return found if all(map(math.isfinite, found)) else None


def kernels(core: Any) -> list[dict[str, Any]]:
    """Return each kernel with the number of its columns (or numbers, one for each class)."""
    pairs = zip(core.kernel_names_.tolist(), core.n_columns_per_kernel_.T.tolist())
    return [{"name": name, "columns": columns} for name, columns in pairs]


def rounds(core: Any, model: str, asked: Explaining) -> dict[str, Any]:
    """Draw errors and columns by round, if asked for."""
    plot, target = asked.plot, asked.target
    if any(given is not None for given in (asked.top, asked.length, asked.draw, asked.origin)):
        raise ValueError(
            f"{model} has one coefficient for each kernel and row; --top, --length, --draw and --origin are for "
            "models with one weight for each kernel, and --plot alone draws its rounds."
        )
    if plot is None and target is None:
        return {}
    if plot is None:
        raise ValueError("--class chooses the rounds that are drawn; name the file of the picture with --plot.")
    if target is not None and len(core.stages_) == 1:
        raise ValueError(f"--class is for models of more than two classes; {model} has one sequence of rounds.")
    _picture(core, plot, chosen_class(core, target))
    return {"drawn": "rounds", "plot": plot}


def _picture(core: Any, plot: str, target: Any) -> None:
    from kernelweave.cli.evaluate import check_picture, save_picture
    from kernelweave.io import check_writable

    check_picture(plot)
    check_writable(plot)
    os.environ.setdefault("MPLBACKEND", "Agg")
    from kernelweave.plots import RoundsDisplay

    save_picture(RoundsDisplay.from_estimator(core, target=target).plot(), plot)


def columns_line(found: list[dict[str, Any]]) -> str:
    """List the kernels, in their order, with the number of their columns over all classes."""
    counts = [sum(k["columns"]) if isinstance(k["columns"], list) else k["columns"] for k in found]
    listed = ", ".join(f"{count} of {k['name']}" for count, k in zip(counts, found) if count)
    return f"{_number(sum(counts), 'column')}: {listed}" if listed else "no columns"


def held_line(values: dict[str, Any]) -> str:
    """Say what the model is made of."""
    rows, kernels = values["training_rows"], _number(len(values["kernel"]), "kernel")
    judged = _judged_by(values)
    if values["columns"] == 0:
        return f"no columns of {rows} rows and {kernels}: it says the same of every row{judged}"
    made = f"{_number(values['columns'], 'column')}, of {values['support_vectors']} of {rows} rows and {kernels}"
    return made + judged


def _judged_by(values: dict[str, Any]) -> str:
    """Say how held-out rows judge the model, where there are some."""
    errors, kept = values["held_out_error"], values["kept_round"]
    if errors is None:
        return ""
    if len(errors) > 1:
        return f"; mean error of the classes on held-out rows {sum(errors) / len(errors):.3g}"
    return f"; error on held-out rows {errors[0]:.3g}, at round {kept[0]} of {values['iterations']}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def judged(values: dict[str, Any], gap: float, tol: float) -> str:
    """Say what ended the fit, and for which columns the bound holds."""
    ends = sorted({ENDS.get(end, end) for end in values["stopped_by"]})
    ended = f" NOT reached, ended by {', '.join(ends)}"
    if "TR3" in values["parameters"]["termination"]:
        ended = " NOT reached: the best round on held-out rows is kept"
    ended = " reached" if gap <= tol else ended
    scope = "" if values["scanned"] == "all" else f"; the bound is for {values['scanned']} columns looked at"
    return f"(tol {tol:g}{ended}{scope})"
