"""What every multiple kernel solver promises: feasible points, an honest gap, the optimum of a general solver."""

from functools import cache

import numpy as np
import pytest

from kernelweave.engines import Serial
from kernelweave.kernels import RBF, Linear, Polynomial
from kernelweave.losses import LOSSES, make_loss
from kernelweave.operators import Task, choose
from kernelweave.penalties import LpBall
from kernelweave.solvers.choose import choose_mkl_solver
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.mkl import MKL_SOLVERS as EVERY_SOLVER
from kernelweave.solvers.mkl.problem import MKLProblem
from oracles import mkl
from oracles.losses import PARAMETERS

MKL_SOLVERS = {
    name: entry for name, entry in EVERY_SOLVER.items() if not (entry.primal or entry.rank_one or entry.sharded)
}
"""Those that walk in the space of explicit features have a contract of their own, test_mkl_primal_contract.py, and the
ones for kernels of rank one and for rows in parts have solvers/test_linear_program.py and test_active_set.py."""
N, M = 60, 8
C, NU = 2.0, 0.3
NORMS = (1.0, 4 / 3, 2.0, 4.0)
TOL = {"lp": 1e-4}
"""Where 1e-5 takes long: closed-form weights for p = 1."""
STEPS = 1000
ROUNDING = 1e-9

rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4))
LABELS = np.where(X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.3 * rng.normal(size=N) > 0, 1.0, -1.0)
OTHER = np.where(X[:, 3] + 0.4 * rng.normal(size=N) > 0.5, 1.0, -1.0)
THIRD = np.where(np.abs(X[:, 0]) + 0.2 * rng.normal(size=N) > 0.8, 1.0, -1.0)
REAL = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=N)
WEIGHT = rng.uniform(0.3, 2.0, N)
PLAIN = [*RBF.grid([0.5, 2, 8, 32]), Linear(), Polynomial(2), RBF(width=2).on([0]), RBF(width=2).on([1])]
KERNELS = [kernel * (1 / kernel.diag(X).mean()) for kernel in PLAIN]
GRAMS = np.stack([kernel.gram(X) for kernel in KERNELS])
OPERATORS, _ = choose(Task(KERNELS, X, Serial(), tol=1e-9, need="parts"))
TARGETS = {"classification": LABELS, "regression": REAL, "novelty": np.zeros(N)}


def problem(name, p=1.0, intercept="free", targets=None):
    """The named problem of a loss; one-class costs add up to 1 / nu."""
    loss = make_loss(name, **PARAMETERS)
    targets = TARGETS[loss.task][None, :] if targets is None else targets
    cost = np.full(N, 1 / (NU * N)) if loss.task == "novelty" else C * WEIGHT
    total = 1.0 if loss.task == "novelty" else 0.0
    return MKLProblem(OPERATORS, loss, targets, cost, LpBall(p), intercept, total)


def optimum(name, p=1.0, intercept="free", outputs=1):
    return oracle(name, p, intercept, outputs)


@cache
def oracle(name, p, intercept, outputs):
    shown = problem(name, p, intercept, None if outputs == 1 else several(outputs))
    return mkl.optimum(name, GRAMS, shown.targets, shown.cost, p, intercept, shown.total)


def several(outputs):
    return np.stack([LABELS, OTHER, THIRD])[:outputs]


def solve(name, shown, **options):
    return run(MKL_SOLVERS[name].make(), shown, Stop(TOL.get(name, 1e-5), STEPS), **options)


@cache
def solution(name, loss, p):
    return solve(name, problem(loss, p))


def check_certificate(shown, result):
    """Recompute both objectives from the points alone: plain Gram matrices, plain sums, feasible or infinite."""
    beta, p = result.primal.beta, shown.ball.p
    assert beta.shape == (M,)
    assert np.all(beta >= 0)
    assert (beta**p).sum() ** (1 / p) <= 1 + ROUNDING
    told = shown.loss.name, GRAMS, shown.targets, shown.cost
    alpha, b = result.primal.alpha, np.atleast_1d(result.primal.intercept)
    primal = mkl.primal(*told, beta, alpha, b, shown.intercept, shown.total)
    dual = mkl.dual(*told, result.dual.alpha, p, shown.intercept, shown.total)
    assert primal == pytest.approx(result.primal.value, rel=1e-9, abs=1e-9)
    assert dual == pytest.approx(result.dual.value, rel=1e-9, abs=1e-9)
    assert result.gap == pytest.approx((primal - dual) / abs(primal), abs=1e-8)
    assert result.gap >= -1e-8
    return primal, dual


EXACT = [name for name, entry in MKL_SOLVERS.items() if entry.exact]
FIXED = [name for name, entry in MKL_SOLVERS.items() if entry.certifies == "fixed weights"]
SHARING = [name for name in EXACT if MKL_SOLVERS[name].shared_weights]
TRIPLES = [
    (name, loss, p)
    for name in EXACT
    for loss in MKL_SOLVERS[name].losses
    for p in NORMS
    if p <= MKL_SOLVERS[name].largest_p
]
PAIRS = [(name, loss) for name, loss, p in TRIPLES if p == 1.0]


def test_every_solver_is_under_this_contract():
    assert {*EXACT, *FIXED, "smooth"} == set(MKL_SOLVERS)
    assert {loss for _, loss in PAIRS} == set(LOSSES)
    assert {p for name, _, p in TRIPLES if name == "lp"} == set(NORMS)


@pytest.mark.parametrize(("name", "loss", "p"), TRIPLES)
def test_feasible_certified_and_optimal(name, loss, p):
    result = solution(name, loss, p)
    assert result.converged
    primal, dual = check_certificate(problem(loss, p), result)
    assert result.gap <= TOL.get(name, 1e-5)
    best = optimum(loss, p)
    assert abs(primal - best) <= 1e-4 * abs(best)
    assert dual <= best + 1e-6 * abs(best)


@pytest.mark.parametrize("intercept", ["regularized", "none"])
@pytest.mark.parametrize(("name", "loss"), [pair for pair in PAIRS if pair[1] in ("hinge", "logistic", "squared")])
def test_other_intercepts(name, loss, intercept):
    p = 2.0 if MKL_SOLVERS[name].largest_p > 1 else 1.0
    shown = problem(loss, p, intercept)
    result = solve(name, shown)
    assert result.converged
    primal, _ = check_certificate(shown, result)
    assert primal == pytest.approx(optimum(loss, p, intercept), rel=1e-4)
    if intercept == "none":
        assert np.all(result.primal.intercept == 0)


@pytest.mark.parametrize("outputs", [2, 3])
@pytest.mark.parametrize("name", SHARING)
def test_several_outputs_share_their_weights(name, outputs):
    p = 2.0 if MKL_SOLVERS[name].largest_p > 1 else 1.0
    shown = problem("hinge", p, targets=several(outputs))
    result = run(MKL_SOLVERS[name].make(), shown, Stop(1e-4, STEPS))
    assert result.converged
    assert result.primal.alpha.shape == (outputs, N)
    primal, _ = check_certificate(shown, result)
    assert primal == pytest.approx(optimum("hinge", p, "free", outputs), rel=1e-4)


@pytest.mark.parametrize("name", ["hessian", "silp"])
def test_several_smooth_outputs_share_their_weights(name):
    shown = problem("logistic", targets=several(2))
    primal, _ = check_certificate(shown, solve(name, shown))
    assert primal == pytest.approx(optimum("logistic", 1.0, "free", 2), rel=1e-4)


@pytest.mark.parametrize("loss", MKL_SOLVERS["smooth"].losses)
@pytest.mark.parametrize("smoothing", [0.2, 2.0])
def test_the_smoothed_problem(loss, smoothing):
    shown = problem(loss)
    result = run(MKL_SOLVERS["smooth"].make(smoothing=smoothing), shown, Stop(1e-5, STEPS))
    assert result.converged
    told = loss, GRAMS, shown.targets[0], shown.cost
    best = mkl.smoothed_optimum(*told, smoothing, "free", shown.total)
    assert result.primal.value == pytest.approx(best, rel=1e-4)
    theta, b = result.primal.beta, result.primal.intercept
    assert np.all(theta > 0)
    assert theta.sum() == pytest.approx(1.0, abs=ROUNDING)
    entropy = smoothing / 2 * np.sum(theta * np.log(M * theta))
    plain = mkl.primal(loss, GRAMS, shown.targets, shown.cost, theta, result.primal.alpha, b, "free", shown.total)
    assert plain + entropy == pytest.approx(result.primal.value, rel=1e-9)
    dual = mkl.smoothed_dual(*told, result.dual.alpha[0], smoothing, "free", shown.total)
    assert dual == pytest.approx(result.dual.value, rel=1e-9)
    exact, slack = optimum(loss), 1e-4 * abs(optimum(loss))
    assert exact - slack <= result.primal.value <= exact + smoothing / 2 * np.log(M) + slack


@pytest.mark.parametrize("intercept", ["regularized", "none"])
def test_the_smoothed_problem_with_other_intercepts(intercept):
    shown = problem("hinge", intercept=intercept)
    result = run(MKL_SOLVERS["smooth"].make(smoothing=1.0), shown, Stop(1e-5, STEPS))
    best = mkl.smoothed_optimum("hinge", GRAMS, shown.targets[0], shown.cost, 1.0, intercept)
    assert result.converged
    assert result.primal.value == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize(("loss", "p"), [(loss, 1.0) for loss in LOSSES] + [("hinge", 2.0), ("squared", 4.0)])
@pytest.mark.parametrize("name", FIXED)
def test_baselines_certify_the_problem_of_their_weights(name, loss, p):
    shown = problem(loss, p)
    result = solution(name, loss, p)
    assert result.converged
    beta = result.primal.beta
    assert (beta**p).sum() == pytest.approx(1.0, abs=ROUNDING)
    one = np.tensordot(beta, GRAMS, 1)[None]
    told = loss, one, shown.targets, shown.cost
    primal = mkl.primal(*told, [1.0], result.primal.alpha, result.primal.intercept, "free", shown.total)
    dual = mkl.dual(*told, result.dual.alpha, 1.0, "free", shown.total)
    assert primal == pytest.approx(result.primal.value, rel=1e-9)
    assert dual == pytest.approx(result.dual.value, rel=1e-9)
    assert primal - dual <= 1.01e-5 * abs(primal)
    assert primal >= optimum(loss, p) - 1e-5 * abs(primal)


def test_the_weights_of_the_baselines():
    shown = problem("hinge", 2.0)
    np.testing.assert_allclose(solve("uniform", shown).primal.beta, np.full(M, M**-0.5))
    alone = [mkl.optimum("hinge", K[None], shown.targets, shown.cost) for K in GRAMS]
    assert solve("best_single", shown).primal.beta.tolist() == np.eye(M)[int(np.argmin(alone))].tolist()
    centre = np.eye(N) - 1 / N
    centred = [centre @ K @ centre for K in GRAMS]
    scores = np.array([LABELS @ K @ LABELS / np.linalg.norm(K) for K in centred])
    np.testing.assert_allclose(solve("alignment", shown).primal.beta, scores / np.linalg.norm(scores), rtol=1e-9)


@pytest.mark.parametrize("name", ["silp", "silp_chunking"])
def test_the_rule_of_the_paper_is_in_the_trace(name):
    result = solution(name, "hinge", 1.0)
    rule = result.trace["paper_rule"]
    assert len(rule) == result.n_iter
    assert np.isinf(rule[0])
    assert np.all(rule[1:] >= 0)
    assert rule[-1] < rule[1]
    assert np.all(np.diff(result.trace["bound"]) >= 0)


@pytest.mark.parametrize("name", MKL_SOLVERS)
def test_the_trace_tells_how_it_went(name):
    result = solution(name, "hinge", 1.0)
    assert len(result.trace) == result.n_iter
    assert result.trace["gap"][-1] == result.gap
    assert np.all(np.diff(result.trace["primal"]) <= 0)
    assert np.all(np.diff(result.trace["dual"]) >= 0)
    assert np.all(np.diff(result.trace["seconds"]) >= 0)


@pytest.mark.parametrize("loss", ["hinge", "squared", "one_class"])
@pytest.mark.parametrize("name", [*EXACT, "smooth"])
def test_a_warm_start_begins_where_the_former_run_ended(name, loss):
    cold = solution(name, loss, 1.0)
    warm = solve(name, problem(loss), start=cold.primal)
    assert warm.converged
    near = 2 * TOL.get(name, 1e-5) * abs(cold.primal.value)
    assert abs(warm.trace["primal"][0] - cold.primal.value) <= near
    assert abs(warm.primal.value - cold.primal.value) <= near
    if name != "silp":
        # Only SILP must collect its cuts again, however well it begins.
        # The others may need as many steps again where rounding leaves the last one just short of the tolerance.
        assert warm.n_iter <= max(cold.n_iter, 2)


@pytest.mark.parametrize("name", [*EXACT, "smooth"])
def test_a_monitor_that_answers_stops_the_run_at_a_valid_point(name):
    shown, seen = problem("hinge"), []
    result = run(MKL_SOLVERS[name].make(), shown, Stop(1e-9, STEPS), lambda progress: seen.append(progress) or True)
    assert result.interrupted
    assert not result.converged
    assert [progress.iteration for progress in seen] == [result.n_iter] == [1]
    assert seen[0].gap == result.gap > 1e-9
    if name != "smooth":
        primal, dual = check_certificate(shown, result)
        assert dual <= optimum("hinge") * (1 + 1e-6)
        assert primal >= optimum("hinge") * (1 - 1e-6)


@pytest.mark.parametrize("calls", [1, 2, 4])
@pytest.mark.parametrize("name", MKL_SOLVERS)
def test_ctrl_c_inside_the_machine_of_one_kernel_stops_the_whole_run(name, calls, monkeypatch):
    """Most of the time goes into the SVMs inside: Ctrl-C there must not only end that one."""
    from kernelweave.solvers.svm.chunking import Chunking
    from kernelweave.solvers.svm.smo import SMO

    count = iter(range(calls, -10_000, -1))
    for kind in (SMO, Chunking):
        inner = kind.step

        def step(self, inner=inner):
            if next(count) == 1:
                raise KeyboardInterrupt
            inner(self)

        monkeypatch.setattr(kind, "step", step)
    shown = problem("hinge")
    result = run(MKL_SOLVERS[name].make(), shown, Stop(1e-6, 60))
    assert result.interrupted
    assert next(count) >= -1
    if MKL_SOLVERS[name].exact:
        told = "hinge", GRAMS, shown.targets, shown.cost, result.primal.beta
        value = mkl.primal(*told, result.primal.alpha, np.atleast_1d(result.primal.intercept), "free", 0.0)
        assert value == pytest.approx(result.primal.value, rel=1e-9)


def test_the_automatic_choice():
    assert choose_mkl_solver("auto", problem("hinge"))[0] == "hessian"
    assert choose_mkl_solver("auto", problem("logistic", 2.0))[0] == "lp"


@pytest.mark.parametrize("name", [name for name, entry in MKL_SOLVERS.items() if entry.largest_p == 1])
def test_a_norm_beyond_the_solver_gets_a_sentence(name):
    with pytest.raises(ValueError, match=f"solver='{name}' is for norm=1, not norm=1.5; use solver='lp'"):
        choose_mkl_solver(name, problem("hinge", 1.5))


@pytest.mark.parametrize("name", [name for name, entry in MKL_SOLVERS.items() if set(entry.losses) != set(LOSSES)])
def test_a_loss_beyond_the_solver_gets_a_sentence(name):
    for loss in set(LOSSES) - set(MKL_SOLVERS[name].losses):
        with pytest.raises(ValueError, match=f"solver='{name}' is for the losses hinge, .*, not '{loss}'"):
            choose_mkl_solver(name, problem(loss))


def test_other_limits_get_a_sentence():
    for name in ("silp_chunking", "smooth"):
        with pytest.raises(ValueError, match=f"solver='{name}' learns weights for each class"):
            choose_mkl_solver(name, problem("hinge", targets=several(2)))
    with pytest.raises(ValueError, match="solver='magic' is unknown; choose one of auto, silp"):
        choose_mkl_solver("magic", problem("hinge"))
    with pytest.raises(ValueError, match=r"solver_params=\{'chunk': 3\} do not fit solver='silp_chunking'"):
        choose_mkl_solver("silp_chunking", problem("hinge"), {"chunk": 3})
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match=r"smoothing=.* must be a positive number"):
            choose_mkl_solver("smooth", problem("hinge"), {"smoothing": wrong})
