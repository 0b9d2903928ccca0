"""scikit-learn estimators, the checking of user input, and model files."""

from kernelweave.estimators.cgboost.classifier import CGBoostClassifier
from kernelweave.estimators.cgboost.novelty import CGBoostNovelty
from kernelweave.estimators.cgboost.regressor import CGBoostRegressor
from kernelweave.estimators.files.persistence import load, save
from kernelweave.estimators.mkl.classifier import MKLClassifier
from kernelweave.estimators.mkl.cv import MKLClassifierCV
from kernelweave.estimators.mkl.novelty import MKLNovelty
from kernelweave.estimators.mkl.regressor import MKLRegressor
from kernelweave.estimators.one.classifier import KernelClassifier
from kernelweave.estimators.one.novelty import KernelNovelty
from kernelweave.estimators.one.regressor import KernelRegressor

__all__ = [
    "CGBoostClassifier",
    "CGBoostNovelty",
    "CGBoostRegressor",
    "KernelClassifier",
    "KernelNovelty",
    "KernelRegressor",
    "MKLClassifier",
    "MKLClassifierCV",
    "MKLNovelty",
    "MKLRegressor",
    "load",
    "save",
]
