"""Novelty detection by sparse mixtures of kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from kernelweave.estimators.base import Array
from kernelweave.estimators.callbacks import watched
from kernelweave.estimators.cgboost.base import CGBoostEstimator
from kernelweave.estimators.cgboost.holdout import ValidationRows
from kernelweave.estimators.checks.inputs import new_rows, targets
from kernelweave.estimators.planning.stored import loaded
from kernelweave.estimators.predicting import Detecting
from kernelweave.estimators.targets import NORMAL, NOVEL


class CGBoostNovelty(Detecting, CGBoostEstimator):
    """Sparse mixture of kernels that tells where rows lie, one coefficient for each kernel and training row.

    Minimises ``-rho + 1/(nu N) sum_i s_i max(0, rho - f(x_i))`` with N the sum of the weights s, over mixtures f
    without an intercept: with the 1-norm under ``sum |a_j| <= 1``, with the 2-norm plus ``1/2 sum a_j^2 / s_i``.

    Parameters
    ----------
    kernels : list of kernels (or texts such as "rbf:0.5") by falling priority, not necessarily positive semi-definite;
        None for a linear kernel and Gaussians of three widths
    nu : in (0, 1], about the fraction of training rows that will lie outside
    penalty : "l1" (few columns, a linear programme) or "l2" (nearly all columns, a quadratic one)
    positive : whether coefficients must not be negative
    termination : when to stop, one rule or several: "TR1" no row with a loss has a column that would help, "TR2" no row
        at all has one (optimal within `tol`), "TR3" the validation error has not improved for `patience` rounds (the
        best round is kept), "TR4" `max_iter` rounds are done.  An optimum always ends the fit.  "TR3" needs validation
        rows with labels, which `fit` takes.
    patience : rounds of "TR3"; "auto" for 5 ("l2": 4), or for 10 where `columns_per_round` is a number or `strategy` is
        "paper"
    columns_per_round : how many columns may enter at once; "auto" for a number that grows with those in use, or for one
        where `strategy` is "paper"
    strategy : in which order columns are scored: "regular", all of them in each round; "stratified", those of rows with
        a loss first, kernel by kernel, from samples and above a level that falls; "paper", as in Algorithm 5.1: the
        worst column of the first kernel that violates the dual, error points before all rows; "auto" for "regular"
        where the fit goes to the optimum by "TR2" alone and prices are quick to compute, since there it is faster, else
        "stratified"
    kernel_order : "given", or "cost" for the kernels that are cheapest at prediction first
    candidates : rows whose columns are priced in a round, drawn afresh each time; None for all; "auto" for all where
        `strategy` is "paper" and up to some ten thousand rows, else 4,096.  Where not all are priced, the certificate
        holds for the columns of the last round.
    tol : relative duality gap at which to stop
    max_iter : most rounds; -1 for 5000
    normalize : scaling of each kernel on the training rows: "trace" or "variance" (both mean diagonal 1: seen from the
        centre of the rows, no level would part them from it), "cosine" (every diagonal entry 1) or None
    engine : where work runs: "serial", "threads", an engine object, or None for threads where there is more than one
        worker; on a cluster "dask", a Dask client, or the address of a scheduler
    n_jobs : number of workers; -1 for every core, -2 for all but one, and so on; None for 1, as in scikit-learn,
        unless a ``joblib.parallel_config`` says otherwise
    memory_limit : memory for what is held of the kernels, in bytes or as a text such as "4GB"; "auto" for half of the
        free memory
    checkpoint : file that keeps how far a fit has come, written every minute, or a pair (file, seconds); a fit to the
        same rows with the same parameters goes on from there, also after a crash and on another machine
    callbacks : list of functions that are called with the progress after each round; a true answer stops the fit
    verbose : 1 logs each round
    random_state : seed of the draws

    Attributes
    ----------
    columns_ : records of kernel, example (training row), coefficient and output (always 0)
    n_columns_per_kernel_ : (m,)
    kernel_names_ : (m,), the kernels as given
    kernels_ : the kernels as they are used: fitted to the rows and scaled
    training_rows_ : numbers of the rows that were trained on: those with a weight that were not held out
    support_ : numbers of the training rows that are kept: those with a column in any round
    intercept_ : (outputs,)
    offset_ : (1,), rho: the negative of `intercept_`
    reference_ : these rows
    expansion_ : what the model predicts with: scores and contributions of new rows, what was learned, bytes
    stages_ : the columns and intercepts of each round, for `staged_predict`, one for each output
    objective_ : primal objective, summed over the outputs
    dual_objective_ : lower bound of the optimum, summed over the outputs
    duality_gap_ : relative gap between the two, the worst over the outputs
    certificate_ : prices of the rows that prove the bound, intercepts and objectives
    scanned_ : "all" where the bound holds for the problem over all columns, else for how many it holds at least
    stopped_by_ : the rule that ended the fit, for each output
    kernel_why_ : why these kernels were taken; "as given" where they were named
    solver_ : the solver that ran
    solver_why_ : why it was this one; "as asked" where it was named
    memory_plan_ : how the columns were held: `kind`, `bytes`, `why`; `parts` has a plan for each kernel, with what was
        `passed_over`, (kind, reason) each
    trace_ : by round seconds, primal, dual, gap, train_error, validation_error, columns, scanned, made, columns_0, ...
    n_iter_ : rounds, the most over the outputs
    converged_ : whether a rule that was asked for, or the optimum, ended it
    certifies_ : the problem of the certificate: that of the class ("svm", "mkl", "mixture"), or the one solved instead
        ("smoothed", "fixed weights", "mkl of factorised kernels", "mixture of sampled columns")
    n_features_in_ : columns of the training table, where rows were a table
    feature_names_in_ : names of these columns, where it had names

    Examples
    --------
    >>> import numpy as np, kernelweave as kw
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = kw.CGBoostNovelty(kw.RBF.grid([0.5, 2.0, 8.0]), nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    _kinds = ("one_class",)

    def __init__(
        self,
        kernels: Any = None,
        nu: float = 0.5,
        penalty: str = "l1",
        positive: bool = False,
        termination: Any = "TR2",
        patience: int | str = "auto",
        columns_per_round: int | str = "auto",
        strategy: str = "auto",
        kernel_order: str = "given",
        candidates: int | str | None = "auto",
        tol: float = 1e-3,
        max_iter: int = -1,
        normalize: str | None = "trace",
        engine: Any = None,
        n_jobs: int | None = None,
        memory_limit: float | str = "auto",
        checkpoint: Any = None,
        callbacks: tuple = (),
        verbose: int = 0,
        random_state: Any = 0,
    ):
        self.kernels = kernels
        self.nu = nu
        self.penalty = penalty
        self.positive = positive
        self.termination = termination
        self.patience = patience
        self.columns_per_round = columns_per_round
        self.strategy = strategy
        self.kernel_order = kernel_order
        self.candidates = candidates
        self.tol = tol
        self.max_iter = max_iter
        self.normalize = normalize
        self.engine = engine
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.callbacks = callbacks
        self.verbose = verbose
        self.random_state = random_state

    @watched
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, validation: Any = None) -> Self:
        """Learn where the rows of X lie; y is ignored.

        ``validation=(X, y)`` are rows that judge the rounds, with labels 1 (normal) and -1 (novel).
        """
        X = self._rows(X)
        if validation is None and "TR3" in self._rules().termination:
            raise ValueError("TR3 needs labelled validation rows; pass them to fit as validation=(X, y).")
        found = self._learns.read(self, X, y, sample_weight)
        self._fit(X, found, validation, found.y)
        self.offset_ = -self.intercept_
        return self

    def _judges(self, X: Any, y: Any) -> ValidationRows:
        """Return validation rows, checked."""
        X = new_rows(self, loaded(X, self.memory_limit), self._kernel_list.described())
        y = targets(X, y)
        if not np.isin(y, (NOVEL, NORMAL)).all():
            raise ValueError("Validation rows of novelty detection must have the labels 1 (normal) and -1 (novel).")
        if "TR3" in self._rules().termination and len(np.unique(y)) < 2:
            raise ValueError(
                "TR3 needs both normal (1) and novel (-1) validation rows: where all have the same label, a model that "
                "predicts it for every row has no error."
            )
        return ValidationRows(X, y.astype(float), np.ones(len(y)))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield the decision values after each round; the last ones are those of `decision_function`."""
        yield from self._staged_decisions(X)
