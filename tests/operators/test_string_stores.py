"""Coordinate descent whose weight vector is an automaton: the same classifier whatever the automaton."""

from fractions import Fraction

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.automata import Transducer, compose, inverse, ngram_counter
from kernelweave.automata.minimal import machines
from kernelweave.engines import Serial
from kernelweave.kernels import Rational
from kernelweave.losses import make_loss
from kernelweave.operators.automata.rows import row_machines
from kernelweave.operators.automata.weights import STRING_STORES
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
        (0.5 * Rational(ngram_counter(LETTERS, 2)).normalized(), lattices),
    ],
    ids=["n-grams", "all lengths, unit rows", "gaps", "lattices", "a transducer, unit rows"],
)
def test_every_store_gives_the_same_classifier(store, kernel, make):
    X = make(20)
    y = labels(X)
    given = {"kernel": kernel, "C": 0.1, "solver": "dual_coordinate", "tol": 1e-10, "max_iter": 5000}
    one = kw.KernelClassifier(**given, fit_intercept="regularized").fit(X, y)
    other = kw.KernelClassifier(**given, fit_intercept="regularized", solver_params={"store": store}).fit(X, y)
    assert one.converged_
    assert other.converged_
    new = make(15)
    # The flat array may end by the interior-point method: what a gap of 1e-10 leaves open is its square root.
    np.testing.assert_allclose(other.decision_function(new), one.decision_function(new), rtol=0, atol=1e-4)
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-9)
    assert other.trace_["arcs"][-1] > 0


@pytest.mark.parametrize("make", [texts, lattices])
def test_a_row_that_was_planted_knows_its_nodes(make):
    """Sums over the nodes that are known are those of walks, as the tree grows and rows come again."""
    X = make(12)
    rows = row_machines(kw.NGram(3), X)
    tree, plain = STRING_STORES["trie"](rows), STRING_STORES["naive"](rows)
    for step, row in enumerate([3, 1, 3, 7, 1, 0, 3]):
        tree.add(row, 0.5 - step)
        plain.add(row, 0.5 - step)
        for other in range(len(X)):
            assert tree.look_up(other) == pytest.approx(plain.look_up(other), rel=1e-12, abs=1e-12)
    assert sorted(tree.ends) == [row for row in (0, 1, 3, 7) if tree.knows[row]] != []


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
    rows = row_machines(kw.NGram(3), X)
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
    with pytest.raises(
        TypeError, match=r"store='trie' keeps the strings .* does not count strings; use store='indexed'"
    ):
        machine.fit(fixed, [1, -1, 1] * 5)
    machine.set_params(kernel=kw.GappedKmer(3, 2))
    with pytest.raises(TypeError, match=r"store='trie' keeps .* but GappedKmer\(3, 2\) does not count strings; use"):
        machine.fit(X, y)
    machine.set_params(kernel=kw.NGram(1) + kw.NGram(2))
    with pytest.raises(
        TypeError, match=r"but Sum\(.*NGram\(2\)\]\) is made of several kernels; use store='indexed', or"
    ):
        machine.fit(X, y)
    machine.set_params(kernel=Rational(copying()), solver_params={"store": "trie"})
    with pytest.raises(ValueError, match=r"Row 0 has strings with 8\.38861e\+06 prefixes, .* up to 1,000,000 of a row"):
        machine.fit(sausages(4, 22), [1, -1, 1, -1])
    arcs = [(0, 0, letter, letter, 0.5) for letter in "abcde"]
    endless = Transducer.from_arcs([*arcs, (0, 0, None, "b", 0.25)], [0], LETTERS)
    machine.set_params(kernel=Rational(endless), solver_params={"store": "minimal"})
    with pytest.raises(ValueError, match=r"store='minimal' needs rows of finitely many paths.*use store='naive'"):
        machine.fit(texts(4, 3), [1, -1, 1, -1])


def copying():
    """The kernel of equal strings: each row is compared as a distribution over whole strings."""
    return Transducer.from_arcs([(0, 0, letter, letter, 1.0) for letter in "abcde"], [0], LETTERS)


def sausages(n, places, alike=False):
    """Lattices with two of three letters at each place, of any weight or of one half: 2^places strings each."""
    seed = np.random.default_rng(11)
    made = []
    for _ in range(n):
        arcs = []
        for place in range(places):
            for letter in seed.choice(3, 2, replace=False):
                arcs.append((place, place + 1, int(letter), 0.5 if alike else float(seed.uniform(0.2, 0.8))))
        made.append((arcs, [places]))
    return kw.Lattices.from_arcs(made, alphabet=LETTERS)


@pytest.mark.parametrize("store", ["minimal", "naive"])
def test_lattices_of_exponentially_many_strings_train_by_their_arcs(store):
    """2^60 strings a row: neither training nor scoring lists them; the classifier is that of the Gram matrix."""
    X, y = sausages(8, 60, alike=store == "minimal"), np.array([1, -1] * 4)
    kernel = Rational(copying()).normalized()
    options = {"C": 2.0, "tol": 1e-9, "fit_intercept": "regularized"}
    one = kw.KernelClassifier(kernel, solver="dual_coordinate", solver_params={"store": store}, **options).fit(X, y)
    other = kw.KernelClassifier(kernel, solver="smo", **options).fit(X, y)
    assert one.memory_plan_.kind == "automata"
    assert one.trace_["arcs"][-1] < 20_000
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=0, atol=1e-7)
    assert one.converged_


def test_a_sum_that_has_no_small_deterministic_automaton(monkeypatch):
    """Of strings that many rows share, each with other weights, nearly every prefix has a residual of its own."""
    monkeypatch.setattr(machines, "MOST_NODES", 5000)
    options = {"solver": "dual_coordinate", "solver_params": {"store": "minimal"}, "C": 2.0}
    with pytest.raises(ValueError, match=r"more than 5,000 states for a single row; .* store='naive'"):
        kw.KernelClassifier(Rational(copying()).normalized(), **options).fit(sausages(8, 40), [1, -1] * 4)


@pytest.mark.parametrize("store", AUTOMATA)
@pytest.mark.parametrize("make", [texts, lattices], ids=["strings", "lattices"])
def test_a_transducer_as_a_whole_descends_by_equation_1(store, make):
    """W is over the input strings of the rows; the kernel need not be given as T o T^-1."""
    X = make(14)
    y = labels(X)
    T = ngram_counter(LETTERS, 2)
    options = {"C": 0.5, "solver": "dual_coordinate", "tol": 1e-8, "fit_intercept": "regularized", "max_iter": 3000}
    whole = Rational(compose(T, inverse(T)), decomposed=False)
    one = kw.KernelClassifier(whole, solver_params={"store": store}, **options).fit(X, y)
    other = kw.KernelClassifier(Rational(T), **options).fit(X, y)
    assert one.converged_
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-7)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=0, atol=1e-4)
    rows = row_machines(whole, X)
    weights = STRING_STORES[store](rows)
    for row in range(len(X)):
        weights.add(row, 1.0 + row)
    wanted = whole.gram(X) @ np.arange(1.0, len(X) + 1.0)
    np.testing.assert_allclose([weights.look_up(row) for row in range(len(X))], wanted, rtol=1e-10)


def test_rows_that_write_without_end_descend_by_the_sum_of_their_machines():
    endless = Transducer.from_arcs(
        [(0, 0, "a", "a", 0.5), (0, 0, "b", "b", 0.5), (0, 0, None, "b", 0.25)], [0], LETTERS
    )
    X = kw.Sequences.from_strings(["ab", "ba", "aab", "b", "aba", "bb"], alphabet=LETTERS)
    y, options = [1, -1, 1, -1, 1, -1], {"C": 3.0, "tol": 1e-8, "fit_intercept": "regularized"}
    one = kw.KernelClassifier(Rational(endless), solver="dual_coordinate", solver_params={"store": "naive"}, **options)
    other = kw.KernelClassifier(Rational(endless), solver="smo", **options).fit(X, y)
    np.testing.assert_allclose(one.fit(X, y).decision_function(X), other.decision_function(X), atol=1e-5)
