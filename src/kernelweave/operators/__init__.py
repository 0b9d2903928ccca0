"""Kernels bound to data: the forms they take, and the planner that chooses."""

from kernelweave.operators.base import Operator, product
from kernelweave.operators.gram.cached import CachedColumns
from kernelweave.operators.gram.dense import DenseGram
from kernelweave.operators.planner.choose import Choice, bind, choose
from kernelweave.operators.planner.plan import Plan
from kernelweave.operators.planner.task import Task

__all__ = [
    "CachedColumns", "Choice", "DenseGram", "Operator", "Plan", "Task", "bind", "choose", "product",
]  # fmt: skip
