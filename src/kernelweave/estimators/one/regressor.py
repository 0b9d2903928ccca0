"""Regression with one kernel."""

from __future__ import annotations

from typing import Any, Self

from kernelweave.estimators.callbacks import watched
from kernelweave.estimators.one.base import KernelEstimator
from kernelweave.estimators.predicting import Regressing


class KernelRegressor(Regressing, KernelEstimator):
    """Support vector regression and kernel least squares, with a certificate.

    Minimises ``1/2 |w|^2 + C sum_i s_i loss(f(x_i), y_i)``.

    Parameters
    ----------
    kernel : Kernel, a text such as "rbf:0.5" or "wd:20", or a function of two blocks of rows, ``kernel(X, Y)``, as
        ``SVC`` takes it; None for an RBF that follows the scale of the data
    C : cost of an error: the larger, the closer the fit to the training rows
    loss : such as "epsilon_insensitive", "squared" or "huber:0.5", which sets delta; the manual lists all
    epsilon : half-width of the tube in which errors are free
    solver : "auto", "smo", "chunking", "dual_coordinate" or "interior_point" (kernels with explicit features, many or
        few), "newton" (differentiable losses) or "active_set" (rows of any number, on disk or in memory)
    solver_params : dict of parameters of the solver, such as ``{"chunk_size": 1024}`` for "chunking"; the manual lists
        them by solver
    tol : relative duality gap at which to stop
    max_iter : most iterations; -1 for the limit of the solver, which the manual lists
    fit_intercept : True (free and exact), "regularized" (adds ``b^2 / 2`` to the objective) or False
    normalize : scaling of each kernel on the training rows: "trace" (mean diagonal 1), "cosine" (every diagonal entry
        1), "variance" (centred, mean diagonal 1) or None
    engine : where work runs: "serial", "threads", an engine object, or None for threads where there is more than one
        worker; on a cluster "dask", a Dask client, or the address of a scheduler
    n_jobs : number of workers; -1 for every core, -2 for all but one, and so on; None for 1, as in scikit-learn,
        unless a ``joblib.parallel_config`` says otherwise
    memory_limit : memory for what is held of the kernels, in bytes or as a text such as "4GB"; "auto" for half of the
        free memory
    checkpoint : file that keeps how far a fit has come, written every minute, or a pair (file, seconds); a fit to the
        same rows with the same parameters goes on from there, also after a crash and on another machine
    callbacks : list of functions that are called with the progress after each iteration; a true answer stops the fit
    verbose : 1 logs each iteration

    Attributes
    ----------
    kernel_ : the kernel as it is used: fitted to the rows and scaled
    support_ : (support,), numbers of the training rows that have a coefficient
    dual_coef_ : (outputs, support), the signed dual coefficients of these rows
    intercept_ : (outputs,)
    reference_ : the support rows, which new rows are compared with
    expansion_ : what the model predicts with: scores and contributions of new rows, what was learned, bytes
    objective_ : primal objective, summed over the outputs
    dual_objective_ : lower bound of the optimum, summed over the outputs
    duality_gap_ : relative gap between the two, the worst over the outputs
    certificate_ : dual points, intercepts and objectives from which anyone can recompute the gap
    kernel_why_ : why these kernels were taken; "as given" where they were named
    solver_ : the solver that ran
    solver_why_ : why it was this one; "as asked" where it was named
    memory_plan_ : how the kernels were held: `kind`, `bytes`, `why`, and what was `passed_over`, (kind, reason) each
    trace_ : seconds, primal, dual and gap of each iteration
    n_iter_ : iterations, the most over the outputs
    converged_ : whether `tol` was reached
    certifies_ : the problem of the certificate: that of the class ("svm", "mkl", "mixture"), or the one solved instead
        ("smoothed", "fixed weights", "mkl of factorised kernels", "mixture of sampled columns")
    n_features_in_ : columns of the training table, where rows were a table
    feature_names_in_ : names of these columns, where it had names

    Examples
    --------
    >>> import numpy as np, kernelweave as kw
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = kw.KernelRegressor(kw.RBF(width=1.0), C=10.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> round(model.score(X, np.sin(X[:, 0])), 2)
    1.0
    """

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        epsilon: float = 0.1,
        solver: str = "auto",
        solver_params: dict[str, Any] | None = None,
        tol: float = 1e-3,
        max_iter: int = -1,
        fit_intercept: bool | str = True,
        normalize: str | None = None,
        engine: Any = None,
        n_jobs: int | None = None,
        memory_limit: float | str = "auto",
        checkpoint: Any = None,
        callbacks: tuple = (),
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.C = C
        self.loss = loss
        self.epsilon = epsilon
        self.solver = solver
        self.solver_params = solver_params
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.normalize = normalize
        self.engine = engine
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.callbacks = callbacks
        self.verbose = verbose

    @watched
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X and their real targets y (n,), weighted by sample_weight (n,)."""
        X = self._rows(X)
        self._fit(X, self._learns.read(self, X, y, sample_weight))
        return self
