"""Random problems, from easy to extreme, each fitted and judged: what `benchmarks/proof_sweep.py` and the tests draw.

A seed makes a case: rows of some kind, targets, weights, an estimator with kernels, loss, solver and everything else.
A fit may end with a certificate that the judge confirms, with a warning, or be refused in one sentence of the library's
own; nothing else counts as good.  Where scales are so extreme that rounding is all that is left of an objective, the
judge cannot tell.
"""

from __future__ import annotations

import signal
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

import kernelweave as kw
from kernelweave.losses import LOSSES
from kernelweave.solvers.mkl import MKL_SOLVERS
from kernelweave.solvers.svm import SVM_SOLVERS

REFUSALS = (ValueError, TypeError, MemoryError, FloatingPointError)
"""What a refusal in a sentence is raised as; numpy's and scipy's own errors are none."""
GOOD = "confirmed", "refused", "cannot tell"
WORDS = ("play", "stop", "the", "a", "music", "weather", "of", "song")


@dataclass(frozen=True)
class Case:
    """An estimator and what it is fitted to; `kind` says what the rows are."""

    model: Any
    X: Any
    y: Any
    weight: Any
    kind: str


def judged(seed: int, seconds: int = 30, rows: int = 400) -> dict[str, Any]:
    """Draw a case, fit it, judge it, and return what happened as a line of a table."""
    case = draw(seed, rows)
    line = {"seed": seed, "kind": case.kind, "model": type(case.model).__name__, "n": len(case.y), **told(case.model)}
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line |= outcome(case, seconds)
    leaked = [str(one.message) for one in caught if issubclass(one.category, RuntimeWarning)]
    ours = [str(one.message) for one in caught if not issubclass(one.category, RuntimeWarning)]
    if leaked:
        line["verdict"] = line["verdict"] if line["verdict"] not in GOOD else "leaked"
    return {**line, "seconds": time.process_time() - began, "warning": " | ".join(leaked + ours)[:400]}


def outcome(case: Case, seconds: int) -> dict[str, Any]:
    """Fit within some CPU seconds and judge; a verdict that is not one of GOOD is a defect."""
    model = case.model

    def late(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        model.fit(case.X, sample_weight=case.weight) if "Novelty" in type(model).__name__ else model.fit(
            case.X, case.y, sample_weight=case.weight
        )
        found = kw.verify(model, case.X, case.y, case.weight)
        values = model.predict(case.X) if "Regressor" in type(model).__name__ else model.decision_function(case.X)
    except TimeoutError:
        return {"verdict": "endless"}
    except REFUSALS as error:
        text = str(error)
        plain = text.endswith((".", ")")) and "\n" not in text and type(error).__module__ == "builtins"
        return {"verdict": "refused" if plain else "raised", "sentence": f"{type(error).__name__}: {text}"[:300]}
    except Exception as error:  # every other exception is a finding, whatever its class
        return {"verdict": "raised", "sentence": f"{type(error).__name__}: {error}"[:300]}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    verdict = "contradicted" if found.verdict == "not confirmed" else found.verdict
    if not np.isfinite(values).all() or np.isnan(found.gap):
        verdict = "nan"
    plan = getattr(model, "memory_plan_", None)
    return {
        "verdict": verdict, "solver": getattr(model, "solver_", ""), "held": getattr(plan, "kind", ""),
        "gap": found.reported, "judged": found.gap, "excess": found.excess / max(1.0, abs(found.reported)),
        "rounding": found.rounding, "infeasibility": found.infeasibility, "iterations": model.n_iter_,
        "converged": model.converged_,
    }  # fmt: skip


def told(model: Any) -> dict[str, Any]:
    """Return the parameters that a table of fits keeps."""
    names = (
        "C",
        "nu",
        "loss",
        "epsilon",
        "norm",
        "solver",
        "tol",
        "fit_intercept",
        "normalize",
        "memory_limit",
        "penalty",
    )
    given = model.get_params(deep=False)
    return {name: given[name] for name in names if name in given} | {
        "kernels": repr(given.get("kernel", given.get("kernels")))[:160]
    }


def draw(seed: int, rows: int = 400) -> Case:
    """Return the case of a seed; some have five times as many rows."""
    rng = np.random.default_rng(seed)
    family = rng.choice(["one", "mkl", "cgboost"], p=[0.4, 0.45, 0.15])
    task = rng.choice(["classification", "regression", "novelty"], p=[0.55, 0.3, 0.15])
    kind = rng.choice(
        ["table", "sparse", "strings", "text", "lattices", "views", "precomputed", "approximate"],
        p=[0.45, 0.1, 0.1, 0.08, 0.05, 0.07, 0.08, 0.07],
    )
    n = int(np.exp(rng.uniform(np.log(5), np.log(rows))))
    if rng.random() < 0.02 and kind in ("table", "strings", "sparse") and family != "cgboost" and rows >= 400:
        n = int(rng.integers(5 * rows, 7 * rows))
    X, signal_, kernels = ROWS[kind](rng, n)
    y = targets_of(rng, task, signal_)
    weight = weights_of(rng, n)
    model = ESTIMATORS[family](rng, task, kind, kernels)
    if n > rows and model.memory_limit != "auto":
        model.memory_limit = 8 * n * n  # less leaves forms that take minutes
    return Case(model, X, y, weight, kind)


# ------------------------------------------------------------------------------------------------------------- rows


def table(rng: np.random.Generator, n: int) -> tuple[Any, Any, list[Any]]:
    """Return rows of numbers, seldom of extreme scale, with repeated and constant rows among them."""
    X = rng.normal(size=(n, int(rng.integers(1, 9))))
    signal_ = X[:, 0] + 0.5 * rng.normal(size=n)
    if rng.random() < 0.15:
        X *= 10.0 ** rng.uniform(-150, 155)
    elif rng.random() < 0.1:
        X[:, 0] *= 10.0 ** rng.uniform(-8, 8)
    if rng.random() < 0.15:
        X = X[rng.integers(0, max(1, n // 2), size=n)]
    if rng.random() < 0.05:
        X[:] = X[0]
    kernels = [
        kw.Linear(), kw.RBF(), kw.RBF(width=float(10.0 ** rng.uniform(-2, 3))), kw.Polynomial(2), kw.Polynomial(3),
        kw.Laplacian(0.3), kw.Linear().on([0]), kw.RBF(0.5).on([0]), kw.Linear() * kw.RBF(1.0),
    ]  # fmt: skip
    return X, signal_, kernels


def sparse(rng: np.random.Generator, n: int) -> tuple[Any, Any, list[Any]]:
    """Return sparse rows, some of them empty."""
    X = scipy.sparse.random_array((n, 30), density=0.1, random_state=rng, format="csr")
    return X, np.asarray(X.sum(axis=1)).ravel() + 0.1 * rng.normal(size=n), [kw.Linear(), kw.RBF(), kw.Polynomial(2)]


def strings(rng: np.random.Generator, n: int) -> tuple[Any, Any, list[Any]]:
    """Return DNA of equal or unequal lengths."""
    lengths = np.full(n, 24) if rng.random() < 0.6 else rng.integers(3, 40, size=n)
    letters = ["".join(rng.choice(list("ACGT"), size=size)) for size in lengths]
    kernels = [kw.Spectrum(3), kw.Spectrum(2, cumulative=True), kw.Mismatch(3, 1), kw.GappedKmer(4, 3)]
    if len(set(lengths.tolist())) == 1:
        kernels += [kw.WeightedDegree(5), kw.WeightedDegree(3, shift=1)]
    share = np.array([text.count("G") / len(text) for text in letters])
    return kw.Sequences.from_strings(letters, alphabet="dna"), share + 0.05 * rng.normal(size=n), kernels


def text(rng: np.random.Generator, n: int) -> tuple[Any, Any, list[Any]]:
    """Return texts of a few words."""
    rows = [rng.choice(WORDS, size=rng.integers(1, 9)).tolist() for _ in range(n)]
    signal_ = np.array([row.count("music") - row.count("weather") for row in rows]) + 0.3 * rng.normal(size=n)
    return rows, signal_, [kw.NGram(1), kw.NGram(2), kw.GappyNGram(2, 0.5)]


def lattices(rng: np.random.Generator, n: int) -> tuple[Any, Any, list[Any]]:
    """Return lattices of words that were heard badly; path weights may underflow."""
    low = 10.0 ** -rng.uniform(0, 4) if rng.random() < 0.5 else 1.0
    rows, count = [], []
    for _ in range(n):
        said = rng.choice(WORDS, size=rng.integers(1, 7))
        arcs = [(at, at + 1, word, 0.7 * low) for at, word in enumerate(said)]
        arcs += [(at, at + 1, str(rng.choice(WORDS)), 0.3 * low) for at in range(len(said))]
        rows.append((arcs, [len(said)]))
        count.append(np.sum(said == "music") - np.sum(said == "weather"))
    return kw.Lattices.from_arcs(rows), np.array(count) + 0.3 * rng.normal(size=n), [kw.NGram(1), kw.NGram(2)]


def views(rng: np.random.Generator, n: int) -> tuple[Any, Any, list[Any]]:
    """Return a table and DNA of the same rows."""
    X, signal_, _ = table(rng, n)
    rows, share, _ = strings(rng, n)
    kernels = [kw.RBF(1.0).on("table"), kw.Linear().on("table"), kw.Spectrum(3).on("dna")]
    return kw.Views({"table": X, "dna": rows}), signal_ + share, kernels


def precomputed(rng: np.random.Generator, n: int) -> tuple[Any, Any, list[Any]]:
    """Return a Gram matrix."""
    X = rng.normal(size=(n, 4))
    K = X @ X.T if rng.random() < 0.5 else np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return K * 10.0 ** rng.uniform(-6, 6), X[:, 0] + 0.3 * rng.normal(size=n), [kw.Precomputed()]


def approximate(rng: np.random.Generator, n: int) -> tuple[Any, Any, list[Any]]:
    """Return a table with kernels that are approximated by explicit features."""
    X = rng.normal(size=(n, 3))
    kernels = [kw.IncompleteCholesky(kw.RBF(0.5), 1e-4), kw.Nystrom(kw.Laplacian(0.3), 5), kw.Fourier(kw.RBF(0.5), 20)]
    return X, X[:, 0] + 0.3 * rng.normal(size=n), kernels


ROWS = {
    "table": table, "sparse": sparse, "strings": strings, "text": text, "lattices": lattices, "views": views,
    "precomputed": precomputed, "approximate": approximate,
}  # fmt: skip


def targets_of(rng: np.random.Generator, task: str, signal_: Any) -> Any:
    """Return classes, two or three, seldom of one row or at random; or numbers, seldom of extreme scale."""
    if task == "regression":
        return signal_ * (10.0 ** rng.uniform(-6, 6) if rng.random() < 0.1 else 1.0)
    cuts = np.quantile(signal_, [0.3, 0.7] if rng.random() < 0.15 else [0.5])
    y = np.digitize(signal_, cuts)
    if rng.random() < 0.1:
        y = (np.arange(len(y)) == 0).astype(int)
    if rng.random() < 0.05:
        y = np.arange(len(y)) % 2
    return y


def weights_of(rng: np.random.Generator, n: int) -> Any:
    """Return no weights, usual ones, zeros among them, or huge ones."""
    draw_ = rng.random()
    if draw_ < 0.6:
        return None
    if draw_ < 0.8:
        return rng.uniform(0.1, 3.0, size=n)
    if draw_ < 0.95:
        return rng.integers(0, 3, size=n).astype(float)
    return 10.0 ** rng.uniform(-15, 15, size=n)


# ------------------------------------------------------------------------------------------------------- estimators


def shared(rng: np.random.Generator, task: str) -> dict[str, Any]:
    """Return the parameters that all estimators have."""
    extreme = rng.random() < 0.3
    limit = "auto" if rng.random() < 0.75 else int(10.0 ** rng.uniform(4.5, 6.5))
    found: dict[str, Any] = {
        "tol": float(rng.choice([1e-2, 1e-3, 1e-5, 1e-8], p=[0.2, 0.5, 0.2, 0.1])), "memory_limit": limit,
        "fit_intercept": [True, "regularized", False][rng.choice(3, p=[0.7, 0.15, 0.15])], "n_jobs": 1,
    }  # fmt: skip
    if task == "novelty":
        found["nu"] = float(rng.choice([1.0, 0.5, 0.1, 1e-3, 1e-6])) if extreme else float(rng.uniform(0.05, 0.95))
    else:
        found["C"] = float(10.0 ** (rng.uniform(-6, 6) if extreme else rng.uniform(-2, 2)))
    if task == "regression":
        found["epsilon"] = 0.0 if rng.random() < 0.2 else 0.1
    return found


def one(rng: np.random.Generator, task: str, kind: str, kernels: list[Any]) -> Any:
    """Return a machine with one kernel."""
    make = {"classification": kw.KernelClassifier, "regression": kw.KernelRegressor, "novelty": kw.KernelNovelty}[task]
    given = shared(rng, task) | {"kernel": kernels[rng.integers(len(kernels))]}
    given["solver"] = str(rng.choice(["auto", *SVM_SOLVERS], p=[0.6, *[0.4 / len(SVM_SOLVERS)] * len(SVM_SOLVERS)]))
    given["normalize"] = [None, "trace", "cosine"][rng.choice(3, p=[0.7, 0.15, 0.15])]
    if task == "novelty":
        given.pop("fit_intercept")
    else:
        given["loss"] = str(rng.choice([name for name, loss in LOSSES.items() if loss.task == task]))
    return suited(make, given)


def mkl(rng: np.random.Generator, task: str, kind: str, kernels: list[Any]) -> Any:
    """Return a machine with many kernels, a solver that is for its loss and norm, mostly."""
    make = {"classification": kw.MKLClassifier, "regression": kw.MKLRegressor, "novelty": kw.MKLNovelty}[task]
    some = [kernels[k] for k in rng.choice(len(kernels), size=int(rng.integers(1, len(kernels) + 1)), replace=False)]
    loss = str(rng.choice([name for name, loss in LOSSES.items() if loss.task == task]))
    norm = float(rng.choice([1.0, 1.1, 4 / 3, 2.0, 4.0, np.inf], p=[0.5, 0.1, 0.1, 0.2, 0.05, 0.05]))
    fitting = [s for s, e in MKL_SOLVERS.items() if norm <= e.largest_p and e.suits(LOSSES[loss]()) and not e.rank_one]
    given = shared(rng, task) | {"kernels": some, "loss": loss, "norm": norm}
    given["solver"] = str(rng.choice(fitting)) if rng.random() < 0.6 else "auto"
    given["normalize"] = ["trace", "cosine", None, "variance"][rng.choice(4, p=[0.6, 0.15, 0.15, 0.1])]
    if task == "novelty":
        given.pop("fit_intercept")
    elif task == "classification" and rng.random() < 0.2 and given["solver"] == "auto":
        given["shared_weights"] = True
    return suited(make, given)


def cgboost(rng: np.random.Generator, task: str, kind: str, kernels: list[Any]) -> Any:
    """Return a mixture."""
    names = {
        "classification": (kw.CGBoostClassifier, ["hinge", "nu_classification"]),
        "regression": (kw.CGBoostRegressor, ["epsilon_insensitive", "nu_regression"]),
        "novelty": (kw.CGBoostNovelty, ["one_class"]),
    }  # fmt: skip
    make, losses = names[task]
    given = shared(rng, task) | {
        "kernels": kernels[: int(rng.integers(1, 4))],
        "penalty": str(rng.choice(["l1", "l2"])),
    }
    if task != "novelty":
        given |= {"loss": str(rng.choice(losses)), "nu": float(rng.uniform(0.05, 0.6))}
    if given["fit_intercept"] is False and task == "novelty":
        given.pop("fit_intercept")
    return suited(make, given)


def suited(make: Any, given: dict[str, Any]) -> Any:
    """Return an estimator with those parameters that it has."""
    known = make().get_params(deep=False)
    return make(**{name: value for name, value in given.items() if name in known})


ESTIMATORS = {"one": one, "mkl": mkl, "cgboost": cgboost}
