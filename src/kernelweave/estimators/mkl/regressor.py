"""Regression with many kernels."""

from __future__ import annotations

from typing import Any, Self

from kernelweave.estimators.callbacks import watched
from kernelweave.estimators.mkl.streaming import StreamingRegressor
from kernelweave.estimators.predicting import Regressing


class MKLRegressor(Regressing, StreamingRegressor):
    """Support vector regression or least squares on a learned combination of kernels, with a certificate.

    Parameters
    ----------
    kernels : list of kernels (or texts such as "rbf:0.5"), or what ``kw.WeightedDegree(20).per_position()`` returns;
        None for a linear kernel and Gaussians of three widths
    C : cost of an error: the larger, the closer the fit to the training rows
    loss : such as "epsilon_insensitive", "squared" or "huber:0.5", which sets delta; the manual lists all
    norm : p, at least 1; 1 selects few kernels, larger values spread the weight, infinity gives the plain sum
    epsilon : half-width of the tube in which errors are free
    solver : "auto", "silp", "silp_chunking", "level", "reduced_gradient", "hessian", "lp" or "smooth"; for
        kernels of rank one "linear_program"; on explicit features, in time linear in the rows, "block_coordinate",
        "svrg", "ufo", "obscure" or "proximal_gradient"; for rows of any number, on disk or not, "active_set"; or a
        baseline, "uniform", "best_single" or "alignment"
    solver_params : dict of parameters of the solver, such as ``{"smoothing": 0.5}`` for "smooth"; the manual lists them
        by solver.  On explicit features, ``{"feature_tolerance": 1e-4}`` says how well kernels without features of
        their own are factorised and ``{"feature_rank": 200}`` by how many features at most; ``{"total_rows":
        1_000_000}`` how many rows the stream of `partial_fit` has
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
    kernel_weights_ : (m,)
    kernel_names_ : (m,), the kernels as given
    kernels_ : the kernels as they are used: fitted to the rows and scaled
    support_ : (support,), numbers of the training rows that have a coefficient
    dual_coef_ : (outputs, support), the signed dual coefficients of these rows
    intercept_ : (outputs,)
    reference_ : the support rows, which new rows are compared with
    expansion_ : what the model predicts with: scores and contributions of new rows, what was learned, bytes
    coef_ : (outputs, features), of a model on explicit features, which has no support rows: its weights
    coef_offsets_ : (m + 1,), the first feature of each kernel in `coef_`
    coef_codes_ : for each kernel the codes of its features, None where features are numbered
    approximation_errors_ : (m,), how far the features of each kernel are off, relative to its mean diagonal
    rows_seen_ : rows of the stream so far, after `partial_fit`
    stream_ : state of the stream, after `partial_fit`: what the next block needs
    objective_ : primal objective, summed over the outputs
    dual_objective_ : lower bound of the optimum, summed over the outputs
    duality_gap_ : relative gap between the two, the worst over the outputs
    certificate_ : dual points, intercepts and objectives from which anyone can recompute the gap
    certifies_ : the problem of the certificate: that of the class ("svm", "mkl", "mixture"), or the one solved instead
        ("smoothed", "fixed weights", "mkl of factorised kernels", "mixture of sampled columns")
    kernel_why_ : why these kernels were taken; "as given" where they were named
    solver_ : the solver that ran
    solver_why_ : why it was this one; "as asked" where it was named
    memory_plan_ : how the kernels were held: `kind`, `bytes`, `why`, and what was `passed_over`, (kind, reason) each
    trace_ : seconds, primal, dual and gap of each iteration
    n_iter_ : iterations, the most over the outputs
    converged_ : whether `tol` was reached
    n_features_in_ : columns of the training table, where rows were a table
    feature_names_in_ : names of these columns, where it had names

    Examples
    --------
    >>> import numpy as np, kernelweave as kw
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = kw.MKLRegressor(kw.RBF.grid([0.01, 1.0, 100.0]), C=10.0).fit(X, np.sin(X[:, 0]))
    >>> int(model.kernel_weights_.argmax())
    1
    """

    def __init__(
        self,
        kernels: Any = None,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        norm: float = 1.0,
        epsilon: float = 0.1,
        solver: str = "auto",
        solver_params: dict[str, Any] | None = None,
        tol: float = 1e-3,
        max_iter: int = -1,
        fit_intercept: bool | str = True,
        normalize: str | None = "trace",
        engine: Any = None,
        n_jobs: int | None = None,
        memory_limit: float | str = "auto",
        checkpoint: Any = None,
        callbacks: tuple = (),
        verbose: int = 0,
    ):
        self.kernels = kernels
        self.C = C
        self.loss = loss
        self.norm = norm
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
