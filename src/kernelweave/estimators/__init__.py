"""scikit-learn estimators, the checking of user input, and model files; each is loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelweave.estimators.cgboost.classifier import CGBoostClassifier
    from kernelweave.estimators.cgboost.novelty import CGBoostNovelty
    from kernelweave.estimators.cgboost.regressor import CGBoostRegressor
    from kernelweave.estimators.files.persistence import load, save
    from kernelweave.estimators.mkl.classifier import MKLClassifier
    from kernelweave.estimators.mkl.cv import MKLClassifierCV
    from kernelweave.estimators.mkl.novelty import MKLNovelty
    from kernelweave.estimators.mkl.regressor import MKLRegressor
    from kernelweave.estimators.mkl.regressor_cv import MKLRegressorCV
    from kernelweave.estimators.one.classifier import KernelClassifier
    from kernelweave.estimators.one.novelty import KernelNovelty
    from kernelweave.estimators.one.regressor import KernelRegressor
    from kernelweave.estimators.views.learned import KernelTransformer, learned_kernel
    from kernelweave.estimators.views.transformer import ViewTransformer

_HOME = {
    "CGBoostClassifier": "cgboost.classifier",
    "CGBoostNovelty": "cgboost.novelty",
    "CGBoostRegressor": "cgboost.regressor",
    "KernelClassifier": "one.classifier",
    "KernelNovelty": "one.novelty",
    "KernelRegressor": "one.regressor",
    "KernelTransformer": "views.learned",
    "MKLClassifier": "mkl.classifier",
    "MKLClassifierCV": "mkl.cv",
    "MKLNovelty": "mkl.novelty",
    "MKLRegressor": "mkl.regressor",
    "MKLRegressorCV": "mkl.regressor_cv",
    "ViewTransformer": "views.transformer",
    "learned_kernel": "views.learned",
    "load": "files.persistence",
    "save": "files.persistence",
}

__all__ = [
    "CGBoostClassifier",
    "CGBoostNovelty",
    "CGBoostRegressor",
    "KernelClassifier",
    "KernelNovelty",
    "KernelRegressor",
    "KernelTransformer",
    "MKLClassifier",
    "MKLClassifierCV",
    "MKLNovelty",
    "MKLRegressor",
    "MKLRegressorCV",
    "ViewTransformer",
    "learned_kernel",
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    """Load an estimator at its first use and keep it."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
