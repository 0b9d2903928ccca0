"""scikit-learn estimators, the checking of user input, and model files."""

from kernelweave.estimators.classifier import KernelClassifier
from kernelweave.estimators.novelty import KernelNovelty
from kernelweave.estimators.persistence import load, save
from kernelweave.estimators.regressor import KernelRegressor

__all__ = ["KernelClassifier", "KernelNovelty", "KernelRegressor", "load", "save"]
