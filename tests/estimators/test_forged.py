"""Model files that somebody changed and summed again: refused in one sentence, or harmless."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
from kernelweave.estimators.files.container import KEY, MODELS, digest

RNG = np.random.default_rng(0)
TABLE, CLASSES = RNG.normal(size=(30, 3)), np.arange(30) % 3
DNA, SITES = kw.datasets.make_splice(40, random_state=0)
MODELS_OF: dict[str, tuple[Any, Any, Any]] = {
    "rbf": (kw.KernelClassifier(kw.RBF(width=2.0)), TABLE, CLASSES),
    "centred": (kw.MKLRegressor([kw.Linear(), kw.RBF(width=1.0)], normalize="variance"), TABLE, TABLE[:, 0]),
    "positions": (kw.KernelClassifier(kw.WeightedDegree(4)), DNA, SITES),
    "codes": (kw.KernelClassifier(kw.Spectrum(3)), DNA, SITES),
    "l-mers": (kw.KernelClassifier(kw.GappedKmer(4, 3)), DNA, SITES),
    "features": (
        kw.MKLClassifier([kw.Spectrum(2), kw.Spectrum(3)], solver="svrg", loss="logistic", norm=2.0), DNA, SITES,
    ),
    "boost": (kw.CGBoostClassifier(kw.RBF.grid([0.5, 2.0])), TABLE, CLASSES),
    "novelty": (kw.KernelNovelty(kw.RBF(width=2.0), nu=0.3), TABLE, None),
}  # fmt: skip


@pytest.fixture(scope="module", params=MODELS_OF)
def saved(request: Any, tmp_path_factory: Any) -> tuple[Path, Any, Any]:
    model, X, y = MODELS_OF[request.param]
    path = tmp_path_factory.mktemp("forged") / "model.kw"
    kw.save(model.fit(X, y), path)
    return path, X, model


def forge(path: Path, name: str, values: np.ndarray) -> Path:
    """Write the file again with another array, and the sum that fits it."""
    from safetensors.numpy import save_file

    header, tensors = MODELS.read(path)
    tensors = {**tensors, name: np.ascontiguousarray(values)}
    body = {key: header[key] for key in header if key != "digest"}
    out = path.with_name("forged.kw")
    save_file(tensors, out, metadata={KEY: json.dumps({**body, "digest": digest(body, tensors)})})
    return out


def forgeries(values: np.ndarray) -> Iterator[np.ndarray]:
    """Yield arrays of other shapes, types and ranges."""
    if values.size:
        yield values[:-1]
        yield values.reshape(-1)[:1]
        yield np.zeros_like(values, shape=0)
    yield np.concatenate([values, values])
    yield values.reshape(*values.shape, 1)
    yield np.zeros((1000,) * values.ndim, values.dtype) if values.ndim < 3 else values[:, :0]
    for dtype in (np.float32, np.uint8, np.int64, np.float64):
        if values.dtype != dtype:
            yield values.astype(dtype)
    for extreme in (np.nan, np.inf) if values.dtype.kind == "f" else (-1, 10**6, -(2**31), 2**62, 255):
        changed = values.copy().reshape(-1)
        if changed.size and np.can_cast(np.min_scalar_type(extreme), values.dtype):
            for place in (0, changed.size // 2, -1):
                changed = values.copy().reshape(-1)
                changed[place] = extreme
                yield changed.reshape(values.shape)


def scores_of(model: Any, X: Any) -> np.ndarray:
    return model.predict(X) if isinstance(model, kw.MKLRegressor) else model.decision_function(X)


def test_forged_arrays_are_refused_or_harmless(saved: tuple[Path, Any, Any]) -> None:
    path, X, model = saved
    _, tensors = MODELS.read(path)
    shape, refused = scores_of(model, X).shape, 0
    for name, values in tensors.items():
        for forged in forgeries(values):
            try:
                loaded = kw.load(forge(path, name, forged))
                scores = scores_of(loaded, X)
            except ValueError as error:
                assert len(str(error)) < 400  # noqa: PT017
                refused += 1
                continue
            assert scores.shape == shape
            assert np.isfinite(scores).all()
    assert refused > len(tensors)


def test_wild_json_is_refused(saved: tuple[Path, Any, Any]) -> None:
    """Nesting without end, and a header that promises more than the file has."""
    path, _, _ = saved
    whole = path.read_bytes()
    length = struct.unpack("<Q", whole[:8])[0]
    for start in (b"[" * length, b"{" + b" " * (length - 1), whole[8 : 8 + length].replace(b"F64", b"F32")):
        out = path.with_name("wild.kw")
        out.write_bytes(whole[:8] + start + whole[8 + length :])
        with pytest.raises(ValueError, match=r"wild\.kw"):
            kw.load(out)


def forge_parameter(path: Path, out: Path, change: Any) -> Path:
    """Write a model file again with another description, and the sum that fits it."""
    from safetensors.numpy import save_file

    header, tensors = MODELS.read(path)
    body = {key: header[key] for key in header if key != "digest"}
    change(body["model"])
    save_file(tensors, out, metadata={KEY: json.dumps({**body, "digest": digest(body, tensors)})})
    return out


def test_a_file_cannot_choose_what_belongs_to_the_process(tmp_path: Path) -> None:
    path, out, trap = tmp_path / "model.kw", tmp_path / "forged.kw", tmp_path / "trap.kwc"
    kw.save(kw.KernelClassifier(kw.WeightedDegree(4)).fit(DNA, SITES), path)
    for engine in ("tcp://203.0.113.1:8786", "dask", "x", {"type": "tuple", "items": []}):
        forge_parameter(path, out, lambda node, engine=engine: node["parameters"].update(engine=engine))
        with pytest.raises(ValueError, match="it names an engine outside of this process"):
            kw.load(out)
    forge_parameter(path, out, lambda node: node["parameters"].update(checkpoint=str(trap), callbacks=["x"]))
    model = kw.load(out)
    assert (model.checkpoint, model.callbacks) == (None, ())
    model.fit(DNA, SITES)
    assert not trap.exists()


def test_sizes_of_kernels_are_believed_up_to_a_limit(tmp_path: Path) -> None:
    path, out = tmp_path / "model.kw", tmp_path / "forged.kw"
    kw.save(kw.KernelClassifier(kw.WeightedDegree(4)).fit(DNA, SITES), path)
    forge_parameter(path, out, lambda node: node["fitted"]["kernel_"]["parameters"].update(shift=10**6))
    with pytest.raises(ValueError, match="the shift of a kernel is beyond 10,000"):
        kw.load(out)


def test_the_factor_of_a_kernel_is_a_positive_number(tmp_path: Path) -> None:
    path, out = tmp_path / "model.kw", tmp_path / "forged.kw"
    kw.save(kw.KernelClassifier(np.int64(2) * kw.Linear()).fit(TABLE, CLASSES), path)
    kw.load(path).predict(TABLE)
    for factor in ([0.5], "x", 0.0, -1, None):
        forge_parameter(
            path, out, lambda node, factor=factor: node["parameters"]["kernel"]["parameters"].update(factor=factor)
        )
        with pytest.raises(ValueError, match="the factor of a kernel is not a positive number"):
            kw.load(out)


@pytest.mark.parametrize("name", ["mean_", "scale_"])
def test_a_scaler_has_what_it_uses(tmp_path: Path, name: str) -> None:
    path, out = tmp_path / "model.kw", tmp_path / "forged.kw"
    kw.save(make_pipeline(StandardScaler(), kw.KernelClassifier("rbf:1")).fit(TABLE, CLASSES), path)
    text = json.dumps(MODELS.read(path)[0]["model"])
    forge_parameter(path, out, lambda node: node.update(json.loads(text.replace(f'"{name}"', '"var_"'))))
    with pytest.raises(ValueError, match=f"{name} of a scaler is missing"):
        kw.load(out)


def test_waves_need_a_frequency(tmp_path: Path) -> None:
    path = tmp_path / "model.kw"
    kw.save(kw.KernelClassifier(kw.Fourier(kw.RBF(width=1.0), n_components=16)).fit(TABLE, CLASSES), path)
    name = next(name for name, values in MODELS.read(path)[1].items() if values.shape == (3, 8))
    with pytest.raises(ValueError, match="Waves need a table of at least one frequency"):
        kw.load(forge(path, name, np.zeros((3, 0))))


def test_scores_beyond_double_precision_raise() -> None:
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    model = kw.KernelClassifier(kw.Polynomial(3)).fit(X, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="The score of row 1 is not a finite number"):
        model.decision_function([[1.0], [1e200]])
