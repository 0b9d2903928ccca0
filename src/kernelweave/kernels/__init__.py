"""Kernels: descriptions of similarities with scikit-learn parameters and no data, one file per family."""

from kernelweave.kernels.base import Elementwise, Embedding, FeatureMap, Kernel
from kernelweave.kernels.cholesky import IncompleteCholesky
from kernelweave.kernels.compose import Cosine, On, Product, Scaled, Sum, per_feature
from kernelweave.kernels.fourier import Fourier
from kernelweave.kernels.gapped import GappedKmer
from kernelweave.kernels.gappy import GappyNGram
from kernelweave.kernels.identity import Identity
from kernelweave.kernels.mismatch import Mismatch
from kernelweave.kernels.ngram import NGram
from kernelweave.kernels.nystrom import Nystrom
from kernelweave.kernels.precomputed import Precomputed
from kernelweave.kernels.rational import Rational
from kernelweave.kernels.reference import reference
from kernelweave.kernels.registry import build, describe, parse
from kernelweave.kernels.spectrum import Spectrum
from kernelweave.kernels.vector import RBF, Laplacian, Linear, Polynomial, Sigmoid
from kernelweave.kernels.weighted_degree import WeightedDegree
from kernelweave.kernels.windows import Windows

__all__ = [
    "RBF",
    "Cosine",
    "Elementwise",
    "Embedding",
    "FeatureMap",
    "Fourier",
    "GappedKmer",
    "GappyNGram",
    "Identity",
    "IncompleteCholesky",
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
    "WeightedDegree",
    "Windows",
    "build",
    "describe",
    "parse",
    "per_feature",
    "reference",
]
