"""Files of arrays and a JSON text, one format for models and checkpoints.

    8 bytes length of the header | header: names, types and places of the arrays, and the text "kernelweave" | arrays

The text is a JSON object: format, version, library (the version that wrote it), digest (SHA-256 over the rest of the
object and all arrays) and the body.  A file holds data only: reading it never runs code.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave._version import __version__
from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.estimators.files.misfit import UNREADABLE

Array = np.ndarray
KEY = "kernelweave"
DTYPES = {"f": "F{}", "i": "I{}", "u": "U{}", "b": "BOOL"}
"""What safetensors call numbers of some kind and so many bits."""


@dataclass(frozen=True)
class FileKind:
    """A kind of files.

    Parameters
    ----------
    format : what they call themselves
    version : the newest version of the format that is known
    noun : what messages call such a file: "model"
    other : formats of other kinds, and what to say of their files
    """

    format: str
    version: int
    noun: str
    other: dict[str, str]

    def write(self, path: PathLike, body: dict[str, Any], tensors: dict[str, Array]) -> None:
        """Write a file, which appears whole or not at all."""
        body = {"format": self.format, "version": self.version, "library": __version__, **body}
        text = json.dumps({**body, "digest": digest(body, tensors)})
        start, ordered = laid_out(tensors, {KEY: text})
        with open_aside(path, len(start) + sum(array.nbytes for array in ordered)) as file:
            file.write(start)
            for array in ordered:
                file.write(array.data)

    def read(self, path: PathLike) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the header and the arrays of a file, its checksum verified."""
        header = self.header(path)
        with _open(path) as file:
            tensors = {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118 - no mapping
        if header.get("digest") != digest({key: header[key] for key in header if key != "digest"}, tensors):
            raise ValueError(f"{path} is damaged or was changed after it was saved: its checksum does not match.")
        return header, tensors

    def header(self, path: PathLike) -> dict[str, Any]:
        """Return the JSON object of a file; what is no such file raises a sentence."""
        self._check_start(path)
        with _open(path) as file:
            text = (file.metadata() or {}).get(KEY)
        if text is None:
            raise ValueError(f"{path} is a safetensors file, but not a kernelweave {self.noun}.")
        try:
            header = json.loads(text)
            known = header["format"] == self.format and isinstance(header["version"], int)
        except UNREADABLE:
            header, known = {}, False
        if not known:
            said = self.other.get(header.get("format", "") if isinstance(header, dict) else "")
            raise ValueError(
                f"{path} {said}" if said else f"{path} is damaged: the description of its {self.noun} cannot be read."
            )
        if header["version"] > self.version:
            raise ValueError(
                f"{path} was written by kernelweave {header.get('library')} in version {header['version']} of the "
                f"{self.noun} format; kernelweave {__version__} reads up to version {self.version}, a newer one is "
                "needed."
            )
        return header

    def _check_start(self, path: PathLike) -> None:
        """Raise unless a file begins as safetensors do: the length of the header, then a JSON object."""
        if not os.path.exists(path):
            raise FileNotFoundError(f"{path} does not exist.")
        if os.path.isdir(path):
            raise IsADirectoryError(f"{path} is a directory, expected a {self.noun} file.")
        with open(path, "rb") as file:
            start, size = file.read(9), os.fstat(file.fileno()).st_size
        if not start:
            raise ValueError(f"{path} is empty, expected a {self.noun} file.")
        if len(start) == 9 and start[8:] != b"{":
            raise ValueError(f"{path} is not a kernelweave {self.noun} file.")
        if len(start) < 9 or 8 + int.from_bytes(start[:8], "little") > size:
            raise ValueError(f"{path} is truncated or not a kernelweave {self.noun} file.")


def digest(body: Any, tensors: dict[str, Array]) -> str:
    """Return the SHA-256 of a JSON object and named arrays, whatever their order."""
    sha = hashlib.sha256(json.dumps(body, sort_keys=True).encode())
    for name in sorted(tensors):
        values = tensors[name]
        sha.update(f"{name} {values.dtype.name} {values.shape}".encode())
        sha.update(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).data)
    return sha.hexdigest()


def laid_out(tensors: dict[str, Array], texts: dict[str, str]) -> tuple[bytes, list[Array]]:
    """Return the first bytes of a safetensors file, and the arrays in the order in which they follow.

    Arrays of wide numbers come first, so that all of them are aligned; the header is filled with blanks to a multiple
    of 8 bytes.
    """
    names = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    plain = [np.ascontiguousarray(tensors[name], tensors[name].dtype.newbyteorder("<")) for name in names]
    header: dict[str, Any] = {"__metadata__": texts}
    position = 0
    for name, array in zip(names, plain):
        begin, position = position, position + array.nbytes
        kind = DTYPES[array.dtype.kind].format(8 * array.dtype.itemsize)
        header[name] = {"dtype": kind, "shape": list(tensors[name].shape), "data_offsets": [begin, position]}
    said = json.dumps(header, separators=(",", ":")).encode()
    said += b" " * (-len(said) % 8)
    return len(said).to_bytes(8, "little") + said, plain


def _open(path: PathLike) -> Any:
    from safetensors import SafetensorError, safe_open

    try:
        return safe_open(path, framework="numpy")
    except SafetensorError as error:
        reason = "truncated" if "incomplete" in str(error) else "damaged"
        raise ValueError(f"{path} is {reason}: its header does not fit the data behind it.") from None


MODELS = FileKind(
    "kernelweave-model",
    2,
    "model",
    {"kernelweave-checkpoint": "is a checkpoint, not a model: fit with the same data and parameters goes on from it."},
)
"""Model files.  1: parameters and fitted attributes.  2: beside them what the model predicts with, ready to use."""
CHECKPOINTS = FileKind(
    "kernelweave-checkpoint",
    1,
    "checkpoint",
    {"kernelweave-model": "is a model, not a checkpoint; give the checkpoint another name."},
)
"""Files that a fit goes on from."""
