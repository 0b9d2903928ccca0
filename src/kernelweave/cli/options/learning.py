"""Options about the model that is trained."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from kernelweave.cli.options.groups import LEARN, option
from kernelweave.cli.options.placing import Placing


@dataclass(frozen=True)
class Boosting:
    """What is asked of a mixture of kernel columns."""

    penalty: Annotated[
        Literal["l1", "l2"] | None,
        option(LEARN, "For cgboost: l1 has few coefficients (default), l2 many small ones.", metavar="NORM"),
    ] = None
    termination: Annotated[
        str | None,
        option(
            LEARN,
            "For cgboost: TR1 no row with a loss asks for more, TR2 optimal (default), TR3 held-out rows stop "
            "improving, TR4 --max-iter rounds; several with commas.",
            metavar="RULES",
        ),
    ] = None
    validation_fraction: Annotated[
        float | None, option(LEARN, "For cgboost: share of the rows held out to judge the rounds (a fifth with TR3).")
    ] = None
    patience: Annotated[
        int | None,
        option(
            LEARN,
            "For cgboost: rounds without a better error on held-out rows that end TR3 (default 5).",
            min=1,
            metavar="N",
        ),
    ] = None
    kernel_order: Annotated[
        Literal["given", "cost"] | None,
        option(
            LEARN,
            "For cgboost: ask the kernels as given (default), or by cost, those that predict cheapest first; the "
            "optimum does not depend on it.",
            metavar="ORDER",
        ),
    ] = None
    positive: Annotated[bool, option(LEARN, "For cgboost: no coefficient may be negative.", "--positive")] = False

    def given(self) -> dict[str, Any]:
        """Return the parameters of an estimator, None for those that were not given."""
        return {
            "penalty": self.penalty,
            "positive": self.positive or None,
            "kernel_order": self.kernel_order,
            "termination": self.rules or None,
            "patience": self.patience,
            "validation_fraction": self.validation_fraction,
        }

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that end a fit, as far as they were given."""
        return tuple(rule.strip() for rule in self.termination.split(",")) if self.termination else ()


@dataclass(frozen=True)
class Effort:
    """How long, and with what, to train."""

    tol: Annotated[float | None, option(LEARN, "Relative duality gap at which to stop (default 0.001).")] = None
    max_iter: Annotated[int | None, option(LEARN, "Most iterations (default the limit of the solver).")] = None
    memory_limit: Annotated[
        str | None,
        option(LEARN, "Memory for the kernel matrix, such as 4GB (default half of the free).", metavar="SIZE"),
    ] = None
    jobs: Annotated[int | None, option(LEARN, "Number of threads (default one for each core).")] = None

    checkpoint: Annotated[
        str | None,
        option(
            LEARN,
            "Keep how far the training has come in this file; the same command goes on from there, also after a crash "
            "and on another machine.",
            metavar="FILE",
        ),
    ] = None
    checkpoint_every: Annotated[
        float | None, option(LEARN, "Seconds between two writes of the checkpoint (default 60).", min=0.0)
    ] = None

    dry_run: Annotated[
        bool,
        option(
            LEARN,
            "Train and write nothing: show how kernels would be held and solved, and for rows that are worked through "
            "part by part bytes, rounds and hours, from two samples that are solved.",
            "--dry-run",
        ),
    ] = False

    def given(self) -> dict[str, Any]:
        """Return the parameters of an estimator, None for those that were not given."""
        if self.checkpoint_every is not None and self.checkpoint is None:
            raise ValueError("--checkpoint-every is about the file that --checkpoint names; give it too.")
        place = self.checkpoint if self.checkpoint_every is None else (self.checkpoint, self.checkpoint_every)
        limits = {"tol": self.tol, "max_iter": self.max_iter, "memory_limit": self.memory_limit}
        return {**limits, "n_jobs": self.jobs, "checkpoint": place}


@dataclass(frozen=True)
class Learning:
    """What to learn; None where the command line does not say."""

    kernel: Annotated[
        list[str] | None,
        option(
            LEARN,
            "rbf, rbf:0.5, rbf:width=2, poly:3, linear, laplacian, wd:20, spectrum:6, ngram:5, precomputed, ...; "
            "chosen by the kind of data if not given. Given several times, one weight is learned for each kernel.",
            metavar="KERNEL",
        ),
    ] = None
    kernels: Annotated[
        Literal["degrees", "positions", "lengths", "views"] | None,
        option(
            LEARN,
            "Learn a weight for each part: degrees (lengths of k-mers at their place), positions (windows of them), "
            "lengths (of k-mers anywhere), or views; of the kernel that --kernel names.",
            metavar="PARTS",
        ),
    ] = None
    method: Annotated[
        Literal["kernel", "mkl", "cgboost"] | None,
        option(
            LEARN,
            "kernel: one kernel (default); mkl: several, one weight each (default for several); cgboost: several, the "
            "cheap ones first, one coefficient for each kernel and row, few of them not zero.",
            "--model",
            metavar="NAME",
        ),
    ] = None
    norm: Annotated[
        float | None,
        option(
            LEARN,
            "Norm of the kernel weights: 1 chooses few kernels (default), 2 spreads the weight; with several views, "
            "one weight is learned for each view.",
            metavar="P",
        ),
    ] = None
    task: Annotated[
        Literal["classify", "regress", "novelty"],
        option(LEARN, "What to learn: classify (default), regress or novelty.", metavar="TASK"),
    ] = "classify"
    C: Annotated[
        float | None, option(LEARN, "Cost of an error; larger fits the rows more closely (default 1).", "--C", "-C")
    ] = None
    loss: Annotated[
        str | None,
        option(
            LEARN,
            "What an error costs (default hinge, to regress epsilon_insensitive); a parameter comes after a colon, as "
            "in smooth_hinge:2. A name that is unknown for the task is answered with the list.",
            metavar="LOSS",
        ),
    ] = None
    epsilon: Annotated[float | None, option(LEARN, "Errors up to this size are free, to regress (default 0.1).")] = None
    nu: Annotated[
        float | None, option(LEARN, "Share of the rows that may lie outside, for novelty and nu losses (default 0.5).")
    ] = None
    boosting: Boosting = field(default_factory=Boosting)
    class_weight: Annotated[
        Literal["balanced"] | None,
        option(LEARN, "balanced: rare classes count as much as frequent ones.", metavar="HOW"),
    ] = None
    solver: Annotated[
        str | None,
        option(
            LEARN,
            "How to solve it (default: what is quickest); svrg is for very many rows, with --loss logistic and "
            "--norm 2.",
            metavar="NAME",
        ),
    ] = None
    normalize: Annotated[
        Literal["none", "trace", "cosine", "variance"] | None,
        option(
            LEARN,
            "Scaling of the kernel: none, trace, cosine or variance. Default: cosine for sequences; trace with wd "
            "kernels, and for several kernels on tables; none for one kernel on a table.",
            metavar="HOW",
        ),
    ] = None
    standardize: Annotated[
        bool, option(LEARN, "Bring every column of a table to mean 0 and variance 1 first.", "--standardize")
    ] = False
    effort: Effort = field(default_factory=Effort)
    placing: Placing = field(default_factory=Placing)

    def given(self) -> dict[str, Any]:
        """Return the parameters of an estimator, None for those that were not given."""
        names = ("C", "loss", "epsilon", "nu", "class_weight", "solver")
        own = {name: getattr(self, name) for name in names}
        engine = {"engine": self.placing.chosen()}
        return {**own, **self.effort.given(), **engine, **self.boosting.given(), "norm": self.norm}
