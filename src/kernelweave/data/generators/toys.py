"""Small problems with a known answer to the question which kernel matters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelweave.data.random import RandomState, check_count, generator

Array = np.ndarray

BUMP_CENTRES = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
BUMP_HEIGHTS = np.array([1.5, -1.5, -1.5, 1.5])
LINE = np.array([1.0, 0.5])


def make_stars(
    n_samples: int = 2000,
    distance: float = 2.0,
    *,
    radius: float = 4.0,
    points: int = 5,
    depth: float = 0.5,
    noise: float = 0.3,
    random_state: RandomState = None,
) -> tuple[Array, Array]:
    """Draw points from the outlines of two stars, one inside the other.

    The farther apart the stars, the wider the Gaussian kernel that separates them best.

    Parameters
    ----------
    n_samples : number of points, half of each class
    distance : how much farther the tips of the outer star reach; 0 puts one star on the other
    radius : reach of the tips of the inner star
    points : number of tips
    depth : how deep the notches are, as a share of the reach, in [0, 1)
    noise : standard deviation of Gaussian noise on both coordinates
    random_state : seed, numpy generator or None

    Returns
    -------
    X : (n_samples, 2)
    y : (n_samples,) 1 for the outer star, -1 for the inner one

    Examples
    --------
    >>> X, y = make_stars(100, distance=3.0, random_state=0)
    >>> X.shape, int(y.sum())
    ((100, 2), 0)
    """
    n, points = check_count("n_samples", n_samples, 2), check_count("points", points, 2)
    if distance < 0 or radius <= 0 or not 0 <= depth < 1:
        raise ValueError("Stars need distance >= 0, radius > 0 and 0 <= depth < 1.")
    rng = generator(random_state)
    y = np.where(np.arange(n) < n // 2, 1, -1)
    rng.shuffle(y)
    corners = 2 * points
    angles = np.arange(corners + 1) * (2 * np.pi / corners)
    reach = np.where(np.arange(corners + 1) % 2, 1 - depth, 1.0)
    outline = reach[:, None] * np.column_stack([np.sin(angles), np.cos(angles)])
    edge, along = rng.integers(0, corners, n), rng.random(n)[:, None]
    X = (1 - along) * outline[edge] + along * outline[edge + 1]
    X *= np.where(y == 1, radius + distance, radius)[:, None]
    return X + _noise(rng, noise, X.shape), y


def make_sines(
    n_samples: int = 1000,
    frequencies: Sequence[float] = (1.0,),
    slope: float = 0.0,
    *,
    noise: float = 0.1,
    interval: tuple[float, float] = (0.0, 10.0),
    random_state: RandomState = None,
) -> tuple[Array, Array]:
    """Draw from a sum of sine waves and a line: ``y = sum_a sin(a x) + slope x + noise``.

    Parameters
    ----------
    n_samples : number of points
    frequencies : angular frequency of each wave; none for the line alone
    slope : of the line
    noise : standard deviation of Gaussian noise on y
    interval : x is uniform in it
    random_state : seed, numpy generator or None

    Returns
    -------
    X : (n_samples, 1)
    y : (n_samples,)

    Examples
    --------
    >>> X, y = make_sines(200, frequencies=(1, 8), slope=0.5, random_state=0)
    >>> X.shape, y.shape
    ((200, 1), (200,))
    """
    n = check_count("n_samples", n_samples)
    if not interval[0] < interval[1]:
        raise ValueError(f"interval={interval!r} is not valid; expected its start below its end.")
    rng = generator(random_state)
    x = rng.uniform(*interval, n)
    y = np.sin(np.multiply.outer(np.asarray(frequencies, float), x)).sum(0) + slope * x
    return x[:, None], y + _noise(rng, noise, n)


def make_linear_plus_rbf(
    n_samples: int = 50, *, width: float = 0.3, noise: float = 0.05, random_state: RandomState = None
) -> tuple[Array, Array]:
    """Draw from a tilted plane with two bumps and two dents: a linear kernel and a narrow Gaussian are both needed.

    ``y = x1 + x2 / 2 + sum_j h_j exp(-|x - c_j|^2 / width)`` with the centres at (-1, -1), (-1, 1), (1, -1), (1, 1).

    Parameters
    ----------
    n_samples : number of points, uniform in the square [-2, 2]^2
    width : of the bumps
    noise : standard deviation of Gaussian noise on y
    random_state : seed, numpy generator or None

    Returns
    -------
    X : (n_samples, 2)
    y : (n_samples,)

    Examples
    --------
    >>> X, y = make_linear_plus_rbf(80, random_state=0)
    >>> X.shape, y.shape
    ((80, 2), (80,))
    """
    n = check_count("n_samples", n_samples)
    if width <= 0:
        raise ValueError(f"width={width!r} is not valid; expected a number above 0.")
    rng = generator(random_state)
    X = rng.uniform(-2, 2, (n, 2))
    squared = ((X[:, None, :] - BUMP_CENTRES) ** 2).sum(2)
    y = X @ LINE + np.exp(-squared / width) @ BUMP_HEIGHTS
    return X, y + _noise(rng, noise, n)


def make_complementary(
    n_samples: int = 500, n_features: int = 40, n_relevant: int = 34, *, random_state: RandomState = None
) -> tuple[Array, Array]:
    """Draw features of which each relevant one tells a little, and none tells what another does.

    The label is the sign of the mean of the first `n_relevant` features; the others are noise.  With one linear
    kernel per feature, methods that keep few kernels lose information.

    Parameters
    ----------
    n_samples : number of rows
    n_features : number of columns, independent standard normal
    n_relevant : how many of them, counted from the first, make the label
    random_state : seed, numpy generator or None

    Returns
    -------
    X : (n_samples, n_features)
    y : (n_samples,) 1 or -1

    Examples
    --------
    >>> X, y = make_complementary(random_state=0)
    >>> bool(((X[:, :34].mean(axis=1) > 0) == (y == 1)).all())
    True
    """
    n, d = check_count("n_samples", n_samples), check_count("n_features", n_features)
    relevant = check_count("n_relevant", n_relevant)
    if relevant > d:
        raise ValueError(f"n_relevant={relevant} is more than n_features={d}.")
    X = generator(random_state).standard_normal((n, d))
    return X, np.where(X[:, :relevant].mean(axis=1) > 0, 1, -1)


def _noise(rng: np.random.Generator, scale: float, shape: int | tuple[int, ...]) -> Array:
    if scale < 0:
        raise ValueError(f"noise={scale!r} is not valid; expected a standard deviation of 0 or more.")
    return rng.normal(0.0, scale, shape)
