"""What two models disagree about, row by row and place by place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelweave.interpret.explain.explanation import Explanation, Place
from kernelweave.kernels.base import Array


@dataclass(frozen=True)
class Comparison:
    """Two explanations of the same rows, each in units of the spread of its own decision values.

    Attributes
    ----------
    first, second : the explanations
    scales : standard deviation of the decision values of each, by which its numbers are divided
    agreement : (n,) correlation between what the places of a row add under the two models; nan where one adds the same
        everywhere
    output : number of the decision value
    """

    first: Explanation
    second: Explanation
    scales: tuple[float, float]
    agreement: Array
    output: int

    def top(self, row: int, n: int = 10) -> list[tuple[Place, float, float]]:
        """Return the places of a row about which the models differ most: place (its value the difference), both values.

        Parameters
        ----------
        row : its number
        n : how many
        """
        found = []
        for a, b in zip(self.first.places(row, self.output), self.second.places(row, self.output)):
            if a.position >= 0:
                x, y = a.value / self.scales[0], b.value / self.scales[1]
                found.append((a._replace(value=y - x), x, y))
        return sorted(found, key=lambda each: -abs(each[0].value))[:n]


def compare(first: Explanation, second: Explanation, output: int = 0) -> Comparison:
    """Compare what two models say of the same rows.

    Parameters
    ----------
    first, second : explanations by models of the same kind of rows
    output : number of the decision value

    Returns
    -------
    `Comparison`

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(300, random_state=0)
    >>> short, long = (kw.explain(kw.KernelClassifier(k).fit(X, y), X[:9]) for k in ("wd:2", "wd:9"))
    >>> bool((compare(short, long).agreement > 0.5).all())
    True
    """
    if first.outputs != second.outputs:
        raise ValueError(
            f"The models speak for different classes, {', '.join(first.outputs)} and {', '.join(second.outputs)}; "
            "compare models of the same task."
        )
    kinds = [[(track.unit, track.view) for track in told.tracks] for told in (first, second)]
    if kinds[0] != kinds[1] or not kinds[0]:
        raise ValueError("The models do not divide their decision values among the same places, so they share none.")
    for a, b in zip(first.tracks, second.tracks):
        if not np.array_equal(a.offsets, b.offsets):
            raise ValueError("The explanations are of different rows.")
    scales = tuple(float(np.std(told.sums[:, output])) or 1.0 for told in (first, second))
    agreement = np.array([_correlation(first, second, row, output) for row in range(len(first))])
    return Comparison(first, second, (scales[0], scales[1]), agreement, output)


def _correlation(first: Explanation, second: Explanation, row: int, output: int) -> float:
    x, y = (np.concatenate([track.of(row)[:, output] for track in told.tracks]) for told in (first, second))
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])
