"""Options about choosing a model by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from kernelweave.cli.options.groups import option

CHOOSE = "Choosing"
USUAL_CS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Values of C that are tried where the command line names nothing to choose from."""


@dataclass(frozen=True)
class Keeping:
    """What a model learns from rows that it has not seen, beside its decision values."""

    calibrate: Annotated[
        Literal["sigmoid", "isotonic", "temperature"] | None,
        option(
            CHOOSE,
            "Learn probabilities from held-out decision values: sigmoid (few rows), isotonic (any rising shape, for a "
            "thousand rows and more) or temperature; they are kept in the model.",
            metavar="HOW",
        ),
    ] = None
    hold_precision: Annotated[
        float | None,
        option(
            CHOOSE,
            "Keep with the model the threshold at which this share of its calls was right on held-out rows; predict "
            "and evaluate call rows by it.",
            metavar="SHARE",
            min=0.0,
            max=1.0,
        ),
    ] = None


@dataclass(frozen=True)
class Searching:
    """What to choose from, by what, and on which folds."""

    grid: Annotated[
        list[str] | None,
        option(
            CHOOSE,
            "A parameter and its values: C=0.1,1,10 or norm=1,2 or loss=hinge,logistic or smoothing=0.1,1; several "
            "times for all combinations (default C=0.01,0.1,1,10,100; none with -C).",
            metavar="NAME=VALUES",
        ),
    ] = None
    alternatives: Annotated[
        list[str] | None,
        option(CHOOSE, "A kernel to choose from, as for --kernel; give several.", "--try", metavar="KERNEL"),
    ] = None
    folds: Annotated[int, option(CHOOSE, "How many folds (default 5).", min=2, metavar="N")] = 5
    folds_by: Annotated[
        str | None,
        option(
            CHOOSE,
            "Rows that stay together: chromosome (of ids such as chr1:5-90), prefix:_ (ids up to the first _), "
            "clusters:0.5 (sequences that share half of their k-mers), or a file with lines of id TAB group.",
            metavar="RULE",
        ),
    ] = None
    score: Annotated[
        str | None,
        option(
            CHOOSE,
            "What to choose by: auroc (default for two classes), auprc, accuracy (for more), balanced_accuracy, mcc, "
            "f1, log_loss (with --loss logistic), r2 (default to regress), mae, rmse, or another name of scikit-learn.",
            metavar="NAME",
        ),
    ] = None
    halving: Annotated[
        bool, option(CHOOSE, "Try all on few rows, and the best third on three times as many, and so on.", "--halving")
    ] = False
    predictions: Annotated[
        str | None,
        option(
            CHOOSE,
            "File for what the chosen setting says of rows it has not seen: id, fold, label, decision value.",
            metavar="FILE",
        ),
    ] = None
    seed: Annotated[int, option(CHOOSE, "Seed of the folds (default 0).", min=0, metavar="N")] = 0
