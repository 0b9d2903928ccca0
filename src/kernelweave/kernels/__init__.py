"""Kernels: descriptions of similarities with scikit-learn parameters and no data, one file per family."""

from kernelweave.kernels.abilities import Elementwise, Features
from kernelweave.kernels.approximate.cholesky import IncompleteCholesky
from kernelweave.kernels.approximate.fourier import Fourier
from kernelweave.kernels.approximate.nystrom import Nystrom
from kernelweave.kernels.base import Kernel
from kernelweave.kernels.compose import Cosine, On, Product, Scaled, Sum, per_feature
from kernelweave.kernels.given.identity import Identity
from kernelweave.kernels.given.precomputed import Precomputed
from kernelweave.kernels.induced import InducedRBF
from kernelweave.kernels.positional.weighted_degree import WeightedDegree
from kernelweave.kernels.positional.windows import Windows
from kernelweave.kernels.reference import reference
from kernelweave.kernels.registry import build, describe, parse, register
from kernelweave.kernels.strings.gappy.kernel import GappyNGram
from kernelweave.kernels.strings.inexact.gapped import GappedKmer
from kernelweave.kernels.strings.inexact.lsgkm import LSGKM
from kernelweave.kernels.strings.inexact.mismatch import Mismatch
from kernelweave.kernels.strings.ngram import NGram
from kernelweave.kernels.strings.rational.kernel import Rational
from kernelweave.kernels.strings.spectrum import Spectrum
from kernelweave.kernels.strings.tfidf import TfIdf
from kernelweave.kernels.vector.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid

__all__ = [
    "LSGKM",
    "RBF",
    "Cosine",
    "Elementwise",
    "Features",
    "Fourier",
    "GappedKmer",
    "GappyNGram",
    "Identity",
    "IncompleteCholesky",
    "InducedRBF",
    "Kernel",
    "Laplacian",
    "Linear",
    "Mismatch",
    "NGram",
    "Nystrom",
    "On",
    "Polynomial",
    "Precomputed",
    "Product",
    "Rational",
    "Scaled",
    "Sigmoid",
    "Spectrum",
    "Sum",
    "TfIdf",
    "WeightedDegree",
    "Windows",
    "build",
    "describe",
    "parse",
    "per_feature",
    "reference",
    "register",
]
