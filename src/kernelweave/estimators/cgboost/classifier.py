"""Classification by sparse mixtures of kernels."""

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
from kernelweave.estimators.predicting import Classifying
from kernelweave.estimators.targets import label_signs


class CGBoostClassifier(Classifying, CGBoostEstimator):
    """Sparse mixture of kernels, one coefficient for each kernel and training row, with a certificate.

    Minimises ``R(a) + C sum_i s_i max(0, 1 - y_i f(x_i))`` with ``f(x) = sum_j a_j K_p(x, x_i) + b``, where each column
    j is a kernel p and a training row i, and R is the sum of ``|a_j|`` or half that of ``a_j^2 / s_i``: a weight s_i
    means as many equal rows.  Columns enter as they are needed, in an order that `strategy` says.  Several
    classes are separated one against the rest.

    Parameters
    ----------
    kernels : list of kernels (or texts such as "rbf:0.5") by falling priority, not necessarily positive semi-definite;
        None for a linear kernel and Gaussians of three widths
    C : cost of an error: the larger, the closer the fit to the training rows
    loss : "hinge", or "nu_classification", where `nu` bounds the share of margin errors in place of C (with the 1-norm
        C then has no influence)
    nu : in (0, 1], for "nu_classification"
    penalty : "l1" (few columns, a linear programme) or "l2" (nearly all columns, a quadratic one)
    positive : whether coefficients must not be negative
    termination : when to stop, one rule or several: "TR1" no row with a loss has a column that would help, "TR2" no row
        at all has one (optimal within `tol`), "TR3" the validation error has not improved for `patience` rounds (the
        best round is kept), "TR4" `max_iter` rounds are done.  An optimum always ends the fit.
    validation_fraction : share of the rows held out to judge the rounds; None for a fifth with "TR3", else for none
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
    fit_intercept : True (free), "regularized" (adds ``|b|`` or ``b^2 / 2`` to the penalty) or False
    normalize : scaling of each kernel on the training rows: "trace" (mean diagonal 1), "cosine" (every diagonal entry
        1), "variance" (centred, mean diagonal 1) or None
    class_weight : dict of weights by class, "balanced" to give every class the same total weight, or None
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
    random_state : seed of the rows held out and of the draws

    Attributes
    ----------
    classes_ : (classes,), the labels in sorted order
    columns_ : records of kernel, example (training row), coefficient and output (0 unless there are several classes)
    n_columns_per_kernel_ : (m,), or (classes, m) with several classes
    kernel_names_ : (m,), the kernels as given
    kernels_ : the kernels as they are used: fitted to the rows and scaled
    training_rows_ : numbers of the rows that were trained on: those with a weight that were not held out
    support_ : numbers of the training rows that are kept: those with a column in any round
    intercept_ : (outputs,)
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
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_stars(200, random_state=0)
    >>> model = kw.CGBoostClassifier([kw.Linear(), kw.RBF(width=1.0)], C=1.0).fit(X, y)
    >>> model.scanned_, model.duality_gap_ <= 1e-3, len(model.columns_) < 100
    ('all', True, True)
    """

    _kinds = ("hinge", "nu_classification")

    def __init__(
        self,
        kernels: Any = None,
        C: float = 1.0,
        loss: str = "hinge",
        nu: float = 0.5,
        penalty: str = "l1",
        positive: bool = False,
        termination: Any = "TR2",
        validation_fraction: float | None = None,
        patience: int | str = "auto",
        columns_per_round: int | str = "auto",
        strategy: str = "auto",
        kernel_order: str = "given",
        candidates: int | str | None = "auto",
        tol: float = 1e-3,
        max_iter: int = -1,
        fit_intercept: bool | str = True,
        normalize: str | None = "trace",
        class_weight: Any = None,
        engine: Any = None,
        n_jobs: int | None = None,
        memory_limit: float | str = "auto",
        checkpoint: Any = None,
        callbacks: tuple = (),
        verbose: int = 0,
        random_state: Any = 0,
    ):
        self.kernels = kernels
        self.C = C
        self.loss = loss
        self.nu = nu
        self.penalty = penalty
        self.positive = positive
        self.termination = termination
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.columns_per_round = columns_per_round
        self.strategy = strategy
        self.kernel_order = kernel_order
        self.candidates = candidates
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.normalize = normalize
        self.class_weight = class_weight
        self.engine = engine
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.callbacks = callbacks
        self.verbose = verbose
        self.random_state = random_state

    @watched
    def fit(self, X: Any, y: Any, sample_weight: Any = None, validation: Any = None) -> Self:
        """Learn from the rows of X and their labels.

        Parameters
        ----------
        X : table (numpy, scipy sparse, DataFrame), Sequences, Lattices, list of texts or of lists of
            words, or named views (dict, Views)
        y : (n,) labels of two or more classes
        sample_weight : (n,) non-negative weights of the rows; a row of weight 0 has no column
        validation : rows and labels (X, y) that judge the rounds, in place of `validation_fraction`
        """
        X = self._rows(X)
        found = self._learns.read(self, X, y, sample_weight)
        self._fit(X, found, validation, found.y)
        return self

    def _judges(self, X: Any, y: Any) -> ValidationRows:
        """Return validation rows, checked."""
        X = new_rows(self, loaded(X, self.memory_limit), self._kernel_list.described())
        y = targets(X, y)
        strange = np.setdiff1d(y, self.classes_)
        if len(strange):
            raise ValueError(f"The rows have the class {strange.tolist()[0]!r}, which the training rows do not have.")
        return ValidationRows(X, y, np.ones(len(y)))

    def _judged(self, held: ValidationRows) -> Array:
        return label_signs(held.y, self.classes_)

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield the decision values after each round; the last ones are those of `decision_function`."""
        yield from self._staged_decisions(X)
