"""Numbers from fitted models and their predictions."""

from kernelweave.interpret.scores import (
    Confusion,
    Curves,
    Interval,
    accuracy,
    auprc,
    auroc,
    bootstrap_curves,
    bootstrap_scores,
    confusion_at_precision,
    curves,
)

__all__ = [
    "Confusion",
    "Curves",
    "Interval",
    "accuracy",
    "auprc",
    "auroc",
    "bootstrap_curves",
    "bootstrap_scores",
    "confusion_at_precision",
    "curves",
]
