from __future__ import annotations

import numpy as np
import pytest

import kernelweave as kw
from kernelweave import datasets

MAKERS = [
    datasets.make_splice,
    datasets.make_stars,
    datasets.make_sines,
    datasets.make_linear_plus_rbf,
    datasets.make_complementary,
]


def same(a: object, b: object) -> bool:
    return a == b if isinstance(a, kw.Sequences) else np.array_equal(a, b)


@pytest.mark.parametrize("make", MAKERS, ids=lambda f: f.__name__)
def test_same_seed_same_bits(make: object) -> None:
    X, y = make(60, random_state=3)
    Z, z = make(60, random_state=3)
    assert same(X, Z)
    assert same(y, z)
    assert not same(X, make(60, random_state=4)[0])
    assert len(X) == len(y) == 60
    first = make(60, random_state=np.random.default_rng(1))
    assert same(first[0], make(60, random_state=np.random.default_rng(1))[0])
    assert same(make(60, random_state=np.random.RandomState(1))[0], make(60, random_state=np.random.RandomState(1))[0])


def test_splice_plants_its_signals() -> None:
    X, y = datasets.make_splice(20_000, random_state=0)
    assert X.shape == (20_000, 141)
    assert (y == 1).sum() == 4_000
    assert (X.matrix[:, 60] == 0).all()
    assert (X.matrix[:, 61] == 2).all()
    share = np.stack([(X.matrix[y == 1] == c).mean(0) - (X.matrix[y == -1] == c).mean(0) for c in range(4)])
    told = np.abs(share).max(0)
    planted = np.zeros(141, bool)
    for start, stop in datasets.splice_signals().values():
        planted[start:stop] = True
    planted[[60, 61]] = False
    assert told[~planted].max() < 0.05
    assert (told[planted] > 0.05).mean() > 0.95
    found = np.array(["CTAAC" in row[25:39] for row in X])
    assert found[y == 1].mean() > 5 * found[y == -1].mean()


def test_splice_background_is_the_same_for_every_seed() -> None:
    chains = []
    for seed in (1, 2):
        X, y = datasets.make_splice(10_000, random_state=seed)
        M = X.matrix[y == -1, 63:].astype(int)
        words = ((M[:, :-3] * 4 + M[:, 1:-2]) * 4 + M[:, 2:-1]) * 4 + M[:, 3:]
        counts = np.bincount(words.ravel(), minlength=256).reshape(64, 4)
        chains.append(counts / counts.sum(1, keepdims=True))
    np.testing.assert_allclose(*chains, atol=0.03)
    assert np.ptp(chains[0], axis=1).max() > 0.3


def test_splice_parameters_act() -> None:
    weak, y = datasets.make_splice(8000, signal_rate=0.0, random_state=0)
    assert abs((weak.matrix[y == 1, 50] == 3).mean() - (weak.matrix[y == -1, 50] == 3).mean()) < 0.05
    decoys, y = datasets.make_splice(8000, decoy_rate=1.0, random_state=0)
    clean, z = datasets.make_splice(8000, random_state=0)
    assert (decoys.matrix[y == -1, 59] == 1).mean() > (clean.matrix[z == -1, 59] == 1).mean() + 0.05
    exact, y = datasets.make_splice(500, branch_mutation=0.0, random_state=0)
    assert all("CTAAC" in row[25:39] for row in exact[y == 1])
    short, y = datasets.make_splice(11, length=80, positive_fraction=0.01, random_state=0)
    assert short.shape == (11, 80)
    assert (y == 1).sum() == 1


def test_stars() -> None:
    X, y = datasets.make_stars(1000, distance=3.0, noise=0.0, random_state=0)
    reach = np.linalg.norm(X, axis=1)
    assert (y == 1).sum() == 500
    assert 3.9 < reach[y == -1].max() <= 4.0
    assert 6.9 < reach[y == 1].max() <= 7.0
    assert 1.99 < reach[y == -1].min() < 2.05


def test_sines() -> None:
    X, y = datasets.make_sines(100, frequencies=(2.0, 7.0), slope=0.5, noise=0.0, interval=(-1, 1), random_state=0)
    x = X[:, 0]
    np.testing.assert_allclose(y, np.sin(2 * x) + np.sin(7 * x) + x / 2)
    assert -1 <= x.min() <= x.max() <= 1
    _, line = datasets.make_sines(100, frequencies=(), slope=2.0, noise=0.0, random_state=0)
    np.testing.assert_allclose(line, 2 * datasets.make_sines(100, random_state=0)[0][:, 0])


def test_linear_plus_rbf_needs_both() -> None:
    X, y = datasets.make_linear_plus_rbf(2000, noise=0.0, random_state=0)
    design = np.column_stack([X, np.ones(len(X))])
    rest = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    near = np.exp(-((X[:, None] - [[1, 1]]) ** 2).sum(2) / 0.3).ravel()
    assert 0.1 < rest.std() < y.std()
    assert np.corrcoef(rest, near)[0, 1] > 0.3


def test_complementary() -> None:
    X, y = datasets.make_complementary(20_000, random_state=0)
    assert X.shape == (20_000, 40)
    told = np.abs((X * y[:, None]).mean(0))
    assert told[:34].min() > 0.1
    assert told[34:].max() < 0.05


@pytest.mark.parametrize(
    ("make", "parameters", "sentence"),
    [
        (datasets.make_splice, {"n_samples": 1}, "n_samples=1 is not valid"),
        (datasets.make_splice, {"length": 50}, "length=50 is not valid; expected an integer of at least 66"),
        (datasets.make_splice, {"positive_fraction": 1.0}, "positive_fraction=1.0 is not valid"),
        (datasets.make_splice, {"decoy_rate": -1}, "decoy_rate=-1 is not valid"),
        (datasets.make_splice, {"random_state": -1}, "random_state=-1 is negative"),
        (datasets.make_stars, {"distance": -1}, "distance >= 0"),
        (datasets.make_stars, {"noise": -1}, "noise=-1 is not valid"),
        (datasets.make_sines, {"interval": (1, 1)}, "start below its end"),
        (datasets.make_linear_plus_rbf, {"width": 0}, "width=0 is not valid"),
        (datasets.make_complementary, {"n_relevant": 50}, "n_relevant=50 is more than n_features=40"),
    ],
)
def test_bad_parameters(make: object, parameters: dict, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make(**parameters)


def test_bad_seed() -> None:
    with pytest.raises(TypeError, match="random_state='x' is not a seed"):
        datasets.make_sines(random_state="x")
