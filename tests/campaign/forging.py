"""Changes to what a model file says, its checksum made right again: arrays, and the tree of its JSON text."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from kernelweave.estimators.files.container import KEY, digest

Array = np.ndarray
Header = dict[str, Any]
Random = np.random.Generator

EXTREMES = (-1, 0, 1, 255, 256, 10**6, -(2**31), 2**31, 2**62, 2**63 - 1)
DTYPES = ("bool", "uint8", "int8", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 64, 255, 10**6, 2**31, -(2**31), 2**63, 10**30, 0.0, -1.0, 0.5, 1e-320, 1e308,
    float("inf"), float("-inf"), float("nan"), "", "x", "table", "sequences", "dna", "t0", "t1", "float64", "RBF",
    "Spectrum", "Precomputed", "KernelClassifier", "KernelRegressor", "MKLClassifier", "Pipeline", "hinge", "<U1",
    "__class__", "../x", "A" * 5000, [], {}, [[]], [None], [0, 1, 2], {"type": "array", "tensor": "t0"},
    {"type": "tuple", "items": []}, {"type": "dict", "items": []}, {"type": "slice", "items": [0, 10**9, 1]},
    {"type": "kernel", "name": "Linear", "parameters": {}}, {"type": "number_type", "name": "float64"},
    {"type": "texts", "dtype": "<U999999999", "shape": [1], "values": ["a"]},
    {"type": "texts", "dtype": "object", "shape": [2, -1], "values": ["a", "b"]},
    {"type": "scalar", "dtype": "<f8", "value": "nan"}, {"type": "nothing"},
)  # fmt: skip
"""What a value of the text may be replaced by."""
DEEP = 3000


def forged(header: Header, tensors: dict[str, Array], random: Random) -> tuple[bytes, str]:
    """Return a model file with one to three changes and the checksum that fits it, and what was changed."""
    header, tensors = copy.deepcopy({key: header[key] for key in header if key != "digest"}), dict(tensors)
    told = []
    for _ in range(int(random.choice([1, 1, 1, 2, 3]))):
        if tensors and random.random() < 0.5:
            name = list(tensors)[int(random.integers(len(tensors)))]
            tensors[name] = np.ascontiguousarray(forged_array(tensors[name], random))
            told.append(f"{name} {tensors[name].dtype} {tensors[name].shape}")
        else:
            told.append(forge_text(header, random))
    return sealed(header, tensors), ", ".join(told)


def sealed(header: Header, tensors: dict[str, Array]) -> bytes:
    """Return a file with its checksum; JSON has nan and infinity as Python writes them."""
    return save(tensors, metadata={KEY: json.dumps({**header, "digest": digest(header, tensors)})})


def forged_array(values: Array, random: Random) -> Array:
    """Return an array of another shape, another type or with other numbers."""
    way = int(random.integers(4))
    if way == 0:
        return other_shape(values, random)
    if way == 1:
        with np.errstate(all="ignore"):
            return values.astype(DTYPES[int(random.integers(len(DTYPES)))])
    changed = values.copy().reshape(-1)
    if not changed.size:
        return np.zeros(3, values.dtype)
    if way == 2:
        random.shuffle(changed)
    for _ in range(int(random.choice([1, 3]))):
        changed[int(random.integers(changed.size))] = extreme(values.dtype, random)
    return changed.reshape(values.shape)


def extreme(dtype: np.dtype, random: Random) -> Any:
    """Return a number at an end of its type."""
    if dtype.kind == "f":
        return random.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 6e4, -1.0, np.finfo(dtype).max, np.finfo(dtype).tiny])
    if dtype.kind == "b":
        return bool(random.integers(2))
    limits = np.iinfo(dtype)
    return max(limits.min, min(limits.max, EXTREMES[int(random.integers(len(EXTREMES)))]))


def other_shape(values: Array, random: Random) -> Array:
    """Return an array with fewer, more or no entries, or another number of dimensions."""
    shapes = [
        lambda: values[:-1] if values.ndim else values.reshape(1), lambda: values.reshape(-1)[:1],
        lambda: np.zeros(0, values.dtype), lambda: np.concatenate([np.atleast_1d(values)] * 2),
        lambda: values.reshape(*values.shape, 1), lambda: values.reshape(-1), lambda: values.reshape(1, -1),
        lambda: values.T, lambda: np.zeros((500,) * min(values.ndim, 2), values.dtype),
        lambda: np.zeros((3, 0), values.dtype), lambda: values.reshape(-1)[0] if values.size else np.zeros(1),
    ]  # fmt: skip
    return np.asarray(shapes[int(random.integers(len(shapes)))]())


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Give container and key of every value of a tree."""
    keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield node, key
        yield from places(node[key])


def forge_text(header: Header, random: Random) -> str:
    """Change one value, name or branch of the tree of a model; return what was done."""
    found = list(places({"model": header["model"]}))[1:]
    if not found:
        header["model"] = VALUES[int(random.integers(len(VALUES)))]
        return "the model"
    node, key = found[int(random.integers(len(found)))]
    other_node, other_key = found[int(random.integers(len(found)))]
    way = int(random.integers(8))
    if way < 3:
        node[key] = copy.deepcopy(VALUES[int(random.integers(len(VALUES)))])
    elif way == 3:
        del node[key]
    elif way == 4:
        node[key] = copy.deepcopy(other_node[other_key])
    elif way == 5 and isinstance(node, dict):
        node[other_key if isinstance(other_key, str) else "new"] = node.pop(key)
    elif way == 6:
        node[key] = [node[key]] if random.random() < 0.5 else {"type": "tuple", "items": [node[key]]}
    elif isinstance(node[key], int | float) and not isinstance(node[key], bool):
        node[key] = node[key] * random.choice([-1, 2, 1000, 1e-9]).item()
    elif isinstance(node[key], str):
        node[key] = node[key][::-1]
    else:
        node[key] = {"type": "deep"} if random.random() < 0.9 else _deep()
    return f"{key!r} way {way}"


def _deep() -> list[Any]:
    nested: list[Any] = []
    for _ in range(DEEP // 10):
        nested = [nested]
    return nested


def write(path: Path, data: bytes) -> Path:
    """Write a file and return its path."""
    path.write_bytes(data)
    return path
