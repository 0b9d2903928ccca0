"""Every estimator documents all its parameters and all that a fit leaves behind, in the same words everywhere."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pandas as pd
import pytest

import kernelweave as kw
from kernelweave.losses import LOSSES
from kernelweave.solvers.mkl import MKL_SOLVERS

ESTIMATORS = [
    name for name in kw.__all__ if isinstance(getattr(kw, name), type) and hasattr(getattr(kw, name), "predict")
]
SAME = {
    "C", "sigma", "epsilon", "norm", "tol", "shared_weights", "class_weight", "engine", "n_jobs", "memory_limit",
    "penalty", "positive", "patience", "columns_per_round", "strategy", "kernel_order", "candidates",
    "dual_coef_", "objective_", "dual_objective_", "duality_gap_", "kernels_", "kernel_names_", "certifies_", "solver_",
    "solver_why_", "kernel_why_", "n_features_in_", "feature_names_in_",
}  # fmt: skip
"""Parameters and attributes that mean the same in every estimator that has them."""


def entries(name: str, section: str) -> dict[str, str]:
    """Return what a section of a docstring lists: names and texts."""
    text = inspect.getdoc(getattr(kw, name))
    found = re.search(rf"^{section}\n-+\n(.*?)(?:\n\n|\Z)", text, flags=re.DOTALL | re.MULTILINE)
    lists = re.findall(r"^(\w[^\n]*?) : (.*?)(?=^\w|\Z)", found[1] + "\n", flags=re.DOTALL | re.MULTILINE)
    return {each: " ".join(words.split()) for names, words in lists for each in names.split(", ")}


def fitted(name: str) -> list:
    """Return models whose attributes together are all that a fit can leave."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    y = X["a"].to_numpy() if "Regressor" in name else X["a"].to_numpy() > 0
    make, kernels = (
        getattr(kw, name),
        {} if name.startswith("Kernel") else {"kernels": [kw.Linear(), kw.RBF(width=2.0)]},
    )
    if name.endswith("CV"):
        kernels |= {"Cs": [1.0], "norms": [2.0], "cv": 2}
    models = [make(**kernels).fit(X, y)]
    if name.startswith("MKL") and name != "MKLNovelty":
        smooth = {"loss": "squared" if "Regressor" in name else "logistic", "solver": "svrg", "tol": 0.1}
        smooth |= {} if "norms" in kernels else {"norm": 2.0}
        models.append(make(**kernels, **smooth).fit(X, y))
        if hasattr(models[-1], "partial_fit"):
            models.append(make(**kernels, **smooth).partial_fit(X, y))
    return models


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_is_documented_in_the_order_of_the_signature(name):
    parameters = list(inspect.signature(getattr(kw, name)).parameters)
    assert list(entries(name, "Parameters")) == parameters


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fitted_attributes_are_documented_and_documented_ones_exist(name):
    left = {key for model in fitted(name) for key in dir(model) if key.endswith("_") and not key.startswith("_")}
    assert set(entries(name, "Attributes")) == left


@pytest.mark.parametrize("word", sorted(SAME))
def test_what_means_the_same_is_said_in_the_same_words(word):
    texts = {(entries(name, "Parameters") | entries(name, "Attributes")).get(word) for name in ESTIMATORS} - {None}
    assert len(texts) == 1


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if not name.startswith("CGBoost")])
def test_the_losses_and_solvers_named_are_those_of_the_registries(name):
    task, documented = getattr(kw, name)._learns.task, entries(name, "Parameters")
    losses = {loss for loss, kind in LOSSES.items() if kind.task == task}
    if "loss" in documented:
        assert {name.partition(":")[0] for name in re.findall(r'"([\w:.]+)"', documented["loss"])} <= losses
        assert documented["loss"].endswith("the manual lists all")
    if name.startswith("MKL"):
        solvers = {solver for solver, entry in MKL_SOLVERS.items() if losses & set(entry.losses)}
        assert set(re.findall(r'"(\w+)"', documented["solver"])) == {"auto", *solvers}


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name.startswith("CGBoost")])
def test_the_losses_of_mixtures_are_named(name):
    documented = entries(name, "Parameters")
    if "loss" in documented:
        assert set(re.findall(r'"(\w+)"', documented["loss"])) == set(getattr(kw, name)._kinds)
