"""Losses one by one: names, parameters, limits, numbers that a person can check."""

import numpy as np
import pytest
from scipy.special import huber

from kernelweave.losses import (
    LOSSES,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    OneClass,
    SmoothHinge,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    losses_for,
    make_loss,
    open_parameters,
)


def values(loss, f, y):
    return loss.value(np.array(f, float), np.array(y, float)).tolist()


def test_numbers_that_a_person_can_check():
    assert values(Hinge(), [0, 2, -1], [1, 1, 1]) == [1, 0, 2]
    assert values(SquaredHinge(), [0, 2, -1], [1, 1, 1]) == [1, 0, 4]
    assert values(Squared(), [1, 3], [4, 3]) == [9, 0]
    assert values(EpsilonInsensitive(0.5), [1, 3, 2.25], [4, 3, 2]) == [2.5, 0, 0]
    assert values(Huber(0.5), [1, 3, 2.25], [4, 3, 2]) == [2.75, 0, 0.0625]
    assert values(SquaredEpsilonInsensitive(0.5), [1, 3, 2.25], [4, 3, 2]) == [6.25, 0, 0]
    assert values(OneClass(), [-2, 0, 3], [0, 0, 0]) == [2, 0, 0]
    assert values(Logistic(), [0], [1]) == pytest.approx([np.log(2)])
    assert values(SmoothHinge(2.0), [1], [1]) == pytest.approx([np.log(2) / 2])


def test_parameters_reach_the_losses_that_have_them():
    assert make_loss("epsilon_insensitive", epsilon=0.7) == EpsilonInsensitive(0.7)
    assert make_loss("smooth_hinge", sigma=3.0) == SmoothHinge(3.0)
    assert repr(make_loss("smooth_hinge", sigma=3.0)) == "SmoothHinge(sigma=3.0)"
    assert {name: make_loss(name).name for name in LOSSES} == {name: name for name in LOSSES}


def test_an_unknown_name_lists_those_there_are():
    with pytest.raises(ValueError, match=r"loss='cauchy' is unknown; choose one of hinge, .*one_class\."):
        make_loss("cauchy")
    with pytest.raises(ValueError, match=r"loss=None is unknown; choose one of hinge, "):
        make_loss(None)


def test_a_message_lists_the_losses_of_its_task_only():
    with pytest.raises(ValueError, match="choose one of ") as caught:
        make_loss("log", "classification")
    assert str(caught.value).endswith(f"choose one of {', '.join(losses_for('classification'))}.")
    assert not set(losses_for("classification")) & set(losses_for("regression"))
    with pytest.raises(ValueError, match=r"loss='hinge' is for classification, not for regression; choose one of eps"):
        make_loss("hinge", "regression")


@pytest.mark.parametrize("text", ["smooth_hinge:sharp", "smooth_hinge:-1", "smooth_hinge:", "smooth_hinge:nan"])
def test_a_spelling_that_is_no_number_says_so(text):
    value = text.partition(":")[2]
    with pytest.raises(ValueError, match=f"loss='{text}': sigma must be a positive number, not '{value}'"):
        make_loss(text)


def test_what_a_spelling_gives_is_not_open():
    assert open_parameters("smooth_hinge") == {"sigma"}
    assert open_parameters("smooth_hinge:2") == set()
    assert open_parameters("hinge") == set()


@pytest.mark.parametrize("loss", [Logistic(), SmoothHinge(50.0)])
def test_far_outputs_neither_overflow_nor_lose_the_slope(loss):
    f, y = np.array([1e3, -1e3, 1e8, -1e8]), np.ones(4)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        value, slope, curvature = loss.value(f, y), loss.derivative(f, y), loss.curvature(f, y)
    assert np.all(np.isfinite(value))
    np.testing.assert_allclose(slope, [0, -1, 0, -1], atol=1e-12)
    np.testing.assert_allclose(curvature, 0, atol=1e-12)
    assert value[1] == pytest.approx(1e3, rel=2e-3)


def test_smooth_hinge_becomes_the_hinge():
    f, y = np.linspace(-3, 3, 61), np.ones(61)
    for sigma in (1.0, 10.0, 100.0):
        distance = SmoothHinge(sigma).value(f, y) - Hinge().value(f, y)
        assert np.all(distance >= 0)
        assert distance.max() == pytest.approx(np.log(2) / sigma)


def test_huber_is_the_squared_loss_near_the_target_and_half_of_it_is_what_huber_wrote():
    y, near, far = np.zeros(3), np.array([-0.5, 0.1, 0.5]), np.array([-7.0, 0.6, 3.0])
    np.testing.assert_array_equal(Huber(0.5).value(near, y), Squared().value(near, y))
    np.testing.assert_allclose(0.5 * Huber(0.5).value(far, y), huber(0.5, far))
    np.testing.assert_array_equal(Huber(100.0).value(far, y), Squared().value(far, y))


def test_squares_outside_the_tube_are_squares_of_what_the_tube_leaves():
    f, y = np.linspace(-3, 3, 61), np.zeros(61)
    np.testing.assert_array_equal(SquaredEpsilonInsensitive(0.5).value(f, y), EpsilonInsensitive(0.5).value(f, y) ** 2)
    np.testing.assert_array_equal(SquaredEpsilonInsensitive(0.0).value(f, y), Squared().value(f, y))


def test_logistic_conjugate_at_its_ends_is_zero():
    u, y = np.array([-1.0, 0.0, 0.0, 1.0]), np.array([1.0, 1.0, -1.0, -1.0])
    assert Logistic().conjugate(u, y).tolist() == [0, 0, 0, 0]


def test_rounding_at_the_end_of_a_domain_is_forgiven():
    u, y = np.array([-1 - 1e-12, 1e-12]), np.ones(2)
    assert np.all(np.isfinite(Hinge().conjugate(u, y)))
    assert np.all(np.isfinite(Logistic().conjugate(u, y)))


def test_epsilon_box_has_a_copy_for_each_sign():
    box = EpsilonInsensitive(0.5).box(np.array([2.0]), np.array([3.0]))
    assert (box.p.tolist(), box.low.tolist(), box.high.tolist()) == (
        [[1.5], [2.5]],
        [[0.0], [-3.0]],
        [[3.0], [0.0]],
    )
    assert box.split(np.array([-1.0])).tolist() == [[0.0], [-1.0]]
    assert box.split(np.array([9.0])).tolist() == [[3.0], [0.0]]
