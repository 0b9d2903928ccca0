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
from kernelweave.interpret.weights import WeightStability, alike_kernels, weight_stability

__all__ = [
    "Confusion",
    "Curves",
    "Interval",
    "WeightStability",
    "accuracy",
    "alike_kernels",
    "auprc",
    "auroc",
    "bootstrap_curves",
    "bootstrap_scores",
    "confusion_at_precision",
    "curves",
    "weight_stability",
]
