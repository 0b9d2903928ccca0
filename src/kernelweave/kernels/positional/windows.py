"""A kernel that waits to be split into one kernel for each window of positions, until the length of rows is known."""

from __future__ import annotations

from typing import Any

from kernelweave.data import select
from kernelweave.kernels.base import Kernel, Parameters
from kernelweave.kernels.compose import On
from kernelweave.kernels.positional.code_rows import fixed_length


class Windows(Parameters):
    """The windows of a kernel, for the estimators that weigh kernels: these unroll it when they see rows.

    Parameters
    ----------
    kernel : what is split, a `WeightedDegree` or one on a named view
    window : number of positions in a window; the last window may be shorter
    by_degree : split each window by the length of the k-mers, too

    Examples
    --------
    >>> from kernelweave.data.strings.sequences import Sequences
    >>> from kernelweave.kernels.positional.weighted_degree import WeightedDegree
    >>> windows = WeightedDegree(8).per_position(2)
    >>> windows
    Windows(WeightedDegree(8), window=2)
    >>> windows.unrolled(Sequences.from_strings(["ACG", "ACT"]))
    [WeightedDegree(8, positions=(0, 2)), WeightedDegree(8, positions=(2, 3))]
    """

    def __init__(self, kernel: Any, window: int = 1, by_degree: bool = False):
        self.kernel = kernel
        self.window = window
        self.by_degree = by_degree

    def unrolled(self, X: Any) -> list[Kernel]:
        """Return the kernels of all windows.

        Parameters
        ----------
        X : the rows to be compared, which say how long a row is
        """
        if isinstance(self.kernel, On):
            inside = Windows(self.kernel.kernel, self.window, self.by_degree)
            return [part.on(self.kernel.columns) for part in inside.unrolled(select(X, self.kernel.columns))]
        length = fixed_length(self.kernel, X)
        parts: list[Kernel] = self.kernel.per_position(self.window, length, self.by_degree)
        return parts

    def on(self, columns: Any) -> Windows:
        """Return the windows of a named view."""
        return Windows(self.kernel.on(columns), self.window, self.by_degree)
