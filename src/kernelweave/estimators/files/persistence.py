"""Model files: arrays as safetensors, everything else as JSON in the header, one file.

    8 bytes length of the header | header: names, types and places of the arrays, and the text "kernelweave" | arrays

The text is a JSON object: format, version, library (the version that wrote it), digest (SHA-256 over the rest of the
object and all arrays) and model (see `kernelweave.estimators.files.tree`).  A file holds data only: loading never runs
code.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from kernelweave._version import __version__
from kernelweave.data.atomic import PathLike, atomic_path, is_special
from kernelweave.estimators.files.tree import Reader, Writer, estimators

Array = np.ndarray
KEY = "kernelweave"
FORMAT = "kernelweave-model"
VERSION = 2
"""Version of the format; raised when an older library could not read what a newer one writes.

1: parameters and fitted attributes.  2: beside them what the model predicts with (`expansion_`), ready to use.
"""

UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, OverflowError)
"""What reading a tree whose parts do not fit together can raise."""


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
    from safetensors.numpy import save as as_bytes
    from safetensors.numpy import save_file

    name = type(model).__name__
    if estimators().get(name) is not type(model):
        raise TypeError(f"A {name} cannot be saved; known models are {', '.join(estimators())}.")
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise NotFittedError(f"This {name} is not fitted yet, so there is nothing to save; call fit first.") from None
    writer = Writer()
    body = {"format": FORMAT, "version": VERSION, "library": __version__, "model": writer.node(model)}
    text = json.dumps({**body, "digest": digest(body, writer.tensors)})
    with atomic_path(path) as aside:
        if is_special(path):  # save_file would put a file of its own in the place of a pipe or a device
            aside.write_bytes(as_bytes(writer.tensors, metadata={KEY: text}))
        else:
            save_file(writer.tensors, aside, metadata={KEY: text})


def load(path: PathLike) -> Any:
    """Return the model of a file that `save` wrote; on one machine it predicts what the saved one did, to the last bit.

    Parameters
    ----------
    path : the file; a truncated, changed or foreign one raises a ValueError that says so
    """
    header = read_header(path)
    tensors = _tensors(path)
    if header.get("digest") != digest({key: header[key] for key in header if key != "digest"}, tensors):
        raise ValueError(f"{path} is damaged or was changed after it was saved: its checksum does not match.")
    try:
        model = Reader(tensors).value(header["model"])
    except UNREADABLE as error:
        raise ValueError(f"{path} holds a model that cannot be read ({type(error).__name__}: {error}).") from None
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
    _check_start(path)
    with _open(path) as file:
        text = (file.metadata() or {}).get(KEY)
    if text is None:
        raise ValueError(f"{path} is a safetensors file, but not a kernelweave model.")
    try:
        header = json.loads(text)
        known = header["format"] == FORMAT and isinstance(header["version"], int)
    except UNREADABLE:
        known = False
    if not known:
        raise ValueError(f"{path} is damaged: the description of its model cannot be read.")
    if header["version"] > VERSION:
        raise ValueError(
            f"{path} was written by kernelweave {header.get('library')} in version {header['version']} of the model "
            f"format; kernelweave {__version__} reads up to version {VERSION}, a newer one is needed."
        )
    return header


def digest(body: dict[str, Any], tensors: dict[str, Array]) -> str:
    """Return the SHA-256 of a JSON object and named arrays, whatever their order."""
    sha = hashlib.sha256(json.dumps(body, sort_keys=True).encode())
    for name in sorted(tensors):
        values = tensors[name]
        sha.update(f"{name} {values.dtype.name} {values.shape}".encode())
        sha.update(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).data)
    return sha.hexdigest()


def _check_start(path: PathLike) -> None:
    """Raise unless a file begins as safetensors do: the length of the header, then a JSON object."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path} does not exist.")
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a directory, expected a model file.")
    with open(path, "rb") as file:
        start, size = file.read(9), os.fstat(file.fileno()).st_size
    if not start:
        raise ValueError(f"{path} is empty, expected a model file.")
    if len(start) == 9 and start[8:] != b"{":
        raise ValueError(f"{path} is not a kernelweave model file.")
    if len(start) < 9 or 8 + int.from_bytes(start[:8], "little") > size:
        raise ValueError(f"{path} is truncated or not a kernelweave model file.")


def _open(path: PathLike) -> Any:
    from safetensors import SafetensorError, safe_open

    try:
        return safe_open(path, framework="numpy")
    except SafetensorError as error:
        reason = "truncated" if "incomplete" in str(error) else "damaged"
        raise ValueError(f"{path} is {reason}: its header does not fit the data behind it.") from None


def _tensors(path: PathLike) -> dict[str, Array]:
    with _open(path) as file:
        return {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118 - no mapping
