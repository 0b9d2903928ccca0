"""Pictures of the numbers in `kernelweave.interpret`: displays that compute once and draw many times."""

from kernelweave.plots.convergence import ConvergenceDisplay
from kernelweave.plots.curves import CurvesDisplay
from kernelweave.plots.explained.lattices import LatticeDisplay
from kernelweave.plots.explained.locus import LocusDisplay
from kernelweave.plots.explained.logos import LogoDisplay
from kernelweave.plots.explained.maps import ExplanationMapDisplay
from kernelweave.plots.explained.places import PlacesDisplay
from kernelweave.plots.explained.text import TextDisplay
from kernelweave.plots.grams import NGramDisplay
from kernelweave.plots.judged import CalibrationDisplay, ConfusionDisplay, ScoresDisplay
from kernelweave.plots.kmers import KmerDisplay, PoimDisplay
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
    "LatticeDisplay",
    "LocusDisplay",
    "LogoDisplay",
    "NGramDisplay",
    "PlacesDisplay",
    "PoimDisplay",
    "PositionWeightsDisplay",
    "RoundsDisplay",
    "ScoresDisplay",
    "TextDisplay",
    "WeightPathDisplay",
]
