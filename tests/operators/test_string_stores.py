"""Coordinate descent whose weight vector is an automaton: the same classifier whatever the automaton."""

from fractions import Fraction

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.engines import Serial
from kernelweave.losses import make_loss
from kernelweave.operators.automata.descent import STRING_STORES, StringRows
from kernelweave.operators.base import DESCENT_STORES
from kernelweave.operators.features.operator import FeatureOperator
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.svm.dual_coordinate import DualCoordinate

AUTOMATA = [store for store in DESCENT_STORES if store != "indexed"]
rng = np.random.default_rng(7)
LETTERS = kw.Alphabet("letters", "abcde")


def texts(n, shortest=0, longest=25):
    return kw.Sequences.from_strings(
        ["".join(rng.choice(list("abcde"), rng.integers(shortest, longest))) for _ in range(n)], alphabet=LETTERS
    )


def lattices(n):
    """Chains of three places with one to three words each, some of them left out."""
    made = []
    for _ in range(n):
        arcs = []
        for place in range(3):
            words = rng.choice(5, rng.integers(1, 4), replace=False)
            arcs += [(place, place + 1, int(word), float(rng.uniform(0.1, 1.0))) for word in words]
        arcs.append((0, 1, None, 0.3))
        made.append((arcs, {3: 1.0}))
    return kw.Lattices.from_arcs(made, alphabet=LETTERS)


def labels(X):
    """Rows by how often they have the letter a, with some noise: not separable."""
    counts = kw.NGram(1).features(X)[:, [0]].toarray().ravel()
    y = np.where(counts > np.median(counts), 1, -1)
    y[:2] = 1, -1
    return y


@pytest.mark.parametrize("store", AUTOMATA)
@pytest.mark.parametrize(
    ("kernel", "make"),
    [
        (kw.NGram(3), texts),
        (kw.NGram(3, cumulative=True).normalized(), texts),
        (kw.GappyNGram(2, 0.5), texts),
        (0.5 * kw.NGram(2, cumulative=True), lattices),
    ],
    ids=["n-grams", "all lengths, unit rows", "gaps", "lattices"],
)
def test_every_store_gives_the_same_classifier(store, kernel, make):
    X = make(20)
    y = labels(X)
    given = {"kernel": kernel, "C": 0.1, "solver": "dual_coordinate", "tol": 1e-7, "max_iter": 2000}
    one = kw.KernelClassifier(**given, fit_intercept="regularized").fit(X, y)
    other = kw.KernelClassifier(**given, fit_intercept="regularized", solver_params={"store": store}).fit(X, y)
    assert one.converged_
    assert other.converged_
    new = make(15)
    np.testing.assert_allclose(other.decision_function(new), one.decision_function(new), rtol=0, atol=1e-9)
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-9)
    assert other.trace_["arcs"][-1] > 0


@pytest.mark.parametrize("store", AUTOMATA)
def test_losses_intercepts_and_a_warm_start(store):
    X = texts(12, 8)
    y = labels(X).astype(float)
    operator = FeatureOperator(kw.NGram(3).normalized(), X, Serial())
    for loss in ("hinge", "squared_hinge", "logistic", "epsilon_insensitive"):
        for intercept in ("free", "regularized", "none"):
            p = Problem(operator, make_loss(loss), y, np.full(len(y), 0.5), intercept)
            ours, theirs = (run(DualCoordinate(store=s), p, Stop(1e-5, 500)) for s in (store, "indexed"))
            assert ours.converged
            assert ours.primal.value == pytest.approx(theirs.primal.value, rel=2e-5)
    again = run(DualCoordinate(store=store), p, Stop(1e-5, 500), start=ours.dual.alpha)
    assert again.converged
    assert again.n_iter <= ours.n_iter


@pytest.mark.parametrize("store", DESCENT_STORES)
def test_first_pass_of_the_papers_example(store):
    """Table 2 of Allauzen, Cortes and Mohri: bigrams of ababa and abbab, both positive, in this order."""
    X = kw.Sequences.from_strings(["ababa", "abbab"], alphabet=kw.Alphabet("ab", "ab"))
    operator = FeatureOperator(kw.NGram(2), X, Serial())
    problem = Problem(operator, make_loss("hinge"), np.ones(2), np.full(2, 10.0), "none")
    solver = DualCoordinate(order="sequential", store=store)
    solver.init(problem, None, Stop(1e-9, 10))
    solver.step()
    assert operator.diag().tolist() == [8.0, 6.0]
    assert solver.alpha[0] == Fraction(1, 8)
    assert solver.local_state.outputs[1] == Fraction(3, 4)
    assert solver.alpha[1] == pytest.approx(1 / 24, rel=1e-15)


def test_sizes_of_the_automata():
    """The tree has an edge for each prefix; the minimal automaton is never larger; the sum has every row's own tree."""
    X = texts(30, 5)
    rows = StringRows(kw.NGram(3), X)
    prefixes = {text[i : i + k] for text in X.to_strings() for k in (1, 2, 3) for i in range(len(text) - 2)}
    made = {name: store(rows) for name, store in STRING_STORES.items()}
    for weights in made.values():
        for row in range(30):
            weights.add(row, 1.0 + row)
    assert made["trie"].n_arcs == len(prefixes)
    assert made["minimal"].n_arcs <= made["trie"].n_arcs < made["naive"].n_arcs
    outputs = [[weights.look_up(row) for row in range(30)] for weights in made.values()]
    expected = kw.NGram(3).gram(X) @ np.arange(1.0, 31.0)
    np.testing.assert_allclose(outputs, [expected] * 3, rtol=1e-12)
    assert all(weights.nbytes > 0 for weights in made.values())


def test_clear_errors():
    X = texts(20, 8)
    y = labels(X)
    with pytest.raises(ValueError, match="store='hash' must be one of indexed, trie, minimal, naive"):
        DualCoordinate(store="hash")
    fixed = kw.Sequences.from_strings(["abcde", "aabbc", "edcba"] * 5, alphabet=LETTERS)
    machine = kw.KernelClassifier(kw.WeightedDegree(3), solver="dual_coordinate", solver_params={"store": "trie"})
    with pytest.raises(TypeError, match="store='trie' holds strings of any place; this kernel needs store='indexed'"):
        machine.fit(fixed, [1, -1, 1] * 5)
    machine.set_params(kernel=kw.GappedKmer(3, 2))
    with pytest.raises(
        TypeError, match=r"store='trie' keeps the strings .* GappedKmer\(3, 2\) does not list them; use"
    ):
        machine.fit(X, y)
