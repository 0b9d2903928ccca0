"""How firm learned kernel weights are: refits on bootstrap samples, and kernels too similar to be distinguished.

A bootstrap sample is a vector of counts, handed to `fit` as sample weights: no row is copied.  Classes keep their size.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from kernelweave.engines import Remote, map_fits
from kernelweave.estimators.checks.inputs import row_weights, targets
from kernelweave.estimators.mkl.alike import kernel_correlations
from kernelweave.estimators.mkl.base import MKLEstimator
from kernelweave.kernels import Kernel

Array = np.ndarray

ALIKE = 0.99
"""Correlation of two centred kernel matrices from which on a pair is reported."""


@dataclass(frozen=True)
class WeightStability:
    """Kernel weights over bootstrap refits.

    Attributes
    ----------
    names : (m,) the kernels as given
    mean, low, high : (m,), or (classes, m) for a model with weights of its own for each class
    frequency : same shape, share of the refits in which the kernel was selected
    alike : pairs of kernels (first, second, correlation of their centred matrices), the most alike first: the weight
        of such a pair is firmer than how it is divided
    weights : (refits, m) or (refits, classes, m), what all of the above is made of
    confidence : of the percentile interval between low and high
    """

    names: Array
    mean: Array
    low: Array
    high: Array
    frequency: Array
    alike: tuple[tuple[int, int, float], ...]
    weights: Array
    confidence: float

    def __str__(self) -> str:
        return "\n".join([*self._lines(), *self._pairs()])

    def _lines(self) -> Iterator[str]:
        width = max(len(name) for name in self.names)
        classes = range(len(self.mean)) if self.mean.ndim == 2 else [None]
        for c in classes:
            for k, name in enumerate(self.names):
                at = (k,) if c is None else (c, k)
                label = name if c is None else f"class {c}  {name}"
                label = label.ljust(width if c is None else width + 9)
                interval = f"{self.mean[at]:.3f} [{self.low[at]:.3f}, {self.high[at]:.3f}]"
                yield f"{label}  {interval}  selected {self.frequency[at]:.0%}"

    def _pairs(self) -> Iterator[str]:
        for i, j, value in self.alike:
            yield f"{self.names[i]} and {self.names[j]} are alike (correlation {value:.4f})"


def weight_stability(
    model: MKLEstimator,
    X: Any,
    y: Any = None,
    *,
    n_bootstrap: int = 50,
    confidence: float = 0.95,
    sample_weight: Any = None,
    selected: float = 1e-3,
    alike: float = ALIKE,
    random_state: int = 0,
) -> WeightStability:
    """Refit a model on bootstrap samples and report how much its kernel weights move.

    Parameters
    ----------
    model : MKLClassifier, MKLRegressor or MKLNovelty; its parameters are used, it is not changed
    X, y : training rows and targets (none for novelty)
    n_bootstrap : number of refits
    confidence : share of the refits between low and high
    sample_weight : (n,) weights of the rows; a resampled row keeps its weight once for each time it is drawn
    selected : a kernel counts as selected when its weight exceeds this share of the largest one
    alike : correlation from which on two kernels are reported as nearly the same
    random_state : seed

    Notes
    -----
    A resample holds about 63 % of the rows, some of them several times, as if C were larger for these.  Its weights
    may therefore lie to one side of those of the fit on all rows: read the width of an interval, and compare `mean`
    with ``model.kernel_weights_``.

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_stars(80, distance=3.0, random_state=0)
    >>> model = kw.MKLClassifier(kw.RBF.grid([0.01, 1.0, 100.0]))
    >>> found = weight_stability(model, X, y, n_bootstrap=5)
    >>> found.weights.shape, bool((found.low <= found.high).all())
    ((5, 3), True)
    """
    if n_bootstrap < 1:
        raise ValueError(f"n_bootstrap={n_bootstrap!r} is not valid; expected at least one refit.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r} is not valid; expected a number between 0 and 1.")
    if not isinstance(model, MKLEstimator):
        raise TypeError(f"Kernel weights belong to models with many kernels, not to {type(model).__name__}.")
    rows = clone(model)._rows(X)
    sample = Sample(model, rows, y, row_weights(sample_weight, rows), _strata(model, rows, y))
    refits = map_fits(model._engine(), _refit, _plain(sample), _draws(sample, n_bootstrap, random_state))
    weights = np.stack([refit.kernel_weights_ for refit in refits])
    tail = 0.5 * (1.0 - confidence)
    low, high = np.quantile(weights, [tail, 1.0 - tail], axis=0)
    return WeightStability(
        names=refits[0].kernel_names_,
        mean=weights.mean(axis=0),
        low=low,
        high=high,
        frequency=(weights > selected * weights.max(axis=-1, keepdims=True)).mean(axis=0),
        alike=alike_kernels(refits[0].kernels_, rows, alike),
        weights=weights,
        confidence=confidence,
    )


def alike_kernels(kernels: list[Kernel], X: Any, above: float = ALIKE) -> tuple[tuple[int, int, float], ...]:
    """Return the pairs of kernels whose centred matrices correlate more than `above`, the most alike first.

    Parameters
    ----------
    kernels : with every learned parameter filled in
    X : training rows; matrices are compared on a sample of them
    above : least correlation
    """
    if len(kernels) < 2:
        return ()
    values = kernel_correlations(kernels, X)
    first, second = np.nonzero(np.triu(values > above, 1))
    order = np.argsort(-values[first, second], kind="stable")
    return tuple((int(first[p]), int(second[p]), min(1.0, float(values[first[p], second[p]]))) for p in order)


class Sample(NamedTuple):
    """What all refits have in common; classes keep their size, so each is a stratum."""

    model: Any
    X: Any
    y: Any
    weight: Array
    strata: list[Array]

    def counts(self, rng: np.random.Generator) -> Array:
        """Return how often each row is drawn."""
        counts = np.zeros(self.X.shape[0])
        for rows in self.strata:
            counts[rows] = rng.multinomial(len(rows), np.full(len(rows), 1.0 / len(rows)))
        return counts


class Refit(NamedTuple):
    """What is kept of a refit; names and kernels of the first one."""

    kernel_weights_: Array
    kernel_names_: Array
    kernels_: list[Kernel]


def _strata(model: Any, X: Any, y: Any) -> list[Array]:
    if not is_classifier(model):
        return [np.arange(X.shape[0])]
    labels = targets(X, y)
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def _plain(sample: Sample) -> Sample:
    """Return the sample with a model for other processes, where there are some: nobody listens there."""
    if not isinstance(sample.model._engine(), Remote):
        return sample
    return sample._replace(model=clone(sample.model).set_params(engine="serial", callbacks=(), verbose=0))


def _draws(sample: Sample, n_bootstrap: int, seed: int) -> list[tuple[int, Any]]:
    """Return the number of each refit and the state of the generator before it: no weights travel."""
    rng, draws = np.random.default_rng(seed), []
    for i in range(n_bootstrap):
        draws.append((i, rng.bit_generator.state))
        sample.counts(rng)
    return draws


def _refit(sample: Sample, draw: tuple[int, Any]) -> Refit:
    """Return the model refitted with the counts of a bootstrap sample as weights."""
    number, state = draw
    rng = np.random.default_rng()
    rng.bit_generator.state = state
    weight = sample.weight * sample.counts(rng)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*are nearly the same kernel.*", category=UserWarning)
        model = clone(sample.model).fit(sample.X, sample.y, sample_weight=weight)
    first = number == 0
    return Refit(model.kernel_weights_, model.kernel_names_, model.kernels_ if first else [])
