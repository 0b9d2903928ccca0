import json

import numpy as np
import pytest

from kernelweave.kernels import (
    RBF,
    GappyNGram,
    Identity,
    Kernel,
    Laplacian,
    Linear,
    NGram,
    On,
    Polynomial,
    Precomputed,
    Scaled,
    Sigmoid,
    Spectrum,
    WeightedDegree,
    build,
    describe,
    parse,
)
from kernelweave.kernels.registry import ALIASES, KERNELS


@pytest.mark.parametrize(
    ("spec", "kernel"),
    [
        ("linear", Linear()),
        ("rbf", RBF()),
        ("rbf:0.5", RBF(gamma=0.5)),
        ("rbf:gamma=0.5", RBF(gamma=0.5)),
        ("rbf:gamma=scale", RBF(gamma="scale")),
        ("rbf:width=2.0", RBF(width=2.0)),
        (" RBF : width = 2.0 ", RBF(width=2.0)),
        ("poly:3", Polynomial(3)),
        ("poly:2,0.5,coef0=0", Polynomial(2, 0.5, 0)),
        ("poly:gamma=none", Polynomial(gamma=None)),
        ("spectrum:6", Spectrum(6)),
        ("spectrum:6,cumulative=true", Spectrum(6, cumulative=True)),
        ("wd:20", WeightedDegree(20)),
        ("ngram:5", NGram(5)),
        ("ngram:4,cumulative=true", NGram(4, cumulative=True)),
        ("gappy:3:0.5", GappyNGram(3, 0.5)),
        ("gappy: 3 : 0.25 : max_gap=2", GappyNGram(3, 0.25, max_gap=2)),
        ("laplacian:1e-2", Laplacian(0.01)),
        ("sigmoid", Sigmoid()),
        ("identity", Identity()),
        ("precomputed", Precomputed()),
        ("wd:20 + spectrum:6", WeightedDegree(20) + Spectrum(6)),
        ("RBF(gamma=1e+3) + rbf:width=1e+3", RBF(gamma=1e3) + RBF(width=1e3)),
    ],
)
def test_parse(spec, kernel):
    assert parse(spec) == kernel


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("gauss", "no kernel 'gauss'; known ones are linear, poly, rbf"),
        ("", "no kernel ''"),
        ("rbf:sigma=1", "'sigma=1' in kernel 'rbf:sigma=1' is not understood; rbf has the parameters gamma, width"),
        ("rbf:1,gamma=2", "'gamma=2' in kernel"),
        ("rbf:gamma=", "'gamma=' in kernel"),
        ("rbf:1,2,3", "'3' in kernel"),
        ("linear:1", "linear has no parameters"),
        ("Spectrum(2, size=3)", "lacks a parameter, or has one that it does not know; Spectrum has the parameters k, "),
        ("wd:20 + gauss", "no kernel 'gauss'"),
        ("spectrum", "'spectrum' lacks a parameter; spectrum has the parameters k, cumulative"),
    ],
)
def test_what_cannot_be_parsed_is_told(spec, sentence):
    with pytest.raises(ValueError, match=sentence):
        parse(spec)


def test_every_spoken_name_is_registered():
    assert set(ALIASES.values()) <= set(KERNELS.values())


def test_descriptions_are_plain_json():
    kernel = Scaled(On(RBF(gamma=np.float64(0.5)), np.array([0, 2])), np.float32(2.0))
    text = json.dumps(describe(kernel))
    assert build(json.loads(text)) == Scaled(On(RBF(gamma=0.5), [0, 2]), 2.0)


@pytest.mark.parametrize(
    "columns", [3, [1, 2], (1, 2), "dna", ["a", "b"], slice(1, None), slice(None, 9, 2), [True, False]]
)
def test_columns_survive(columns):
    assert build(json.loads(json.dumps(describe(On(Linear(), columns))))) == On(Linear(), columns)


class Foreign(Linear):
    pass


def test_foreign_kernels_and_parameters_are_not_described():
    with pytest.raises(TypeError, match=r"Foreign\(\) is not a kernel of this library"):
        describe(Foreign())
    with pytest.raises(TypeError, match="cannot be described"):
        describe(RBF(gamma=object()))


def test_a_foreign_class_does_not_pass_by_its_name():
    masked = type("Linear", (Linear,), {})
    with pytest.raises(TypeError, match="not a kernel of this library"):
        describe(masked())


RBF_PLAIN = {"kernel": "RBF", "parameters": {}}


@pytest.mark.parametrize(
    ("description", "sentence"),
    [
        ({"kernel": "os.system", "parameters": {}}, "no kernel 'os.system'; known ones are Linear"),
        ({"kernel": ["RBF"], "parameters": {}}, "no kernel"),
        ({"kernel": "RBF", "parameters": {"sigma": 1}}, "RBF has the parameters gamma, width"),
        ({"kernel": "RBF", "parameters": [1]}, "RBF has the parameters"),
        ({"kernel": "RBF"}, "is not understood"),
        ({"kernel": "Spectrum", "parameters": {}}, "lacks one"),
        ({"kernel": "On", "parameters": {"kernel": "RBF", "columns": 0}}, "On needs kernels"),
        ({"kernel": "Sum", "parameters": {"kernels": [1]}}, "Sum needs kernels"),
        ({"kernel": "Sum", "parameters": {"kernels": RBF_PLAIN}}, "Sum needs kernels"),
        ({"kernel": "On", "parameters": {"kernel": RBF_PLAIN, "columns": {"slice": [1]}}}, "is not understood"),
        ({"kernel": "On", "parameters": {"kernel": RBF_PLAIN, "columns": {"tuple": 1}}}, "is not understood"),
        ([RBF_PLAIN], "names a kernel, but got"),
        ("RBF", "names a kernel, but got 'RBF'"),
        (None, "names a kernel"),
        ({"x" * 500: 1}, r"\.\.\."),
    ],
)
def test_malformed_descriptions_are_refused(description, sentence):
    with pytest.raises(ValueError, match=sentence):
        build(description)


def test_bottomless_descriptions_are_refused():
    description = RBF_PLAIN
    for _ in range(200):
        description = {"kernel": "Scaled", "parameters": {"kernel": description, "factor": 1.0}}
    with pytest.raises(ValueError, match="deeper than"):
        build(description)


def test_registry_names_are_class_names():
    assert all(issubclass(cls, Kernel) and cls.__name__ == name for name, cls in KERNELS.items())
