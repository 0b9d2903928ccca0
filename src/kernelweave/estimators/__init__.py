"""scikit-learn estimators, the checking of user input, and model files."""

from kernelweave.estimators.cgboost_classifier import CGBoostClassifier
from kernelweave.estimators.cgboost_novelty import CGBoostNovelty
from kernelweave.estimators.cgboost_regressor import CGBoostRegressor
from kernelweave.estimators.classifier import KernelClassifier
from kernelweave.estimators.mkl_classifier import MKLClassifier
from kernelweave.estimators.mkl_cv import MKLClassifierCV
from kernelweave.estimators.mkl_novelty import MKLNovelty
from kernelweave.estimators.mkl_regressor import MKLRegressor
from kernelweave.estimators.novelty import KernelNovelty
from kernelweave.estimators.persistence import load, save
from kernelweave.estimators.regressor import KernelRegressor

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
