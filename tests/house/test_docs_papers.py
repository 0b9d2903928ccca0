"""The examples on the pages about papers run as they stand, and find what the pages say."""

from __future__ import annotations

import numpy as np

from pages import examples


def test_the_literal_algorithm_5_1_runs():
    literal = examples("docs/papers/cg-boost.md", 1)["literal"]
    assert literal.stopped_by_ == ["TR2"]
    assert literal.n_iter_ > literal.n_columns_per_kernel_.sum()


def test_both_schedules_of_svrg_run():
    model = examples("docs/papers/svrg.md", 1)["model"]
    assert model.duality_gap_ <= 1e-2
    assert model.trace_["updates"][-1] <= model.trace_["allowed"][-1]


def test_smoothing_is_chosen_and_weights_are_told():
    names = examples("docs/papers/smooth-mkl.md", 1)
    assert set(names["search"].best_params_) >= {"C", "smoothing"}
    assert names["theta"].min() > 0
    assert np.isclose(names["theta"].sum(), 1.0)
