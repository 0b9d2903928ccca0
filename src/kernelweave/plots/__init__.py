"""Pictures of the numbers in `kernelweave.interpret`: displays that compute once and draw many times."""

from kernelweave.plots.convergence import ConvergenceDisplay
from kernelweave.plots.curves import CurvesDisplay
from kernelweave.plots.grams import NGramDisplay
from kernelweave.plots.judged import CalibrationDisplay, ConfusionDisplay
from kernelweave.plots.kmers import KmerDisplay, PoimDisplay
from kernelweave.plots.logos import LogoDisplay
from kernelweave.plots.maps import ExplanationMapDisplay
from kernelweave.plots.positional import DegreeWeightsDisplay, PositionWeightsDisplay
from kernelweave.plots.rounds import RoundsDisplay
from kernelweave.plots.weight_path import WeightPathDisplay
from kernelweave.plots.weights import KernelWeightsDisplay

__all__ = [
    "CalibrationDisplay",
    "ConfusionDisplay",
    "ConvergenceDisplay",
    "CurvesDisplay",
    "DegreeWeightsDisplay",
    "ExplanationMapDisplay",
    "KernelWeightsDisplay",
    "KmerDisplay",
    "LogoDisplay",
    "NGramDisplay",
    "PoimDisplay",
    "PositionWeightsDisplay",
    "RoundsDisplay",
    "WeightPathDisplay",
]
