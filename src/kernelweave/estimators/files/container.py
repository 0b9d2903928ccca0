"""Files of arrays and a JSON text, one format for models and checkpoints.

    8 bytes length of the header | header: names, types and places of the arrays, and the text "kernelweave" | arrays

The text is a JSON object: format, version, library (the version that wrote it), digest (SHA-256 over the rest of the
object and all arrays) and the body.  A file holds data only: reading it never runs code.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave._version import __version__
from kernelweave.data.atomic import PathLike, atomic_path, is_special

Array = np.ndarray
KEY = "kernelweave"
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, OverflowError)
"""What reading a body whose parts do not fit together can raise."""


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
        from safetensors import SafetensorError
        from safetensors.numpy import save as as_bytes
        from safetensors.numpy import save_file

        body = {"format": self.format, "version": self.version, "library": __version__, **body}
        text = json.dumps({**body, "digest": digest(body, tensors)})
        with atomic_path(path) as aside:
            if is_special(path):  # save_file would put a file of its own in the place of a pipe or a device
                aside.write_bytes(as_bytes(tensors, metadata={KEY: text}))
            else:
                try:
                    save_file(tensors, aside, metadata={KEY: text})
                except SafetensorError as error:
                    raise _unwritten(path, error) from None

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


def _unwritten(path: PathLike, error: Exception) -> OSError:
    """Return what the operating system said when a file could not be written, such as that the disk is full."""
    number = re.search(r"os error (\d+)", str(error))
    code = int(number.group(1)) if number else errno.EIO
    return OSError(code, os.strerror(code), os.fspath(path))
