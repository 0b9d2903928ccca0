"""Model files: what is loaded predicts as what was saved, and a wrong file is told in one sentence."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
from disks import no_file_above
from kernelweave.estimators.files import persistence, tree
from kernelweave.estimators.files.container import digest
from kernelweave.estimators.files.persistence import load, read_header, save
from kernelweave.kernels.base import Kernel
from moved import LINE, moved

RNG = np.random.default_rng(7)
TABLE = RNG.normal(size=(60, 4))
SIGNS = np.where(TABLE[:, 0] + 0.3 * RNG.normal(size=60) > 0, 1, -1)
NAMES = np.array(["low", "middle", "high"])[np.digitize(TABLE[:, 1], [-0.5, 0.5])]
FIXED = kw.Sequences.from_strings(["".join(RNG.choice(list("ACGT"), 12)) for _ in range(60)], ids=map(str, range(60)))
RAGGED = kw.Sequences.from_strings(
    ["".join(RNG.choice(list("ACGTN"), n)) for n in RNG.integers(5, 30, size=60)], unknown="mask"
)
GRAM = TABLE @ TABLE.T
VIEWS = {"numbers": TABLE, "dna": FIXED, "sparse": sparse.csr_array(np.where(TABLE > 0, TABLE, 0.0))}
MIXED = 0.5 * kw.RBF(gamma="scale").on("numbers") + kw.Spectrum(3).on("dna") + kw.Linear().on("sparse")

CASES = {
    "dense": (kw.KernelClassifier("rbf:0.5"), TABLE, SIGNS),
    "default kernel": (kw.KernelClassifier(), TABLE.astype(np.float32), SIGNS),
    "columns": (kw.KernelClassifier(kw.RBF(1.0).on(np.array([0, 2])) * kw.Linear().on(slice(0, 3))), TABLE, SIGNS),
    "sparse array": (kw.KernelClassifier(kw.Linear()), sparse.csr_array(np.maximum(TABLE, 0)), SIGNS),
    "sparse matrix": (kw.KernelClassifier(kw.Linear()), sparse.csr_matrix(np.maximum(TABLE, 0)), SIGNS),
    "fixed length": (kw.KernelClassifier(kw.WeightedDegree(4), normalize="trace"), FIXED, SIGNS),
    "ragged": (kw.KernelClassifier(kw.Spectrum(3), normalize="cosine"), RAGGED, SIGNS),
    "words": (
        kw.KernelClassifier(kw.Spectrum(1)),
        kw.Sequences.from_tokens([["to", "be"], ["or", "not"], ["été", "be"]] * 20),
        SIGNS,
    ),
    "views": (kw.KernelClassifier(MIXED, loss="logistic"), VIEWS, SIGNS),
    "precomputed": (kw.KernelClassifier("precomputed"), GRAM, SIGNS),
    "precomputed view": (
        kw.KernelClassifier(kw.Precomputed().on("gram") + kw.RBF(1.0).on("x")),
        {"gram": GRAM, "x": TABLE},
        SIGNS,
    ),
    "three names": (kw.KernelClassifier("rbf:1", class_weight={"low": 2.0, "high": 1.0, "middle": 1.0}), TABLE, NAMES),
    "object names": (kw.KernelClassifier("rbf:1"), TABLE, NAMES.astype(object)),
    "centred": (kw.KernelClassifier("rbf:1", normalize="variance", fit_intercept=False), TABLE, SIGNS),
    "centred sequences": (
        kw.KernelClassifier(kw.WeightedDegree(3), normalize="variance", fit_intercept=False),
        FIXED,
        SIGNS,
    ),
    "chunks": (kw.KernelClassifier("rbf:1", solver="chunking", solver_params={"chunk_size": 16}), TABLE, SIGNS),
    "numpy parameters": (
        kw.KernelClassifier(kw.RBF(np.float32(0.5)), C=np.float64(2), max_iter=np.int64(900)),
        TABLE,
        SIGNS,
    ),
    "regressor": (kw.KernelRegressor("rbf:1", epsilon=0.05), TABLE, TABLE[:, 0] ** 2),
    "least squares": (kw.KernelRegressor(kw.Polynomial(2), loss="squared"), TABLE, TABLE[:, 0]),
    "novelty": (kw.KernelNovelty("rbf:1", nu=0.2), TABLE, None),
    "two kernels": (kw.MKLClassifier(kw.RBF.grid([0.5, 5.0])), TABLE, SIGNS),
    "two kernels, three names": (kw.MKLClassifier(kw.RBF.grid([0.5, 5.0])), TABLE, NAMES),
    "two kernels to regress": (kw.MKLRegressor([kw.Linear(), kw.RBF(1.0)]), TABLE, TABLE[:, 0] ** 2),
    "two kernels for novelty": (kw.MKLNovelty([kw.RBF(0.1), kw.RBF(1.0)], nu=0.2), TABLE, None),
    "windows": (kw.MKLClassifier(kw.WeightedDegree(3).per_position(window=5, by_degree=True)), FIXED, SIGNS),
    "windows of a view": (
        kw.MKLClassifier([kw.RBF(1.0).on("numbers"), kw.WeightedDegree(3, shift=1).per_position(4).on("dna")]),
        {"numbers": TABLE, "dna": FIXED},
        SIGNS,
    ),
    "pipeline": (make_pipeline(StandardScaler(), kw.KernelClassifier("rbf:1")), 100 * TABLE, SIGNS),
}


def values(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "model.kw"
    save(kw.KernelClassifier(kw.RBF(1.0)).fit(TABLE, SIGNS), path)
    return path


@pytest.mark.parametrize("case", CASES)
def test_a_loaded_model_predicts_the_same_to_the_last_bit(case, tmp_path):
    model, X, y = CASES[case]
    model.fit(X, y)
    save(model, tmp_path / "model.kw")
    loaded = load(tmp_path / "model.kw")
    assert type(loaded) is type(model)
    assert np.array_equal(values(loaded, X), values(model, X))
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.predict(X).dtype == model.predict(X).dtype


@pytest.mark.parametrize("case", CASES)
def test_models_pickle(case):
    model, X, y = CASES[case]
    copy = pickle.loads(pickle.dumps(model.fit(X, y)))
    assert np.array_equal(values(copy, X), values(model, X))


@pytest.mark.parametrize("case", CASES)
def test_bits_do_not_depend_on_where_arrays_lie(case):
    model, X, y = CASES[case]
    expected = values(model.fit(X, y), X)
    for offset in range(0, LINE, 8):
        assert np.array_equal(values(moved(model, offset), X), expected)


def test_everything_that_was_learned_comes_back(tmp_path):
    model = kw.KernelClassifier(kw.Spectrum(3), C=2.0, class_weight={"a": 1, "b": 3}).fit(
        FIXED, np.where(SIGNS > 0, "a", "b")
    )
    save(model, tmp_path / "model.kw")
    loaded = load(tmp_path / "model.kw")
    assert set(vars(loaded)) == set(vars(model))
    assert loaded.get_params() == model.get_params()
    assert loaded.reference_ == model.reference_
    assert loaded.reference_.ids.tolist() == model.reference_.ids.tolist()
    assert loaded.duality_gap_ == model.duality_gap_
    assert np.array_equal(loaded.certificate_.alpha, model.certificate_.alpha)
    assert loaded.trace_.columns == model.trace_.columns
    assert loaded._input == model._input
    again = tmp_path / "again.kw"
    save(loaded, again)
    assert again.read_bytes() == (tmp_path / "model.kw").read_bytes()


@pytest.mark.parametrize("case", ["windows", "windows of a view"])
def test_windows_come_back_as_they_were_given_and_can_be_fitted_again(case, tmp_path):
    model, X, y = CASES[case]
    model.fit(X, y)
    save(model, tmp_path / "model.kw")
    loaded = load(tmp_path / "model.kw")
    assert loaded.kernels == model.kernels
    assert loaded.kernels_ == model.kernels_
    again = loaded.fit(X, y)
    assert np.array_equal(again.kernel_names_, model.kernel_names_)
    assert np.array_equal(again.kernel_weights_, model.kernel_weights_)


def test_frames_keep_their_column_names(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(TABLE, columns=["a", "b", "c", "d"])
    save(kw.KernelClassifier("rbf:1").fit(frame, SIGNS), tmp_path / "model.kw")
    loaded = load(tmp_path / "model.kw")
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded.predict(frame)


def test_what_belongs_to_the_process_is_left_behind(tmp_path):
    from kernelweave.engines import Serial

    model = kw.KernelClassifier("rbf:1", engine=Serial(), callbacks=(lambda progress: False,)).fit(TABLE, SIGNS)
    save(model, tmp_path / "model.kw")
    loaded = load(tmp_path / "model.kw")
    assert loaded.engine is None
    assert loaded.callbacks == ()
    assert load(tmp_path / "model.kw").get_params()["C"] == 1.0


def test_the_header_says_what_wrote_it(model_file):
    header = read_header(model_file)
    assert (header["format"], header["version"], header["library"]) == ("kernelweave-model", 2, kw.__version__)
    with safe_open(model_file, framework="numpy") as file:
        assert list(file.metadata()) == ["kernelweave"]


def test_a_failed_save_leaves_the_old_file(model_file):
    before = model_file.read_bytes()
    with no_file_above(len(before) // 2), pytest.raises(OSError, match=r"^Cannot write .*model\.kw: file too large\.$"):
        save(kw.KernelClassifier("rbf:2").fit(TABLE, SIGNS), model_file)
    assert model_file.read_bytes() == before
    assert [path.name for path in model_file.parent.iterdir()] == ["model.kw"]


def test_what_cannot_be_saved_says_so(tmp_path):
    path = tmp_path / "model.kw"
    with pytest.raises(NotFittedError, match="KernelClassifier is not fitted yet, so there is nothing to save"):
        save(kw.KernelClassifier(), path)
    with pytest.raises(TypeError, match="A dict cannot be saved; known models are CGBoostClassifier"):
        save({}, path)
    with pytest.raises(TypeError, match="A PCA cannot be saved in a model file"):
        save(make_pipeline(PCA(2), kw.KernelClassifier("rbf:1")).fit(TABLE, SIGNS), path)
    with pytest.raises(TypeError, match="Mine is not a kernel of this library"):
        save(kw.KernelClassifier(Mine()).fit(TABLE, SIGNS), path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        save(kw.KernelClassifier("rbf:1").fit(TABLE, SIGNS), tmp_path / "missing" / "model.kw")
    assert list(tmp_path.iterdir()) == []


class Mine(Kernel):
    """A kernel of somebody else."""

    def prepare(self, X):
        return np.asarray(X)

    def block(self, A, B, dtype=np.float64):
        return (A @ B.T).astype(dtype)

    def diagonal(self, A):
        return (A * A).sum(axis=1)


@pytest.mark.parametrize("keep", [1, 7, 8, 9, 100, 0.3, 0.6, 0.99, -1])
def test_truncated_files_are_refused(model_file, keep):
    whole = model_file.read_bytes()
    size = int(keep * len(whole)) if isinstance(keep, float) else keep
    model_file.write_bytes(whole[:size])
    with pytest.raises(ValueError, match=r"model\.kw is truncated"):
        load(model_file)


def test_files_with_something_behind_them_are_refused(model_file):
    model_file.write_bytes(model_file.read_bytes() + b"more")
    with pytest.raises(ValueError, match=r"model\.kw is (truncated|damaged)"):
        load(model_file)


@pytest.mark.parametrize("where", [0.1, 0.4, 0.7, 0.9, 0.999])
def test_no_single_changed_byte_goes_unnoticed(model_file, where):
    raw = bytearray(model_file.read_bytes())
    raw[int(where * len(raw))] ^= 1
    model_file.write_bytes(raw)
    with pytest.raises(ValueError, match=r"model\.kw (is|holds|was)"):
        load(model_file)


def test_a_changed_number_is_refused(model_file):
    with safe_open(model_file, framework="numpy") as file:
        tensors, metadata = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
    changed = json.loads(metadata["kernelweave"])
    changed["model"]["parameters"]["C"] = 3.0
    save_file(tensors, model_file, metadata={"kernelweave": json.dumps(changed)})
    with pytest.raises(ValueError, match="damaged or was changed after it was saved: its checksum"):
        load(model_file)


FOREIGN = {
    "empty": (b"", "is empty, expected a model file"),
    "text": (b"label,a,b\n1,2,3\n", "is not a kernelweave model file"),
    "pickle": (pickle.dumps({"a": list(range(100))}), "not a kernelweave model file"),
    "short": (b"ab", "is truncated or not a kernelweave model file"),
    "length only": ((1 << 60).to_bytes(8, "little") + b"{}", "is truncated or not"),
    "no JSON": ((8).to_bytes(8, "little") + b"{broken}", "is damaged: its header"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_files_are_refused(kind, tmp_path):
    content, sentence = FOREIGN[kind]
    path = tmp_path / "model.kw"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        load(path)


def test_missing_files_and_directories(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.kw does not exist"):
        load(tmp_path / "none.kw")
    with pytest.raises(IsADirectoryError, match="is a directory, expected a model file"):
        load(tmp_path)


def forge(path, model, tensors=None, **fields):
    """Write a file with a right checksum around any content."""
    body = {"format": "kernelweave-model", "version": 1, "library": "x", "model": model, **fields}
    text = json.dumps({**body, "digest": digest(body, tensors or {})})
    save_file(tensors or {}, path, metadata={"kernelweave": text})


def test_other_safetensors_and_newer_versions(tmp_path):
    path = tmp_path / "model.kw"
    save_file({"a": np.zeros(3)}, path)
    with pytest.raises(ValueError, match="is a safetensors file, but not a kernelweave model"):
        load(path)
    save_file({}, path, metadata={"kernelweave": "[1, 2"})
    with pytest.raises(ValueError, match="is damaged: the description of its model cannot be read"):
        load(path)
    forge(path, None, version=persistence.VERSION + 1, library="9.0")
    with pytest.raises(ValueError, match=r"written by kernelweave 9\.0 in version 3 .* a newer one is needed"):
        load(path)


def estimator(name="KernelClassifier", parameters=None, fitted=None):
    return {"type": "estimator", "name": name, "parameters": parameters or {}, "fitted": fitted or {}}


HOSTILE = {
    "unknown class": estimator("Popen"),
    "unknown type": {"type": "pickle", "data": "cos"},
    "no type": {"kernel": 1},
    "class attribute": estimator(fitted={"__class__": "x"}),
    "method": estimator(fitted={"predict": 1}),
    "parameter": estimator(parameters={"shell": True}),
    "kernel": estimator(parameters={"kernel": {"type": "kernel", "name": "os.system", "parameters": {}}}),
    "part": estimator(parameters={"kernel": {"type": "kernel", "name": "Cosine", "parameters": {"kernel": [1]}}}),
    "windows": estimator("MKLClassifier", {"kernels": {"type": "windows", "parameters": {"kernel": "wd:3"}}}),
    "windows of nothing": estimator("MKLClassifier", {"kernels": {"type": "windows", "parameters": {"window": 3}}}),
    "tensor": estimator(fitted={"dual_coef_": {"type": "array", "tensor": "t9"}}),
    "objects": estimator(fitted={"classes_": {"type": "texts", "dtype": "V8", "shape": [1], "values": ["a"]}}),
    "shape": estimator(fitted={"classes_": {"type": "texts", "dtype": "<U1", "shape": [2, 2], "values": ["a"]}}),
    "not a model": {"type": "tuple", "items": [1, 2]},
    "deep": json.loads("[" * 400 + "]" * 400),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_forged_model_is_refused(kind, tmp_path):
    path = tmp_path / "model.kw"
    forge(path, HOSTILE[kind])
    with pytest.raises(ValueError, match=r"model\.kw holds a "):
        load(path)


def test_forged_indices_cannot_reach_outside_their_table(tmp_path):
    path = tmp_path / "model.kw"
    tensors = {"d": np.ones(1), "i": np.array([10**9]), "p": np.array([0, 1])}
    node = {"type": "csr", "shape": [1, 3], "array": True, "data": "d", "indices": "i", "indptr": "p"}
    forge(path, estimator(fitted={"reference_": node}), tensors)
    with pytest.raises(ValueError, match="holds a model that cannot be read"):
        load(path)


def test_registered_estimators_are_the_ones_that_can_be_saved():
    known = {name for name in kw.__all__ if isinstance(getattr(kw, name), type) and hasattr(getattr(kw, name), "fit")}
    assert known <= set(tree.estimators())
