"""What `kernelweave inspect` says of models that compare k-mers, at positions or wherever they stand: learned weights
and best k-mers."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

from kernelweave.cli.options import Explaining
from kernelweave.cli.show import Output

LISTED = 8
"""Windows or degrees that fit into one line."""
SHOWN = 10
"""k-mers that are listed by default."""
QUICK = 40_000_000
"""k-mers of support rows that are looked through within about two seconds; more are looked through only if asked."""
QUICK_LETTERS = 2_000_000
"""Letters, or arcs, of support rows whose n-grams are looked through without being asked for."""
ORDER = "in the order of how much what it adds varies over the support vectors"
_WHICH = "The model has a decision value for each of its classes; name one of them with --class."


def counted(core: Any, top: int | None, length: int | None, target: str | None) -> dict[str, Any]:
    """Return the best n-grams of a model that counts strings, as plain data."""
    from kernelweave.data.kinds import kind_of
    from kernelweave.interpret import top_ngrams
    from kernelweave.interpret.grams import counted as counting
    from kernelweave.interpret.parts import learned_parts

    label, asked = chosen_class(core, target), top is not None or length is not None
    if label is None and core.expansion_.outputs > 1:
        if asked:
            raise ValueError(_WHICH)
        return {}
    rows = [term.rows for term in counting(learned_parts(core, label))]
    if not asked and sum(kind_of(X).letters(X)[0] for X in rows) > QUICK_LETTERS:
        return {}
    return {"ngrams": [asdict(gram) for gram in top_ngrams(core, top or SHOWN, length, target=label)]}


def motifs(core: Any, top: int | None, letters: int | None, target: str | None) -> dict[str, Any]:
    """Return the best motifs of a model that compares l-mers, as plain data."""
    from kernelweave.interpret import top_motifs

    label = chosen_class(core, target)
    if label is None and core.expansion_.outputs > 1:
        if top is not None or letters is not None:
            raise ValueError(_WHICH)
        return {}
    return {"motifs": [asdict(motif) for motif in top_motifs(core, top or SHOWN, letters, target=label)]}


def weighted(core: Any, top: int | None, target: str | None) -> dict[str, Any]:
    """Return the heaviest features of a model that keeps their weights, as plain data."""
    from kernelweave.interpret import top_features

    label = chosen_class(core, target)
    if label is None and core.expansion_.outputs > 1:
        if top is not None:
            raise ValueError(_WHICH)
        return {}
    return {"features": [asdict(one) for one in top_features(core, top or SHOWN, target=label)]}


def explained(core: Any, top: int | None, k: int | None, target: Any) -> dict[str, Any]:
    """Return learned weights (of a model with several kernels) and the best k-mers, as plain data."""
    from kernelweave.interpret import cell_weights, top_kmers

    target, weights = chosen_class(core, target), core.expansion_.weights
    found: dict[str, Any] = {}
    if len(core.expansion_.kernels) > 1 and (target is not None or (weights == weights[0]).all()):
        found |= _learned(core, target)
    if core.expansion_.outputs > 1 and target is None:
        if top is not None or k is not None:
            raise ValueError(_WHICH)
        return found
    if top is not None or k is not None or len(core.support_) * cell_weights(core, target=target).size <= QUICK:
        found["kmers"] = [asdict(kmer) for kmer in top_kmers(core, top or SHOWN, k, target=target, repeats=False)]
    return found


def _learned(core: Any, target: Any) -> dict[str, Any]:
    """Return the weights in the directions in which the kernels of the model divide them."""
    from kernelweave.interpret import weights_by_degree, weights_by_position
    from kernelweave.interpret.positional import positional_kernels

    degrees, places = weights_by_degree(core, target=target), weights_by_position(core, target=target)
    found: dict[str, Any] = {"weight_of_other_kernels": degrees.other}
    if positional_kernels(core) > len(places.weights):
        found["weights_by_degree"] = dict(zip(degrees.names, degrees.weights.tolist()))
    if len(places.weights) > 1:
        found["weights_by_position"] = dict(zip(places.names, places.weights.tolist()))
    return found


def chosen_class(core: Any, said: str | None) -> Any:
    """Return the class of a model that was named on the command line."""
    if said is None:
        return None
    classes = {str(label): label for label in getattr(core, "classes_", ())}
    if said not in classes:
        known = f"has {', '.join(list(classes)[:10])}" if classes else "has no classes"
        raise ValueError(f"--class {said} is not a class of the model, which {known}.")
    return classes[said]


def lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Say the learned weights in a line each, the largest first."""
    said = []
    units = {"weights_by_degree": ("by degree", "length"), "weights_by_position": ("by position", "window")}
    for key, (name, unit) in units.items():
        if key in found:
            used = sorted((pair for pair in found[key].items() if pair[1] > 0), key=lambda pair: -pair[1])
            listed = ", ".join(f"{place} {share:.3f}" for place, share in used[:LISTED])
            said.append((name, f"{unit} and share of the weight: {listed}" + (", ..." if len(used) > LISTED else "")))
    return said


def tables(found: dict[str, Any], origin: int, say: Output) -> None:
    """List the best k-mers at positions, counted from `origin`, the best n-grams or motifs, and the best features."""
    if say.as_json:
        return
    if found.get("kmers"):
        rows = [[kmer["kmer"], kmer["position"] - origin, f"{kmer['weight']:+.4f}"] for kmer in found["kmers"]]
        say.table(["k-mer", "position", "adds to the decision value"], rows, ORDER)
    if grams := found.get("ngrams") or found.get("motifs"):
        several = "kmers" in found or len({gram["kernel"] for gram in grams}) > 1
        rows = [[g["ngram"], g["rows"], f"{g['weight']:+.4f}", *[g["kernel"]] * several] for g in grams]
        heads = ["support vectors with it", "adds to the decision value", *["kernel"] * several]
        say.table(["n-gram" if "ngrams" in found else "motif", *heads], rows, ORDER)
    if found.get("features"):
        rows = [[str(one["feature"]), f"{one['weight']:+.4f}", one["kernel"]] for one in found["features"]]
        say.table(["feature", "adds to the decision value, each", "kernel"], rows)


def picture(core: Any, plot: str, asked: Explaining) -> str:
    """Draw what was asked for, or what the model has learned; return its name."""
    from kernelweave.cli.evaluate import check_picture, save_picture
    from kernelweave.io import check_writable

    check_picture(plot)
    check_writable(plot)
    os.environ.setdefault("MPLBACKEND", "Agg")
    from kernelweave import plots
    from kernelweave.interpret import poim, readable, top_motifs
    from kernelweave.interpret.motifs import needs_motifs

    target, top, k, origin = chosen_class(core, asked.target), asked.top, asked.length, asked.origin or 0
    if target is None and core.expansion_.outputs > 1:
        raise ValueError(_WHICH)
    shows = readable(core)
    if asked.draw is None and "positions" not in shows and needs_motifs(core):
        which = "motifs"
    else:
        which = asked.draw or (_fitting(core, target) if "positions" in shows else "ngrams")
        _check_drawing(which, shows, core)
    if which == "motifs":
        display: Any = plots.NGramDisplay(top_motifs(core, top or 2 * SHOWN, k, target=target, repeats=False)).plot()
    elif which == "ngrams":
        display = plots.NGramDisplay.from_estimator(core, top or 2 * SHOWN, k, target=target).plot()
    elif which == "degrees":
        display = plots.DegreeWeightsDisplay.from_estimator(core, target=target).plot()
    elif which == "positions":
        display = plots.PositionWeightsDisplay.from_estimator(core, target=target).plot(origin=origin)
    elif which == "kmers":
        display = plots.KmerDisplay.from_estimator(core, top or 2 * SHOWN, k, target=target).plot(origin=origin)
    elif which == "logo":
        display = plots.LogoDisplay.from_poim(poim(core, 1, target=target), origin=origin).plot()
    else:
        display = plots.PoimDisplay.from_estimator(core, k or 2, target=target).plot(origin=origin)
    save_picture(display, plot)
    return which


def _check_drawing(which: str, shows: set[str], core: Any) -> None:
    """Raise where a model has nothing of what is to be drawn."""
    if which != "ngrams" and "positions" not in shows:
        raise ValueError(f"--draw {which} is for kernels of k-mers at positions, such as wd:20; draw ngrams here.")
    if which == "ngrams" and "strings" not in shows:
        raise ValueError("--draw ngrams is for kernels that count n-grams wherever they stand, such as ngram:2.")
    if which in ("degrees", "positions") and len(core.expansion_.kernels) == 1:
        raise ValueError(
            f"--draw {which} draws weights that were learned, but this model has one kernel, whose weights are as "
            "given; draw poim or kmers, or train with several kernels (--model mkl)."
        )


def _fitting(core: Any, target: Any) -> str:
    """Choose the picture of what was learned: by position, by degree, or, with one kernel, the importance of k-mers."""
    from kernelweave.interpret import weights_by_position

    if len(core.expansion_.kernels) == 1:
        return "poim"
    return "positions" if len(weights_by_position(core, target=target).weights) > 1 else "degrees"
