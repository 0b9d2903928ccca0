"""Numbers from fitted models and their predictions."""

from kernelweave.interpret.classes import ClassReport, class_report
from kernelweave.interpret.errors import bootstrap_errors
from kernelweave.interpret.features import FeatureWeight, top_features
from kernelweave.interpret.grams import NGramWeight, top_ngrams
from kernelweave.interpret.motifs import top_motifs
from kernelweave.interpret.parts import readable
from kernelweave.interpret.poim import Poim, PoimLengths, poim, poim_lengths
from kernelweave.interpret.positional import (
    DegreeWeights,
    Kmer,
    PositionWeights,
    cell_weights,
    top_kmers,
    weights_by_degree,
    weights_by_position,
)
from kernelweave.interpret.reliability import Reliability, reliability
from kernelweave.interpret.scores import (
    Confusion,
    Curves,
    Interval,
    accuracy,
    auprc,
    auroc,
    bootstrap_curves,
    bootstrap_scores,
    confusion,
    confusion_at_precision,
    curves,
)
from kernelweave.interpret.view_importance import ViewImportance, view_importance
from kernelweave.interpret.weights import WeightStability, alike_kernels, weight_stability

__all__ = [
    "ClassReport",
    "Confusion",
    "Curves",
    "DegreeWeights",
    "FeatureWeight",
    "Interval",
    "Kmer",
    "NGramWeight",
    "Poim",
    "PoimLengths",
    "PositionWeights",
    "Reliability",
    "ViewImportance",
    "WeightStability",
    "accuracy",
    "alike_kernels",
    "auprc",
    "auroc",
    "bootstrap_curves",
    "bootstrap_errors",
    "bootstrap_scores",
    "cell_weights",
    "class_report",
    "confusion",
    "confusion_at_precision",
    "curves",
    "poim",
    "poim_lengths",
    "readable",
    "reliability",
    "top_features",
    "top_kmers",
    "top_motifs",
    "top_ngrams",
    "view_importance",
    "weight_stability",
    "weights_by_degree",
    "weights_by_position",
]
