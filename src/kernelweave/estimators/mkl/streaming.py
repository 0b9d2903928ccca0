"""Learning from a stream of blocks, and certifying a model on rows that are given once more.

Kernels are fitted and scaled on the first block and stay as they are.  A stream cannot certify itself: its rows are
gone.  `certify` looks once at rows that are handed in and computes objective, bound and gap of the model on them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import update_wrapper
from types import MethodType
from typing import Any, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernelweave.engines import one_blas_thread
from kernelweave.estimators.base import Array
from kernelweave.estimators.feature_models import asked_for, keep_vectors, split_params
from kernelweave.estimators.fitting import Certificate, keep_certificate
from kernelweave.estimators.mkl.base import MKLEstimator
from kernelweave.estimators.targets import Targets
from kernelweave.losses import parameters_for
from kernelweave.operators import Choice, Task, choose
from kernelweave.operators.expansion.features import FeatureExpansion
from kernelweave.operators.features.design.grow import in_memory, moved
from kernelweave.operators.features.design.set import DesignSet
from kernelweave.solvers.certificate import PrimalPoint
from kernelweave.solvers.choose import AS_ASKED, choose_mkl_solver
from kernelweave.solvers.mkl.gradient.stream.registry import STREAMS, evaluate_once
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.result import Result, Trace

SETTINGS = (
    "kernels", "C", "loss", *parameters_for(None), "norm", "solver", "solver_params", "fit_intercept", "normalize",
    "class_weight", "shared_weights",
)  # fmt: skip
"""Parameters that say what a stream is learning."""


class streamed:
    """A method that is there only where the solver can learn from a stream; elsewhere asking for it says why not."""

    def __init__(self, method: Any):
        self.method = method
        update_wrapper(cast(Any, self), method)

    def __get__(self, model: Any, owner: type) -> Any:
        """Return the method of a model, or raise."""
        if model is None:
            return self.method
        if "C" not in model.get_params(deep=False):
            raise AttributeError(f"{owner.__name__} chooses C from all rows, so it cannot learn from a stream.")
        if model.solver not in STREAMS:
            names = ", ".join(repr(name) for name in STREAMS)
            raise AttributeError(f"partial_fit needs one of the solvers {names}, not solver={model.solver!r}.")
        return MethodType(self.method, model)


class Streaming(MKLEstimator):
    """What learning from a stream shares between classifier and regressor; they say how targets become problems."""

    stream_: dict[str, Any]
    rows_seen_: int

    @property
    def _streams(self) -> bool:
        """Whether a first block was learned."""
        return "stream_" in vars(self)

    def _block_rows(self, X: Any) -> Any:
        """Return the checked rows of a block: of the kind of the first one, with the same settings."""
        if not self._streams:
            return self._rows(X)
        self._check_parameters()
        for name, began in self.stream_["settings"].items():
            if repr(getattr(self, name)) != began:
                raise ValueError(
                    f"partial_fit began with {name}={began}, but now {name}={getattr(self, name)!r}; a stream keeps "
                    "its settings: call fit, or begin with a new model."
                )
        return self._new(X)

    def _learn_block(self, X: Any, targets: Targets) -> Self:
        """Walk over the rows of a block and set the fitted attributes."""
        params, total_rows = split_params(self.solver_params)[1], _total_rows(self.solver_params)
        if not targets.cost.sum() > 0:
            raise ValueError("Every row of the block has a weight of zero: there is nothing to learn from.")
        if self._streams:
            operators, kept = self._bind_more(X), self.stream_["outputs"]
        else:
            operators, kept = cast(DesignSet, self._bind_all(X, targets.weight)), []
        problems = self._problems(operators, targets)
        solver = self._stream_solver(problems[0], params)
        states = [solver.State(**one) for one in kept] or [None] * len(problems)
        for state in filter(None, states):
            state.move(lambda w: moved(w, self.coef_offsets_, operators.design.offsets))
        with one_blas_thread():  # the engine's own threads make the features
            for rows, design in in_memory(operators.design):
                for i, problem in enumerate(problems):
                    y, cost = problem.targets[:, rows], problem.cost[rows]
                    part = replace(problem, operators=DesignSet(design), targets=y, cost=cost)
                    states[i] = STREAMS[self.solver](**params).block(part, states[i], total_rows)
        self._keep_stream(X, operators, states, solver)
        return self

    def _stream_solver(self, problem: MKLProblem, params: dict[str, Any]) -> Any:
        """Return a solver for a block; what it cannot solve is refused as `fit` refuses it."""
        choose_mkl_solver(self.solver, problem)
        try:
            return STREAMS[self.solver](**params)
        except TypeError:
            raise ValueError(f"solver_params={params!r} do not fit partial_fit with solver={self.solver!r}.") from None

    def _bind_more(self, X: Any) -> DesignSet:
        with one_blas_thread():
            operators, self.memory_plan_ = self._block(X)
        return operators

    def _block(self, X: Any) -> Choice:
        """Bind further rows to the columns that the model knows."""
        maps = cast(FeatureExpansion, self.expansion_).maps
        kernels = [one.kernel for one in maps]
        return choose(Task(kernels, X, self._engine(), self.memory_limit, self.tol, "design", maps=maps))

    def _keep_stream(self, X: Any, operators: DesignSet, states: list[Any], solver: Any) -> None:
        """Set the fitted attributes: the model as it is now, and what the next block needs."""
        results = [
            Result(
                PrimalPoint(np.empty((1, 0)), np.array([s.b]), np.nan, s.beta, s.w[None]),
                None,
                Trace(),
                s.blocks,
                False,
            )
            for s in states
        ]
        beta = np.stack([state.beta for state in states])
        self.kernel_weights_ = beta if len(states) > 1 else beta[0]
        self.intercept_ = np.array([state.b for state in states])
        keep_vectors(self, results, operators.design, X)
        self.solver_, self.solver_why_ = self.solver, AS_ASKED
        self.certifies_ = getattr(solver, "certifies", "mkl")
        self.rows_seen_, self.n_iter_, self.trace_ = states[0].rows, states[0].blocks, Trace()
        self.objective_, self.dual_objective_, self.duality_gap_, self.converged_ = np.nan, -np.inf, np.inf, False
        unknown = np.full(len(states), np.nan), np.full(len(states), -np.inf)
        self.certificate_ = Certificate(np.empty((len(states), 0)), self.intercept_, *unknown, beta)
        known = self.get_params(deep=False)
        settings = {name: repr(known[name]) for name in SETTINGS if name in known}
        self.stream_ = {"settings": settings, "outputs": [state.plain() for state in states]}

    def certify(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the objective of the model on given rows, a bound on the best one, and the gap between them.

        For a model on explicit features, such as one that learned from a stream; it does not change, only
        `objective_`, `dual_objective_`, `duality_gap_`, `certificate_` and `converged_` do.  Rows are looked at once,
        part by part where their features do not fit the memory limit.

        Parameters
        ----------
        X, y, sample_weight : the rows that the model should be optimal for, as for `fit`

        Returns
        -------
        gap : the relative duality gap, as in `duality_gap_`

        Examples
        --------
        >>> import kernelweave as kw
        >>> X, y = kw.datasets.make_stars(200, random_state=0)
        >>> model = kw.MKLClassifier([kw.Linear()], loss="logistic", solver="svrg").fit(X, y)
        >>> model.certify(X, y) < 1e-3
        True
        """
        check_is_fitted(self, "dual_coef_")
        if not isinstance(self.expansion_, FeatureExpansion):
            raise ValueError(
                f"certify is for models on explicit features; solver={self.solver!r} certified this one while fitting."
            )
        X = self._new(X)
        with one_blas_thread():
            keep_certificate(self, self._evaluate_all(X, self._learns.again(self, X, y, sample_weight)))
        return float(self.duality_gap_)

    def _evaluate_all(self, X: Any, targets: Targets) -> list[Result]:
        """Look once at every problem from where the model is."""
        operators = self._block(X).operator
        coef = moved(self.coef_, self.coef_offsets_, operators.design.offsets)
        params, results = split_params(self.solver_params)[1], list[Result]()
        problems = self._problems(operators, targets)
        for problem, w, b in zip(problems, coef, self.intercept_):
            solver = choose_mkl_solver(self.solver_, problem, params).solver
            result = Result(*evaluate_once(solver, problem, w, float(b)), Trace(), self.n_iter_, False)
            results.append(replace(result, converged=result.gap <= self.tol))
        asked, self.certifies_ = asked_for(self, X, targets.weight), getattr(solver, "certifies", "mkl")
        self._factorised = None if asked == self.kernels_ else asked
        return self._proved(results, problems, X)


class StreamingClassifier(Streaming):
    """`partial_fit` of a classifier."""

    classes_: Array

    @streamed
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning from a block of rows, for the solvers "svrg", "ufo" and "obscure".

        The objective is that of `fit` on all rows of the stream.  ``solver_params={"total_rows": N}`` says how many
        there are; blocks may then come again, pass after pass, shuffled and cut as one likes, and the model nears the
        one that `fit` finds.  Without it every row counts as new, and one pass is all there should be.

        Kernels are fitted and scaled on the first block (landmarks, frequencies, mean diagonal), so it should be large
        and mixed; n-grams and other coded features that come later get their weights.  Words that the first block
        lacks match nothing.  After a block `duality_gap_` is infinite: `certify` computes it on rows that you have.
        A model can be saved and loaded between blocks; `fit` forgets the stream.

        Parameters
        ----------
        X, y, sample_weight : a block of rows, as for `fit`
        classes : all classes of the stream, at the first block; None for those that it has

        Examples
        --------
        >>> import numpy as np, kernelweave as kw
        >>> X, y = kw.datasets.make_stars(2000, random_state=0)
        >>> kernels = [kw.Linear(), kw.Fourier(kw.RBF(width=10.0), 40)]
        >>> model = kw.MKLClassifier(kernels, loss="logistic", norm=2.0, solver="svrg",
        ...                          solver_params={"total_rows": 2000})
        >>> rng = np.random.default_rng(0)
        >>> for sweep in range(4):
        ...     for rows in np.array_split(rng.permutation(2000), 5):
        ...         model = model.partial_fit(X[rows], y[rows], classes=[-1, 1])
        >>> model.rows_seen_, model.certify(X, y) < 1e-2
        (8000, True)
        """
        X = self._block_rows(X)
        self._loss()
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all labels at once; give partial_fit a dict of weights."
            )
        known = None if classes is None else _given_classes(classes)
        if self._streams and known is not None and not np.array_equal(known, self.classes_):
            raise ValueError(f"classes={classes!r} are not those of the first block, {self.classes_.tolist()!r}.")
        if not self._streams and known is None:
            return self._learn_block(X, self._learns.read(self, X, y, sample_weight))
        if not self._streams and known is not None:
            self.classes_ = known
        return self._learn_block(X, self._learns.again(self, X, y, sample_weight))


class StreamingRegressor(Streaming):
    """`partial_fit` of a regressor."""

    @streamed
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on learning from a block of rows, as `MKLClassifier.partial_fit` does, with real targets.

        Parameters
        ----------
        X, y, sample_weight : a block of rows, as for `fit`

        Examples
        --------
        >>> import numpy as np, kernelweave as kw
        >>> X = np.linspace(0, 6, 600)[:, None]
        >>> model = kw.MKLRegressor([kw.Fourier(kw.RBF(width=2.0), 20)], loss="squared", solver="svrg",
        ...                         solver_params={"total_rows": 600})
        >>> for start in [0, 1, 2] * 6:
        ...     model = model.partial_fit(X[start::3], np.sin(X[start::3, 0]))
        >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.1)
        True
        """
        X = self._block_rows(X)
        self._loss()
        return self._learn_block(X, self._learns.again(self, X, y, sample_weight))


def _given_classes(classes: Any) -> Array:
    found = np.unique(np.asarray(classes))
    if len(found) < 2:
        raise ValueError(f"A classifier needs at least two classes, but classes={classes!r}.")
    return found


def _total_rows(params: dict[str, Any] | None) -> int | None:
    rows = (params or {}).get("total_rows")
    if rows is None:
        return None
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1:
        raise ValueError(f"total_rows={rows!r} must be the number of rows of the stream, a positive integer.")
    return int(rows)
