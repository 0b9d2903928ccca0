"""Fitted models as plain data: a tree that JSON can hold, beside named arrays.

Scalars and lists stand for themselves.  Every other node is an object with a "type": arrays, texts, dicts, and the
classes listed here.  Reading a tree calls the constructors of those classes and nothing else.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kernelweave.automata.base import Transducer
from kernelweave.automata.stored import Columns, columns_of, from_columns
from kernelweave.data import Alphabet
from kernelweave.data.kinds import Description, RowKind, find, kind_of, named
from kernelweave.data.rows import IDS
from kernelweave.engines import is_cluster
from kernelweave.estimators.calibration import Calibration, Threshold
from kernelweave.estimators.cgboost.stage_history import StageHistory
from kernelweave.estimators.files.check import (
    check_factor,
    check_model,
    check_numbers,
    check_other,
    check_rows,
    local_parameters,
)
from kernelweave.estimators.fitting import Certificate
from kernelweave.kernels.approximate.fourier import Waves
from kernelweave.kernels.approximate.landmarks import Landmarks
from kernelweave.kernels.base import Kernel
from kernelweave.kernels.centred import Centred
from kernelweave.kernels.given.function import Function
from kernelweave.kernels.positional.windows import Windows
from kernelweave.kernels.registry import KERNELS
from kernelweave.kernels.strings.tfidf import Rarity
from kernelweave.kernels.tree import made_of_kernels
from kernelweave.operators import Plan
from kernelweave.solvers.result import Trace

Array = np.ndarray
Node = Any

OTHERS = {"Pipeline": "sklearn.pipeline", "StandardScaler": "sklearn.preprocessing"}
"""Estimators of scikit-learn that may stand before one of ours, and where they live."""

RECORDS: dict[str, type] = {"Course": StageHistory} | {
    cls.__name__: cls for cls in (Calibration, Certificate, Description, Plan, Threshold)
}
"""Data classes among the fitted attributes, by their names in model files."""
_RECORD_NAMES = {cls: name for name, cls in RECORDS.items()}

PARTS: dict[str, type[Kernel]] = {cls.__name__: cls for cls in (Centred, Landmarks, Rarity, Waves)}
"""Kernels that hold data, by name; the others are those of the registry."""

NUMERIC = {"bool", "float16", "float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
"""Types of numbers that an array may have."""

_FORMER_KINDS = {"sequences": "sequences", "lattices": "lattices", "views": "views", "csr": "table"}
"""Row kinds by the types of nodes in files of version 1."""


class Estimators(Mapping[str, type[BaseEstimator]]):
    """The estimators that a model file can hold, by name: those this room exports, and a few others.

    A class is loaded when it is asked for, so that reading one model does not load them all.
    """

    def __init__(self) -> None:
        room = import_module("kernelweave.estimators")
        self.ours = [name for name in room.__all__ if name[0].isupper()]

    def __getitem__(self, name: str) -> type[BaseEstimator]:
        if name in self.ours:
            return getattr(import_module("kernelweave.estimators"), name)
        return getattr(import_module(OTHERS[name]), name)

    def __iter__(self) -> Iterator[str]:
        return iter((*self.ours, *OTHERS))

    def __len__(self) -> int:
        return len(self.ours) + len(OTHERS)


@cache
def estimators() -> Estimators:
    """Return the estimators that a model file can hold."""
    return Estimators()


class Writer:
    """Turns values into nodes; arrays are collected in `tensors`."""

    def __init__(self) -> None:
        self.tensors: dict[str, Array] = {}

    def node(self, value: Any) -> Node:
        """Return the node of any value that a model may hold."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        for kind, write in _WRITERS:
            if isinstance(value, kind):
                return write(self, value)
        if type(value) in _RECORD_NAMES:
            state = {f.name: self.node(getattr(value, f.name)) for f in fields(value)}
            return {"type": "record", "name": _RECORD_NAMES[type(value)], "state": state}
        kind = find(value)
        if kind is not None:
            return self.rows(kind, value)
        raise TypeError(f"A {type(value).__name__} cannot be saved in a model file.")

    def tensor(self, values: Array) -> str:
        """Keep an array and return its name."""
        name = f"t{len(self.tensors)}"
        native = values.dtype.newbyteorder("=")
        self.tensors[name] = np.array(values, dtype=native, order="C", copy=None)
        return name

    def array(self, values: Array) -> Node:
        """Return the node of an array of numbers or of texts."""
        if values.dtype.name in NUMERIC:
            return {"type": "array", "tensor": self.tensor(values)}
        if values.dtype.names is not None:
            return {"type": "records", "fields": [[name, self.array(values[name])] for name in values.dtype.names]}
        if values.dtype.kind not in "UOT":
            raise TypeError(f"An array of {values.dtype} cannot be saved in a model file.")
        dtype = {"O": "object", "T": "string"}.get(values.dtype.kind, values.dtype.str)
        entries = [self.node(entry) for entry in values.ravel().tolist()]
        return {"type": "texts", "dtype": dtype, "shape": list(values.shape), "values": entries}

    def scalar(self, value: np.generic) -> Node:
        """Return the node of a NumPy number or text."""
        if value.dtype.name not in NUMERIC and value.dtype.kind != "U":
            raise TypeError(f"A NumPy {value.dtype} cannot be saved in a model file.")
        return {"type": "scalar", "dtype": value.dtype.str, "value": value.item()}

    def number_type(self, kind: type) -> Node:
        """Return the node of a NumPy type of numbers."""
        if not issubclass(kind, np.generic):
            raise TypeError(f"The type {kind.__name__} cannot be saved in a model file.")
        return {"type": "number_type", "name": np.dtype(kind).name}

    def estimator(self, model: BaseEstimator) -> Node:
        """Return the node of an estimator: its parameters and what it learned."""
        name = type(model).__name__
        if estimators().get(name) is not type(model):
            raise TypeError(f"A {name} cannot be saved in a model file; known are {', '.join(estimators())}.")
        for key, value in inspect.getmembers_static(type(model), lambda one: isinstance(one, cached_property)):
            if is_learned(key):
                value.__get__(model)  # learned, and spelled out when somebody asks for it
        learned = {key: value for key, value in vars(model).items() if is_learned(key)}
        expansion = learned.pop("expansion_", None)
        node = {"type": "estimator", "name": name, "parameters": self._params(model), "fitted": self._each(learned)}
        return node if expansion is None else {**node, "expansion": self.node(expansion.state())}

    def _params(self, model: BaseEstimator) -> dict[str, Node]:
        """Return the parameters; what belongs to the process (callbacks, engines) is left to its default."""
        defaults, kept = inspect.signature(type(model)).parameters, {}
        for name, value in model.get_params(deep=False).items():
            if name == "engine" and is_cluster(value):
                continue
            n_tensors = len(self.tensors)
            try:
                kept[name] = self.node(value)
            except TypeError:
                if defaults[name].default is inspect.Parameter.empty:
                    raise
                self.tensors = dict(list(self.tensors.items())[:n_tensors])
        return kept

    def kernel(self, kernel: Kernel) -> Node:
        """Return the node of a kernel, also of one that holds data."""
        name = type(kernel).__name__
        if isinstance(kernel, Function):
            raise TypeError(f"This model cannot be saved: {kernel.unsaved}.")
        if _kernel_class(name) is not type(kernel):
            raise TypeError(f"{name} is not a kernel of this library and cannot be saved in a model file.")
        return {"type": "kernel", "name": name, "parameters": self._each(kernel.get_params(deep=False))}

    def windows(self, windows: Windows) -> Node:
        """Return the node of a kernel that waits to be split."""
        return {"type": "windows", "parameters": self._each(windows.get_params(deep=False))}

    def rows(self, kind: RowKind, rows: Any) -> Node:
        """Return the node of rows of some kind."""
        return {"type": "rows", "kind": kind.name, "state": self._each(kind.save(rows))}

    def transducer(self, machine: Transducer) -> Node:
        """Return the node of a machine: its arcs and final weights, and what its labels spell."""
        parts = {name: self.tensor(column) for name, column in columns_of(machine)._asdict().items()}
        return {"type": "transducer", "alphabet": self.node(machine.alphabet), **parts}

    def _each(self, values: dict[str, Any]) -> dict[str, Node]:
        return {key: self.node(value) for key, value in values.items()}


def _kernel_class(name: str) -> type[Kernel] | None:
    return PARTS.get(name) or KERNELS.get(name)


def is_learned(name: str) -> bool:
    """Tell whether an attribute of an estimator is part of what it learned."""
    return name == "_input" or (name.endswith("_") and not name.startswith("_"))


_WRITERS: list[tuple[Any, Callable[[Writer, Any], Node]]] = [
    (np.generic, Writer.scalar),
    (np.ndarray, Writer.array),
    (type, Writer.number_type),
    (list, lambda w, v: [w.node(item) for item in v]),
    (tuple, lambda w, v: {"type": "tuple", "items": [w.node(item) for item in v]}),
    (dict, lambda w, v: {"type": "dict", "items": [[w.node(key), w.node(item)] for key, item in v.items()]}),
    (slice, lambda w, v: {"type": "slice", "items": [w.node(part) for part in (v.start, v.stop, v.step)]}),
    (BaseEstimator, Writer.estimator),
    (Kernel, Writer.kernel),
    (Windows, Writer.windows),
    (Transducer, Writer.transducer),
    (Alphabet, lambda w, v: {"type": "alphabet", "description": v.to_dict()}),
    (Trace, lambda w, v: {"type": "trace", "columns": [[name, w.node(v[name])] for name in v.columns]}),
]


class Reader:
    """Turns nodes back into values.

    Whatever does not fit together raises ValueError, TypeError, KeyError or the like: the caller says which file.
    """

    def __init__(self, tensors: dict[str, Array]):
        self.tensors = tensors

    def value(self, node: Node) -> Any:
        """Return the value of a node."""
        if isinstance(node, list):
            return [self.value(item) for item in node]
        if not isinstance(node, dict):
            return node
        return _READERS[node["type"]](self, node)

    def texts(self, node: Node) -> Array:
        """Return an array of texts or of mixed labels."""
        dtype: Any = {"object": object, "string": IDS}.get(node["dtype"], node["dtype"])
        if isinstance(dtype, str) and np.dtype(dtype).kind != "U":
            raise ValueError(f"{dtype} is not a type of text.")
        out = np.empty(len(node["values"]), dtype)
        out[:] = [self.value(entry) for entry in node["values"]]
        return out.reshape(node["shape"])

    def records(self, node: Node) -> Array:
        """Return an array of records."""
        columns = {name: self.value(part) for name, part in node["fields"]}
        out = np.empty(len(next(iter(columns.values()))), [(name, column.dtype) for name, column in columns.items()])
        for name, column in columns.items():
            out[name] = column
        return out

    def scalar(self, node: Node) -> np.generic:
        """Return a NumPy number or text."""
        dtype = np.dtype(node["dtype"])
        if dtype.name not in NUMERIC and dtype.kind != "U":
            raise ValueError(f"{dtype} is not a type of number.")
        return dtype.type(node["value"])

    def number_type(self, node: Node) -> type:
        """Return a NumPy type of numbers."""
        if node["name"] not in NUMERIC:
            raise ValueError(f"{node['name']} is not a type of number.")
        return np.dtype(node["name"]).type

    def estimator(self, node: Node) -> BaseEstimator:
        """Return an estimator with its parameters and what it learned."""
        cls = estimators()[node["name"]]
        model = cls(**_renamed(self._each(local_parameters(node["parameters"]))))
        for key, value in _present(self._each(node["fitted"])).items():
            if not is_learned(key):
                raise ValueError(f"{key} is not a fitted attribute.")
            setattr(model, key, value)
        if node["name"] not in OTHERS and node["fitted"]:
            model.expansion_ = model._expand()
            if "expansion" in node:  # files of version 1 hold none
                model.expansion_.restore(self.value(node["expansion"]))
            model.expansion_.restored = True
            check_model(model, model.expansion_)
        if node["name"] in OTHERS:
            check_other(model)
        return model

    def kernel(self, node: Node) -> Kernel:
        """Return a kernel."""
        params = check_numbers(self._each(node["parameters"]))
        if not made_of_kernels(params):
            raise TypeError(f"{node['name']} is made of kernels.")
        cls = _kernel_class(node["name"])
        if cls is None:
            raise ValueError(f"there is no kernel {node['name']!r}")
        return check_factor(cls(**params))

    def windows(self, node: Node) -> Windows:
        """Return a kernel that waits to be split."""
        params = self._each(node["parameters"])
        if not made_of_kernels(params):
            raise TypeError("Windows are made of a kernel.")
        return Windows(**params)

    def rows(self, node: Node) -> Any:
        """Return rows of some kind, checked by it."""
        return check_rows(named(node["kind"]).load(self._each(node["state"])))

    def former_rows(self, node: Node) -> Any:
        """Return rows of a file of version 1: the type is the kind, and arrays are named without a node."""
        parts = {key: part for key, part in node.items() if key != "type"}
        state = {key: self.tensors[part] if isinstance(part, str) else self.value(part) for key, part in parts.items()}
        return check_rows(named(_FORMER_KINDS[node["type"]]).load(state))

    def transducer(self, node: Node) -> Transducer:
        """Return a machine, its arcs checked."""
        return from_columns(
            Columns._make(self.tensors[node[name]] for name in Columns._fields), self.value(node["alphabet"])
        )

    def trace(self, node: Node) -> Trace:
        """Return the history of a fit."""
        return Trace({name: self.value(column).tolist() for name, column in node["columns"]})

    def _each(self, nodes: dict[str, Node]) -> dict[str, Any]:
        return {key: self.value(node) for key, node in nodes.items()}


def _renamed(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters by their present names: a boosted model was once asked whether its rounds are stratified."""
    if "stratified" in parameters:
        former = parameters.pop("stratified")
        parameters["strategy"] = {True: "stratified", False: "regular"}.get(former, former)
    return parameters


def _present(fitted: dict[str, Any]) -> dict[str, Any]:
    """Return what an estimator learned by its present names: files of version 1 describe rows by `_alphabets`."""
    if "_alphabets" not in fitted:
        return fitted
    alphabets, rows = fitted.pop("_alphabets"), fitted["reference_"]
    if alphabets is None:
        described = Description("table", fitted["n_features_in_"])
    elif "" in alphabets:
        described = Description(kind_of(rows).name, alphabets[""])
    else:
        views = {name: Description(kind_of(rows[name]).name, content) for name, content in alphabets.items()}
        described = Description("views", views)
    return {**fitted, "_input": described}


_READERS: dict[str, Callable[[Reader, Node], Any]] = {
    "array": lambda r, n: r.tensors[n["tensor"]],
    "records": Reader.records,
    "texts": Reader.texts,
    "scalar": Reader.scalar,
    "number_type": Reader.number_type,
    "tuple": lambda r, n: tuple(r.value(n["items"])),
    "dict": lambda r, n: {r.value(key): r.value(item) for key, item in n["items"]},
    "slice": lambda r, n: slice(*r.value(n["items"])),
    "estimator": Reader.estimator,
    "kernel": Reader.kernel,
    "windows": Reader.windows,
    "rows": Reader.rows,
    **dict.fromkeys(_FORMER_KINDS, Reader.former_rows),
    "transducer": Reader.transducer,
    "alphabet": lambda r, n: Alphabet.from_dict(n["description"]),
    "record": lambda r, n: getattr(RECORDS[n["name"]], "from_record", RECORDS[n["name"]])(**r._each(n["state"])),
    "trace": Reader.trace,
}
