"""The file of every solver opens with the problem that it solves."""

import inspect
import re

import pytest

from kernelweave.solvers.boost.generation import Generation
from kernelweave.solvers.mkl import MKL_SOLVERS
from kernelweave.solvers.svm import SVM_SOLVERS

SOLVERS = {**SVM_SOLVERS, **{name: entry.make for name, entry in MKL_SOLVERS.items()}, "mixtures": Generation}


@pytest.mark.parametrize("name", SOLVERS)
def test_a_file_opens_with_its_problem(name):
    opening = inspect.getmodule(SOLVERS[name]).__doc__
    assert re.search(r"min over|Minimises|Solves", opening)
