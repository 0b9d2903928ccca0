"""Training from tables and sequences that lie on disk and whose features do not fit the memory limit."""

import tracemalloc
import zipfile

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.io.formats import npz
from kernelweave.io.mapped import mapped_arrays

N, COLUMNS, LETTERS = 12_000, 100, 40
LIMIT = "4MB"
MB = 1e6

rng = np.random.default_rng(0)


def labelled_table():
    X = rng.normal(size=(N, COLUMNS))
    return X, np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=N) > 0, "up", "down")


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("mapped") / "table.npz"
    X, y = labelled_table()
    npz.write(path, X, y, compress=False)
    return path


@pytest.fixture(scope="module")
def sequences(tmp_path_factory):
    path = tmp_path_factory.mktemp("mapped") / "rows.kwseq"
    codes = rng.integers(0, 4, size=(N, LETTERS)).astype(np.uint8)
    kw.Sequences(codes.ravel(), np.arange(N + 1) * LETTERS, kw.Alphabet.named("dna")).save(path)
    return path, np.where((codes[:, 10] == codes[:, 11]) ^ (rng.random(N) < 0.1), 1, -1)


def machine(kernels, **options):
    options = {"memory_limit": LIMIT, "C": 0.01, "norm": 2.0, "n_jobs": 1, **options}
    return kw.MKLClassifier(kernels, loss="logistic", solver="svrg", **options)


WAVES = [kw.Fourier(kw.RBF(width=200.0), 100), kw.Fourier(kw.RBF(width=1000.0), 100), kw.Linear()]


def test_fit_on_a_mapped_archive_takes_less_memory_than_table_and_features(archive):
    rows = kw.read(archive, mmap=True)
    machine(WAVES, memory_limit="auto").fit(rows.X[:500], rows.y[:500])  # compiled loops are not what is measured
    tracemalloc.start()
    model = machine(WAVES).fit(rows.X, rows.y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.memory_plan_.kind == "streamed"
    assert model.converged_
    assert model.duality_gap_ <= 1e-3
    assert peak < 8 * MB < rows.X.nbytes
    inside = machine(WAVES, memory_limit="auto").fit(np.array(rows.X), rows.y)
    assert inside.memory_plan_.kind == "design"
    assert model.objective_ == pytest.approx(inside.objective_, rel=2e-3)


def test_fit_on_mapped_sequences(sequences):
    path, y = sequences
    kernels = [kw.Spectrum(2), kw.Spectrum(3), kw.WeightedDegree(2)]
    X = kw.Sequences.open(path)
    model = machine(kernels, C=1e-3).fit(X, y)
    assert model.memory_plan_.kind == "streamed"
    assert model.duality_gap_ <= 1e-3
    assert model.certify(X, y) <= 2e-3
    inside = machine(kernels, C=1e-3, memory_limit="auto").fit(kw.Sequences.open(path, mmap=False), y)
    assert inside.memory_plan_.kind == "design"
    assert model.objective_ == pytest.approx(inside.objective_, rel=2e-3)


def test_blocks_of_a_mapped_table_are_a_stream(archive):
    rows = kw.read(archive, mmap=True)
    model = machine(WAVES).set_params(solver_params={"total_rows": N})
    for _ in range(3):
        for start in range(0, N, 3000):
            model.partial_fit(rows.X[start : start + 3000], rows.y[start : start + 3000])
    assert model.certify(rows.X, rows.y) < 5e-3


def test_a_mapped_archive_has_what_the_reader_reads(archive):
    mapped, read = kw.read(archive, mmap=True), kw.read(archive)
    assert np.array_equal(mapped.X, read.X)
    assert np.array_equal(mapped.y, read.y)
    assert not mapped.X.flags.writeable


def test_columns_first_empty_arrays_and_long_names(tmp_path):
    path = tmp_path / "odd.npz"
    arrays = {"F": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "none": np.empty((0, 3)), "n" * 300: np.arange(2)}
    np.savez(path, **arrays)
    found = mapped_arrays(path)
    assert set(found) == set(arrays)
    for name, values in arrays.items():
        assert np.array_equal(found[name], values)
        assert found[name].shape == values.shape


def test_what_cannot_be_mapped_gets_one_sentence(tmp_path):
    packed, damaged, objects, other = (tmp_path / f"{name}.npz" for name in ("packed", "damaged", "objects", "other"))
    np.savez_compressed(packed, X=np.eye(3))
    np.savez(objects, X=np.array([{}], dtype=object))
    damaged.write_bytes(b"PK\x03\x04 nothing more")
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("X.npy", "no array")
    for path, words in (
        (packed, "'X' is compressed"),
        (damaged, "damaged or not a plain archive"),
        (objects, "Python objects"),
        (other, "'X' has no header"),
    ):
        with pytest.raises(ValueError, match=words):
            mapped_arrays(path)
