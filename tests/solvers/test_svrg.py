"""SVRG: the paper's schedule keeps its promises, the adaptive one its certificate; models on explicit features."""

import math

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.engines import Serial
from kernelweave.losses import make_loss
from kernelweave.operators import Task, choose
from kernelweave.penalties import LpBall
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.mkl.gradient.svrg.paper import iterations, progress, step_size
from kernelweave.solvers.mkl.gradient.svrg.solver import SVRG
from kernelweave.solvers.mkl.problem import MKLProblem

F = 6


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def waves(X, components=10):
    return [kw.Fourier(kw.RBF(width=2.0**k), components, random_state=k).fitted(X) for k in range(F)]


def bound_problem(n=200, p=2.0, intercept="none", C=1.0):
    X, y = rows(n)
    operators, _ = choose(Task(waves(X), X, Serial(), tol=1e-9, need="design"))
    return MKLProblem(operators, make_loss("logistic"), y[None, :], np.full(n, C), LpBall(p), intercept)


@pytest.mark.parametrize("epsilon", [0.1, 0.01])
def test_the_papers_schedule_reaches_its_epsilon_in_its_epochs(epsilon):
    shown = bound_problem()
    best = run(SVRG(weights="fixed"), shown, Stop(1e-11, 500)).primal.value
    start = 200 * math.log(2.0)
    epochs, errors = math.ceil(math.log(1 / epsilon)), []
    for seed in range(8):
        solver = SVRG(schedule="paper", weights="fixed", epsilon=epsilon, random_state=seed)
        result = run(solver, shown, Stop(1e-15, epochs))
        errors.append((solver.seen.primal - best) / (start - best))
        assert np.all(result.trace["updates"] <= result.trace["allowed"])
    assert np.mean(errors) <= epsilon


@pytest.mark.parametrize("p", [4 / 3, 2.0, 4.0])
def test_moving_weights_stay_within_the_corrected_bound(p):
    shown = bound_problem(p=p)
    result = run(SVRG(schedule="paper", epsilon=0.1), shown, Stop(1e-15, 3))
    assert np.all(result.trace["updates"] <= result.trace["allowed"])
    assert result.trace["updates"][-1] > 0
    best = run(SVRG(), shown, Stop(1e-9, 500)).primal.value
    assert result.trace["primal"][-1] - best <= 0.1 * (200 * math.log(2.0) - best)


def test_rounds_of_the_papers_schedule_go_on_to_the_tolerance():
    result = run(SVRG(schedule="paper", epsilon=0.1), bound_problem(), Stop(1e-4, 100))
    assert result.converged
    assert result.n_iter > math.ceil(math.log(10))


def test_constants_of_proposition_one():
    delta, kappa = np.array([0.4]), np.array([100.0])
    smooth, convex = 5.0, np.array([0.05])
    m = iterations(delta, kappa)
    by_hand = (4 * 99 / 0.4 + 200) * math.log(2 / 0.4 + 199 / 99)
    assert m[0] == math.ceil(by_hand)
    h = step_size(delta, smooth, convex)
    assert h[0] == pytest.approx(1 / (4 / 0.4 * 4.95 + 10))
    assert progress(convex, smooth, h, m)[0] <= 0.4


def test_stopping_times_follow_their_distribution():
    solver = SVRG(schedule="paper")
    shown = bound_problem(40)
    solver.init(shown, None, Stop(0.1))
    rate, length = 0.05, 20
    drawn = np.concatenate([solver.epochs._stops(np.full(50, rate), np.full(50, length)) for _ in range(400)])
    chance = (1 - rate) ** (length - np.arange(1, length + 1))
    seen = np.bincount(drawn, minlength=length + 1)[1:] / len(drawn)
    assert drawn.min() >= 1
    assert drawn.max() == length
    assert np.abs(seen - chance / chance.sum()).max() < 0.01


def test_the_same_seed_gives_the_same_bits_and_threads_change_nothing():
    X, y = rows(3000)
    models = [
        kw.MKLClassifier(
            [kw.Fourier(kw.RBF(width=4.0), 20), kw.Linear()], loss="logistic", norm=2.0, solver="svrg", n_jobs=jobs
        ).fit(X, y)
        for jobs in (1, 1, 2)
    ]
    assert all(np.array_equal(models[0].coef_, model.coef_) for model in models[1:])


def test_a_badly_conditioned_problem_is_sped_up_by_momentum():
    shown = bound_problem(400, C=1000.0)
    plain = run(SVRG(momentum=False), shown, Stop(1e-3, 3000))
    quick = run(SVRG(), shown, Stop(1e-3, 3000))
    assert quick.converged
    assert quick.n_iter < 0.7 * plain.n_iter


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "smooth_hinge"])
def test_a_model_on_explicit_features_agrees_with_one_on_kernel_values(loss):
    X, y = rows(300)
    kernels = [*kw.RBF.grid([1.0, 8.0]), kw.Linear(), kw.Polynomial(2)]
    told = {"loss": loss, "norm": 2.0, "tol": 1e-6}
    exact = kw.MKLClassifier(kernels, solver="lp", **told).fit(X, y)
    model = kw.MKLClassifier(kernels, solver="svrg", solver_params={"feature_tolerance": 1e-9}, **told).fit(X, y)
    assert model.converged_
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-5)
    assert np.allclose(model.kernel_weights_, exact.kernel_weights_, atol=2e-3)
    new, _ = rows(50, seed=1)
    assert np.allclose(model.decision_function(new), exact.decision_function(new), atol=0.02)
    parts = model.decision_function(new, per_kernel=True)
    assert np.allclose(parts.sum(axis=1) + model.intercept_, model.decision_function(new))
    assert np.all(model.approximation_errors_ <= 1e-9)
    assert len(model.support_) == 0


def test_it_regresses():
    X, _ = rows(400)
    y = np.sin(2 * X[:, 0]) + 0.1 * X[:, 1]
    told = {"loss": "squared", "norm": 2.0, "tol": 1e-5, "C": 5.0}
    exact = kw.MKLRegressor(kw.RBF.grid([1.0, 8.0]), solver="lp", **told).fit(X, y)
    model = kw.MKLRegressor(kw.RBF.grid([1.0, 8.0]), solver="svrg", **told).fit(X, y)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-3)
    assert model.score(X, y) > 0.9


def test_several_classes_have_a_vector_each_and_models_are_saved(tmp_path):
    X, _ = rows(300)
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = kw.MKLClassifier(kw.RBF.grid([1.0, 8.0]), loss="logistic", norm=2.0, solver="svrg").fit(X, y)
    assert len(model.coef_) == 3
    assert model.score(X, y) > 0.9
    kw.save(model, tmp_path / "model.kw")
    again = kw.load(tmp_path / "model.kw")
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_strings_keep_the_codes_of_their_features(tmp_path):
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(300)]
    y = np.array([text.count("AC") > 1 for text in texts])
    S = kw.Sequences.from_strings(texts, alphabet="dna")
    kernels = [kw.Spectrum(2), kw.Spectrum(3)]
    told = {"loss": "logistic", "norm": 2.0, "tol": 1e-5}
    model = kw.MKLClassifier(kernels, solver="svrg", **told).fit(S[:200], y[:200])
    exact = kw.MKLClassifier(kernels, solver="lp", **told).fit(S[:200], y[:200])
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-4)
    assert np.allclose(model.decision_function(S[200:]), exact.decision_function(S[200:]), atol=0.05)
    kw.save(model, tmp_path / "model.kw")
    assert np.array_equal(kw.load(tmp_path / "model.kw").decision_function(S), model.decision_function(S))


def test_auto_takes_stochastic_steps_where_columns_are_many():
    X, y = rows(2500)
    few = kw.MKLClassifier([kw.Fourier(kw.RBF(width=4.0), 20), kw.Linear()], loss="logistic", norm=2.0).fit(X, y)
    assert few.solver_ == "block_coordinate"
    assert "solver='svrg' about" in few.solver_why_
    assert few.converged_
    assert few.approximation_errors_[0] > 0 == few.approximation_errors_[1]
    waves = [kw.Fourier(kw.RBF(width=width), 350) for width in (4.0, 16.0)]
    many = kw.MKLClassifier(waves, loss="logistic", norm=2.0).fit(X, y)
    assert many.solver_ == "svrg"
    assert many.converged_


def test_the_heaviest_features_have_names():
    from kernelweave.interpret import top_features, top_ngrams

    texts = ["ACCAT", "TCCTA", "AGGAC", "TGGTC"] * 5
    S, y = kw.Sequences.from_strings(texts, alphabet="dna"), [0, 0, 1, 1] * 5
    told = {"loss": "logistic", "norm": 2.0, "solver": "svrg", "normalize": None}
    model = kw.MKLClassifier([kw.Spectrum(2), kw.Spectrum(1)], **told).fit(S, y)
    best = top_features(model, 4)
    assert {one.feature for one in best} >= {"G", "GG"}
    assert next(one for one in best if one.feature == "GG").weight > 0
    assert top_features(model, 1, target=0)[0].weight == -top_features(model, 1, target=1)[0].weight
    only_gg, nothing = (model.decision_function(kw.Sequences.from_strings([t], alphabet="dna"))[0] for t in ("GG", "A"))
    letters = {one.feature: one.weight for one in top_features(model, 100)}
    assert only_gg - nothing == pytest.approx(letters["GG"] + 2 * letters["G"] - letters["A"])
    with pytest.raises(ValueError, match="read them with top_features"):
        top_ngrams(model)
    with pytest.raises(ValueError, match="keeps support vectors"):
        top_features(kw.MKLClassifier([kw.Spectrum(2)]).fit(S, y))


def test_a_refit_with_another_solver_forgets_the_vectors():
    X, y = rows(100)
    model = kw.MKLClassifier(kw.RBF.grid([1.0, 8.0]), loss="logistic", norm=2.0, solver="svrg").fit(X, y)
    model.set_params(solver="lp").fit(X, y)
    assert not hasattr(model, "coef_")
    assert len(model.support_) == 100


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"schedule": "fast"}, "schedule='fast' is unknown"),
        ({"batch": 0}, "batch and refreshes must be at least 1"),
        ({"epsilon": 2.0}, "epsilon=2.0 must lie between 0 and 1"),
        ({"weights": "mine"}, "weights='mine' must be"),
        ({"speed": 3}, "do not fit solver='svrg'"),
    ],
)
def test_bad_parameters_get_a_sentence(params, sentence):
    X, y = rows(40)
    with pytest.raises(ValueError, match=sentence):
        kw.MKLClassifier([kw.Linear()], loss="logistic", norm=2.0, solver="svrg", solver_params=params).fit(X, y)


def test_other_losses_get_a_sentence():
    X, y = rows(40)
    with pytest.raises(ValueError, match=r"solver='svrg' is for the losses logistic, .*, not 'hinge'"):
        kw.MKLClassifier([kw.Linear()], norm=2.0, solver="svrg").fit(X, y)
    with pytest.raises(ValueError, match="solver='svrg' learns weights for each class"):
        kw.MKLClassifier([kw.Linear()], loss="logistic", solver="svrg", shared_weights=True).fit(X, np.arange(40) % 3)


def test_too_few_features_are_told_in_the_users_words():
    X, y = rows(300)
    model = kw.MKLClassifier([kw.RBF(width=1.0)], loss="logistic", solver="svrg", solver_params={"feature_rank": 5})
    with pytest.warns(UserWarning, match=r"into 5 features with a relative error of .*raise feature_rank") as told:
        model.fit(X, y)
    assert not any("max_rank" in str(one.message) for one in told)
    assert model.approximation_errors_[0] > 1e-4


def test_a_loss_that_does_not_fit_is_told_before_features_are_made(monkeypatch):
    monkeypatch.setattr("kernelweave.estimators.kernel_list.all_normalized", lambda *told: pytest.fail("too late"))
    X, y = rows(40)
    with pytest.raises(ValueError, match="not 'hinge'; use loss='logistic'"):
        kw.MKLClassifier([kw.RBF(width=1.0)], solver="svrg").fit(X, y)
    with pytest.raises(ValueError, match="not 'epsilon_insensitive'; use loss='squared'"):
        kw.MKLRegressor([kw.RBF(width=1.0)], solver="svrg").fit(X, y)
