"""`kernelweave inspect`: what a model file holds."""

from __future__ import annotations

import math
import os
from typing import Any

from kernelweave.cli import options as o
from kernelweave.cli.explaining import learned as explain
from kernelweave.cli.files.store import inspect_store, is_store_folder
from kernelweave.cli.paths import check_readable
from kernelweave.cli.show import Output, size_of
from kernelweave.cli.training import mixture

SHOWN = (
    "C", "norm", "loss", "nu", "penalty", "positive", "termination", "solver", "tol",
    "fit_intercept", "class_weight", "normalize",
)  # fmt: skip
"""Parameters that tell a person what was asked for, beside those of the loss."""


@o.grouped()
def inspect(model: o.Model, explaining: o.Explaining, show: o.Show) -> None:
    """Show what a model is: estimator, kernel, support vectors, certificate, training sizes, file format.

    Where it compares k-mers at positions, also learned weights by degree and position and the best k-mers; where it
    counts n-grams of text, sequences or lattices, those that decide most; of many gapped k-mers on dna, the best motifs
    with wildcards. Of a mixture (cgboost), the columns of each kernel. Of a store of rows, what it holds, after every
    part was compared with its checksums. Of a checkpoint, how far the training has come.

    \b
    Examples:
      kernelweave inspect sites.kw
      kernelweave inspect sites.kw --top 20 -k 4
      kernelweave inspect calls.kw --top 30 --class GetWeather
      kernelweave inspect sites.kw --plot importance.png --draw poim --origin 60
      kernelweave inspect calls.kw --plot words.png
      kernelweave inspect mixture.kw --plot rounds.png
      kernelweave inspect sites.kw --json | jq .duality_gap
      kernelweave inspect sites.kws
    """
    check_readable(model)
    if is_store_folder(model):
        return inspect_store(model, Output(show.json, show.quiet))
    from kernelweave.estimators.files.checkpoints import read_progress

    if (progress := read_progress(model)) is not None:
        return _checkpoint(model, progress, Output(show.json, show.quiet))
    from kernelweave.cli.rows import last_step
    from kernelweave.estimators import load
    from kernelweave.estimators.files.persistence import read_header

    say = Output(show.json, show.quiet)
    header, size = read_header(model), os.path.getsize(model)
    fitted = load(model)
    found = facts(fitted)
    values = {
        "model": model,
        "bytes": size,
        "format": header["format"],
        "format_version": header["version"],
        "library": header["library"],
        **found,
    }
    file = f"{model} ({size_of(size)}), model format {header['version']}, written by kernelweave {header['library']}"
    core = last_step(fitted)
    if mixture.is_mixture(core):
        learned = mixture.rounds(core, model, explaining)
    else:
        learned = _learned(core, model, explaining)
    shown = [("file", file), *_lines(found, fitted), *explain.lines(learned)]
    say.result({**values, **learned}, shown + ([("picture", learned["plot"])] if "plot" in learned else []))
    explain.tables(learned, explaining.origin or 0, say)


def _checkpoint(path: str, progress: dict[str, Any], say: Output) -> None:
    """Say how far a fit has come."""
    size, gap = os.path.getsize(path), progress["gap"]
    values = {"checkpoint": path, "bytes": size, **progress}
    runs = f"{progress['finished']} of {progress['runs']} runs so far finished"
    reached = "no gap yet" if gap is None else f"gap {max(gap, 0.0):.2g}"
    lines = [
        ("file", f"{path} ({size_of(size)}), checkpoint of kernelweave {progress['library']}"),
        ("fit", f"{progress['estimator']}, {runs}, {progress['seconds']:.1f} s"),
        ("last run", f"{progress['solver']}, iteration {progress['iteration']}, {reached}"),
    ]  # fmt: skip
    say.result(values, lines)


def _learned(core: Any, model: str, e: o.Explaining) -> dict[str, Any]:
    """List, and draw if asked for, what a model with one weight for each kernel has learned."""
    from kernelweave.interpret import readable
    from kernelweave.interpret.motifs import needs_motifs

    learned: dict[str, Any] = {}
    if e.plot is None and e.draw is not None:
        raise ValueError("--draw says how to draw a picture; name its file with --plot.")
    shows, motifs = readable(core), needs_motifs(core)
    if e.plot is None and e.origin is not None and "positions" not in shows:
        raise ValueError("--origin is for k-mers at positions, and this model has none.")
    if "positions" in shows:
        learned = explain.explained(core, e.top, e.length, e.target)
    if motifs:
        learned |= explain.motifs(core, e.top, e.length, e.target)
    elif "strings" in shows:
        learned |= explain.counted(core, e.top, e.length, e.target)
    elif "features" in shows and e.plot is None and e.length is None:
        learned = explain.weighted(core, e.top, e.target)
    elif "features" in shows:
        raise ValueError(f"{model} keeps weights of features, which are listed, not drawn; use --top.")
    if not shows and not motifs and any(given is not None for given in (e.plot, e.top, e.length, e.target)):
        raise ValueError(
            f"{model} compares no k-mers and no n-grams, so that there are none to list or draw; "
            "--top, --length, --class and --plot are for models with a kernel such as wd:20 or ngram:2."
        )
    if e.plot is not None:
        learned["drawn"] = explain.picture(core, e.plot, e)
        learned["plot"] = e.plot
    return learned


def _loss_parameters(loss: str | None) -> set[str]:
    """Return the parameters of the model that its loss depends on; a mixture has losses of its own."""
    from kernelweave.losses import LOSSES, open_parameters, parameters_for

    known = loss is not None and loss.partition(":")[0] in LOSSES
    return open_parameters(str(loss)) if known else set(parameters_for(None))


def facts(model: Any) -> dict[str, Any]:
    """Return what there is to know about a fitted model, as plain data."""
    from kernelweave.cli.rows import last_step, source

    core = last_step(model)
    shown = {*SHOWN, *_loss_parameters(getattr(core, "loss", None))}
    params = {name: value for name, value in core.get_params(deep=False).items() if name in shown}
    return {
        "estimator": type(core).__name__,
        "standardized": model is not core,
        "kernel": _kernel(core),
        "parameters": params,
        "classes": core.classes_.tolist() if hasattr(core, "classes_") else None,
        "input": _input(core),
        "training_rows": getattr(core, "rows_seen_", core.certificate_.alpha.shape[-1]),
        "streamed": hasattr(core, "rows_seen_"),
        "support_vectors": len(core.support_),
        "feature_weights": _feature_weights(core),
        "intercept": core.intercept_.tolist(),
        "iterations": core.n_iter_,
        "objective": core.objective_,
        "dual_objective": core.dual_objective_,
        "duality_gap": core.duality_gap_,
        "converged": core.converged_,
        "trained_on": source(core).get("format"),
        **(mixture.facts(core) if mixture.is_mixture(core) else {}),
    }


def _feature_weights(core: Any) -> int | None:
    """Return how many weights of features a model keeps, None where it keeps rows."""
    if core.expansion_.keeps_rows:
        return None
    kept = [part.weights for part in core.expansion_.parts() if part.weights is not None]
    return sum(map(len, kept)) if kept else None


def _kernel(core: Any) -> Any:
    """Return the kernel, or each of several kernels with its weight (or weights, one for each class)."""
    from kernelweave.estimators.mkl.base import MKLEstimator

    if mixture.is_mixture(core):
        return mixture.kernels(core)
    if not isinstance(core, MKLEstimator):
        return repr(core.expansion_.kernels[0])
    pairs = zip(core.kernel_names_.tolist(), core.kernel_weights_.T.tolist())
    return [{"name": name, "weight": weight} for name, weight in pairs]


def held_line(values: dict[str, Any]) -> str:
    """Say what the model keeps of its training rows."""
    rows = values["training_rows"]
    if "columns" in values:
        return mixture.held_line(values)
    if values["feature_weights"] is not None:
        return f"{values['feature_weights']} weights of features, learned from {rows} rows"
    return f"{values['support_vectors']} of {rows} rows are support vectors"


def certificate_line(values: dict[str, Any]) -> str:
    """Say how good the objective provably is."""
    gap, tol = max(values["duality_gap"], 0.0), values["parameters"]["tol"]
    if not math.isfinite(gap) and values.get("streamed"):
        return "none yet: the rows came in blocks; certify(X, y) of the model computes the gap on all of them"
    if not math.isfinite(values["objective"]):
        return "none: the model was converted, and its file has no training rows"
    if not math.isfinite(gap):
        return f"none: objective {values['objective']:.6g}, stopped before a bound was found"
    judged = f"(tol {tol:g} {'reached' if values['converged'] else 'NOT reached'})"
    judged = mixture.judged(values, gap, tol) if "columns" in values else judged
    return f"{values['objective']:.6g} >= optimum >= {values['dual_objective']:.6g}: gap {gap:.2g} {judged}"


def _input(core: Any) -> dict[str, Any]:
    """Return what the rows of the model are."""
    from kernelweave.data.kinds import named

    rows = core._input
    return {"kind": rows.kind, **named(rows.kind).facts(rows.content)}


def listed_kernels(kernels: list[dict[str, Any]]) -> str:
    """List the kernels by falling weight, or by the number of their columns."""
    if "columns" in kernels[0]:
        return mixture.columns_line(kernels)
    pairs = [(max(k["weight"]) if isinstance(k["weight"], list) else k["weight"], k["name"]) for k in kernels]
    used = sorted((pair for pair in pairs if pair[0] > 0), reverse=True)
    listed = ", ".join(f"{weight:.3g} {name}" for weight, name in used[:10])
    return f"{len(used)} of {len(kernels)} have a weight: {listed}" + (", ..." if len(used) > 10 else "")


def _lines(found: dict[str, Any], model: Any) -> list[tuple[str, str]]:
    from kernelweave.cli.rows import last_step

    what = f"{last_step(model)._input}" + (", standardized" if found["standardized"] else "")
    params = ", ".join(f"{name}={value!r}" for name, value in found["parameters"].items() if value is not None)
    lines = [
        ("estimator", f"{found['estimator']}({params})"),
        ("kernel", found["kernel"] if isinstance(found["kernel"], str) else listed_kernels(found["kernel"])),
        ("input", what),
        ("training", held_line(found)),
        ("certificate", certificate_line(found)),
    ]
    if found["classes"] is not None:
        listed = ", ".join(map(str, found["classes"][:10]))
        lines.insert(3, ("classes", listed + (" ..." if len(found["classes"]) > 10 else "")))
    return lines
