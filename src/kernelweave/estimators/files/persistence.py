"""Model files: `kernelweave.estimators.files.container` with a tree of the model.

The body is the "model" (see `kernelweave.estimators.files.tree`): nested objects of JSON, with arrays named in it.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from kernelweave.data.atomic import PathLike
from kernelweave.estimators.files.container import MODELS
from kernelweave.estimators.files.misfit import UNREADABLE, misfit
from kernelweave.estimators.files.tree import Reader, Writer, estimators

VERSION = MODELS.version
"""Version of the format; raised when an older library could not read what a newer one writes."""


def save(model: BaseEstimator, path: PathLike) -> None:
    """Write a fitted model to one file, which appears whole or not at all.

    Callbacks and engine objects belong to the process that fitted and are not kept.

    Parameters
    ----------
    model : a fitted estimator of this library, or a scikit-learn Pipeline of a StandardScaler and one
    path : the file; one that exists is replaced, a pipe or a device is written to

    Examples
    --------
    >>> import tempfile, os, numpy as np, kernelweave as kw
    >>> model = kw.KernelClassifier(kw.RBF(width=1.0)).fit([[0.0], [1.0], [2.0]], ["low", "low", "high"])
    >>> path = os.path.join(tempfile.mkdtemp(), "small.kw")
    >>> kw.save(model, path)
    >>> kw.load(path).predict([[0.1], [2.2]])
    array(['low', 'high'], dtype='<U4')
    """
    name = type(model).__name__
    if estimators().get(name) is not type(model):
        raise TypeError(f"A {name} cannot be saved; known models are {', '.join(estimators())}.")
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise NotFittedError(f"This {name} is not fitted yet, so there is nothing to save; call fit first.") from None
    writer = Writer()
    node = writer.node(model)
    MODELS.write(path, {"model": node}, writer.tensors)


def load(path: PathLike) -> Any:
    """Return the model of a file that `save` wrote; on one machine it predicts what the saved one did, to the last bit.

    Parameters
    ----------
    path : the file; a truncated, changed or foreign one raises a ValueError that says so
    """
    header, tensors = MODELS.read(path)
    try:
        model = Reader(tensors).value(header["model"])
    except UNREADABLE as error:
        raise ValueError(f"{path} holds a model that cannot be read: {misfit(error)}.") from None
    if not isinstance(model, BaseEstimator):
        raise ValueError(f"{path} holds a {type(model).__name__}, expected a model.")
    return model


def read_header(path: PathLike) -> dict[str, Any]:
    """Return the JSON part of a model file: format, version, library, digest and the tree of the model.

    Parameters
    ----------
    path : the file

    Examples
    --------
    >>> import tempfile, os, kernelweave as kw
    >>> path = os.path.join(tempfile.mkdtemp(), "small.kw")
    >>> kw.save(kw.KernelNovelty("linear").fit([[1.0], [2.0]]), path)
    >>> read_header(path)["version"]
    2
    """
    return MODELS.header(path)
